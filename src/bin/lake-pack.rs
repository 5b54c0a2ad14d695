//! lake-pack: session rows to events of the lake.

use argh::{ArgsInfo, FromArgValue, FromArgs};
use curt_tools::edge::argv::{ByteSize, Operand, Word};
use curt_tools::edge::machine;
use curt_tools::edge::report::Summary;
use curt_tools::edge::shell::{self, Buffer, Shell, Stop};
use curt_tools::lake::event::{Mint, hash};
use curt_tools::mapping::rows_to_events::claims::{FILES, RULES};
use curt_tools::mapping::rows_to_events::{Counts, Packer, Runtime};
use curt_tools::stream::ndjson::{Line, Lines};
use curt_tools::stream::operands::{Input, Named, inputs};
use curt_tools::stream::tree;
use curt_tools::time::parse_since;
use std::collections::HashSet;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

/// make events of the lake from session rows, such as hermes-dump writes
#[derive(FromArgs, ArgsInfo)]
#[argh(help_triggers("-h", "--help"))]
struct Args {
    /// whose events they are (required)
    #[argh(option, arg_name = "ID")]
    fleet: Option<Word>,
    /// the agent in that fleet (required)
    #[argh(option, arg_name = "ID")]
    agent: Option<Word>,
    /// the machine, not the hash of this one's name
    #[argh(option, arg_name = "ID")]
    host_id: Option<Word>,
    /// only rows of hermes, claude-code or cursor
    #[argh(option, arg_name = "NAME")]
    runtime: Option<Of>,
    /// sessions not active since WHEN have ended: 1d, 12h, YYYY-MM-DD or an RFC 3339 time
    #[argh(option, arg_name = "WHEN")]
    ended_before: Option<Word>,
    /// also what the project in DIR tells its agents: CLAUDE.md, AGENTS.md, .cursor/rules (repeatable)
    #[argh(option, arg_name = "DIR")]
    claims: Vec<Operand>,
    /// leave out rewound, hidden and repeated rows of Hermes
    #[argh(switch)]
    shown: bool,
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

struct Of(Runtime);

impl FromArgValue for Of {
    fn from_arg_value(word: &str) -> Result<Self, String> {
        Runtime::named(word).map(Of).ok_or_else(|| "none of hermes, claude-code and cursor".to_owned())
    }
}

fn main() -> ExitCode {
    shell::main("lake-pack", Buffer::Blocks, run)
}

fn run(args: Args, shell: &mut Shell) -> Result<(), Stop> {
    let (Some(fleet), Some(agent)) = (args.fleet, args.agent) else {
        return Err(Stop::usage("--fleet and --agent are required"));
    };
    let now = Shell::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let before = |when: &Word| parse_since(&when.0, now.as_secs_f64()).map_err(Stop::Usage);
    let mut packer = Packer {
        fleet_id: fleet.0,
        agent_id: agent.0,
        host_id: args.host_id.map_or_else(|| hash(machine::name().as_bytes()), |id| id.0),
        mint: Mint::new(now.as_millis().try_into().unwrap_or(0), machine::entropy()),
        shown: args.shown,
        runtime: args.runtime.map(|of| of.0),
        ended_before: args.ended_before.as_ref().map(before).transpose()?,
        counts: Counts::default(),
        claimed: HashSet::new(),
    };
    let mut events = Vec::new();
    for project in &args.claims {
        claims(&project.0, &mut packer, args.max_bytes.0, &mut events, shell);
        shell.out.write_all(&events)?;
        events.clear();
    }
    let only_claims = !args.claims.is_empty() && args.files.is_empty() && args.files0_from.is_none();
    if only_claims {
        Summary { quiet: args.quiet, verbose: args.verbose }.tell(shell, &packer.counts.to_string());
        return Ok(());
    }
    for input in inputs(args.files, args.files0_from).map_err(Stop::usage)? {
        let (file, input) = match input.map(|input| (input.open(), input)) {
            Ok((Ok(file), input)) => (file, input),
            Ok((Err(error), input)) => {
                shell.trouble(&input, &error);
                continue;
            }
            Err(bad) => {
                shell.trouble(&bad.place, &bad.reason);
                continue;
            }
        };
        let mut lines = Lines::new(file, args.max_bytes.0);
        loop {
            let (number, done) = match lines.next() {
                Ok(Some(Line::Text { number, text, .. })) => (number, packer.row(text, &mut events)),
                Ok(Some(Line::TooLong { number })) => {
                    packer.counts.failed += 1;
                    (number, Err(format!("row longer than {} bytes", args.max_bytes.0)))
                }
                Ok(None) => break,
                Err(error) => {
                    shell.trouble(&input, &error);
                    break;
                }
            };
            if let Err(reason) = done {
                shell.fault(&format!("{input}:{number}"), &reason);
            }
            shell.out.write_all(&events)?;
            events.clear();
        }
    }
    Summary { quiet: args.quiet, verbose: args.verbose }.tell(shell, &packer.counts.to_string());
    Ok(())
}

/// What a project tells its agents. It may have none of the files, but must be a folder.
fn claims(project: &Path, packer: &mut Packer, max_bytes: u64, events: &mut Vec<u8>, shell: &mut Shell) {
    if !project.is_dir() {
        return shell.trouble(&Named(project), &"no folder of a project");
    }
    let rules =
        tree::folder(&project.join(RULES), |_| true, |path, error| shell.trouble(&Named(path), &error));
    let rules = rules.unwrap_or_default();
    for path in FILES.map(|name| project.join(name)).into_iter().chain(rules) {
        let limit = if max_bytes == 0 { u64::MAX } else { max_bytes };
        let mut text = Vec::new();
        let read = Input::File(path.clone())
            .open()
            .and_then(|file| file.take(limit.saturating_add(1)).read_to_end(&mut text));
        match read {
            Ok(bytes) if bytes as u64 > limit => {
                shell.fault(&Named(&path), &format!("larger than {limit} bytes"));
            }
            Ok(_) => {
                let name = path.strip_prefix(project).unwrap_or(&path).to_string_lossy();
                packer.claim(&name, &text, events);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => shell.trouble(&Named(&path), &error),
        }
    }
}
