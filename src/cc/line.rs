//! One line of a transcript: what a damaged line still says, and which fields a record has.
//!
//! Claude Code's own format is undocumented and has changed with every release, so nothing here is
//! required and nothing is converted: a field is what stands under its key, of whatever kind, or it is
//! missing. The rules that need more are the checkers' (`chain`, `strict`).

use crate::json::raw::{Kind, Raw};
use crate::json::scan::{Bad, Scan};
use std::borrow::Cow;

/// What was wrong with the text of a line, as opposed to what it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// It begins with a byte order mark.
    pub bom: bool,
    /// It is not UTF-8; every bad sequence was read as U+FFFD, as JavaScript's decoder does.
    pub not_utf8: bool,
    /// It holds several objects, `}{`.
    pub joined: bool,
    /// From here on it is not JSON; what stands before was still read.
    pub bad: Option<Bad>,
}

/// Hand every JSON value of a line to `each`: the one it should hold, or what can be saved of a damaged
/// line. Undamaged text is not copied.
pub fn values(text: &[u8], mut each: impl FnMut(Raw<'_>)) -> Damage {
    // Almost every line takes this way: judged once, where it lies.
    let bad = match Raw::parse(text) {
        Ok(value) => {
            each(value);
            return Damage::default();
        }
        Err(bad) => bad,
    };
    let (bom, marked) = match text.strip_prefix(b"\xEF\xBB\xBF") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let text = String::from_utf8_lossy(marked);
    let not_utf8 = matches!(text, Cow::Owned(_));
    let mut damage = Damage { bom, not_utf8, ..Damage::default() };
    let mut rest = text.as_bytes();
    let mut known_bad = (!bom && !not_utf8).then_some(bad);
    loop {
        let bad = match known_bad.take().map_or_else(|| front(rest), Err) {
            Ok(value) => {
                each(value);
                return damage;
            }
            Err(bad) => bad,
        };
        // One object ends where the next one begins: the first byte that cannot stand is its brace.
        let cut = usize::try_from(bad.offset).ok().and_then(|at| rest.split_at_checked(at));
        match cut.and_then(|(head, tail)| Some((Raw::parse(head).ok()?, tail))) {
            Some((value, tail)) if value.kind() == Kind::Object && tail.starts_with(b"{") => {
                each(value);
                damage.joined = true;
                rest = tail;
            }
            _ => {
                damage.bad = Some(bad);
                return damage;
            }
        }
    }
}

/// [`Raw::parse`] in pieces that grow, so that of a line of a million objects each costs its own length and
/// not that of all that follow.
fn front(text: &[u8]) -> Result<Raw<'_>, Bad> {
    let mut scan = Scan::new(());
    let (mut rest, mut size) = (text, 256);
    while !rest.is_empty() {
        let (piece, more) = rest.split_at_checked(size).unwrap_or((rest, &[]));
        scan.feed(piece)?;
        (rest, size) = (more, 2 * size);
    }
    scan.finish()?;
    Ok(Raw::valid(text))
}

/// The fields of one record that the graph, its rules and its readers ask for, each as it stands.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The whole object.
    pub raw: Raw<'a>,
    /// `type`
    pub kind: Option<Raw<'a>>,
    /// `subtype`, of system lines
    pub subtype: Option<Raw<'a>>,
    /// `uuid`
    pub uuid: Option<Raw<'a>>,
    /// `parentUuid`
    pub parent: Option<Raw<'a>>,
    /// `logicalParentUuid`: where a compaction boundary goes on from
    pub logical_parent: Option<Raw<'a>>,
    /// `sessionId`
    pub session: Option<Raw<'a>>,
    /// `isSidechain`
    pub sidechain: Option<Raw<'a>>,
    /// `isMeta`
    pub meta: Option<Raw<'a>>,
    /// `userType`
    pub user_type: Option<Raw<'a>>,
    /// `cwd`
    pub cwd: Option<Raw<'a>>,
    /// `gitBranch`
    pub branch: Option<Raw<'a>>,
    /// `version`
    pub version: Option<Raw<'a>>,
    /// `timestamp`
    pub timestamp: Option<Raw<'a>>,
    /// `message`
    pub message: Option<Raw<'a>>,
}

impl<'a> Record<'a> {
    /// The record that a value is; `None` when it is no object. One pass; the last duplicate of a key
    /// wins, as in JavaScript.
    pub fn new(raw: Raw<'a>) -> Option<Self> {
        if raw.kind() != Kind::Object {
            return None;
        }
        let mut record = Record {
            raw,
            kind: None,
            subtype: None,
            uuid: None,
            parent: None,
            logical_parent: None,
            session: None,
            sidechain: None,
            meta: None,
            user_type: None,
            cwd: None,
            branch: None,
            version: None,
            timestamp: None,
            message: None,
        };
        for (key, value) in raw.members() {
            let field = match &*key.text().unwrap_or_default() {
                b"type" => &mut record.kind,
                b"subtype" => &mut record.subtype,
                b"uuid" => &mut record.uuid,
                b"parentUuid" => &mut record.parent,
                b"logicalParentUuid" => &mut record.logical_parent,
                b"sessionId" => &mut record.session,
                b"isSidechain" => &mut record.sidechain,
                b"isMeta" => &mut record.meta,
                b"userType" => &mut record.user_type,
                b"cwd" => &mut record.cwd,
                b"gitBranch" => &mut record.branch,
                b"version" => &mut record.version,
                b"timestamp" => &mut record.timestamp,
                b"message" => &mut record.message,
                _ => continue,
            };
            *field = Some(value);
        }
        Some(record)
    }

    /// Whether `type` is this word.
    pub fn is(&self, kind: &str) -> bool {
        self.kind.is_some_and(|it| it.is(kind))
    }

    /// Whether the line belongs to an inline subagent (releases up to 1.0) or a subagent's file.
    pub fn is_sidechain(&self) -> bool {
        self.sidechain.is_some_and(|it| it.kind() == Kind::True)
    }

    /// Whether a program wrote the line, not the user.
    pub fn is_meta(&self) -> bool {
        self.meta.is_some_and(|it| it.kind() == Kind::True)
    }

    /// Whether the line is part of the graph: it has a `uuid`, and either a kind that always is part of
    /// it or a `parentUuid`. Bookkeeping lines have neither; a snapshot's `messageId` equals the uuid of
    /// the line it precedes and is never one itself (anthropics/claude-code#24304); `content-replacement`
    /// has a `uuid` that is no place in the graph.
    pub fn is_node(&self) -> bool {
        let always = ["user", "assistant", "system", "attachment", "progress"];
        name(self.uuid).is_some() && (self.parent.is_some() || always.iter().any(|kind| self.is(kind)))
    }

    /// The blocks of the message's content.
    pub fn blocks(&self) -> impl Iterator<Item = Block<'a>> + use<'a> {
        self.message.map(Message::new).unwrap_or_default().blocks()
    }
}

/// A string that can name something: `null`, other kinds and the empty string name nothing.
pub fn name(field: Option<Raw<'_>>) -> Option<Cow<'_, [u8]>> {
    field?.text().filter(|text| !text.is_empty())
}

/// The fields of a message that the rules ask for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Message<'a> {
    /// `id`
    pub id: Option<Raw<'a>>,
    /// `role`
    pub role: Option<Raw<'a>>,
    /// `content`
    pub content: Option<Raw<'a>>,
    /// `stop_reason`
    pub stop_reason: Option<Raw<'a>>,
}

impl<'a> Message<'a> {
    /// The message that a value is; one without fields when it is no object.
    pub fn new(raw: Raw<'a>) -> Self {
        let mut message = Message::default();
        for (key, value) in raw.members() {
            let field = match &*key.text().unwrap_or_default() {
                b"id" => &mut message.id,
                b"role" => &mut message.role,
                b"content" => &mut message.content,
                b"stop_reason" => &mut message.stop_reason,
                _ => continue,
            };
            *field = Some(value);
        }
        message
    }

    /// The blocks of the content; nothing when that is a string or anything else.
    pub fn blocks(self) -> impl Iterator<Item = Block<'a>> + use<'a> {
        self.content.into_iter().flat_map(Raw::items).map(Block::new)
    }
}

/// The fields of a content block that the rules ask for.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// The whole block.
    pub raw: Raw<'a>,
    /// `type`
    pub kind: Option<Raw<'a>>,
    /// `id`, of a `tool_use`
    pub id: Option<Raw<'a>>,
    /// `input`, of a `tool_use`
    pub input: Option<Raw<'a>>,
    /// `tool_use_id`, of a `tool_result`
    pub tool_use_id: Option<Raw<'a>>,
}

impl<'a> Block<'a> {
    /// The block that a value is; one without fields when it is no object.
    pub fn new(raw: Raw<'a>) -> Self {
        let mut block = Block { raw, kind: None, id: None, input: None, tool_use_id: None };
        for (key, value) in raw.members() {
            let field = match &*key.text().unwrap_or_default() {
                b"type" => &mut block.kind,
                b"id" => &mut block.id,
                b"input" => &mut block.input,
                b"tool_use_id" => &mut block.tool_use_id,
                _ => continue,
            };
            *field = Some(value);
        }
        block
    }

    /// Whether `type` is this word.
    pub fn is(&self, kind: &str) -> bool {
        self.kind.is_some_and(|it| it.is(kind))
    }
}

#[cfg(test)]
mod tests;
