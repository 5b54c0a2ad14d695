//! The skippers with the vector instructions that every x86-64 has (SSE2). [`super::portable`] does the same on any
//! machine; tests and a fuzz target hold them to each other.
//!
//! The one unsafe word says that these instructions exist; no pointer is touched, and the compiler makes one load
//! of a chunk's two halves.

use super::{escape, portable};
use std::arch::x86_64::{
    __m128i, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
};

/// How many bytes belong to the string: plain ones, and whole escapes. What comes next is the quote that ends it,
/// a cut escape, or a byte that cannot stand there.
#[allow(unsafe_code)]
pub fn inside(bytes: &[u8]) -> usize {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { inside_by_64(bytes) }
}

/// How many bytes stand before the first quote, backslash or control character.
#[allow(unsafe_code)]
pub fn plain(bytes: &[u8]) -> usize {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { plain_by_64(bytes) }
}

#[target_feature(enable = "sse2")]
fn inside_by_64(bytes: &[u8]) -> usize {
    // Most strings are names: they end in the first chunk.
    if let Some(chunk) = bytes.first_chunk::<16>() {
        let found = marks(chunk).trailing_zeros() as usize;
        if chunk.get(found).is_some_and(|byte| *byte != b'\\') {
            return found;
        }
    }
    let mut at = 0;
    'blocks: while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<64>) {
        // Each special byte is found once, whatever stands between them.
        let mut marks = block_marks(block);
        while marks != 0 {
            let mark = marks.trailing_zeros() as usize;
            let Some(escape) = escape(bytes.get(at + mark..).unwrap_or_default()) else { return at + mark };
            let next = mark + escape;
            if next >= block.len() {
                at += next;
                continue 'blocks;
            }
            marks &= u64::MAX << next;
        }
        at += block.len();
    }
    at + portable::inside(bytes.get(at..).unwrap_or_default())
}

#[target_feature(enable = "sse2")]
fn plain_by_64(bytes: &[u8]) -> usize {
    let (blocks, tail) = bytes.as_chunks::<64>();
    for (n, block) in blocks.iter().enumerate() {
        let marks = block_marks(block);
        if marks != 0 {
            return n * 64 + marks.trailing_zeros() as usize;
        }
    }
    blocks.len() * 64 + portable::plain(tail)
}

/// A bit for each special byte of a block, the first one lowest.
#[inline]
#[target_feature(enable = "sse2")]
fn block_marks(block: &[u8; 64]) -> u64 {
    let (chunks, _) = block.as_chunks::<16>();
    let mut all = 0;
    for (n, chunk) in chunks.iter().enumerate() {
        all |= u64::from(marks(chunk)) << (16 * n);
    }
    all
}

#[inline]
#[target_feature(enable = "sse2")]
fn marks(chunk: &[u8; 16]) -> u32 {
    _mm_movemask_epi8(special(load(chunk))).cast_unsigned()
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(chunk: &[u8; 16]) -> __m128i {
    let whole = u128::from_le_bytes(*chunk);
    _mm_set_epi64x((whole >> 64) as i64, whole as i64)
}

/// 0xFF for each byte that is a quote, a backslash or below a space.
#[inline]
#[target_feature(enable = "sse2")]
fn special(bytes: __m128i) -> __m128i {
    let is = |byte: u8| _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte.cast_signed()));
    let control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
    _mm_or_si128(control, _mm_or_si128(is(b'"'), is(b'\\')))
}
