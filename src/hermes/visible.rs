//! Which rows of a session a person sees, and which are one message stored twice
//! (rulings, "Which rows become messages").
//!
//! | active | compacted | the row is |
//! |---|---|---|
//! | 1 | 0 | live |
//! | 0 | 1 | compacted away; the person still sees it |
//! | 0 | 0 | rewound, or the superseded original of a row that a compaction stored again |

use super::session::{Digest, Row};
use crate::json::raw::Raw;

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
pub fn fates<'a>(rows: impl Iterator<Item = Row<'a>> + Clone) -> Vec<Fate> {
    let mut is_marked = false;
    let alone = rows.clone().map(|row| {
        is_marked |= row.standing() != Standing::Live;
        if row.is_hidden() { Fate::Hidden } else { Fate::Shown }
    });
    let alone: Vec<Fate> = alone.collect();
    // Only compaction stores a message twice, and it leaves a mark on one of the two.
    if is_marked { with_copies(rows, alone) } else { alone }
}

/// The same where rows may be copies of others; `alone` is what those that are seen would be by themselves.
fn with_copies<'a>(rows: impl Iterator<Item = Row<'a>>, alone: Vec<Fate>) -> Vec<Fate> {
    let digest = Digest::default();
    let rows: Vec<Trace> = rows.map(|row| Trace::of(&row, &digest)).collect();
    let mut copies = Copies::none(rows.len());
    join_twins(&rows, &mut copies);
    join_tails(&rows, &mut copies);
    let mut seen = vec![false; rows.len()];
    for (at, row) in rows.iter().enumerate() {
        if let Some(seen) = seen.get_mut(copies.first(at)) {
            *seen |= row.standing != Standing::Dropped;
        }
    }
    let fate = |(at, alone)| match copies.first(at) {
        first if seen.get(first) != Some(&true) => Fate::Rewound,
        first if first != at => Fate::Folded,
        _ => alone,
    };
    alone.into_iter().enumerate().map(fate).collect()
}

/// What must be known of a row to find its copies.
struct Trace {
    /// What makes two rows one message, but for their time: Hermes' own key,
    said: [u64; 2],
    /// and their time.
    time: [u64; 2],
    standing: Standing,
    is_summary: bool,
}

impl Trace {
    fn of(row: &Row<'_>, digest: &Digest) -> Self {
        let said = [row.role, row.content, row.tool_call_id, row.tool_calls, row.tool_name];
        Trace {
            said: digest.of(said),
            time: digest.of(row.timestamp),
            standing: row.standing(),
            is_summary: row.is_summary(),
        }
    }
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
fn join_twins(rows: &[Trace], copies: &mut Copies) {
    let mut order: Vec<(&Trace, usize)> = rows.iter().zip(0..).collect();
    let key = |(row, at): &(&Trace, usize)| (row.said, row.time, *at);
    order.sort_unstable_by_key(key);
    let is_twin = |one: &(&Trace, usize), other: &(&Trace, usize)| {
        one.0.said == other.0.said && one.0.time == other.0.time
    };
    for group in order.chunk_by(is_twin) {
        let is_marked = group.iter().any(|(row, _)| row.standing != Standing::Live);
        for pair in group.windows(2).filter(|_| is_marked) {
            if let [(_, one), (_, next)] = pair {
                copies.join(*one, *next);
            }
        }
    }
}

/// Releases that do not stamp live messages give the copies a new time. What compaction wrote right
/// after a summary is then known by being, row for row, what stood right before it.
fn join_tails(rows: &[Trace], copies: &mut Copies) {
    /// More than any compaction carries over; a bound, so that no session costs the square of its length.
    const LONGEST: usize = 1000;
    let summaries = rows.iter().enumerate().filter(|(_, row)| row.is_summary).map(|(at, _)| at);
    for summary in summaries {
        let (before, after) = (rows.get(..summary), rows.get(summary + 1..));
        let (Some(before), Some(after)) = (before, after) else { continue };
        // Every original left the live set when the copy was made.
        let most = after.len().min(LONGEST);
        let longest = before.iter().rev().take(most).take_while(|row| row.standing != Standing::Live).count();
        let (Some((_, originals)), Some(copied)) =
            (before.split_at_checked(before.len().saturating_sub(longest)), after.get(..longest))
        else {
            continue;
        };
        let copied = longest_front_at_end(copied, originals);
        for nth in 1..=copied {
            copies.join(summary - nth, summary + 1 + copied - nth);
        }
    }
}

/// How long the longest front of `these` is that stands at the end of `those`, which is no longer, in the
/// time it takes to look at both (Knuth, Morris and Pratt's way).
fn longest_front_at_end(these: &[Trace], those: &[Trace]) -> usize {
    let is = |row: &Trace, at: usize| these.get(at).is_some_and(|this| this.said == row.said);
    // By length of a front: how long the next shorter front is that stands at its end.
    let mut shorter = vec![0; these.len() + 1];
    let longer = |shorter: &[usize], mut front: usize, row: &Trace| {
        while front > 0 && !is(row, front) {
            front = shorter.get(front).copied().unwrap_or_default();
        }
        front + usize::from(is(row, front))
    };
    let mut front = 0;
    for (row, length) in these.iter().zip(1_usize..).skip(1) {
        front = longer(&shorter, front, row);
        if let Some(place) = shorter.get_mut(length) {
            *place = front;
        }
    }
    those.iter().fold(0, |front, row| longer(&shorter, front, row))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Live,
    Compacted,
    Dropped,
}

impl Row<'_> {
    fn standing(&self) -> Standing {
        let is_one = |flag: Option<Raw<'_>>| flag.and_then(Raw::number) == Some(1.0);
        match (self.active.is_none() || is_one(self.active), is_one(self.compacted)) {
            (true, _) => Standing::Live,
            (false, true) => Standing::Compacted,
            (false, false) => Standing::Dropped,
        }
    }

    /// Whether no person is shown it.
    pub fn is_hidden(&self) -> bool {
        self.display_kind.is_some_and(|kind| kind.is("hidden"))
            || self.compressed_summary.and_then(Raw::number) == Some(1.0)
            || self.model_only.is_some_and(|flag| flag.bytes() == b"true")
    }

    /// Whether it was compacted away.
    pub fn is_compacted(&self) -> bool {
        self.compacted.and_then(Raw::number).is_some_and(|flag| flag != 0.0)
    }

    /// The text that compaction leaves for what it took away. Releases before 26 have no flag.
    pub fn is_summary(&self) -> bool {
        let opens_like_one = |text: Raw<'_>| {
            let text = text.quoted().unwrap_or_default();
            text.starts_with(b"[CONTEXT COMPACTION") || text.starts_with(b"[CONTEXT SUMMARY]:")
        };
        self.compressed_summary.and_then(Raw::number) == Some(1.0)
            || self.role.is_some_and(|role| role.is("user") || role.is("assistant"))
                && self.content.is_some_and(opens_like_one)
    }
}

#[cfg(test)]
mod tests {
    use super::super::session::Session;
    use super::Fate::{self, *};
    use super::{Standing, Trace, fates, longest_front_at_end};
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
        fates(Session::read(Raw::parse(row.as_bytes()).unwrap()).unwrap().messages())
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
    fn the_longest_tail_is_found_whatever_repeats_in_it() {
        // By trying every length.
        let trace =
            |said| Trace { said: [said, 0], time: [0, 0], standing: Standing::Live, is_summary: false };
        let told = |n: u64, bits: u64| (0..n).map(|at| trace(bits >> at & 1)).collect::<Vec<_>>();
        for length in 1..=7 {
            for bits in 0..1 << (2 * length) {
                let (these, those) = (told(length, bits), told(length, bits >> length));
                let same = |len: &usize| {
                    let end = those.iter().rev().take(*len).rev();
                    end.zip(&these).all(|(one, other)| one.said == other.said)
                };
                let longest = (0..=length as usize).rev().find(same).unwrap();
                assert_eq!(longest_front_at_end(&these, &those), longest, "{length} {bits:b}");
            }
        }
    }

    #[test]
    fn no_pattern_of_rows_costs_its_square() {
        // Each of these takes minutes when it does.
        let many = 20_000;
        let again = |row: &str| vec![row.to_owned(); many];
        let trap = [again("ok 1 0 1"), vec!["b 5 0 1".into(), SUMMARY.into()], again("ok 9 1 0")].concat();
        let shown = |rows: &[String]| {
            of(&rows.iter().map(String::as_str).collect::<Vec<_>>()).iter().filter(|f| **f == Shown).count()
        };
        assert_eq!(shown(&trap), 1 + 1 + 1 + many);
        assert_eq!(shown(&again(&SUMMARY.replace("1 0", "0 1"))), 1);
        let apart: Vec<String> = (0..many).map(|n| format!("[CONTEXT_COMPACTION_x {n} 0 1")).collect();
        assert!(shown(&apart) > 0);
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
