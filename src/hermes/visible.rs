//! Which rows of a session a person sees, and which are one message stored twice
//! (rulings, "Which rows become messages").
//!
//! | active | compacted | the row is |
//! |---|---|---|
//! | 1 | 0 | live |
//! | 0 | 1 | compacted away; the person still sees it |
//! | 0 | 0 | rewound, or the superseded original of a row that a compaction stored again |

use super::session::Row;
use crate::json::raw::Raw;
use std::collections::HashMap;

/// What became of each row. Only sums of these leave this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A message, or a row that some later rule skips by its role or its emptiness.
    Shown,
    /// A copy of a row that is shown.
    Folded,
    /// Undone by the person: rewound, retried.
    Rewound,
    /// Meant for the model alone.
    Hidden,
}

/// The fate of each row, in the order given, which must be that of `messages.id`.
pub fn fates(rows: &[Row<'_>]) -> Vec<Fate> {
    let mut copies = Copies::none(rows.len());
    // Only compaction stores a message twice, and it leaves a mark on one of the two.
    if rows.iter().any(|row| row.standing() != Standing::Live) {
        join_twins(rows, &mut copies);
        join_tails(rows, &mut copies);
    }
    let firsts: Vec<usize> = (0..rows.len()).map(|at| copies.first(at)).collect();
    let mut seen = vec![false; rows.len()];
    for (row, first) in rows.iter().zip(&firsts) {
        if let Some(seen) = seen.get_mut(*first) {
            *seen |= row.standing() != Standing::Dropped;
        }
    }
    let fate = |(at, (row, first)): (usize, (&Row<'_>, usize))| match seen.get(first) {
        Some(true) if at != first => Fate::Folded,
        Some(true) if row.is_hidden() => Fate::Hidden,
        Some(true) => Fate::Shown,
        _ => Fate::Rewound,
    };
    rows.iter().zip(firsts).enumerate().map(fate).collect()
}

/// Which rows are one message: the lowest of them keeps its place and time for all.
struct Copies {
    /// An earlier row of the same message; a row without one is its message's first.
    earlier: Vec<usize>,
}

impl Copies {
    fn none(rows: usize) -> Self {
        Copies { earlier: (0..rows).collect() }
    }

    fn first(&mut self, mut at: usize) -> usize {
        while let Some(earlier) = self.earlier.get(at).copied().filter(|earlier| *earlier != at) {
            // Halve the way for whoever asks next.
            let before = self.earlier.get(earlier).copied().unwrap_or(earlier);
            if let Some(way) = self.earlier.get_mut(at) {
                *way = before;
            }
            at = before;
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.first(one), self.first(other));
        if let Some(earlier) = self.earlier.get_mut(one.max(other)) {
            *earlier = one.min(other);
        }
    }
}

/// Rows equal to the last column, time included, of which one is compacted or superseded.
fn join_twins(rows: &[Row<'_>], copies: &mut Copies) {
    let mut groups: HashMap<_, Vec<usize>> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        groups.entry((row.said(), row.timestamp)).or_default().push(at);
    }
    let is_marked = |at: &usize| rows.get(*at).is_some_and(|row| row.standing() != Standing::Live);
    for group in groups.into_values().filter(|group| group.iter().any(is_marked)) {
        for pair in group.windows(2) {
            if let [one, next] = pair {
                copies.join(*one, *next);
            }
        }
    }
}

/// Releases that do not stamp live messages give the copies a new time. What compaction wrote right
/// after a summary is then known by being, row for row, what stood right before it.
fn join_tails(rows: &[Row<'_>], copies: &mut Copies) {
    let summaries = rows.iter().enumerate().filter(|(_, row)| row.is_summary()).map(|(at, _)| at);
    for summary in summaries {
        let (before, after) = (rows.get(..summary), rows.get(summary + 1..));
        let (Some(before), Some(after)) = (before, after) else { continue };
        // Every original left the live set when the copy was made.
        let longest = before.iter().rev().take_while(|row| row.standing() != Standing::Live).count();
        let copied = (1..=longest.min(after.len())).rev().find(|len| {
            let originals = before.iter().rev().take(*len).rev();
            originals.zip(after).all(|(original, copy)| original.said() == copy.said())
        });
        for nth in 1..=copied.unwrap_or(0) {
            copies.join(summary - nth, summary + 1 + copied.unwrap_or(0) - nth);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Live,
    Compacted,
    Dropped,
}

impl<'a> Row<'a> {
    fn standing(&self) -> Standing {
        let is_one = |flag: Option<Raw<'_>>| flag.and_then(Raw::number) == Some(1.0);
        match (self.active.is_none() || is_one(self.active), is_one(self.compacted)) {
            (true, _) => Standing::Live,
            (false, true) => Standing::Compacted,
            (false, false) => Standing::Dropped,
        }
    }

    fn is_hidden(&self) -> bool {
        self.display_kind.is_some_and(|kind| kind.is("hidden"))
            || self.compressed_summary.and_then(Raw::number) == Some(1.0)
            || self.model_only.is_some_and(|flag| flag.bytes() == b"true")
    }

    /// The text that compaction leaves for what it took away. Releases before 26 have no flag.
    fn is_summary(&self) -> bool {
        let opens_like_one = |text: Raw<'_>| {
            let text = text.quoted().unwrap_or_default();
            text.starts_with(b"[CONTEXT COMPACTION") || text.starts_with(b"[CONTEXT SUMMARY]:")
        };
        self.compressed_summary.and_then(Raw::number) == Some(1.0)
            || self.role.is_some_and(|role| role.is("user") || role.is("assistant"))
                && self.content.is_some_and(opens_like_one)
    }

    /// What makes two rows one message, but for their time: Hermes' own key.
    fn said(&self) -> [Option<Raw<'a>>; 5] {
        [self.role, self.content, self.tool_call_id, self.tool_calls, self.tool_name]
    }
}

#[cfg(test)]
mod tests {
    use super::super::session::Session;
    use super::Fate::{self, *};
    use super::fates;
    use crate::json::raw::Raw;

    /// Fates of rows given as `content time active compacted [extra members]`.
    fn of(rows: &[&str]) -> Vec<Fate> {
        let rows: Vec<String> = rows
            .iter()
            .map(|row| {
                let w: Vec<&str> = row.splitn(5, ' ').collect();
                let extra = w.get(4).unwrap_or(&"");
                format!(
                    r#"{{"role":"user","content":"{}","timestamp":{},"active":{},"compacted":{}{extra}}}"#,
                    w[0].replace('_', " "),
                    w[1],
                    w[2],
                    w[3]
                )
            })
            .collect();
        let row = format!(r#"{{"id":"s","messages":[{}]}}"#, rows.join(","));
        fates(&Session::read(Raw::parse(row.as_bytes()).unwrap()).unwrap().messages)
    }

    const SUMMARY: &str = "[CONTEXT_COMPACTION_x 7 1 0";

    #[test]
    fn rewound_rows_are_not_shown_and_null_active_is_live() {
        assert_eq!(of(&["a 1 1 0", "b 2 0 0", "c 3 null null", "d 4 2 0"]), [Shown, Rewound, Shown, Rewound]);
    }

    #[test]
    fn equal_rows_fold_only_where_compaction_left_a_mark() {
        assert_eq!(of(&["ok 1 1 0", "ok 1 1 0"]), [Shown, Shown]);
        assert_eq!(of(&["ok 1 0 1", "ok 9 1 0"]), [Shown, Shown], "said again later");
        assert_eq!(of(&["ok 1 0 1", "ok 1 1 0"]), [Shown, Folded]);
        assert_eq!(of(&["ok 1 0 0", "ok 1 1 0"]), [Shown, Folded], "the superseded original keeps its place");
        assert_eq!(of(&["hi 1 0 0", "hi 5 1 0"]), [Rewound, Shown], "rewound, then typed again");
        assert_eq!(of(&["hi 1 0 0", "hi 1 0 0"]), [Rewound, Rewound]);
    }

    #[test]
    fn carried_tail_three_times_is_one_message() {
        // NousResearch/hermes-agent#86366: the tail is duplicated once per compaction.
        assert_eq!(of(&["t 1 0 1", "t 1 0 1", "t 1 0 1", "n 2 1 0"]), [Shown, Folded, Folded, Shown]);
    }

    #[test]
    fn unstamped_copies_after_a_summary_fold_by_position() {
        let rows = ["a 1 0 1", "t 2 0 1", "u 3 0 1", SUMMARY, "t 8 1 0", "u 8 1 0", "u 9 1 0"];
        assert_eq!(of(&rows), [Shown, Shown, Shown, Shown, Folded, Folded, Shown]);
        let rows = ["t 1 0 0", SUMMARY, "t 8 1 0"];
        assert_eq!(of(&rows), [Shown, Shown, Folded]);
        let rows = ["t 1 0 0", SUMMARY, "t 8 0 0"];
        assert_eq!(of(&rows), [Rewound, Shown, Rewound], "taken back after the compaction");
        let again = "[CONTEXT_COMPACTION_y 8 1 0";
        let rows = ["t 1 0 0", SUMMARY, "t 8 0 0", again, "t 9 1 0"];
        assert_eq!(of(&rows), [Shown, Shown, Folded, Shown, Folded], "carried through two compactions");
        let rows = ["t 1 0 1", SUMMARY, "t 8 0 0"];
        assert_eq!(of(&rows), [Shown, Shown, Folded]);
        let rows = ["t 1 1 0", SUMMARY, "t 8 1 0"];
        assert_eq!(of(&rows), [Shown, Shown, Shown], "a live row was never copied");
    }

    #[test]
    fn rows_for_the_model_alone_are_hidden_unless_rewound() {
        let hidden = r#"x 1 1 0 ,"display_kind":"hidden""#;
        let steer = r#"x 1 1 0 ,"display_kind":"steer""#;
        let summary = r#"x 1 0 1 ,"_compressed_summary":1"#;
        let model_only = r#"x 1 1 0 ,"model_only":true"#;
        assert_eq!(of(&[hidden]), [Hidden]);
        assert_eq!(of(&[steer]), [Shown]);
        assert_eq!(of(&[summary]), [Hidden]);
        assert_eq!(of(&[model_only]), [Hidden]);
        assert_eq!(of(&[r#"x 1 0 0 ,"display_kind":"hidden""#]), [Rewound]);
    }
}
