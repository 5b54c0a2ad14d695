//! A `.curt` conversation to Claude Code session JSONL.
//!
//! | `.curt` | line |
//! |---|---|
//! | `conversation.id` | `sessionId` of every line |
//! | role `user` | `type:"user"`, `content` a string |
//! | role `assistant` | `type:"assistant"`, `content` blocks: `thinking`, `text`, `tool_use` |
//! | role `tool` | `type:"user"`, one `tool_result` block |
//! | role `system` | `type:"system"`, `subtype:"informational"` |
//! | `toolCalls` (`tool_calls`) | `tool_use` blocks, `arguments` → `input` |
//! | `toolCallId` (`tool_call_id`), `isError` (`tool_error`) | `tool_use_id`, `is_error` |
//! | `model`, `stopReason`, `tokens` | `model`, `stop_reason`, `usage` |
//! | `timestamp` | ISO 8601, milliseconds, `Z` |
//! | a line of `content` that is a whole data URI of an image | `image` block, of a user and of a tool |
//! | `conversation.title` | a last line `summary` or `custom-title`, on request |
//!
//! The envelope is the one that every real reader takes (rulings, ".curt to Claude Code"); ids are
//! deterministic, so a second run gives the same bytes.

use super::counts::{Count, Counts};
use super::images::{Part, parts};
use crate::cc::ids::uuid_bytes;
use crate::json::canon::without_duplicate_keys;
use crate::json::raw::{Kind, Raw};
use crate::json::write::{Layout, Writer, escape_into};
use crate::{VERSION, id, time};
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

/// How much is gathered before it is passed on.
const BLOCK: usize = 64 * 1024;

/// What the one who converts may choose.
#[derive(Clone, Debug)]
pub struct Options {
    /// `cwd` of every line: the directory the session is of. Bytes of a path.
    pub cwd: Vec<u8>,
    /// `version` of every line: `X.Y.Z`, which some readers match by pattern.
    pub version: String,
    /// Make `sessionId` a UUID, which the tools that list sessions need.
    pub session_uuid: bool,
    /// The record that holds the title.
    pub title: Title,
    /// Answer every call, and let no result stand without one.
    pub repair: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            cwd: Vec::new(),
            version: VERSION.to_owned(),
            session_uuid: false,
            title: Title::None,
            repair: false,
        }
    }
}

/// The record that holds the title of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Title {
    /// None.
    #[default]
    None,
    /// `summary`, which every release reads.
    Summary,
    /// `custom-title`: one that the user gave.
    Custom,
}

/// The `sessionId` of a conversation: its id, or with `session_uuid` a UUID made of it, unless it is one.
pub fn session_id(id: &[u8], options: &Options) -> Vec<u8> {
    match options.session_uuid && uuid_bytes(id).is_none() {
        true => id::of(&[b"session", id]).to_string().into_bytes(),
        false => id.to_vec(),
    }
}

/// Write the lines of a conversation, which must be the `conversation` of an accepted body. Every
/// call writes the same bytes.
pub fn write(conversation: Raw<'_>, options: &Options, to: &mut dyn Write) -> io::Result<Counts> {
    let messages = || conversation.get("messages").into_iter().flat_map(Raw::items);
    let mut buffer = Vec::with_capacity(BLOCK);
    let mut lines = Lines::of(conversation, options);
    if options.repair {
        // Whether a call is ever answered is known at the end.
        let mut rehearsal = Lines::of(conversation, options);
        for message in messages() {
            rehearsal.message(message, &mut buffer);
            buffer.clear();
        }
        lines.aborted = rehearsal.calls.unanswered().map(<[u8]>::to_vec).collect();
    }
    for message in messages() {
        lines.message(message, &mut buffer);
        if buffer.len() >= BLOCK {
            to.write_all(&buffer)?;
            buffer.clear();
        }
    }
    lines.title(conversation.get("title").unwrap_or(EMPTY), &mut buffer);
    let unanswered = lines.calls.unanswered().count();
    lines.counts.add(Count::UnmatchedToolCalls, unanswered as u64);
    to.write_all(&buffer)?;
    Ok(lines.counts)
}

/// The chain being built.
struct Lines<'a> {
    options: &'a Options,
    /// `conversation.id`, which all other ids are made of,
    id: Vec<u8>,
    /// and `sessionId`, as a JSON string.
    session: Vec<u8>,
    model: Option<Raw<'a>>,
    created_at: Option<String>,
    position: u64,
    parent: Option<String>,
    calls: Calls,
    /// With `repair`, the emitted ids of calls that nothing answers.
    aborted: HashSet<Vec<u8>>,
    counts: Counts,
}

/// The fields of a message that the table names; the last of a name, as `JSON.parse` keeps it.
#[derive(Default)]
struct Message<'a> {
    role: Option<Raw<'a>>,
    content: Option<Raw<'a>>,
    timestamp: Option<Raw<'a>>,
    model: Option<Raw<'a>>,
    thinking: Option<Raw<'a>>,
    tool_calls: Option<Raw<'a>>,
    tool_call_id: Option<Raw<'a>>,
    is_error: Option<Raw<'a>>,
    stop_reason: Option<Raw<'a>>,
    tokens: Option<Raw<'a>>,
}

impl<'a> Message<'a> {
    fn read(message: Raw<'a>) -> Self {
        let (mut read, mut app) = (Message::default(), Message::default());
        for (key, value) in message.members() {
            let Some(name) = key.text() else { continue };
            let place = match &*name {
                b"role" => &mut read.role,
                b"content" => &mut read.content,
                b"timestamp" => &mut read.timestamp,
                b"model" => &mut read.model,
                b"thinking" => &mut read.thinking,
                b"toolCalls" => &mut read.tool_calls,
                b"toolCallId" => &mut read.tool_call_id,
                b"isError" => &mut read.is_error,
                b"tool_calls" => &mut app.tool_calls,
                b"tool_call_id" => &mut app.tool_call_id,
                b"tool_error" => &mut app.is_error,
                b"stopReason" => &mut read.stop_reason,
                b"tokens" => &mut read.tokens,
                _ => continue,
            };
            *place = Some(value);
        }
        // The app that the format comes from has its own spellings (rulings, "Both spellings"), and both writers
        // write null for what they have not.
        let either = |ours: Option<Raw<'a>>, apps| ours.filter(|value| !value.is_null()).or(apps);
        read.tool_calls = either(read.tool_calls, app.tool_calls);
        read.tool_call_id = either(read.tool_call_id, app.tool_call_id);
        read.is_error = either(read.is_error, app.is_error);
        read
    }
}

impl<'a> Lines<'a> {
    fn of(conversation: Raw<'a>, options: &'a Options) -> Self {
        let id = conversation.get("id").unwrap_or(EMPTY);
        let decoded = id.text().unwrap_or_default().into_owned();
        let mut session = id.bytes().to_vec();
        if options.session_uuid {
            session.clear();
            escape_into(&mut session, &session_id(&decoded, options));
        }
        Lines {
            options,
            id: decoded,
            session,
            model: conversation.get("model").filter(names_something),
            created_at: conversation.get("createdAt").and_then(iso),
            position: 0,
            parent: None,
            calls: Calls::default(),
            aborted: HashSet::new(),
            counts: Counts::default(),
        }
    }

    /// The line of a message, and of what repairs it.
    fn message(&mut self, message: Raw<'a>, out: &mut Vec<u8>) {
        let message = Message::read(message);
        let role = message.role.unwrap_or(Raw::known(b"\"user\""));
        let timestamp = self.timestamp(&message);
        let kind = if role.is("tool") { Raw::known(b"\"user\"") } else { role };
        let uuid = id::of(&[b"line", &self.id, &self.place()]).to_string();
        let mut calls = Vec::new();
        self.line(kind, &uuid, &timestamp, out, |lines, w| {
            if role.is("system") {
                field(w, "subtype", "informational");
                field(w, "level", "info");
                w.key("content");
                w.raw(message.content.unwrap_or(EMPTY));
                return;
            }
            w.key("message");
            w.open(b'{');
            if role.is("assistant") {
                calls = lines.assistant(&message, w);
            } else {
                field(w, "role", "user");
                w.key("content");
                match role.is("tool") {
                    true => lines.tool_result(&message, w),
                    false => content(message.content.unwrap_or(EMPTY), w),
                }
            }
            w.close(b'}');
        });
        self.counts.add(Count::Messages, 1);
        for (nth, call) in
            calls.iter().enumerate().filter(|(_, call)| self.aborted.contains(*call)).collect::<Vec<_>>()
        {
            self.abort(nth, call, &timestamp, out);
        }
        self.position += 1;
    }

    /// An error as the result of a call that has none: providers refuse a conversation with an open call.
    fn abort(&mut self, nth: usize, call: &[u8], timestamp: &str, out: &mut Vec<u8>) {
        let nth = nth.to_string();
        let uuid = id::of(&[b"abort", &self.id, &self.place(), nth.as_bytes()]).to_string();
        self.line(Raw::known(b"\"user\""), &uuid, timestamp, out, |_, w| {
            w.key("message");
            w.open(b'{');
            field(w, "role", "user");
            w.key("content");
            w.open(b'[');
            w.open(b'{');
            field(w, "type", "tool_result");
            w.key("tool_use_id");
            w.string(call);
            field(w, "content", ABORTED);
            w.key("is_error");
            w.scalar(true);
            w.close(b'}');
            w.close(b']');
            w.close(b'}');
        });
        self.counts.add(Count::AnsweredCalls, 1);
    }

    /// A line that goes on from the one before, with what `body` writes after `type`.
    fn line(
        &mut self,
        kind: Raw<'_>,
        uuid: &str,
        timestamp: &str,
        out: &mut Vec<u8>,
        body: impl FnOnce(&mut Self, &mut Writer<'_>),
    ) {
        let mut w = Writer::new(out, Layout::Line);
        w.open(b'{');
        w.key("parentUuid");
        match self.parent.replace(uuid.to_owned()) {
            Some(parent) => w.string(parent.as_bytes()),
            None => w.scalar("null"),
        }
        w.key("isSidechain");
        w.scalar(false);
        field(&mut w, "userType", "external");
        w.key("cwd");
        w.string(&self.options.cwd);
        w.key("sessionId");
        w.raw(Raw::known(&self.session));
        field(&mut w, "version", &self.options.version);
        field(&mut w, "gitBranch", "");
        w.key("type");
        w.raw(kind);
        body(self, &mut w);
        field(&mut w, "uuid", uuid);
        field(&mut w, "timestamp", timestamp);
        w.close(b'}');
        out.push(b'\n');
    }

    /// The record of the title, which is no part of the chain. It stands last: readers look at both ends of a
    /// file, and the first line tells whose it is.
    fn title(&mut self, title: Raw<'_>, out: &mut Vec<u8>) {
        let Some(leaf) = self.parent.as_deref().filter(|_| names_something(&title)) else { return };
        let mut w = Writer::new(out, Layout::Line);
        match self.options.title {
            Title::None => return,
            Title::Summary => {
                w.open(b'{');
                field(&mut w, "type", "summary");
                w.key("summary");
                w.raw(title);
                field(&mut w, "leafUuid", leaf);
            }
            Title::Custom => {
                w.open(b'{');
                field(&mut w, "type", "custom-title");
                w.key("customTitle");
                w.raw(title);
                w.key("sessionId");
                w.raw(Raw::known(&self.session));
            }
        }
        w.close(b'}');
        out.push(b'\n');
    }

    /// The message of an assistant; the emitted ids of its calls come back.
    fn assistant(&mut self, message: &Message<'a>, w: &mut Writer<'_>) -> Vec<Vec<u8>> {
        field(w, "id", &id::prefixed("msg_", &[b"message", &self.id, &self.place()]));
        field(w, "type", "message");
        field(w, "role", "assistant");
        w.key("model");
        match message.model.filter(names_something).or(self.model) {
            Some(model) => w.raw(model),
            None => w.string(b"unknown"),
        }
        w.key("content");
        w.open(b'[');
        let thinking = message.thinking.filter(names_something);
        if let Some(thinking) = thinking {
            w.open(b'{');
            field(w, "type", "thinking");
            w.key("thinking");
            w.raw(thinking);
            // Only the provider can sign; a reader wants the field.
            field(w, "signature", "");
            w.close(b'}');
        }
        let calls = message.tool_calls.into_iter().flat_map(Raw::items);
        let calls: Vec<_> = calls.filter(|call| call.kind() == Kind::Object).collect();
        let content = message.content.unwrap_or(EMPTY);
        // A message must have a block, be it an empty one.
        if names_something(&content) || thinking.is_none() && calls.is_empty() {
            w.open(b'{');
            field(w, "type", "text");
            w.key("text");
            w.raw(content);
            w.close(b'}');
        }
        let emitted = calls.into_iter().enumerate().map(|(nth, call)| self.tool_use(nth, call, w)).collect();
        self.calls.end_row();
        w.close(b']');
        w.key("stop_reason");
        w.raw(message.stop_reason.filter(|reason| reason.is_string()).unwrap_or(Raw::known(b"null")));
        w.key("stop_sequence");
        w.scalar("null");
        w.key("usage");
        w.open(b'{');
        let tokens = |name| message.tokens.and_then(|t| t.get(name)).and_then(count);
        w.key("input_tokens");
        w.scalar(tokens("promptTokens").unwrap_or(0));
        w.key("output_tokens");
        w.scalar(tokens("completionTokens").or_else(|| tokens("totalTokens")).unwrap_or(0));
        w.close(b'}');
        emitted
    }

    fn tool_use(&mut self, nth: usize, call: Raw<'a>, w: &mut Writer<'_>) -> Vec<u8> {
        let function = call.get("function").filter(|f| f.kind() == Kind::Object);
        let of_call = |name| call.get(name).or_else(|| function.and_then(|f| f.get(name)));
        let stored = call.get("id").and_then(Raw::text).filter(|id| !id.is_empty());
        // Providers refuse a conversation that uses an id twice, and real stores do.
        let emitted = match &stored {
            Some(id) if !self.calls.is_taken(id) => id.to_vec(),
            _ => {
                self.counts.add(Count::MintedIds, 1);
                let nth = nth.to_string();
                id::prefixed("toolu_", &[b"call", &self.id, &self.place(), nth.as_bytes()]).into_bytes()
            }
        };
        w.open(b'{');
        field(w, "type", "tool_use");
        w.key("id");
        w.string(&emitted);
        w.key("name");
        match of_call("name").filter(names_something) {
            Some(name) => w.raw(name),
            None => w.string(b"unknown"),
        }
        w.key("input");
        let arguments = of_call("arguments");
        // Readers disagree on a key that comes twice; ours say what JSON.parse would.
        let resolved = arguments.and_then(without_duplicate_keys);
        match resolved.as_deref().map(Raw::known).or(arguments) {
            Some(input) if input.kind() == Kind::Object => w.raw(input),
            None => {
                w.open(b'{');
                w.close(b'}');
            }
            Some(other) => {
                self.counts.add(Count::WrappedInputs, 1);
                w.open(b'{');
                w.key("_raw");
                w.raw(other);
                w.close(b'}');
            }
        }
        w.close(b'}');
        self.calls.call(stored.map(|id| id.into_owned()), emitted.clone());
        emitted
    }

    fn tool_result(&mut self, message: &Message<'a>, w: &mut Writer<'_>) {
        let stored = message.tool_call_id.and_then(Raw::text).filter(|id| !id.is_empty());
        let paired = stored.as_deref().and_then(|id| self.calls.result(id));
        if paired.is_none() {
            self.counts.add(Count::UnmatchedToolResults, 1);
            if self.options.repair {
                self.counts.add(Count::LoosenedResults, 1);
                return content(message.content.unwrap_or(EMPTY), w);
            }
        }
        let emitted = paired.or_else(|| stored.map(|id| id.into_owned())).unwrap_or_else(|| {
            self.counts.add(Count::MintedIds, 1);
            id::prefixed("toolu_", &[b"result", &self.id, &self.place()]).into_bytes()
        });
        w.open(b'[');
        w.open(b'{');
        field(w, "type", "tool_result");
        w.key("tool_use_id");
        w.string(&emitted);
        w.key("content");
        content(message.content.unwrap_or(EMPTY), w);
        if let Some(flag) = message.is_error.filter(|flag| matches!(flag.kind(), Kind::True | Kind::False)) {
            w.key("is_error");
            w.raw(flag);
        }
        w.close(b'}');
        w.close(b']');
    }

    fn timestamp(&mut self, message: &Message<'a>) -> String {
        message.timestamp.and_then(iso).unwrap_or_else(|| {
            self.counts.add(Count::ReplacedTimes, 1);
            self.created_at.clone().unwrap_or_else(|| EPOCH.to_owned())
        })
    }

    /// What tells one line's ids from another's.
    fn place(&self) -> Vec<u8> {
        self.position.to_string().into_bytes()
    }
}

const EMPTY: Raw<'static> = Raw::known(b"\"\"");
/// What stands as the result of a call that has none.
const ABORTED: &str = "[aborted: no result was recorded]";
const EPOCH: &str = "1970-01-01T00:00:00.000Z";

fn field(w: &mut Writer<'_>, name: &str, value: &str) {
    w.key(name);
    w.string(value.as_bytes());
}

/// The content of a user or of a tool's result: a string, or blocks where there is an image in it.
fn content(content: Raw<'_>, w: &mut Writer<'_>) {
    // However it is escaped, so much of a data URI stands as it is.
    if memchr::memmem::find(content.bytes(), b"data:image").is_none() {
        return w.raw(content);
    }
    let text = content.text().unwrap_or_default();
    let Some(parts) = parts(&text) else { return w.raw(content) };
    w.open(b'[');
    for part in parts {
        w.open(b'{');
        match part {
            Part::Text(text) => {
                field(w, "type", "text");
                w.key("text");
                w.string(text);
            }
            Part::Image(media, data) => {
                field(w, "type", "image");
                w.key("source");
                w.open(b'{');
                field(w, "type", "base64");
                field(w, "media_type", media);
                w.key("data");
                w.string(data);
                w.close(b'}');
            }
        }
        w.close(b'}');
    }
    w.close(b']');
}

/// A string that is not empty.
fn names_something(value: &Raw<'_>) -> bool {
    value.quoted().is_some_and(|inner| !inner.is_empty())
}

/// A count of tokens: a non-negative integer, in any of the ways JSON has to write one.
fn count(value: Raw<'_>) -> Option<u64> {
    /// From here on, JavaScript's numbers skip integers.
    const SAFE: f64 = 9_007_199_254_740_992.0;
    match value.integer() {
        Some(n) => u64::try_from(n).ok(),
        None => value.number().filter(|n| (0.0..SAFE).contains(n) && n.fract() == 0.0).map(|n| n as u64),
    }
}

/// A time as readers of ISO 8601 know it, with a year of four digits.
fn iso(time: Raw<'_>) -> Option<String> {
    time::iso_millis(time.number()?).filter(|text| text.len() == EPOCH.len())
}

/// Which emitted id a result goes to: that of the nearest earlier call of its id without a result, the
/// first such one of its message.
#[derive(Default)]
struct Calls {
    /// By stored id: emitted ids that wait for a result, latest last. Kept when empty: the id is taken.
    waiting: HashMap<Vec<u8>, Vec<Vec<u8>>>,
    /// Stored and emitted ids of the message at hand.
    row: Vec<(Vec<u8>, Vec<u8>)>,
    /// Emitted ids of calls without a stored one, which no result can name.
    nameless: Vec<Vec<u8>>,
}

impl Calls {
    fn is_taken(&self, id: &[u8]) -> bool {
        self.waiting.contains_key(id)
    }

    fn call(&mut self, stored: Option<Vec<u8>>, emitted: Vec<u8>) {
        match stored {
            Some(stored) => {
                self.waiting.entry(stored.clone()).or_default();
                self.row.push((stored, emitted));
            }
            None => self.nameless.push(emitted),
        }
    }

    /// Results come in the order of their calls: the first of a message is the nearest.
    fn end_row(&mut self) {
        for (stored, emitted) in self.row.drain(..).rev() {
            self.waiting.entry(stored).or_default().push(emitted);
        }
    }

    fn result(&mut self, id: &[u8]) -> Option<Vec<u8>> {
        self.waiting.get_mut(id)?.pop()
    }

    /// The emitted ids of calls that wait for a result.
    fn unanswered(&self) -> impl Iterator<Item = &[u8]> {
        self.waiting.values().flatten().chain(&self.nameless).map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn emit(conversation: &str) -> (Vec<String>, Counts) {
        let mut out = Vec::new();
        let counts =
            write(Raw::parse(conversation.as_bytes()).unwrap(), &Options::default(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        (text.lines().map(str::to_owned).collect(), counts)
    }

    fn one(message: &str) -> (String, Counts) {
        let (lines, counts) = emit(&format!(
            r#"{{"id":"c_1","title":"t","createdAt":0,"updatedAt":0,"messages":[{message}]}}"#
        ));
        (lines.first().unwrap().clone(), counts)
    }

    #[test]
    fn a_count_of_tokens_may_be_written_in_any_way() {
        // 1.0 and 1e0 are the number 1 (rulings, "What is JSON").
        for (count, tokens) in [
            ("10.0", "10"),
            ("1e2", "100"),
            ("120e-1", "12"),
            ("7", "7"),
            ("0.0", "0"),
            ("1.5", "5"),
            ("-1.0", "5"),
            ("-3", "5"),
            ("1e300", "5"),
            ("\"9\"", "5"),
        ] {
            let (line, _) = one(&format!(
                r#"{{"id":"m","role":"assistant","content":"x","timestamp":1,"tokens":{{"completionTokens":{count},"totalTokens":5}}}}"#
            ));
            let usage = format!(r#""usage":{{"input_tokens":0,"output_tokens":{tokens}}}"#);
            assert!(line.contains(&usage), "{count}: {line}");
        }
    }

    #[test]
    fn the_envelope_stands_in_the_order_of_the_ruling() {
        let (line, _) = one(r#"{"id":"m","role":"user","content":"\ud83d hi","timestamp":1759968000001.9}"#);
        let uuid = id::of(&[b"line", b"c_1", b"0"]);
        let expected = format!(
            r#"{{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"","sessionId":"c_1","version":"{VERSION}","gitBranch":"","type":"user","message":{{"role":"user","content":"\ud83d hi"}},"uuid":"{uuid}","timestamp":"2025-10-09T00:00:00.001Z"}}"#
        );
        assert_eq!(line, expected);
    }

    #[test]
    fn an_assistant_message_has_what_strict_readers_drop_lines_without() {
        let (line, counts) = one(
            r#"{"id":"m","role":"assistant","content":"said","timestamp":0,"thinking":"thought","stopReason":"stop","toolCalls":[{"id":"a","name":"n","arguments":{"x":1.0}},{"arguments":[1]}],"tokens":{"totalTokens":7}}"#,
        );
        let message = Raw::parse(line.as_bytes()).unwrap().get("message").unwrap();
        assert!(message.get("id").unwrap().quoted().unwrap().starts_with(b"msg_"));
        let is = |name, text: &str| assert_eq!(message.get(name).unwrap().bytes(), text.as_bytes(), "{name}");
        is("type", r#""message""#);
        is("model", r#""unknown""#);
        is("stop_reason", r#""stop""#);
        is("stop_sequence", "null");
        is("usage", r#"{"input_tokens":0,"output_tokens":7}"#);
        let blocks: Vec<_> = message.get("content").unwrap().items().map(Raw::bytes).collect();
        assert_eq!(blocks[0], br#"{"type":"thinking","thinking":"thought","signature":""}"#);
        assert_eq!(blocks[1], br#"{"type":"text","text":"said"}"#);
        assert_eq!(blocks[2], br#"{"type":"tool_use","id":"a","name":"n","input":{"x":1.0}}"#);
        assert!(blocks[3].ends_with(br#","name":"unknown","input":{"_raw":[1]}}"#));
        assert_eq!(counts.sum(Count::MintedIds), 1);
        assert_eq!(counts.sum(Count::WrappedInputs), 1);
        assert_eq!(counts.sum(Count::UnmatchedToolCalls), 2);
    }

    #[test]
    fn an_assistant_with_nothing_to_say_still_has_a_block() {
        let (line, _) = one(r#"{"id":"m","role":"assistant","content":"","timestamp":0}"#);
        assert!(line.contains(r#""content":[{"type":"text","text":""}]"#));
    }

    #[test]
    fn both_spellings_of_tool_fields_are_read() {
        let message = |calls, id, error| {
            format!(
                r#"{{"id":"1","role":"assistant","content":"","timestamp":0,"{calls}":[{{"id":"a","name":"n","arguments":{{}}}}]}},{{"id":"2","role":"tool","content":"r","timestamp":0,"{id}":"a","{error}":true}}"#
            )
        };
        let ours =
            emit(&format!(r#"{{"id":"c","messages":[{}]}}"#, message("toolCalls", "toolCallId", "isError")));
        let apps = emit(&format!(
            r#"{{"id":"c","messages":[{}]}}"#,
            message("tool_calls", "tool_call_id", "tool_error")
        ));
        assert_eq!(ours, apps);
        let result = r#"[{"type":"tool_result","tool_use_id":"a","content":"r","is_error":true}]"#;
        assert!(ours.0[1].contains(result), "{}", ours.0[1]);
        assert_eq!(ours.1.sum(Count::UnmatchedToolCalls) + ours.1.sum(Count::UnmatchedToolResults), 0);
    }

    #[test]
    fn a_reused_id_is_made_unique_and_its_result_follows() {
        let call = r#"{"id":"1","role":"assistant","content":"","timestamp":0,"toolCalls":[{"id":"call_0","name":"n","arguments":{}}]}"#;
        let result = r#"{"id":"2","role":"tool","content":"r","timestamp":0,"toolCallId":"call_0"}"#;
        let (lines, counts) =
            emit(&format!(r#"{{"id":"c","messages":[{call},{result},{call},{result},{result}]}}"#));
        let id_in =
            |line: &str, key: &str| line.split_once(key).unwrap().1.split('"').next().unwrap().to_owned();
        let ids: Vec<_> = [
            (0, "tool_use\",\"id\":\""),
            (1, "tool_use_id\":\""),
            (2, "tool_use\",\"id\":\""),
            (3, "tool_use_id\":\""),
            (4, "tool_use_id\":\""),
        ]
        .map(|(n, key)| id_in(&lines[n], key))
        .into();
        assert_eq!((ids[0].as_str(), ids[1].as_str(), ids[4].as_str()), ("call_0", "call_0", "call_0"));
        assert!(ids[2].starts_with("toolu_") && ids[2] == ids[3]);
        assert_eq!(counts.sum(Count::MintedIds), 1);
        assert_eq!(counts.sum(Count::UnmatchedToolResults), 1);
    }

    #[test]
    fn a_time_that_iso_cannot_write_becomes_created_at() {
        for time in ["1e400", "8.64e15", "-62198755200000"] {
            let (lines, counts) = emit(&format!(
                r#"{{"id":"c","createdAt":1000,"messages":[{{"id":"m","role":"user","content":"","timestamp":{time}}}]}}"#
            ));
            assert!(lines[0].ends_with(r#""timestamp":"1970-01-01T00:00:01.000Z"}"#), "{}", lines[0]);
            assert_eq!(counts.sum(Count::ReplacedTimes), 1);
        }
    }

    #[test]
    fn an_input_that_names_a_key_twice_passes_its_own_proof() {
        let (line, _) = one(
            r#"{"id":"m","role":"assistant","content":"","timestamp":0,"toolCalls":[{"id":"a","arguments":{"x":1,"y":[{"z":1,"z":2}],"x":3}}]}"#,
        );
        assert!(line.contains(r#""input":{"x":3,"y":[{"z":2}]}"#), "{line}");
    }

    #[test]
    fn a_system_message_is_a_system_line() {
        let (line, _) = one(r#"{"id":"m","role":"system","content":"be kind","timestamp":0}"#);
        assert!(line.contains(
            r#""type":"system","subtype":"informational","level":"info","content":"be kind","uuid""#
        ));
    }
}
