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
mod tests;
