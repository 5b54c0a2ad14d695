//! `lake-scrub`: takes secrets out of lake events, lake-scrub(1).

use argh::{ArgsInfo, FromArgs};
use curt_tools::edge::argv::{ByteSize, Operand};
use curt_tools::edge::shell::{self, Buffer, Shell, Stop};
use curt_tools::lake::rules::RULES;
use curt_tools::lake::scrub::scrub;
use curt_tools::lake::spool::event;
use curt_tools::stream::ndjson::{Line, Lines};
use curt_tools::stream::operands::{Input, inputs};
use std::io::Write;
use std::process::ExitCode;

/// take secrets out of lake events and mark each one
#[derive(FromArgs, ArgsInfo)]
#[argh(help_triggers("-h", "--help"))]
struct Args {
    /// print the rules, one a line, and read nothing
    #[argh(switch)]
    rules: bool,
    /// longest event to read in bytes, 0 for no limit (default 256M)
    #[argh(option, arg_name = "N", default = "ByteSize::mib(256)")]
    max_bytes: ByteSize,
    /// read input names from this file, each ended by NUL
    #[argh(option, arg_name = "FILE")]
    files0_from: Option<Operand>,
    /// files of events; standard input when there is none
    #[argh(positional, arg_name = "FILE")]
    files: Vec<Operand>,
}

fn main() -> ExitCode {
    shell::main("lake-scrub", Buffer::Blocks, run)
}

fn run(args: Args, shell: &mut Shell) -> Result<(), Stop> {
    if args.rules {
        return RULES.iter().try_for_each(|rule| Ok(writeln!(shell.out, "{}", rule.line())?));
    }
    for input in inputs(args.files, args.files0_from).map_err(Stop::usage)? {
        match input.map(|input| (input.open(), input)) {
            Ok((Ok(file), input)) => filter(Lines::new(file, args.max_bytes.0), &input, shell)?,
            Ok((Err(error), input)) => shell.trouble(&input, &error),
            Err(bad) => shell.trouble(&bad.place, &bad.reason),
        }
    }
    Ok(())
}

/// What is no event is never passed on.
fn filter(mut lines: Lines<impl std::io::Read>, input: &Input, shell: &mut Shell) -> Result<(), Stop> {
    let mut out = Vec::new();
    loop {
        match lines.next() {
            Ok(Some(Line::Text { number, text, .. })) => match event(text) {
                Ok(mut event) => {
                    scrub(&mut event);
                    out.clear();
                    event.write(&mut out);
                    shell.out.write_all(&out)?;
                }
                Err(reason) => shell.fault(&format!("{input}:{number}"), &reason),
            },
            Ok(Some(Line::TooLong { number })) => {
                shell.fault(&format!("{input}:{number}"), &"event too long")
            }
            Ok(None) => return Ok(()),
            Err(error) => {
                shell.trouble(input, &error);
                return Ok(());
            }
        }
    }
}
