//! What every converter does with a conversation it has made: judge it, deliver it, count it.

use super::counts::{Count, Counts};
use crate::curt::name::Name;
use crate::curt::write::Header;
use crate::json::write::Layout;
use crate::stream::deliver::{Judge, Target, Undelivered, deliver};
use crate::stream::place::{Identity, Outcome, Placed};
use std::cell::Cell;
use std::io::{self, Write};

/// What a mapping makes of a row: a body whose header is known and whose messages are made while they
/// are written.
pub(super) trait Conversation {
    /// Everything but the messages.
    fn header(&self) -> &Header<'_>;
    /// Whether no message is left: no file is made (rulings, "A session with no message left").
    fn is_empty(&self) -> bool;
    /// What was dropped before a message was made.
    fn counts(&self) -> &Counts;
    /// Write the body. Returns the counts of what was done to the messages; every call writes the same bytes.
    fn write(&self, to: &mut dyn Write, layout: Layout) -> io::Result<Counts>;
}

/// A conversation that can be written, the same each time.
pub(super) struct Output<'o> {
    /// Under which name, if it becomes a file,
    pub name: FileName,
    /// and whose it is.
    pub who: Identity,
    /// Writes it, and tells what was done to its messages.
    pub write: &'o dyn Fn(&mut dyn Write) -> io::Result<Counts>,
}

/// How a file is called.
pub(super) enum FileName {
    /// By the bulk convention, with this extension.
    Convention(Name, &'static str),
    /// As Claude Code calls its own: by the session.
    Session(String),
}

impl FileName {
    /// As [`Name::on_disk`].
    fn on_disk(&self, nth: Option<u32>) -> (String, bool) {
        match self {
            FileName::Convention(name, ext) => name.on_disk(ext, nth),
            FileName::Session(id) => {
                let number = nth.map(|n| format!("-{n}")).unwrap_or_default();
                (format!("{id}{number}.jsonl"), false)
            }
        }
    }
}

impl Output<'_> {
    /// Put it where it belongs and add to `counts` what became of it. A file's place comes back,
    /// nothing for a stream.
    pub fn deliver(
        self,
        judge: impl Judge,
        target: &mut Target<'_>,
        counts: &mut Counts,
    ) -> Result<Option<Placed>, Undelivered> {
        let renamed = Cell::new(false);
        let names = |nth| {
            let (name, changed) = self.name.on_disk(nth);
            renamed.set(renamed.get() | changed);
            name
        };
        let mut done = Counts::default();
        let mut write = |to: &mut dyn Write| {
            done = (self.write)(to)?;
            Ok(())
        };
        let placed = deliver(target, judge, &mut write, &names, &self.who).inspect_err(|why| {
            counts.add(Count::Failed, 1);
            counts.add(Count::RoundTripFailures, matches!(why, Undelivered::Refused(_)).into());
        })?;
        counts.merge(&done);
        counts.add(Count::RenamedForDisk, renamed.get().into());
        let outcome = match placed.as_ref().map(|placed| placed.outcome) {
            None | Some(Outcome::Created) => Count::Converted,
            Some(Outcome::Updated) => Count::Updated,
            Some(Outcome::Unchanged) => Count::Unchanged,
            Some(Outcome::Older) => Count::Older,
        };
        counts.add(outcome, 1);
        Ok(placed)
    }
}
