//! Session rows in, `.curt` bodies out: what curt-pack does with each row, and what happened.

use super::counts::{Count, Counts, looks_like_a_name};
use super::hermes_to_curt::Options;
use super::output::{Conversation, FileName, Output};
use super::{cc_to_curt, cursor_to_curt, hermes_to_curt};
use crate::curt::bodies::Bodies;
use crate::curt::check::Checker;
use crate::curt::name::Name;
use crate::hermes::session::Session;
use crate::json::raw::Raw;
use crate::json::write::Layout;
use crate::stream::deliver::{Judge, Target, Undelivered};
use crate::stream::place::{Identity, Placed};
use std::fmt;
use std::io;

/// Converts rows one after the other and keeps the counts of the run.
#[derive(Default)]
pub struct Packer {
    /// How bodies are laid out.
    pub layout: Layout,
    /// What the person asked for.
    pub options: Options,
    /// Everything that happened so far.
    pub counts: Counts,
}

/// Why a row became no body. The session is counted as failed; the next one may do better.
#[derive(Debug)]
pub enum Fault {
    /// The row is not what session-row(5) says.
    Row(String),
    /// The body could not be delivered. `Undelivered::Stream` ends the run.
    Body(String, Undelivered),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Row(reason) => f.write_str(reason),
            Fault::Body(id, why) => write!(f, "session {id}: {why}"),
        }
    }
}

impl Packer {
    /// Convert one row. `Ok(None)`: no message was left, or the body went to a stream.
    pub fn row(&mut self, row: &[u8], target: &mut Target<'_>) -> Result<Option<Placed>, Fault> {
        let (runtime, row) = runtime(row).map_err(|reason| self.refuse(reason))?;
        match runtime {
            Runtime::Hermes => {
                let session = Session::read(row).map_err(|reason| self.refuse(reason.to_owned()))?;
                self.put(&hermes_to_curt::Conversation::of(&session, self.options), target)
            }
            Runtime::ClaudeCode => {
                let conversation = cc_to_curt::Conversation::of(row, self.options);
                let conversation = conversation.map_err(|reason| self.refuse(reason.to_owned()))?;
                self.put(&conversation, target)
            }
            Runtime::Cursor => {
                let conversation = cursor_to_curt::Conversation::of(row);
                let conversation = conversation.map_err(|reason| self.refuse(reason.to_owned()))?;
                self.put(&conversation, target)
            }
        }
    }

    fn put(
        &mut self,
        conversation: &dyn Conversation,
        target: &mut Target<'_>,
    ) -> Result<Option<Placed>, Fault> {
        if conversation.is_empty() {
            self.counts.merge(conversation.counts());
            self.counts.add(Count::Empty, 1);
            return Ok(None);
        }
        let header = conversation.header();
        // What is known to lack something is older than any file there is.
        let updated = if conversation.counts().sum(Count::Partial) > 0 {
            f64::NEG_INFINITY
        } else {
            header.updated_at as f64
        };
        let id = header.id.decoded();
        let output = Output {
            name: FileName::Convention(
                Name::of(&header.id.utf16(), &header.title.utf16(), header.created_at as f64),
                "curt",
            ),
            who: Identity { id: id.to_vec(), updated: Some(updated) },
            write: &|to| conversation.write(to, self.layout),
        };
        let placed = output
            .deliver(Checked::default(), target, &mut self.counts)
            .map_err(|why| Fault::Body(String::from_utf8_lossy(&id).into_owned(), why))?;
        self.counts.merge(conversation.counts());
        Ok(placed)
    }

    fn refuse(&mut self, reason: String) -> Fault {
        self.counts.add(Count::Failed, 1);
        Fault::Row(reason)
    }
}

/// The runtimes that have a mapping.
#[derive(Clone, Copy)]
enum Runtime {
    Hermes,
    ClaudeCode,
    Cursor,
}

/// Whose row this is; one that does not say is of Hermes.
fn runtime(row: &[u8]) -> Result<(Runtime, Raw<'_>), String> {
    const KNOWN: [(&str, Runtime); 3] =
        [("hermes", Runtime::Hermes), ("claude-code", Runtime::ClaudeCode), ("cursor", Runtime::Cursor)];
    let row = Raw::parse(row).map_err(|bad| bad.to_string())?;
    // The first field of every row that is like its page; the last one is nearly all of it.
    let first = row.members().next().filter(|(key, _)| key.is("runtime")).map(|(_, value)| value);
    let Some(runtime) = first.or_else(|| row.get("runtime")) else { return Ok((Runtime::Hermes, row)) };
    if let Some((_, known)) = KNOWN.into_iter().find(|(name, _)| runtime.is(name)) {
        return Ok((known, row));
    }
    let name = runtime.text().unwrap_or_default();
    let name = std::str::from_utf8(&name).ok().filter(|name| looks_like_a_name(name));
    Err(match name {
        Some(name) => format!("rows of runtime '{name}' are not known"),
        None => "rows of this runtime are not known".to_owned(),
    })
}

/// Whose file this is, for [`Folder`](crate::stream::place::Folder): that of an accepted body.
pub fn whose(file: &mut dyn io::Read) -> io::Result<Option<Identity>> {
    let judged = Bodies::one(file).with_header().next()?;
    Ok(judged.and_then(|judged| judged.verdict.ok()).map(|header| Identity {
        id: Raw::known(&header.id).text().unwrap_or_default().into_owned(),
        updated: Some(header.updated_at),
    }))
}

/// Every body is judged by the rules that curt-check applies, on its way.
#[derive(Default)]
pub(super) struct Checked {
    checker: Checker,
    refused: Option<String>,
}

impl Judge for Checked {
    fn feed(&mut self, block: &[u8]) {
        if self.refused.is_none() {
            self.refused = self.checker.feed(block).err().map(|reason| reason.to_string());
        }
    }

    fn verdict(self) -> Result<(), String> {
        match self.refused {
            Some(reason) => Err(reason),
            None => self.checker.finish().map(drop).map_err(|reason| reason.to_string()),
        }
    }
}
