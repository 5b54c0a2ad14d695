//! One record after the other, in memory bounded while reading.

use std::io::{self, Read};
use std::ops::Range;

/// The lines of NDJSON. Blank ones are counted and skipped; a `\r` before the line end is JSON's white
/// space and stays.
pub struct Lines<R>(Records<R>);

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A line that is not blank.
    Text {
        /// Counted from 1, blank lines included.
        number: u64,
        /// Without its line end.
        text: &'a [u8],
        /// Whether it had a line end. A last line without one may have been cut.
        ended: bool,
    },
    /// A line longer than the bound; it was skipped.
    TooLong {
        /// Counted from 1, blank lines included.
        number: u64,
    },
}

impl<R: Read> Lines<R> {
    /// Read lines of at most `max_bytes` each, line end not counted; 0 is no bound.
    pub fn new(source: R, max_bytes: u64) -> Self {
        Lines(Records::new(source, b'\n', max_bytes))
    }

    /// The next line, borrowed from the one buffer; `None` at the end.
    ///
    /// # Errors
    /// Those of reading, except that an interrupted read is tried again.
    #[allow(clippy::should_implement_trait, reason = "an Iterator cannot lend its buffer")]
    pub fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        while let Some(Found { number, at, ended }) = self.0.find()? {
            match at {
                None => return Ok(Some(Line::TooLong { number })),
                Some(at) if is_blank(self.0.bytes(at.clone())) => {}
                Some(at) => return Ok(Some(Line::Text { number, text: self.0.bytes(at), ended })),
            }
        }
        Ok(None)
    }
}

/// Nothing but JSON's white space (RFC 8259, section 2).
fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

/// Records that one byte ends, empty ones too.
pub(super) struct Records<R> {
    source: R,
    end: u8,
    /// Largest record in bytes, its end not counted.
    bound: usize,
    /// Read and not yet given out are `buffer[start..filled]`.
    buffer: Vec<u8>,
    start: usize,
    filled: usize,
    /// Records begun.
    number: u64,
    /// A terminal must not be asked again after its end.
    at_end: bool,
}

/// One record of [`Records`].
pub(super) enum Record<'a> {
    /// A record within the bound.
    Whole { number: u64, bytes: &'a [u8] },
    /// A record beyond it; it was skipped.
    TooLong { number: u64 },
}

/// Where a record is, so that a caller can look at it and go on.
struct Found {
    number: u64,
    /// In the buffer; `None` when it was too long.
    at: Option<Range<usize>>,
    ended: bool,
}

const CHUNK: usize = 64 << 10;

impl<R: Read> Records<R> {
    pub(super) fn new(source: R, end: u8, max_bytes: u64) -> Self {
        let bound = match usize::try_from(max_bytes) {
            Ok(0) | Err(_) => usize::MAX,
            Ok(bytes) => bytes,
        };
        Records { source, end, bound, buffer: Vec::new(), start: 0, filled: 0, number: 0, at_end: false }
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Record<'_>>> {
        let Some(Found { number, at, .. }) = self.find()? else { return Ok(None) };
        Ok(Some(match at {
            Some(at) => Record::Whole { number, bytes: self.bytes(at) },
            None => Record::TooLong { number },
        }))
    }

    fn bytes(&self, at: Range<usize>) -> &[u8] {
        self.buffer.get(at).unwrap_or_default()
    }

    fn find(&mut self) -> io::Result<Option<Found>> {
        let mut too_long = false;
        // Where the search for the end goes on, relative to `start`.
        let mut searched = 0;
        loop {
            let unread = self.bytes(self.start..self.filled);
            let fresh = unread.get(searched..).unwrap_or_default();
            let end = memchr::memchr(self.end, fresh).map(|offset| searched + offset);
            let length = end.unwrap_or(unread.len());
            too_long |= length > self.bound;
            if let Some(length) = end {
                let at = self.start..self.start + length;
                self.start += length + 1;
                return Ok(Some(self.found(at, too_long, true)));
            }
            if too_long {
                self.start = self.filled;
            }
            searched = self.filled - self.start;
            if !self.fill()? {
                let at = self.start..self.filled;
                self.start = self.filled;
                return Ok((too_long || !at.is_empty()).then(|| self.found(at, too_long, false)));
            }
        }
    }

    fn found(&mut self, at: Range<usize>, too_long: bool, ended: bool) -> Found {
        self.number += 1;
        Found { number: self.number, at: (!too_long).then_some(at), ended }
    }

    /// Read once more behind what is unread; false at the end. The buffer doubles when one record fills
    /// it, so it ends below twice the largest record.
    fn fill(&mut self) -> io::Result<bool> {
        if self.at_end {
            return Ok(false);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.start = 0;
        }
        if self.filled == self.buffer.len() {
            let room = (2 * self.filled).max(CHUNK).min(self.bound.saturating_add(CHUNK));
            self.buffer.resize(room, 0);
        }
        loop {
            match self.source.read(self.buffer.get_mut(self.filled..).unwrap_or_default()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => {
                    let read = read?;
                    self.filled += read;
                    self.at_end = read == 0;
                    return Ok(!self.at_end);
                }
            }
        }
    }
}
