//! Many uuids in little memory, and digests of contents.
//!
//! A transcript of a million lines must fit (performance goal G15: 40 bytes a uuid beside 20 MiB), so a
//! uuid is kept as its 16 bytes, once, and everything else points to it by a 4-byte number.

use std::hash::{BuildHasher, RandomState};

/// What stands for a name.
pub type Key = [u8; 16];

/// Names to numbers: 0, 1, 2, … in order of first sight.
///
/// A lower-case UUID is its own key; any other string (`edge_001`, an upper-case UUID, 1 MB of anything)
/// is kept as its [`Digest`], which nobody can aim at a key without knowing the secret of this run.
pub struct Ids {
    digest: Digest,
    hash: RandomState,
    keys: Vec<Key>,
    /// Open addressing over `keys`; numbers, or `FREE`. A power of two, at most three quarters full.
    slots: Vec<u32>,
}

const FREE: u32 = u32::MAX;

impl Ids {
    /// None yet.
    pub fn new(digest: Digest) -> Self {
        Ids { digest, hash: RandomState::new(), keys: Vec::new(), slots: vec![FREE; 64] }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none yet.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The key of the name with this number: the same for the same name wherever the digest is.
    pub fn key(&self, number: u32) -> Option<Key> {
        self.keys.get(number as usize).copied()
    }

    /// The number of `name`, a new one when it was not seen before.
    pub fn number(&mut self, name: &[u8]) -> u32 {
        let key = uuid_bytes(name).unwrap_or_else(|| self.digest.of(name));
        let slot = self.slot(&key);
        if let Some(number) = self.slots.get(slot).copied().filter(|number| *number != FREE) {
            return number;
        }
        // 2^32 uuids would be 200 GB of them.
        let number = u32::try_from(self.keys.len()).unwrap_or(FREE - 1).min(FREE - 1);
        self.keys.push(key);
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = number;
        }
        if self.keys.len() >= self.slots.len() / 4 * 3 {
            self.grow();
        }
        number
    }

    /// The number of `name`, if it was seen before.
    pub fn find(&self, name: &[u8]) -> Option<u32> {
        let key = uuid_bytes(name).unwrap_or_else(|| self.digest.of(name));
        self.slots.get(self.slot(&key)).copied().filter(|number| *number != FREE)
    }

    /// Where `key` is, or the free slot where it belongs.
    fn slot(&self, key: &[u8; 16]) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = self.hash.hash_one(key) as usize & mask;
        loop {
            match self.slots.get(at).and_then(|number| self.keys.get(*number as usize)) {
                Some(other) if other != key => at = (at + 1) & mask,
                _ => return at,
            }
        }
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 2;
        self.slots = Vec::new();
        self.slots.resize(size, FREE);
        for number in 0..self.keys.len() {
            let Some(key) = self.keys.get(number) else { continue };
            let at = self.slot(key);
            if let Some(slot) = self.slots.get_mut(at) {
                *slot = number as u32;
            }
        }
    }
}

/// The 16 bytes of a UUID in the one spelling that Claude Code writes: 8-4-4-4-12 lower-case hexadecimal
/// digits (RFC 4122, section 3). `None` for any other text: names are compared by spelling, so a second
/// spelling is a second name.
pub fn uuid_bytes(text: &[u8]) -> Option<[u8; 16]> {
    let text: &[u8; 36] = text.try_into().ok()?;
    let mut bytes = [0; 16];
    let mut digits = text.iter().enumerate().filter(|(at, _)| !DASHES.contains(at)).map(|(_, digit)| digit);
    if DASHES.iter().any(|at| text.get(*at) != Some(&b'-')) {
        return None;
    }
    for byte in &mut bytes {
        *byte = nibble(*digits.next()?)? << 4 | nibble(*digits.next()?)?;
    }
    Some(bytes)
}

const DASHES: [usize; 4] = [8, 13, 18, 23];

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// A keyed 122-bit digest for telling contents apart: two polynomials over the field of 2^61 − 1
/// elements, evaluated at two secret points drawn for this run (Carter and Wegman's construction).
///
/// Two different texts of n bytes meet with probability below (n/7 + 2)² / 2^121, whatever they are and
/// whoever chose them, since nobody knows the points in advance. That is as good as a cryptographic hash
/// for this, at ten times the speed of the SHA-1 behind uuid v5: every line of every file passes here.
#[derive(Clone, Copy)]
pub struct Digest([u64; 2]);

/// 2^61 − 1, a prime.
const P: u64 = (1 << 61) - 1;
/// Bytes in a coefficient: 56 bits are below [`P`].
const WORD: usize = 7;

impl Digest {
    /// With fresh points.
    pub fn new() -> Self {
        let secret = RandomState::new();
        // 1 … P-1: at 0 every text would meet every other.
        Digest([0_u8, 1].map(|lane| secret.hash_one(lane) % (P - 1) + 1))
    }

    /// Half of the digest, which tells one text from another but not all from all others.
    pub fn half(&self, text: &[u8]) -> u64 {
        let [point, _] = self.0;
        evaluate(text, point)
    }

    /// The digest of `text`.
    pub fn of(&self, text: &[u8]) -> [u8; 16] {
        let mut out = [0; 16];
        for (half, point) in out.chunks_exact_mut(8).zip(self.0) {
            half.copy_from_slice(&evaluate(text, point).to_le_bytes());
        }
        out
    }
}

impl Default for Digest {
    fn default() -> Self {
        Digest::new()
    }
}

/// Horner's rule over the words of `text`, four at a time so that the multiplier is kept busy, then its
/// length, which tells `x` from `x` and a zero byte.
fn evaluate(text: &[u8], r: u64) -> u64 {
    let r2 = reduce(wide(r, r));
    let (r3, r4) = (reduce(wide(r2, r)), reduce(wide(r2, r2)));
    let mut sum = 0;
    let mut blocks = text.chunks_exact(4 * WORD);
    for block in &mut blocks {
        let mut words = block.chunks_exact(WORD).map(word);
        let mut next = || words.next().unwrap_or_default();
        // One product below 2^122 and three below 2^117: the sum is below 2^123.
        sum = reduce(
            wide(sum, r4) + wide(next(), r3) + wide(next(), r2) + wide(next(), r) + u128::from(next()),
        );
    }
    for chunk in blocks.remainder().chunks(WORD) {
        sum = reduce(wide(sum, r) + u128::from(word(chunk)));
    }
    reduce(wide(sum, r) + u128::from(text.len() as u64 % P))
}

fn wide(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

/// `n` modulo [`P`], for `n` below 2^124.
fn reduce(n: u128) -> u64 {
    let once = (n as u64 & P) + (n >> 61) as u64;
    let twice = (once & P) + (once >> 61);
    if twice >= P { twice - P } else { twice }
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    for (to, from) in word.iter_mut().zip(bytes) {
        *to = *from;
    }
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[test]
    fn one_spelling_of_a_uuid_is_its_bytes() {
        let text = b"00112233-4455-6677-8899-aabbccddeeff";
        let bytes = [0, 17, 34, 51, 68, 85, 102, 119, 136, 153, 170, 187, 204, 221, 238, 255];
        assert_eq!(uuid_bytes(text), Some(bytes));
        for other in [
            &b""[..],
            b"00112233-4455-6677-8899-aabbccddeefF",
            b"00112233-4455-6677-8899-aabbccddeef",
            b"00112233-4455-6677-8899-aabbccddeeff0",
            b"0011223304455-6677-8899-aabbccddeeff",
            b"00112233-4455-6677-8899-aabbccddeefg",
            b"{0112233-4455-6677-8899-aabbccddeef}",
            b"00112233445566778899aabbccddeeff0000",
        ] {
            assert_eq!(uuid_bytes(other), None, "{}", other.escape_ascii());
        }
    }

    /// UUIDs, near-UUIDs and words.
    fn name(n: u32) -> String {
        match n % 3 {
            0 => format!("{n:08x}-0000-4000-8000-000000000000"),
            1 => format!("{n:08X}-AAAA-4000-8000-000000000000"),
            _ => format!("msg-{n}"),
        }
    }

    #[test]
    fn names_keep_their_numbers_when_the_table_grows() {
        let mut ids = Ids::new(Digest::new());
        for _ in 0..2 {
            for n in 0..20_000 {
                assert_eq!(ids.number(name(n).as_bytes()), n);
            }
        }
        assert_eq!(ids.len(), 20_000);
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_a_map(picks in prop::collection::vec(0..200_u32, 0..300)) {
            let mut ids = Ids::new(Digest::new());
            let mut map = HashMap::new();
            for pick in picks {
                let next = map.len() as u32;
                let known = *map.entry(pick).or_insert(next);
                prop_assert_eq!(ids.number(name(pick).as_bytes()), known);
                prop_assert_eq!(ids.find(name(pick).as_bytes()), Some(known));
                prop_assert_eq!(ids.find(name(pick + 200).as_bytes()), None);
            }
        }

        #[test]
        fn the_digest_is_the_polynomial(text in prop::collection::vec(any::<u8>(), 0..200), r in 1..P) {
            // Word by word, with the remainder taken by division.
            let step = |sum: u128, word: u64| (sum * u128::from(r) + u128::from(word)) % u128::from(P);
            let sum = text.chunks(WORD).map(word).fold(0, step);
            prop_assert_eq!(u128::from(evaluate(&text, r)), step(sum, text.len() as u64));
        }
    }

    #[test]
    fn a_digest_tells_what_differs_little() {
        let digest = Digest::new();
        let base = vec![b'x'; 100];
        let mut seen = std::collections::HashSet::from([digest.of(&base), digest.of(b""), digest.of(b"\0")]);
        for at in 0..100 {
            for bit in 0..8 {
                let mut other = base.clone();
                other[at] ^= 1 << bit;
                assert!(seen.insert(digest.of(&other)));
            }
            assert!(seen.insert(digest.of(&base[..at])) || at == 0);
        }
        assert_eq!(digest.of(&base), digest.of(&[b'x'; 100]));
        // P itself is a multiple of the modulus, and no word reaches it.
        assert_ne!(digest.of(&[0xFF; 7]), digest.of(&[0; 7]));
    }
}
