//! `curt-cat [--pretty] [-o DIR] [FILE...]`: the `.curt` bodies of files, lines and zips, one a line, or a
//! file each. Nothing but white space changes.

use curt_tools::curt::bodies::Bodies;
use curt_tools::edge::argv::{ByteSize, Operand};
use curt_tools::edge::report::print_path;
use curt_tools::edge::shell::{self, Buffer, Shell, Stop};
use curt_tools::json::write::Layout;
use curt_tools::mapping::{copy, pack::whose};
use curt_tools::stream::deliver::{Target, Undelivered};
use curt_tools::stream::operands::{Input, inputs};
use curt_tools::stream::place::{Folder, Outcome};
use std::process::ExitCode;

/// print the .curt bodies of files, lines and zips, one a line
#[derive(argh::FromArgs, argh::ArgsInfo)]
#[argh(help_triggers("-h", "--help"))]
struct Args {
    /// lay bodies out like files, indented by tabs
    #[argh(switch)]
    pretty: bool,
    /// make one file a conversation in this directory, not lines on stdout
    #[argh(option, short = 'o', arg_name = "DIR")]
    output: Option<Operand>,
    /// replace a file that holds a later state of its conversation
    #[argh(switch, short = 'f')]
    force: bool,
    /// print the path of each file that was written
    #[argh(switch)]
    print: bool,
    /// end printed paths with NUL, not newline
    #[argh(switch, short = '0')]
    null: bool,
    /// refuse a body of more than N bytes, 0 for no limit (default 1G)
    #[argh(option, arg_name = "N", default = "ByteSize::mib(1024)")]
    max_bytes: ByteSize,
    /// read the names of the files from this file, NUL after each
    #[argh(option, arg_name = "FILE")]
    files0_from: Option<Operand>,
    /// files to print; - or none is stdin
    #[argh(positional, arg_name = "FILE")]
    files: Vec<Operand>,
}

fn main() -> ExitCode {
    shell::main("curt-cat", Buffer::Blocks, run)
}

fn run(mut args: Args, shell: &mut Shell) -> Result<(), Stop> {
    if args.output.is_none() && (args.print || args.force) {
        return Err(Stop::usage("--print and --force go with --output"));
    }
    let files = std::mem::take(&mut args.files);
    let files = inputs(files, args.files0_from.take()).map_err(Stop::usage)?;
    let folder = args.output.as_ref().map(|dir| Folder::open(&dir.0, whose)).transpose();
    let Some(mut folder) = shell.tried(&"", folder) else { return Ok(()) };
    for input in files {
        match input {
            Ok(input) => bodies(&input, folder.as_mut(), &args, shell)?,
            Err(bad) => shell.trouble(&bad.place, &bad.reason),
        }
    }
    shell.tried(&"", folder.map_or(Ok(()), Folder::finish));
    Ok(())
}

fn bodies(
    input: &Input,
    mut folder: Option<&mut Folder>,
    args: &Args,
    shell: &mut Shell,
) -> Result<(), Stop> {
    let Some(bodies) = shell.tried(input, Bodies::of(input)) else { return Ok(()) };
    let mut bodies = bodies.limit(args.max_bytes.0).with_header().spilling();
    let layout = if args.pretty || args.output.is_some() { Layout::Tabs } else { Layout::Line };
    while let Some(judged) = shell.tried(input, bodies.next()).flatten() {
        let place = judged.place(input);
        let header = match judged.verdict {
            Ok(header) => header,
            Err(reason) => {
                shell.fault(&place, &reason);
                continue;
            }
        };
        let mut target = match folder.as_deref_mut() {
            Some(folder) => Target::Folder { folder, force: args.force },
            None => Target::Stream(&mut shell.out),
        };
        match copy::body(&mut bodies, &header, layout, &mut target) {
            Ok(Some(placed))
                if args.print && matches!(placed.outcome, Outcome::Created | Outcome::Updated) =>
            {
                print_path(shell, &placed.path, args.null)?;
            }
            Ok(_) => {}
            Err(Undelivered::Stream(error)) => return Err(Stop::Output(error)),
            Err(why @ Undelivered::Place(_)) => shell.trouble(&place, &why),
            Err(why) => shell.fault(&place, &why),
        }
    }
    Ok(())
}
