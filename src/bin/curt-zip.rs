//! `curt-zip [-f] OUT [FILE...]`: a zip of `.curt` bodies, each named by the bulk convention. Without a clock: the
//! same bodies in the same order give the same bytes.

use curt_tools::curt::bodies::{Bodies, Place};
use curt_tools::curt::bundle::{Added, Bundler};
use curt_tools::edge::argv::{ByteSize, Operand};
use curt_tools::edge::shell::{self, Buffer, Shell, Stop};
use curt_tools::json::write::Layout;
use curt_tools::stream::bundle::is_zip;
use curt_tools::stream::operands::{Input, inputs};
use curt_tools::stream::place::Whole;
use std::path::Path;
use std::process::ExitCode;

/// make a zip of .curt files, each named by the bulk convention
#[derive(argh::FromArgs, argh::ArgsInfo)]
#[argh(help_triggers("-h", "--help"))]
struct Args {
    /// replace OUT even if it is no zip
    #[argh(switch, short = 'f')]
    force: bool,
    /// refuse a body of more than N bytes, 0 for no limit (default 1G)
    #[argh(option, arg_name = "N", default = "ByteSize::mib(1024)")]
    max_bytes: ByteSize,
    /// read the names of the files from this file, NUL after each
    #[argh(option, arg_name = "FILE")]
    files0_from: Option<Operand>,
    /// the zip to make
    #[argh(positional, arg_name = "OUT")]
    out: Operand,
    /// files to put into it; - or none is stdin
    #[argh(positional, arg_name = "FILE")]
    files: Vec<Operand>,
}

fn main() -> ExitCode {
    shell::main("curt-zip", Buffer::Lines, run)
}

fn run(args: Args, shell: &mut Shell) -> Result<(), Stop> {
    let files = inputs(args.files, args.files0_from).map_err(Stop::usage)?;
    if args.out.0 == Path::new("-") {
        return Err(Stop::usage("OUT is a file, so that it is whole or not there at all"));
    }
    let file = Whole::new(&args.out.0, if args.force { |_| true } else { is_zip });
    let Some(file) = shell.tried(&"", file) else { return Ok(()) };
    let mut bundler = Bundler::new(file);
    for input in files {
        let added = match input {
            Ok(input) => bodies(&input, args.max_bytes, &mut bundler, shell),
            Err(bad) => {
                shell.trouble(&bad.place, &bad.reason);
                Ok(())
            }
        };
        if shell.tried(&"", added).is_none() {
            return Ok(());
        }
    }
    if bundler.count() == 0 {
        shell.fault(&"", &"no valid body, so no zip");
    } else {
        shell.tried(&"", bundler.finish().and_then(Whole::finish));
    }
    Ok(())
}

/// Add the bodies of one input. An error is one of writing the zip, and ends the run.
fn bodies(
    input: &Input,
    limit: ByteSize,
    bundler: &mut Bundler<Whole>,
    shell: &mut Shell,
) -> std::io::Result<()> {
    let Some(bodies) = shell.tried(input, Bodies::of(input)) else { return Ok(()) };
    let mut bodies = bodies.limit(limit.0).with_header().spilling();
    while let Some(judged) = shell.tried(input, bodies.next()).flatten() {
        let place = judged.place(input);
        // A line becomes the file that curt-pack -o makes of it; a file stays as it is.
        let layout = matches!(judged.place, Place::Line(_)).then_some(Layout::Tabs);
        match judged.verdict {
            Err(reason) => shell.fault(&place, &reason),
            Ok(header) => match bundler.add(&mut bodies, &header, layout)? {
                Added::New => {}
                Added::Same => shell.say(&format_args!("{place}: went in before, byte for byte")),
                Added::Another => {
                    shell.say(&format_args!("{place}: another state of its conversation went in before"));
                }
            },
        }
    }
    Ok(())
}
