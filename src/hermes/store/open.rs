//! Opening a store that is not ours.
//!
//! The main file, the WAL and a journal are not changed, and no file stays behind that was not there
//! (rulings, "How to open"). SQLite alone does not promise that: `mode=ro` makes `-wal` and `-shm` for
//! a store whose header says WAL, refuses a hot journal, and deletes the WAL of an empty file.
//! `immutable=1` touches nothing, and sees neither a WAL nor a writer. Hence three ways, each where it
//! is right.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use tempfile::TempDir;

use super::{Error, is_damage};

/// How long to wait for a writer that holds the file for itself.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of the smallest page, and with that of the smallest database (sqlite.org/fileformat.html, 1.3.2).
const SMALLEST: u64 = 512;

/// What the caller says about opening.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum How {
    /// Look at the files and choose.
    #[default]
    Careful,
    /// Nobody writes it: touch nothing, take no lock, ignore a WAL.
    Immutable,
    /// Read a private copy.
    Copy,
}

/// One way to open a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// `immutable=1`; what is read counts only if the file is still the same afterwards.
    Immutable,
    /// `mode=ro`, with SQLite's locks.
    Shared,
    /// A copy in a private directory, where SQLite may recover what a dead writer left.
    Copy,
}

/// An open store and how it came to be open.
pub(super) struct Opened {
    pub(super) conn: Connection,
    way: Way,
    /// The main file, and what it was before SQLite opened it. Closing it ends the POSIX locks of this
    /// process, SQLite's among them, so it stays open as long as they may be needed.
    main: File,
    stamp: Stamp,
    /// With links resolved: SQLite looks for sidecars beside what they lead to.
    file: PathBuf,
    how: How,
    /// Keeps the copy, where it could not be let go of at once.
    _copy: Option<TempDir>,
}

impl Opened {
    pub(super) fn open(path: &Path, how: How) -> Result<Opened, Error> {
        let file = fs::canonicalize(path)?;
        let kind = fs::metadata(&file)?;
        if kind.is_dir() {
            return Err(io::Error::other("Is a directory").into());
        }
        if !kind.is_file() {
            // A FIFO would wait for a writer, a device has no sidecars.
            return Err(io::Error::other("not a regular file").into());
        }
        if kind.len() < SMALLEST {
            // SQLite would take it for a database without tables, and delete its WAL.
            return Err(io::Error::other("not an SQLite database").into());
        }
        Opened::by_first_of(file, how, false)
    }

    /// Open by the first way that works. `is_live`: it was seen to change.
    fn by_first_of(file: PathBuf, how: How, is_live: bool) -> Result<Opened, Error> {
        // Before the look at the sidecars: a writer that began earlier shows there, a later one here.
        let main = File::open(&file)?;
        let stamp = Stamp::of(&main)?;
        let ways = match how {
            How::Careful => ways(Files::look(&file, &stamp)?, is_live),
            How::Immutable if is_live => return Err(Error::Changed),
            How::Immutable => &[Way::Immutable],
            How::Copy => &[Way::Copy],
        };
        let mut tried = None;
        for &way in ways {
            match by(way, &file) {
                Ok((conn, _copy)) => return Ok(Opened { conn, way, main, stamp, file, how, _copy }),
                Err(error) if is_of_access(&error) => tried = Some(error),
                // Half of a commit looks like damage.
                Err(_) if way == Way::Immutable && Stamp::of(&main)? != stamp => {
                    return Opened::by_first_of(file, how, true);
                }
                Err(error) => return Err(error),
            }
        }
        Err(tried.unwrap_or(Error::Changed))
    }

    /// Whether what was just read (`failed`: how that ended) does not count and is to be read
    /// [again](Opened::again): the file changed under it, or SQLite lost its way to it.
    pub(super) fn is_spoiled(&self, failed: Option<&Error>) -> io::Result<bool> {
        Ok(match self.way {
            Way::Immutable => Stamp::of(&self.main)? != self.stamp,
            Way::Shared => failed.is_some_and(is_of_access),
            Way::Copy => false,
        })
    }

    /// Whether readers and writers meet here at all.
    pub(super) fn takes_locks(&self) -> bool {
        self.way == Way::Shared
    }

    /// By another way: not immutable a second time, and a copy where sharing failed, so this ends.
    pub(super) fn again(&self) -> Result<Opened, Error> {
        let how = if self.way == Way::Shared { How::Copy } else { self.how };
        Opened::by_first_of(self.file.clone(), how, true)
    }
}

/// A connection that has read something, and the directory of the copy it reads.
fn by(way: Way, file: &Path) -> Result<(Connection, Option<TempDir>), Error> {
    let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let (conn, copy) = match way {
        Way::Immutable => (connection(file, "mode=ro&immutable=1", read_only)?, None),
        Way::Shared => (connection(file, "mode=ro", read_only)?, None),
        Way::Copy => private_copy(file)?,
    };
    let look = || conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
    if look().is_err_and(|error| is_damage(&error)) {
        // It may be cut short or hold a table that makes no sense, and still have ours. Nothing is written.
        conn.pragma_update(None, "writable_schema", true)?;
        look()?;
    }
    Ok((conn, copy))
}

/// Whether SQLite could not get at the files, so that a copy of them may do.
fn is_of_access(error: &Error) -> bool {
    let Error::Sqlite(error) = error else { return false };
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::SystemIoFailure
        )
    )
}

/// A connection that believes nothing of the store's schema but its tables.
fn connection(file: &Path, mode: &str, flags: OpenFlags) -> Result<Connection, Error> {
    let flags = flags | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(uri(file, mode), flags)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // A store that was once ANALYZEd would have each statement planned anew for each session.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.busy_timeout(PATIENCE)?;
    // What is sorted is not to lie in a temporary directory.
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(conn)
}

/// `file:///…?query`, every byte that could mean something else as `%XX` (sqlite.org/uri.html).
fn uri(absolute: &Path, query: &str) -> String {
    let mut uri = "file://".to_owned();
    for &byte in absolute.as_os_str().as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => uri.push(char::from(byte)),
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    uri + "?" + query
}

/// Main file, WAL and journal copied as they stand together, opened, and recovered as a restarted agent
/// would. The `-shm` is an index of the WAL, which SQLite makes anew.
fn private_copy(file: &Path) -> Result<(Connection, Option<TempDir>), Error> {
    const TRIES: usize = 5;
    for _ in 0..TRIES {
        let directory = TempDir::new()?;
        let copy = directory.path().join("state.db");
        if !copy_at_rest(file, &copy)? {
            continue;
        }
        let conn = connection(&copy, "mode=rw", OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // Takes the WAL or the journal in. Then the open file is all there is to the copy and its names
        // can go, so that no transcript is left behind however this process ends.
        let mode = conn.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get::<_, String>(0));
        if mode.is_ok_and(|mode| mode == "delete") {
            directory.close()?;
            return Ok((conn, None));
        }
        return Ok((conn, Some(directory)));
    }
    Err(io::Error::other("changes faster than it can be copied").into())
}

/// Copy a store; whether nobody wrote it meanwhile.
fn copy_at_rest(file: &Path, to: &Path) -> io::Result<bool> {
    let parts = ["", "-wal", "-journal"];
    let stamps = || parts.map(|part| File::open(beside(file, part)).and_then(|part| Stamp::of(&part)).ok());
    let before = stamps();
    for part in parts {
        match File::open(beside(file, part)) {
            Ok(mut from) => io::copy(&mut from, &mut File::create_new(beside(to, part))?)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !part.is_empty() => continue,
            Err(error) => return Err(error),
        };
    }
    Ok(stamps() == before)
}

/// A sidecar of `file`.
fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// A file at one moment: its size, the time of its last change, and its first bytes, because two
/// changes can fall into one tick of the file system's clock. There stand the change counter of a
/// database, the salts of a WAL, the page count of a journal.
#[derive(Debug, PartialEq, Eq)]
struct Stamp(u64, Option<SystemTime>, [u8; 32]);

impl Stamp {
    fn of(file: &File) -> io::Result<Stamp> {
        let found = file.metadata()?;
        let mut head = [0; 32];
        // Of a shorter file as much as there is.
        let _ = file.read_at(&mut head, 0)?;
        Ok(Stamp(found.len(), found.modified().ok(), head))
    }
}

/// What lies on disk for one store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Files {
    /// Bytes of `-wal` when it exists.
    wal: Option<u64>,
    /// Bytes of `-journal` when it exists.
    journal: Option<u64>,
    has_shm: bool,
    /// The header says WAL mode.
    is_wal: bool,
}

impl Files {
    fn look(file: &Path, main: &Stamp) -> io::Result<Files> {
        let find = |suffix| match fs::metadata(beside(file, suffix)) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        let len = |found: Option<Metadata>| found.map(|found| found.len());
        Ok(Files {
            wal: len(find("-wal")?),
            journal: len(find("-journal")?),
            has_shm: find("-shm")?.is_some(),
            // The file format versions, 2 for WAL (sqlite.org/fileformat.html, 1.3).
            is_wal: main.2.get(18..20) == Some(&[2, 2]),
        })
    }
}

/// The ways to try, in order. `is_live`: the store was seen to change.
fn ways(files: Files, is_live: bool) -> &'static [Way] {
    let is_open_in_wal_mode = files.wal.is_some() && files.has_shm;
    let has_uncommitted_or_unmerged = files.wal.unwrap_or(0) > 0 || files.journal.unwrap_or(0) > 0;
    let is_busy = is_live || is_open_in_wal_mode || has_uncommitted_or_unmerged;
    // In WAL mode SQLite makes the files it misses.
    let leaves_files = (files.is_wal || files.wal.is_some()) && !is_open_in_wal_mode;
    match (is_busy, leaves_files) {
        (false, _) => &[Way::Immutable, Way::Copy],
        (true, false) => &[Way::Shared, Way::Copy],
        (true, true) => &[Way::Copy],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_way_makes_a_file_or_misses_a_commit() {
        use Way::{Copy, Immutable, Shared};
        let rollback = Files::default();
        let wal = Files { is_wal: true, ..rollback };
        for (files, is_live, expected) in [
            // Rollback mode: closed, seen changing, a writer's or a dead writer's journal, an emptied one.
            (rollback, false, [Immutable, Copy].as_slice()),
            (rollback, true, &[Shared, Copy]),
            (Files { journal: Some(512), ..rollback }, false, &[Shared, Copy]),
            (Files { journal: Some(0), ..rollback }, false, &[Immutable, Copy]),
            // WAL mode: closed, seen changing, open, open and just checkpointed.
            (wal, false, &[Immutable, Copy]),
            (wal, true, &[Copy]),
            (Files { wal: Some(32), has_shm: true, ..wal }, false, &[Shared, Copy]),
            (Files { wal: Some(0), has_shm: true, ..wal }, false, &[Shared, Copy]),
            // Leftovers, where mode=ro would make the other file.
            (Files { wal: Some(32), ..wal }, false, &[Copy]),
            (Files { wal: Some(32), ..rollback }, false, &[Copy]),
            (Files { wal: Some(0), ..wal }, false, &[Immutable, Copy]),
            (Files { has_shm: true, ..wal }, false, &[Immutable, Copy]),
        ] {
            assert_eq!(ways(files, is_live), expected, "{files:?}, live: {is_live}");
        }
    }

    #[test]
    fn a_path_in_a_uri_is_only_a_path() {
        let path = Path::new(std::ffi::OsStr::from_bytes(b"/a b/?x#y%41;\xff\xc3\xa9&mode=rw"));
        assert_eq!(uri(path, "mode=ro"), "file:///a%20b/%3Fx%23y%2541%3B%FF%C3%A9%26mode%3Drw?mode=ro");
    }
}
