//! A Claude Code session row to a `.curt` conversation.
//!
//! | Claude Code | `.curt` |
//! |---|---|
//! | the row's `id` | `conversation.id` |
//! | the last `customTitle`, else `aiTitle`, else `summary` of a record here, else the first prompt | `title` |
//! | earliest and latest `timestamp` of what is kept | `createdAt`, `updatedAt` |
//! | the first `message.model` | `model`; where another one spoke, that message's `model` |
//! | the last `cost-state` | `claudeCodeCostUsd`, `claudeCodeModelUsage` |
//! | `user`: text and images; a queued prompt that is nowhere else | role `user` |
//! | `user`: each `tool_result` | role `tool`: `toolCallId`, `toolName`, `isError` |
//! | `assistant`: the records of one `message.id` | one message of role `assistant` |
//! | its `thinking`, `tool_use` | `thinking`, `toolCalls` |
//! | its last `stop_reason`, its largest `usage` | `stopReason`, `tokens` |
//! | `system` that a person sees; a compaction boundary | role `system` |
//! | boundary, summary, API error, queued prompt | flagged in `claudeCode.kind` |
//!
//! Order is that of the file. Sidechains, meta records, bookkeeping and what the person went back from are
//! left out and counted.

use super::counts::{Count, Counts};
use super::hermes_to_curt::Options;
use crate::cc::branch::{Graph, Part};
use crate::cc::line::{Record, name};
use crate::curt::write::{Body, Extra, Header, Message};
use crate::json::raw::{Kind, Raw};
use crate::json::text::{Text, is_blank, one_line};
use crate::json::write::{Layout, Writer, object};
use crate::time::parse_rfc3339;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

/// A session whose records are chosen and gathered into messages; their texts are made while they are
/// written.
pub struct Conversation<'a> {
    header: Header<'a>,
    messages: Vec<Said<'a>>,
    counts: Counts,
}

/// One message to be.
struct Said<'a> {
    /// Epoch milliseconds.
    time: Option<i64>,
    what: What<'a>,
    /// `claudeCode`, where there is something to say.
    note: Option<Vec<u8>>,
}

enum What<'a> {
    /// Strings and content blocks.
    User(Vec<Raw<'a>>),
    System(Raw<'a>),
    /// A `tool_result` block.
    Result(Raw<'a>),
    Assistant(Turn<'a>),
}

/// What the records of one `message.id` say together.
#[derive(Default)]
struct Turn<'a> {
    thoughts: Vec<Raw<'a>>,
    parts: Vec<Raw<'a>>,
    calls: Vec<Raw<'a>>,
    model: Option<Raw<'a>>,
    stop: Option<Raw<'a>>,
    usage: Option<Raw<'a>>,
}

/// What a record is for a conversation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Class {
    /// A person's words, perhaps with results.
    Prompt,
    /// Results alone.
    Results,
    Assistant,
    System,
    /// A prompt that waited, in an attachment or in the queue.
    Queued,
    /// Nothing that was said, by the name it is counted under.
    Other,
}

impl<'a> Conversation<'a> {
    /// Choose and gather what a row holds. The error says which part of the row is not there.
    pub fn of(row: Raw<'a>, options: Options) -> Result<Self, &'static str> {
        let id = row.get("id").filter(|id| id.is_string()).ok_or("not a session row: no id")?;
        let records = row.get("messages").filter(|list| list.kind() == Kind::Array);
        let records = records.ok_or("not a session row: no messages")?;
        let mut gather = Gather::new(row, options);
        gather.take(records);
        Ok(gather.finish(row, id))
    }
}

impl super::output::Conversation for Conversation<'_> {
    fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    fn header(&self) -> &Header<'_> {
        &self.header
    }

    fn counts(&self) -> &Counts {
        &self.counts
    }

    fn write(&self, to: &mut dyn Write, layout: Layout) -> io::Result<Counts> {
        let mut counts = Counts::default();
        let mut calls = Calls::default();
        let mut body = Body::begin(to, layout, &self.header)?;
        let session_id = self.header.id.decoded();
        let mut time = self.header.created_at;
        for (said, number) in self.messages.iter().zip(1_u64..) {
            time = said.time.unwrap_or(time);
            let mut extras = Vec::new();
            let (role, content) = match &said.what {
                What::User(parts) => ("user", text_of(parts)),
                What::System(content) => ("system", Text::Token(*content)),
                What::Result(block) => ("tool", result(*block, &mut calls, &mut extras, &mut counts)),
                What::Assistant(turn) => {
                    turn.extras(&self.header, &mut extras);
                    turn.calls.iter().for_each(|call| calls.call(*call));
                    ("assistant", text_of(&turn.parts))
                }
            };
            if let Some(note) = &said.note {
                extras.push(("claudeCode", Extra::Json(note.clone())));
            }
            let id = Text::Decoded([&*session_id, format!("-{number}").as_bytes()].concat().into());
            body.message(&Message { id, role, content, timestamp: time, extras })?;
            counts.add(Count::Messages, 1);
        }
        counts.add(Count::UnmatchedToolCalls, calls.unanswered());
        body.end()?;
        Ok(counts)
    }
}

/// Records on their way to messages.
struct Gather<'a> {
    options: Options,
    /// A subagent's transcript is all sidechain.
    is_sidechain: bool,
    records: Vec<(Record<'a>, Class)>,
    messages: Vec<Said<'a>>,
    counts: Counts,
    names: Names<'a>,
    cost: Option<Raw<'a>>,
}

/// What could be the title.
#[derive(Default)]
struct Names<'a> {
    custom: Option<Raw<'a>>,
    ai: Option<Raw<'a>>,
    /// With its `leafUuid`.
    summaries: Vec<(Raw<'a>, Option<Raw<'a>>)>,
}

impl<'a> Gather<'a> {
    fn new(row: Raw<'a>, options: Options) -> Self {
        let mut counts = Counts::default();
        for wrong in row.get("malformed").into_iter().flat_map(Raw::items).filter_map(Raw::text) {
            counts.tally(Count::MalformedCells, &String::from_utf8_lossy(&wrong));
        }
        Gather {
            options,
            is_sidechain: row.get("sidechain").is_some_and(|it| it.kind() == Kind::True),
            records: Vec::new(),
            messages: Vec::new(),
            counts,
            names: Names::default(),
            cost: None,
        }
    }

    fn take(&mut self, records: Raw<'a>) {
        let mut graph = Graph::default();
        for record in records.items().filter_map(Record::new) {
            for key in record.raw.get("withheld").into_iter().flat_map(Raw::items).filter_map(Raw::text) {
                self.counts.tally(Count::RedactedFields, &String::from_utf8_lossy(&key));
            }
            self.note(&record);
            let class = self.class(&record);
            let part = match class {
                Class::Prompt if may_be_a_rewind(&record) => Part::Prompt(time(&record)),
                Class::Prompt | Class::Results | Class::Assistant | Class::System => Part::Turn,
                Class::Queued | Class::Other => Part::Through,
            };
            let uuid = name(record.uuid).filter(|_| record.is_node());
            if graph.add(uuid, name(record.parent), name(record.logical_parent), part) {
                self.records.push((record, class));
            } else {
                self.counts.add(Count::FoldedRows, 1);
            }
        }
        let tree = graph.resolve();
        let all = self.options.all_branches || self.options.all_rows;
        let kept = if all { vec![true; self.records.len()] } else { tree.newest() };
        let above = tree.turns_above();
        let mut queue = Queue::of(&self.records);
        let mut groups = HashMap::new();
        for place in tree.order() {
            let Some((record, class)) = self.records.get(place).copied() else { continue };
            if class == Class::Other {
                self.counts.tally(Count::SkippedRecords, &self.kind(&record));
            } else if kept.get(place) == Some(&false) {
                self.counts.add(Count::RewoundRows, 1);
            } else {
                let above = above.get(place).copied().flatten().and_then(|above| self.records.get(above));
                let under_user = above.is_some_and(|(_, it)| matches!(it, Class::Prompt | Class::Results));
                self.say(record, class, under_user, &mut groups, &mut queue);
            }
        }
    }

    /// What a record is, by its own fields.
    fn class(&self, record: &Record<'a>) -> Class {
        let summary = flag(record, "isCompactSummary");
        if record.is_sidechain() && !self.is_sidechain
            || flag(record, "isMeta") && !summary && !self.options.all_rows
        {
            return Class::Other;
        }
        let blocks =
            || record.blocks().all(|block| block.is("tool_result")) && record.blocks().next().is_some();
        match () {
            () if record.is("user") && content(record).is_none() => Class::Other,
            () if record.is("user") && blocks() => Class::Results,
            () if record.is("user") => Class::Prompt,
            () if record.is("assistant") && content(record).is_some() => Class::Assistant,
            () if record.is("system") && is_shown(record) => Class::System,
            () if queued(record).is_some() => Class::Queued,
            () => Class::Other,
        }
    }

    /// The name that a record is counted under.
    fn kind(&self, record: &Record<'a>) -> String {
        let word = |raw: Option<Raw<'a>>| {
            raw.and_then(Raw::text).map(|text| String::from_utf8_lossy(&text).into_owned())
        };
        match () {
            () if record.is_sidechain() && !self.is_sidechain => "sidechain".to_owned(),
            () if flag(record, "isMeta") => "meta".to_owned(),
            () => match (word(record.kind), word(record.subtype)) {
                (Some(kind), Some(subtype)) => format!("{kind}.{subtype}"),
                (kind, _) => kind.unwrap_or_default(),
            },
        }
    }

    /// Note what a record says of the whole session.
    fn note(&mut self, record: &Record<'a>) {
        let text = |key| record.raw.get(key).filter(|raw| raw.text().is_some_and(|text| !is_blank(&text)));
        let names = &mut self.names;
        match () {
            () if record.is("custom-title") => names.custom = text("customTitle").or(names.custom),
            () if record.is("ai-title") => names.ai = text("aiTitle").or(names.ai),
            () if record.is("summary") => {
                names.summaries.extend(text("summary").map(|title| (title, record.raw.get("leafUuid"))));
            }
            () if record.is("cost-state") => self.cost = Some(record.raw),
            () => {}
        }
    }

    /// Make messages of a record, or add it to the one it belongs to.
    fn say(
        &mut self,
        record: Record<'a>,
        class: Class,
        under_user: bool,
        groups: &mut HashMap<Cow<'a, [u8]>, usize>,
        queue: &mut Queue,
    ) {
        let time = time(&record).map(|ms| ms.floor() as i64);
        match class {
            Class::Assistant => {
                let id = name(record.message.and_then(|message| message.get("id")));
                // A gateway may give every message one id (ccusage#1635), but what answers a result is new.
                let place = id.as_ref().and_then(|id| groups.get(id)).copied().filter(|_| !under_user);
                let place = place.unwrap_or_else(|| {
                    let note = flag(&record, "isApiErrorMessage").then(|| kind_note("api_error", &[]));
                    self.messages.push(Said { time, what: What::Assistant(Turn::default()), note });
                    self.messages.len() - 1
                });
                groups.extend(id.map(|id| (id, place)));
                let mut results = Vec::new();
                if let Some(Said { what: What::Assistant(turn), .. }) = self.messages.get_mut(place) {
                    turn.add(&record, &mut results, &mut self.counts);
                }
                self.messages.extend(results.into_iter().map(|block| Said {
                    time,
                    what: What::Result(block),
                    note: None,
                }));
            }
            Class::System => {
                let text = record.raw.get("content").filter(|text| text.is_string()).unwrap_or(EMPTY);
                self.messages.push(Said { time, what: What::System(text), note: system_note(&record) });
            }
            Class::Queued => {
                let said = queued(&record).filter(|prompt| queue.is_nowhere_else(&record, *prompt));
                let Some(prompt) = said else {
                    return self.counts.tally(Count::SkippedRecords, &self.kind(&record));
                };
                self.counts.add(Count::QueuedPrompts, 1);
                self.user(time, parts(prompt), Some(kind_note("queued_prompt", &[])));
            }
            Class::Prompt | Class::Results => {
                if class == Class::Prompt {
                    groups.clear();
                }
                let summary = flag(&record, "isCompactSummary").then(|| kind_note("compact_summary", &[]));
                let mut words = Vec::new();
                for part in content(&record).map(parts).unwrap_or_default() {
                    if is_a(part, "tool_result") {
                        self.user(time, std::mem::take(&mut words), summary.clone());
                        left_out(part, &["tool_use_id", "content", "is_error"], &mut self.counts);
                        self.messages.push(Said { time, what: What::Result(part), note: None });
                    } else {
                        words.push(part);
                    }
                }
                let silent = class == Class::Prompt && words.iter().all(|part| says_nothing(*part));
                self.counts.add(Count::EmptyDropped, silent.into());
                self.user(time, words, summary);
            }
            Class::Other => {}
        }
    }

    fn user(&mut self, time: Option<i64>, parts: Vec<Raw<'a>>, note: Option<Vec<u8>>) {
        if !parts.iter().all(|part| says_nothing(*part)) {
            self.messages.push(Said { time, what: What::User(parts), note });
        }
    }

    fn finish(mut self, row: Raw<'a>, id: Raw<'a>) -> Conversation<'a> {
        let before = self.messages.len();
        self.messages.retain(|said| !matches!(&said.what, What::Assistant(turn) if turn.says_nothing()));
        self.counts.add(Count::EmptyDropped, (before - self.messages.len()) as u64);
        let times = || self.messages.iter().filter_map(|said| said.time);
        let created_at = times().min().unwrap_or(0);
        let turns = || {
            self.messages.iter().filter_map(|said| match &said.what {
                What::Assistant(turn) => Some(turn),
                _ => None,
            })
        };
        let model = turns().filter_map(|turn| turn.model).find(|model| is_known(*model));
        let header = Header {
            id: Text::Token(id),
            title: self.title(),
            created_at,
            updated_at: times().max().unwrap_or(0).max(created_at),
            model: model.map(Text::Token),
            extras: [
                ("claudeCode", origin(row)),
                ("claudeCodeTokens", tokens(turns())),
                ("claudeCodeCostUsd", self.cost.and_then(|cost| number(cost, "totalCostUSD"))),
                ("claudeCodeModelUsage", self.cost.and_then(model_usage)),
            ]
            .into_iter()
            .filter_map(|(name, json)| Some((name, json?)))
            .collect(),
            extensions: if turns().any(|turn| turn.tokens().is_some()) { &["usage-metadata"] } else { &[] },
        };
        Conversation { header, messages: self.messages, counts: self.counts }
    }

    fn title(&self) -> Text<'a> {
        // Old releases stored the titles of other files' sessions too.
        let here: HashSet<_> = match self.names.summaries.is_empty() {
            true => HashSet::new(),
            false => self.records.iter().filter_map(|(record, _)| name(record.uuid)).collect(),
        };
        let of_here = |leaf: &Option<Raw<'a>>| name(*leaf).is_none_or(|leaf| here.contains(&leaf));
        let summary =
            self.names.summaries.iter().rev().find(|(_, leaf)| of_here(leaf)).map(|(title, _)| *title);
        match self.names.custom.or(self.names.ai).or(summary) {
            Some(title) => Text::Token(title),
            None => Text::Decoded(self.first_prompt().unwrap_or_default().into()),
        }
    }

    /// The first words of a person on one line, 60 characters; commands and what they print are none.
    fn first_prompt(&self) -> Option<Vec<u8>> {
        let prompts = self
            .messages
            .iter()
            .filter(|said| said.note.as_deref() != Some(&kind_note("compact_summary", &[])));
        let words = prompts.filter_map(|said| match &said.what {
            What::User(parts) => {
                let words: Vec<_> =
                    parts.iter().copied().filter(|part| part.is_string() || is_a(*part, "text")).collect();
                Some(one_line(&text_of(&words).decoded(), 60)).filter(|line| !line.is_empty())
            }
            _ => None,
        });
        let words: Vec<_> = words.collect();
        words.iter().find(|line| !is_wrapped(line)).or(words.first()).cloned()
    }
}

impl<'a> Turn<'a> {
    /// Add one record; the results of tools that ran at the provider go to `results`.
    fn add(&mut self, record: &Record<'a>, results: &mut Vec<Raw<'a>>, counts: &mut Counts) {
        for part in content(record).map(parts).unwrap_or_default() {
            let kind = part.get("type").and_then(Raw::text).unwrap_or_default();
            match &*kind {
                b"thinking" => {
                    self.thoughts.extend(part.get("thinking").filter(|thought| holds_something(*thought)));
                    left_out(part, &["thinking"], counts);
                }
                b"redacted_thinking" => left_out(part, &[], counts),
                b"text" => {
                    self.parts
                        .extend(Some(part).filter(|part| part.get("text").is_some_and(holds_something)));
                    left_out(part, &["text"], counts);
                }
                b"tool_use" | b"server_tool_use" | b"mcp_tool_use" => {
                    self.calls.push(part);
                    left_out(part, &["id", "name", "input"], counts);
                }
                kind if kind.ends_with(b"_tool_result") => results.push(part),
                _ if part.is_string() && !holds_something(part) => {}
                _ => self.parts.push(part),
            }
        }
        let Some(message) = record.message else { return };
        let text = |key| message.get(key).filter(|value| value.is_string() && holds_something(*value));
        self.model = self.model.or(text("model"));
        self.stop = text("stop_reason").or(self.stop);
        let output = |usage: Raw<'a>| usage.get("output_tokens").and_then(Raw::number).unwrap_or(0.0);
        let usage = message.get("usage").filter(|usage| usage.kind() == Kind::Object);
        // Each record repeats the usage, or what it was when it was written.
        self.usage = match (self.usage, usage) {
            (Some(before), Some(now)) if output(now) < output(before) => Some(before),
            (before, now) => now.or(before),
        };
    }

    fn says_nothing(&self) -> bool {
        self.thoughts.is_empty() && self.calls.is_empty() && self.parts.iter().all(|part| says_nothing(*part))
    }

    fn extras(&self, header: &Header<'_>, extras: &mut Vec<(&'static str, Extra<'a>)>) {
        let usual = header.model.as_ref().map(Text::decoded);
        let differs = |model: &Raw<'_>| match &usual {
            Some(usual) => model.text().as_ref() != Some(usual),
            None => !model.is("unknown"),
        };
        if let Some(model) = self.model.filter(differs) {
            extras.push(("model", Extra::Text(Text::Token(model))));
        }
        if !self.thoughts.is_empty() {
            extras.push(("thinking", Extra::Text(joined(&self.thoughts, b"\n\n"))));
        }
        if !self.calls.is_empty() {
            extras.push(("toolCalls", Extra::Json(tool_calls(&self.calls))));
        }
        extras.extend(self.tokens().map(|tokens| ("tokens", Extra::Json(tokens))));
        extras.extend(self.stop.map(|stop| ("stopReason", Extra::Text(Text::Token(stop)))));
    }

    /// `None` where nothing was counted: converters write zeros for what they do not know.
    fn tokens(&self) -> Option<Vec<u8>> {
        let count =
            |key| self.usage.and_then(|usage| usage.get(key)).and_then(Raw::integer).filter(|n| *n >= 0);
        let (input, output) = (count("input_tokens"), count("output_tokens"));
        let cached = count("cache_read_input_tokens").filter(|n| *n > 0);
        let (sum, any) = (input.unwrap_or(0).saturating_add(output.unwrap_or(0)), cached.is_some());
        if sum == 0 && !any {
            return None;
        }
        object(
            [
                ("promptTokens", Some(input.unwrap_or(0))),
                ("completionTokens", Some(output.unwrap_or(0))),
                ("totalTokens", Some(sum)),
                ("cachedTokens", cached),
            ]
            .into_iter()
            .filter_map(|(name, n)| Some((name, n?.to_string().into_bytes()))),
        )
    }
}

/// Which prompts of the queue are said again by another record.
struct Queue {
    /// Texts of user records.
    said: HashSet<Vec<u8>>,
    /// By text, how many entries of the queue became a user record or an attachment.
    taken: HashMap<Vec<u8>, u64>,
}

impl Queue {
    fn of(records: &[(Record<'_>, Class)]) -> Queue {
        let texts = |wanted| {
            let of_class = records.iter().filter(move |(_, class)| *class == wanted);
            of_class.filter_map(|(record, _)| Some((record, words(queued(record).or(content(record))?))))
        };
        let waiting: HashSet<_> = texts(Class::Queued).map(|(_, text)| text).collect();
        let prompts = || texts(Class::Prompt).map(|(_, text)| text).filter(|text| waiting.contains(text));
        let said: HashSet<_> = prompts().collect();
        let attached =
            texts(Class::Queued).filter(|(record, text)| record.is("attachment") && !said.contains(text));
        let mut taken = HashMap::new();
        for text in prompts().chain(attached.map(|(_, text)| text)) {
            *taken.entry(text).or_default() += 1;
        }
        Queue { said, taken }
    }

    fn is_nowhere_else(&mut self, record: &Record<'_>, prompt: Raw<'_>) -> bool {
        let text = words(prompt);
        if record.is("attachment") {
            return !self.said.contains(&text);
        }
        match self.taken.get_mut(&text) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => !is_blank(&text),
        }
    }
}

/// Which result answers which call: ids are the provider's and unique.
#[derive(Default)]
struct Calls<'a> {
    /// By id, the name, and whether it was answered.
    known: HashMap<Cow<'a, [u8]>, (Option<Raw<'a>>, bool)>,
    nameless: u64,
}

impl<'a> Calls<'a> {
    fn call(&mut self, call: Raw<'a>) {
        match name(call.get("id")) {
            Some(id) => {
                self.known.insert(id, (call.get("name").filter(|name| name.is_string()), false));
            }
            None => self.nameless += 1,
        }
    }

    fn unanswered(&self) -> u64 {
        self.nameless + self.known.values().filter(|(_, answered)| !answered).count() as u64
    }
}

fn result<'a>(
    block: Raw<'a>,
    calls: &mut Calls<'a>,
    extras: &mut Vec<(&'static str, Extra<'a>)>,
    counts: &mut Counts,
) -> Text<'a> {
    let id = block.get("tool_use_id").filter(|id| id.is_string());
    match name(id).and_then(|id| calls.known.get_mut(&id)) {
        Some((tool, answered)) => {
            *answered = true;
            extras.extend(id.map(|id| ("toolCallId", Extra::Text(Text::Token(id)))));
            extras.extend(tool.map(|tool| ("toolName", Extra::Text(Text::Token(tool)))));
        }
        None => {
            extras.extend(id.map(|id| ("toolCallId", Extra::Text(Text::Token(id)))));
            counts.add(Count::UnmatchedToolResults, 1);
        }
    }
    let flag = block.get("is_error").filter(|flag| matches!(flag.kind(), Kind::True | Kind::False));
    extras.extend(flag.map(|flag| ("isError", Extra::Json(flag.bytes().to_vec()))));
    text_of(&block.get("content").map(parts).unwrap_or_default())
}

fn tool_calls(calls: &[Raw<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, Layout::Line);
    w.open(b'[');
    for call in calls {
        w.open(b'{');
        for key in ["id", "name"] {
            if let Some(value) = call.get(key).filter(|value| value.is_string()) {
                w.key(key);
                w.raw(value);
            }
        }
        w.key("arguments");
        w.raw(unwrapped(call.get("input").unwrap_or(Raw::known(b"{}"))));
        w.close(b'}');
    }
    w.close(b']');
    out
}

/// Converters write arguments that are no object as `{"_raw": arguments}`.
fn unwrapped(input: Raw<'_>) -> Raw<'_> {
    let mut members = input.members();
    match (members.next(), members.next()) {
        (Some((key, value)), None) if key.is("_raw") && value.kind() != Kind::Object => value,
        _ => input,
    }
}

const EMPTY: Raw<'static> = Raw::known(b"\"\"");

/// What a message holds: a string, or blocks. Some tools write the text where the message should be.
fn content<'a>(record: &Record<'a>) -> Option<Raw<'a>> {
    let message = record.message?;
    let content = if message.is_string() { Some(message) } else { message.get("content") };
    content.filter(|content| matches!(content.kind(), Kind::String | Kind::Array))
}

/// The prompt of an attachment or a queue entry that a person wrote.
fn queued<'a>(record: &Record<'a>) -> Option<Raw<'a>> {
    let prompt = match () {
        () if record.is("attachment") => {
            let attachment = record.raw.get("attachment")?;
            let ours = attachment.get("commandMode").is_none_or(|mode| !mode.is("task-notification"));
            attachment
                .get("prompt")
                .filter(|_| ours && attachment.get("type").is_some_and(|kind| kind.is("queued_command")))
        }
        () if record.is("queue-operation") => {
            let enqueued = record.raw.get("operation").is_some_and(|it| it.is("enqueue"));
            record.raw.get("content").filter(|_| enqueued)
        }
        () => None,
    };
    let prompt = prompt.filter(|prompt| matches!(prompt.kind(), Kind::String | Kind::Array))?;
    (!words(prompt).starts_with(b"<task-notification>")).then_some(prompt)
}

/// The system records that stand in the conversation as a person sees it.
fn is_shown(record: &Record<'_>) -> bool {
    let text = record.raw.get("content").and_then(Raw::text);
    match record.subtype.filter(|subtype| !subtype.is_null()) {
        Some(subtype) if subtype.is("compact_boundary") => true,
        Some(subtype) => {
            ["informational", "local_command", "away_summary", "model_refusal_fallback"]
                .iter()
                .any(|word| subtype.is(word))
                && text.is_some_and(|text| !is_blank(&text))
        }
        None => text.is_some_and(|text| !is_blank(&text)),
    }
}

/// Whether two of these under one record are alternatives: words of a person, which the notice of an
/// interruption, a summary and what a command printed are not.
fn may_be_a_rewind(record: &Record<'_>) -> bool {
    const NOT: [&[u8]; 3] = [b"[Request interrupted by user", b"<local-command-stdout", b"<bash-std"];
    let text = content(record).map(words).unwrap_or_default();
    !flag(record, "isCompactSummary") && !NOT.iter().any(|start| text.starts_with(start))
}

/// Whether this is what the program writes around commands, not what a person asked.
fn is_wrapped(text: &[u8]) -> bool {
    const STARTS: [&[u8]; 7] = [
        b"<command-",
        b"<local-command-",
        b"<bash-",
        b"<system-reminder>",
        b"<task-notification>",
        b"Caveat: ",
        b"[Request interrupted by user",
    ];
    STARTS.iter().any(|start| text.starts_with(start))
}

fn flag(record: &Record<'_>, key: &str) -> bool {
    record.raw.get(key).is_some_and(|it| it.kind() == Kind::True)
}

/// Epoch milliseconds.
fn time(record: &Record<'_>) -> Option<f64> {
    /// Where JavaScript's dates end.
    const LAST: f64 = 8.64e15;
    let time = record.timestamp?;
    let parsed = time.text().and_then(|text| parse_rfc3339(std::str::from_utf8(&text).ok()?));
    parsed.or(time.number()).filter(|ms| ms.abs() <= LAST)
}

/// A string as the one part it is, or the items of a list.
fn parts(content: Raw<'_>) -> Vec<Raw<'_>> {
    if content.is_string() { vec![content] } else { content.items().collect() }
}

fn is_a(part: Raw<'_>, kind: &str) -> bool {
    part.get("type").is_some_and(|it| it.is(kind))
}

/// Whether a model is one: not an error's, nor what converters write where nobody knows.
fn is_known(model: Raw<'_>) -> bool {
    !model.is("<synthetic>") && !model.is("unknown")
}

fn holds_something(text: Raw<'_>) -> bool {
    text.quoted().is_some_and(|inner| !inner.is_empty())
}

/// Whether a part is a text of white space.
fn says_nothing(part: Raw<'_>) -> bool {
    plain(part).is_some_and(|text| text.text().is_none_or(|text| is_blank(&text)))
}

/// The string of a part that is text.
fn plain(part: Raw<'_>) -> Option<Raw<'_>> {
    match part.is_string() {
        true => Some(part),
        false => part.get("text").filter(|text| text.is_string() && is_a(part, "text")),
    }
}

/// Texts as they are, images as their URL, everything else as the JSON it is, one after the other on lines.
fn text_of<'a>(parts: &[Raw<'a>]) -> Text<'a> {
    let pieces: Vec<_> = parts
        .iter()
        .copied()
        .map(|part| match plain(part) {
            Some(text) => Text::Token(text),
            None => Text::Decoded(image(part).unwrap_or_else(|| on_one_line(part)).into()),
        })
        .collect();
    match <[_; 1]>::try_from(pieces) {
        Ok([one]) => one,
        Err(pieces) => {
            let decoded: Vec<_> = pieces.iter().map(Text::decoded).collect();
            Text::Decoded(decoded.join(&b'\n').into())
        }
    }
}

/// The words of a content, to compare and to title by.
fn words(content: Raw<'_>) -> Vec<u8> {
    text_of(&parts(content)).decoded().into_owned()
}

fn image(part: Raw<'_>) -> Option<Vec<u8>> {
    let source = part.get("source").filter(|_| is_a(part, "image"))?;
    if let Some(url) = source.get("url").and_then(Raw::text) {
        return Some(url.into_owned());
    }
    let (kind, data) = (source.get("media_type")?.text()?, source.get("data")?.text()?);
    Some([b"data:", &*kind, b";base64,", &*data].concat())
}

fn on_one_line(value: Raw<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    Writer::new(&mut out, Layout::Line).raw(value);
    out
}

/// Several strings as one.
fn joined<'a>(texts: &[Raw<'a>], between: &[u8]) -> Text<'a> {
    match texts {
        [one] => Text::Token(*one),
        texts => Text::Decoded(
            texts.iter().filter_map(|text| text.text()).collect::<Vec<_>>().join(between).into(),
        ),
    }
}

/// Count the members of a block that hold something and have no place in a message.
fn left_out(block: Raw<'_>, kept: &[&str], counts: &mut Counts) {
    for (key, value) in block.members() {
        let holds = !matches!(value.bytes(), b"null" | b"\"\"" | b"[]" | b"{}");
        if holds && !key.is("type") && !kept.iter().any(|name| key.is(name)) {
            counts.tally(Count::RedactedFields, &String::from_utf8_lossy(&key.text().unwrap_or_default()));
        }
    }
}

/// `{"kind": …}` and further members.
fn kind_note(kind: &str, more: &[(&'static str, Raw<'_>)]) -> Vec<u8> {
    let mut token = Vec::new();
    crate::json::write::escape_into(&mut token, kind.as_bytes());
    let members = more.iter().map(|(name, value)| (*name, value.bytes().to_vec()));
    object(std::iter::once(("kind", token)).chain(members)).unwrap_or_default()
}

fn system_note(record: &Record<'_>) -> Option<Vec<u8>> {
    let subtype = record.subtype?.text().filter(|subtype| **subtype != *b"informational")?;
    let metadata = record.raw.get("compactMetadata");
    let more = ["trigger", "preTokens", "postTokens"].into_iter().filter_map(|key| {
        let value = metadata?.get(key)?;
        Some((key, value)).filter(|_| matches!(value.kind(), Kind::String | Kind::Number))
    });
    Some(kind_note(&String::from_utf8_lossy(&subtype), &more.collect::<Vec<_>>()))
}

/// Where a subagent's transcript belongs, and what is missing in it.
fn origin(row: Raw<'_>) -> Option<Vec<u8>> {
    let fields =
        [("agentId", "agent_id"), ("parentSessionId", "parent_session_id"), ("lostLines", "lost_lines")];
    object(fields.into_iter().filter_map(|(name, key)| Some((name, row.get(key)?.bytes().to_vec()))))
}

/// The sums of all messages, where they say more than the messages do.
fn tokens<'t, 'a: 't>(turns: impl Iterator<Item = &'t Turn<'a>> + Clone) -> Option<Vec<u8>> {
    const COUNTERS: [(&str, &str); 4] = [
        ("inputTokens", "input_tokens"),
        ("outputTokens", "output_tokens"),
        ("cacheReadTokens", "cache_read_input_tokens"),
        ("cacheWriteTokens", "cache_creation_input_tokens"),
    ];
    let sum = |key: &str| -> i64 {
        let counts = turns.clone().filter_map(|turn| turn.usage?.get(key)?.integer());
        counts.filter(|n| *n > 0).fold(0, i64::saturating_add)
    };
    let sums = COUNTERS.map(|(name, key)| (name, sum(key)));
    let cached = sums.iter().skip(2).any(|(_, n)| *n > 0);
    object(sums.into_iter().map(|(name, n)| (name, n.to_string().into_bytes()))).filter(|_| cached)
}

fn number(object: Raw<'_>, key: &str) -> Option<Vec<u8>> {
    object.get(key).filter(|n| n.kind() == Kind::Number).map(|n| n.bytes().to_vec())
}

/// What the program itself counted, by model, in its order.
fn model_usage(cost: Raw<'_>) -> Option<Vec<u8>> {
    const FIELDS: [(&str, &str); 6] = [
        ("inputTokens", "inputTokens"),
        ("outputTokens", "outputTokens"),
        ("cacheReadTokens", "cacheReadInputTokens"),
        ("cacheWriteTokens", "cacheCreationInputTokens"),
        ("reasoningTokens", "thinkingTokens"),
        ("estimatedCostUsd", "costUSD"),
    ];
    let models = cost.get("modelUsage")?.members().filter_map(|(model, usage)| {
        let counts = FIELDS.into_iter().filter_map(|(name, key)| Some((name, number(usage, key)?)));
        object(std::iter::once(("model", model.bytes().to_vec())).chain(counts))
    });
    let models = models.collect::<Vec<_>>().join(&b',');
    (!models.is_empty()).then(|| [b"[", &*models, b"]"].concat())
}
