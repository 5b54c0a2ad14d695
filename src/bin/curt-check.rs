//! `curt-check [-qv] [FILE...]`: which `.curt` bodies break a rule of the format, and which rule.
//!
//! A file is one body; stdin, `*.ndjson` and `*.jsonl` may hold lines of one body each. Each invalid one
//! is `FILE: REASON` on stdout, or `FILE:LINE: REASON`.
//!
//! Bodies are judged as they are read, so the memory needed does not depend on their size and no limit
//! is set unless `--max-bytes` sets one.

use curt_tools::curt::bodies::{Bodies, Judged};
use curt_tools::edge::argv::{ByteSize, Operand};
use curt_tools::edge::shell::{self, Buffer, Shell, Stop};
use curt_tools::stream::operands;
use std::io::{self, ErrorKind, Write};
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

fn run(args: Args, shell: &mut Shell) -> Result<(), Stop> {
    for input in operands::inputs(args.files, args.files0_from).map_err(Stop::usage)? {
        let input = match input {
            Ok(input) => input,
            Err(bad) => {
                shell.trouble(&bad.place, &bad.reason);
                continue;
            }
        };
        let mut bodies = match Bodies::of(&input) {
            Ok(bodies) => bodies.limit(args.max_bytes.0),
            Err(error) => {
                shell.trouble(&input, &hint(error));
                continue;
            }
        };
        loop {
            match bodies.next() {
                Ok(Some(Judged { line, verdict })) => {
                    let place = line.map_or(format!("{input}"), |line| format!("{input}:{line}"));
                    match verdict {
                        Ok(_) if args.verbose && !args.quiet => writeln!(shell.out, "{place}: ok")?,
                        Ok(_) => {}
                        Err(reason) => {
                            shell.negative();
                            if !args.quiet {
                                writeln!(shell.out, "{place}: {reason}")?;
                            }
                        }
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    shell.trouble(&input, &error);
                    break;
                }
            }
        }
    }
    Ok(())
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
