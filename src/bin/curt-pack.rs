//! curt-pack: session rows to `.curt`, on stdout or as files.

use argh::{ArgsInfo, FromArgValue, FromArgs};
use curt_tools::edge::argv::{ByteSize, Operand};
use curt_tools::edge::progress::Progress;
use curt_tools::edge::report::{Summary, print_path, report_file};
use curt_tools::edge::shell::{self, Buffer, Shell, Stop};
use curt_tools::json::write::Layout;
use curt_tools::mapping::counts::{Count, Counts, PACK};
use curt_tools::mapping::hermes_to_curt::Options;
use curt_tools::mapping::pack::{Fault, Packer, whose};
use curt_tools::stream::deliver::{Target, Undelivered};
use curt_tools::stream::ndjson::{Line, Lines};
use curt_tools::stream::operands::{Input, inputs};
use curt_tools::stream::place::{Folder, Outcome, put};
use std::ops::ControlFlow;
use std::process::ExitCode;

/// build .curt files from session rows, such as hermes-dump writes
#[derive(FromArgs, ArgsInfo)]
#[argh(help_triggers("-h", "--help"))]
struct Args {
    /// make one file a conversation in this directory, not lines on stdout
    #[argh(option, short = 'o', arg_name = "DIR")]
    output: Option<Operand>,
    /// lay bodies on stdout out like files, indented by tabs
    #[argh(switch)]
    pretty: bool,
    /// keep rewound, hidden and repeated rows too
    #[argh(switch)]
    all_rows: bool,
    /// of Claude Code's rewinds keep the newest branch (default) or all
    #[argh(option, arg_name = "WHICH", default = "Branches::Newest")]
    branches: Branches,
    /// keep every byte of text: no canonical JSON, no wrapper taken off
    #[argh(switch)]
    verbatim: bool,
    /// replace a file that holds a later state of its conversation
    #[argh(switch, short = 'f')]
    force: bool,
    /// print the path of each file that was written
    #[argh(switch)]
    print: bool,
    /// end printed paths with NUL, not newline
    #[argh(switch, short = '0')]
    null: bool,
    /// write the counts of the run to this file, as one JSON object
    #[argh(option, arg_name = "FILE")]
    summary_json: Option<Operand>,
    /// longest row to read in bytes, 0 for no limit (default 1G)
    #[argh(option, arg_name = "N", default = "ByteSize::mib(1024)")]
    max_bytes: ByteSize,
    /// read input names from this file, each ended by NUL
    #[argh(option, arg_name = "FILE")]
    files0_from: Option<Operand>,
    /// no summary
    #[argh(switch, short = 'q')]
    quiet: bool,
    /// a summary also when stderr is no terminal
    #[argh(switch, short = 'v')]
    verbose: bool,
    /// files of session rows; standard input when there is none
    #[argh(positional, arg_name = "FILE")]
    files: Vec<Operand>,
}

/// What stays where a person went back and on another way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Branches {
    Newest,
    All,
}

impl FromArgValue for Branches {
    fn from_arg_value(word: &str) -> Result<Self, String> {
        match word {
            "newest" => Ok(Branches::Newest),
            "all" => Ok(Branches::All),
            _ => Err("neither 'newest' nor 'all'".to_owned()),
        }
    }
}

fn main() -> ExitCode {
    shell::main("curt-pack", Buffer::Blocks, run)
}

fn run(args: Args, shell: &mut Shell) -> Result<(), Stop> {
    if args.output.is_none() && (args.print || args.force) {
        return Err(Stop::usage("--print and --force go with --output"));
    }
    let summary_json = report_file(args.summary_json.as_ref())?;
    let folder = args.output.as_ref().map(|dir| Folder::open(&dir.0, whose)).transpose();
    let Some(mut folder) = shell.tried(&"", folder) else { return Ok(()) };
    let mut packer = Packer {
        options: Options {
            all_rows: args.all_rows,
            all_branches: args.branches == Branches::All,
            verbatim: args.verbatim,
        },
        layout: if args.output.is_some() || args.pretty { Layout::Tabs } else { Layout::Line },
        counts: Counts::default(),
    };
    let progress = Progress::new(shell, "sessions");
    'all: for input in inputs(args.files.clone(), args.files0_from.clone()).map_err(Stop::usage)? {
        match input.map(|input| (input.open(), input)) {
            Ok((Ok(file), input)) => {
                let mut lines = Lines::new(file, args.max_bytes.0);
                while let Some(line) = shell.tried(&input, lines.next()).flatten() {
                    if row(line, &input, &mut packer, folder.as_mut(), &args, shell)?.is_break() {
                        break 'all;
                    }
                    // At the end of a pipe, the bar is the dump's.
                    if matches!(input, Input::File(_)) {
                        progress.set(packer.counts.sessions(), None);
                    }
                }
            }
            Ok((Err(error), input)) => shell.trouble(&input, &error),
            Err(bad) => shell.trouble(&bad.place, &bad.reason),
        }
    }
    progress.finish();
    shell.tried(&"", folder.map_or(Ok(()), Folder::finish));
    Summary { quiet: args.quiet, verbose: args.verbose }.tell(shell, &packer.counts.line(PACK));
    shell.tried(&"", summary_json.map_or(Ok(()), |file| put(file, &packer.counts.json(PACK))));
    Ok(())
}

/// A break: no other row would get further.
fn row(
    line: Line<'_>,
    input: &Input,
    packer: &mut Packer,
    folder: Option<&mut Folder>,
    args: &Args,
    shell: &mut Shell,
) -> Result<ControlFlow<()>, Stop> {
    let (number, text) = match line {
        Line::Text { number, text, .. } => (number, text),
        Line::TooLong { number } => {
            packer.counts.add(Count::Failed, 1);
            shell.fault(&format!("{input}:{number}"), &format!("row longer than {} bytes", args.max_bytes.0));
            return Ok(ControlFlow::Continue(()));
        }
    };
    let mut target = match folder {
        Some(folder) => Target::Folder { folder, force: args.force },
        None => Target::Stream(&mut shell.out),
    };
    match packer.row(text, &mut target) {
        Ok(Some(placed)) if args.print && matches!(placed.outcome, Outcome::Created | Outcome::Updated) => {
            print_path(shell, &placed.path, args.null)?;
        }
        Ok(_) => {}
        Err(Fault::Body(_, Undelivered::Stream(error))) => return Err(Stop::Output(error)),
        Err(fault) => {
            let place = format!("{input}:{number}");
            let Fault::Body(_, Undelivered::Place(error)) = &fault else {
                shell.fault(&place, &fault);
                return Ok(ControlFlow::Continue(()));
            };
            let is_beyond = target.is_beyond(error);
            shell.trouble(&place, &fault);
            if is_beyond {
                return Ok(ControlFlow::Break(()));
            }
        }
    }
    Ok(ControlFlow::Continue(()))
}
