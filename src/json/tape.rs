//! The fast path of [`canon`](super::canon): simd-json's tape, for documents it can hold exactly.
//!
//! simd-json accepts less than JSON.parse does and turns numbers into numbers, so it gives no verdict
//! on validity here, and nothing with a fraction, an exponent or a `-0` in it. Where it cannot tell,
//! the exact path is asked.

use super::write::escape_into;
use simd_json::tape::{Node, Tape};
use simd_json::{Buffers, StaticNode};

/// What the tape says of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quick {
    /// It was written.
    Written,
    /// An object names a key twice.
    DuplicateKey,
    /// Nothing: ask the exact path.
    Unsure,
}

/// Append the canonical form of `text`, as [`canon::canonical`](super::canon::canonical) defines it,
/// if the tape holds it exactly. Nothing is appended otherwise.
pub(super) fn canonical(text: &[u8], out: &mut Vec<u8>) -> Quick {
    let mut text = text.to_vec();
    let has_negative_zero = memchr::memmem::find(&text, b"-0").is_some();
    let mut buffers = Buffers::new(text.len());
    let Ok(Tape(nodes)) = simd_json::to_tape_with_buffers(&mut text, &mut buffers) else {
        return Quick::Unsure;
    };
    let exact = |node: &Node<'_>| match node {
        Node::Static(StaticNode::F64(_)) => false,
        Node::Static(StaticNode::I64(0)) => !has_negative_zero,
        _ => true,
    };
    if !nodes.iter().all(exact) {
        return Quick::Unsure;
    }
    let start = out.len();
    match print(&nodes, out) {
        Some(()) => Quick::Written,
        None => {
            out.truncate(start);
            Quick::DuplicateKey
        }
    }
}

/// One value; `None` when an object in it names a key twice. simd-json nests no deeper than 1024.
fn print(nodes: &[Node<'_>], out: &mut Vec<u8>) -> Option<()> {
    match nodes.split_first()? {
        (Node::String(text), _) => escape_into(out, text.as_bytes()),
        (Node::Static(value), _) => {
            let _ = std::io::Write::write_fmt(out, format_args!("{value}"));
        }
        (Node::Array { len, .. }, mut rest) => {
            out.push(b'[');
            for nth in 0..*len {
                if nth > 0 {
                    out.push(b',');
                }
                let (item, after) = rest.split_at_checked(size(rest)?)?;
                print(item, out)?;
                rest = after;
            }
            out.push(b']');
        }
        (Node::Object { len, .. }, mut rest) => {
            let mut members = Vec::with_capacity(*len);
            for _ in 0..*len {
                let (Node::String(key), value) = rest.split_first()? else { return None };
                let (value, after) = value.split_at_checked(size(value)?)?;
                members.push((*key, value));
                rest = after;
            }
            // UTF-8 sorts as its code points do.
            members.sort_unstable_by_key(|(key, _)| *key);
            if members.windows(2).any(|pair| matches!(pair, [(a, _), (b, _)] if a == b)) {
                return None;
            }
            out.push(b'{');
            for (nth, (key, value)) in members.into_iter().enumerate() {
                if nth > 0 {
                    out.push(b',');
                }
                escape_into(out, key.as_bytes());
                out.push(b':');
                print(value, out)?;
            }
            out.push(b'}');
        }
    }
    Some(())
}

/// How many nodes the first value takes.
fn size(nodes: &[Node<'_>]) -> Option<usize> {
    Some(match nodes.first()? {
        Node::Array { count, .. } | Node::Object { count, .. } => count + 1,
        _ => 1,
    })
}
