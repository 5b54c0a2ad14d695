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
mod tests;
