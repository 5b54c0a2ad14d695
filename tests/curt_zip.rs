//! curt-zip: what Python's zipfile finds in its zips, the same bytes each time, and the file that is
//! replaced whole or not at all.

use super::common::{Cmd, Dir, Output2, programs, sh};
use super::curt_check::GOOD;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

/// A body of this id, an hour after the epoch.
fn body(id: &str) -> String {
    GOOD.replace("c_001", id).replace("\"updatedAt\":1", "\"updatedAt\":3600000")
}

/// The lines of tests/oracle/unzip.py about a zip; its files land in `dir`.
#[track_caller]
fn unzip(dir: &Dir, zip: &str) -> Vec<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/unzip.py");
    let _ = fs::create_dir(dir.join("unzipped"));
    let output = Cmd::any("python3").arg(script).args([zip, "unzipped"]).dir(dir).run().ok();
    output.stdout_str().lines().map(str::to_owned).collect()
}

fn names(dir: &Dir, zip: &str) -> Vec<String> {
    unzip(dir, zip).iter().map(|line| line.splitn(4, ' ').nth(3).unwrap().to_owned()).collect()
}

fn zip(dir: &Dir, args: &str) -> Output2 {
    sh(dir, &format!("curt-zip {args}"))
}

#[test]
fn entries_are_named_by_the_convention_and_hold_the_bytes_of_the_files() {
    let dir = Dir::new("zip");
    let files = [body("a_1"), body("b_1").replace(',', ",\n "), format!("\u{feff}{}", body("x_../\\\\é"))];
    for (n, file) in files.iter().enumerate() {
        dir.write(format!("{n}.curt"), file);
    }
    zip(&dir, "out.zip 0.curt 1.curt 2.curt").ok().stdout("");
    let stem = "2025-10-09 fixture-conversation";
    // 1980 is where the time of a zip begins.
    let line = |name: &str| format!("100600 1980-01-01 00:00:00 {stem} {name}.curt");
    assert_eq!(unzip(&dir, "out.zip"), ["1", "1-2", "..--é"].map(line));
    for (name, file) in ["1", "1-2", "..--é"].iter().zip(&files) {
        let unpacked = dir.read(format!("unzipped/{stem} {name}.curt"));
        assert_eq!(String::from_utf8(unpacked).unwrap(), file.trim_start_matches('\u{feff}'));
    }
    let mode = fs::metadata(dir.join("out.zip")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    sh(&dir, "curt-cat *.curt > a && curt-cat out.zip | cmp - a").ok();
    sh(&dir, "curt-name --safe --unique 0.curt 1.curt > a && curt-name --safe --unique out.zip | head -n 2 | cmp - a").ok();
}

#[test]
fn the_time_of_an_entry_is_that_of_its_conversation() {
    let dir = Dir::new("zip-times");
    for (n, (ms, _)) in TIMES.iter().enumerate() {
        dir.write(format!("{n}.curt"), body(&format!("x_{n}")).replace("3600000", ms));
    }
    zip(&dir, "out.zip *.curt").ok();
    for (line, (ms, time)) in unzip(&dir, "out.zip").iter().zip(TIMES) {
        assert!(line.starts_with(&format!("100600 {time} ")), "{ms}: {line}");
    }
}

/// In milliseconds, and as a zip can hold it: even seconds from 1980 to 2107.
const TIMES: [(&str, &str); 5] = [
    ("1759968004999.5", "2025-10-09 00:00:04"),
    ("-1e400", "1980-01-01 00:00:00"),
    ("1e400", "2107-12-31 00:00:00"),
    ("-5", "1980-01-01 00:00:00"),
    ("315532800000", "1980-01-01 00:00:00"),
];

#[test]
fn lines_and_entries_go_in_as_the_files_they_would_be() {
    let dir = Dir::new("zip-lines");
    let lines = [body("a_1"), body("b_2")].map(|body| body + "\n");
    zip(&dir, &format!("out.zip <<'E'\n{}E", lines.concat())).ok();
    sh(&dir, "mkdir files").ok();
    dir.write("lines.ndjson", lines.concat());
    sh(&dir, "curt-cat -o files lines.ndjson").ok();
    unzip(&dir, "out.zip");
    sh(&dir, "diff -r files unzipped").ok();
    // A zip of a zip's entries, and of a list of files, is that zip.
    zip(&dir, "again.zip out.zip && cmp out.zip again.zip").ok();
    zip(&dir, "again.zip < out.zip && cmp out.zip again.zip").ok();
    sh(
        &dir,
        "find files -type f -print0 | sort -z | curt-zip --files0-from=- again.zip && cmp out.zip again.zip",
    )
    .ok();
}

#[test]
fn the_same_bodies_give_the_same_bytes_wherever_and_whenever() {
    let dir = Dir::new("zip-same");
    dir.write("a.curt", body("a_1"));
    dir.write("b.curt", body("b_2"));
    zip(&dir, "one.zip a.curt b.curt").ok();
    sh(&dir, "touch -d 2001-02-03 a.curt; chmod 644 b.curt; umask 077").ok();
    sh(&dir, "TZ=Asia/Tokyo LC_ALL=tr_TR.UTF-8 HOME=/nonexistent curt-zip two.zip ./a.curt ./b.curt && cmp one.zip two.zip").ok();
    let before = fs::metadata(dir.join("one.zip")).unwrap();
    zip(&dir, "one.zip a.curt b.curt").ok();
    let after = fs::metadata(dir.join("one.zip")).unwrap();
    assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()), "left alone");
    zip(&dir, "one.zip b.curt a.curt").ok();
    assert_ne!(fs::metadata(dir.join("one.zip")).unwrap().ino(), before.ino(), "another order, another zip");
}

#[test]
fn two_states_of_a_conversation_go_in_both_and_one_state_once() {
    let dir = Dir::new("zip-twice");
    dir.write("a.curt", body("a_1"));
    dir.write("b.curt", body("a_1"));
    dir.write("c.curt", body("a_1").replace("hi", "ho"));
    let output = zip(&dir, "out.zip a.curt b.curt c.curt").status(0).stdout("");
    output.stderr(
        "curt-zip: b.curt: went in before, byte for byte\n\
         curt-zip: c.curt: another state of its conversation went in before\n",
    );
    let stem = "2025-10-09 fixture-conversation 1";
    assert_eq!(names(&dir, "out.zip"), [format!("{stem}.curt"), format!("{stem}-2.curt")]);
}

#[test]
fn the_valid_ones_go_in_and_a_zip_of_none_is_not_made() {
    let dir = Dir::new("zip-invalid");
    dir.write("good.curt", body("a_1"));
    dir.write("bad.curt", "[]");
    let fault = "bad.curt: not a .curt body: expected an object, found an array\n";
    zip(&dir, "out.zip bad.curt good.curt").status(1).stderr(&format!("curt-zip: {fault}"));
    assert_eq!(names(&dir, "out.zip").len(), 1);
    zip(&dir, "two.zip gone good.curt").status(2);
    assert_eq!(names(&dir, "two.zip").len(), 1);
    let none = zip(&dir, "none.zip bad.curt").status(1);
    none.stderr(&format!("curt-zip: {fault}curt-zip: no valid body, so no zip\n"));
    zip(&dir, "none.zip --max-bytes 9 good.curt").status(1);
    assert!(!dir.join("none.zip").exists());
    zip(&dir, "- good.curt").status(2);
    assert_eq!(dir.names().len(), 5, "{:?}", dir.names());
}

#[test]
fn only_a_zip_is_replaced() {
    let dir = Dir::new("zip-over");
    dir.write("a.curt", body("a_1"));
    let exists = |out: &str| format!("curt-zip: {out}: exists and is another kind of file\n");
    // A slip of the hand: the first file stands where the zip should.
    zip(&dir, "a.curt a.curt").status(2).stderr(&exists("a.curt"));
    assert_eq!(dir.read("a.curt"), body("a_1").into_bytes());
    dir.write("empty", "");
    zip(&dir, "empty a.curt").status(2).stderr(&exists("empty"));
    zip(&dir, "-f empty a.curt").ok();
    assert_eq!(names(&dir, "empty").len(), 1);
    dir.write("real.zip", "PK\u{3}\u{4}");
    symlink("real.zip", dir.join("link.zip")).unwrap();
    symlink("nowhere.zip", dir.join("dangling.zip")).unwrap();
    sh(&dir, "mkdir d; mkfifo f").ok();
    for out in ["link.zip", "dangling.zip", "d", "f"] {
        for force in ["", "-f "] {
            let expected = format!("curt-zip: {out}: exists and is no regular file\n");
            zip(&dir, &format!("{force}{out} a.curt")).status(2).stderr(&expected);
        }
    }
    assert!(dir.read("real.zip") == b"PK\x03\x04" && !dir.join("nowhere.zip").exists());
    zip(&dir, "real.zip a.curt").ok();
    assert_eq!(names(&dir, "real.zip").len(), 1);
    let gone = zip(&dir, "gone/out.zip a.curt").status(2);
    gone.stderr("curt-zip: gone: No such file or directory\n");
}

#[test]
fn a_full_disk_leaves_the_old_zip_and_nothing_else() {
    let dir = Dir::new("zip-full");
    let mut dice = super::mutants::Dice(1);
    let noise: String = (0..3 << 20).map(|_| char::from(b'#' + dice.roll(57) as u8)).collect();
    dir.write("a.curt", body("a_1"));
    dir.write("long.curt", GOOD.replace("\"hi\"", &format!("\"{}\"", noise.replace('\\', "~"))));
    zip(&dir, "out.zip a.curt").ok();
    let before = (dir.read("out.zip"), dir.names());
    // Half a MiB of what would be two.
    let full = sh(&dir, "trap '' XFSZ; ulimit -f 512; curt-zip out.zip a.curt long.curt").status(2);
    full.stderr("curt-zip: out.zip: File too large\n");
    let killed = sh(&dir, "ulimit -f 512; curt-zip out.zip a.curt long.curt");
    assert!(killed.status != Some(0), "{killed:?}");
    assert!((dir.read("out.zip"), dir.names()) == before);
}

#[test]
fn a_killed_run_leaves_the_old_zip_and_nothing_else() {
    let dir = Dir::new("zip-killed");
    dir.write("a.curt", body("a_1"));
    zip(&dir, "out.zip a.curt").ok();
    let before = (dir.read("out.zip"), dir.names());
    let mut command = Command::new(programs().join("curt-zip"));
    let mut child = command.arg("out.zip").current_dir(&dir).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // More than a pipe holds: it has taken most of them when all are written.
    for n in 0..10_000 {
        writeln!(stdin, "{}", body(&format!("x_{n}"))).unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!((dir.read("out.zip"), dir.names()) == before);
}

#[test]
fn memory_does_not_follow_a_body() {
    let dir = Dir::new("zip-memory");
    let long = GOOD.replace("\"hi\"", &format!("\"{}\"", "x".repeat(32 << 20)));
    dir.write("long.curt", long);
    sh(&dir, "ulimit -v 32000; curt-zip out.zip long.curt").ok();
    sh(&dir, "ulimit -v 32000; curt-check out.zip").ok();
}

/// What every program does with a name that leads nowhere (tests/edge.rs), behind OUT.
#[test]
fn inputs_are_those_of_every_program() {
    let dir = Dir::new("zip-inputs");
    let missing = "No such file or directory";
    let output = zip(&dir, "out.zip ./gone . $'a\\nb' ''").status(2);
    output.stderr(&format!(
        "curt-zip: ./gone: {missing}\ncurt-zip: .: Is a directory\ncurt-zip: a\\nb: {missing}\n\
         curt-zip: '': {missing}\ncurt-zip: no valid body, so no zip\n"
    ));
    let usage = "Try 'curt-zip --help' for more information.\n";
    zip(&dir, "out.zip - -").status(2).stderr(&format!("curt-zip: -: stdin given twice\n{usage}"));
    let both = "file operands cannot be combined with --files0-from";
    zip(&dir, "--files0-from l out.zip a").status(2).stderr(&format!("curt-zip: a: {both}\n{usage}"));
    assert_eq!(dir.names().len(), 0);
}
