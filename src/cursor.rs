//! A chat of Cursor as a session row (session-row(5)).
//!
//! `~/.cursor/chats/<workspace>/<chat>/` holds `meta.json`, `prompt_history.json` and `store.db`. The first
//! two say what the chat was called, when it was, and what the person asked. The third is a blob whose
//! encoding changes with the program; nothing here opens it, so no answer is in a row.
//!
//! Neither file has a published form. Keys are taken under each of the names that are seen or likely; what
//! has no known name is named in `withheld`.

use crate::json::raw::{Kind, Raw};
use crate::json::scan::Bad;
use crate::json::write::{Layout, Writer};
use crate::time::parse_rfc3339;
use std::collections::BTreeSet;
use std::fmt;

/// The file that names the chat.
pub const META: &str = "meta.json";
/// The file of prompts.
pub const HISTORY: &str = "prompt_history.json";

const TITLE: &[&str] = &["title", "name"];
const CREATED: &[&str] = &["created", "createdAt", "created_at"];
const UPDATED: &[&str] = &["updated", "updatedAt", "updated_at", "lastUpdatedAt"];
const LIST: &[&str] = &["prompts", "history", "items", "entries", "messages"];
const PROMPT: &[&str] = &["prompt", "text", "content", "query", "input"];
const TIME: &[&str] = &["timestamp", "time", "created", "createdAt", "created_at"];

/// A chat, read.
#[derive(Debug, Default)]
pub struct Chat {
    /// Its row, ended by a newline.
    pub row: Vec<u8>,
    /// When it was last at work, in epoch milliseconds.
    pub last: Option<f64>,
    /// What of its files could not be read.
    pub faults: Vec<(&'static str, Fault)>,
}

/// Why something of a file is missing in the row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// The file is no JSON.
    NotJson(Bad),
    /// It is JSON, but no object, or no list of prompts.
    Shape,
    /// So many items of it are no prompts.
    Items(u64),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NotJson(bad) => bad.fmt(f),
            Fault::Shape => f.write_str("not of a known form"),
            Fault::Items(1) => f.write_str("1 item is no prompt"),
            Fault::Items(n) => write!(f, "{n} items are no prompts"),
        }
    }
}

/// Make the row of the chat `id` of what its two files hold, where they are there.
pub fn chat(id: &[u8], meta: Option<&[u8]>, history: Option<&[u8]>) -> Chat {
    let mut chat = Chat::default();
    let meta = meta.and_then(|text| chat.read(META, text)).filter(|meta| match meta.kind() {
        Kind::Object => true,
        _ => chat.fault(META, Fault::Shape),
    });
    let history = history.and_then(|text| chat.read(HISTORY, text));
    let list = history.and_then(|history| match history.kind() {
        Kind::Array => Some(history),
        _ => first(history, LIST, Kind::Array).map(|(_, list)| list),
    });
    if history.is_some() && list.is_none() {
        chat.fault(HISTORY, Fault::Shape);
    }
    let prompts: Vec<_> = list.into_iter().flat_map(Raw::items).map(Prompt::of).collect();
    let odd = prompts.iter().filter(|prompt| prompt.is_none()).count() as u64;
    if odd > 0 {
        chat.fault(HISTORY, Fault::Items(odd));
    }
    let prompts: Vec<_> = prompts.into_iter().flatten().collect();

    let of_meta = |names| first_of(meta?, names);
    let (title, created, updated) = (of_meta(TITLE), of_meta(CREATED), of_meta(UPDATED));
    let times = [created, updated].into_iter().flatten().map(|(_, time)| time);
    let times = times.chain(prompts.iter().filter_map(|prompt| prompt.time));
    chat.last = times.filter_map(millis).max_by(f64::total_cmp);

    let mut w = Writer::new(&mut chat.row, Layout::Line);
    w.open(b'{');
    w.key("runtime");
    w.string(b"cursor");
    w.key("id");
    w.string(id);
    for (key, value) in [("title", title), ("created", created), ("updated", updated)] {
        if let Some((_, value)) = value {
            w.key(key);
            w.raw(value);
        }
    }
    w.key("prompts_only");
    w.scalar(true);
    let used: Vec<_> = [title, created, updated].into_iter().flatten().map(|(key, _)| key).collect();
    withhold(meta, &used, &mut w);
    if !chat.faults.is_empty() {
        w.key("malformed");
        w.open(b'[');
        chat.faults
            .iter()
            .map(|(file, _)| *file)
            .collect::<BTreeSet<_>>()
            .iter()
            .for_each(|file| w.string(file.as_bytes()));
        w.close(b']');
    }
    w.key("messages");
    w.open(b'[');
    prompts.iter().for_each(|prompt| prompt.write(&mut w));
    w.close(b']');
    w.close(b'}');
    chat.row.push(b'\n');
    chat
}

impl Chat {
    fn read<'a>(&mut self, file: &'static str, text: &'a [u8]) -> Option<Raw<'a>> {
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        Raw::parse(text).map_err(|bad| self.fault(file, Fault::NotJson(bad))).ok()
    }

    /// Note it; `false`.
    fn fault(&mut self, file: &'static str, fault: Fault) -> bool {
        self.faults.push((file, fault));
        false
    }
}

/// One item of the history.
struct Prompt<'a> {
    item: Raw<'a>,
    content: Raw<'a>,
    time: Option<Raw<'a>>,
    used: Vec<&'static str>,
}

impl<'a> Prompt<'a> {
    fn of(item: Raw<'a>) -> Option<Self> {
        if item.is_string() {
            return Some(Prompt { item, content: item, time: None, used: Vec::new() });
        }
        let (text, content) = first(item, PROMPT, Kind::String)?;
        let time = first_of(item, TIME);
        let used = [Some(text), time.map(|(key, _)| key)].into_iter().flatten().collect();
        Some(Prompt { item, content, time: time.map(|(_, time)| time), used })
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.open(b'{');
        w.key("role");
        w.string(b"user");
        w.key("content");
        w.raw(self.content);
        if let Some(time) = self.time {
            w.key("timestamp");
            w.raw(time);
        }
        withhold(Some(self.item), &self.used, w);
        w.close(b'}');
    }
}

/// Name the keys of an object that hold something and were not used; one that is no name is somebody's text.
fn withhold(object: Option<Raw<'_>>, used: &[&str], w: &mut Writer<'_>) {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let unused = object.into_iter().flat_map(Raw::members);
    let unused = unused.filter(|(key, value)| !value.is_null() && !used.iter().any(|name| key.is(name)));
    let names: BTreeSet<_> = unused
        .map(|(key, _)| match key.quoted() {
            Some(name) if (1..=40).contains(&name.len()) && name.iter().all(plain) => name,
            _ => b"other",
        })
        .collect();
    if names.is_empty() {
        return;
    }
    w.key("withheld");
    w.open(b'[');
    names.iter().for_each(|name| w.string(name));
    w.close(b']');
}

/// The first of these members that is of a kind, and its name.
fn first<'a>(object: Raw<'a>, names: &[&'static str], kind: Kind) -> Option<(&'static str, Raw<'a>)> {
    names.iter().find_map(|name| Some((*name, object.get(name).filter(|value| value.kind() == kind)?)))
}

/// The first of these members that is a text or a number.
fn first_of<'a>(object: Raw<'a>, names: &[&'static str]) -> Option<(&'static str, Raw<'a>)> {
    let scalar = |value: &Raw<'_>| matches!(value.kind(), Kind::String | Kind::Number);
    names.iter().find_map(|name| Some((*name, object.get(name).filter(scalar)?)))
}

/// A stored time in epoch milliseconds: RFC 3339, or a number of seconds or milliseconds, which no chat can
/// mistake for each other (10^11 seconds are in the year 5138, 10^11 milliseconds in 1973).
pub fn millis(time: Raw<'_>) -> Option<f64> {
    /// Where JavaScript's dates end.
    const LAST: f64 = 8.64e15;
    let text = time.text().and_then(|text| parse_rfc3339(std::str::from_utf8(&text).ok()?));
    let number = || time.number().map(|n| if n.abs() < 1e11 { n * 1000.0 } else { n });
    text.or_else(number).filter(|ms| ms.abs() <= LAST)
}
