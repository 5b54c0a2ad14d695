//! The inside of a string, where nearly all bytes of a conversation lie.
//!
//! [`string`] is the whole interface: it takes the bytes of a block from inside a string and says
//! where the string goes on to. A version with vector instructions replaces this one function; its
//! state between blocks is [`Escape`], a byte or two, however the bytes are cut.

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
            rest = rest.get(plain(rest)..).unwrap_or_default();
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

/// How many bytes stand before the first quote, backslash or control character.
pub(super) fn plain(bytes: &[u8]) -> usize {
    // Most strings are names, and most escapes of a text lie close together: a few words first.
    const NEAR: usize = 64;
    let near = bytes.get(..NEAR).unwrap_or(bytes);
    let found = plain_by_words(near);
    if found < near.len() {
        return found;
    }
    // The compiler makes vector instructions of this loop; it has no early exit inside a block.
    let far = bytes.get(near.len()..).unwrap_or_default();
    let (blocks, _) = far.as_chunks::<32>();
    let clean = blocks.iter().take_while(|block| !block.iter().fold(false, |any, &b| any | special(b)));
    let at = near.len() + clean.count() * 32;
    at + plain_by_words(bytes.get(at..).unwrap_or_default())
}

fn plain_by_words(bytes: &[u8]) -> usize {
    let (words, tail) = bytes.as_chunks::<8>();
    for (n, word) in words.iter().enumerate() {
        let marks = special_bytes(u64::from_le_bytes(*word));
        if marks != 0 {
            return n * 8 + marks.trailing_zeros() as usize / 8;
        }
    }
    words.len() * 8 + tail.iter().position(|&b| special(b)).unwrap_or(tail.len())
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

fn special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// The same for eight bytes at once: the high bit of each special byte. Bits above the first one may
/// be wrong (a borrow runs upwards), so only the lowest counts.
fn special_bytes(word: u64) -> u64 {
    let below = |word: u64, n: u64| word.wrapping_sub(ONES * n) & !word & (ONES * 0x80);
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    below(word, 0x20) | equal(b'"') | equal(b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_finds_the_first_special_byte_at_every_place() {
        for len in 0..100 {
            for at in 0..=len {
                for byte in 0..=255u8 {
                    // After the first special byte others may stand, so that a wrong mark would show.
                    let mut text = vec![b'a'; at];
                    text.resize(len, 0x80);
                    if at < len {
                        text[at] = byte;
                        text[at + 1..].fill(if byte & 1 == 0 { b'"' } else { 0xff });
                    }
                    let naive = text.iter().position(|&b| special(b)).unwrap_or(len);
                    assert_eq!(plain(&text), naive, "{text:?}");
                }
            }
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
