//! `cc-chain-check`: judges the uuid/parentUuid graph of Claude Code transcripts, cc-chain-check(1).

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use argh::{ArgsInfo, FromArgs};
use curt_tools::cc::chain::{Chain, Mode};
use curt_tools::cc::verdict::{Report, Severity};
use curt_tools::edge::argv::{ByteSize, Operand};
use curt_tools::edge::shell::{self, Buffer, Shell, Stop};
use curt_tools::stream::ndjson::{Line, Lines};
use curt_tools::stream::operands::{Input, inputs};

#[derive(FromArgs, ArgsInfo)]
#[argh(help_triggers("-h", "--help"))]
/// check the uuid/parentUuid graph of Claude Code session files
struct Args {
    /// hold the input to the rules for generated files
    #[argh(switch)]
    strict: bool,
    /// count warnings as errors
    #[argh(switch, short = 'W', long = "fatal-warnings")]
    fatal_warnings: bool,
    /// print nothing; the status tells
    #[argh(switch, short = 'q')]
    quiet: bool,
    /// print warnings, and a line for each good file
    #[argh(switch, short = 'v')]
    verbose: bool,
    /// pass over lines longer than this (default 256M, 0: none is)
    #[argh(option, arg_name = "N", default = "ByteSize::mib(256)")]
    max_bytes: ByteSize,
    /// read the files named in FILE, each ended by NUL
    #[argh(option, arg_name = "FILE")]
    files0_from: Option<Operand>,
    /// transcripts; none or -: stdin
    #[argh(positional, arg_name = "FILE")]
    files: Vec<Operand>,
}

fn main() -> ExitCode {
    shell::main("cc-chain-check", Buffer::Lines, run)
}

fn run(args: Args, shell: &mut Shell) -> Result<(), Stop> {
    let mode = if args.strict { Mode::Strict } else { Mode::Real };
    for input in inputs(args.files, args.files0_from).map_err(Stop::usage)? {
        let (input, report) = match input {
            Ok(input) => (input.to_string(), check(&input, mode, args.max_bytes.0)),
            Err(bad) => {
                shell.trouble(&bad.place, &bad.reason);
                continue;
            }
        };
        match report {
            Err(error) => shell.trouble(&input, &error),
            Ok(report) => {
                let report = if args.fatal_warnings { report.with_warnings_as_errors() } else { report };
                if report.errors > 0 {
                    shell.negative();
                }
                if !args.quiet {
                    tell(&input, &report, args.verbose, &mut shell.out)?;
                }
            }
        }
    }
    Ok(())
}

fn check(input: &Input, mode: Mode, max_bytes: u64) -> io::Result<Report> {
    let mut lines = Lines::new(input.open()?, max_bytes);
    let mut chain = Chain::new(mode);
    while let Some(line) = lines.next()? {
        match line {
            Line::Text { number, text, ended } => chain.line(number, text, ended),
            Line::TooLong { number } => chain.too_long(number),
        }
    }
    Ok(chain.finish(lines.count()))
}

/// One write a finding, so that parallel checks do not tear each other's lines.
fn tell(place: &dyn Display, report: &Report, verbose: bool, out: &mut impl Write) -> io::Result<()> {
    let shown = |severity| severity == Severity::Error || verbose;
    for finding in report.findings.iter().filter(|finding| shown(finding.severity)) {
        let text = match finding.line {
            0 => format!("{place}: {finding}\n"),
            line => format!("{place}:{line}: {finding}\n"),
        };
        out.write_all(text.as_bytes())?;
    }
    for (severity, noun) in [(Severity::Error, "errors"), (Severity::Warning, "warnings")] {
        let more = report.unlisted(severity);
        if more > 0 && shown(severity) {
            out.write_all(format!("{place}: {more} more {noun}\n").as_bytes())?;
        }
    }
    if verbose && report.errors == 0 {
        out.write_all(format!("{place}: ok: {report}\n").as_bytes())?;
    }
    Ok(())
}
