//! The documents that other implementations may use: the vectors, held against JavaScript and against our own
//! programs; the schema, by a validator of JSON Schema; the registry of extensions.

use super::common::{Cmd, Dir, sh};
use super::curt_check::{self, GOOD};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use curt_tools::json::raw::Raw;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// One line of vectors/curt-v1.ndjson.
struct Vector {
    name: String,
    body: Vec<u8>,
    accept: bool,
    rule: Option<String>,
    file_name: Option<String>,
}

fn vectors() -> Vec<Vector> {
    let file = fs::read(project("vectors/curt-v1.ndjson")).unwrap();
    assert!(file.is_ascii());
    let lines = file.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let read = |line| {
        let vector = Raw::parse(line).unwrap();
        let text = |key: &str| Some(String::from_utf8(vector.get(key)?.text()?.into_owned()).unwrap());
        let base64 = |text: String| BASE64_STANDARD.decode(text).unwrap();
        Vector {
            name: text("name").unwrap(),
            body: text("body").map(String::into_bytes).or_else(|| text("body_base64").map(base64)).unwrap(),
            accept: vector.get("accept").unwrap().bytes() == b"true",
            rule: text("rule"),
            file_name: text("file_name"),
        }
    };
    lines.map(read).collect()
}

#[test]
fn the_vectors_are_what_their_page_says() {
    let vectors = vectors();
    let page = fs::read_to_string(project("vectors/README.md")).unwrap();
    let names: BTreeSet<_> = vectors.iter().map(|vector| &vector.name).collect();
    assert_eq!(names.len(), vectors.len(), "names are unlike");
    for Vector { name, accept, rule, file_name, .. } in &vectors {
        assert!(*accept == file_name.is_some() && *accept == rule.is_none(), "{name}");
        assert!(rule.as_ref().is_none_or(|rule| page.contains(&format!("`{rule}`"))), "{name}");
    }
    let bodies: BTreeSet<_> = vectors.iter().map(|vector| &vector.body).collect();
    for judged in curt_check::vectors() {
        assert!(bodies.contains(&judged.body), "{}: judged, and not among them", judged.name);
    }
}

#[test]
fn the_vectors_say_what_javascript_says() {
    let judge = |file: &Path| Cmd::any("node").arg(project("vectors/judge.mjs")).arg(file).run();
    let file = project("vectors/curt-v1.ndjson");
    judge(&file).ok().stdout(format!("{} vectors hold\n", vectors().len()));
    // And not what anybody says.
    let text = fs::read_to_string(file).unwrap();
    let dir = Dir::new("vectors");
    for (from, to) in [
        (r#""accept": true"#, r#""accept": false"#),
        ("\"rule\": \"not-json\"", "\"rule\": \"not-utf8\""),
        ("2025-10-09 a-small-talk", "2025-10-10 a-small-talk"),
    ] {
        let changed = dir.write("changed.ndjson", text.replacen(from, to, 1));
        let output = judge(&changed).status(1);
        assert_eq!(output.stdout_str().lines().count(), 1, "{output:?}");
    }
}

#[test]
fn our_programs_say_what_the_vectors_say() {
    let dir = Dir::new("vectors-ours");
    let vectors = vectors();
    let (mut verdicts, mut names) = (Vec::new(), Vec::new());
    for (n, Vector { body, accept, rule, file_name, .. }) in vectors.iter().enumerate() {
        dir.write(format!("{n:03}.curt"), body);
        verdicts.push(format!("{accept} {}", rule.as_deref().unwrap_or("null")));
        names.extend(file_name);
    }
    let output = sh(&dir, "curt-check --json *.curt | jq -r '\"\\(.valid) \\(.rule)\"'").status(1);
    let ours: Vec<_> = output.stdout_str().lines().collect();
    assert_eq!(ours.len(), vectors.len());
    for ((ours, theirs), vector) in ours.iter().zip(&verdicts).zip(&vectors) {
        assert_eq!(ours, theirs, "{}", vector.name);
    }
    let output = sh(&dir, "curt-name -0 *.curt 2>/dev/null").status(1);
    let ours: Vec<_> = output.stdout_str().split_terminator('\0').collect();
    assert_eq!(ours, names);
}

/// Where the validator is, installed when it is not.
fn validator() -> PathBuf {
    let dir = project("target/schema-tools");
    fs::create_dir_all(&dir).unwrap();
    // One process at a time, when each test is one.
    let lock = File::create(dir.join("lock")).unwrap();
    lock.lock().unwrap();
    let setup = Cmd::any("bash").arg(project("tests/schema/setup")).arg(&dir).run();
    assert_eq!(setup.status, Some(0), "the validator cannot be set up:\n{setup:?}");
    dir.join("lib")
}

#[test]
fn the_schema_accepts_what_the_rules_accept_of_what_is_json() {
    let in_its_reach: Vec<_> = vectors()
        .into_iter()
        .filter(|vector| !["not-utf8", "not-json"].contains(&vector.rule.as_deref().unwrap_or_default()))
        .collect();
    assert!(in_its_reach.iter().filter(|vector| !vector.accept).count() > 70);
    let line = |vector: &Vector| {
        let text = vector.body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&vector.body);
        BASE64_STANDARD.encode(text) + "\n"
    };
    let output = Cmd::any("python3")
        .arg(project("tests/schema/validate.py"))
        .arg(project("schema/curt-v1.schema.json"))
        .env("PYTHONPATH", validator())
        .stdin(in_its_reach.iter().map(line).collect::<String>())
        .run()
        .status(0);
    let told: Vec<_> = output.stdout_str().lines().collect();
    assert_eq!(told.len(), in_its_reach.len(), "{}", output.stderr);
    for (told, vector) in told.iter().zip(&in_its_reach) {
        assert_eq!(*told == "valid", vector.accept, "{}", vector.name);
    }
}

#[test]
fn the_registry_is_what_curt_check_warns_by() {
    let page = fs::read_to_string(project("man/curt-extensions.7")).unwrap();
    let entries: Vec<_> = page.lines().filter_map(|line| line.strip_prefix(".It Sy ")).collect();
    assert_eq!(entries, ["usage-metadata Pq stable", "tool-linkage Pq draft", "images-inline"]);
    let warned = |extension: &str| {
        let body = GOOD.replace("\"version\":1", &format!("\"version\":1,\"extensions\":[\"{extension}\"]"));
        let output = Cmd::new("curt-check").args(["--json", "--lint"]).stdin(body).run().ok();
        let said = output.stdout_str();
        ["draft-extension", "unknown-extension"].map(|rule| said.contains(rule))
    };
    assert_eq!(warned("usage-metadata"), [false, false]);
    assert_eq!(warned("tool-linkage"), [true, false]);
    assert_eq!(warned("images-inline"), [false, false]);
    assert_eq!(warned("x"), [false, true]);
}
