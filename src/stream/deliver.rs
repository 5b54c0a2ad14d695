//! One output, judged whole before anyone sees it: then a file in a folder, or a record on stdout.

use super::place::{Folder, Identity, Names, Placed};
use std::fmt;
use std::io::{self, Write};

/// Reads what was written, block by block, and says whether it may be shown.
pub trait Judge {
    /// The next block.
    fn feed(&mut self, block: &[u8]);
    /// The end: nothing, or the reason of a refusal.
    fn verdict(self) -> Result<(), String>;
}

/// Where outputs go.
pub enum Target<'t> {
    /// One after the other.
    Stream(&'t mut dyn Write),
    /// A file each.
    Folder {
        /// Where.
        folder: &'t mut Folder,
        /// Replace a file that holds a later state.
        force: bool,
    },
}

impl Target<'_> {
    /// Whether this error would meet every output.
    pub fn is_beyond(&self, error: &io::Error) -> bool {
        matches!(self, Target::Folder { folder, .. } if folder.is_beyond(error))
    }
}

/// Why an output did not arrive.
#[derive(Debug)]
pub enum Undelivered {
    /// The judge refused it; nothing was written.
    Refused(String),
    /// It could not be placed; what was there before still is.
    Place(io::Error),
    /// The stream cannot be written.
    Stream(io::Error),
}

impl fmt::Display for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Undelivered::Refused(reason) => {
                write!(f, "not written, for it does not pass its own check: {reason}")
            }
            Undelivered::Place(error) | Undelivered::Stream(error) => error.fmt(f),
        }
    }
}

/// Up to this much is held until it is judged; a longer output for a stream is made twice instead.
const HELD: usize = 1024 * 1024;

/// Make an output with `write`, which gives the same bytes each time, judge it, and put it where it
/// belongs. A file's place and outcome come back, nothing for a stream.
pub fn deliver(
    target: &mut Target<'_>,
    judge: impl Judge,
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    names: Names<'_>,
    who: &Identity,
) -> Result<Option<Placed>, Undelivered> {
    match target {
        Target::Folder { folder, force } => {
            let mut tee = Tee { to: folder.draft(), judge };
            write(&mut tee).map_err(Undelivered::Place)?;
            tee.judge.verdict().map_err(Undelivered::Refused)?;
            folder.settle(tee.to, names, who, *force).map(Some).map_err(Undelivered::Place)
        }
        Target::Stream(out) => {
            let mut tee = Tee { to: Held::Whole(Vec::new()), judge };
            write(&mut tee).map_err(Undelivered::Stream)?;
            tee.judge.verdict().map_err(Undelivered::Refused)?;
            match tee.to {
                Held::Whole(bytes) => out.write_all(&bytes),
                Held::TooLong => write(out),
            }
            .map_err(Undelivered::Stream)?;
            Ok(None)
        }
    }
}

struct Tee<W, J> {
    to: W,
    judge: J,
}

impl<W: Write, J: Judge> Write for Tee<W, J> {
    fn write(&mut self, block: &[u8]) -> io::Result<usize> {
        self.write_all(block)?;
        Ok(block.len())
    }

    fn write_all(&mut self, block: &[u8]) -> io::Result<()> {
        self.judge.feed(block);
        self.to.write_all(block)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

enum Held {
    Whole(Vec<u8>),
    TooLong,
}

impl Write for Held {
    fn write(&mut self, block: &[u8]) -> io::Result<usize> {
        match self {
            Held::Whole(bytes) if bytes.len() + block.len() <= HELD => bytes.extend_from_slice(block),
            held => *held = Held::TooLong,
        }
        Ok(block.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Refuses what holds a `!`.
    #[derive(Default)]
    struct NoShouting(bool);

    impl Judge for NoShouting {
        fn feed(&mut self, block: &[u8]) {
            self.0 |= block.contains(&b'!');
        }

        fn verdict(self) -> Result<(), String> {
            if self.0 { Err("it shouts".into()) } else { Ok(()) }
        }
    }

    fn streamed(text: &[u8], times: usize) -> (Vec<u8>, Result<Option<Placed>, Undelivered>) {
        let mut out = Vec::new();
        let who = Identity { id: Vec::new(), updated: None };
        let mut write = |to: &mut dyn Write| (0..times).try_for_each(|_| to.write_all(text));
        let done = deliver(
            &mut Target::Stream(&mut out),
            NoShouting::default(),
            &mut write,
            &|_| String::new(),
            &who,
        );
        (out, done)
    }

    #[test]
    fn a_refused_output_never_shows() {
        for times in [1, 300_000] {
            let (out, done) = streamed(b"ab!c", times);
            assert!(out.is_empty() && matches!(done, Err(Undelivered::Refused(_))));
        }
    }

    /// Deliver `text` into `dir`; the names there afterwards.
    fn filed(dir: &Path, text: &[u8], times: usize) -> (Vec<String>, Result<Option<Placed>, Undelivered>) {
        let mut folder = Folder::open(dir, |_| Ok(None)).unwrap();
        let who = Identity { id: b"a".to_vec(), updated: None };
        let mut write = |to: &mut dyn Write| (0..times).try_for_each(|_| to.write_all(text));
        let mut target = Target::Folder { folder: &mut folder, force: true };
        let names = |_| "2025-10-09 title a.curt".to_owned();
        let done = deliver(&mut target, NoShouting::default(), &mut write, &names, &who);
        folder.finish().unwrap();
        let names =
            std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        (names.collect(), done)
    }

    #[test]
    fn a_refused_output_becomes_no_file() {
        for times in [1, 700_000] {
            let dir = tempfile::tempdir().unwrap();
            let (names, done) = filed(dir.path(), b"ab!c", times);
            assert!(names.is_empty() && matches!(done, Err(Undelivered::Refused(_))), "{names:?}");
            let (names, done) = filed(dir.path(), b"abcd", times);
            assert!(names == ["2025-10-09 title a.curt"] && matches!(done, Ok(Some(_))), "{names:?}");
        }
    }

    #[test]
    fn an_output_is_the_same_held_or_made_twice() {
        for times in [1, 300_000] {
            let (out, done) = streamed(b"abcd", times);
            assert_eq!(out, b"abcd".repeat(times));
            assert!(matches!(done, Ok(None)));
        }
    }
}
