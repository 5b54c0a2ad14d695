//! Zips, wherever bodies are read: by Python's zipfile, and broken in every way. What a program says of an
//! entry is what it says of the same bytes in a file.

use super::common::{Cmd, Dir, Output2, sh};
use super::curt_check::GOOD;
use std::path::Path;
use std::sync::LazyLock;

/// One folder of zips for all tests here; nobody writes into it.
static ZIPS: LazyLock<Dir> = LazyLock::new(|| {
    let dir = Dir::new("zips");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/zips.py");
    Cmd::any("python3").arg(script).arg(dir.path()).stdin(GOOD).run().ok();
    dir
});

/// `curt-check -v` of one zip.
fn check(zip: &str) -> Output2 {
    Cmd::new("curt-check").args(["-v", &format!("{zip}.zip")]).dir(&*ZIPS).run()
}

/// The verdicts on one zip, each `ENTRY: verdict` or ` verdict` on the whole, and the status.
fn verdicts(zip: &str) -> (Vec<String>, Option<i32>) {
    let output = check(zip);
    assert_eq!(output.stderr, "", "{output:?}");
    let prefix = format!("{zip}.zip:");
    let lines = output.stdout_str().lines();
    (lines.map(|line| line.strip_prefix(&prefix).unwrap_or(line).to_owned()).collect(), output.status)
}

#[track_caller]
fn all_good(zip: &str, entries: &[&str]) {
    let expected: Vec<_> = entries.iter().map(|entry| format!("{entry}: ok")).collect();
    assert_eq!(verdicts(zip), (expected, Some(0)), "{zip}");
}

const TWO: [&str; 2] = ["one.curt", "two.curt"];

#[test]
fn every_kind_of_zip_is_read() {
    for zip in ["plain", "stored", "descriptors", "descriptors-stored", "zip64"] {
        all_good(zip, &TWO);
    }
    all_good("folders", &["a/one.curt", "a/b/two.curt"]);
    all_good("empty", &[]);
}

#[test]
fn more_entries_than_the_old_directory_counts() {
    let output = check("many").ok();
    assert_eq!(output.stdout_str().lines().count(), 66_000);
    assert!(output.stdout_str().ends_with("many.zip:65999.curt: ok\n"));
}

#[test]
fn each_entry_is_judged_on_its_own_whatever_its_name() {
    let (lines, status) = verdicts("mixed");
    assert_eq!(status, Some(1));
    let expected = [
        "one.curt: ok",
        "bad.curt: wrong magic: expected curt to be \"curtis-conversation\", found nothing",
        "note.txt: not JSON at byte 0 (line 1, column 1): expected a value, found 'h'",
        "none.curt: not JSON at byte 0 (line 1, column 1): expected a value, found the end",
        "two.curt: ok",
    ];
    assert_eq!(lines, expected);
    let (lines, _) = verdicts("nested");
    let found = "more.zip: not JSON at byte 0 (line 1, column 1): expected a value, found 'P'";
    assert_eq!(lines, ["one.curt: ok", found, "two.curt: ok"]);
    let (lines, _) = verdicts("twice");
    assert_eq!([&*lines[0], &*lines[2]], ["one.curt: ok"; 2]);
    assert!(lines[1].starts_with("one.curt: wrong magic"));
}

#[test]
fn what_cannot_be_unpacked_is_named_and_the_others_are_read() {
    for (zip, reason) in [
        ("encrypted", "encrypted"),
        ("unknown", "compressed by a method that is not known here: 4711"),
        ("checksum", "damaged: wrong checksum"),
        ("flipped", "damaged: wrong checksum"),
        ("shorter", "damaged: longer than the zip says"),
        ("longer", "damaged: shorter than the zip says"),
        ("corrupt", "damaged: corrupt deflate stream"),
    ] {
        let expected = vec![format!("one.curt: {reason}"), "two.curt: ok".to_owned()];
        assert_eq!(verdicts(zip), (expected, Some(1)), "{zip}");
    }
    let lies = "damaged zip: its directory and its entries disagree";
    assert_eq!(verdicts("beyond"), (vec!["one.curt: ok".into(), format!("two.curt: {lies}")], Some(1)));
    let expected = vec!["one.curt: ok".into(), format!(" {lies}")];
    assert_eq!(verdicts("directory"), (expected, Some(1)));
    for zip in ["bzip2", "lzma"] {
        let expected = format!("one.curt: compressed by a method that is not known here: {zip}");
        assert_eq!(verdicts(zip), (vec![expected], Some(1)));
    }
}

#[test]
fn what_only_begins_as_a_zip_is_one_invalid_body() {
    for zip in ["cut", "head"] {
        let expected = " not a whole zip: its directory is missing".to_owned();
        assert_eq!(verdicts(zip), (vec![expected], Some(1)));
    }
    let expected = vec![" damaged zip: its entries overlap".to_owned()];
    assert_eq!(verdicts("overlapping"), (expected, Some(1)));
}

#[test]
fn names_lead_nowhere_and_are_one_line() {
    let (lines, _) = verdicts("names");
    let names: Vec<_> = lines.iter().map(|line| line.split_once(": ").unwrap().0).collect();
    assert_eq!(names, ["../../up.curt", "/etc/root.curt", r"a\nb\u{1b}[2J.curt", "日本.curt"]);
    assert!(verdicts("bytes").0[0].starts_with(r"\x81ne.curt: not JSON"));
    let json = Cmd::new("curt-check").args(["--json", "names.zip"]).dir(&*ZIPS).run().status(1);
    assert!(json.stdout_str().contains(r#"{"file":"names.zip","entry":"a\nb\u001b[2J.curt","valid":false,"#));
}

#[test]
fn a_bomb_is_bounded_by_what_comes_out_of_it() {
    let output = sh(&ZIPS, "ulimit -v 60000; curt-check -v --max-bytes 1M bomb.zip").status(1);
    let too_large = "bomb.zip:bomb.curt: too large: more than 1048576 bytes";
    output.stdout(format!("bomb.zip:one.curt: ok\n{too_large}\nbomb.zip:two.curt: ok\n"));
    // Also where each body is kept.
    let output = sh(&ZIPS, "ulimit -v 60000; curt2cc --max-bytes 1M bomb.zip").status(1);
    output.stderr(&format!("curt2cc: {too_large}\n"));
}

#[test]
fn a_zip_may_come_through_anything() {
    let at = |input: &str| TWO.map(|entry| format!("{input}:{entry}: ok\n")).concat();
    sh(&ZIPS, "curt-check -v < plain.zip").ok().stdout(at("-"));
    sh(&ZIPS, "cat plain.zip | curt-check -v").ok().stdout(at("-"));
    sh(&ZIPS, "cat cut.zip | curt-check -v").status(1);
    // What is left of a file when somebody has read before.
    sh(&ZIPS, "cat one.line plain.zip > behind; (head -c 9 >&2; curt-check -v) < behind")
        .status(0)
        .stdout(at("-"));
    let dir = Dir::new("zip-fifo");
    let zip = ZIPS.join("plain.zip");
    let script = format!(
        "mkfifo f; cat '{0}' > f & curt-check -v f; cp '{0}' x.ndjson; curt-check -v x.ndjson",
        zip.display()
    );
    sh(&dir, &script).ok().stdout(at("f") + &at("x.ndjson"));
}

#[test]
fn every_reader_of_bodies_reads_zips() {
    let dir = Dir::new("zip-readers");
    dir.write("x.curt", GOOD);
    dir.copy_from(ZIPS.join("mixed.zip"));
    let both = |command: &str| {
        let zip = sh(&dir, &format!("{command} mixed.zip")).status(1);
        let files = sh(&dir, &format!("{command} x.curt x.curt")).ok();
        assert_eq!(zip.stdout, files.stdout, "{command}");
        assert!(!files.stdout.is_empty());
        let told: Vec<_> = zip.stderr.lines().map(|line| line.split(": ").nth(1).unwrap()).collect();
        assert_eq!(told, ["mixed.zip:bad.curt", "mixed.zip:note.txt", "mixed.zip:none.curt"], "{command}");
    };
    both("curt-name");
    both("curt2cc");
}
