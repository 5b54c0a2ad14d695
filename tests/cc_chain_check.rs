//! `cc-chain-check`: verdicts on files that exist, its options, its statuses.

use crate::common::{Cmd, Dir, Output2, data, sh};
use std::collections::BTreeMap;
use std::fs;

fn check() -> Cmd {
    Cmd::new("cc-chain-check")
}

/// The files of a data directory, by name.
fn files(directory: &str) -> Vec<String> {
    let names = fs::read_dir(data(directory)).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".jsonl"));
    names.sort();
    names
}

/// What a run with `options` says of every file of a directory, without the file's name.
fn verdicts(directory: &str, options: &[&str]) -> BTreeMap<String, Vec<String>> {
    // Each by itself: crafted files share their uuids, and what one lacks another would have.
    let of = |name: String| {
        let run = check().args(options).arg(&name).dir(data(directory)).run();
        assert_eq!(run.stderr, "");
        let said = run.stdout_str().lines().map(|line| {
            let (file, said) = line.split_once(".jsonl:").unwrap();
            assert_eq!(format!("{file}.jsonl"), name);
            said.trim_start().to_owned()
        });
        let said = said.collect();
        (name, said)
    };
    files(directory).into_iter().map(of).collect()
}

/// The shape of every graph is that of a second program.
#[test]
fn shapes_are_those_of_a_second_reading() {
    for directory in ["cc", "cc-edge"] {
        let dir = data(directory);
        let names = files(directory);
        let theirs = Cmd::any("python3")
            .arg("-B")
            .arg(data("../oracle/cc_graph.py"))
            .args(&names)
            .dir(&dir)
            .run()
            .ok();
        for (name, theirs) in names.iter().zip(theirs.stdout_str().lines()) {
            let ours = check().args(["--json", name]).dir(&dir).run();
            let filter = "del(.ok, .errors, .warnings, .findings) + {ok}";
            let ours = Cmd::any("jq").args(["-c", filter]).stdin(&ours.stdout).run().ok();
            assert_eq!(ours.stdout_str().trim_end(), theirs, "{name}");
        }
        assert_eq!(theirs.stdout_str().lines().count(), names.len());
    }
}

/// The page that shows all of them is that of the second program, too.
#[test]
fn the_table_of_all_files_is_up_to_date() {
    let names = ["cc", "cc-edge"]
        .map(|directory| files(directory).into_iter().map(move |name| format!("{directory}/{name}")));
    let table = Cmd::any("python3")
        .args(["-B", "../oracle/cc_graph.py", "--table"])
        .args(names.into_iter().flatten());
    table.dir(data("")).run().ok().stdout(fs::read_to_string(data("graphs.tsv")).unwrap());
}

/// Real rules: what the format's facts say of each file. `W` is a warning.
const REAL: &[(&str, &[&str])] = &[
    // Real sessions, and crafted ones of other projects.
    ("agentsview-valid_session", &["no chain: no line with a uuid"]),
    ("amplifier-with_compact", &[]),
    // Its boundary goes on from a line that it keeps, and that was appended again below it.
    ("ccl-compact-after-rewind-preserved", &[]),
    ("ccl-dag_fork", &["6: W sessionId changes along the chain", "9: W sessionId changes along the chain"]),
    ("ccl-dag_resume", &["6: W sessionId changes along the chain"]),
    ("ccl-dag_within_fork", &[]),
    (
        "ccl-edge_cases",
        &[
            "2: W another root",
            "3: W another root",
            "4: W another root",
            "5: W another root",
            "6: W another root",
            "7: W another root",
            "8: W another root",
            "9: W another root",
            "10: W another root",
            "11: W another root",
            "12: same uuid as line 11, other content",
            "13: W not a JSON object",
            "15: W not a JSON object",
            "16: W not a JSON object",
            "17: W parentUuid names no line",
            "18: same uuid as line 10, other content",
        ],
    ),
    ("ccl-hook_attachments", &[]),
    ("ccl-nested_agents", &[]),
    ("ccl-sidechain", &["8: W parentUuid names no line"]),
    ("ccl-teammates", &[]),
    ("entire-37_995ebed6e4_0", &[]),
    ("entire-4c_02af2759b6_0", &[]),
    ("entire-71_69f9710768_0", &[]),
    ("entire-8e_0a64736bc7_0", &[]),
    ("hermes-trace-export-0.22.2", &["8: W tool_result without an earlier tool_use"]),
    (
        "simonw-sample_session",
        &[
            "3: W another root",
            "4: W another root",
            "5: W another root",
            "6: W another root",
            "7: W another root",
            "8: W another root",
        ],
    ),
    ("unleash-claude-10turn", &[]),
    ("unleash-claude-sample", &[]),
    // One trap each.
    ("02-bom", &["1: W begins with a byte order mark"]),
    ("03-crlf", &[]),
    ("04-no-trailing-newline", &[]),
    ("05-truncated-last-line", &["4: W last line is not JSON to its end"]),
    ("09-u2028-raw", &[]),
    ("11-invalid-utf8-bytes", &["1: W not UTF-8"]),
    ("12-invalid-escape", &["2: not JSON at byte 373", "3: W parentUuid names no line"]),
    ("13-raw-control-char", &["2: not JSON at byte 369", "3: W parentUuid names no line"]),
    ("14-nul-escape", &[]),
    ("15-orphan-parent-mid", &["3: W parentUuid names no line"]),
    ("16-cycle", &["1: cycle: its parents lead back to it (4 in the round)"]),
    ("17-self-parent", &["3: cycle: its parents lead back to it (1 in the round)"]),
    ("20-out-of-order-parents", &[]),
    ("21-two-roots", &["3: W another root"]),
    ("22-compact-boundary", &[]),
    ("23-compact-preserved-messages", &[]),
    ("24-compact-preserved-segment", &[]),
    ("25-compact-dangling-logical", &[]),
    ("26-parallel-tools", &[]),
    ("27-parallel-tools-reverse-results", &[]),
    ("28-progress-in-chain", &[]),
    ("29-attachment-in-chain", &[]),
    ("30-rewind-fork", &[]),
    ("32-all-sidechain", &[]),
    ("33-metadata-lines", &[]),
    ("34-meta-and-commands", &[]),
    ("35-api-error", &[]),
    ("37-missing-uuid", &["no chain: no line with a uuid"]),
    ("38-numeric-and-odd-fields", &[]),
    (
        "39-content-kinds",
        &["3: W tool_result without an earlier tool_use", "3: W tool_result without an earlier tool_use"],
    ),
    ("41-empty-file", &["no chain: no line with a uuid"]),
    ("43-snapshot-messageid-collides", &[]),
    ("44-usage-split-differs", &[]),
    ("45-fork-copied-session", &["5: W sessionId changes along the chain"]),
    ("47-dup-json-keys", &[]),
];

#[test]
fn real_rules_say_of_every_file_what_the_facts_say() {
    let mut expected: BTreeMap<String, Vec<String>> = REAL
        .iter()
        .map(|(name, said)| {
            (format!("{name}.jsonl"), said.iter().map(|s| s.replace("W ", "warning: ")).collect())
        })
        .collect();
    for directory in ["cc", "cc-edge"] {
        let quiet = verdicts(directory, &[]);
        for (name, mut said) in verdicts(directory, &["-v"]) {
            let expected = expected.remove(&name).unwrap_or_else(|| panic!("{name} is in no table"));
            let errors: Vec<_> =
                expected.iter().filter(|line| !line.contains("warning: ")).cloned().collect();
            if errors.is_empty() {
                assert!(said.pop().unwrap().starts_with("ok: "), "{name}");
            }
            assert_eq!(said, expected, "{name}");
            assert_eq!(quiet[&name], errors, "{name}");
        }
    }
    assert!(expected.is_empty(), "not there: {expected:?}");
}

#[test]
fn strict_rules_say_of_every_file_what_a_second_reading_says() {
    for directory in ["cc", "cc-edge"] {
        let mut expected: BTreeMap<String, BTreeMap<String, (u64, u64)>> = BTreeMap::new();
        let table = fs::read_to_string(data(directory).join("strict.tsv")).unwrap();
        for row in table.lines().filter(|row| !row.starts_with('#')) {
            let [file, reason, count, first] = row.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{row}")
            };
            let entry = expected.entry(file.into()).or_default();
            if reason != "ok" {
                entry.insert(reason.into(), (count.parse().unwrap(), first.parse().unwrap()));
            }
        }
        assert_eq!(expected.keys().cloned().collect::<Vec<_>>(), files(directory));
        for (name, said) in verdicts(directory, &["--strict", "-v"]) {
            let mut found: BTreeMap<String, (u64, u64)> = BTreeMap::new();
            for finding in said.iter().filter(|said| !said.starts_with("ok: ")) {
                let (line, reason) = match finding.split_once(": ") {
                    Some((line, reason)) if line.parse::<u64>().is_ok() => (line.parse().unwrap(), reason),
                    _ => (0, finding.as_str()),
                };
                let reason = match reason {
                    _ if reason.starts_with("not JSON at byte ") => "not JSON".to_owned(),
                    _ => match reason.split_once("as line ") {
                        Some((what, _)) => format!("{what}as line N"),
                        None => reason.to_owned(),
                    },
                };
                found.entry(reason).or_insert((0, line)).0 += 1;
            }
            assert_eq!(found, expected[&name], "{name}");
        }
    }
}

#[test]
fn a_parent_may_be_in_another_file() {
    let dir = Dir::new("chain-across");
    let line = |uuid: &str, parent: &str| {
        format!(
            r#"{{"type":"user","uuid":"{uuid}","parentUuid":{parent},"sessionId":"s","message":{{"role":"user","content":"x"}}}}"#
        )
    };
    dir.write("a", line("a1", "null") + "\n" + &line("a2", "\"b1\"") + "\n" + &line("a3", "\"gone\"") + "\n");
    dir.write("b", line("b1", "\"a1\"") + "\n");
    dir.write("c", line("c1", "null") + "\n");
    let alone = "a:2: warning: parentUuid names no line\na:3: warning: parentUuid names no line\n";
    sh(&dir, "cc-chain-check -v a | grep -v ok").ok().stdout(alone);
    let three = "a:3: warning: parentUuid names no line\na: ok: 3 records, 1 root, 0 forks, 1 orphan\n";
    let rest = "b: ok: 1 record, 0 roots, 0 forks, 0 orphans\nc: ok: 1 record, 1 root, 0 forks, 0 orphans\n";
    sh(&dir, "cc-chain-check -v a b c").ok().stdout(format!("{three}{rest}"));
    // Whichever comes first, in the order of the operands.
    sh(&dir, "cc-chain-check -v c b a").ok().stdout(
        "c: ok: 1 record, 1 root, 0 forks, 0 orphans\nb: ok: 1 record, 0 roots, 0 forks, 0 orphans\n"
            .to_owned()
            + three,
    );
    sh(&dir, "cc-chain-check --json a b | jq -c '[.file, .orphans.message, .orphans.elsewhere]'")
        .ok()
        .stdout("[\"a\",1,1]\n[\"b\",0,1]\n");
    // Names that are no UUID are known across files too, and a compaction's logical parent.
    let boundary = r#"{"type":"system","subtype":"compact_boundary","uuid":"d1","parentUuid":null,"logicalParentUuid":"a3","sessionId":"s"}"#;
    dir.write("d", format!("{boundary}\n"));
    sh(&dir, "cc-chain-check --json d | jq -c .orphans.logical; cc-chain-check --json a d | jq -c .orphans.logical")
        .ok()
        .stdout("1\n0\n0\n");
    // Generated files stand for themselves.
    sh(&dir, "cc-chain-check --strict b c | grep 'b:1: first line'")
        .status(1)
        .stdout("b:1: first line of a conversation, but parentUuid is not null\n");
}

#[test]
fn lists_and_reports_are_for_programs() {
    let dir = Dir::new("chain-forms");
    for name in ["16-cycle", "21-two-roots", "22-compact-boundary"] {
        fs::copy(data("cc-edge").join(format!("{name}.jsonl")), dir.join(format!("{name}.jsonl"))).unwrap();
    }
    sh(&dir, "cc-chain-check -l *.jsonl").status(1).stdout("16-cycle.jsonl\n");
    sh(&dir, "cc-chain-check -l0W *.jsonl").status(1).stdout("16-cycle.jsonl\x0021-two-roots.jsonl\0");
    sh(&dir, "cc-chain-check -lq *.jsonl").status(1).stdout("");
    let reports =
        sh(&dir, "cc-chain-check --json *.jsonl | jq -c '[.file, .ok, .errors, .warnings, .findings]'")
            .status(1);
    assert_eq!(
        reports.stdout_str(),
        concat!(
            r#"["16-cycle.jsonl",false,1,0,[{"line":1,"severity":"error","reason":"cycle: its parents lead back to it (4 in the round)"}]]"#,
            "\n",
            r#"["21-two-roots.jsonl",true,0,1,[{"line":3,"severity":"warning","reason":"another root"}]]"#,
            "\n",
            r#"["22-compact-boundary.jsonl",true,0,0,[]]"#,
            "\n"
        )
    );
    // A generated file has no shape: it is one line.
    dir.write("good", format!("{GOOD}\n"));
    let strict = r#"{"file":"good","ok":true,"lines":1,"records":1,"errors":0,"warnings":0,"findings":[]}"#;
    sh(&dir, "cc-chain-check --strict --json good").ok().stdout(format!("{strict}\n"));
    sh(&dir, "cc-chain-check -l --json good").status(2).stdout("");
    sh(&dir, "cc-chain-check -0 good").status(2).stdout("");
    // A name cannot forge a second verdict.
    dir.write("x\ny", "{}");
    sh(&dir, "cc-chain-check x*").status(1).stdout("x\\ny: no chain: no line with a uuid\n");
}

#[test]
fn ok_comes_with_the_shape_of_the_graph() {
    let run = |file: &str| check().args(["-v", file]).dir(data("cc")).run().ok();
    run("entire-8e_0a64736bc7_0.jsonl")
        .stdout("entire-8e_0a64736bc7_0.jsonl: ok: 145 records, 1 root, 18 forks, 0 orphans\n");
    run("entire-37_995ebed6e4_0.jsonl")
        .stdout("entire-37_995ebed6e4_0.jsonl: ok: 48 records, 0 roots, 2 forks, 2 orphans\n");
}

const GOOD: &str = r#"{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"","sessionId":"s","version":"0.1.0","gitBranch":"","type":"user","message":{"role":"user","content":"CANARY"},"uuid":"00000001-0000-5000-8000-000000000001","timestamp":"2026-01-01T00:00:00.000Z"}"#;

fn second() -> String {
    GOOD.replace("null", "\"00000001-0000-5000-8000-000000000001\"").replace(
        "\"00000001-0000-5000-8000-000000000001\",\"time",
        "\"00000002-0000-5000-8000-000000000001\",\"time",
    )
}

#[test]
fn statuses() {
    let dir = Dir::new("chain-status");
    dir.write("good", format!("{GOOD}\n{}\n", second()));
    dir.write("orphan", format!("{GOOD}\n{}\n", second().replacen("00000001", "11111111", 1)));
    dir.write("loop", format!("{}\n", GOOD.replace("null", "\"00000001-0000-5000-8000-000000000001\"")));
    let run = |args: &[&str]| check().args(args).dir(&dir).run();
    let orphan = "orphan:2: parentUuid names no line\n";
    let cycle = "loop:1: cycle: its parents lead back to it (1 in the round)\n";
    run(&["good"]).ok().stdout("");
    run(&["--strict", "good"]).ok().stdout("");
    run(&["orphan"]).ok().stdout("");
    run(&["-v", "orphan"]).ok().stdout(
        "orphan:2: warning: parentUuid names no line\norphan: ok: 2 records, 1 root, 0 forks, 1 orphan\n",
    );
    run(&["-W", "orphan"]).status(1).stdout(orphan).stderr("");
    run(&["-Wv", "orphan", "good"])
        .status(1)
        .stdout(format!("{orphan}good: ok: 2 records, 1 root, 0 forks, 0 orphans\n"));
    run(&["loop", "good"]).status(1).stdout(cycle).stderr("");
    run(&["-q", "loop"]).status(1).stdout("").stderr("");
    run(&["-qv", "good", "loop"]).status(1).stdout("").stderr("");
    // Trouble beats a negative answer, and the other files are still judged.
    run(&["gone", "loop"])
        .status(2)
        .stdout(cycle)
        .stderr("cc-chain-check: gone: No such file or directory\n");
    run(&["-q", "gone"]).status(2).stdout("");
    run(&["."]).status(2).stderr("cc-chain-check: .: Is a directory\n");
    run(&["--no-such-option"]).status(2).stdout("");
    run(&["--max-bytes", "many", "good"]).status(2).stdout("");
}

#[test]
fn reads_stdin_and_lists() {
    let dir = Dir::new("chain-input");
    dir.write("good", format!("{GOOD}\n"));
    let loops = GOOD.replace("null", "\"00000001-0000-5000-8000-000000000001\"");
    dir.write("a loop", &loops);
    let said = ":1: cycle: its parents lead back to it (1 in the round)\n";
    for args in [&[][..], &["-"], &["--", "-"]] {
        check().args(args).stdin(&loops).run().status(1).stdout(format!("-{said}"));
    }
    check().args(["good", "-"]).dir(&dir).stdin(&loops).run().status(1).stdout(format!("-{said}"));
    check()
        .arg("--files0-from=-")
        .dir(&dir)
        .stdin("good\0a loop\0")
        .run()
        .status(1)
        .stdout(format!("a loop{said}"));
    check().arg("-q").run().status(1);
}

#[test]
fn a_line_beyond_the_limit_is_an_error_and_the_rest_is_read() {
    let long = second().replace("CANARY", &"x".repeat(5000));
    let third = second().replacen("00000001", "00000002", 1).replace(
        "\"00000002-0000-5000-8000-000000000001\",\"time",
        "\"00000003-0000-5000-8000-000000000001\",\"time",
    );
    let text = format!("{GOOD}\n{long}\n{third}\n{third}x\n{GOOD}\n");
    check()
        .args(["--max-bytes", "4096"])
        .stdin(&text)
        .run()
        .status(1)
        .stdout(format!("-:2: line is longer than the limit\n-:4: not JSON at byte {}\n", third.len() + 1));
    check().args(["--strict", "--max-bytes=1"]).stdin(format!("{GOOD}\n")).run().status(1);
    check().args(["--strict", "--max-bytes=0"]).stdin(format!("{GOOD}\n")).run().ok();
}

// See: Arize-ai/coding-harness-tracing#148
#[test]
fn lines_are_counted_by_newlines_alone() {
    let first = GOOD.replace("CANARY", "\u{2028}\u{2029}\u{85}\u{b}").replace('\u{b}', "\\u000b");
    let text = format!("\n\n{first}\r\n \t\n{}\n", second().replacen("00000001", "00000002", 1));
    check().stdin(text).run().status(1).stdout("-:5: cycle: its parents lead back to it (1 in the round)\n");
}

#[test]
fn generated_conversations_follow_each_other_in_a_stream() {
    let conversation = format!("{GOOD}\n{}\n", second());
    let other = conversation.replace("\"s\"", "\"t\"").replace("0-5000-8", "0-5000-9");
    check()
        .args(["--strict", "-v"])
        .stdin(conversation.clone() + &other)
        .run()
        .ok()
        .stdout("-: ok: 4 records, 2 roots, 0 forks, 0 orphans\n");
    check().args(["-W"]).stdin(conversation.clone() + &other).run().ok();
    check().arg("--strict").stdin(conversation.clone() + &conversation).run().status(1).stdout(
        "-:3: same uuid as line 1\n-:3: parentUuid is not the uuid of the line before\n-:4: same uuid as line 2\n",
    );
}

#[test]
fn blank_lines_at_the_end_break_the_strict_rules_alone() {
    check().arg("--strict").stdin(format!("{GOOD}\n\n")).run().status(1).stdout("-:2: blank line\n");
    check().arg("--strict").stdin(format!("{GOOD}\n  ")).run().status(1).stdout("-:2: blank line\n");
    check().arg("-W").stdin(format!("{GOOD}\n\n  ")).run().ok();
}

#[test]
fn strings_that_other_readers_drop_are_fine() {
    for text in [r"\u0000", r"\ud83d", r"\udc00\ud83d", "\u{2028}", "\u{10ffff}", r"\\p"] {
        let line = format!("{}\n", GOOD.replace("CANARY", text));
        check().stdin(&line).run().ok().stdout("");
        check().arg("--strict").stdin(&line).run().ok().stdout("");
    }
    for number in ["1e400", "-0", "123456789012345678901234567890", "0.1e-999"] {
        let line = format!("{}\n", GOOD.replace("\"cwd\"", &format!("\"x\":[{number}],\"cwd\"")));
        check().arg("--strict").stdin(&line).run().ok().stdout("");
    }
}

#[test]
fn depth_is_no_limit() {
    let deep = r#"{"a":["#.repeat(50_000) + &"]}".repeat(50_000);
    let line = format!("{}\n", GOOD.replace("\"cwd\"", &format!("\"x\":{deep},\"cwd\"")));
    check().stdin(&line).run().ok().stdout("");
    check().arg("--strict").stdin(&line).run().ok().stdout("");
    let twice = line.replacen("[{", "[{\"b\":0,\"b\":0,", 2).replacen(",\"b\":0,\"b\":0,", ",", 1);
    check().arg("--strict").stdin(&twice).run().status(1).stdout("-:1: an object has the same key twice\n");
}

#[test]
fn nothing_of_a_transcript_reaches_the_messages() {
    let dir = Dir::new("chain-canary");
    let fields = ["parentUuid", "sessionId", "type", "uuid", "timestamp", "cwd", "version", "gitBranch"];
    let mut lines = vec![GOOD.replace('}', ""), "CANARY".into(), "\"CANARY\"".into(), GOOD.into()];
    for field in fields {
        let at = GOOD.find(&format!("\"{field}\":")).unwrap() + field.len() + 3;
        let end = at + GOOD[at..].find([',', '}']).unwrap();
        lines.push(format!("{}\"CANARY\"{}", &GOOD[..at], &GOOD[end..]));
    }
    dir.write("file", lines.join("\n"));
    for option in ["-v", "-Wv", "--strict"] {
        let Output2 { stdout, stderr, .. } = check().args([option, "file"]).dir(&dir).run().status(1);
        assert!(!stdout.is_empty() && !String::from_utf8(stdout).unwrap().contains("CANARY"));
        assert_eq!(stderr, "");
    }
}

#[test]
fn what_is_no_transcript_is_not_listed_to_its_end() {
    let run = check().stdin("x\n".repeat(12_000)).run().status(1);
    assert_eq!(run.stdout_str().lines().count(), 10_001);
    // One line may have been cut; no chain at all is one more.
    assert!(run.stdout_str().ends_with("\n-: 2000 more errors\n"));
}

#[test]
fn works_in_a_pipe_and_under_xargs() {
    let dir = Dir::new("chain-pipe");
    for n in 0..20 {
        dir.write(format!("{n} .jsonl"), format!("{GOOD}\n{}\n", second()));
    }
    sh(&dir, "find . -name '*.jsonl' -print0 | xargs -0r -n3 -P2 cc-chain-check --strict").ok().stdout("");
    let listed = sh(&dir, "find . -name '*.jsonl' -print0 | cc-chain-check -v --files0-from=- | sort").ok();
    assert_eq!(listed.stdout_str().lines().count(), 20);
}
