//! What trips readers of Claude Code's transcripts, one trap a test: each is judged by `cc-chain-check`, and no
//! message that any reader finds is missing from what `cc-dump` and `curt-pack` make of it.
//!
//! Traps are those that were tried on other readers, and those of public bug reports, named beside the test.

use crate::common::{Dir, data, sh};
use std::fs;

/// One session of four messages: hello, hi, more, bye.
fn base() -> Vec<String> {
    vec![
        one("user", "1", "null", r#""hello""#),
        one("assistant", "2", "1", r#"[{"type":"text","text":"hi"}]"#),
        one("user", "3", "2", r#""more""#),
        one("assistant", "4", "3", r#"[{"type":"text","text":"bye"}]"#),
    ]
}

fn uuid(n: &str) -> String {
    format!("\"0000000{n}-0000-4000-8000-000000000000\"")
}

fn one(kind: &str, own: &str, parent: &str, content: &str) -> String {
    let parent = if parent == "null" { parent.to_owned() } else { uuid(parent) };
    let id = match kind {
        "assistant" => format!(r#""id":"msg_{own}","type":"message","model":"m","#),
        _ => String::new(),
    };
    format!(
        r#"{{"parentUuid":{parent},"isSidechain":false,"userType":"external","cwd":"/","sessionId":"s","version":"2.1.0","gitBranch":"","type":"{kind}","message":{{{id}"role":"{kind}","content":{content}}},"uuid":{},"timestamp":"2026-01-01T00:00:0{own}.000Z"}}"#,
        uuid(own)
    )
}

/// Holds a file to what the check says of it (without `file:`, `; ` between) and to the texts of its messages.
fn trap(name: &str, file: impl AsRef<[u8]>, verdict: &str, texts: &[&str]) {
    let dir = Dir::new(&format!("trap-{name}"));
    dir.write("t", file.as_ref());
    let said = sh(&dir, "cc-chain-check -v t | sed -n 's/^t://; /^ *ok/!p'");
    assert_eq!(said.stdout_str().trim_end().replace('\n', "; ").trim_start(), verdict, "{name}");
    let found = sh(&dir, "cc-dump t 2>/dev/null | curt-pack -q | jq -c '[.conversation.messages[].content]'");
    let expected: String = texts.iter().map(|text| format!("\"{text}\"")).collect::<Vec<_>>().join(",");
    assert_eq!(found.stdout_str().trim_end(), format!("[{expected}]"), "{name}");
}

const ALL: &[&str] = &["hello", "hi", "more", "bye"];

fn fixture(name: &str) -> Vec<u8> {
    fs::read(data("cc-edge").join(format!("{name}.jsonl"))).unwrap()
}

fn text(lines: &[String]) -> String {
    lines.join("\n") + "\n"
}

/// The base with one line replaced by what `change` makes of it.
fn with(at: usize, change: impl Fn(&str) -> String) -> String {
    let mut lines = base();
    lines[at] = change(&lines[at]);
    text(&lines)
}

#[test]
fn a_byte_order_mark_costs_no_line() {
    trap("bom", fixture("02-bom"), "1: warning: begins with a byte order mark", ALL);
}

#[test]
fn crlf_blank_lines_and_no_final_newline_are_line_ends() {
    trap("crlf", fixture("03-crlf"), "", ALL);
    trap("no-newline", fixture("04-no-trailing-newline"), "", ALL);
    trap("blank", base().join("\n\n \n"), "", ALL);
}

#[test]
fn a_truncated_last_line_costs_itself_alone() {
    trap(
        "truncated",
        fixture("05-truncated-last-line"),
        "4: warning: last line is not JSON to its end",
        &["hello", "hi", "more"],
    );
}

// anthropics/claude-code#50347, delexw/claude-code-trace#66
#[test]
fn a_truncated_line_in_the_middle_hides_no_later_one() {
    let cut = with(1, |line| line[..60].to_owned());
    let verdict = "2: not JSON at byte 61; 3: warning: parentUuid names no line";
    trap("middle", cut, verdict, &["hello", "more", "bye"]);
}

// codemie-ai/codemie-code#67
#[test]
fn two_objects_on_a_line_are_two() {
    let [a, b, c, d] = base().try_into().unwrap();
    let joined = format!("{a}\n{b}{c}\n{d}\n");
    trap("joined", joined, "2: warning: several objects on one line", ALL);
}

#[test]
fn lines_that_are_no_objects_are_passed_over() {
    let [a, b, c, d] = base().try_into().unwrap();
    let file = format!("{a}\nnull\n{b}\n42\n{c}\n[1,{{}}]\n\"x\"\n{d}\n");
    let verdict = [2, 4, 6, 7].map(|line| format!("{line}: warning: not a JSON object")).join("; ");
    trap("scalars", file, &verdict, ALL);
}

// siteboon/claudecodeui#1002, Arize-ai/coding-harness-tracing#148
#[test]
fn line_separators_in_strings_end_no_line() {
    let raw = with(2, |line| line.replace("more", "mo\u{2028}\u{2029}\u{85}re"));
    trap("u2028", raw, "", &["hello", "hi", "mo\u{2028}\u{2029}\u{85}re", "bye"]);
}

// anthropics/claude-code#68325, #61301, #56064, #69927
#[test]
fn half_a_surrogate_pair_costs_no_message() {
    let dir = Dir::new("trap-surrogate");
    dir.write("t", with(2, |line| line.replace("more", r"mo\ud83dre\udc00")));
    sh(&dir, "cc-chain-check -v t").ok().stdout("t: ok: 4 records, 1 root, 0 forks, 0 orphans\n");
    // jq would mend it.
    sh(&dir, r"cc-dump t | curt-pack -q | grep -c 'mo\\ud83dre\\udc00'").ok().stdout("1\n");
}

#[test]
fn bytes_that_are_no_utf8_cost_no_message() {
    let bytes = fixture("11-invalid-utf8-bytes");
    trap("utf8", bytes, "1: warning: not UTF-8", &["bad \u{fffd}\u{fffd} byte", "ok"]);
}

// vladar107/claudescope#7
#[test]
fn an_invalid_escape_or_a_raw_control_costs_its_line_alone() {
    for (name, change) in [("escape", r"C:\p"), ("control", "a\u{1}b")] {
        let file = with(1, |line| line.replace("hi", change));
        let dir = Dir::new(&format!("trap-{name}-said"));
        dir.write("t", &file);
        let said = sh(&dir, "cc-chain-check -v t").status(1);
        let lines: Vec<&str> = said.stdout_str().lines().collect();
        assert!(matches!(lines[..], [bad, orphan]
            if bad.starts_with("t:2: not JSON at byte ") && orphan == "t:3: warning: parentUuid names no line"));
        let verdict = said.stdout_str().replace("t:", "").trim_end().replace('\n', "; ");
        trap(name, file, &verdict, &["hello", "more", "bye"]);
    }
}

#[test]
fn a_nul_escape_is_text() {
    let dir = Dir::new("trap-nul");
    dir.write("t", with(2, |line| line.replace("more", r"mo\u0000re")));
    sh(&dir, "cc-chain-check -W t").ok().stdout("");
    sh(&dir, r"cc-dump t | curt-pack -q | grep -c 'mo\\u0000re'").ok().stdout("1\n");
}

// anthropics/claude-code#22526, #46603, #58554
#[test]
fn a_parent_that_was_never_written_hides_nothing() {
    let orphan = with(2, |line| line.replace("00000002-", "00000009-"));
    trap("orphan", orphan, "3: warning: parentUuid names no line", ALL);
}

#[test]
fn a_cycle_is_an_error_and_no_reader_hangs() {
    let cycle = with(0, |line| line.replace("null", &uuid("4")));
    trap("cycle", cycle, "1: cycle: its parents lead back to it (4 in the round)", ALL);
    let own = with(2, |line| line.replace("00000002-", "00000003-"));
    trap("self", own, "3: cycle: its parents lead back to it (1 in the round)", ALL);
}

/// A compaction boundary that goes on from a line, and keeps nothing.
fn boundary(own: &str, logical: &str) -> String {
    format!(
        r#"{{"parentUuid":null,"logicalParentUuid":{},"isSidechain":false,"userType":"external","cwd":"/","sessionId":"s","version":"2.1.0","gitBranch":"","type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{{"trigger":"auto","preTokens":9}},"uuid":{},"timestamp":"2026-01-01T00:00:0{own}.000Z"}}"#,
        uuid(logical),
        uuid(own)
    )
}

// anthropics/claude-code#87354
#[test]
fn a_boundary_that_goes_on_from_its_descendant_is_a_cycle() {
    let lines = [boundary("5", "7"), one("user", "6", "5", "\"a\""), one("user", "7", "6", "\"b\"")];
    let file = text(&[base(), lines.to_vec()].concat());
    let texts = ["hello", "hi", "more", "bye", "Conversation compacted", "a", "b"];
    trap("logical", file, "5: cycle: its parents lead back to it (3 in the round)", &texts);
}

// anthropics/claude-code#40027
#[test]
fn a_boundary_that_goes_on_from_a_deleted_session_is_everyday() {
    let file = text(&[boundary("5", "9"), one("user", "6", "5", "\"a\"")]);
    trap("deleted", file, "", &["Conversation compacted", "a"]);
}

// anthropics/claude-code#61188
#[test]
fn the_first_prompt_after_a_resumed_compaction_may_miss_its_parent() {
    let file = text(&[base(), vec![boundary("5", "4"), one("user", "6", "9", "\"a\"")]].concat());
    let texts = ["hello", "hi", "more", "bye", "Conversation compacted", "a"];
    trap("resumed", file, "6: warning: parentUuid names no line", &texts);
}

#[test]
fn a_uuid_that_stands_twice_is_one_message() {
    let mut lines = base();
    lines.push(lines[2].clone());
    trap("same", text(&lines), "", ALL);
    lines[4] = lines[4].replace("more", "other");
    trap("differs", text(&lines), "5: same uuid as line 3, other content", ALL);
}

#[test]
fn parents_may_stand_below_their_children() {
    trap("below", fixture("20-out-of-order-parents"), "", ALL);
}

#[test]
fn two_roots_are_both_read() {
    let two = with(2, |line| line.replace(&uuid("2"), "null"));
    trap("roots", two, "3: warning: another root", ALL);
}

// zhukunpenglinyutong/jetbrains-cc-gui#1696
#[test]
fn what_was_said_before_a_compaction_is_kept() {
    let file = text(&[base(), vec![boundary("5", "4"), one("user", "6", "5", "\"a\"")]].concat());
    trap("compacted", file, "", &["hello", "hi", "more", "bye", "Conversation compacted", "a"]);
}

// BytePioneer-AI/codex-host#171
#[test]
fn the_chain_goes_on_through_attachments_and_progress() {
    for kind in ["attachment", "progress"] {
        let between = format!(
            r#"{{"type":"{kind}","attachment":{{"type":"date_change"}},"data":{{"type":"hook_progress"}},"uuid":{},"parentUuid":{},"sessionId":"s","isSidechain":false,"timestamp":"2026-01-01T00:00:02.500Z"}}"#,
            uuid("8"),
            uuid("2")
        );
        let mut lines = base();
        lines[2] = lines[2].replace("00000002-", "00000008-");
        lines.insert(2, between);
        trap(kind, text(&lines), "", ALL);
        let dir = Dir::new(&format!("trap-{kind}-reach"));
        dir.write("t", text(&lines));
        sh(&dir, "cc-chain-check --json t | jq -c '.reach'")
            .ok()
            .stdout("{\"of\":4,\"naive\":4,\"bridged\":4}\n");
    }
}

// anthropics/claude-code#24304
#[test]
fn a_snapshot_with_the_uuid_of_the_next_line_is_no_record() {
    let snapshot = format!(
        r#"{{"type":"file-history-snapshot","messageId":{},"snapshot":{{"messageId":{0},"trackedFileBackups":{{}}}},"isSnapshotUpdate":false}}"#,
        uuid("3")
    );
    let mut lines = base();
    lines.insert(2, snapshot);
    trap("snapshot", text(&lines), "", ALL);
}

// SeemSeam/claude_codex_bridge#281
#[test]
fn a_slug_marks_no_subagent() {
    let slugs: Vec<String> =
        base().iter().map(|line| line.replacen('{', "{\"slug\":\"a-b-c\",", 1)).collect();
    trap("slug", text(&slugs), "", ALL);
}

#[test]
fn an_inline_subagent_is_no_part_of_the_session() {
    let mut lines = base();
    let side = one("user", "5", "null", "\"task\"").replace("Sidechain\":false", "Sidechain\":true");
    lines.insert(2, side);
    trap("sidechain", text(&lines), "", ALL);
}

// delexw/claude-code-trace#78
#[test]
fn summaries_may_repeat() {
    let summary =
        r#"{"type":"summary","summary":"t","leafUuid":"00000009-0000-4000-8000-000000000000"}"#.to_owned();
    let lines = [vec![summary.clone(), summary.clone(), summary], base()].concat();
    trap("summaries", text(&lines), "", ALL);
}

#[test]
fn a_rewind_is_a_fork_and_the_newest_branch_is_read() {
    let lines = [
        base(),
        vec![
            one("user", "5", "2", "\"again\""),
            one("assistant", "6", "5", r#"[{"type":"text","text":"so"}]"#),
        ],
    ];
    trap("rewind", text(&lines.concat()), "", &["hello", "hi", "again", "so"]);
}

// anthropics/claude-code#30623, #26493, #12912; simonw/claude-code-transcripts#98
#[test]
fn a_prompt_that_was_only_queued_is_no_record_and_is_read() {
    let queued = r#"{"type":"queue-operation","operation":"enqueue","content":"wait","timestamp":"2026-01-01T00:00:09.000Z","sessionId":"s"}"#;
    let lines = [base(), vec![queued.to_owned()]].concat();
    trap("queued", text(&lines), "", &["hello", "hi", "more", "bye", "wait"]);
}

#[test]
fn a_line_of_six_megabytes_is_a_line() {
    let long = "x".repeat(6 << 20);
    trap("long", with(2, |line| line.replace("more", &long)), "", &["hello", "hi", &long, "bye"]);
}

#[test]
fn the_last_of_two_keys_counts() {
    let twice =
        with(2, |line| line.replace("\"content\":\"more\"", "\"content\":\"less\",\"content\":\"more\""));
    trap("twice", twice, "", ALL);
}

#[test]
fn depth_kills_no_file() {
    let deep = format!(
        r#"[{{"type":"text","text":"hi"}},{{"type":"tool_use","id":"t","name":"n","input":{{"a":{}{}}}}}]"#,
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    let dir = Dir::new("trap-deep");
    dir.write("t", with(1, |line| line.replace(r#"[{"type":"text","text":"hi"}]"#, &deep)));
    sh(&dir, "cc-chain-check -v t").ok().stdout("t: ok: 4 records, 1 root, 0 forks, 0 orphans\n");
    sh(&dir, "cc-dump t | curt-pack -q | grep -o '\"content\":\"[a-z]*\"'")
        .ok()
        .stdout("\"content\":\"hello\"\n\"content\":\"hi\"\n\"content\":\"more\"\n\"content\":\"bye\"\n");
}

#[test]
fn an_empty_file_is_no_chain() {
    let dir = Dir::new("trap-empty");
    dir.write("t", "");
    sh(&dir, "cc-chain-check t").status(1).stdout("t: no chain: no line with a uuid\n");
}

// langfuse/claude-observability-plugin#33
#[test]
fn a_forked_copy_keeps_the_sessions_of_its_lines_and_is_told() {
    let lines = [base(), vec![one("user", "5", "4", "\"on\"").replace("\"s\"", "\"t\"")]].concat();
    let dir = Dir::new("trap-forked");
    dir.write("t", text(&lines));
    sh(&dir, "cc-chain-check -W t").status(1).stdout("t:5: sessionId changes along the chain\n");
}
