//! A JSON text that is known to be valid, walked where it lies.
//!
//! [`Raw::parse`] judges a text once with the exact scanner; from then on a value is a slice of it.
//! Nothing is decoded until a rule must look inside, so number text, key order, escapes and lone
//! surrogates reach the other side as they came (design/performance: "string tokens pass through
//! undecoded"). Walking never recurses, so depth costs nothing.

use super::scan::{self, Bad};
use super::skip;
use std::borrow::Cow;

/// The six kinds of JSON value, with the booleans told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// `-1.5e3`; in a text read by [`Raw::parse_python`] also `NaN` and `Infinity`
    Number,
    /// `true`
    True,
    /// `false`
    False,
    /// `null`
    Null,
}

/// With its article, for messages: "a number".
impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kind::Object => "an object",
            Kind::Array => "an array",
            Kind::String => "a string",
            Kind::Number => "a number",
            Kind::True => "true",
            Kind::False => "false",
            Kind::Null => "null",
        })
    }
}

/// One value of a valid JSON text, without the white space around it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Raw<'a>(&'a [u8]);

impl std::fmt::Debug for Raw<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Raw({})", String::from_utf8_lossy(self.0))
    }
}

/// The name of an object member: a string token.
pub type Key<'a> = Raw<'a>;

impl<'a> Raw<'a> {
    /// Judge `text` as `JSON.parse` would (strict UTF-8, no BOM) and return its one value.
    pub fn parse(text: &'a [u8]) -> Result<Raw<'a>, Bad> {
        scan::validate(text)?;
        Ok(Raw(trim(text)))
    }

    /// The same for what Python's `json.dumps` writes: `NaN`, `Infinity` and `-Infinity` are numbers.
    /// They keep their spelling; everything else is judged exactly.
    pub fn parse_python(text: &'a [u8]) -> Result<Raw<'a>, Bad> {
        match scan::validate(text) {
            Ok(()) => {}
            // Zeros as wide as the words stand in for them, so that offsets in `Bad` stay true.
            Err(bad) => scan::validate(&without_python_words(text).ok_or(bad)?)?,
        }
        Ok(Raw(trim(text)))
    }

    /// The value of a text that was judged already: [`Raw::parse`] without a second look. As to a wrong
    /// promise, see [`Raw::known`].
    pub fn valid(text: &'a [u8]) -> Raw<'a> {
        Raw(trim(text))
    }

    /// One value that the caller knows to be valid and without white space around it: a token, or
    /// JSON that this library just wrote. A wrong promise makes wrong output, never a fault.
    pub const fn known(text: &'a [u8]) -> Raw<'a> {
        Raw(text)
    }

    /// The text of this value, exactly as it stands in the source.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Which kind of value this is.
    pub fn kind(self) -> Kind {
        match self.0.first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't') => Kind::True,
            Some(b'f') => Kind::False,
            Some(b'n') | None => Kind::Null,
            Some(_) => Kind::Number,
        }
    }

    /// Whether this is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// Whether this is a string.
    pub fn is_string(self) -> bool {
        self.kind() == Kind::String
    }

    /// The member of an object by name: the last one, as `JSON.parse` keeps it. `None` for any other kind.
    pub fn get(self, name: &str) -> Option<Raw<'a>> {
        self.members().filter(|(key, _)| key.is(name)).last().map(|(_, value)| value)
    }

    /// The members of an object in source order, duplicates included; nothing for any other kind.
    pub fn members(self) -> Members<'a> {
        Members(self.inside(b'{'))
    }

    /// The items of an array in order; nothing for any other kind.
    pub fn items(self) -> Items<'a> {
        Items(self.inside(b'['))
    }

    /// Every number in it, at any depth, in source order.
    pub fn numbers(self) -> impl Iterator<Item = Raw<'a>> {
        Tokens(self.0).filter(|token| matches!(token, [b'-' | b'0'..=b'9', ..])).map(Raw)
    }

    /// The number JavaScript would hold (`1e400` is infinite); `None` for any other kind.
    pub fn number(self) -> Option<f64> {
        if self.kind() != Kind::Number {
            return None;
        }
        std::str::from_utf8(self.0).ok()?.parse().ok()
    }

    /// The number when it is an integer written as one (`12`, not `12.0`) that fits.
    pub fn integer(self) -> Option<i64> {
        std::str::from_utf8(self.0).ok()?.parse().ok()
    }

    /// The string, decoded: UTF-8 in which a lone surrogate stands as its three bytes (WTF-8).
    /// `None` for any other kind. Borrowed when nothing is escaped.
    pub fn text(self) -> Option<Cow<'a, [u8]>> {
        let inner = self.quoted()?;
        if memchr::memchr(b'\\', inner).is_none() {
            return Some(Cow::Borrowed(inner));
        }
        let mut out = Vec::with_capacity(inner.len());
        let mut high = None;
        for piece in Pieces(inner) {
            match piece {
                Piece::Plain(bytes) => {
                    flush_high(&mut high, &mut out);
                    out.extend_from_slice(bytes);
                }
                Piece::Unit(unit) => match (high.take(), unit) {
                    (Some(first), 0xDC00..=0xDFFF) => {
                        let code = 0x10000 + ((u32::from(first) - 0xD800) << 10) + (u32::from(unit) - 0xDC00);
                        push_code(code, &mut out);
                    }
                    (before, unit) => {
                        high = before;
                        flush_high(&mut high, &mut out);
                        match unit {
                            0xD800..=0xDBFF => high = Some(unit),
                            _ => push_code(unit.into(), &mut out),
                        }
                    }
                },
            }
        }
        flush_high(&mut high, &mut out);
        Some(Cow::Owned(out))
    }

    /// The string as JavaScript holds it: UTF-16 units, lone surrogates and all. `None` for any other kind.
    pub fn utf16(self) -> Option<Vec<u16>> {
        self.quoted()?;
        Some(self.units().collect())
    }

    /// The same one after the other, in no memory; nothing for any other kind.
    pub fn units(self) -> impl Iterator<Item = u16> + 'a {
        Pieces(self.quoted().unwrap_or_default()).flat_map(|piece| {
            let (text, unit) = match piece {
                Piece::Plain(bytes) => (std::str::from_utf8(bytes).unwrap_or_default(), None),
                Piece::Unit(unit) => ("", Some(unit)),
            };
            text.encode_utf16().chain(unit)
        })
    }

    /// The text with other strings in it, keys too: `change` sees each one decoded. `None` when it changes none;
    /// all else is copied.
    pub fn with_strings(self, mut change: impl FnMut(&[u8]) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
        let (mut out, mut changed, mut rest) = (Vec::new(), false, self.0);
        while let Some((before, from)) = memchr::memchr(b'"', rest).and_then(|at| rest.split_at_checked(at)) {
            let (token, after) = from.split_at_checked(string_end(from))?;
            out.extend_from_slice(before);
            match Raw(token).text().and_then(|text| change(&text)) {
                Some(text) => {
                    changed = true;
                    super::write::escape_into(&mut out, &text);
                }
                None => out.extend_from_slice(token),
            }
            rest = after;
        }
        out.extend_from_slice(rest);
        changed.then_some(out)
    }

    /// Whether this is the string `wanted`, however it is escaped.
    pub fn is(self, wanted: &str) -> bool {
        self.quoted().is_some_and(|inner| inner == wanted.as_bytes())
            || self.0.contains(&b'\\') && self.text().is_some_and(|text| *text == *wanted.as_bytes())
    }

    /// What stands between the quotes of a string token, still escaped.
    pub fn quoted(self) -> Option<&'a [u8]> {
        self.0.strip_prefix(b"\"")?.strip_suffix(b"\"")
    }

    fn inside(self, open: u8) -> &'a [u8] {
        match self.0.split_first() {
            Some((first, rest)) if *first == open => rest,
            _ => &[],
        }
    }
}

/// Members of an object, in source order.
#[derive(Clone)]
pub struct Members<'a>(&'a [u8]);

impl<'a> Iterator for Members<'a> {
    type Item = (Key<'a>, Raw<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let key = next_value(&mut self.0)?;
        let value = next_value(&mut self.0)?;
        Some((key, value))
    }
}

/// Items of an array, in order.
#[derive(Clone, Debug)]
pub struct Items<'a>(&'a [u8]);

impl<'a> Iterator for Items<'a> {
    type Item = Raw<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        next_value(&mut self.0)
    }
}

impl<'a> Items<'a> {
    /// The members of the next item, if it is an object: whether it is. Reads it once, where the item itself
    /// would be read to find its end and then again.
    pub fn object(&mut self, mut each: impl FnMut(Key<'a>, Raw<'a>)) -> Option<bool> {
        let at = self.0.iter().position(|b| !matches!(b, b' ' | b'\t' | b'\n' | b'\r' | b','))?;
        let Some(b'{') = self.0.get(at) else { return self.next().map(|_| false) };
        let mut members = Members(self.0.get(at + 1..).unwrap_or_default());
        for (key, value) in &mut members {
            each(key, value);
        }
        let end = members.0.iter().position(|b| *b == b'}').map_or(members.0.len(), |end| end + 1);
        self.0 = members.0.get(end..).unwrap_or_default();
        Some(true)
    }
}

/// Cut the next value off the front of `rest`, passing over separators; `None` at a closing bracket.
fn next_value<'a>(rest: &mut &'a [u8]) -> Option<Raw<'a>> {
    let start = rest.iter().position(|b| !matches!(b, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':'))?;
    let text = rest.get(start..)?;
    let end = match text.first()? {
        b'}' | b']' => return None,
        b'"' => string_end(text),
        b'{' | b'[' => container_end(text),
        _ => scalar_end(text),
    };
    let (value, after) = text.split_at_checked(end)?;
    *rest = after;
    Some(Raw(value))
}

/// Length of the number or word at the front of `text`.
fn scalar_end(text: &[u8]) -> usize {
    text.iter()
        .position(|b| matches!(b, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r'))
        .unwrap_or(text.len())
}

/// Length of the string token at the front of `text`.
fn string_end(text: &[u8]) -> usize {
    let inside = text.get(1..).map_or(0, skip::inside);
    (inside + 2).min(text.len())
}

/// Length of the object or array at the front of `text`.
fn container_end(text: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => at += text.get(at..).map_or(0, string_end),
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                at += 1;
                depth -= 1;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    text.len()
}

/// The tokens of a valid text in order: brackets, colons, scalars. White space and commas are passed over.
pub(super) struct Tokens<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.0.iter().position(|b| !matches!(b, b' ' | b'\t' | b'\n' | b'\r' | b','))?;
        let rest = self.0.get(start..)?;
        let len = match rest.first()? {
            b'{' | b'}' | b'[' | b']' | b':' => 1,
            b'"' => string_end(rest),
            _ => scalar_end(rest),
        };
        let (token, after) = rest.split_at_checked(len)?;
        self.0 = after;
        Some(token)
    }
}

fn trim(text: &[u8]) -> &[u8] {
    let space = |b: &u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r');
    let start = text.iter().position(|b| !space(b)).unwrap_or(text.len());
    let end = text.iter().rposition(|b| !space(b)).map_or(start, |at| at + 1);
    text.get(start..end).unwrap_or_default()
}

/// `text` with Python's three words for non-finite numbers, where they stand outside strings,
/// replaced by zeros of the same width; `None` when there is none.
fn without_python_words(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = text.to_vec();
    let (mut at, mut found) = (0, false);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let word: &[u8] = match rest.first() {
            Some(b'"') => {
                at += string_end(rest);
                continue;
            }
            Some(b'N') if rest.starts_with(b"NaN") => b"0.0",
            Some(b'I') if rest.starts_with(b"Infinity") => b"0.000000",
            _ => {
                at += 1;
                continue;
            }
        };
        if let Some(place) = out.get_mut(at..at + word.len()) {
            place.copy_from_slice(word);
        }
        at += word.len();
        found = true;
    }
    found.then_some(out)
}

/// A string token's inside, cut at its escapes.
struct Pieces<'a>(&'a [u8]);

enum Piece<'a> {
    Plain(&'a [u8]),
    /// What one escape stands for: a UTF-16 unit.
    Unit(u16),
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let rest = self.0;
        let (unit, len) = match rest {
            [] => return None,
            [b'\\', b'u', hex @ ..] => {
                let digits = hex.get(..4).and_then(|h| std::str::from_utf8(h).ok());
                (digits.and_then(|h| u16::from_str_radix(h, 16).ok()).unwrap_or(0xFFFD), 6)
            }
            [b'\\', letter, ..] => (
                match letter {
                    b'b' => 8,
                    b'f' => 12,
                    b'n' => 10,
                    b'r' => 13,
                    b't' => 9,
                    other => u16::from(*other),
                },
                2,
            ),
            _ => {
                let end = memchr::memchr(b'\\', rest).filter(|at| *at > 0).unwrap_or(rest.len());
                let (plain, after) = rest.split_at_checked(end)?;
                self.0 = after;
                return Some(Piece::Plain(plain));
            }
        };
        self.0 = rest.get(len..).unwrap_or_default();
        Some(Piece::Unit(unit))
    }
}

fn flush_high(high: &mut Option<u16>, out: &mut Vec<u8>) {
    if let Some(unit) = high.take() {
        push_code(unit.into(), out);
    }
}

/// Append a code point as UTF-8; a surrogate as the three bytes UTF-8 would give it (WTF-8).
fn push_code(code: u32, out: &mut Vec<u8>) {
    match char::from_u32(code) {
        Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => out.extend_from_slice(&[
            0xE0 | (code >> 12) as u8,
            0x80 | (code >> 6 & 0x3F) as u8,
            0x80 | (code & 0x3F) as u8,
        ]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw<'_> {
        Raw::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn members_and_items_keep_order_and_text() {
        let v = raw(r#" {"b" : [1.0, -0 ,{"x":"]}"}], "a\u0062":"\"\\", "b":1e400 , "e":{} } "#);
        let keys: Vec<_> = v.members().map(|(k, v)| (k.bytes(), v.bytes())).collect();
        assert_eq!(keys[0], (&b"\"b\""[..], &br#"[1.0, -0 ,{"x":"]}"}]"#[..]));
        assert_eq!(keys.len(), 4);
        assert_eq!(v.get("b").unwrap().bytes(), b"1e400", "last duplicate wins");
        assert_eq!(v.get("ab").unwrap().text().unwrap(), &br#""\"#[..], "an escaped key matches");
        let items: Vec<_> = v.members().next().unwrap().1.items().map(Raw::bytes).collect();
        assert_eq!(items, [&b"1.0"[..], b"-0", br#"{"x":"]}"}"#]);
        assert_eq!(v.get("e").unwrap().members().count(), 0);
        assert_eq!(raw("[]").items().count(), 0);
        assert_eq!(raw("3").members().count(), 0);
    }

    #[test]
    fn objects_in_an_array_are_walked_where_they_lie() {
        let text = raw(r#"[ {"a":{"b":"}"},"c":[1]} ,7,[{"x":1}],{}, { } ,{"d" : null}]"#);
        let mut items = text.items();
        let mut seen = Vec::new();
        let mut kinds = Vec::new();
        while let Some(is_object) = items.object(|key, value| seen.push((key.bytes(), value.bytes()))) {
            kinds.push(is_object);
        }
        assert_eq!(kinds, [true, false, false, true, true, true]);
        let expected = [(&b"\"a\""[..], &br#"{"b":"}"}"#[..]), (b"\"c\"", b"[1]"), (b"\"d\"", b"null")];
        assert_eq!(seen, expected);
    }

    #[test]
    fn strings_decode_as_javascript_does() {
        assert_eq!(raw(r#""a\n\u00e9\ud83e\udd80\/""#).text().unwrap(), "a\né🦀/".as_bytes());
        assert_eq!(raw(r#""\ud83d x""#).text().unwrap(), &[0xED, 0xA0, 0xBD, b' ', b'x'][..]);
        assert_eq!(raw(r#""\ud83d\ud83e\udd80""#).text().unwrap(), &b"\xED\xA0\xBD\xF0\x9F\xA6\x80"[..]);
        assert_eq!(raw(r#""\udd80\ud83e""#).utf16().unwrap(), [0xDD80, 0xD83E]);
        assert_eq!(raw("\"🦀\"").utf16().unwrap(), [0xD83E, 0xDD80]);
        assert!(matches!(raw("\"plain\"").text(), Some(Cow::Borrowed(_))));
    }

    #[test]
    fn numbers_are_javascripts() {
        assert_eq!(raw("1e400").number(), Some(f64::INFINITY));
        assert_eq!(raw("10e-1").number(), Some(1.0));
        assert_eq!(raw("\"1\"").number(), None);
        assert_eq!(raw("12.0").integer(), None);
        assert_eq!(raw("-12").integer(), Some(-12));
    }

    #[test]
    fn pythons_words_are_numbers_only_for_python() {
        let text = br#"[NaN, -Infinity, {"NaN":"Infinity"}, Infinity]"#;
        assert!(Raw::parse(text).is_err());
        let items: Vec<_> = Raw::parse_python(text).unwrap().items().collect();
        assert_eq!(
            items.iter().map(|v| v.bytes()).collect::<Vec<_>>(),
            [&b"NaN"[..], b"-Infinity", br#"{"NaN":"Infinity"}"#, b"Infinity"]
        );
        assert!(items.iter().all(|v| v.kind() != Kind::Null));
        assert!(Raw::parse_python(b"[NaNa]").is_err());
        assert!(Raw::parse_python(b"{broken").is_err());
    }
}
