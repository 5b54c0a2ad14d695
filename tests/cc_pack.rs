//! Claude Code's files to `.curt`: cc-dump | curt-pack, case by case.

use serde_json::{Value, json};

use super::common::{Cmd, data};

/// What a file becomes, and the counts of it.
fn pack_with(file: &[u8], options: &[&str]) -> (Value, Value) {
    let rows = Cmd::new("cc-dump").arg("-q").stdin(file).run().stdout;
    let run = Cmd::new("curt-pack")
        .args(options)
        .args(["--summary-json", "/dev/stderr"])
        .stdin(rows)
        .run()
        .status(0);
    let body = serde_json::from_slice(&run.stdout).unwrap_or(Value::Null);
    if !body.is_null() {
        Cmd::new("curt-check").stdin(&run.stdout).run().ok();
    }
    (body["conversation"].clone(), serde_json::from_str(&run.stderr).unwrap())
}

fn pack(records: &[Value]) -> (Value, Value) {
    pack_with(&file(records), &[])
}

fn file(records: &[Value]) -> Vec<u8> {
    records.iter().map(|record| format!("{record}\n")).collect::<String>().into_bytes()
}

fn fixture(name: &str) -> (Value, Value) {
    pack_with(&std::fs::read(data(name)).unwrap(), &[])
}

/// `role: content` of each message.
fn said(conversation: &Value) -> Vec<String> {
    let messages = conversation["messages"].as_array().unwrap();
    messages
        .iter()
        .map(|m| format!("{}: {}", m["role"].as_str().unwrap(), m["content"].as_str().unwrap()))
        .collect()
}

fn record(kind: &str, uuid: &str, parent: Option<&str>, second: u32) -> Value {
    json!({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "isSidechain": false,
        "timestamp": format!("2026-01-01T00:00:{second:02}.000Z")})
}

fn user(uuid: &str, parent: Option<&str>, second: u32, content: Value) -> Value {
    let mut record = record("user", uuid, parent, second);
    record["message"] = json!({"role": "user", "content": content});
    record
}

fn assistant(uuid: &str, parent: Option<&str>, second: u32, id: &str, content: Value, tokens: u32) -> Value {
    let mut record = record("assistant", uuid, parent, second);
    record["message"] = json!({"id": id, "type": "message", "role": "assistant", "model": "claude-opus-4-6",
        "content": content, "stop_reason": null, "usage": {"input_tokens": 3, "output_tokens": tokens}});
    record
}

fn with(mut record: Value, key: &str, value: Value) -> Value {
    record[key] = value;
    record
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

fn call(id: &str) -> Value {
    json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}}])
}

fn answer(id: &str, content: Value) -> Value {
    json!([{"type": "tool_result", "tool_use_id": id, "content": content}])
}

#[test]
fn the_records_of_one_message_are_one_message_with_its_largest_usage() {
    // One block a record, usage growing (facts 0.5); one id for parallel calls whose results come between.
    let (talk, counts) = pack(&[
        user("u", None, 1, json!("do two")),
        assistant(
            "a1",
            Some("u"),
            2,
            "m",
            json!([{"type": "thinking", "thinking": "hm", "signature": "sig"}]),
            1,
        ),
        assistant("a2", Some("a1"), 3, "m", text("both"), 9),
        assistant("a3", Some("a2"), 4, "m", call("t1"), 9),
        user("r1", Some("a3"), 5, answer("t1", json!("one"))),
        assistant("a4", Some("a3"), 6, "m", call("t2"), 8),
        user(
            "r2",
            Some("a4"),
            7,
            answer(
                "t2",
                json!([{"type": "text", "text": "two"}, {"type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}]),
            ),
        ),
        assistant("a5", Some("r2"), 8, "n", text("done"), 5),
    ]);
    assert_eq!(
        said(&talk),
        [
            "user: do two",
            "assistant: both",
            "tool: one",
            "tool: two\ndata:image/png;base64,iVBO",
            "assistant: done"
        ]
    );
    let first = &talk["messages"][1];
    assert_eq!(first["thinking"], "hm");
    assert_eq!(
        first["toolCalls"],
        json!([{"id": "t1", "name": "Bash", "arguments": {"command": "ls"}},
        {"id": "t2", "name": "Bash", "arguments": {"command": "ls"}}])
    );
    assert_eq!(first["tokens"], json!({"promptTokens": 3, "completionTokens": 9, "totalTokens": 12}));
    assert_eq!(
        (&first["timestamp"], &talk["messages"][3]["toolName"]),
        (&json!(1767225602000_u64), &json!("Bash"))
    );
    assert_eq!(counts["redactedFields"], json!({"signature": 1}));
    assert_eq!((&counts["unmatchedToolCalls"], &counts["unmatchedToolResults"]), (&json!(0), &json!(0)));
}

#[test]
fn a_gateway_that_gives_every_message_one_id_makes_no_one_message() {
    // ccusage#1635.
    let (talk, _) = pack(&[
        user("u", None, 1, json!("a")),
        assistant("a1", Some("u"), 2, "m", call("t1"), 1),
        user("r1", Some("a1"), 3, answer("t1", json!("one"))),
        assistant("a2", Some("r1"), 4, "m", text("b"), 1),
        user("v", Some("a2"), 5, json!("c")),
        assistant("a3", Some("v"), 6, "m", text("d"), 1),
    ]);
    assert_eq!(
        said(&talk),
        ["user: a", "assistant: ", "tool: one", "assistant: b", "user: c", "assistant: d"]
    );
}

#[test]
fn usage_is_declared_where_it_is_known() {
    let body = |tokens| {
        let rows = Cmd::new("cc-dump")
            .stdin(file(&[assistant("a", None, 1, "m", text("x"), tokens)]))
            .run()
            .ok()
            .stdout;
        Cmd::new("curt-pack")
            .stdin(String::from_utf8(rows).unwrap().replace("\"input_tokens\":3", "\"input_tokens\":0"))
            .run()
            .ok()
            .stdout
    };
    let body = |tokens| String::from_utf8(body(tokens)).unwrap();
    assert!(
        body(7).contains(r#""extensions":["usage-metadata"]"#)
            && body(7).contains(r#""tokens":{"promptTokens":0,"completionTokens":7,"totalTokens":7}"#)
    );
    // Converters write zeros for what they do not know.
    assert!(!body(0).contains("extensions") && !body(0).contains("tokens"));
}

#[test]
fn results_keep_their_error_flag_and_may_be_of_any_shape() {
    let result = |block: Value| {
        with(user("r", Some("a"), 3, json!([])), "message", json!({"role": "user", "content": [block]}))
    };
    let tool = |block: Value| {
        pack(&[assistant("a", None, 2, "m", call("t1"), 1), result(block)]).0["messages"][1].clone()
    };
    let block = |more: Value| {
        let mut block = json!({"type": "tool_result", "tool_use_id": "t1"});
        block.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        block
    };
    assert_eq!(tool(block(json!({})))["content"], "");
    assert_eq!(tool(block(json!({"content": "x"}))).get("isError"), None);
    for flag in [true, false] {
        assert_eq!(tool(block(json!({"content": "x", "is_error": flag})))["isError"], flag);
    }
    assert_eq!(
        tool(block(json!({"content": [{"type": "tool_reference", "tool_name": "X"}]})))["content"],
        r#"{"tool_name":"X","type":"tool_reference"}"#
    );
    // Several results and words in one record.
    let many = user(
        "r",
        Some("a"),
        3,
        json!([{"type": "tool_result", "tool_use_id": "t1", "content": "1"},
        {"type": "tool_result", "tool_use_id": "t9", "content": "2"}, {"type": "text", "text": "and"}, "so"]),
    );
    let (talk, counts) = pack(&[assistant("a", None, 2, "m", call("t1"), 1), many]);
    assert_eq!(said(&talk)[1..], ["tool: 1", "tool: 2", "user: and\nso"]);
    assert_eq!(counts["unmatchedToolResults"], 1);
}

#[test]
fn a_wrapped_argument_is_unwrapped() {
    let input = |input: Value| {
        let call = json!([{"type": "tool_use", "id": "t", "name": "x", "input": input}]);
        pack(&[assistant("a", None, 1, "m", call, 1)]).0["messages"][0]["toolCalls"][0]["arguments"].clone()
    };
    for raw in [json!("{bad"), json!([1, 2]), json!(null), json!(3)] {
        assert_eq!(input(json!({"_raw": raw})), raw);
    }
    for whole in [json!({}), json!({"_raw": 1, "x": 2}), json!({"_raw": {"a": 1}}), json!({"a": {"_raw": 1}})]
    {
        assert_eq!(input(whole.clone()), whole);
    }
}

#[test]
fn the_newest_branch_of_a_rewind_stays_or_all_do() {
    let (talk, counts) = fixture("cc-edge/30-rewind-fork.jsonl");
    assert_eq!(said(&talk), ["user: hello", "assistant: hi", "user: attempt B", "assistant: answer B"]);
    assert_eq!(counts["rewoundRows"], 2);
    for option in ["--branches=all", "--all-rows"] {
        let all = pack_with(&std::fs::read(data("cc-edge/30-rewind-fork.jsonl")).unwrap(), &[option]);
        assert_eq!((said(&all.0).len(), &all.1["rewoundRows"]), (6, &json!(0)));
    }
    let wrong = Cmd::new("curt-pack").arg("--branches=some").run().status(2);
    assert!(wrong.stderr.contains("neither 'newest' nor 'all'"), "{}", wrong.stderr);
}

#[test]
fn queued_prompts_that_are_nowhere_else_are_kept_once() {
    // claude-code#30623, simonw/claude-code-transcripts#98.
    let queue = |operation: &str, content: &str| json!({"type": "queue-operation", "operation": operation, "content": content, "sessionId": "s", "timestamp": "2026-01-01T00:00:09.000Z"});
    let attached = |prompt: &str, mode: &str| {
        let record = record("attachment", prompt, Some("a"), 10);
        with(record, "attachment", json!({"type": "queued_command", "prompt": prompt, "commandMode": mode}))
    };
    let (talk, counts) = pack(&[
        user("u", None, 1, json!("first")),
        assistant("a", Some("u"), 2, "m", text("x"), 1),
        queue("enqueue", "lost"),
        queue("remove", "lost"),
        queue("enqueue", "typed later"),
        queue("dequeue", "typed later"),
        user("v", Some("a"), 3, json!([{"type": "text", "text": "typed later"}])),
        queue("enqueue", "typed later"),
        queue("enqueue", "attached"),
        attached("attached", "prompt"),
        attached("a job is done", "task-notification"),
        queue("enqueue", "<task-notification>x"),
        queue("enqueue", " "),
    ]);
    assert_eq!(
        said(&talk),
        [
            "user: first",
            "assistant: x",
            "user: lost",
            "user: typed later",
            "user: typed later",
            "user: attached"
        ]
    );
    assert_eq!(talk["messages"][2]["claudeCode"], json!({"kind": "queued_prompt"}));
    assert_eq!(talk["messages"][3].get("claudeCode"), None);
    assert_eq!(counts["queuedPrompts"], 3);
    assert_eq!(counts["skippedRecords"], json!({"attachment": 1, "queue-operation": 6}));
}

#[test]
fn titles_in_their_order() {
    let title = |more: &[Value]| {
        let mut records = vec![
            user("u", None, 1, json!("  first\n words ")),
            assistant("a", Some("u"), 2, "m", text("x"), 1),
        ];
        records.extend_from_slice(more);
        pack(&records).0["title"].clone()
    };
    let custom = |title: &str| json!({"type": "custom-title", "customTitle": title});
    let ai = |title: &str| json!({"type": "ai-title", "aiTitle": title});
    let summary = |title: &str, leaf: &str| json!({"type": "summary", "summary": title, "leafUuid": leaf});
    assert_eq!(title(&[]), "first words");
    assert_eq!(title(&[summary("of here", "a"), summary("of another file", "zz")]), "of here");
    assert_eq!(title(&[ai("one"), summary("s", "a"), ai("two"), ai("")]), "two");
    assert_eq!(title(&[custom("mine"), ai("two"), custom("mine 2")]), "mine 2");
    let commands = [
        user("u", None, 1, json!("<command-name>/clear</command-name>")),
        user("v", Some("u"), 2, json!("a question")),
    ];
    assert_eq!(pack(&commands).0["title"], "a question");
    assert_eq!(pack(&commands[..1]).0["title"], "<command-name>/clear</command-name>");
}

#[test]
fn what_nobody_said_is_counted_by_kind() {
    let (talk, counts) = pack(&[
        user("u", None, 1, json!("hello")),
        with(user("m", Some("u"), 2, json!("Caveat: ...")), "isMeta", json!(true)),
        with(user("s", None, 2, json!("for the subagent")), "isSidechain", json!(true)),
        with(record("system", "y", Some("u"), 3), "subtype", json!("turn_duration")),
        record("progress", "p", Some("u"), 3),
        json!({"type": "file-history-snapshot", "messageId": "u", "snapshot": {}}),
        json!({"type": "of-tomorrow"}),
        user("e", Some("u"), 4, json!([{"type": "text", "text": " "}])),
        user("n", Some("u"), 4, json!(null)),
        user("u", None, 1, json!("hello")),
        assistant("a", Some("u"), 5, "m", json!([{"type": "redacted_thinking", "data": "x"}]), 0),
    ]);
    assert_eq!(said(&talk), ["user: hello"]);
    assert_eq!(
        counts["skippedRecords"],
        json!({"meta": 1, "sidechain": 1, "system.turn_duration": 1, "progress": 1, "file-history-snapshot": 1, "of-tomorrow": 1, "user": 1})
    );
    assert_eq!((&counts["emptyDropped"], &counts["foldedRows"]), (&json!(2), &json!(1)));
    assert_eq!(counts["redactedFields"], json!({"data": 1, "snapshot": 1}));
    let (nothing, counts) = pack(&[json!({"type": "file-history-snapshot", "messageId": "u"})]);
    assert!(nothing.is_null() && counts["empty"] == 1);
}

#[test]
fn compaction_is_flagged_and_what_came_before_stays() {
    let (talk, _) = fixture("cc-edge/22-compact-boundary.jsonl");
    let kinds: Vec<_> =
        talk["messages"].as_array().unwrap().iter().map(|m| m["claudeCode"]["kind"].as_str()).collect();
    assert_eq!(
        kinds,
        [None, None, None, None, Some("compact_boundary"), Some("compact_summary"), None, None, None]
    );
    assert!(talk["messages"][4]["claudeCode"]["trigger"].is_string(), "{talk}");
    assert_eq!(talk["title"], "hello");
}

#[test]
fn the_cost_that_the_agent_counted_is_kept() {
    let cost = |usd: f64| {
        json!({"type": "cost-state", "sessionId": "s", "totalCostUSD": usd, "totalLinesAdded": 3,
        "modelUsage": {"claude-opus-4-6": {"inputTokens": 1, "outputTokens": 2, "thinkingTokens": 3,
            "cacheReadInputTokens": 4, "cacheCreationInputTokens": 5, "webSearchRequests": 0, "costUSD": usd}}})
    };
    let (talk, _) = pack(&[user("u", None, 1, json!("x")), cost(0.1), cost(0.25)]);
    assert_eq!(talk["claudeCodeCostUsd"], 0.25);
    assert_eq!(
        talk["claudeCodeModelUsage"],
        json!([{"model": "claude-opus-4-6", "inputTokens": 1, "outputTokens": 2,
        "cacheReadTokens": 4, "cacheWriteTokens": 5, "reasoningTokens": 3, "estimatedCostUsd": 0.25}])
    );
    let mut cached = assistant("a", None, 1, "m", text("x"), 2);
    cached["message"]["usage"]["cache_read_input_tokens"] = json!(100);
    let (talk, _) = pack(&[cached]);
    assert_eq!(
        talk["claudeCodeTokens"],
        json!({"inputTokens": 3, "outputTokens": 2, "cacheReadTokens": 100, "cacheWriteTokens": 0})
    );
    assert_eq!(talk["messages"][0]["tokens"]["cachedTokens"], 100);
}

#[test]
fn a_subagents_transcript_is_a_conversation_of_its_own() {
    // claude-code-history-viewer#433, codex-host#171: through attachments, nothing filtered away.
    let side = |record: Value| with(with(record, "isSidechain", json!(true)), "agentId", json!("77"));
    let (talk, counts) = pack(&[
        side(user("u", None, 1, json!("do it"))),
        side(record("attachment", "h", Some("u"), 2)),
        side(assistant("a", Some("h"), 3, "m", text("done"), 1)),
    ]);
    assert_eq!(said(&talk), ["user: do it", "assistant: done"]);
    assert_eq!(
        (&talk["id"], &talk["claudeCode"]),
        (&json!("s-agent-77"), &json!({"agentId": "77", "parentSessionId": "s"}))
    );
    assert_eq!(counts["skippedRecords"], json!({"attachment": 1}));
}

#[test]
fn models_and_errors_of_the_provider_keep_their_names() {
    let model = |record: Value, model: &str| {
        let mut record = record;
        record["message"]["model"] = json!(model);
        record
    };
    let (talk, _) = pack(&[
        with(
            model(assistant("a", None, 1, "x", text("API Error: 529"), 0), "<synthetic>"),
            "isApiErrorMessage",
            json!(true),
        ),
        model(assistant("b", Some("a"), 2, "y", text("1"), 1), "opus"),
        model(assistant("c", Some("b"), 3, "z", text("2"), 1), "haiku"),
        model(assistant("d", Some("c"), 4, "q", text("3"), 1), "unknown"),
    ]);
    let models: Vec<_> =
        talk["messages"].as_array().unwrap().iter().map(|m| m.get("model").cloned()).collect();
    assert_eq!(
        (&talk["model"], models),
        (
            &json!("opus"),
            vec![Some(json!("<synthetic>")), None, Some(json!("haiku")), Some(json!("unknown"))]
        )
    );
    assert_eq!(talk["messages"][0]["claudeCode"], json!({"kind": "api_error"}));
}

#[test]
fn rows_that_are_none_are_refused() {
    for (row, reason) in [
        (r#"{"runtime":"claude-code","messages":[]}"#, "not a session row: no id"),
        (r#"{"runtime":"claude-code","id":"x"}"#, "not a session row: no messages"),
        (r#"{"runtime":"claude-code","id":7,"messages":[]}"#, "not a session row: no id"),
    ] {
        Cmd::new("curt-pack").stdin(row).run().status(1).stderr(&format!("curt-pack: -:1: {reason}\n"));
    }
    // Whatever stands among the messages.
    let row = r#"{"runtime":"claude-code","id":"x","messages":[null,1,"s",[],{},{"type":7},{"type":"user"},{"type":"user","message":{"content":"hi"}}]}"#;
    let body = Cmd::new("curt-pack").stdin(row).run().ok().stdout;
    assert!(String::from_utf8(body).unwrap().contains(r#""content":"hi","timestamp":0"#));
}
