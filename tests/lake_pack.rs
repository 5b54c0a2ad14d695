//! lake-pack: rows to events, and the faults of the importer that it follows, each by its number.

use super::common::{Cmd, Dir, Output2};
#[cfg(feature = "sqlite")]
use super::common::{data, sh};
#[cfg(feature = "sqlite")]
use std::collections::BTreeSet;

fn pack() -> Cmd {
    Cmd::new("lake-pack").args(["--fleet=f", "--agent=a", "--host-id=sha256:h"])
}

fn sha256(text: &str) -> String {
    let sum = Cmd::any("sha256sum").stdin(text).run().ok();
    format!("sha256:{}", sum.stdout_str().split(' ').next().unwrap())
}

/// A row of Hermes, with more members of the session before its messages.
fn row(more: &str, messages: &str) -> String {
    format!("{{\"runtime\":\"hermes\",\"id\":\"s\"{more},\"messages\":[{messages}]}}\n")
}

/// What jq says of the events of these rows.
fn said(args: &[&str], rows: &str, filter: &str) -> String {
    let events = pack().args(args).stdin(rows).run().ok();
    let jq = Cmd::any("jq").args(["-r", filter]).stdin(&events.stdout).run().ok();
    jq.stdout_str().to_owned()
}

fn kinds(args: &[&str], rows: &str) -> String {
    said(args, rows, ".event_type + (.message_id // \"\" | if . == \"\" then . else \":\" + . end)")
        .replace('\n', " ")
}

/// The session of the seed's own test: a call answered, a compacted prompt, usage.
fn alpha() -> String {
    row(
        r#","title":"Alpha","started_at":1763000100.25,"ended_at":1763000200,"actual_cost_usd":0.0187,"usage":[{"model":"m","input_tokens":1200,"output_tokens":340,"cache_read_tokens":800,"cache_write_tokens":120,"reasoning_tokens":44,"estimated_cost_usd":0.0201,"actual_cost_usd":0.0187}],"store_newest":1763000121.0"#,
        r#"{"id":1,"role":"user","content":"hi","timestamp":1763000100.25},
{"id":2,"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"path\": \"/etc/hosts\"}"}}],"timestamp":1763000101},
{"id":3,"role":"tool","content":"out","tool_call_id":"c1","tool_name":"read_file","timestamp":1763000102},
{"id":4,"role":"user","content":"old","timestamp":1763000110,"active":0,"compacted":1},
{"id":5,"role":"assistant","content":"done","timestamp":1763000121.0}"#,
    )
    .replace(",\n{", ",{")
}

#[test]
fn a_session_is_the_events_of_the_seed() {
    let kinds = kinds(&[], &alpha());
    assert_eq!(
        kinds,
        "session_start prompt:1 assistant:2 tool_call:3 prompt:4 compact:4 assistant:5 session_end "
    );
    let first = pack().stdin(alpha()).run().ok().stdout_str().lines().next().unwrap().to_owned();
    let rest = first.split_once("\",\"emitted_at\"").unwrap().1;
    let expected = r#":"2025-11-13T02:15:00.250Z","fleet_id":"f","agent_id":"a","runtime":"hermes","host_id":"sha256:h","session_id":"s","event_type":"session_start","content":"Alpha","content_hash":"HASH","redaction":{},"imported":true}"#;
    assert_eq!(rest, expected.replace("HASH", &sha256("Alpha")));
    let call = said(
        &[],
        &alpha(),
        "select(.tool) | [.tool.name, .tool.input, .tool.result, .parent_message_id, (.tool.paths | join(\" \")), (has(\"role\") | tostring)] | join(\"|\")",
    );
    assert_eq!(call, "read_file|{\"path\": \"/etc/hosts\"}|out|2|/etc/hosts|false\n");
    let usage =
        said(&[], &alpha(), "select(.event_type == \"session_end\") | .emitted_at, (.usage | tojson)");
    assert_eq!(
        usage,
        "2025-11-13T02:15:21.000Z\n{\"model\":\"m\",\"input_tokens\":1200,\"output_tokens\":340,\"cache_read_tokens\":800,\"cache_write_tokens\":120,\"cost_usd\":0.0187}\n"
    );
}

#[test]
fn ids_rise_over_all_sessions_and_nothing_else_changes_from_run_to_run() {
    let rows = alpha() + &alpha().replace("\"id\":\"s\"", "\"id\":\"t\"");
    let ids = said(&[], &rows, ".event_id");
    let ids: Vec<_> = ids.lines().collect();
    assert_eq!(ids.len(), 16);
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
    assert_eq!(said(&[], &rows, "del(.event_id)"), said(&[], &rows, "del(.event_id)"));
}

#[test]
fn b03_the_path_is_that_of_the_whole_input() {
    let content = "x".repeat(2 << 20);
    let call = format!(
        r#"{{"id":1,"role":"assistant","tool_calls":[{{"id":"c","name":"write","input":{{"content":"{content}","file_path":"/home/me/.aws/credentials"}}}}],"timestamp":1}}"#
    );
    let paths = said(&[], &row(r#","ended_at":2"#, &call), "select(.tool) | .tool.paths[]");
    assert_eq!(paths, "/home/me/.aws/credentials\n");
}

#[test]
fn b06_a_cost_of_0_hides_no_estimate() {
    let cost = |more: &str| {
        let row =
            row(&format!(",\"ended_at\":2{more}"), r#"{"id":1,"role":"user","content":"x","timestamp":1}"#);
        said(&[], &row, "select(.event_type == \"session_end\") | .usage.cost_usd").trim().to_owned()
    };
    let model = |costs: &str| format!(",\"usage\":[{{\"model\":\"m\",{costs}}}]");
    assert_eq!(cost(&model(r#""estimated_cost_usd":0.5,"actual_cost_usd":0.0"#)), "0.5");
    assert_eq!(cost(&model(r#""estimated_cost_usd":0.5,"actual_cost_usd":0.25"#)), "0.25");
    assert_eq!(cost(&model(r#""estimated_cost_usd":0.0,"actual_cost_usd":0.0"#)), "null");
    assert_eq!(cost(&model(r#""actual_cost_usd":0.0,"cost_status":"included""#)), "0");
    assert_eq!(
        cost(&(r#","estimated_cost_usd":0.75"#.to_owned() + &model(r#""actual_cost_usd":0.0"#))),
        "0.75"
    );
}

#[test]
fn b07_a_session_without_model_rows_has_the_usage_of_its_own_columns() {
    let row = row(
        r#","model":"m","ended_at":2,"input_tokens":5,"output_tokens":6,"cache_read_tokens":-7,"actual_cost_usd":null,"estimated_cost_usd":0.5,"usage":[]"#,
        r#"{"id":1,"role":"user","content":"x","timestamp":1}"#,
    );
    let usage = said(&[], &row, "select(.usage) | .usage | tojson");
    assert_eq!(
        usage,
        "{\"model\":\"m\",\"input_tokens\":5,\"output_tokens\":6,\"cache_read_tokens\":0,\"cache_write_tokens\":0,\"cost_usd\":0.5}\n"
    );
}

#[test]
fn usage_of_two_models_is_their_sum_and_names_neither() {
    let row = row(
        r#","ended_at":2,"usage":[{"model":"a","input_tokens":1,"estimated_cost_usd":0.25},{"model":"b","input_tokens":2,"output_tokens":-1,"actual_cost_usd":0.5}]"#,
        r#"{"id":1,"role":"user","content":"x","timestamp":1}"#,
    );
    let usage = said(&[], &row, "select(.usage) | .usage | tojson");
    assert_eq!(
        usage,
        "{\"input_tokens\":3,\"output_tokens\":0,\"cache_read_tokens\":0,\"cache_write_tokens\":0,\"cost_usd\":0.75}\n"
    );
}

#[test]
fn b08_order_is_that_of_ids_and_a_compacted_run_has_one_marker() {
    let rows: Vec<String> = [(1, 50, 1), (2, 10, 1), (3, 60, 1), (4, 20, 0), (5, 30, 1)]
        .map(|(id, at, compacted)| {
            format!(r#"{{"id":{id},"role":"user","content":"x","timestamp":{at},"compacted":{compacted}}}"#)
        })
        .to_vec();
    let kinds = kinds(&[], &row("", &rows.join(",")));
    assert_eq!(kinds, "session_start prompt:1 prompt:2 prompt:3 compact:3 prompt:4 prompt:5 compact:5 ");
}

#[test]
fn b08_a_summary_begins_a_run_of_its_own() {
    let message = |id, more: &str| {
        format!(r#"{{"id":{id},"role":"user","content":"x","timestamp":1,"compacted":1{more}}}"#)
    };
    for mark in [r#","_compressed_summary":1"#, r#","content":"[CONTEXT COMPACTION] so far""#] {
        let rows = [message(1, ""), message(2, ""), message(3, mark), message(4, "")].join(",");
        let kinds = kinds(&[], &row("", &rows));
        assert_eq!(kinds, "session_start prompt:1 prompt:2 compact:2 prompt:3 prompt:4 compact:4 ", "{mark}");
    }
}

#[test]
fn b11_a_session_that_goes_on_has_no_end_and_no_usage() {
    let rows = |newest: &str| {
        row(
            &format!(r#","usage":[{{"model":"m","input_tokens":1}}],"store_newest":{newest}"#),
            r#"{"id":1,"role":"user","content":"x","timestamp":1000}"#,
        )
    };
    let count = |args: &[&str], newest: &str| {
        said(args, &rows(newest), "select(.event_type == \"session_end\") | .usage.input_tokens")
    };
    assert_eq!(count(&[], "87399"), "");
    assert_eq!(count(&[], "87400"), "1\n");
    assert_eq!(count(&["--ended-before=1970-01-02"], "1000"), "1\n");
}

#[test]
fn b11_a_call_that_may_still_be_answered_waits() {
    let call = r#"{"id":1,"role":"assistant","content":"a","tool_calls":[{"id":"c","function":{"name":"n","arguments":"{}"}}],"timestamp":1}"#;
    assert_eq!(kinds(&[], &row("", call)), "session_start assistant:1 ");
    assert_eq!(
        kinds(&[], &row(r#","ended_at":5"#, call)),
        "session_start assistant:1 tool_call:1 session_end "
    );
    let later = format!(r#"{call},{{"id":2,"role":"user","content":"b","timestamp":2}}"#);
    assert_eq!(kinds(&[], &row("", &later)), "session_start assistant:1 tool_call:1 prompt:2 ");
    let told = pack().arg("-v").stdin(row("", call)).run().status(0);
    assert_eq!(told.stderr, "lake-pack: 1 sessions, 2 events, 1 still open, 1 calls waiting for a result\n");
}

#[test]
fn b12_rows_that_no_person_is_shown_can_be_left_out() {
    let rows = r#"{"id":1,"role":"user","content":"undone","timestamp":1,"active":0,"compacted":0},{"id":2,"role":"user","content":"away","timestamp":2,"active":0,"compacted":1},{"id":3,"role":"user","content":"away","timestamp":2,"active":1,"compacted":0}"#;
    assert_eq!(kinds(&[], &row("", rows)), "session_start prompt:1 prompt:2 compact:2 prompt:3 ");
    assert_eq!(kinds(&["--shown"], &row("", rows)), "session_start prompt:2 compact:2 ");
}

#[test]
fn b13_what_is_behind_the_sentinel_is_decoded() {
    let rows = row(
        "",
        r#"{"id":1,"role":"user","content":"\u0000json:[{\"type\": \"text\", \"text\": \"see\"}]","timestamp":1},{"id":2,"role":"user","content":"\u0000json:[broken","timestamp":1}"#,
    );
    assert_eq!(said(&[], &rows, "select(.role) | .content | tojson"), "\"see\"\n\"\\u0000json:[broken\"\n");
}

#[test]
fn b14_an_odd_cell_stops_nothing() {
    let rows = row(
        r#","title":{"base64":"/w=="},"malformed":["title"]"#,
        r#"{"id":1,"role":"user","content":7,"timestamp":"soon"},{"id":2,"role":"assistant","content":{"base64":"YWL/"},"timestamp":{"base64":"AA=="},"compacted":0.5}"#,
    );
    assert_eq!(
        said(&[], &rows, "[.event_type, .content] | join(\" \")"),
        "session_start \u{FFFD}\nprompt 7\nassistant ab\u{FFFD}\ncompact \n"
    );
}

#[test]
fn b15_a_time_that_is_none_is_that_of_the_row_before() {
    for odd in ["253402300800", "1e12", "1700000000000", "-1", "1e999", "null"] {
        let rows = row(
            "",
            &format!(
                r#"{{"id":1,"role":"user","content":"x","timestamp":{odd}}},{{"id":2,"role":"user","content":"x","timestamp":1700000000.0006}},{{"id":3,"role":"user","content":"x","timestamp":{odd}}}"#
            ),
        );
        let times = said(&[], &rows, ".emitted_at");
        assert_eq!(times, "2023-11-14T22:13:20.001Z\n".repeat(4), "{odd}");
    }
    let none = row(r#","started_at":1700000000.5"#, r#"{"id":1,"role":"user","content":"x"}"#);
    assert_eq!(said(&[], &none, ".emitted_at"), "2023-11-14T22:13:20.500Z\n".repeat(2), "no time at all");
    for wrong in ["90日", "99999999999999999999d", "90", "2w", "-1d", ""] {
        pack().arg(format!("--ended-before={wrong}")).run().status(2).stdout("");
    }
}

#[test]
fn b16_the_usage_of_a_message_in_several_records_counts_once() {
    let part = |uuid: &str, text: &str, more: &str| {
        format!(
            r#"{{"type":"assistant","uuid":"{uuid}","timestamp":"2026-11-01T08:00:01Z"{more},"message":{{"id":"m1","model":"claude","content":[{{"type":"text","text":"{text}"}}],"usage":{{"input_tokens":10,"output_tokens":3,"cache_read_input_tokens":4,"cache_creation_input_tokens":5}}}}}}"#
        )
    };
    let rows = format!(
        "{{\"runtime\":\"claude-code\",\"id\":\"s\",\"messages\":[{},{},{}]}}\n",
        part("a", "one", ""),
        part("b", "two", ""),
        part("c", "aside", r#","isSidechain":true"#)
    );
    let usage =
        said(&["--ended-before=2026-12-01"], &rows, "if .usage then (.usage | tojson) else .content end");
    assert_eq!(
        usage,
        "null\none\ntwo\n{\"model\":\"claude\",\"input_tokens\":10,\"output_tokens\":3,\"cache_read_tokens\":4,\"cache_write_tokens\":5}\n"
    );
}

#[test]
fn b17_a_call_id_used_again_means_the_nearest_call() {
    let call = |id, said: &str| {
        format!(
            r#"{{"id":{id},"role":"assistant","tool_calls":[{{"id":"c","function":{{"name":"n","arguments":"{said}"}}}}],"timestamp":1}}"#
        )
    };
    let result =
        |id| format!(r#"{{"id":{id},"role":"tool","content":"r{id}","tool_call_id":"c","timestamp":1}}"#);
    let rows = row("", &[call(1, "first"), result(2), call(3, "second"), result(4), result(5)].join(","));
    let calls = said(
        &[],
        &rows,
        "select(.tool) | [.message_id, .parent_message_id, .tool.name, .tool.input, .tool.result] | join(\" \")",
    );
    assert_eq!(calls, "2 1 n first r2\n4 3 n second r4\n5  unknown  r5\n", "and one without a call is kept");
}

#[test]
fn b21_the_hash_of_an_input_is_that_of_what_stands_there() {
    let input = said(&[], &alpha(), "select(.tool) | .tool.input").trim_end().to_owned();
    let expected = sha256(&input) + "\n";
    assert_eq!(said(&[], &alpha(), "select(.tool) | .tool.input_hash"), expected);
}

#[test]
fn roles_without_an_event_and_sessions_without_messages_are_counted() {
    let rows = row("", "")
        + &row(
            "",
            r#"{"id":1,"role":"system","content":"x","timestamp":1},{"id":2,"role":"session_meta","timestamp":2}"#,
        );
    let run = pack().arg("-v").stdin(&rows).run().status(0);
    assert_eq!(
        run.stderr,
        "lake-pack: 2 sessions, 1 events, 1 empty, 1 still open, 2 messages of unmapped roles\n"
    );
}

#[test]
fn a_bad_row_is_named_and_the_others_are_packed() {
    let rows = format!("{{\n{}\n{{\"runtime\":\"other\",\"id\":\"s\",\"messages\":[]}}\n{}", "[]", alpha());
    let run: Output2 = pack().stdin(&rows).run().status(1);
    assert_eq!(run.stderr.lines().count(), 3, "{}", run.stderr);
    assert!(run.stderr.contains("\nlake-pack: -:3: rows of this runtime are not known\n"), "{}", run.stderr);
    assert_eq!(run.stdout_str().lines().count(), 8);
}

#[test]
fn a_runtime_can_be_chosen_and_both_names_are_required() {
    assert_eq!(kinds(&["--runtime=cursor"], &alpha()), "");
    assert_eq!(kinds(&["--runtime=hermes"], &alpha()).matches(' ').count(), 8);
    pack().arg("--runtime=claude_code").run().status(2);
    let wanted =
        "lake-pack: --fleet and --agent are required\nTry 'lake-pack --help' for more information.\n";
    Cmd::new("lake-pack").arg("--fleet=f").run().status(2).stderr(wanted);
}

#[test]
fn the_machine_is_a_hash_of_its_name() {
    let run = Cmd::new("lake-pack")
        .args(["--fleet=f", "--agent=a"])
        .env("HOSTNAME", " box ")
        .stdin(alpha())
        .run()
        .ok();
    let expected = format!("\"host_id\":\"{}\"", sha256("box"));
    assert!(run.stdout_str().lines().all(|line| line.contains(&expected)), "{}", run.stdout_str());
}

#[test]
fn cursor_has_prompts_and_their_times() {
    let rows = "{\"runtime\":\"cursor\",\"id\":\"c\",\"title\":\"T\",\"created\":1793520000000,\"updated\":\"2026-11-01T08:01:00.500Z\",\"prompts_only\":true,\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"b\",\"timestamp\":1793520030.25}]}\n";
    let events = said(
        &["--ended-before=2026-12-01"],
        rows,
        "[.event_type, .emitted_at, .message_id, .content, .runtime] | join(\" \")",
    );
    assert_eq!(
        events,
        "session_start 2026-11-01T08:00:00.000Z  T cursor\nprompt 2026-11-01T08:00:00.000Z 1 a cursor\nprompt 2026-11-01T08:00:30.250Z 2 b cursor\nsession_end 2026-11-01T08:01:00.500Z   cursor\n"
    );
}

#[test]
fn claude_code_has_calls_with_results_errors_and_markers() {
    let rows = concat!(
        r#"{"runtime":"claude-code","id":"s","messages":[{"type":"summary","summary":"Old"},{"type":"ai-title","aiTitle":"New"},"#,
        r#"{"type":"user","uuid":"u1","timestamp":"2026-11-01T08:00:00.250Z","message":{"role":"user","content":"go"}},"#,
        r#"{"type":"user","uuid":"u0","isMeta":true,"message":{"role":"user","content":"meta"}},"#,
        r#"{"type":"assistant","uuid":"a1","message":{"id":"m","content":[{"type":"text","text":"ok"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}},{"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"/x"}},{"type":"tool_use","id":"t3","name":"Lost","input":{}}]}},"#,
        r#"{"type":"user","uuid":"u2","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"no"}],"is_error":true},{"type":"tool_result","tool_use_id":"t2","content":"yes"}]}},"#,
        r#"{"type":"system","subtype":"compact_boundary","uuid":"b","content":"Conversation compacted"},"#,
        r#"{"type":"user","uuid":"u3","isCompactSummary":true,"message":{"content":"sum"}},"#,
        r#"{"type":"user","uuid":"u2","message":{"role":"user","content":"copy"}},{"type":"user","uuid":"u4","message":{"content":"more"}}]}"#,
        "\n"
    );
    let events = said(
        &[],
        rows,
        "[.event_type, .message_id, .content, .tool.name, .tool.input, .tool.result, .tool.exit_code, .parent_message_id, (.tool.paths // [] | join(\",\"))] | map(. // \"\" | tostring) | join(\"|\")",
    );
    assert_eq!(
        events,
        "session_start||New||||||\nprompt|u1|go||||||\nassistant|a1|ok||||||\ntool_call|a1||Lost|{}|||a1|\n\
         tool_call|u2||Bash|{\"command\":\"ls\"}|no|1|a1|\ntool_call|u2||Read|{\"file_path\":\"/x\"}|yes|0|a1|/x\n\
         compact|b|||||||\nprompt|u4|more||||||\n"
    );
}

#[test]
fn what_a_project_tells_its_agents_is_a_claim_once() {
    let dir = Dir::new("claims");
    dir.write("p/CLAUDE.md", "Use tabs.\n");
    dir.write("p/AGENTS.md", " \n");
    dir.write("p/.cursor/rules/deep/b.mdc", "No \u{e9}.");
    dir.write("p/src/CLAUDE.md", "not of the project");
    dir.write("q/AGENTS.md", "Use tabs.\n");
    dir.write("empty/x", "");
    let claims =
        || pack().args(["-v", "--claims=p", "--claims=q", "--claims=empty"]).dir(&dir).run().status(0);
    let run = claims();
    assert_eq!(run.stderr, "lake-pack: 0 sessions, 0 events, 2 claims, 2 files that claim nothing new\n");
    let filter = "[.event_type, .role, .runtime, .session_id, .content, .injected_context[0].source, .injected_context[0].observed_by, (.injected_context[0].claim_id == .message_id and .message_id == .content_hash)] | join(\"|\")";
    let jq = Cmd::any("jq").args(["-r", filter]).stdin(&run.stdout).run().ok();
    assert_eq!(
        jq.stdout_str(),
        "prompt|user|other|claims|Use tabs.\n|CLAUDE.md|human|true\nprompt|user|other|claims|No \u{e9}.|.cursor/rules/deep/b.mdc|human|true\n"
    );
    let keys = |run: &Output2| {
        let jq = Cmd::any("jq").args(["-c", "del(.event_id)"]).stdin(&run.stdout).run().ok();
        jq.stdout_str().to_owned()
    };
    assert_eq!(keys(&run), keys(&claims()), "no time, no folder, no machine in it");
    pack().arg("--claims=gone").dir(&dir).run().status(2).stderr("lake-pack: gone: no folder of a project\n");
    pack().args(["--max-bytes=3", "--claims=q"]).dir(&dir).run().status(1).stdout("");
}

/// A second implementation, which reads the stores itself, has the same events.
#[cfg(feature = "sqlite")]
#[test]
fn the_oracle_has_the_same_events() {
    for store in ["hermes-0.13.db", "hermes-0.16.db", "hermes-v22.db", "hermes-v31.db"] {
        let dir = Dir::new("lake-oracle");
        dir.copy(format!("hermes/{store}"));
        let oracle = format!("python3 -B '{}'", data("../oracle/rows_to_events.py").display());
        let script = format!(
            "set -e
             hermes-dump {store} | lake-pack -q --fleet=f --agent=a --host-id=h >got
             {oracle} {store} >want
             {oracle} --same want got
             sed 's/\"user\"/\"assistant\"/' got >other
             ! {oracle} --same want other 2>/dev/null"
        );
        sh(&dir, &script).ok();
    }
}

/// How many of each kind, by SQL and by the events; every row of a real store is an event.
#[cfg(feature = "sqlite")]
#[test]
fn real_stores_and_sql_agree() {
    for store in ["hermes-0.13.db", "hermes-0.16.db", "hermes-v22.db", "hermes-v31.db"] {
        let dir = Dir::new("lake-real");
        let path = data("hermes").join(store);
        let path = path.display();
        let count = |role: &str| {
            let sql = format!(
                "select count(*) from messages m join sessions s on s.id=m.session_id where m.role='{role}'"
            );
            sh(&dir, &format!("sqlite3 'file:{path}?immutable=1' \"{sql}\""))
                .ok()
                .stdout_str()
                .trim()
                .to_owned()
        };
        let events = |filter: &str| {
            let run =
                format!("hermes-dump '{path}' | lake-pack --fleet=f --agent=a | jq -c '{filter}' | wc -l");
            sh(&dir, &run).ok().stdout_str().trim().to_owned()
        };
        assert_eq!(events("select(.event_type == \"prompt\")"), count("user"), "{store}");
        assert_eq!(events("select(.event_type == \"assistant\")"), count("assistant"), "{store}");
        assert_eq!(
            events("select(.event_type == \"tool_call\" and .message_id != .parent_message_id)"),
            count("tool"),
            "{store}"
        );
        let sessions =
            "select count(distinct session_id) from messages m join sessions s on s.id=m.session_id";
        let sessions = sh(&dir, &format!("sqlite3 'file:{path}?immutable=1' '{sessions}'")).ok();
        assert_eq!(
            events("select(.event_type == \"session_start\")"),
            sessions.stdout_str().trim(),
            "{store}"
        );
        let all = sh(&dir, &format!("hermes-dump '{path}' | lake-pack --fleet=f --agent=a")).ok();
        assert!(!all.stdout_str().contains("CANARY-DO-NOT-LEAK"), "{store}");
        let keys: BTreeSet<&str> =
            all.stdout_str().lines().filter_map(|line| line.split('"').nth(5)).collect();
        assert_eq!(keys.len(), all.stdout_str().lines().count(), "{store}: every event has an id of its own");
    }
}
