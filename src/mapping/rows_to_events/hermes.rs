//! A Hermes session row to events.
//!
//! | Hermes | event |
//! |---|---|
//! | the first and the last message's time | `session_start`, `session_end` |
//! | `sessions.title` | `content` of `session_start` |
//! | role `user`, `assistant` | `prompt`, `assistant` |
//! | role `tool` | `tool_call`: `result` from `content`, `input` from the call that it answers |
//! | a call without a result | `tool_call` with the id and time of its assistant row |
//! | a run of `compacted` rows | `compact`, after the last row of the run |
//! | `session_model_usage`, else the session's totals | `usage` of `session_end` |
//! | `messages.id`, of the calling row too | `message_id`, `parent_message_id` |
//!
//! Events stand in the order of `messages.id`; times are the rows' own.

use super::{Asked, Emitter, call, plain};
use crate::hermes::calls::{Answers, CallId, Pairing, visit};
use crate::hermes::content::{Manner, content};
use crate::hermes::session::{Cell, Row, Session};
use crate::hermes::visible::{Fate, fates};
use crate::json::raw::Raw;
use crate::lake::event::{COUNTERS, Tool, Type, Usage, utf8};
use crate::time::in_window;
use std::borrow::Cow;
use std::collections::HashMap;

/// Write them.
pub(super) fn events<'p>(session: &Session<'p>, shown: bool, to: &mut Emitter<'p>) {
    let fates = if shown { fates(session.messages()) } else { Vec::new() };
    to.counts.left_out += fates.iter().filter(|fate| **fate != Fate::Shown).count() as u64;
    let rows = session.messages().zip(fates.iter().copied().chain(std::iter::repeat(Fate::Shown)));
    let rows = rows.filter(|(_, fate)| *fate == Fate::Shown).map(|(row, _)| row);

    let Some(glance) = Glance::of(rows.clone(), session) else {
        to.counts.empty += 1;
        return;
    };
    let ended_at = session.cell("ended_at").and_then(|cell| cell.raw().number()).and_then(in_window);
    let newest = session.cell("store_newest").and_then(|cell| cell.raw().number());
    let ended = ended_at.is_some() || to.has_ended(glance.latest, newest);

    let mut start = to.at(Type::SessionStart, glance.first);
    start.content = session.cell("title").map(said).filter(|title| !title.is_empty());
    to.emit(start);

    let mut at = glance.first;
    let mut calls = Calls { closed: if ended { usize::MAX } else { glance.closed }, ..Calls::default() };
    let mut rows = rows.enumerate().peekable();
    while let Some((place, row)) = rows.next() {
        at = row.seconds().unwrap_or(at);
        message(&row, at, glance.answers.get(&place).copied(), &glance, &mut calls, to);
        let goes_on = rows.peek().is_some_and(|(_, next)| next.is_compacted() && !next.is_summary());
        if row.is_compacted() && !goes_on {
            let mut marker = to.at(Type::Compact, at);
            marker.message_id = id(&row);
            to.emit(marker);
        }
    }
    if !ended {
        to.counts.open += 1;
        return;
    }
    let mut end = to.at(Type::SessionEnd, at);
    end.usage = usage(session);
    to.emit(end);
}

/// What must be known before the first event is written.
struct Glance {
    first: f64,
    latest: f64,
    /// Which call a tool row answers, by the row's place and the call's number.
    answers: HashMap<usize, usize>,
    answered: Vec<bool>,
    /// Calls below this number stand before a user row: no result will come.
    closed: usize,
}

impl Glance {
    /// `None` for a session without messages.
    fn of<'a>(rows: impl Iterator<Item = Row<'a>>, session: &Session<'a>) -> Option<Glance> {
        let started = session.cell("started_at").and_then(|cell| cell.raw().number()).and_then(in_window);
        let (mut first, mut latest, mut any) = (None, None::<f64>, false);
        let (mut pairing, mut answers) = (Pairing::default(), HashMap::new());
        let (mut answered, mut closed) = (Vec::new(), 0);
        for (place, row) in rows.enumerate() {
            any = true;
            first = first.or(row.seconds());
            latest = latest.into_iter().chain(row.seconds()).reduce(f64::max);
            match Role::of(&row) {
                // Hidden rows are no barrier (rulings, "Tool calls").
                Some(Role::User) if !row.is_hidden() => {
                    pairing.turn();
                    closed = answered.len();
                }
                Some(Role::Assistant) => {
                    let mut ids = Vec::new();
                    each_call(&row, |item| {
                        ids.push(CallId::numbered(item, answered.len()));
                        answered.push(false);
                    });
                    pairing.call(ids);
                }
                Some(Role::Tool) => {
                    if let Answers::Call(Some(number)) = pairing.result(row.tool_call_id())
                        && let Some(number) = String::from_utf8(number).ok().and_then(|n| n.parse().ok())
                        && let Some(flag) = answered.get_mut(number)
                    {
                        *flag = true;
                        answers.insert(place, number);
                    }
                }
                _ => {}
            }
        }
        let first = first.or(started).unwrap_or(0.0);
        any.then_some(Glance { first, latest: latest.unwrap_or(first), answers, answered, closed })
    }
}

/// The calls as the rows go by.
#[derive(Default)]
struct Calls<'a> {
    count: usize,
    /// What answered calls say until their result comes, by number.
    pending: HashMap<usize, Asked<'a>>,
    closed: usize,
}

fn message<'p>(
    row: &Row<'p>,
    at: f64,
    answers: Option<usize>,
    glance: &Glance,
    calls: &mut Calls<'p>,
    to: &mut Emitter<'p>,
) {
    let (kind, role) = match Role::of(row) {
        Some(Role::User) => (Type::Prompt, Some("user")),
        Some(Role::Assistant) => (Type::Assistant, Some("assistant")),
        Some(Role::Tool) => (Type::ToolCall, None),
        None => {
            to.counts.unmapped += 1;
            return;
        }
    };
    let mut event = to.at(kind, at);
    event.message_id = id(row);
    let text = row.content().map(said);
    let Some(role) = role else {
        let known = answers.and_then(|number| calls.pending.remove(&number));
        let Asked { mut tool, by } = known.unwrap_or_default();
        if let Some(name) = row.tool_name().map(word).filter(|name| !name.is_empty()) {
            tool.name = name;
        }
        if tool.name.is_empty() {
            tool.name = UNKNOWN;
        }
        tool.result = text;
        event.parent_message_id = by;
        event.tool = Some(tool);
        return to.emit(event);
    };
    event.role = Some(Cow::Borrowed(role));
    event.content = text;
    to.emit(event);
    if kind == Type::Assistant {
        each_call(row, |item| {
            let number = calls.count;
            calls.count += 1;
            let mut tool = tool(item);
            if glance.answered.get(number).copied().unwrap_or(false) {
                calls.pending.insert(number, Asked { tool, by: id(row) });
            } else if number >= calls.closed {
                to.counts.waiting += 1;
            } else {
                if tool.name.is_empty() {
                    tool.name = UNKNOWN;
                }
                let mut event = to.at(Type::ToolCall, at);
                event.message_id = id(row);
                event.parent_message_id = id(row);
                event.tool = Some(tool);
                to.emit(event);
            }
        });
    }
}

const UNKNOWN: Cow<'static, str> = Cow::Borrowed("unknown");

#[derive(Clone, Copy)]
enum Role {
    User,
    Assistant,
    Tool,
}

impl Role {
    fn of(row: &Row<'_>) -> Option<Role> {
        const NAMES: [(Role, &str); 3] =
            [(Role::User, "user"), (Role::Assistant, "assistant"), (Role::Tool, "tool")];
        let role = row.role()?;
        NAMES.into_iter().find(|(_, name)| role.raw().is(name)).map(|(role, _)| role)
    }
}

fn each_call(row: &Row<'_>, mut each: impl FnMut(Raw<'_>)) {
    if let Some(cell) = row.tool_calls() {
        visit(cell, &mut each);
    }
}

/// A call as the store has it: OpenAI's shape or Anthropic's.
fn tool(item: Raw<'_>) -> Tool<'static> {
    let function = item.get("function");
    let of_function = |name| function.and_then(|f| f.get(name));
    let name = item.get("name").or_else(|| item.get("tool_name")).or_else(|| of_function("name"));
    let name = name.filter(|name| !name.is_null()).map(plain).unwrap_or_default().into_owned();
    let input = of_function("arguments")
        .or_else(|| ["arguments", "input", "args"].into_iter().find_map(|key| item.get(key)))
        .filter(|input| !input.is_null());
    let input = input.map(|input| plain(input).into_owned());
    call(Cow::Owned(name), input.map(Cow::Owned))
}

fn id<'a>(row: &Row<'a>) -> Option<Cow<'a, str>> {
    row.id().map(word)
}

fn word(cell: Cell<'_>) -> Cow<'_, str> {
    utf8(cell.text())
}

/// The text of a cell, what is behind the sentinel decoded; nothing else is changed.
fn said(cell: Cell<'_>) -> Cow<'_, str> {
    let manner = Manner { verbatim: true, ..Manner::default() };
    utf8(Cow::Owned(content(cell, manner).0.decoded().into_owned()))
}

/// Of the rows by model, of tasks beside the conversation too; else of the session's own columns.
fn usage<'a>(session: &Session<'a>) -> Option<Usage<'a>> {
    let own = |column: &str| session.cell(column).map(Cell::raw);
    let models: Vec<Raw<'a>> = session.usage().collect();
    let of_session = cost(&own);
    if models.is_empty() {
        let tokens = COUNTERS.map(|name| own(name).map_or(0, count));
        let known = of_session.is_some() || tokens.iter().any(|n| *n > 0);
        let model = session.cell("model").map(word).filter(|model| !model.is_empty());
        return known.then_some(Usage { model, tokens, cost_usd: of_session });
    }
    let sum =
        |name: &str| models.iter().filter_map(|row| row.get(name)).map(count).fold(0, i64::saturating_add);
    let known = models.iter().filter_map(|row| cost(&|column: &str| row.get(column)));
    let cost_usd = known.reduce(|a, b| a + b).or(of_session);
    let mut names: Vec<_> = models.iter().filter_map(|row| row.get("model")?.text()).collect();
    names.retain(|name| !name.is_empty());
    names.sort();
    names.dedup();
    let model = if names.len() == 1 { names.pop().map(utf8) } else { None };
    Some(Usage { model, tokens: COUNTERS.map(sum), cost_usd })
}

/// A counter; one that is negative or none counts nothing.
fn count(cell: Raw<'_>) -> i64 {
    cell.integer().unwrap_or(0).max(0)
}

/// What was paid, else what was estimated; 0 is a price only where it is said to be included (real
/// stores declare the columns NOT NULL DEFAULT 0).
fn cost<'a>(column: &dyn Fn(&str) -> Option<Raw<'a>>) -> Option<f64> {
    let above_0 = |name| column(name).and_then(Raw::number).filter(|cost| *cost > 0.0 && cost.is_finite());
    let included = || column("cost_status").filter(|status| status.is("included")).map(|_| 0.0);
    above_0("actual_cost_usd").or_else(|| above_0("estimated_cost_usd")).or_else(included)
}
