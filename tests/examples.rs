//! The examples, each run in a directory of its own over the sample store.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::common::{Dir, Output2, sh};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// A directory that has the examples in it, to change them and their sample at will.
fn workshop() -> Dir {
    let dir = Dir::new("examples");
    sh(&dir, &format!("cp -R '{}'/. . && chmod -R u+w .", examples().display())).ok();
    dir
}

/// The conversations of the sample: 8 sessions, of which one has no message.
const FILES: usize = 7;

fn files(dir: &Dir, folder: &str, ending: &str) -> usize {
    let names =
        fs::read_dir(dir.join(folder)).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(ending)).count()
}

#[test]
fn each_is_listed_and_documented() {
    let list = fs::read_to_string(examples().join("README.md")).unwrap();
    for entry in fs::read_dir(examples()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let linked = if name == "sample" { "sample/state.db" } else { &name };
        assert!(name == "README.md" || list.contains(&format!("[{linked}]({linked})")), "{name}");
    }
}

#[test]
fn each_script_is_strict_and_well_formed() {
    let dir = workshop();
    for entry in fs::read_dir(examples()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() || !fs::read_to_string(&path).unwrap().starts_with("#!") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("#!/usr/bin/env bash\n# "), "{path:?}");
        assert!(text.contains("\nset -euo pipefail\n"), "{path:?}");
        sh(&dir, &format!("bash -n '{}'", path.display())).ok();
    }
}

#[test]
fn the_history_of_claude_code_becomes_an_archive() {
    let dir = workshop();
    for (project, session) in
        [("-home-me-a", "22-compact-boundary"), ("-home-me-b", "05-truncated-last-line")]
    {
        let text = fs::read(super::common::data(format!("cc-edge/{session}.jsonl"))).unwrap();
        dir.write(format!("home/.claude/projects/{project}/{session}.jsonl"), text);
    }
    let script = "HOME=$PWD/home bash claude-code.sh";
    let first = sh(&dir, script).status(0);
    assert!(first.stderr.contains("05-truncated-last-line.jsonl:4: not JSON"), "{first:?}");
    let names = ["claude-code/2026-01-01 hello 00000005.curt", "claude-code/2026-01-01 hello 00000022.curt"];
    assert_eq!(first.stdout_str().lines().count(), 2, "{first:?}");
    assert!(names.iter().all(|name| first.stdout_str().contains(name)), "{first:?}");
    let again = sh(&dir, script).status(0);
    assert_eq!(again.stdout_str(), "", "nothing has changed");
}

#[test]
fn archive_makes_files_and_ends_with_their_verdicts() {
    let dir = workshop();
    let output = sh(&dir, "bash archive.sh sample/state.db out").status(0);
    let verdicts: Vec<_> = output.stdout_str().lines().collect();
    let (curt, cc) = verdicts.split_at(FILES);
    assert!(curt.iter().all(|line| line.starts_with("out/curt/2026-1") && line.ends_with(".curt: ok")));
    assert!(cc.iter().all(|line| line.starts_with("out/claude-code/2026-1") && line.contains(".jsonl: ok")));
    assert_eq!(verdicts.len(), 2 * FILES, "{output:?}");
    assert!(output.stderr.contains("curt-pack: converted 7, empty 1, failed 0"), "{output:?}");

    let again = sh(&dir, "bash archive.sh sample/state.db out").status(0);
    assert_eq!(again.stdout_str(), output.stdout_str());
    assert!(again.stderr.contains("unchanged 7"), "{again:?}");
}

/// demo is cargo and archive.sh; CI runs it whole, as the README's first command.
#[test]
fn demo_builds_and_archives_the_sample() {
    let demo = fs::read_to_string(examples().join("demo")).unwrap();
    assert!(demo.contains("\ncargo build --release --locked\n"));
    assert!(demo.contains("archive.sh examples/sample/state.db"));
}

#[test]
fn make_converts_each_store_once() {
    let dir = workshop();
    sh(&dir, "mkdir stores && cp sample/state.db stores/a.db && cp sample/state.db stores/b.db").ok();
    sh(&dir, "make -s -j2").ok().stdout("");
    for store in ["a", "b"] {
        assert_eq!(files(&dir, &format!("out/{store}.curt"), ".curt"), FILES);
        assert_eq!(files(&dir, &format!("out/{store}.claude-code"), ".jsonl"), FILES);
    }
    let mode = sh(&dir, "find out -name '*.rows' -perm /077").ok();
    mode.stdout("");
    sh(&dir, "make").ok().stdout("make: Nothing to be done for 'all'.\n");

    std::thread::sleep(Duration::from_millis(20));
    sh(&dir, "touch stores/b.db").ok();
    let output = sh(&dir, "make").status(0);
    assert!(output.stdout_str().contains("stores/b.db") && !output.stdout_str().contains("stores/a.db"));
}

#[test]
fn bundles_are_made_by_make_and_taken_apart_again() {
    let dir = workshop();
    sh(&dir, "mkdir stores && cp sample/state.db stores/a.db && make -s bundles").ok().stdout("");
    let list = sh(&dir, "bash bundle.sh out/a.zip sessions").ok();
    assert_eq!(list.stdout_str().lines().filter(|line| line.contains(" messages: ")).count(), FILES);
    assert_eq!(files(&dir, "sessions", ".jsonl"), FILES);
    // A bad entry is named, and the rest arrives.
    dir.write("bad.curt", "{}");
    sh(&dir, "python3 -c 'import zipfile; zipfile.ZipFile(\"out/a.zip\", \"a\").write(\"bad.curt\")'").ok();
    let output = sh(&dir, "curt-cat out/a.zip | wc -l; bash bundle.sh out/a.zip again").status(1);
    assert!(output.stdout_str().starts_with(&format!("{FILES}\n")), "{output:?}");
    assert!(output.stderr.contains("curt-cat: out/a.zip:bad.curt: wrong magic"), "{output:?}");
}

#[test]
fn make_leaves_no_target_of_a_step_that_failed() {
    let dir = workshop();
    sh(&dir, "mkdir stores && cp sample/state.db stores/a.db && echo none >stores/b.db").ok();
    let output = sh(&dir, "make -sk").status(2);
    assert!(output.stderr.contains("hermes-dump: stores/b.db: "), "{output:?}");
    assert!(dir.join("out/a.checked").exists());
    assert!(!["rows", "packed", "checked"].iter().any(|step| dir.join(format!("out/b.{step}")).exists()));
}

/// Run the crontab's command as cron does: by sh, with little in the environment.
fn nightly(dir: &Dir) -> Output2 {
    let crontab = fs::read_to_string(examples().join("crontab")).unwrap();
    let line = crontab.lines().find(|line| line.starts_with(|c: char| c.is_ascii_digit())).unwrap();
    let command = line.split_whitespace().skip(5).collect::<Vec<_>>().join(" ");
    assert!(!command.contains('%'), "% is a newline in a crontab");
    let script = r#"programs=$(dirname "$(command -v curt-check)"); mkdir -p .cargo; ln -sfn "$programs" .cargo/bin; "#;
    let cron = format!("{script} exec env -i HOME=\"$PWD\" PATH=/usr/bin:/bin /bin/sh -c '{command}'");
    sh(dir, &cron)
}

fn home() -> Dir {
    let dir = workshop();
    sh(&dir, "mkdir -p .hermes bin && cp sample/state.db .hermes/ && cp nightly.sh bin/").ok();
    dir
}

#[test]
fn the_nightly_run_is_silent_and_repeatable() {
    let dir = home();
    nightly(&dir).ok().stdout("");
    nightly(&dir).ok().stdout("");
    assert_eq!(files(&dir, "archive/curt", ".curt"), FILES);
}

#[test]
fn a_nightly_run_that_fails_says_so() {
    let dir = home();
    dir.write(".hermes/state.db", "no store at all");
    let output = nightly(&dir);
    assert!(output.status != Some(0) && output.stderr.contains("hermes-dump: "), "{output:?}");
}

#[test]
fn a_nightly_run_waits_for_no_other() {
    let dir = home();
    nightly(&dir).ok();
    let script = "exec 8>archive/.lock; flock 8; ! bin/nightly.sh .hermes/state.db archive";
    sh(&dir, script).status(0).stdout("").stderr("nightly.sh: the last run is still going on\n");
}

#[test]
fn check_tree_names_the_bad_ones() {
    let dir = workshop();
    sh(&dir, "bash check-tree.sh .").ok().stdout("");
    sh(&dir, "hermes-dump sample/state.db | curt-pack -o 'a b'; bash check-tree.sh .").ok().stdout("");
    dir.write("a b/c/new\nline.curt", "{}");
    let output = sh(&dir, "bash check-tree.sh .");
    assert_eq!(output.status, Some(123), "{output:?}");
    assert_eq!(output.stdout_str().matches("wrong magic").count(), 1, "{output:?}");
    assert!(output.stdout_str().starts_with("./a b/c/new\\nline.curt: "), "{output:?}");
}

#[test]
fn jq_picks_the_cron_sessions() {
    let dir = workshop();
    sh(&dir, "bash cron-only.sh sample/state.db out").ok().stdout("");
    let names = sh(&dir, "cd out && ls").ok();
    let name = "2026-11-01 important-you-are-running-as-a-scheduled-cron-job 070000";
    names.stdout(format!("{name}-2.curt\n{name}.curt\n"));
}

#[test]
fn parallel_gives_the_same_lines_as_one_process() {
    let dir = workshop();
    let many = "for n in 1 2 3 4 5 6 7 8 9; do set -- \"$@\" sample/state.db; done; hermes-dump \"$@\"";
    sh(&dir, &format!("{many} | curt-pack >one.ndjson")).ok();
    // A block of 4 MB would hold them all: cut the block, not the example.
    sh(&dir, "sed -i 's/4M/10k/; s/\"$1\"/\"$@\"/' parallel.sh && grep -q 10k parallel.sh").ok();
    let script = "for n in 1 2 3 4 5 6 7 8 9; do set -- \"$@\" sample/state.db; done; bash parallel.sh \"$@\" >many.ndjson";
    sh(&dir, script).ok();
    assert!(dir.read("one.ndjson") == dir.read("many.ndjson"));
    assert_eq!(dir.read("one.ndjson").iter().filter(|b| **b == b'\n').count(), 9 * FILES);
}
