//! lake-pack: session rows to events of the lake.

use argh::{ArgsInfo, FromArgValue, FromArgs};
use curt_tools::edge::argv::{ByteSize, Operand, Word};
use curt_tools::edge::machine;
use curt_tools::edge::report::Summary;
use curt_tools::edge::shell::{self, Buffer, Shell, Stop};
use curt_tools::lake::event::{Mint, hash};
use curt_tools::mapping::rows_to_events::{Counts, Packer, Runtime};
use curt_tools::stream::ndjson::{Line, Lines};
use curt_tools::stream::operands::inputs;
use curt_tools::time::parse_since;
use std::io::Write;
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
    };
    let mut events = Vec::new();
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
