//! lake-spool: each event once, whatever happens.

use super::common::{Cmd, Dir, sh};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// An event of session `id`, as lake-scrub gives it, whose hashes the programs renew.
fn event(id: &str, kind: &str, at: u32, message: &str, more: &str) -> String {
    let id = id.replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        "{{\"schema_version\":1,\"event_id\":\"01\",\"emitted_at\":\"2026-11-01T08:00:{at:02}.000Z\",\"fleet_id\":\"f\",\
         \"agent_id\":\"a\",\"runtime\":\"hermes\",\"host_id\":\"h\",\"session_id\":\"{id}\",\"message_id\":\"{message}\",\
         \"event_type\":\"{kind}\",\"content_hash\":\"{EMPTY}\",{more}\"redaction\":{{\"status\":\"clean\"}},\"imported\":true}}\n"
    )
}

fn session(id: &str, prompts: u32, ended: bool) -> String {
    let mut lines = event(id, "session_start", 0, "", "\"content\":\"title\",");
    for n in 1..=prompts {
        lines += &event(id, "prompt", n % 60, &n.to_string(), &format!("\"content\":\"prompt {n}\","));
    }
    if ended {
        let usage = "\"usage\":{\"input_tokens\":7,\"output_tokens\":0,\"cache_read_tokens\":0,\"cache_write_tokens\":0},";
        lines += &event(id, "session_end", prompts % 60, "", usage);
    }
    lines
}

fn spool(dir: &Dir, events: &str) -> super::common::Output2 {
    Cmd::new("lake-spool").args(["-v", "--state"]).arg(dir.join("lake")).stdin(events).run()
}

fn count(path: &Path) -> usize {
    fs::read(path).unwrap().iter().filter(|byte| **byte == b'\n').count()
}

#[test]
fn b09_each_event_is_stored_once_and_a_second_run_changes_no_byte() {
    let dir = Dir::new("spool");
    let events = session("s1", 2, true) + &session("s2", 1, false);
    spool(&dir, &events).status(0);
    let file = dir.join("lake/spool/hermes/s1.ndjson");
    assert_eq!((count(&file), count(&dir.join("lake/spool/hermes/s2.ndjson"))), (4, 2));
    assert!(dir.join("lake/spool/hermes/s1.done").exists());
    assert!(!dir.join("lake/spool/hermes/s2.done").exists());
    let (before, ledger) = (fs::read(&file).unwrap(), dir.read("lake/import/hermes.ledger"));
    assert!(ledger.split(|b| *b == b'\n').all(|line| line.is_empty() || line.len() == 71));
    let again = spool(&dir, &events).status(0);
    assert!(again.stderr.contains(" 0 events added, 6 known"), "{}", again.stderr);
    assert_eq!((fs::read(&file).unwrap(), dir.read("lake/import/hermes.ledger")), (before, ledger));
    assert!(!dir.join("lake/import/hermes.pending").exists());
    // The daemon takes files away: nothing comes again.
    fs::remove_file(&file).unwrap();
    fs::remove_file(dir.join("lake/spool/hermes/s1.done")).unwrap();
    spool(&dir, &events).status(0);
    assert!(!file.exists() && !dir.join("lake/spool/hermes/s1.done").exists());
}

#[test]
fn b11_a_grown_session_adds_only_what_is_new_and_neither_end_nor_usage_again() {
    let dir = Dir::new("spool");
    spool(&dir, &session("s", 2, true)).status(0);
    let titled = session("s", 4, true).replace("\"title\"", "\"another title\"");
    let grown = spool(&dir, &titled).status(0);
    assert!(grown.stderr.contains(" 2 events added, 2 known, 2 repeated"), "{}", grown.stderr);
    let text = String::from_utf8(dir.read("lake/spool/hermes/s.ndjson")).unwrap();
    assert_eq!((text.matches("session_end").count(), text.matches("session_start").count()), (1, 1));
    assert_eq!((text.matches("\"usage\"").count(), text.matches("\"prompt\"").count()), (1, 4));
}

#[test]
fn what_no_scrubber_marked_is_refused_with_its_whole_session() {
    let dir = Dir::new("spool");
    let bad = session("bad", 2, true).replacen("{\"status\":\"clean\"}", "{}", 1);
    let run = spool(&dir, &(bad + "not json\n" + &session("good", 1, false))).status(1);
    assert!(run.stderr.contains("-:1: not scrubbed"), "{}", run.stderr);
    assert!(run.stderr.contains("session bad: left out"), "{}", run.stderr);
    let names: Vec<_> =
        fs::read_dir(dir.join("lake/spool/hermes")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["good.ndjson"]);
    let other = session("s", 1, false).replace("\"hermes\"", "\"../../x\"");
    spool(&dir, &other).status(1);
    assert!(!dir.join("x").exists());
}

#[test]
fn b10_a_full_spool_is_an_error_and_its_events_are_not_in_the_ledger() {
    let dir = Dir::new("spool");
    let run = |cap: &str, events: &str| {
        Cmd::new("lake-spool").args(["--cap", cap, "--state"]).arg(dir.join("lake")).stdin(events).run()
    };
    let first = session("a", 1, false);
    run("1K", &first).status(0);
    let full = run("1K", &session("b", 5, true)).status(2);
    assert!(full.stderr.contains("the spool is full"), "{}", full.stderr);
    assert_eq!(count(&dir.join("lake/import/hermes.ledger")), 3);
    run("0", &session("b", 5, true)).status(0);
    assert_eq!(count(&dir.join("lake/spool/hermes/b.ndjson")), 7);
}

#[test]
fn b22_an_id_that_is_no_file_name_is_encoded_and_stops_nothing() {
    let dir = Dir::new("spool");
    let long = "x".repeat(300);
    let ids = ["../../x", "a/b", "..", ".", "", "a\\b", "a%b", "dots.and-dashes", &long];
    let events: String = ids.iter().map(|id| session(id, 1, true)).collect();
    spool(&dir, &events).status(0);
    let folder = dir.join("lake/spool/hermes");
    let names: BTreeSet<_> =
        fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names.len(), 2 * ids.len(), "{names:?}");
    for name in
        ["%2E.%2F..%2Fx.ndjson", "a%2Fb.done", "a%5Cb.ndjson", "a%25b.ndjson", "dots.and-dashes.ndjson"]
    {
        assert!(names.contains(name), "{name}: {names:?}");
    }
    assert_eq!(dir.names(), ["lake"]);
}

#[test]
fn files_are_private_and_symlinks_are_not_followed() {
    let dir = Dir::new("spool");
    spool(&dir, &session("s", 1, true)).status(0);
    let mode = |name: &str| fs::metadata(dir.join(name)).unwrap().permissions().mode() & 0o777;
    for name in ["lake", "lake/spool", "lake/import", "lake/spool/hermes"] {
        assert_eq!(mode(name), 0o700, "{name}");
    }
    for name in ["lake/spool/hermes/s.ndjson", "lake/spool/hermes/s.done", "lake/import/hermes.ledger"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    symlink(dir.join("elsewhere"), dir.join("lake/spool/hermes/t.ndjson")).unwrap();
    spool(&dir, &session("t", 1, false)).status(2);
    assert!(!dir.join("elsewhere").exists());
    fs::create_dir(dir.join("there")).unwrap();
    symlink(dir.join("there"), dir.join("lake/spool/cursor")).unwrap();
    spool(&dir, &session("t", 1, false).replace("\"hermes\"", "\"cursor\"")).status(2);
    assert_eq!(fs::read_dir(dir.join("there")).unwrap().count(), 0);
}

#[test]
fn b09_a_torn_ledger_line_is_mended_and_glues_to_nothing() {
    let dir = Dir::new("spool");
    spool(&dir, &session("a", 1, false)).status(0);
    let path = dir.join("lake/import/hermes.ledger");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [&whole[..], b"sha256:0123"].concat()).unwrap();
    spool(&dir, &session("b", 1, false)).status(0);
    let lines = String::from_utf8(fs::read(&path).unwrap()).unwrap();
    assert!(lines.lines().all(|line| line.len() == 71) && lines.lines().count() == 6, "{lines}");
    // A whole key without its newline is one.
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let run = spool(&dir, &session("a", 1, false)).status(0);
    assert!(run.stderr.contains(" 0 events added"), "{}", run.stderr);
}

#[test]
fn a_file_of_32_mib_is_put_aside() {
    let dir = Dir::new("spool");
    spool(&dir, &session("s", 1, false)).status(0);
    let path = dir.join("lake/spool/hermes/s.ndjson");
    fs::File::options().write(true).open(&path).unwrap().set_len(32 << 20).unwrap();
    spool(&dir, &session("s", 2, false)).status(0);
    assert_eq!(count(&path), 1);
    let names = fs::read_dir(dir.join("lake/spool/hermes")).unwrap().map(|e| e.unwrap().file_name());
    let aside: Vec<_> = names.filter(|name| name.to_str().unwrap().starts_with("s.ndjson.")).collect();
    assert_eq!(aside.len(), 1);
}

/// Every event of `sessions` sessions is there once, and the ledger has the key of each.
fn agree(dir: &Dir, sessions: u32, each: usize) {
    for n in 0..sessions {
        let text = String::from_utf8(dir.read(format!("lake/spool/hermes/s{n}.ndjson"))).unwrap();
        let lines: BTreeSet<_> = text.lines().collect();
        assert_eq!((text.lines().count(), lines.len()), (each, each), "s{n}");
    }
    assert_eq!(count(&dir.join("lake/import/hermes.ledger")), sessions as usize * (each + 2));
}

#[test]
fn b09_killed_at_any_point_nothing_is_lost_and_nothing_comes_twice() {
    let dir = Dir::new("kill");
    let events: String = (0..20).map(|n| session(&format!("s{n}"), 30, true)).collect();
    let input = dir.write("events", &events);
    let kills: u32 = std::env::var("KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(32);
    let (mut seed, mut killed) = (7_u64, 0);
    let pending = dir.join("lake/import/hermes.pending");
    for round in 0..kills {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut run = Command::new(super::common::programs().join("lake-spool"))
            .arg("--state")
            .arg(dir.join("lake"))
            .arg(&input)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Most of a run is reading: three of four are killed while it stores.
        while round % 4 != 0 && !pending.exists() && run.try_wait().unwrap().is_none() {
            sleep(Duration::from_micros(50));
        }
        sleep(Duration::from_micros((seed >> 33) % 12_000));
        let _ = run.kill();
        killed += u32::from(run.wait().unwrap().code().is_none());
        if round % 4 == 3 {
            spool(&dir, &events).status(0);
            agree(&dir, 20, 32);
            fs::remove_dir_all(dir.join("lake")).unwrap();
        }
    }
    spool(&dir, &events).status(0);
    agree(&dir, 20, 32);
    assert!(killed > kills / 4, "{killed} of {kills} were killed");
}

#[test]
fn b09_whatever_a_step_had_done_it_is_done_to_its_end() {
    // The state at every point: a step's file beside each prefix of what it appends.
    let dir = Dir::new("steps");
    spool(&dir, &session("s0", 2, true)).status(0);
    let lines = dir.read("lake/spool/hermes/s0.ndjson");
    let keys = dir.read("lake/import/hermes.ledger");
    let head = format!("0 1 {} s0.ndjson\n", lines.len());
    let pending = [head.as_bytes(), &lines, b"keys 6\n", &keys].concat();
    for (spooled, recorded) in (0..lines.len())
        .step_by(37)
        .map(|n| (n, 0))
        .chain((0..=keys.len()).step_by(11).map(|n| (lines.len(), n)))
    {
        fs::write(dir.join("lake/import/hermes.pending"), &pending).unwrap();
        fs::write(dir.join("lake/spool/hermes/s0.ndjson"), &lines[..spooled]).unwrap();
        fs::write(dir.join("lake/import/hermes.ledger"), &keys[..recorded]).unwrap();
        let _ = fs::remove_file(dir.join("lake/spool/hermes/s0.done"));
        spool(&dir, &session("s0", 2, true)).status(0);
        assert_eq!(dir.read("lake/spool/hermes/s0.ndjson"), lines, "{spooled} {recorded}");
        let set = |text: &[u8]| text.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect::<BTreeSet<_>>();
        let now = dir.read("lake/import/hermes.ledger");
        assert_eq!((set(&now), now.len()), (set(&keys), keys.len()), "{spooled} {recorded}");
        assert!(dir.join("lake/spool/hermes/s0.done").exists());
    }
}

#[test]
fn b09_two_at_once_store_each_event_once() {
    let dir = Dir::new("two");
    let events: String = (0..40).map(|n| session(&format!("s{n}"), 10, true)).collect();
    dir.write("events", &events);
    sh(&dir, "for n in 1 2 3 4; do lake-spool --state lake events & done; wait").ok();
    agree(&dir, 40, 12);
}

#[test]
fn a_full_disk_is_trouble_and_the_next_run_stores_all() {
    let dir = Dir::new("full");
    let events: String = (0..40).map(|n| session(&format!("s{n}"), 30, true)).collect();
    dir.write("events", &events);
    for blocks in [1, 8, 64, 256, 600] {
        let run = sh(&dir, &format!("trap '' XFSZ; ulimit -f {blocks}; lake-spool --state lake events"));
        assert!(matches!(run.status, Some(0 | 2)), "{blocks}: {:?} {}", run.status, run.stderr);
    }
    spool(&dir, &events).status(0);
    agree(&dir, 40, 32);
}
