//! A Hermes session row to a `.curt` conversation.
//!
//! | Hermes | `.curt` |
//! |---|---|
//! | `sessions.id` | `conversation.id` |
//! | `title`, else the first user text on one line, 60 characters | `title` |
//! | `started_at`, `ended_at` (seconds) | `createdAt`, `updatedAt` (milliseconds) |
//! | `model` | `model` |
//! | `source`, `chat_type`, `end_reason` | `hermes` |
//! | the five token counters | `hermesTokens` |
//! | `estimated_cost_usd` | `hermesCostUsd` |
//! | `session_model_usage`, more than one model | `hermesModelUsage` |
//! | role `user`, `assistant`, `tool` | a message each; other roles are skipped and counted |
//! | `reasoning`, `reasoning_content` | `thinking` |
//! | `tool_calls` | `toolCalls` `[{id, name, arguments}]` |
//! | `token_count` | `tokens.totalTokens` |
//! | `finish_reason` | `stopReason` |
//! | `tool_call_id`, `tool_name` | `toolCallId`, `toolName` |
//! | order of `messages.id` | order of `messages`, ids `<session>-<n>` from 1 |

use super::counts::{Count, Counts};
use crate::curt::write::{Body, Extra, Header, Message};
use crate::hermes::calls::{Answers, Calls, Pairing, calls};
use crate::hermes::content::{Manner, content, is_silent, thinking};
use crate::hermes::session::{Cell, Row, Session};
use crate::hermes::visible::{Fate, fates};
use crate::json::raw::{Kind, Raw};
use crate::json::text::{Text, is_blank, one_line};
use crate::json::write::{Layout, Writer, object};
use crate::time::{in_window, to_millis};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

/// What the person asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Keep rewound, hidden and folded rows.
    pub all_rows: bool,
    /// Keep the branches that the person went back from.
    pub all_branches: bool,
    /// Keep every byte of text: no canonical JSON, no wrapper taken off.
    pub verbatim: bool,
}

/// A session whose rows are chosen and whose header is known; its messages are made while they are
/// written, so that memory follows the row and not the conversation.
pub struct Conversation<'s, 'a> {
    session: &'s Session<'a>,
    header: Header<'a>,
    /// By message row, what it becomes; `None` for one that is left out.
    roles: Vec<Option<Role>>,
    options: Options,
    /// What choosing dropped.
    counts: Counts,
}

/// The roles of the table above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
    Tool,
}

impl Role {
    const NAMES: [(Role, &'static str); 3] =
        [(Role::User, "user"), (Role::Assistant, "assistant"), (Role::Tool, "tool")];

    fn of(row: &Row<'_>) -> Option<Role> {
        let role = row.role()?;
        Self::NAMES.into_iter().find(|(_, name)| role.raw().is(name)).map(|(role, _)| role)
    }

    fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(role, _)| *role == self).map_or("", |(_, name)| name)
    }
}

impl<'s, 'a> Conversation<'s, 'a> {
    /// Choose the rows of a session and make its header.
    pub fn of(session: &'s Session<'a>, options: Options) -> Self {
        let mut counts = Counts::default();
        counts.add(Count::Partial, session.is_partial().into());
        session.withheld().for_each(|column| counts.tally(Count::RedactedFields, &column));
        session.malformed().for_each(|column| counts.tally(Count::MalformedCells, &column));
        let (roles, glance) = choose(session, options, &mut counts);
        Conversation { session, header: header(session, glance), roles, options, counts }
    }

    fn content(&self, role: Role, row: &Row<'a>, counts: &mut Counts) -> Text<'a> {
        let Some(cell) = row.content() else { return Text::default() };
        let manner = Manner { tool: role == Role::Tool, verbatim: self.options.verbatim, no_images: false };
        let (text, done) = content(cell, manner);
        counts.add(Count::SentinelContents, done.sentinel.into());
        counts.add(Count::JsonContents, done.json.into());
        counts.add(Count::WrappersStripped, done.wrappers);
        text
    }
}

impl super::output::Conversation for Conversation<'_, '_> {
    fn is_empty(&self) -> bool {
        self.roles.iter().all(Option::is_none)
    }

    fn header(&self) -> &Header<'_> {
        &self.header
    }

    fn counts(&self) -> &Counts {
        &self.counts
    }

    fn write(&self, to: &mut dyn Write, layout: Layout) -> io::Result<Counts> {
        let mut counts = Counts::default();
        let mut pairing = Pairing::default();
        let mut time = self.header.created_at;
        let mut body = Body::begin(to, layout, &self.header)?;
        let session_id = self.header.id.decoded();
        let rows = self.session.messages().zip(&self.roles);
        let rows = rows.filter_map(|(row, role)| Some(((*role)?, row)));
        for ((role, row), number) in rows.zip(1_u64..) {
            time = row.seconds().map_or(time, to_millis);
            let mut message = Message {
                id: Text::Decoded([&*session_id, format!("-{number}").as_bytes()].concat().into()),
                role: role.name(),
                content: self.content(role, &row, &mut counts),
                timestamp: time,
                extras: Vec::new(),
            };
            match role {
                Role::User => counts.add(Count::UnmatchedToolCalls, pairing.turn()),
                Role::Assistant => assistant(&row, &mut message, &mut pairing, &mut counts),
                Role::Tool => tool(&row, &mut message, &mut pairing, &mut counts),
            }
            body.message(&message)?;
            counts.add(Count::Messages, 1);
        }
        counts.add(Count::UnmatchedToolCalls, pairing.turn());
        body.end()?;
        Ok(counts)
    }
}

/// What the header says of the messages.
#[derive(Default)]
struct Glance {
    first_time: Option<f64>,
    /// The last message may have no time of its own: then it has that of the one before.
    last_time: Option<f64>,
    has_tokens: bool,
    /// Only where the session has none.
    title: Option<Vec<u8>>,
}

impl Glance {
    fn at(&mut self, role: Role, row: &Row<'_>, wants_title: bool) {
        self.last_time = row.seconds().or(self.last_time);
        self.first_time = self.first_time.or(self.last_time);
        self.has_tokens |= role == Role::Assistant && row.token_count().is_some();
        if wants_title && self.title.is_none() && role == Role::User {
            self.title = row.content().and_then(title);
        }
    }
}

/// Which rows become messages; the others are counted.
fn choose(session: &Session<'_>, options: Options, counts: &mut Counts) -> (Vec<Option<Role>>, Glance) {
    let fates = if options.all_rows { Vec::new() } else { fates(session.messages()) };
    let fates = fates.into_iter().chain(std::iter::repeat(Fate::Shown));
    let wants_title = stored(session, "title").is_none();
    let mut glance = Glance::default();
    let roles = session.messages().zip(fates).map(|(row, fate)| {
        row.withheld().for_each(|column| counts.tally(Count::RedactedFields, &column));
        row.malformed().for_each(|column| counts.tally(Count::MalformedCells, &column));
        match fate {
            Fate::Folded => counts.add(Count::FoldedRows, 1),
            Fate::Rewound => counts.add(Count::RewoundRows, 1),
            Fate::Hidden => counts.add(Count::HiddenRows, 1),
            Fate::Shown => match Role::of(&row) {
                None => counts.tally(Count::SkippedRoles, &role_name(&row)),
                Some(role) if says_nothing(role, &row) => {
                    counts.add(Count::EmptyDropped, 1);
                    if let (Role::Assistant, Some(cell)) = (role, row.tool_calls()) {
                        malformed_calls(&row, &calls(cell), counts);
                    }
                }
                Some(role) => {
                    glance.at(role, &row, wants_title);
                    return Some(role);
                }
            },
        }
        None
    });
    (roles.collect(), glance)
}

/// A role for a report: one that looks like a role, so that no text gets there.
fn role_name(row: &Row<'_>) -> String {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    match row.role().map(Cell::text) {
        Some(role) if (1..=20).contains(&role.len()) && role.iter().all(plain) => {
            String::from_utf8_lossy(&role).into_owned()
        }
        _ => "other".to_owned(),
    }
}

/// Rulings, "Messages": blank content and neither thinking nor tool calls; a tool row never is.
fn says_nothing(role: Role, row: &Row<'_>) -> bool {
    match role {
        Role::Tool => false,
        Role::User => is_silent(row.content()),
        Role::Assistant => {
            is_silent(row.content())
                && thinking(row.thoughts()).is_none()
                && row.tool_calls().is_none_or(|cell| calls(cell).is_empty())
        }
    }
}

fn assistant<'a>(row: &Row<'a>, message: &mut Message<'a>, pairing: &mut Pairing, counts: &mut Counts) {
    if let Some(thought) = thinking(row.thoughts()) {
        message.extras.push(("thinking", Extra::Text(thought)));
    }
    if let Some(cell) = row.tool_calls() {
        let calls = calls(cell);
        calls.dropped.iter().for_each(|name| counts.tally(Count::RedactedFields, name));
        counts.add(Count::UnparsedArguments, calls.unparsed_arguments);
        malformed_calls(row, &calls, counts);
        if !calls.ids.is_empty() {
            message.extras.push(("toolCalls", Extra::Json(calls.json)));
        }
        pairing.call(calls.ids);
    }
    if let Some(tokens) = row.token_count() {
        message.extras.push(("tokens", Extra::Json(format!(r#"{{"totalTokens":{tokens}}}"#).into_bytes())));
    }
    if let Some(reason) = row.finish_reason() {
        message.extras.push(("stopReason", Extra::Text(reason.token())));
    }
}

/// Count a cell that holds no calls, or more than calls; once, where the store's reader counted it too.
fn malformed_calls(row: &Row<'_>, calls: &Calls, counts: &mut Counts) {
    if calls.malformed && !row.malformed().any(|column| column == "tool_calls") {
        counts.tally(Count::MalformedCells, "tool_calls");
    }
}

fn tool<'a>(row: &Row<'a>, message: &mut Message<'a>, pairing: &mut Pairing, counts: &mut Counts) {
    let id = match pairing.result(row.tool_call_id()) {
        Answers::Call(Some(id)) => Some(Text::Decoded(id.into())),
        Answers::Call(None) => row.tool_call_id().map(Cell::token),
        Answers::Nothing => {
            counts.add(Count::UnmatchedToolResults, 1);
            row.tool_call_id().map(Cell::token)
        }
    };
    message.extras.extend(id.map(|id| ("toolCallId", Extra::Text(id))));
    message.extras.extend(row.tool_name().map(|name| ("toolName", Extra::Text(name.token()))));
}

fn header<'a>(session: &Session<'a>, glance: Glance) -> Header<'a> {
    let seconds = |column| session.cell(column).and_then(|cell| cell.raw().number()).and_then(in_window);
    let created_at = seconds("started_at").or(glance.first_time).map_or(0, to_millis);
    let updated_at = [seconds("ended_at"), glance.last_time].into_iter().flatten().map(to_millis).max();
    let derived = || Text::Decoded(glance.title.unwrap_or_default().into());
    Header {
        id: session.cell("id").map(Cell::token).unwrap_or_default(),
        title: stored(session, "title").unwrap_or_else(derived),
        created_at,
        updated_at: updated_at.map_or(created_at, |updated| updated.max(created_at)),
        model: stored(session, "model"),
        extras: [
            ("hermes", surface(session)),
            ("hermesTokens", tokens(session)),
            ("hermesCostUsd", cost(session)),
            ("hermesModelUsage", model_usage(session)),
        ]
        .into_iter()
        .filter_map(|(name, json)| Some((name, json?)))
        .collect(),
        extensions: if glance.has_tokens { &["usage-metadata"] } else { &[] },
    }
}

/// A text that is not empty.
fn stored<'a>(session: &Session<'a>, column: &str) -> Option<Text<'a>> {
    session.cell(column).filter(|cell| !cell.text().is_empty()).map(Cell::token)
}

/// The title that a user text gives, on one line; `None` where it is nothing but images (rulings, "Title").
fn title(cell: Cell<'_>) -> Option<Vec<u8>> {
    let text = content(cell, Manner { no_images: true, ..Manner::default() }).0;
    Some(one_line(&text.decoded(), 60)).filter(|title| !is_blank(title))
}

fn surface(session: &Session<'_>) -> Option<Vec<u8>> {
    const FIELDS: [(&str, &str); 3] =
        [("source", "source"), ("chatType", "chat_type"), ("endReason", "end_reason")];
    object(FIELDS.into_iter().filter_map(|(name, column)| {
        let mut token = Vec::new();
        session.cell(column)?.token().write(&mut token);
        Some((name, token))
    }))
}

/// The counters of the table, as (name here, column there).
const COUNTERS: [(&str, &str); 5] = [
    ("inputTokens", "input_tokens"),
    ("outputTokens", "output_tokens"),
    ("cacheReadTokens", "cache_read_tokens"),
    ("cacheWriteTokens", "cache_write_tokens"),
    ("reasoningTokens", "reasoning_tokens"),
];

fn tokens(session: &Session<'_>) -> Option<Vec<u8>> {
    let number = |column| session.cell(column).map(Cell::raw).filter(|raw| raw.kind() == Kind::Number);
    let any = COUNTERS.iter().filter_map(|(_, column)| number(column)).any(|n| n.number() != Some(0.0));
    let fields =
        COUNTERS.into_iter().filter_map(|(name, column)| Some((name, number(column)?.bytes().to_vec())));
    object(fields).filter(|_| any)
}

/// Rulings, `hermesCostUsd`: a 0 that stands beside "unknown" or "none" means "not known".
fn cost(session: &Session<'_>) -> Option<Vec<u8>> {
    let cost = session.cell("estimated_cost_usd").map(Cell::raw).filter(|raw| raw.kind() == Kind::Number)?;
    let says = |column, word| session.cell(column).is_some_and(|cell| cell.raw().is(word));
    let unknown =
        cost.number() == Some(0.0) && (says("cost_status", "unknown") || says("cost_source", "none"));
    (!unknown).then(|| cost.bytes().to_vec())
}

/// Usage by model, provider and task summed away, in order of first use; `None` for a single model.
fn model_usage(session: &Session<'_>) -> Option<Vec<u8>> {
    struct Usage<'a> {
        model: Raw<'a>,
        first_seen: f64,
        calls: i128,
        counters: [i128; COUNTERS.len()],
        cost: Option<f64>,
    }
    let mut models: Vec<Usage<'_>> = Vec::new();
    let mut places: HashMap<Option<Cow<'_, [u8]>>, usize> = HashMap::new();
    for row in session.usage() {
        let Some(model) = row.get("model").filter(|model| !model.is_null()) else { continue };
        let first_seen = row.get("first_seen").and_then(Raw::number).unwrap_or(f64::INFINITY);
        let count = |column| row.get(column).and_then(Raw::integer).map_or(0, i128::from);
        let place = *places.entry(model.text()).or_insert(models.len());
        if place == models.len() {
            models.push(Usage { model, first_seen, calls: 0, counters: [0; COUNTERS.len()], cost: None });
        }
        let Some(known) = models.get_mut(place) else { continue };
        known.first_seen = known.first_seen.min(first_seen);
        known.calls += count("api_call_count");
        for (sum, (_, column)) in known.counters.iter_mut().zip(COUNTERS) {
            *sum += count(column);
        }
        if let Some(cost) = row.get("estimated_cost_usd").and_then(Raw::number) {
            *known.cost.get_or_insert(0.0) += cost;
        }
    }
    if models.len() < 2 {
        return None;
    }
    models.sort_by(|a, b| {
        a.first_seen.total_cmp(&b.first_seen).then_with(|| a.model.text().cmp(&b.model.text()))
    });
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, Layout::Line);
    w.open(b'[');
    for usage in models {
        w.open(b'{');
        w.key("model");
        w.raw(usage.model);
        w.key("apiCallCount");
        w.scalar(usage.calls);
        for (sum, (name, _)) in usage.counters.into_iter().zip(COUNTERS) {
            w.key(name);
            w.scalar(sum);
        }
        if let Some(cost) = usage.cost {
            w.key("estimatedCostUsd");
            w.float(cost);
        }
        w.close(b'}');
    }
    w.close(b']');
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::super::output::Conversation as _;
    use super::*;

    /// The body that a row gives, and its counts.
    fn body_with(row: &str, options: Options) -> (String, Counts) {
        let session = Session::read(Raw::parse(row.as_bytes()).unwrap()).unwrap();
        let conversation = Conversation::of(&session, options);
        let mut out = Vec::new();
        let mut counts = conversation.write(&mut out, Layout::Line).unwrap();
        counts.merge(conversation.counts());
        (String::from_utf8(out).unwrap(), counts)
    }

    fn body(row: &str) -> (String, Counts) {
        body_with(row, Options::default())
    }

    /// A field of the conversation, as it stands.
    fn field(body: &str, path: &[&str]) -> Option<String> {
        let mut value = Raw::parse(body.trim_end().as_bytes()).unwrap().get("conversation");
        for name in path {
            value = match name.parse::<usize>() {
                Ok(n) => value?.items().nth(n),
                Err(_) => value?.get(name),
            };
        }
        Some(String::from_utf8(value?.bytes().to_vec()).unwrap())
    }

    fn session(cells: &str, messages: &str) -> String {
        format!(r#"{{"id":"s_1"{cells},"messages":[{messages}]}}"#)
    }

    const HI: &str = r#"{"role":"user","content":"hi","timestamp":100.0}"#;

    #[test]
    fn the_body_stands_in_the_order_of_the_spec() {
        let row = session(
            r#","source":"cli","title":"T","model":"m","started_at":1790000000.375,"ended_at":1790000002.0,"input_tokens":2,"output_tokens":0,"estimated_cost_usd":0.023"#,
            r#"{"role":"user","content":"\ud83d","timestamp":1790000001.0},{"role":"assistant","content":"a","timestamp":1790000003.9996,"token_count":7,"finish_reason":"stop"}"#,
        );
        let expected = concat!(
            r#"{"curt":"curtis-conversation","version":1,"generator":"GEN","extensions":["usage-metadata"],"conversation":"#,
            r#"{"id":"s_1","title":"T","createdAt":1790000000375,"updatedAt":1790000004000,"model":"m","#,
            r#""hermes":{"source":"cli"},"hermesTokens":{"inputTokens":2,"outputTokens":0},"hermesCostUsd":0.023,"#,
            r#""messages":[{"id":"s_1-1","role":"user","content":"\ud83d","timestamp":1790000001000},"#,
            r#"{"id":"s_1-2","role":"assistant","content":"a","timestamp":1790000004000,"tokens":{"totalTokens":7},"stopReason":"stop"}]}}"#,
            "\n"
        );
        assert_eq!(body(&row).0, expected.replace("GEN", crate::GENERATOR));
    }

    #[test]
    fn a_title_is_stored_or_the_first_user_text() {
        let title =
            |cells: &str, messages: &str| field(&body(&session(cells, messages)).0, &["title"]).unwrap();
        assert_eq!(title(r#","title":"  kept\n""#, HI), r#""  kept\n""#);
        assert_eq!(title(r#","title":"""#, HI), r#""hi""#);
        let image =
            r#"{"role":"user","content":"\u0000json:[{\"type\":\"input_image\",\"image_url\":\"data:x\"}]"}"#;
        assert_eq!(title("", &format!("{image},{HI}")), r#""hi""#, "images alone give way");
        let long = format!(r#"{{"role":"user","content":" {}\n  b"}}"#, "🦀".repeat(59));
        assert_eq!(title("", &long), format!("\"{}\"", "🦀".repeat(59)), "a cut leaves no space");
        assert_eq!(title("", r#"{"role":"assistant","content":"a"}"#), r#""""#);
        let hidden = r#"{"role":"user","content":"hidden","display_kind":"hidden"}"#;
        assert_eq!(title("", &format!("{hidden},{HI}")), r#""hi""#, "of what is emitted");
    }

    #[test]
    fn times_outside_the_window_are_missing() {
        let times = |cells: &str, messages: &str| {
            let body = body(&session(cells, messages)).0;
            let of = |path: &[&str]| field(&body, path).unwrap();
            (of(&["createdAt"]), of(&["updatedAt"]), of(&["messages", "0", "timestamp"]))
        };
        let t = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        for wrong in ["-1.5", "1790002300000.0", "1e999", r#""2026-09-21""#] {
            assert_eq!(
                times(&format!(r#","started_at":{wrong}"#), HI),
                t("100000", "100000", "100000"),
                "{wrong}"
            );
        }
        let undated = r#"{"role":"user","content":"hi","timestamp":1e999}"#;
        assert_eq!(times(r#","started_at":7.0"#, undated), t("7000", "7000", "7000"));
        assert_eq!(times("", undated), t("0", "0", "0"));
        assert_eq!(times(r#","started_at":0.0,"ended_at":50.0"#, HI), t("0", "100000", "100000"));
        assert_eq!(times(r#","started_at":900.0,"ended_at":50.0"#, HI), t("900000", "900000", "100000"));
    }

    #[test]
    fn a_message_without_time_has_that_of_the_one_before() {
        let rows = format!(r#"{HI},{{"role":"user","content":"later"}}"#);
        let (body, _) = body(&session(r#","started_at":1.0"#, &rows));
        assert_eq!(field(&body, &["messages", "1", "timestamp"]).unwrap(), "100000");
        assert_eq!(field(&body, &["updatedAt"]).unwrap(), "100000");
    }

    #[test]
    fn what_says_nothing_is_dropped_but_a_tool_row_never() {
        let rows = concat!(
            r#"{"role":"user","content":" \n"},{"role":"user"},{"role":"assistant","content":""},"#,
            r#"{"role":"user","content":"\u0000json:[]"},"#,
            r#"{"role":"assistant","tool_calls":[]},{"role":"tool"},{"role":"assistant","reasoning":"r"},"#,
            r#"{"role":"assistant","tool_calls":[{"name":"n"}]},{"role":"system","content":"s"},{"role":"USER"},{"role":"role of mine, long text"},{}"#
        );
        let (body, counts) = body(&session("", rows));
        let roles: Vec<_> =
            (0..4).map_while(|n| field(&body, &["messages", &n.to_string(), "role"])).collect();
        assert_eq!(roles, [r#""tool""#, r#""assistant""#, r#""assistant""#]);
        assert_eq!(counts.sum(Count::EmptyDropped), 5);
        let told = counts.line(&[Count::SkippedRoles]);
        assert_eq!(told, "skippedRoles (USER 1, other 2, system 1)", "a role that is text is not told");
    }

    #[test]
    fn results_pair_across_hidden_rows_and_never_across_a_user() {
        let call = r#"{"role":"assistant","tool_calls":[{"id":"a","call_id":"b|x"}]}"#;
        let result = r#"{"role":"tool","content":"r","tool_call_id":"b"}"#;
        let hidden = r#"{"role":"user","content":"h","display_kind":"hidden"}"#;
        let (paired, counts) = body(&session("", &format!("{call},{hidden},{result}")));
        assert_eq!(field(&paired, &["messages", "1", "toolCallId"]).unwrap(), r#""a""#);
        assert_eq!(counts.sum(Count::UnmatchedToolCalls) + counts.sum(Count::UnmatchedToolResults), 0);
        let (parted, counts) = body(&session("", &format!("{call},{HI},{result}")));
        assert_eq!(field(&parted, &["messages", "2", "toolCallId"]).unwrap(), r#""b""#, "what is stored");
        assert_eq!((counts.sum(Count::UnmatchedToolCalls), counts.sum(Count::UnmatchedToolResults)), (1, 1));
    }

    #[test]
    fn a_zero_that_means_unknown_is_no_cost() {
        let cost = |cells: &str| field(&body(&session(cells, HI)).0, &["hermesCostUsd"]);
        assert_eq!(cost(r#","estimated_cost_usd":0.0"#).unwrap(), "0.0");
        assert_eq!(cost(r#","estimated_cost_usd":0.0,"cost_status":"unknown""#), None);
        assert_eq!(cost(r#","estimated_cost_usd":0,"cost_source":"none""#), None);
        assert_eq!(cost(r#","estimated_cost_usd":0.1,"cost_status":"unknown""#).unwrap(), "0.1");
        assert_eq!(cost(r#","estimated_cost_usd":"dear""#), None);
    }

    #[test]
    fn usage_is_told_by_model_in_order_of_first_use() {
        let usage = |rows: &str| {
            field(&body(&session(&format!(r#","usage":[{rows}]"#), HI)).0, &["hermesModelUsage"])
        };
        let a =
            r#"{"model":"a","api_call_count":1,"input_tokens":10,"estimated_cost_usd":0.1,"first_seen":5.0}"#;
        let again = r#"{"model":"a","api_call_count":2,"input_tokens":1,"output_tokens":3,"estimated_cost_usd":0.2,"first_seen":9.0,"task":"vision"}"#;
        let b = r#"{"model":"b","api_call_count":1,"first_seen":4.0}"#;
        assert_eq!(usage(&format!("{a},{again}")), None, "one model");
        let expected = concat!(
            r#"[{"model":"b","apiCallCount":1,"inputTokens":0,"outputTokens":0,"cacheReadTokens":0,"cacheWriteTokens":0,"reasoningTokens":0},"#,
            r#"{"model":"a","apiCallCount":3,"inputTokens":11,"outputTokens":3,"cacheReadTokens":0,"cacheWriteTokens":0,"reasoningTokens":0,"estimatedCostUsd":0.30000000000000004}]"#
        );
        assert_eq!(usage(&format!("{a},{again},{b}")).unwrap(), expected);
    }

    #[test]
    fn many_models_are_told_apart_in_time() {
        // Quadratic, this takes minutes.
        let rows: Vec<String> =
            (0..20_000).map(|n| format!(r#"{{"model":"m{n}","first_seen":{n}}}"#)).collect();
        let (body, _) = body(&session(&format!(r#","usage":[{}]"#, rows.join(",")), HI));
        assert_eq!(body.matches("apiCallCount").count(), 20_000);
    }

    #[test]
    fn all_rows_keeps_every_row() {
        let rows = r#"{"role":"user","content":"x","active":0,"compacted":0},{"role":"user","content":"y","display_kind":"hidden"}"#;
        let (_, counts) = body_with(&session("", rows), Options { all_rows: true, ..Options::default() });
        assert_eq!(counts.sum(Count::Messages), 2);
        let session = session("", rows);
        let session = Session::read(Raw::parse(session.as_bytes()).unwrap()).unwrap();
        let default = Conversation::of(&session, Options::default());
        assert!(default.is_empty());
        assert_eq!(
            (default.counts().sum(Count::RewoundRows), default.counts().sum(Count::HiddenRows)),
            (1, 1)
        );
    }

    #[test]
    fn tokens_are_declared_only_where_they_are() {
        for (count, declared) in
            [("7", true), ("0", true), ("-1", false), ("12.75", false), (r#""many""#, false)]
        {
            let row = session("", &format!(r#"{{"role":"assistant","content":"a","token_count":{count}}}"#));
            assert_eq!(body(&row).0.contains(r#""extensions":["usage-metadata"]"#), declared, "{count}");
        }
        let (of_a_user, _) = body(&session("", r#"{"role":"user","content":"a","token_count":7}"#));
        assert!(!of_a_user.contains("tokens"));
    }
}
