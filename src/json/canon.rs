//! What a JSON document says, whoever wrote it how: its canonical form, and objects that name a key
//! twice.

use super::raw::{Raw, Tokens};
use super::tape::{self, Quick};
use super::write::escape_into;
use std::borrow::Cow;
use std::collections::HashMap;

/// What re-serialising would lose; the caller then keeps the text as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lossy {
    /// An object names a key twice.
    DuplicateKey,
    /// A string holds half a surrogate pair, which no text can hold.
    LoneSurrogate,
}

/// Whether an object anywhere in `value` names a key twice: its readers disagree on what it says.
pub fn has_duplicate_keys(value: Raw<'_>) -> bool {
    Tree::grow(value).has_duplicates
}

/// `value` as `JSON.parse` reads it, where an object names a key twice: the last value, at the place
/// of the first. `None` when no object does. Tokens are copied.
pub fn without_duplicate_keys(value: Raw<'_>) -> Option<Vec<u8>> {
    let tree = Tree::grow(value);
    let mut out = Vec::new();
    // Tokens that are copied lose nothing.
    let _ = tree.has_duplicates.then(|| tree.print(&mut out, copy));
    tree.has_duplicates.then_some(out)
}

/// Append the canonical form of `value`: keys sorted by code point, no white space, strings escaped as
/// `JSON.stringify` would, number text untouched (rulings, "Content that is a JSON object or array").
/// On `Err` nothing was appended.
///
/// Memory follows the document; depth is no recursion.
pub fn canonical(value: Raw<'_>, out: &mut Vec<u8>) -> Result<(), Lossy> {
    let mut tree = Tree::grow(value);
    if tree.has_duplicates {
        return Err(Lossy::DuplicateKey);
    }
    tree.sort();
    let start = out.len();
    tree.print(out, escape).inspect_err(|_| out.truncate(start))
}

/// How keys and scalars are written.
type WriteToken = fn(&[u8], &mut Vec<u8>) -> Result<(), Lossy>;

/// The canonical form of `text` if it is an object or array; `None` if it is anything else, or if
/// re-serialising it would lose something.
pub fn document(text: &[u8]) -> Option<Vec<u8>> {
    let first = text.iter().find(|b| !matches!(b, b' ' | b'\t' | b'\n' | b'\r'))?;
    if !matches!(first, b'{' | b'[') {
        return None;
    }
    let mut out = Vec::with_capacity(text.len());
    // The tape is 1.3 to 2.8 times as fast (benches/canon.rs), and takes as much memory again.
    let quick = if text.len() <= SMALL { tape::canonical(text, &mut out) } else { Quick::Unsure };
    match quick {
        Quick::Written => Some(out),
        Quick::DuplicateKey => None,
        Quick::Unsure => canonical(Raw::parse(text).ok()?, &mut out).ok().map(|()| out),
    }
}

/// Documents up to this many bytes are put on simd-json's tape.
const SMALL: usize = 1 << 20;

/// A token as it stands.
fn copy(token: &[u8], out: &mut Vec<u8>) -> Result<(), Lossy> {
    out.extend_from_slice(token);
    Ok(())
}

/// A token escaped anew.
fn escape(token: &[u8], out: &mut Vec<u8>) -> Result<(), Lossy> {
    match Raw::known(token).text() {
        // Decoded from valid JSON, so the only bytes that are no UTF-8 are lone surrogates.
        Some(text) if std::str::from_utf8(&text).is_err() => return Err(Lossy::LoneSurrogate),
        Some(text) => escape_into(out, &text),
        None => out.extend_from_slice(token),
    }
    Ok(())
}

/// A document as an arena: its tokens, and what each container holds.
#[derive(Default)]
struct Tree<'a> {
    nodes: Vec<Node<'a>>,
    has_duplicates: bool,
}

struct Node<'a> {
    /// The key token, for members of an object.
    key: &'a [u8],
    /// A scalar, or the bracket that opens a container.
    token: &'a [u8],
    /// Arena places of the members or items.
    children: Vec<u32>,
}

impl<'a> Tree<'a> {
    fn grow(root: Raw<'a>) -> Self {
        let mut tree = Tree::default();
        let mut open: Vec<u32> = Vec::new();
        let mut tokens = Tokens(root.bytes()).peekable();
        let mut key = &b""[..];
        while let Some(token) = tokens.next() {
            match token {
                b":" => {}
                b"}" => {
                    if let Some(object) = open.pop() {
                        tree.settle(object);
                    }
                }
                b"]" => drop(open.pop()),
                name if tokens.peek() == Some(&&b":"[..]) => key = name,
                token => {
                    let place = u32::try_from(tree.nodes.len()).unwrap_or(u32::MAX);
                    if let Some(parent) = open.last().and_then(|at| tree.nodes.get_mut(*at as usize)) {
                        parent.children.push(place);
                    }
                    tree.nodes.push(Node { key: std::mem::take(&mut key), token, children: Vec::new() });
                    if matches!(token, b"{" | b"[") {
                        open.push(place);
                    }
                }
            }
        }
        tree
    }

    fn key(&self, place: u32) -> Cow<'a, [u8]> {
        let token = self.nodes.get(place as usize).map_or(&b""[..], |node| node.key);
        Raw::known(token).text().unwrap_or_default()
    }

    fn is_object(&self, place: u32) -> bool {
        self.nodes.get(place as usize).is_some_and(|node| node.token == b"{")
    }

    /// A complete object: of members with one key the last stays, at the place of the first.
    fn settle(&mut self, object: u32) {
        let Some(children) = self.nodes.get(object as usize).map(|node| &node.children) else { return };
        let mut seen = Seen::of(children.len());
        let mut kept: Vec<u32> = Vec::with_capacity(children.len());
        for child in children {
            let place = seen.place(self.key(*child), kept.len());
            match kept.get_mut(place) {
                Some(first) => *first = *child,
                None => kept.push(*child),
            }
        }
        if kept.len() < children.len() {
            self.has_duplicates = true;
            if let Some(node) = self.nodes.get_mut(object as usize) {
                node.children = kept;
            }
        }
    }

    fn sort(&mut self) {
        for place in 0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX) {
            if !self.is_object(place) {
                continue;
            }
            let Some(node) = self.nodes.get_mut(place as usize) else { continue };
            let mut children = std::mem::take(&mut node.children);
            children.sort_by_cached_key(|child| self.key(*child));
            if let Some(node) = self.nodes.get_mut(place as usize) {
                node.children = children;
            }
        }
    }

    fn print(&self, out: &mut Vec<u8>, scalar: WriteToken) -> Result<(), Lossy> {
        // (node, how many of its children are out); a scalar never stays on the stack.
        let mut stack = vec![(0_u32, 0_usize)];
        while let Some((at, done)) = stack.pop() {
            let Some(node) = self.nodes.get(at as usize) else { continue };
            let (open, close) = match node.token {
                b"{" => (b'{', b'}'),
                b"[" => (b'[', b']'),
                token => {
                    scalar(token, out)?;
                    continue;
                }
            };
            if done == 0 {
                out.push(open);
            }
            match node.children.get(done) {
                None => out.push(close),
                Some(child) => {
                    if done > 0 {
                        out.push(b',');
                    }
                    if open == b'{' {
                        scalar(self.nodes.get(*child as usize).map_or(b"\"\"", |node| node.key), out)?;
                        out.push(b':');
                    }
                    stack.push((at, done + 1));
                    stack.push((*child, 0));
                }
            }
        }
        Ok(())
    }
}

/// The keys of an object so far and their places. Most objects are too small for a table.
enum Seen<'a> {
    Few(Vec<Cow<'a, [u8]>>),
    Many(HashMap<Cow<'a, [u8]>, usize>),
}

impl<'a> Seen<'a> {
    fn of(members: usize) -> Self {
        if members <= 16 {
            Seen::Few(Vec::with_capacity(members))
        } else {
            Seen::Many(HashMap::with_capacity(members))
        }
    }

    /// Where `key` was first, or `next` if it is new.
    fn place(&mut self, key: Cow<'a, [u8]>, next: usize) -> usize {
        match self {
            Seen::Few(keys) => keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                keys.push(key);
                next
            }),
            Seen::Many(keys) => *keys.entry(key).or_insert(next),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canon(text: &str) -> Result<String, Lossy> {
        let mut out = b"kept".to_vec();
        let verdict = canonical(Raw::parse(text.as_bytes()).unwrap(), &mut out);
        let text = String::from_utf8(out).unwrap();
        verdict
            .map(|()| text.strip_prefix("kept").unwrap().to_owned())
            .inspect_err(|_| assert_eq!(text, "kept"))
    }

    #[test]
    fn keys_are_sorted_at_every_level_and_numbers_untouched() {
        assert_eq!(
            canon(r#" { "b" : [1.0, -0, 1e400 ,{"z":0,"y":{}}], "a" : "\u00e9\/\u0001", "B":[] } "#).unwrap(),
            r#"{"B":[],"a":"é/\u0001","b":[1.0,-0,1e400,{"y":{},"z":0}]}"#
        );
    }

    #[test]
    fn what_would_be_lost_is_named() {
        assert_eq!(canon(r#"[{"k":1,"\u006b":2}]"#), Err(Lossy::DuplicateKey));
        assert_eq!(canon(r#"{"a":"\ud83d"}"#), Err(Lossy::LoneSurrogate));
        assert_eq!(canon(r#"{"\udc00":1}"#), Err(Lossy::LoneSurrogate));
        assert!(!has_duplicate_keys(Raw::parse(br#"{"a":{"a":1},"b":[{"a":1},{"a":1}]}"#).unwrap()));
    }

    #[test]
    fn duplicates_resolve_as_json_parse_does() {
        let resolved = |text: &str| {
            let resolved = without_duplicate_keys(Raw::parse(text.as_bytes()).unwrap());
            resolved.map(|text| String::from_utf8(text).unwrap())
        };
        // node 20: JSON.stringify(JSON.parse(text)), but for the number text that is kept.
        assert_eq!(
            resolved(r#"{ "a":1, "b":{"x":[1],"\u0078":2.0}, "a":{"c":"\ud83d"} }"#).unwrap(),
            r#"{"a":{"c":"\ud83d"},"b":{"\u0078":2.0}}"#
        );
        assert_eq!(resolved(r#"[{"a":1},{"a":1}]"#), None);
    }

    fn exact(text: &str) -> Option<String> {
        let value =
            Raw::parse(text.as_bytes()).ok().filter(|v| matches!(v.bytes().first(), Some(b'{' | b'[')))?;
        let mut out = Vec::new();
        canonical(value, &mut out).ok().map(|()| String::from_utf8(out).unwrap())
    }

    fn quick(text: &str) -> Option<String> {
        document(text.as_bytes()).map(|out| String::from_utf8(out).unwrap())
    }

    #[test]
    fn what_the_tape_cannot_hold_goes_the_exact_way() {
        for text in [
            "[0,-0]",
            "[1.0,1e5,0.10]",
            "[18446744073709551616,12345678901234567890123]",
            "[1e400]",
            r#"["\ud83d"]"#,
            r#"{"a":1,"\u0061":2}"#,
            "[01]",
            "[1,]",
            "[NaN]",
            "[\"\u{1}\"]",
            "  {\"b\":[],\"a\":{}}\n",
            "{\"\":0,\"\u{10000}\":1,\"\u{ffff}\":2}",
            "",
            "3",
        ] {
            assert_eq!(quick(text), exact(text), "{text}");
        }
    }

    proptest::proptest! {
        /// The fast path never says anything else than the exact one.
        #[test]
        fn the_tape_agrees_with_the_exact_way(
            text in r#"[\[{][\[\]{}:,"\\\\ a-cu0-9.eE+-]{0,24}"#,
            parts in proptest::collection::vec(
                proptest::sample::select(&[r#""a":"#, r#""b":"#, r#""\u0061":"#, "{", "}", "[", "]", ",", "1", "-0", "0",
                    "1.50", "1e9", "\"x\\ny\"", "\"\\ud800\"", "null", "true", " ", "18446744073709551615", "-9223372036854775808"][..]),
                0..24),
        ) {
            proptest::prop_assert_eq!(quick(&text), exact(&text));
            for text in [format!("[{}]", parts.concat()), format!("{{{}}}", parts.concat()), parts.concat()] {
                proptest::prop_assert_eq!(quick(&text), exact(&text), "{}", text);
            }
        }
    }

    #[test]
    fn depth_is_no_recursion() {
        let deep = "[".repeat(20_000) + &"]".repeat(20_000);
        assert_eq!(canon(&deep).unwrap(), deep);
    }
}
