//! A session row as its readers see it: cells still in the text they travelled in (session-row(5)).

use crate::json::raw::{Items, Key, Kind, Raw};
use crate::json::text::{Text, is_blank};
use base64::Engine as _;
use std::borrow::Cow;
use std::hash::{BuildHasher, Hash, RandomState};

/// One session: the cells of its own row by name, and its message rows in store order. Nothing is copied.
#[derive(Debug)]
pub struct Session<'a> {
    cells: [Option<Raw<'a>>; COLUMNS.len()],
    /// The first rows. Each is read several times, and a session may hold millions.
    rows: Vec<Row<'a>>,
    /// The others, read as they are asked for.
    rest: Rows<'a>,
}

/// So many rows of a session are kept.
const KEPT: usize = 1 << 12;

/// The columns of a session that have a reader.
const COLUMNS: [&str; 23] = [
    "id",
    "title",
    "model",
    "source",
    "chat_type",
    "started_at",
    "ended_at",
    "end_reason",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "estimated_cost_usd",
    "actual_cost_usd",
    "cost_status",
    "cost_source",
    "usage",
    "store_newest",
    "partial",
    "withheld",
    "malformed",
    "messages",
];

impl<'a> Session<'a> {
    /// Read one session row. The error says which part of the record is not there.
    pub fn read(row: Raw<'a>) -> Result<Self, &'static str> {
        if row.kind() != Kind::Object {
            return Err("not a session row: no object");
        }
        // One pass, for the last member is as long as all the others.
        let mut cells = [None; COLUMNS.len()];
        for (key, value) in row.members() {
            for (column, cell) in COLUMNS.into_iter().zip(&mut cells) {
                if key.is(column) {
                    *cell = Some(value);
                }
            }
        }
        let mut session = Session { cells, rows: Vec::new(), rest: Rows(Raw::known(b"[]").items()) };
        if session.raw("id").is_none() {
            return Err("not a session row: no id");
        }
        let messages = session.raw("messages").filter(|messages| messages.kind() == Kind::Array);
        session.rest = Rows(messages.ok_or("not a session row: no messages")?.items());
        session.rows = session.rest.by_ref().take(KEPT).collect();
        Ok(session)
    }

    fn raw(&self, column: &str) -> Option<Raw<'a>> {
        let place = COLUMNS.iter().position(|known| *known == column)?;
        self.cells.get(place).copied().flatten()
    }

    /// The message rows, in `messages.id` order.
    pub fn messages(&self) -> impl Iterator<Item = Row<'a>> + Clone + use<'_, 'a> {
        self.rows.iter().copied().chain(self.rest.clone())
    }

    /// A cell of the session's own row, of one of the columns that have a reader; NULL is `None`.
    pub fn cell(&self, column: &str) -> Option<Cell<'a>> {
        Cell::of(self.raw(column)?)
    }

    /// The rows of `session_model_usage`, in order of first use.
    pub fn usage(&self) -> impl Iterator<Item = Raw<'a>> + use<'a> {
        self.raw("usage").into_iter().flat_map(Raw::items)
    }

    /// Whether some of it could not be read.
    pub fn is_partial(&self) -> bool {
        self.raw("partial").is_some_and(|partial| partial.kind() == Kind::True)
    }

    /// Names of the columns that were not NULL and were not read.
    pub fn withheld(&self) -> impl Iterator<Item = Cow<'a, str>> + use<'a> {
        names(self.raw("withheld"))
    }

    /// Names of the columns whose cell was of the wrong kind.
    pub fn malformed(&self) -> impl Iterator<Item = Cow<'a, str>> + use<'a> {
        names(self.raw("malformed"))
    }
}

/// Tells contents apart by 128 bits, which nobody can aim at: the keys are drawn anew for each run.
#[derive(Debug, Default)]
pub(super) struct Digest([RandomState; 2]);

impl Digest {
    /// The digest of anything.
    pub(super) fn of(&self, what: impl Hash) -> [u64; 2] {
        self.0.each_ref().map(|state| state.hash_one(&what))
    }
}

/// One message row. A column that the store lacks, or that is NULL, is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Row<'a> {
    id: Option<Raw<'a>>,
    pub(super) role: Option<Raw<'a>>,
    pub(super) content: Option<Raw<'a>>,
    pub(super) tool_calls: Option<Raw<'a>>,
    pub(super) tool_call_id: Option<Raw<'a>>,
    pub(super) tool_name: Option<Raw<'a>>,
    pub(super) timestamp: Option<Raw<'a>>,
    token_count: Option<Raw<'a>>,
    finish_reason: Option<Raw<'a>>,
    reasoning: Option<Raw<'a>>,
    reasoning_content: Option<Raw<'a>>,
    pub(super) active: Option<Raw<'a>>,
    pub(super) compacted: Option<Raw<'a>>,
    pub(super) compressed_summary: Option<Raw<'a>>,
    pub(super) display_kind: Option<Raw<'a>>,
    pub(super) model_only: Option<Raw<'a>>,
    withheld: Option<Raw<'a>>,
    malformed: Option<Raw<'a>>,
}

/// Message rows, read one after the other.
#[derive(Clone, Debug)]
struct Rows<'a>(Items<'a>);

impl<'a> Iterator for Rows<'a> {
    type Item = Row<'a>;

    fn next(&mut self) -> Option<Row<'a>> {
        let mut row = Row::default();
        self.0.object(|key, value| row.set(key, value))?;
        Some(row)
    }
}

impl<'a> Row<'a> {
    fn set(&mut self, key: Key<'a>, value: Raw<'a>) {
        let name = key.quoted().unwrap_or_default();
        let decoded = if name.contains(&b'\\') { key.text() } else { None };
        let place = match decoded.as_deref().unwrap_or(name) {
            b"id" => &mut self.id,
            b"role" => &mut self.role,
            b"content" => &mut self.content,
            b"tool_calls" => &mut self.tool_calls,
            b"tool_call_id" => &mut self.tool_call_id,
            b"tool_name" => &mut self.tool_name,
            b"timestamp" => &mut self.timestamp,
            b"token_count" => &mut self.token_count,
            b"finish_reason" => &mut self.finish_reason,
            b"reasoning" => &mut self.reasoning,
            b"reasoning_content" => &mut self.reasoning_content,
            b"active" => &mut self.active,
            b"compacted" => &mut self.compacted,
            b"_compressed_summary" => &mut self.compressed_summary,
            b"display_kind" => &mut self.display_kind,
            b"model_only" => &mut self.model_only,
            b"withheld" => &mut self.withheld,
            b"malformed" => &mut self.malformed,
            _ => return,
        };
        *place = Some(value).filter(|value| !value.is_null());
    }

    /// `messages.id`.
    pub fn id(&self) -> Option<Cell<'a>> {
        self.id.and_then(Cell::of)
    }

    /// Who speaks.
    pub fn role(&self) -> Option<Cell<'a>> {
        self.role.and_then(Cell::of)
    }

    /// What is said.
    pub fn content(&self) -> Option<Cell<'a>> {
        self.content.and_then(Cell::of)
    }

    /// The `tool_calls` cell as it travelled: JSON, or the string that it is.
    pub fn tool_calls(&self) -> Option<Raw<'a>> {
        self.tool_calls
    }

    /// Which call a tool row answers.
    pub fn tool_call_id(&self) -> Option<Cell<'a>> {
        self.tool_call_id.and_then(Cell::of)
    }

    /// Which tool a tool row is of.
    pub fn tool_name(&self) -> Option<Cell<'a>> {
        self.tool_name.and_then(Cell::of)
    }

    /// Epoch seconds, when they are in the window that Hermes itself trusts.
    pub fn seconds(&self) -> Option<f64> {
        self.timestamp.and_then(Raw::number).and_then(crate::time::in_window)
    }

    /// `token_count`; only a non-negative integer counts (rulings, "Messages").
    pub fn token_count(&self) -> Option<u64> {
        self.token_count.and_then(Raw::integer).and_then(|n| u64::try_from(n).ok())
    }

    /// Why the model stopped.
    pub fn finish_reason(&self) -> Option<Cell<'a>> {
        self.finish_reason.and_then(Cell::of)
    }

    /// `reasoning` and `reasoning_content`.
    pub fn thoughts(&self) -> [Option<Cell<'a>>; 2] {
        [self.reasoning.and_then(Cell::of), self.reasoning_content.and_then(Cell::of)]
    }

    /// Names of the columns that were not NULL and were not read.
    pub fn withheld(&self) -> impl Iterator<Item = Cow<'a, str>> {
        names(self.withheld)
    }

    /// Names of the columns whose cell was of the wrong kind.
    pub fn malformed(&self) -> impl Iterator<Item = Cow<'a, str>> {
        names(self.malformed)
    }
}

/// A cell that should be text. Most are string tokens and stay that way.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a>(Raw<'a>);

impl<'a> Cell<'a> {
    fn of(value: Raw<'a>) -> Option<Self> {
        (!value.is_null()).then_some(Cell(value))
    }

    /// The value as it travelled.
    pub fn raw(self) -> Raw<'a> {
        self.0
    }

    /// The cell as text: a string decoded (WTF-8), a number as it is written, bytes that are no
    /// UTF-8 as they were in the store.
    pub fn text(self) -> Cow<'a, [u8]> {
        if let Some(text) = self.0.text() {
            return text;
        }
        let bytes = self.0.get("base64").and_then(Raw::quoted);
        match bytes.and_then(|b64| base64::engine::general_purpose::STANDARD.decode(b64).ok()) {
            Some(bytes) => Cow::Owned(bytes),
            None => Cow::Borrowed(self.0.bytes()),
        }
    }

    /// The string token to write for this cell: its own where it has one. Bytes that are no UTF-8
    /// become U+FFFD, those of a surrogate too.
    pub fn token(self) -> Text<'a> {
        match self.0.is_string() {
            true => Text::Token(self.0),
            false => Text::Decoded(String::from_utf8_lossy(&self.text()).into_owned().into_bytes().into()),
        }
    }

    /// Whether there is nothing but white space in it.
    pub fn is_blank(self) -> bool {
        is_blank(&self.text())
    }
}

fn names(list: Option<Raw<'_>>) -> impl Iterator<Item = Cow<'_, str>> {
    list.into_iter().flat_map(Raw::items).filter_map(Raw::text).map(|name| match name {
        Cow::Borrowed(name) => String::from_utf8_lossy(name),
        Cow::Owned(name) => Cow::Owned(String::from_utf8_lossy(&name).into_owned()),
    })
}
