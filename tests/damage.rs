//! Stores with damage: copies of what real releases made, with pages overwritten, cut short, or with
//! their parts contradicting each other. What can be read comes out, and what cannot is named.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use curt_tools::json::raw::Raw;
use proptest::prelude::*;
use rusqlite::{Connection, OpenFlags};

use crate::common::{Cmd, Dir, Output2, data, sh};

const CANARY: &str = "CANARY-DO-NOT-LEAK";

const STORES: [&str; 4] = ["hermes-0.13.db", "hermes-0.16.db", "hermes-v22.db", "hermes-v31.db"];

fn dump(path: &Path, args: &[&str]) -> Output2 {
    Cmd::new("hermes-dump").args(args).arg(path).run()
}

/// Rows by id, without what is said of the whole store.
fn rows(output: &Output2) -> BTreeMap<String, String> {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "a torn line");
    let row = |line: &str| {
        let row = Raw::parse(line.as_bytes()).unwrap();
        let id = String::from_utf8(row.get("id").unwrap().text().unwrap().into_owned()).unwrap();
        let mut line = line.to_owned();
        for fact in ["schema_version", "store_newest"] {
            if let Some(value) = row.get(fact) {
                line =
                    line.replacen(&format!(",\"{fact}\":{}", String::from_utf8_lossy(value.bytes())), "", 1);
            }
        }
        (id, line)
    };
    text.lines().map(row).collect()
}

fn is_partial(row: &str) -> bool {
    Raw::parse(row.as_bytes()).unwrap().get("partial").is_some()
}

/// The ids that messages name.
fn named(stderr: &str) -> BTreeSet<String> {
    let id = |line: &str| Some(line.split_once(": session ")?.1.split_once(": ")?.0.to_owned());
    stderr.lines().filter_map(id).collect()
}

/// What each page of a store is for: the name of its table or index, and whether cells run over into it.
fn pages(path: &Path) -> BTreeMap<u32, (String, bool)> {
    // So that no file is made beside it.
    let uri = format!("file:{}?immutable=1", path.display());
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let conn = Connection::open_with_flags(uri, flags).unwrap();
    let mut statement = conn.prepare("SELECT pageno, name, pagetype = 'overflow' FROM dbstat").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?)))).unwrap();
    rows.map(Result::unwrap).collect()
}

fn page_size(store: &[u8]) -> usize {
    match u16::from_be_bytes([store[16], store[17]]) {
        1 => 65536,
        size => size.into(),
    }
}

/// A copy with one page overwritten.
fn with_page(dir: &Dir, name: &str, page: u32, bytes: impl Fn(usize) -> u8) -> PathBuf {
    let mut store = fs::read(data(format!("hermes/{name}"))).unwrap();
    let size = page_size(&store);
    let start = (page as usize - 1) * size;
    for at in 0..size.min(store.len() - start) {
        store[start + at] = bytes(at);
    }
    dir.write("state.db", store)
}

/// What must hold of every dump of a damaged copy: rows are whole, or said not to be; what is missing is
/// named; and nothing that is withheld gets out.
fn check(name: &str, path: &Path, whole: &BTreeMap<String, String>, exact: bool) -> [usize; 2] {
    let before = fs::read(path).unwrap();
    let mut seen = [0; 2];
    for (salvage, args) in [&[][..], &["--salvage"]].into_iter().enumerate() {
        let output = dump(path, args);
        let told = format!("{name} {args:?}\n{}", output.stderr);
        assert!(matches!(output.status, Some(0..=2)), "{told}");
        assert!(
            !String::from_utf8_lossy(&output.stdout).contains(CANARY) && !told.contains(CANARY),
            "{told}"
        );
        if output.status == Some(2) {
            // The store as a whole.
            assert!(output.stdout.is_empty(), "{told}");
            continue;
        }
        let rows = rows(&output);
        let named = named(&output.stderr);
        for (id, row) in &rows {
            if exact && !is_partial(row) {
                assert!(whole.get(id) == Some(row), "{told}\n{id}\n{row}\n{:?}", whole.get(id));
            }
            assert_eq!(is_partial(row), named.contains(id), "{told}{id}");
            assert!(salvage == 1 || !is_partial(row), "{told}{id}");
        }
        let may_miss = output.stderr.contains("sessions that nothing names may be missing");
        for id in whole.keys() {
            assert!(rows.contains_key(id) || named.contains(id) || may_miss, "{told}{id} is missing");
        }
        assert_eq!(output.status == Some(0), output.stderr.is_empty(), "{told}");
        seen[salvage] = rows.len();
    }
    assert!(fs::read(path).unwrap() == before, "{name}: changed");
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "{name}: a file was left");
    seen
}

#[test]
fn a_damaged_page_costs_the_sessions_on_it_and_no_other() {
    let mut in_part = 0;
    for name in STORES {
        let path = data(format!("hermes/{name}"));
        let whole = rows(&dump(&path, &[]));
        let pages = pages(&path);
        let ours =
            |name: &str| name.contains("messages") && !name.contains("fts") || name.contains("session");
        let ours: Vec<_> = pages.iter().filter(|(page, (name, _))| **page > 1 && ours(name)).collect();
        assert!(ours.len() > 20, "{name}: {}", ours.len());
        // Every one would take minutes.
        for (page, (table, is_overflow)) in ours.iter().step_by(ours.len().div_ceil(24)) {
            let dir = Dir::new("damage");
            let path = with_page(&dir, name, **page, |at| if at == 0 { 0xFF } else { 0xA5 });
            let told = format!("{name}: page {page} of {table}");
            let [whole, salvaged] = check(&told, &path, &whole, !is_overflow);
            assert!(salvaged >= whole && (whole > 0 || salvaged > 0), "{told}: {whole}, {salvaged}");
            in_part += usize::from(salvaged > whole);
        }
    }
    assert!(in_part > 0, "nothing was salvaged anywhere");
}

#[test]
fn a_damaged_index_costs_nothing() {
    for name in STORES {
        let path = data(format!("hermes/{name}"));
        let whole = rows(&dump(&path, &[]));
        let indexes = pages(&path).into_iter().filter(|(_, (name, _))| {
            name.starts_with("idx_") || name.starts_with("sqlite_autoindex_session")
        });
        let dir = Dir::new("damage");
        let mut store = fs::read(&path).unwrap();
        let size = page_size(&store);
        let mut spoiled = 0;
        for (page, _) in indexes {
            store[(page as usize - 1) * size..page as usize * size].fill(0xA5);
            spoiled += 1;
        }
        assert!(spoiled > 5, "{name}");
        let output = dump(&dir.write("state.db", store), &[]).ok();
        assert!(rows(&output) == whole, "{name}");
    }
}

#[test]
fn a_damaged_freelist_is_nobodys_business() {
    for name in STORES {
        let whole = rows(&dump(&data(format!("hermes/{name}")), &[]));
        let dir = Dir::new("damage");
        let path = dir.copy(format!("hermes/{name}"));
        let mut store = fs::read(&path).unwrap();
        // First page of the list and its length (sqlite.org/fileformat.html, 1.3).
        store[32..40].copy_from_slice(&[0, 0, 0, 2, 0x7F, 0xFF, 0xFF, 0xFF]);
        fs::write(&path, store).unwrap();
        assert!(rows(&dump(&path, &[]).ok()) == whole, "{name}");
    }
}

#[test]
fn of_a_store_that_is_cut_short_comes_what_is_left() {
    for name in STORES {
        let whole = rows(&dump(&data(format!("hermes/{name}")), &[]));
        let store = fs::read(data(format!("hermes/{name}"))).unwrap();
        let (mut most, size) = (0, page_size(&store));
        for tenth in [1, 3, 5, 7, 9] {
            for more in [0, size / 3] {
                let dir = Dir::new("damage");
                let end = store.len() * tenth / 10 / size * size + more;
                let path = dir.write("state.db", &store[..end]);
                let [_, salvaged] = check(&format!("{name}: {end} bytes"), &path, &whole, false);
                most = most.max(salvaged);
            }
        }
        assert!(most > 0, "{name}: nothing came out of any");
    }
}

#[test]
fn one_lost_message_makes_a_row_partial_and_says_so_to_the_end() {
    // A long message runs over into pages of its own.
    let dir = Dir::new("damage");
    let path = dir.join("state.db");
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, started_at REAL NOT NULL, title TEXT);
         CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT,
             tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL);
         CREATE INDEX by_session ON messages (session_id, id);
         INSERT INTO sessions VALUES ('x_a', 'cli', 1.0, 'one'), ('x_b', 'cli', 2.0, 'two');
         INSERT INTO messages (session_id, role, content, timestamp) VALUES ('x_a', 'user', 'first', 1.0),
             ('x_a', 'assistant', hex(zeroblob(50000)), 2.0), ('x_a', 'user', 'third', 3.0), ('x_b', 'user', 'other', 4.0);",
    )
    .unwrap();
    drop(conn);
    sh(&dir, "hermes-dump state.db | curt-pack -o curt --summary-json sums").ok();
    let whole = dir.names();
    let file = dir.join("curt/1970-01-01 one a.curt");
    let before = fs::read(&file).unwrap();

    let pages = pages(&path);
    let overflow: Vec<_> = pages.iter().filter(|(_, (_, is_overflow))| *is_overflow).collect();
    let mut store = fs::read(&path).unwrap();
    let (page, size) = (*overflow[overflow.len() / 2].0 as usize, page_size(&store));
    store[(page - 1) * size..page * size].fill(0xFF);
    fs::write(&path, store).unwrap();

    let told = "hermes-dump: state.db: session x_a: database disk image is malformed\n";
    let output = sh(&dir, "hermes-dump state.db").status(1).stderr(told);
    assert_eq!(rows(&output).into_keys().collect::<Vec<_>>(), ["x_b"]);
    let output = sh(&dir, "hermes-dump --salvage state.db >rows").status(1);
    output.stderr("hermes-dump: state.db: session x_a: damaged: printed in part\n");
    sh(&dir, "hermes-dump -q --salvage state.db").status(1).stderr("");
    let row = String::from_utf8(dir.read("rows")).unwrap();
    assert!(row.contains("\"partial\":true,\"messages\":[{\"id\":1,") && row.contains("third"), "{row}");

    // It becomes a file where there is none, and never takes the place of one.
    sh(&dir, "curt-pack -o curt --summary-json sums rows").ok();
    assert!(fs::read(&file).unwrap() == before);
    let sums: serde_json::Value = serde_json::from_slice(&dir.read("sums")).unwrap();
    assert_eq!([&sums["partial"], &sums["older"], &sums["unchanged"]], [1, 1, 1]);
    sh(&dir, "curt-pack -o other rows && curt-check other/*.curt").ok();
    sh(&dir, "curt-pack -f -o curt rows").ok();
    assert!(fs::read(&file).unwrap() == dir.read("other/1970-01-01 one a.curt"));
    assert_eq!(dir.names().len(), whole.len() + 2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Noise over any page of any store. A page that cells run over into holds nothing but their bytes:
    /// nobody can tell them from others.
    #[test]
    fn noise_over_any_page(which in 0..STORES.len(), place in 0.0..1.0_f64, seed: u64) {
        let name = STORES[which];
        let path = data(format!("hermes/{name}"));
        let whole = rows(&dump(&path, &[]));
        let pages = pages(&path);
        let page = 1 + (place * (fs::metadata(&path).unwrap().len() / 4096) as f64) as u32;
        let is_overflow = pages.get(&page).is_some_and(|(_, is_overflow)| *is_overflow);
        let noise = |at: usize| match at {
            // None of the kinds of page that there are.
            0 => 0xEE,
            at => (seed.wrapping_add(at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8,
        };
        let dir = Dir::new("damage");
        let path = with_page(&dir, name, page, noise);
        check(&format!("{name}: page {page}"), &path, &whole, !is_overflow);
    }
}
