//! Many conversations in one zip (the spec, "Bulk convention"): each named by the convention, none twice.

use super::bodies::{Bodies, Source};
use super::check::Header;
use super::name::{Name, Names};
use crate::json::raw::Raw;
use crate::json::write::{Layout, relay};
use crate::stream::bundle::Writer;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::io::{self, Write};

/// A zip of conversations being written. Memory follows their number.
pub struct Bundler<W: Write> {
    zip: Writer<W>,
    names: Names,
    /// What was added, by the conversation's id: a digest of each state of it.
    seen: HashMap<Vec<u8>, Vec<[u8; 32]>>,
    count: usize,
}

/// What was done about a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It went in.
    New,
    /// It went in, and another state of its conversation had before.
    Another,
    /// It had gone in before, byte for byte.
    Same,
}

impl<W: Write> Bundler<W> {
    /// Write the zip here.
    pub fn new(to: W) -> Bundler<W> {
        let names = Names::new("curt", true, true);
        Bundler { zip: Writer::new(to), names, seen: HashMap::new(), count: 0 }
    }

    /// How many bodies went in.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Add the body that was judged last, accepted and spilled, without its byte-order mark. With a
    /// layout, it is laid out anew; without, every byte is kept.
    ///
    /// # Errors
    /// Those of writing.
    pub fn add(
        &mut self,
        bodies: &mut Bodies<Source>,
        header: &Header,
        layout: Option<Layout>,
    ) -> io::Result<Added> {
        let mut digest = Sum(Sha256::new());
        write(bodies, layout, &mut digest)?;
        let digest = digest.0.finalize().into();
        let id = Raw::known(&header.id).text().unwrap_or_default().into_owned();
        let states = self.seen.entry(id).or_default();
        if states.contains(&digest) {
            return Ok(Added::Same);
        }
        states.push(digest);
        let is_first = states.len() == 1;
        let mut name = Name::of_header(header);
        // Unpackers take it for a slash.
        name.suffix = name.suffix.replace('\\', "-");
        let name = self.names.next(&name);
        // `as` saturates.
        let modified = (header.updated_at / 1000.0) as i64;
        self.zip.add(&name, modified, |to| write(bodies, layout, to))?;
        self.count += 1;
        Ok(if is_first { Added::New } else { Added::Another })
    }

    /// Write the directory; the sink comes back.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(self) -> io::Result<W> {
        self.zip.finish()
    }
}

fn write(bodies: &mut Bodies<Source>, layout: Option<Layout>, to: &mut dyn Write) -> io::Result<()> {
    let mut body = bodies.read_again()?;
    match layout {
        None => io::copy(&mut body, to).map(drop),
        Some(layout) => {
            relay(body, layout, to)?;
            to.write_all(b"\n")
        }
    }
}

struct Sum(Sha256);

impl Write for Sum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
