//! The skippers by vector instructions: AVX2 where the machine has it, for the inside of strings, and SSE2, which
//! every x86-64 has, for what comes before the first special byte. [`super::portable`] does the same on any machine;
//! tests and a fuzz target hold them to each other.
//!
//! The unsafe words say that these instructions exist; no pointer is touched, and the compiler makes one load of a
//! chunk's parts.

use super::portable;
use std::arch::x86_64::{
    __m128i, __m256i, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x,
    _mm_set1_epi8, _mm_setr_epi8, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8,
    _mm256_min_epu8, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set_epi64x, _mm256_set1_epi8,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_sub_epi8,
};

/// How many bytes belong to the string: plain ones, and whole escapes. What comes next is the quote that ends it,
/// a cut escape, or a byte that cannot stand there.
#[allow(unsafe_code)]
pub fn inside(bytes: &[u8]) -> usize {
    if !is_x86_feature_detected!("avx2") {
        return portable::inside(bytes);
    }
    // SAFETY: AVX2 was just found.
    unsafe { inside_by_64(bytes) }
}

/// How many bytes stand before the first quote, backslash or control character.
#[allow(unsafe_code)]
pub fn plain(bytes: &[u8]) -> usize {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { plain_by_64(bytes) }
}

/// Masks of a block of 64 bytes hold a bit for each, the first one lowest.
#[target_feature(enable = "avx2")]
fn inside_by_64(bytes: &[u8]) -> usize {
    // Most strings are names: they end in the first chunk.
    if let Some(chunk) = bytes.first_chunk::<16>() {
        let found = marks(chunk).trailing_zeros() as usize;
        if chunk.get(found).is_some_and(|byte| *byte != b'\\') {
            return found;
        }
    }
    let mut at = 0;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let block = Block::load(block);
        let (quotes, controls, backslashes) = (block.equal(b'"'), block.below(0x20), block.equal(b'\\'));
        if backslashes == 0 {
            let ends = quotes | controls;
            if ends != 0 {
                return at + ends.trailing_zeros() as usize;
            }
            at += 64;
            continue;
        }
        let (escapes, escaped) = escapes(backslashes);
        let hex = escaped & block.equal(b'u');
        let mut strays = escaped & !block.escape_letters();
        if hex != 0 {
            strays |= (hex << 1 | hex << 2 | hex << 3 | hex << 4) & !block.hex_digits();
        }
        let ends = quotes & !escaped | controls;
        let up_to_end = ends ^ ends.wrapping_sub(1);
        if strays & up_to_end != 0 {
            break;
        }
        if ends != 0 {
            return at + ends.trailing_zeros() as usize;
        }
        // An escape that goes on after the block is looked at again with what follows.
        let cut = escapes & 1 << 63 | hex >> 1 & 0b1111 << 59;
        at += if cut == 0 { 64 } else { cut.trailing_zeros() as usize };
    }
    at + portable::inside(bytes.get(at..).unwrap_or_default())
}

/// Which backslashes begin an escape, and which bytes they escape: in a run of backslashes every other one does.
/// The subtraction borrows along each run (Lemire, "Parsing gigabytes of JSON per second", 3.1.1).
fn escapes(backslashes: u64) -> (u64, u64) {
    const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    let runs = (backslashes << 1 | ODD).wrapping_sub(backslashes) ^ ODD;
    (runs & backslashes, runs ^ backslashes)
}

/// 64 bytes in two vectors.
#[derive(Clone, Copy)]
struct Block(__m256i, __m256i);

impl Block {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(block: &[u8; 64]) -> Block {
        let (words, _) = block.as_chunks::<8>();
        let word = |n: usize| words.get(n).copied().map_or(0, i64::from_le_bytes);
        let load = |n: usize| _mm256_set_epi64x(word(n + 3), word(n + 2), word(n + 1), word(n));
        Block(load(0), load(4))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn equal(self, byte: u8) -> u64 {
        let byte = _mm256_set1_epi8(byte.cast_signed());
        mask(_mm256_cmpeq_epi8(self.0, byte), _mm256_cmpeq_epi8(self.1, byte))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn below(self, byte: u8) -> u64 {
        mask(at_most(self.0, byte - 1), at_most(self.1, byte - 1))
    }

    /// `" \ / b f n r t u`: those whose low half has the bit of their high half.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn escape_letters(self) -> u64 {
        const _2: i8 = 1;
        const _5: i8 = 2;
        const _6: i8 = 4;
        const _7: i8 = 8;
        let low = _mm_setr_epi8(0, 0, _2 | _6 | _7, 0, _7, _7, _6, 0, 0, 0, 0, 0, _5, 0, _6, _2);
        let high = _mm_setr_epi8(0, 0, _2, 0, 0, _5, _6, _7, 0, 0, 0, 0, 0, 0, 0, 0);
        let (low, high) = (_mm256_broadcastsi128_si256(low), _mm256_broadcastsi128_si256(high));
        let not = |bytes| {
            let halves = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), _mm256_set1_epi8(0x0f));
            let both = _mm256_and_si256(_mm256_shuffle_epi8(low, bytes), _mm256_shuffle_epi8(high, halves));
            _mm256_cmpeq_epi8(both, _mm256_setzero_si256())
        };
        !mask(not(self.0), not(self.1))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn hex_digits(self) -> u64 {
        let is = |bytes| {
            let digit = _mm256_sub_epi8(bytes, _mm256_set1_epi8(b'0'.cast_signed()));
            let lower = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
            let letter = _mm256_sub_epi8(lower, _mm256_set1_epi8(b'a'.cast_signed()));
            _mm256_or_si256(at_most(digit, 9), at_most(letter, 5))
        };
        mask(is(self.0), is(self.1))
    }
}

/// 0xFF for each byte that is at most so much.
#[inline]
#[target_feature(enable = "avx2")]
fn at_most(bytes: __m256i, most: u8) -> __m256i {
    _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(most.cast_signed())), bytes)
}

/// The high bit of each byte.
#[inline]
#[target_feature(enable = "avx2")]
fn mask(low: __m256i, high: __m256i) -> u64 {
    let bits = |bytes| u64::from(_mm256_movemask_epi8(bytes).cast_unsigned());
    bits(low) | bits(high) << 32
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

/// A bit for each special byte of a block.
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
