//! hermes-dump, run over stores that real releases made and over stores made to trip it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use curt_tools::hermes::session::{Cell, Session};
use curt_tools::json::raw::Raw;
use curt_tools::json::write::{Layout, Writer};
use rusqlite::{Connection, params};

use crate::common::{Cmd, Dir, Output2, data, sh};

const STORES: [&str; 6] = [
    "hermes-0.13.db",
    "hermes-0.16.db",
    "hermes-v22.db",
    "hermes-v22-wal.db",
    "hermes-v22-hot.db",
    "hermes-v31.db",
];

/// A fixture with its sidecars, in a directory of its own.
fn fixture(name: &str) -> (Dir, PathBuf) {
    let dir = Dir::new("hermes-dump");
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let part = format!("hermes/{name}{suffix}");
        if data(&part).exists() {
            dir.copy(&part);
        }
    }
    let path = dir.join(name);
    (dir, path)
}

/// The fixture opened by plain SQLite, which recovers what it has to; on a copy of its own.
fn plainly(name: &str) -> (Dir, Connection) {
    let (dir, path) = fixture(name);
    let conn = Connection::open(path).unwrap();
    (dir, conn)
}

fn dump(args: &[&OsStr]) -> Output2 {
    Cmd::new("hermes-dump").args(args).run()
}

fn lines(output: &Output2) -> Vec<&[u8]> {
    let text = output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout);
    if text.is_empty() { Vec::new() } else { text.split(|b| *b == b'\n').collect() }
}

fn ids(output: &Output2) -> Vec<String> {
    let id = |line: &&[u8]| {
        let id = Raw::parse(line).unwrap().get("id").unwrap();
        String::from_utf8_lossy(&id.text().unwrap()).into_owned()
    };
    lines(output).iter().map(id).collect()
}

fn strings(conn: &Connection, sql: &str) -> Vec<String> {
    let mut statement = conn.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// A store with the columns that every release has, and what `sql` adds.
fn store(dir: &Dir, name: impl AsRef<Path>, sql: &str) -> PathBuf {
    let path = dir.join(name);
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(
        "CREATE TABLE schema_version (version INTEGER NOT NULL);
         CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, started_at REAL NOT NULL, ended_at REAL);
         CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL,
             content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL);
         CREATE INDEX idx_messages_session ON messages(session_id, timestamp);",
    )
    .unwrap();
    conn.execute_batch(sql).unwrap();
    path
}

const TWO_SESSIONS: &str = "INSERT INTO sessions VALUES ('a', 'cli', 1000.0, 2000.0), ('b', 'cron', 1500.0, NULL);
     INSERT INTO messages (session_id, role, content, timestamp) VALUES ('a', 'user', 'hi', 1001.0), ('b', 'user', 'ho', 3000.0);";

#[test]
fn every_row_of_every_release_and_each_in_its_place() {
    for name in STORES {
        let (_dir, path) = fixture(name);
        let output = dump(&[path.as_os_str()]).ok();
        let (_dir, conn) = plainly(name);
        assert_eq!(ids(&output), strings(&conn, "SELECT id FROM sessions ORDER BY started_at, id"), "{name}");
        let mut by_session = conn
            .prepare("SELECT id, CAST(content AS BLOB) FROM messages WHERE session_id = ?1 ORDER BY id")
            .unwrap();
        for line in lines(&output) {
            serde_json::from_str::<serde_core::de::IgnoredAny>(std::str::from_utf8(line).unwrap()).unwrap();
            let row = Raw::parse(line).unwrap();
            assert_eq!(row.members().last().unwrap().0.quoted(), Some(b"messages".as_slice()), "{name}");
            let id = String::from_utf8(row.get("id").unwrap().text().unwrap().into_owned()).unwrap();
            let expected: Vec<(i64, Option<Vec<u8>>)> = by_session
                .query_map([&id], |r| Ok((r.get(0)?, r.get(1)?)))
                .unwrap()
                .map(Result::unwrap)
                .collect();
            let session = Session::read(row).unwrap();
            let numbers =
                row.get("messages").unwrap().items().map(|m| m.get("id").unwrap().integer().unwrap());
            let contents = session.messages().map(|m| m.content().map(Cell::text).map(|c| c.into_owned()));
            assert_eq!(numbers.zip(contents).collect::<Vec<_>>(), expected, "{name} {id}");
        }
    }
}

#[test]
fn contents_are_what_hermes_itself_reads() {
    for (name, read) in
        [("hermes-v22.db", "hermes-v22.real-read.json"), ("hermes-v31.db", "hermes-v31.real-read.json")]
    {
        let (_dir, path) = fixture(name);
        let output = dump(&[path.as_os_str()]).ok();
        let oracle = fs::read(data(format!("hermes/{read}"))).unwrap();
        let oracle = Raw::parse_python(&oracle).unwrap();
        let mut compared = 0;
        for line in lines(&output) {
            let row = Raw::parse(line).unwrap();
            let id = row.get("id").unwrap().text().unwrap();
            let theirs = oracle.get(std::str::from_utf8(&id).unwrap()).unwrap();
            // Python cannot read one session at all: bytes that are no UTF-8.
            if theirs.is_string() {
                continue;
            }
            let ours: Vec<Raw> = row.get("messages").unwrap().items().collect();
            let theirs: Vec<Raw> = theirs.items().collect();
            assert_eq!(ours.len(), theirs.len());
            for (ours, theirs) in ours.into_iter().zip(theirs) {
                assert_same_message(ours, theirs);
                compared += 1;
            }
        }
        assert!(compared > 200, "{name}: {compared}");
    }
}

/// Each field that Hermes reads stands in our message with the same meaning, or is named as withheld.
fn assert_same_message(ours: Raw, theirs: Raw) {
    let withheld: Vec<String> = ours.get("withheld").into_iter().flat_map(Raw::items).map(text).collect();
    for (key, expected) in theirs.members() {
        let key = String::from_utf8(key.quoted().unwrap().to_vec()).unwrap();
        let Some(value) = ours.get(&key) else {
            assert!(withheld.contains(&key), "{key} is missing: {}", show(theirs));
            continue;
        };
        let is_same = match (key.as_str(), expected.is_string()) {
            // Python read a BLOB; the oracle spells it in hex.
            ("content", false) if value.get("base64").is_some() => {
                let bytes = Session::read(wrapped(ours))
                    .unwrap()
                    .messages()
                    .next()
                    .unwrap()
                    .content()
                    .unwrap()
                    .text()
                    .into_owned();
                text(expected.get("bytes").unwrap())
                    == bytes.iter().map(|b| format!("{b:02x}")).collect::<String>()
            }
            // Hermes decodes what stands behind its sentinel.
            ("content", _) if text(value).starts_with("\0json:") => {
                let value = text(value);
                match Raw::parse_python(&value.as_bytes()["\0json:".len()..]) {
                    Ok(payload) if payload.is_string() => text(payload) == text(expected),
                    Ok(payload) => show(payload) == show(expected),
                    Err(_) => value == text(expected),
                }
            }
            // Not JSON: as Python reads it, or nothing where Python cannot read it either.
            ("tool_calls", false) if value.is_string() => {
                let said = Raw::parse_python(text(value).leak().as_bytes()).map_or("[]".to_owned(), show);
                said == show(expected)
            }
            ("tool_calls", _) => show(value) == show(expected),
            ("_compressed_summary", _) => (value.number() == Some(1.0)) == (show(expected) == "true"),
            (_, true) => text(value) == text(expected),
            (_, false) => value.number() == expected.number(),
        };
        assert!(is_same, "{key}: {} is not {}", show(value), show(expected));
    }
    // And nothing but what Hermes leaves out as empty.
    for (key, value) in ours.members() {
        let key = String::from_utf8(key.quoted().unwrap().to_vec()).unwrap();
        let is_ours = ["withheld", "malformed", "model_only"].contains(&key.as_str());
        assert!(
            is_ours || theirs.get(&key).is_some() || value.number() == Some(0.0),
            "{key}: {}",
            show(theirs)
        );
    }
}

/// A session row with this message alone, for its reader.
fn wrapped(message: Raw<'_>) -> Raw<'static> {
    let row = [br#"{"id":"","messages":["#, message.bytes(), b"]}"].concat();
    Raw::parse(row.leak()).unwrap()
}

fn text(value: Raw) -> String {
    let bytes = value.text().unwrap_or_else(|| panic!("no string: {}", show(value)));
    // Lone surrogates are shown, so that they differ from U+FFFD.
    let shown = |chunk: std::str::Utf8Chunk| match chunk.invalid() {
        [] => chunk.valid().to_owned(),
        bytes => format!("{}\\{bytes:x?}", chunk.valid()),
    };
    bytes.utf8_chunks().map(shown).collect()
}

fn show(value: Raw) -> String {
    let mut out = Vec::new();
    Writer::new(&mut out, Layout::Line).raw(value);
    String::from_utf8(out).unwrap()
}

#[test]
fn no_output_holds_what_is_withheld() {
    for name in STORES {
        for mode in [[].as_slice(), &["--immutable"], &["--copy"], &["-v"], &["--since", "2001-01-01"]] {
            let (_dir, path) = fixture(name);
            let output = Cmd::new("hermes-dump").args(mode).arg(&path).run();
            // A hot journal or a WAL makes little sense of an immutable store: it may fail, not leak.
            assert!(mode == ["--immutable"] || output.status == Some(0), "{output:?}");
            assert!(memchr::memmem::find(&output.stdout, b"CANARY").is_none(), "{name} {mode:?}");
            assert!(!output.stderr.contains("CANARY"), "{name} {mode:?}");
        }
    }
    // The canary is there to be found.
    let bytes = fs::read(data("hermes/hermes-v31.db")).unwrap();
    assert!(memchr::memmem::find(&bytes, b"CANARY-DO-NOT-LEAK").is_some());
}

#[test]
fn withheld_columns_are_named_as_plain_sql_finds_them() {
    let (_dir, path) = fixture("hermes-v31.db");
    let output = dump(&[path.as_os_str()]).ok();
    let (_dir, conn) = plainly("hermes-v31.db");
    for line in lines(&output) {
        let row = Raw::parse(line).unwrap();
        let named: Vec<String> = row.get("withheld").into_iter().flat_map(Raw::items).map(text).collect();
        assert!(named.is_sorted());
        for column in ["user_id", "chat_id", "cwd", "model_config", "parent_session_id", "system_prompt_hash"]
        {
            let sql = format!("SELECT {column} IS NOT NULL FROM sessions WHERE id = ?1");
            let is_there: bool = conn.query_row(&sql, [text(row.get("id").unwrap())], |r| r.get(0)).unwrap();
            assert_eq!(named.iter().any(|name| name == column), is_there, "{column}");
        }
        assert!(!named.iter().any(|name| name == "expiry_finalized"));
    }
}

/// Name, bytes and time of last change of all files there.
fn state(dir: &Dir) -> BTreeMap<String, (Vec<u8>, SystemTime)> {
    let name = |name: &OsStr| name.to_str().unwrap().to_owned();
    let one = |path: PathBuf| (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
    dir.names().into_iter().map(|file| (name(&file), one(dir.join(file)))).collect()
}

#[test]
fn the_store_and_what_lies_beside_it_stay_as_they_are() {
    let temporary = Dir::new("hermes-dump-tmp");
    for name in STORES {
        for mode in [None, Some("--immutable"), Some("--copy")] {
            let (dir, path) = fixture(name);
            let before = state(&dir);
            let output =
                Cmd::new("hermes-dump").args(mode).arg("-v").arg(path).env("TMPDIR", temporary.path()).run();
            assert!(mode == Some("--immutable") || output.status == Some(0), "{output:?}");
            let mut after = state(&dir);
            if mode.is_none() && name == "hermes-v22-wal.db" {
                // The index of a WAL in use is memory shared with its users, in a file.
                let shm = "hermes-v22-wal.db-shm".to_owned();
                after.insert(shm.clone(), before[&shm].clone());
            }
            assert!(before == after, "{name} {mode:?}");
            assert!(temporary.names().is_empty(), "{name} {mode:?}");
        }
    }
}

#[test]
fn sidecars_that_came_without_their_other_half_stay_alone() {
    for (keep, drop, count) in [
        // The index is gone: the WAL counts all the same.
        ("hermes-v22-wal.db-wal", "hermes-v22-wal.db-shm", 41),
        // The WAL is gone: the index means nothing.
        ("hermes-v22-wal.db-shm", "hermes-v22-wal.db-wal", 40),
    ] {
        let (dir, path) = fixture("hermes-v22-wal.db");
        fs::remove_file(dir.join(drop)).unwrap();
        let before = state(&dir);
        let output = dump(&[path.as_os_str()]).ok();
        assert_eq!(lines(&output).len(), count, "{keep}");
        assert!(before == state(&dir), "{keep}");
    }
}

#[test]
fn the_wal_of_an_empty_file_is_not_deleted() {
    let (dir, path) = fixture("hermes-v22-wal.db");
    fs::write(&path, "").unwrap();
    let before = state(&dir);
    let reason = format!("hermes-dump: {}: not an SQLite database\n", path.display());
    dump(&[path.as_os_str()]).status(2).stderr(&reason);
    assert!(before == state(&dir));
}

#[test]
fn immutable_ignores_the_wal() {
    let (_dir, path) = fixture("hermes-v22-wal.db");
    let all = ids(&dump(&[path.as_os_str()]).ok());
    let few = ids(&dump(&[OsStr::new("--immutable"), path.as_os_str()]).ok());
    assert_eq!((all.len(), few.len()), (41, 40));
}

#[test]
fn every_missing_name_is_told_with_the_version_and_the_rest_goes_on() {
    let dir = Dir::new("hermes-dump");
    let good = store(&dir, "good.db", TWO_SESSIONS);
    let old = store(
        &dir,
        "old.db",
        "INSERT INTO schema_version VALUES (12); ALTER TABLE messages DROP COLUMN tool_calls;
         ALTER TABLE messages DROP COLUMN tool_name; ALTER TABLE sessions DROP COLUMN source;",
    );
    let other = dir.join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    let text = dir.write(
        "text.db",
        "no database at all, but longer than the header of one, which has a hundred bytes to it.",
    );
    let short = dir.write("short.db", "x");
    let absent = dir.join("absent.db");
    let output =
        dump(&[&old, &other, &text, &short, &absent, &dir.path().to_owned(), &good].map(|p| p.as_os_str()));
    let expected = format!(
        "hermes-dump: {old}: not a Hermes store this tool can read: sessions lacks source, messages lacks tool_calls, tool_name (schema_version 12)
hermes-dump: {other}: not a Hermes store this tool can read: no table sessions, no table messages (no schema_version)
hermes-dump: {text}: not an SQLite database
hermes-dump: {short}: not an SQLite database
hermes-dump: {absent}: No such file or directory
hermes-dump: {dir}: Is a directory
",
        old = old.display(),
        other = other.display(),
        text = text.display(),
        short = short.display(),
        absent = absent.display(),
        dir = dir.path().display(),
    );
    let output = output.status(2).stderr(&expected);
    assert_eq!(ids(&output), ["a", "b"]);
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let dir = Dir::new("hermes-dump");
    sh(&dir, "mkfifo fifo").ok();
    let output = Cmd::new("hermes-dump").dir(&dir).args(["fifo", "/dev/null"]).run();
    output
        .status(2)
        .stderr("hermes-dump: fifo: not a regular file\nhermes-dump: /dev/null: not a regular file\n");
    let output = Cmd::new("hermes-dump").arg("-").run().status(2);
    assert!(output.stderr.starts_with("hermes-dump: a store cannot be read from standard input\n"));
}

#[test]
fn the_oldest_columns_are_enough() {
    let dir = Dir::new("hermes-dump");
    let path = store(&dir, "state.db", TWO_SESSIONS);
    dump(&[path.as_os_str()]).ok().stdout(
        r#"{"runtime":"hermes","id":"a","source":"cli","started_at":1000.0,"ended_at":2000.0,"store_newest":3000.0,"messages":[{"id":1,"role":"user","content":"hi","timestamp":1001.0}]}
{"runtime":"hermes","id":"b","source":"cron","started_at":1500.0,"store_newest":3000.0,"messages":[{"id":2,"role":"user","content":"ho","timestamp":3000.0}]}
"#,
    );
}

#[test]
fn a_column_nobody_knows_is_named_and_not_read() {
    let dir = Dir::new("hermes-dump");
    let sql = r#"ALTER TABLE sessions ADD COLUMN "new ""one""" TEXT; ALTER TABLE messages ADD COLUMN secret BLOB;
         ALTER TABLE sessions ADD COLUMN counter INTEGER DEFAULT 0;
         INSERT INTO sessions VALUES ('a', 'cli', 1.0, NULL, 'CANARY', 7);
         INSERT INTO messages (session_id, role, timestamp, secret) VALUES ('a', 'user', 1.0, 'CANARY');"#;
    let path = store(&dir, "state.db", sql);
    dump(&[path.as_os_str()]).ok().stdout(
        r#"{"runtime":"hermes","id":"a","source":"cli","started_at":1.0,"store_newest":1.0,"withheld":["new \"one\""],"messages":[{"id":1,"role":"user","timestamp":1.0,"withheld":["secret"]}]}
"#,
    );
}

#[test]
fn model_only_is_json_true_and_nothing_else() {
    let dir = Dir::new("hermes-dump");
    let path = store(
        &dir,
        "state.db",
        "ALTER TABLE messages ADD COLUMN display_metadata TEXT; INSERT INTO sessions VALUES ('a', 'cli', 1.0, NULL);",
    );
    let conn = Connection::open(&path).unwrap();
    let cells = [
        ("'{\"model_only\": true}'", true),
        ("'{\"model_only\": 1}'", false),
        ("'{\"model_only\": \"true\"}'", false),
        ("'{\"model_only\": false}'", false),
        ("'{\"other\": {\"model_only\": true}}'", false),
        ("'[true]'", false),
        ("'{\"model_only\": true'", false),
        ("'{model_only: true}'", false),
        ("''", false),
        ("CAST('{\"model_only\": true}' AS BLOB)", false),
        ("x'17'", false),
        ("x'ff00'", false),
        ("NULL", false),
    ];
    for (cell, _) in cells {
        let sql = format!(
            "INSERT INTO messages (session_id, role, timestamp, display_metadata) VALUES ('a', 'user', 1.0, {cell})"
        );
        conn.execute_batch(&sql).unwrap();
    }
    let output = dump(&[path.as_os_str()]).ok();
    let row = Raw::parse(lines(&output)[0]).unwrap();
    let found: Vec<bool> = row
        .get("messages")
        .unwrap()
        .items()
        .map(|m| m.get("model_only").is_some_and(|v| v.bytes() == b"true"))
        .collect();
    assert_eq!(found, cells.map(|(_, is_model_only)| is_model_only));
}

#[test]
fn usage_is_in_order_of_first_use_and_without_billing() {
    let dir = Dir::new("hermes-dump");
    let sql = "CREATE TABLE session_model_usage (session_id TEXT NOT NULL, model TEXT NOT NULL,
             billing_provider TEXT NOT NULL DEFAULT '', task TEXT NOT NULL DEFAULT '', input_tokens INTEGER NOT NULL DEFAULT 0,
             estimated_cost_usd REAL NOT NULL DEFAULT 0, cost_status TEXT, first_seen REAL);
         INSERT INTO sessions VALUES ('a', 'cli', 1.0, NULL), ('b', 'cli', 2.0, NULL);
         INSERT INTO session_model_usage VALUES ('a', 'z', 'CANARY', '', 1, 0.1, 'included', 5.0), ('a', 'y', 'p', 'title', 2, 0, NULL, 5.0),
             ('a', 'x', 'p', '', 3, 0, NULL, 9.0), ('a', 'w', 'p', '', 4, 0, NULL, NULL), ('a', 'y', 'q', 'title', 'many', 0, NULL, 5.0);";
    let path = store(&dir, "state.db", sql);
    dump(&[path.as_os_str()]).ok().stdout(
        r#"{"runtime":"hermes","id":"a","source":"cli","started_at":1.0,"usage":[{"model":"w","task":"","input_tokens":4,"estimated_cost_usd":0.0},{"model":"y","task":"title","input_tokens":2,"estimated_cost_usd":0.0,"first_seen":5.0},{"model":"y","task":"title","input_tokens":"many","estimated_cost_usd":0.0,"first_seen":5.0,"malformed":["input_tokens"]},{"model":"z","task":"","input_tokens":1,"estimated_cost_usd":0.1,"cost_status":"included","first_seen":5.0},{"model":"x","task":"","input_tokens":3,"estimated_cost_usd":0.0,"first_seen":9.0}],"messages":[]}
{"runtime":"hermes","id":"b","source":"cli","started_at":2.0,"usage":[],"messages":[]}
"#,
    );
}

#[test]
fn messages_without_a_session_are_named_when_asked_and_never_emitted() {
    let dir = Dir::new("hermes-dump");
    let sql = "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('gone', 'user', 'x', 1.0), ('gone', 'user', 'y', 2.0), ('a\u{1b}[2J', 'user', 'z', 3.0);";
    let path = store(&dir, "state.db", &format!("{TWO_SESSIONS}{sql}"));
    let output = dump(&[path.as_os_str()]).ok();
    assert_eq!(ids(&output), ["a", "b"]);
    let output = Cmd::new("hermes-dump").dir(&dir).args(["-v", "state.db"]).run().status(0);
    assert_eq!(ids(&output), ["a", "b"]);
    output.stderr(
        "hermes-dump: state.db: no session a\\x1b[2J: 1 message\nhermes-dump: state.db: no session gone: 2 messages\n",
    );
}

#[test]
fn sessions_and_sources_are_picked_by_any_name() {
    let dir = Dir::new("hermes-dump");
    let one = store(&dir, "one.db", TWO_SESSIONS);
    let two = store(&dir, "two.db", "INSERT INTO sessions VALUES ('c', 'my own''s', 1.0, NULL);");
    let run = |args: &[&str]| Cmd::new("hermes-dump").args(args).args([&one, &two]).run();
    assert_eq!(ids(&run(&[]).ok()), ["a", "b", "c"]);
    assert_eq!(ids(&run(&["--source", "cron"]).ok()), ["b"]);
    assert_eq!(ids(&run(&["--source=cron", "--source", "my own's"]).ok()), ["b", "c"]);
    assert_eq!(ids(&run(&["--source", "CRON"]).ok()), [""; 0]);
    assert_eq!(ids(&run(&["--session", "c", "--session", "a"]).ok()), ["a", "c"]);
    assert_eq!(ids(&run(&["--session", "c", "--source", "cli"]).ok()), [""; 0]);
    let output = run(&["--session", "c", "--session", "nope", "--session", "a'--"]).status(1);
    assert_eq!(ids(&output), ["c"]);
    output.stderr("hermes-dump: nope: no such session\nhermes-dump: a'--: no such session\n");
}

#[test]
fn since_counts_from_the_last_thing_that_happened() {
    let dir = Dir::new("hermes-dump");
    let sql = "INSERT INTO sessions VALUES ('ended', 'x', 1000.0, 86400.0), ('spoke', 'x', 1000.0, 2000.0), ('began', 'x', 86400.0, NULL),
             ('old', 'x', 1000.0, 86399.0), ('odd', 'x', 'yesterday', 1e300), ('late', 'x', 1790000000000.0, 'soon');
         INSERT INTO messages (session_id, role, timestamp) VALUES ('spoke', 'user', 86400.0), ('spoke', 'user', 5.0), ('old', 'user', 9e99),
             ('odd', 'user', 'now'), ('odd', 'user', -1.0), ('late', 'user', 86401);";
    let path = store(&dir, "state.db", sql);
    let run = |when: &str| Cmd::new("hermes-dump").args(["--since", when]).arg(&path).run();
    assert_eq!(ids(&run("1970-01-02").ok()), ["ended", "spoke", "began", "late"]);
    assert_eq!(ids(&run("1970-01-02T01:00:00+01:00").ok()), ["ended", "spoke", "began", "late"]);
    assert_eq!(ids(&run("1970-01-02T00:00:01Z").ok()), ["late"]);
    assert_eq!(ids(&run("30000d").ok()), ["ended", "old", "spoke", "began", "late"]);
    assert_eq!(ids(&run("1d").ok()), [""; 0]);
    for when in ["90日", "99999999999999999999d", "yesterday", "-1d", "1.5d", "", "2024-02-30"] {
        let output = run(when).status(2).stdout("");
        assert!(output.stderr.starts_with("hermes-dump: "), "{output:?}");
    }
}

#[test]
fn the_default_store_is_hermes_own() {
    let home = Dir::new("hermes-dump");
    fs::create_dir(home.join(".hermes")).unwrap();
    store(&home, ".hermes/state.db", TWO_SESSIONS);
    store(&home, "state.db", "INSERT INTO sessions VALUES ('other', 'cli', 1.0, NULL);");
    let run = || Cmd::new("hermes-dump").env_clear().env("HOME", home.path());
    assert_eq!(ids(&run().run().ok()), ["a", "b"]);
    assert_eq!(ids(&run().env("HERMES_HOME", "").run().ok()), ["a", "b"]);
    assert_eq!(ids(&run().env("HERMES_HOME", home.path()).run().ok()), ["other"]);
    let output = run().env("HERMES_HOME", home.join("nowhere")).run().status(2);
    output.stderr(&format!(
        "hermes-dump: {}/nowhere/state.db: No such file or directory\n",
        home.path().display()
    ));
}

#[test]
fn ids_of_any_kind_stop_nothing() {
    let dir = Dir::new("hermes-dump");
    let path = store(&dir, "state.db", "");
    let conn = Connection::open(&path).unwrap();
    let ids = [
        "'../../evil'",
        "'a' || char(0) || 'b'",
        "x'6964'",
        "x'ff'",
        "NULL",
        "12",
        "''",
        "CAST(x'61ff' AS TEXT)",
        "'%s \" \\ '",
    ];
    for (at, id) in ids.iter().enumerate() {
        conn.execute_batch(&format!("INSERT INTO sessions VALUES ({id}, x'00ff', 'when', {at})")).unwrap();
        let _ = conn.execute_batch(&format!(
            "INSERT INTO messages (session_id, role, content, timestamp) VALUES ({id}, {id}, {at}, x'00')"
        ));
    }
    let output = dump(&[path.as_os_str()]).ok();
    let rows: Vec<Raw> = lines(&output).into_iter().map(|line| Raw::parse(line).unwrap()).collect();
    assert_eq!(rows.len(), ids.len());
    for row in rows {
        let at = row.get("ended_at").unwrap().number().unwrap() as usize;
        let messages: Vec<Raw> = row.get("messages").unwrap().items().collect();
        // NULL is no session_id.
        let content = messages.first().map(|m| text(m.get("content").unwrap()));
        assert_eq!(content, (ids[at] != "NULL").then(|| at.to_string()), "{}", ids[at]);
        let shown = row.get("id").map(|id| show(id));
        let expected = match ids[at] {
            "'../../evil'" => Some(r#""../../evil""#),
            "x'6964'" => Some(r#""id""#),
            "x'ff'" => Some(r#"{"base64":"/w=="}"#),
            "12" => Some(r#""12""#),
            "''" => Some(r#""""#),
            "NULL" => None,
            "CAST(x'61ff' AS TEXT)" => Some(r#"{"base64":"Yf8="}"#),
            "'%s \" \\ '" => Some(r#""%s \" \\ ""#),
            _ => Some(r#""a\u0000b""#),
        };
        assert_eq!(shown.as_deref(), expected);
        let malformed: Vec<String> = row.get("malformed").unwrap().items().map(text).collect();
        let is_odd = matches!(ids[at], "x'6964'" | "x'ff'" | "CAST(x'61ff' AS TEXT)");
        assert_eq!(
            malformed,
            if is_odd { vec!["id", "source", "started_at"] } else { vec!["source", "started_at"] }
        );
    }
}

#[test]
fn paths_are_bytes() {
    let names: [&[u8]; 7] =
        [b"a?mode=rw", b"a#b", b"50%25", b"sp ace", b"n\nl", b"\xff\xfe.db", "日本.db".as_bytes()];
    for name in names {
        let dir = Dir::new("hermes-dump");
        let path = dir.join(OsStr::from_bytes(name));
        fs::rename(store(&dir, "state.db", TWO_SESSIONS), &path).unwrap();
        assert_eq!(ids(&dump(&[path.as_os_str()]).ok()), ["a", "b"]);
        let output = Cmd::new("hermes-dump").dir(&dir).args(["--copy"]).arg(OsStr::from_bytes(name)).run();
        assert_eq!(ids(&output.ok()), ["a", "b"]);
        assert_eq!(dir.names(), [OsStr::from_bytes(name)]);
    }
}

#[test]
fn sidecars_lie_beside_what_a_link_leads_to() {
    let (dir, _) = fixture("hermes-v22-wal.db");
    fs::create_dir(dir.join("links")).unwrap();
    std::os::unix::fs::symlink("../hermes-v22-wal.db", dir.join("links/state.db")).unwrap();
    assert_eq!(lines(&dump(&[dir.join("links/state.db").as_os_str()]).ok()).len(), 41);
}

#[test]
fn order_does_not_depend_on_time_or_on_an_index() {
    // The same rows in a store without any index, and with one over (session_id, id).
    let fill = "INSERT INTO sessions VALUES ('a', 'cli', 1.0, NULL), ('b', 'cli', 0.5, NULL);
         INSERT INTO messages (id, session_id, role, content, timestamp) VALUES (9, 'a', 'user', 'third', 1.0), (2, 'a', 'user', 'first', 9.0),
             (5, 'b', 'user', 'other', 5.0), (7, 'a', 'user', 'second', 5.0);";
    let mut outputs = Vec::new();
    for index in [
        "",
        "DROP INDEX idx_messages_session;",
        "CREATE INDEX by_id ON messages(session_id, id);",
        "CREATE INDEX by_id ON messages(session_id, id, timestamp); ANALYZE;",
        "DROP INDEX idx_messages_session; CREATE INDEX part ON messages(session_id, id) WHERE id > 5;",
    ] {
        let dir = Dir::new("hermes-dump");
        let path = store(&dir, "state.db", &format!("{fill}{index}"));
        outputs.push(dump(&[path.as_os_str()]).ok().stdout);
    }
    // As a plain extract of a store has it: no keys at all.
    let dir = Dir::new("hermes-dump");
    let path = dir.join("extract.db");
    let conn = Connection::open(&path).unwrap();
    conn.execute("ATTACH ?1 AS s", params![store(&dir, "state.db", fill).to_str()]).unwrap();
    conn.execute_batch("CREATE TABLE sessions AS SELECT * FROM s.sessions; CREATE TABLE messages AS SELECT * FROM s.messages").unwrap();
    outputs.push(dump(&[path.as_os_str()]).ok().stdout);
    let first = String::from_utf8(outputs[0].clone()).unwrap();
    let places = ["other", "first", "second", "third"].map(|word| first.find(word).unwrap());
    assert!(places.is_sorted(), "{first}");
    for output in &outputs {
        assert_eq!(String::from_utf8_lossy(output), first);
    }
}

/// A session of `count` messages of `size` bytes each.
fn long_session(dir: &Dir, count: u32, size: u32) -> PathBuf {
    let sql = format!(
        "INSERT INTO sessions VALUES ('a', 'cli', 1.0, NULL), ('b', 'cli', 2.0, NULL);
         INSERT INTO messages (session_id, role, content, timestamp) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
             SELECT 'a', 'user', hex(zeroblob({size} / 2)), i FROM n;
         INSERT INTO messages (session_id, role, content, timestamp) VALUES ('b', 'user', 'short', 1.0);"
    );
    store(dir, "state.db", &sql)
}

#[cfg(target_os = "linux")]
#[test]
fn memory_follows_the_largest_message_not_the_session() {
    let dir = Dir::new("hermes-dump");
    long_session(&dir, 120, 1_000_000);
    let output = sh(&dir, "ulimit -v 65536; hermes-dump state.db | wc -c").ok();
    let bytes: u64 = output.stdout_str().trim().parse().unwrap();
    assert!(bytes > 120_000_000, "{bytes}");
}

#[test]
fn a_long_session_is_one_line_of_json() {
    let dir = Dir::new("hermes-dump");
    let path = long_session(&dir, 3000, 1000);
    let output = dump(&[path.as_os_str()]).ok();
    let rows = lines(&output);
    assert_eq!(rows.len(), 2);
    let row = Raw::parse(rows[0]).unwrap();
    let times: Vec<i64> =
        row.get("messages").unwrap().items().map(|m| m.get("id").unwrap().integer().unwrap()).collect();
    assert_eq!(times, (1..=3000).collect::<Vec<_>>());
}

#[test]
fn a_message_over_the_bound_costs_its_session_and_no_other() {
    let dir = Dir::new("hermes-dump");
    let path = long_session(&dir, 2, 5000);
    let output = Cmd::new("hermes-dump").dir(&dir).args(["--max-bytes", "4K", "state.db"]).run().status(1);
    assert_eq!(ids(&output), ["b"]);
    output.stderr("hermes-dump: state.db: session a: a message is larger than --max-bytes\n");
    let output =
        Cmd::new("hermes-dump").args(["-q", "--max-bytes", "4K"]).arg(&path).run().status(1).stderr("");
    assert_eq!(ids(&output), ["b"]);
    assert_eq!(ids(&Cmd::new("hermes-dump").args(["--max-bytes", "6K"]).arg(&path).run().ok()), ["a", "b"]);
    assert_eq!(ids(&Cmd::new("hermes-dump").args(["--max-bytes", "0"]).arg(&path).run().ok()), ["a", "b"]);
}

#[test]
fn a_session_that_cannot_be_read_to_its_end_is_not_begun() {
    let dir = Dir::new("hermes-dump");
    let path = long_session(&dir, 3000, 1000);
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("UPDATE messages SET content = hex(zeroblob(9000)) WHERE id = 2999").unwrap();
    let output = Cmd::new("hermes-dump").args(["--max-bytes", "9K"]).arg(&path).run().status(1);
    assert_eq!(ids(&output), ["b"]);
}

#[test]
fn profiles_are_read_after_the_store_they_lie_beside() {
    let dir = Dir::new("hermes-dump");
    fs::create_dir_all(dir.join("profiles/empty")).unwrap();
    for (name, id) in [("state.db", "main"), ("profiles/b/state.db", "b"), ("profiles/a/state.db", "a")] {
        fs::create_dir_all(dir.join(name).parent().unwrap()).unwrap();
        store(&dir, name, &format!("INSERT INTO sessions VALUES ('{id}', 'cli', 1.0, NULL)"));
    }
    dir.write("profiles/c/state.db", "no store");
    let run = |args: &[&str]| Cmd::new("hermes-dump").args(args).env("HERMES_HOME", dir.path()).run();
    assert_eq!(ids(&run(&[]).ok()), ["main"]);
    let output = run(&["--profiles"]).status(2);
    assert_eq!(ids(&output), ["main", "a", "b"]);
    let told =
        format!("hermes-dump: {}: not an SQLite database\n", dir.join("profiles/c/state.db").display());
    assert_eq!(output.stderr, told);
    let a = dir.join("profiles/a/state.db");
    assert_eq!(ids(&dump(&["--profiles".as_ref(), a.as_os_str()]).ok()), ["a"], "none beside it");
}

#[test]
fn a_closed_pipe_and_a_full_disk_end_as_everywhere() {
    let dir = Dir::new("hermes-dump");
    let temporary = Dir::new("hermes-dump-tmp");
    let path = long_session(&dir, 3000, 1000);
    Cmd::new("hermes-dump").arg(&path).stdout_closed().run().signal(13).stderr("");
    let copied = Cmd::new("hermes-dump").arg("--copy").arg(&path).env("TMPDIR", temporary.path());
    copied.stdout_closed().run().signal(13).stderr("");
    assert!(temporary.names().is_empty());
    #[cfg(target_os = "linux")]
    Cmd::new("hermes-dump")
        .arg(&path)
        .stdout_to("/dev/full")
        .run()
        .status(2)
        .stderr("hermes-dump: write error: No space left on device\n");
}

#[test]
fn contradictions_are_usage_errors() {
    let output = Cmd::new("hermes-dump").args(["--copy", "--immutable", "x"]).run().status(2);
    output.stderr(
        "hermes-dump: --immutable and --copy exclude each other\nTry 'hermes-dump --help' for more information.\n",
    );
}
