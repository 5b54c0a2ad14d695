//! The inside of a string, where nearly all bytes of a conversation lie.
//!
//! [`string`] takes the bytes of a block from inside a string and says where the string goes on to. Its
//! state between blocks is [`Escape`], a byte or two, however the bytes are cut. Where it spends its time
//! are [`inside`] and [`plain`], of which there are two: with vector instructions, and for any machine.

pub mod portable;
#[cfg(target_arch = "x86_64")]
pub mod vector;

#[cfg(not(target_arch = "x86_64"))]
pub use self::portable::{inside, plain};
#[cfg(target_arch = "x86_64")]
pub use self::vector::{inside, plain};

/// A word of bytes that are all 1.
const ONES: u64 = u64::MAX / 255;

/// Where a string stands between two blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// Between two characters.
    No,
    /// After a backslash.
    Letter,
    /// Inside `\uXXXX`, with so many hexadecimal digits to come.
    Hex(u8),
}

/// Why [`string`] stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// At the quote that ends the string.
    Quote,
    /// At the end of the block, inside the string.
    Block,
    /// At a byte that cannot stand there; [`Escape`] tells what could have.
    Stray,
}

/// Skip the inside of a string: how many of `bytes` belong to it, and why no more do. The quote that
/// ends it is not counted. `bytes` are known to be UTF-8.
pub fn string(bytes: &[u8], escape: &mut Escape) -> (usize, Stop) {
    let mut rest = bytes;
    let stop = loop {
        if *escape == Escape::No {
            rest = rest.get(inside(rest)..).unwrap_or_default();
        }
        let [byte, tail @ ..] = rest else { break Stop::Block };
        *escape = match (*escape, byte) {
            (Escape::No, b'"') => break Stop::Quote,
            (Escape::No, b'\\') => Escape::Letter,
            (Escape::Letter, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Escape::No,
            (Escape::Letter, b'u') => Escape::Hex(4),
            (Escape::Hex(1), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => Escape::No,
            (Escape::Hex(n), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => Escape::Hex(n - 1),
            _ => break Stop::Stray,
        };
        rest = tail;
    };
    (bytes.len() - rest.len(), stop)
}

/// Bytes of the escape that begins here; `None` for one that is cut, or none at all.
#[inline]
fn escape(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => Some(2),
        [b'\\', b'u', digits @ ..] => {
            let digits = digits.first_chunk::<4>()?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(6)
        }
        _ => None,
    }
}

/// How many of the first eight bytes repeat a leading tab or space: the indentation of most lines.
pub fn indent(bytes: &[u8]) -> usize {
    match bytes.first_chunk::<8>() {
        Some(word @ [byte @ (b'\t' | b' '), ..]) => {
            let others = u64::from_le_bytes(*word) ^ (ONES * u64::from(*byte));
            others.trailing_zeros() as usize / 8
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive_plain(text: &[u8]) -> usize {
        text.iter().position(|&b| b < 0x20 || b == b'"' || b == b'\\').unwrap_or(text.len())
    }

    fn naive_inside(text: &[u8]) -> usize {
        let mut at = 0;
        loop {
            at += naive_plain(&text[at..]);
            match escape(&text[at..]) {
                Some(bytes) => at += bytes,
                None => return at,
            }
        }
    }

    fn all(text: &[u8]) {
        assert_eq!((plain(text), portable::plain(text)), (naive_plain(text), naive_plain(text)), "{text:?}");
        assert_eq!(
            (inside(text), portable::inside(text)),
            (naive_inside(text), naive_inside(text)),
            "{text:?}"
        );
    }

    #[test]
    fn every_byte_is_found_at_every_place() {
        for len in 0..150 {
            for at in 0..=len {
                for byte in [0, 0x1f, 0x20, b'!', b'"', b'#', b'[', b'\\', b']', 0x7f, 0x80, 0x9f, 0xff] {
                    // After it others may stand, so that a wrong mark would show.
                    let mut text = vec![b'a'; at];
                    text.resize(len, 0x80);
                    if at < len {
                        text[at] = byte;
                        text[at + 1..].fill(if byte & 1 == 0 { b'"' } else { 0xff });
                    }
                    all(&text);
                }
            }
        }
        for byte in 0..=255 {
            all(&[byte; 70]);
            all(&[b'a', byte]);
        }
    }

    #[test]
    fn escapes_lie_across_blocks_in_every_way() {
        let escapes = [
            "\\n",
            "\\\\",
            "\\\"",
            "\\u00e9",
            "\\uD83D\\uDE00",
            "\\\\\\\\\\u0041",
            "\\x",
            "\\u",
            "\\u12g4",
            "\\u123\"",
            "\\u123\\",
            "\\\n",
            "\\\\\n",
            "\\",
            "\\é",
            "\"",
            "\n",
            "\\u00e",
            "\\U0041",
        ];
        for before in 0..140 {
            for escape in escapes {
                for after in ["", "a", "aaaa\\\\aaaa\"", &"é\\u0000".repeat(30)] {
                    let lead = ["a".repeat(before), "\\\\".repeat(before / 2) + &"a".repeat(before % 2)];
                    for lead in lead {
                        all((lead + escape + after).as_bytes());
                    }
                }
            }
        }
        // All of the escape's letters, and no other.
        for byte in 0..=255 {
            let mut text =
                b"0123456789012345678901234567890123456789\\?0123456789012345678901234567890123456789"
                    .to_vec();
            text[41] = byte;
            all(&text);
            for digit in 42..46 {
                text[41..46].copy_from_slice(b"u0e9F");
                text[digit] = byte;
                all(&text);
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn both_ways_agree_on_anything(text in "([ -~é😀]|\\\\[\"\\\\/bfnrtux0-9a-f]|\\\\u[0-9a-fA-F]{4}|[a-z ]{15}){0,60}", cut in 0..100_usize) {
            let text = text.as_bytes();
            all(text);
            all(&text[..text.len().saturating_sub(cut)]);
        }
    }

    #[test]
    fn string_stops_where_it_must() {
        let run = |text: &str| {
            let mut escape = Escape::No;
            let (used, stop) = string(text.as_bytes(), &mut escape);
            (used, stop, escape)
        };
        assert_eq!(run("abc\" x"), (3, Stop::Quote, Escape::No));
        assert_eq!(run("a\\\"\\\\\" x"), (5, Stop::Quote, Escape::No));
        assert_eq!(run("a\\"), (2, Stop::Block, Escape::Letter));
        assert_eq!(run("\\u00"), (4, Stop::Block, Escape::Hex(2)));
        assert_eq!(run("\\uD83d\\/"), (8, Stop::Block, Escape::No));
        assert_eq!(run("\\u12g4"), (4, Stop::Stray, Escape::Hex(2)));
        assert_eq!(run("\\x41"), (1, Stop::Stray, Escape::Letter));
        assert_eq!(run("tab\there"), (3, Stop::Stray, Escape::No));
        assert_eq!(run("\u{7f}\u{2028}ä"), (6, Stop::Block, Escape::No));
    }
}
