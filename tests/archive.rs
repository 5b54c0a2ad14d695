//! The nightly archive: `hermes-dump | curt-pack -o` again and again over a store that grows, by two at
//! once, killed at any moment, on a disk that is full.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use rusqlite::Connection;

use crate::common::{Cmd, Dir, programs, sh};

const NIGHT: &str = "hermes-dump state.db | curt-pack -o archive --summary-json sums";

/// A store with this many sessions of three messages each, one of which is long.
fn store(dir: &Dir, sessions: u32) -> Connection {
    let conn = Connection::open(dir.join("state.db")).unwrap();
    conn.execute_batch(&format!(
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, started_at REAL NOT NULL, title TEXT);
         CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT,
             tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL);
         CREATE INDEX by_session ON messages (session_id, id);
         WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {sessions} - 1)
         INSERT INTO sessions SELECT printf('x_%04d', i), 'cli', i * 10, 'title ' || i FROM n;
         INSERT INTO messages (session_id, role, content, timestamp)
             SELECT id, 'user', hex(zeroblob(20 + 3000 * k)), started_at + k FROM sessions, (SELECT 0 AS k UNION SELECT 1 UNION SELECT 2);"
    ))
    .unwrap();
    conn
}

fn say(conn: &Connection, session: &str, text: &str) {
    let sql =
        "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?1, 'user', ?2, 1000000.0)";
    conn.execute(sql, [session, text]).unwrap();
}

/// Files by name: what a night may change of them.
fn files(dir: &Dir) -> BTreeMap<String, (u64, i64, i64, Vec<u8>)> {
    let entries = fs::read_dir(dir.join("archive")).unwrap().map(|entry| entry.unwrap().path());
    let file = |path: std::path::PathBuf| {
        let meta = fs::metadata(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, (meta.ino(), meta.mtime(), meta.mtime_nsec(), fs::read(path).unwrap()))
    };
    entries.map(file).collect()
}

fn sums(dir: &Dir) -> [u64; 4] {
    let sums: serde_json::Value = serde_json::from_slice(&dir.read("sums")).unwrap();
    ["converted", "updated", "unchanged", "failed"].map(|name| sums[name].as_u64().unwrap())
}

#[test]
fn a_night_renews_what_grew_and_leaves_the_rest_alone() {
    let dir = Dir::new("archive");
    let conn = store(&dir, 40);
    sh(&dir, NIGHT).ok();
    assert_eq!(sums(&dir), [40, 0, 0, 0]);
    let first = files(&dir);

    say(&conn, "x_0003", "goes on");
    conn.execute_batch("UPDATE sessions SET title = 'another title' WHERE id = 'x_0007'").unwrap();
    conn.execute_batch("INSERT INTO sessions VALUES ('x_new', 'cli', 500000.0, 'new')").unwrap();
    say(&conn, "x_new", "hello");
    sh(&dir, NIGHT).ok();
    assert_eq!(sums(&dir), [1, 2, 38, 0]);
    let second = files(&dir);
    let changed: BTreeSet<&str> = second
        .iter()
        .filter(|(name, file)| first.get(*name) != Some(file))
        .map(|(name, _)| name.as_str())
        .collect();
    let expected =
        ["1970-01-01 title-3 0003.curt", "1970-01-01 title-7 0007.curt", "1970-01-06 new new.curt"];
    assert_eq!(changed.into_iter().collect::<Vec<_>>(), expected);
    assert_eq!(second.len(), 41, "no copy");
    assert!(String::from_utf8_lossy(&second[expected[1]].3).contains("another title"));
    sh(&dir, "curt-check archive/*.curt").ok();
}

#[test]
fn two_nights_at_once_make_one_archive() {
    for _ in 0..3 {
        let dir = Dir::new("archive");
        let conn = store(&dir, 60);
        let both = "for n in 1 2; do (hermes-dump state.db | curt-pack -o archive; echo $? >done$n) & done; wait; cat done1 done2";
        sh(&dir, both).ok().stdout("0\n0\n");
        let first = files(&dir);
        assert_eq!(first.len(), 60);
        (0..30).for_each(|n| say(&conn, &format!("x_{n:04}"), "more"));
        sh(&dir, both).ok().stdout("0\n0\n");
        let second = files(&dir);
        assert!(second.keys().eq(first.keys()));
        sh(&dir, &format!("curt-check archive/*.curt && {NIGHT}")).ok();
        assert_eq!(sums(&dir), [0, 0, 60, 0]);
    }
}

/// Killed at moments spread over a run, by a generator of no quality. `KILLS` of them.
#[test]
fn kill_9_leaves_whole_files_alone() {
    let kills: u64 = std::env::var("KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(30);
    let dir = Dir::new("archive");
    let conn = store(&dir, 120);
    sh(&dir, "hermes-dump state.db >rows").ok();
    let old = dir.read("rows");
    let begun = std::time::Instant::now();
    sh(&dir, "curt-pack -o whole rows").ok();
    let mut long = begun.elapsed().as_micros() as u64;
    (0..120).for_each(|n| say(&conn, &format!("x_{n:04}"), "more"));
    sh(&dir, "hermes-dump state.db >new && curt-pack -o new-whole new").ok();
    let told = |folder: &str| -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(dir.join(folder)).unwrap().map(|entry| entry.unwrap());
        entries.map(|e| (e.file_name().into_string().unwrap(), fs::read(e.path()).unwrap())).collect()
    };
    let (before, after) = (told("whole"), told("new-whole"));
    let (mut seed, mut torn, mut killed) = (9_u64, 0, 0);
    for kill in 0..kills {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Every other run goes over an archive that is there.
        let _ = fs::remove_dir_all(dir.join("archive"));
        match kill % 2 {
            1 => drop(sh(&dir, "cp -r whole archive").ok()),
            // A run that is killed at once makes no folder.
            _ => fs::create_dir(dir.join("archive")).unwrap(),
        }
        let mut run = Command::new(programs().join("curt-pack"))
            .args(["-o", "archive", "new"])
            .current_dir(&dir)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros((seed >> 33) % (long + long / 4)));
        run.kill().unwrap();
        match run.wait().unwrap().code() {
            None => killed += 1,
            // A machine that was busy with another test when we measured is quicker now.
            Some(_) => long = (long * 3 / 4).max(1000),
        }
        for (name, bytes) in told("archive").into_iter().filter(|(name, _)| !name.starts_with('.')) {
            let is_whole = [&before, &after].iter().any(|whole| whole.get(&name) == Some(&bytes));
            torn += usize::from(!is_whole);
        }
        if kill % 8 == 0 {
            sh(&dir, "curt-pack -o archive new").ok();
            let mut there = told("archive");
            // One that was killed before it had its lock cannot be told from one being made.
            there.retain(|name, bytes| !(name.starts_with('.') && bytes.is_empty()));
            assert!(there == after, "the next run mends everything");
        }
    }
    assert_eq!(torn, 0);
    assert!(killed > kills / 3 && old.len() > 100_000, "{killed} of {kills} were killed");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_once_and_leaves_the_old_files() {
    let dir = Dir::new("archive");
    let conn = store(&dir, 30);
    // A file system of our own where we may mount one, in a name space that ends with its shell.
    let full = |script: &str| format!("mount -t tmpfs -o size=200k none archive && {{ {script}; }}");
    let own = ["--user", "--map-root-user", "--mount", "bash", "-c"];
    let mounts = Cmd::any("unshare").args(own).arg("mount -t tmpfs none /mnt").run().status == Some(0);
    if mounts {
        fs::create_dir(dir.join("archive")).unwrap();
        let programs = programs().display();
        let script = full(&format!(
            "PATH={programs}:$PATH; hermes-dump state.db >rows; curt-pack -o archive rows; echo $?; ls archive | wc -l; \
             curt-check archive/*.curt; echo $?; ls -A archive | grep -c '^[.]'"
        ));
        let output = Cmd::any("unshare").args(own).arg(script).dir(&dir).run();
        let lines: Vec<&str> = output.stdout_str().lines().collect();
        assert_eq!((lines[0], lines[2], lines[3]), ("2", "0", "0"), "{output:?}");
        assert!((1..30).contains(&lines[1].parse::<u32>().unwrap()), "{output:?}");
        assert_eq!(output.stderr.lines().count(), 1, "{output:?}");
        assert!(output.stderr.ends_with("No space left on device\n"), "{output:?}");
        return;
    }
    // Else what every machine has: files of a kilobyte and no more.
    sh(&dir, NIGHT).ok();
    let before = files(&dir);
    (0..30).for_each(|n| say(&conn, &format!("x_{n:04}"), "more"));
    let output = sh(&dir, "hermes-dump state.db >rows; trap '' XFSZ; ulimit -f 1; curt-pack -o archive rows")
        .status(2);
    assert!(output.stderr.lines().all(|line| line.ends_with("File too large")), "{output:?}");
    assert!(files(&dir) == before);
}
