//! Files put into a folder: whole or not at all, private, never through a symlink, never over another
//! conversation's file.
//!
//! A conversation keeps the file it has. Its file is found by what a title edit leaves alone, the date
//! and the suffix of the name, and by the id inside, so that a nightly run over a grown store makes no
//! copies. Two runs at once are safe: a new name is taken only where there is none, and a file that is
//! renewed is renamed over in one step. Only the order of two runs renewing one file is left to chance.
//!
//! # How a file gets its name
//!
//! Where Linux lets us, a file is written without a name (`O_TMPFILE`) and linked when it is complete, so
//! that an interrupt, a crash or `kill -9` leaves nothing behind. It costs what a temporary name and a
//! rename cost (8,602 files of 40 KB on ext4: 1.4 s either way). To go over an older file it needs a name,
//! `.curt-XXXXXX.tmp`, from link to rename; elsewhere (macOS, NFS, no `/proc`) it has that name all the
//! while. It is locked as long, so that the next run can tell what a killed one left, and sweeps it up.
//!
//! Nothing is synced file by file: that takes ten times as long, and a minute or more for a whole archive.
//! [`Folder::finish`] syncs once. A power failure before that may leave files empty or missing, on file
//! systems that do not flush before a rename (XFS) also those that were being renewed.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::iter;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::operands::Named;
use rustix::fs::{Access, OFlags};
use tempfile::TempPath;

/// A draft of up to this many bytes stays in memory: nearly every conversation, and a file that turns out
/// to be unchanged then costs no write at all.
const HELD: usize = 1 << 20;

/// Bytes compared at a time.
const BLOCK: usize = 64 << 10;

/// Whose conversation a file is.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    /// The conversation's id, decoded: WTF-8 bytes.
    pub id: Vec<u8>,
    /// `updatedAt` in milliseconds; `None` in a format that has none.
    pub updated: Option<f64>,
}

/// Says whose file this is, reading as little as it must, in blocks of its own choice. `None`: not a file
/// of ours, or a broken one; both are never touched. An error is one of reading.
pub type Identify = fn(&mut dyn Read) -> io::Result<Option<Identity>>;

/// The names a conversation may have: as it is for `None`, with `-2`, `-3`… before the extension for
/// `Some(2)`, `Some(3)`… Each is one safe file name of at most 255 bytes, `<date> <slug> <suffix>.<ext>`
/// with no space in date and slug, and the suffix is the same in all of them.
pub type Names<'a> = &'a dyn Fn(Option<u32>) -> String;

/// Where a conversation is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The folder as it was given, joined with the file's name.
    pub path: PathBuf,
    /// What was done.
    pub outcome: Outcome,
}

/// What was done about a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It had no file and has one now.
    Created,
    /// Its file has new contents.
    Updated,
    /// Its file holds these bytes already and was not touched.
    Unchanged,
    /// Its file was updated later than what we bring, so it stays.
    Older,
}

/// A directory that receives files.
#[derive(Debug)]
pub struct Folder {
    /// As the user wrote it, for messages.
    shown: PathBuf,
    /// With its symlinks resolved once, so that one which changes during the run cannot part what was
    /// looked at from what is written.
    real: Arc<Path>,
    identify: Identify,
    /// Every name in the folder, ours of this run too, and where the search for a free number after it
    /// stopped: names are only ever added, so none before it is free.
    taken: HashMap<Arc<str>, u32>,
    /// By [`keys`].
    kin: HashMap<String, Kin>,
    written: Vec<Arc<str>>,
    /// Whether to use what only Linux has: nameless files and `syncfs`. Tests run both ways.
    linux: bool,
}

/// The files that may hold one conversation. Each is read once, whoever is looked for: a thousand
/// conversations of one date and suffix do not read a million files.
#[derive(Debug, Default)]
struct Kin {
    /// Sorted, so that the same folder always gives the same answer.
    unread: BTreeSet<Arc<str>>,
    /// By conversation id.
    read: HashMap<Vec<u8>, Arc<str>>,
}

/// Whose a file on disk turned out to be.
enum Seen {
    /// Ours, these very bytes.
    Same,
    /// Ours, with other bytes and this `updatedAt`.
    Ours(Option<f64>),
    /// Another conversation's.
    Theirs(Vec<u8>),
    /// No conversation's: foreign, broken, no regular file.
    Nobodys,
}

impl Folder {
    /// Opens `dir`, which may be a symlink, creating it and its parents with mode 0700 where they are
    /// missing. Lists its names, which costs the same for files of any size, and opens none of them but
    /// what a killed run left behind, to remove it.
    ///
    /// # Errors
    /// `dir` is no directory, or cannot be made or read.
    pub fn open(dir: &Path, identify: Identify) -> io::Result<Folder> {
        Folder::list(dir, identify).map_err(|e| at(dir, &e))
    }

    fn list(dir: &Path, identify: Identify) -> io::Result<Folder> {
        let entries = match fs::read_dir(dir) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
                fs::read_dir(dir)?
            }
            entries => entries?,
        };
        let mut folder = Folder {
            shown: dir.to_owned(),
            real: fs::canonicalize(dir)?.into(),
            identify,
            taken: HashMap::new(),
            kin: HashMap::new(),
            written: Vec::new(),
            linux: cfg!(target_os = "linux"),
        };
        for entry in entries {
            // Our own names are text, so one that is not can stand in nobody's way.
            match entry?.file_name().into_string() {
                // Failing is no harm: it can be swept up next time.
                Ok(name) if is_temporary(&name) => drop(sweep(&folder.real.join(name))),
                Ok(name) => folder.add(name.into()),
                Err(_) => {}
            }
        }
        Ok(folder)
    }

    /// An empty draft, to be written and then settled here.
    pub fn draft(&self) -> Draft {
        Draft {
            dir: Arc::clone(&self.real),
            shown: self.shown.clone(),
            held: Vec::new(),
            spilled: None,
            linux: self.linux,
        }
    }

    /// Puts a finished draft in its place: over the file that holds this conversation already, else under
    /// the first of its names that is free. A later file than ours stays unless `force`.
    ///
    /// # Errors
    /// Reading a file that may be this conversation's, or writing. The file there was is then intact and
    /// nothing else is left. Messages name the folder, the date and the suffix: a slug is a title.
    pub fn settle(&mut self, draft: Draft, names: Names, who: &Identity, force: bool) -> io::Result<Placed> {
        let plain = names(None);
        let key = keys(&plain).next().unwrap_or_default();
        let wanted = Wanted { names, plain: &plain, key: &key, who };
        let (name, outcome) = self.put(draft, &wanted, force).map_err(|e| at(&self.shown.join(&key), &e))?;
        if matches!(outcome, Outcome::Created | Outcome::Updated) {
            self.written.push(Arc::clone(&name));
        }
        Ok(Placed { path: self.shown.join(&*name), outcome })
    }

    fn put(&mut self, mut draft: Draft, wanted: &Wanted, force: bool) -> io::Result<(Arc<str>, Outcome)> {
        loop {
            match self.find(&mut draft, wanted)? {
                Some((name, Seen::Same)) => return Ok((name, Outcome::Unchanged)),
                Some((name, Seen::Ours(theirs))) if later(theirs, wanted.who.updated) && !force => {
                    return Ok((name, Outcome::Older));
                }
                Some((name, Seen::Ours(_))) => {
                    draft.replace(&self.real.join(&*name))?;
                    return Ok((name, Outcome::Updated));
                }
                _ => {}
            }
            let name = self.free(wanted)?;
            if draft.create(&self.real.join(&*name))? {
                self.taken.insert(Arc::clone(&name), 2);
                let kin = self.kin.entry(wanted.key.to_owned()).or_default();
                kin.read.insert(wanted.who.id.clone(), Arc::clone(&name));
                return Ok((name, Outcome::Created));
            }
            // Somebody took the name since we listed the folder: see who it is.
            self.add(name);
        }
    }

    /// Whether this error would meet every file: a full disk, a folder that may not be written.
    pub fn is_beyond(&self, error: &io::Error) -> bool {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::ReadOnlyFilesystem => true,
            ErrorKind::PermissionDenied => {
                rustix::fs::access(&*self.real, Access::WRITE_OK | Access::EXEC_OK).is_err()
            }
            _ => false,
        }
    }

    /// Makes what was written durable: one sync of the file system, where there is such a thing, else one of
    /// each file.
    ///
    /// # Errors
    /// Something written could not reach the disk.
    pub fn finish(self) -> io::Result<()> {
        self.sync().map_err(|e| at(&self.shown, &e))
    }

    fn sync(&self) -> io::Result<()> {
        if self.written.is_empty() {
            return Ok(());
        }
        let dir = File::open(&self.real)?;
        if self.linux {
            #[cfg(target_os = "linux")]
            return Ok(rustix::fs::syncfs(&dir)?);
        }
        for name in &self.written {
            File::open(self.real.join(&**name))?.sync_all()?;
        }
        dir.sync_all()
    }

    fn add(&mut self, name: Arc<str>) {
        for key in keys(&name) {
            self.kin.entry(key).or_default().unread.insert(Arc::clone(&name));
        }
        self.taken.insert(name, 2);
    }

    /// The file that holds this conversation: the one we know of, its plain name, then the others.
    fn find(&mut self, draft: &mut Draft, wanted: &Wanted) -> io::Result<Option<(Arc<str>, Seen)>> {
        let Some(Kin { unread, read }) = self.kin.get_mut(wanted.key) else { return Ok(None) };
        let id = &wanted.who.id;
        while let Some(name) =
            read.remove(id).or_else(|| unread.take(wanted.plain)).or_else(|| unread.pop_first())
        {
            match look(&self.real.join(&*name), self.identify, draft, id) {
                Ok(Seen::Nobodys) => {}
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Ok(Seen::Theirs(id)) => drop(read.entry(id).or_insert(name)),
                Ok(seen) => {
                    read.insert(id.clone(), Arc::clone(&name));
                    return Ok(Some((name, seen)));
                }
                Err(e) => {
                    // Still a candidate when the conversation comes again: no copy for a passing error.
                    unread.insert(name);
                    return Err(e);
                }
            }
        }
        Ok(None)
    }

    /// The first of the conversation's names that is not taken.
    fn free(&mut self, wanted: &Wanted) -> io::Result<Arc<str>> {
        let name = match self.taken.get(wanted.plain) {
            None => wanted.plain.to_owned(),
            Some(&from) => {
                let mut numbered = (from..=u32::MAX).map(|number| (number, (wanted.names)(Some(number))));
                let (number, name) = numbered
                    .find(|(_, name)| !self.taken.contains_key(name.as_str()))
                    .ok_or_else(|| io::Error::new(ErrorKind::AlreadyExists, "every name is taken"))?;
                self.taken.insert(wanted.plain.into(), number);
                name
            }
        };
        // The caller makes names safe. Should it ever fail to, nothing is written outside the folder.
        match Path::new(&name).components().next() {
            Some(Component::Normal(only)) if only == name.as_str() => Ok(name.into()),
            _ => Err(io::Error::new(ErrorKind::InvalidInput, "no safe file name")),
        }
    }
}

/// What to look for, and how to call it.
struct Wanted<'a> {
    names: Names<'a>,
    /// `names(None)`.
    plain: &'a str,
    /// Its first [`keys`] key.
    key: &'a str,
    who: &'a Identity,
}

/// Looks whose a file is. What is no regular file is nobody's.
fn look(path: &Path, identify: Identify, draft: &mut Draft, id: &[u8]) -> io::Result<Seen> {
    // Asked before it is opened, as opening a device or a fifo can do things; and once more after, as it
    // may be another one by then.
    if !fs::symlink_metadata(path)?.is_file() {
        return Ok(Seen::Nobodys);
    }
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Ok(Seen::Nobodys);
    }
    // The usual case of a nightly run needs no parser.
    if meta.len() == draft.len()? && draft.equals(&mut file)? {
        return Ok(Seen::Same);
    }
    file.rewind()?;
    Ok(match identify(&mut file)? {
        Some(found) if found.id == id => Seen::Ours(found.updated),
        Some(found) => Seen::Theirs(found.id),
        None => Seen::Nobodys,
    })
}

fn later(theirs: Option<f64>, ours: Option<f64>) -> bool {
    matches!((theirs, ours), (Some(theirs), Some(ours)) if theirs > ours)
}

/// What finds a conversation's file under whatever title: its name with `…` for the slug. A name that ends
/// in a number has two keys, as `-2` may be part of the suffix or come after it; the one as it stands is
/// first. A name of another form is its own key.
fn keys(name: &str) -> impl Iterator<Item = String> + use<> {
    let words = name
        .split_once(' ')
        .and_then(|(date, rest)| Some((date, rest.split_once(' ')?.1)))
        .and_then(|(date, rest)| Some((date, rest.rsplit_once('.')?)));
    let (whole, bare) = match words {
        Some((date, (stem, ext))) => {
            let bare = stem.rsplit_once('-').filter(|(_, number)| is_number(number));
            (format!("{date} … {stem}.{ext}"), bare.map(|(stem, _)| format!("{date} … {stem}.{ext}")))
        }
        None => (name.to_owned(), None),
    };
    iter::once(whole).chain(bare)
}

fn is_number(text: &str) -> bool {
    text != "1" && !text.starts_with('0') && !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// A file in the making: up to 1 MiB in memory, more in a temporary file of its folder. Dropped unsettled,
/// it leaves nothing.
#[derive(Debug)]
pub struct Draft {
    dir: Arc<Path>,
    shown: PathBuf,
    /// What `spilled` does not hold yet.
    held: Vec<u8>,
    spilled: Option<Temp>,
    linux: bool,
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = bytes.get(..HELD).unwrap_or(bytes);
        if self.held.len().saturating_add(bytes.len()) > HELD {
            self.spill().map(drop).map_err(|e| at(&self.shown, &e))?;
        }
        self.held.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Nothing to do: nobody sees a draft before it is settled.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Draft {
    /// Moves what is in memory to the temporary file, and gives it.
    fn spill(&mut self) -> io::Result<&mut File> {
        let temp = match self.spilled.take() {
            Some(temp) => temp,
            None => Temp::new_in(&self.dir, self.linux)?,
        };
        let file = self.spilled.insert(temp).file();
        file.write_all(&self.held)?;
        self.held.clear();
        Ok(file)
    }

    fn len(&mut self) -> io::Result<u64> {
        let spilled = match &mut self.spilled {
            Some(temp) => temp.file().metadata()?.len(),
            None => 0,
        };
        Ok(spilled.saturating_add(self.held.len().try_into().unwrap_or(u64::MAX)))
    }

    fn equals(&mut self, other: &mut File) -> io::Result<bool> {
        if self.spilled.is_none() {
            return same(&mut self.held.as_slice(), other);
        }
        let file = self.spill()?;
        file.rewind()?;
        same(file, other)
    }

    /// Takes a name that nothing has. False: something has it.
    fn create(&mut self, to: &Path) -> io::Result<bool> {
        self.spill()?;
        if let Some(temp) = self.spilled.take() {
            self.spilled = temp.create(&self.dir, to)?;
        }
        Ok(self.spilled.is_none())
    }

    /// Takes the place of a file.
    fn replace(&mut self, to: &Path) -> io::Result<()> {
        self.spill()?;
        self.spilled.take().map_or(Ok(()), |temp| temp.replace(&self.dir, to))
    }
}

fn same(a: &mut dyn Read, b: &mut dyn Read) -> io::Result<bool> {
    let (mut x, mut y) = (Vec::with_capacity(BLOCK), Vec::with_capacity(BLOCK));
    loop {
        x.clear();
        y.clear();
        a.take(BLOCK as u64).read_to_end(&mut x)?;
        b.take(BLOCK as u64).read_to_end(&mut y)?;
        if x != y || x.is_empty() {
            return Ok(x == y);
        }
    }
}

/// A file that has not got its name yet.
#[derive(Debug)]
enum Temp {
    /// The kernel drops it with us, whatever we die of.
    Nameless(File),
    /// Removed when dropped.
    Named(File, TempPath),
}

impl Temp {
    fn new_in(dir: &Path, linux: bool) -> io::Result<Temp> {
        // Whatever keeps us from a nameless file, a named one works or says what is wrong.
        if let Some(file) = Some(dir).filter(|_| linux).and_then(nameless) {
            return Ok(Temp::Nameless(file));
        }
        let (file, path) = named(dir)?;
        Ok(Temp::Named(file, path))
    }

    fn file(&mut self) -> &mut File {
        match self {
            Temp::Nameless(file) | Temp::Named(file, _) => file,
        }
    }

    /// Gives it the name `to`. When that is taken it comes back.
    fn create(self, dir: &Path, to: &Path) -> io::Result<Option<Temp>> {
        let (file, path) = match self {
            Temp::Nameless(file) => match link(&file, to) {
                Ok(()) => return Ok(None),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => return Ok(Some(Temp::Nameless(file))),
                Err(_) => copy(file, dir)?,
            },
            Temp::Named(file, path) => (file, path),
        };
        match path.persist_noclobber(to) {
            Ok(()) => Ok(None),
            Err(e) if e.error.kind() == ErrorKind::AlreadyExists => Ok(Some(Temp::Named(file, e.path))),
            Err(e) => Err(e.error),
        }
    }

    /// Puts it over whatever `to` is, in one step.
    fn replace(self, dir: &Path, to: &Path) -> io::Result<()> {
        let (_locked, path) = match self {
            Temp::Nameless(file) => {
                lock(&file);
                match hidden().make_in(dir, |path| link(&file, path)) {
                    Ok(linked) => (file, linked.into_temp_path()),
                    Err(_) => copy(file, dir)?,
                }
            }
            Temp::Named(file, path) => (file, path),
        };
        path.persist(to).map_err(|e| e.error)
    }
}

/// A file that turned out to be unlinkable (no `/proc`, a file system or a policy without hard links),
/// copied to one that has a name.
fn copy(mut file: File, dir: &Path) -> io::Result<(File, TempPath)> {
    let (mut copy, path) = named(dir)?;
    file.rewind()?;
    io::copy(&mut file, &mut copy)?;
    Ok((copy, path))
}

/// A file with a temporary name, which no message will ever hold.
fn named(dir: &Path) -> io::Result<(File, TempPath)> {
    let create =
        |path: &Path| OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path);
    let (file, path) = hidden().make_in(dir, create)?.into_parts();
    lock(&file);
    Ok((file, path))
}

/// Says that this temporary file is in use. Where files cannot be locked, none is swept up either.
fn lock(file: &File) {
    let _ = file.lock();
}

/// Removes a temporary file that nobody holds. One that is empty may have been made this moment and get
/// its lock the next; it stays.
fn sweep(path: &Path) -> io::Result<()> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    // NFS locks only what is open for writing.
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    if meta.is_file() && meta.len() > 0 && file.try_lock().is_ok() {
        fs::remove_file(path)?;
    }
    Ok(())
}

const PREFIX: &str = ".curt-";
const SUFFIX: &str = ".tmp";
const RANDOM: usize = 6;

/// Makes temporary names: hidden, and no `*.curt`.
fn hidden() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX).rand_bytes(RANDOM);
    builder
}

fn is_temporary(name: &str) -> bool {
    let random = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(SUFFIX));
    random.is_some_and(|random| random.len() == RANDOM && random.bytes().all(|b| b.is_ascii_alphanumeric()))
}

#[cfg(target_os = "linux")]
fn nameless(dir: &Path) -> Option<File> {
    use rustix::fs::Mode;
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    rustix::fs::open(dir, flags, Mode::RUSR | Mode::WUSR).ok().map(File::from)
}

#[cfg(target_os = "linux")]
fn link(file: &File, to: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD};
    use std::os::fd::AsRawFd;
    // open(2), O_TMPFILE: the way that needs no capability.
    let from = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::linkat(CWD, from, CWD, to, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn nameless(_: &Path) -> Option<File> {
    None
}

#[cfg(not(target_os = "linux"))]
fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Puts a report into a file, private and whole, over whatever file it was before. To what is no regular
/// file the report is appended. A link is followed, never replaced: `/dev/stderr` is one, and leads to a
/// file when somebody sent the messages to one.
///
/// # Errors
/// Those of writing, with the path.
pub fn put(path: &Path, report: &[u8]) -> io::Result<()> {
    let whole = || match fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() => {
            OpenOptions::new().append(true).open(path).and_then(|mut there| there.write_all(report))
        }
        _ => {
            let (mut file, temporary) = named(folder_of(path))?;
            file.write_all(report)?;
            temporary.persist(path).map_err(|failed| failed.error)
        }
    };
    whole().map_err(|error| at(path, &error))
}

/// One file in the making, at a path of the user's choice: whole or not at all, private, never through a
/// symlink. Dropped unfinished, it leaves nothing.
#[derive(Debug)]
pub struct Whole {
    path: PathBuf,
    draft: Draft,
}

impl Whole {
    /// Begin a file that will stand at `path`. What stands there must be a regular file that `ours` knows by
    /// its first bytes, so that a slip of the hand costs no file of another kind.
    ///
    /// # Errors
    /// Something else stands there, or it cannot be read; with the path.
    pub fn new(path: &Path, ours: fn(&[u8]) -> bool) -> io::Result<Whole> {
        replaceable(path, ours).map_err(|error| at(path, &error))?;
        let dir = folder_of(path);
        let draft = Draft {
            dir: fs::canonicalize(dir).map_err(|error| at(dir, &error))?.into(),
            shown: path.to_owned(),
            held: Vec::new(),
            spilled: None,
            linux: cfg!(target_os = "linux"),
        };
        Ok(Whole { path: path.to_owned(), draft })
    }

    /// Put it in its place, on the disk. A file that holds these bytes already is left alone.
    ///
    /// # Errors
    /// Those of writing, with the path; the file there was still stands.
    pub fn finish(self) -> io::Result<Outcome> {
        let Whole { path, mut draft } = self;
        let put = |draft: &mut Draft| {
            let old = match File::open(&path) {
                Ok(old) => Some(old),
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
            // On the disk before it takes the old one's name: a power failure leaves one of them.
            draft.spill()?.sync_all()?;
            let outcome = match old {
                Some(mut old) => {
                    if draft.equals(&mut old)? {
                        return Ok(Outcome::Unchanged);
                    }
                    draft.replace(&path)?;
                    Outcome::Updated
                }
                None if draft.create(&path)? => Outcome::Created,
                None => return Err(ErrorKind::AlreadyExists.into()),
            };
            File::open(folder_of(&path))?.sync_all()?;
            Ok(outcome)
        };
        put(&mut draft).map_err(|error| at(&path, &error))
    }
}

impl Write for Whole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.draft.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether a file may take the place of what stands there.
fn replaceable(path: &Path, ours: fn(&[u8]) -> bool) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() => Err(io::Error::other("exists and is no regular file")),
        Ok(_) => {
            let mut head = Vec::new();
            File::open(path)?.take(16).read_to_end(&mut head)?;
            if ours(&head) { Ok(()) } else { Err(io::Error::other("exists and is another kind of file")) }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// The directory that a path stands in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// An error that says where.
fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", Named(path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::sync::Barrier;
    use tempfile::TempDir;

    /// `id updatedAt\nbody`; files that do not begin so are foreign.
    fn identify(file: &mut dyn Read) -> io::Result<Option<Identity>> {
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let head = text.split(|b| *b == b'\n').next().and_then(|line| str::from_utf8(line).ok());
        Ok(head.and_then(|line| line.rsplit_once(' ')).and_then(|(id, updated)| {
            let updated = if updated == "-" { None } else { Some(updated.parse().ok()?) };
            Some(Identity { id: id.into(), updated })
        }))
    }

    /// One that must not be asked.
    fn nobody(_: &mut dyn Read) -> io::Result<Option<Identity>> {
        panic!("a file was opened")
    }

    fn body(id: &str, updated: &str, text: &str) -> String {
        format!("{id} {updated}\n{text}")
    }

    fn settle(folder: &mut Folder, title: &str, text: &str, force: bool) -> io::Result<Placed> {
        let who = identify(&mut text.as_bytes())?.unwrap();
        let id = String::from_utf8(who.id.clone()).unwrap();
        let suffix = id.rsplit_once('_').map_or(id.as_str(), |(_, last)| last).to_owned();
        let names = |n: Option<u32>| {
            let number = n.map_or(String::new(), |n| format!("-{n}"));
            format!("2025-10-09 {title} {suffix}{number}.curt")
        };
        let mut draft = folder.draft();
        draft.write_all(text.as_bytes())?;
        folder.settle(draft, &names, &who, force)
    }

    /// What a run that brings one conversation does, told as outcome and file name.
    fn run(dir: &Path, title: &str, text: &str) -> (Outcome, String) {
        let mut folder = Folder::open(dir, identify).unwrap();
        let placed = settle(&mut folder, title, text, false).unwrap();
        folder.finish().unwrap();
        told(placed)
    }

    fn told(placed: Placed) -> (Outcome, String) {
        (placed.outcome, placed.path.file_name().unwrap().to_str().unwrap().to_owned())
    }

    fn listing(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn read(dir: &Path, name: &str) -> String {
        fs::read_to_string(dir.join(name)).unwrap()
    }

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn temp() -> TempDir {
        tempfile::Builder::new().prefix("place-").tempdir().unwrap()
    }

    #[test]
    fn a_new_conversation_gets_a_private_file() {
        let dir = temp();
        let placed = run(dir.path(), "title", "x_a 1\nbody");
        assert_eq!(placed, (Outcome::Created, "2025-10-09 title a.curt".into()));
        assert_eq!(read(dir.path(), "2025-10-09 title a.curt"), "x_a 1\nbody");
        assert_eq!(mode(&dir.path().join("2025-10-09 title a.curt")), 0o600);
    }

    #[test]
    fn the_folder_and_its_parents_are_made_private() {
        let dir = temp();
        let deep = dir.path().join("a/b");
        run(&deep, "title", "x_a 1\n");
        assert_eq!((mode(&dir.path().join("a")), mode(&deep)), (0o700, 0o700));
    }

    #[test]
    fn a_folder_that_is_there_keeps_its_mode() {
        let dir = temp();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        run(dir.path(), "title", "x_a 1\n");
        assert_eq!(mode(dir.path()), 0o755);
    }

    /// The umask is the process's, but no other test is bothered by a wide one.
    #[test]
    fn a_wide_umask_makes_nothing_public() {
        let dir = temp();
        let old = rustix::process::umask(rustix::fs::Mode::empty());
        for linux in [true, false] {
            let deep = dir.path().join(format!("{linux}"));
            let mut folder = Folder::open(&deep, identify).unwrap();
            folder.linux = linux;
            let created = settle(&mut folder, "title", "x_a 1\n", false).unwrap().path;
            assert_eq!((mode(&deep), mode(&created)), (0o700, 0o600), "{linux}");
            let updated = settle(&mut folder, "title", "x_a 2\n", false).unwrap();
            assert_eq!((updated.outcome, mode(&updated.path)), (Outcome::Updated, 0o600), "{linux}");
        }
        rustix::process::umask(old);
    }

    #[test]
    fn a_file_is_no_folder() {
        let dir = temp();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let e = Folder::open(&file, identify).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::NotADirectory);
        assert!(e.to_string().starts_with(&format!("{}: Not a directory", file.display())), "{e}");
    }

    #[test]
    fn the_folder_itself_may_be_a_symlink() {
        let dir = temp();
        fs::create_dir(dir.path().join("real")).unwrap();
        symlink("real", dir.path().join("link")).unwrap();
        let mut folder = Folder::open(&dir.path().join("link"), identify).unwrap();
        let placed = settle(&mut folder, "title", "x_a 1\n", false).unwrap();
        assert_eq!(placed.path, dir.path().join("link/2025-10-09 title a.curt"));
        assert_eq!(listing(&dir.path().join("real")), ["2025-10-09 title a.curt"]);
    }

    #[test]
    fn a_folder_symlink_that_turns_during_the_run_parts_nothing() {
        let dir = temp();
        for real in ["one", "two"] {
            fs::create_dir(dir.path().join(real)).unwrap();
        }
        let link = dir.path().join("link");
        symlink("one", &link).unwrap();
        let mut folder = Folder::open(&link, identify).unwrap();
        fs::remove_file(&link).unwrap();
        symlink("two", &link).unwrap();
        settle(&mut folder, "title", "x_a 1\n", false).unwrap();
        folder.finish().unwrap();
        assert_eq!(listing(&dir.path().join("one")), ["2025-10-09 title a.curt"]);
        assert!(listing(&dir.path().join("two")).is_empty());
    }

    #[test]
    fn the_same_bytes_leave_the_file_alone() {
        let dir = temp();
        run(dir.path(), "title", "x_a 1\nbody");
        let path = dir.path().join("2025-10-09 title a.curt");
        let before = fs::metadata(&path).unwrap();
        let placed = run(dir.path(), "title", "x_a 1\nbody");
        let after = fs::metadata(&path).unwrap();
        assert_eq!(placed.0, Outcome::Unchanged);
        assert_eq!((before.ino(), before.mtime_nsec(), before.ctime_nsec()), {
            (after.ino(), after.mtime_nsec(), after.ctime_nsec())
        });
    }

    #[test]
    fn force_leaves_the_same_bytes_alone_too() {
        let dir = temp();
        run(dir.path(), "title", "x_a 1\nbody");
        let before = fs::metadata(dir.path().join("2025-10-09 title a.curt")).unwrap().ino();
        let mut folder = Folder::open(dir.path(), identify).unwrap();
        assert_eq!(settle(&mut folder, "title", "x_a 1\nbody", true).unwrap().outcome, Outcome::Unchanged);
        assert_eq!(fs::metadata(dir.path().join("2025-10-09 title a.curt")).unwrap().ino(), before);
    }

    #[test]
    fn same_length_is_not_same_bytes() {
        let dir = temp();
        run(dir.path(), "title", "x_a 1\nbody");
        assert_eq!(run(dir.path(), "title", "x_a 1\nbodY").0, Outcome::Updated);
        assert_eq!(read(dir.path(), "2025-10-09 title a.curt"), "x_a 1\nbodY");
    }

    #[test]
    fn a_grown_conversation_renews_its_file() {
        let dir = temp();
        run(dir.path(), "title", "x_a 1\nbody");
        assert_eq!(run(dir.path(), "title", "x_a 2\n"), (Outcome::Updated, "2025-10-09 title a.curt".into()));
        assert_eq!(read(dir.path(), "2025-10-09 title a.curt"), "x_a 2\n");
        assert_eq!(listing(dir.path()).len(), 1);
    }

    #[test]
    fn a_later_file_stays_unless_forced() {
        let dir = temp();
        run(dir.path(), "title", "x_a 2\nnew");
        assert_eq!(run(dir.path(), "title", "x_a 1.5\nold").0, Outcome::Older);
        assert_eq!(read(dir.path(), "2025-10-09 title a.curt"), "x_a 2\nnew");
        let mut folder = Folder::open(dir.path(), identify).unwrap();
        assert_eq!(settle(&mut folder, "title", "x_a 1.5\nold", true).unwrap().outcome, Outcome::Updated);
        assert_eq!(read(dir.path(), "2025-10-09 title a.curt"), "x_a 1.5\nold");
        assert_eq!(listing(dir.path()).len(), 1);
    }

    #[test]
    fn without_two_times_the_newcomer_wins() {
        let dir = temp();
        for text in ["x_a 2\n", "x_a -\n", "x_a 1\n", "x_a NaN\n", "x_a 0\n"] {
            run(dir.path(), "title", text);
            assert_eq!(read(dir.path(), "2025-10-09 title a.curt"), text);
        }
    }

    #[test]
    fn a_changed_title_keeps_the_file_it_has() {
        let dir = temp();
        run(dir.path(), "first", "x_a 1\n");
        assert_eq!(
            run(dir.path(), "second", "x_a 2\n"),
            (Outcome::Updated, "2025-10-09 first a.curt".into())
        );
        assert_eq!(
            run(dir.path(), "third", "x_a 2\n"),
            (Outcome::Unchanged, "2025-10-09 first a.curt".into())
        );
        assert_eq!(listing(dir.path()), ["2025-10-09 first a.curt"]);
    }

    #[test]
    fn a_changed_title_finds_a_numbered_file() {
        let dir = temp();
        run(dir.path(), "title", "x_a 1\n");
        run(dir.path(), "title", "y_a 1\n");
        assert_eq!(run(dir.path(), "new", "y_a 2\n"), (Outcome::Updated, "2025-10-09 title a-2.curt".into()));
    }

    #[test]
    fn another_id_gets_the_next_number() {
        let dir = temp();
        assert_eq!(run(dir.path(), "title", "x_a 1\n").1, "2025-10-09 title a.curt");
        assert_eq!(run(dir.path(), "title", "y_a 1\n").1, "2025-10-09 title a-2.curt");
        assert_eq!(run(dir.path(), "title", "z_a 1\n").1, "2025-10-09 title a-3.curt");
        for (id, name) in [("z", "a-3"), ("y", "a-2"), ("x", "a")] {
            let again = run(dir.path(), "title", &format!("{id}_a 1\n"));
            assert_eq!(again, (Outcome::Unchanged, format!("2025-10-09 title {name}.curt")));
        }
        assert_eq!(listing(dir.path()).len(), 3);
    }

    #[test]
    fn a_free_number_in_between_is_used() {
        let dir = temp();
        for id in ["x", "y", "z"] {
            run(dir.path(), "title", &format!("{id}_a 1\n"));
        }
        fs::remove_file(dir.path().join("2025-10-09 title a-2.curt")).unwrap();
        assert_eq!(run(dir.path(), "title", "z_a 1\n").1, "2025-10-09 title a-3.curt");
        assert_eq!(run(dir.path(), "title", "w_a 1\n").1, "2025-10-09 title a-2.curt");
    }

    #[test]
    fn one_name_twice_in_one_run_makes_two_files_and_never_a_third() {
        let dir = temp();
        for outcome in [Outcome::Created, Outcome::Unchanged] {
            let mut folder = Folder::open(dir.path(), identify).unwrap();
            for (id, name) in [("x", "a"), ("y", "a-2")] {
                let placed = settle(&mut folder, "title", &format!("{id}_a 1\n"), false).unwrap();
                assert_eq!(told(placed), (outcome, format!("2025-10-09 title {name}.curt")));
            }
            folder.finish().unwrap();
        }
        assert_eq!(listing(dir.path()).len(), 2);
    }

    #[test]
    fn one_conversation_twice_in_one_run_makes_one_file() {
        let dir = temp();
        let mut folder = Folder::open(dir.path(), identify).unwrap();
        for (title, text, outcome) in [
            ("one", "x_a 2\n", Outcome::Created),
            ("one", "x_a 2\n", Outcome::Unchanged),
            ("two", "x_a 3\n", Outcome::Updated),
            ("two", "x_a 1\n", Outcome::Older),
        ] {
            assert_eq!(settle(&mut folder, title, text, false).unwrap().outcome, outcome);
        }
        assert_eq!(listing(dir.path()), ["2025-10-09 one a.curt"]);
        assert_eq!(read(dir.path(), "2025-10-09 one a.curt"), "x_a 3\n");
    }

    #[test]
    fn a_suffix_may_hold_spaces_dots_and_numbers() {
        let dir = temp();
        let ids = ["x_b c", "x_c", "x_b.c", "x_b-2", "x_b", "y_b", "x_b-2-2", "x_-", "x_-2"];
        let mut files = Vec::new();
        for id in ids {
            files.push(run(dir.path(), "title", &body(id, "1", "")).1);
        }
        assert_eq!(files[3], "2025-10-09 title b-2.curt");
        assert_eq!(files[5], "2025-10-09 title b-3.curt", "b-2 is somebody's name");
        for title in ["title", "other"] {
            for (id, file) in ids.iter().zip(&files) {
                assert_eq!(run(dir.path(), title, &body(id, "1", "")), (Outcome::Unchanged, file.clone()));
            }
        }
        assert_eq!(listing(dir.path()).len(), ids.len());
    }

    #[test]
    fn keys_leave_out_the_slug_and_one_number() {
        let keys = |name| keys(name).collect::<Vec<_>>();
        assert_eq!(keys("2025-10-09 a-b 001.curt"), ["2025-10-09 … 001.curt"]);
        assert_eq!(keys("2025-10-09 a-b 001-2.curt"), ["2025-10-09 … 001-2.curt", "2025-10-09 … 001.curt"]);
        assert_eq!(keys("d s b.c-2.curt"), ["d … b.c-2.curt", "d … b.c.curt"]);
        assert_eq!(keys("d s b c-2-13.curt"), ["d … b c-2-13.curt", "d … b c-2.curt"]);
        for plain in ["d s a-1.curt", "d s a-02.curt", "d s a-.curt", "d s a-b.curt", "d s a-+3.curt"] {
            assert_eq!(keys(plain).len(), 1, "{plain}");
        }
        for foreign in ["", " ", "a", "a b.curt", "a b c", ".curt-123456.tmp"] {
            assert_eq!(keys(foreign), [foreign]);
        }
    }

    #[test]
    fn a_foreign_or_broken_file_is_never_touched() {
        let dir = temp();
        for text in ["", "my notes", "x_a"] {
            fs::write(dir.path().join("2025-10-09 title a.curt"), text).unwrap();
            assert_eq!(run(dir.path(), "title", "x_a 1\n").1, "2025-10-09 title a-2.curt");
            assert_eq!(read(dir.path(), "2025-10-09 title a.curt"), text);
        }
        assert_eq!(listing(dir.path()).len(), 2);
    }

    /// Everything that may stand in a name without being a file, looked at by `run` when it was there
    /// before and by chance when it comes in between.
    fn stands_in_the_way(make: impl Fn(&Path), check: impl Fn(&Path)) {
        for before in [true, false] {
            let dir = temp();
            let obstacle = dir.path().join("2025-10-09 title a.curt");
            if before {
                make(&obstacle);
            }
            let mut folder = Folder::open(dir.path(), identify).unwrap();
            if !before {
                make(&obstacle);
            }
            let placed = settle(&mut folder, "title", "x_a 1\nbody", false).unwrap();
            assert_eq!(told(placed), (Outcome::Created, "2025-10-09 title a-2.curt".into()));
            let again = run(dir.path(), "title", "x_a 1\nbody");
            assert_eq!(again, (Outcome::Unchanged, "2025-10-09 title a-2.curt".into()));
            check(&obstacle);
        }
    }

    #[test]
    fn a_symlink_to_our_own_file_is_not_followed() {
        let elsewhere = temp();
        let target = elsewhere.path().join("target");
        fs::write(&target, "x_a 0\nold").unwrap();
        stands_in_the_way(
            |path| symlink(&target, path).unwrap(),
            |path| {
                assert!(fs::symlink_metadata(path).unwrap().is_symlink());
                assert_eq!(fs::read_to_string(&target).unwrap(), "x_a 0\nold");
            },
        );
    }

    #[test]
    fn a_symlink_to_the_same_bytes_is_not_our_file() {
        let elsewhere = temp();
        let target = elsewhere.path().join("target");
        fs::write(&target, "x_a 1\nbody").unwrap();
        stands_in_the_way(
            |path| symlink(&target, path).unwrap(),
            |path| assert!(fs::symlink_metadata(path).unwrap().is_symlink()),
        );
    }

    #[test]
    fn a_dangling_symlink_makes_no_file_elsewhere() {
        let elsewhere = temp();
        let target = elsewhere.path().join("target");
        stands_in_the_way(
            |path| symlink(&target, path).unwrap(),
            |path| {
                assert!(fs::symlink_metadata(path).unwrap().is_symlink());
                assert!(!target.exists());
            },
        );
    }

    #[test]
    fn a_fifo_does_not_hang_us() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        stands_in_the_way(
            |path| mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap(),
            |path| assert!(!fs::symlink_metadata(path).unwrap().is_file()),
        );
    }

    #[test]
    fn a_directory_is_stepped_around() {
        stands_in_the_way(|path| fs::create_dir(path).unwrap(), |path| assert!(path.is_dir()));
    }

    #[test]
    fn a_socket_is_stepped_around() {
        stands_in_the_way(
            |path| drop(std::os::unix::net::UnixListener::bind(path).unwrap()),
            |path| assert!(fs::symlink_metadata(path).is_ok()),
        );
    }

    #[test]
    fn a_file_that_goes_away_during_the_run_is_made_again() {
        let dir = temp();
        run(dir.path(), "title", "x_a 1\n");
        let mut folder = Folder::open(dir.path(), identify).unwrap();
        fs::remove_file(dir.path().join("2025-10-09 title a.curt")).unwrap();
        assert_eq!(settle(&mut folder, "title", "x_a 1\n", false).unwrap().outcome, Outcome::Created);
        assert_eq!(listing(dir.path()).len(), 1);
    }

    #[test]
    fn only_candidates_are_opened() {
        let dir = temp();
        let others = [
            "2025-10-08 title a.curt",
            "2025-10-09 title b.curt",
            "2025-10-09 title a.jsonl",
            "2025-10-09 title aa.curt",
            "2025-10-09 title a b.curt",
            "2025-10-09 title a-2-2.curt",
            "title a.curt",
            "a.curt",
        ];
        for name in others {
            fs::write(dir.path().join(name), "x_a 9\n").unwrap();
        }
        let mut folder = Folder::open(dir.path(), nobody).unwrap();
        let placed = settle(&mut folder, "title", "x_a 1\n", false).unwrap();
        assert_eq!(told(placed), (Outcome::Created, "2025-10-09 title a.curt".into()));
    }

    #[test]
    fn the_same_bytes_need_no_parser() {
        let dir = temp();
        run(dir.path(), "title", "x_a 1\n");
        let mut folder = Folder::open(dir.path(), nobody).unwrap();
        assert_eq!(settle(&mut folder, "title", "x_a 1\n", false).unwrap().outcome, Outcome::Unchanged);
    }

    #[test]
    fn each_file_is_read_once_whoever_is_looked_for() {
        thread_local!(static READS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) });
        let dir = temp();
        let ids: Vec<String> = (0..20).map(|n| format!("x{n:02}_a")).collect();
        for id in &ids {
            run(dir.path(), "title", &body(id, "1", ""));
        }
        let mut folder = Folder::open(dir.path(), |file| {
            READS.set(READS.get() + 1);
            identify(file)
        })
        .unwrap();
        for id in ids.iter().rev() {
            let placed = settle(&mut folder, "title", &body(id, "1", ""), false).unwrap();
            assert_eq!(placed.outcome, Outcome::Unchanged);
        }
        assert!((1..ids.len()).contains(&READS.get()), "{}", READS.get());

        READS.set(0);
        for id in ["y1_b", "y2_b", "y3_b", "y2_b"] {
            settle(&mut folder, "title", &body(id, "1", ""), false).unwrap();
        }
        assert_eq!(READS.get(), 0, "we know what we wrote ourselves");
    }

    #[test]
    fn a_passing_error_makes_no_copy_later_in_the_run() {
        let dir = temp();
        run(dir.path(), "title", "x_a 1\n");
        let mut folder = Folder::open(dir.path(), |_| Err(io::Error::other("bad disk"))).unwrap();
        settle(&mut folder, "title", "x_a 2\n", false).unwrap_err();
        folder.identify = identify;
        assert_eq!(settle(&mut folder, "title", "x_a 2\n", false).unwrap().outcome, Outcome::Updated);
        assert_eq!(listing(dir.path()).len(), 1);
    }

    #[test]
    fn names_that_are_no_text_are_left_alone() {
        use std::os::unix::ffi::OsStrExt;
        let dir = temp();
        let odd = dir.path().join(std::ffi::OsStr::from_bytes(b"2025-10-09 \xff a.curt"));
        if fs::write(&odd, "x_a 9\n").is_err() {
            return; // a file system (APFS) that has only text names
        }
        assert_eq!(run(dir.path(), "title", "x_a 1\n").0, Outcome::Created);
        assert_eq!(fs::read(&odd).unwrap(), b"x_a 9\n");
    }

    #[test]
    fn an_unsafe_name_is_refused() {
        let dir = temp();
        let inner = dir.path().join("inner");
        let mut folder = Folder::open(&inner, identify).unwrap();
        for name in ["../d s a.curt", "/d s a.curt", "d s a/b.curt", "", ".", "..", "d s a.curt/", "./d s a"]
        {
            let draft = folder.draft();
            let who = Identity { id: b"a".to_vec(), updated: None };
            let e = folder.settle(draft, &|_| name.to_owned(), &who, false).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::InvalidInput, "{name}");
        }
        assert_eq!(listing(dir.path()), ["inner"]);
        assert!(listing(&inner).is_empty());
    }

    #[test]
    fn a_long_draft_spills_and_settles_the_same() {
        let lengths = [HELD - 1, HELD, HELD + 1, 3 * HELD + 5];
        for (length, linux) in lengths.into_iter().flat_map(|length| [(length, true), (length, false)]) {
            let dir = temp();
            let text = body("x_a", "1", "")
                + &"0123456789abcdef\n".chars().cycle().take(length - 6).collect::<String>();
            let mut folder = Folder::open(dir.path(), identify).unwrap();
            folder.linux = linux;
            let mut draft = folder.draft();
            for piece in text.as_bytes().chunks(1 << 16) {
                draft.write_all(piece).unwrap();
            }
            assert_eq!(draft.spilled.is_some(), length > HELD);
            assert!(draft.held.capacity() <= 2 * HELD);
            drop(draft);
            assert!(listing(dir.path()).is_empty(), "an abandoned draft leaves nothing");
            for outcome in [Outcome::Created, Outcome::Unchanged] {
                assert_eq!(settle(&mut folder, "title", &text, false).unwrap().outcome, outcome);
            }
            let mut grown = text.clone() + "more";
            assert_eq!(settle(&mut folder, "title", &grown, false).unwrap().outcome, Outcome::Updated);
            assert_eq!(read(dir.path(), "2025-10-09 title a.curt"), grown);
            // A difference in the last byte, which lies in the part still in memory.
            grown.replace_range(grown.len() - 1.., "E");
            assert_eq!(settle(&mut folder, "title", &grown, false).unwrap().outcome, Outcome::Updated);
            assert_eq!(read(dir.path(), "2025-10-09 title a.curt"), grown);
            assert_eq!(listing(dir.path()).len(), 1);
        }
    }

    #[test]
    fn one_great_write_does_not_stay_in_memory() {
        let dir = temp();
        let folder = Folder::open(dir.path(), identify).unwrap();
        let mut draft = folder.draft();
        draft.write_all(&vec![b'x'; 10 * HELD]).unwrap();
        assert!(draft.held.capacity() <= 2 * HELD);
        assert_eq!(draft.len().unwrap(), 10 * HELD as u64);
    }

    #[test]
    fn a_long_draft_takes_the_next_number_whole() {
        let dir = temp();
        let long = "x".repeat(2 * HELD);
        for linux in [true, false] {
            let mut first = Folder::open(dir.path(), identify).unwrap();
            let mut second = Folder::open(dir.path(), identify).unwrap();
            second.linux = linux;
            settle(&mut first, "title", &body("x_a", "1", &long), false).unwrap();
            let text = body(&format!("{linux}_a"), "1", &long);
            let placed = settle(&mut second, "title", &text, false).unwrap();
            assert_eq!(placed.outcome, Outcome::Created);
            assert!(fs::read(&placed.path).unwrap() == text.as_bytes());
        }
        assert_eq!(listing(dir.path()).len(), 3);
    }

    #[test]
    fn a_name_taken_since_the_listing_is_looked_into() {
        for linux in [true, false] {
            let dir = temp();
            let mut first = Folder::open(dir.path(), identify).unwrap();
            let mut second = Folder::open(dir.path(), identify).unwrap();
            (first.linux, second.linux) = (linux, linux);
            settle(&mut first, "title", "x_a 2\n", false).unwrap();
            settle(&mut first, "title", "y_a 2\n", false).unwrap();
            for (text, outcome, name) in [
                ("x_a 2\n", Outcome::Unchanged, "a"),
                ("y_a 3\n", Outcome::Updated, "a-2"),
                ("y_a 1\n", Outcome::Older, "a-2"),
                ("z_a 1\n", Outcome::Created, "a-3"),
            ] {
                let placed = settle(&mut second, "title", text, false).unwrap();
                assert_eq!(told(placed), (outcome, format!("2025-10-09 title {name}.curt")));
            }
            assert_eq!(listing(dir.path()).len(), 3);
        }
    }

    #[test]
    fn two_runs_at_once_make_one_file_each_conversation() {
        for (linux, updated) in
            [(true, ["1", "1"]), (true, ["1", "2"]), (false, ["1", "1"]), (false, ["1", "2"])]
        {
            let dir = temp();
            let start = Barrier::new(2);
            std::thread::scope(|scope| {
                for updated in updated {
                    let mut folder = Folder::open(dir.path(), identify).unwrap();
                    folder.linux = linux;
                    let start = &start;
                    scope.spawn(move || {
                        start.wait();
                        // Five at a time have the same name.
                        for n in 0..50 {
                            let text = body(&format!("{}x_{}", n % 5, n / 5), updated, &"y".repeat(5000));
                            settle(&mut folder, "title", &text, false).unwrap();
                        }
                        folder.finish().unwrap();
                    });
                }
            });
            let names = listing(dir.path());
            assert_eq!(names.len(), 50, "{names:?}");
            let mut ids = BTreeSet::new();
            for name in names {
                let text = read(dir.path(), &name);
                assert!(text.ends_with(&"y".repeat(5000)), "{name}");
                ids.insert(identify(&mut text.as_bytes()).unwrap().unwrap().id);
            }
            assert_eq!(ids.len(), 50);
        }
    }

    #[test]
    fn two_runs_that_renew_one_file_leave_a_whole_one() {
        let dir = temp();
        run(dir.path(), "title", "x_a 0\n");
        std::thread::scope(|scope| {
            for letter in ["y", "z"] {
                let mut folder = Folder::open(dir.path(), identify).unwrap();
                scope.spawn(move || {
                    for n in 0..200 {
                        let text = body("x_a", &n.to_string(), &letter.repeat(20_000));
                        settle(&mut folder, "title", &text, true).unwrap();
                    }
                });
            }
            for _ in 0..500 {
                // A third run must not sweep up what the two hold.
                Folder::open(dir.path(), identify).unwrap();
                let text = read(dir.path(), "2025-10-09 title a.curt");
                let (_, body) = text.split_once('\n').unwrap();
                assert!([0, 20_000].contains(&body.len()) && !(body.contains('y') && body.contains('z')));
            }
        });
        assert_eq!(listing(dir.path()), ["2025-10-09 title a.curt"]);
    }

    #[test]
    fn a_hard_link_to_an_old_file_keeps_the_old_bytes() {
        let dir = temp();
        run(dir.path(), "title", "x_a 1\n");
        fs::hard_link(dir.path().join("2025-10-09 title a.curt"), dir.path().join("backup")).unwrap();
        run(dir.path(), "title", "x_a 2\n");
        assert_eq!(read(dir.path(), "backup"), "x_a 1\n");
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        for linux in [true, false] {
            let dir = temp();
            let out = dir.path().join("out");
            let mut folder = Folder::open(&out, identify).unwrap();
            folder.linux = linux;
            // A folder that is gone stands for every reason why a file cannot be made.
            fs::remove_dir(&out).unwrap();
            let e = settle(&mut folder, "secret", "x_a 1\n", false).unwrap_err();
            let place = out.join("2025-10-09 … a.curt");
            assert_eq!(
                e.to_string(),
                format!("{}: {}", place.display(), io::Error::from_raw_os_error(libc::ENOENT))
            );
            assert_eq!(e.kind(), ErrorKind::NotFound);
            let e = folder.draft().write_all(&vec![b'x'; 2 * HELD]).unwrap_err();
            assert!(e.to_string().starts_with(&format!("{}: No such file", out.display())), "{e}");
        }
    }

    #[test]
    fn a_failed_rename_leaves_nothing_behind() {
        for linux in [true, false] {
            let dir = temp();
            fs::create_dir(dir.path().join("d")).unwrap();
            let mut folder = Folder::open(dir.path(), identify).unwrap();
            folder.linux = linux;
            let mut draft = folder.draft();
            draft.write_all(b"x_a 1\n").unwrap();
            assert!(draft.replace(&dir.path().join("d")).is_err());
            assert_eq!(listing(dir.path()), ["d"]);
        }
    }

    #[test]
    fn a_file_that_cannot_be_linked_is_copied() {
        let dir = temp();
        let unlinked = || {
            let path = dir.path().join("unlinked");
            let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
            fs::remove_file(&path).unwrap();
            file.write_all(b"text").unwrap();
            Temp::Nameless(file)
        };
        let to = dir.path().join("to");
        assert!(unlinked().create(dir.path(), &to).unwrap().is_none());
        assert_eq!((read(dir.path(), "to").as_str(), mode(&to)), ("text", 0o600));
        assert!(unlinked().create(dir.path(), &to).unwrap().is_some(), "taken");
        fs::write(&to, "old").unwrap();
        unlinked().replace(dir.path(), &to).unwrap();
        assert_eq!(read(dir.path(), "to"), "text");
        assert_eq!(listing(dir.path()), ["to"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_draft_on_linux_has_no_name_to_leave_behind() {
        let dir = temp();
        if nameless(dir.path()).is_none() {
            return; // a file system without O_TMPFILE
        }
        let mut draft = Folder::open(dir.path(), identify).unwrap().draft();
        draft.write_all(&vec![b'x'; 2 * HELD]).unwrap();
        assert!(draft.spilled.is_some());
        assert!(listing(dir.path()).is_empty());
        fs::write(dir.path().join("taken"), "").unwrap();
        assert!(!draft.create(&dir.path().join("taken")).unwrap());
        assert!(matches!(draft.spilled, Some(Temp::Nameless(_))), "and does not get one for a taken name");
    }

    #[test]
    fn what_a_killed_run_left_is_swept_up() {
        let dir = temp();
        let elsewhere = temp();
        let target = elsewhere.path().join("target");
        fs::write(&target, "text").unwrap();
        fs::write(dir.path().join(".curt-Ab3dE6.tmp"), "text").unwrap();
        fs::write(dir.path().join(".curt-empty0.tmp"), "").unwrap();
        symlink(&target, dir.path().join(".curt-symlnk.tmp")).unwrap();
        let others =
            [".curt-.tmp", ".curt-1234567.tmp", ".curt-12-456.tmp", ".curt-123456", "curt-123456.tmp"];
        for name in others {
            fs::write(dir.path().join(name), "text").unwrap();
        }
        Folder::open(dir.path(), nobody).unwrap();
        let left = listing(dir.path());
        assert!(!left.contains(&".curt-Ab3dE6.tmp".to_owned()));
        assert_eq!(left.len(), others.len() + 2, "{left:?}");
        assert!(target.exists());
    }

    #[test]
    fn what_a_living_run_holds_is_not_swept_up() {
        let dir = temp();
        let mut folder = Folder::open(dir.path(), identify).unwrap();
        folder.linux = false;
        let text = "x_a 1\n".to_owned() + &"x".repeat(2 * HELD);
        let mut draft = folder.draft();
        draft.write_all(text.as_bytes()).unwrap();
        let held = listing(dir.path());
        assert!(matches!(&held[..], [name] if is_temporary(name)), "{held:?}");
        Folder::open(dir.path(), identify).unwrap();
        assert_eq!(listing(dir.path()), held);
        let who = Identity { id: b"x_a".to_vec(), updated: None };
        let placed = folder.settle(draft, &|_| "d s a.curt".to_owned(), &who, false).unwrap();
        assert!(fs::read(placed.path).unwrap() == text.as_bytes());
        assert_eq!(listing(dir.path()), ["d s a.curt"]);
    }

    #[test]
    fn finish_syncs_each_file_where_it_cannot_sync_all_at_once() {
        for linux in [true, false] {
            let dir = temp();
            let mut folder = Folder::open(dir.path(), identify).unwrap();
            folder.linux = linux;
            assert!(folder.sync().is_ok());
            settle(&mut folder, "title", "x_a 1\n", false).unwrap();
            settle(&mut folder, "title", "x_a 1\n", false).unwrap();
            assert_eq!(folder.written, ["2025-10-09 title a.curt".into()]);
            folder.sync().unwrap();
            // Only the loop over files misses one.
            fs::remove_file(dir.path().join("2025-10-09 title a.curt")).unwrap();
            assert_eq!(folder.sync().is_ok(), linux && cfg!(target_os = "linux"));
        }
    }

    #[test]
    fn finish_has_nothing_to_do_where_nothing_was_written() {
        let dir = temp();
        let out = dir.path().join("out");
        let folder = Folder::open(&out, identify).unwrap();
        fs::remove_dir(&out).unwrap();
        folder.finish().unwrap();
    }

    #[test]
    fn an_unreadable_file_is_an_error_and_no_second_copy() {
        let dir = temp();
        run(dir.path(), "secret", "x_a 1\n");
        let path = dir.path().join("2025-10-09 secret a.curt");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        if File::open(&path).is_ok() {
            return; // root reads everything
        }
        let mut folder = Folder::open(dir.path(), identify).unwrap();
        let e = settle(&mut folder, "secret", "x_a 2\n", false).unwrap_err();
        assert!(e.to_string().contains("2025-10-09 … a.curt: Permission denied"), "{e}");
        assert_eq!(listing(dir.path()).len(), 1);
    }

    #[test]
    fn a_read_error_of_the_file_is_passed_on() {
        let dir = temp();
        run(dir.path(), "title", "x_a 1\n");
        let mut folder = Folder::open(dir.path(), |_| Err(io::Error::other("bad disk"))).unwrap();
        let e = settle(&mut folder, "title", "x_a 2\n", false).unwrap_err();
        assert!(e.to_string().ends_with("2025-10-09 … a.curt: bad disk"), "{e}");
        assert_eq!(listing(dir.path()).len(), 1);
        assert_eq!(read(dir.path(), "2025-10-09 title a.curt"), "x_a 1\n");
    }
    #[test]
    fn a_report_is_private_and_replaces_the_one_before() {
        let dir = temp();
        let path = dir.path().join("counts.json");
        fs::write(&path, "a longer report\n").unwrap();
        put(&path, b"a report\n").unwrap();
        assert_eq!(read(dir.path(), "counts.json"), "a report\n");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(listing(dir.path()).len(), 1);
    }

    /// `--summary-json /dev/stderr 2>log`, as root, once put a file in the place of `/dev/stderr`.
    #[test]
    fn a_report_to_a_link_goes_where_it_leads_and_the_link_stays() {
        let dir = temp();
        fs::write(dir.path().join("log"), "a message\n").unwrap();
        let stderr = dir.path().join("stderr");
        symlink("log", &stderr).unwrap();
        put(&stderr, b"a report\n").unwrap();
        assert!(fs::symlink_metadata(&stderr).unwrap().is_symlink());
        assert_eq!(read(dir.path(), "log"), "a message\na report\n");
    }

    #[test]
    fn a_report_that_cannot_be_written_is_an_error_that_says_where_and_no_more() {
        let dir = temp();
        let missing = dir.path().join("gone/counts.json");
        let e = put(&missing, b"a report\n").unwrap_err();
        assert_eq!(e.to_string(), format!("{}: No such file or directory (os error 2)", missing.display()));
        assert_eq!(put(dir.path(), b"a report\n").unwrap_err().kind(), ErrorKind::IsADirectory);
    }
}
