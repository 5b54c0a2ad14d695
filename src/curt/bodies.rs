//! The `.curt` bodies of an input, judged as they stream by.
//!
//! A file is one body. Stdin, and a file whose name ends in `.ndjson` or `.jsonl`, may also hold
//! `.curt` lines, one body each: it does when its first line is a complete JSON text, which the first
//! line of a pretty-printed body never is (rulings, ".curt on stdin"). The scanner knows at the end of
//! that line, so nothing is held back to decide it, and a body of one line may have any length. A zip,
//! whatever its name, holds one body an entry (the spec, "Bulk convention").

use super::check::{Checker, Header, Invalid, MARK};
use super::lint::Warning;
use crate::json::write::{Layout, Writer};
use crate::stream::bundle::{self, Entry, Opened};
use crate::stream::operands::Input;
use crate::stream::spill::Spill;
use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::{self, ErrorKind, Read};
use std::ops::Range;

/// Bytes read at a time.
const BLOCK: usize = 64 << 10;

/// The bodies of one input.
pub struct Bodies<R> {
    source: R,
    /// The name of the entry that `source` is, when the input is a zip,
    entry: Option<Vec<u8>>,
    /// and those to come.
    entries: Option<Box<dyn Iterator<Item = Entry<R>> + Send>>,
    shape: Shape,
    buffer: Vec<u8>,
    /// The part of `buffer` that was read and not yet judged.
    unread: Range<usize>,
    /// Whether nothing more is to be judged.
    done: bool,
    /// Bytes judged, in the whole input.
    offset: u64,
    /// The present line, counted from 1.
    line: u64,
    with_header: bool,
    body: Body,
}

/// What an input holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Body,
    Lines,
    /// One or the other: the first line that is not blank has not ended.
    Unknown,
}

/// Where in its input a body stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is all of it.
    Whole,
    /// On this line, counted from 1.
    Line(u64),
    /// In the entry of this name.
    Entry(Vec<u8>),
}

/// What a body was judged to be.
#[derive(Debug, PartialEq)]
pub struct Judged {
    /// Where it stands.
    pub place: Place,
    /// The verdict. The header is empty unless it was asked for.
    pub verdict: Result<Header, Invalid>,
}

impl Judged {
    /// How messages name the body: the input, `INPUT:LINE` or `INPUT:ENTRY`.
    pub fn place(&self, input: &Input) -> String {
        match &self.place {
            Place::Whole => input.to_string(),
            Place::Line(line) => format!("{input}:{line}"),
            Place::Entry(name) => format!("{input}:{}", EntryName(name)),
        }
    }

    /// The verdict for programs, one line of JSON, as curt-check(1) lists its fields; `file` is what
    /// messages call the input. `warnings` are left out where nobody looked for any.
    pub fn report(&self, file: &str, warnings: Option<&[Warning]>) -> Vec<u8> {
        let mut out = Vec::new();
        let mut object = Writer::new(&mut out, Layout::Line);
        object.open(b'{');
        object.key("file");
        object.string(file.as_bytes());
        match &self.place {
            Place::Whole => {}
            Place::Line(line) => {
                object.key("line");
                object.scalar(line);
            }
            Place::Entry(name) => {
                object.key("entry");
                object.string(&entry_text(name));
            }
        }
        object.key("valid");
        object.scalar(self.verdict.is_ok());
        if let Err(invalid) = &self.verdict {
            object.key("rule");
            object.string(invalid.rule().as_bytes());
            match invalid {
                Invalid::Text(bad) => {
                    for (key, at) in [("offset", bad.offset), ("row", bad.line), ("column", bad.column)] {
                        object.key(key);
                        object.scalar(at);
                    }
                }
                Invalid::Field { path, .. } => {
                    object.key("path");
                    object.string(path.as_bytes());
                }
                _ => {}
            }
            object.key("reason");
            object.string(invalid.to_string().as_bytes());
        }
        if let Some(warnings) = warnings {
            object.key("warnings");
            object.open(b'[');
            for warning in warnings {
                object.open(b'{');
                object.key("rule");
                object.string(warning.rule.word().as_bytes());
                object.key("path");
                object.string(warning.path.as_bytes());
                object.key("count");
                object.scalar(warning.count);
                object.close(b'}');
            }
            object.close(b']');
        }
        object.close(b'}');
        out.push(b'\n');
        out
    }
}

/// The name of an entry, one line: text but for its control characters, other bytes escaped.
struct EntryName<'a>(&'a [u8]);

impl fmt::Display for EntryName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in String::from_utf8_lossy(&entry_text(self.0)).chars() {
            if c.is_control() { c.escape_default().fmt(f)? } else { f.write_char(c)? }
        }
        Ok(())
    }
}

/// The name of an entry as text: bytes that are no UTF-8 are escaped.
fn entry_text(name: &[u8]) -> Cow<'_, [u8]> {
    match std::str::from_utf8(name) {
        Ok(_) => name.into(),
        Err(_) => name.escape_ascii().collect::<Vec<u8>>().into(),
    }
}

/// What an input is read through.
pub type Source = Box<dyn Read + Send>;

impl Bodies<Source> {
    /// Open an input; its name tells whether it may hold lines, its first bytes whether it is a zip. What
    /// is a zip by its first bytes and nothing else is one body that is invalid.
    ///
    /// # Errors
    /// Those of [`bundle::open`].
    pub fn of(input: &Input) -> io::Result<Self> {
        let may_be_lines = match input {
            Input::Stdin => true,
            Input::File(path) => path.extension().is_some_and(|name| name == "ndjson" || name == "jsonl"),
        };
        match bundle::open(input) {
            Ok(Opened::Stream(source)) if may_be_lines => Ok(Bodies::or_lines(source)),
            Ok(Opened::Stream(source)) => Ok(Bodies::one(source)),
            Ok(Opened::Bundle(bundle)) => Ok(Bodies::entries(bundle)),
            Err(error) => Err(error),
        }
    }

    /// Open an input that holds lines, whatever its name; a zip is one all the same.
    ///
    /// # Errors
    /// Those of [`bundle::open`].
    pub fn lines_of(input: &Input) -> io::Result<Self> {
        Ok(match bundle::open(input)? {
            Opened::Stream(source) => Bodies::new(source, Shape::Lines),
            Opened::Bundle(bundle) => Bodies::entries(bundle),
        })
    }

    /// One body an entry.
    fn entries(entries: impl Iterator<Item = Entry<Source>> + Send + 'static) -> Self {
        let mut bodies = Bodies::one(Box::new(io::empty()) as Source);
        bodies.entries = Some(Box::new(entries));
        bodies.done = true;
        bodies
    }
}

impl<R: Read> Bodies<R> {
    /// One body.
    pub fn one(source: R) -> Self {
        Bodies::new(source, Shape::Body)
    }

    /// One body, or lines of one body each, as the first line tells.
    pub fn or_lines(source: R) -> Self {
        Bodies::new(source, Shape::Unknown)
    }

    fn new(source: R, shape: Shape) -> Self {
        Bodies {
            source,
            entry: None,
            entries: None,
            shape,
            buffer: vec![0; BLOCK],
            unread: 0..0,
            done: false,
            offset: 0,
            line: 1,
            with_header: false,
            body: Body::default(),
        }
    }

    /// Accept no body of more than so many bytes, line end not counted; 0 for any number. The rest of
    /// a longer line is passed over.
    pub fn limit(mut self, bytes: u64) -> Self {
        self.body.limit = bytes;
        self
    }

    /// Give the header of each body.
    pub fn with_header(mut self) -> Self {
        self.with_header = true;
        self.body.checker = self.checker();
        self
    }

    /// Keep each body, for [`Bodies::text`]. Memory then follows the largest one.
    pub fn keeping(mut self) -> Self {
        self.body.kept = Kept::Memory(Vec::new());
        self
    }

    /// Keep each body, for [`Bodies::read_again`]. Memory does not follow its size: what is large goes to a
    /// temporary file.
    pub fn spilling(mut self) -> Self {
        self.body.kept = Kept::Spill(Spill::default());
        self
    }

    /// The body that [`Bodies::next`] judged last, when bodies are kept: all of it when it was
    /// accepted, but the byte-order mark that may lead it and is no part of the JSON.
    pub fn text(&self) -> &[u8] {
        let Kept::Memory(text) = &self.body.kept else { return &[] };
        text.strip_prefix(&MARK).unwrap_or(text)
    }

    /// Whether that body began with a byte-order mark, when bodies are kept.
    pub fn marked(&self) -> bool {
        matches!(&self.body.kept, Kept::Memory(text) if text.starts_with(&MARK))
    }

    /// The same when bodies are spilled, from its beginning each time.
    ///
    /// # Errors
    /// Those of the temporary file.
    pub fn read_again(&mut self) -> io::Result<impl Read + '_> {
        let Kept::Spill(spill) = &mut self.body.kept else { return Err(ErrorKind::Unsupported.into()) };
        let mut all = spill.read()?;
        let mut head = Vec::with_capacity(MARK.len());
        all.by_ref().take(MARK.len() as u64).read_to_end(&mut head)?;
        if head == MARK {
            head.clear();
        }
        Ok(io::Cursor::new(head).chain(all))
    }

    /// The next body; blank lines are passed over. Of a body that is no line no more is read than up to its
    /// first fault.
    ///
    /// # Errors
    /// Those of reading; an interrupted read is tried again, and what is wrong with an entry of a zip
    /// ([`ErrorKind::InvalidData`]) is its verdict.
    #[allow(clippy::should_implement_trait, reason = "an iterator does not end at an error")]
    pub fn next(&mut self) -> io::Result<Option<Judged>> {
        self.body.forget()?;
        if self.done
            && let Some(entry) = self.entries.as_mut().and_then(Iterator::next)
        {
            self.begin(entry);
        }
        while !self.done {
            match self.unread.is_empty().then(|| self.read()) {
                None | Some(Ok(true)) => {}
                Some(Ok(false)) => return Ok(self.end_of_input()),
                Some(Err(error)) if error.kind() == ErrorKind::InvalidData => {
                    self.body.fault.get_or_insert(Invalid::Unpacked(error.to_string()));
                    return Ok(Some(self.end_of_body()));
                }
                Some(Err(error)) => return Err(error),
            }
            if self.take()? {
                match self.shape {
                    Shape::Lines if self.body.is_blank() => {
                        self.end_of_line();
                        self.body.forget()?;
                    }
                    Shape::Lines => return Ok(Some(self.end_of_line())),
                    Shape::Unknown if self.body.is_blank() => {
                        self.line += 1;
                        self.body.feed(b"\n")?;
                    }
                    Shape::Unknown if self.body.checker.is_complete() => {
                        self.shape = Shape::Lines;
                        return Ok(Some(self.end_of_line()));
                    }
                    Shape::Unknown | Shape::Body => {
                        self.shape = Shape::Body;
                        self.body.feed(b"\n")?;
                    }
                }
            }
            let is_final = match (self.shape, &self.body.fault) {
                (_, None) | (Shape::Lines, _) => false,
                // It may yet turn out to be the first of many lines.
                (Shape::Unknown, Some(Invalid::TooLarge(_))) => false,
                (Shape::Unknown | Shape::Body, Some(_)) => true,
            };
            if is_final {
                return Ok(Some(self.end_of_body()));
            }
        }
        Ok(None)
    }

    /// Fill the buffer; whether there was anything.
    fn read(&mut self) -> io::Result<bool> {
        loop {
            match self.source.read(&mut self.buffer) {
                Ok(count) => {
                    self.unread = 0..count;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Judge what was read: all of it, or as far as the present line goes if lines matter. Whether a
    /// line has ended; its end is not judged with it.
    fn take(&mut self) -> io::Result<bool> {
        let unread = self.buffer.get(self.unread.clone()).unwrap_or_default();
        let line_end = match self.shape {
            Shape::Body => None,
            Shape::Lines | Shape::Unknown => memchr::memchr(b'\n', unread),
        };
        let piece = line_end.and_then(|end| unread.get(..end)).unwrap_or(unread);
        self.body.feed(piece)?;
        let taken = piece.len() + usize::from(line_end.is_some());
        self.unread.start += taken;
        self.offset += taken as u64;
        Ok(line_end.is_some())
    }

    /// Go on with the next entry of a zip.
    fn begin(&mut self, entry: Entry<R>) {
        self.source = entry.data;
        self.entry = Some(entry.name).filter(|name| !name.is_empty());
        (self.offset, self.line) = (0, 1);
        self.body.checker = self.checker();
        self.done = false;
    }

    fn end_of_line(&mut self) -> Judged {
        let place = Place::Line(self.line);
        self.line += 1;
        Judged { place, verdict: self.verdict() }
    }

    /// Nothing more of this body is judged, and it is the last one but for the entries to come.
    fn end_of_body(&mut self) -> Judged {
        self.done = true;
        self.unread = 0..0;
        let place = self.entry.take().map_or(Place::Whole, Place::Entry);
        Judged { place, verdict: self.verdict() }
    }

    fn end_of_input(&mut self) -> Option<Judged> {
        self.done = true;
        match self.shape {
            Shape::Lines if self.body.is_blank() => None,
            Shape::Lines => Some(self.end_of_line()),
            Shape::Unknown if self.body.checker.is_complete() => Some(self.end_of_line()),
            Shape::Unknown | Shape::Body => Some(self.end_of_body()),
        }
    }

    /// The verdict on the present body; the next one begins here.
    fn verdict(&mut self) -> Result<Header, Invalid> {
        let next = self.checker();
        let checker = std::mem::replace(&mut self.body.checker, next);
        self.body.size = 0;
        self.body.fault.take().map_or_else(|| checker.finish(), Err)
    }

    /// For a body that begins here.
    fn checker(&self) -> Checker {
        let checker = Checker::starting_at(self.offset, self.line);
        if self.with_header { checker.with_header() } else { checker }
    }
}

/// The present body.
#[derive(Debug, Default)]
struct Body {
    checker: Checker,
    /// What is wrong with it, as far as it is known.
    fault: Option<Invalid>,
    /// Bytes of it,
    size: u64,
    /// and how many it may have; 0 for any number.
    limit: u64,
    /// Its text as far as the limit.
    kept: Kept,
}

/// Where the text of a body is kept.
#[derive(Debug, Default)]
enum Kept {
    #[default]
    Nowhere,
    Memory(Vec<u8>),
    Spill(Spill),
}

impl Body {
    /// An error is one of the temporary file.
    fn feed(&mut self, piece: &[u8]) -> io::Result<()> {
        let free = if self.limit == 0 { u64::MAX } else { self.limit.saturating_sub(self.size) };
        let within = usize::try_from(free).unwrap_or(usize::MAX).min(piece.len());
        let (within, beyond) = piece.split_at_checked(within).unwrap_or((piece, &[]));
        self.size += piece.len() as u64;
        match &mut self.kept {
            Kept::Nowhere => {}
            Kept::Memory(text) => text.extend_from_slice(within),
            // Nobody reads what is known to be invalid.
            Kept::Spill(spill) if self.fault.is_none() => {
                spill.buffer().extend_from_slice(within);
                spill.settle()?;
            }
            Kept::Spill(_) => {}
        }
        if self.fault.is_none() {
            self.fault = self.checker.feed(within).err();
        }
        if !beyond.is_empty() {
            self.fault.get_or_insert(Invalid::TooLarge(self.limit));
            // A first line that is too long is a line all the same: the checker must see its end.
            let _ = self.checker.feed(beyond);
        }
        Ok(())
    }

    fn is_blank(&self) -> bool {
        self.checker.is_blank() && self.fault.is_none()
    }

    fn forget(&mut self) -> io::Result<()> {
        match &mut self.kept {
            Kept::Nowhere => {}
            Kept::Memory(text) => text.clear(),
            Kept::Spill(spill) => spill.clear()?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
