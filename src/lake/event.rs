//! One event of the lake: its fields in their order, its key, its id (lake-event(5)).
//!
//! Hashes are no fields of [`Event`]: they are made of what is written, so that whoever changes a text
//! cannot leave an old hash beside it.

use crate::json::raw::{Kind, Raw};
use crate::json::write::{Layout, Writer};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fmt::Write as _;

/// The one version of the envelope that there is.
pub const SCHEMA_VERSION: i64 = 1;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// The session begins; its content is the title.
    SessionStart,
    /// What the person said.
    Prompt,
    /// What the model said.
    Assistant,
    /// A call of a tool, with its result where there is one.
    ToolCall,
    /// Everything before was compacted away.
    Compact,
    /// The session is over; its usage.
    SessionEnd,
}

impl Type {
    const NAMES: [(Type, &'static str); 6] = [
        (Type::SessionStart, "session_start"),
        (Type::Prompt, "prompt"),
        (Type::Assistant, "assistant"),
        (Type::ToolCall, "tool_call"),
        (Type::Compact, "compact"),
        (Type::SessionEnd, "session_end"),
    ];

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    fn of(raw: Raw<'_>) -> Option<Type> {
        Self::NAMES.into_iter().find(|(_, name)| raw.is(name)).map(|(kind, _)| kind)
    }
}

/// An event. Texts are UTF-8: a lone surrogate, which other readers refuse, is U+FFFD in an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event<'a> {
    /// A ULID, of a [`Mint`].
    pub event_id: Cow<'a, str>,
    /// When it happened: `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    pub emitted_at: Cow<'a, str>,
    /// Whose event it is.
    pub source: Source<'a>,
    /// The session it is part of.
    pub session_id: Cow<'a, str>,
    /// Not set by us, but carried.
    pub turn_id: Option<Cow<'a, str>>,
    /// The message it is made of.
    pub message_id: Option<Cow<'a, str>>,
    /// The message that asked for it.
    pub parent_message_id: Option<Cow<'a, str>>,
    /// `repo`, `cwd`, `git_sha`, `branch`: not set by us, but carried.
    pub place: [Option<Cow<'a, str>>; 4],
    /// What happened.
    pub event_type: Type,
    /// `user` or `assistant`.
    pub role: Option<Cow<'a, str>>,
    /// What was said.
    pub content: Option<Cow<'a, str>>,
    /// Which tool was called.
    pub tool: Option<Tool<'a>>,
    /// What the session took.
    pub usage: Option<Usage<'a>>,
    /// An array, carried as it is.
    pub injected_context: Option<Raw<'a>>,
    /// What the scrubber says of it; `None`: none has seen it yet.
    pub redaction: Option<Redaction<'a>>,
    /// Whether it comes from history.
    pub imported: bool,
}

const PLACE: [&str; 4] = ["repo", "cwd", "git_sha", "branch"];

/// Whose events these are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Source<'a> {
    /// The fleet.
    pub fleet_id: Cow<'a, str>,
    /// The agent in it.
    pub agent_id: Cow<'a, str>,
    /// `hermes`, `claude_code`, `cursor` or `other`: as on the wire, with an underscore.
    pub runtime: Cow<'a, str>,
    /// Not set by us, but carried.
    pub runtime_version: Option<Cow<'a, str>>,
    /// The hash of the machine's name.
    pub host_id: Cow<'a, str>,
}

/// A call of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tool<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// What it was given: text, or JSON on one line.
    pub input: Option<Cow<'a, str>>,
    /// What it gave.
    pub result: Option<Cow<'a, str>>,
    /// How it ended.
    pub exit_code: Option<i64>,
    /// How long it took.
    pub duration_ms: Option<i64>,
    /// The files it was about.
    pub paths: Vec<Cow<'a, str>>,
}

/// What a session took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage<'a> {
    /// The model, where it was one.
    pub model: Option<Cow<'a, str>>,
    /// The four [`COUNTERS`].
    pub tokens: [i64; 4],
    /// US dollars, where they are known.
    pub cost_usd: Option<f64>,
}

/// The names of [`Usage::tokens`].
pub const COUNTERS: [&str; 4] = ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"];

/// What the scrubber did.
#[derive(Clone, Debug, PartialEq)]
pub struct Redaction<'a> {
    /// How it ended.
    pub status: Status,
    /// The rules that found something, each once.
    pub rules_fired: Vec<Cow<'a, str>>,
}

/// The worst that the scrubber found, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Nothing.
    Clean,
    /// Something, which was replaced.
    Redacted,
    /// So much that a whole field was withheld.
    Quarantined,
}

impl Status {
    const NAMES: [(Status, &'static str); 3] =
        [(Status::Clean, "clean"), (Status::Redacted, "redacted"), (Status::Quarantined, "quarantined")];

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(status, _)| *status == self).map_or("", |(_, name)| name)
    }
}

impl<'a> Event<'a> {
    /// An event of history, with what every event has.
    pub fn new(source: Source<'a>, event_type: Type, session_id: Cow<'a, str>) -> Event<'a> {
        Event {
            event_id: Cow::Borrowed(""),
            emitted_at: Cow::Borrowed(""),
            source,
            session_id,
            turn_id: None,
            message_id: None,
            parent_message_id: None,
            place: [None, None, None, None],
            event_type,
            role: None,
            content: None,
            tool: None,
            usage: None,
            injected_context: None,
            redaction: None,
            imported: true,
        }
    }

    /// Read one. The error says which part of the record is not what lake-event(5) says. Members that
    /// the page does not know are left out.
    pub fn read(line: Raw<'a>) -> Result<Event<'a>, &'static str> {
        if line.kind() != Kind::Object {
            return Err("not an event: no object");
        }
        if line.get("schema_version").and_then(Raw::integer) != Some(SCHEMA_VERSION) {
            return Err("not an event of schema_version 1");
        }
        let field = |name| text(line, name);
        let event_type = line.get("event_type").and_then(Type::of).ok_or("not an event: no event_type")?;
        let source = Source {
            fleet_id: field("fleet_id").ok_or("not an event: no fleet_id")?,
            agent_id: field("agent_id").ok_or("not an event: no agent_id")?,
            runtime: field("runtime").ok_or("not an event: no runtime")?,
            runtime_version: field("runtime_version"),
            host_id: field("host_id").ok_or("not an event: no host_id")?,
        };
        let session_id = field("session_id").ok_or("not an event: no session_id")?;
        Ok(Event {
            event_id: field("event_id").ok_or("not an event: no event_id")?,
            emitted_at: field("emitted_at").ok_or("not an event: no emitted_at")?,
            turn_id: field("turn_id"),
            message_id: field("message_id"),
            parent_message_id: field("parent_message_id"),
            place: PLACE.map(field),
            role: field("role"),
            content: field("content"),
            tool: line.get("tool").map(Tool::read),
            usage: line.get("usage").map(Usage::read),
            injected_context: line.get("injected_context").filter(|list| list.items().next().is_some()),
            redaction: line.get("redaction").and_then(Redaction::read),
            imported: line.get("imported").is_some_and(|flag| flag.kind() == Kind::True),
            ..Event::new(source, event_type, session_id)
        })
    }

    /// Append the line, ended by a newline.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut w = Writer::new(out, Layout::Line);
        w.open(b'{');
        w.key("schema_version");
        w.scalar(SCHEMA_VERSION);
        put(&mut w, "event_id", &self.event_id);
        put(&mut w, "emitted_at", &self.emitted_at);
        put(&mut w, "fleet_id", &self.source.fleet_id);
        put(&mut w, "agent_id", &self.source.agent_id);
        put(&mut w, "runtime", &self.source.runtime);
        maybe(&mut w, "runtime_version", self.source.runtime_version.as_deref());
        put(&mut w, "host_id", &self.source.host_id);
        put(&mut w, "session_id", &self.session_id);
        maybe(&mut w, "turn_id", self.turn_id.as_deref());
        maybe(&mut w, "message_id", self.message_id.as_deref());
        maybe(&mut w, "parent_message_id", self.parent_message_id.as_deref());
        for (name, value) in PLACE.into_iter().zip(&self.place) {
            maybe(&mut w, name, value.as_deref());
        }
        put(&mut w, "event_type", self.event_type.name());
        maybe(&mut w, "role", self.role.as_deref());
        maybe(&mut w, "content", self.content.as_deref());
        put(&mut w, "content_hash", &self.content_hash());
        if let Some(tool) = &self.tool {
            w.key("tool");
            tool.write(&mut w);
        }
        if let Some(usage) = &self.usage {
            w.key("usage");
            usage.write(&mut w);
        }
        if let Some(list) = self.injected_context {
            w.key("injected_context");
            w.raw(list);
        }
        w.key("redaction");
        w.open(b'{');
        if let Some(redaction) = &self.redaction {
            put(&mut w, "status", redaction.status.name());
            strings(&mut w, "rules_fired", &redaction.rules_fired);
        }
        w.close(b'}');
        if self.imported {
            w.key("imported");
            w.scalar(true);
        }
        w.close(b'}');
        out.push(b'\n');
    }

    /// The hash of the content, of nothing where there is none.
    pub fn content_hash(&self) -> String {
        hash(self.content.as_deref().unwrap_or_default().as_bytes())
    }

    /// What the event is known by in a ledger, whoever made it and whenever.
    pub fn key(&self) -> String {
        let input_hash = self.tool.as_ref().map(Tool::input_hash).unwrap_or_default();
        let event_type = format!("\"{}\"", self.event_type.name());
        let fields = [
            &*self.source.runtime,
            &self.session_id,
            &event_type,
            &self.emitted_at,
            self.message_id.as_deref().unwrap_or_default(),
            &self.content_hash(),
            &input_hash,
        ];
        hash(fields.join("\0").as_bytes())
    }
}

impl<'a> Tool<'a> {
    fn read(raw: Raw<'a>) -> Tool<'a> {
        Tool {
            name: text(raw, "name").unwrap_or_default(),
            input: text(raw, "input"),
            result: text(raw, "result"),
            exit_code: raw.get("exit_code").and_then(Raw::integer),
            duration_ms: raw.get("duration_ms").and_then(Raw::integer),
            paths: list(raw, "paths"),
        }
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.open(b'{');
        put(w, "name", &self.name);
        maybe(w, "input", self.input.as_deref());
        put(w, "input_hash", &self.input_hash());
        maybe(w, "result", self.result.as_deref());
        for (name, number) in [("exit_code", self.exit_code), ("duration_ms", self.duration_ms)] {
            if let Some(number) = number {
                w.key(name);
                w.scalar(number);
            }
        }
        strings(w, "paths", &self.paths);
        w.close(b'}');
    }

    /// The hash of the input, of nothing where there is none.
    pub fn input_hash(&self) -> String {
        hash(self.input.as_deref().unwrap_or_default().as_bytes())
    }
}

impl<'a> Usage<'a> {
    fn read(raw: Raw<'a>) -> Usage<'a> {
        Usage {
            model: text(raw, "model"),
            tokens: COUNTERS.map(|name| raw.get(name).and_then(Raw::integer).unwrap_or(0)),
            cost_usd: raw.get("cost_usd").and_then(Raw::number).filter(|cost| cost.is_finite()),
        }
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.open(b'{');
        maybe(w, "model", self.model.as_deref());
        for (name, tokens) in COUNTERS.into_iter().zip(self.tokens) {
            w.key(name);
            w.scalar(tokens);
        }
        if let Some(cost) = self.cost_usd {
            w.key("cost_usd");
            w.float(cost);
        }
        w.close(b'}');
    }
}

impl<'a> Redaction<'a> {
    fn read(raw: Raw<'a>) -> Option<Redaction<'a>> {
        let status = raw.get("status")?;
        let (status, _) = Status::NAMES.into_iter().find(|(_, name)| status.is(name))?;
        Some(Redaction { status, rules_fired: list(raw, "rules_fired") })
    }
}

fn put(w: &mut Writer<'_>, name: &str, value: &str) {
    w.key(name);
    w.string(value.as_bytes());
}

fn maybe(w: &mut Writer<'_>, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        put(w, name, value);
    }
}

fn strings(w: &mut Writer<'_>, name: &str, values: &[Cow<'_, str>]) {
    if values.is_empty() {
        return;
    }
    w.key(name);
    w.open(b'[');
    values.iter().for_each(|value| w.string(value.as_bytes()));
    w.close(b']');
}

fn text<'a>(object: Raw<'a>, name: &str) -> Option<Cow<'a, str>> {
    object.get(name).and_then(Raw::text).map(utf8)
}

fn list<'a>(object: Raw<'a>, name: &str) -> Vec<Cow<'a, str>> {
    object.get(name).into_iter().flat_map(Raw::items).filter_map(Raw::text).map(utf8).collect()
}

/// A text as an event holds it: what is no UTF-8, lone surrogates among it, is U+FFFD.
pub fn utf8(text: Cow<'_, [u8]>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => String::from_utf8_lossy(text),
        Cow::Owned(text) => Cow::Owned(match String::from_utf8(text) {
            Ok(text) => text,
            Err(bad) => String::from_utf8_lossy(bad.as_bytes()).into_owned(),
        }),
    }
}

/// `sha256:` and 64 hexadecimal digits.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::from("sha256:"), |mut hex, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Gives ids that rise: a ULID of the moment the run began, and then the next one each time.
#[derive(Debug)]
pub struct Mint(u128);

impl Mint {
    /// `millis` since the epoch and 80 bits that nobody else has drawn. The first bit is left 0, so that
    /// no run is long enough to reach the next millisecond.
    pub fn new(millis: u64, entropy: u128) -> Mint {
        Mint(u128::from(millis) << 80 | entropy >> 49)
    }

    /// The next id: 26 digits of Crockford's base 32.
    pub fn next_id(&mut self) -> String {
        const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
        let id = self.0;
        self.0 = id.wrapping_add(1);
        let digit = |place: u32| usize::try_from(id >> (5 * place) & 31).ok().and_then(|n| DIGITS.get(n));
        (0..26).rev().filter_map(digit).map(|digit| char::from(*digit)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every field, in the order of the page.
    const FULL: &str = concat!(
        r#"{"schema_version":1,"event_id":"01HF7YAT00000000000000000A","emitted_at":"2023-11-14T22:13:20.000Z","#,
        r#""fleet_id":"f","agent_id":"a","runtime":"hermes","runtime_version":"9","host_id":"sha256:h","#,
        r#""session_id":"s","turn_id":"t","message_id":"2","parent_message_id":"1","repo":"r","cwd":"/c","#,
        r#""git_sha":"g","branch":"b","event_type":"tool_call","role":"user","content":"one\ntwo","#,
        r#""content_hash":"sha256:81f3daecd2f4d04ae7f35f9bd0ea58280a11d8b6d9d31edf1ed3d0e2c74dc16a","#,
        r#""tool":{"name":"n","input":"i","#,
        r#""input_hash":"sha256:de7d1b721a1e0632b7cf04edf5032c8ecffa9f9a08492152b926f1a5a7e765d7","#,
        r#""result":"o","exit_code":-1,"duration_ms":5,"paths":["/p"]},"#,
        r#""usage":{"model":"m","input_tokens":1,"output_tokens":2,"cache_read_tokens":3,"#,
        r#""cache_write_tokens":4,"cost_usd":0.25},"injected_context":[{"claim_id":"c"}],"#,
        r#""redaction":{"status":"redacted","rules_fired":["x","y"]},"imported":true}"#,
        "\n"
    );

    fn written(event: &Event<'_>) -> String {
        let mut out = Vec::new();
        event.write(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn read(line: &str) -> Event<'_> {
        Event::read(Raw::parse(line.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn what_is_written_reads_back_in_the_order_of_the_page() {
        assert_eq!(hash(b""), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        let full = read(FULL);
        // The hashes are made anew, whatever stood there.
        let content_hash = hash(b"one\ntwo");
        let line = written(&full);
        assert!(line.contains(&format!(r#""content":"one\ntwo","content_hash":"{content_hash}""#)));
        let stale = "81f3daecd2f4d04ae7f35f9bd0ea58280a11d8b6d9d31edf1ed3d0e2c74dc16a";
        let input_hash = "de7d1b721a1e0632b7cf04edf5032c8ecffa9f9a08492152b926f1a5a7e765d7";
        assert_eq!(
            line,
            FULL.replace(&format!("sha256:{stale}"), &content_hash)
                .replace(&format!("sha256:{input_hash}"), &hash(b"i"))
        );
        assert_eq!(read(&line), full);
    }

    #[test]
    fn what_is_absent_is_left_out_and_never_null() {
        let source = Source { runtime: "hermes".into(), ..Source::default() };
        let line = written(&Event::new(source, Type::Compact, "s".into()));
        assert!(!line.contains("null") && !line.contains("tool") && !line.contains("usage"), "{line}");
        assert!(line.ends_with("\"redaction\":{},\"imported\":true}\n"), "{line}");
        assert_eq!(read(&line).redaction, None);
        assert_eq!(line.matches('\n').count(), 1);
    }

    #[test]
    fn the_key_is_the_recipe() {
        let event = read(FULL);
        // printf 'hermes\0s\0"tool_call"\0…' | sha256sum, with the two hashes by sha256sum too.
        let parts = format!(
            "hermes\0s\0\"tool_call\"\x002023-11-14T22:13:20.000Z\x002\0{}\0{}",
            hash(b"one\ntwo"),
            hash(b"i")
        );
        assert_eq!(event.key(), hash(parts.as_bytes()));
        let with = |change: fn(&mut Event<'_>)| {
            let mut changed = event.clone();
            change(&mut changed);
            changed.key()
        };
        assert_eq!(with(|e| e.event_id = "x".into()), event.key());
        assert_eq!(with(|e| e.source.fleet_id = "x".into()), event.key());
        assert_ne!(with(|e| e.message_id = None), event.key());
        assert_ne!(with(|e| e.content = None), event.key());
        assert_ne!(with(|e| e.tool.as_mut().unwrap().input = None), event.key());
    }

    #[test]
    fn ids_rise() {
        let mut mint = Mint::new(1_700_000_000_000, u128::MAX);
        let ids: Vec<String> = (0..1000).map(|_| mint.next_id()).collect();
        assert!(ids.windows(2).all(|pair| pair.first() < pair.last()));
        assert!(ids.iter().all(|id| id.len() == 26 && id.starts_with("01HF7YAT00")));
    }

    #[test]
    fn no_event_is_refused_by_name() {
        for (without, reason) in [
            (r#""session_id":"s","#, "not an event: no session_id"),
            (r#""schema_version":1,"#, "not an event of schema_version 1"),
            (r#""event_type":"tool_call","#, "not an event: no event_type"),
        ] {
            let line = FULL.replace(without, "");
            let line = if line.starts_with('{') { line } else { format!("{{{line}") };
            assert_eq!(Event::read(Raw::parse(line.as_bytes()).unwrap()), Err(reason));
        }
    }

    proptest::proptest! {
        #[test]
        fn any_event_reads_back(texts in proptest::collection::vec(".{0,8}", 6), cost in -1e18..1e18_f64, n in 0..i64::MAX) {
            let mut at = texts.iter().map(|text| Cow::Borrowed(text.as_str())).cycle();
            let mut next = || at.next().unwrap();
            let source = Source { fleet_id: next(), agent_id: next(), runtime: next(), host_id: next(), runtime_version: None };
            let tool = Tool { name: next(), input: Some(next()), result: None, exit_code: Some(-n), duration_ms: Some(n), paths: vec![next()] };
            let event = Event {
                content: Some(next()),
                tool: Some(tool),
                usage: Some(Usage { model: Some(next()), tokens: [n, 0, 1, n], cost_usd: Some(cost) }),
                redaction: Some(Redaction { status: Status::Quarantined, rules_fired: vec![next()] }),
                ..Event::new(source, Type::ToolCall, next())
            };
            let line = written(&event);
            proptest::prop_assert_eq!(line.matches('\n').count(), 1);
            proptest::prop_assert_eq!(read(&line), event);
        }
    }

    #[test]
    fn a_lone_surrogate_does_not_travel() {
        let line = FULL.replace("one\\ntwo", "a\\ud83d");
        let out = written(&read(&line));
        assert!(out.contains("a\u{FFFD}") && !out.contains("\\ud83d"), "{out}");
    }
}
