//! curt-pack: what becomes of rows, on stdout and in a folder.

use crate::common::{Cmd, Dir};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

/// A row with these cells and one user message.
fn row(id: &str, cells: &str, text: &str) -> String {
    let id = serde_json::to_string(id).unwrap();
    let text = serde_json::to_string(text).unwrap();
    format!(
        r#"{{"runtime":"hermes","id":{id},"started_at":1790000000.0{cells},"messages":[{{"role":"user","content":{text},"timestamp":1790000001.0}}]}}
"#
    )
}

fn pack(dir: &Dir, rows: &str) -> Cmd {
    Cmd::new("curt-pack").args(["-o", "out"]).dir(dir).stdin(rows)
}

fn out_names(dir: &Dir) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir.join("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn counts(dir: &Dir) -> serde_json::Value {
    serde_json::from_slice(&dir.read("counts.json")).unwrap()
}

#[test]
fn lines_on_stdout_are_bodies_that_curt_check_accepts() {
    let dir = Dir::new("pack-lines");
    let rows = row("s_1", "", "one") + "\n" + &row("s_2", "", "two");
    let run = Cmd::new("curt-pack").dir(&dir).stdin(&rows).run().ok();
    assert_eq!(run.stdout_str().lines().count(), 2);
    Cmd::new("curt-check").stdin(&run.stdout).run().ok().stdout("");
}

#[test]
fn files_are_private_named_by_the_convention_and_indented() {
    let dir = Dir::new("pack-files");
    pack(&dir, &row("s_abc", r#","title":"Count Rust lines""#, "x")).run().ok().stdout("");
    assert_eq!(out_names(&dir), ["2026-09-21 count-rust-lines abc.curt"]);
    let file = dir.join("out/2026-09-21 count-rust-lines abc.curt");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(dir.join("out")).unwrap().permissions().mode() & 0o777, 0o700);
    let body = fs::read_to_string(&file).unwrap();
    assert!(body.starts_with("{\n\t\"curt\": \"curtis-conversation\",\n\t\"version\": 1,\n"));
    Cmd::new("curt-pack")
        .arg("--pretty")
        .stdin(row("s_abc", r#","title":"Count Rust lines""#, "x"))
        .run()
        .ok()
        .stdout(&body);
}

#[test]
fn a_second_run_changes_nothing() {
    let dir = Dir::new("pack-again");
    let rows = row("s_1", "", "one") + &row("s_2", "", "two");
    pack(&dir, &rows).run().ok();
    let state = |dir: &Dir| -> Vec<_> {
        let of = |name: &String| fs::metadata(dir.join("out").join(name)).unwrap();
        out_names(dir).iter().map(|name| (of(name).ino(), of(name).mtime_nsec())).collect()
    };
    let before = state(&dir);
    pack(&dir, &rows).args(["--print", "--summary-json", "counts.json"]).run().ok().stdout("");
    assert_eq!(state(&dir), before);
    assert_eq!(counts(&dir)["unchanged"], 2);
    assert_eq!(counts(&dir)["converted"], 0);
}

#[test]
fn a_conversation_whose_title_changed_keeps_its_file() {
    let dir = Dir::new("pack-title");
    pack(&dir, &row("s_1", r#","title":"Before""#, "x")).run().ok();
    let run = pack(&dir, &row("s_1", r#","title":"After""#, "x")).args(["--print", "-0"]).run().ok();
    run.stdout("out/2026-09-21 before 1.curt\0");
    assert_eq!(out_names(&dir), ["2026-09-21 before 1.curt"]);
    assert!(String::from_utf8(dir.read("out/2026-09-21 before 1.curt")).unwrap().contains("\"After\""));
}

#[test]
fn a_later_file_stays_unless_forced() {
    let dir = Dir::new("pack-older");
    let later = row("s_1", r#","ended_at":1790009999.0"#, "x");
    let earlier = row("s_1", r#","ended_at":1790000009.0"#, "x");
    pack(&dir, &later).run().ok();
    let file = dir.join("out/2026-09-21 x 1.curt");
    let before = fs::read(&file).unwrap();
    pack(&dir, &earlier).args(["--summary-json", "counts.json"]).run().ok();
    assert_eq!((counts(&dir)["older"].as_u64(), fs::read(&file).unwrap() == before), (Some(1), true));
    pack(&dir, &earlier).args(["-f", "--summary-json", "counts.json"]).run().ok();
    assert_eq!((counts(&dir)["updated"].as_u64(), fs::read(&file).unwrap() == before), (Some(1), false));
}

#[test]
fn two_cron_sessions_of_one_second_and_title_are_two_files() {
    let dir = Dir::new("pack-cron");
    let rows = row("cron_a_070000", "", "[cron] digest") + &row("cron_b_070000", "", "[cron] digest");
    for _ in 0..2 {
        pack(&dir, &rows).run().ok();
        assert_eq!(
            out_names(&dir),
            ["2026-09-21 cron-digest 070000-2.curt", "2026-09-21 cron-digest 070000.curt"]
        );
    }
}

#[test]
fn no_conversation_is_lost_for_its_id_or_title() {
    let dir = Dir::new("pack-names");
    let rows = row("x_/../../a", "", "x")
        + &row("..", "", "x")
        + &row("", "", "x")
        + &row("e_\u{0}\n\u{1b}", "", "x")
        + &row("t_1", &format!(r#","title":"{}""#, "title ".repeat(2000)), "x")
        + &row(&format!("l_{}", "long".repeat(200)), "", "x");
    pack(&dir, &rows).args(["--summary-json", "counts.json"]).run().ok();
    assert_eq!(counts(&dir)["converted"], 6);
    assert_eq!(out_names(&dir).len(), 6, "{:?}", out_names(&dir));
    assert_eq!(dir.names(), ["counts.json", "out"], "nothing outside the folder");
    assert!(out_names(&dir).iter().all(|name| name.len() <= 255 && !name.contains(char::is_control)));
    pack(&dir, &rows).args(["--summary-json", "counts.json"]).run().ok();
    assert_eq!((counts(&dir)["unchanged"].as_u64(), out_names(&dir).len()), (Some(6), 6));
}

#[test]
fn a_bad_row_is_told_and_the_others_are_packed() {
    let dir = Dir::new("pack-bad");
    let rows = row("s_1", "", "one")
        + "{\"id\":\"s_2\"\n[]\n{\"runtime\":\"other\",\"id\":\"s_3\",\"messages\":[]}\n{\"messages\":[]}\n"
        + &row("s_4", "", "four");
    let run = pack(&dir, &rows).args(["--summary-json", "counts.json"]).run().status(1);
    let lines: Vec<_> = run.stderr.lines().collect();
    assert!(lines[0].starts_with("curt-pack: -:2: ") && lines.len() == 4, "{lines:?}");
    assert_eq!(lines[2], "curt-pack: -:4: rows of runtime 'other' are not known");
    assert_eq!((counts(&dir)["failed"].as_u64(), counts(&dir)["converted"].as_u64()), (Some(4), Some(2)));
}

#[test]
fn an_empty_session_is_counted_and_no_failure() {
    let dir = Dir::new("pack-empty");
    let row = "{\"id\":\"s\",\"messages\":[{\"role\":\"session_meta\"}]}\n";
    pack(&dir, row).args(["-v"]).run().status(0).stderr(
        "curt-pack: converted 0, empty 1, failed 0, roundTripFailures 0, skippedRoles (session_meta 1)\n",
    );
    assert!(out_names(&dir).is_empty());
}

#[test]
fn a_row_beyond_the_bound_is_told_and_passed_over() {
    let rows = row("s_1", "", &"x".repeat(1000)) + &row("s_2", "", "two");
    let run = Cmd::new("curt-pack").args(["--max-bytes", "500"]).stdin(rows).run();
    assert_eq!(run.status, Some(1));
    assert_eq!(run.stderr, "curt-pack: -:1: row longer than 500 bytes\n");
    assert!(run.stdout_str().contains("s_2-1"));
}

#[test]
fn a_large_conversation_is_the_same_on_stdout_and_in_a_file() {
    let dir = Dir::new("pack-large");
    let rows = row("s_1", "", &"large \\ \u{1F980} \"text\" ".repeat(50_000));
    pack(&dir, &rows).run().ok();
    let file = fs::read(dir.join("out").join(&out_names(&dir)[0])).unwrap();
    assert!(file.len() > 1_100_000);
    Cmd::new("curt-pack").arg("--pretty").stdin(&rows).run().ok().stdout(&file);
    assert_eq!(dir.names(), ["out"]);
}

#[test]
fn rows_and_text_are_kept_on_request() {
    let row = r#"{"id":"s","messages":[{"role":"user","content":"{\"b\": 1}"},{"role":"user","content":"gone","active":0,"compacted":0}]}"#;
    let pack = |args: &[&str]| Cmd::new("curt-pack").args(args).stdin(row).run().ok();
    assert!(pack(&[]).stdout_str().contains(r#""content":"{\"b\":1}""#));
    assert!(!pack(&[]).stdout_str().contains("gone"));
    assert!(pack(&["--verbatim"]).stdout_str().contains(r#""content":"{\"b\": 1}""#));
    assert!(pack(&["--all-rows"]).stdout_str().contains("gone"));
}

#[test]
fn a_target_that_is_no_directory_is_trouble() {
    let dir = Dir::new("pack-target");
    dir.write("out", "a file");
    let run = pack(&dir, &row("s_1", "", "x")).run().status(2);
    assert!(run.stderr.starts_with("curt-pack: out: "), "{}", run.stderr);
    let run = Cmd::new("curt-pack").args(["-o", "/proc/none"]).stdin(row("s_1", "", "x")).run().status(2);
    assert!(run.stderr.starts_with("curt-pack: /proc/none: "), "{}", run.stderr);
    Cmd::new("curt-pack").arg("--print").stdin("").run().status(2);
}

#[test]
fn a_summary_goes_to_a_file_and_never_among_records() {
    let dir = Dir::new("pack-summary");
    let run = Cmd::new("curt-pack").args(["--summary-json", "-"]).dir(&dir).stdin("").run().status(2);
    assert!(run.stderr.starts_with("curt-pack: --summary-json takes a file"), "{}", run.stderr);
    assert!(dir.names().is_empty());
    let run = Cmd::new("curt-pack").args(["--summary-json", "/dev/stderr"]).stdin("").run().status(0);
    assert!(run.stderr.starts_with("{\"converted\":0,"), "{}", run.stderr);
}

#[test]
fn messages_hold_no_content() {
    let secret = "DO-NOT-SHOW";
    let rows = row("s_1", r#","title":"DO-NOT-SHOW""#, secret)
        .replace("\"messages\"", "\"messages\":[],\"m\"")
        + &format!("{{\"id\":\"s\",\"messages\":{secret}}}\n");
    let run = Cmd::new("curt-pack").arg("-v").stdin(rows).run();
    assert!(!run.stderr.contains(secret), "{}", run.stderr);
}

#[test]
fn what_is_no_name_is_not_told_as_one() {
    let secret = "what I said";
    let runtime = format!("{{\"runtime\":\"{secret}\",\"id\":\"s\",\"messages\":[]}}\n");
    let columns = row("s_1", &format!(r#","withheld":["cwd","{secret}"],"malformed":["{secret}"]"#), "x");
    let run = Cmd::new("curt-pack").arg("-v").stdin(runtime + &columns).run().status(1);
    assert!(!run.stderr.contains(secret), "{}", run.stderr);
    assert!(run.stderr.contains("rows of this runtime are not known"), "{}", run.stderr);
    assert!(run.stderr.contains("redactedFields (cwd 1, other 1)"), "{}", run.stderr);
}

#[test]
fn output_that_cannot_be_written_is_trouble() {
    let rows = row("s_1", "", "x");
    let run = Cmd::new("curt-pack").stdin(&rows).stdout_to("/dev/full").run().status(2);
    assert_eq!(run.stderr, "curt-pack: write error: No space left on device\n");
    Cmd::new("curt-pack").stdin(&rows).stdout_closed().run().signal(13);
}
