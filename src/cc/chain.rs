//! The graph of a transcript and its verdicts.
//!
//! Lines form a graph: `parentUuid` names the line that a line goes on from; where it is null, a
//! compaction boundary's `logicalParentUuid` does. Real graphs are forests with forks, gaps and several
//! roots, and that is no fault; what makes one unreadable is a cycle, one uuid with two contents, a line
//! in the middle that cannot be decoded, or no graph at all.
//!
//! Nothing here reads or writes. Memory is about 50 bytes a uuid, plus the longest line; walks are loops.

use super::ids::{Digest, Ids};
use super::line::{Record, name, values};
use super::strict::Strict;
use super::verdict::{Fault, Finding, Report, Severity};
use crate::json::raw::Raw;
use std::collections::HashSet;

pub use super::verdict::Mode;

/// The check of one input. Feed it every line, then [`finish`](Chain::finish).
pub struct Chain {
    report: Report,
    rules: Rules,
    /// Number of the last line seen.
    last: u64,
    /// An undecodable line that may be the last, and the byte where it breaks.
    broken: Option<(u64, u64)>,
}

enum Rules {
    Real(Box<Graph>),
    Strict(Box<Strict>),
}

impl Chain {
    /// Nothing seen yet.
    pub fn new(mode: Mode) -> Self {
        let digest = Digest::new();
        let rules = match mode {
            Mode::Real => Rules::Real(Box::new(Graph::new(digest))),
            Mode::Strict => Rules::Strict(Box::new(Strict::new(digest))),
        };
        Chain { report: Report::new(mode), rules, last: 0, broken: None }
    }

    /// The next line, without its line end, which it had if `ended`. Blank lines may be left out, but
    /// `number`, from 1, counts them.
    pub fn line(&mut self, number: u64, text: &[u8], ended: bool) {
        self.pass(number);
        let Chain { report, rules, .. } = self;
        let damage = values(text, |value| match (Record::new(value), &mut *rules) {
            (Some(record), Rules::Real(graph)) => graph.record(number, &record, report),
            (Some(record), Rules::Strict(strict)) => strict.record(number, &record, report),
            (None, Rules::Real(_)) => report.add(number, Fault::NotObject),
            (None, Rules::Strict(strict)) => {
                strict.unreadable();
                report.add(number, Fault::NotObject);
            }
        });
        for (is, fault) in
            [(damage.bom, Fault::Bom), (damage.not_utf8, Fault::NotUtf8), (damage.joined, Fault::Joined)]
        {
            if is {
                report.add(number, fault);
            }
        }
        if let Rules::Strict(strict) = rules {
            // A raw one cannot stand inside a string (RFC 8259, section 7).
            if memchr::memchr(b'\r', text).is_some() {
                report.add(number, Fault::CarriageReturn);
            }
            if !ended {
                report.add(number, Fault::NoNewline);
            }
            if damage.bad.is_some() {
                strict.unreadable();
            }
        }
        self.broken = damage.bad.map(|bad| (number, bad.offset));
    }

    /// The next line, which nobody read because it is too long.
    pub fn too_long(&mut self, number: u64) {
        self.pass(number);
        self.report.add(number, Fault::TooLong);
        if let Rules::Strict(strict) = &mut self.rules {
            strict.unreadable();
        }
    }

    /// Settle what is before line `number`.
    fn pass(&mut self, number: u64) {
        if let Some((line, offset)) = self.broken.take() {
            self.report.add(line, Fault::NotJson { column: offset.saturating_add(1) });
        }
        if number > self.last.saturating_add(1) && matches!(self.rules, Rules::Strict(_)) {
            self.report.add(self.last.saturating_add(1), Fault::Blank);
        }
        self.last = number;
    }

    /// The verdicts on an input of `lines` lines, blank ones at its end included.
    pub fn finish(mut self, lines: u64) -> Report {
        // A writer that is stopped leaves half a line at the end, and only there.
        if let (Rules::Real(_), Some((line, _))) = (&self.rules, self.broken) {
            self.report.add(line, Fault::Truncated);
            self.broken = None;
        }
        self.pass(lines.saturating_add(1));
        match &mut self.rules {
            Rules::Real(graph) => graph.finish(&mut self.report),
            Rules::Strict(strict) => strict.finish(&mut self.report),
        }
        if self.report.nodes == 0 {
            self.report.add(0, Fault::NoChain);
        }
        self.report.sorted()
    }
}

/// Holds generated text to the strict rules while it is being written, so that a file is known to be
/// good before it is put in place, without reading it again.
///
/// ```
/// use curt_tools::cc::chain::Proof;
///
/// let mut proof = Proof::new();
/// proof.feed(b"{\"type\":\"user\",\"uuid\"");
/// proof.feed(b":\"x\"}\n");
/// assert_eq!(proof.finish().unwrap_err().line, 1);
/// ```
pub struct Proof {
    chain: Chain,
    number: u64,
    /// The line that the next block goes on with.
    partial: Vec<u8>,
}

impl Proof {
    /// Nothing written yet.
    pub fn new() -> Self {
        Proof { chain: Chain::new(Mode::Strict), number: 0, partial: Vec::new() }
    }

    /// The next bytes, cut anywhere.
    pub fn feed(&mut self, mut block: &[u8]) {
        while let Some((line, rest)) =
            memchr::memchr(b'\n', block).and_then(|at| Some((block.get(..at)?, block.get(at + 1..)?)))
        {
            block = rest;
            if self.partial.is_empty() {
                self.judge(line, true);
            } else {
                let mut whole = std::mem::take(&mut self.partial);
                whole.extend_from_slice(line);
                self.judge(&whole, true);
                whole.clear();
                self.partial = whole;
            }
        }
        self.partial.extend_from_slice(block);
    }

    fn judge(&mut self, line: &[u8], ended: bool) {
        self.number += 1;
        // `Chain` tells a blank line by the gap that it leaves.
        if !line.is_empty() {
            self.chain.line(self.number, line, ended);
        }
    }

    /// The verdict on everything written: the first error there is. Warnings are none.
    pub fn finish(mut self) -> Result<Report, Finding> {
        let rest = std::mem::take(&mut self.partial);
        if !rest.is_empty() {
            self.judge(&rest, false);
        }
        let report = self.chain.finish(self.number);
        match report.findings.iter().find(|finding| finding.severity == Severity::Error) {
            Some(error) => Err(*error),
            None => Ok(report),
        }
    }
}

impl Default for Proof {
    fn default() -> Self {
        Proof::new()
    }
}

/// The graph of a real transcript.
struct Graph {
    digest: Digest,
    uuids: Ids,
    /// By the number of their uuid; a uuid that was only named so far is a [`Node::NAMED`].
    nodes: Vec<Node>,
    /// The number of the first node.
    first: Option<u32>,
    sessions: Ids,
    /// By session: whether it has its beginning.
    begun: Vec<bool>,
    /// The ids of the calls made so far.
    calls: HashSet<[u8; 16]>,
}

/// 28 bytes.
#[derive(Clone, Copy)]
struct Node {
    /// Of the record's text, to tell a copy from another content.
    content: [u8; 16],
    /// The number of the uuid that this one goes on from, or `NONE`.
    parent: u32,
    /// Its line, or 0 while its uuid was only named. From 2^32 on all lines are the last.
    line: u32,
    /// The number of its session; sessions from 65,535 on are one.
    session: u16,
    /// `parent` is the logical one.
    logical: bool,
    /// A user or assistant record, whose parent must not be missing.
    spoken: bool,
}

const NONE: u32 = u32::MAX;

impl Node {
    const NAMED: Node =
        Node { content: [0; 16], parent: NONE, line: 0, session: 0, logical: false, spoken: false };
}

impl Graph {
    fn new(digest: Digest) -> Self {
        Graph {
            digest,
            uuids: Ids::new(digest),
            nodes: Vec::new(),
            first: None,
            sessions: Ids::new(digest),
            begun: Vec::new(),
            calls: HashSet::new(),
        }
    }

    fn record(&mut self, line: u64, record: &Record<'_>, report: &mut Report) {
        self.calls(line, record, report);
        if !record.is_node() {
            return;
        }
        let Some(own) = self.number(record.uuid) else { return };
        let content = self.digest.of(record.raw.bytes());
        match self.nodes.get(own as usize) {
            // A copy changes nothing. Of two contents the first keeps the place: the order of a
            // transcript is that of first occurrence.
            Some(node) if node.line > 0 => {
                if node.content != content {
                    report.add(line, Fault::OtherContent { first: node.line.into() });
                }
                return;
            }
            _ => {}
        }
        let spoken = record.is("user") || record.is("assistant");
        let parent = self.number(record.parent);
        let logical = if parent.is_none() { self.number(record.logical_parent) } else { None };
        let session = self.session(record.session);
        if parent.is_none() && self.is_extra_root(record, session) {
            report.add(line, Fault::ExtraRoot);
        }
        let node = Node {
            content,
            parent: parent.or(logical).unwrap_or(NONE),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            session,
            logical: logical.is_some(),
            spoken,
        };
        if let Some(parent) = self.at(node.parent)
            && parent.session != session
        {
            report.add(line, Fault::OtherSession);
        }
        self.first.get_or_insert(own);
        report.nodes += 1;
        if let Some(place) = self.nodes.get_mut(own as usize) {
            *place = node;
        }
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

    /// Whether a record without parent is one beginning too many. A session begins once, with a prompt;
    /// hooks, compaction boundaries, local commands and subagents stand for themselves.
    fn is_extra_root(&mut self, record: &Record<'_>, session: u16) -> bool {
        let stands_alone = record.is_sidechain()
            || !["user", "assistant", "system"].iter().any(|kind| record.is(kind))
            || record.subtype.is_some_and(|it| it.is("compact_boundary") || it.is("local_command"));
        if stands_alone {
            return false;
        }
        let session = usize::from(session);
        if self.begun.len() <= session {
            self.begun.resize(session + 1, false);
        }
        self.begun.get_mut(session).is_some_and(|begun| std::mem::replace(begun, true))
    }

    /// Keep the calls of a record, and look for those that its results answer.
    fn calls(&mut self, line: u64, record: &Record<'_>, report: &mut Report) {
        let is_assistant = record.is("assistant");
        if !is_assistant && !record.is("user") {
            return;
        }
        for block in record.blocks() {
            if is_assistant && block.is("tool_use") {
                if let Some(id) = name(block.id) {
                    self.calls.insert(self.digest.of(&id));
                }
            } else if block.is("tool_result")
                && name(block.tool_use_id).is_none_or(|id| !self.calls.contains(&self.digest.of(&id)))
            {
                report.add(line, Fault::OrphanResult);
            }
        }
    }

    /// The node of a number, once its line was seen.
    fn at(&self, number: u32) -> Option<&Node> {
        self.nodes.get(number as usize).filter(|node| node.line > 0)
    }

    fn finish(&mut self, report: &mut Report) {
        let mut children = vec![0_u8; self.nodes.len()];
        for (number, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.line > 0) {
            if node.parent == NONE || node.logical {
                report.roots += 1;
            } else if self.at(node.parent).is_none() {
                report.orphans += 1;
                // The first line of a file that was cut, and hooks after a compaction, miss theirs every day.
                if node.spoken && self.first.is_some_and(|first| first as usize != number) {
                    report.add(node.line.into(), Fault::OrphanParent);
                }
            } else if let Some(count) = children.get_mut(node.parent as usize) {
                *count = count.saturating_add(1);
            }
        }
        report.forks = children.iter().filter(|count| **count > 1).count() as u64;
        for (line, length) in self.cycles() {
            report.add(line, Fault::Cycle { length });
        }
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
    }

    #[test]
    fn a_node_is_28_bytes() {
        assert_eq!(size_of::<Node>(), 28);
    }
}
