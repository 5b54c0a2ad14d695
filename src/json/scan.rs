//! The exact push scanner: the verdict of JavaScript's `JSON.parse`, plus strict UTF-8, on a text
//! that arrives in blocks cut anywhere.
//!
//! "The body parses as JSON" is the first rule of a `.curt` file, and the reference reader is
//! JavaScript. So any depth, any length, any size of number (`1e400` is one) and lone surrogates are
//! accepted, and the byte sequences that JavaScript's strict decoder refuses are not. One bit is kept
//! for each open level and a few words besides, whatever the size of the text.
//!
//! Nothing is materialised. Who wants to know more than the verdict passes a [`Visit`] and says of
//! each value whether it wants to see its members, its text, or nothing of it.

use super::raw::Kind;
use super::short::Short;
use super::skip::{self, Escape, Stop};
use std::fmt;

/// What a visitor wants to know of the value that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Nothing more. What is inside costs no event.
    Nothing,
    /// The text of a string, number or literal as it stands, quotes and escapes included.
    Text,
    /// The keys and values inside an object or array.
    Members,
}

/// What a reader of values sees. The events come before the verdict: what they told is void when
/// the text turns out not to be JSON.
pub trait Visit {
    /// A key of the object whose members are wanted, unescaped; `None` for one that is longer than
    /// [`Short::MAX`] or not ASCII, which no name of ours is. Its value begins next.
    fn key(&mut self, _name: Option<&[u8]>) {}

    /// A value begins: the whole text, or a member of something whose members are wanted.
    fn begin(&mut self, _kind: Kind) -> Want {
        Want::Nothing
    }

    /// The next piece of the text that is wanted.
    fn text(&mut self, _piece: &[u8]) {}

    /// The value whose text or members were wanted has ended.
    fn end(&mut self) {}
}

/// For those who want the verdict alone.
impl Visit for () {}

/// Why and where a text is not JSON. Not a word of the text is in it but the character at that place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bad {
    /// Bytes before the first that cannot stand where it is.
    pub offset: u64,
    /// Its line, counted from 1.
    pub line: u64,
    /// Its place in the line in bytes, counted from 1.
    pub column: u64,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What is wrong with the byte at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is in no UTF-8 character: stray, overlong, half of a surrogate pair, cut off.
    NotUtf8,
    /// It is UTF-8, but not JSON.
    NotJson {
        /// What could have stood there.
        expected: Expected,
        /// What does: a character, or the end of the text.
        found: Option<char>,
    },
}

/// What could have stood at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Any value.
    Value,
    /// The first item of an array, or its end.
    ValueOrEnd,
    /// A key.
    Key,
    /// The first key of an object, or its end.
    KeyOrEnd,
    /// The colon after a key.
    Colon,
    /// A comma, or the end of an object.
    CommaOrBrace,
    /// A comma, or the end of an array.
    CommaOrBracket,
    /// Nothing but white space, after the value that is the text.
    Nothing,
    /// A digit of a number.
    Digit,
    /// The rest of `true`, `false` or `null`.
    Literal,
    /// The rest of a string; control characters must be escaped in it.
    Character,
    /// The character after a backslash.
    Escape,
    /// A digit of `\uXXXX`.
    HexDigit,
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Bad { offset, line, column, reason } = self;
        match reason {
            Reason::NotUtf8 => write!(f, "not UTF-8 at byte {offset} (line {line}, column {column})"),
            Reason::NotJson { expected, found } => {
                write!(
                    f,
                    "not JSON at byte {offset} (line {line}, column {column}): expected {expected}, found "
                )?;
                match found {
                    None => write!(f, "the end"),
                    Some(c) if c.is_ascii_graphic() => write!(f, "{c:?}"),
                    Some(c) => write!(f, "U+{:04X}", u32::from(*c)),
                }
            }
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Expected::Value => "a value",
            Expected::ValueOrEnd => "a value or ']'",
            Expected::Key => "a key",
            Expected::KeyOrEnd => "a key or '}'",
            Expected::Colon => "':'",
            Expected::CommaOrBrace => "',' or '}'",
            Expected::CommaOrBracket => "',' or ']'",
            Expected::Nothing => "nothing more",
            Expected::Digit => "a digit",
            Expected::Literal => "true, false or null",
            Expected::Character => "the rest of a string",
            Expected::Escape => "one of \\\"/bfnrtu",
            Expected::HexDigit => "a hexadecimal digit",
        })
    }
}

impl std::error::Error for Bad {}

/// Judge one complete text; a byte-order mark is no part of JSON.
pub fn validate(text: &[u8]) -> Result<(), Bad> {
    let mut scan = Scan::new(());
    scan.feed(text)?;
    scan.finish()
}

/// A text being scanned.
#[derive(Debug)]
pub struct Scan<V> {
    visitor: V,
    at: At,
    /// How far the present string has come,
    escape: Escape,
    /// the present number,
    number: Number,
    /// and the present literal: its bytes still to come.
    literal: &'static [u8],
    levels: Levels,
    /// How many levels were open, with it, when the container began whose inside nobody wants;
    /// 0 when there is none.
    muted: u64,
    /// Whether the text of the present string, number or literal is wanted.
    wanted: bool,
    key: Short,
    /// The bytes of a character that the last block cut off.
    cut: Vec<u8>,
    place: Place,
    bad: Option<Bad>,
}

/// Where the scanner stands.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Bytes scanned.
    offset: u64,
    line: u64,
    /// Offset of the line's first byte.
    line_start: u64,
}

/// What comes next. White space may stand before the first seven, not inside the others.
#[derive(Clone, Copy, Debug)]
enum At {
    Value,
    FirstItem,
    Key,
    FirstKey,
    Colon,
    /// A comma or the end of the container.
    Comma,
    /// The end of the text.
    End,
    InKey,
    InString,
    InNumber,
    InLiteral,
}

/// How far a number has come.
#[derive(Clone, Copy, Debug)]
enum Number {
    Start,
    Minus,
    Zero,
    Whole,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

impl Number {
    /// Whether it may end here.
    fn is_whole(self) -> bool {
        matches!(self, Number::Zero | Number::Whole | Number::Fraction | Number::Exponent)
    }
}

/// A byte that cannot stand where it is: what could have, and the bytes of the block from it on.
type Stray<'a> = (Expected, &'a [u8]);

impl<V: Visit> Scan<V> {
    /// Nothing scanned yet.
    pub fn new(visitor: V) -> Scan<V> {
        Scan::starting_at(visitor, 0, 1)
    }

    /// The same for a text inside a file: what is wrong is reported at its place in the file. The
    /// text begins a line; `offset` bytes stand before it.
    pub fn starting_at(visitor: V, offset: u64, line: u64) -> Scan<V> {
        Scan {
            visitor,
            at: At::Value,
            escape: Escape::No,
            number: Number::Start,
            literal: &[],
            levels: Levels::default(),
            muted: 0,
            wanted: false,
            key: Short::new(),
            cut: Vec::new(),
            place: Place { offset, line, line_start: offset },
            bad: None,
        }
    }

    /// The visitor.
    pub fn visitor_mut(&mut self) -> &mut V {
        &mut self.visitor
    }

    /// Count bytes before the text that are no part of it, such as a byte-order mark.
    pub fn skip(&mut self, bytes: u64) {
        self.place.offset += bytes;
        self.place.line_start += bytes;
    }

    /// Scan the next block; it may end anywhere, also inside a character. After an error every
    /// further call gives the same one.
    pub fn feed(&mut self, block: &[u8]) -> Result<(), Bad> {
        match self.bad {
            Some(bad) => Err(bad),
            None => self.characters(block).inspect_err(|bad| self.bad = Some(*bad)),
        }
    }

    /// The text has ended: the verdict, and the visitor.
    pub fn finish(mut self) -> Result<V, Bad> {
        if let Some(bad) = self.bad {
            return Err(bad);
        }
        if !self.cut.is_empty() {
            return Err(self.bad(Reason::NotUtf8));
        }
        match self.at {
            At::End => Ok(self.visitor),
            At::InNumber if self.number.is_whole() && self.levels.depth == 0 => {
                self.ended();
                Ok(self.visitor)
            }
            _ => Err(self.bad(Reason::NotJson { expected: self.expected(), found: None })),
        }
    }

    /// Whether what was fed is a complete JSON text as it stands.
    pub fn is_complete(&self) -> bool {
        let value = match self.at {
            At::End => true,
            At::InNumber => self.number.is_whole() && self.levels.depth == 0,
            _ => false,
        };
        value && self.cut.is_empty() && self.bad.is_none()
    }

    /// Whether nothing but white space was fed.
    pub fn is_blank(&self) -> bool {
        matches!(self.at, At::Value) && self.levels.depth == 0 && self.cut.is_empty() && self.bad.is_none()
    }

    /// Cut a block at the end of its last whole character. What is before an invalid byte is judged
    /// first, so that the first error of a text is the same however it is cut into blocks.
    fn characters(&mut self, mut block: &[u8]) -> Result<(), Bad> {
        while !self.cut.is_empty()
            && let Some((&byte, more)) = block.split_first()
        {
            block = more;
            self.cut.push(byte);
            match std::str::from_utf8(&self.cut) {
                Ok(_) => {
                    let character = std::mem::take(&mut self.cut);
                    self.block(&character)?;
                }
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return Err(self.bad(Reason::NotUtf8)),
            }
        }
        let (whole, cut) = block.split_at_checked(block.len() - cut_off(block)).unwrap_or((block, &[]));
        if simdutf8::basic::from_utf8(whole).is_err() {
            let valid = whole.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            self.block(valid.as_bytes())?;
            return Err(self.bad(Reason::NotUtf8));
        }
        self.cut.extend_from_slice(cut);
        self.block(whole)
    }

    /// Scan whole characters.
    fn block(&mut self, block: &[u8]) -> Result<(), Bad> {
        let start = self.place.offset;
        let end = start + block.len() as u64;
        let mut rest = block;
        while !rest.is_empty() {
            rest = match self.step(rest, end) {
                Ok(rest) => rest,
                Err((expected, rest)) => {
                    self.place.offset = end - rest.len() as u64;
                    let found = rest.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
                    return Err(self.bad(Reason::NotJson { expected, found }));
                }
            };
        }
        self.place.offset = end;
        Ok(())
    }

    /// Take what comes next, or as much of it as the block holds, and return the rest. `end` is the
    /// block's end in the text.
    fn step<'a>(&mut self, rest: &'a [u8], end: u64) -> Result<&'a [u8], Stray<'a>> {
        match self.at {
            At::InKey => return self.key(rest),
            At::InString => return self.string(rest),
            At::InNumber => return self.number(rest),
            At::InLiteral => return self.literal(rest),
            _ => {}
        }
        let rest = self.white_space(rest, end);
        let [byte, tail @ ..] = rest else { return Ok(rest) };
        match (self.at, byte) {
            (At::Value | At::FirstItem, b'"') => {
                self.begin(Kind::String);
                if self.wanted {
                    self.visitor.text(b"\"");
                }
                self.at = At::InString;
                self.string(tail)
            }
            (At::Value | At::FirstItem, b'{') => {
                self.open(Kind::Object);
                self.at = At::FirstKey;
                Ok(tail)
            }
            (At::Value | At::FirstItem, b'[') => {
                self.open(Kind::Array);
                self.at = At::FirstItem;
                Ok(tail)
            }
            (At::Value | At::FirstItem, b'-' | b'0'..=b'9') => {
                self.begin(Kind::Number);
                (self.at, self.number) = (At::InNumber, Number::Start);
                self.number(rest)
            }
            (At::Value | At::FirstItem, b't') => {
                self.begin(Kind::True);
                (self.at, self.literal) = (At::InLiteral, b"true");
                self.literal(rest)
            }
            (At::Value | At::FirstItem, b'f') => {
                self.begin(Kind::False);
                (self.at, self.literal) = (At::InLiteral, b"false");
                self.literal(rest)
            }
            (At::Value | At::FirstItem, b'n') => {
                self.begin(Kind::Null);
                (self.at, self.literal) = (At::InLiteral, b"null");
                self.literal(rest)
            }
            (At::Key | At::FirstKey, b'"') => {
                self.key = Short::new();
                self.at = At::InKey;
                self.key(tail)
            }
            (At::Colon, b':') => {
                self.at = At::Value;
                Ok(tail)
            }
            (At::Comma, b',') => {
                self.at = if self.levels.in_object() { At::Key } else { At::Value };
                Ok(tail)
            }
            (At::FirstItem, b']') | (At::FirstKey, b'}') => {
                self.close();
                Ok(tail)
            }
            (At::Comma, b'}' | b']') if self.levels.in_object() == (*byte == b'}') => {
                self.close();
                Ok(tail)
            }
            _ => Err((self.expected(), rest)),
        }
    }

    /// Raw line ends can stand only here, so lines are counted only here.
    fn white_space<'a>(&mut self, mut rest: &'a [u8], end: u64) -> &'a [u8] {
        while let [byte @ (b' ' | b'\t' | b'\n' | b'\r'), tail @ ..] = rest {
            rest = tail;
            if *byte == b'\n' {
                self.place.line += 1;
                self.place.line_start = end - rest.len() as u64;
                rest = rest.get(skip::indent(rest)..).unwrap_or_default();
            }
        }
        rest
    }

    fn key<'a>(&mut self, rest: &'a [u8]) -> Result<&'a [u8], Stray<'a>> {
        let (used, stop) = skip::string(rest, &mut self.escape);
        let (piece, rest) = rest.split_at_checked(used).unwrap_or((rest, &[]));
        if self.muted == 0 {
            self.key.push(piece);
        }
        match stop {
            Stop::Block => Ok(rest),
            Stop::Stray => Err((self.expected(), rest)),
            Stop::Quote => {
                if self.muted == 0 {
                    self.visitor.key(self.key.get());
                }
                self.at = At::Colon;
                Ok(rest.get(1..).unwrap_or_default())
            }
        }
    }

    fn string<'a>(&mut self, rest: &'a [u8]) -> Result<&'a [u8], Stray<'a>> {
        let (used, stop) = skip::string(rest, &mut self.escape);
        let used = used + usize::from(stop == Stop::Quote);
        let (piece, rest) = rest.split_at_checked(used).unwrap_or((rest, &[]));
        if self.wanted {
            self.visitor.text(piece);
        }
        match stop {
            Stop::Block => Ok(rest),
            Stop::Stray => Err((self.expected(), rest)),
            Stop::Quote => {
                self.ended();
                Ok(rest)
            }
        }
    }

    fn number<'a>(&mut self, rest: &'a [u8]) -> Result<&'a [u8], Stray<'a>> {
        use Number::*;
        let mut number = self.number;
        let mut after = rest;
        let mut ended = false;
        while let [byte, tail @ ..] = after {
            number = match (number, byte) {
                (Start, b'-') => Minus,
                (Start | Minus, b'0') => Zero,
                (Start | Minus, b'1'..=b'9') | (Whole, b'0'..=b'9') => Whole,
                (Zero | Whole, b'.') => Point,
                (Point | Fraction, b'0'..=b'9') => Fraction,
                (Zero | Whole | Fraction, b'e' | b'E') => E,
                (E, b'+' | b'-') => Sign,
                (E | Sign | Exponent, b'0'..=b'9') => Exponent,
                _ if number.is_whole() => {
                    ended = true;
                    break;
                }
                _ => return Err((Expected::Digit, after)),
            };
            after = tail;
        }
        self.number = number;
        if self.wanted {
            self.visitor.text(rest.get(..rest.len() - after.len()).unwrap_or_default());
        }
        if ended {
            self.ended();
        }
        Ok(after)
    }

    fn literal<'a>(&mut self, rest: &'a [u8]) -> Result<&'a [u8], Stray<'a>> {
        let (mut left, mut after) = (self.literal, rest);
        while let ([due, later @ ..], [byte, tail @ ..]) = (left, after) {
            if due != byte {
                return Err((Expected::Literal, after));
            }
            (left, after) = (later, tail);
        }
        self.literal = left;
        if self.wanted {
            self.visitor.text(rest.get(..rest.len() - after.len()).unwrap_or_default());
        }
        if left.is_empty() {
            self.ended();
        }
        Ok(after)
    }

    /// A string, number or literal begins.
    fn begin(&mut self, kind: Kind) {
        self.wanted = self.muted == 0 && self.visitor.begin(kind) == Want::Text;
    }

    /// It has ended.
    fn ended(&mut self) {
        if std::mem::take(&mut self.wanted) {
            self.visitor.end();
        }
        self.at = if self.levels.depth == 0 { At::End } else { At::Comma };
    }

    /// An object or array begins.
    fn open(&mut self, kind: Kind) {
        self.levels.push(kind == Kind::Object);
        if self.muted == 0 && self.visitor.begin(kind) != Want::Members {
            self.muted = self.levels.depth;
        }
    }

    /// It has ended.
    fn close(&mut self) {
        if self.muted == 0 {
            self.visitor.end();
        } else if self.muted == self.levels.depth {
            self.muted = 0;
        }
        self.levels.pop();
        self.at = if self.levels.depth == 0 { At::End } else { At::Comma };
    }

    /// What could stand here.
    fn expected(&self) -> Expected {
        match (self.at, self.escape) {
            (At::Value, _) => Expected::Value,
            (At::FirstItem, _) => Expected::ValueOrEnd,
            (At::Key, _) => Expected::Key,
            (At::FirstKey, _) => Expected::KeyOrEnd,
            (At::Colon, _) => Expected::Colon,
            (At::Comma, _) if self.levels.in_object() => Expected::CommaOrBrace,
            (At::Comma, _) => Expected::CommaOrBracket,
            (At::End, _) => Expected::Nothing,
            (At::InKey | At::InString, Escape::No) => Expected::Character,
            (At::InKey | At::InString, Escape::Letter) => Expected::Escape,
            (At::InKey | At::InString, Escape::Hex(_)) => Expected::HexDigit,
            // A number that could end here does not end the text: a container is open.
            (At::InNumber, _) if self.number.is_whole() && self.levels.in_object() => Expected::CommaOrBrace,
            (At::InNumber, _) if self.number.is_whole() => Expected::CommaOrBracket,
            (At::InNumber, _) => Expected::Digit,
            (At::InLiteral, _) => Expected::Literal,
        }
    }

    fn bad(&self, reason: Reason) -> Bad {
        let Place { offset, line, line_start } = self.place;
        Bad { offset, line, column: offset - line_start + 1, reason }
    }
}

/// How many bytes at the end of a block begin a character that is not all there.
fn cut_off(block: &[u8]) -> usize {
    let ends = (1..4_usize).filter_map(|bytes| block.get(block.len().checked_sub(bytes)?..));
    let is_cut = |end: &&[u8]| {
        std::str::from_utf8(end).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    ends.filter(is_cut).map(<[u8]>::len).next().unwrap_or(0)
}

/// The open levels, one bit each: whether it is an object.
#[derive(Debug, Default)]
struct Levels {
    depth: u64,
    /// The innermost levels, the last one lowest, up to a multiple of 64 of them.
    near: u64,
    /// The others, 64 a word.
    far: Vec<u64>,
}

impl Levels {
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.far.push(self.near);
        }
        self.near = self.near << 1 | u64::from(object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.near >>= 1;
        self.depth = self.depth.saturating_sub(1);
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.near = self.far.pop().unwrap_or_default();
        }
    }

    fn in_object(&self) -> bool {
        self.near & 1 == 1
    }
}

#[cfg(test)]
mod tests;
