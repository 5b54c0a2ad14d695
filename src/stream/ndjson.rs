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

    /// How many lines were begun so far, blank ones included.
    pub fn count(&self) -> u64 {
        self.0.number
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

    /// Read once more behind what is unread; false at the end. The buffer grows by an eighth when one record
    /// fills it, so it ends little above the largest one.
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
            let room = (self.filled + CHUNK.max(self.filled / 8)).min(self.bound.saturating_add(CHUNK));
            self.buffer.try_reserve_exact(room - self.filled).map_err(|_| io::ErrorKind::OutOfMemory)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives its bytes in pieces of these sizes, over and over, and is interrupted before each.
    struct Trickle<'a> {
        bytes: &'a [u8],
        pieces: Vec<usize>,
        reads: usize,
        /// The largest room a read was ever offered.
        room: usize,
    }

    impl<'a> Trickle<'a> {
        fn new(bytes: &'a [u8], pieces: &[usize]) -> Self {
            Trickle { bytes, pieces: pieces.to_vec(), reads: 0, room: 0 }
        }
    }

    impl Read for Trickle<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            self.reads += 1;
            self.room = self.room.max(room.len());
            if self.reads % 2 == 1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let piece = self.pieces[self.reads / 2 % self.pieces.len()].min(self.bytes.len()).min(room.len());
            let (now, later) = self.bytes.split_at(piece);
            room[..piece].copy_from_slice(now);
            self.bytes = later;
            Ok(piece)
        }
    }

    /// A line as a test writes it: number and text (`None`: too long), and whether it had its end.
    type Plain = (u64, Option<Vec<u8>>, bool);

    fn read<R: Read>(lines: &mut Lines<R>) -> Vec<Plain> {
        let mut read = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            read.push(match line {
                Line::Text { number, text, ended } => (number, Some(text.to_vec()), ended),
                Line::TooLong { number } => (number, None, true),
            });
        }
        read
    }

    fn lines(bytes: &[u8], max: u64) -> Vec<Plain> {
        read(&mut Lines::new(bytes, max))
    }

    fn text(number: u64, text: &[u8]) -> Plain {
        (number, Some(text.to_vec()), true)
    }

    #[test]
    fn nothing_is_no_line() {
        assert_eq!(lines(b"", 0), []);
        assert_eq!(lines(b"\n", 0), []);
    }

    #[test]
    fn blank_lines_are_skipped_and_counted() {
        assert_eq!(lines(b"\n \t\r\n1\n\r\n\n2\n   ", 0), [text(3, b"1"), text(6, b"2")]);
    }

    #[test]
    fn a_last_line_without_its_end_says_so() {
        assert_eq!(lines(b"1\n2", 0), [text(1, b"1"), (2, Some(b"2".to_vec()), false)]);
    }

    #[test]
    fn only_0a_ends_a_line() {
        let line = "a\rb\u{2028}c\u{85}d\0e\x0b\x0c\x1e".as_bytes();
        assert_eq!(lines(&[line, b"\n"].concat(), 0), [text(1, line)]);
    }

    #[test]
    fn a_carriage_return_stays() {
        assert_eq!(lines(b"1\r\n2\r\n", 0), [text(1, b"1\r"), text(2, b"2\r")]);
    }

    #[test]
    fn bytes_that_are_not_utf8_are_bytes() {
        assert_eq!(lines(b"\xff\xfe\n", 0), [text(1, b"\xff\xfe")]);
    }

    #[test]
    fn a_line_as_long_as_the_bound_passes_and_one_more_byte_does_not() {
        assert_eq!(lines(b"12345\n123456\n1\n", 5), [text(1, b"12345"), (2, None, true), text(3, b"1")]);
        assert_eq!(lines(b"123456", 5), [(1, None, true)]);
        assert_eq!(lines(b"12345", 5), [(1, Some(b"12345".to_vec()), false)]);
    }

    #[test]
    fn a_blank_line_beyond_the_bound_is_too_long() {
        assert_eq!(lines(b"      \n1\n", 5), [(1, None, true), text(2, b"1")]);
    }

    #[test]
    fn an_endless_line_takes_no_more_memory_than_the_bound_and_a_chunk() {
        let mut long = Lines::new(io::repeat(b'x').take(50 << 20), 100);
        assert_eq!(read(&mut long), [(1, None, true)]);
        assert_eq!(long.0.buffer.len(), CHUNK);
        let mut long = Lines::new(io::repeat(b'x').take(50 << 20), 1 << 20);
        assert_eq!(read(&mut long), [(1, None, true)]);
        assert!(long.0.buffer.len() <= (1 << 20) + CHUNK);
    }

    #[test]
    fn lines_far_larger_than_the_buffer_are_whole() {
        let big = vec![b'y'; 5 * CHUNK + 17];
        let bytes = [b"1\n", &big[..], b"\n2\n", &big, b"\n3"].concat();
        let expected =
            [text(1, b"1"), text(2, &big), text(3, b"2"), text(4, &big), (5, Some(b"3".to_vec()), false)];
        assert_eq!(lines(&bytes, 0), expected);
        assert_eq!(lines(&bytes, big.len() as u64), expected);
    }

    #[test]
    fn an_end_is_an_end() {
        let mut trickle = Lines::new(Trickle::new(b"1\n", &[1]), 0);
        assert_eq!(read(&mut trickle), [text(1, b"1")]);
        let reads = trickle.0.source.reads;
        assert_eq!(trickle.next().unwrap(), None);
        assert_eq!(trickle.0.source.reads, reads);
    }

    #[test]
    fn the_buffer_ends_little_above_the_largest_record() {
        let record = vec![b'x'; 5_000_000];
        let mut lines = Lines::new(&record[..], 0);
        assert!(matches!(lines.next().unwrap(), Some(Line::Text { .. })));
        assert!(lines.0.buffer.capacity() <= record.len() / 8 * 9 + CHUNK);
    }

    #[test]
    fn an_error_of_reading_is_passed_on() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::from_raw_os_error(libc::EIO))
            }
        }
        let mut lines = Lines::new((&b"1\n2"[..]).chain(Broken), 0);
        assert!(matches!(lines.next(), Ok(Some(Line::Text { text: b"1", .. }))));
        assert_eq!(lines.next().unwrap_err().raw_os_error(), Some(libc::EIO));
    }

    proptest! {
        /// However the bytes arrive, the lines are those of the whole text.
        #[test]
        fn pieces_make_no_difference(
            bytes in prop::collection::vec(prop::sample::select(b"\n\n\r \tab".to_vec()), 0..60),
            pieces in prop::collection::vec(1..7usize, 1..5),
            max in 0..9u64,
        ) {
            let ended = bytes.split_inclusive(|&b| b == b'\n').zip(1..);
            let expected: Vec<Plain> = ended.filter_map(|(line, number)| {
                let text = line.strip_suffix(b"\n").unwrap_or(line);
                if max > 0 && text.len() as u64 > max {
                    return Some((number, None, true));
                }
                let blank = text.trim_ascii().is_empty();
                (!blank).then(|| (number, Some(text.to_vec()), text.len() < line.len()))
            }).collect();
            prop_assert_eq!(read(&mut Lines::new(Trickle::new(&bytes, &pieces), max)), expected);
        }
    }
}
