//! `curt-check [-qvlL] [--json] [FILE...]`: which `.curt` bodies break a rule of the format, and which rule.
//!
//! A file is one body, or a zip of them; stdin, `*.ndjson` and `*.jsonl` may hold lines of one body each. Each
//! invalid one is `FILE: REASON` on stdout, `FILE:LINE: REASON` or `FILE:ENTRY: REASON`; or, for other programs, a
//! line of JSON, or only the names of files.
//!
//! Bodies are judged as they are read, so the memory needed does not depend on their size and no limit
//! is set unless `--max-bytes` sets one.

use curt_tools::curt::bodies::Bodies;
use curt_tools::edge::argv::{ByteSize, Operand};
use curt_tools::edge::report::print_path;
use curt_tools::edge::shell::{self, Buffer, Shell, Stop};
use curt_tools::stream::operands::{self, Input};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

/// check .curt files, or .curt lines, against the rules of the format
#[derive(argh::FromArgs, argh::ArgsInfo)]
#[argh(help_triggers("-h", "--help"))]
struct Args {
    /// print nothing; the exit status tells
    #[argh(switch, short = 'q')]
    quiet: bool,
    /// print FILE: ok for each valid one as well
    #[argh(switch, short = 'v')]
    verbose: bool,
    /// print only the names of files with an invalid body
    #[argh(switch, short = 'l')]
    list_invalid: bool,
    /// print only the names of files whose bodies are all valid
    #[argh(switch, short = 'L')]
    list_valid: bool,
    /// print one JSON object for each body, valid or not
    #[argh(switch)]
    json: bool,
    /// end printed names with NUL, not newline
    #[argh(switch, short = '0')]
    null: bool,
    /// refuse a body of more than N bytes (none is too large by default)
    #[argh(option, arg_name = "N", default = "ByteSize(0)")]
    max_bytes: ByteSize,
    /// read the names of the files from this file, NUL after each
    #[argh(option, arg_name = "FILE")]
    files0_from: Option<Operand>,
    /// files to check; - or none is stdin
    #[argh(positional, arg_name = "FILE")]
    files: Vec<Operand>,
}

fn main() -> ExitCode {
    shell::main("curt-check", Buffer::Lines, run)
}

fn run(mut args: Args, shell: &mut Shell) -> Result<(), Stop> {
    if [args.list_invalid, args.list_valid, args.json].iter().filter(|form| **form).count() > 1 {
        return Err(Stop::usage("--list-invalid, --list-valid and --json exclude each other"));
    }
    if args.null && !args.lists() {
        return Err(Stop::usage("--null goes with --list-invalid or --list-valid"));
    }
    let files = std::mem::take(&mut args.files);
    for input in operands::inputs(files, args.files0_from.take()).map_err(Stop::usage)? {
        let input = match input {
            Ok(input) => input,
            Err(bad) => {
                shell.trouble(&bad.place, &bad.reason);
                continue;
            }
        };
        match check(&input, &args, shell)? {
            Some(valid) if !args.quiet && args.lists() && valid == args.list_valid => {
                let name = match &input {
                    Input::Stdin => Path::new("-"),
                    Input::File(path) => path,
                };
                print_path(shell, name, args.null)?;
            }
            _ => {}
        }
    }
    Ok(())
}

impl Args {
    /// Whether names are printed, and no verdicts.
    fn lists(&self) -> bool {
        self.list_invalid || self.list_valid
    }
}

/// Judge the bodies of one input. Whether all of them are valid; `None` where it could not be read.
fn check(input: &Input, args: &Args, shell: &mut Shell) -> Result<Option<bool>, Stop> {
    let mut bodies = match Bodies::of(input) {
        Ok(bodies) => bodies.limit(args.max_bytes.0),
        Err(error) => {
            shell.trouble(input, &hint(error));
            return Ok(None);
        }
    };
    let mut valid = true;
    loop {
        let judged = match bodies.next() {
            Ok(Some(judged)) => judged,
            Ok(None) => return Ok(Some(valid)),
            Err(error) => {
                shell.trouble(input, &error);
                return Ok(None);
            }
        };
        if judged.verdict.is_err() {
            shell.negative();
            valid = false;
        }
        if args.json && !args.quiet {
            shell.out.write_all(&judged.report(&input.to_string()))?;
        } else if !args.quiet && !args.lists() {
            let place = judged.place(input);
            match judged.verdict {
                Ok(_) if args.verbose => writeln!(shell.out, "{place}: ok")?,
                Ok(_) => {}
                Err(reason) => writeln!(shell.out, "{place}: {reason}")?,
            }
        }
    }
}

/// find(1) walks directories; we say how.
fn hint(error: io::Error) -> String {
    match error.kind() {
        ErrorKind::IsADirectory => {
            "Is a directory; try find DIR -name '*.curt' -print0 | curt-check --files0-from -".to_owned()
        }
        _ => error.to_string(),
    }
}
