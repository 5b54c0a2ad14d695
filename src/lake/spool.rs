//! The spool that a `ctxlake` daemon drains, and the ledger of what was ever put there.
//!
//! ```text
//! STATE/spool/<runtime>/<session>.ndjson   events; <session>.done beside it: the session is over
//! STATE/import/<runtime>.ledger            keys of events, one a line
//! STATE/import/<runtime>.pending           what is being added, while it is
//! ```
//!
//! # How both agree whatever happens
//!
//! 1. What is new, of some whole sessions, is written to `pending`, which is synced and renamed into place.
//! 2. The lines are appended to the spool files, which are synced.
//! 3. The keys are appended to the ledger, which is synced.
//! 4. `.done` files are made and `pending` is removed.
//!
//! Whoever opens the lake next, under the ledger's lock, does again what of 2 to 4 is missing: lines that
//! stand behind the noted length of their file are not written twice, and where all keys stand in the ledger
//! no line is, because the daemon may have taken them away. So after a kill or a power failure at any point
//! each event is there once.
//!
//! Lifecycle events have a second key in the ledger, without what changes as a session grows (time, title,
//! usage): a session begins once and ends once.

use super::event::{Event, Type, hash};
use crate::json::raw::Raw;
use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The runtimes that a daemon knows.
const RUNTIMES: [&str; 4] = ["claude_code", "cursor", "hermes", "other"];

/// A file of this size is put aside before more is appended.
const ROTATE: u64 = 32 << 20;

/// Bytes of new events that are added in one step.
const STEP: usize = 8 << 20;

/// Sessions that are added in one step.
const SESSIONS: usize = 1024;

/// How many bytes a key has in the ledger, its newline not counted.
const KEY: usize = 71;

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// Sessions that came.
    pub sessions: u64,
    /// Sessions of which something was new.
    pub grown: u64,
    /// Events that were appended.
    pub events: u64,
    /// Events that the ledger knew.
    pub known: u64,
    /// Ends and beginnings of sessions that had one.
    pub repeated: u64,
}

/// One runtime's spool and ledger, locked.
#[derive(Debug)]
struct Lane {
    spool: PathBuf,
    pending: PathBuf,
    ledger: File,
    known: HashSet<String>,
    /// Bytes in the spool folder.
    held: u64,
    step: Step,
}

/// What is added next.
#[derive(Debug, Default)]
struct Step {
    files: Vec<Part>,
    keys: Vec<String>,
    bytes: usize,
}

/// What one file gets.
#[derive(Debug)]
struct Part {
    name: String,
    from: u64,
    done: bool,
    lines: Vec<u8>,
}

/// The lake's folder.
#[derive(Debug)]
pub struct Spool {
    state: PathBuf,
    cap: u64,
    /// For the names of files that are put aside.
    micros: u64,
    lanes: HashMap<String, Lane>,
    /// What was done.
    pub added: Added,
}

/// Events of one session, as they came.
#[derive(Debug, Default)]
pub struct Session {
    /// On the wire.
    pub runtime: String,
    /// Its id.
    pub id: String,
    lines: Vec<u8>,
    /// Key, second key, length of the line.
    events: Vec<(String, Option<String>, usize)>,
    ended: bool,
}

impl Session {
    /// The session of this event, still without it.
    pub fn of(event: &Event<'_>) -> Session {
        Session {
            runtime: event.source.runtime.clone().into_owned(),
            id: event.session_id.clone().into_owned(),
            ..Session::default()
        }
    }

    /// Whether the event is one of its.
    pub fn has(&self, event: &Event<'_>) -> bool {
        self.id == event.session_id && self.runtime == event.source.runtime
    }

    /// Add an event. The error says why it cannot be stored.
    pub fn add(&mut self, event: &Event<'_>) -> Result<(), &'static str> {
        if event.redaction.is_none() {
            return Err("not scrubbed: no status in redaction");
        }
        if !RUNTIMES.contains(&&*event.source.runtime) {
            return Err("unknown runtime");
        }
        let start = self.lines.len();
        event.write(&mut self.lines);
        let once = matches!(event.event_type, Type::SessionStart | Type::SessionEnd);
        let once = once.then(|| {
            let fields = ["once", &*event.source.runtime, &*event.session_id, event.event_type.name()];
            hash(fields.join("\0").as_bytes())
        });
        self.ended |= event.event_type == Type::SessionEnd;
        self.events.push((event.key(), once, self.lines.len() - start));
        Ok(())
    }
}

impl Spool {
    /// Open the lake in `state`, making what is missing with modes 0700 and 0600. `cap`: bytes that the spool
    /// of one runtime may hold, 0 for any. `micros`: now, for the names of files that are put aside.
    ///
    /// # Errors
    /// It cannot be made, or something in it is a symlink.
    pub fn open(state: &Path, cap: u64, micros: u64) -> io::Result<Spool> {
        DirBuilder::new().recursive(true).mode(0o700).create(state).map_err(|e| at(state, &e))?;
        for name in ["spool", "import"] {
            folder(&state.join(name))?;
        }
        let cap = if cap == 0 { u64::MAX } else { cap };
        Ok(Spool { state: state.to_owned(), cap, micros, lanes: HashMap::new(), added: Added::default() })
    }

    /// Add what is new of a session; it is stored by the next [`Spool::flush`] at the latest.
    ///
    /// # Errors
    /// The spool is full, or cannot be written: nothing of the session is in the ledger then.
    pub fn add(&mut self, session: &Session) -> io::Result<()> {
        let Spool { state, cap, micros, lanes, added } = self;
        let lane = match lanes.entry(session.runtime.clone()) {
            std::collections::hash_map::Entry::Occupied(lane) => lane.into_mut(),
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(Lane::open(state, &session.runtime)?)
            }
        };
        let (mut lines, mut keys, mut start) = (Vec::new(), Vec::new(), 0);
        let mut counts = Added { sessions: 1, ..Added::default() };
        let mut here = HashSet::new();
        for (key, once, length) in &session.events {
            let line = session.lines.get(start..start + length).unwrap_or_default();
            start += length;
            let mut old = |key: &String| lane.known.contains(key) || !here.insert(key.clone());
            if old(key) {
                counts.known += 1;
                continue;
            }
            if once.as_ref().is_some_and(&mut old) {
                counts.repeated += 1;
                continue;
            }
            lines.extend_from_slice(line);
            counts.events += 1;
            keys.push(key.clone());
            keys.extend(once.clone());
        }
        if !lines.is_empty() {
            let more = lines.len() as u64;
            if lane.held.saturating_add(more) > *cap {
                let full = format!("session {}: the spool is full ({cap} bytes)", session.id);
                return Err(io::Error::new(ErrorKind::StorageFull, full));
            }
            counts.grown = 1;
            let ended = session.ended || lane.known.contains(&ended_key(session));
            lane.put(&file_name(&session.id), lines, keys, ended, *micros)?;
        }
        added.sessions += counts.sessions;
        added.grown += counts.grown;
        added.events += counts.events;
        added.known += counts.known;
        added.repeated += counts.repeated;
        if lane.step.bytes >= STEP || lane.step.files.len() >= SESSIONS { lane.store() } else { Ok(()) }
    }

    /// Store all that was added.
    ///
    /// # Errors
    /// Those of writing. The next run stores what this one could not, or none of it.
    pub fn flush(&mut self) -> io::Result<()> {
        self.lanes.values_mut().try_for_each(Lane::store)
    }
}

fn ended_key(session: &Session) -> String {
    hash(["once", &session.runtime, &session.id, Type::SessionEnd.name()].join("\0").as_bytes())
}

impl Lane {
    fn open(state: &Path, runtime: &str) -> io::Result<Lane> {
        let (spool, import) = (state.join("spool").join(runtime), state.join("import"));
        folder(&spool)?;
        let path = import.join(format!("{runtime}.ledger"));
        let ledger = private().append(true).read(true).create(true).open(&path).map_err(|e| at(&path, &e))?;
        ledger.lock().map_err(|e| at(&path, &e))?;
        let pending = import.join(format!("{runtime}.pending"));
        let mut lane = Lane { spool, pending, ledger, known: HashSet::new(), held: 0, step: Step::default() };
        lane.load().map_err(|e| at(&path, &e))?;
        lane.recover()?;
        for entry in fs::read_dir(&lane.spool)? {
            let entry = entry?;
            if !entry.file_name().as_encoded_bytes().starts_with(b".") {
                lane.held += entry.metadata()?.len();
            }
        }
        Ok(lane)
    }

    /// Read the ledger, and mend an end that a crash tore.
    fn load(&mut self) -> io::Result<()> {
        let mut text = Vec::new();
        self.ledger.seek(SeekFrom::Start(0))?;
        self.ledger.read_to_end(&mut text)?;
        let whole = memchr::memrchr(b'\n', &text).map_or(0, |end| end + 1);
        let tail = text.get(whole..).unwrap_or_default();
        if tail.len() == KEY {
            self.ledger.write_all(b"\n")?;
        } else if !tail.is_empty() {
            self.ledger.set_len(whole as u64)?;
            text.truncate(whole);
        }
        let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        self.known = lines
            .filter(|line| !line.is_empty())
            .map(|key| String::from_utf8_lossy(key).into_owned())
            .collect();
        Ok(())
    }

    /// Take what is to be added, so that what comes later in this run knows of it.
    fn put(
        &mut self,
        id: &str,
        lines: Vec<u8>,
        keys: Vec<String>,
        done: bool,
        micros: u64,
    ) -> io::Result<()> {
        let name = format!("{id}.ndjson");
        self.held += lines.len() as u64;
        self.step.bytes += lines.len();
        self.known.extend(keys.iter().cloned());
        self.step.keys.extend(keys);
        if let Some(part) = self.step.files.iter_mut().find(|part| part.name == name) {
            part.lines.extend_from_slice(&lines);
            part.done |= done;
            return Ok(());
        }
        let path = self.spool.join(&name);
        let mut from = match fs::symlink_metadata(&path) {
            Ok(file) if file.is_file() => file.len(),
            Ok(_) => return Err(at(&path, &"not a regular file")),
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(error) => return Err(at(&path, &error)),
        };
        if from >= ROTATE {
            let free = (micros..).map(|micros| self.spool.join(format!("{name}.{micros}")));
            let aside = free.into_iter().find(|aside| fs::symlink_metadata(aside).is_err());
            fs::rename(&path, aside.unwrap_or_default()).map_err(|e| at(&path, &e))?;
            from = 0;
        }
        self.step.files.push(Part { name, from, done, lines });
        Ok(())
    }

    fn store(&mut self) -> io::Result<()> {
        if self.step.files.is_empty() {
            return Ok(());
        }
        let step = std::mem::take(&mut self.step);
        let mut text = Vec::new();
        for part in &step.files {
            let Part { name, from, done, lines } = part;
            text.extend_from_slice(format!("{from} {} {} {name}\n", u8::from(*done), lines.len()).as_bytes());
            text.extend_from_slice(lines);
        }
        text.extend_from_slice(format!("keys {}\n", step.keys.len()).as_bytes());
        step.keys.iter().for_each(|key| {
            text.extend_from_slice(key.as_bytes());
            text.push(b'\n');
        });
        let draft = self.pending.with_extension("draft");
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(at(&draft, &error)),
            _ => {}
        }
        let written = private().write(true).create_new(true).open(&draft).and_then(|mut file| {
            file.write_all(&text)?;
            file.sync_all()
        });
        if let Err(error) = written {
            // Failing is no harm: the next run writes over it.
            let _ = fs::remove_file(&draft);
            return Err(at(&draft, &error));
        }
        fs::rename(&draft, &self.pending).map_err(|e| at(&self.pending, &e))?;
        sync_parent(&self.pending)?;
        self.finish(&step)
    }

    /// What another run began.
    fn recover(&mut self) -> io::Result<()> {
        let mut text = Vec::new();
        match private().read(true).open(&self.pending) {
            Ok(mut file) => file.read_to_end(&mut text).map_err(|e| at(&self.pending, &e))?,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(at(&self.pending, &error)),
        };
        let step = Step::read(&text).ok_or_else(|| at(&self.pending, &"not what lake-spool writes"))?;
        self.finish(&step)?;
        self.load()
    }

    fn finish(&mut self, step: &Step) -> io::Result<()> {
        let mut stored = HashSet::new();
        let recorded = self.ledger_text()?;
        stored.extend(recorded.split(|byte| *byte == b'\n'));
        if !step.keys.iter().all(|key| stored.contains(key.as_bytes())) {
            for part in &step.files {
                part.append(&self.spool).map_err(|e| at(&self.spool.join(&part.name), &e))?;
            }
            File::open(&self.spool)?.sync_all()?;
            let missing = step.keys.iter().filter(|key| !stored.contains(key.as_bytes()));
            let keys: String = missing.flat_map(|key| [key, "\n"]).collect();
            let written = self.ledger.write_all(keys.as_bytes()).and_then(|()| self.ledger.sync_all());
            written.map_err(|e| at(&self.pending.with_extension("ledger"), &e))?;
        }
        for part in step.files.iter().filter(|part| part.done) {
            let path = self.spool.join(&part.name);
            if fs::symlink_metadata(&path).is_ok() {
                let done = path.with_extension("done");
                private().write(true).create(true).open(&done).map_err(|e| at(&done, &e))?;
            }
        }
        File::open(&self.spool)?.sync_all()?;
        fs::remove_file(&self.pending).map_err(|e| at(&self.pending, &e))?;
        sync_parent(&self.pending)
    }

    /// As much of the ledger as a step's keys can stand in: its end.
    fn ledger_text(&mut self) -> io::Result<Vec<u8>> {
        let length = self.ledger.metadata()?.len();
        let from = length.saturating_sub(((KEY + 1) * 4 * (STEP / 256)) as u64);
        self.ledger.seek(SeekFrom::Start(from))?;
        let mut text = Vec::new();
        self.ledger.read_to_end(&mut text)?;
        Ok(text)
    }
}

impl Step {
    fn read(mut text: &[u8]) -> Option<Step> {
        let mut step = Step::default();
        loop {
            let head = line(&mut text)?;
            if let Some(count) = head.strip_prefix("keys ") {
                for _ in 0..count.parse::<usize>().ok()? {
                    step.keys.push(line(&mut text)?.to_owned());
                }
                return text.is_empty().then_some(step);
            }
            let mut words = head.splitn(4, ' ');
            let from = words.next()?.parse().ok()?;
            let done = words.next()? == "1";
            let length = words.next()?.parse().ok()?;
            let (lines, rest) = text.split_at_checked(length)?;
            step.files.push(Part { name: words.next()?.to_owned(), from, done, lines: lines.to_vec() });
            text = rest;
        }
    }
}

fn line<'a>(text: &mut &'a [u8]) -> Option<&'a str> {
    let (line, rest) = text.split_at_checked(memchr::memchr(b'\n', text)?)?;
    *text = rest.get(1..)?;
    std::str::from_utf8(line).ok()
}

impl Part {
    /// Append what does not stand behind `from` yet. Others may append too: lines are looked for, not lengths.
    fn append(&self, spool: &Path) -> io::Result<()> {
        let mut file = private().append(true).read(true).create(true).open(spool.join(&self.name))?;
        let length = file.metadata()?.len();
        let mut behind = Vec::new();
        if length > self.from {
            file.seek(SeekFrom::Start(self.from))?;
            file.read_to_end(&mut behind)?;
        }
        let whole = memchr::memrchr(b'\n', &behind).map_or(0, |end| end + 1);
        let tail = behind.get(whole..).unwrap_or_default();
        let there: HashSet<&[u8]> =
            behind.get(..whole).unwrap_or_default().split(|byte| *byte == b'\n').collect();
        let lines = || self.lines.split_inclusive(|byte| *byte == b'\n');
        let missing = lines().filter(|line| !there.contains(line.strip_suffix(b"\n").unwrap_or(line)));
        let mut out = Vec::new();
        if !tail.is_empty() && lines().any(|line| line.starts_with(tail)) {
            // A line of ours that a crash cut.
            file.set_len(length - tail.len() as u64)?;
        } else if !tail.is_empty() || behind.is_empty() && !ends_line(&file, length)? {
            out.push(b'\n');
        }
        missing.for_each(|line| out.extend_from_slice(line));
        file.write_all(&out)?;
        file.sync_data()
    }
}

fn ends_line(file: &File, length: u64) -> io::Result<bool> {
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    Ok(last == [b'\n'])
}

/// A session's file name without its endings: the id, where it is a safe name; else every byte of it that
/// is not plain as `%XX`, and what is too long cut behind its hash.
pub fn file_name(id: &str) -> String {
    let safe = !id.is_empty()
        && id.len() <= 200
        && !id.starts_with('.')
        && !id.contains(|c: char| c.is_control() || matches!(c, '/' | '\\' | '%'));
    if safe {
        return id.to_owned();
    }
    let plain = |byte: u8, first: bool| {
        byte.is_ascii_alphanumeric() || b"_-".contains(&byte) || byte == b'.' && !first
    };
    let mut name = String::new();
    for (place, byte) in id.bytes().enumerate() {
        match plain(byte, place == 0) {
            true => name.push(char::from(byte)),
            false => name.push_str(&format!("%{byte:02X}")),
        }
    }
    if name.is_empty() || name.len() > 200 {
        name.truncate(120);
        name.push('%');
        name.push_str(hash(id.as_bytes()).trim_start_matches("sha256:"));
    }
    name
}

/// Read an event of the wire.
///
/// # Errors
/// What is wrong with it.
pub fn event(line: &[u8]) -> Result<Event<'_>, String> {
    let raw = Raw::parse(line).map_err(|bad| format!("not an event: {bad}"))?;
    Event::read(raw).map_err(str::to_owned)
}

/// Files of ours: 0600, and never what a symlink points to.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC);
    options
}

fn folder(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => sync_parent(path),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            match fs::symlink_metadata(path)?.is_dir() {
                true => Ok(()),
                false => Err(at(path, &"not a directory")),
            }
        }
        Err(error) => Err(at(path, &error)),
    }
}

fn sync_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |dir| File::open(dir)?.sync_all())
}

fn at(path: &Path, reason: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {reason}", path.display()))
}
