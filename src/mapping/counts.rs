//! Everything a conversion drops, folds, changes or cannot do, by name; never a value.

use crate::json::write::{Layout, Writer};
use std::collections::BTreeMap;

macro_rules! counts {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// What is counted. The names in reports are those of rulings.md, "Counts".
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Count { $($(#[doc = $doc])+ $variant,)+ }

        impl Count {
            /// The name a report gives it.
            pub fn name(self) -> &'static str {
                match self { $(Count::$variant => $name,)+ }
            }
        }
    };
}

counts! {
    /// Conversations that are new.
    Converted = "converted",
    /// Files that were replaced by another state of their conversation.
    Updated = "updated",
    /// Files that already held the same bytes.
    Unchanged = "unchanged",
    /// Files that hold a later state than the source, and stayed.
    Older = "older",
    /// Conversations with no message left.
    Empty = "empty",
    /// Conversations that could not be converted.
    Failed = "failed",
    /// Outputs that their checker refused; never written.
    RoundTripFailures = "roundTripFailures",
    /// Sessions of which the store could not give all.
    Partial = "partial",
    /// Messages written.
    Messages = "messages",
    /// Cells and plumbing that were not NULL and were left out, by column.
    RedactedFields = "redactedFields",
    /// Rows of roles that `.curt` has no place for here, by role.
    SkippedRoles = "skippedRoles",
    /// User and assistant rows with nothing to say.
    EmptyDropped = "emptyDropped",
    /// Records in which nothing was said, by kind.
    SkippedRecords = "skippedRecords",
    /// Prompts that waited in a queue and are nowhere else.
    QueuedPrompts = "queuedPrompts",
    /// Rows that the person undid.
    RewoundRows = "rewoundRows",
    /// Rows meant for the model alone.
    HiddenRows = "hiddenRows",
    /// Copies that compaction stored of rows that are shown.
    FoldedRows = "foldedRows",
    /// Contents that were JSON and were put in canonical form.
    JsonContents = "jsonContents",
    /// Contents that were a structure behind the sentinel.
    SentinelContents = "sentinelContents",
    /// Wrappers of untrusted tool output that were taken off.
    WrappersStripped = "wrappersStripped",
    /// Tool calls without a result.
    UnmatchedToolCalls = "unmatchedToolCalls",
    /// Tool results without a call.
    UnmatchedToolResults = "unmatchedToolResults",
    /// Tool-call arguments that stayed a string.
    UnparsedArguments = "unparsedArguments",
    /// Cells of the wrong kind, by column.
    MalformedCells = "malformedCells",
    /// Tool calls and results that were given an id.
    MintedIds = "mintedIds",
    /// Tool inputs that were no object and were wrapped in one.
    WrappedInputs = "wrappedInputs",
    /// Tool calls without a result that were given an error as theirs.
    AnsweredCalls = "answeredCalls",
    /// Tool results without a call that became the text of a user.
    LoosenedResults = "loosenedResults",
    /// Times that ISO 8601 cannot write.
    ReplacedTimes = "replacedTimes",
    /// Names that had to be changed to be safe file names.
    RenamedForDisk = "renamedForDisk",
}

/// The counts of one run, as reported by the program whose list this is: a sum or sums by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    sums: BTreeMap<Count, u64>,
    by_name: BTreeMap<Count, BTreeMap<String, u64>>,
}

/// What has no name of its own in a report.
const OTHER: &str = "other";

/// How many names of one count are told apart.
const MOST_NAMES: usize = 200;

/// Whether this could be the name of a column, a role or a runtime.
pub fn looks_like_a_name(text: &str) -> bool {
    (1..=40).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

/// What curt-pack reports, in order.
pub const PACK: &[Count] = &[
    Count::Converted,
    Count::Updated,
    Count::Unchanged,
    Count::Older,
    Count::Empty,
    Count::Failed,
    Count::RoundTripFailures,
    Count::Partial,
    Count::Messages,
    Count::RedactedFields,
    Count::SkippedRoles,
    Count::SkippedRecords,
    Count::QueuedPrompts,
    Count::EmptyDropped,
    Count::RewoundRows,
    Count::HiddenRows,
    Count::FoldedRows,
    Count::JsonContents,
    Count::SentinelContents,
    Count::WrappersStripped,
    Count::UnmatchedToolCalls,
    Count::UnmatchedToolResults,
    Count::UnparsedArguments,
    Count::MalformedCells,
    Count::RenamedForDisk,
];

/// What curt2cc reports, in order.
pub const EMIT: &[Count] = &[
    Count::Converted,
    Count::Updated,
    Count::Unchanged,
    Count::Empty,
    Count::Failed,
    Count::RoundTripFailures,
    Count::Messages,
    Count::UnmatchedToolCalls,
    Count::UnmatchedToolResults,
    Count::MintedIds,
    Count::WrappedInputs,
    Count::AnsweredCalls,
    Count::LoosenedResults,
    Count::ReplacedTimes,
    Count::RenamedForDisk,
];

impl Counts {
    /// `n` more of `count`.
    pub fn add(&mut self, count: Count, n: u64) {
        if n > 0 {
            *self.sums.entry(count).or_default() += n;
        }
    }

    /// One more of `count` under `name`, or under `other` where that does not look like a name, so that no
    /// text gets into a report, or where there are too many names already.
    pub fn tally(&mut self, count: Count, name: &str) {
        self.tally_many(count, name, 1);
    }

    fn tally_many(&mut self, count: Count, name: &str, n: u64) {
        let sums = self.by_name.entry(count).or_default();
        let name = if looks_like_a_name(name) { name } else { OTHER };
        let name = if sums.len() < MOST_NAMES || sums.contains_key(name) { name } else { OTHER };
        match sums.get_mut(name) {
            Some(sum) => *sum += n,
            None => drop(sums.insert(name.to_owned(), n)),
        }
    }

    /// How many of `count` there are.
    pub fn sum(&self, count: Count) -> u64 {
        let named = self.by_name.get(&count).map_or(0, |sums| sums.values().sum());
        self.sums.get(&count).copied().unwrap_or_default() + named
    }

    /// How many sessions came by, whatever became of them.
    pub fn sessions(&self) -> u64 {
        use Count::{Converted, Empty, Failed, Older, Unchanged, Updated};
        [Converted, Updated, Unchanged, Older, Empty, Failed].into_iter().map(|count| self.sum(count)).sum()
    }

    /// Add what another conversation brought.
    pub fn merge(&mut self, other: &Counts) {
        for (count, n) in &other.sums {
            self.add(*count, *n);
        }
        for (count, names) in &other.by_name {
            for (name, n) in names {
                self.tally_many(*count, name, *n);
            }
        }
    }

    /// One line of prose: the outcome always, the rest where there is something to tell.
    pub fn line(&self, list: &[Count]) -> String {
        const ALWAYS: [Count; 4] = [Count::Converted, Count::Empty, Count::Failed, Count::RoundTripFailures];
        let mut told = Vec::new();
        for count in list {
            if let Some(names) = self.by_name.get(count) {
                let names: Vec<String> = names.iter().map(|(name, n)| format!("{name} {n}")).collect();
                told.push(format!("{} ({})", count.name(), names.join(", ")));
            } else if self.sum(*count) > 0 || ALWAYS.contains(count) {
                told.push(format!("{} {}", count.name(), self.sum(*count)));
            }
        }
        told.join(", ")
    }

    /// One JSON object on one line, every count of `list` in it, zeros too.
    pub fn json(&self, list: &[Count]) -> Vec<u8> {
        const BY_NAME: [Count; 4] =
            [Count::RedactedFields, Count::SkippedRoles, Count::SkippedRecords, Count::MalformedCells];
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, Layout::Line);
        writer.open(b'{');
        for count in list {
            writer.key(count.name());
            if !BY_NAME.contains(count) {
                writer.scalar(self.sum(*count));
                continue;
            }
            writer.open(b'{');
            for (name, n) in self.by_name.get(count).into_iter().flatten() {
                writer.key(name);
                writer.scalar(n);
            }
            writer.close(b'}');
        }
        writer.close(b'}');
        out.push(b'\n');
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_holds_names_and_not_too_many() {
        let mut counts = Counts::default();
        for name in ["", "two words", "a\nb", "\u{e4}", &"x".repeat(41), &"x".repeat(1_000_000)] {
            counts.tally(Count::SkippedRoles, name);
        }
        assert_eq!(counts.line(&[Count::SkippedRoles]), "skippedRoles (other 6)");
        let mut many = Counts::default();
        (0..10_000).for_each(|n| many.tally(Count::RedactedFields, &format!("column_{n}")));
        let mut twice = many.clone();
        twice.merge(&many);
        for (counts, sum) in [(many, 10_000), (twice, 20_000)] {
            assert_eq!(counts.sum(Count::RedactedFields), sum);
            assert!(counts.json(PACK).len() < 10_000 && counts.line(PACK).contains("other"));
        }
    }

    #[test]
    fn reports_say_what_there_is() {
        let mut counts = Counts::default();
        counts.add(Count::Converted, 2);
        counts.add(Count::FoldedRows, 1);
        counts.tally(Count::SkippedRoles, "system");
        let mut more = counts.clone();
        more.merge(&counts);
        assert_eq!(more.sum(Count::SkippedRoles), 2);
        let list =
            [Count::Converted, Count::Failed, Count::SkippedRoles, Count::FoldedRows, Count::HiddenRows];
        assert_eq!(more.line(&list), "converted 4, failed 0, skippedRoles (system 2), foldedRows 2");
        let json = b"{\"converted\":4,\"failed\":0,\"skippedRoles\":{\"system\":2},\"foldedRows\":2,\"hiddenRows\":0}\n";
        assert_eq!(more.json(&list), json);
    }
}
