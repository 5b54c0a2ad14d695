//! The rules for generated transcripts: `cc-chain-check --strict`, and what `curt2cc` holds its own
//! output to before a file is put in place.
//!
//! A generated conversation is one straight chain: its first line has `parentUuid` null, every other
//! one names the line before. A stream may hold several conversations one after the other (`curt2cc A B
//! | cc-chain-check --strict`); a new one begins at a line with `parentUuid` null and a `sessionId` that
//! was not there before. Everything is unique over the whole stream, except the ids of tool calls, which
//! agents number from the start in every conversation.

use super::ids::{Digest, Ids, uuid_bytes};
use super::line::{Block, Message, Record, name};
use super::verdict::{Fault, Report};
use crate::json::canon::has_duplicate_keys;
use crate::json::raw::{Kind, Raw};
use crate::time::iso_millis;
use std::collections::HashMap;

/// The straight chain so far.
pub struct Strict {
    digest: Digest,
    uuids: Ids,
    /// The line of each uuid, by its number.
    lines: Vec<u64>,
    sessions: Ids,
    before: Before,
    /// The number of the current session.
    session: Option<u32>,
    /// The last instant of this conversation, in epoch milliseconds.
    time: Option<i64>,
    /// The calls of this conversation by the digest of their id.
    calls: HashMap<[u8; 16], Call>,
}

/// What stands before the next record.
enum Before {
    /// Nothing.
    Nothing,
    /// A record with this uuid (or whatever stood there).
    Line(Vec<u8>),
    /// A line that could not be read: whatever the next one names may be right.
    Unknown,
}

struct Call {
    line: u64,
    answered: bool,
}

/// The values of the Messages API. Agents of other make have their own, so any other is a warning.
const STOP_REASONS: [&str; 7] = [
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
];

impl Strict {
    pub(super) fn new(digest: Digest) -> Self {
        Strict {
            digest,
            uuids: Ids::new(digest),
            lines: Vec::new(),
            sessions: Ids::new(digest),
            before: Before::Nothing,
            session: None,
            time: None,
            calls: HashMap::new(),
        }
    }

    /// A line stood here that is no record.
    pub(super) fn unreadable(&mut self) {
        self.before = Before::Unknown;
    }

    /// Judge the next record.
    pub(super) fn record(&mut self, line: u64, record: &Record<'_>, report: &mut Report) {
        if has_duplicate_keys(record.raw) {
            report.add(line, Fault::DuplicateKey);
        }
        if record.is("summary") || record.is("custom-title") {
            return self.title(line, record, report);
        }
        let is_ours = ["user", "assistant", "system"].iter().any(|kind| record.is(kind));
        if !is_ours {
            report.add(line, Fault::Type);
        }
        if is_ours || record.is_node() {
            self.place(line, record, report);
        }
        // What is wrong with a record of another kind is its kind.
        if !is_ours {
            return;
        }
        envelope(line, record, report);
        self.instant(line, record, report);
        self.message(line, record, report);
    }

    /// Judge what only the end of the input tells.
    pub(super) fn finish(&mut self, report: &mut Report) {
        self.end_conversation(report);
    }

    /// A title is no part of the chain; it names the conversation that it ends.
    fn title(&self, line: u64, record: &Record<'_>, report: &mut Report) {
        let is_text = |key| record.raw.get(key).is_some_and(Raw::is_string);
        let is_ours = match (&self.before, record.is("summary")) {
            (Before::Nothing, _) => false,
            (Before::Line(_) | Before::Unknown, true) => {
                is_text("summary") && self.follows(record.raw.get("leafUuid"))
            }
            (Before::Line(_) | Before::Unknown, false) => {
                let session =
                    record.session.and_then(Raw::text).and_then(|session| self.sessions.find(&session));
                is_text("customTitle") && session.is_some() && session == self.session
            }
        };
        if !is_ours || record.uuid.is_some() {
            report.add(line, Fault::Title);
        }
    }

    /// `uuid`, `parentUuid`, `sessionId`: the record's place in the chain.
    fn place(&mut self, line: u64, record: &Record<'_>, report: &mut Report) {
        let uuid = name(record.uuid).unwrap_or_default();
        if uuid_bytes(&uuid).is_none() {
            report.add(line, Fault::Uuid);
        }
        if !uuid.is_empty() {
            match self.lines.get(self.uuids.number(&uuid) as usize) {
                Some(first) => report.add(line, Fault::SameUuid { first: *first }),
                None => {
                    self.lines.push(line);
                    report.nodes += 1;
                }
            }
        }
        let known = self.sessions.len();
        // The empty one is an id like any other: a store may hold such a session.
        let session = record.session.and_then(Raw::text).map(|session| self.sessions.number(&session));
        if session.is_none() {
            report.add(line, Fault::Session);
        }
        let is_new = session.is_some_and(|number| number as usize >= known);
        let is_root = record.parent.is_some_and(Raw::is_null);
        let begins = matches!(self.before, Before::Nothing) || is_root && session != self.session;
        if record.parent.is_none() {
            report.add(line, Fault::NoParent);
        } else if begins && !is_root {
            report.add(line, Fault::FirstParent);
        } else if !begins && !self.follows(record.parent) {
            report.add(line, Fault::NotPrevious);
        }
        if begins {
            if session.is_some() && !is_new {
                report.add(line, Fault::SessionAgain);
            }
            self.end_conversation(report);
            report.roots += 1;
        } else if session.is_some() && self.session.is_some() && session != self.session {
            report.add(line, Fault::OtherSession);
        }
        self.session = session.or(self.session);
        self.before = Before::Line(uuid.into_owned());
    }

    fn follows(&self, parent: Option<Raw<'_>>) -> bool {
        match &self.before {
            Before::Line(uuid) => name(parent).is_some_and(|parent| *parent == **uuid),
            Before::Nothing | Before::Unknown => true,
        }
    }

    fn end_conversation(&mut self, report: &mut Report) {
        self.time = None;
        let open = self.calls.drain().filter(|(_, call)| !call.answered);
        let mut lines: Vec<u64> = open.map(|(_, call)| call.line).collect();
        lines.sort_unstable();
        for line in lines {
            report.add(line, Fault::NoResult);
        }
    }

    fn instant(&mut self, line: u64, record: &Record<'_>, report: &mut Report) {
        match record.timestamp.and_then(Raw::text).and_then(|text| instant(&text)) {
            None => report.add(line, Fault::Timestamp),
            Some(now) => {
                if self.time.is_some_and(|before| now < before) {
                    report.add(line, Fault::Backwards);
                }
                self.time = Some(now);
            }
        }
    }

    fn message(&mut self, line: u64, record: &Record<'_>, report: &mut Report) {
        let is_system = record.is("system");
        let Some(raw) = record.message.filter(|raw| raw.kind() == Kind::Object) else {
            // A system line says what it says in `content`, beside the envelope.
            if !is_system || record.message.is_some() {
                report.add(line, Fault::Message);
            }
            return;
        };
        let message = Message::new(raw);
        let of = |field: Option<Raw<'_>>| field.and_then(Raw::text).map(|text| text.into_owned());
        if of(message.role).is_none_or(|role| Some(role) != of(record.kind)) {
            report.add(line, Fault::Role);
        }
        let content = message.content;
        match content.map(Raw::kind) {
            _ if is_system => {}
            Some(Kind::Array)
                if !record.is("assistant") || content.is_some_and(|c| c.items().next().is_some()) => {}
            Some(Kind::String) if !record.is("assistant") => {}
            _ if record.is("assistant") => report.add(line, Fault::NoBlocks),
            _ => report.add(line, Fault::Content),
        }
        for block in content.into_iter().flat_map(Raw::items) {
            self.block(line, block, report);
        }
        let known = |reason: Raw<'_>| reason.is_null() || STOP_REASONS.iter().any(|known| reason.is(known));
        if !message.stop_reason.is_none_or(known) {
            report.add(line, Fault::StopReason);
        }
    }

    fn block(&mut self, line: u64, raw: Raw<'_>, report: &mut Report) {
        if raw.kind() != Kind::Object {
            return report.add(line, Fault::Block);
        }
        let block = Block::new(raw);
        if block.is("tool_use") {
            match name(block.id) {
                None => report.add(line, Fault::ToolId),
                Some(id) => {
                    let call = Call { line, answered: false };
                    if let Some(first) = self.calls.insert(self.digest.of(&id), call) {
                        report.add(line, Fault::SameToolId { first: first.line });
                    }
                }
            }
            if block.input.is_none_or(|input| input.kind() != Kind::Object) {
                report.add(line, Fault::Input);
            }
        } else if block.is("tool_result") {
            match name(block.tool_use_id) {
                None => report.add(line, Fault::ResultId),
                Some(id) => match self.calls.get_mut(&self.digest.of(&id)) {
                    None => report.add(line, Fault::OrphanResult),
                    Some(call) => call.answered = true,
                },
            }
        }
    }
}

/// The fields that say the same on every line.
fn envelope(line: u64, record: &Record<'_>, report: &mut Report) {
    if record.sidechain.is_none_or(|it| it.kind() != Kind::False) {
        report.add(line, Fault::Sidechain);
    }
    if !record.user_type.is_some_and(|it| it.is("external")) {
        report.add(line, Fault::UserType);
    }
    for (field, fault) in
        [(record.cwd, Fault::Cwd), (record.branch, Fault::Branch), (record.version, Fault::Version)]
    {
        if !field.is_some_and(Raw::is_string) {
            report.add(line, fault);
        }
    }
}

/// The epoch milliseconds of an instant that is spelled as JavaScript's `toISOString` spells it, to the
/// letter: `2026-02-29T…` and `T24:00` are none, years beyond four digits have a sign and six.
fn instant(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let (sign, years) = match text.as_bytes().first()? {
        b'+' => (1, 7),
        b'-' => (-1, 7),
        _ => (1, 4),
    };
    let (year, rest) = text.split_at_checked(years)?;
    let year = sign * digits(year.trim_start_matches(['+', '-']))?;
    let field = |range| digits(rest.get(range)?);
    let (month, day) = (field(1..3)?, field(4..6)?);
    let (hour, minute, second, milli) = (field(7..9)?, field(10..12)?, field(13..15)?, field(16..19)?);
    let month_of_year = u8::try_from(month).ok()?.try_into().ok()?;
    let date =
        time::Date::from_calendar_date(i32::try_from(year).ok()?, month_of_year, u8::try_from(day).ok()?)
            .ok()?;
    let days = i64::from(date.to_julian_day() - EPOCH_JULIAN_DAY);
    let ms = (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + milli;
    // Whatever is not the one spelling, in its separators or its ranges, fails here.
    (iso_millis(ms as f64).as_deref() == Some(text)).then_some(ms)
}

const EPOCH_JULIAN_DAY: i32 = 2_440_588;

fn digits(text: &str) -> Option<i64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::instant;

    #[test]
    fn an_instant_is_what_to_iso_string_writes() {
        // node 20: Date.parse
        for (text, ms) in [
            ("1970-01-01T00:00:00.000Z", 0),
            ("1969-12-31T23:59:59.999Z", -1),
            ("2024-02-29T12:00:00.999Z", 1_709_208_000_999),
            ("2026-01-01T00:00:01.000Z", 1_767_225_601_000),
            ("0000-01-01T00:00:00.000Z", -62_167_219_200_000),
            ("+275760-09-13T00:00:00.000Z", 8_640_000_000_000_000),
            ("-271821-04-20T00:00:00.000Z", -8_640_000_000_000_000),
        ] {
            assert_eq!(instant(text.as_bytes()), Some(ms), "{text}");
        }
    }

    #[test]
    fn other_spellings_and_days_that_never_were_are_no_instants() {
        for text in [
            "",
            "2026-01-01",
            "2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00.000",
            "2026-01-01T00:00:00.000z",
            "2026-01-01 00:00:00.000Z",
            "2026-01-01T00:00:00.000+00:00",
            "2026-01-01T00:00:00.0000Z",
            "2026-02-29T00:00:00.000Z",
            "1900-02-29T00:00:00.000Z",
            "2026-04-31T00:00:00.000Z",
            "2026-13-01T00:00:00.000Z",
            "2026-00-01T00:00:00.000Z",
            "2026-01-00T00:00:00.000Z",
            "2026-01-01T24:00:00.000Z",
            "2026-01-01T23:60:00.000Z",
            "2026-01-01T23:59:60.000Z",
            "2026-1-01T00:00:00.000Z ",
            "+002026-01-01T00:00:00.000Z",
            "-000000-01-01T00:00:00.000Z",
            "+275760-09-13T00:00:00.001Z",
            "20260-1-01T00:00:00.000Z",
            "2026-+1-01T00:00:00.000Z",
            "++02026-01-01T00:00:00.000Z",
            "٢٠٢٦-01-01T00:00:00.000Z",
            "2026-01-01T00:00:00.000Z\n",
        ] {
            assert_eq!(instant(text.as_bytes()), None, "{text:?}");
        }
    }
}
