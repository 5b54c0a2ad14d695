//! What the file of a conversation is called: the bulk convention of the spec, by the letter.
//!
//! `<YYYY-MM-DD> <slug> <suffix>`, where
//!
//! - the date is `createdAt` in UTC, `1970-01-01` when JavaScript has no date for it;
//! - the slug is the title in lower case, each run of letters or digits joined with `-`, capped at 50
//!   characters with trailing hyphens trimmed, `untitled` when nothing remains;
//! - the suffix is the part of the id after its last `_`; if there is none, or nothing follows it, the
//!   last 8 characters of the id.
//!
//! The reference is JavaScript, so lower case is that of `toLowerCase`, letters and digits are
//! `[\p{L}\p{N}]`, and characters are UTF-16 units. Half a surrogate pair at a cut is left out, as no file
//! name could hold it.
//!
//! The id is its writer's choice and may hold anything: a [`Name`] says what the rule says, and
//! [`Name::on_disk`] what a folder can bear.

use super::check::Header;
use crate::json::raw::Raw;
use crate::time;
use std::collections::{HashMap, VecDeque};
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// UTF-16 units of a slug.
const SLUG: usize = 50;

/// UTF-16 units of an id that has no better suffix.
const LAST: usize = 8;

/// Bytes of a file name (`NAME_MAX`, limits.h).
const NAME: usize = 255;

/// Bytes kept free for `-4294967295` where a name must be cut, so that all names of one conversation
/// are cut alike.
const NUMBER: usize = 11;

/// Bytes that are left to a slug however long the suffix is.
const SHORT_SLUG: usize = 8;

/// The three parts of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// `2025-10-09`; years that four digits cannot write as JavaScript's Date prints them.
    pub date: String,
    /// Letters, digits and hyphens.
    pub slug: String,
    /// Anything at all.
    pub suffix: String,
}

impl Name {
    /// By the rule, from the fields as JavaScript holds them: UTF-16 units, epoch milliseconds.
    pub fn of(id: &[u16], title: &[u16], created_at: f64) -> Name {
        Name::from(id.iter().copied(), title.iter().copied(), created_at)
    }

    /// The same from text as [`Raw::text`] decodes it: UTF-8 in which a lone surrogate stands as its
    /// three bytes.
    pub fn of_text(id: &[u8], title: &[u8], created_at: f64) -> Name {
        Name::of(&utf16(id), &utf16(title), created_at)
    }

    /// The name of a body that a checker accepted and gave the header of.
    pub fn of_header(header: &Header) -> Name {
        let [id, title] = [&header.id, &header.title].map(|token| Raw::known(token).units());
        Name::from(id, title, header.created_at)
    }

    fn from(id: impl Iterator<Item = u16>, title: impl Iterator<Item = u16>, created_at: f64) -> Name {
        Name { date: date(created_at), slug: slug(title), suffix: suffix(id) }
    }

    /// The name before the dot.
    pub fn stem(&self) -> String {
        let Name { date, slug, suffix } = self;
        format!("{date} {slug} {suffix}")
    }

    /// The rule's file name; `ext` without its dot.
    pub fn file_name(&self, ext: &str) -> String {
        format!("{}.{ext}", self.stem())
    }

    /// The name of a file that can be made, and whether it had to differ from the rule's for that: one
    /// path component of at most 255 bytes that is not hidden and holds no `/`, NUL or other control
    /// character; each of those becomes `-`. `nth` tells conversations of one name apart: `-2` before the
    /// dot for `Some(2)`.
    ///
    /// Where the length must be cut, the slug gives way first and the suffix is cut the same for every
    /// title and number, because a conversation is found again by its date and suffix.
    pub fn on_disk(&self, ext: &str, nth: Option<u32>) -> (String, bool) {
        let number = nth.map(|n| format!("-{n}")).unwrap_or_default();
        let tail = format!("{number}.{ext}");
        let around = self.date.len() + 2;
        let most = NAME.saturating_sub(around + SHORT_SLUG + NUMBER + 1 + ext.len());
        let suffix = cut(&self.suffix, most);
        let slug = cut(&self.slug, NAME.saturating_sub(around + suffix.len() + tail.len()));
        let kept = Name {
            date: self.date.clone(),
            slug: slug.trim_end_matches('-').to_owned(),
            suffix: suffix.to_owned(),
        };
        let stem = component(&kept.stem());
        let renamed = stem != self.stem();
        (format!("{stem}{tail}"), renamed)
    }
}

/// The names of many bodies, one after the other.
#[derive(Clone, Debug)]
pub struct Names {
    ext: String,
    safe: bool,
    /// Each name that was given, with the last number that made it another; `None` where names may come
    /// twice.
    given: Option<HashMap<String, u32>>,
}

impl Names {
    /// Names that end in `.ext`. `safe`: each can be that of a file ([`Name::on_disk`]). `unique`: none
    /// comes twice, for which memory follows their number.
    pub fn new(ext: &str, safe: bool, unique: bool) -> Names {
        Names { ext: ext.to_owned(), safe, given: unique.then(HashMap::new) }
    }

    /// The name of the next body. One that another body had becomes the next of `-2`, `-3` that is free.
    pub fn next(&mut self, name: &Name) -> String {
        let Names { ext, safe, given } = self;
        let nth = |n: u32| match (n > 1).then_some(n) {
            nth if *safe => name.on_disk(ext, nth).0,
            None => name.file_name(ext),
            Some(n) => format!("{}-{n}.{ext}", name.stem()),
        };
        let first = nth(1);
        let Some(given) = given else { return first };
        let mut n = given.get(&first).map_or(1, |last| last + 1);
        let mut free = nth(n);
        while given.contains_key(&free) {
            n += 1;
            free = nth(n);
        }
        given.insert(first, n);
        given.entry(free.clone()).or_insert(1);
        free
    }
}

/// `text` made part of a path component: no `/`, NUL or other control character, no leading dots.
pub fn component(text: &str) -> String {
    let dots = text.bytes().take_while(|b| *b == b'.').count();
    let safe = |(at, c): (usize, char)| if at < dots || c == '/' || c.is_control() { '-' } else { c };
    text.char_indices().map(safe).collect()
}

fn date(created_at: f64) -> String {
    time::js_date(created_at).unwrap_or_else(|| "1970-01-01".to_owned())
}

fn slug(title: impl Iterator<Item = u16>) -> String {
    // As much of it as can matter, however long it is. The lower case of a sigma depends on what follows it,
    // which may be any number of signs and modifier letters.
    let mut front = String::new();
    let mut letters = 0;
    // U+FFFD and a lone surrogate are alike to the rule: neither a letter nor part of a word.
    for c in char::decode_utf16(title).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)) {
        front.push(c);
        letters +=
            usize::from(is_letter_or_digit(c) && c.general_category() != GeneralCategory::ModifierLetter);
        if letters > SLUG + 1 {
            break;
        }
    }
    let title = front.to_lowercase();
    let mut slug = String::new();
    let mut units = 0;
    let mut gap = false;
    for c in title.chars() {
        if !is_letter_or_digit(c) {
            gap = !slug.is_empty();
            continue;
        }
        if std::mem::take(&mut gap) {
            slug.push('-');
            units += 1;
        }
        units += c.len_utf16();
        if units > SLUG {
            break;
        }
        slug.push(c);
    }
    match slug.trim_end_matches('-') {
        "" => "untitled".to_owned(),
        slug => slug.to_owned(),
    }
}

/// `[\p{L}\p{N}]`.
fn is_letter_or_digit(c: char) -> bool {
    matches!(c.general_category_group(), GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number)
}

fn suffix(id: impl Iterator<Item = u16>) -> String {
    // What follows the last underscore; before there is one, no more than the last characters and one.
    let (mut after, mut last) = (None, VecDeque::with_capacity(LAST + 1));
    for unit in id {
        last.extend([unit]);
        if last.len() > LAST + 1 {
            last.pop_front();
        }
        if unit == u16::from(b'_') {
            after.get_or_insert_with(Vec::new).clear();
        } else if let Some(after) = &mut after {
            after.push(unit);
        }
    }
    let suffix = after.filter(|after| !after.is_empty()).unwrap_or_else(|| {
        let before = if last.len() > LAST { last.pop_front() } else { None };
        // Half a pair at the cut.
        if let (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) = (before, last.front()) {
            last.pop_front();
        }
        last.into()
    });
    String::from_utf16_lossy(&suffix)
}

/// As many bytes as there is room for, at the end of a character.
fn cut(text: &str, most: usize) -> &str {
    (0..=most.min(text.len())).rev().find_map(|end| text.get(..end)).unwrap_or_default()
}

/// UTF-16 units of WTF-8; what is neither is U+FFFD.
fn utf16(text: &[u8]) -> Vec<u16> {
    let mut units = Vec::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let valid = match std::str::from_utf8(rest) {
            Ok(_) => rest.len(),
            Err(error) => error.valid_up_to(),
        };
        let (text, more) = rest.split_at_checked(valid).unwrap_or((rest, &[]));
        units.extend(String::from_utf8_lossy(text).encode_utf16());
        rest = match more {
            [0xED, high @ 0xA0..=0xBF, low @ 0x80..=0xBF, more @ ..] => {
                units.push(0xD000 | u16::from(high & 0x3F) << 6 | u16::from(low & 0x3F));
                more
            }
            [_, more @ ..] => {
                units.push(0xFFFD);
                more
            }
            [] => &[],
        };
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn units(text: &str) -> Vec<u16> {
        text.encode_utf16().collect()
    }

    fn slug_of(title: &str) -> String {
        slug(title.encode_utf16())
    }

    fn suffix_of(id: &str) -> String {
        suffix(id.encode_utf16())
    }

    #[test]
    fn the_example_of_the_spec() {
        let name = Name::of(&units("c_001"), &units("Fixture conversation"), 1_759_968_000_000.0);
        assert_eq!(name.file_name("curt"), "2025-10-09 fixture-conversation 001.curt");
    }

    #[test]
    fn slugs_are_words_in_lower_case() {
        for (title, expected) in [
            ("", "untitled"),
            ("---", "untitled"),
            ("😀", "untitled"),
            ("  Don't  PANIC_now! ", "don-t-panic-now"),
            ("Ünïcödé 你好 世界 한국어", "ünïcödé-你好-世界-한국어"),
            ("e\u{301}te", "e-te"),
            ("İstanbul", "i-stanbul"),
            ("ΟΔΟΣ ΣΟΦΟΣ, Σ", "οδος-σοφος-σ"),
            ("x²½Ⅷ", "x²½ⅷ"),
            ("../../etc/passwd", "etc-passwd"),
            ("हिन्दी", "ह-न-द"),
        ] {
            assert_eq!(slug_of(title), expected, "{title}");
        }
    }

    #[test]
    fn a_sigma_at_the_cut_knows_what_follows_it() {
        let (front, modifiers) = ("a".repeat(49), "\u{2b9}".repeat(60));
        assert_eq!(slug_of(&format!("{front}Σ{modifiers}A")), format!("{front}σ"));
        assert_eq!(slug_of(&format!("{front}Σ{modifiers}")), format!("{front}ς"));
        assert_eq!(slug_of(&format!("{front}Σ{} A", "'".repeat(60))), format!("{front}ς"));
        assert_eq!(slug_of(&format!("{front}Σ{}A", "'".repeat(60))), format!("{front}σ"));
    }

    #[test]
    fn slugs_are_cut_at_fifty_units() {
        let a = |n: usize| "a".repeat(n);
        assert_eq!(slug_of(&a(51)), a(50));
        assert_eq!(slug_of(&format!("{} b", a(50))), a(50));
        assert_eq!(slug_of(&format!("{} b", a(49))), a(49));
        assert_eq!(slug_of(&format!("{} bc", a(48))), format!("{}-b", a(48)));
        // The 50th unit is the first half of a letter beyond the basic plane.
        assert_eq!(slug_of(&format!("{}𠮷", a(49))), a(49));
        assert_eq!(slug_of(&format!("{} 𠮷", a(48))), a(48));
        assert_eq!(slug_of(&format!("{}𠮷b", a(48))), format!("{}𠮷", a(48)));
    }

    #[test]
    fn suffixes_come_after_the_last_underscore() {
        for (id, expected) in [
            ("c_001", "001"),
            ("20260717_120337_deadbeef", "deadbeef"),
            ("01234567-89ab-cdef-0123-abcdefabcdef", "efabcdef"),
            ("abc_", "abc_"),
            ("abcdefghi_", "cdefghi_"),
            ("_", "_"),
            ("", ""),
            ("x_../../a", "../../a"),
            ("😀😀😀😀😀", "😀😀😀😀"),
            ("a😀bcdefgh", "bcdefgh"),
            ("aa😀bcdefg", "😀bcdefg"),
        ] {
            assert_eq!(suffix_of(id), expected, "{id}");
        }
        assert_eq!(suffix([0x78, 0x5f, 0xd800, 0x79].into_iter()), "\u{fffd}y", "no file name can hold it");
        assert_eq!(
            suffix([0x78, 0xdc00, 0x61, 0x61, 0x61, 0x61, 0x61, 0x61, 0x61].into_iter()),
            "\u{fffd}aaaaaaa"
        );
    }

    #[test]
    fn dates_are_javascripts() {
        for (ms, expected) in [
            (1_759_968_000_000.0, "2025-10-09"),
            (-1.0, "1969-12-31"),
            (-0.5, "1970-01-01"),
            (253_402_300_800_000.0, "+010000-01-01"),
            (-62_198_755_200_000.0, "-000001-01-01"),
            (8.64e15, "+275760-09-13"),
            (8.64e15 + 1.0, "1970-01-01"),
            (f64::INFINITY, "1970-01-01"),
            (f64::NAN, "1970-01-01"),
        ] {
            assert_eq!(date(ms), expected, "{ms}");
        }
    }

    fn name(slug: &str, suffix: &str) -> Name {
        Name { date: "2025-10-09".into(), slug: slug.into(), suffix: suffix.into() }
    }

    #[test]
    fn a_good_name_is_the_rules() {
        assert_eq!(name("a", "b").on_disk("curt", None), ("2025-10-09 a b.curt".into(), false));
        assert_eq!(name("a", "b").on_disk("jsonl", Some(2)), ("2025-10-09 a b-2.jsonl".into(), false));
        assert_eq!(name("a", "..").on_disk("curt", None), ("2025-10-09 a ...curt".into(), false));
        assert_eq!(name("a", "").on_disk("curt", Some(10)), ("2025-10-09 a -10.curt".into(), false));
    }

    #[test]
    fn a_name_that_is_no_file_name_is_made_one() {
        assert_eq!(name("a", "../../x").on_disk("curt", None), ("2025-10-09 a ..-..-x.curt".into(), true));
        assert_eq!(
            name("a", "x\0y\nz\u{7f}\u{85}").on_disk("curt", None),
            ("2025-10-09 a x-y-z--.curt".into(), true)
        );
        assert_eq!(component("..a/b"), "--a-b");
        assert_eq!(component("."), "-");
    }

    #[test]
    fn a_long_name_is_cut_and_keeps_its_number_and_extension() {
        let suffix = "x".repeat(300);
        let (plain, renamed) = name("title", &suffix).on_disk("curt", None);
        assert!(renamed && plain.len() <= 255 && plain.ends_with("x.curt"), "{plain}");
        let (second, renamed) = name("title", &suffix).on_disk("curt", Some(2));
        assert!(renamed && second.len() <= 255, "{second}");
        assert_eq!(second, plain.replace(".curt", "-2.curt"));
        // The slug gives way, the suffix does not.
        let long = "漢".repeat(50);
        let (cut, renamed) = name(&long, &"y".repeat(100)).on_disk("curt", None);
        assert!(
            renamed && cut.len() <= 255 && cut.ends_with(&format!("漢 {}.curt", "y".repeat(100))),
            "{cut}"
        );
        assert_eq!(name(&long, "y").on_disk("curt", None), (format!("2025-10-09 {long} y.curt"), false));
    }

    #[test]
    fn text_may_hold_lone_surrogates() {
        assert_eq!(utf16("aä漢😀".as_bytes()), units("aä漢😀"));
        assert_eq!(utf16(b"a\xed\xa0\xbdb\xed\xb0\x80"), [0x61, 0xd83d, 0x62, 0xdc00]);
        assert_eq!(utf16(b"\xff\xed\xa0"), [0xfffd, 0xfffd, 0xfffd]);
        let header = Header {
            id: br#""x_\ud83d\ude00""#.into(),
            title: br#""\ud83dT\u0041""#.into(),
            ..Header::default()
        };
        assert_eq!(Name::of_header(&header), Name::of_text("x_😀".as_bytes(), b"\xed\xa0\xbdTA", 0.0));
    }

    proptest! {
        /// What is not looked at makes no difference: not for a sigma, whose neighbours may be far away.
        #[test]
        fn a_slug_is_that_of_the_whole_title_in_lower_case(
            parts in prop::collection::vec(prop::sample::select(vec!["Σ", "Σ", "a", "ʰ", "'", " ", "\u{301}", "İ", "9", "𝐀"]), 30..130),
        ) {
            let title = parts.concat();
            let lower = title.to_lowercase();
            let words: Vec<_> = lower.split(|c| !is_letter_or_digit(c)).filter(|word| !word.is_empty()).collect();
            let all: Vec<_> = words.join("-").encode_utf16().collect();
            let cut = String::from_utf16_lossy(&all[..all.len().min(SLUG)]);
            let cut = cut.trim_end_matches([char::REPLACEMENT_CHARACTER]).trim_end_matches('-');
            prop_assert_eq!(slug(title.encode_utf16()), if cut.is_empty() { "untitled" } else { cut });
        }

        #[test]
        fn every_name_on_disk_is_one_safe_component(
            id in prop::collection::vec(prop_oneof![any::<u16>(), 0x20u16..0x80], 0..300),
            title in prop::collection::vec(prop_oneof![any::<u16>(), 0x20u16..0x80], 0..120),
            other in prop::collection::vec(any::<u16>(), 0..120),
            ms in any::<f64>(),
            nth in prop::option::of(2u32..),
        ) {
            let name = Name::of(&id, &title, ms);
            prop_assert!(name.slug.encode_utf16().count() <= 50 && !name.slug.is_empty());
            prop_assert!(!name.slug.starts_with('-') && !name.slug.ends_with('-') && !name.slug.contains(' '));
            let (file, renamed) = name.on_disk("curt", nth);
            prop_assert!(file.len() <= 255, "{}", file.len());
            prop_assert!(!file.contains(|c: char| c == '/' || c.is_control()) && !file.starts_with('.'));
            prop_assert!(file.ends_with(".curt"));
            if nth.is_none() {
                prop_assert_eq!(renamed, file != name.file_name("curt"));
            }
            // A conversation is found by what stands after its slug.
            let after = |file: &str| file.splitn(3, ' ').nth(2).map(str::to_owned);
            let plain = after(&name.on_disk("curt", None).0);
            prop_assert_eq!(&plain, &after(&Name::of(&id, &other, ms).on_disk("curt", None).0));
            if let (Some(nth), Some(plain)) = (nth, plain) {
                let stem = plain.strip_suffix(".curt").unwrap().to_owned();
                prop_assert_eq!(after(&file), Some(format!("{stem}-{nth}.curt")));
            }
        }
    }
}
