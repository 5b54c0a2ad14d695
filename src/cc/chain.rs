//! The check of a transcript, line by line.
//!
//! Lines form a graph: `parentUuid` names the line that a line goes on from; where it is null, a
//! compaction boundary's `logicalParentUuid` does. Real graphs are forests with forks, gaps and several
//! roots, and that is no fault; what makes one unreadable is a cycle, one uuid with two contents, a line
//! in the middle that cannot be decoded, or no graph at all.
//!
//! Nothing here reads or writes. Memory is about 50 bytes a uuid, plus the longest line; walks are loops.

use super::graph::Graph;
use super::ids::{Digest, Key};
use super::line::{Record, values};
use super::shape::{Missing, Orphan, Shape};
use super::strict::Strict;
use super::verdict::{Fault, Finding, Report, Severity};
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
        Chain::among(mode, Digest::new())
    }

    /// One of several inputs, whose keys are those of this digest.
    pub fn among(mode: Mode, digest: Digest) -> Self {
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
    pub fn finish(self, lines: u64) -> Report {
        self.end(lines).settle(&HashSet::new())
    }

    /// The same, but for parents that are nowhere in this input: another one may have them.
    pub fn end(mut self, lines: u64) -> Unsettled {
        // A writer that is stopped leaves half a line at the end, and only there.
        if let (Rules::Real(_), Some((line, _))) = (&self.rules, self.broken) {
            self.report.add(line, Fault::Truncated);
            self.broken = None;
        }
        self.pass(lines.saturating_add(1));
        let (missing, known) = match &mut self.rules {
            Rules::Real(graph) => graph.finish(&mut self.report),
            Rules::Strict(strict) => {
                strict.finish(&mut self.report);
                (Vec::new(), Vec::new())
            }
        };
        if self.report.nodes == 0 {
            self.report.add(0, Fault::NoChain);
        }
        self.report.lines = lines;
        Unsettled { report: self.report, missing, known }
    }
}

/// A report on one of several inputs, before it is known what the others hold.
#[derive(Debug)]
pub struct Unsettled {
    report: Report,
    missing: Vec<Missing>,
    /// The uuids that this input holds.
    pub known: Vec<Key>,
}

impl Unsettled {
    /// Whether nothing is missing that another input may hold.
    pub fn is_settled(&self) -> bool {
        self.missing.is_empty()
    }

    /// The report, when all inputs together hold these uuids.
    pub fn settle(self, known: &HashSet<Key>) -> Report {
        let Unsettled { mut report, missing, .. } = self;
        let mut shape = report.shape.take();
        for Missing { line, key, of } in missing {
            let Some(Shape { orphans, .. }) = &mut shape else { continue };
            if known.contains(&key) {
                orphans.elsewhere += 1;
                continue;
            }
            orphans.add(of);
            if of == Orphan::Message {
                report.add(line, Fault::OrphanParent);
            }
            report.orphans += u64::from(of != Orphan::Logical);
        }
        report.shape = shape;
        report.sorted()
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
