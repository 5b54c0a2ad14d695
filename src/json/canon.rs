//! What a JSON document says, whoever wrote it how: its canonical form, and objects that name a key
//! twice.

use super::raw::{Raw, Tokens};
use super::tape::{self, Quick};
use super::write::escape_into;
use std::borrow::Cow;
use std::ops::Range;

/// What re-serialising would lose; the caller then keeps the text as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lossy {
    /// An object names a key twice.
    DuplicateKey,
    /// A string holds half a surrogate pair, which no text can hold.
    LoneSurrogate,
    /// Nothing would be lost, but 4 GiB are more than is sorted here.
    TooLong,
}

/// Whether an object anywhere in `value` names a key twice: its readers disagree on what it says.
pub fn has_duplicate_keys(value: Raw<'_>) -> bool {
    let text = value.bytes();
    objects(text, |members| if has_twice(text, members) { Err(()) } else { Ok(None) }).is_err()
}

/// `value` as `JSON.parse` reads it, where an object names a key twice: the last value, at the place
/// of the first. `None` when no object does, and for texts of more than 4 GiB. Tokens are copied.
pub fn without_duplicate_keys(value: Raw<'_>) -> Option<Vec<u8>> {
    let text = value.bytes();
    let resolved = objects(text, |members| Ok::<_, Lossy>(last_of_each(text, members))).unwrap_or_default();
    if resolved.objects.is_empty() || is_too_long(text) {
        return None;
    }
    let mut out = Vec::with_capacity(text.len());
    // Tokens that are copied lose nothing.
    let _ = print(text, &resolved, &mut out, copy);
    Some(out)
}

/// Append the canonical form of `value`: keys sorted by code point, no white space, strings escaped as
/// `JSON.stringify` would, number text untouched (rulings, "Content that is a JSON object or array").
/// On `Err` nothing was appended.
///
/// Beside the output, memory follows the objects that are not in order: 16 bytes for each, and 8 for each of
/// its members. Depth is no recursion.
pub fn canonical(value: Raw<'_>, out: &mut Vec<u8>) -> Result<(), Lossy> {
    let (text, start) = (value.bytes(), out.len());
    if is_too_long(text) {
        return Err(Lossy::TooLong);
    }
    let sorted = objects(text, |members| in_order(text, members))?;
    print(text, &sorted, out, escape).inspect_err(|_| out.truncate(start))
}

/// Whether places in it are more than 32 bits.
fn is_too_long(text: &[u8]) -> bool {
    u32::try_from(text.len()).is_err()
}

/// How keys and scalars are written.
type WriteToken = fn(&[u8], &mut Vec<u8>) -> Result<(), Lossy>;

/// The canonical form of `text` if it is an object or array; `None` if it is anything else, or if
/// re-serialising it would lose something.
pub fn document(text: &[u8]) -> Option<Vec<u8>> {
    let first = text.iter().find(|b| !matches!(b, b' ' | b'\t' | b'\n' | b'\r'))?;
    if !matches!(first, b'{' | b'[') {
        return None;
    }
    let mut out = Vec::with_capacity(text.len());
    // The tape is 1.3 to 2.8 times as fast (benches/canon.rs), and takes as much memory again.
    let quick = if text.len() <= SMALL { tape::canonical(text, &mut out) } else { Quick::Unsure };
    match quick {
        Quick::Written => Some(out),
        Quick::DuplicateKey => None,
        Quick::Unsure => canonical(Raw::parse(text).ok()?, &mut out).ok().map(|()| out),
    }
}

/// Documents up to this many bytes are put on simd-json's tape.
const SMALL: usize = 1 << 20;

/// A token as it stands.
fn copy(token: &[u8], out: &mut Vec<u8>) -> Result<(), Lossy> {
    out.extend_from_slice(token);
    Ok(())
}

/// A token escaped anew.
fn escape(token: &[u8], out: &mut Vec<u8>) -> Result<(), Lossy> {
    match Raw::known(token).text() {
        // Decoded from valid JSON, so the only bytes that are no UTF-8 are lone surrogates.
        Some(text) if std::str::from_utf8(&text).is_err() => return Err(Lossy::LoneSurrogate),
        Some(text) => escape_into(out, &text),
        None => out.extend_from_slice(token),
    }
    Ok(())
}

/// Where a member of an object stands in its text: where its key begins and its value ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Member {
    start: usize,
    end: usize,
}

/// Objects whose members are to be written otherwise than they stand. Places as in [`is_too_long`].
#[derive(Debug, Default)]
struct Rearranged {
    objects: Vec<Object>,
    /// Start and end of each.
    members: Vec<[u32; 2]>,
}

#[derive(Debug)]
struct Object {
    start: u32,
    end: u32,
    /// Which of the members are its.
    members: Range<u32>,
}

impl Rearranged {
    fn add(&mut self, start: usize, end: usize, members: &[Member]) {
        let first = self.members.len() as u32;
        self.members.extend(members.iter().map(|member| [member.start as u32, member.end as u32]));
        let members = first..self.members.len() as u32;
        self.objects.push(Object { start: start as u32, end: end as u32, members });
    }

    /// The object that begins there, and its members, unless they stay as they are.
    fn get(&self, start: usize) -> Option<(&Object, &[[u32; 2]])> {
        let found = self.objects.binary_search_by_key(&start, |object| object.start as usize).ok()?;
        let object = self.objects.get(found)?;
        Some((object, self.members.get(object.members.start as usize..object.members.end as usize)?))
    }
}

/// Ask `arrange` of each object that has two members or more, inner ones first, how its members are to be
/// written; `None` is as they stand.
///
/// # Errors
/// Those of `arrange`.
fn objects<E>(
    text: &[u8],
    arrange: impl Fn(&[Member]) -> Result<Option<Vec<Member>>, E>,
) -> Result<Rearranged, E> {
    let mut rearranged = Rearranged::default();
    // Each open object: where it begins, and how many of `members` are of those around it.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut members: Vec<Member> = Vec::new();
    let mut before = 0;
    let mut tokens = Places::of(text);
    while let Some((at, token)) = tokens.next() {
        let own = open.last().map_or(0, |(_, outer)| *outer);
        match token {
            b"{" => open.push((at, members.len())),
            b"}" => {
                close(&mut members, own, before);
                if let Some((object, own)) = open.pop() {
                    let done = members.get(own..).filter(|members| members.len() > 1);
                    if let Some(arranged) = done.map(&arrange).transpose()?.flatten() {
                        rearranged.add(object, at + 1, &arranged);
                    }
                    members.truncate(own);
                }
            }
            [b'"', ..] if tokens.at_colon() => {
                close(&mut members, own, before);
                members.push(Member { start: at, end: at });
            }
            _ => {}
        }
        before = at + token.len();
    }
    rearranged.objects.sort_unstable_by_key(|object| object.start);
    Ok(rearranged)
}

/// The value of the last member, if there is one, ended there.
fn close(members: &mut [Member], own: usize, end: usize) {
    if let Some(member) = members.get_mut(own..).and_then(<[Member]>::last_mut) {
        member.end = end;
    }
}

/// The tokens of a text, each with its place.
struct Places<'a> {
    length: usize,
    tokens: Tokens<'a>,
}

impl<'a> Places<'a> {
    fn of(text: &'a [u8]) -> Self {
        Places { length: text.len(), tokens: Tokens(text) }
    }

    fn next(&mut self) -> Option<(usize, &'a [u8])> {
        let token = self.tokens.next()?;
        let end = self.length - self.tokens.0.len();
        Some((end - token.len(), token))
    }

    /// Whether the token before was a key.
    fn at_colon(&self) -> bool {
        self.tokens.0.iter().find(|b| !matches!(b, b' ' | b'\t' | b'\n' | b'\r')) == Some(&b':')
    }
}

/// The key of a member, decoded.
fn key(text: &[u8], member: Member) -> Cow<'_, [u8]> {
    let token = text.get(member.start..).and_then(|rest| Tokens(rest).next());
    token.and_then(|token| Raw::known(token).text()).unwrap_or_default()
}

/// Sorted by their keys, those of one key in their order.
fn by_key(text: &[u8], members: &[Member]) -> Vec<Member> {
    let mut sorted = members.to_vec();
    sorted.sort_by_cached_key(|member| key(text, *member));
    sorted
}

/// Whether keys stand in strictly ascending order, as sorted ones without duplicates do.
fn ascends(text: &[u8], members: &[Member]) -> bool {
    let mut keys = members.iter().map(|member| key(text, *member));
    let mut last = keys.next().unwrap_or_default();
    keys.all(|key| std::mem::replace(&mut last, key) < last)
}

fn has_twice(text: &[u8], members: &[Member]) -> bool {
    !ascends(text, members) && {
        let mut keys: Vec<_> = members.iter().map(|member| key(text, *member)).collect();
        keys.sort_unstable();
        keys.windows(2).any(|pair| pair.first() == pair.last())
    }
}

fn in_order(text: &[u8], members: &[Member]) -> Result<Option<Vec<Member>>, Lossy> {
    if ascends(text, members) {
        return Ok(None);
    }
    let sorted = by_key(text, members);
    if ascends(text, &sorted) { Ok(Some(sorted)) } else { Err(Lossy::DuplicateKey) }
}

/// Of members with one key the last, at the place of the first.
fn last_of_each(text: &[u8], members: &[Member]) -> Option<Vec<Member>> {
    if !has_twice(text, members) {
        return None;
    }
    // (first, last) of each key.
    let mut kept: Vec<(Member, Member)> = Vec::new();
    for member in by_key(text, members) {
        match kept.last_mut() {
            Some((first, last)) if key(text, *first) == key(text, member) => *last = member,
            _ => kept.push((member, member)),
        }
    }
    kept.sort_unstable_by_key(|(first, _)| first.start);
    Some(kept.into_iter().map(|(_, last)| last).collect())
}

/// Write the text token by token, with the members of some objects rearranged.
fn print(text: &[u8], rearranged: &Rearranged, out: &mut Vec<u8>, scalar: WriteToken) -> Result<(), Lossy> {
    enum Todo<'r> {
        Text(Range<usize>),
        Members(&'r [[u32; 2]]),
    }
    // What follows what is being written, the nearest last.
    let mut todo = vec![Todo::Text(0..text.len())];
    // What came before can have something beside it.
    let mut comma = false;
    while let Some(next) = todo.pop() {
        let part = match next {
            Todo::Members([]) => {
                out.push(b'}');
                comma = true;
                continue;
            }
            Todo::Members([[start, end], rest @ ..]) => {
                todo.push(Todo::Members(rest));
                *start as usize..*end as usize
            }
            Todo::Text(part) => part,
        };
        let mut tokens = Places::of(text.get(part.clone()).unwrap_or_default());
        while let Some((at, token)) = tokens.next() {
            let closes = matches!(token, b"}" | b"]" | b":");
            if comma && !closes {
                out.push(b',');
            }
            comma = !matches!(token, b"{" | b"[" | b":");
            match token {
                b"{" => {
                    out.push(b'{');
                    if let Some((object, members)) = rearranged.get(part.start + at) {
                        todo.push(Todo::Text(object.end as usize..part.end));
                        todo.push(Todo::Members(members));
                        break;
                    }
                }
                b"}" | b"[" | b"]" | b":" => out.extend_from_slice(token),
                token => scalar(token, out)?,
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn canon(text: &str) -> Result<String, Lossy> {
        let mut out = b"kept".to_vec();
        let verdict = canonical(Raw::parse(text.as_bytes()).unwrap(), &mut out);
        let text = String::from_utf8(out).unwrap();
        verdict
            .map(|()| text.strip_prefix("kept").unwrap().to_owned())
            .inspect_err(|_| assert_eq!(text, "kept"))
    }

    #[test]
    fn keys_are_sorted_at_every_level_and_numbers_untouched() {
        assert_eq!(
            canon(r#" { "b" : [1.0, -0, 1e400 ,{"z":0,"y":{}}], "a" : "\u00e9\/\u0001", "B":[] } "#).unwrap(),
            r#"{"B":[],"a":"é/\u0001","b":[1.0,-0,1e400,{"y":{},"z":0}]}"#
        );
    }

    #[test]
    fn what_would_be_lost_is_named() {
        assert_eq!(canon(r#"[{"k":1,"\u006b":2}]"#), Err(Lossy::DuplicateKey));
        assert_eq!(canon(r#"{"a":"\ud83d"}"#), Err(Lossy::LoneSurrogate));
        assert_eq!(canon(r#"{"\udc00":1}"#), Err(Lossy::LoneSurrogate));
        assert!(!has_duplicate_keys(Raw::parse(br#"{"a":{"a":1},"b":[{"a":1},{"a":1}]}"#).unwrap()));
    }

    #[test]
    fn duplicates_resolve_as_json_parse_does() {
        let resolved = |text: &str| {
            let resolved = without_duplicate_keys(Raw::parse(text.as_bytes()).unwrap());
            resolved.map(|text| String::from_utf8(text).unwrap())
        };
        // node 20: JSON.stringify(JSON.parse(text)), but for the number text that is kept.
        assert_eq!(
            resolved(r#"{ "a":1, "b":{"x":[1],"\u0078":2.0}, "a":{"c":"\ud83d"} }"#).unwrap(),
            r#"{"a":{"c":"\ud83d"},"b":{"\u0078":2.0}}"#
        );
        assert_eq!(resolved(r#"[{"a":1},{"a":1}]"#), None);
    }

    fn exact(text: &str) -> Option<String> {
        let value =
            Raw::parse(text.as_bytes()).ok().filter(|v| matches!(v.bytes().first(), Some(b'{' | b'[')))?;
        let mut out = Vec::new();
        canonical(value, &mut out).ok().map(|()| String::from_utf8(out).unwrap())
    }

    fn quick(text: &str) -> Option<String> {
        document(text.as_bytes()).map(|out| String::from_utf8(out).unwrap())
    }

    #[test]
    fn what_the_tape_cannot_hold_goes_the_exact_way() {
        for text in [
            "[0,-0]",
            "[1.0,1e5,0.10]",
            "[18446744073709551616,12345678901234567890123]",
            "[1e400]",
            r#"["\ud83d"]"#,
            r#"{"a":1,"\u0061":2}"#,
            "[01]",
            "[1,]",
            "[NaN]",
            "[\"\u{1}\"]",
            "  {\"b\":[],\"a\":{}}\n",
            "{\"\":0,\"\u{10000}\":1,\"\u{ffff}\":2}",
            "",
            "3",
        ] {
            assert_eq!(quick(text), exact(text), "{text}");
        }
    }

    proptest::proptest! {
        /// The fast path never says anything else than the exact one.
        #[test]
        fn the_tape_agrees_with_the_exact_way(
            text in r#"[\[{][\[\]{}:,"\\\\ a-cu0-9.eE+-]{0,24}"#,
            parts in proptest::collection::vec(
                proptest::sample::select(&[r#""a":"#, r#""b":"#, r#""\u0061":"#, "{", "}", "[", "]", ",", "1", "-0", "0",
                    "1.50", "1e9", "\"x\\ny\"", "\"\\ud800\"", "null", "true", " ", "18446744073709551615", "-9223372036854775808"][..]),
                0..24),
        ) {
            proptest::prop_assert_eq!(quick(&text), exact(&text));
            for text in [format!("[{}]", parts.concat()), format!("{{{}}}", parts.concat()), parts.concat()] {
                proptest::prop_assert_eq!(quick(&text), exact(&text), "{}", text);
            }
        }
    }

    /// The same by another way: values as maps.
    fn by_maps(text: &str) -> String {
        serde_json::from_str::<serde_json::Value>(text).unwrap().to_string()
    }

    proptest! {
        #[test]
        fn sorted_and_resolved_as_maps_would(nodes in prop::collection::vec((0u8..8, 0usize..6), 0..60)) {
            // Any nest of objects and arrays over few keys, so that some come twice.
            let mut text = String::from("[");
            let mut open = vec![']'];
            for (kind, key) in nodes {
                let separator = if text.ends_with(['[', '{']) { "" } else { " , " };
                let key = if open.last() == Some(&'}') { format!("\"{}\" :", ["a", "b", "\\u0061", "ä", "", "c"][key]) } else { String::new() };
                match kind {
                    0 | 1 => (text += &format!("{separator}{key}{{"), open.push('}')).1,
                    2 => (text += &format!("{separator}{key}["), open.push(']')).1,
                    3 if open.len() > 1 => text.push(open.pop().unwrap()),
                    _ => text += &format!("{separator}{key}{kind}"),
                }
            }
            text.extend(open.into_iter().rev());
            let value = Raw::parse(text.as_bytes()).unwrap();
            match canon(&text) {
                Ok(sorted) => {
                    prop_assert_eq!(sorted, by_maps(&text));
                    prop_assert!(!has_duplicate_keys(value) && without_duplicate_keys(value).is_none());
                }
                Err(lossy) => {
                    prop_assert_eq!(lossy, Lossy::DuplicateKey);
                    prop_assert!(has_duplicate_keys(value));
                    let resolved = String::from_utf8(without_duplicate_keys(value).unwrap()).unwrap();
                    prop_assert!(!has_duplicate_keys(Raw::parse(resolved.as_bytes()).unwrap()));
                    prop_assert_eq!(canon(&resolved).unwrap(), by_maps(&text));
                }
            }
        }
    }

    #[test]
    fn depth_is_no_recursion() {
        let deep = "[".repeat(20_000) + &"]".repeat(20_000);
        assert_eq!(canon(&deep).unwrap(), deep);
        let unsorted = "{\"b\":0,\"a\":".repeat(100_000) + "0" + &"}".repeat(100_000);
        let sorted = "{\"a\":".repeat(100_000) + "0" + &",\"b\":0}".repeat(100_000);
        assert!(canon(&unsorted).unwrap() == sorted, "each level costs itself and not what is in it");
    }
}
