//! The frozen rules of format version 1 (the spec, "Validation rules"), held over a body that
//! streams by in blocks cut anywhere.
//!
//! A body is accepted when, and only when:
//!
//! 1. it parses as JSON, after at most one leading UTF-8 byte-order mark;
//! 2. `curt` is exactly `"curtis-conversation"` and `version` is exactly the number 1;
//! 3. `conversation` has `id` and `title` as strings, `createdAt` and `updatedAt` as numbers, and
//!    `messages` as an array in which every entry has `id` and `content` as strings, `role` as one of
//!    four, `timestamp` as a number.
//!
//! The reference reader is JavaScript, so of equal keys the last one counts, at every level: what a
//! field was found to be is overwritten when it comes again, and a second `conversation` or `messages`
//! starts over. Only at the end is it known which fault stands. `1.0` and `10e-1` are the number 1,
//! `1e400` is a number, an unknown field may hold anything.
//!
//! Memory is a few hundred bytes and a bit for each open level, whatever the size of the body; only
//! [`Checker::with_header`] keeps more, the conversation's id and title.

use crate::json::decimal::Decimal;
use crate::json::raw::Kind;
use crate::json::scan::{Bad, Reason, Scan, Visit, Want};
use crate::json::short::Short;
use std::fmt;

/// What `curt` must be.
const MAGIC: &[u8] = b"curtis-conversation";

/// UTF-8's byte-order mark, which may lead a body once.
pub const MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// Why a body is no `.curt`: the first rule it breaks, in the order of the spec. Displays as one line
/// in which nothing of the body's text stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// Not UTF-8, or not JSON.
    Text(Bad),
    /// A value that no version could be: not an object.
    Body(Kind),
    /// `curt` is not the magic string.
    Magic(Found),
    /// `version` is not the number 1.
    Version(Found),
    /// A field is missing, or is not what it must be.
    Field {
        /// Where, as JavaScript would write it: `conversation.messages[3].role`.
        path: String,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: Found,
    },
    /// More than so many bytes, which whoever reads bodies has set as their limit.
    TooLarge(u64),
    /// An entry of a zip that cannot be unpacked, or a zip that is none: why.
    Unpacked(String),
}

/// What stands where something else must.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing: the key is missing.
    Nothing,
    /// A value of the wrong kind.
    Kind(Kind),
    /// A value of the right kind, but not the right one.
    Another(Kind),
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Invalid::Text(bad) => bad.fmt(f),
            Invalid::Body(kind) => write!(f, "not a .curt body: expected an object, found {kind}"),
            Invalid::Magic(found) => {
                write!(f, "wrong magic: expected curt to be \"curtis-conversation\", found {found}")
            }
            Invalid::Version(found) => {
                write!(f, "wrong version: expected version to be the number 1, found {found}")
            }
            Invalid::Field { path, expected, found } => {
                write!(f, "{path}: expected {expected}, found {found}")
            }
            Invalid::TooLarge(limit) => write!(f, "too large: more than {limit} bytes"),
            Invalid::Unpacked(reason) => f.write_str(reason),
        }
    }
}

impl Invalid {
    /// One word for what is wrong, which later versions keep.
    pub fn rule(&self) -> &'static str {
        match self {
            Invalid::Text(Bad { reason: Reason::NotUtf8, .. }) => "not-utf8",
            Invalid::Text(_) => "not-json",
            Invalid::Body(_) => "not-object",
            Invalid::Magic(_) => "wrong-magic",
            Invalid::Version(_) => "wrong-version",
            Invalid::Field { found: Found::Nothing, .. } => "missing-field",
            Invalid::Field { .. } => "wrong-field",
            Invalid::TooLarge(_) => "too-large",
            Invalid::Unpacked(_) => "not-unpacked",
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Found::Nothing => f.write_str("nothing"),
            Found::Kind(kind) => kind.fmt(f),
            Found::Another(Kind::Number) => f.write_str("another number"),
            Found::Another(_) => f.write_str("another string"),
        }
    }
}

impl std::error::Error for Invalid {}

impl From<Bad> for Invalid {
    fn from(bad: Bad) -> Invalid {
        Invalid::Text(bad)
    }
}

/// Which conversation a body holds: the fields that its file name and its place in a folder are made
/// of. Those that count, where a key comes twice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// `conversation.id`, as the JSON string token that stands in the body.
    pub id: Vec<u8>,
    /// `conversation.title`, likewise.
    pub title: Vec<u8>,
    /// `conversation.createdAt`: epoch milliseconds, any number, perhaps infinite.
    pub created_at: f64,
    /// `conversation.updatedAt`, likewise.
    pub updated_at: f64,
}

/// Judge a whole body.
pub fn check(body: &[u8]) -> Result<(), Invalid> {
    let mut checker = Checker::new();
    checker.feed(body)?;
    checker.finish().map(drop)
}

/// A body being judged.
#[derive(Debug)]
pub struct Checker {
    scan: Scan<Body>,
    mark: Mark,
}

/// Whether the body begins with a byte-order mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// So many bytes of it have come, and nothing else.
    Begun(usize),
    /// It does, or does not.
    Known,
}

impl Checker {
    /// For the verdict alone.
    pub fn new() -> Checker {
        Checker::starting_at(0, 1)
    }

    /// For the verdict and the [`Header`].
    pub fn with_header(mut self) -> Checker {
        self.scan.visitor_mut().header = Some(Header::default());
        self
    }

    /// For a body that is a line of a file: what is wrong is reported at its place in the file.
    /// `offset` bytes stand before it, `line` is its number, counted from 1.
    pub fn starting_at(offset: u64, line: u64) -> Checker {
        let scan = Scan::starting_at(Body::default(), offset, line);
        Checker { scan, mark: Mark::Begun(0) }
    }

    /// Take the next block of the body. It is not accepted before [`Checker::finish`] says so; an error
    /// is final.
    pub fn feed(&mut self, block: &[u8]) -> Result<(), Invalid> {
        let block = self.without_mark(block)?;
        Ok(self.scan.feed(block)?)
    }

    /// The body has ended: the verdict. The header is empty unless it was asked for.
    pub fn finish(mut self) -> Result<Header, Invalid> {
        self.no_mark()?;
        self.scan.finish()?.verdict()
    }

    /// Whether what was fed is a complete JSON text as it stands, a `.curt` body or not.
    pub fn is_complete(&self) -> bool {
        self.scan.is_complete()
    }

    /// Whether nothing but white space was fed.
    pub fn is_blank(&self) -> bool {
        self.scan.is_blank() && matches!(self.mark, Mark::Begun(0) | Mark::Known)
    }

    /// The block without what belongs to the one mark that may lead the body.
    fn without_mark<'a>(&mut self, mut block: &'a [u8]) -> Result<&'a [u8], Invalid> {
        while let (Mark::Begun(count), [byte, rest @ ..]) = (self.mark, block) {
            if MARK.get(count) != Some(byte) {
                self.no_mark()?;
                break;
            }
            block = rest;
            self.mark = Mark::Begun(count + 1);
            if count + 1 == MARK.len() {
                self.mark = Mark::Known;
                self.scan.skip(MARK.len() as u64);
            }
        }
        Ok(block)
    }

    /// There is none: what looked like its beginning belongs to the text.
    fn no_mark(&mut self) -> Result<(), Invalid> {
        if let Mark::Begun(count) = self.mark {
            self.mark = Mark::Known;
            self.scan.feed(MARK.get(..count).unwrap_or_default())?;
        }
        Ok(())
    }
}

impl Default for Checker {
    fn default() -> Checker {
        Checker::new()
    }
}

/// What a field was last found to be; `None` while it is missing.
type Last = Option<Kind>;

/// What is known of the body so far.
#[derive(Debug, Default)]
struct Body {
    kind: Last,
    curt: Last,
    is_magic: bool,
    version: Last,
    is_one: bool,
    conversation: Conversation,
    /// Filled when it is wanted.
    header: Option<Header>,
    /// Whose members come,
    inside: Inside,
    /// the key of the next one,
    key: Key,
    /// and the value whose text comes.
    reading: Option<Key>,
    short: Short,
    number: Decimal,
}

#[derive(Debug, Default)]
struct Conversation {
    kind: Last,
    id: Last,
    title: Last,
    created_at: Last,
    updated_at: Last,
    messages: Last,
    /// How many messages have ended,
    count: u64,
    /// what is wrong with the first bad one,
    fault: Option<Invalid>,
    /// and the present one.
    message: Message,
}

#[derive(Debug, Default)]
struct Message {
    id: Last,
    role: Last,
    is_role: bool,
    content: Last,
    timestamp: Last,
}

#[derive(Clone, Copy, Debug, Default)]
enum Inside {
    #[default]
    Nothing,
    Body,
    Conversation,
    Messages,
    Message,
}

/// The keys that the rules name.
#[derive(Clone, Copy, Debug, Default)]
enum Key {
    Curt,
    Version,
    Conversation,
    Id,
    Title,
    CreatedAt,
    UpdatedAt,
    Messages,
    Role,
    Content,
    Timestamp,
    #[default]
    Other,
}

impl Visit for Body {
    fn key(&mut self, name: Option<&[u8]>) {
        self.key = match name.unwrap_or_default() {
            b"curt" => Key::Curt,
            b"version" => Key::Version,
            b"conversation" => Key::Conversation,
            b"id" => Key::Id,
            b"title" => Key::Title,
            b"createdAt" => Key::CreatedAt,
            b"updatedAt" => Key::UpdatedAt,
            b"messages" => Key::Messages,
            b"role" => Key::Role,
            b"content" => Key::Content,
            b"timestamp" => Key::Timestamp,
            _ => Key::Other,
        };
    }

    fn begin(&mut self, kind: Kind) -> Want {
        let conversation = &mut self.conversation;
        let message = &mut conversation.message;
        let last = match (self.inside, self.key) {
            (Inside::Nothing, _) => &mut self.kind,
            (Inside::Body, Key::Curt) => &mut self.curt,
            (Inside::Body, Key::Version) => &mut self.version,
            (Inside::Body, Key::Conversation) => {
                *conversation = Conversation::default();
                &mut conversation.kind
            }
            (Inside::Conversation, Key::Id) => &mut conversation.id,
            (Inside::Conversation, Key::Title) => &mut conversation.title,
            (Inside::Conversation, Key::CreatedAt) => &mut conversation.created_at,
            (Inside::Conversation, Key::UpdatedAt) => &mut conversation.updated_at,
            (Inside::Conversation, Key::Messages) => {
                (conversation.count, conversation.fault) = (0, None);
                &mut conversation.messages
            }
            (Inside::Messages, _) => {
                *message = Message::default();
                if kind != Kind::Object {
                    conversation.judge_message(Some(kind));
                    return Want::Nothing;
                }
                self.inside = Inside::Message;
                return Want::Members;
            }
            (Inside::Message, Key::Id) => &mut message.id,
            (Inside::Message, Key::Role) => &mut message.role,
            (Inside::Message, Key::Content) => &mut message.content,
            (Inside::Message, Key::Timestamp) => &mut message.timestamp,
            _ => return Want::Nothing,
        };
        *last = Some(kind);
        match (self.inside, self.key, kind) {
            (Inside::Nothing, _, Kind::Object) => self.enter(Inside::Body),
            (Inside::Body, Key::Conversation, Kind::Object) => self.enter(Inside::Conversation),
            (Inside::Conversation, Key::Messages, Kind::Array) => self.enter(Inside::Messages),
            (Inside::Body, Key::Curt, Kind::String)
            | (Inside::Body, Key::Version, Kind::Number)
            | (Inside::Message, Key::Role, Kind::String) => self.read(),
            (Inside::Conversation, Key::Id | Key::Title, Kind::String)
            | (Inside::Conversation, Key::CreatedAt | Key::UpdatedAt, Kind::Number)
                if self.header.is_some() =>
            {
                self.read()
            }
            _ => Want::Nothing,
        }
    }

    fn text(&mut self, piece: &[u8]) {
        match (self.reading, &mut self.header) {
            (Some(Key::Id), Some(header)) => header.id.extend_from_slice(piece),
            (Some(Key::Title), Some(header)) => header.title.extend_from_slice(piece),
            (Some(Key::Curt | Key::Role), _) => self.short.push(piece),
            _ => self.number.push(piece),
        }
    }

    fn end(&mut self) {
        let read = self.reading.take();
        match (read, &mut self.header) {
            (Some(Key::Curt), _) => self.is_magic = self.short.get() == Some(MAGIC),
            (Some(Key::Version), _) => self.is_one = self.number.value() == 1.0,
            (Some(Key::Role), _) => {
                let role = self.short.get().unwrap_or_default();
                self.conversation.message.is_role =
                    matches!(role, b"user" | b"assistant" | b"system" | b"tool");
            }
            (Some(Key::CreatedAt), Some(header)) => header.created_at = self.number.value(),
            (Some(Key::UpdatedAt), Some(header)) => header.updated_at = self.number.value(),
            (Some(_), _) => {}
            (None, _) => self.leave(),
        }
    }
}

impl Body {
    /// The members of an object or array that matters.
    fn enter(&mut self, inside: Inside) -> Want {
        self.inside = inside;
        Want::Members
    }

    /// It has ended.
    fn leave(&mut self) {
        self.inside = match self.inside {
            Inside::Message => {
                self.conversation.judge_message(Some(Kind::Object));
                Inside::Messages
            }
            Inside::Messages => Inside::Conversation,
            Inside::Conversation => Inside::Body,
            Inside::Body | Inside::Nothing => Inside::Nothing,
        };
    }

    /// The text of a value that matters.
    fn read(&mut self) -> Want {
        match (self.key, &mut self.header) {
            (Key::Id, Some(header)) => header.id.clear(),
            (Key::Title, Some(header)) => header.title.clear(),
            (Key::Curt | Key::Role, _) => self.short = Short::new(),
            _ => self.number = Decimal::default(),
        }
        self.reading = Some(self.key);
        Want::Text
    }

    /// The body has ended and is JSON: what rule does it break first?
    fn verdict(self) -> Result<Header, Invalid> {
        match self.kind {
            Some(Kind::Object) | None => {}
            Some(kind) => return Err(Invalid::Body(kind)),
        }
        right(self.curt, Kind::String, self.is_magic).map_err(Invalid::Magic)?;
        right(self.version, Kind::Number, self.is_one).map_err(Invalid::Version)?;
        self.conversation.verdict()?;
        Ok(self.header.unwrap_or_default())
    }
}

impl Conversation {
    fn verdict(self) -> Result<(), Invalid> {
        let field = |name: &str, last, kind, expected| {
            right(last, kind, true).map_err(|found| Invalid::Field {
                path: format!("conversation{name}"),
                expected,
                found,
            })
        };
        field("", self.kind, Kind::Object, "an object")?;
        field(".id", self.id, Kind::String, "a string")?;
        field(".title", self.title, Kind::String, "a string")?;
        field(".createdAt", self.created_at, Kind::Number, "a number")?;
        field(".updatedAt", self.updated_at, Kind::Number, "a number")?;
        field(".messages", self.messages, Kind::Array, "an array")?;
        self.fault.map_or(Ok(()), Err)
    }

    /// A message has ended, or what stands in its place was seen; the first fault of any is kept.
    fn judge_message(&mut self, kind: Last) {
        if self.fault.is_none() {
            self.fault = self.message.verdict(self.count, kind).err();
        }
        self.count += 1;
    }
}

impl Message {
    fn verdict(&self, number: u64, kind: Last) -> Result<(), Invalid> {
        let field = |name: &str, last, kind, is_right, expected| {
            right(last, kind, is_right).map_err(|found| Invalid::Field {
                path: format!("conversation.messages[{number}]{name}"),
                expected,
                found,
            })
        };
        field("", kind, Kind::Object, true, "an object")?;
        field(".id", self.id, Kind::String, true, "a string")?;
        field(".role", self.role, Kind::String, self.is_role, "user, assistant, system or tool")?;
        field(".content", self.content, Kind::String, true, "a string")?;
        field(".timestamp", self.timestamp, Kind::Number, true, "a number")
    }
}

/// Whether a field is there, of the right kind, and (if of that kind) the right value.
fn right(last: Last, kind: Kind, is_right: bool) -> Result<(), Found> {
    match last {
        Some(found) if found == kind && is_right => Ok(()),
        Some(found) if found == kind => Err(Found::Another(kind)),
        Some(found) => Err(Found::Kind(found)),
        None => Err(Found::Nothing),
    }
}

#[cfg(test)]
mod tests;
