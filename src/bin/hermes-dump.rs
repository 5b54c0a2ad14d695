//! Hermes `state.db` files to session rows.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

use argh::{ArgsInfo, FromArgs};
use curt_tools::edge::argv::{ByteSize, Operand, Word};
use curt_tools::edge::progress::Progress;
use curt_tools::edge::shell::{self, Buffer, Shell, Stop};
use curt_tools::hermes::store::{Failure, Found, How, Pick, Read, Store, with_profiles};
use curt_tools::stream::operands::Named;
use curt_tools::time::parse_since;

/// print the sessions of Hermes stores, one JSON row a session
#[derive(FromArgs, ArgsInfo)]
#[argh(help_triggers("-h", "--help"))]
struct Args {
    /// only sessions from SOURCE (repeatable)
    #[argh(option, arg_name = "SOURCE")]
    source: Vec<Word>,
    /// only the session ID (repeatable)
    #[argh(option, arg_name = "ID")]
    session: Vec<Word>,
    /// only sessions active since WHEN: 90d, 12h, 30m, 45s, YYYY-MM-DD or an RFC 3339 time
    #[argh(option, arg_name = "WHEN")]
    since: Option<Word>,
    /// nobody writes the store: take no lock, ignore a write-ahead log
    #[argh(switch)]
    immutable: bool,
    /// read a private copy of the store
    #[argh(switch)]
    copy: bool,
    /// of damaged sessions, print what can be read
    #[argh(switch)]
    salvage: bool,
    /// also the stores of the profiles beside each DB, profiles/*/state.db
    #[argh(switch)]
    profiles: bool,
    /// leave out sessions with a message of more than N bytes (0: no bound but SQLite's, 10^9)
    #[argh(option, arg_name = "N", default = "ByteSize(0)")]
    max_bytes: ByteSize,
    /// do not name sessions that cannot be read
    #[argh(switch, short = 'q')]
    quiet: bool,
    /// name the ids that messages give for their session and no session has
    #[argh(switch, short = 'v')]
    verbose: bool,
    /// the stores; $HERMES_HOME/state.db or ~/.hermes/state.db when none is given
    #[argh(positional, arg_name = "DB")]
    stores: Vec<Operand>,
}

fn main() -> ExitCode {
    shell::main("hermes-dump", Buffer::Blocks, run)
}

fn run(args: Args, shell: &mut Shell) -> Result<(), Stop> {
    let how = match (args.immutable, args.copy) {
        (true, true) => return Err(Stop::usage("--immutable and --copy exclude each other")),
        (true, false) => How::Immutable,
        (false, true) => How::Copy,
        (false, false) => How::Careful,
    };
    let now = Shell::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    let pick = Pick {
        sources: args.source.into_iter().map(String::from).collect(),
        sessions: args.session.into_iter().map(String::from).collect(),
        since: args.since.map(|when| parse_since(&when.0, now)).transpose().map_err(Stop::Usage)?,
    };
    let mut unknown = pick.sessions.clone();
    for path in stores(args.stores, args.profiles, shell)? {
        let opened = Store::open(&path, how, args.max_bytes.0);
        let listed = opened.and_then(|mut store| store.sessions(&pick).map(|found| (store, found)));
        match listed {
            Err(error) => shell.trouble(&Named(&path), &error),
            Ok((mut store, found)) => {
                unknown.retain(|id| found.unknown.contains(id));
                if args.salvage {
                    store.salvage();
                }
                dump(&mut store, &found, &path, args.quiet, shell)?;
                if args.verbose {
                    name_orphans(&mut store, &path, shell);
                }
            }
        }
    }
    for id in unknown {
        shell.fault(&id, &"no such session");
    }
    Ok(())
}

/// Which stores to read.
fn stores(given: Vec<Operand>, profiles: bool, shell: &mut Shell) -> Result<Vec<PathBuf>, Stop> {
    let mut stores: Vec<PathBuf> = given.into_iter().map(PathBuf::from).collect();
    if stores.is_empty() {
        stores.push(default_store().ok_or_else(|| Stop::usage("no store given, and no home to look in"))?);
    }
    if stores.iter().any(|path| path == Path::new("-")) {
        return Err(Stop::usage("a store cannot be read from standard input"));
    }
    if !profiles {
        return Ok(stores);
    }
    let mut found = Vec::new();
    for path in stores {
        match with_profiles(path.clone()) {
            Ok(stores) => found.extend(stores),
            Err(error) => {
                shell.trouble(&format_args!("{}: profiles", Named(&path)), &error);
                found.push(path);
            }
        }
    }
    Ok(found)
}

fn dump(store: &mut Store, found: &Found, path: &Path, quiet: bool, shell: &mut Shell) -> Result<(), Stop> {
    if found.is_damaged {
        shell.fault(&Named(path), &"damaged: sessions that nothing names may be missing");
    }
    let progress = Progress::new(shell, "sessions");
    let total = found.sessions.len() as u64;
    for (done, session) in (1..).zip(&found.sessions) {
        let place = format_args!("{}: session {session}", Named(path));
        match store.write(session, &mut shell.out) {
            Ok(Read::Whole | Read::Gone) => {}
            Ok(Read::Partial) if quiet => shell.negative(),
            Ok(Read::Partial) => shell.fault(&place, &"damaged: printed in part"),
            Err(Failure::Output(error)) => return Err(Stop::Output(error)),
            Err(Failure::Session(error)) if !error.is_of_session() => shell.trouble(&place, &error),
            Err(Failure::Session(_)) if quiet => shell.negative(),
            Err(Failure::Session(error)) => shell.fault(&place, &error),
        }
        progress.set(done, Some(total));
    }
    progress.finish();
    Ok(())
}

fn name_orphans(store: &mut Store, path: &Path, shell: &mut Shell) {
    match store.orphans() {
        Err(error) => shell.trouble(&Named(path), &error),
        Ok(orphans) => {
            for (session, count) in orphans {
                let messages = if count == 1 { "message" } else { "messages" };
                shell.say(&format_args!("{}: no session {session}: {count} {messages}", Named(path)));
            }
        }
    }
}

/// Where Hermes itself looks.
fn default_store() -> Option<PathBuf> {
    let home = env::var_os("HERMES_HOME").filter(|home| !home.is_empty());
    let home = home.map(PathBuf::from).or_else(|| env::home_dir().map(|home| home.join(".hermes")));
    home.map(|home| home.join("state.db"))
}
