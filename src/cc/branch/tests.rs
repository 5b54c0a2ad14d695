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
    assert_eq!(left("u a<u b<a?1 p<a- d<p?2 e<d"), ["b<a?1"], "a hook before one of them changes nothing");
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
