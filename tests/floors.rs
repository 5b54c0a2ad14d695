//! The house has floors, and this reads the plans: every path that a source file names, with `use`,
//! aliases and `super` resolved, is held against the table in the docs of `src/lib.rs`.
//!
//! A lexer of fifty lines is enough. Comments and strings are not code, `#[cfg(test)]` items are not
//! the library, and what is left is identifiers joined by `::`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// An identifier or a keyword.
    Name(String),
    /// The inside of a string literal, escapes as written.
    Text(String),
    /// Any other character; `::` is one [`Token::Path`].
    Mark(char),
    Path,
}

use Token::{Mark, Name, Text};

fn name(text: &str) -> Token {
    Name(text.to_owned())
}

// ---------------------------------------------------------------- lexing

fn lex(source: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = if rest.starts_with("//") {
            rest.find('\n').map_or("", |end| &rest[end..])
        } else if rest.starts_with("/*") {
            skip_block_comment(rest)
        } else if let Some((text, after)) = string(rest) {
            tokens.push(Text(text.to_owned()));
            after
        } else if c == '\'' {
            skip_char_or_lifetime(after)
        } else if c.is_alphanumeric() || c == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(name(&rest[..end]));
            &rest[end..]
        } else if let Some(after) = rest.strip_prefix("::") {
            tokens.push(Token::Path);
            after
        } else {
            if !c.is_whitespace() {
                tokens.push(Mark(c));
            }
            after
        };
    }
    tokens
}

/// Block comments nest.
fn skip_block_comment(source: &str) -> &str {
    let (mut depth, mut rest) = (0, source);
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix("/*") {
            (depth, rest) = (depth + 1, inner);
        } else if let Some(outer) = rest.strip_prefix("*/") {
            (depth, rest) = (depth - 1, outer);
            if depth == 0 {
                break;
            }
        } else {
            rest = &rest[rest.chars().next().unwrap().len_utf8()..];
        }
    }
    rest
}

/// `"…"`, `b"…"`, `c"…"`, `r#"…"#`: the inside, and what follows.
fn string(source: &str) -> Option<(&str, &str)> {
    let body = source.trim_start_matches(['b', 'c']);
    let prefix = source.len() - body.len();
    if prefix > 1 {
        return None;
    }
    if let Some(raw) = body.strip_prefix('r') {
        let inside = raw.trim_start_matches('#');
        let hashes = &raw[..raw.len() - inside.len()];
        let inside = inside.strip_prefix('"')?;
        let end = inside.find(&format!("\"{hashes}"))?;
        return Some((&inside[..end], &inside[end + 1 + hashes.len()..]));
    }
    let inside = body.strip_prefix('"')?;
    let mut escaped = false;
    let end = inside.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    Some((&inside[..end], &inside[end + 1..]))
}

/// After a `'`: the rest of `'x'`, `'\n'`, `'\u{1f}'` goes; of a lifetime, nothing does.
fn skip_char_or_lifetime(after: &str) -> &str {
    if let Some(escape) = after.strip_prefix('\\') {
        let end = escape[1..].find('\'').map_or(escape.len(), |end| end + 2);
        return &escape[end..];
    }
    let mut chars = after.chars();
    match (chars.next(), chars.next()) {
        (Some(_), Some('\'')) => chars.as_str(),
        _ => after,
    }
}

// ---------------------------------------------------------------- items

/// The index just behind the bracket that closes the one at `open`.
fn behind_close(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Mark('(' | '[' | '{') => depth += 1,
            Mark(')' | ']' | '}') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

/// `#[…]` at `at`: the tokens inside, and the index behind it.
fn attribute(tokens: &[Token], at: usize) -> Option<(&[Token], usize)> {
    if tokens.get(at..at + 2)? != [Mark('#'), Mark('[')] {
        return None;
    }
    let end = behind_close(tokens, at + 1);
    Some((&tokens[at + 2..end - 1], end))
}

/// The code without the items that only tests see.
fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match attribute(tokens, at) {
            Some((inside, end)) if is_cfg_test(inside) => at = behind_item(tokens, end),
            _ => {
                kept.push(tokens[at].clone());
                at += 1;
            }
        }
    }
    kept
}

fn is_cfg_test(attribute: &[Token]) -> bool {
    attribute.first() == Some(&name("cfg"))
        && attribute.contains(&name("test"))
        && !attribute.contains(&name("not"))
}

/// An item ends with its first `;` or with its block.
fn behind_item(tokens: &[Token], mut at: usize) -> usize {
    while at < tokens.len() {
        at = match &tokens[at] {
            Mark(';') => return at + 1,
            Mark('{') => return behind_close(tokens, at),
            Mark('(' | '[') => behind_close(tokens, at),
            _ => at + 1,
        };
    }
    at
}

// ---------------------------------------------------------------- paths

type Segments = Vec<String>;

/// Every path the code names: imports in full, and inline ones with their first segment looked up among
/// the imports.
fn paths(tokens: &[Token]) -> Vec<Segments> {
    let mut imports = Vec::new();
    let mut inline = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at] == name("use") {
            let end =
                tokens[at..].iter().position(|token| *token == Mark(';')).map_or(tokens.len(), |n| at + n);
            use_tree(&tokens[at + 1..end], &[], &mut imports);
            at = end;
        } else if let Name(first) = &tokens[at] {
            let mut path = vec![first.clone()];
            while let Some([Token::Path, Name(next)]) = tokens.get(at + 1..at + 3) {
                path.push(next.clone());
                at += 2;
            }
            inline.push(path);
            at += 1;
        } else {
            at += 1;
        }
    }
    let known: BTreeMap<_, _> = imports.iter().cloned().collect();
    let resolved = inline.into_iter().map(|path| match known.get(&path[0]) {
        Some(full) => full.iter().chain(&path[1..]).cloned().collect(),
        None => path,
    });
    imports.iter().map(|(_, full)| full.clone()).chain(resolved).collect()
}

/// `a::{b, c::d as e}` as (name in this file, full path).
fn use_tree(tree: &[Token], above: &[String], imports: &mut Vec<(String, Segments)>) {
    let mut path = above.to_vec();
    let mut alias = None;
    let mut at = 0;
    while at < tree.len() {
        match &tree[at] {
            Name(word) if word == "as" => {
                if let Some(Name(word)) = tree.get(at + 1) {
                    alias = Some(word.clone());
                }
                at += 1;
            }
            Name(word) => path.push(word.clone()),
            Mark('*') => path.push("*".to_owned()),
            Mark('{') => {
                let inside = &tree[at + 1..behind_close(tree, at) - 1];
                for branch in branches(inside) {
                    use_tree(branch, &path, imports);
                }
                return;
            }
            _ => {}
        }
        at += 1;
    }
    if path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    if let Some(last) = path.last().cloned() {
        imports.push((alias.unwrap_or(last), path));
    }
}

/// Split at the commas that stand in no inner bracket.
fn branches(tokens: &[Token]) -> Vec<&[Token]> {
    let (mut branches, mut start, mut at) = (Vec::new(), 0, 0);
    while at < tokens.len() {
        at = match &tokens[at] {
            Mark(',') => {
                branches.push(&tokens[start..at]);
                start = at + 1;
                at + 1
            }
            Mark('{') => behind_close(tokens, at),
            _ => at + 1,
        };
    }
    branches.push(&tokens[start..]);
    branches
}

// ---------------------------------------------------------------- rules

/// Which folder stands on which floor, as the docs of `src/lib.rs` say.
struct House {
    floors: BTreeMap<String, u32>,
    /// Folders that only programs may use.
    programs_only: Vec<String>,
}

impl House {
    fn read(lib: &str) -> House {
        let mut house = House { floors: BTreeMap::new(), programs_only: Vec::new() };
        for line in lib.lines() {
            let cells: Vec<_> = line.split('|').map(str::trim).collect();
            let ["//!", floor, folders, owns, ""] = cells[..] else { continue };
            let Ok(floor) = floor.parse() else { continue };
            for folder in folders.split('`').skip(1).step_by(2) {
                let folder = folder.trim_start_matches("src/").trim_end_matches('/');
                house.floors.insert(folder.to_owned(), floor);
                if owns.contains("used by `src/bin` alone") {
                    house.programs_only.push(folder.to_owned());
                }
            }
        }
        house
    }

    fn floor(&self, folder: &str) -> Option<u32> {
        self.floors.get(folder).copied()
    }

    /// Everything wrong with the file `path` (relative to `src`) that holds `source`.
    fn faults(&self, path: &str, source: &str) -> Vec<String> {
        let tokens = without_tests(&lex(source));
        let module = module_of(path);
        let folder = module.first().cloned().unwrap_or_default();
        let mut faults = Vec::new();
        if path != "lib.rs" && self.floor(&folder).is_none() {
            faults.push(format!("'{folder}' stands on no floor in src/lib.rs"));
        }
        for named in paths(&tokens) {
            let full = absolute(&named, &module);
            faults.extend(self.import_fault(&folder, &full));
            faults.extend(OWNERS.iter().filter_map(|owner| owner.fault(path, &full)));
        }
        if self.floor(&folder).is_some_and(|floor| floor < 4) && !self.programs_only.contains(&folder) {
            faults.extend(printing(&tokens));
        }
        if tokens.contains(&name("unsafe")) && !UNSAFE.contains(&path) {
            faults.push(format!("unsafe belongs to {}", UNSAFE.join(", ")));
        }
        faults.extend(arguments(&tokens));
        faults
    }

    fn import_fault(&self, folder: &str, full: &[String]) -> Option<String> {
        let ["crate", other, ..] = full.iter().map(String::as_str).collect::<Vec<_>>()[..] else {
            return None;
        };
        // A constant of the root stands under every floor, and a file may name its own folder.
        if folder == "bin" || folder.is_empty() || other == folder || other.chars().all(|c| !c.is_lowercase())
        {
            return None;
        }
        let said = full.join("::");
        if self.programs_only.iter().any(|only| only == other) {
            return Some(format!("{said}: {other} is used by src/bin alone"));
        }
        match (self.floor(folder), self.floor(other)) {
            (Some(own), Some(theirs)) if theirs < own => None,
            (Some(own), Some(theirs)) => Some(format!("{said}: floor {own} imports from floor {theirs}")),
            _ => Some(format!("{said}: stands on no floor")),
        }
    }
}

/// A path that only some files may name.
struct Owner {
    path: &'static str,
    /// Files, or folders with a `/` at the end.
    owners: &'static [&'static str],
}

/// The files that may say `unsafe`: the signal call, and the string skipper beside its safe twin.
const UNSAFE: &[&str] = &["edge/shell.rs", "json/skip/vector.rs"];

const FILES: &[&str] = &[
    "stream/place.rs",
    "stream/operands.rs",
    "stream/spill.rs",
    "stream/tree.rs",
    "stream/bundle.rs",
    "hermes/store/",
    "lake/spool.rs",
    "edge/machine.rs",
];

const OWNERS: &[Owner] = &[
    Owner { path: "serde_json", owners: &["json/"] },
    Owner { path: "simd_json", owners: &["json/"] },
    Owner { path: "rusqlite", owners: &["hermes/store/"] },
    Owner { path: "argh", owners: &["edge/", "bin/"] },
    Owner { path: "indicatif", owners: &["edge/progress.rs"] },
    Owner { path: "std::fs", owners: FILES },
    Owner { path: "std::env", owners: &["edge/", "bin/"] },
    Owner { path: "std::process", owners: &["edge/", "bin/"] },
    Owner { path: "std::io::stdin", owners: &["edge/", "bin/", "stream/operands.rs"] },
    Owner { path: "std::io::stdout", owners: &["edge/"] },
    Owner { path: "std::io::stderr", owners: &["edge/"] },
    Owner { path: "std::io::*", owners: &["edge/", "bin/"] },
    Owner { path: "std::*", owners: &[] },
    Owner { path: "std::time::SystemTime::now", owners: &["edge/shell.rs"] },
    Owner { path: "std::time::Instant", owners: &["edge/progress.rs"] },
];

impl Owner {
    fn fault(&self, path: &str, full: &[String]) -> Option<String> {
        let owned = self
            .owners
            .iter()
            .any(|owner| if owner.ends_with('/') { path.starts_with(owner) } else { *owner == path });
        let wanted: Vec<_> = self.path.split("::").collect();
        let named = full.len() >= wanted.len() && full.iter().zip(&wanted).all(|(a, b)| a == b);
        (named && !owned).then(|| format!("{}: belongs to {}", full.join("::"), self.owners.join(", ")))
    }
}

/// `println!` and its kin.
fn printing(tokens: &[Token]) -> Vec<String> {
    let called = tokens.windows(2).filter_map(|pair| match pair {
        [Name(word), Mark('!')] => Some(word.as_str()),
        _ => None,
    });
    let printing = called.filter(|word| matches!(*word, "print" | "println" | "eprint" | "eprintln" | "dbg"));
    printing.map(|word| format!("{word}!: only edge talks to a terminal")).collect()
}

/// A command line answers `-h`, keeps the word `help` an operand, and takes bytes and text for what they are.
fn arguments(tokens: &[Token]) -> Vec<String> {
    let mut faults = Vec::new();
    let (mut derives, mut triggers) = (false, false);
    let mut at = 0;
    while at < tokens.len() {
        if let Some((inside, end)) = attribute(tokens, at) {
            derives |= inside.first() == Some(&name("derive")) && inside.contains(&name("FromArgs"));
            let wanted = [Text("-h".into()), Mark(','), Text("--help".into())];
            triggers |=
                inside.contains(&name("help_triggers")) && inside.windows(3).any(|three| *three == wanted);
            at = end;
            continue;
        }
        if let [Name(word), Name(of)] = &tokens[at..(at + 2).min(tokens.len())]
            && word == "struct"
        {
            let end = behind_item(tokens, at);
            if derives && !triggers {
                faults.push(format!("{of}: wants #[argh(help_triggers(\"-h\", \"--help\"))]"));
            }
            if derives {
                let plain = tokens[at..end].iter().filter_map(|token| match token {
                    Name(word) if word == "String" || word == "PathBuf" => Some(word),
                    _ => None,
                });
                faults.extend(plain.map(|kind| {
                    format!("{of}: {kind} on a command line is an edge::argv::{{Word, Operand}}")
                }));
            }
            (derives, triggers) = (false, false);
            at = end;
            continue;
        }
        if matches!(&tokens[at], Name(word) if word == "enum" || word == "fn") {
            (derives, triggers) = (false, false);
        }
        at += 1;
    }
    faults
}

/// `a/b.rs` is the module `a::b`, `a/mod.rs` is `a`, `bin/x.rs` a program.
fn module_of(path: &str) -> Segments {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    if stem == "lib" { Vec::new() } else { stem.split('/').map(str::to_owned).collect() }
}

/// With `crate`, `self`, `super` and the library's own name resolved.
fn absolute(path: &[String], module: &[String]) -> Segments {
    let mut base = match path.first().map(String::as_str) {
        Some("self" | "super") => [&["crate".to_owned()], module].concat(),
        _ => Vec::new(),
    };
    for segment in path {
        match segment.as_str() {
            "self" => {}
            "super" => drop(base.pop()),
            "curt_tools" if base.is_empty() => base.push("crate".to_owned()),
            _ => base.push(segment.clone()),
        }
    }
    base
}

fn sources(dir: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

// ---------------------------------------------------------------- tests

#[test]
fn every_file_imports_from_below_and_names_only_what_it_owns() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let house = House::read(&fs::read_to_string(src.join("lib.rs")).unwrap());
    let mut files = Vec::new();
    sources(&src, &mut files);
    files.sort();
    assert!(files.len() > 20, "{files:?}");
    let mut faults = Vec::new();
    for file in &files {
        let path = file.strip_prefix(&src).unwrap().to_str().unwrap();
        let found = house.faults(path, &fs::read_to_string(file).unwrap());
        faults.extend(found.into_iter().map(|fault| format!("src/{path}: {fault}")));
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// The house these tests build: its table is written as `src/lib.rs` writes it.
fn house() -> House {
    House::read(
        "//! | floor | folder | owns |\n//! |---|---|---|\n\
         //! | 4 | `src/bin/` | programs |\n//! | 3 | [`mapping`] | tables |\n//! | 2 | [`hermes`], [`curt`] | formats |\n\
         //! | 1 | [`json`], [`stream`], [`time`] | text |\n//! | 1 | [`edge`] | used by `src/bin` alone |\n",
    )
}

#[track_caller]
fn red(path: &str, source: &str, complaint: &str) {
    let faults = house().faults(path, source);
    assert!(faults.iter().any(|fault| fault.contains(complaint)), "{path}: {source}\n{faults:?}");
}

#[track_caller]
fn green(path: &str, source: &str) {
    assert_eq!(house().faults(path, source), [""; 0], "{path}: {source}");
}

#[test]
fn the_table_is_read() {
    let house = house();
    assert_eq!(house.floor("bin"), Some(4));
    assert_eq!(house.floor("curt"), Some(2));
    assert_eq!(house.programs_only, ["edge"]);
}

#[test]
fn an_import_from_a_floor_above_or_beside_is_red() {
    red("json/scan.rs", "use crate::curt::check;", "floor 1 imports from floor 2");
    red("curt/check.rs", "use crate::hermes::row::Row;", "floor 2 imports from floor 2");
    red("curt/check.rs", "use crate::{json::raw, mapping::counts};", "crate::mapping::counts");
    red("curt/check.rs", "fn f() { crate::mapping::run() }", "floor 2 imports from floor 3");
    red("curt/check.rs", "use super::super::mapping;", "floor 2 imports from floor 3");
    red("curt/mod.rs", "use super::hermes as h;", "floor 2 imports from floor 2");
    red("stream/ndjson.rs", "fn f(x: crate::json::raw::Raw) {}", "floor 1 imports from floor 1");
    red("mapping/a.rs", "use crate::edge::shell::Shell;", "used by src/bin alone");
    red("mapping/a.rs", "use crate::attic::x;", "no floor");
    red("attic/x.rs", "", "no floor");
}

#[test]
fn an_import_from_below_or_from_the_same_folder_is_green() {
    green("curt/check.rs", "use crate::json::raw::Raw; use super::name; use crate::VERSION; use self::x;");
    green("mapping/a.rs", "use crate::{curt, hermes::{row::Row, self}, time};");
    green("bin/x.rs", "use curt_tools::edge::shell; use curt_tools::mapping::a;");
    green("lib.rs", "pub mod curt; pub use curt::check;");
}

#[test]
fn the_outside_world_is_red_below_the_programs() {
    red("curt/a.rs", "use std::env;", "std::env");
    red("curt/a.rs", "use std::{collections::BTreeMap, env::{var}};", "std::env::var");
    red("mapping/a.rs", "fn f() { std::process::exit(1) }", "std::process::exit");
    red("json/a.rs", "use std::io; fn f() { io::stdout() }", "std::io::stdout");
    red("json/a.rs", "use std::io::{self as sys, Read}; fn f() { sys::stdin() }", "std::io::stdin");
    red("json/a.rs", "use std::io::*;", "std::io::*");
    red("time.rs", "use std::time::SystemTime as S; fn f() { S::now() }", "SystemTime::now");
    red("time.rs", "use std::time; fn f() { time::SystemTime::now() }", "SystemTime::now");
    red("curt/a.rs", "fn f() { println!(\"x\") }", "println!");
    red("curt/a.rs", "fn f() { std::fs::read(\"x\") }", "std::fs::read");
    red("bin/x.rs", "use std::fs::File;", "std::fs::File");
    green("stream/place.rs", "use std::fs::File;");
    green("stream/operands.rs", "use std::io; fn f() { io::stdin() }");
    green("time.rs", "use std::time::SystemTime; fn f(now: SystemTime) {}");
    green("edge/shell.rs", "use std::env; fn f() { std::io::stdout() }");
    green("curt/a.rs", "const V: &str = env!(\"CARGO_PKG_VERSION\");");
}

#[test]
fn a_crate_has_its_owner() {
    red("curt/a.rs", "use serde_json::Value;", "serde_json");
    red("bin/x.rs", "fn f() { simd_json::to_borrowed_value() }", "simd_json");
    red("hermes/row.rs", "use rusqlite::Connection;", "rusqlite");
    red("curt/a.rs", "fn f() { unsafe { } }", "unsafe");
    green("json/canon.rs", "use serde_json::Value; use simd_json as s;");
    green("hermes/store/open.rs", "use rusqlite::Connection; use std::fs;");
}

#[test]
fn comments_strings_and_tests_are_not_code() {
    green("curt/a.rs", "// use std::env;\n/* use std::fs; /* nested */ use std::env; */");
    green("curt/a.rs", r##"const A: &str = "use std::env;\" std::fs"; const B: &str = r#"std::fs"x"#;"##);
    green("curt/a.rs", "fn f<'a>(x: &'a str) -> char { '\"' } fn g() -> char { '\\'' } fn h() { '\\u{7f}' }");
    green("curt/a.rs", "#[cfg(test)]\nmod tests { use std::env; fn f() { println!() } }");
    green("curt/a.rs", "#[cfg(test)] #[allow(x)] use std::fs; fn f() {}");
    red("curt/a.rs", "#[cfg(test)] mod tests { fn f() { } } use std::fs;", "std::fs");
    red("curt/a.rs", "#[cfg(not(test))] use std::fs;", "std::fs");
    red("curt/a.rs", "const Q: char = '\"'; use std::fs; const R: char = '\"';", "std::fs");
}

#[test]
fn a_command_line_without_its_help_triggers_is_red() {
    let good = "#[derive(argh::FromArgs, argh::ArgsInfo)] #[argh(help_triggers(\"-h\", \"--help\"))] struct Args { #[argh(positional)] files: Vec<Operand> }";
    green("bin/x.rs", good);
    red("bin/x.rs", &good.replace("#[argh(help_triggers(\"-h\", \"--help\"))]", ""), "help_triggers");
    red("bin/x.rs", &good.replace("\"-h\", ", ""), "help_triggers");
    red("bin/x.rs", &good.replace("Operand", "String"), "String");
    red("bin/x.rs", &format!("{good} #[derive(FromArgs)] struct Other {{}}"), "Other");
    green("bin/x.rs", &format!("{good} #[derive(Debug)] struct Plain {{ text: String }}"));
}
