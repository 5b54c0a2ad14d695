//! curt2cc: what its options change, each judged by cc-chain-check or by the format's own rules.

use super::common::{Cmd, Dir, Output2, sh};

/// A conversation with an answered call, one that nothing answers, a result without a call, and a picture.
const TALK: &str = concat!(
    r#"{"curt":"curtis-conversation","version":1,"conversation":{"id":"talk_1","title":"A \"title\"","createdAt":1759968000000,"#,
    r#""updatedAt":1759968000000,"messages":["#,
    r#"{"id":"1","role":"user","content":"look\ndata:image/png;base64,iVBORw0KGgo=","timestamp":1759968000000},"#,
    r#"{"id":"2","role":"assistant","content":"","timestamp":1759968001000,"toolCalls":["#,
    r#"{"id":"t1","name":"ls","arguments":{}},{"id":"t2","name":"rm","arguments":"all"},{"name":"cp","arguments":{}}]},"#,
    r#"{"id":"3","role":"tool","content":"file","timestamp":1759968002000,"toolCallId":"t1"},"#,
    r#"{"id":"4","role":"tool","content":"lost","timestamp":1759968003000,"toolCallId":"t9"},"#,
    r#"{"id":"5","role":"user","content":"bye","timestamp":1759968004000}]}}"#
);

fn emit(args: &[&str], stdin: &str) -> Output2 {
    Cmd::new("curt2cc").args(args).stdin(stdin).run()
}

/// What jq says of each line of a run.
#[track_caller]
fn jq(dir: &Dir, args: &str, filter: &str) -> String {
    dir.write("talk.curt", TALK);
    sh(dir, &format!("curt2cc {args} talk.curt | tee out | jq -c '{filter}'; cc-chain-check --strict out"))
        .ok()
        .stdout_str()
        .to_owned()
}

#[test]
fn the_directory_and_the_version_stand_on_every_line() {
    let dir = Dir::new("curt2cc-envelope");
    assert_eq!(
        jq(&dir, "", "[.cwd, .version] | unique"),
        format!("[\"\",\"{}\"]\n", env!("CARGO_PKG_VERSION")).repeat(5)
    );
    let said = jq(&dir, "--cwd '/home/me/a \"b\"' --cc-version 2.1.144", "[.cwd, .version]");
    assert_eq!(said, "[\"/home/me/a \\\"b\\\"\",\"2.1.144\"]\n".repeat(5));
    // A path is bytes; what is no text cannot be in JSON.
    let said = jq(&dir, "--cwd $'/a\\xffb'", ".cwd");
    assert_eq!(said, "\"/a\u{fffd}b\"\n".repeat(5));
    for bad in ["2.1", "v2.1.0", "2.1.0-rc", "2..1", "", "2.1.0.0"] {
        let run = emit(&["--cc-version", bad], TALK).status(2).stdout("");
        assert!(run.stderr.contains("--cc-version"), "{run:?}");
    }
}

#[test]
fn session_uuids_are_made_of_the_id_and_kept_where_it_is_one() {
    let dir = Dir::new("curt2cc-session");
    assert_eq!(jq(&dir, "", ".sessionId"), "\"talk_1\"\n".repeat(5));
    let said = jq(&dir, "--session-uuid", ".sessionId");
    let first = said.lines().next().unwrap().trim_matches('"').to_owned();
    let uuid: uuid::Uuid = first.parse().unwrap();
    assert_eq!((uuid.get_version_num(), said.lines().count()), (5, 5));
    assert_eq!(jq(&dir, "--session-uuid", ".sessionId"), said, "a second run");
    // The uuids of the lines are those of the conversation, whatever the session is called.
    assert_eq!(jq(&dir, "--session-uuid", ".uuid"), jq(&dir, "", ".uuid"));
    let own = "0f8fad5b-d9cb-469f-a165-70867728950e";
    let run = emit(&["--session-uuid"], &TALK.replace("talk_1", own)).ok();
    assert!(
        run.stdout_str().lines().all(|line| line.contains(&format!("\"sessionId\":\"{own}\""))),
        "{run:?}"
    );
}

#[test]
fn a_title_is_a_last_line() {
    let dir = Dir::new("curt2cc-title");
    let last = |said: String| said.lines().last().unwrap().to_owned();
    let leaf = last(jq(&dir, "", ".uuid"));
    assert_eq!(
        last(jq(&dir, "--title summary", ".")),
        format!(r#"{{"type":"summary","summary":"A \"title\"","leafUuid":{leaf}}}"#)
    );
    let custom = r#"{"type":"custom-title","customTitle":"A \"title\"","sessionId":"talk_1"}"#;
    assert_eq!(last(jq(&dir, "--title custom", ".")), custom);
    assert_eq!(last(jq(&dir, "--title none", ".uuid")), leaf);
    // Without a title there is no line, and many conversations are a stream that passes.
    assert_eq!(
        emit(&["--title", "summary"], &TALK.replace(r#"A \"title\""#, "")).ok().stdout_str().lines().count(),
        5
    );
    dir.write("b.curt", TALK.replace("talk_1", "talk_2"));
    sh(&dir, "curt2cc --title summary talk.curt b.curt | cc-chain-check --strict -q -").ok();
    sh(&dir, "curt2cc --title custom talk.curt b.curt | cc-chain-check --strict -q -").ok();
    assert!(emit(&["--title", "other"], TALK).status(2).stderr.contains("none, summary or custom"));
}

#[test]
fn the_layout_of_claude_is_a_folder_a_directory_and_a_file_a_uuid() {
    let dir = Dir::new("curt2cc-layout");
    let id = jq(&dir, "--session-uuid", ".sessionId").lines().next().unwrap().trim_matches('"').to_owned();
    let run = sh(&dir, "curt2cc --layout claude --cwd /home/me/src -o home --print talk.curt").ok();
    let path = format!("home/projects/-home-me-src/{id}.jsonl");
    assert_eq!(run.stdout_str(), format!("{path}\n"));
    sh(&dir, &format!("cc-chain-check --strict {path} && jq -r .cwd {path} | sort -u"))
        .ok()
        .stdout("/home/me/src\n");
    sh(&dir, "stat -c %a home home/projects home/projects/*").ok().stdout("700\n700\n700\n");
    // Another run leaves it; another title does not make a second.
    sh(&dir, "curt2cc --layout claude --cwd /home/me/src -o home --print talk.curt").ok().stdout("");
    sh(&dir, "curt2cc --layout claude --cwd /home/me/src --title custom -o home --print talk.curt")
        .ok()
        .stdout(format!("{path}\n"));
    sh(&dir, "ls home/projects/-home-me-src | wc -l").ok().stdout("1\n");
    // Without a directory.
    sh(&dir, "curt2cc --layout claude -o none talk.curt && ls none/projects").ok().stdout("-\n");
    assert!(
        emit(&["--layout", "claude"], TALK).status(2).stderr.contains("--layout claude goes with --output")
    );
    assert!(emit(&["--layout", "x", "-o", "d"], TALK).status(2).stderr.contains("plain or claude"));
}

#[test]
fn repair_answers_calls_and_frees_results() {
    let dir = Dir::new("curt2cc-repair");
    let shape = r#"[.type, (.message.content | if type == "array" then map([.type, .id // .tool_use_id, .is_error]) else . end)]"#;
    let plain = jq(&dir, "--summary-json counts.json", shape);
    let minted = plain.split("toolu_").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let (image, call) = (r#"["user",[["text",null,null],["image",null,null]]]"#, format!("toolu_{minted}"));
    let calls = format!(
        r#"["assistant",[["tool_use","t1",null],["tool_use","t2",null],["tool_use","{call}",null]]]"#
    );
    let result = |id: &str, error: &str| format!(r#"["user",[["tool_result","{id}",{error}]]]"#);
    let lines = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let (t1, t9, bye) = (result("t1", "null"), result("t9", "null"), r#"["user","bye"]"#);
    assert_eq!(plain, lines(&[image, &calls, &t1, &t9, bye]));
    let repaired = jq(&dir, "--repair --summary-json repaired.json", shape);
    let aborted = [result("t2", "true"), result(&call, "true")];
    assert_eq!(repaired, lines(&[image, &calls, &aborted[0], &aborted[1], &t1, r#"["user","lost"]"#, bye]));
    // Nothing is left to warn of, and the other lines keep their uuids.
    let said = sh(&dir, "cc-chain-check --strict -v out").ok();
    assert!(!said.stdout_str().contains("warning"), "{said:?}");
    let keep = sh(
        &dir,
        "curt2cc --repair talk.curt | jq -r .uuid | sort >a; curt2cc talk.curt | jq -r .uuid | sort | comm -13 a -",
    );
    keep.ok().stdout("");
    let counts = |file: &str| {
        sh(&dir, &format!("jq -c '[.answeredCalls, .loosenedResults, .unmatchedToolCalls, .unmatchedToolResults, .messages]' {file}")).ok().stdout_str().to_owned()
    };
    assert_eq!(counts("counts.json"), "[0,0,2,1,5]\n");
    assert_eq!(counts("repaired.json"), "[2,1,2,1,5]\n");
    assert_eq!(emit(&["--repair"], TALK).ok().stdout, emit(&["--repair"], TALK).ok().stdout);
}

#[test]
fn both_spellings_are_read_and_null_is_neither() {
    let one = |fields: &str| {
        let head = TALK.split_once("\"messages\"").unwrap().0;
        let body = format!(
            r#"{head}"messages":[{{"id":"1","role":"assistant","content":"x","timestamp":1,"toolCalls":[{{"id":"t","name":"n","arguments":{{}}}}]}},{{"id":"2","timestamp":2,"content":"",{fields}}}]}}}}"#
        );
        let run = emit(&["-q"], &body).ok();
        run.stdout_str().lines().last().unwrap().to_owned()
    };
    let call = r#"[{"id":"c","name":"n","arguments":{}}]"#;
    for fields in [
        format!(r#""role":"assistant","toolCalls":{call}"#),
        format!(r#""role":"assistant","tool_calls":{call}"#),
        format!(r#""role":"assistant","toolCalls":{call},"tool_calls":null"#),
        format!(r#""role":"assistant","tool_calls":null,"toolCalls":{call}"#),
        format!(r#""role":"assistant","toolCalls":null,"tool_calls":{call}"#),
        format!(r#""role":"assistant","tool_calls":[],"toolCalls":{call}"#),
        format!(r#""role":"assistant","toolCalls":{call},"tool_calls":[]"#),
    ] {
        assert!(one(&fields).contains(r#""type":"tool_use","id":"c""#), "{fields}");
    }
    for fields in [
        r#""role":"tool","toolCallId":"t","isError":true"#,
        r#""role":"tool","tool_call_id":"t","tool_error":true"#,
        r#""role":"tool","toolCallId":null,"tool_call_id":"t","isError":null,"tool_error":true"#,
        r#""role":"tool","tool_call_id":null,"toolCallId":"t","tool_error":null,"isError":true"#,
    ] {
        let line = one(fields);
        assert!(
            line.contains(r#""tool_use_id":"t""#) && line.contains(r#""is_error":true"#),
            "{fields}: {line}"
        );
    }
}
