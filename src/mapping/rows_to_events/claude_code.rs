//! A Claude Code session row to events.
//!
//! | Claude Code | event |
//! |---|---|
//! | the first and the last record's `timestamp` | `session_start`, `session_end` |
//! | the last `customTitle`, else `aiTitle`, else `summary` | `content` of `session_start` |
//! | `user`: its texts | `prompt` |
//! | `user`: each `tool_result` | `tool_call`: `result`, `exit_code` 0 or 1 by `is_error` |
//! | `assistant`: its texts | `assistant` |
//! | `tool_use` | `input` of the call that answers it; a `tool_call` of its own where none does |
//! | `system`, `compact_boundary` | `compact` |
//! | the largest `usage` of each `message.id`, the last `totalCostUSD` | `usage` of `session_end` |
//! | `uuid`, of the calling record too | `message_id`, `parent_message_id` |
//!
//! Order is that of the file. Sidechains, meta records and summaries are left out and counted; what the
//! person went back from stays.

use super::{Asked, Emitter, call, plain};
use crate::cc::line::{Record, name};
use crate::json::raw::{Kind, Raw};
use crate::lake::event::{Type, Usage, utf8};
use crate::time::{in_window, parse_rfc3339};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Write them.
pub(super) fn events<'p>(row: Raw<'p>, to: &mut Emitter<'p>) {
    let sidechain = row.get("sidechain").is_some_and(is_true);
    let mut seen = HashSet::new();
    let records: Vec<Record<'p>> = row
        .get("messages")
        .into_iter()
        .flat_map(Raw::items)
        .filter_map(Record::new)
        // A record that is copied is the same record.
        .filter(|record| name(record.uuid).is_none_or(|uuid| seen.insert(uuid)))
        .collect();
    let said = |record: &Record<'_>| {
        let from_elsewhere = record.is_sidechain() && !sidechain;
        !from_elsewhere && !flag(record, "isMeta") && !flag(record, "isCompactSummary")
    };
    let kept: Vec<Record<'p>> =
        records.iter().filter(|record| kind(record).is_some() && said(record)).copied().collect();
    to.counts.left_out +=
        records.iter().filter(|record| kind(record).is_some() && !said(record)).count() as u64;
    if kept.is_empty() {
        to.counts.empty += 1;
        return;
    }
    let first = kept.iter().find_map(time).unwrap_or(0.0);
    let latest = kept.iter().filter_map(time).fold(first, f64::max);
    let ended = to.has_ended(latest, None);

    let mut start = to.at(Type::SessionStart, first);
    start.content = title(&records);
    to.emit(start);

    let answered: HashSet<_> =
        kept.iter().flat_map(Record::blocks).filter_map(|block| name(block.tool_use_id)).collect();
    let mut session =
        Session { pending: HashMap::new(), answered, usage: HashMap::new(), models: Vec::new() };
    // A call that comes before the last prompt will have no result.
    let last_prompt =
        kept.iter().rposition(|record| kind(record) == Some(Type::Prompt) && text(record).is_some());
    let mut at = first;
    for (place, record) in kept.iter().enumerate() {
        at = time(record).unwrap_or(at);
        let closed = ended || last_prompt.is_some_and(|last| place < last);
        session.record(record, at, closed, to);
    }
    if !ended {
        to.counts.open += 1;
        return;
    }
    let mut end = to.at(Type::SessionEnd, at);
    end.usage = session.usage(&records);
    to.emit(end);
}

struct Session<'a> {
    /// Calls whose result is to come, by id.
    pending: HashMap<Cow<'a, [u8]>, Asked<'a>>,
    answered: HashSet<Cow<'a, [u8]>>,
    /// By `message.id`: several records are one message, and say its usage each.
    usage: HashMap<Cow<'a, [u8]>, [i64; 4]>,
    models: Vec<Cow<'a, str>>,
}

impl<'a> Session<'a> {
    fn record(&mut self, record: &Record<'a>, at: f64, closed: bool, to: &mut Emitter<'a>) {
        let id = name(record.uuid).map(utf8);
        match kind(record) {
            Some(Type::Compact) => {
                let mut marker = to.at(Type::Compact, at);
                marker.message_id = id;
                to.emit(marker);
            }
            Some(kind) => {
                if kind == Type::Assistant {
                    self.note_usage(record);
                }
                if let Some(text) = text(record) {
                    let mut event = to.at(kind, at);
                    event.message_id = id.clone();
                    event.role = Some(Cow::Borrowed(if kind == Type::Prompt { "user" } else { "assistant" }));
                    event.content = Some(text);
                    to.emit(event);
                }
                for block in record.blocks() {
                    match () {
                        () if block.is("tool_result") => self.result(block.raw, at, id.clone(), to),
                        () if block.is("tool_use") => self.call(block.raw, at, id.clone(), closed, to),
                        () => {}
                    }
                }
            }
            None => {}
        }
    }

    fn call(
        &mut self,
        block: Raw<'a>,
        at: f64,
        id: Option<Cow<'a, str>>,
        closed: bool,
        to: &mut Emitter<'a>,
    ) {
        let text = |key| block.get(key).and_then(Raw::text).map(utf8);
        let tool = call(text("name").unwrap_or(Cow::Borrowed("unknown")), block.get("input").map(plain));
        match name(block.get("id")).filter(|call| self.answered.contains(call)) {
            Some(call) => {
                self.pending.insert(call, Asked { tool, by: id });
            }
            None if !closed => to.counts.waiting += 1,
            None => {
                let mut event = to.at(Type::ToolCall, at);
                event.message_id = id.clone();
                event.parent_message_id = id;
                event.tool = Some(tool);
                to.emit(event);
            }
        }
    }

    fn result(&mut self, block: Raw<'a>, at: f64, id: Option<Cow<'a, str>>, to: &mut Emitter<'a>) {
        let known = name(block.get("tool_use_id")).and_then(|call| self.pending.remove(&call));
        let unknown = || Asked { tool: call(Cow::Borrowed("unknown"), None), by: None };
        let Asked { mut tool, by } = known.unwrap_or_else(unknown);
        tool.exit_code = Some(i64::from(block.get("is_error").is_some_and(is_true)));
        tool.result = block.get("content").map(texts);
        let mut event = to.at(Type::ToolCall, at);
        event.message_id = id;
        event.parent_message_id = by;
        event.tool = Some(tool);
        to.emit(event);
    }

    fn note_usage(&mut self, record: &Record<'a>) {
        const NAMES: [&str; 4] =
            ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
        let Some(message) = record.message else { return };
        if let Some(model) = message.get("model").and_then(Raw::text).map(utf8)
            && !model.starts_with('<')
            && !self.models.contains(&model)
        {
            self.models.push(model);
        }
        let Some(usage) = message.get("usage") else { return };
        let tokens = NAMES.map(|key| usage.get(key).and_then(Raw::integer).unwrap_or(0).max(0));
        let Some(id) = name(message.get("id")).or_else(|| name(record.uuid)) else { return };
        let largest = self.usage.entry(id).or_default();
        largest.iter_mut().zip(tokens).for_each(|(a, b)| *a = b.max(*a));
    }

    fn usage(mut self, records: &[Record<'a>]) -> Option<Usage<'a>> {
        let cost = |record: &Record<'a>| record.raw.get("totalCostUSD").and_then(Raw::number);
        let cost_usd = records.iter().rev().find_map(cost).filter(|cost| cost.is_finite());
        if self.usage.is_empty() && cost_usd.is_none() {
            return None;
        }
        let mut tokens = [0_i64; 4];
        for of_one in self.usage.values() {
            tokens.iter_mut().zip(of_one).for_each(|(sum, n)| *sum = sum.saturating_add(*n));
        }
        let model = if self.models.len() == 1 { self.models.pop() } else { None };
        Some(Usage { model, tokens, cost_usd })
    }
}

fn kind(record: &Record<'_>) -> Option<Type> {
    match () {
        () if record.is("user") => Some(Type::Prompt),
        () if record.is("assistant") => Some(Type::Assistant),
        () if record.is("system") && record.subtype.is_some_and(|it| it.is("compact_boundary")) => {
            Some(Type::Compact)
        }
        () => None,
    }
}

/// The name that the session has in the end.
fn title<'a>(records: &[Record<'a>]) -> Option<Cow<'a, str>> {
    ["customTitle", "aiTitle", "summary"].into_iter().find_map(|key| {
        let titles = records.iter().rev().filter_map(|record| record.raw.get(key)?.text());
        titles.map(utf8).find(|title| !title.is_empty())
    })
}

fn time(record: &Record<'_>) -> Option<f64> {
    let text = record.timestamp?.text()?;
    in_window(parse_rfc3339(std::str::from_utf8(&text).ok()?)? / 1e3)
}

/// What is said in words: a string, or the texts among the blocks.
fn text<'a>(record: &Record<'a>) -> Option<Cow<'a, str>> {
    let content = record.message?.get("content")?;
    let words = texts(content);
    (!words.is_empty()).then_some(words)
}

fn texts(content: Raw<'_>) -> Cow<'_, str> {
    if let Some(text) = content.text() {
        return utf8(text);
    }
    let lines: Vec<_> = content
        .items()
        .filter(|block| is_text(*block))
        .filter_map(|block| block.get("text")?.text())
        .collect();
    utf8(Cow::Owned(lines.join(&b'\n')))
}

fn is_text(block: Raw<'_>) -> bool {
    block.get("type").is_some_and(|kind| kind.is("text"))
}

fn is_true(flag: Raw<'_>) -> bool {
    flag.kind() == Kind::True
}

fn flag(record: &Record<'_>, key: &str) -> bool {
    record.raw.get(key).is_some_and(is_true)
}
