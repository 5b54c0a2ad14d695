//! The session row, written: cells of a store in, one line of JSON out. Knows nothing of SQLite.
//!
//! ```text
//! {"runtime":"hermes","schema_version":31,"id":…,SESSION…,"usage":[{USAGE…}…],"store_newest":…,
//!  "partial":true,"withheld":[…],"malformed":[…],"messages":[{MESSAGE…}…]}\n
//! ```
//!
//! # Which columns
//!
//! [`SESSION`], [`USAGE`] and [`MESSAGE`] are the allow-list: a column that stands on none of them is
//! never selected as a value, whatever a newer schema calls it (toolkit, "Privacy"). The order of the
//! lists is the order of the fields. A column the store lacks and a NULL are left out.
//!
//! `withheld` names the columns off the list that hold something, in byte order. SQL is asked for
//! `IS NULL` alone. A column with a DEFAULT is not asked: it holds something in every row, so that
//! it does says nothing about this one (`expiry_finalized`, `compression_fallback_streak`). Nor is
//! `messages.session_id`, which is the `id` of the row around it. All others are named, identifiers
//! and plumbing alike: deciding which is which would need a list of every schema to come.
//!
//! # Cells
//!
//! SQLite types cells, not columns. A cell of another kind than its column's stands as it is (a number
//! among texts as a number) and its column is named in `malformed` (rulings, "Rows"). Of these only
//! bytes that are no UTF-8 change their form: `{"base64":"…"}`.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::json::raw::Raw;
use crate::json::write::{Layout, Writer, escape_piece_into, escape_str_into, real_into};
use crate::stream::spill::Spill;

/// One cell, borrowed from wherever the row stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Nothing.
    Null,
    /// A 64-bit integer.
    Integer(i64),
    /// A double; may be infinite, never NaN (SQLite stores that as NULL).
    Real(f64),
    /// Text: in practice UTF-8, may hold NUL and bytes that are no UTF-8.
    Text(&'a [u8]),
    /// Bytes.
    Blob(&'a [u8]),
}

/// What a column promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    /// Text that may be JSON; travels as JSON when it is.
    Json,
    Integer,
    /// Integers count as reals: a REAL column turns them into doubles, but not on every way in.
    Real,
}

/// A column that may be read.
#[derive(Debug)]
pub struct Column {
    /// Its name in the store and in the row.
    pub name: &'static str,
    /// `,"name":`
    key: &'static str,
    kind: Kind,
}

macro_rules! columns {
    ($($kind:ident: $($name:literal)+;)+) => {
        &[$($(Column { name: $name, key: concat!(",\"", $name, "\":"), kind: Kind::$kind }),+),+]
    };
}

/// Of table `sessions`.
pub const SESSION: &[Column] = columns! {
    Text: "id" "source" "created_source" "title" "title_source" "chat_type" "model";
    Real: "started_at" "ended_at";
    Text: "end_reason";
    Integer: "message_count" "tool_call_count" "api_call_count" "rewind_count"
        "archived" "auto_archived" "hidden" "pinned"
        "input_tokens" "output_tokens" "cache_read_tokens" "cache_write_tokens" "reasoning_tokens";
    Real: "estimated_cost_usd" "actual_cost_usd";
    Text: "cost_status" "cost_source";
};

/// Of table `session_model_usage`; its `billing_*` are not even asked for.
pub const USAGE: &[Column] = columns! {
    Text: "model" "task";
    Integer: "api_call_count"
        "input_tokens" "output_tokens" "cache_read_tokens" "cache_write_tokens" "reasoning_tokens";
    Real: "estimated_cost_usd" "actual_cost_usd";
    Text: "cost_status" "cost_source";
    Real: "first_seen" "last_seen";
};

/// Of table `messages`.
pub const MESSAGE: &[Column] = columns! {
    Integer: "id";
    Text: "role" "content";
    Json: "tool_calls";
    Text: "tool_call_id" "tool_name";
    Real: "timestamp";
    Integer: "token_count";
    Text: "finish_reason" "reasoning" "reasoning_content";
    Integer: "observed" "active" "compacted" "_compressed_summary";
    Text: "display_kind" "effect_disposition";
};

/// A column as the store declares it.
#[derive(Clone, Debug)]
pub struct Declared {
    /// Its name, byte for byte.
    pub name: String,
    /// Whether it has a DEFAULT.
    pub has_default: bool,
}

/// What to ask of one table of one store, and how its answer is laid out: the values of `columns`;
/// then (messages of newer stores) whether the row is `model_only`, 1 or not; then an integer for each
/// [`FLAGS`] of `withheld`, bit 0 for the first, set when there is something.
#[derive(Debug, Default)]
pub struct Shape {
    /// Read as values, in the order of the row.
    pub columns: Vec<&'static Column>,
    /// Whether a flag `model_only` stands after them.
    pub model_only: bool,
    /// Asked for as flags, in byte order.
    pub withheld: Vec<String>,
}

/// As many as an integer of SQLite holds without its sign.
pub const FLAGS: usize = 63;

impl Shape {
    /// The shape of a table that has the columns `declared`, read by the list `allowed`.
    pub fn new(allowed: &'static [Column], declared: &[Declared]) -> Shape {
        let columns = allowed.iter().filter(|c| declared.iter().any(|d| d.name == c.name)).collect();
        let off_list = |d: &&Declared| {
            !d.has_default && d.name != "session_id" && allowed.iter().all(|c| c.name != d.name)
        };
        let mut withheld: Vec<String> = declared.iter().filter(off_list).map(|d| d.name.clone()).collect();
        withheld.sort_unstable();
        Shape { columns, model_only: false, withheld }
    }
}

/// What stands around the columns of a session.
#[derive(Clone, Copy, Debug, Default)]
pub struct Store {
    /// As the store says it. Reported, never compared.
    pub schema_version: Option<i64>,
    /// The newest trusted time of any message in the store, epoch seconds.
    pub newest: Option<f64>,
}

/// A cell of this size is written in pieces of it.
const PIECE: usize = 48 << 10;

/// Append the row of a session up to and including `"messages":[`. `usage` appends an array, or
/// nothing when the store keeps none; `partial`: some of it cannot be read.
///
/// # Errors
/// Those of `cell`, and of `out`, which then ends anywhere.
pub fn open_session<'r, E: From<io::Error>>(
    out: &mut Spill,
    store: Store,
    shape: &Shape,
    usage: impl FnOnce(&mut Spill) -> Result<(), E>,
    partial: bool,
    cell: impl Fn(usize) -> Result<Cell<'r>, E>,
) -> Result<(), E> {
    out.buffer().extend_from_slice(b"{\"runtime\":\"hermes\"");
    if let Some(version) = store.schema_version {
        key(out.buffer(), "schema_version");
        integer(out.buffer(), version);
    }
    let mut malformed = Vec::new();
    columns(out, &shape.columns, &mut malformed, false, &cell)?;
    usage(out)?;
    if let Some(newest) = store.newest {
        key(out.buffer(), "store_newest");
        real(out.buffer(), newest);
    }
    let out = out.buffer();
    if partial {
        out.extend_from_slice(b",\"partial\":true");
    }
    flags(out, shape, &cell)?;
    write_malformed(out, &mut malformed);
    key(out, "messages");
    out.push(b'[');
    Ok(())
}

/// The same for a session of which only the id can be read.
///
/// # Errors
/// Those of `out`.
pub fn open_nameless(out: &mut Spill, store: Store, id: Cell<'_>) -> io::Result<()> {
    let shape = Shape { columns: SESSION.iter().filter(|c| c.name == "id").collect(), ..Shape::default() };
    open_session(out, store, &shape, |_| Ok(()), true, |_| Ok::<_, io::Error>(id))
}

/// Append one message or one row of usage: an object.
///
/// # Errors
/// Those of `cell`, and of `out`, which then ends anywhere.
pub fn object<'r, E: From<io::Error>>(
    out: &mut Spill,
    shape: &Shape,
    cell: impl Fn(usize) -> Result<Cell<'r>, E>,
) -> Result<(), E> {
    let mut malformed = Vec::new();
    out.buffer().push(b'{');
    let start = out.gathered();
    columns(out, &shape.columns, &mut malformed, true, &cell)?;
    let is_empty = out.gathered() == start;
    let out = out.buffer();
    let end = out.len();
    flags(out, shape, &cell)?;
    write_malformed(out, &mut malformed);
    if is_empty && out.len() > end {
        // The comma of what is the first member after all.
        out.remove(end);
    }
    out.push(b'}');
    Ok(())
}

/// `is_first`: no member stands before these.
fn columns<'r, E: From<io::Error>>(
    out: &mut Spill,
    columns: &[&'static Column],
    malformed: &mut Vec<&'static str>,
    mut is_first: bool,
    cell: &impl Fn(usize) -> Result<Cell<'r>, E>,
) -> Result<(), E> {
    for (at, column) in columns.iter().enumerate() {
        let cell = cell(at)?;
        if !matches!(cell, Cell::Null) {
            // Every key brings its comma.
            let key = column.key.as_bytes().get(usize::from(std::mem::take(&mut is_first))..);
            out.buffer().extend_from_slice(key.unwrap_or_default());
            if !value(out, column.kind, cell)? {
                malformed.push(column.name);
            }
        }
    }
    Ok(())
}

fn flags<'r, E>(
    out: &mut Vec<u8>,
    shape: &Shape,
    cell: &impl Fn(usize) -> Result<Cell<'r>, E>,
) -> Result<(), E> {
    let mut at = shape.columns.len();
    if shape.model_only {
        if matches!(cell(at)?, Cell::Integer(1)) {
            out.extend_from_slice(b",\"model_only\":true");
        }
        at += 1;
    }
    let mut list = List::new("withheld");
    for (at, names) in (at..).zip(shape.withheld.chunks(FLAGS)) {
        let Cell::Integer(flags) = cell(at)? else { continue };
        for (bit, name) in names.iter().enumerate() {
            if flags >> bit & 1 == 1 {
                list.push(out, name);
            }
        }
    }
    list.close(out);
    Ok(())
}

/// A member that is an array of names, and is not there without any.
struct List {
    member: &'static str,
    is_open: bool,
}

impl List {
    fn new(member: &'static str) -> List {
        List { member, is_open: false }
    }

    fn push(&mut self, out: &mut Vec<u8>, name: &str) {
        if std::mem::replace(&mut self.is_open, true) {
            out.push(b',');
        } else {
            key(out, self.member);
            out.push(b'[');
        }
        escape_str_into(out, name);
    }

    fn close(self, out: &mut Vec<u8>) {
        if self.is_open {
            out.push(b']');
        }
    }
}

fn write_malformed(out: &mut Vec<u8>, names: &mut [&str]) {
    names.sort_unstable();
    let mut list = List::new("malformed");
    for name in names {
        list.push(out, name);
    }
    list.close(out);
}

fn key(out: &mut Vec<u8>, name: &str) {
    out.push(b',');
    escape_str_into(out, name);
    out.push(b':');
}

/// Append a cell that is not NULL. Whether it is what its column promises.
fn value(out: &mut Spill, kind: Kind, cell: Cell<'_>) -> io::Result<bool> {
    Ok(match cell {
        Cell::Null => true,
        Cell::Integer(n) => {
            integer(out.buffer(), n);
            matches!(kind, Kind::Integer | Kind::Real)
        }
        Cell::Real(n) => {
            real(out.buffer(), n);
            kind == Kind::Real && n.is_finite()
        }
        Cell::Text(text) => string(out, kind, text)? && matches!(kind, Kind::Text | Kind::Json),
        Cell::Blob(bytes) => {
            string(out, kind, bytes)?;
            false
        }
    })
}

/// Whether the bytes could be written as text.
fn string(out: &mut Spill, kind: Kind, bytes: &[u8]) -> io::Result<bool> {
    if kind == Kind::Json
        && let Ok(json) = Raw::parse(bytes)
    {
        one_line(out, json)?;
        return Ok(true);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if text.len() <= PIECE => escape_str_into(out.buffer(), text),
        Ok(text) => {
            out.buffer().push(b'"');
            pieces(out, text.as_bytes(), escape_piece_into)?;
            out.buffer().push(b'"');
        }
        Err(_) => {
            out.buffer().extend_from_slice(b"{\"base64\":\"");
            // No piece but the last needs padding.
            pieces(out, bytes, |out, piece| out.extend_from_slice(STANDARD.encode(piece).as_bytes()))?;
            out.buffer().extend_from_slice(b"\"}");
            return Ok(false);
        }
    }
    Ok(true)
}

/// A record is a line: white space goes where it would break one. Else the text stays as stored.
fn one_line(out: &mut Spill, json: Raw<'_>) -> io::Result<()> {
    if memchr::memchr2(b'\n', b'\r', json.bytes()).is_some() {
        Writer::new(out.buffer(), Layout::Line).raw(json);
        return Ok(());
    }
    pieces(out, json.bytes(), |out, piece| out.extend_from_slice(piece))
}

/// A cell may have any size, and grow sixfold on its way.
fn pieces(out: &mut Spill, bytes: &[u8], write: impl Fn(&mut Vec<u8>, &[u8])) -> io::Result<()> {
    bytes.chunks(PIECE).try_for_each(|piece| {
        write(out.buffer(), piece);
        out.settle()
    })
}

fn integer(out: &mut Vec<u8>, n: i64) {
    match n {
        // Nearly all: flags.
        0 => out.push(b'0'),
        1 => out.push(b'1'),
        // Writing to a Vec cannot fail.
        _ => drop(write!(out, "{n}")),
    }
}

/// As SQLite's own shell and `serde_json` write it; what JSON cannot say is a number that every reader
/// takes for infinite.
fn real(out: &mut Vec<u8>, n: f64) {
    match n {
        f64::INFINITY => out.extend_from_slice(b"1e999"),
        f64::NEG_INFINITY => out.extend_from_slice(b"-1e999"),
        _ => real_into(out, n),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(names: &[&str]) -> Vec<Declared> {
        names.iter().map(|n| Declared { name: (*n).to_owned(), has_default: false }).collect()
    }

    /// The object of a message that has the columns and cells given, and flags after them.
    fn message(cells: &[(&str, Cell<'static>)], flags: &[(&str, bool)]) -> String {
        let names: Vec<&str> = cells.iter().map(|(n, _)| *n).chain(flags.iter().map(|(n, _)| *n)).collect();
        let shape = Shape::new(MESSAGE, &declared(&names));
        let by_name = |at: usize| match shape.columns.get(at) {
            Some(column) => cells.iter().find(|(n, _)| *n == column.name).unwrap().1,
            None => Cell::Integer(flag_bits(&shape, flags)),
        };
        told(|out| object(out, &shape, |at| Ok::<_, io::Error>(by_name(at))))
    }

    fn told(write: impl FnOnce(&mut Spill) -> io::Result<()>) -> String {
        let (mut spill, mut out) = (Spill::default(), Vec::new());
        write(&mut spill).unwrap();
        spill.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn flag_bits(shape: &Shape, flags: &[(&str, bool)]) -> i64 {
        let is_set = |name: &String| flags.iter().any(|(n, set)| n == name && *set);
        shape.withheld.iter().map(is_set).rev().fold(0, |bits, set| bits << 1 | i64::from(set))
    }

    fn cell(column: &'static str, cell: Cell<'static>) -> String {
        message(&[(column, cell)], &[])
    }

    #[test]
    fn healthy_cells() {
        assert_eq!(cell("id", Cell::Integer(7)), r#"{"id":7}"#);
        assert_eq!(cell("role", Cell::Text(b"user")), r#"{"role":"user"}"#);
        assert_eq!(cell("timestamp", Cell::Real(1_790_000_000.0)), r#"{"timestamp":1790000000.0}"#);
        assert_eq!(cell("timestamp", Cell::Real(0.1 + 0.2)), r#"{"timestamp":0.30000000000000004}"#);
        assert_eq!(cell("timestamp", Cell::Real(8.4e252)), r#"{"timestamp":8.4e+252}"#);
        assert_eq!(cell("timestamp", Cell::Real(5e-324)), r#"{"timestamp":5e-324}"#);
        assert_eq!(cell("timestamp", Cell::Integer(1_790_000_000)), r#"{"timestamp":1790000000}"#);
        assert_eq!(cell("content", Cell::Text(b"")), r#"{"content":""}"#);
        assert_eq!(
            cell("content", Cell::Text(b"\0json:[\"a\"]\n\xe2\x80\xa8")),
            "{\"content\":\"\\u0000json:[\\\"a\\\"]\\n\u{2028}\"}"
        );
    }

    #[test]
    fn null_is_left_out() {
        assert_eq!(cell("content", Cell::Null), "{}");
        assert_eq!(message(&[("id", Cell::Null), ("role", Cell::Text(b"user"))], &[]), r#"{"role":"user"}"#);
    }

    #[test]
    fn a_cell_of_the_wrong_kind_stands_and_is_named() {
        for (column, value, expected) in [
            ("content", Cell::Integer(-5), r#"-5,"malformed":["content"]"#),
            ("content", Cell::Real(1.5), r#"1.5,"malformed":["content"]"#),
            ("content", Cell::Blob(b"caf\xc3\xa9"), r#""café","malformed":["content"]"#),
            ("content", Cell::Blob(b""), r#""","malformed":["content"]"#),
            ("content", Cell::Blob(b"\xff\x00"), r#"{"base64":"/wA="},"malformed":["content"]"#),
            ("content", Cell::Text(b"f\xc3("), r#"{"base64":"ZsMo"},"malformed":["content"]"#),
            // WTF-8 is no UTF-8.
            ("content", Cell::Text(b"\xed\xa0\x80"), r#"{"base64":"7aCA"},"malformed":["content"]"#),
            ("token_count", Cell::Real(12.75), r#"12.75,"malformed":["token_count"]"#),
            ("token_count", Cell::Text(b"many"), r#""many","malformed":["token_count"]"#),
            ("timestamp", Cell::Text(b"2026-09-21"), r#""2026-09-21","malformed":["timestamp"]"#),
            ("timestamp", Cell::Real(f64::INFINITY), r#"1e999,"malformed":["timestamp"]"#),
            ("timestamp", Cell::Real(f64::NEG_INFINITY), r#"-1e999,"malformed":["timestamp"]"#),
            ("role", Cell::Blob(b"user"), r#""user","malformed":["role"]"#),
        ] {
            assert_eq!(cell(column, value), format!("{{\"{column}\":{expected}}}"));
        }
    }

    #[test]
    fn tool_calls_travel_as_json_when_they_are_json() {
        for (text, expected) in [
            (r#"[{"id":"a", "n": 1e400}]"#, r#"[{"id":"a", "n": 1e400}]"#),
            ("[\n  {\"a\": \"b\\n \\ud83d\"}\r\n]\n", r#"[{"a":"b\n \ud83d"}]"#),
            ("null", "null"),
            ("5", "5"),
            (r#""[]""#, r#""[]""#),
            ("", r#""""#),
            ("[1", r#""[1""#),
            ("[NaN]", r#""[NaN]""#),
            ("[]\0", r#""[]\u0000""#),
        ] {
            let text: &'static [u8] = text.as_bytes();
            assert_eq!(cell("tool_calls", Cell::Text(text)), format!("{{\"tool_calls\":{expected}}}"));
        }
        assert_eq!(
            cell("tool_calls", Cell::Blob(b"[1]")),
            r#"{"tool_calls":[1],"malformed":["tool_calls"]}"#
        );
        assert_eq!(
            cell("tool_calls", Cell::Text(b"[\"\xff\"]")),
            r#"{"tool_calls":{"base64":"WyL/Il0="},"malformed":["tool_calls"]}"#
        );
    }

    #[test]
    fn what_is_longer_than_a_piece_and_than_memory_is_one_text() {
        let text = "é\"\u{1}漢".repeat(1_000_000);
        let expected = format!("{{\"content\":\"{}\"}}", r#"é\"\u0001漢"#.repeat(1_000_000));
        assert!(cell("content", Cell::Text(text.leak().as_bytes())) == expected);
    }

    #[test]
    fn only_the_id_of_a_session_may_be_known() {
        let row = told(|out| open_nameless(out, Store::default(), Cell::Text(b"s1")));
        assert_eq!(row, r#"{"runtime":"hermes","id":"s1","partial":true,"messages":["#);
    }

    #[test]
    fn bytes_longer_than_a_piece_are_one_base64_text() {
        let bytes: &'static [u8] = Box::leak(vec![0xFF; 100_001].into_boxed_slice());
        let told = cell("content", Cell::Blob(bytes));
        assert_eq!(
            told,
            format!(
                "{{\"content\":{{\"base64\":\"{}\"}},\"malformed\":[\"content\"]}}",
                STANDARD.encode(bytes)
            )
        );
    }

    #[test]
    fn fields_keep_their_order_and_malformed_is_sorted() {
        assert_eq!(
            message(
                &[
                    ("token_count", Cell::Text(b"x")),
                    ("role", Cell::Integer(1)),
                    ("id", Cell::Integer(3)),
                    ("content", Cell::Blob(b"")),
                ],
                &[
                    ("message_uid", true),
                    ("api_content", true),
                    ("display_order", false),
                    ("session_id", true)
                ],
            ),
            r#"{"id":3,"role":1,"content":"","token_count":"x","withheld":["api_content","message_uid"],"malformed":["content","role","token_count"]}"#
        );
    }

    #[test]
    fn only_the_lists_are_read_and_defaults_are_not_asked_for() {
        let mut columns = declared(&["id", "user_id", "started_at", "cwd", "a \"new\" one", "ID"]);
        columns.push(Declared { name: "expiry_finalized".to_owned(), has_default: true });
        let shape = Shape::new(SESSION, &columns);
        assert_eq!(shape.columns.iter().map(|c| c.name).collect::<Vec<_>>(), ["id", "started_at"]);
        assert_eq!(shape.withheld, ["ID", "a \"new\" one", "cwd", "user_id"]);
    }

    #[test]
    fn a_session_row_opens_with_everything_but_its_messages() {
        let shape = Shape::new(SESSION, &declared(&["id", "title", "started_at", "user_id"]));
        let cells = [Cell::Text(b"s1"), Cell::Blob(b"t"), Cell::Real(1.0), Cell::Integer(1)];
        let open = |store, usage: &[u8]| {
            let usage = |out: &mut Spill| {
                out.buffer().extend_from_slice(usage);
                Ok(())
            };
            told(|out| open_session(out, store, &shape, usage, false, |at| Ok::<_, io::Error>(cells[at])))
        };
        assert_eq!(
            open(Store { schema_version: Some(31), newest: Some(1_790_002_103.0) }, b",\"usage\":[{}]"),
            r#"{"runtime":"hermes","schema_version":31,"id":"s1","title":"t","started_at":1.0,"usage":[{}],"store_newest":1790002103.0,"withheld":["user_id"],"malformed":["title"],"messages":["#
        );
        assert_eq!(
            open(Store::default(), b""),
            r#"{"runtime":"hermes","id":"s1","title":"t","started_at":1.0,"withheld":["user_id"],"malformed":["title"],"messages":["#
        );
    }

    #[test]
    fn more_flags_than_an_integer_has_bits() {
        let columns: Vec<String> = (0..130).map(|n| format!("x{n:03}")).collect();
        let shape = Shape::new(USAGE, &declared(&columns.iter().map(String::as_str).collect::<Vec<_>>()));
        let bits = [1 << 62 | 1, 1 << 1, 1 << 3];
        let out = told(|out| object(out, &shape, |at| Ok::<_, io::Error>(Cell::Integer(bits[at]))));
        assert_eq!(out, r#"{"withheld":["x000","x062","x064","x129"]}"#);
    }

    #[test]
    fn model_only_stands_before_withheld_and_only_when_true() {
        let shape = Shape { model_only: true, ..Shape::new(MESSAGE, &declared(&["id", "display_metadata"])) };
        for (flag, expected) in [
            (1, r#"{"id":1,"model_only":true,"withheld":["display_metadata"]}"#),
            (0, r#"{"id":1,"withheld":["display_metadata"]}"#),
        ] {
            let cells = [Cell::Integer(1), Cell::Integer(flag), Cell::Integer(1)];
            assert_eq!(told(|out| object(out, &shape, |at| Ok::<_, io::Error>(cells[at]))), expected);
        }
    }
}
