//! curt-check: the verdicts JavaScript gave, the reasons, where they are told.

use super::common::{Cmd, Dir, Output2, data, sh};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use curt_tools::curt::check::{Checker, Header};
use curt_tools::curt::name::Name;
use curt_tools::json::raw::Raw;
use std::io::Write;
use std::process::{Command, Stdio};

/// A body that is valid, on one line.
pub const GOOD: &str = concat!(
    r#"{"curt":"curtis-conversation","version":1,"conversation":{"id":"c_001","title":"Fixture conversation","#,
    r#""createdAt":1759968000000,"updatedAt":1,"messages":[{"id":"m1","role":"user","content":"hi","timestamp":1}]}}"#
);

/// One of the judged bodies of `tests/data/vectors/curt-bodies.ndjson`.
pub struct Vector {
    pub name: String,
    pub body: Vec<u8>,
    /// The file's name when the body is accepted.
    pub accepted: Option<String>,
}

pub fn vectors() -> Vec<Vector> {
    let file = std::fs::read(data("vectors/curt-bodies.ndjson")).unwrap();
    let lines = file.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    let vectors: Vec<_> = lines
        .map(|line| {
            let case = Raw::parse(line).unwrap();
            let text = |key: &str| Some(String::from_utf8(case.get(key)?.text()?.into_owned()).unwrap());
            let accept = case.get("accept").unwrap().bytes() == b"true";
            Vector {
                name: text("name").unwrap(),
                body: BASE64_STANDARD.decode(text("body_base64").unwrap()).unwrap(),
                accepted: accept.then(|| text("file_name").unwrap()),
            }
        })
        .collect();
    assert_eq!(vectors.len(), 184);
    vectors
}

#[test]
fn verdicts_and_names_are_javascripts() {
    for Vector { name, body, accepted } in vectors() {
        let in_blocks = |size: usize| {
            let mut checker = Checker::new().with_header();
            body.chunks(size).try_for_each(|block| checker.feed(block))?;
            checker.finish()
        };
        let whole = in_blocks(body.len().max(1));
        let file_name = whole.as_ref().ok().map(|header: &Header| Name::of_header(header).file_name("curt"));
        assert_eq!(file_name, accepted, "{name}: {whole:?}");
        for size in [1, 2, 3, 16, 61] {
            assert_eq!(in_blocks(size), whole, "{name} in blocks of {size}");
        }
    }
}

#[test]
fn the_program_gives_the_verdicts_of_the_library() {
    let dir = Dir::new("check-vectors");
    let (good, bad): (Vec<_>, Vec<_>) = vectors().into_iter().partition(|v| v.accepted.is_some());
    for Vector { name, body, accepted } in good.iter().chain(&bad) {
        dir.write(if accepted.is_some() { "good" } else { "bad" }.to_owned() + "/" + name + ".curt", body);
    }
    let run = |script: &str| sh(&dir, script);
    run("curt-check good/*").ok().stdout("");
    let listed = run("curt-check bad/*").status(1).stderr("");
    assert_eq!(listed.stdout_str().lines().count(), bad.len());
    assert!(listed.stdout_str().lines().all(|line| line.starts_with("bad/") && line.contains(".curt: ")));
    run("find good bad -name '*.curt' -print0 | curt-check -q --files0-from -")
        .status(1)
        .stderr("")
        .stdout("");
    let verbose = run("curt-check -v good/* bad/*").status(1);
    let ok = verbose.stdout_str().lines().filter(|line| line.ends_with(": ok")).count();
    assert_eq!((ok, verbose.stdout_str().lines().count()), (good.len(), good.len() + bad.len()));
}

#[test]
fn warnings_do_not_make_a_body_invalid_unless_they_are_fatal() {
    let dir = Dir::new("check-lint");
    let clean = GOOD.replace(r#""version":1"#, r#""version":1,"generator":"w@1""#);
    dir.write(
        "good.curt",
        clean.replace(r#"At":1,"#, r#"At":1759968000000,"#).replace(r#"stamp":1}"#, r#"stamp":0}"#),
    );
    dir.write("poor.curt", format!("\u{feff}{GOOD}"));
    dir.write("bad.curt", "[]");
    let told = concat!(
        "poor.curt: warning: a byte-order mark, which readers pass over and writers must not emit\n",
        "poor.curt: warning: no generator, which says who wrote the file\n",
        "poor.curt: warning: a time before 1973: seconds taken for milliseconds?: conversation.updatedAt and 1 more\n",
        "poor.curt: warning: updatedAt before createdAt: conversation.updatedAt\n",
    );
    let bad = "bad.curt: not a .curt body: expected an object, found an array\n";
    sh(&dir, "curt-check --lint good.curt poor.curt").ok().stdout(told);
    sh(&dir, "curt-check poor.curt").ok().stdout("");
    sh(&dir, "curt-check -W good.curt").ok().stdout("");
    sh(&dir, "curt-check -W poor.curt").status(1).stdout(told);
    sh(&dir, "curt-check --lint bad.curt poor.curt").status(1).stdout(format!("{bad}{told}"));
    sh(&dir, "curt-check -lW bad.curt good.curt poor.curt").status(1).stdout("bad.curt\npoor.curt\n");
    sh(&dir, "curt-check -LW bad.curt good.curt poor.curt").status(1).stdout("good.curt\n");
    sh(&dir, "curt-check -qW poor.curt").status(1).stdout("");
    let report = concat!(
        r#"{"file":"poor.curt","valid":true,"warnings":["#,
        r#"{"rule":"byte-order-mark","path":"","count":1},{"rule":"no-generator","path":"","count":1},"#,
        r#"{"rule":"seconds-time","path":"conversation.updatedAt","count":2},"#,
        r#"{"rule":"updated-first","path":"conversation.updatedAt","count":1}]}"#,
        "\n"
    );
    sh(&dir, "curt-check --lint --json poor.curt").ok().stdout(report);
    // Each line of many is looked at by itself.
    dir.write("x.ndjson", format!("{GOOD}\n{GOOD}\n"));
    let lines = sh(&dir, "curt-check --lint x.ndjson | cut -d: -f1,2").ok();
    assert_eq!(lines.stdout_str(), "x.ndjson:1\n".repeat(3) + &"x.ndjson:2\n".repeat(3));
}

#[test]
fn what_our_own_writers_make_has_no_warning() {
    let dir = Dir::new("check-lint-own");
    dir.copy("hermes/hermes-v22.db");
    let run = sh(
        &dir,
        "hermes-dump hermes-v22.db | curt-pack | curt-check --lint - | cut -d: -f3,4 | sort | uniq -c",
    );
    // A store may hold what it holds; nothing here is a writer's doing.
    for line in run.stdout_str().lines() {
        let innocent = [
            "a toolCallId that no tool call before it has",
            "a time before 1973",
            "an integer that JavaScript rounds",
        ];
        assert!(innocent.iter().any(|kind| line.contains(kind)), "{run:?}");
    }
}

#[test]
fn any_number_of_jobs_says_the_same_in_the_same_order() {
    let dir = Dir::new("check-jobs");
    let mut names = Vec::new();
    for n in 0..150 {
        let body = match n % 5 {
            0 => "[]".to_owned(),
            1 => GOOD.replace("[]", &"[".repeat(n * 50)),
            2 => format!("{GOOD}\n7\n{GOOD}\n"),
            _ => GOOD.to_owned(),
        };
        let name = format!("{n}.{}", if n % 5 == 2 { "ndjson" } else { "curt" });
        dir.write(&name, body);
        names.push(name);
        if n % 40 == 7 {
            names.push(format!("gone-{n}"));
        }
    }
    dir.write("list", names.join("\0"));
    for form in ["-v", "-l", "-L", "--json", "--json --lint", "-q"] {
        let one = sh(&dir, &format!("curt-check {form} --files0-from list")).status(2);
        for jobs in [0, 2, 7] {
            let many = sh(&dir, &format!("curt-check {form} -j{jobs} --files0-from list")).status(2);
            assert_eq!(
                (many.stdout, many.stderr),
                (one.stdout.clone(), one.stderr.clone()),
                "{form} -j{jobs}"
            );
        }
    }
    // Whoever reads only the first line ends all workers.
    sh(&dir, "curt-check -v -j4 --files0-from list | head -n1")
        .stdout("0.curt: not a .curt body: expected an object, found an array\n");
}

#[test]
fn lines_may_be_asked_for() {
    let dir = Dir::new("check-lines");
    dir.write("x.txt", format!("[\n{GOOD}\n"));
    let first = "not JSON at byte 1 (line 1, column 2): expected a value or ']', found the end";
    sh(&dir, "curt-check -v --lines x.txt").status(1).stdout(format!("x.txt:1: {first}\nx.txt:2: ok\n"));
    let whole = "not JSON at byte 2 (line 2, column 1): expected a value or ']', found 'c'";
    dir.write("x.txt", "[\ncurt\n");
    sh(&dir, "curt-check -v x.txt").status(1).stdout(format!("x.txt: {whole}\n"));
}

#[test]
fn lists_hold_the_names_alone() {
    let dir = Dir::new("check-lists");
    let bad = GOOD.replace("user", "User");
    dir.write("good.curt", GOOD);
    dir.write("bad.curt", &bad);
    dir.write("two\nlines.curt", &bad);
    dir.write("good.ndjson", format!("{GOOD}\n{GOOD}\n"));
    dir.write("mixed.ndjson", format!("{bad}\n{GOOD}\n{bad}\n"));
    let run = |options: &str| sh(&dir, &format!("curt-check {options} * ./gone <good.curt")).status(2);
    let gone = "curt-check: ./gone: No such file or directory\n";
    run("-l").stdout("bad.curt\nmixed.ndjson\ntwo\nlines.curt\n").stderr(gone);
    run("-l0").stdout("bad.curt\0mixed.ndjson\0two\nlines.curt\0").stderr(gone);
    run("-Lv -").stdout("-\ngood.curt\ngood.ndjson\n").stderr(gone);
    run("--list-valid -q").stdout("").stderr(gone);
    sh(&dir, "curt-check -l good.*").ok().stdout("").stderr("");
    sh(&dir, "curt-check -L mixed.ndjson").status(1).stdout("").stderr("");
    for (options, reason) in [
        ("-lL", "--list-invalid, --list-valid and --json exclude each other"),
        ("-l --json", "--list-invalid, --list-valid and --json exclude each other"),
        ("-0", "--null goes with --list-invalid or --list-valid"),
    ] {
        let usage = format!("curt-check: {reason}\nTry 'curt-check --help' for more information.\n");
        sh(&dir, &format!("curt-check {options} good.curt")).status(2).stdout("").stderr(&usage);
    }
}

#[test]
fn reports_name_the_rule_and_the_place() {
    let dir = Dir::new("check-json");
    let report = |rule: &str, rest: &str| format!("\"valid\":false,\"rule\":\"{rule}\",{rest}}}\n");
    let cases = [
        (GOOD.to_owned(), "\"valid\":true}\n".to_owned()),
        (
            "{\n  7}".to_owned(),
            report(
                "not-json",
                r#""offset":4,"row":2,"column":3,"reason":"not JSON at byte 4 (line 2, column 3): expected a key or '}', found '7'""#,
            ),
        ),
        (
            "7".to_owned(),
            report("not-object", r#""reason":"not a .curt body: expected an object, found a number""#),
        ),
        (
            GOOD.replace("curtis-", ""),
            report(
                "wrong-magic",
                r#""reason":"wrong magic: expected curt to be \"curtis-conversation\", found another string""#,
            ),
        ),
        (
            GOOD.replace(":1,\"conv", ":2,\"conv"),
            report(
                "wrong-version",
                r#""reason":"wrong version: expected version to be the number 1, found another number""#,
            ),
        ),
        (
            GOOD.replace("\"title\"", "\"tilte\""),
            report(
                "missing-field",
                r#""path":"conversation.title","reason":"conversation.title: expected a string, found nothing""#,
            ),
        ),
        (
            GOOD.replace("\"hi\"", "7"),
            report(
                "wrong-field",
                r#""path":"conversation.messages[0].content","reason":"conversation.messages[0].content: expected a string, found a number""#,
            ),
        ),
    ];
    for (body, expected) in &cases {
        dir.write("a\"\n.curt", body);
        let output = sh(&dir, "curt-check --json a*; s=$?; curt-check -q --json a*; exit $s");
        let output = output.status(i32::from(body != GOOD)).stderr("");
        output.stdout(format!(r#"{{"file":"a\"\n.curt",{expected}"#));
    }
    let too_large = report("too-large", r#""reason":"too large: more than 9 bytes""#);
    check(&["--json", "--max-bytes=9"], GOOD.replace(',', ",\n"))
        .status(1)
        .stdout(format!("{{\"file\":\"-\",{too_large}"));
    let not_utf8 = check(&["--json"], b"{\"\xff\":1}").status(1);
    assert!(not_utf8.stdout_str().starts_with(r#"{"file":"-","valid":false,"rule":"not-utf8","offset":2,"#));
    let lines = check(&["--json"], format!("{GOOD}\n{GOOD}\n")).ok();
    let line = |n: u32| format!("{{\"file\":\"-\",\"line\":{n},\"valid\":true}}\n");
    lines.stdout(line(1) + &line(2));
    // A line that is damaged: where in the input, as for a person with an editor.
    let damaged = check(&["--json"], format!("{GOOD}\n{{7}}\n")).status(1);
    let offset = GOOD.len() + 2;
    let place = format!(r#""line":2,"valid":false,"rule":"not-json","offset":{offset},"row":2,"column":2,"#);
    assert!(damaged.stdout_str().contains(&place), "{damaged:?}");
}

fn check(args: &[&str], stdin: impl AsRef<[u8]>) -> Output2 {
    Cmd::new("curt-check").args(args).stdin(stdin).run()
}

#[test]
fn each_kind_of_fault_has_its_own_words() {
    let pretty = GOOD.replace(',', ",\n");
    let cases: [(Vec<u8>, &str); 7] = [
        (pretty.replace("hi", "h\u{1}i").into(), "not JSON at byte "),
        (
            pretty.clone().into_bytes().into_iter().map(|b| if b == b'h' { 0xff } else { b }).collect(),
            "not UTF-8 at byte ",
        ),
        (pretty.replace("curtis", "Curtis").into(), "wrong magic: "),
        (pretty.replace("\"version\":1", "\"version\":\"1\"").into(), "wrong version: "),
        (
            pretty.replace("user", "User").into(),
            "conversation.messages[0].role: expected user, assistant, system or tool, found another string",
        ),
        (
            pretty.replace("\"title\"", "\"tilte\"").into(),
            "conversation.title: expected a string, found nothing",
        ),
        ("[\n]".into(), "not a .curt body: expected an object, found an array"),
    ];
    for (body, reason) in cases {
        let output = check(&[], body).status(1).stderr("");
        assert!(output.stdout_str().starts_with(&format!("-: {reason}")), "{output:?}");
        assert_eq!(output.stdout_str().lines().count(), 1, "{output:?}");
    }
    check(&["--max-bytes", "9"], pretty).status(1).stdout("-: too large: more than 9 bytes\n");
}

#[test]
fn no_reason_quotes_the_text() {
    for (from, to) in
        [("hi", "SECRET\u{1}"), ("user", "SECRET"), ("\"hi\"", "[\"SECRET\"]"), ("\"id\"", "\"SECRET\"")]
    {
        let output = check(&["-v"], GOOD.replace(from, to)).status(1);
        assert!(!output.stdout_str().contains("SECRET"), "{output:?}");
    }
}

#[test]
fn stdin_is_lines_when_its_first_line_is_a_complete_text() {
    check(&[], format!("{GOOD}\n{GOOD}\n")).ok().stdout("");
    check(&["-v"], format!("{GOOD}\n\n{{}}\n{GOOD}")).status(1).stdout(concat!(
        "-:1: ok\n",
        "-:3: wrong magic: expected curt to be \"curtis-conversation\", found nothing\n",
        "-:4: ok\n",
    ));
    check(&["-v"], GOOD.replace(',', ",\n")).ok().stdout("-: ok\n");
    check(&["-v", "-"], GOOD).ok().stdout("-:1: ok\n");
}

#[test]
fn names_tell_whether_a_file_may_hold_lines() {
    let dir = Dir::new("check-lines");
    for name in ["a.ndjson", "a.jsonl", "a.curt"] {
        dir.write(name, format!("{GOOD}\n{GOOD}\n"));
    }
    dir.write("pretty.ndjson", GOOD.replace(',', ",\n"));
    let output = sh(&dir, "curt-check -v a.ndjson a.jsonl pretty.ndjson a.curt").status(1).stderr("");
    let mut lines = output.stdout_str().lines();
    for expected in
        ["a.ndjson:1: ok", "a.ndjson:2: ok", "a.jsonl:1: ok", "a.jsonl:2: ok", "pretty.ndjson: ok"]
    {
        assert_eq!(lines.next(), Some(expected));
    }
    let last = lines.next().unwrap();
    assert!(
        last.starts_with("a.curt: not JSON at byte ") && last.ends_with("expected nothing more, found '{'"),
        "{last}"
    );
}

#[test]
fn trouble_is_told_on_stderr_and_beats_invalid() {
    let dir = Dir::new("check-trouble");
    dir.write("bad.curt", "{}");
    dir.write("good.curt", GOOD);
    let output = sh(&dir, "curt-check gone.curt bad.curt . good.curt").status(2);
    assert!(output.stdout_str().starts_with("bad.curt: wrong magic: "), "{output:?}");
    output.stderr(concat!(
        "curt-check: gone.curt: No such file or directory\n",
        "curt-check: .: Is a directory; try find DIR -name '*.curt' -print0 | curt-check --files0-from -\n",
    ));
    sh(&dir, "curt-check -q bad.curt").status(1).stdout("").stderr("");
    sh(&dir, "curt-check -q good.curt").ok().stdout("");
    sh(&dir, "curt-check -qv good.curt").ok().stdout("");
}

#[test]
fn the_hint_for_a_directory_works() {
    let dir = Dir::new("check-hint");
    dir.write("x/a b.curt", GOOD);
    dir.write("x/y/bad.curt", "[]");
    let hint = sh(&dir, "curt-check x").status(2).stderr;
    let (_, hint) = hint.trim_end().split_once("; try ").unwrap();
    let output = sh(&dir, &hint.replace("DIR", "x")).status(1).stderr("");
    output.stdout("x/y/bad.curt: not a .curt body: expected an object, found an array\n");
}

#[test]
fn a_line_that_is_too_long_does_not_hide_the_next() {
    let long = GOOD.replace("hi", &"x".repeat(100_000));
    let stdin = format!("{long}\n{GOOD}\n{long}\n{{}}\n");
    let output = check(&["-v", "--max-bytes=1K"], stdin).status(1);
    let told: Vec<_> = output.stdout_str().lines().collect();
    assert_eq!(
        told[..3],
        ["-:1: too large: more than 1024 bytes", "-:2: ok", "-:3: too large: more than 1024 bytes"]
    );
    assert!(told[3].starts_with("-:4: wrong magic"));
}

#[test]
fn one_body_through_a_pipe_needs_no_memory_of_its_size() {
    // 200 MB on one line under a limit of 50 MB for everything the process maps.
    let dir = Dir::new("check-memory");
    let head = GOOD.replace("hi\",\"timestamp\":1}]}}", "");
    let script = format!(
        "{{ printf '%s' '{head}'; head -c 200000000 /dev/zero | tr '\\0' x; printf '%s' '\",\"timestamp\":1}}]}}}}'; }} | \
         (ulimit -v 50000; curt-check -v)"
    );
    sh(&dir, &script).ok().stdout("-:1: ok\n");
}

#[test]
fn a_body_of_any_depth_is_judged() {
    let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    check(&[], GOOD.replacen('{', &format!("{{\"x\":{deep},"), 1)).ok().stdout("");
}

/// Run a script of `tests/oracle` under node on lines.
pub fn node(script: &str, lines: &str) -> Vec<String> {
    let script = data("../oracle").join(script);
    let spawned = Command::new("node").arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = spawned.expect("node, the reference's own parser; tests/run installs it");
    let mut stdin = child.stdin.take().unwrap();
    let lines = lines.to_owned();
    let feeder = std::thread::spawn(move || stdin.write_all(lines.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}
