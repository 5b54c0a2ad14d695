//! `.curt` bodies in, Claude Code session files out: what curt2cc does with each body.

use super::counts::{Count, Counts};
use super::curt_to_cc::{self, Options, session_id};
use super::output::{FileName, Output};
use crate::cc::chain::Proof;
use crate::curt::name::Name;
use crate::json::raw::Raw;
use crate::stream::deliver::{Judge, Target, Undelivered};
use crate::stream::ndjson::{Line, Lines};
use crate::stream::place::{Identity, Placed};
use std::io;

/// Converts bodies one after the other and keeps the counts of the run.
#[derive(Default)]
pub struct Emitter {
    /// What the lines say that no body tells.
    pub options: Options,
    /// Name files as Claude Code does; see [`cc::layout`](crate::cc::layout).
    pub as_sessions: bool,
    /// Everything that happened so far.
    pub counts: Counts,
}

impl Emitter {
    /// Convert one body that the checker accepted. `Ok(None)`: it has no messages, or the lines went to
    /// a stream. After an error the conversation is counted as failed; `Undelivered::Stream` ends the run.
    pub fn body(&mut self, body: &[u8], target: &mut Target<'_>) -> Result<Option<Placed>, Undelivered> {
        // Readers ignore one byte-order mark (the spec, "File shape").
        let body = Raw::valid(body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body));
        let Some(conversation) = body.get("conversation") else { return Ok(None) };
        let field = |name| conversation.get(name);
        if field("messages").into_iter().flat_map(Raw::items).next().is_none() {
            self.counts.add(Count::Empty, 1);
            return Ok(None);
        }
        let text = |name| field(name).and_then(Raw::utf16).unwrap_or_default();
        let created_at = field("createdAt").and_then(Raw::number).unwrap_or(f64::NAN);
        let id = field("id").and_then(Raw::text).unwrap_or_default();
        let session = session_id(&id, &self.options);
        let output = Output {
            name: match std::str::from_utf8(&session) {
                Ok(session) if self.as_sessions => FileName::Session(session.to_owned()),
                _ => FileName::Convention(Name::of(&text("id"), &text("title"), created_at), "jsonl"),
            },
            // A transcript has nothing that an updatedAt could be compared with.
            who: Identity { id: session, updated: None },
            write: &|to| curt_to_cc::write(conversation, &self.options, to),
        };
        output.deliver(Checked(Proof::new()), target, &mut self.counts)
    }
}

/// Whose file this is, for [`Folder`](crate::stream::place::Folder): the session of its first line.
pub fn whose(file: &mut dyn io::Read) -> io::Result<Option<Identity>> {
    // A generated line begins with its envelope, but a message of any length may stand before its end.
    let mut lines = Lines::new(file, 0);
    let Some(Line::Text { text, .. }) = lines.next()? else { return Ok(None) };
    let session = Raw::parse(text).ok().and_then(|line| line.get("sessionId")?.text());
    Ok(session.map(|id| Identity { id: id.into_owned(), updated: None }))
}

/// Every transcript is held to the strict rules of cc-chain-check, on its way.
struct Checked(Proof);

impl Judge for Checked {
    fn feed(&mut self, block: &[u8]) {
        self.0.feed(block);
    }

    fn verdict(self) -> Result<(), String> {
        self.0.finish().map(drop).map_err(|finding| format!("line {}: {finding}", finding.line))
    }
}
