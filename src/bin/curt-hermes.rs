//! curt-hermes: the npm tool's command line, over what hermes-dump, curt-pack and curt2cc call.

use argh::{ArgsInfo, FromArgs};
use curt_tools::curt::bodies::Bodies;
use curt_tools::edge::argv::{ByteSize, Operand, Word};
use curt_tools::edge::progress::Progress;
use curt_tools::edge::shell::{self, Buffer, Shell, Stop};
use curt_tools::hermes::store::{Failure, How, Pick, Store};
use curt_tools::json::write::Layout;
use curt_tools::mapping::counts::{Count, EMIT, PACK};
use curt_tools::mapping::emit::{self, Emitter};
use curt_tools::mapping::pack::{self, Fault, Packer};
use curt_tools::stream::deliver::{Target, Undelivered};
use curt_tools::stream::operands::{Input, Named, folder_of_bodies};
use curt_tools::stream::place::Folder;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// convert a Hermes store to .curt, or .curt to Claude Code session JSONL
#[derive(FromArgs, ArgsInfo)]
#[argh(help_triggers("-h", "--help"))]
struct Args {
    /// put the files into this directory (default: the current one)
    #[argh(option, short = 'o', arg_name = "DIR")]
    output: Option<Operand>,
    /// only sessions from this source; repeatable
    #[argh(option, arg_name = "SOURCE")]
    source: Vec<Word>,
    /// only this session; repeatable
    #[argh(option, arg_name = "ID")]
    session: Vec<Word>,
    /// only the first N sessions
    #[argh(option, arg_name = "N")]
    sample: Option<usize>,
    /// print .curt lines instead of making files
    #[argh(switch)]
    stdout: bool,
    /// convert this .curt file, or those in this directory, to Claude Code session JSONL
    #[argh(option, arg_name = "PATH")]
    emit_cc_jsonl: Option<Operand>,
    /// the store, a state.db
    #[argh(positional, arg_name = "DB")]
    store: Option<Operand>,
}

/// The longest body that curt2cc takes when it is not told otherwise.
const LARGEST: ByteSize = ByteSize::mib(1024);

fn main() -> ExitCode {
    shell::main("curt-hermes", Buffer::Blocks, run)
}

fn run(args: Args, shell: &mut Shell) -> Result<(), Stop> {
    let picks = !args.source.is_empty() || !args.session.is_empty() || args.sample.is_some() || args.stdout;
    match (&args.store, &args.emit_cc_jsonl) {
        (Some(store), None) if store.0 == Path::new("-") => {
            Err(Stop::usage("a store cannot be read from standard input"))
        }
        (Some(_), None) if args.stdout && args.output.is_some() => {
            Err(Stop::usage("--stdout and --output exclude each other"))
        }
        (Some(store), None) => export(&store.0, &args, shell),
        (None, Some(_)) if picks => Err(Stop::usage("--emit-cc-jsonl goes with --output alone")),
        (None, Some(path)) => emit(&path.0, &args, shell),
        _ => Err(Stop::usage("give a store, or --emit-cc-jsonl PATH")),
    }
}

/// Direction 1: `hermes-dump DB | curt-pack -o DIR`.
fn export(path: &Path, args: &Args, shell: &mut Shell) -> Result<(), Stop> {
    let words = |words: &[Word]| words.iter().map(|word| word.0.clone()).collect();
    let pick = Pick { sources: words(&args.source), sessions: words(&args.session), since: None };
    let opened = Store::open(path, How::default(), 0);
    let (mut store, found) = match opened.and_then(|mut store| Ok((store.sessions(&pick)?, store))) {
        Ok((found, store)) => (store, found),
        Err(error) => return trouble(shell, &Named(path), &error),
    };
    let mut folder = match (!args.stdout).then(|| open(args, pack::whose)).transpose() {
        Ok(folder) => folder,
        Err(error) => return trouble(shell, &"", &error),
    };
    let layout = if args.stdout { Layout::Line } else { Layout::Tabs };
    let mut packer = Packer { layout, ..Packer::default() };
    let chosen = args.sample.unwrap_or(usize::MAX).min(found.sessions.len());
    if found.is_damaged {
        shell.fault(&Named(path), &"damaged: sessions that nothing names may be missing");
    }
    let progress = Progress::new(shell, "sessions");
    let mut row = Vec::new();
    for session in found.sessions.iter().take(chosen) {
        row.clear();
        let place = format!("{}: session {session}", Named(path));
        if let Err(Failure::Session(error)) = store.write(session, &mut row) {
            packer.counts.add(Count::Failed, 1);
            match error.is_of_session() {
                true => shell.fault(&place, &error),
                false => shell.trouble(&place, &error),
            }
            continue;
        }
        let mut target = target(folder.as_mut(), shell);
        match packer.row(&row, &mut target) {
            Ok(_) => {}
            Err(Fault::Body(_, Undelivered::Stream(error))) => return Err(Stop::Output(error)),
            Err(Fault::Body(_, Undelivered::Place(error))) => {
                let is_beyond = target.is_beyond(&error);
                shell.trouble(&place, &error);
                if is_beyond {
                    break;
                }
            }
            Err(Fault::Body(_, why)) => shell.fault(&place, &why),
            Err(fault) => shell.fault(&place, &fault),
        }
        progress.set(packer.counts.sessions(), Some(chosen as u64));
    }
    progress.finish();
    for id in found.unknown {
        shell.fault(&id, &"no such session");
    }
    finish(folder, shell);
    shell.say(&packer.counts.line(PACK));
    Ok(())
}

/// Direction 2: `curt2cc -o DIR FILE…`.
fn emit(path: &Path, args: &Args, shell: &mut Shell) -> Result<(), Stop> {
    let opened = folder_of_bodies(path).and_then(|inputs| Ok((inputs, open(args, emit::whose)?)));
    let (inputs, mut folder) = match opened {
        Ok((inputs, folder)) => (inputs, Some(folder)),
        Err(error) => return trouble(shell, &Named(path), &error),
    };
    let mut emitter = Emitter::default();
    for input in inputs {
        if let Err(error) = bodies(&input, &mut emitter, &mut folder, shell) {
            shell.trouble(&input, &error);
        }
    }
    finish(folder, shell);
    shell.say(&emitter.counts.line(EMIT));
    Ok(())
}

fn bodies(
    input: &Input,
    emitter: &mut Emitter,
    folder: &mut Option<Folder>,
    shell: &mut Shell,
) -> io::Result<()> {
    let mut bodies = Bodies::of(input)?.limit(LARGEST.0).keeping();
    while let Some(judged) = bodies.next()? {
        let place = judged.place(input);
        if let Err(reason) = judged.verdict {
            emitter.counts.add(Count::Failed, 1);
            shell.fault(&place, &reason);
            continue;
        }
        match emitter.body(bodies.text(), &mut target(folder.as_mut(), shell)) {
            Ok(_) => {}
            Err(why @ Undelivered::Refused(_)) => shell.fault(&place, &why),
            Err(why) => shell.trouble(&place, &why),
        }
    }
    Ok(())
}

fn open(args: &Args, whose: curt_tools::stream::place::Identify) -> io::Result<Folder> {
    let dir = args.output.clone().map_or(PathBuf::from("."), PathBuf::from);
    Folder::open(&dir, whose)
}

fn target<'t>(folder: Option<&'t mut Folder>, shell: &'t mut Shell) -> Target<'t> {
    match folder {
        Some(folder) => Target::Folder { folder, force: false },
        None => Target::Stream(&mut shell.out),
    }
}

fn finish(folder: Option<Folder>, shell: &mut Shell) {
    if let Some(Err(error)) = folder.map(Folder::finish) {
        shell.trouble(&"", &error);
    }
}

fn trouble(shell: &mut Shell, place: &dyn Display, reason: &dyn Display) -> Result<(), Stop> {
    shell.trouble(place, reason);
    Ok(())
}
