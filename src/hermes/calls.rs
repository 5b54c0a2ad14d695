//! Tool calls of every shape that real stores hold, and which result answers which call
//! (rulings, "Tool calls" and "Pairing calls and results").

use super::session::Cell;
use crate::json::canon::has_duplicate_keys;
use crate::json::raw::{Kind, Raw};
use crate::json::text::is_blank;
use crate::json::write::{Layout, Writer};
use std::borrow::Cow;
use std::collections::HashMap;

/// The calls of one assistant row.
#[derive(Debug, Default)]
pub struct Calls {
    /// `[{"id","name","arguments"}…]` on one line; keys that the store lacks are left out.
    pub json: Vec<u8>,
    /// The ids of each, in order.
    pub ids: Vec<CallId>,
    /// Members of the store's own plumbing that were left out, by name.
    pub dropped: Vec<&'static str>,
    /// Arguments that stay the string they are, because a parsed value would not say the same.
    pub unparsed_arguments: u64,
    /// Whether the cell, or an item of it, was not what it should be.
    pub malformed: bool,
    /// Whether the cell was no JSON at all, so that nobody can say which calls were in it.
    unreadable: bool,
}

/// What one call is known by.
#[derive(Debug, Default)]
pub struct CallId {
    /// The id its entry carries: the stored `id`, else `call_id`.
    pub emitted: Option<Vec<u8>>,
    /// Every id a result may name it by: both, each also cut at `|` (composite Responses ids).
    names: Vec<Vec<u8>>,
}

impl CallId {
    /// What a call is known by; it answers to `number`, not to its id.
    pub fn numbered(item: Raw<'_>, number: usize) -> CallId {
        CallId { emitted: Some(number.to_string().into_bytes()), ..CallId::of(item) }
    }

    fn of(item: Raw<'_>) -> CallId {
        let named = |name| item.get(name).filter(|id| !id.is_null()).map(plain).filter(|id| !id.is_empty());
        let (id, call_id) = (named("id"), named("call_id"));
        let emitted = id.as_ref().or(call_id.as_ref()).map(|id| id.to_vec());
        let names = [id, call_id].into_iter().flatten();
        let names = names.flat_map(|id| [before_bar(&id).to_vec(), id.into_owned()]);
        CallId { emitted, names: names.filter(|name| !name.is_empty()).collect() }
    }
}

/// Read a `tool_calls` cell as it stands in a session row.
pub fn calls(cell: Raw<'_>) -> Calls {
    let mut calls = Calls::default();
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, Layout::Line);
    writer.open(b'[');
    let shape = visit(cell, &mut |item| calls.add(item, &mut writer));
    writer.close(b']');
    calls.malformed |= matches!(shape, Shape::Malformed | Shape::Unreadable);
    calls.unreadable = shape == Shape::Unreadable;
    calls.json = out;
    calls
}

/// What a `tool_calls` cell was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Calls, or none.
    Calls,
    /// Something else, or more than calls.
    Malformed,
    /// No JSON at all.
    Unreadable,
}

/// Go through the calls of a cell, each an object as the store has it.
pub fn visit(cell: Raw<'_>, each: &mut dyn FnMut(Raw<'_>)) -> Shape {
    // Releases up to 0.19 encode a list twice when it came to them as a string.
    let decoded = cell.text();
    let value = match &decoded {
        None => Ok(cell),
        Some(text) if is_blank(text) => return Shape::Calls,
        Some(text) => Raw::parse_python(text),
    };
    let inner = value.ok().and_then(Raw::text);
    let value = match &inner {
        None => value,
        Some(text) => Raw::parse_python(text),
    };
    match value {
        Ok(list) if list.kind() == Kind::Array => {
            let is_call = |item: &Raw<'_>| item.kind() == Kind::Object;
            list.items().filter(is_call).for_each(each);
            if list.items().all(|item| is_call(&item)) { Shape::Calls } else { Shape::Malformed }
        }
        Ok(one) if one.kind() == Kind::Object && !is_bytes(one) => {
            each(one);
            Shape::Calls
        }
        Ok(value) if value.is_null() => Shape::Calls,
        Ok(value) if is_bytes(value) => Shape::Unreadable,
        Ok(_) => Shape::Malformed,
        Err(_) => Shape::Unreadable,
    }
}

impl Calls {
    /// Whether the row called nothing. Of a cell that is no JSON nobody knows: its row stays (rulings,
    /// "Tool calls").
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty() && !self.unreadable
    }

    fn add(&mut self, item: Raw<'_>, out: &mut Writer<'_>) {
        let function = item.get("function").filter(|f| f.kind() == Kind::Object);
        let of_function = |name: &str| function.and_then(|f| f.get(name)).or_else(|| item.get(name));
        let known = CallId::of(item);

        out.open(b'{');
        if let Some(id) = &known.emitted {
            out.key("id");
            out.string(id);
        }
        if let Some(name) = of_function("name").filter(|name| !name.is_null()) {
            out.key("name");
            out.string(&plain(name));
        }
        if let Some(arguments) = of_function("arguments") {
            out.key("arguments");
            self.arguments(arguments, out);
        }
        out.close(b'}');

        self.ids.push(known);
        self.drop_plumbing(item, &["id", "name", "arguments", "function"]);
        if let Some(function) = function {
            self.drop_plumbing(function, &["name", "arguments"]);
        }
    }

    /// The parsed value when it says what the string says, else the string.
    fn arguments(&mut self, arguments: Raw<'_>, out: &mut Writer<'_>) {
        let text = plain(arguments);
        if arguments.is_null() || is_blank(&text) {
            out.open(b'{');
            return out.close(b'}');
        }
        match Raw::parse(&text) {
            Ok(value) if !has_duplicate_keys(value) => out.raw(value),
            _ => {
                self.unparsed_arguments += 1;
                out.string(&text);
            }
        }
    }

    fn drop_plumbing(&mut self, object: Raw<'_>, kept: &[&str]) {
        for (key, _) in object.members().filter(|(key, _)| !kept.iter().any(|name| key.is(name))) {
            // Only names we know are named: any other key is somebody's text.
            const KNOWN: [&str; 5] =
                ["call_id", "response_item_id", "type", "extra_content", "thought_signature"];
            self.dropped.push(KNOWN.into_iter().find(|name| key.is(name)).unwrap_or("tool_calls.other"));
        }
    }
}

/// Whether this is the marked form of bytes that are no UTF-8 (session-row(5)).
fn is_bytes(value: Raw<'_>) -> bool {
    value.get("base64").is_some() && value.members().count() == 1
}

/// A string decoded; anything else as it is written.
fn plain(value: Raw<'_>) -> Cow<'_, [u8]> {
    value.text().unwrap_or(Cow::Borrowed(value.bytes()))
}

fn before_bar(id: &[u8]) -> &[u8] {
    id.split(|b| *b == b'|').next().unwrap_or_default()
}

/// The calls of a session that wait for their result, as the rows go by.
#[derive(Debug, Default)]
pub struct Pairing {
    calls: Vec<Option<CallId>>,
    /// Places in `calls` by every name, latest last; answered ones are passed over.
    by_name: HashMap<Vec<u8>, Vec<usize>>,
    unanswered: u64,
}

/// The answer to "which call is this the result of".
#[derive(Debug, PartialEq, Eq)]
pub enum Answers {
    /// A call that carries this id in the `.curt`.
    Call(Option<Vec<u8>>),
    /// None that is known.
    Nothing,
}

impl Pairing {
    /// An assistant row makes these calls. Their results come in the same order, so the first one of
    /// an id is the nearest.
    pub fn call(&mut self, ids: Vec<CallId>) {
        for call in ids.into_iter().rev() {
            let place = self.calls.len();
            for name in &call.names {
                self.by_name.entry(name.clone()).or_default().push(place);
            }
            self.calls.push(Some(call));
            self.unanswered += 1;
        }
    }

    /// A tool row brings the result of the nearest earlier unanswered call of that id.
    pub fn result(&mut self, id: Option<Cell<'_>>) -> Answers {
        let Some(id) = id.map(Cell::text) else { return Answers::Nothing };
        let (calls, by_name) = (&self.calls, &mut self.by_name);
        let mut latest = |name: &[u8]| {
            let places = by_name.get_mut(name)?;
            while let Some(place) = places.last().copied() {
                if calls.get(place).is_some_and(Option::is_some) {
                    return Some(place);
                }
                places.pop();
            }
            None
        };
        let place = latest(&id).max(latest(before_bar(&id)));
        match place.and_then(|place| self.calls.get_mut(place)).and_then(Option::take) {
            Some(call) => {
                self.unanswered -= 1;
                Answers::Call(call.emitted)
            }
            None => Answers::Nothing,
        }
    }

    /// A user row: no result comes across it. Returns how many calls are left without one.
    pub fn turn(&mut self) -> u64 {
        std::mem::take(self).unanswered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cell: &str) -> (String, Calls) {
        let calls = calls(Raw::parse(cell.as_bytes()).unwrap());
        (String::from_utf8(calls.json.clone()).unwrap(), calls)
    }

    #[test]
    fn plumbing_is_dropped_and_named() {
        let (json, calls) = of(
            r#"[{"id":"a","call_id":"a","response_item_id":"fc","type":"function","function":{"name":"t","arguments":"{\"x\": 1.0}","thought_signature":"s"},"extra_content":{},"mine":1}]"#,
        );
        assert_eq!(json, r#"[{"id":"a","name":"t","arguments":{"x":1.0}}]"#);
        let expected =
            ["call_id", "response_item_id", "type", "extra_content", "tool_calls.other", "thought_signature"];
        assert_eq!(calls.dropped, expected);
    }

    #[test]
    fn every_shape_of_arguments() {
        let arguments = |text: &str| of(&format!(r#"[{{"function":{{"arguments":{text}}}}}]"#));
        for (given, expected, unparsed) in [
            (r#""""#, "{}", 0),
            (r#"" ""#, "{}", 0),
            ("null", "{}", 0),
            (r#"{"a": [1]}"#, r#"{"a":[1]}"#, 0),
            (r#""[1, 2]""#, "[1,2]", 0),
            (r#""\"just a string\"""#, r#""just a string""#, 0),
            (
                r#""{\"a\": 123456789012345678901234567890, \"c\": 1e400}""#,
                r#"{"a":123456789012345678901234567890,"c":1e400}"#,
                0,
            ),
            (r#""{\"command\": \"ls""#, r#""{\"command\": \"ls""#, 1),
            (r#""{\"k\": 1, \"k\": 2}""#, r#""{\"k\": 1, \"k\": 2}""#, 1),
            (r#""{\"x\": NaN}""#, r#""{\"x\": NaN}""#, 1),
            (r#""{\"t\": \"lone \\ud83d\"}""#, r#"{"t":"lone \ud83d"}"#, 0),
        ] {
            let (json, calls) = arguments(given);
            assert_eq!(json, format!(r#"[{{"arguments":{expected}}}]"#), "{given}");
            assert_eq!(calls.unparsed_arguments, unparsed, "{given}");
        }
        assert_eq!(of(r#"[{"name":"n"}]"#).0, r#"[{"name":"n"}]"#, "what the store lacks is left out");
    }

    #[test]
    fn every_shape_of_the_cell() {
        let one = r#"[{"id":"d","name":"n","arguments":{}}]"#;
        for cell in [
            r#"{"id":"d","function":{"name":"n","arguments":"{}"}}"#,
            r#""[{\"id\":\"d\",\"name\":\"n\",\"arguments\":{}}]""#,
            r#""\"[{\\\"id\\\":\\\"d\\\",\\\"name\\\":\\\"n\\\",\\\"arguments\\\":{}}]\"""#,
            r#"[{"id":"","call_id":"d","function":{"name":"n","arguments":""}}]"#,
        ] {
            let (json, calls) = of(cell);
            assert_eq!((json.as_str(), calls.malformed), (one, false), "{cell}");
        }
        for cell in [r#""""#, "[]", "null", r#""null""#] {
            let (_, calls) = of(cell);
            assert!(calls.ids.is_empty() && !calls.malformed, "{cell}");
        }
        for cell in [r#""[{\"id\": ""#, r#"["text",null,7]"#, "7", r#"{"base64":"/w=="}"#] {
            let (json, calls) = of(cell);
            assert_eq!((json.as_str(), calls.malformed), ("[]", true), "{cell}");
        }
        let nan = r#""[{\"id\": \"x\", \"function\": {\"name\": \"m\", \"arguments\": {\"x\": NaN}}}]""#;
        assert_eq!(of(nan).0, r#"[{"id":"x","name":"m","arguments":"{\"x\": NaN}"}]"#);
    }

    fn pairing(calls: &str) -> Pairing {
        let mut pairing = Pairing::default();
        pairing.call(of(calls).1.ids);
        pairing
    }

    fn answers(pairing: &mut Pairing, id: &str) -> Answers {
        let row = format!(r#"{{"id":"s","messages":[{{"tool_call_id":"{id}"}}]}}"#);
        let session = super::super::session::Session::read(Raw::parse(row.as_bytes()).unwrap()).unwrap();
        let cell = session.messages().next().and_then(|row| row.tool_call_id());
        pairing.result(cell)
    }

    #[test]
    fn ids_pair_whole_or_cut_at_the_bar() {
        for (call, result) in [
            (r#"{"id":"call_x|fc_1"}"#, "call_x"),
            (r#"{"id":"call_x"}"#, "call_x|fc_9"),
            (r#"{"id":"a","call_id":"call_x"}"#, "call_x"),
            (r#"{"call_id":"call_x|fc"}"#, "call_x"),
        ] {
            let mut pairs = pairing(&format!("[{call}]"));
            assert!(matches!(answers(&mut pairs, result), Answers::Call(Some(_))), "{call} {result}");
            assert_eq!(pairs.turn(), 0);
        }
        let mut pairs = pairing(r#"[{"id":"a","call_id":"b"}]"#);
        assert_eq!(answers(&mut pairs, "b"), Answers::Call(Some(b"a".to_vec())), "the emitted id");
        assert_eq!(answers(&mut pairs, "b"), Answers::Nothing, "answered once");
    }

    #[test]
    fn a_reused_id_pairs_with_the_nearest_unanswered_call() {
        let mut pairs = pairing(r#"[{"id":"call_0","name":"first"}]"#);
        pairs.call(of(r#"[{"id":"call_0","name":"second"}]"#).1.ids);
        assert_eq!(answers(&mut pairs, "call_0"), Answers::Call(Some(b"call_0".to_vec())));
        assert_eq!(pairs.calls.iter().position(Option::is_none), Some(1));
        assert_eq!(pairs.turn(), 1);
        assert_eq!(answers(&mut pairs, "call_0"), Answers::Nothing, "never across a user row");
    }
}
