//! What a graph looks like: counts that no rule forbids, by kind.

use super::ids::Key;
use crate::json::write::Writer;
use std::collections::BTreeMap;

/// The counts of one input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Records that no other is the parent of, by what they are.
    pub roots: BTreeMap<&'static str, u64>,
    /// Records that several go on from.
    pub forks: Forks,
    /// Records whose parent is nowhere.
    pub orphans: Orphans,
    /// Nodes on the longest way down; 0 where there is a cycle.
    pub longest: u64,
    /// Lines of users and assistants, without those of subagents:
    pub spoken: u64,
    /// how many of them a reader meets that walks from the last one over `parentUuid`,
    pub naive: u64,
    /// and how many with logical parents, the lines of one message, and the results of its calls.
    pub bridged: u64,
    /// Lines that repeat another one, byte for byte.
    pub copies: u64,
    /// Records that stand before their parent.
    pub forward: u64,
    /// Records without a place in the graph.
    pub outside: u64,
}

/// Forks by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forks {
    /// The lines of a message, and the results of its calls.
    pub parallel: u64,
    /// One way goes on; the others are hooks, progress, attachments.
    pub side: u64,
    /// What a compaction stored twice: two turns of one instant.
    pub replay: u64,
    /// A user went back and said something else.
    pub rewind: u64,
}

impl Forks {
    /// All of them.
    pub fn sum(self) -> u64 {
        self.parallel + self.side + self.replay + self.rewind
    }
}

/// Orphans by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orphans {
    /// The first record, of a file that was cut.
    pub first_line: u64,
    /// A line of a user or an assistant.
    pub message: u64,
    /// Any other: hooks, progress, attachments.
    pub other: u64,
    /// A compaction boundary whose logical parent is nowhere.
    pub logical: u64,
    /// Not in this input, but in another one.
    pub elsewhere: u64,
}

/// Which kind of orphan a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Orphan {
    FirstLine,
    Message,
    Other,
    Logical,
}

/// A parent that is not in this input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missing {
    pub line: u64,
    pub key: Key,
    pub of: Orphan,
}

impl Orphans {
    pub(super) fn add(&mut self, of: Orphan) {
        *match of {
            Orphan::FirstLine => &mut self.first_line,
            Orphan::Message => &mut self.message,
            Orphan::Other => &mut self.other,
            Orphan::Logical => &mut self.logical,
        } += 1;
    }
}

impl Shape {
    /// Its members, into an open object.
    pub(super) fn write(&self, object: &mut Writer<'_>) {
        let counts = |object: &mut Writer<'_>, name: &str, counts: &[(&str, u64)]| {
            object.key(name);
            object.open(b'{');
            for (name, count) in counts {
                object.key(name);
                object.scalar(count);
            }
            object.close(b'}');
        };
        let Shape { forks, orphans, .. } = self;
        counts(object, "roots", &self.roots.iter().map(|(kind, count)| (*kind, *count)).collect::<Vec<_>>());
        counts(
            object,
            "forks",
            &[
                ("parallel", forks.parallel),
                ("side", forks.side),
                ("replay", forks.replay),
                ("rewind", forks.rewind),
            ],
        );
        counts(
            object,
            "orphans",
            &[
                ("firstLine", orphans.first_line),
                ("message", orphans.message),
                ("other", orphans.other),
                ("logical", orphans.logical),
                ("elsewhere", orphans.elsewhere),
            ],
        );
        counts(object, "reach", &[("of", self.spoken), ("naive", self.naive), ("bridged", self.bridged)]);
        for (name, count) in [
            ("longest", self.longest),
            ("copies", self.copies),
            ("forward", self.forward),
            ("outside", self.outside),
        ] {
            object.key(name);
            object.scalar(count);
        }
    }
}
