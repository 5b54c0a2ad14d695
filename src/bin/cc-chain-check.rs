//! `cc-chain-check`: judges the uuid/parentUuid graph of Claude Code transcripts, cc-chain-check(1).

use std::collections::{HashSet, VecDeque};
use std::io::{self, Write};
use std::process::ExitCode;

use argh::{ArgsInfo, FromArgs};
use curt_tools::cc::chain::{Chain, Mode, Unsettled};
use curt_tools::cc::ids::Digest;
use curt_tools::cc::verdict::{Report, Severity};
use curt_tools::edge::argv::{ByteSize, Operand};
use curt_tools::edge::report::print_path;
use curt_tools::edge::shell::{self, Buffer, Shell, Stop, escaped};
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
    /// print only the names of files with an error
    #[argh(switch, short = 'l')]
    list: bool,
    /// print one JSON object for each file
    #[argh(switch)]
    json: bool,
    /// end printed names with NUL, not newline
    #[argh(switch, short = '0')]
    null: bool,
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

fn run(mut args: Args, shell: &mut Shell) -> Result<(), Stop> {
    if args.list && args.json {
        return Err(Stop::usage("--list and --json exclude each other"));
    }
    if args.null && !args.list {
        return Err(Stop::usage("--null goes with --list"));
    }
    let files = std::mem::take(&mut args.files);
    let digest = Digest::new();
    // What all inputs hold, and the reports that may still depend on it.
    let mut known = HashSet::new();
    let mut waiting: VecDeque<(Input, Unsettled)> = VecDeque::new();
    for input in inputs(files, args.files0_from.take()).map_err(Stop::usage)? {
        let input = match input {
            Ok(input) => input,
            Err(bad) => {
                shell.trouble(&bad.place, &bad.reason);
                continue;
            }
        };
        match check(&input, digest, &args) {
            Err(error) => shell.trouble(&input, &error),
            Ok(mut report) => {
                known.extend(std::mem::take(&mut report.known));
                waiting.push_back((input, report));
            }
        }
        while waiting.front().is_some_and(|(_, report)| report.is_settled())
            && let Some((input, report)) = waiting.pop_front()
        {
            tell(&input, report.settle(&known), &args, shell)?;
        }
    }
    waiting.into_iter().try_for_each(|(input, report)| tell(&input, report.settle(&known), &args, shell))
}

fn check(input: &Input, digest: Digest, args: &Args) -> io::Result<Unsettled> {
    let mut lines = Lines::new(input.open()?, args.max_bytes.0);
    let mut chain = Chain::among(if args.strict { Mode::Strict } else { Mode::Real }, digest);
    while let Some(line) = lines.next()? {
        match line {
            Line::Text { number, text, ended } => chain.line(number, text, ended),
            Line::TooLong { number } => chain.too_long(number),
        }
    }
    Ok(chain.end(lines.count()))
}

fn tell(input: &Input, report: Report, args: &Args, shell: &mut Shell) -> Result<(), Stop> {
    let report = if args.fatal_warnings { report.with_warnings_as_errors() } else { report };
    if report.errors > 0 {
        shell.negative();
    }
    match () {
        () if args.quiet => Ok(()),
        () if args.json => Ok(shell.out.write_all(&report.json(&input.to_string()))?),
        () if args.list && report.errors > 0 => print_path(shell, input.path(), args.null),
        () if args.list => Ok(()),
        () => Ok(findings(input, &report, args.verbose, &mut shell.out)?),
    }
}

/// One write a finding, so that parallel checks do not tear each other's lines.
fn findings(input: &Input, report: &Report, verbose: bool, out: &mut impl Write) -> io::Result<()> {
    let place = escaped(&input.to_string(), false);
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
