//! cc-dump: Claude Code's files to rows.

use std::fs;
use std::path::PathBuf;

use curt_tools::json::raw::{Kind, Raw};

use super::common::{Cmd, Dir, data, sh};
use super::manual::row_lists;

/// Every session file there is to test with.
pub fn fixtures() -> Vec<PathBuf> {
    let mut files: Vec<_> = ["cc", "cc-edge"]
        .into_iter()
        .flat_map(|folder| fs::read_dir(data(folder)).unwrap().map(|entry| entry.unwrap().path()))
        .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
        .collect();
    files.sort();
    assert!(files.len() > 50, "{files:?}");
    files
}

fn rows(file: impl AsRef<[u8]>) -> String {
    String::from_utf8(Cmd::new("cc-dump").stdin(file).run().ok().stdout).unwrap()
}

/// What the page says becomes of a record.
fn carried(record: Raw<'_>, page: &[String]) -> String {
    let listed = |key: &Raw<'_>| page.iter().any(|name| key.is(name) && name != "withheld");
    let queued = |value: Raw<'_>| value.get("type").is_some_and(|kind| kind.is("queued_command"));
    let mut members = Vec::new();
    let mut withheld = Vec::new();
    for (key, value) in record.members() {
        let text = |raw: Raw<'_>| String::from_utf8(raw.bytes().to_vec()).unwrap();
        if listed(&key) && (!key.is("attachment") || queued(value)) {
            members.push(format!("{}:{}", text(key), text(value)));
        } else if !value.is_null() {
            withheld.push(text(key));
        }
    }
    withheld.sort();
    if !withheld.is_empty() {
        members.push(format!("\"withheld\":[{}]", withheld.join(",")));
    }
    format!("{{{}}}", members.join(","))
}

#[test]
fn a_row_is_the_records_of_its_file_in_their_order() {
    let lists = row_lists();
    let [head, record] = &lists[2..4] else { panic!("no lists for Claude Code") };
    let mut compared = 0;
    for file in fixtures() {
        let output = Cmd::new("cc-dump").arg("-q").arg(&file).run();
        let text = fs::read(&file).unwrap();
        if text.is_empty() {
            output.ok().stdout("");
            continue;
        }
        let row = Raw::parse(&output.stdout).unwrap();
        let mut rest = head.iter();
        for (key, _) in row.members() {
            assert!(rest.any(|name| key.is(name)), "{key:?} is not in its place, or not in the page");
        }
        if row
            .get("malformed")
            .is_some_and(|names| names.items().any(|n| n.is("not_utf8") || n.is("byte_order_mark")))
        {
            continue;
        }
        let good = text.split(|byte| *byte == b'\n').filter_map(|line| Raw::parse(line).ok());
        let good = good.filter(|record| record.kind() == Kind::Object);
        let expected: Vec<_> = good.map(|good| carried(good, record)).collect();
        let got =
            row.get("messages").unwrap().items().map(|raw| String::from_utf8_lossy(raw.bytes()).into_owned());
        assert_eq!(got.collect::<Vec<_>>(), expected, "{}", file.display());
        compared += expected.len();
    }
    assert!(compared > 650, "{compared}");
}

#[test]
fn damaged_lines_are_named_and_the_rest_goes_on() {
    let dir = Dir::new("cc-dump");
    let good = r#"{"type":"user","uuid":"u1","sessionId":"s"}"#;
    let lines: [&[u8]; 9] = [
        b"\xEF\xBB\xBF{\"type\":\"mode\"}",
        good.as_bytes(),
        b"{\"type\":\"a\"}{\"type\":\"b\"}",
        b"",
        b"null",
        b"{\"type\":\"C:\\p\"}",
        b"{\"type\":\"\xff\"}",
        b"{\"type\":\"cut",
        good.as_bytes(),
    ];
    dir.write("a.jsonl", lines.join(&b'\n'));
    let bad = "cc-dump: a.jsonl:5: not a JSON object
cc-dump: a.jsonl:6: not JSON at byte 12 (line 1, column 13): expected one of \\\"/bfnrtu, found 'p'
cc-dump: a.jsonl:8: not JSON at byte 12 (line 1, column 13): expected the rest of a string, found the end
";
    let run = Cmd::new("cc-dump").arg("a.jsonl").dir(&dir).run().status(1).stderr(bad);
    let row = r#"{"runtime":"claude-code","id":"s","lost_lines":3,"malformed":["byte_order_mark","joined","not_json","not_object","not_utf8"],"messages":[{"type":"mode"},GOOD,{"type":"a"},{"type":"b"},{"type":"�"},GOOD]}"#;
    let row = row.replace("GOOD", good) + "\n";
    run.stdout(&row);
    Cmd::new("cc-dump").args(["-q", "a.jsonl"]).dir(&dir).run().status(1).stderr("").stdout(&row);
    let told = Cmd::new("cc-dump").args(["-v", "a.jsonl"]).dir(&dir).run().status(1);
    for words in
        [":1: begins with a byte order mark\n", ":3: several objects on one line\n", ":7: not UTF-8\n"]
    {
        assert!(told.stderr.contains(words), "{}", told.stderr);
    }
    let short = Cmd::new("cc-dump").args(["--max-bytes=42", "a.jsonl"]).dir(&dir).run().status(1);
    assert!(short.stderr.contains("a.jsonl:2: line longer than 42 bytes\n"), "{}", short.stderr);
    assert!(short.stdout_str().contains("\"lost_lines\":5,") && short.stdout_str().contains("\"too_long\""));
}

#[test]
fn a_session_is_known_by_its_last_id_then_by_its_file() {
    // langfuse#33: a fork begins with copies that keep the id of the session they were copied from.
    let forked = Cmd::new("cc-dump").arg(data("cc-edge/45-fork-copied-session.jsonl")).run().ok();
    assert!(forked.stdout_str().contains(r#""id":"11111111-2222-4333-8444-000000000045""#));
    let dir = Dir::new("cc-dump");
    dir.write("by-name.jsonl", r#"{"type":"summary","summary":"x","sessionId":null}"#);
    let named = Cmd::new("cc-dump").arg("by-name.jsonl").dir(&dir).run().ok();
    named.stdout("{\"runtime\":\"claude-code\",\"id\":\"by-name\",\"messages\":[{\"type\":\"summary\",\"summary\":\"x\",\"sessionId\":null}]}\n");
    // claude_codex_bridge#281: slug is on every line and no mark of a subagent.
    let slug = rows(r#"{"type":"user","uuid":"u","sessionId":"s","slug":"a-b-c","isSidechain":false}"#);
    assert!(slug.contains(r#""id":"s""#) && !slug.contains("a-b-c") && !slug.contains("sidechain\":true"));
}

#[test]
fn a_key_that_is_no_name_is_not_named() {
    let row = rows(r#"{"my secret":1,"sk-live-ABC é":2,"withheld":["x"],"cwd":null,"":0,"type":"x"}"#);
    assert!(
        row.ends_with("\"messages\":[{\"type\":\"x\",\"withheld\":[\"other\",\"withheld\"]}]}\n"),
        "{row}"
    );
}

/// A folder with a session, one of its subagents in either place, and what is no transcript.
fn projects(dir: &Dir) {
    let main = |id: &str, time: &str| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"u\",\"isSidechain\":false,\"sessionId\":\"{id}\",\"timestamp\":\"{time}\"}}\n"
        )
    };
    let agent = |id: &str, agent: &str| {
        format!(
            "{{\"type\":\"agent-setting\"}}\n{{\"type\":\"user\",\"uuid\":\"u\",\"isSidechain\":true,\"sessionId\":\"{id}\",\"agentId\":\"{agent}\"}}\n"
        )
    };
    dir.write("p/b/s2.jsonl", main("s2", "2026-02-02T00:00:00.000Z"));
    dir.write("p/a/s1.jsonl", main("s1", "2026-01-01T00:00:00.000Z"));
    dir.write("p/a/s1/subagents/agent-77.jsonl", agent("s1", "77"));
    dir.write("p/a/s1/subagents/workflows/wf_1/agent-78.jsonl", agent("s1", "78"));
    dir.write("p/a/s1/subagents/workflows/wf_1/journal.jsonl", "{\"type\":\"launched\"}\n");
    dir.write("p/a/s1/subagents/agent-77.meta.json", "{}");
    dir.write("p/a/s1/tool-results/x.jsonl", "{}\n");
    dir.write("p/a/agent-79.jsonl", agent("s1", "79"));
    // agent-of-empires#3773: a subagent's transcript beside the session's, under any name.
    dir.write("p/a/sibling.jsonl", agent("s1", "80"));
    dir.write("p/a/empty.jsonl", "");
    dir.write("history.jsonl", "{\"display\":\"x\",\"sessionId\":\"s1\"}\n");
}

#[test]
fn a_folder_is_its_sessions_and_its_subagents_on_request() {
    let dir = Dir::new("cc-dump");
    projects(&dir);
    let ids = |args: &str| {
        let output = sh(&dir, &format!("cc-dump {args} | jq -r .id")).ok();
        output.stdout_str().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(ids("p"), ["s1", "s2"]);
    assert_eq!(ids("."), ["s1", "s2"], "what the person typed is no session");
    assert_eq!(
        ids("--subagents p"),
        ["s1-agent-79", "s1", "s1-agent-77", "s1-agent-78", "s1-agent-80", "s2"]
    );
    assert_eq!(ids("p/a/sibling.jsonl p/b"), ["s1-agent-80", "s2"], "a file that is named is wanted");
    assert_eq!(ids("--session s2 p"), ["s2"]);
    assert_eq!(ids("--since 2026-01-15 p"), ["s2"]);
    assert_eq!(ids("--since 2026-02-02T00:00:00Z p"), ["s2"]);
    assert_eq!(ids("--since 2026-02-02T00:00:01Z p"), [""; 0]);
    let missing = Cmd::new("cc-dump").args(["--session=s1", "--session=nope", "p"]).dir(&dir).run();
    missing.status(1).stderr("cc-dump: nope: no such session\n");
    let row = Cmd::new("cc-dump").arg("p/a/agent-79.jsonl").dir(&dir).run().ok();
    let head = r#"{"runtime":"claude-code","id":"s1-agent-79","agent_id":"79","parent_session_id":"s1","sidechain":true,"#;
    assert!(row.stdout_str().starts_with(head), "{}", row.stdout_str());
}

#[test]
fn a_session_larger_than_memory_allows_comes_out_whole() {
    let dir = Dir::new("cc-dump");
    let line = |n: usize| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"{n}\",\"sessionId\":\"s\",\"content\":\"{}\"}}",
            "x".repeat(1 << 20)
        )
    };
    let lines: Vec<_> = (0..42).map(line).collect();
    dir.write("big.jsonl", lines.join("\n"));
    dir.write("small.jsonl", "{\"type\":\"mode\",\"sessionId\":\"t\"}");
    let row = |id: &str, records: &str| {
        format!("{{\"runtime\":\"claude-code\",\"id\":\"{id}\",\"messages\":[{records}]}}\n")
    };
    let (big, small) = (row("s", &lines.join(",")), row("t", "{\"type\":\"mode\",\"sessionId\":\"t\"}"));
    let run = Cmd::new("cc-dump").args(["big.jsonl", "small.jsonl"]).dir(&dir).run().ok();
    assert!(run.stdout_str() == [&*big, &*small].concat());
    let nowhere =
        Cmd::new("cc-dump").args(["big.jsonl", "small.jsonl"]).env("TMPDIR", "/nonexistent").dir(&dir).run();
    let nowhere = nowhere.status(2).stdout(small);
    assert!(nowhere.stderr.starts_with("cc-dump: big.jsonl: "), "{}", nowhere.stderr);
}
