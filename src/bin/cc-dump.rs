//! Claude Code session files to session rows.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

use argh::{ArgsInfo, FromArgs};
use curt_tools::cc::row::{About, Gather, Place};
use curt_tools::edge::argv::{ByteSize, Operand, Word};
use curt_tools::edge::progress::Progress;
use curt_tools::edge::shell::{self, Buffer, Shell, Stop};
use curt_tools::stream::ndjson::{Line, Lines};
use curt_tools::stream::operands::{Input, Named, inputs};
use curt_tools::stream::tree;
use curt_tools::time::parse_since;

/// print the sessions of Claude Code, one JSON row a session
#[derive(FromArgs, ArgsInfo)]
#[argh(help_triggers("-h", "--help"))]
struct Args {
    /// only the session ID (repeatable)
    #[argh(option, arg_name = "ID")]
    session: Vec<Word>,
    /// only sessions active since WHEN: 90d, 12h, 30m, 45s, YYYY-MM-DD or an RFC 3339 time
    #[argh(option, arg_name = "WHEN")]
    since: Option<Word>,
    /// of folders, the transcripts of subagents too, each as a session
    #[argh(switch)]
    subagents: bool,
    /// pass over lines longer than this (default 256M, 0: none is)
    #[argh(option, arg_name = "N", default = "ByteSize::mib(256)")]
    max_bytes: ByteSize,
    /// read input names from this file, each ended by NUL
    #[argh(option, arg_name = "FILE")]
    files0_from: Option<Operand>,
    /// do not name lines that cannot be read
    #[argh(switch, short = 'q')]
    quiet: bool,
    /// name damaged lines that could be read too
    #[argh(switch, short = 'v')]
    verbose: bool,
    /// session files, or folders of them such as ~/.claude/projects; standard input when there is none
    #[argh(positional, arg_name = "FILE")]
    files: Vec<Operand>,
}

fn main() -> ExitCode {
    shell::main("cc-dump", Buffer::Blocks, run)
}

/// Which sessions are wanted.
struct Pick {
    sessions: Vec<Vec<u8>>,
    /// Those of them that were not seen yet.
    unknown: Vec<Vec<u8>>,
    /// Epoch seconds.
    since: Option<f64>,
}

impl Pick {
    fn wants(&self, about: &About) -> bool {
        (self.sessions.is_empty() || self.sessions.contains(&about.id))
            && self.since.is_none_or(|since| about.last.is_some_and(|last| last / 1000.0 >= since))
    }
}

fn run(args: Args, shell: &mut Shell) -> Result<(), Stop> {
    let now = Shell::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    let since = args.since.as_ref().map(|when| parse_since(&when.0, now)).transpose().map_err(Stop::Usage)?;
    let sessions: Vec<_> = args.session.iter().map(|id| id.0.clone().into_bytes()).collect();
    let mut pick = Pick { unknown: sessions.clone(), sessions, since };
    let wanted = |path: &Path| match Place::of(path) {
        Place::Session => true,
        Place::Subagent => args.subagents,
        Place::Other => false,
    };
    let mut gather = Gather::default();
    let progress = Progress::new(shell, "sessions");
    let mut done = 0;
    for operand in inputs(args.files.clone(), args.files0_from.clone()).map_err(Stop::usage)? {
        let operand = match operand {
            Ok(operand) => operand,
            Err(bad) => {
                shell.trouble(&bad.place, &bad.reason);
                continue;
            }
        };
        let files = tree::files(operand.clone(), wanted, |path, error| shell.trouble(&Named(path), &error));
        match files {
            Err(error) => shell.trouble(&operand, &error),
            Ok(files) => {
                for file in files {
                    // What stands in a folder by its name may still be a subagent's.
                    let subagents = args.subagents || file == operand;
                    dump(&file, &mut gather, &mut pick, subagents, &args, shell)?;
                    done += 1;
                    progress.set(done, None);
                }
            }
        }
    }
    progress.finish();
    for id in pick.unknown {
        shell.fault(&String::from_utf8_lossy(&id), &"no such session");
    }
    Ok(())
}

fn dump(
    input: &Input,
    gather: &mut Gather,
    pick: &mut Pick,
    subagents: bool,
    args: &Args,
    shell: &mut Shell,
) -> Result<(), Stop> {
    if let Err(error) = read(input, gather, args, shell) {
        shell.trouble(input, &error);
        return Ok(gather.clear()?);
    }
    let stem = match input {
        Input::File(path) => path.file_stem().unwrap_or_default().as_encoded_bytes(),
        Input::Stdin => b"stdin",
    };
    let about = gather.about(stem).filter(|about| subagents || !about.sidechain);
    pick.unknown.retain(|id| about.as_ref().is_none_or(|about| about.id != *id));
    match about.filter(|about| pick.wants(about)) {
        Some(about) => Ok(gather.write(&about, &mut shell.out)?),
        None => Ok(gather.clear()?),
    }
}

/// Gather one file. What is wrong with its lines is told as it is found.
fn read(input: &Input, gather: &mut Gather, args: &Args, shell: &mut Shell) -> io::Result<()> {
    let mut lines = Lines::new(input.open()?, args.max_bytes.0);
    while let Some(line) = lines.next()? {
        match line {
            Line::TooLong { number } => {
                gather.too_long();
                let reason = format!("line longer than {} bytes", args.max_bytes.0);
                lost(input, number, &reason, args.quiet, shell);
            }
            Line::Text { number, text, .. } => match gather.line(text)? {
                Some(wrong) if wrong.is_loss() => lost(input, number, &wrong, args.quiet, shell),
                Some(wrong) if args.verbose => shell.say(&format_args!("{input}:{number}: {wrong}")),
                _ => {}
            },
        }
    }
    Ok(())
}

fn lost(input: &Input, number: u64, reason: &dyn Display, quiet: bool, shell: &mut Shell) {
    match quiet {
        true => shell.negative(),
        false => shell.fault(&format_args!("{input}:{number}"), reason),
    }
}
