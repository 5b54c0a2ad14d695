//! curt-hermes: the npm tool's command line, and the bytes of the filters it stands for.
//!
//! That a store's files and lines are those of the pipeline, for every store, is in `pipes`.

use std::fs;

use crate::common::{Cmd, Dir, sh};

/// A directory with the store of a real release.
fn workshop() -> Dir {
    let dir = Dir::new("curt-hermes");
    fs::rename(dir.copy("hermes/hermes-v31.db"), dir.join("state.db")).unwrap();
    dir
}

fn names(dir: &Dir, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(dir.join(folder)).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The one line on stderr, without the name of who says it.
#[track_caller]
fn summary(stderr: &str, program: &str) -> String {
    let line = stderr.strip_prefix(program).and_then(|rest| rest.strip_prefix(": "));
    let line = line.unwrap_or_else(|| panic!("{program} did not say: {stderr}"));
    assert!(line.starts_with("converted ") && line.ends_with('\n') && line.lines().count() == 1, "{line}");
    line.to_owned()
}

#[test]
fn picks_are_those_of_the_filters() {
    for (front, filters) in [
        ("--source cron", "hermes-dump --source cron state.db"),
        ("--source cron --source discord", "hermes-dump --source cron --source discord state.db"),
        ("--source nobody", "hermes-dump --source nobody state.db"),
        ("--session 20260921_141320_a1b2c3", "hermes-dump --session 20260921_141320_a1b2c3 state.db"),
        (
            "--session=cron_jobA_20260921_070000 --source=cli",
            "hermes-dump --session=cron_jobA_20260921_070000 --source=cli state.db",
        ),
        ("--sample 0", "hermes-dump state.db | head -n 0"),
        ("--sample 1", "hermes-dump state.db | head -n 1"),
        ("--sample=5", "hermes-dump state.db | head -n 5"),
        ("--sample 1000000", "hermes-dump state.db"),
        ("--sample 2 --source cron", "hermes-dump --source cron state.db | head -n 2"),
    ] {
        let dir = workshop();
        let run = sh(&dir, &format!("curt-hermes state.db -o front {front}")).status(0).stdout("");
        let told =
            sh(&dir, &format!("set +o pipefail; {filters} >rows; curt-pack -v -o curt rows")).status(0);
        assert_eq!(summary(&run.stderr, "curt-hermes"), summary(&told.stderr, "curt-pack"), "{front}");
        sh(&dir, "diff -r curt front").ok().stdout("");
        let lines = sh(&dir, "curt-pack rows").ok().stdout;
        let run = sh(&dir, &format!("curt-hermes {front} --stdout state.db")).status(0).stdout(lines);
        assert_eq!(summary(&run.stderr, "curt-hermes"), summary(&told.stderr, "curt-pack"), "{front}");
    }
}

#[test]
fn one_conversation_on_stdout_is_a_curt_file() {
    let dir = workshop();
    sh(&dir, "curt-hermes state.db --session 20260921_141320_a1b2c3 --stdout >one.curt").status(0);
    sh(&dir, "curt-check -v one.curt").ok().stdout("one.curt: ok\n");
    sh(&dir, "curt-name one.curt").ok().stdout("2026-09-21 count-rust-lines a1b2c3.curt\n");
}

#[test]
fn files_go_into_the_current_directory_unless_told() {
    let dir = workshop();
    sh(&dir, "mkdir here there && cd here && curt-hermes ../state.db && cd ../there && curt-hermes --emit-cc-jsonl ../here")
        .status(0)
        .stdout("");
    sh(&dir, "curt-hermes state.db -o curt && curt-hermes --emit-cc-jsonl curt -o cc").status(0);
    sh(&dir, "diff -r curt here && diff -r cc there").ok().stdout("");
    assert!(names(&dir, "cc").len() > 30);
}

#[test]
fn jsonl_is_made_of_a_folder_a_file_lines_and_stdin() {
    let dir = workshop();
    sh(&dir, "hermes-dump state.db | tee rows | curt-pack -o curt && curt-pack rows >lines.ndjson").ok();
    // Nothing else of the folder is taken.
    sh(&dir, "mkdir curt/sub && echo x | tee curt/notes.txt curt/sub/a.curt >curt/b.CURT").ok();
    for (path, filter) in [
        ("curt", "curt2cc -v -o cc curt/*.curt"),
        ("curt/", "curt2cc -v -o cc curt/*.curt"),
        ("'curt/2026-09-21 count-rust-lines a1b2c3.curt'", "curt2cc -v -o cc curt/*a1b2c3.curt"),
        ("lines.ndjson", "curt2cc -v -o cc lines.ndjson"),
        ("- <lines.ndjson", "curt2cc -v -o cc <lines.ndjson"),
    ] {
        let run = sh(&dir, &format!("curt-hermes -o front --emit-cc-jsonl {path}")).status(0).stdout("");
        let told = sh(&dir, filter).status(0);
        assert_eq!(summary(&run.stderr, "curt-hermes"), summary(&told.stderr, "curt2cc"), "{path}");
        sh(&dir, "diff -r cc front && cc-chain-check --strict front/*.jsonl && rm -r cc front")
            .ok()
            .stdout("");
    }
}

#[test]
fn what_cannot_be_converted_is_told_and_the_rest_is_done() {
    let dir = workshop();
    sh(&dir, "curt-hermes state.db -o curt --sample 2").status(0);
    dir.write("curt/bad.curt", "{}");
    let run = Cmd::new("curt-hermes").args(["--emit-cc-jsonl", "curt", "-o", "cc"]).dir(&dir).run().status(1);
    let (reason, rest) = run.stderr.split_once('\n').unwrap();
    assert!(reason.starts_with("curt-hermes: curt/bad.curt: "), "{}", run.stderr);
    assert!(rest.starts_with("curt-hermes: converted 2, ") && rest.contains("failed 1"), "{rest}");
    assert_eq!(names(&dir, "cc").len(), 2);

    let lines =
        "{}\n".to_owned() + sh(&dir, "curt-hermes state.db --stdout --sample 1").status(0).stdout_str();
    dir.write("lines.ndjson", lines);
    let run = Cmd::new("curt-hermes").args(["--emit-cc-jsonl", "lines.ndjson"]).dir(&dir).run().status(1);
    assert!(run.stderr.starts_with("curt-hermes: lines.ndjson:1: "), "{}", run.stderr);
}

#[test]
fn a_session_that_is_not_there_is_named_and_the_others_are_made() {
    let dir = workshop();
    let args = ["state.db", "-o", "out", "--session", "nope", "--session", "20260921_141320_a1b2c3"];
    let run = Cmd::new("curt-hermes").args(args).dir(&dir).run().status(1).stdout("");
    let (reason, rest) = run.stderr.split_once('\n').unwrap();
    assert_eq!(reason, "curt-hermes: nope: no such session");
    assert_eq!(summary(rest, "curt-hermes").split(',').next(), Some("converted 1"));
    assert_eq!(names(&dir, "out"), ["2026-09-21 count-rust-lines a1b2c3.curt"]);
}

#[test]
fn what_is_no_store_and_no_path_is_trouble_and_makes_nothing() {
    let dir = Dir::new("curt-hermes");
    dir.write("text.db", "no database ".repeat(100));
    for (args, reason) in [
        (["absent.db", "-o", "out"].as_slice(), "absent.db: No such file or directory"),
        (&["text.db", "-o", "out"], "text.db: not an SQLite database"),
        (&[".", "-o", "out"], ".: Is a directory"),
        (&["text.db", "--stdout"], "text.db: not an SQLite database"),
        (&["--emit-cc-jsonl", "absent", "-o", "out"], "absent: No such file or directory"),
    ] {
        let run = Cmd::new("curt-hermes").args(args).dir(&dir).run().status(2).stdout("");
        run.stderr(&format!("curt-hermes: {reason}\n"));
        assert_eq!(dir.names(), ["text.db"]);
    }
}

#[test]
fn contradictions_are_usage_errors() {
    let dir = Dir::new("curt-hermes");
    for args in [
        [].as_slice(),
        &["-o", "out"],
        &["a.db", "b.db"],
        &["a.db", "--emit-cc-jsonl", "curt"],
        &["--emit-cc-jsonl", "curt", "--source", "cli"],
        &["--emit-cc-jsonl", "curt", "--session", "x"],
        &["--emit-cc-jsonl", "curt", "--sample", "1"],
        &["--emit-cc-jsonl", "curt", "--stdout"],
        &["--emit-cc-jsonl"],
        &["a.db", "--stdout", "-o", "out"],
        &["a.db", "--sample", "-1"],
        &["a.db", "--sample", "many"],
        &["a.db", "--sample", ""],
        &["a.db", "--session"],
        &["a.db", "--pretty"],
        &["-"],
    ] {
        let run = Cmd::new("curt-hermes").args(args).dir(&dir).run().status(2).stdout("");
        let (reason, rest) = run.stderr.split_once('\n').unwrap();
        assert!(reason.starts_with("curt-hermes: "), "{run:?}");
        assert_eq!(rest, "Try 'curt-hermes --help' for more information.\n", "{run:?}");
        assert_eq!(dir.names(), [""; 0]);
    }
}

#[test]
fn a_second_run_changes_nothing_and_says_so() {
    let dir = workshop();
    let run = "curt-hermes state.db -o curt && curt-hermes --emit-cc-jsonl curt -o cc";
    sh(&dir, run).status(0);
    let before = sh(&dir, "stat -c '%n %i %Y %Z' curt/* cc/*").ok().stdout;
    let again = sh(&dir, run).status(0);
    let count = names(&dir, "curt").len();
    for line in again.stderr.lines() {
        assert!(line.contains(&format!("unchanged {count}")), "{line}");
    }
    sh(&dir, "stat -c '%n %i %Y %Z' curt/* cc/*").ok().stdout(before);
}

#[test]
fn a_reader_that_goes_ends_it_without_a_word() {
    let dir = workshop();
    Cmd::new("curt-hermes").args(["state.db", "--stdout"]).dir(&dir).stdout_closed().run().signal(13);
}
