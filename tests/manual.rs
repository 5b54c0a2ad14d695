//! The manual pages, held to the programs: mandoc has nothing to say against them, the options are those
//! of `--help`, the examples run and print what they show.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::common::{Cmd, Dir, sh};
use super::edge::programs;
use super::help::{Help, Opt};

/// What pages refer to that others wrote, by section.
const OTHERS: &[&str] = &[
    "chronic 1",
    "cmp 1",
    "cron 8",
    "find 1",
    "flock 1",
    "gzip 1",
    "jq 1",
    "make 1",
    "parallel 1",
    "pv 1",
    "split 1",
    "sponge 1",
    "sqlite3 1",
    "xargs 1",
];

/// Every page, in byte order of its name.
fn pages() -> Vec<Page> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("man");
    let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(Page::read).collect()
}

/// The source of one page.
struct Page {
    path: PathBuf,
    /// `curt-pack`
    name: String,
    /// `1`
    section: String,
    text: String,
}

impl Page {
    fn read(path: PathBuf) -> Page {
        let text = fs::read_to_string(&path).unwrap();
        let file = path.file_name().unwrap().to_str().unwrap();
        let (name, section) = file.rsplit_once('.').unwrap();
        Page { name: name.to_owned(), section: section.to_owned(), text, path }
    }

    fn of(program: &str) -> Page {
        Page::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("man/{program}.1")))
    }

    /// The lines under `.Sh title`.
    fn under(&self, title: &str) -> Vec<&str> {
        let heading = format!(".Sh {title}");
        let from = self.text.lines().skip_while(|line| *line != heading).skip(1);
        from.take_while(|line| !line.starts_with(".Sh ")).collect()
    }
}

/// An option as a page's list spells it: `-o DIR, --output DIR`.
fn spelled(option: &Opt) -> String {
    let value = option.value.as_ref().map(|value| format!(" {}", value.name)).unwrap_or_default();
    option.names().iter().map(|name| format!("{name}{value}")).collect::<Vec<_>>().join(", ")
}

/// `.It Fl o Ar DIR , Fl -output Ar DIR` as `-o DIR, --output DIR`; `None` for an item without a flag.
fn item(line: &str) -> Option<String> {
    let mut words = line.strip_prefix(".It ").filter(|item| item.starts_with("Fl "))?.split(' ');
    let mut spelled = String::new();
    while let Some(word) = words.next() {
        let (before, word) = match word {
            "Fl" => (" -", words.next().unwrap()),
            "Ar" => (" ", words.next().unwrap()),
            mark => ("", mark),
        };
        spelled += before;
        spelled += word;
    }
    Some(spelled.trim().to_owned())
}

/// The flags that a synopsis names: `-q`, `--strict`.
fn flags(synopsis: &[&str]) -> BTreeSet<String> {
    let words: Vec<_> = synopsis.iter().flat_map(|line| line.split([' ', '.'])).collect();
    let after = words.windows(2).filter(|pair| pair[0] == "Fl").map(|pair| pair[1]);
    after
        .flat_map(|flag| match flag.strip_prefix('-') {
            Some(long) => vec![format!("--{long}")],
            None => flag.chars().map(|short| format!("-{short}")).collect(),
        })
        .collect()
}

#[test]
fn mandoc_finds_no_fault_in_any_page() {
    needs("mandoc", "mandoc");
    for page in pages() {
        Cmd::any("mandoc").args(["-T", "lint", "-W", "warning"]).arg(&page.path).run().ok().stdout("");
        let title = format!(".Dt {} {}", page.name.to_uppercase(), page.section);
        assert!(page.text.lines().any(|line| line == title), "{}: {title}", page.name);
    }
}

#[test]
fn every_program_has_a_page_that_says_what_its_help_says() {
    for program in programs() {
        let (page, help) = (Page::of(&program), Help::of(&program));
        let name = page.under("NAME");
        assert_eq!(name, [format!(".Nm {program}"), format!(".Nd {}", help.about)]);

        let described: Vec<_> = page.under("DESCRIPTION").into_iter().filter_map(item).collect();
        let helped: Vec<_> = help.options.iter().map(spelled).collect();
        assert_eq!(described, helped, "{program}: the options of the page, then those of --help");

        let mut rest = flags(&page.under("SYNOPSIS"));
        for option in help.options.iter().filter(|option| !["help", "version"].contains(&&*option.long)) {
            let named = option.names().iter().filter(|name| rest.remove(*name)).count();
            assert!(named > 0, "{program}: its synopsis lacks {}", spelled(option));
        }
        assert!(rest.is_empty(), "{program}: its synopsis offers {rest:?}");
    }
}

#[test]
fn every_page_of_a_program_tells_its_exit_status() {
    for page in pages().into_iter().filter(|page| page.section == "1") {
        let items: Vec<_> =
            page.under("EXIT STATUS").into_iter().filter(|line| line.starts_with(".It")).collect();
        assert_eq!(items, [".It 0", ".It 1", ".It 2"], "{}", page.name);
    }
}

#[test]
fn no_page_names_a_program_that_does_not_exist() {
    let pages = pages();
    // Also a program that this build lacks.
    let source = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/bin/{name}.rs"));
    let ours =
        |name: &str| ["curt-tools", "curt-extensions", "lake-event"].contains(&name) || source(name).exists();
    for page in &pages {
        assert!(page.section != "1" || ours(&page.name), "{}: a page without a program", page.name);
        for line in page.text.lines() {
            if let Some(reference) = line.strip_prefix(".Xr ") {
                let words: Vec<_> = reference.split(' ').collect();
                let is = |other: &Page| other.name == words[0] && other.section == words[1];
                let there = pages.iter().any(is) || OTHERS.contains(&&*words[..2].join(" "));
                assert!(there, "{}: {line}", page.name);
            }
            let words = line.split(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c));
            const FAMILIES: [&str; 7] = ["curt-", "curt2", "cc-", "cursor-", "hermes-", "lake-", "ctxlake-"];
            // `hermes-4-405b` is a model.
            let looks_ours =
                |word: &&str| FAMILIES.iter().any(|family| word.starts_with(family)) && !word.contains("-4-");
            for word in words.filter(looks_ours) {
                let word = word.trim_end_matches(['.', '-']);
                assert!(ours(word), "{}: {word}: {line}", page.name);
            }
        }
    }
}

/// The fields that session-row(5) names, one list after the other: those of a row and of its messages, for
/// Hermes, Claude Code, Cursor.
pub fn row_lists() -> Vec<Vec<String>> {
    let page = Page::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("man/session-row.5"));
    let mut lists: Vec<Vec<String>> = Vec::new();
    for line in page.under("DESCRIPTION") {
        if line.starts_with(".Bl ") {
            lists.push(Vec::new());
        } else if let Some(names) = line.strip_prefix(".It Va ") {
            lists.last_mut().unwrap().extend(names.split(" , ").map(str::to_owned));
        }
    }
    lists
}

/// A missing tool is no reason to pass.
#[track_caller]
fn needs(tool: &str, package: &str) {
    let dir = Dir::new("needs");
    let found = sh(&dir, &format!("command -v {tool}")).status == Some(0);
    assert!(found, "{tool} is missing: install it, on Debian with `apt-get install {package}`");
}

/// What begins at a store: rows, and nearly every example.
#[cfg(feature = "sqlite")]
mod with_a_store {
    use curt_tools::json::raw::Raw;

    use super::super::common::data;
    use super::*;

    #[test]
    fn rows_have_the_fields_of_their_page_in_its_order() {
        let lists = row_lists();
        let [row, message, ..] = &lists[..] else { panic!("no lists") };
        let mut unseen: BTreeSet<&String> = row.iter().chain(message).collect();
        // What no session of the stores has.
        for name in ["actual_cost_usd", "model_only", "partial"] {
            unseen.remove(&name.to_owned());
        }
        let stores =
            ["0.13", "0.16", "v22", "v31"].map(|release| data(format!("hermes/hermes-{release}.db")));
        let output = Cmd::new("hermes-dump").args(stores).run().ok();
        for row in output.stdout.split(|byte| *byte == b'\n').filter(|row| !row.is_empty()) {
            let row = Raw::parse(row).unwrap();
            let messages = row.get("messages").unwrap().items().map(|message| (message, &lists[1]));
            for (object, list) in messages.chain([(row, &lists[0])]) {
                let mut rest = list.iter();
                for (key, _) in object.members() {
                    let key = String::from_utf8(key.text().unwrap().into_owned()).unwrap();
                    assert!(rest.any(|name| *name == key), "{key} is not in its place, or not in the page");
                    unseen.remove(&key);
                }
            }
        }
        assert!(unseen.is_empty(), "in the page, in no row: {unseen:?}");
    }

    /// One command of an example and the lines it is said to print, if the page shows any.
    #[derive(Debug, PartialEq)]
    struct Example {
        command: String,
        output: Vec<String>,
    }

    /// The commands of all literal blocks: lines that start with `$ `, go on after a backslash or a pipe, and
    /// are followed by what they print. Blocks without one hold no commands.
    fn examples(page: &Page) -> Vec<Example> {
        let mut found: Vec<Example> = Vec::new();
        let mut in_block = false;
        for line in page.text.lines() {
            if line.starts_with(".Bd -literal") || line.starts_with(".Ed") {
                in_block = line.starts_with(".Bd");
                found.push(Example { command: String::new(), output: Vec::new() });
                continue;
            }
            if !in_block {
                continue;
            }
            let line = line.strip_prefix(r"\&").unwrap_or(line).replace(r"\e", r"\");
            let last = found.last_mut().unwrap();
            if let Some(command) = line.strip_prefix("$ ") {
                found.push(Example { command: command.to_owned(), output: Vec::new() });
            } else if last.command.ends_with(['\\', '|']) && last.output.is_empty() {
                last.command += &format!("\n{line}");
            } else {
                last.output.push(line);
            }
        }
        found.retain(|example| !example.command.is_empty());
        found
    }

    #[test]
    fn the_examples_of_every_page_run_and_print_what_they_show() {
        for page in pages() {
            let examples = examples(&page);
            assert!(page.section != "1" || !examples.is_empty(), "{}: no examples", page.name);
            for (tool, package) in [("jq", "jq"), ("parallel", "parallel")] {
                if examples.iter().any(|example| example.command.contains(tool)) {
                    needs(tool, package);
                }
            }
            let home = home(&page.name);
            // One shell for the page, as its reader has; NUL, what was printed, NUL, the status, each time.
            let mut script = "export HOME=$PWD LC_ALL=C TZ=UTC; unset HERMES_HOME; exec 2>&1\n".to_owned();
            for Example { command, .. } in &examples {
                script += &format!("{command}\ns=$?; printf '\\0%d\\0' $s; (exit $s)\n");
            }
            let output = sh(&home, &script);
            let told: Vec<_> = output.stdout_str().split('\0').collect();
            assert_eq!(told.len(), 2 * examples.len() + 1, "{}: {output:?}", page.name);
            for (example, told) in examples.iter().zip(told.chunks(2)) {
                if example.output.is_empty() {
                    assert_eq!(told[1], "0", "{}: {}\n{}", page.name, example.command, told[0]);
                } else {
                    let printed: Vec<_> = told[0].lines().collect();
                    assert_eq!(printed, example.output, "{}: {}", page.name, example.command);
                }
            }
        }
    }

    /// The home of somebody who has sessions of both agents, where the examples of a page run.
    fn home(page: &str) -> Dir {
        let home = Dir::new(page);
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/sample/state.db");
        let store = fs::read(sample).unwrap();
        home.write("state.db", &store);
        home.write(".hermes/state.db", store);
        let chat = ".cursor/chats/1f0e/0d9c7f3a-5be217c0";
        home.write(
            format!("{chat}/meta.json"),
            r#"{"cwd":"/home/me/src","title":"Fix the build","created":1793520000000,"updated":1793520060000}"#,
        );
        home.write(format!("{chat}/prompt_history.json"), r#"["Why does it fail?","And on a Mac?"]"#);
        let sessions = [("5c1a", "05-truncated-last-line"), ("old", "16-cycle")];
        for (name, sample) in sessions {
            let transcript = fs::read(data(format!("cc-edge/{sample}.jsonl"))).unwrap();
            home.write(format!(".claude/projects/-home-me-src/{name}.jsonl"), transcript);
        }
        home
    }
}
