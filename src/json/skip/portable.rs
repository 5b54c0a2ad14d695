//! The skippers for any machine, and what the others are held to: eight bytes at a time, and loops that the compiler
//! makes vector instructions of.

use super::{ONES, escape};

/// How many bytes belong to the string: plain ones, and whole escapes. What comes next is the quote that ends it,
/// a cut escape, or a byte that cannot stand there.
pub fn inside(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    loop {
        rest = rest.get(plain(rest)..).unwrap_or_default();
        match escape(rest) {
            Some(bytes) => rest = rest.get(bytes..).unwrap_or_default(),
            None => return bytes.len() - rest.len(),
        }
    }
}

/// How many bytes stand before the first quote, backslash or control character.
pub fn plain(bytes: &[u8]) -> usize {
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
