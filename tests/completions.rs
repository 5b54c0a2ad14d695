//! Completions for bash, zsh and fish, made from what `--help` says and checked in, so that nobody needs
//! this crate built to install them. `UPDATE=1` writes them anew.
//!
//! argh_complete is no use here: of a program without subcommands its fish script offers no option after
//! the first operand, its zsh script no file, and its bash script hides files behind options.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::common::{Cmd, Dir, sh};
use super::edge::programs;
use super::help::{Help, Opt, Value};

/// What can stand where a value is wanted.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    File,
    Directory,
    /// Something that no shell knows.
    Other,
}

fn wanted(value: &Value) -> Wanted {
    match value.name.as_str() {
        "DB" | "FILE" | "PATH" => Wanted::File,
        "DIR" => Wanted::Directory,
        "EXT" | "FORM" | "ID" | "N" | "NAME" | "SOURCE" | "WHEN" | "WHICH" | "X.Y.Z" => Wanted::Other,
        name => panic!("what is a {name}? Say so in tests/completions.rs"),
    }
}

const HEAD: &str = "made by tests/completions.rs from --help; run it with UPDATE=1";

/// Options when a word begins like one, nothing where no shell knows what to give, else what bash completes
/// by itself: files. It is bash 3 on some systems, where nothing can switch files off.
fn bash(program: &str, help: &Help) -> String {
    let names = |options: &mut dyn Iterator<Item = &Opt>, between| {
        options.flat_map(Opt::names).collect::<Vec<_>>().join(between)
    };
    let is_other = |value: &Value| wanted(value) == Wanted::Other;
    let others = help.options.iter().filter(|option| option.value.as_ref().is_some_and(is_other));
    let others = names(&mut { others }, " | ");
    let all = names(&mut help.options.iter(), " ");
    let function = format!("_{}", program.replace('-', "_"));
    format!(
        "\
# bash completion for {program}; {HEAD}

{function}() {{
    COMPREPLY=()
    case ${{COMP_WORDS[COMP_CWORD - 1]}} in
    {others}) compopt +o bashdefault +o default 2>/dev/null ;;
    *) case ${{COMP_WORDS[COMP_CWORD]}} in
        -*) COMPREPLY=($(compgen -W '{all}' -- \"${{COMP_WORDS[COMP_CWORD]}}\")) ;;
        esac ;;
    esac
}}

complete -o bashdefault -o default -F {function} {program}
"
    )
}

fn zsh(program: &str, help: &Help) -> String {
    let action = |value: &Value| {
        let action = match wanted(value) {
            Wanted::File => "_files",
            Wanted::Directory => "_files -/",
            Wanted::Other => " ",
        };
        format!(":{}:{action}", value.name)
    };
    let mut specs = String::new();
    for option in &help.options {
        let about = option.about.replace('\'', r"'\''").replace('[', r"\[").replace(']', r"\]");
        let repeats = option.value.as_ref().is_some_and(|value| value.repeats);
        let exclusive = match &*option.long {
            "help" | "version" => "- *".to_owned(),
            _ => option.names().join(" "),
        };
        let before = if repeats { "'*'".to_owned() } else { format!("'({exclusive})'") };
        // `-o+` takes a value with or without a space, `--output=` with a space or the sign.
        let marks = if option.value.is_some() { ["+", "="] } else { ["", ""] };
        let names: Vec<_> = option
            .names()
            .iter()
            .map(|name| format!("{name}{}", marks[usize::from(name.starts_with("--"))]))
            .collect();
        let names = if names.len() > 1 { format!("{{{}}}", names.join(",")) } else { names.concat() };
        let value = option.value.as_ref().map(action).unwrap_or_default();
        specs += &format!("    {before}{names}'[{about}]{value}' \\\n");
    }
    let star = if help.operand.repeats { "*" } else { "" };
    format!(
        "#compdef {program}\n# {HEAD}\n\n_arguments -s -S \\\n{specs}    '{star}{}'\n",
        action(&help.operand)
    )
}

fn fish(program: &str, help: &Help) -> String {
    let mut script = format!("# fish completion for {program}; {HEAD}\n\n");
    for option in &help.options {
        let short = option.short.map(|short| format!(" -s {short}")).unwrap_or_default();
        let value = match option.value.as_ref().map(wanted) {
            None => "",
            Some(Wanted::File) => " -r -F",
            Some(Wanted::Directory) => " -x -a '(__fish_complete_directories)'",
            Some(Wanted::Other) => " -x",
        };
        let about = option.about.replace('\\', r"\\").replace('\'', r"\'");
        script += &format!("complete -c {program}{short} -l {}{value} -d '{about}'\n", option.long);
    }
    script
}

/// Every file of `completions/` as it should be, by name. A shell finds each by this name.
fn generated() -> BTreeMap<String, String> {
    let of = |program: String| {
        let help = Help::of(&program);
        [
            (format!("{program}.bash"), bash(&program, &help)),
            (format!("_{program}"), zsh(&program, &help)),
            (format!("{program}.fish"), fish(&program, &help)),
        ]
    };
    programs().into_iter().flat_map(of).collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("completions")
}

#[test]
fn completions_are_those_of_the_present_options() {
    let generated = generated();
    if std::env::var_os("UPDATE").is_some() {
        for (name, script) in &generated {
            fs::write(folder().join(name), script).unwrap();
        }
    }
    for (name, script) in &generated {
        let checked_in = fs::read_to_string(folder().join(name)).unwrap_or_default();
        assert!(checked_in == *script, "completions/{name} is not up to date: run the tests with UPDATE=1");
    }
    // Without SQLite some programs are missing, not gone.
    if cfg!(feature = "sqlite") {
        for entry in fs::read_dir(folder()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(generated.contains_key(&name), "completions/{name} is of no program");
        }
    }
}

#[test]
fn bash_completes_options_and_leaves_files_to_itself() {
    let dir = Dir::new("bash");
    let complete = |program: &str, words: &str| {
        let function = program.replace('-', "_");
        let script = format!(
            "source '{}/{program}.bash'; COMP_WORDS=({program} {words} ''); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 2))
             compopt() {{ echo \"compopt $*\"; }}; _{function}; echo \"${{COMPREPLY[@]}}\"",
            folder().display()
        );
        sh(&dir, &script).ok().stdout_str().trim_end().to_owned()
    };
    assert_eq!(complete("curt-check", "--ver"), "--verbose --version");
    assert_eq!(complete("curt-check", "a.curt -q"), "-q");
    assert_eq!(complete("curt-check", "a"), "");
    assert_eq!(complete("curt-check", "--max-bytes 1"), "compopt +o bashdefault +o default");
    assert_eq!(complete("curt-check", "--files0-from li"), "");
    assert_eq!(complete("hermes-dump", "--source -"), "compopt +o bashdefault +o default");
}

#[test]
fn every_shell_that_is_here_reads_its_scripts() {
    for (name, _) in generated() {
        let shell = match name.rsplit_once('.') {
            Some((_, shell)) => shell,
            None => "zsh",
        };
        let here = Cmd::any("sh").args(["-c", &format!("command -v {shell}")]).run().status == Some(0);
        if here {
            Cmd::any(shell).arg("-n").arg(folder().join(name)).run().ok();
        }
    }
}
