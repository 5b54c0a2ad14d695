//! Text on its way from one record to another.

use super::raw::Raw;
use super::write::escape_into;
use std::borrow::Cow;

/// The token a string came in, or bytes that a rule made.
#[derive(Clone, Debug)]
pub enum Text<'a> {
    /// A string token, copied as it is: its escapes and lone surrogates survive, no time is spent.
    Token(Raw<'a>),
    /// UTF-8 or WTF-8; anything else is written as U+FFFD.
    Decoded(Cow<'a, [u8]>),
}

impl Default for Text<'_> {
    fn default() -> Self {
        Text::Decoded(Cow::Borrowed(b""))
    }
}

impl Text<'_> {
    /// Append the JSON string token.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Text::Token(token) => out.extend_from_slice(token.bytes()),
            Text::Decoded(text) => escape_into(out, text),
        }
    }

    /// The text as JavaScript holds it, in UTF-16 units.
    pub fn utf16(&self) -> Vec<u16> {
        match self {
            Text::Token(token) => token.utf16().unwrap_or_default(),
            Text::Decoded(text) => {
                let mut token = Vec::new();
                escape_into(&mut token, text);
                Raw::known(&token).utf16().unwrap_or_default()
            }
        }
    }

    /// The text itself, WTF-8.
    pub fn decoded(&self) -> Cow<'_, [u8]> {
        match self {
            Text::Token(token) => token.text().unwrap_or_default(),
            Text::Decoded(text) => Cow::Borrowed(text),
        }
    }
}

/// Whether JavaScript's `trim` would leave nothing: white space alone.
pub fn is_blank(text: &[u8]) -> bool {
    // A byte that is no UTF-8 is no white space, and neither is U+FFFD.
    match text.iter().position(|b| !matches!(b, b' ' | b'\t' | b'\n' | b'\r')) {
        None => true,
        Some(_) => String::from_utf8_lossy(text).chars().all(is_space),
    }
}

/// JavaScript's white space: Unicode's, with U+FEFF and without U+0085.
pub fn is_space(c: char) -> bool {
    c == '\u{FEFF}' || c.is_whitespace() && c != '\u{85}'
}

/// `text` in one line: runs of white space as one space, none at the ends, at most `most` code
/// points. A lone surrogate counts as one.
pub fn one_line(text: &[u8], most: usize) -> Vec<u8> {
    let mut line = Vec::new();
    let mut count = 0;
    let mut gap = false;
    for piece in code_points(text) {
        if std::str::from_utf8(piece).is_ok_and(|s| s.chars().all(is_space)) {
            gap = !line.is_empty();
            continue;
        }
        if std::mem::take(&mut gap) && count < most {
            line.push(b' ');
            count += 1;
        }
        if count == most {
            break;
        }
        line.extend_from_slice(piece);
        count += 1;
    }
    if line.last() == Some(&b' ') {
        line.pop();
    }
    line
}

/// Cut at the lead bytes: one piece a code point, also where WTF-8 spells a surrogate.
fn code_points(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.iter().skip(1).position(|b| b & 0xC0 != 0x80).map_or(rest.len(), |at| at + 1);
        let (piece, after) = rest.split_at_checked(end).filter(|(piece, _)| !piece.is_empty())?;
        rest = after;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_is_javascripts_trim() {
        for text in ["", " \n", "\u{a0}\u{2003}\u{feff}\u{2028}"] {
            assert!(is_blank(text.as_bytes()), "{text:?}");
        }
        for text in [&b"\x00"[..], b" . ", "\u{85}".as_bytes(), "\u{200b}".as_bytes(), b"\xff"] {
            assert!(!is_blank(text), "{text:?}");
        }
    }

    #[test]
    fn one_line_counts_code_points() {
        assert_eq!(one_line(b"  a\r\n\t b  c ", 60), b"a b c");
        assert_eq!(one_line("🦀🦀🦀".as_bytes(), 2), "🦀🦀".as_bytes());
        assert_eq!(one_line(b"ab cd", 3), b"ab", "a cut leaves no space at the end");
        assert_eq!(one_line(b"x\xED\xA0\xBDy", 2), b"x\xED\xA0\xBD");
        assert_eq!(one_line(b"", 5), b"");
    }
}
