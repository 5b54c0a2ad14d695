//! `curt-check [-qvlL] [--json] [FILE...]`: which `.curt` bodies break a rule of the format, and which rule.
//!
//! A file is one body, or a zip of them; stdin, `*.ndjson` and `*.jsonl` may hold lines of one body each. Each
//! invalid one is `FILE: REASON` on stdout, `FILE:LINE: REASON` or `FILE:ENTRY: REASON`; or, for other programs, a
//! line of JSON, or only the names of files.
//!
//! Bodies are judged as they are read, so the memory needed does not depend on their size and no limit
//! is set unless `--max-bytes` sets one.

use curt_tools::curt::bodies::{Bodies, Judged};
use curt_tools::curt::lint::{Warning, lint};
use curt_tools::edge::argv::{ByteSize, Jobs, Operand};
use curt_tools::edge::report::print_path;
use curt_tools::edge::shell::{self, Buffer, Shell, Stop, escaped};
use curt_tools::stream::operands::{self, Input};
use curt_tools::stream::ordered::{Emit, ordered};
use std::io::{self, ErrorKind, Write};
use std::ops::ControlFlow;
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
    /// warn of what a writer should not do; memory follows the largest body
    #[argh(switch)]
    lint: bool,
    /// count a body with a warning as invalid; implies --lint
    #[argh(switch, short = 'W', long = "fatal-warnings")]
    fatal_warnings: bool,
    /// every input holds .curt lines, whatever its name and its first line
    #[argh(switch)]
    lines: bool,
    /// check N files at a time (1 by default, 0 for one a processor)
    #[argh(option, short = 'j', arg_name = "N", default = "Jobs::ONE")]
    jobs: Jobs,
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

/// What is found in an input, in order.
enum Finding {
    /// On stdout.
    Print(Vec<u8>),
    /// The name of a file, on stdout.
    Name(Input),
    /// A body is invalid.
    Negative,
    /// Something could not be read: what, and why.
    Trouble(String, String),
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
    let inputs = operands::inputs(files, args.files0_from.take()).map_err(Stop::usage)?;
    let read = |input, emit: Emit<'_, Finding>| match input {
        Ok(input) => {
            let _ = check(input, &args, emit);
        }
        Err(operands::BadOperand { place, reason }) => {
            let _ = emit(Finding::Trouble(place, reason));
        }
    };
    let size = |input: &Result<Input, _>| input.as_ref().map_or(0, Input::size);
    ordered(args.jobs.count(), inputs, size, read, |finding| {
        match finding {
            Finding::Print(record) => shell.out.write_all(&record)?,
            Finding::Name(Input::Stdin) => print_path(shell, Path::new("-"), args.null)?,
            Finding::Name(Input::File(path)) => print_path(shell, &path, args.null)?,
            Finding::Negative => shell.negative(),
            Finding::Trouble(place, reason) => shell.trouble(&place, &reason),
        }
        Ok(())
    })
}

impl Args {
    /// Whether names are printed, and no verdicts.
    fn lists(&self) -> bool {
        self.list_invalid || self.list_valid
    }

    fn lints(&self) -> bool {
        self.lint || self.fatal_warnings
    }
}

/// Judge the bodies of one input.
fn check(input: Input, args: &Args, emit: Emit<'_, Finding>) -> ControlFlow<()> {
    let opened = if args.lines { Bodies::lines_of(&input) } else { Bodies::of(&input) };
    let mut bodies = match opened {
        Ok(bodies) => bodies.limit(args.max_bytes.0),
        Err(error) => return emit(Finding::Trouble(input.to_string(), hint(error))),
    };
    if args.lints() {
        bodies = bodies.keeping();
    }
    let mut valid = true;
    loop {
        let judged = match bodies.next() {
            Ok(Some(judged)) => judged,
            Ok(None) => break,
            Err(error) => return emit(Finding::Trouble(input.to_string(), error.to_string())),
        };
        let warnings = match judged.verdict {
            Ok(_) if args.lints() => lint(bodies.text(), bodies.marked()),
            _ => Vec::new(),
        };
        if judged.verdict.is_err() || args.fatal_warnings && !warnings.is_empty() {
            valid = false;
            emit(Finding::Negative)?;
        }
        let told = tell(&judged, &warnings, &input, args);
        if !told.is_empty() {
            emit(Finding::Print(told))?;
        }
    }
    if args.lists() && valid == args.list_valid && !args.quiet {
        emit(Finding::Name(input))?;
    }
    ControlFlow::Continue(())
}

/// What is printed of a body.
fn tell(judged: &Judged, warnings: &[Warning], input: &Input, args: &Args) -> Vec<u8> {
    if args.quiet || args.lists() {
        return Vec::new();
    }
    if args.json {
        return judged.report(&input.to_string(), args.lints().then_some(warnings));
    }
    let place = || escaped(&judged.place(input), false);
    let mut told = match &judged.verdict {
        Err(reason) => format!("{}: {reason}\n", place()),
        Ok(_) if args.verbose => format!("{}: ok\n", place()),
        Ok(_) => String::new(),
    };
    for warning in warnings {
        told += &format!("{}: warning: {warning}\n", place());
    }
    told.into_bytes()
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
