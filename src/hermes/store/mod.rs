//! A Hermes `state.db`, read while its agent may be writing it. With [`open`], the only place that names
//! rusqlite.
//!
//! A session is gathered whole, in a [`Spill`], and only then written: it is whole or absent, no lock of
//! ours stands in the agent's way while a slow reader drains our output, and memory follows the largest
//! cell. In rollback mode, where a reader keeps the agent from committing, a long session is gathered in
//! pages, a short transaction each, and from the start when a commit came between two of them.

mod around;
mod open;

use std::collections::HashSet;
use std::fmt::{self, Display};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rusqlite::limits::Limit;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, Row, params};

use around::Around;
pub use around::Read;
pub use open::How;
use open::Opened;

use super::row::{self, Cell, Declared, FLAGS, MESSAGE, SESSION, Shape, USAGE};
use crate::stream::spill::Spill;

/// Row text to read in one transaction where that keeps the agent waiting. Most sessions are shorter.
const PAGE: u64 = 1 << 20;

/// A session of more than this waits in a file.
const HELD: usize = 1 << 20;

/// How often a session is read in pages. Then it is held on to, for the second that it may take.
const TRIES: usize = 3;

/// Without one of these there is nothing to convert. All else is optional: columns are probed by name
/// in every release, the version is only reported (rulings, "Which stores").
const REQUIRED: [(&str, &[&str]); 2] = [
    ("sessions", &["id", "source", "started_at"]),
    (
        "messages",
        &["id", "session_id", "role", "content", "timestamp", "tool_call_id", "tool_calls", "tool_name"],
    ),
];

/// A message time that can be trusted; as [`crate::time::in_window`] has it, because text and bytes
/// are more than any number to SQLite. The `+` keeps their column from turning them into numbers, and
/// SQLite from looking for the window in the index of each session apart.
const TRUSTED: &str = "+timestamp BETWEEN 0 AND 4200000000";

/// Why a store, or one session of it, could not be read. Never says anything of its content.
#[derive(Debug)]
pub enum Error {
    /// The files cannot be opened, looked at or copied.
    Io(io::Error),
    /// SQLite says so.
    Sqlite(rusqlite::Error),
    /// It is no Hermes store of any release: what is missing, and the version it claims.
    Foreign(String),
    /// It was written while it was read as immutable, as asked.
    Changed,
    /// A session's id is not text, so that it cannot be asked for.
    Unspeakable,
    /// Some of it lies on damaged pages.
    Damaged,
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(error) => error.fmt(f),
            Error::Sqlite(error) => match error.sqlite_error_code() {
                Some(ErrorCode::NotADatabase) => f.write_str("not an SQLite database"),
                Some(ErrorCode::TooBig) => f.write_str("a message is larger than --max-bytes"),
                _ => error.fmt(f),
            },
            Error::Foreign(missing) => write!(f, "not a Hermes store this tool can read: {missing}"),
            Error::Changed => f.write_str("changed while it was read"),
            Error::Unspeakable => f.write_str("its id cannot be written in UTF-8"),
            Error::Damaged => f.write_str("database disk image is malformed"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Io(error)
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Error {
        Error::Sqlite(error)
    }
}

impl Error {
    fn is_damage(&self) -> bool {
        matches!(self, Error::Sqlite(error) if is_damage(error))
    }

    /// Whether this session is at fault (damaged or oversized), and not the store or the machine.
    pub fn is_of_session(&self) -> bool {
        match self {
            Error::Sqlite(error) => {
                matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::TooBig))
            }
            Error::Unspeakable | Error::Damaged => true,
            _ => false,
        }
    }
}

/// Why [`Store::write`] stopped.
#[derive(Debug)]
pub enum Failure {
    /// The output could not be written.
    Output(io::Error),
    /// The session could not be read; others may be.
    Session(Error),
}

/// Which sessions. Empty lists and `None` mean all; what is given must all hold.
#[derive(Clone, Debug, Default)]
pub struct Pick {
    /// Any of these sources.
    pub sources: Vec<String>,
    /// Any of these ids.
    pub sessions: Vec<String>,
    /// Last active at or after this moment, epoch seconds.
    pub since: Option<f64>,
}

/// The store at `path` and those of the agent's profiles beside it, `profiles/*/state.db`, in byte order.
///
/// # Errors
/// The folder of the profiles is there and cannot be read.
pub fn with_profiles(path: PathBuf) -> io::Result<Vec<PathBuf>> {
    let folder = path.parent().unwrap_or(Path::new("")).join("profiles");
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![path]),
        entries => entries?,
    };
    let mut profiles: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path().join("state.db"))).collect::<io::Result<_>>()?;
    profiles.retain(|store| store.exists());
    profiles.sort_unstable_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
    profiles.insert(0, path);
    Ok(profiles)
}

/// What [`Store::sessions`] found.
#[derive(Debug)]
pub struct Found {
    /// Some of the sessions cannot be read. Those that anything names are among `sessions`.
    pub is_damaged: bool,
    /// By `started_at` as SQLite orders it (missing, numbers, text, bytes), then by the bytes of the id.
    pub sessions: Vec<Session>,
    /// Ids of [`Pick::sessions`] that this store does not have at all.
    pub unknown: Vec<String>,
}

/// A session of a store, by its id. Displays as it.
#[derive(Clone, Debug)]
pub struct Session {
    id: Id,
}

impl Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.id {
            Id::Null => f.write_str("NULL"),
            Id::Integer(n) => n.fmt(f),
            Id::Real(n) => n.fmt(f),
            Id::Text(bytes) | Id::Blob(bytes) => String::from_utf8_lossy(bytes).fmt(f),
        }
    }
}

/// An id cell, kept. Nearly always text, and bound again as exactly what it is.
#[derive(Clone, Debug)]
enum Id {
    Null,
    Integer(i64),
    Real(f64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

impl From<ValueRef<'_>> for Id {
    fn from(value: ValueRef<'_>) -> Id {
        match value {
            ValueRef::Null => Id::Null,
            ValueRef::Integer(n) => Id::Integer(n),
            ValueRef::Real(n) => Id::Real(n),
            ValueRef::Text(bytes) => Id::Text(bytes.to_vec()),
            ValueRef::Blob(bytes) => Id::Blob(bytes.to_vec()),
        }
    }
}

impl Id {
    fn value(&self) -> ValueRef<'_> {
        match self {
            Id::Null => ValueRef::Null,
            Id::Integer(n) => ValueRef::Integer(*n),
            Id::Real(n) => ValueRef::Real(*n),
            Id::Text(bytes) => ValueRef::Text(bytes),
            Id::Blob(bytes) => ValueRef::Blob(bytes),
        }
    }
}

impl ToSql for Id {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(self.value()))
    }
}

/// An open store.
pub struct Store {
    opened: Opened,
    /// Readers block nobody.
    is_wal: bool,
    asks: Asks,
    facts: row::Store,
    max_bytes: u64,
    salvage: bool,
    /// Set when damage was met.
    around: Option<Around>,
    /// One session, reused.
    gathered: Spill,
}

/// What to ask of this store.
struct Asks {
    session: Shape,
    usage: Shape,
    message: Shape,
    session_sql: String,
    /// `None`: the table came with schema 20.
    usage_sql: Option<String>,
    /// What comes after the columns in it.
    usage_from: Option<String>,
    /// All messages of `?1`.
    messages_sql: String,
    /// Those after id `?2`.
    more_sql: String,
    has_ended_at: bool,
    /// No two messages have one id, so that one can be gone on from.
    has_key: bool,
    /// What ids are bound as is what they are.
    is_utf8: bool,
}

impl Store {
    /// Open the store at `path`. Messages of more than `max_bytes` are not read (0: SQLite's own limit,
    /// 1,000,000,000 bytes).
    ///
    /// # Errors
    /// No such file, not a regular one, not a database, no Hermes store.
    pub fn open(path: &Path, how: How, max_bytes: u64) -> Result<Store, Error> {
        Store::probe(Opened::open(path, how)?, max_bytes)
    }

    /// See what the store has.
    fn probe(mut opened: Opened, max_bytes: u64) -> Result<Store, Error> {
        loop {
            let conn = &opened.conn;
            let probed = schema_version(conn).and_then(|schema_version| {
                let asks = Asks::of(conn, schema_version)?;
                let facts = row::Store { schema_version, newest: newest(conn) };
                let mode: String = conn.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
                if let (Ok(bytes), true) = (i32::try_from(max_bytes), max_bytes > 0) {
                    // Not before: the text of the schema is not meant.
                    conn.set_limit(Limit::SQLITE_LIMIT_LENGTH, bytes)?;
                }
                Ok((asks, facts, mode == "wal"))
            });
            if opened.is_spoiled(probed.as_ref().err())? {
                opened = opened.again()?;
                continue;
            }
            let (asks, facts, is_wal) = probed?;
            let (salvage, around, gathered) = (false, None, Spill::of(HELD));
            return Ok(Store { opened, is_wal, asks, facts, max_bytes, salvage, around, gathered });
        }
    }

    /// Write also what can be read of a session that is damaged.
    pub fn salvage(&mut self) {
        self.salvage = true;
    }

    /// The version the store claims.
    pub fn schema_version(&self) -> Option<i64> {
        self.facts.schema_version
    }

    /// The sessions picked, in order.
    ///
    /// The last activity of a session, for [`Pick::since`], is the latest of its messages' times, its
    /// `ended_at` and its `started_at` that can be trusted; a session without any is not picked. One that
    /// damage hides is picked for whatever it may be.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn sessions(&mut self, pick: &Pick) -> Result<Found, Error> {
        let mut found = self.settled(|store| store.list(pick));
        if found.as_ref().is_err_and(Error::is_damage) && self.look_around()? {
            found = self.settled(|store| store.list(pick));
            if found.as_ref().is_err_and(Error::is_damage) {
                // What the messages say of their times is lost.
                let pick = Pick { since: None, ..pick.clone() };
                found = self.settled(|store| store.list(&pick));
            }
        }
        self.release();
        found
    }

    /// Write the row of a session, if it is still there.
    ///
    /// # Errors
    /// A session that cannot be read leaves nothing in `out`.
    pub fn write(&mut self, session: &Session, out: &mut dyn Write) -> Result<Read, Failure> {
        let mut gathered = std::mem::replace(&mut self.gathered, Spill::of(HELD));
        let read = self.gather(session, &mut gathered);
        self.release();
        let written = match read {
            // What a UTF-16 store holds of half a surrogate pair comes out as another text.
            Ok(Read::Gone) if !self.asks.is_utf8 => Err(Failure::Session(Error::Unspeakable)),
            Ok(Read::Gone) => Ok(Read::Gone),
            Ok(Read::Partial) if !self.salvage => Err(Failure::Session(Error::Damaged)),
            Ok(read) => gathered.write(&mut &mut *out).map(|()| read).map_err(Failure::Output),
            Err(error) => Err(Failure::Session(error)),
        };
        gathered.clear().map_err(|error| Failure::Session(error.into()))?;
        self.gathered = gathered;
        written
    }

    fn gather(&mut self, session: &Session, out: &mut Spill) -> Result<Read, Error> {
        let read = self.settled(|store| store.row(session, out));
        if !read.as_ref().is_err_and(Error::is_damage) || !self.look_around()? {
            return read;
        }
        self.settled(|store| match &store.around {
            Some(around) => around.read(store, session, out),
            // It was no damage, but a store that changed.
            None => store.row(session, out),
        })
    }

    /// Find a way around the damage, once; whether there is one.
    fn look_around(&mut self) -> Result<bool, Error> {
        // What is made in a transaction of ours goes with it.
        self.release();
        if self.around.is_none() {
            self.around = Around::of(&self.opened.conn, &self.asks)?;
        }
        Ok(self.around.is_some())
    }

    /// Messages whose session is missing: its id and how many.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn orphans(&mut self) -> Result<Vec<(Session, i64)>, Error> {
        let orphans = self.settled(|store| {
            let mut statement = store.opened.conn.prepare(
                "SELECT session_id, count(*) FROM main.messages AS m
                 WHERE NOT EXISTS
                     (SELECT 1 FROM main.sessions AS s WHERE s.id IS m.session_id COLLATE BINARY)
                 GROUP BY session_id COLLATE BINARY ORDER BY session_id COLLATE BINARY",
            )?;
            let rows =
                statement.query_map([], |row| Ok((Session { id: row.get_ref(0)?.into() }, row.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        });
        self.release();
        orphans
    }

    /// `read` in a transaction, which stays open; and once more when what it read does not count.
    fn settled<T>(&mut self, mut read: impl FnMut(&Store) -> Result<T, Error>) -> Result<T, Error> {
        loop {
            let done = self.hold().map_err(Error::from).and_then(|()| read(self));
            if !self.opened.is_spoiled(done.as_ref().err())? {
                return done;
            }
            let again = Store::probe(self.opened.again()?, self.max_bytes)?;
            // One run says one thing about the store.
            *self = Store { facts: self.facts, salvage: self.salvage, ..again };
        }
    }

    fn hold(&self) -> rusqlite::Result<()> {
        if self.opened.takes_locks() && self.opened.conn.is_autocommit() {
            self.opened.conn.execute_batch("BEGIN")
        } else {
            Ok(())
        }
    }

    /// Nothing was written: what a transaction of ours ends with makes no difference, not even an error.
    fn release(&self) {
        if !self.opened.conn.is_autocommit() {
            let _ = self.opened.conn.execute_batch("ROLLBACK");
        }
    }

    fn list(&self, pick: &Pick) -> Result<Found, Error> {
        let (from, ended, is_lost) = match &self.around {
            Some(_) => ("temp.known", "s.ended_at", "s.number IS NULL"),
            None if self.asks.has_ended_at => ("main.sessions", "s.ended_at", "0"),
            None => ("main.sessions", "NULL", "0"),
        };
        let (last, activity) = match pick.since {
            None => ("NULL", String::new()),
            Some(_) => (
                "m.last",
                format!(
                    "LEFT JOIN (SELECT session_id, max(timestamp) AS last FROM main.messages
                     WHERE {TRUSTED} GROUP BY session_id COLLATE BINARY) AS m
                     ON m.session_id = s.id COLLATE BINARY"
                ),
            ),
        };
        let mut statement = self.opened.conn.prepare(&format!(
            "SELECT s.id, s.source, s.started_at, {ended}, {last}, {is_lost} FROM {from} AS s {activity}
             ORDER BY s.started_at, s.id COLLATE BINARY"
        ))?;
        let mut rows = statement.query([])?;
        let mut sessions = Vec::new();
        let wanted: HashSet<&str> = pick.sessions.iter().map(String::as_str).collect();
        let mut unknown = wanted.clone();
        while let Some(row) = rows.next()? {
            let session = Session { id: row.get_ref(0)?.into() };
            let name = session.to_string();
            unknown.remove(name.as_str());
            let is_active = || -> rusqlite::Result<bool> {
                let Some(since) = pick.since else { return Ok(true) };
                let mut moments = Vec::new();
                for at in 2..=4 {
                    moments.extend(number(row.get_ref(at)?).and_then(crate::time::in_window));
                }
                Ok(moments.into_iter().any(|moment| moment >= since))
            };
            if (wanted.is_empty() || wanted.contains(name.as_str()))
                && (row.get(5)?
                    || (pick.sources.is_empty() || pick.sources.iter().any(|s| is_text(row.get_ref(1), s)))
                        && is_active()?)
            {
                sessions.push(session);
            }
        }
        let unknown = pick.sessions.iter().filter(|id| unknown.contains(id.as_str())).cloned().collect();
        let is_damaged = self.around.as_ref().is_some_and(|around| !around.has_all_sessions);
        Ok(Found { is_damaged, sessions, unknown })
    }

    /// Append the row of a session.
    fn row(&self, session: &Session, out: &mut Spill) -> Result<Read, Error> {
        let keeps_waiting = self.opened.takes_locks() && !self.is_wal;
        for attempt in 0.. {
            out.clear()?;
            let version = if keeps_waiting { self.version()? } else { 0 };
            if !self.head(session, out)? {
                return Ok(Read::Gone);
            }
            let mut after = None;
            loop {
                after = self.page(session, after, out)?;
                if after.is_none() {
                    return Ok(Read::Whole);
                }
                if keeps_waiting && attempt < TRIES {
                    self.release();
                    self.hold()?;
                    if self.version()? != version {
                        break;
                    }
                }
            }
        }
        Ok(Read::Gone)
    }

    /// What another connection's commit changes.
    fn version(&self) -> rusqlite::Result<i64> {
        self.opened.conn.query_row("PRAGMA data_version", [], |row| row.get(0))
    }

    /// Append the messages after `after`: to which one, when there may be more.
    fn page(&self, session: &Session, after: Option<i64>, out: &mut Spill) -> Result<Option<i64>, Error> {
        let start = out.gathered();
        let sql = if after.is_none() { &self.asks.messages_sql } else { &self.asks.more_sql };
        let mut statement = self.opened.conn.prepare_cached(sql)?;
        let mut rows = match after {
            None => statement.query(params![session.id])?,
            Some(last) => statement.query(params![session.id, last])?,
        };
        let mut is_first = after.is_none();
        while let Some(row) = rows.next()? {
            if !std::mem::take(&mut is_first) {
                out.buffer().push(b',');
            }
            row::object(out, &self.asks.message, |at| cell(row, at))?;
            out.settle()?;
            if out.gathered() - start >= PAGE
                && self.asks.has_key
                && let ValueRef::Integer(id) = row.get_ref(0)?
            {
                return Ok(Some(id));
            }
        }
        out.buffer().extend_from_slice(b"]}\n");
        Ok(None)
    }

    /// Append the row up to its messages; `false` when the session is not there.
    fn head(&self, session: &Session, out: &mut Spill) -> Result<bool, Error> {
        let mut statement = self.opened.conn.prepare_cached(&self.asks.session_sql)?;
        let mut rows = statement.query(params![session.id])?;
        let Some(row) = rows.next()? else { return Ok(false) };
        let usage = |out: &mut Spill| self.usage(self.asks.usage_sql.as_deref(), session, out);
        row::open_session(out, self.facts, &self.asks.session, usage, false, |at| cell(row, at))?;
        Ok(true)
    }

    /// Append the session's usage; nothing when the store keeps none.
    fn usage(&self, sql: Option<&str>, session: &Session, out: &mut Spill) -> Result<(), Error> {
        let Some(sql) = sql else { return Ok(()) };
        let mut statement = self.opened.conn.prepare_cached(sql)?;
        let mut rows = statement.query(params![session.id])?;
        out.buffer().extend_from_slice(b",\"usage\":[");
        let mut is_first = true;
        while let Some(row) = rows.next()? {
            if !std::mem::take(&mut is_first) {
                out.buffer().push(b',');
            }
            row::object(out, &self.asks.usage, |at| cell(row, at))?;
        }
        out.buffer().push(b']');
        Ok(())
    }
}

impl Asks {
    /// Probe the tables.
    fn of(conn: &Connection, version: Option<i64>) -> Result<Asks, Error> {
        let sessions = declared(conn, "sessions")?;
        let messages = declared(conn, "messages")?;
        let usage = declared(conn, "session_model_usage")?;
        let missing: Vec<String> = REQUIRED
            .iter()
            .zip([&sessions, &messages])
            .filter_map(|(r, found)| lacks(r.0, r.1, found))
            .collect();
        if !missing.is_empty() {
            let version = version.map_or("no schema_version".to_owned(), |v| format!("schema_version {v}"));
            return Err(Error::Foreign(format!("{} ({version})", missing.join(", "))));
        }
        let has = |found: &[Declared], name: &str| found.iter().any(|c| c.name == name);
        let has_ended_at = has(&sessions, "ended_at");
        let has_usage = has(&usage, "session_id");

        let session = Shape::new(SESSION, &sessions);
        // Whatever else is in there is the sessions' own, said once in their `withheld`.
        let usage = Shape { withheld: Vec::new(), ..Shape::new(USAGE, &usage) };
        let mut message = Shape::new(MESSAGE, &messages);
        message.model_only = has(&messages, "display_metadata");

        let session_sql =
            format!("SELECT {} FROM main.sessions AS t WHERE {}", asked(&session), is_id("t.id"));
        let order =
            ["first_seen", "model"].into_iter().filter(|n| usage.columns.iter().any(|c| c.name == *n));
        let rowid = has_rowid(conn, "session_model_usage").then_some("rowid");
        let order = order.chain(rowid).collect::<Vec<_>>().join(", ");
        let usage_from = has_usage.then(|| {
            let order = if order.is_empty() { String::new() } else { format!(" ORDER BY {order}") };
            format!("main.session_model_usage AS t WHERE {}{order}", is_id("t.session_id"))
        });
        let usage_sql = usage_from.as_ref().map(|from| format!("SELECT {} FROM {from}", asked(&usage)));
        let asked = asked(&message);
        let rows = Rows::of(conn)?;
        let messages = |after| format!("SELECT {asked} FROM {}", rows.of_session(after));
        let (messages_sql, more_sql) = (messages(""), messages(" AND id > ?2"));
        let has_key = has_key(conn)?;
        let is_utf8 = conn.query_row("PRAGMA encoding", [], |row| row.get::<_, String>(0))? == "UTF-8";
        Ok(Asks {
            session,
            usage,
            message,
            session_sql,
            usage_sql,
            usage_from,
            messages_sql,
            more_sql,
            has_ended_at,
            has_key,
            is_utf8,
        })
    }
}

/// `sessions lacks id, source`; `None` when all is there.
fn lacks(table: &str, required: &[&str], found: &[Declared]) -> Option<String> {
    let missing: Vec<&str> =
        required.iter().copied().filter(|name| found.iter().all(|c| c.name != *name)).collect();
    if found.is_empty() {
        Some(format!("no table {table}"))
    } else if missing.is_empty() {
        None
    } else {
        Some(format!("{table} lacks {}", missing.join(", ")))
    }
}

/// The result columns of a shape over table `t`. Values of the allow-list; of all else only whether
/// it is there. Qualified, because SQLite reads an unknown `"name"` as text.
fn asked(shape: &Shape) -> String {
    let mut asked: Vec<String> = shape.columns.iter().map(|c| format!("t.\"{}\"", c.name)).collect();
    if shape.model_only {
        // JSON true and nothing else (rulings, "Counts"); bytes and text that is no JSON are not true.
        asked.push(
            "CASE WHEN t.display_metadata IS NULL THEN 0
             WHEN typeof(t.display_metadata) = 'text' AND json_valid(t.display_metadata)
             THEN json_type(t.display_metadata, '$.model_only') IS 'true' ELSE 0 END"
                .to_owned(),
        );
    }
    asked.extend(shape.withheld.chunks(FLAGS).map(|names| {
        // As a condition, and not as a value, SQLite answers IS NOT NULL without reading the cell.
        let flag = |(bit, name): (u32, &String)| {
            let name = name.replace('"', "\"\"");
            format!("CASE WHEN t.\"{name}\" IS NOT NULL THEN {} ELSE 0 END", 1_i64 << bit)
        };
        (0..).zip(names).map(flag).collect::<Vec<_>>().join(" + ")
    }));
    asked.join(", ")
}

/// The condition that a column holds the id `?1`: byte for byte, whatever collation the store declares.
fn is_id(column: &str) -> String {
    format!("{column} IS ?1 COLLATE BINARY")
}

/// How the messages of a session are found in `id` order, without their contents being sorted.
enum Rows {
    /// Over an index that has them in this order, or for want of anything better.
    Ordered,
    /// Releases before schema 30: the numbers are sorted, then fetched row by row.
    ByNumber,
    /// An extract that somebody made without its keys: over an index of ours, in memory. Else each
    /// session would read all messages.
    Indexed,
}

impl Rows {
    fn of(conn: &Connection) -> rusqlite::Result<Rows> {
        let has_index = |columns: &str| {
            conn.query_row(
                "SELECT EXISTS (SELECT 1 FROM pragma_index_list('messages', 'main') AS l
                 WHERE l.partial = 0 AND (SELECT group_concat(name) FROM
                 (SELECT name FROM pragma_index_info(l.name, 'main') ORDER BY seqno)) || ',' LIKE ?1 || ',%')",
                [columns],
                |row| row.get::<_, bool>(0),
            )
        };
        if has_index("session_id,id")? || !has_rowid(conn, "messages") {
            return Ok(Rows::Ordered);
        }
        if has_index("session_id")? {
            return Ok(Rows::ByNumber);
        }
        let indexed = conn.execute_batch(
            "CREATE TEMP TABLE numbers AS SELECT session_id, id, rowid AS number FROM main.messages;
             CREATE INDEX temp.numbers_of_session ON numbers (session_id, id, number)",
        );
        // What cannot be read here may be of one session.
        Ok(if indexed.is_ok() { Rows::Indexed } else { Rows::Ordered })
    }

    /// What to select from as `t`: the messages of session `?1`. `after` picks some of them, by `id`.
    fn of_session(&self, after: &str) -> String {
        let of_session = format!("{}{after}", is_id("session_id"));
        match self {
            Rows::Ordered => format!("main.messages AS t WHERE {of_session} ORDER BY t.id"),
            Rows::ByNumber => format!(
                "main.messages AS t WHERE t.rowid IN (SELECT rowid FROM main.messages WHERE {of_session})
                 AND +{} ORDER BY t.id",
                is_id("session_id")
            ),
            Rows::Indexed => format!(
                "(SELECT number FROM temp.numbers WHERE {of_session} ORDER BY id, number) AS n
                 CROSS JOIN main.messages AS t ON t.rowid = n.number"
            ),
        }
    }
}

/// Whether the rows of a table have numbers of their own.
fn has_rowid(conn: &Connection, table: &str) -> bool {
    conn.prepare(&format!("SELECT rowid FROM main.{table}")).is_ok()
}

/// Whether `messages.id` is an `INTEGER PRIMARY KEY`.
fn has_key(conn: &Connection) -> rusqlite::Result<bool> {
    conn.query_row(
        "SELECT count(*) = 1 AND min(name) = 'id' AND upper(min(type)) = 'INTEGER'
         FROM pragma_table_info('messages', 'main') WHERE pk > 0",
        [],
        |row| row.get(0),
    )
}

/// The columns of a table, computed ones too; none for a view or a virtual table, which run what their
/// author pleased.
fn declared(conn: &Connection, table: &str) -> rusqlite::Result<Vec<Declared>> {
    let mut statement = conn.prepare(
        "SELECT name, dflt_value IS NOT NULL FROM pragma_table_xinfo(?1, 'main') WHERE hidden <> 1 AND EXISTS
         (SELECT 1 FROM main.sqlite_schema AS s
          WHERE s.type = 'table' AND s.rootpage > 0 AND s.name = ?1 COLLATE NOCASE)",
    )?;
    let columns = statement.query_map([table], |row| {
        let name = row.get_ref(0)?.as_bytes()?;
        Ok(Declared { name: String::from_utf8_lossy(name).into_owned(), has_default: row.get(1)? })
    })?;
    columns.collect()
}

/// Whatever is wrong with it, the store goes without.
fn schema_version(conn: &Connection) -> Result<Option<i64>, Error> {
    if declared(conn, "schema_version")?.is_empty() {
        return Ok(None);
    }
    Ok(conn.query_row("SELECT version FROM main.schema_version LIMIT 1", [], |row| row.get(0)).ok())
}

/// From an index in every release.
fn newest(conn: &Connection) -> Option<f64> {
    // An index may be damaged where the table is not.
    ["", "NOT INDEXED"].into_iter().find_map(|way| {
        let sql = format!("SELECT CAST(max(timestamp) AS REAL) FROM main.messages {way} WHERE {TRUSTED}");
        conn.query_row(&sql, [], |row| row.get(0)).ok().flatten()
    })
}

fn is_damage(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt)
}

fn cell<'r>(row: &'r Row<'_>, at: usize) -> Result<Cell<'r>, Error> {
    Ok(row.get_ref(at)?.into())
}

impl<'a> From<ValueRef<'a>> for Cell<'a> {
    fn from(value: ValueRef<'a>) -> Cell<'a> {
        match value {
            ValueRef::Null => Cell::Null,
            ValueRef::Integer(n) => Cell::Integer(n),
            ValueRef::Real(n) => Cell::Real(n),
            ValueRef::Text(bytes) => Cell::Text(bytes),
            ValueRef::Blob(bytes) => Cell::Blob(bytes),
        }
    }
}

fn number(value: ValueRef<'_>) -> Option<f64> {
    match value {
        ValueRef::Integer(n) => Some(n as f64),
        ValueRef::Real(n) => Some(n),
        _ => None,
    }
}

fn is_text(value: rusqlite::Result<ValueRef<'_>>, wanted: &str) -> bool {
    matches!(value, Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) if bytes == wanted.as_bytes())
}

#[cfg(test)]
mod tests {
    use rusqlite::OpenFlags;
    use tempfile::TempDir;

    use super::*;

    const TABLES: &str = "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, started_at REAL NOT NULL);
         CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL,
             content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL);
         CREATE INDEX idx_messages_session ON messages(session_id, timestamp);
         INSERT INTO sessions VALUES ('a', 'cli', 1.0), ('b', 'cli', 2.0);";

    /// A store of our own, and a second connection to it: the agent's.
    fn store(pragmas: &str) -> (TempDir, PathBuf, Connection) {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("state.db");
        let agent = Connection::open(&path).unwrap();
        agent.execute_batch(pragmas).unwrap();
        agent.execute_batch(TABLES).unwrap();
        say(&agent, "a", "one");
        say(&agent, "b", "two");
        (dir, path, agent)
    }

    fn say(agent: &Connection, session: &str, content: &str) {
        agent
            .execute(
                "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?1, 'user', ?2, 5.0)",
                params![session, content],
            )
            .unwrap();
    }

    fn listed(store: &mut Store) -> Vec<Session> {
        store.sessions(&Pick::default()).unwrap().sessions
    }

    fn written(store: &mut Store, session: &Session) -> String {
        let mut out = Vec::new();
        store.write(session, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn names(dir: &TempDir) -> Vec<String> {
        let entries = fs::read_dir(dir.path()).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Output that runs something before it takes each page.
    struct Meanwhile<F>(Vec<u8>, F);

    impl<F: FnMut()> Write for Meanwhile<F> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1();
            self.0.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn half_a_commit_at_opening_is_no_damage() {
        use std::sync::atomic::{AtomicBool, Ordering};
        // Commits of many pages: the first of them tells that the others are coming.
        let (_dir, path, agent) = store("PRAGMA synchronous = OFF");
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let done = &done;
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    agent.execute_batch("BEGIN").unwrap();
                    (0..40).for_each(|_| say(&agent, "a", &"x".repeat(2000)));
                    agent.execute_batch("COMMIT").unwrap();
                }
            });
            let opened: Vec<_> = (0..100).map(|_| Store::open(&path, How::Careful, 0).map(drop)).collect();
            done.store(true, Ordering::Relaxed);
            for outcome in opened {
                outcome.unwrap();
            }
        });
    }

    #[test]
    fn a_commit_after_opening_is_seen() {
        let (dir, path, agent) = store("");
        let mut store = Store::open(&path, How::Careful, 0).unwrap();
        let sessions = listed(&mut store);
        assert!(written(&mut store, &sessions[0]).contains("one"));
        say(&agent, "b", "three");
        // Immutable until here; now shared.
        assert!(written(&mut store, &sessions[1]).contains("three"));
        say(&agent, "b", "four");
        assert!(written(&mut store, &sessions[1]).contains("four"));
        assert_eq!(names(&dir), ["state.db"]);
    }

    #[test]
    fn a_wal_store_that_changes_is_copied_and_gets_no_sidecars() {
        let (dir, path, agent) = store("PRAGMA journal_mode = WAL;");
        drop(agent);
        assert_eq!(names(&dir), ["state.db"]);
        let mut store = Store::open(&path, How::Careful, 0).unwrap();
        let sessions = listed(&mut store);
        let agent = Connection::open(&path).unwrap();
        say(&agent, "b", "three");
        drop(agent);
        assert_eq!(names(&dir), ["state.db"]);
        assert!(written(&mut store, &sessions[1]).contains("three"));
        assert_eq!(names(&dir), ["state.db"]);
    }

    #[test]
    fn immutable_as_asked_says_that_the_file_changed() {
        let (_dir, path, agent) = store("");
        let mut store = Store::open(&path, How::Immutable, 0).unwrap();
        let sessions = listed(&mut store);
        say(&agent, "b", "three");
        let mut out = Vec::new();
        let failure = store.write(&sessions[1], &mut out);
        assert!(matches!(failure, Err(Failure::Session(Error::Changed))));
        assert!(out.is_empty());
    }

    #[test]
    fn a_session_deleted_since_it_was_listed_is_no_row() {
        let (_dir, path, agent) = store("");
        let mut store = Store::open(&path, How::Careful, 0).unwrap();
        let sessions = listed(&mut store);
        agent.execute_batch("DELETE FROM sessions WHERE id = 'a'").unwrap();
        assert_eq!(written(&mut store, &sessions[0]), "");
    }

    #[test]
    fn an_agent_killed_while_we_share_is_recovered_in_a_copy() {
        let (dir, path, agent) = store("");
        let mut store = Store::open(&path, How::Careful, 0).unwrap();
        let sessions = listed(&mut store);
        say(&agent, "a", "three");
        assert!(written(&mut store, &sessions[0]).contains("three"));
        // What a killed writer leaves: taken from one that goes on living, put where it would lie.
        agent
            .execute_batch("PRAGMA cache_size = 1; BEGIN; UPDATE messages SET content = hex(zeroblob(9000))")
            .unwrap();
        agent.execute_batch("INSERT INTO messages (session_id, role, content, timestamp) SELECT 'a', 'user', hex(zeroblob(9000)), 5.0 FROM messages").unwrap();
        agent.cache_flush().unwrap();
        let (torn, journal) =
            (fs::read(&path).unwrap(), fs::read(dir.path().join("state.db-journal")).unwrap());
        agent.execute_batch("ROLLBACK").unwrap();
        drop(agent);
        fs::write(&path, &torn).unwrap();
        fs::write(dir.path().join("state.db-journal"), &journal).unwrap();
        let row = written(&mut store, &sessions[0]);
        assert!(row.contains("three") && !row.contains("0000"), "{row}");
        assert_eq!(fs::read(&path).unwrap(), torn);
        assert_eq!(fs::read(dir.path().join("state.db-journal")).unwrap(), journal);
        assert_eq!(names(&dir), ["state.db", "state.db-journal"]);
    }

    /// Messages of half a page each.
    fn say_much(agent: &Connection) {
        for letter in ["p", "q", "r", "s", "t"] {
            say(agent, "a", &letter.repeat(PAGE as usize / 2));
        }
    }

    #[test]
    fn a_slow_reader_does_not_block_the_agent() {
        for pragmas in ["", "PRAGMA journal_mode = WAL;"] {
            let (_dir, path, agent) = store(pragmas);
            agent.busy_timeout(std::time::Duration::ZERO).unwrap();
            say_much(&agent);
            let mut store = Store::open(&path, How::Careful, 0).unwrap();
            let sessions = listed(&mut store);
            say(&agent, "b", "so that it is live");
            let mut out = Meanwhile(Vec::new(), || say(&agent, "b", "not blocked"));
            store.write(&sessions[0], &mut out).unwrap();
            let mut one_go = Vec::new();
            store.write(&sessions[0], &mut one_go).unwrap();
            assert!(out.0.len() as u64 > 2 * PAGE);
            assert_eq!(strip_newest(&out.0), strip_newest(&one_go), "{pragmas}");
        }
    }

    fn strip_newest(row: &[u8]) -> &[u8] {
        &row[memchr::memmem::find(row, b"\"messages\"").unwrap()..]
    }

    #[test]
    fn a_session_that_is_written_anew_between_two_pages_is_of_one_moment() {
        use std::sync::atomic::{AtomicBool, Ordering};
        for pragmas in ["", "PRAGMA journal_mode = WAL;"] {
            let (_dir, path, agent) = store(&format!("{pragmas} PRAGMA synchronous = OFF;"));
            agent.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
            let rewrite = |letter: &str| {
                agent.execute_batch("BEGIN IMMEDIATE; DELETE FROM messages").unwrap();
                (0..6).for_each(|_| say(&agent, "a", &letter.repeat(PAGE as usize / 2)));
                agent.execute_batch("COMMIT").unwrap();
            };
            rewrite("a");
            let done = AtomicBool::new(false);
            let rows: Vec<_> = std::thread::scope(|scope| {
                let reader = scope.spawn(|| {
                    let read = |_| {
                        let mut store = Store::open(&path, How::Careful, 0)?;
                        let session = Session { id: Id::Text(b"a".to_vec()) };
                        let mut row = Vec::new();
                        store.write(&session, &mut row).map(|_| row).map_err(|failure| match failure {
                            Failure::Session(error) => error,
                            Failure::Output(error) => error.into(),
                        })
                    };
                    let rows = (0..8).map(read).collect();
                    done.store(true, Ordering::Relaxed);
                    rows
                });
                for letter in ["b", "c", "d", "e", "f"].into_iter().cycle() {
                    rewrite(letter);
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                }
                reader.join().unwrap()
            });
            let mut moments = std::collections::HashSet::new();
            for row in rows {
                let row = String::from_utf8(row.unwrap()).unwrap();
                let contents: Vec<_> =
                    row.split("\"content\":\"").skip(1).map(|rest| rest.chars().next()).collect();
                assert!(contents.len() == 6 && row.ends_with("]}\n"), "{contents:?}");
                assert!(contents.windows(2).all(|pair| pair[0] == pair[1]), "{contents:?}");
                moments.insert(contents[0]);
            }
            assert!(moments.len() > 1, "the agent wrote nothing meanwhile");
        }
    }

    #[test]
    fn contents_are_never_sorted() {
        for (name, by) in [
            ("hermes-0.13.db", "INTEGER PRIMARY KEY"),
            ("hermes-0.16.db", "INTEGER PRIMARY KEY"),
            ("hermes-v22.db", "INTEGER PRIMARY KEY"),
            ("hermes-v31.db", "INDEX idx_messages_session_id (session_id=?"),
        ] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hermes").join(name);
            let store = Store::open(&path, How::Immutable, 0).unwrap();
            for sql in [&store.asks.messages_sql, &store.asks.more_sql] {
                let plan = plan(&store, sql);
                assert!(plan.contains(by), "{name}: {plan}");
                assert!(!plan.contains("TEMP B-TREE") && !plan.contains("SCAN"), "{name}: {plan}");
            }
        }
    }

    fn plan(store: &Store, sql: &str) -> String {
        let mut statement = store.opened.conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let params = rusqlite::params_from_iter(std::iter::repeat_n(1, statement.parameter_count()));
        let steps = statement.query_map(params, |row| row.get::<_, String>(3)).unwrap();
        steps.map(Result::unwrap).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn an_extract_without_keys_gets_an_index_in_memory() {
        for keys in [
            // A message key, but nothing by session; then no key at all, and the rows out of order.
            "DROP INDEX idx_messages_session;",
            "CREATE TABLE s AS SELECT * FROM sessions; CREATE TABLE m AS SELECT * FROM messages ORDER BY id DESC;
             DROP TABLE sessions; DROP TABLE messages;
             ALTER TABLE s RENAME TO sessions; ALTER TABLE m RENAME TO messages;",
        ] {
            let (dir, path, agent) = store("");
            say_much(&agent);
            agent.execute_batch(keys).unwrap();
            let mut store = Store::open(&path, How::Careful, 0).unwrap();
            let plan = plan(&store, &store.asks.more_sql);
            assert!(plan.contains("COVERING INDEX numbers_of_session (session_id=?"), "{plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{plan}");
            let sessions = listed(&mut store);
            let row = written(&mut store, &sessions[0]);
            let places = ["one", "ppp", "qqq", "rrr", "sss", "ttt"].map(|word| row.find(word).unwrap());
            assert!(places.is_sorted(), "{keys}");
            assert_eq!(row.matches("\"role\"").count(), 6, "{keys}");
            assert_eq!(names(&dir), ["state.db"]);
        }
    }

    #[test]
    fn nothing_is_read_but_the_lists() {
        // SQLite's own account of which columns a statement touches as values.
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hermes/hermes-v31.db");
        let store = Store::open(&path, How::Immutable, 0).unwrap();
        for (sql, allowed) in [
            (&store.asks.session_sql, SESSION),
            (store.asks.usage_sql.as_ref().unwrap(), USAGE),
            (&store.asks.messages_sql, MESSAGE),
        ] {
            let statement = store.opened.conn.prepare(sql).unwrap();
            for column in statement.column_names() {
                let is_flag = column.contains("IS NOT NULL THEN 1") || column.starts_with("CASE WHEN");
                assert!(is_flag || allowed.iter().any(|c| c.name == column), "{column}");
            }
        }
    }

    /// A store made by this SQL alone, and what its sessions say: the row of each, or why there is none.
    fn told(sql: &str) -> Result<Vec<Result<String, String>>, String> {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("state.db");
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let mut store = Store::open(&path, How::Careful, 0).map_err(|error| error.to_string())?;
        let mut row = |session: &Session| {
            let mut out = Vec::new();
            match store.write(session, &mut out) {
                Ok(_) => Ok(String::from_utf8(out).unwrap()),
                Err(Failure::Session(error)) => Err(error.to_string()),
                Err(Failure::Output(_)) => unreachable!(),
            }
        };
        Ok(listed(&mut Store::open(&path, How::Careful, 0).unwrap()).iter().map(&mut row).collect())
    }

    /// Ids and contents, to be read over a schema.
    fn told_shortly(sql: &str) -> Vec<String> {
        let rows = told(sql).unwrap().into_iter().map(|row| {
            let row = row.unwrap();
            let of = |key: &str| {
                let key = format!("\"{key}\":\"");
                let after = row.split(&key).skip(1);
                after.map(|rest| rest.split('"').next().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
            };
            format!("{}: {}", of("id"), of("content"))
        });
        rows.collect()
    }

    const SAID: &str = "INSERT INTO messages (id, session_id, role, content, timestamp)
         VALUES (1, 'a', 'user', 'one', 5.0), (2, 'b', 'user', 'two', 5.0), (3, 'a', 'user', 'three', 5.0);";

    #[test]
    fn an_id_is_the_bytes_it_is_whatever_the_collation() {
        for (collation, other) in [("NOCASE", "A"), ("RTRIM", "a "), ("BINARY", "á")] {
            let tables = TABLES
                .replace("id TEXT PRIMARY KEY", &format!("id TEXT COLLATE {collation}"))
                .replace("session_id TEXT", &format!("session_id TEXT COLLATE {collation}"));
            let more = format!(
                "INSERT INTO sessions VALUES ('{other}', 'cli', 3.0);
                 INSERT INTO messages (session_id, role, content, timestamp) VALUES ('{other}', 'user', 'four', 5.0);"
            );
            let expected = ["a: one three".to_owned(), "b: two".to_owned(), format!("{other}: four")];
            assert_eq!(told_shortly(&format!("{tables}{SAID}{more}")), expected, "{collation}");
        }
    }

    #[test]
    fn tables_without_rowids_are_read() {
        let messages = TABLES
            .replace("AUTOINCREMENT", "")
            .replace("timestamp REAL NOT NULL)", "timestamp REAL NOT NULL) WITHOUT ROWID");
        let usage = "CREATE TABLE session_model_usage (session_id TEXT, model TEXT, PRIMARY KEY (session_id, model)) WITHOUT ROWID;";
        assert_eq!(told_shortly(&format!("{messages}{usage}{SAID}")), ["a: one three", "b: two"]);
    }

    #[test]
    fn ids_that_come_twice_lose_no_message_between_pages() {
        let tables = TABLES.replace("INTEGER PRIMARY KEY AUTOINCREMENT", "INTEGER");
        let long = "INSERT INTO messages (id, session_id, role, content, timestamp) VALUES
             (1, 'a', 'user', printf('%.*c', 2000000, 'x'), 5.0), (1, 'a', 'user', 'y', 5.0), (2, 'a', 'user', 'z', 5.0);";
        let said = told_shortly(&format!("{tables}{long}"));
        assert_eq!(said[0].split(' ').map(str::len).collect::<Vec<_>>(), [2, 2_000_000, 1, 1]);
    }

    #[test]
    fn a_computed_column_is_a_column() {
        let tables = TABLES.replace("content TEXT", "raw TEXT, content TEXT AS (raw || '!')");
        let said = SAID.replace("content", "raw");
        assert_eq!(told_shortly(&format!("{tables}{said}")), ["a: one! three!", "b: two!"]);
    }

    #[test]
    fn a_view_is_no_table() {
        // It could run for ever, and this one does.
        let view = "CREATE VIEW messages AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n)
             SELECT id, 'a' AS session_id, 'user' AS role, '' AS content, 1.0 AS timestamp, NULL AS tool_call_id,
             NULL AS tool_calls, NULL AS tool_name FROM n; CREATE VIEW schema_version AS SELECT id AS version FROM messages WHERE 0;";
        let tables = TABLES.replace("messages", "others");
        let refused = told(&format!("{tables}{view}")).unwrap_err();
        assert_eq!(refused, "not a Hermes store this tool can read: no table messages (no schema_version)");
    }

    #[test]
    fn no_session_of_a_utf16_store_goes_missing_without_a_word() {
        let utf16 = "PRAGMA encoding = 'UTF-16le';";
        let emoji = "INSERT INTO sessions VALUES ('😀', 'cli', 3.0);
             INSERT INTO messages (session_id, role, content, timestamp) VALUES ('😀', 'user', 'four', 5.0);";
        let said = told_shortly(&format!("{utf16}{TABLES}{SAID}{emoji}"));
        assert_eq!(said, ["a: one three", "b: two", "😀: four"]);
        // Half of a surrogate pair, and an A.
        let half = "INSERT INTO sessions VALUES (CAST(x'3dd84100' AS TEXT), 'cli', 0.0);";
        let told = told(&format!("{utf16}{TABLES}{SAID}{half}")).unwrap();
        assert_eq!(told[0], Err("its id cannot be written in UTF-8".to_owned()));
        assert!(told[1].is_ok() && told.len() == 3);
    }

    #[test]
    fn read_only_means_it() {
        let (_dir, path, _agent) = store("");
        let store = Store::open(&path, How::Careful, 0).unwrap();
        assert!(store.opened.conn.execute_batch("DELETE FROM messages").is_err());
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let count =
            |conn: &Connection| conn.query_row("SELECT count(*) FROM messages", [], |r| r.get::<_, i64>(0));
        assert_eq!(count(&Connection::open_with_flags(&path, flags).unwrap()), Ok(2));
    }
}
