//! What holds for every program, whatever it does: help and version, usage errors, messages, a closed
//! pipe, a full disk.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::common::{Cmd, Dir, Output2, sh};

const SIGPIPE: i32 = 13;

/// Every `[[bin]]` of Cargo.toml that this build has.
pub fn programs() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let bins = manifest.split("\n[[bin]]\n").skip(1).map(|bin| bin.split("\n[").next().unwrap());
    let built = bins.filter(|bin| cfg!(feature = "sqlite") || !bin.contains("required-features"));
    let names = built.filter_map(|bin| bin.lines().find_map(|line| line.strip_prefix("name = ")));
    let names: Vec<_> = names.map(|name| name.trim_matches('"').to_owned()).collect();
    assert!(names.len() >= 5, "{names:?}");
    names
}

/// Do this for every program.
fn each(check: impl Fn(&str)) {
    programs().iter().for_each(|program| check(program));
}

/// A run of it, with the options that it cannot do without.
fn command(program: &str) -> Cmd {
    Cmd::new(program).args(line(program).split(' ').skip(1))
}

/// The same for a shell.
fn line(program: &str) -> &str {
    if program == "lake-pack" { "lake-pack --fleet=f --agent=a" } else { program }
}

/// Whether its help offers this option.
fn offers(program: &str, option: &str) -> bool {
    command(program).arg("--help").run().ok().stdout_str().contains(option)
}

#[track_caller]
fn usage_error(output: Output2, program: &str, reason: &str) {
    let expected = format!("{program}: {reason}\nTry '{program} --help' for more information.\n");
    output.status(2).stderr(&expected).stdout("");
}

#[test]
fn every_program_on_disk_is_in_the_manifest() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin");
    let manifest = fs::read_to_string(dir.join("../../Cargo.toml")).unwrap();
    for entry in fs::read_dir(dir).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let name = file.strip_suffix(".rs").unwrap();
        assert!(
            manifest.contains(&format!("[[bin]]\nname = \"{name}\"\npath = \"src/bin/{file}\"\n")),
            "{name}"
        );
    }
}

#[test]
fn help_is_the_usage_and_every_option_on_stdout() {
    each(|program| {
        let long = command(program).arg("--help").run().ok();
        let help = long.stdout_str();
        assert!(help.starts_with(&format!("Usage: {program} ")), "{help}");
        assert!(help.contains("\n  -h, --help        display usage information\n"), "{help}");
        assert!(help.contains("\n  -V, --version     display the version\n"), "{help}");
        assert!(help.ends_with('\n') && !help.ends_with("\n\n"), "{help}");
        assert!(help.lines().skip(1).all(|line| line.chars().count() <= 80), "{help}");
        command(program).arg("-h").run().ok().stdout(help);
    });
}

#[test]
fn version_is_the_program_and_its_number() {
    each(|program| {
        let version = format!("{program} {}\n", env!("CARGO_PKG_VERSION"));
        command(program).arg("--version").run().ok().stdout(&version);
        command(program).arg("-V").env_clear().run().ok().stdout(&version);
    });
}

#[test]
fn help_and_version_are_answered_before_anything_else_can_fail() {
    each(|program| {
        let help = command(program).arg("--help").run().ok().stdout;
        for line in [&["--nope", "-h"][..], &["/nonexistent", "-h"], &["-", "-", "--help"], &["-\u{e9}h"]] {
            command(program).args(line).run().ok().stdout(&help);
        }
        command(program).args(["--nope", "-", "-", "-V"]).run().ok();
    });
}

#[test]
fn help_to_a_closed_pipe_dies_as_a_filter_dies() {
    each(|program| {
        command(program).arg("--help").stdout_closed().run().signal(SIGPIPE).stderr("");
        command(program).arg("--version").stdout_closed().run().signal(SIGPIPE).stderr("");
    });
}

// Only GNU env blocks signals.
#[cfg(target_os = "linux")]
#[test]
fn a_closed_pipe_is_trouble_where_the_signal_is_blocked() {
    each(|program| {
        let program = super::common::programs().join(program);
        let blocked = Cmd::any("env").arg("--block-signal=PIPE").arg(program).arg("--help");
        blocked.stdout_closed().run().status(2).stderr("");
    });
}

#[cfg(target_os = "linux")]
#[test]
fn help_to_a_full_disk_is_an_error() {
    each(|program| {
        let full = command(program).arg("--help").stdout_to("/dev/full").run().status(2);
        full.stderr(&format!("{program}: write error: No space left on device\n"));
    });
}

#[test]
fn an_unknown_option_is_a_usage_error() {
    each(|program| {
        let run = |args: &[&str]| command(program).args(args).run();
        usage_error(run(&["--nope"]), program, "unrecognized option '--nope'");
        usage_error(run(&["--nope=1"]), program, "unrecognized option '--nope'");
        usage_error(run(&["-~"]), program, "invalid option '-~'");
        usage_error(run(&["--no\x1b[31m\n"]), program, r"unrecognized option '--no\x1b[31m\n'");
        usage_error(run(&["--help=1"]), program, "option '--help' doesn't allow an argument");
        let bytes = command(program).arg(OsStr::from_bytes(b"--\xff")).run();
        usage_error(bytes, program, r"unrecognized option '--\xff'");
    });
}

#[test]
fn its_name_is_its_own_whatever_it_was_called_by() {
    let dir = Dir::new("name");
    each(|program| {
        let called = format!("exec -a /x/other \"$(command -v {program})\" --nope");
        usage_error(sh(&dir, &called), program, "unrecognized option '--nope'");
    });
}

#[test]
fn stdin_twice_is_a_usage_error() {
    each(|program| {
        if takes_files(program) {
            usage_error(command(program).args(["-", "-"]).run(), program, "-: stdin given twice");
        }
    });
}

/// Whether any number of files can stand on its command line.
fn takes_files(program: &str) -> bool {
    let help = command(program).arg("--help").run().ok();
    help.stdout_str().lines().next().unwrap().ends_with("[--] [<FILE...>]")
}

/// A front end has the command line of the program it stands for, a store is no stream, and curt-zip has an operand
/// before its files.
const OTHERS: &[&str] = &["curt-hermes", "curt-zip", "cursor-dump", "hermes-dump"];

/// To these a directory is the files in it.
const FOLDERS: &[&str] = &["cc-dump"];

#[test]
fn every_filter_takes_files_or_a_list_of_them() {
    each(|program| {
        if !OTHERS.contains(&program) {
            assert!(takes_files(program), "{program}: operands are `FILE` (arg_name), any number of them");
            assert!(offers(program, "--files0-from"), "{program}");
            assert!(offers(program, "--max-bytes"), "{program}");
        }
    });
}

#[test]
fn the_word_help_is_an_operand() {
    let dir = Dir::new("help");
    each(|program| {
        let output = command(program).arg("help").dir(&dir).run();
        if takes_files(program) {
            output.status(2).stderr(&format!("{program}: help: No such file or directory\n"));
        }
    });
}

#[test]
fn a_file_that_is_missing_or_a_directory_is_named_and_the_next_one_is_tried() {
    let dir = Dir::new("missing");
    each(|program| {
        if takes_files(program) && !FOLDERS.contains(&program) {
            let output = command(program).args(["gone", ".", "-x/gone too"].map(|f| format!("./{f}")));
            let output = output.dir(&dir).run().status(2);
            let lines: Vec<_> = output.stderr.lines().collect();
            assert_eq!(lines.len(), 3, "{output:?}");
            assert_eq!(lines[0], format!("{program}: ./gone: No such file or directory"));
            assert!(lines[1].starts_with(&format!("{program}: ./.: Is a directory")), "{output:?}");
            assert_eq!(lines[2], format!("{program}: ./-x/gone too: No such file or directory"));
        }
    });
}

#[test]
fn a_name_with_controls_or_bytes_is_one_escaped_line() {
    let dir = Dir::new("controls");
    each(|program| {
        if takes_files(program) {
            let output = command(program).arg(OsStr::from_bytes(b"a\nb\x1b[2J")).dir(&dir).run().status(2);
            output.stderr(&format!("{program}: a\\nb\\x1b[2J: No such file or directory\n"));
            let output = command(program).arg(OsStr::from_bytes(b"\xff\xfe")).dir(&dir).run().status(2);
            output.stderr(&format!("{program}: \\xff\\xfe: No such file or directory\n"));
        }
    });
}

#[test]
fn an_empty_name_is_named() {
    for program in [
        "curt-check",
        "curt-name",
        "curt-pack",
        "curt2cc",
        "cc-chain-check",
        "hermes-dump",
        "cc-dump",
        "cursor-dump",
    ] {
        let expected = format!("{program}: '': No such file or directory\n");
        command(program).arg("").run().status(2).stderr(&expected);
    }
    Cmd::new("curt-pack")
        .args(["-o", ""])
        .run()
        .status(2)
        .stderr("curt-pack: '': No such file or directory\n");
}

#[test]
fn a_message_of_any_length_is_one_line_that_a_pipe_takes_whole() {
    let id = "x".repeat(1_000_000);
    let row = format!(r#"{{"id":"{id}","messages":[{{"role":"user","content":"hi"}}]}}"#);
    let dir = Dir::new("edge-long");
    std::fs::write(dir.join("in"), row).unwrap();
    let run = Cmd::new("curt-pack").args(["-o", "/proc/self", "in"]).dir(&dir).run().status(2);
    assert!(run.stderr.len() <= 4096 && run.stderr.ends_with("\n"), "{}", run.stderr.len());
    assert!(run.stderr.starts_with("curt-pack: in:1: session xxxx"), "{}", run.stderr);
}

#[test]
fn a_file_may_have_any_name() {
    let dir = Dir::new("names");
    each(|program| {
        if takes_files(program) {
            let plain = dir.write("plain", "");
            let expected = command(program).arg("plain").dir(&dir).run();
            for name in [&b"\xff"[..], b"new\nline", b"-q", b"--help", "\u{202e}".as_bytes(), b" "] {
                let file = dir.join(OsStr::from_bytes(name));
                fs::copy(&plain, &file).unwrap();
                let output = command(program).arg("--").arg(OsStr::from_bytes(name)).dir(&dir).run();
                assert_eq!(output.status, expected.status, "{output:?}");
                assert!(!output.stderr.contains("No such file"), "{output:?}");
                fs::remove_file(file).unwrap();
            }
        }
    });
}

#[test]
fn operands_and_a_list_exclude_each_other() {
    let dir = Dir::new("both");
    each(|program| {
        if takes_files(program) && offers(program, "--files0-from") {
            let output = command(program).args(["--files0-from=list", "file"]).dir(&dir).run();
            usage_error(output, program, "file: file operands cannot be combined with --files0-from");
        }
    });
}

#[test]
fn a_list_of_names_is_read_to_its_end_whatever_it_holds() {
    let dir = Dir::new("list");
    let names = b"gone\0\0new\nline\0\xff\0-\0last";
    each(|program| {
        if takes_files(program) && offers(program, "--files0-from") {
            let output = command(program).arg("--files0-from=-").stdin(names).dir(&dir).run().status(2);
            let missing = "No such file or directory";
            output.stderr(&format!(
                "{program}: gone: {missing}\n{program}: -:2: zero-length file name\n\
                 {program}: new\\nline: {missing}\n{program}: \\xff: {missing}\n\
                 {program}: -:5: '-' in a list that is read from stdin\n{program}: last: {missing}\n"
            ));
            let output = command(program).args(["--files0-from", "gone"]).dir(&dir).run().status(2);
            output.stderr(&format!("{program}: gone: {missing}\n"));
        }
    });
}

#[test]
fn a_size_that_is_none_is_a_usage_error() {
    each(|program| {
        if offers(program, "--max-bytes") {
            let output = command(program).arg("--max-bytes=many").run();
            let reason =
                "invalid argument 'many' for '--max-bytes': not a number of bytes such as 4096, 64K or 2G";
            usage_error(output, program, reason);
        }
    });
}

#[test]
fn stdin_a_dash_an_operand_and_a_list_are_one_input() {
    let dir = Dir::new("empty");
    dir.write("empty", "");
    each(|program| {
        if takes_files(program) {
            let stdin = command(program).stdin("").dir(&dir).run();
            let dash = command(program).arg("-").stdin("").dir(&dir).run();
            assert_eq!(
                (stdin.status, &stdin.stdout, &stdin.stderr),
                (dash.status, &dash.stdout, &dash.stderr)
            );
            if offers(program, "--files0-from") {
                let file = command(program).arg("empty").dir(&dir).run();
                let list = command(program).arg("--files0-from=-").stdin("empty\0").dir(&dir).run();
                assert_eq!((file.status, file.stdout, file.stderr), (list.status, list.stdout, list.stderr));
            }
        }
    });
}

#[test]
fn a_closed_descriptor_is_no_panic() {
    let dir = Dir::new("closed");
    each(|program| {
        sh(&dir, &format!("{program} --help >&-")).ok();
        sh(&dir, &format!("{program} --nope 2>&-")).status(2).stdout("");
        let output = sh(&dir, &format!("{program} ./gone <&-"));
        assert!(!output.stderr.contains("panicked"), "{output:?}");
    });
}

#[test]
fn a_terminal_that_reorders_text_sees_escapes() {
    let dir = Dir::new("tty");
    assert_eq!(sh(&dir, "script --version").status, Some(0), "script(1) makes the terminal to test with");
    each(|program| {
        if takes_files(program) {
            // Byte for byte: script(1) gives its command to $SHELL, which may know no $'...'.
            let output = sh(
                &dir,
                &format!("script -qec '{} ./\u{202e}\u{200b}x' /dev/null </dev/null", line(program)),
            );
            let expected = format!("{program}: ./\\u{{202e}}\\u{{200b}}x: No such file or directory\r\n");
            let output = output.status(2);
            assert!(output.stdout_str().starts_with(&expected), "{output:?}");
        }
    });
}

#[test]
fn parallel_programs_tear_no_line_on_one_pipe() {
    let dir = Dir::new("parallel");
    let mut expected: Vec<_> = (0..2000).map(|n| format!("./{n}: No such file or directory")).collect();
    expected.sort();
    each(|program| {
        if takes_files(program) {
            let script =
                format!("seq -f ./%g 0 1999 | xargs -P4 -n40 {} 2>&1 >/dev/null | cat", line(program));
            let output = sh(&dir, &script).status(123);
            let prefix = format!("{program}: ");
            let mut lines: Vec<_> =
                output.stdout_str().lines().map(|line| line.strip_prefix(&prefix).unwrap_or(line)).collect();
            lines.sort_unstable();
            assert!(lines == expected, "{program}");
        }
        let help = command(program).arg("--help").run().ok().stdout;
        let output = sh(&dir, &format!("seq 40 | xargs -P4 -n1 {program} --help | cat")).ok();
        assert!(output.stdout == help.repeat(40), "{program}");
    });
}

#[test]
fn xargs_stops_when_the_reader_has_gone() {
    let dir = Dir::new("xargs");
    each(|program| {
        let script = format!("yes | xargs -n1 {program} --help | head -c1; echo ${{PIPESTATUS[1]}}");
        let output = sh(&dir, &script).status(0);
        assert_eq!(output.stdout_str(), "U125\n", "{output:?}");
    });
}
