//! Reading around damage (rulings, "Damage").
//!
//! SQLite keeps no checksums: it notices a damaged page when it walks over it, and then gives the query
//! up. What is damaged is seldom what is wanted, so the tables are walked once without their indexes, in
//! ranges of row numbers that are halved where they fail, and what was found is kept in temporary tables:
//! the number, id and session of each message, and the id and number of each session. From then on every
//! row is asked for by its number, alone.
//!
//! A session is whole when all its messages can be read and none is missing. That is known when an index
//! lists no more messages of it than were found or, without an index that can be read, when nothing of
//! the table was lost.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, params};

use super::super::row;
use super::{Asks, Error, Session, Store, asked, cell, has_rowid, is_damage, is_id};
use crate::stream::spill::Spill;

/// How often a range may fail before the rest is given up. Each takes microseconds.
const PATIENCE: usize = 1 << 20;

/// The way around the damage of one store.
pub(super) struct Around {
    session_sql: String,
    usage_sql: Option<String>,
    message_sql: String,
    /// How many messages each index lists for `?1`.
    count_sqls: Vec<String>,
    has_all_messages: bool,
    pub(super) has_all_sessions: bool,
}

/// What became of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// It is gone since it was listed.
    Gone,
    /// All of it was read.
    Whole,
    /// What can be read of it.
    Partial,
}

impl Around {
    /// Look at everything once; `None` where rows have no numbers.
    pub(super) fn of(conn: &Connection, asks: &Asks) -> Result<Option<Around>, Error> {
        if !has_rowid(conn, "messages") || !has_rowid(conn, "sessions") {
            return Ok(None);
        }
        // Notice more of what is wrong with a page.
        conn.pragma_update(None, "cell_size_check", true)?;
        conn.execute_batch(
            "CREATE TEMP TABLE found (session_id, id, number INTEGER PRIMARY KEY);
             CREATE TEMP TABLE known (id, source, started_at, ended_at, number UNIQUE);
             CREATE INDEX temp.known_by_id ON known (id);",
        )?;
        let has_all_messages = copy(conn, "messages", "session_id, id", "found")?;
        conn.execute_batch("CREATE INDEX temp.found_by_session ON found (session_id, id, number)")?;
        let ended = if asks.has_ended_at { "ended_at" } else { "NULL" };
        let has_all_sessions = copy(conn, "sessions", &format!("id, source, started_at, {ended}"), "known")?;
        name_the_lost(conn, has_all_sessions)?;
        let usage = asks.usage_from.as_ref().map(|from| from.replace("AS t", "AS t NOT INDEXED"));
        Ok(Some(Around {
            session_sql: format!(
                "SELECT {} FROM temp.known AS k CROSS JOIN main.sessions AS t ON t.rowid = k.number WHERE {}",
                asked(&asks.session),
                is_id("k.id")
            ),
            usage_sql: usage.map(|from| format!("SELECT {} FROM {from}", asked(&asks.usage))),
            message_sql: format!(
                "SELECT {} FROM main.messages AS t WHERE t.rowid = ?1",
                asked(&asks.message)
            ),
            count_sqls: indexes(conn, "messages", "session_id")?
                .into_iter()
                .map(|index| {
                    let is_id = is_id("session_id");
                    format!("SELECT count(*) FROM main.messages INDEXED BY {index} WHERE {is_id}")
                })
                .collect(),
            has_all_messages,
            has_all_sessions,
        }))
    }

    /// Append the row of a session, and all of it or what there is.
    pub(super) fn read(&self, store: &Store, session: &Session, out: &mut Spill) -> Result<Read, Error> {
        out.clear()?;
        match self.gather(store, session, false, out)? {
            Read::Partial if store.salvage => {
                // Which it is stands before the messages.
                out.clear()?;
                self.gather(store, session, true, out)
            }
            read => Ok(read),
        }
    }

    fn gather(
        &self,
        store: &Store,
        session: &Session,
        partial: bool,
        out: &mut Spill,
    ) -> Result<Read, Error> {
        let conn = &store.opened.conn;
        let mut is_whole = match self.head(store, session, partial, out)? {
            Some(is_whole) => is_whole,
            None => return Ok(Read::Gone),
        };
        let mut numbers = conn.prepare_cached(&format!(
            "SELECT number FROM temp.found WHERE {} ORDER BY id, number",
            is_id("session_id")
        ))?;
        let mut numbers = numbers.query(params![session.id])?;
        let mut message = conn.prepare_cached(&self.message_sql)?;
        let (mut found, mut is_first) = (0_i64, true);
        while let Some(number) = numbers.next()? {
            found += 1;
            let mut rows = message.query([number.get::<_, i64>(0)?])?;
            match rows.next() {
                Ok(Some(row)) => {
                    if !std::mem::take(&mut is_first) {
                        out.buffer().push(b',');
                    }
                    row::object(out, &store.asks.message, |at| cell(row, at))?;
                    out.settle()?;
                }
                Ok(None) => is_whole = false,
                Err(error) if is_damage(&error) => is_whole = false,
                Err(error) => return Err(error.into()),
            }
        }
        out.buffer().extend_from_slice(b"]}\n");
        let listed = self
            .count_sqls
            .iter()
            .find_map(|sql| conn.query_row(sql, params![session.id], |row| row.get::<_, i64>(0)).ok());
        is_whole &= listed.map_or(self.has_all_messages, |listed| listed <= found);
        Ok(if is_whole { Read::Whole } else { Read::Partial })
    }

    /// Append the row up to its messages: whether all of that could be read. `None`: no such session.
    fn head(
        &self,
        store: &Store,
        session: &Session,
        partial: bool,
        out: &mut Spill,
    ) -> Result<Option<bool>, Error> {
        let conn = &store.opened.conn;
        let mut statement = conn.prepare_cached(&self.session_sql)?;
        let mut rows = statement.query(params![session.id])?;
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Err(error) if !is_damage(&error) => return Err(error.into()),
            Ok(None) if !is_known(conn, session)? => return Ok(None),
            _ => {
                row::open_nameless(out, store.facts, session.id.value().into())?;
                return Ok(Some(false));
            }
        };
        let mut has_usage = true;
        let usage = |out: &mut Spill| {
            let (spilled, end) = (out.gathered() - out.buffer().len() as u64, out.buffer().len());
            match store.usage(self.usage_sql.as_deref(), session, out) {
                Err(Error::Sqlite(error))
                    if is_damage(&error) && out.gathered() - out.buffer().len() as u64 == spilled =>
                {
                    out.buffer().truncate(end);
                    has_usage = false;
                    Ok(())
                }
                done => done,
            }
        };
        row::open_session(out, store.facts, &store.asks.session, usage, partial, |at| cell(row, at))?;
        Ok(Some(has_usage))
    }
}

fn is_known(conn: &Connection, session: &Session) -> rusqlite::Result<bool> {
    let sql = format!("SELECT EXISTS (SELECT 1 FROM temp.known WHERE {})", is_id("id"));
    conn.query_row(&sql, params![session.id], |row| row.get(0))
}

/// Copy what can be read of a table, and the number of each row: whether that was all.
fn copy(conn: &Connection, table: &str, columns: &str, to: &str) -> Result<bool, Error> {
    // A range that failed is copied again in halves.
    let mut copy = conn.prepare(&format!(
        "INSERT OR IGNORE INTO temp.{to} SELECT {columns}, rowid FROM main.{table} NOT INDEXED
         WHERE rowid BETWEEN ?1 AND ?2"
    ))?;
    let (lowest, highest) = bounds(conn, table)?;
    let mut failed = 0;
    let mut ranges = vec![(lowest, highest)];
    while let Some((low, high)) = ranges.pop() {
        match copy.execute([low, high]) {
            Ok(_) => {}
            Err(error) if !is_damage(&error) => return Err(error.into()),
            Err(_) => {
                failed += 1;
                if low < high && failed < PATIENCE {
                    let middle = i64::midpoint(low, high);
                    ranges.extend([(middle + 1, high), (low, middle)]);
                }
            }
        }
    }
    Ok(failed == 0)
}

/// Between which numbers the rows of a table lie, as far as anything says so.
fn bounds(conn: &Connection, table: &str) -> Result<(i64, i64), Error> {
    let ask = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).ok();
    let lowest = ask(&format!("SELECT min(rowid) FROM main.{table} NOT INDEXED")).unwrap_or(0).min(0);
    let highest = [
        format!("SELECT max(rowid) FROM main.{table} NOT INDEXED"),
        format!("SELECT seq FROM main.sqlite_sequence WHERE name = '{table}'"),
    ]
    .into_iter()
    .chain(
        indexes(conn, table, "")?
            .into_iter()
            .map(|index| format!("SELECT max(rowid) FROM main.{table} INDEXED BY {index}")),
    )
    .filter_map(|sql| ask(&sql))
    .max();
    Ok((lowest, highest.unwrap_or(1 << 20)))
}

/// Sessions that only an index or their messages tell of.
fn name_the_lost(conn: &Connection, has_all: bool) -> Result<(), Error> {
    let unknown = "NOT EXISTS (SELECT 1 FROM temp.known AS k WHERE k.id IS n.id COLLATE BINARY)";
    for index in indexes(conn, "sessions", "id")? {
        let sql = format!(
            "INSERT INTO temp.known (id) SELECT n.id FROM main.sessions AS n INDEXED BY {index} WHERE {unknown}"
        );
        match conn.execute(&sql, []) {
            Err(error) if !is_damage(&error) => return Err(error.into()),
            // As far as it goes.
            _ => {}
        }
    }
    if !has_all {
        let sql = format!(
            "INSERT INTO temp.known (id)
             SELECT n.id FROM (SELECT DISTINCT session_id AS id FROM temp.found) AS n WHERE {unknown}"
        );
        conn.execute(&sql, [])?;
    }
    Ok(())
}

/// The indexes of a table over all its rows that begin with a column, any for none; quoted.
fn indexes(conn: &Connection, table: &str, first: &str) -> Result<Vec<String>, Error> {
    let mut statement = conn.prepare(
        "SELECT l.name, (SELECT name FROM pragma_index_info(l.name, 'main') WHERE seqno = 0)
         FROM pragma_index_list(?1, 'main') AS l WHERE l.partial = 0",
    )?;
    let mut rows = statement.query([table])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let is_wanted =
            matches!(row.get_ref(1)?, ValueRef::Text(name) if first.is_empty() || name == first.as_bytes());
        if let (true, ValueRef::Text(name)) = (is_wanted, row.get_ref(0)?) {
            found.push(format!("\"{}\"", String::from_utf8_lossy(name).replace('"', "\"\"")));
        }
    }
    Ok(found)
}
