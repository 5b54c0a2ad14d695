//! Session rows to events of the lake: what every runtime has in common. The tables are in
//! [`hermes`], [`claude_code`] and [`cursor`].

pub mod claims;
mod claude_code;
mod cursor;
mod hermes;

use crate::hermes::session::Session;
use crate::json::raw::Raw;
use crate::json::write::{Layout, Writer};
use crate::lake::event::{Event, Mint, Source, Tool, Type, utf8};
use crate::time::iso_millis;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

/// What the person said of the rows, and what happened so far.
pub struct Packer {
    /// Whose events they are.
    pub fleet_id: String,
    /// The agent in that fleet.
    pub agent_id: String,
    /// The hash of the machine's name.
    pub host_id: String,
    /// Gives the ids.
    pub mint: Mint,
    /// Leave out rewound, hidden and repeated rows of Hermes, as `.curt` does.
    pub shown: bool,
    /// Only rows of this runtime, as rows spell it.
    pub runtime: Option<Runtime>,
    /// Sessions whose last message is older have ended, in epoch seconds.
    pub ended_before: Option<f64>,
    /// What happened.
    pub counts: Counts,
    /// The claims there are, by their hashes.
    pub claimed: HashSet<String>,
}

/// The runtimes that have a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// Hermes.
    Hermes,
    /// Claude Code.
    ClaudeCode,
    /// Cursor.
    Cursor,
}

impl Runtime {
    /// The name in a row, and the one in an event.
    const NAMES: [(Runtime, &'static str, &'static str); 3] = [
        (Runtime::Hermes, "hermes", "hermes"),
        (Runtime::ClaudeCode, "claude-code", "claude_code"),
        (Runtime::Cursor, "cursor", "cursor"),
    ];

    /// The runtime of a name as rows and options spell it.
    pub fn named(name: &str) -> Option<Runtime> {
        Self::NAMES.into_iter().find(|(_, row, _)| *row == name).map(|(runtime, ..)| runtime)
    }

    /// The name in events.
    pub fn wire(self) -> &'static str {
        Self::NAMES.into_iter().find(|(runtime, ..)| *runtime == self).map_or("", |(.., wire)| wire)
    }

    /// Whose row this is; one that does not say is of Hermes.
    fn of(row: Raw<'_>) -> Option<Runtime> {
        let Some(name) = row.get("runtime") else { return Some(Runtime::Hermes) };
        Self::NAMES.into_iter().find(|(_, row, _)| name.is(row)).map(|(runtime, ..)| runtime)
    }
}

/// What happened to the rows. Whatever became no event is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows that were read.
    pub sessions: u64,
    /// Sessions without a message: they have no events.
    pub empty: u64,
    /// Sessions that go on: they have no end yet.
    pub open: u64,
    /// Events.
    pub events: u64,
    /// Messages of roles that have no event.
    pub unmapped: u64,
    /// Messages that were left out: not shown to a person, or not said by one.
    pub left_out: u64,
    /// Calls of sessions that go on, whose result may still come.
    pub waiting: u64,
    /// Claims.
    pub claims: u64,
    /// Files that claim nothing, or what another one claims.
    pub repeated: u64,
    /// Rows that could not be read.
    pub failed: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sessions, {} events", self.sessions, self.events)?;
        let rest = [
            (self.empty, "empty"),
            (self.open, "still open"),
            (self.unmapped, "messages of unmapped roles"),
            (self.left_out, "messages left out"),
            (self.waiting, "calls waiting for a result"),
            (self.claims, "claims"),
            (self.repeated, "files that claim nothing new"),
            (self.failed, "failed"),
        ];
        rest.into_iter().filter(|(n, _)| *n > 0).try_for_each(|(n, what)| write!(f, ", {n} {what}"))
    }
}

impl Packer {
    fn source(&self, runtime: &'static str) -> Source<'_> {
        Source {
            fleet_id: Cow::Borrowed(&self.fleet_id),
            agent_id: Cow::Borrowed(&self.agent_id),
            runtime: Cow::Borrowed(runtime),
            runtime_version: None,
            host_id: Cow::Borrowed(&self.host_id),
        }
    }

    /// Append the events of one row, whole or not at all. The error says what is wrong with it.
    pub fn row(&mut self, row: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        self.events(row, out).inspect_err(|_| self.counts.failed += 1)
    }

    fn events(&mut self, row: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        let row = Raw::parse(row).map_err(|bad| bad.to_string())?;
        let runtime = Runtime::of(row).ok_or("rows of this runtime are not known")?;
        if self.runtime.is_some_and(|wanted| wanted != runtime) {
            return Ok(());
        }
        let session_id =
            row.get("id").filter(|id| !id.is_null()).map(plain).ok_or("not a session row: no id")?;
        let source = Source {
            fleet_id: Cow::Borrowed(&self.fleet_id),
            agent_id: Cow::Borrowed(&self.agent_id),
            runtime: Cow::Borrowed(runtime.wire()),
            runtime_version: None,
            host_id: Cow::Borrowed(&self.host_id),
        };
        let ended_before = self.ended_before;
        let mut to =
            Emitter { source, session_id, mint: &mut self.mint, counts: self.counts, ended_before, out };
        to.counts.sessions += 1;
        match runtime {
            Runtime::Hermes => hermes::events(&Session::read(row)?, self.shown, &mut to),
            Runtime::ClaudeCode => claude_code::events(row, &mut to),
            Runtime::Cursor => cursor::events(row, &mut to),
        }
        self.counts = to.counts;
        Ok(())
    }
}

/// Where the events of one session go.
struct Emitter<'p> {
    source: Source<'p>,
    session_id: Cow<'p, str>,
    mint: &'p mut Mint,
    counts: Counts,
    ended_before: Option<f64>,
    out: &'p mut Vec<u8>,
}

impl<'p> Emitter<'p> {
    /// An event of the session at this moment, in epoch seconds.
    fn at(&self, event_type: Type, seconds: f64) -> Event<'p> {
        let emitted_at = iso_millis((seconds * 1000.0).round()).unwrap_or_default();
        let event = Event::new(self.source.clone(), event_type, self.session_id.clone());
        Event { emitted_at: Cow::Owned(emitted_at), ..event }
    }

    fn emit(&mut self, event: Event<'_>) {
        Event { event_id: Cow::Owned(self.mint.next_id()), ..event }.write(self.out);
        self.counts.events += 1;
    }

    /// Whether a session whose last message came then is over; see the rulings, "Lake".
    fn has_ended(&self, last: f64, store_newest: Option<f64>) -> bool {
        const DAY: f64 = 86_400.0;
        store_newest.is_some_and(|newest| last + DAY <= newest)
            || self.ended_before.is_some_and(|limit| last < limit)
    }
}

/// A call whose result is still to come.
#[derive(Default)]
struct Asked<'a> {
    tool: Tool<'a>,
    /// The message that asked.
    by: Option<Cow<'a, str>>,
}

/// A string as it is; anything else as JSON on one line.
fn plain(value: Raw<'_>) -> Cow<'_, str> {
    if let Some(text) = value.text() {
        return utf8(text);
    }
    let mut json = Vec::new();
    Writer::new(&mut json, Layout::Line).raw(value);
    utf8(Cow::Owned(json))
}

/// A call with its input, and the file that it names.
fn call<'a>(name: Cow<'a, str>, input: Option<Cow<'a, str>>) -> Tool<'a> {
    // Of the whole input, before anybody cuts it.
    let paths = input.as_deref().and_then(path).map(Cow::Owned).into_iter().collect();
    Tool { name, input, paths, ..Tool::default() }
}

/// The path that an input names at its top level.
fn path(input: &str) -> Option<String> {
    let input = Raw::parse(input.as_bytes()).ok()?;
    let path =
        ["file_path", "path", "filePath", "file"].into_iter().find_map(|key| input.get(key)?.text())?;
    Some(utf8(path).into_owned())
}
