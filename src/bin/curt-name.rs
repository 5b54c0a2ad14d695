//! `curt-name [-0] [--ext EXT] [--safe] [--unique] [FILE...]`: the file name that the bulk convention gives a
//! `.curt` body.
//!
//! The name is the rule's, untouched: an id may make it one that no folder can hold. `--safe` gives the one
//! that our writers use instead.

use curt_tools::curt::bodies::Bodies;
use curt_tools::curt::name::{Name, Names};
use curt_tools::edge::argv::{ByteSize, Operand, Word};
use curt_tools::edge::shell::{self, Buffer, Shell, Stop};
use curt_tools::stream::operands;
use std::io::Write;
use std::process::ExitCode;

/// print the file name that the bulk convention gives to each .curt body
#[derive(argh::FromArgs, argh::ArgsInfo)]
#[argh(help_triggers("-h", "--help"))]
struct Args {
    /// end each name with NUL instead of a newline
    #[argh(switch, short = '0', long = "null")]
    null: bool,
    /// the extension, curt by default
    #[argh(option, arg_name = "EXT", default = "Word(\"curt\".into())")]
    ext: Word,
    /// make names that a folder can hold, as curt-pack -o does
    #[argh(switch)]
    safe: bool,
    /// number a name that was printed before: -2, -3 and on
    #[argh(switch)]
    unique: bool,
    /// refuse a body of more than N bytes (none is too large by default; memory follows the title and the id)
    #[argh(option, arg_name = "N", default = "ByteSize(0)")]
    max_bytes: ByteSize,
    /// read the names of the files from this file, NUL after each
    #[argh(option, arg_name = "FILE")]
    files0_from: Option<Operand>,
    /// files to name; - or none is stdin
    #[argh(positional, arg_name = "FILE")]
    files: Vec<Operand>,
}

fn main() -> ExitCode {
    shell::main("curt-name", Buffer::Lines, run)
}

fn run(args: Args, shell: &mut Shell) -> Result<(), Stop> {
    let end = if args.null { '\0' } else { '\n' };
    let mut names = Names::new(&args.ext.0, args.safe, args.unique);
    for input in operands::inputs(args.files, args.files0_from).map_err(Stop::usage)? {
        let input = match input {
            Ok(input) => input,
            Err(bad) => {
                shell.trouble(&bad.place, &bad.reason);
                continue;
            }
        };
        let Some(bodies) = shell.tried(&input, Bodies::of(&input)) else { continue };
        let mut bodies = bodies.limit(args.max_bytes.0).with_header();
        while let Some(judged) = shell.tried(&input, bodies.next()).flatten() {
            match &judged.verdict {
                Ok(header) => write!(shell.out, "{}{end}", names.next(&Name::of_header(header)))?,
                Err(reason) => shell.fault(&judged.place(&input), reason),
            }
        }
    }
    Ok(())
}
