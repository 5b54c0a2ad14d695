//! Cursor's chats to session rows.

use std::collections::BTreeMap;
use std::env;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

use argh::{ArgsInfo, FromArgs};
use curt_tools::cursor::{self, HISTORY, META};
use curt_tools::edge::argv::{ByteSize, Operand, Word};
use curt_tools::edge::shell::{self, Buffer, Shell, Stop};
use curt_tools::stream::operands::{Input, Named};
use curt_tools::stream::tree;
use curt_tools::time::parse_since;

/// print the chats of Cursor, one JSON row a chat
#[derive(FromArgs, ArgsInfo)]
#[argh(help_triggers("-h", "--help"))]
struct Args {
    /// only the session ID (repeatable)
    #[argh(option, arg_name = "ID")]
    session: Vec<Word>,
    /// only chats active since WHEN: 90d, 12h, 30m, 45s, YYYY-MM-DD or an RFC 3339 time
    #[argh(option, arg_name = "WHEN")]
    since: Option<Word>,
    /// leave out files of more than N bytes (default 256M, 0: none is)
    #[argh(option, arg_name = "N", default = "ByteSize::mib(256)")]
    max_bytes: ByteSize,
    /// do not name files that cannot be read
    #[argh(switch, short = 'q')]
    quiet: bool,
    /// folders of chats; ~/.cursor/chats when none is given
    #[argh(positional, arg_name = "DIR")]
    folders: Vec<Operand>,
}

fn main() -> ExitCode {
    shell::main("cursor-dump", Buffer::Blocks, run)
}

fn run(args: Args, shell: &mut Shell) -> Result<(), Stop> {
    let now = Shell::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    let since = args.since.as_ref().map(|when| parse_since(&when.0, now)).transpose().map_err(Stop::Usage)?;
    let mut folders: Vec<PathBuf> = args.folders.iter().cloned().map(PathBuf::from).collect();
    if folders.is_empty() {
        let home = env::home_dir().ok_or_else(|| Stop::usage("no folder given, and no home to look in"))?;
        folders.push(home.join(".cursor/chats"));
    }
    if folders.iter().any(|path| path == Path::new("-")) {
        return Err(Stop::usage("chats cannot be read from standard input"));
    }
    let mut unknown: Vec<&str> = args.session.iter().map(|id| id.0.as_str()).collect();
    for folder in folders {
        for (path, files) in chats(&folder, shell) {
            let id = path.file_name().unwrap_or_default().as_encoded_bytes();
            unknown.retain(|wanted| wanted.as_bytes() != id);
            if !args.session.is_empty() && !args.session.iter().any(|wanted| wanted.0.as_bytes() == id) {
                continue;
            }
            let mut file = |name| {
                files.iter().find(|file| file.ends_with(name)).and_then(|file| read(file, &args, shell))
            };
            let (meta, history) = (file(META), file(HISTORY));
            let chat = cursor::chat(id, meta.as_deref(), history.as_deref());
            for (name, fault) in &chat.faults {
                lost(&path.join(name), fault, &args, shell);
            }
            if since.is_none_or(|since| chat.last.is_some_and(|last| last / 1000.0 >= since)) {
                shell.out.write_all(&chat.row)?;
            }
        }
    }
    for id in unknown {
        shell.fault(&id, &"no such session");
    }
    Ok(())
}

/// The folders below this one that are chats, with what may be read of each; in byte order of their paths.
fn chats(folder: &Path, shell: &mut Shell) -> BTreeMap<PathBuf, Vec<PathBuf>> {
    let wanted = |path: &Path| path.ends_with(META) || path.ends_with(HISTORY);
    let mut chats: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    match tree::folder(folder, wanted, |path, error| shell.trouble(&Named(path), &error)) {
        Err(error) => shell.trouble(&Named(folder), &error),
        Ok(files) => {
            for file in files {
                let chat = file.parent().unwrap_or(&file).to_owned();
                chats.entry(chat).or_default().push(file);
            }
        }
    }
    chats
}

fn read(path: &Path, args: &Args, shell: &mut Shell) -> Option<Vec<u8>> {
    let limit = if args.max_bytes.0 == 0 { u64::MAX } else { args.max_bytes.0 };
    let mut text = Vec::new();
    let whole = Input::File(path.to_owned())
        .open()
        .and_then(|file| file.take(limit.saturating_add(1)).read_to_end(&mut text));
    match whole {
        Err(error) => {
            shell.trouble(&Named(path), &error);
            None
        }
        Ok(bytes) if bytes as u64 > limit => {
            lost(path, &format_args!("larger than {limit} bytes"), args, shell);
            None
        }
        Ok(_) => Some(text),
    }
}

fn lost(path: &Path, reason: &dyn std::fmt::Display, args: &Args, shell: &mut Shell) {
    match args.quiet {
        true => shell.negative(),
        false => shell.fault(&Named(path), reason),
    }
}
