//! Whole pipelines, as a person types them, over every store that a real Hermes made for us.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use curt_tools::json::raw::Raw;
use rusqlite::Connection;

use super::common::{Cmd, Dir, Output2, data, programs, sh};

const CANARY: &str = "CANARY-DO-NOT-LEAK";

/// The stores under tests/data/hermes and the sample, by path.
fn stores() -> Vec<PathBuf> {
    let mut stores: Vec<_> = fs::read_dir(data("hermes")).unwrap().map(|e| e.unwrap().path()).collect();
    stores.retain(|path| path.extension() == Some(OsStr::new("db")));
    stores.sort();
    assert!(stores.len() >= 6, "{stores:?}");
    stores.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/sample/state.db"));
    stores
}

/// A fresh directory with each store in turn, sidecars too, as `state.db`.
fn each(check: impl Fn(&Dir)) {
    for store in stores() {
        let dir = Dir::new("pipes");
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let part = PathBuf::from(format!("{}{suffix}", store.display()));
            if part.exists() {
                fs::copy(part, dir.join(format!("state.db{suffix}"))).unwrap();
            }
        }
        println!("{}", store.display());
        check(&dir);
    }
}

/// What plain SQLite says of a copy of `state.db`.
fn count(dir: &Dir, sql: &str) -> u64 {
    let script = format!(
        "mkdir -p private && cp state.db* private/ && sqlite3 private/state.db \"{sql}\" && rm -r private"
    );
    sh(dir, &script).ok().stdout_str().trim().parse().unwrap()
}

/// The sum of a count in a summary; of its names, where it has some.
fn sum(dir: &Dir, summary: &str, name: &str) -> u64 {
    let json = dir.read(summary);
    let count = Raw::parse(&json).unwrap().get(name).unwrap_or_else(|| panic!("{summary} has no {name}"));
    count.number().map_or_else(|| panic!("{name} is no number"), |n| n as u64)
}

/// Everything a run could change about a folder's files.
fn state(dir: &Path) -> BTreeMap<PathBuf, (u64, i64, i64, Vec<u8>)> {
    let stat = |path: PathBuf| {
        let meta = fs::metadata(&path).unwrap();
        let bytes = fs::read(&path).unwrap();
        (path, (meta.ino(), meta.mtime(), meta.mtime_nsec(), bytes))
    };
    fs::read_dir(dir).unwrap().map(|entry| stat(entry.unwrap().path())).collect()
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A store with what every release has, and what `sql` puts into it.
fn small_store(dir: &Dir, sql: &str) {
    let store = Connection::open(dir.join("state.db")).unwrap();
    store
        .execute_batch(
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, started_at REAL NOT NULL, title TEXT);
             CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT,
                 tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL);",
        )
        .unwrap();
    store.execute_batch(sql).unwrap();
}

const PACK: &str = "hermes-dump state.db | curt-pack -o curt";

#[test]
fn every_session_becomes_a_file_or_is_counted_to_the_last_one() {
    each(|dir| {
        sh(dir, &format!("{PACK} --summary-json sums")).ok().stdout("");
        let files = names(&dir.join("curt")).len() as u64;
        let sums = ["converted", "empty", "failed"].map(|name| sum(dir, "sums", name));
        assert_eq!(sums.iter().sum::<u64>(), count(dir, "SELECT count(*) FROM sessions"), "{sums:?}");
        assert_eq!([files, 0], [sums[0], sums[2]]);
        assert_eq!(sum(dir, "sums", "roundTripFailures"), 0);

        sh(dir, "curt2cc -o cc --summary-json sums curt/*.curt").ok().stdout("");
        assert_eq!(sum(dir, "sums", "converted"), files);
        assert_eq!(names(&dir.join("cc")).len() as u64, files);
    });
}

#[test]
fn what_comes_out_passes_every_checker() {
    each(|dir| {
        let line = "curt-check curt/*.curt && curt2cc curt/*.curt | cc-chain-check";
        sh(dir, &format!("{PACK} && {line}")).ok().stdout("");
        sh(dir, "curt2cc curt/*.curt | cc-chain-check --strict").ok().stdout("");
        sh(dir, "curt2cc -o cc curt/*.curt && cc-chain-check --strict cc/*.jsonl").ok().stdout("");
        sh(dir, "hermes-dump state.db | curt-pack | curt-check && hermes-dump state.db | curt-pack --pretty | wc -l")
            .ok();
    });
}

#[test]
fn a_second_run_changes_nothing() {
    each(|dir| {
        let run = format!("{PACK} --summary-json sums && curt2cc -o cc --summary-json cc-sums curt/*.curt");
        sh(dir, &run).ok();
        let before = [state(&dir.join("curt")), state(&dir.join("cc"))];
        sh(dir, &run).ok();
        assert!(before == [state(&dir.join("curt")), state(&dir.join("cc"))]);
        for sums in ["sums", "cc-sums"] {
            assert_eq!(sum(dir, sums, "unchanged"), before[0].len() as u64);
            assert_eq!(sum(dir, sums, "converted") + sum(dir, sums, "updated"), 0);
        }
        sh(dir, &format!("{PACK} --print")).ok().stdout("");
    });
}

#[test]
fn a_store_is_left_as_it_was() {
    each(|dir| {
        let before = (dir.names(), dir.read("state.db"));
        sh(dir, "hermes-dump state.db | curt-pack >/dev/null").ok();
        assert!(before == (dir.names(), dir.read("state.db")));
    });
}

#[test]
fn lines_and_files_are_the_same_conversations() {
    each(|dir| {
        sh(dir, &format!("{PACK} && hermes-dump state.db | curt-pack >lines")).ok();
        // Read by somebody else's parser, and one that takes lone surrogates; only the order differs.
        let read = "import glob, json; load = lambda texts: sorted(json.dumps(json.loads(t), sort_keys=True) for t in texts); \
             files = [open(name).read() for name in glob.glob('curt/*')]; \
             assert load(files) == load(open('lines', newline='\\n')), 'they differ'";
        Cmd::any("python3").args(["-c", read]).dir(dir).run().ok();
        let each_line =
            "while IFS= read -r line; do printf '%s\\n' \"$line\" | curt-check || exit; done <lines";
        sh(dir, each_line).ok().stdout("");
    });
}

#[test]
fn the_front_end_gives_the_bytes_of_the_pipeline() {
    each(|dir| {
        sh(dir, &format!("{PACK} && curt2cc -o cc curt/*.curt")).ok();
        let front = sh(dir, "curt-hermes state.db -o front && curt-hermes --emit-cc-jsonl front -o front-cc");
        front.status(0).stdout("");
        sh(dir, "diff -r curt front && diff -r cc front-cc").ok().stdout("");
        let lines = sh(dir, "hermes-dump state.db | curt-pack").ok().stdout;
        sh(dir, "curt-hermes state.db --stdout").status(0).stdout(lines);
    });
}

#[test]
fn printed_paths_go_through_xargs_to_two_checkers() {
    each(|dir| {
        let script = format!("{PACK} --print -0 | xargs -0 -P2 -n3 curt-check -v");
        let output = sh(dir, &script).ok();
        let mut verdicts: Vec<_> = output.stdout_str().lines().map(str::to_owned).collect();
        verdicts.sort();
        let expected: Vec<_> =
            names(&dir.join("curt")).iter().map(|name| format!("curt/{name}: ok")).collect();
        assert_eq!(verdicts, expected);
        sh(dir, "find curt -type f -print0 | curt-check --files0-from -").ok().stdout("");
    });
}

#[test]
fn jq_picks_rows_in_the_middle() {
    each(|dir| {
        // By lines, as jq ends at half a surrogate pair, which these stores hold in other sessions.
        let cron = "jq -cR 'fromjson? | select(.source == \"cron\")'";
        sh(dir, &format!("hermes-dump state.db | {cron} | curt-pack -o curt --summary-json sums")).ok();
        let expected = count(dir, "SELECT count(*) FROM sessions WHERE source = 'cron'");
        assert_eq!(sum(dir, "sums", "converted") + sum(dir, "sums", "empty"), expected);
        assert!(expected >= 2);
        sh(dir, "hermes-dump --source cron state.db | curt-pack -o plain && diff -r curt plain")
            .ok()
            .stdout("");
    });
}

#[test]
fn head_takes_one_line_and_the_rest_stops() {
    each(|dir| {
        sh(dir, "set +o pipefail; hermes-dump state.db | curt-pack | head -n1 >one.curt").ok();
        sh(dir, "curt-check -v one.curt").ok().stdout("one.curt: ok\n");
        sh(dir, "curt-name one.curt && curt2cc one.curt | cc-chain-check --strict").ok();
    });
}

#[test]
fn who_writes_to_a_reader_that_has_gone_dies_as_a_filter_and_says_nothing() {
    // More than any pipe holds.
    let dir = Dir::new("pipes");
    fs::copy(data("hermes/hermes-v31.db"), dir.join("state.db")).unwrap();
    let many = "yes state.db | head -n200 | tr '\\n' '\\0' | xargs -0 hermes-dump | curt-pack | head -n1";
    let output = sh(&dir, &format!("set +o pipefail; {many} >one; echo ${{PIPESTATUS[@]:3:2}}")).status(0);
    output.stdout("125 141\n").stderr("xargs: hermes-dump: terminated by signal 13\n");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_by_whoever_writes_to_it() {
    each(|dir| {
        sh(dir, &format!("{PACK}; hermes-dump state.db >rows; curt2cc curt/*.curt >lines")).ok();
        for line in [
            "hermes-dump state.db",
            "curt-pack rows",
            "curt-pack --pretty rows",
            "curt-hermes --stdout state.db",
            "curt2cc curt/*.curt",
            "curt-check -v curt/*.curt",
            "curt-name curt/*.curt",
            "cc-chain-check -v lines",
        ] {
            let program = line.split(' ').next().unwrap();
            let output = sh(dir, &format!("{line} >/dev/full")).status(2);
            // The front end has told its counts by then, as it always does.
            let told =
                output.stderr.strip_prefix("curt-hermes: converted ").and_then(|rest| rest.split_once('\n'));
            let stderr = told.map_or(output.stderr.as_str(), |(_, rest)| rest);
            assert_eq!(stderr, format!("{program}: write error: No space left on device\n"));
        }
        // A disk that is full for files, too: nothing of ours may exceed 0 blocks.
        let full = sh(dir, "trap '' XFSZ; ulimit -f 0; curt-pack -o full rows").status(2);
        assert!(full.stderr.contains("File too large"), "{full:?}");
        assert_eq!(names(&dir.join("full")), [""; 0]);
    });
}

/// Run a program that may not write where root may: as nobody, when we are root.
fn unprivileged(dir: &Dir, program: &str) -> Cmd {
    if sh(dir, "id -u").ok().stdout_str() != "0\n" {
        return Cmd::new(program);
    }
    // Nobody may not even look into the folder that the programs were built in.
    let copy = dir.join(program);
    // Copied by cp: a file that this process wrote is busy (ETXTBSY) while another test forks.
    Cmd::any("cp").arg(programs().join(program)).arg(&copy).run().ok();
    let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    Cmd::any("setpriv").args(nobody).arg(copy)
}

#[test]
fn a_folder_that_cannot_be_written_is_trouble_and_stays_as_it_is() {
    each(|dir| {
        sh(dir, &format!("chmod 755 . && {PACK} && cp -r curt read-only && mkdir empty")).ok();
        sh(dir, "hermes-dump state.db >rows").ok();
        sh(dir, "chmod -R a+rX,a-w read-only empty").ok();
        let before = state(&dir.join("read-only"));
        let rows = dir.read("rows");
        for folder in ["read-only", "empty"] {
            let output = unprivileged(dir, "curt-pack")
                .args(["--all-rows", "--verbatim", "-o", folder])
                .stdin(&rows)
                .dir(dir)
                .run();
            let output = output.status(2).stdout("");
            let denied = |line: &str| line.starts_with("curt-pack: ") && line.ends_with("Permission denied");
            assert!(output.stderr.lines().all(denied), "{output:?}");
            assert_eq!(output.stderr.lines().count(), 1, "told once: {output:?}");
        }
        assert!(before == state(&dir.join("read-only")));
        assert_eq!(names(&dir.join("empty")), [""; 0]);
        let output = unprivileged(dir, "curt-pack").args(["-o", "empty/new"]).stdin(&rows).dir(dir).run();
        output.status(2).stderr("curt-pack: empty/new: Permission denied\n");
        sh(dir, "chmod -R u+w .").ok();
    });
}

#[test]
fn a_title_of_ten_kilobytes_is_cut_in_the_name_alone() {
    for letter in ["x", "é", "字", "🦀", "𐌰", "\u{1e}"] {
        let dir = Dir::new("title");
        let title = letter.repeat(10 * 1024 / letter.len());
        small_store(
            &dir,
            &format!(
                "INSERT INTO sessions VALUES ('s_1', 'cli', 1760000000, '{title}');
                 INSERT INTO messages VALUES (1, 's_1', 'user', 'hello', NULL, NULL, NULL, 1760000001);"
            ),
        );
        sh(&dir, &format!("{PACK} && curt-check curt/*.curt && curt2cc -o cc curt/*.curt")).ok();
        let name = names(&dir.join("curt")).pop().unwrap();
        assert!(name.len() <= 255 && name.starts_with("2025-10-09 ") && name.ends_with(" 1.curt"), "{name}");
        sh(&dir, "curt-name curt/*.curt").ok().stdout(format!("{name}\n"));
        let kept = sh(&dir, "jq -j .conversation.title curt/*.curt").ok().stdout;
        assert!(kept == title.as_bytes());
    }
}

#[test]
fn an_id_that_is_a_path_stays_in_its_folder() {
    let ids = [
        "x_/../../a",
        "../../b",
        "x_..",
        "x_.",
        "x_",
        "_",
        "/",
        "x_/etc/passwd",
        "x_a\nb",
        "x_\u{7f}\u{1b}[31m",
    ];
    let dir = Dir::new("ids");
    let mut sql = String::new();
    for (n, id) in ids.iter().enumerate() {
        sql += &format!("INSERT INTO sessions VALUES ('{id}', 'cli', 1760000000, 't');");
        sql += &format!(
            "INSERT INTO messages VALUES ({n}, '{id}', 'user', 'hello', NULL, NULL, NULL, 1760000001);"
        );
    }
    fs::create_dir(dir.join("deep")).unwrap();
    small_store(&dir, &sql);
    let line = "hermes-dump state.db | curt-pack -o deep/curt --summary-json sums && curt2cc -o deep/cc deep/curt/*.curt";
    sh(&dir, line).ok();
    assert_eq!(dir.names(), ["deep", "state.db", "sums"]);
    assert_eq!(names(&dir.join("deep")), ["cc", "curt"]);
    for folder in ["deep/curt", "deep/cc"] {
        let names = names(&dir.join(folder));
        assert_eq!(names.len(), ids.len(), "{names:?}");
        assert!(names.iter().all(|name| name.starts_with("2025-10-09 t ")), "{names:?}");
        assert!(!names.iter().any(|name| name.contains(char::is_control)), "{names:?}");
    }
    assert_eq!(sum(&dir, "sums", "renamedForDisk"), 6, "four with /, a newline, an escape");
    let kept = sh(&dir, "jq -r .conversation.id deep/curt/*.curt | sort").ok();
    let mut expected: Vec<_> = ids.join("\n").lines().map(str::to_owned).collect();
    expected.sort();
    let mut kept: Vec<_> = kept.stdout_str().lines().map(str::to_owned).collect();
    kept.sort();
    assert_eq!(kept, expected);
    sh(&dir, "curt-check deep/curt/*.curt && cc-chain-check --strict deep/cc/*.jsonl").ok();
}

#[test]
fn two_cron_sessions_of_one_second_and_one_title_have_a_file_each_for_good() {
    each(|dir| {
        let pick = "hermes-dump --source cron state.db >rows && curt-pack -o curt rows";
        sh(dir, pick).ok();
        let files = names(&dir.join("curt"));
        let second = files.iter().find(|name| name.ends_with("0000-2.curt")).expect("a -2 name");
        let first = second.replace("-2.curt", ".curt");
        assert!(files.contains(&first), "{files:?}");
        let before = state(&dir.join("curt"));
        // Neither the order of rows nor that only one of them is brought moves a conversation.
        for again in ["tac rows", "head -n1 rows", "tail -n1 rows", "cat rows rows"] {
            sh(dir, &format!("{again} | curt-pack -o curt")).ok();
            assert!(before == state(&dir.join("curt")), "{again}");
        }
        sh(dir, "curt2cc -o cc curt/*.curt && curt-check curt/*.curt").ok();
        assert_eq!(names(&dir.join("cc")).len(), files.len());
    });
}

#[test]
fn files_are_private_whatever_the_umask_says() {
    each(|dir| {
        sh(dir, &format!("umask 0; {PACK}; curt2cc -o cc curt/*.curt")).ok();
        for folder in ["curt", "cc"] {
            let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
            assert_eq!(mode(dir.join(folder)), 0o700);
            for name in names(&dir.join(folder)) {
                assert_eq!(mode(dir.join(folder).join(&name)), 0o600, "{name}");
            }
        }
    });
}

#[test]
fn no_identifier_gets_out_anywhere() {
    each(|dir| {
        let everything: Output2 = sh(
            dir,
            "exec 2>&1
             hermes-dump -v state.db | tee rows
             curt-pack -v --all-rows --verbatim rows | tee lines
             curt-pack -v -o curt --print --summary-json sums rows; cat sums
             cat curt/*.curt; find curt; curt-check -v curt/*.curt; curt-name curt/*.curt
             curt2cc -v -o cc --print --summary-json sums curt/*.curt; cat sums
             cat cc/*; find cc; cc-chain-check -v cc/*
             curt-hermes state.db -o front; curt-hermes --emit-cc-jsonl curt -o front-cc; cat front/* front-cc/*",
        )
        .status(0);
        let text = String::from_utf8_lossy(&everything.stdout);
        assert!(text.contains("curt-hermes: converted ") && text.contains(".jsonl: ok: "), "it ran");
        let leaks: Vec<_> = text.lines().filter(|line| line.contains(CANARY)).collect();
        assert!(leaks.is_empty(), "{leaks:?}");
        let store = Connection::open(dir.join("state.db")).unwrap();
        let hidden =
            "SELECT count(*) FROM sessions WHERE system_prompt LIKE '%CANARY%' OR user_id LIKE '%CANARY%'";
        let hidden: i64 = store.query_row(hidden, [], |row| row.get(0)).unwrap();
        assert!(hidden > 0, "the store has something to leak");
    });
}

#[test]
fn nothing_depends_on_where_and_when_it_is_run() {
    each(|dir| {
        let run = "$IN hermes-dump state.db | $IN curt-pack -o $OUT && $IN curt2cc -o $OUT-cc $OUT/*.curt";
        sh(dir, &format!("OUT=here; {run}")).ok();
        let elsewhere =
            "env -u HOME -u TERM TZ=Asia/Kathmandu LC_ALL=tr_TR.UTF-8 SOURCE_DATE_EPOCH=1 COLUMNS=7";
        sh(dir, &format!("IN='{elsewhere}'; OUT=there; {run}")).ok();
        sh(dir, "diff -r here there && diff -r here-cc there-cc").ok().stdout("");
    });
}
