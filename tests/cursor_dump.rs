//! cursor-dump: Cursor's chats to rows, and from there to `.curt`.

use std::fs;

use curt_tools::json::raw::Raw;

use super::common::{Cmd, Dir, sh};
use super::manual::row_lists;

const META: &str = r#"{"cwd":"/home/me/secret-project","title":"Fix the build","created":1793520000000,"updated":"2026-11-01T08:01:00.500Z","schemaVersion":2,"user_email":"me@example.com","parent":null}"#;
const HISTORY: &str = r#"["Why does it fail?",{"text":"And n\u006fw?","timestamp":1793520030.25,"model":"x"},{"prompt":"Thanks \ud83d","createdAt":"2026-11-01T08:00:59Z"}]"#;
const ROW: &str = r#"{"runtime":"cursor","id":"7f3a","title":"Fix the build","created":1793520000000,"updated":"2026-11-01T08:01:00.500Z","prompts_only":true,"withheld":["cwd","schemaVersion","user_email"],"messages":[{"role":"user","content":"Why does it fail?"},{"role":"user","content":"And n\u006fw?","timestamp":1793520030.25,"withheld":["model"]},{"role":"user","content":"Thanks \ud83d","timestamp":"2026-11-01T08:00:59Z"}]}
"#;

fn chat(dir: &Dir) {
    dir.write("chats/a1/7f3a/meta.json", META);
    dir.write("chats/a1/7f3a/prompt_history.json", HISTORY);
}

fn rows(dir: &Dir) -> Cmd {
    Cmd::new("cursor-dump").arg("chats").dir(dir)
}

#[test]
fn a_row_is_what_the_two_files_say() {
    let dir = Dir::new("cursor");
    chat(&dir);
    rows(&dir).run().ok().stdout(ROW);
    for folder in ["chats/a1/7f3a", "chats/a1", "."] {
        Cmd::new("cursor-dump").arg(folder).dir(&dir).run().ok().stdout(ROW);
    }
    let row = Raw::parse(ROW.as_bytes()).unwrap();
    let lists = row_lists();
    let prompts = row.get("messages").unwrap().items().map(|prompt| (prompt, &lists[5]));
    for (object, list) in prompts.chain([(row, &lists[4])]) {
        let mut rest = list.iter();
        assert!(object.members().all(|(key, _)| rest.any(|name| key.is(name))), "{object:?}: {list:?}");
    }
}

#[test]
fn the_store_is_never_opened() {
    let dir = Dir::new("cursor");
    chat(&dir);
    // To open this one is to wait for a writer, for ever.
    sh(&dir, "mkfifo chats/a1/7f3a/store.db && mkfifo chats/a1/7f3a/store.db-wal").ok();
    let before = fs::metadata(dir.join("chats/a1/7f3a")).unwrap().modified().unwrap();
    rows(&dir).run().ok().stdout(ROW);
    sh(&dir, "cd chats/a1/7f3a && rm store.db && ln -s /nonexistent/store.db store.db").ok();
    rows(&dir).run().ok().stdout(ROW);
    // Nor is a folder that holds nothing else a chat, or the store an operand.
    sh(&dir, "mkdir chats/a1/other && mkfifo chats/a1/other/store.db").ok();
    rows(&dir).run().ok().stdout(ROW);
    let store = Cmd::new("cursor-dump").arg("chats/a1/other/store.db").dir(&dir).run().status(2).stdout("");
    assert_eq!(store.stderr, "cursor-dump: chats/a1/other/store.db: Not a directory\n");
    assert!(fs::metadata(dir.join("chats/a1/7f3a")).unwrap().modified().unwrap() >= before);
}

#[test]
fn histories_of_other_forms_are_read_and_of_none_are_named() {
    let dir = Dir::new("cursor");
    let content = |history: &str| {
        dir.write("chats/a/b/prompt_history.json", history);
        let output = rows(&dir).run();
        let row = Raw::parse(&output.stdout).unwrap();
        let texts = row
            .get("messages")
            .unwrap()
            .items()
            .map(|prompt| prompt.get("content").unwrap().text().unwrap().into_owned());
        let texts = texts.map(|text| String::from_utf8(text).unwrap()).collect::<Vec<_>>().join("|");
        (texts, output.status.unwrap(), output.stderr)
    };
    let fine = |text: &str| (text.to_owned(), 0, String::new());
    assert_eq!(content(r#"{"version":1,"prompts":["a",{"query":"b"}]}"#), fine("a|b"));
    assert_eq!(content("[]"), fine(""));
    assert_eq!(content("\u{feff}[\"a\"]"), fine("a"));
    let file = "cursor-dump: chats/a/b/prompt_history.json";
    for (history, text, reason) in [
        ("[\"a\",7,{},null]", "a", "3 items are no prompts"),
        ("[\"a\",{\"role\":\"x\"}]", "a", "1 item is no prompt"),
        ("7", "", "not of a known form"),
        ("{\"a\":[]}", "", "not of a known form"),
        ("[\"a\"", "", "not JSON at byte 4 (line 1, column 5): expected ',' or ']', found the end"),
    ] {
        assert_eq!(content(history), (text.to_owned(), 1, format!("{file}: {reason}\n")), "{history}");
    }
    let row = rows(&dir).arg("-q").run().status(1).stderr("");
    row.stdout("{\"runtime\":\"cursor\",\"id\":\"b\",\"prompts_only\":true,\"malformed\":[\"prompt_history.json\"],\"messages\":[]}\n");
    let large = rows(&dir).arg("--max-bytes=3").run().status(1);
    assert_eq!(large.stderr, format!("{file}: larger than 3 bytes\n"));
}

#[test]
fn chats_are_chosen_by_id_and_by_time() {
    let dir = Dir::new("cursor");
    chat(&dir);
    dir.write("chats/b2/old/meta.json", r#"{"title":"t","createdAt":"2025-01-01T00:00:00Z"}"#);
    dir.write("chats/b2/timeless/prompt_history.json", "[]");
    let ids = |options: &str| {
        sh(&dir, &format!("cursor-dump {options} chats | sed 's/.*\"id\":\"//; s/\".*//'"))
            .ok()
            .stdout_str()
            .replace('\n', " ")
    };
    assert_eq!(ids(""), "7f3a old timeless ");
    assert_eq!(ids("--session old --session 7f3a"), "7f3a old ");
    assert_eq!(ids("--since 2026-11-01T08:01:00Z"), "7f3a ");
    assert_eq!(ids("--since 2026-11-01T08:01:01Z"), "");
    assert_eq!(ids("--since 2025-01-01"), "7f3a old ");
    rows(&dir)
        .arg("--session=nope")
        .run()
        .status(1)
        .stderr("cursor-dump: nope: no such session\n")
        .stdout("");
    Cmd::new("cursor-dump")
        .args(["gone", "chats/a1"])
        .dir(&dir)
        .run()
        .status(2)
        .stderr("cursor-dump: gone: No such file or directory\n")
        .stdout(ROW);
    dir.write(".cursor/placeholder", "");
    fs::rename(dir.join("chats"), dir.join(".cursor/chats")).unwrap();
    let home = Cmd::new("cursor-dump").env("HOME", dir.path()).arg("--session=7f3a").run().ok();
    home.stdout(ROW);
}

#[test]
fn a_conversation_is_what_was_asked() {
    let dir = Dir::new("cursor");
    let pack = |row: &str| String::from_utf8(Cmd::new("curt-pack").stdin(row).run().ok().stdout).unwrap();
    let body = pack(ROW);
    let conversation = body.split_once("\"conversation\":").unwrap().1;
    assert_eq!(
        conversation,
        "{\"id\":\"7f3a\",\"title\":\"Fix the build\",\"createdAt\":1793520000000,\"updatedAt\":1793520060500,\"cursor\":{\"promptsOnly\":true},\"messages\":[\
         {\"id\":\"7f3a-1\",\"role\":\"user\",\"content\":\"Why does it fail?\",\"timestamp\":1793520000000},\
         {\"id\":\"7f3a-2\",\"role\":\"user\",\"content\":\"And n\\u006fw?\",\"timestamp\":1793520030250},\
         {\"id\":\"7f3a-3\",\"role\":\"user\",\"content\":\"Thanks \\ud83d\",\"timestamp\":1793520059000}]}}\n"
    );
    assert!(!body.contains("secret") && !body.contains("example.com"));
    dir.write("body", &body);
    Cmd::new("curt-check").arg("body").dir(&dir).run().ok();
    // Without a name and times of its own; blank prompts say nothing.
    let bare = pack(
        r#"{"runtime":"cursor","id":"x","prompts_only":true,"messages":[{"role":"user","content":" "},{"role":"user","content":"One\n two","timestamp":1700000000}]}"#,
    );
    assert!(
        bare.contains("\"title\":\"One two\",\"createdAt\":1700000000000,\"updatedAt\":1700000000000"),
        "{bare}"
    );
    let counts = Cmd::new("curt-pack")
        .arg("--summary-json=/dev/stderr")
        .stdin(r#"{"runtime":"cursor","id":"x","withheld":["cwd"],"messages":[]}"#)
        .run();
    assert!(
        counts.stderr.contains("\"empty\":1") && counts.stderr.contains("\"redactedFields\":{\"cwd\":1}"),
        "{}",
        counts.stderr
    );
}
