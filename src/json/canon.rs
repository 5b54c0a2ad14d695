//! The canonical form of a JSON document: keys sorted, no white space, strings escaped as
//! `JSON.stringify` would, number text untouched (rulings, "Content that is a JSON object or array").

use super::raw::{Raw, Tokens};
use super::write::escape_into;
use std::borrow::Cow;

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
    Tree::grow(value).is_err()
}

/// Append the canonical form of `value`. On `Err` nothing was appended.
///
/// Keys sort by code point. Memory follows the document; depth is no recursion.
pub fn canonical(value: Raw<'_>, out: &mut Vec<u8>) -> Result<(), Lossy> {
    let tree = Tree::grow(value)?;
    let start = out.len();
    tree.print(out).inspect_err(|_| out.truncate(start))
}

/// A document as an arena: what sorting keys needs and no more.
struct Tree<'a>(Vec<Node<'a>>);

struct Node<'a> {
    /// The decoded key, for members of an object.
    key: Cow<'a, [u8]>,
    /// A scalar, or the bracket that opens a container.
    token: &'a [u8],
    /// Arena places of the members (sorted) or items.
    children: Vec<u32>,
}

impl<'a> Tree<'a> {
    fn grow(root: Raw<'a>) -> Result<Self, Lossy> {
        let mut tree = Tree(Vec::new());
        let mut open: Vec<u32> = Vec::new();
        let mut tokens = Tokens(root.bytes()).peekable();
        let mut key = Cow::Borrowed(&b""[..]);
        while let Some(token) = tokens.next() {
            match token {
                b":" => {}
                b"}" => {
                    if let Some(object) = open.pop() {
                        tree.sort(object)?;
                    }
                }
                b"]" => drop(open.pop()),
                name if tokens.peek() == Some(&&b":"[..]) => {
                    key = Raw::known(name).text().unwrap_or_default()
                }
                token => {
                    let place = u32::try_from(tree.0.len()).unwrap_or(u32::MAX);
                    if let Some(parent) = open.last().and_then(|at| tree.0.get_mut(*at as usize)) {
                        parent.children.push(place);
                    }
                    tree.0.push(Node { key: std::mem::take(&mut key), token, children: Vec::new() });
                    if matches!(token, b"{" | b"[") {
                        open.push(place);
                    }
                }
            }
        }
        Ok(tree)
    }

    /// Order the members of an object, which is complete.
    fn sort(&mut self, object: u32) -> Result<(), Lossy> {
        let Some(node) = self.0.get_mut(object as usize) else { return Ok(()) };
        let mut children = std::mem::take(&mut node.children);
        let key = |n: &u32| self.0.get(*n as usize).map(|node| &*node.key);
        children.sort_by(|a, b| key(a).cmp(&key(b)));
        if children.windows(2).any(|pair| matches!(pair, [a, b] if key(a) == key(b))) {
            return Err(Lossy::DuplicateKey);
        }
        if let Some(node) = self.0.get_mut(object as usize) {
            node.children = children;
        }
        Ok(())
    }

    fn print(&self, out: &mut Vec<u8>) -> Result<(), Lossy> {
        // (node, how many of its children are out); a scalar never stays on the stack.
        let mut stack = vec![(0_u32, 0_usize)];
        while let Some((at, done)) = stack.pop() {
            let Some(node) = self.0.get(at as usize) else { continue };
            let (open, close) = match node.token {
                b"{" => (b'{', b'}'),
                b"[" => (b'[', b']'),
                scalar => {
                    match Raw::known(scalar).text() {
                        Some(text) => string(&text, out)?,
                        None => out.extend_from_slice(scalar),
                    }
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
                        string(self.0.get(*child as usize).map_or(&[], |c| &c.key), out)?;
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

fn string(text: &[u8], out: &mut Vec<u8>) -> Result<(), Lossy> {
    // Decoded from valid JSON, so the only bytes that are no UTF-8 are lone surrogates.
    std::str::from_utf8(text).map_err(|_| Lossy::LoneSurrogate)?;
    escape_into(out, text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canon(text: &str) -> Result<String, Lossy> {
        let mut out = b"kept".to_vec();
        let verdict = canonical(Raw::parse(text.as_bytes()).unwrap(), &mut out);
        let text = String::from_utf8(out).unwrap();
        verdict.map(|()| text["kept".len()..].to_owned()).inspect_err(|_| assert_eq!(text, "kept"))
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
    fn depth_is_no_recursion() {
        let deep = "[".repeat(20_000) + &"]".repeat(20_000);
        assert_eq!(canon(&deep).unwrap(), deep);
    }
}
