//! The graph of a real transcript.
//!
//! `parentUuid` names the record that a record goes on from; where it is null, a compaction boundary's
//! `logicalParentUuid` does. Of a record only what its place takes is kept: 32 bytes, and the 16 of its uuid.

use super::ids::{Digest, Ids, Key};
use super::line::{Block, Message, Record, name};
use super::shape::{Forks, Missing, Orphan, Shape};
use super::verdict::{Fault, Report};
use crate::json::raw::Raw;
use std::collections::{HashMap, HashSet};

/// The records seen so far.
pub(super) struct Graph {
    digest: Digest,
    uuids: Ids,
    /// By the number of their uuid; a uuid that was only named so far is a [`Node::NAMED`].
    nodes: Vec<Node>,
    /// The number of the first node.
    first: Option<u32>,
    sessions: Ids,
    /// By session: whether it has its beginning.
    begun: Vec<bool>,
    /// The calls made so far, by the digest of their id: who made them.
    calls: HashMap<Key, u32>,
    /// Messages of an assistant, by the digest of `message.id`: each line of them names the one before.
    messages: HashMap<Key, u32>,
    shape: Shape,
}

#[derive(Clone, Copy)]
struct Node {
    /// Of the record's text, to tell a copy from another content.
    content: u64,
    /// The number of the uuid that this one goes on from, or `NONE`.
    parent: u32,
    /// Its line, or 0 while its uuid was only named. From 2^32 on all lines are the last.
    line: u32,
    /// The line before of the same message of an assistant, or the call that this result answers; or `NONE`.
    mate: u32,
    /// Tells one instant from another.
    time: u32,
    /// The number of its session; sessions from 65,535 on are one.
    session: u16,
    place: Place,
    flags: u8,
}

const NONE: u32 = u32::MAX;
/// `parent` is the logical one.
const LOGICAL: u8 = 1;
/// Of a subagent.
const SIDECHAIN: u8 = 2;
/// A node goes on from it.
const INNER: u8 = 4;

impl Node {
    const NAMED: Node = Node {
        content: 0,
        parent: NONE,
        line: 0,
        mate: NONE,
        time: 0,
        session: 0,
        place: Place::Other,
        flags: 0,
    };

    fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// What a reader shows: a user's or an assistant's line of the session itself.
    fn is_shown(&self) -> bool {
        self.place.is_spoken() && !self.is(SIDECHAIN)
    }
}

/// What a node is, as far as its place in the graph goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A user who speaks.
    Prompt,
    /// A user's line that a program wrote.
    Meta,
    /// The result of a call.
    Result,
    Assistant,
    Boundary,
    LocalCommand,
    System,
    Attachment,
    Progress,
    Other,
}

impl Place {
    fn of(record: &Record<'_>, said: &Said<'_>) -> Place {
        let is = |kind: &str| record.is(kind);
        let subtype = |name: &str| record.subtype.is_some_and(|it| it.is(name));
        match () {
            () if is("user") && record.is_meta() => Place::Meta,
            () if is("user") && said.blocks.iter().any(|block| block.is("tool_result")) => Place::Result,
            () if is("user") => Place::Prompt,
            () if is("assistant") => Place::Assistant,
            () if is("system") && subtype("compact_boundary") => Place::Boundary,
            () if is("system") && subtype("local_command") => Place::LocalCommand,
            () if is("system") => Place::System,
            () if is("attachment") => Place::Attachment,
            () if is("progress") => Place::Progress,
            () => Place::Other,
        }
    }

    fn is_spoken(self) -> bool {
        matches!(self, Place::Prompt | Place::Meta | Place::Result | Place::Assistant)
    }

    /// The name in a report.
    pub(super) fn name(self) -> &'static str {
        match self {
            Place::Prompt => "prompt",
            Place::Meta => "meta",
            Place::Result => "toolResult",
            Place::Assistant => "assistant",
            Place::Boundary => "compactBoundary",
            Place::LocalCommand => "localCommand",
            Place::System => "system",
            Place::Attachment => "attachment",
            Place::Progress => "progress",
            Place::Other => "other",
        }
    }
}

/// What a record of a user or an assistant says, read once: contents are most of a file.
#[derive(Default)]
struct Said<'a> {
    id: Option<Raw<'a>>,
    blocks: Vec<Block<'a>>,
}

impl<'a> Said<'a> {
    fn of(record: &Record<'a>) -> Self {
        let message = record.message.filter(|_| record.is("user") || record.is("assistant"));
        let message = message.map(Message::new).unwrap_or_default();
        Said { id: message.id.filter(|_| record.is("assistant")), blocks: message.blocks().collect() }
    }
}

impl Graph {
    pub(super) fn new(digest: Digest) -> Self {
        Graph {
            digest,
            uuids: Ids::new(digest),
            nodes: Vec::new(),
            first: None,
            sessions: Ids::new(digest),
            begun: Vec::new(),
            calls: HashMap::new(),
            messages: HashMap::new(),
            shape: Shape::default(),
        }
    }

    pub(super) fn record(&mut self, line: u64, record: &Record<'_>, report: &mut Report) {
        let said = Said::of(record);
        let own = if record.is_node() { self.number(record.uuid) } else { None };
        let Some(own) = own else {
            self.calls(line, NONE, record, &said, report);
            self.shape.outside += 1;
            return;
        };
        let content = self.digest.half(record.raw.bytes());
        match self.nodes.get(own as usize) {
            // A copy changes nothing. Of two contents the first keeps the place: the order of a
            // transcript is that of first occurrence.
            Some(node) if node.line > 0 => {
                if node.content != content {
                    report.add(line, Fault::OtherContent { first: node.line.into() });
                } else {
                    self.shape.copies += 1;
                }
                self.calls(line, own, record, &said, report);
                return;
            }
            _ => {}
        }
        let place = Place::of(record, &said);
        let parent = self.number(record.parent);
        let logical = if parent.is_none() { self.logical(record) } else { None };
        let session = self.session(record.session);
        if parent.is_none() && self.is_extra_root(record, place, session) {
            report.add(line, Fault::ExtraRoot);
        }
        let mate = self.calls(line, own, record, &said, report);
        let node = Node {
            content,
            parent: parent.or(logical).unwrap_or(NONE),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            mate: mate.or_else(|| self.message(own, &said)).unwrap_or(NONE),
            time: self.time(record.timestamp),
            session,
            place,
            flags: if logical.is_some() { LOGICAL } else { 0 }
                | if record.is_sidechain() { SIDECHAIN } else { 0 },
        };
        match self.at(node.parent) {
            Some(parent) if parent.session != session => report.add(line, Fault::OtherSession),
            None if parent.is_some() => self.shape.forward += 1,
            _ => {}
        }
        self.first.get_or_insert(own);
        report.nodes += 1;
        if let Some(place) = self.nodes.get_mut(own as usize) {
            *place = node;
        }
    }

    /// The record that one without parent goes on from. A compaction that keeps the last messages may write
    /// them again below its boundary, among them the one that this names: readers put the kept ones there,
    /// so the boundary goes on from the last of them that stands above it, and the way is no round.
    fn logical(&mut self, record: &Record<'_>) -> Option<u32> {
        let named = self.number(record.logical_parent)?;
        if self.at(named).is_some() {
            return Some(named);
        }
        let Some(data) = record.raw.get("compactMetadata") else { return Some(named) };
        let ends = ["headUuid", "tailUuid"].map(|end| data.get("preservedSegment")?.get(end));
        let kept = data.get("preservedMessages").and_then(|kept| kept.get("uuids"));
        let kept = ends.into_iter().flatten().chain(kept.into_iter().flat_map(Raw::items));
        let kept: Vec<_> = kept.filter_map(|uuid| self.uuids.find(&name(Some(uuid))?)).collect();
        if !kept.contains(&named) {
            return Some(named);
        }
        kept.into_iter()
            .filter(|uuid| self.at(*uuid).is_some())
            .max_by_key(|uuid| self.at(*uuid).map(|node| node.line))
    }

    /// The number of what a field names, with room for its node.
    fn number(&mut self, field: Option<Raw<'_>>) -> Option<u32> {
        let number = self.uuids.number(&name(field)?);
        if self.nodes.len() < self.uuids.len() {
            self.nodes.resize(self.uuids.len(), Node::NAMED);
        }
        Some(number)
    }

    fn session(&mut self, field: Option<Raw<'_>>) -> u16 {
        let number = self.sessions.number(&name(field).unwrap_or_default());
        u16::try_from(number).unwrap_or(u16::MAX)
    }

    fn time(&self, field: Option<Raw<'_>>) -> u32 {
        let text = field.and_then(Raw::quoted).unwrap_or_default();
        self.digest.of(text).first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// Whether a record without parent is one beginning too many. A session begins once, with a prompt;
    /// hooks, compaction boundaries, local commands and subagents stand for themselves.
    fn is_extra_root(&mut self, record: &Record<'_>, place: Place, session: u16) -> bool {
        let stands_alone = record.is_sidechain()
            || matches!(
                place,
                Place::Boundary | Place::LocalCommand | Place::Attachment | Place::Progress | Place::Other
            );
        if stands_alone {
            return false;
        }
        let session = usize::from(session);
        if self.begun.len() <= session {
            self.begun.resize(session + 1, false);
        }
        self.begun.get_mut(session).is_some_and(|begun| std::mem::replace(begun, true))
    }

    /// Keep the calls of a record, and look for those that its results answer: who made the last of them.
    fn calls(
        &mut self,
        line: u64,
        own: u32,
        record: &Record<'_>,
        said: &Said<'_>,
        report: &mut Report,
    ) -> Option<u32> {
        let is_assistant = record.is("assistant");
        let mut caller = None;
        for block in &said.blocks {
            if is_assistant && block.is("tool_use") {
                if let Some(id) = name(block.id) {
                    self.calls.entry(self.digest.of(&id)).or_insert(own);
                }
            } else if block.is("tool_result") {
                match name(block.tool_use_id).and_then(|id| self.calls.get(&self.digest.of(&id))) {
                    Some(call) => caller = Some(*call).filter(|call| *call != NONE).or(caller),
                    None => report.add(line, Fault::OrphanResult),
                }
            }
        }
        caller
    }

    /// The line before of the same message of an assistant.
    fn message(&mut self, own: u32, said: &Said<'_>) -> Option<u32> {
        self.messages.insert(self.digest.of(&name(said.id)?), own)
    }

    /// The node of a number, once its line was seen.
    fn at(&self, number: u32) -> Option<&Node> {
        self.nodes.get(number as usize).filter(|node| node.line > 0)
    }

    fn seen(&self) -> impl Iterator<Item = (u32, &Node)> {
        (0..NONE).zip(&self.nodes).filter(|(_, node)| node.line > 0)
    }

    /// Judge what only the end of the input tells. What another input may have comes back, and what this one has.
    pub(super) fn finish(&mut self, report: &mut Report) -> (Vec<Missing>, Vec<Key>) {
        let mut edges: Vec<(u32, u32)> = Vec::new();
        let mut missing = Vec::new();
        for (number, node) in self.seen() {
            if self.at(node.parent).is_some() {
                edges.push((node.parent, number));
            }
        }
        let mut shape = std::mem::take(&mut self.shape);
        for (parent, _) in &edges {
            if let Some(node) = self.nodes.get_mut(*parent as usize) {
                node.flags |= INNER;
            }
        }
        for (number, node) in self.seen() {
            if node.parent == NONE || node.is(LOGICAL) {
                let kind = if node.is(SIDECHAIN) { "sidechain" } else { node.place.name() };
                *shape.roots.entry(kind).or_default() += 1;
            }
            if node.parent == NONE || self.at(node.parent).is_some() {
                continue;
            }
            let of = match () {
                () if node.is(LOGICAL) => Orphan::Logical,
                // Of a file that was cut.
                () if self.first == Some(number) => Orphan::FirstLine,
                () if node.place.is_spoken() => Orphan::Message,
                // Hooks after a compaction miss theirs every day.
                () => Orphan::Other,
            };
            let line = node.line.into();
            missing.extend(self.uuids.key(node.parent).map(|key| Missing { line, key, of }));
        }
        edges.sort_unstable();
        for siblings in edges.chunk_by(|a, b| a.0 == b.0).filter(|siblings| siblings.len() > 1) {
            let children: Vec<&Node> = siblings.iter().filter_map(|(_, child)| self.at(*child)).collect();
            shape.forks.add(&children);
        }
        let cycles = self.cycles();
        for (line, length) in &cycles {
            report.add(*line, Fault::Cycle { length: *length });
        }
        shape.spoken = self.seen().filter(|(_, node)| node.is_shown()).count() as u64;
        let leaf = self.leaf();
        shape.naive = self.naive(leaf);
        shape.bridged = self.bridged(leaf, &edges);
        shape.longest = if cycles.is_empty() { self.longest() } else { 0 };
        report.roots = shape.roots.values().sum();
        report.forks = shape.forks.sum();
        report.shape = Some(shape);
        (missing, self.seen().filter_map(|(number, _)| self.uuids.key(number)).collect())
    }

    /// Where a reader that walks upwards begins: the last line that is shown and nothing goes on from.
    fn leaf(&self) -> u32 {
        let shown = || self.seen().filter(|(_, node)| node.is_shown());
        let last = |nodes: &mut dyn Iterator<Item = (u32, &Node)>| {
            nodes.max_by_key(|(_, node)| node.line).map(|it| it.0)
        };
        last(&mut shown().filter(|(_, node)| !node.is(INNER))).or_else(|| last(&mut shown())).unwrap_or(NONE)
    }

    /// How many lines that are shown a walk over `parentUuid` alone meets.
    fn naive(&self, leaf: u32) -> u64 {
        let (mut at, mut met, mut reached) = (leaf, HashSet::new(), 0);
        while let Some(node) = self.at(at).filter(|_| met.insert(at)) {
            reached += u64::from(node.is_shown());
            if node.is(LOGICAL) {
                break;
            }
            at = node.parent;
        }
        reached
    }

    /// The same over logical parents too, the other lines of a message, and the results of its calls.
    fn bridged(&self, leaf: u32, edges: &[(u32, u32)]) -> u64 {
        let mut mates: Vec<(u32, u32)> = self
            .seen()
            .filter(|(_, node)| node.mate != NONE)
            .map(|(number, node)| (node.mate, number))
            .collect();
        mates.sort_unstable();
        let after = |list: &[(u32, u32)], number: u32| {
            let start = list.partition_point(|(of, _)| *of < number);
            list.iter().skip(start).take_while(|(of, _)| *of == number).map(|(_, it)| *it).collect::<Vec<_>>()
        };
        let mut met = vec![false; self.nodes.len()];
        let (mut open, mut reached) = (vec![leaf], 0);
        while let Some(number) = open.pop() {
            let Some(node) = self.at(number) else { continue };
            if met.get_mut(number as usize).is_none_or(|met| std::mem::replace(met, true)) {
                continue;
            }
            reached += u64::from(node.is_shown());
            open.extend([node.parent, node.mate]);
            open.extend(after(&mates, number));
            // A copy of the same instant is the same turn.
            let twins = after(edges, node.parent).into_iter().filter(|twin| {
                self.at(*twin).is_some_and(|twin| twin.time == node.time && twin.place == node.place)
            });
            open.extend(twins);
        }
        reached
    }

    /// Nodes on the longest way down; there is no cycle.
    fn longest(&self) -> u64 {
        let mut depths = vec![0_u64; self.nodes.len()];
        let mut longest = 0;
        let mut way = Vec::new();
        for (start, _) in self.seen() {
            let mut at = start;
            let mut depth = loop {
                match (self.at(at), depths.get(at as usize)) {
                    (Some(_), Some(0)) => {
                        way.push(at);
                        at = self.at(at).map_or(NONE, |node| node.parent);
                    }
                    (Some(_), Some(depth)) => break *depth,
                    _ => break 0,
                }
            };
            while let Some(number) = way.pop() {
                depth += 1;
                if let Some(place) = depths.get_mut(number as usize) {
                    *place = depth;
                }
            }
            longest = longest.max(depth);
        }
        longest
    }

    /// Every cycle once: its first line, and how many nodes are in it. Every node has one edge at most,
    /// so a walk that meets itself has found one, and no node is walked twice.
    fn cycles(&self) -> Vec<(u64, u64)> {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let mut found = Vec::new();
        let mut states = vec![State::New; self.nodes.len()];
        let mut set = |number: u32, from: State, to: State| {
            states.get_mut(number as usize).filter(|state| **state == from).map(|state| *state = to).is_some()
        };
        let parent = |number: u32| self.at(number).map_or(NONE, |node| node.parent);
        for start in 0..u32::try_from(self.nodes.len()).unwrap_or(NONE) {
            let mut at = start;
            while set(at, State::New, State::Open) {
                at = parent(at);
            }
            if set(at, State::Open, State::Open) {
                let around = std::iter::successors(Some(at), |n| Some(parent(*n)).filter(|n| *n != at));
                let lines = around.filter_map(|number| self.at(number)).map(|node| u64::from(node.line));
                let (first, length) = lines.fold((u64::MAX, 0), |(first, n), line| (first.min(line), n + 1));
                found.push((first, length));
            }
            at = start;
            while set(at, State::Open, State::Done) {
                at = parent(at);
            }
        }
        found
    }
}

impl Forks {
    /// A record that several go on from, by what they are.
    fn add(&mut self, children: &[&Node]) {
        let mut prompts =
            children.iter().filter(|child| child.place == Place::Prompt && !child.is(SIDECHAIN));
        let first = prompts.next();
        let rewound = first.is_some_and(|first| prompts.any(|child| child.time != first.time));
        let mut turns: Vec<_> = children.iter().filter(|child| child.place.is_spoken()).collect();
        turns.sort_unstable_by_key(|child| child.time);
        let twins =
            turns.windows(2).any(|two| matches!(two, [a, b] if a.time == b.time && a.place == b.place));
        let class = match turns.len() {
            _ if rewound => &mut self.rewind,
            0 | 1 => &mut self.side,
            _ if twins => &mut self.replay,
            _ => &mut self.parallel,
        };
        *class += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Line n + 1 goes on from line n + 2, up to `last`, which goes on from `parent`.
    fn ladder(last: u32, parent: u32) -> Graph {
        let mut graph = Graph::new(Digest::new());
        let node = |n| Node { line: n + 1, parent: if n == last { parent } else { n + 1 }, ..Node::NAMED };
        graph.nodes = (0..=last).map(node).collect();
        graph
    }

    #[test]
    fn a_million_lines_are_walked_in_a_loop() {
        assert_eq!(ladder(999_999, NONE).cycles(), []);
        assert_eq!(ladder(999_999, 0).cycles(), [(1, 1_000_000)]);
        assert_eq!(ladder(999_999, 500_000).cycles(), [(500_001, 500_000)]);
        assert_eq!(ladder(999_999, NONE).longest(), 1_000_000);
        assert_eq!(ladder(999_999, NONE).bridged(0, &[]), 0);
        let mut graph = ladder(999_999, NONE);
        graph.nodes.iter_mut().for_each(|node| node.place = Place::Prompt);
        assert_eq!((graph.naive(0), graph.bridged(0, &[])), (1_000_000, 1_000_000));
    }

    #[test]
    fn a_node_is_32_bytes() {
        assert_eq!(size_of::<Node>(), 32);
    }
}
