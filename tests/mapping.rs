//! Both mappings, held to a second implementation of their rules: `tests/oracle/*.py` read the store
//! themselves and share no line with the programs. Only where a rule leaves a choice do they follow
//! the programs.

use std::fs;
use std::path::{Path, PathBuf};

use super::common::{Cmd, Dir, data, sh};

/// No store's identifying columns may reach any output.
const CANARY: &[u8] = b"CANARY-DO-NOT-LEAK";

fn oracle(script: &str) -> String {
    let path = data("../oracle").join(script);
    format!("python3 -B '{}'", path.display())
}

/// Run a script of the oracle to its end.
fn make(dir: &Dir, script: &str, args: &str) {
    sh(dir, &format!("{} {args}", oracle(script))).ok();
}

/// `state.db` in `dir`, which nothing has opened yet: every body, every count and every transcript is
/// the oracle's.
fn agree(dir: &Dir) {
    // Reading a store the plain way may change it.
    sh(dir, "mkdir private && cp state.db* private/ && hermes-dump state.db >rows").ok();
    for options in ["", "--all-rows --verbatim"] {
        let script = format!(
            "curt-pack {options} --summary-json got.json rows >got.curt
             {mapped} {options} --counts want.json --version {version} private/state.db >want.curt
             {same} curt want.curt got.curt && {same} counts want.json got.json",
            mapped = oracle("hermes_to_curt.py"),
            same = oracle("same.py"),
            version = env!("CARGO_PKG_VERSION"),
        );
        sh(dir, &format!("set -e\n{script}")).ok();
        assert!(!dir.read("got.curt").is_empty());
        same_lines(dir, "got.curt");
        for output in ["rows", "got.curt", "got.json", "got.jsonl"] {
            assert!(memchr::memmem::find(&dir.read(output), CANARY).is_none(), "{output} {options}");
        }
    }
}

/// The transcripts of these `.curt` lines are the oracle's.
fn same_lines(dir: &Dir, bodies: &str) {
    let script = format!(
        "set -e
         curt2cc <{bodies} >got.jsonl
         {emitted} {version} <{bodies} >want.jsonl
         {same} cc want.jsonl got.jsonl",
        emitted = oracle("curt_to_cc.py"),
        same = oracle("same.py"),
        version = env!("CARGO_PKG_VERSION"),
    );
    sh(dir, &script).ok();
}

/// The stores that real releases made.
fn stores() -> Vec<PathBuf> {
    let mut stores: Vec<_> =
        fs::read_dir(data("hermes")).unwrap().map(|entry| entry.unwrap().path()).collect();
    stores.retain(|path| path.extension().is_some_and(|ext| ext == "db"));
    stores.sort();
    assert!(stores.len() >= 6, "{stores:?}");
    stores
}

fn copy(store: &Path, dir: &Dir) {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let part = PathBuf::from(format!("{}{suffix}", store.display()));
        if part.exists() {
            fs::copy(part, dir.join(format!("state.db{suffix}"))).unwrap();
        }
    }
}

#[test]
fn stores_of_real_releases() {
    for store in stores() {
        let dir = Dir::new("mapping");
        copy(&store, &dir);
        println!("{}", store.display());
        agree(&dir);
    }
}

#[test]
fn a_store_of_everything_rare() {
    let dir = Dir::new("mapping");
    make(&dir, "mutate.py", "--seed 20261130 --sessions 80 state.db");
    agree(&dir);
}

#[test]
fn stores_of_real_releases_with_cells_changed() {
    // The oldest and the newest.
    for (seed, store) in ["hermes/hermes-0.13.db", "hermes/hermes-v31.db"].map(data).iter().enumerate() {
        let dir = Dir::new("mapping");
        let base = dir.join("base.db");
        fs::copy(store, &base).unwrap();
        println!("{}", store.display());
        make(&dir, "mutate.py", &format!("--seed {seed} --sessions 5 --base base.db state.db"));
        agree(&dir);
    }
}

#[test]
fn bodies_of_other_writers() {
    let dir = Dir::new("mapping");
    make(&dir, "bodies.py", "--seed 20261130 --bodies 200 >bodies");
    same_lines(&dir, "bodies");
}

/// These transcripts become what the oracle makes of them, by every option.
fn agree_on_transcripts(dir: &Dir, files: &str) {
    for branches in ["newest", "all"] {
        let script = format!(
            "set -e
             cc-dump -q --subagents {files} >rows || test $? = 1
             curt-pack --branches {branches} --summary-json got.json rows >got.curt
             {mapped} --branches {branches} --counts want.json --version {version} {files} >want.curt
             {same} curt want.curt got.curt && {same} counts want.json got.json
             curt-check --quiet <got.curt",
            mapped = oracle("cc_to_curt.py"),
            same = oracle("same.py"),
            version = env!("CARGO_PKG_VERSION"),
        );
        sh(dir, &script).ok();
        assert!(!dir.read("got.curt").is_empty());
    }
}

#[test]
fn transcripts_of_claude_code() {
    let files = super::cc_dump::fixtures();
    let files = files.iter().filter(|file| fs::metadata(file).unwrap().len() > 0);
    // Two of them say that they are of one session.
    let (alone, others): (Vec<_>, Vec<_>) = files.partition(|file| file.ends_with("ccl-dag_resume.jsonl"));
    for files in [alone, others] {
        let names: Vec<_> = files.iter().map(|file| format!("'{}'", file.display())).collect();
        agree_on_transcripts(&Dir::new("mapping"), &names.join(" "));
    }
}

#[test]
fn transcripts_of_everything_rare() {
    let dir = Dir::new("mapping");
    let options = format!("--seed 20261201 --files 150 --out all '{}'/*.jsonl", data("cc").display());
    make(&dir, "mutate_cc.py", &options);
    agree_on_transcripts(&dir, "all/*.jsonl");
}

/// A comparison that can only agree says nothing.
#[test]
fn the_comparison_sees_a_difference() {
    let dir = Dir::new("mapping");
    let body = |title: &str, time: &str| {
        format!(
            r#"{{"curt":"curtis-conversation","version":1,"conversation":{{"id":"a","title":"{title}","createdAt":1,"updatedAt":1,"messages":[{{"id":"a-1","role":"user","content":"x","timestamp":{time}}}]}}}}"#
        )
    };
    let said = |mode: &str, want: &[u8], got: &[u8]| {
        dir.write("want", want);
        dir.write("got", got);
        let run = sh(&dir, &format!("{} {mode} want got", oracle("same.py"))).status(1);
        run.stdout_str().to_owned()
    };
    let want = body("t", "1");
    assert_eq!(
        said("curt", want.as_bytes(), body("u", "1").as_bytes()),
        "1 \"a\" .conversation.title: want \"t\", got \"u\"\n"
    );
    assert!(
        said("curt", want.as_bytes(), body("t", "1.0").as_bytes()).contains("timestamp: want 1, got 1.0")
    );
    let swapped = want.replace(r#""createdAt":1,"updatedAt":1"#, r#""updatedAt":1,"createdAt":1"#);
    assert!(said("curt", want.as_bytes(), swapped.as_bytes()).contains("keys in order"));
    assert!(said("curt", want.as_bytes(), b"").contains("1 lines wanted, 0 given"));
    assert_eq!(said("counts", br#"{"messages":2}"#, br#"{"messages":3}"#), "messages: want 2, got 3\n");
    let lines = Cmd::new("curt2cc").stdin(&want).run().ok().stdout;
    let line = String::from_utf8(lines).unwrap();
    dir.write("bodies", &want);
    same_lines(&dir, "bodies");
    let wanted = dir.read("want.jsonl");
    assert!(said("cc", &wanted, line.replace("-5", "-4").as_bytes()).contains(".uuid"));
    assert!(said("cc", &wanted, line.replace("external", "internal").as_bytes()).contains(".userType"));
}
