//! `.curt` to Claude Code and back, and a Claude Code session to `.curt` and on: what survives, and that
//! nothing but what curt2cc(1) lists does not.

use std::collections::HashMap;
use std::fs;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

use super::cc_dump::fixtures;
use super::common::{Dir, sh};

// ---------------------------------------------------------------- conversations

fn text() -> impl Strategy<Value = String> {
    const FIXED: &[&str] = &[
        "",
        " \n",
        "a",
        "two\nlines",
        "tab\t\"quoted\" \\ \u{0} \u{2028} 😀",
        "<command-name>/x</command-name>",
        "[1, 2]",
        "data:image/png;base64,iVBO",
        "[Request interrupted by user]",
    ];
    prop_oneof![4 => proptest::sample::select(FIXED).prop_map(str::to_owned), 1 => ".{0,20}"]
}

fn maybe<T: Clone + std::fmt::Debug + 'static>(
    value: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<Option<T>> {
    proptest::option::of(value).boxed()
}

fn arguments() -> impl Strategy<Value = Value> {
    proptest::sample::select(vec![
        json!({}),
        json!({"a": [1, {"b": null}], "c": "\u{e9}"}),
        json!("{bad"),
        json!(null),
        json!([1, 2]),
        json!({"_raw": "x"}),
        json!({"_raw": {"x": 1}}),
        json!({"_raw": 1, "b": 2}),
        json!(12.5),
    ])
}

fn tokens() -> impl Strategy<Value = Value> {
    proptest::sample::select(vec![
        json!({"totalTokens": 7}),
        json!({"promptTokens": 3, "completionTokens": 4, "totalTokens": 7}),
        json!({"promptTokens": 0, "completionTokens": 0}),
        json!({"promptTokens": 5}),
        json!({"completionTokens": 6, "cachedTokens": 2}),
        json!({}),
    ])
}

fn call() -> impl Strategy<Value = Value> {
    (maybe("[a-d]"), maybe(proptest::sample::select(vec!["Bash", "Read", ""])), maybe(arguments())).prop_map(
        |(id, name, arguments)| {
            object([("id", id.map(Value::from)), ("name", name.map(Value::from)), ("arguments", arguments)])
        },
    )
}

fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect::<Map<_, _>>()
        .into()
}

fn message() -> impl Strategy<Value = Value> {
    let assistant = (maybe(text()), maybe(vec(call(), 0..3)), maybe(tokens()), maybe(text()), model());
    let tool = (maybe("[a-d]"), maybe(any::<bool>()));
    let role = proptest::sample::select(vec!["user", "assistant", "tool", "system"]);
    (role, text(), 0..4_000_000_000_000_u64, assistant, tool).prop_map(
        |(role, content, time, assistant, tool)| {
            let mut message = json!({"role": role, "content": content, "timestamp": time});
            let (thinking, calls, tokens, stop, model) = assistant;
            let extras = match role {
                "assistant" => object([
                    ("model", model),
                    ("thinking", thinking.map(Value::from)),
                    ("toolCalls", calls.map(Value::from)),
                    ("tokens", tokens),
                    ("stopReason", stop.map(Value::from)),
                ]),
                "tool" => {
                    object([("toolCallId", tool.0.map(Value::from)), ("isError", tool.1.map(Value::from))])
                }
                _ => json!({}),
            };
            message.as_object_mut().unwrap().extend(extras.as_object().unwrap().clone());
            message
        },
    )
}

fn model() -> BoxedStrategy<Option<Value>> {
    maybe(proptest::sample::select(vec!["opus", "haiku", "unknown", ""]).prop_map(Value::from))
}

fn conversation() -> impl Strategy<Value = Value> {
    (model(), vec(message(), 1..12)).prop_map(|(model, messages)| {
        let mut talk = json!({"title": "t", "createdAt": 1, "updatedAt": 2, "messages": messages});
        if let Some(model) = model {
            talk["model"] = model;
        }
        talk
    })
}

/// The body of the nth conversation, its messages with ids.
fn body(nth: usize, mut talk: Value) -> Value {
    talk["id"] = json!(format!("talk_{nth:04}"));
    for (n, message) in talk["messages"].as_array_mut().unwrap().iter_mut().enumerate() {
        message["id"] = json!(format!("m{n}"));
    }
    json!({"curt": "curtis-conversation", "version": 1, "conversation": talk})
}

// ---------------------------------------------------------------- what survives, from the list in curt2cc(1)

fn named(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

fn blank(message: &Value) -> bool {
    message["content"]
        .as_str()
        .unwrap()
        .chars()
        .all(|c| (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}')
}

fn says_nothing(message: &Value) -> bool {
    match message["role"].as_str().unwrap() {
        "tool" => false,
        "assistant" => {
            blank(message)
                && named(&message["thinking"]).is_none()
                && message["toolCalls"].as_array().is_none_or(Vec::is_empty)
        }
        _ => blank(message),
    }
}

/// Which call a result goes to, by the place of the call among all.
#[derive(Default)]
struct Calls {
    made: usize,
    /// By stored id, calls without a result; the next one last.
    waiting: HashMap<String, Vec<usize>>,
}

impl Calls {
    /// The calls of a message as they come back: an id that is missing or was used before is a new one.
    fn of(&mut self, message: &Value) -> Vec<Value> {
        let list = message["toolCalls"].as_array().cloned().unwrap_or_default();
        let back = list.iter().map(|call| {
            let id = named(&call["id"]).filter(|id| !self.waiting.contains_key(*id));
            if let Some(id) = named(&call["id"]) {
                self.waiting.entry(id.to_owned()).or_default();
            }
            json!({"id": id, "name": named(&call["name"]).unwrap_or("unknown"), "arguments": arguments_back(call)})
        });
        let back = back.collect();
        for (place, call) in list.iter().enumerate().rev() {
            if let Some(id) = named(&call["id"]) {
                self.waiting.get_mut(id).unwrap().push(self.made + place);
            }
        }
        self.made += list.len();
        back
    }

    fn answered(&mut self, result: &Value) -> Value {
        let id = named(&result["toolCallId"]);
        let call = id.and_then(|id| self.waiting.get_mut(id)).and_then(Vec::pop);
        call.map_or_else(|| json!(id), |call| json!(call))
    }
}

fn arguments_back(call: &Value) -> Value {
    let arguments = call.get("arguments").cloned().unwrap_or(json!({}));
    match arguments.as_object().filter(|object| object.len() == 1).and_then(|object| object.get("_raw")) {
        Some(raw) if !raw.is_object() => raw.clone(),
        _ => arguments,
    }
}

/// What a message must come back as.
fn survives(message: &Value, usual: Option<&str>, calls: &mut Calls) -> Value {
    let mut back =
        json!({"role": message["role"], "content": message["content"], "timestamp": message["timestamp"]});
    match message["role"].as_str().unwrap() {
        "assistant" => {
            back["model"] = json!(named(&message["model"]).or(usual).filter(|model| *model != "unknown"));
            back["thinking"] = json!(named(&message["thinking"]));
            back["stopReason"] = json!(named(&message["stopReason"]));
            let tokens = &message["tokens"];
            let input = tokens["promptTokens"].as_u64().unwrap_or(0);
            let output = tokens["completionTokens"].as_u64().or(tokens["totalTokens"].as_u64()).unwrap_or(0);
            if input + output > 0 {
                let sum = input + output;
                back["tokens"] =
                    json!({"promptTokens": input, "completionTokens": output, "totalTokens": sum});
            }
            back["toolCalls"] = json!(calls.of(message));
        }
        "tool" => {
            back["isError"] = message["isError"].clone();
            back["answers"] = calls.answered(message);
        }
        _ => {}
    }
    back
}

/// The messages that came back, in the same terms. Ids that were made stand as null.
fn came_back(talk: &Value, original: &Value) -> Vec<Value> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let stored = original.to_string();
    let minted = |id: &str| !stored.contains(&json!(id).to_string());
    let messages = talk["messages"].as_array().unwrap().iter();
    let back = messages.map(|message| {
        let mut back = json!({"role": message["role"], "content": message["content"], "timestamp": message["timestamp"]});
        match message["role"].as_str().unwrap() {
            "assistant" => {
                let model = named(&message["model"]).or(named(&talk["model"]));
                back["model"] = json!(model.filter(|model| *model != "unknown"));
                back["thinking"] = message["thinking"].clone();
                back["stopReason"] = message["stopReason"].clone();
                if let Some(tokens) = message.get("tokens") {
                    back["tokens"] = tokens.clone();
                }
                let calls = message["toolCalls"].as_array().map(Vec::as_slice).unwrap_or_default();
                back["toolCalls"] = calls.iter().map(|call| {
                    let id = call["id"].as_str().unwrap();
                    assert!(places.insert(id, places.len()).is_none(), "{id} twice");
                    json!({"id": Some(id).filter(|id| !minted(id)), "name": call["name"], "arguments": call["arguments"]})
                }).collect();
            }
            "tool" => {
                back["isError"] = message["isError"].clone();
                let id = message["toolCallId"].as_str().unwrap();
                assert_eq!(places.contains_key(id), message.get("toolName").is_some());
                back["answers"] = places.get(id).map_or_else(|| json!(Some(id).filter(|id| !minted(id))), |place| json!(place));
            }
            _ => {}
        }
        back
    });
    back.collect()
}

#[test]
fn what_goes_to_claude_code_and_back_is_what_the_page_says() {
    const TALKS: usize = 400;
    let mut runner = TestRunner::deterministic();
    let mut talks = vec![];
    for nth in 0..TALKS {
        talks.push(body(nth, conversation().new_tree(&mut runner).unwrap().current()));
    }
    let dir = Dir::new("round-trip");
    dir.write("talks", talks.iter().map(|talk| format!("{talk}\n")).collect::<String>());
    sh(&dir, "set -e; curt2cc -o cc - <talks; cc-dump cc | curt-pack >back.ndjson; curt-check back.ndjson")
        .ok();
    let back = String::from_utf8(dir.read("back.ndjson")).unwrap();
    let back: Vec<Value> = back.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let back: HashMap<_, _> = back
        .iter()
        .map(|body| (body["conversation"]["id"].as_str().unwrap(), &body["conversation"]))
        .collect();
    let mut compared = 0;
    for talk in &talks {
        let talk = &talk["conversation"];
        let messages: Vec<_> =
            talk["messages"].as_array().unwrap().iter().filter(|message| !says_nothing(message)).collect();
        let Some(got) = back.get(talk["id"].as_str().unwrap()) else {
            assert!(messages.is_empty(), "{talk}");
            continue;
        };
        let mut calls = Calls::default();
        let expected: Vec<_> =
            messages.iter().map(|message| survives(message, named(&talk["model"]), &mut calls)).collect();
        assert_eq!(came_back(got, talk), expected, "{talk}");
        compared += expected.len();
    }
    assert!(compared > TALKS, "{compared}");
}

#[test]
fn real_sessions_go_through_and_keep_every_rule() {
    let dir = Dir::new("round-trip");
    let mut conversations = 0;
    for file in fixtures() {
        let session = fs::read(&file).unwrap();
        dir.write("session.jsonl", session);
        let script = "cc-dump -q session.jsonl | curt-pack >there; test -s there || exit 0
            set -e; curt-check there; curt2cc <there >again.jsonl; cc-chain-check --strict again.jsonl
            cc-dump again.jsonl | curt-pack >back; curt-check back; echo yes";
        let done = sh(&dir, script);
        let done = done.status(0).stderr("");
        if done.stdout_str() != "yes\n" {
            continue;
        }
        conversations += 1;
        let talk =
            |name: &str| serde_json::from_slice::<Value>(&dir.read(name)).unwrap()["conversation"].clone();
        let (there, back) = (talk("there"), talk("back"));
        let mut calls = Calls::default();
        let messages = there["messages"].as_array().unwrap().iter().filter(|message| !says_nothing(message));
        let expected: Vec<_> =
            messages.map(|message| survives(message, named(&there["model"]), &mut calls)).collect();
        assert_eq!(came_back(&back, &there), expected, "{}", file.display());
        // And once more there is nothing left to lose.
        sh(&dir, "set -e; curt2cc <back | cc-dump | curt-pack >once-more; cmp back once-more").ok();
    }
    assert!(conversations > 45, "{conversations}");
}

#[test]
fn half_a_surrogate_pair_survives_wherever_text_is() {
    let body = r#"{"curt":"curtis-conversation","version":1,"conversation":{"id":"half_1","title":"t","createdAt":1,"updatedAt":2,"messages":[{"id":"a","role":"user","content":"\ud83d u","timestamp":1},{"id":"b","role":"assistant","content":"a \ude00","timestamp":1,"thinking":"\ud800","toolCalls":[{"id":"c","name":"n","arguments":{"\udfff":"\udbff","n":1.0e400}}]},{"id":"d","role":"tool","content":"\ud83d","timestamp":1,"toolCallId":"c"}]}}"#;
    let dir = Dir::new("round-trip");
    dir.write("talk", body);
    let back = sh(&dir, "curt2cc talk | cc-dump | curt-pack").ok();
    for token in [
        r#""\ud83d u""#,
        r#""a \ude00""#,
        r#""thinking":"\ud800""#,
        r#"{"\udfff":"\udbff","n":1.0e400}"#,
        r#""content":"\ud83d""#,
    ] {
        assert!(back.stdout_str().contains(token), "{token}: {}", back.stdout_str());
    }
}
