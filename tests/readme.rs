//! What the README and its neighbours promise.

use super::common::{Dir, sh};
use std::fs;
use std::path::Path;

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The programs, from the manifest.
fn programs() -> Vec<String> {
    let manifest = read("Cargo.toml");
    let bins = manifest.split("\n[[bin]]\nname = \"").skip(1);
    bins.map(|bin| bin.split('"').next().unwrap().to_owned()).collect()
}

#[test]
fn the_readme_has_two_commands_and_they_are_there() {
    let readme = read("README.md");
    let blocks = readme.split("\n```sh\n").skip(1).map(|block| block.split("\n```\n").next().unwrap());
    let commands: Vec<_> = blocks.collect();
    assert_eq!(commands, ["bash examples/demo", "bash tests/run"]);
    for script in [
        "examples/demo",
        "tests/run",
        "tests/hermes/setup",
        "tests/readers/setup",
        "tests/schema/setup",
        ".ci/run",
    ] {
        assert!(read(script).starts_with("#!/usr/bin/env bash\n"), "{script}");
        assert!(read(script).contains("\nset -euo pipefail\n"), "{script}");
    }
}

/// All but cargo's part, in a home of its own.
#[test]
fn the_manual_and_the_completions_are_installed_as_the_readme_says() {
    let readme = read("README.md");
    let commands: Vec<_> = readme.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    let at = commands.iter().position(|line| *line == "cargo install --locked --path .").unwrap();
    let home = Dir::new("install");
    let rest = commands[at + 1..at + 5].join("\n");
    let script = format!("set -e; export HOME=$PWD; cd '{}'; {rest}", env!("CARGO_MANIFEST_DIR"));
    sh(&home, &script).ok();
    for program in programs() {
        for file in [
            format!("man/man1/{program}.1"),
            format!("bash-completion/completions/{program}.bash"),
            format!("zsh/site-functions/_{program}"),
            format!("../../.config/fish/completions/{program}.fish"),
        ] {
            assert!(home.join(format!(".local/share/{file}")).is_file(), "{file}");
        }
    }
    assert!(home.join(".local/share/man/man7/curt-tools.7").is_file());
}

#[test]
fn every_program_is_in_the_readme_and_the_changelog() {
    let (readme, changelog) = (read("README.md"), read("CHANGELOG.md"));
    for program in programs() {
        assert!(readme.contains(&format!("\n| `{program}` | ")), "{program}");
        assert!(changelog.contains(&format!("\n* {program}: ")), "{program}");
    }
}

#[test]
fn every_link_leads_to_a_file() {
    for page in ["README.md", "examples/README.md", "vectors/README.md", "DEVIATIONS.md", "CHANGELOG.md"] {
        let dir = Path::new(page).parent().unwrap();
        let text = read(page);
        for target in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(dir).join(target);
            assert!(path.exists(), "{page}: {target}");
        }
    }
}

#[test]
fn the_tests_end_with_those_of_the_programs() {
    let run = read("tests/run");
    assert!(run.trim_end().ends_with("\ncargo test --locked --test all"));
    let ci = read(".ci/run");
    assert!(ci.contains("README.md"), "CI runs the README's commands, whatever they are");
}

#[test]
fn the_licence_is_both() {
    assert!(read("Cargo.toml").contains("license = \"MIT OR Apache-2.0\""));
    assert!(read("LICENSE-MIT").contains("Permission is hereby granted, free of charge"));
    assert!(read("LICENSE-APACHE").contains("Version 2.0, January 2004"));
}
