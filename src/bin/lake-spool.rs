//! `lake-spool`: stores scrubbed lake events, each once, lake-spool(1).

use argh::{ArgsInfo, FromArgs};
use curt_tools::edge::argv::{ByteSize, Operand};
use curt_tools::edge::report::Summary;
use curt_tools::edge::shell::{self, Buffer, Shell, Stop, escaped};
use curt_tools::lake::spool::{Session, Spool, event};
use curt_tools::stream::ndjson::{Line, Lines};
use curt_tools::stream::operands::{Input, inputs};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

/// append scrubbed events to the spool of a lake, each once
#[derive(FromArgs, ArgsInfo)]
#[argh(help_triggers("-h", "--help"))]
struct Args {
    /// the lake's folder (default ~/.ctxlake)
    #[argh(option, arg_name = "DIR")]
    state: Option<Operand>,
    /// bytes that the spool of a runtime may hold, 0 for any (default 512M)
    #[argh(option, arg_name = "N", default = "ByteSize::mib(512)")]
    cap: ByteSize,
    /// longest event to read in bytes, 0 for no limit (default 256M)
    #[argh(option, arg_name = "N", default = "ByteSize::mib(256)")]
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
    /// files of events; standard input when there is none
    #[argh(positional, arg_name = "FILE")]
    files: Vec<Operand>,
}

fn main() -> ExitCode {
    shell::main("lake-spool", Buffer::Lines, run)
}

fn run(args: Args, shell: &mut Shell) -> Result<(), Stop> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".ctxlake"));
    let state = args.state.map(PathBuf::from).or_else(home);
    let state = state.ok_or_else(|| Stop::usage("no HOME: say --state DIR"))?;
    let inputs = inputs(args.files, args.files0_from).map_err(Stop::usage)?;
    let micros = Shell::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_micros());
    let spool = Spool::open(&state, args.cap.0, u64::try_from(micros).unwrap_or_default());
    let Some(mut spool) = shell.tried(&"", spool) else { return Ok(()) };
    for input in inputs {
        let read = match input.map(|input| (input.open(), input)) {
            Ok((Ok(file), input)) => sessions(Lines::new(file, args.max_bytes.0), &input, &mut spool, shell),
            Ok((Err(error), input)) => {
                shell.trouble(&input, &error);
                true
            }
            Err(bad) => {
                shell.trouble(&bad.place, &bad.reason);
                true
            }
        };
        if !read {
            break;
        }
    }
    shell.tried(&"", spool.flush());
    let added = spool.added;
    let line = format!(
        "{} sessions, {} grown; {} events added, {} known, {} repeated ends and beginnings",
        added.sessions, added.grown, added.events, added.known, added.repeated
    );
    Summary { quiet: args.quiet, verbose: args.verbose }.tell(shell, &line);
    Ok(())
}

/// Sessions one after the other; one with a bad event is left out whole. False: the spool can take no more.
fn sessions(
    mut lines: Lines<impl std::io::Read>,
    input: &Input,
    spool: &mut Spool,
    shell: &mut Shell,
) -> bool {
    let mut open: Option<(Session, bool)> = None;
    loop {
        let (number, read) = match lines.next() {
            Ok(Some(Line::Text { number, text, .. })) => (number, event(text)),
            Ok(Some(Line::TooLong { number })) => (number, Err("event too long".to_owned())),
            Ok(None) => return open.is_none_or(|session| close(session, spool, shell)),
            Err(error) => {
                shell.trouble(input, &error);
                return true;
            }
        };
        let event = match read {
            Ok(event) => event,
            Err(reason) => {
                shell.fault(&format!("{input}:{number}"), &reason);
                open.iter_mut().for_each(|(_, good)| *good = false);
                continue;
            }
        };
        if let Some(before) = open.take_if(|(session, _)| !session.has(&event))
            && !close(before, spool, shell)
        {
            return false;
        }
        let (session, good) = open.get_or_insert_with(|| (Session::of(&event), true));
        if let Err(reason) = session.add(&event) {
            shell.fault(&format!("{input}:{number}"), &reason);
            *good = false;
        }
    }
}

fn close((session, good): (Session, bool), spool: &mut Spool, shell: &mut Shell) -> bool {
    if !good {
        let id = escaped(&session.id, false);
        shell.fault(&format!("session {id}"), &"left out: not all of its events are good");
        return true;
    }
    shell.tried(&"", spool.add(&session)).is_some()
}
