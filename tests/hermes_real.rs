//! The programs between two real Hermes: stores that its own code writes, what its own reader shows of
//! them, and its own importer at the other end. `tests/hermes/setup` unpacks the releases.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use curt_tools::json::canon::canonical;
use curt_tools::json::raw::Raw;

use crate::common::{Cmd, Dir, data, sh};

const CANARY: &[u8] = b"CANARY-DO-NOT-LEAK";

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where the releases are unpacked. Never passed over: a machine that cannot have them fails.
fn releases() -> &'static Path {
    static RELEASES: OnceLock<PathBuf> = OnceLock::new();
    RELEASES.get_or_init(|| {
        let releases = project().join("target/hermes-releases");
        fs::create_dir_all(&releases).unwrap();
        // One process at a time, when each test is one.
        let lock = File::create(releases.join("lock")).unwrap();
        lock.lock().unwrap();
        let setup = Cmd::any("bash").arg(project().join("tests/hermes/setup")).arg(&releases).run();
        assert_eq!(setup.status, Some(0), "the real Hermes cannot be set up:\n{setup:?}");
        releases
    })
}

/// A script of `tests/hermes`, with a release to import, at home in `dir`.
fn python(release: &str, dir: &Dir, script: &str) -> Command {
    let [release, lib] = [release, "lib"].map(|name| releases().join(name));
    let home = dir.join("home");
    fs::create_dir_all(home.join(".hermes")).unwrap();
    let mut command = Command::new("python3");
    command
        .arg(project().join("tests/hermes").join(script))
        .env("PYTHONPATH", format!("{}:{}", release.display(), lib.display()))
        .env("HERMES_HOME", home.join(".hermes"))
        .env("HOME", home)
        // Compiled once, not each time.
        .env_remove("PYTHONDONTWRITEBYTECODE")
        .current_dir(dir);
    command
}

/// What such a script prints, and what it says on stderr.
#[track_caller]
fn told(mut command: Command) -> (Vec<u8>, String) {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}\n{stderr}");
    (output.stdout, stderr)
}

/// `state.db` in `dir`, made by a release; what went in, by session.
fn make_store(release: &str, dir: &Dir) -> Vec<u8> {
    let mut command = python(release, dir, "make_store.py");
    command.arg("state.db");
    told(command).0
}

fn by_key(object: &[u8]) -> BTreeMap<String, Raw<'_>> {
    let members = Raw::parse(object).unwrap().members();
    members
        .map(|(key, value)| (String::from_utf8(key.text().unwrap().into_owned()).unwrap(), value))
        .collect()
}

/// The conversations that curt-pack makes of a store, by id.
fn packed(dir: &Dir, store: &str) -> BTreeMap<String, Vec<u8>> {
    let lines = sh(dir, &format!("hermes-dump '{store}' | curt-pack")).ok().stdout;
    let lines = lines.split_inclusive(|b| *b == b'\n');
    let bodies = lines.map(|line| Raw::parse(line).unwrap().get("conversation").unwrap());
    bodies.map(|body| (text(body.get("id").unwrap()), body.bytes().to_vec())).collect()
}

fn messages(conversation: &[u8]) -> Vec<Raw<'_>> {
    Raw::parse(conversation).unwrap().get("messages").unwrap().items().collect()
}

/// A string; half a surrogate pair becomes U+FFFD, as Hermes has it.
fn text(value: Raw) -> String {
    String::from_utf16_lossy(&value.utf16().unwrap_or_else(|| panic!("no string: {}", show(value))))
}

fn show(value: Raw) -> String {
    String::from_utf8_lossy(value.bytes()).into_owned()
}

/// Whether two values say the same, however they are written. A string may hold half a pair.
fn is_same(one: Raw, other: Raw) -> bool {
    if one.is_string() && other.is_string() {
        return one.utf16() == other.utf16();
    }
    let canonical = |value| {
        let mut out = Vec::new();
        canonical(value, &mut out).unwrap();
        out
    };
    canonical(one) == canonical(other)
}

/// Each of these fields is in both, and the same, or in neither.
#[track_caller]
fn assert_same(fields: &[&str], ours: Raw, theirs: Raw) {
    for field in fields {
        let same = match (ours.get(field), theirs.get(field)) {
            (Some(ours), Some(theirs)) => is_same(ours, theirs),
            (ours, theirs) => ours.is_none() && theirs.is_none(),
        };
        assert!(same, "{field}:\n{}\n{}", show(ours), show(theirs));
    }
}

/// What `hermes sessions import` makes of messages: text alone, stripped; a call is a mention of its
/// tool; what looks injected is not a person's; turns alternate, and the first is the user's.
fn imported(messages: &[Raw]) -> Vec<(String, String)> {
    let mut turns: Vec<(String, String)> = Vec::new();
    for message in messages {
        let role = text(message.get("role").unwrap());
        let content = text(message.get("content").unwrap());
        let mut blocks = vec![strip(&content).to_owned()];
        match role.as_str() {
            "user" if is_injected(&content) => continue,
            "user" => blocks = with_pictures(&content),
            "assistant" => {
                let calls = message.get("toolCalls").into_iter().flat_map(Raw::items);
                blocks.extend(calls.map(|call| format!("[ran tool: {}]", text(call.get("name").unwrap()))));
            }
            _ => continue,
        }
        blocks.retain(|block| !block.is_empty());
        let said = blocks.join("\n\n");
        match turns.last_mut() {
            _ if said.is_empty() => {}
            Some((last, before)) if *last == role => *before += &format!("\n\n{said}"),
            _ => turns.push((role, said)),
        }
    }
    if turns.first().is_some_and(|(role, _)| role == "assistant") {
        let stub = "(imported conversation begins with an assistant reply)";
        turns.insert(0, ("user".into(), stub.into()));
    }
    turns
}

/// A picture is a line of its own, and a mention; text around it stands in blocks unless one were blank.
fn with_pictures(content: &str) -> Vec<String> {
    let is_picture = |line: &&str| line.starts_with("data:image/png;base64,");
    let mut blocks: Vec<(bool, Vec<&str>)> = Vec::new();
    for line in content.split('\n') {
        match blocks.last_mut() {
            Some((false, lines)) if !is_picture(&line) => lines.push(line),
            _ => blocks.push((is_picture(&line), vec![line])),
        }
    }
    let blocks: Vec<_> = blocks.into_iter().map(|(picture, lines)| (picture, lines.join("\n"))).collect();
    if blocks.iter().any(|(_, text)| strip(text).is_empty()) {
        return vec![strip(content).to_owned()];
    }
    let shown =
        |(picture, text): (bool, String)| if picture { "[image]".into() } else { strip(&text).to_owned() };
    blocks.into_iter().map(shown).collect()
}

/// Python's white space, which has four separators more than Unicode's.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

fn is_injected(text: &str) -> bool {
    const TAGS: [&str; 11] = [
        "user_instructions",
        "environment_context",
        "recommended_plugins",
        "skills_instructions",
        "permissions_instructions",
        "permissions-instructions",
        "turn_context",
        "command-name",
        "command-message",
        "local-command-stdout",
        "system-reminder",
    ];
    let text = text.trim_start_matches(is_space).to_lowercase();
    let Some(text) = text.strip_prefix('<') else { return false };
    let ends_word = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    TAGS.iter().filter_map(|tag| text.strip_prefix(tag)).any(ends_word)
}

#[test]
fn what_went_into_a_new_store_comes_back_out_of_the_importer() {
    there_and_back("v31");
}

#[test]
fn what_went_into_an_old_store_comes_back_out_of_the_importer() {
    there_and_back("v22");
}

fn there_and_back(release: &str) {
    let dir = Dir::new("hermes-real");
    let went_in = make_store(release, &dir);
    let went_in = by_key(&went_in);

    // Out of the store, past every checker.
    let line = "hermes-dump state.db | curt-pack -o curt --summary-json sums && curt-check curt/*.curt &&
        curt2cc -o cc curt/*.curt && cc-chain-check --strict cc/*.jsonl";
    sh(&dir, line).ok().stdout("");
    let sums = dir.read("sums");
    let sum = |name| Raw::parse(&sums).unwrap().get(name).unwrap().number().unwrap() as usize;
    let with_messages = went_in.values().filter(|s| s.get("messages").unwrap().items().next().is_some());
    let count = with_messages.count();
    assert_eq!([sum("converted"), sum("empty")], [count, went_in.len() - count]);
    assert_eq!([sum("failed"), sum("roundTripFailures")], [0, 0]);
    // Six rows are twice there for two compactions; a turn, and all of a session, were undone.
    assert_eq!([sum("foldedRows"), sum("rewoundRows"), sum("emptyDropped")], [6, 3, 4]);
    assert_eq!(sum("hiddenRows"), if release == "v31" { 2 } else { 0 });

    // What went in stands in the files.
    let packed = packed(&dir, "state.db");
    assert_eq!(packed.len(), count);
    for (id, conversation) in &packed {
        let expected: Vec<Raw> = went_in[id].get("messages").unwrap().items().collect();
        let found = messages(conversation);
        assert_eq!(found.len(), expected.len(), "{id}");
        for (ours, theirs) in found.into_iter().zip(expected) {
            const FIELDS: [&str; 6] = ["role", "content", "thinking", "toolCalls", "toolCallId", "toolName"];
            assert_same(&FIELDS, ours, theirs);
        }
        let conversation = Raw::parse(conversation).unwrap();
        for field in ["title", "hermesTokens", "hermesCostUsd", "hermesModelUsage"] {
            if let Some(theirs) = went_in[id].get(field) {
                assert!(is_same(conversation.get(field).unwrap(), theirs), "{}", show(conversation));
            }
        }
    }

    // And in the Hermes that reads them.
    let expected: BTreeMap<&String, Vec<(String, String)>> = went_in
        .iter()
        .map(|(id, session)| (id, imported(&session.get("messages").unwrap().items().collect::<Vec<_>>())))
        .filter(|(_, turns)| !turns.is_empty())
        .collect();
    let mut import = python("v31", &dir, "import_files.py");
    import.args(fs::read_dir(dir.join("cc")).unwrap().map(|file| file.unwrap().path()));
    let (stored, told) = told(import);
    let stored = by_key(&stored);
    assert_eq!(told.matches("✓ Imported Claude Code session as ").count(), expected.len(), "{told}");
    // Of a person who said nothing but what looks injected, nothing is left.
    assert_eq!(told.matches("No user/assistant conversation turns found in ").count(), 1, "{told}");
    assert_eq!(stored.keys().collect::<Vec<_>>(), expected.keys().copied().collect::<Vec<_>>());
    let turns = |session: Raw| -> Vec<(String, String)> {
        let pair = |message: Raw| {
            let mut pair = message.items().map(text);
            (pair.next().unwrap(), pair.next().unwrap())
        };
        session.get("messages").unwrap().items().map(pair).collect()
    };
    for (id, session) in &stored {
        assert_eq!(turns(*session), expected[id], "{id}");
        assert_eq!(text(session.get("cwd").unwrap()), "");
    }

    // The store of the importer goes the same way.
    let again = "hermes-dump home/.hermes/state.db | curt-pack -o again && curt-check again/*.curt &&
        curt2cc -o again-cc again/*.curt && cc-chain-check --strict again-cc/*.jsonl";
    sh(&dir, again).ok().stdout("");
    let again = self::packed(&dir, "home/.hermes/state.db");
    assert_eq!(again.len(), stored.len());
    for session in stored.values() {
        let conversation = &again[&text(session.get("id").unwrap())];
        let found = messages(conversation);
        let found: Vec<_> =
            found.iter().map(|m| ["role", "content"].map(|name| text(m.get(name).unwrap()))).collect();
        assert_eq!(found, turns(*session).into_iter().map(<[String; 2]>::from).collect::<Vec<_>>());
    }

    // On no way did what identifies a person get out.
    for made in ["curt", "cc", "again", "again-cc"] {
        for file in fs::read_dir(dir.join(made)).unwrap() {
            let bytes = fs::read(file.unwrap().path()).unwrap();
            assert!(memchr::memmem::find(&bytes, CANARY).is_none());
        }
    }
    assert!(memchr::memmem::find(&dir.read("state.db"), CANARY).is_some());
}

#[test]
fn a_conversation_holds_what_hermes_shows() {
    let dir = Dir::new("hermes-real");
    let mut stores = Vec::new();
    let mut copy = |from: &Path, name: &str| {
        for suffix in ["", "-wal", "-journal"] {
            let part = PathBuf::from(format!("{}{suffix}", from.display()));
            if part.exists() {
                // Hermes gets one of its own: it changes what it opens.
                fs::copy(&part, dir.join(format!("{name}.db{suffix}"))).unwrap();
                fs::copy(&part, dir.join(format!("theirs-{name}.db{suffix}"))).unwrap();
            }
        }
        stores.push(name.to_owned());
    };
    let fixtures = ["0.13", "0.16", "v22", "v22-wal", "v22-hot", "v31"];
    for fixture in fixtures {
        copy(&data(format!("hermes/hermes-{fixture}.db")), fixture);
    }
    copy(&project().join("examples/sample/state.db"), "sample");
    for release in ["v22", "v31"] {
        let fresh = Dir::new("hermes-real");
        make_store(release, &fresh);
        copy(&fresh.join("state.db"), &format!("fresh-{release}"));
    }

    let mut read = python("v31", &dir, "read.py");
    read.args(stores.iter().map(|name| format!("theirs-{name}.db")));
    let (shown, _) = told(read);
    let mut shown = shown.split_inclusive(|b| *b == b'\n');
    for store in &stores {
        let shown = by_key(shown.next().unwrap());
        let packed = packed(&dir, &format!("{store}.db"));
        let mut unreadable = Vec::new();
        let mut compared = 0;
        for (id, theirs) in &shown {
            if theirs.is_null() {
                unreadable.push(id.as_str());
                continue;
            }
            let theirs: Vec<Raw> = theirs.items().collect();
            let ours = packed.get(id).map(|body| messages(body)).unwrap_or_default();
            if store == "fresh-v22" && id.ends_with("_c0ffee") {
                // Copies with a time of their own are told twice by Hermes, and once by us.
                assert_eq!(ours.len() + 6, theirs.len());
                continue;
            }
            assert_eq!(ours.len(), theirs.len(), "{store}: {id}");
            for (ours, theirs) in ours.into_iter().zip(theirs) {
                assert_same(&["role", "content", "timestamp"], ours, theirs);
                if let Some(thinking) = theirs.get("thinking") {
                    let thought = ours.get("thinking").map(text).unwrap_or_default();
                    assert_eq!(thought, text(thinking), "{}", show(ours));
                    let calls = ours.get("toolCalls").map_or(0, |calls| calls.items().count());
                    assert_eq!(
                        calls as f64,
                        theirs.get("toolCalls").unwrap().number().unwrap(),
                        "{}",
                        show(ours)
                    );
                }
                compared += 1;
            }
        }
        assert!(compared >= 25, "{store}: {compared}");
        assert!(packed.keys().all(|id| shown.contains_key(id)), "{store}");
        // The row that is no UTF-8 costs Hermes a session.
        let expected: &[&str] =
            if fixtures.contains(&store.as_str()) { &["20260922_030000_baddad"] } else { &[] };
        assert_eq!(unreadable, expected, "{store}");
    }
}

/// An agent with its store open.
struct Agent {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    journal_mode: String,
}

impl Agent {
    fn start(release: &str, dir: &Dir) -> Agent {
        let mut command = python(release, dir, "live.py");
        let mut child = command.arg("state.db").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut agent = Agent { child, stdin, stdout, journal_mode: String::new() };
        agent.journal_mode = agent.answer();
        agent
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn ask(&mut self, message: &str) {
        writeln!(self.stdin, "{message}").unwrap();
    }

    /// Have a message stored, and wait until it is.
    fn store(&mut self, message: &str) {
        self.ask(message);
        assert_eq!(self.answer(), message);
    }

    fn stop(mut self) {
        drop(self.stdin);
        assert!(self.child.wait().unwrap().success());
    }
}

/// The messages of the one session there.
fn contents(dir: &Dir) -> Vec<String> {
    let packed = packed(dir, "state.db");
    assert!(packed.len() <= 1);
    packed.values().flat_map(|body| messages(body)).map(|m| text(m.get("content").unwrap())).collect()
}

/// Every file of the store; of the `-shm`, which is memory that all its users share, the name.
fn files(dir: &Dir) -> BTreeMap<String, Vec<u8>> {
    let names = dir.names().into_iter().map(|name| name.into_string().unwrap());
    let bytes = |name: &str| if name.ends_with("-shm") { Vec::new() } else { dir.read(name) };
    names.filter(|name| name.starts_with("state.db")).map(|name| (name.clone(), bytes(&name))).collect()
}

#[test]
fn a_store_in_use_shows_every_commit_and_is_not_changed() {
    for release in ["v22", "v31"] {
        let dir = Dir::new("hermes-real");
        let mut agent = Agent::start(release, &dir);
        // The new release avoids WAL with an SQLite that has a certain fault.
        assert!(release == "v31" || agent.journal_mode == "wal", "{}", agent.journal_mode);
        let mut expected = Vec::new();
        for message in ["one", "two", "three"] {
            agent.store(message);
            expected.push(message.to_owned());
            let before = files(&dir);
            assert_eq!(contents(&dir), expected, "{release}");
            assert!(before == files(&dir), "{release}");
        }
        if agent.journal_mode == "wal" {
            assert!(!dir.read("state.db-wal").is_empty(), "the last commits stand in the WAL alone");
        }
        agent.stop();
        assert_eq!(contents(&dir), expected, "{release}");
    }
}

#[test]
fn an_agent_that_writes_all_the_time_is_neither_stopped_nor_misread() {
    for release in ["v22", "v31"] {
        let dir = Dir::new("hermes-real");
        let mut agent = Agent::start(release, &dir);
        agent.store("0");
        let mut answers: VecDeque<String> = VecDeque::new();
        let (mut asked, mut stored) = (1, 1);
        for round in 0..25 {
            // A pipe's worth of work, so that the agent writes while we read.
            while answers.len() < 60 {
                let chore = match asked % 20 {
                    5 => Some("!compact"),
                    10 => Some("!checkpoint"),
                    15 if round % 5 == 0 => Some("!vacuum"),
                    _ => None,
                };
                for line in chore.map(str::to_owned).into_iter().chain([asked.to_string()]) {
                    agent.ask(&line);
                    answers.push_back(line);
                }
                asked += 1;
            }
            let mut found = contents(&dir);
            found.retain(|content| !content.starts_with("[CONTEXT COMPACTION"));
            let in_order = found.iter().enumerate().all(|(at, message)| *message == at.to_string());
            assert!(in_order && (stored..=asked).contains(&found.len()), "{release}: {found:?}");
            // All that was found is committed, and at least that much is by the next round.
            while stored < found.len().max(stored + 1).min(asked) {
                let answer = agent.answer();
                assert_eq!(Some(&answer), answers.front(), "{release}");
                answers.pop_front();
                stored += usize::from(!answer.starts_with('!'));
            }
        }
        let names: Vec<_> = dir.names().into_iter().filter(|name| name != "home").collect();
        let ours = |name: &OsString| !name.to_str().is_some_and(|name| name.starts_with("state.db"));
        assert!(!names.iter().any(ours), "{names:?}");
        for _ in answers {
            agent.answer();
        }
        agent.stop();
        let found = contents(&dir);
        assert_eq!(found.iter().filter(|content| !content.starts_with('[')).count(), asked, "{release}");
    }
}
