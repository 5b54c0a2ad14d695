//! A session file as a session row (session-row(5)): its own records in their own order, without the keys
//! that say where and on what machine it was.

use super::line::{self, Damage, name};
use crate::json::raw::{Kind, Raw};
use crate::json::write::{Layout, Writer};
use crate::stream::spill::Spill;
use crate::time::parse_rfc3339;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;

/// The keys of a record that a row carries; all others are named in its `withheld`. An allow-list: Claude
/// Code brings new keys with every release, and the next may hold a path.
fn is_kept(key: &[u8]) -> bool {
    matches!(
        key,
        // What the record is, and its place in the graph.
        b"type" | b"subtype" | b"level" | b"uuid" | b"parentUuid" | b"logicalParentUuid" | b"timestamp"
            | b"sessionId" | b"session_id" | b"forkedFrom" | b"version" | b"userType" | b"entrypoint"
            | b"messageId" | b"leafUuid" | b"agentId" | b"teamName"
            | b"isSidechain" | b"isMeta" | b"isVirtual" | b"isCompactSummary"
            | b"isVisibleInTranscriptOnly" | b"isApiErrorMessage"
            | b"sourceToolAssistantUUID" | b"sourceToolUseID" | b"toolUseID" | b"parentToolUseID"
            | b"interruptedMessageId" | b"compactMetadata"
            // What was said.
            | b"message" | b"content" | b"operation" | b"toolDenialKind" | b"userFeedback" | b"planContent"
            // Names of the session.
            | b"summary" | b"aiTitle" | b"customTitle" | b"agentName" | b"lastPrompt"
            // What it cost.
            | b"costUSD" | b"durationMs" | b"totalCostUSD" | b"totalAPIDuration"
            | b"totalAPIDurationWithoutRetries" | b"totalToolDuration" | b"totalDuration"
            | b"totalLinesAdded" | b"totalLinesRemoved" | b"startTime" | b"modelUsage"
            | b"hasUnknownModelCost"
    )
}

/// Of the forty kinds of attachment only a prompt that waited in the queue is something that was said.
fn is_queued_prompt(attachment: Raw<'_>) -> bool {
    attachment.get("type").is_some_and(|kind| kind.is("queued_command"))
}

/// What a file in a folder of Claude Code is by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The transcript of a session.
    Session,
    /// The transcript of a subagent: `<session>/subagents/**/agent-<id>.jsonl`, in releases before 2 beside
    /// the session's.
    Subagent,
    /// Neither: the journal of a workflow, what the person typed, a tool's output.
    Other,
}

impl Place {
    /// Of a path below the folder.
    pub fn of(path: &Path) -> Place {
        let file = path.file_name().map(OsStr::as_encoded_bytes).unwrap_or_default();
        let folder = |name: &str| path.parent().is_some_and(|above| above.iter().any(|part| part == name));
        match file.strip_suffix(b".jsonl") {
            Some(stem) if stem.starts_with(b"agent-") => Place::Subagent,
            Some(stem) if *stem != *b"history" && !folder("subagents") && !folder("tool-results") => {
                Place::Session
            }
            _ => Place::Other,
        }
    }
}

/// What a program gathers before it writes.
const SHORT: usize = 64 << 10;

/// How much of a session waits in memory until its row can be begun: nearly all are shorter.
const ROOM: usize = 36 << 20;

/// Gathers the records of one file after the other.
#[derive(Debug)]
pub struct Gather {
    records: Spill,
    seen: Seen,
}

/// What was wrong with a line.
#[derive(Clone, Copy, Debug)]
pub struct Wrong {
    damage: Damage,
    not_object: bool,
}

impl Wrong {
    /// Whether something of the line is not in the row.
    pub fn is_loss(&self) -> bool {
        self.damage.bad.is_some() || self.not_object
    }

    /// As a row's `malformed` names it.
    fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let Damage { bom, not_utf8, joined, bad } = self.damage;
        [
            ("byte_order_mark", bom),
            ("not_utf8", not_utf8),
            ("joined", joined),
            ("not_json", bad.is_some()),
            ("not_object", self.not_object),
        ]
        .into_iter()
        .filter_map(|(name, is)| is.then_some(name))
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.damage {
            Damage { bad: Some(bad), .. } => bad.fmt(f),
            _ if self.not_object => f.write_str("not a JSON object"),
            Damage { joined: true, .. } => f.write_str("several objects on one line"),
            Damage { not_utf8: true, .. } => f.write_str("not UTF-8"),
            _ => f.write_str("begins with a byte order mark"),
        }
    }
}

/// What a file turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// `id` of its row, WTF-8
    pub id: Vec<u8>,
    /// Whether it is the transcript of a subagent.
    pub sidechain: bool,
    /// The latest time in it, in epoch milliseconds
    pub last: Option<f64>,
    agent: Option<Vec<u8>>,
    parent: Option<Vec<u8>>,
}

impl Default for Gather {
    fn default() -> Gather {
        Gather { records: Spill::of(ROOM), seen: Seen::default() }
    }
}

impl Gather {
    /// Take one line. What was wrong with it comes back; what could be read is kept.
    ///
    /// # Errors
    /// Those of the temporary file that a long session waits in.
    pub fn line(&mut self, text: &[u8]) -> io::Result<Option<Wrong>> {
        let (seen, out) = (&mut self.seen, self.records.buffer());
        let mut not_object = false;
        let damage = line::values(text, |value| match value.kind() {
            Kind::Object => seen.record(value, out),
            _ => not_object = true,
        });
        self.records.settle()?;
        let wrong = Wrong { damage, not_object };
        self.seen.malformed.extend(wrong.names());
        self.seen.lost += u64::from(wrong.is_loss());
        Ok(Some(wrong).filter(|wrong| wrong.names().next().is_some()))
    }

    /// A line that was too long to be read.
    pub fn too_long(&mut self) {
        self.seen.lost += 1;
        self.seen.malformed.insert("too_long");
    }

    /// What was gathered; `None` when there was no record. `stem`: the name of the file without its end.
    pub fn about(&self, stem: &[u8]) -> Option<About> {
        let seen = &self.seen;
        if seen.records == 0 {
            return None;
        }
        let sidechain = seen.nodes > 0 && seen.sidechain == seen.nodes;
        let agent = seen.agent.clone().filter(|_| sidechain);
        // A subagent's lines carry the id of the session that called it.
        let parent = seen.session.clone().filter(|_| agent.is_some());
        let id = match &agent {
            Some(agent) => [parent.as_deref().unwrap_or(stem), b"-agent-", agent].concat(),
            None => seen.session.clone().unwrap_or_else(|| stem.to_vec()),
        };
        Some(About { id, sidechain, last: seen.last.as_ref().map(|(ms, _)| *ms), agent, parent })
    }

    /// Write the row and forget it.
    ///
    /// # Errors
    /// Those of `out` and of the temporary file.
    pub fn write(&mut self, about: &About, out: &mut impl Write) -> io::Result<()> {
        let mut text = Vec::new();
        self.seen.head(about, &mut text);
        self.records.buffer().extend_from_slice(b"]}\n");
        // In one piece where it can be, so that parallel programs tear no row.
        if self.records.is_short() && self.records.buffer().len() < SHORT {
            text.extend_from_slice(self.records.buffer());
            out.write_all(&text)?;
        } else {
            out.write_all(&text)?;
            self.records.write(out)?;
        }
        self.clear()
    }

    /// Forget what was gathered.
    ///
    /// # Errors
    /// Those of the temporary file.
    pub fn clear(&mut self) -> io::Result<()> {
        self.seen = Seen::default();
        self.records.clear()
    }
}

/// What the whole file says.
#[derive(Debug, Default)]
struct Seen {
    records: u64,
    lost: u64,
    malformed: BTreeSet<&'static str>,
    /// The last `sessionId`: a fork begins with lines that keep the id they had (langfuse#33).
    session: Option<Vec<u8>>,
    agent: Option<Vec<u8>>,
    /// Lines of the graph, and those of them that belong to a subagent.
    nodes: u64,
    sidechain: u64,
    first: Option<(f64, Vec<u8>)>,
    last: Option<(f64, Vec<u8>)>,
}

impl Seen {
    /// Copy a record without what is withheld, and note what it says of the session.
    fn record(&mut self, record: Raw<'_>, out: &mut Vec<u8>) {
        if self.records > 0 {
            out.push(b',');
        }
        self.records += 1;
        let (mut uuid, mut sidechain) = (false, false);
        let mut withheld = Vec::new();
        let start = out.len();
        for (key, value) in record.members() {
            let text = key.text().unwrap_or_default();
            match &*text {
                b"uuid" => uuid = name(Some(value)).is_some(),
                b"isSidechain" => sidechain = value.kind() == Kind::True,
                b"sessionId" => keep_name(&mut self.session, value),
                b"agentId" => keep_name(&mut self.agent, value),
                b"timestamp" => self.time(value),
                _ => {}
            }
            if is_kept(&text) || *text == *b"attachment" && is_queued_prompt(value) {
                out.push(if out.len() == start { b'{' } else { b',' });
                out.extend_from_slice(key.bytes());
                out.push(b':');
                out.extend_from_slice(value.bytes());
            } else if !value.is_null() {
                withheld.push(named(key));
            }
        }
        if out.len() == start {
            out.push(b'{');
        }
        if !withheld.is_empty() {
            name_withheld(&mut withheld, out.len() > start + 1, out);
        }
        out.push(b'}');
        self.nodes += u64::from(uuid);
        self.sidechain += u64::from(uuid && sidechain);
    }

    fn time(&mut self, value: Raw<'_>) {
        let Some(text) = value.text() else { return };
        let Some(ms) = std::str::from_utf8(&text).ok().and_then(parse_rfc3339) else { return };
        if self.first.as_ref().is_none_or(|(first, _)| ms < *first) {
            self.first = Some((ms, text.to_vec()));
        }
        if self.last.as_ref().is_none_or(|(last, _)| ms > *last) {
            self.last = Some((ms, text.into_owned()));
        }
    }

    fn head(&self, about: &About, out: &mut Vec<u8>) {
        let mut w = Writer::new(out, Layout::Line);
        w.open(b'{');
        w.key("runtime");
        w.string(b"claude-code");
        let time = |time: &Option<(f64, Vec<u8>)>| time.as_ref().map(|(_, text)| text.clone());
        for (name, value) in [
            ("id", Some(about.id.clone())),
            ("agent_id", about.agent.clone()),
            ("parent_session_id", about.parent.clone()),
            ("started_at", time(&self.first)),
            ("last_at", time(&self.last)),
        ] {
            if let Some(value) = value {
                w.key(name);
                w.string(&value);
            }
        }
        if about.sidechain {
            w.key("sidechain");
            w.scalar(true);
        }
        if self.lost > 0 {
            w.key("lost_lines");
            w.scalar(self.lost);
        }
        if !self.malformed.is_empty() {
            w.key("malformed");
            w.open(b'[');
            self.malformed.iter().for_each(|name| w.string(name.as_bytes()));
            w.close(b']');
        }
        w.key("messages");
        w.open(b'[');
    }
}

fn keep_name(place: &mut Option<Vec<u8>>, value: Raw<'_>) {
    if let Some(text) = name(Some(value)).filter(|text| place.as_deref() != Some(text)) {
        *place = Some(text.into_owned());
    }
}

/// How a key is named: any that is no name of the format is somebody's text.
fn named(key: Raw<'_>) -> &[u8] {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    key.quoted().filter(|name| (1..=40).contains(&name.len()) && name.iter().all(plain)).unwrap_or(b"other")
}

/// Name the keys of a record that hold something and were left out.
fn name_withheld(names: &mut Vec<&[u8]>, comma: bool, out: &mut Vec<u8>) {
    names.sort_unstable();
    names.dedup();
    out.extend_from_slice(if comma { b",\"withheld\":" } else { b"\"withheld\":" });
    for (nth, name) in names.iter().enumerate() {
        out.push(if nth == 0 { b'[' } else { b',' });
        out.push(b'"');
        out.extend_from_slice(name);
        out.push(b'"');
    }
    out.push(b']');
}

#[cfg(test)]
mod tests;
