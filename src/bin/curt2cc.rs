//! curt2cc: `.curt` to Claude Code session JSONL, on stdout or as files.

use argh::{ArgsInfo, FromArgs};
use curt_tools::VERSION;
use curt_tools::cc::layout::folder;
use curt_tools::curt::bodies::Bodies;
use curt_tools::edge::argv::{ByteSize, Operand};
use curt_tools::edge::report::{Summary, print_path, report_file};
use curt_tools::edge::shell::{self, Buffer, Shell, Stop};
use curt_tools::mapping::counts::{Count, EMIT};
use curt_tools::mapping::curt_to_cc::{Options, Title};
use curt_tools::mapping::emit::{Emitter, whose};
use curt_tools::stream::deliver::{Target, Undelivered};
use curt_tools::stream::operands::{Input, inputs};
use curt_tools::stream::place::{Folder, Outcome, put};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

/// emit Claude Code session JSONL from .curt files or lines
#[derive(FromArgs, ArgsInfo)]
#[argh(help_triggers("-h", "--help"))]
struct Args {
    /// make one file a conversation in this directory, not lines on stdout
    #[argh(option, short = 'o', arg_name = "DIR")]
    output: Option<Operand>,
    /// the directory that the sessions are of
    #[argh(option, arg_name = "DIR")]
    cwd: Option<Operand>,
    /// the version of Claude Code to claim, X.Y.Z (default that of this program)
    #[argh(option, arg_name = "X.Y.Z")]
    cc_version: Option<Version>,
    /// make each session's id a UUID, as the tools that list sessions need it
    #[argh(switch)]
    session_uuid: bool,
    /// plain, or claude: projects/FOLDER/UUID.jsonl below DIR; implies --session-uuid
    #[argh(option, arg_name = "FORM", default = "Layout::Plain")]
    layout: Layout,
    /// the record for the title: none (default), summary or custom
    #[argh(option, arg_name = "FORM", default = "TitleForm(Title::None)")]
    title: TitleForm,
    /// answer calls without a result by an error, make results without a call the text of a user
    #[argh(switch)]
    repair: bool,
    /// print the path of each file that was written
    #[argh(switch)]
    print: bool,
    /// end printed paths with NUL, not newline
    #[argh(switch, short = '0')]
    null: bool,
    /// write the counts of the run to this file, as one JSON object
    #[argh(option, arg_name = "FILE")]
    summary_json: Option<Operand>,
    /// longest body to read in bytes, 0 for no limit (default 1G)
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
    /// files of one .curt body, or .ndjson files of one a line; standard input when there is none
    #[argh(positional, arg_name = "FILE")]
    files: Vec<Operand>,
}

/// How files are laid out.
#[derive(Clone, Copy, PartialEq)]
enum Layout {
    Plain,
    Claude,
}

impl argh::FromArgValue for Layout {
    fn from_arg_value(word: &str) -> Result<Self, String> {
        match word {
            "plain" => Ok(Layout::Plain),
            "claude" => Ok(Layout::Claude),
            _ => Err("not plain or claude".to_owned()),
        }
    }
}

struct TitleForm(Title);

impl argh::FromArgValue for TitleForm {
    fn from_arg_value(word: &str) -> Result<Self, String> {
        match word {
            "none" => Ok(TitleForm(Title::None)),
            "summary" => Ok(TitleForm(Title::Summary)),
            "custom" => Ok(TitleForm(Title::Custom)),
            _ => Err("not none, summary or custom".to_owned()),
        }
    }
}

struct Version(String);

impl argh::FromArgValue for Version {
    fn from_arg_value(word: &str) -> Result<Self, String> {
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        match word.split('.').count() == 3 && word.split('.').all(is_number) {
            true => Ok(Version(word.to_owned())),
            false => Err("not three numbers such as 2.1.0".to_owned()),
        }
    }
}

fn main() -> ExitCode {
    shell::main("curt2cc", Buffer::Blocks, run)
}

fn run(args: Args, shell: &mut Shell) -> Result<(), Stop> {
    if args.output.is_none() && args.print {
        return Err(Stop::usage("--print goes with --output"));
    }
    let as_sessions = args.layout == Layout::Claude;
    if args.output.is_none() && as_sessions {
        return Err(Stop::usage("--layout claude goes with --output"));
    }
    let summary_json = report_file(args.summary_json.as_ref())?;
    let cwd = args.cwd.as_ref().map(|cwd| cwd.0.as_os_str().as_bytes()).unwrap_or_default();
    let dir = args.output.as_ref().map(|dir| match as_sessions {
        true => dir.0.join("projects").join(folder(cwd)),
        false => dir.0.clone(),
    });
    let folder = dir.map(|dir| Folder::open(&dir, whose)).transpose();
    let Some(mut folder) = shell.tried(&"", folder) else { return Ok(()) };
    let options = Options {
        cwd: cwd.to_vec(),
        version: args.cc_version.as_ref().map_or(VERSION, |version| &version.0).to_owned(),
        session_uuid: args.session_uuid || as_sessions,
        title: args.title.0,
        repair: args.repair,
    };
    let mut emitter = Emitter { options, as_sessions, ..Emitter::default() };
    for input in inputs(args.files.clone(), args.files0_from.clone()).map_err(Stop::usage)? {
        match input {
            Ok(input) => bodies(&input, &mut emitter, &mut folder, &args, shell)?,
            Err(bad) => shell.trouble(&bad.place, &bad.reason),
        }
    }
    shell.tried(&"", folder.map_or(Ok(()), Folder::finish));
    Summary { quiet: args.quiet, verbose: args.verbose }.tell(shell, &emitter.counts.line(EMIT));
    shell.tried(&"", summary_json.map_or(Ok(()), |file| put(file, &emitter.counts.json(EMIT))));
    Ok(())
}

fn bodies(
    input: &Input,
    emitter: &mut Emitter,
    folder: &mut Option<Folder>,
    args: &Args,
    shell: &mut Shell,
) -> Result<(), Stop> {
    let Some(bodies) = shell.tried(input, Bodies::of(input)) else { return Ok(()) };
    let mut bodies = bodies.limit(args.max_bytes.0).keeping();
    while let Some(judged) = shell.tried(input, bodies.next()).flatten() {
        let place = judged.place(input);
        if let Err(reason) = judged.verdict {
            emitter.counts.add(Count::Failed, 1);
            shell.fault(&place, &reason);
            continue;
        }
        let mut target = match folder {
            Some(folder) => Target::Folder { folder, force: true },
            None => Target::Stream(&mut shell.out),
        };
        match emitter.body(bodies.text(), &mut target) {
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
