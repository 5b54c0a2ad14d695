//! Which records of a transcript are the conversation: the graph without the branches that the person
//! went back from.
//!
//! Walking up from the last record is no way to find it: half of the real files would lose records that
//! were said (compaction begins a new root, parallel tools and hooks fork). So everything stays, in the
//! order of the file, but what lies behind the one kind of fork that is a rewind: two prompts of different
//! times under one record.

use std::borrow::Cow;
use std::collections::HashMap;

/// A record's part in the graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    /// The person speaks, at this time. Only these are alternatives of each other.
    Prompt(Option<f64>),
    /// Anything else that is said.
    Turn,
    /// Progress, hooks, attachments: a chain passes through them.
    Through,
}

/// The records of one transcript.
#[derive(Debug, Default)]
pub struct Graph<'a> {
    names: HashMap<Cow<'a, [u8]>, usize>,
    nodes: Vec<Node<'a>>,
}

#[derive(Debug)]
struct Node<'a> {
    part: Part,
    parent: Option<Cow<'a, [u8]>>,
    logical: Option<Cow<'a, [u8]>>,
}

type Name<'a> = Option<Cow<'a, [u8]>>;

impl<'a> Graph<'a> {
    /// Add the next record of the file, by its uuid, its parent's, and the one that a compaction boundary
    /// goes on from. `false`: a record of this uuid was there before, and this one is not added.
    pub fn add(&mut self, uuid: Name<'a>, parent: Name<'a>, logical: Name<'a>, part: Part) -> bool {
        let place = self.nodes.len();
        if let Some(uuid) = uuid {
            match self.names.entry(uuid) {
                std::collections::hash_map::Entry::Occupied(_) => return false,
                std::collections::hash_map::Entry::Vacant(free) => drop(free.insert(place)),
            }
        }
        self.nodes.push(Node { part, parent, logical });
        true
    }

    /// The tree of what was added.
    pub fn resolve(self) -> Tree {
        let find = |name: &Name<'a>| name.as_ref().and_then(|name| self.names.get(name)).copied();
        let parents: Vec<_> = self.nodes.iter().map(|node| find(&node.parent)).collect();
        let bridged = self.nodes.iter().zip(&parents);
        let bridged = bridged.map(|(node, parent)| parent.or_else(|| find(&node.logical))).collect();
        Tree { parts: self.nodes.iter().map(|node| node.part).collect(), parents, bridged }
    }
}

/// Records by place in the file, and whose children they are. In a damaged file they may be their own
/// ancestors: every walk ends at what was met before.
#[derive(Debug)]
pub struct Tree {
    parts: Vec<Part>,
    parents: Vec<Option<usize>>,
    /// The same with compaction boundaries joined to what they compacted.
    bridged: Vec<Option<usize>>,
}

impl Tree {
    /// The places in the order of the file, but every parent before its children: so it is in real files
    /// too, but for a record in a million.
    pub fn order(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.parents.len());
        let mut met = Met::of(self.parents.len());
        for start in 0..self.parents.len() {
            let mut path: Vec<_> = met.climb(start, &self.parents).collect();
            let above = path.last().and_then(|top| self.parents.get(*top).copied().flatten());
            path.reverse();
            // Of a circle nobody is the first.
            if above.is_some_and(|above| path.contains(&above)) {
                path.sort_unstable();
            }
            order.extend(path);
        }
        order
    }

    /// By place, whether the record is still part of the conversation: neither a prompt that the person
    /// replaced by a later one, nor what hangs under it. Of alternatives the one stays that the last record
    /// came from.
    pub fn newest(&self) -> Vec<bool> {
        let forks: HashMap<usize, usize> = self.forks().collect();
        let mut chosen: HashMap<usize, usize> = HashMap::new();
        let mut met = Met::of(self.parts.len());
        for start in (0..self.parts.len()).rev().filter(|place| self.part(*place) != Some(Part::Through)) {
            for place in met.climb(start, &self.bridged) {
                if let Some(fork) = forks.get(&place) {
                    chosen.entry(*fork).or_insert(place);
                }
            }
        }
        let left = |(prompt, fork): (&usize, &usize)| {
            let other = chosen.get(fork).filter(|other| *other != prompt)?;
            // Of one time are copies that a compaction made.
            (self.part(*other) != self.part(*prompt)).then_some((*prompt, false))
        };
        let kept = spread(&self.bridged, forks.iter().filter_map(left).collect());
        let kept: Vec<_> = kept.into_iter().map(|kept| kept.unwrap_or(true)).collect();
        // Where the last record hangs under what was left, the graph runs in circles and tells nothing.
        let last = self.parts.iter().rposition(|part| *part != Part::Through);
        match last.and_then(|last| kept.get(last)) {
            Some(true) => kept,
            _ => vec![true; kept.len()],
        }
    }

    /// By place, what each record stands under, hooks and progress passed over.
    pub fn turns_above(&self) -> Vec<Option<usize>> {
        let turns = self.parts.iter().enumerate().filter(|(_, part)| **part != Part::Through);
        let at_or_above = spread(&self.parents, turns.map(|(place, _)| (place, place)).collect());
        let above = |parent: &Option<usize>| at_or_above.get((*parent)?).copied().flatten();
        self.parents.iter().map(above).collect()
    }

    fn part(&self, place: usize) -> Option<Part> {
        self.parts.get(place).copied()
    }

    /// Every prompt and what it stands under.
    fn forks(&self) -> impl Iterator<Item = (usize, usize)> {
        let above = self.turns_above().into_iter().enumerate().zip(&self.parts);
        above
            .filter(|(_, part)| matches!(part, Part::Prompt(_)))
            .filter_map(|((place, above), _)| Some((place, above?)))
    }
}

/// By place, the value of the nearest record at or above it that has one of its own.
fn spread<T: Copy>(parents: &[Option<usize>], own: HashMap<usize, T>) -> Vec<Option<T>> {
    let mut values: Vec<Option<T>> = vec![None; parents.len()];
    let mut met = Met::of(parents.len());
    for start in 0..parents.len() {
        let path: Vec<_> = met.climb(start, parents).collect();
        let above = path.last().and_then(|top| parents.get(*top).copied().flatten());
        let mut value = above.and_then(|above| values.get(above).copied().flatten());
        for place in path.into_iter().rev() {
            value = own.get(&place).copied().or(value);
            if let Some(slot) = values.get_mut(place) {
                *slot = value;
            }
        }
    }
    values
}

/// Which places were met.
struct Met(Vec<bool>);

impl Met {
    fn of(places: usize) -> Met {
        Met(vec![false; places])
    }

    /// The place and those above it, up to the first that was met before.
    fn climb<'m>(
        &'m mut self,
        start: usize,
        parents: &'m [Option<usize>],
    ) -> impl Iterator<Item = usize> + 'm {
        let mut next = Some(start);
        std::iter::from_fn(move || {
            let place = next?;
            let met = self.0.get_mut(place)?;
            if std::mem::replace(met, true) {
                return None;
            }
            next = parents.get(place).copied().flatten();
            Some(place)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `name<parent`, `name<parent~logical`; `?5` prompts of a time, `-` what chains pass through.
    fn tree(records: &str) -> Tree {
        let mut graph = Graph::default();
        for record in records.split(' ') {
            let (record, part) = match record.split_once('?') {
                Some((record, time)) => (record, Part::Prompt(time.parse().ok())),
                None if record.ends_with('-') => (record.trim_end_matches('-'), Part::Through),
                None => (record, Part::Turn),
            };
            let (name, parents) = record.split_once('<').unwrap_or((record, ""));
            let (parent, logical) = parents.split_once('~').unwrap_or((parents, ""));
            let named =
                |text: &'static str| Some(text).filter(|text| !text.is_empty()).map(|t| t.as_bytes().into());
            let leak = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
            assert!(graph.add(named(leak(name)), named(leak(parent)), named(leak(logical)), part));
        }
        graph.resolve()
    }

    fn left(records: &str) -> Vec<&str> {
        let kept = tree(records).newest();
        records.split(' ').zip(kept).filter(|(_, kept)| !kept).map(|(record, _)| record).collect()
    }

    #[test]
    fn a_rewind_leaves_the_older_branch() {
        assert_eq!(left("u a<u b<a?1 c<b d<a?2 e<d"), ["b<a?1", "c<b"]);
        // The person went back to the older branch and went on there.
        assert_eq!(left("u a<u b<a?1 c<b d<a?2 e<d f<c?3"), ["d<a?2", "e<d"]);
        assert_eq!(
            left("u a<u b<a?1 p<a- d<p?2 e<d"),
            ["b<a?1"],
            "a hook before one of them changes nothing"
        );
        assert_eq!(left("u a<u b<a?1 c<a?2 d<a?3"), ["b<a?1", "c<a?2"]);
    }

    #[test]
    fn nothing_else_that_forks_is_a_rewind() {
        assert!(left("u a<u b<a r<a s<b c<s").is_empty(), "parallel tools");
        assert!(left("u a<u p<a- q<p- r<a b<r").is_empty(), "progress");
        assert!(left("a b<a?1 c<b d<a?1 e<d").is_empty(), "copies that a compaction made");
        assert!(left("u?1 a<u v?2 b<v").is_empty(), "two roots");
        assert!(left("u a<u b<gone?1 c<b d<gone?2").is_empty(), "orphans");
    }

    #[test]
    fn a_boundary_goes_on_from_what_it_compacted() {
        assert_eq!(left("u a<u b<a?1 c<b d<a?2 e<d x<~e s<x f<s?3"), ["b<a?1", "c<b"]);
        assert_eq!(left("u a<u b<a?1 x<~b s<x d<a?2"), ["b<a?1", "x<~b", "s<x"]);
        // The kept tail stands after the boundary and is what that goes on from.
        assert_eq!(left("u a<u b<a?1 c<b d<a?2 x<~e s<x e<s f<e?3"), ["b<a?1", "c<b"]);
    }

    #[test]
    fn parents_come_first() {
        assert_eq!(tree("u a<u b<a").order(), [0, 1, 2]);
        assert_eq!(tree("b<a a<u u c<b").order(), [2, 1, 0, 3]);
        assert_eq!(tree("a<d b<a c<b d<c e<e").order(), [0, 1, 2, 3, 4], "and a circle stays as it stands");
        assert!(left("a<b?1 b<a c<c?2").is_empty());
    }

    #[test]
    fn a_long_chain_is_no_recursion_and_no_square() {
        let mut graph = Graph::default();
        let name = |n: usize| Some(Cow::Owned(n.to_string().into_bytes()));
        for n in 0..200_000 {
            let part = if n % 2 == 0 { Part::Through } else { Part::Prompt(Some(n as f64)) };
            // Every prompt under the one long chain of hooks.
            graph.add(
                name(n),
                n.checked_sub(2 - n % 2).map(|parent| parent - parent % 2).and_then(name),
                None,
                part,
            );
        }
        let tree = graph.resolve();
        assert_eq!(tree.order().len(), 200_000);
        assert_eq!(tree.newest().len(), 200_000);
    }

    proptest! {
        /// Any graph: nothing hangs, every record is there once, and what is left hangs under a prompt.
        #[test]
        fn any_graph_is_walked(links in proptest::collection::vec((0..30_usize, 0..30_usize, 0..5_u8), 1..30)) {
            let mut graph = Graph::default();
            let name = |n: usize| Some(Cow::Owned(vec![n as u8]));
            for (place, (parent, logical, part)) in links.iter().enumerate() {
                let part = match part { 0 => Part::Through, 1 => Part::Turn, n => Part::Prompt(Some((*n).into())) };
                graph.add(name(place), name(*parent), name(*logical), part);
            }
            let tree = graph.resolve();
            let mut order = tree.order();
            order.sort_unstable();
            prop_assert_eq!(order, (0..links.len()).collect::<Vec<_>>());
            let kept = tree.newest();
            prop_assert!(kept.iter().any(|kept| *kept));
            for (place, _) in kept.iter().enumerate().filter(|(_, kept)| !**kept) {
                let mut at = place;
                while !matches!(tree.parts[at], Part::Prompt(_)) || kept[at] {
                    at = tree.bridged[at].unwrap();
                    prop_assert!(!kept[at]);
                }
            }
        }
    }
}
