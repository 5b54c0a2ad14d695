//! The one redactor: finds what [`super::rules`] names in the texts of an event and takes it out.
//!
//! A field is looked through whole, however large it is, and cut to [`MOST`] bytes after that. Each scanner
//! reads what the one before it left. Matching sees decoded text: strings of a JSON document inside a field
//! are looked at one by one, so that no escape hides a secret.

use super::event::{Event, Redaction, Status, Tool};
use super::rules::{Bytes, Effect, Fields, Find, RULES, Rule, denied};
use crate::json::raw::{Kind, Raw};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// Bytes of a field that an event keeps.
pub const MOST: usize = 1 << 20;

/// What stands behind the bytes of a field that was cut.
pub const CUT: &str = "...[ctxlake:truncated]";

/// What was found in some texts.
#[derive(Debug, Default)]
pub struct Found {
    /// Names of rules in the order in which they fired, each once.
    pub rules: Vec<&'static str>,
    /// Whether a whole field was withheld.
    pub withheld: bool,
}

impl Found {
    fn add(&mut self, rule: &Rule) {
        if !self.rules.contains(&rule.name) {
            self.rules.push(rule.name);
        }
        self.withheld |= rule.effect == Effect::Withhold;
    }

    fn status(&self) -> Status {
        match (self.withheld, self.rules.is_empty()) {
            (true, _) => Status::Quarantined,
            (false, false) => Status::Redacted,
            (false, true) => Status::Clean,
        }
    }
}

/// Take out of an event what no lake should hold, and mark it. What an earlier scrubber found stays in
/// the mark.
pub fn scrub(event: &mut Event<'_>) {
    let mut found = Found::default();
    let mut prose = |text: &mut Cow<'_, str>| field(text, Fields::All, &mut found);
    event.content.iter_mut().for_each(&mut prose);
    event.place.iter_mut().flatten().for_each(&mut prose);
    event.source.runtime_version.iter_mut().for_each(&mut prose);
    event.usage.iter_mut().filter_map(|usage| usage.model.as_mut()).for_each(&mut prose);
    if let Some(tool) = &mut event.tool {
        call(tool, &mut found);
    }
    // A structure of others that nobody can read a secret out of in parts: kept only when it is clean.
    if let Some(list) = event.injected_context {
        let mut text = Cow::Borrowed("");
        let strings = list.with_strings(|text| Some(text.to_vec())).unwrap_or_default();
        text.to_mut().push_str(&String::from_utf8_lossy(&strings));
        let before = found.rules.len();
        field(&mut text, Fields::All, &mut found);
        if found.rules.len() > before || text.ends_with(CUT) {
            event.injected_context = None;
            found.withheld = true;
        }
    }
    let mut redaction = Redaction { status: found.status(), rules_fired: Vec::new() };
    if let Some(earlier) = event.redaction.take() {
        redaction.status = redaction.status.max(earlier.status);
        redaction.rules_fired = earlier.rules_fired;
    }
    for rule in found.rules {
        if !redaction.rules_fired.iter().any(|name| name == rule) {
            redaction.rules_fired.push(Cow::Borrowed(rule));
        }
    }
    event.redaction = Some(redaction);
}

fn call(tool: &mut Tool<'_>, found: &mut Found) {
    let path = denied_path(tool);
    field(&mut tool.name, Fields::All, found);
    tool.paths.iter_mut().for_each(|path| field(path, Fields::All, found));
    let Some(path) = path else {
        tool.input.iter_mut().for_each(|text| field(text, Fields::Tool, found));
        tool.result.iter_mut().for_each(|text| field(text, Fields::Tool, found));
        return;
    };
    RULES.iter().filter(|rule| rule.find == Find::Path).for_each(|rule| found.add(rule));
    let mut path = Cow::Owned(path);
    field(&mut path, Fields::All, found);
    cut(&mut path, 1024);
    for text in tool.input.iter_mut().chain(&mut tool.result) {
        *text = Cow::Owned(format!("[ctxlake: withheld, denied path {path}]"));
    }
}

/// Scrub one text, then cut it.
pub fn field(text: &mut Cow<'_, str>, fields: Fields, found: &mut Found) {
    inside(text, fields, found);
    flat(text, fields, found);
    cut(text, MOST);
}

/// The strings of a JSON document, where escapes could hide something.
fn inside(text: &mut Cow<'_, str>, fields: Fields, found: &mut Found) {
    if !text.contains('\\') || !text.trim_start().starts_with(['{', '[', '"']) {
        return;
    }
    let Ok(raw) = Raw::parse(text.as_bytes()) else { return };
    let mut withhold = false;
    let changed = raw.with_strings(|string| {
        let mut string = String::from_utf8_lossy(string);
        let mut here = Found::default();
        flat(&mut string, fields, &mut here);
        withhold |= here.withheld;
        let fired = !here.rules.is_empty();
        RULES.iter().filter(|rule| here.rules.contains(&rule.name)).for_each(|rule| found.add(rule));
        fired.then(|| string.into_owned().into_bytes())
    });
    if withhold {
        *text = Cow::Owned(withheld(text));
    } else if let Some(Ok(changed)) = changed.map(String::from_utf8) {
        *text = Cow::Owned(changed);
    }
}

fn flat(text: &mut Cow<'_, str>, fields: Fields, found: &mut Found) {
    let rules = || RULES.iter().filter(|rule| rule.fields == Fields::All || fields == Fields::Tool);
    let fired = keys(text.as_bytes());
    if !fired.is_empty() {
        fired.into_iter().for_each(|rule| found.add(rule));
        *text = Cow::Owned(withheld(text));
        return;
    }
    for rule in rules() {
        let Effect::Replace(by) = rule.effect else { continue };
        let places = places(rule, text.as_bytes());
        if !places.is_empty() {
            found.add(rule);
            *text = Cow::Owned(replaced(text, &places, by));
        }
    }
}

/// Says how much was withheld, and nothing that a short secret could be guessed by.
fn withheld(text: &str) -> String {
    format!("[ctxlake: withheld, {} bytes]", text.len())
}

fn replaced(text: &str, places: &[Range<usize>], by: &str) -> String {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for place in places {
        out.push_str(text.get(at..place.start).unwrap_or_default());
        out.push_str(by);
        at = place.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

fn cut(text: &mut Cow<'_, str>, most: usize) {
    let already = text.strip_suffix(CUT).is_some_and(|text| text.len() <= most);
    if text.len() <= most || already {
        return;
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    *text = Cow::Owned([text.get(..end).unwrap_or_default(), CUT].concat());
}

// ---------------------------------------------------------------- keys

/// The rules that withhold and fire, in order of appearance.
fn keys(text: &[u8]) -> Vec<&'static Rule> {
    let mut fired: Vec<&Rule> = Vec::new();
    for (at, byte) in text.iter().enumerate() {
        for rule in BY_FIRST.get(usize::from(*byte)).into_iter().flatten() {
            if begins(rule.find, text, at).is_some() && !fired.iter().any(|other| other.name == rule.name) {
                fired.push(rule);
            }
        }
    }
    fired
}

/// The rules that withhold, by the bytes, in both cases, that what they find can begin with.
static BY_FIRST: LazyLock<Vec<Vec<&'static Rule>>> = LazyLock::new(|| {
    let begin = |rule: &Rule| match rule.find {
        Find::Token { prefix: text, .. } | Find::Text(text) | Find::Assigned(text) => text.bytes().next(),
        Find::Authorization => AUTHORIZATION.bytes().next(),
        _ => None,
    };
    let withholding = || RULES.iter().filter(|rule| rule.effect == Effect::Withhold);
    let of = |byte: u8| {
        withholding()
            .filter(|rule| begin(rule).is_some_and(|first| first.eq_ignore_ascii_case(&byte)))
            .collect()
    };
    (0..=255).map(of).collect()
});

const AUTHORIZATION: &str = "authorization";

/// Where what `find` looks for ends, if it begins at `at`.
fn begins(find: Find, text: &[u8], at: usize) -> Option<usize> {
    let here = text.get(at..)?;
    match find {
        Find::Token { prefix, bytes, least, mixed } => {
            let same =
                if prefix == "Bearer " { starts(here, prefix) } else { here.starts_with(prefix.as_bytes()) };
            if !same || !word_start(text, at) {
                return None;
            }
            let token = here.get(prefix.len()..)?;
            let run = |text: &[u8]| text.iter().take_while(|byte| bytes.has(**byte)).count();
            // Enough to be sure; a run of prefixes would be measured from each of them.
            let front = token.get(..token.len().min(256))?;
            let front = front.get(..run(front))?;
            let sure = front.len() >= least && (!mixed || drawn(front));
            sure.then(|| at + prefix.len() + run(token))
        }
        Find::Text(wanted) => here.starts_with(wanted.as_bytes()).then_some(at + wanted.len()),
        Find::Assigned(name) => {
            let named = starts(here, name) && word_start(text, at);
            let (by, value) = assigned(here.get(name.len()..)?, named)?;
            let ends = |byte: &u8| !byte.is_ascii_graphic() || b"\"'\\;,".contains(byte);
            let length = value.iter().take(256).position(ends).unwrap_or(value.len().min(256));
            // Prose has colons too.
            let said = by == b'=' || value.get(..length).is_some_and(drawn);
            (length >= 3 && said).then_some(at + name.len())
        }
        Find::Authorization => {
            let (_, value) = assigned(here.get(AUTHORIZATION.len()..)?, starts(here, AUTHORIZATION))?;
            credentials(value).then_some(at + AUTHORIZATION.len())
        }
        _ => None,
    }
}

/// What is assigned behind a name: quotes and blanks around `=` or `:` are passed over; a reference such as
/// `$NAME` or `<name>` is no value.
fn assigned(behind: &[u8], named: bool) -> Option<(u8, &[u8])> {
    let skip = |text: &mut &[u8]| {
        let blank = text.iter().take(8).take_while(|byte| b" \t\"'\\".contains(byte)).count();
        *text = text.get(blank..).unwrap_or_default();
    };
    let mut rest = behind;
    if !named {
        return None;
    }
    skip(&mut rest);
    let (by, mut value) = rest.split_first().filter(|(by, _)| matches!(by, b'=' | b':'))?;
    skip(&mut value);
    let reference = b"$<{([*%".contains(value.first()?) || value.starts_with(b"...");
    (!reference).then_some((*by, value))
}

const SCHEMES: [&str; 7] =
    ["bearer ", "basic ", "token ", "digest ", "apikey ", "negotiate ", "aws4-hmac-sha256 "];

/// A known scheme and something behind it, or a bare token.
fn credentials(value: &[u8]) -> bool {
    let token = |text: &[u8]| text.iter().take_while(|byte| Bytes::Token68.has(**byte)).count();
    match SCHEMES.iter().find(|scheme| starts(value, scheme)) {
        Some(scheme) => token(value.get(scheme.len()..).unwrap_or_default()) >= 6,
        None => token(value) >= 16 && value.get(..token(value)).is_some_and(drawn),
    }
}

fn starts(text: &[u8], prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|front| front.eq_ignore_ascii_case(prefix.as_bytes()))
}

/// Whether a word may begin at `at`: no letter, digit or underscore before it, unless that ends an escape
/// (`\n`, a colour) of a text inside the text.
fn word_start(text: &[u8], at: usize) -> bool {
    let before = |n: usize| at.checked_sub(n).and_then(|at| text.get(at)).copied().unwrap_or(b' ');
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if !inside(before(1)) || before(2) == b'\\' {
        return true;
    }
    let hex = |n: usize| (1..=n).all(|n| before(n).is_ascii_hexdigit());
    let colour = || {
        let digits = (2..12).take_while(|n| before(*n).is_ascii_digit() || before(*n) == b';').count();
        before(1) == b'm' && before(digits + 2) == b'['
    };
    hex(4) && before(5) == b'u' && before(6) == b'\\'
        || hex(2) && (before(3) == b'%' || before(3) == b'x' && before(4) == b'\\')
        || colour()
}

/// Whether a run looks drawn by lot and not like words: a digit, or both cases.
fn drawn(token: &[u8]) -> bool {
    let any = |of: fn(&u8) -> bool| token.iter().any(of);
    any(u8::is_ascii_digit) || any(u8::is_ascii_lowercase) && any(u8::is_ascii_uppercase)
}

// ---------------------------------------------------------------- what is replaced

fn places(rule: &Rule, text: &[u8]) -> Vec<Range<usize>> {
    match rule.find {
        Find::UriPassword => passwords(text),
        Find::Card => cards(text),
        Find::Ssn => ssns(text),
        Find::Entropy => runs(text, |byte| Bytes::Base64.has(byte))
            .filter(|run| run.len() >= 32 && text.get(run.clone()).is_some_and(|run| entropy(run) >= 4.5))
            .collect(),
        Find::Token { prefix, .. } => {
            let (mut places, mut at) = (Vec::new(), 0);
            let initial = prefix.bytes().next().unwrap_or_default();
            let (lower, upper) = (initial.to_ascii_lowercase(), initial.to_ascii_uppercase());
            while let Some(next) = memchr::memchr2(lower, upper, text.get(at..).unwrap_or_default()) {
                at += next;
                match begins(rule.find, text, at) {
                    Some(end) => {
                        places.push(at + prefix.len()..end);
                        at = end;
                    }
                    None => at += 1,
                }
            }
            places
        }
        _ => Vec::new(),
    }
}

/// The longest ranges of bytes that all `are` so.
fn runs(text: &[u8], are: impl Fn(u8) -> bool) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..)?;
        let start = at + rest.iter().position(|byte| are(*byte))?;
        let length = text.get(start..)?.iter().take_while(|byte| are(**byte)).count();
        at = start + length;
        Some(start..at)
    })
}

/// Shannon's entropy in bits a byte.
fn entropy(run: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in run {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let total = run.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / total)
        .map(|p| -p * p.log2())
        .sum()
}

/// Passwords of authorities. A password may hold `/`, `?` and `@`, so it ends at the last `@` before white
/// space or a quote; but `host:port/…@` has none.
fn passwords(text: &[u8]) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let (mut behind, mut word, mut last) = (0, 0..0, None);
    for mark in memchr::memmem::find_iter(text, b"://") {
        let start = mark + 3;
        let schemed = mark.checked_sub(1).and_then(|at| text.get(at)).is_some_and(u8::is_ascii_alphanumeric);
        if start < behind || !schemed {
            continue;
        }
        // Once a word, however many marks stand in it.
        if start >= word.end {
            let stops = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`<>".contains(byte);
            let rest = text.get(start..).unwrap_or_default();
            word = start..start + rest.iter().position(stops).unwrap_or(rest.len());
            last = memchr::memrchr(b'@', text.get(word.clone()).unwrap_or_default()).map(|at| start + at);
        }
        let Some(last) = last.and_then(|last| last.checked_sub(start)) else { continue };
        let word = text.get(start..word.end).unwrap_or_default();
        let Some(colon) =
            word.iter().position(|byte| b":/?#@".contains(byte)).filter(|at| word.get(*at) == Some(&b':'))
        else {
            continue;
        };
        let password = word.get(colon + 1..last).unwrap_or_default();
        let port = password.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_port = port > 0 && password.get(port).is_some_and(|byte| b"/?#".contains(byte));
        if !password.is_empty() && !is_port && password != b"[ctxlake:redacted]" {
            places.push(start + colon + 1..start + last);
            behind = start + last;
        }
    }
    places
}

/// Numbers of cards. Groups of digits with one blank or dash between them may belong together, so every
/// stretch of whole groups is tried, the longest first.
fn cards(text: &[u8]) -> Vec<Range<usize>> {
    let groups: Vec<Range<usize>> = runs(text, |byte| byte.is_ascii_digit()).collect();
    let joined = |left: &Range<usize>, right: &Range<usize>| {
        right.start == left.end + 1 && matches!(text.get(left.end), Some(b' ' | b'-'))
    };
    let (mut places, mut at) = (Vec::new(), 0);
    while let Some(rest) = groups.get(at..).filter(|rest| !rest.is_empty()) {
        let together =
            1 + rest.iter().zip(rest.iter().skip(1)).take(18).take_while(|(l, r)| joined(l, r)).count();
        let found = (1..=together).rev().find_map(|count| {
            let stretch = rest.get(..count)?;
            let place = stretch.first()?.start..stretch.last()?.end;
            (is_card(stretch, text) && stands_alone(text, &place)).then_some((count, place))
        });
        at += match found {
            Some((count, place)) => {
                places.push(place);
                count
            }
            None => 1,
        };
    }
    places
}

fn is_card(groups: &[Range<usize>], text: &[u8]) -> bool {
    let least = groups.iter().map(Range::len).min().unwrap_or_default();
    let total: usize = groups.iter().map(Range::len).sum();
    let most = groups.iter().map(Range::len).max().unwrap_or_default();
    if !(13..=19).contains(&total) || groups.len() > 1 && least < 3 && most > 1 {
        return false;
    }
    let digits: Vec<u32> = groups
        .iter()
        .flat_map(|group| text.get(group.clone()).unwrap_or_default())
        .map(|digit| u32::from(digit - b'0'))
        .collect();
    let front = |n: usize| digits.iter().take(n).fold(0, |number, digit| number * 10 + digit);
    let issued = match total {
        13 | 19 if front(1) == 4 => true,
        14 => matches!(front(3), 300..=305) || matches!(front(2), 36 | 38 | 39),
        15 => matches!(front(2), 34 | 37),
        16 if front(1) == 4 || matches!(front(2), 51..=55) || matches!(front(4), 2221..=2720) => true,
        16..=19 => {
            front(4) == 6011
                || front(2) == 65
                || front(2) == 62
                || matches!(front(3), 644..=649)
                || matches!(front(4), 3528..=3589)
        }
        _ => false,
    };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| match (place % 2, digit * 2) {
            (0, _) => *digit,
            (_, twice) if twice > 9 => twice - 9,
            (_, twice) => twice,
        })
        .sum();
    issued && sum.is_multiple_of(10)
}

/// No part of a longer word or of a decimal fraction.
fn stands_alone(text: &[u8], place: &Range<usize>) -> bool {
    let before = |n: usize| place.start.checked_sub(n).and_then(|at| text.get(at)).copied().unwrap_or(b' ');
    let after = |n: usize| text.get(place.end + n).copied().unwrap_or(b' ');
    let fraction =
        before(1) == b'.' && before(2).is_ascii_digit() || after(0) == b'.' && after(1).is_ascii_digit();
    word_start(text, place.start) && !after(0).is_ascii_alphanumeric() && after(0) != b'_' && !fraction
}

fn ssns(text: &[u8]) -> Vec<Range<usize>> {
    let groups: Vec<Range<usize>> = runs(text, |byte| byte.is_ascii_digit()).collect();
    let dash = |left: &Range<usize>, right: &Range<usize>| {
        right.start == left.end + 1 && text.get(left.end) == Some(&b'-')
    };
    groups
        .windows(3)
        .filter_map(|three| {
            let [area, group, serial] = three else { return None };
            let shaped = (area.len(), group.len(), serial.len()) == (3, 2, 4)
                && dash(area, group)
                && dash(group, serial);
            let given_out = !matches!(text.get(area.clone()), Some(b"000" | b"666" | [b'9', ..]));
            (shaped && given_out).then_some(area.start..serial.end)
        })
        .collect()
}

// ---------------------------------------------------------------- paths

/// The first denied path that a call names, as an argument or in a command.
fn denied_path(tool: &Tool<'_>) -> Option<String> {
    let listed = tool.paths.iter().find(|path| denied(path)).map(|path| path.to_string());
    listed.or_else(|| {
        let input = tool.input.as_deref()?;
        match Raw::parse(input.as_bytes()) {
            Ok(raw) if matches!(raw.kind(), Kind::Object | Kind::Array) => argument(raw),
            _ => word(input),
        }
    })
}

const PATHS: [&str; 8] =
    ["file_path", "path", "filePath", "file", "notebook_path", "filename", "paths", "files"];
const COMMANDS: [&str; 5] = ["command", "cmd", "script", "args", "argv"];

fn argument(input: Raw<'_>) -> Option<String> {
    let texts = |value: Raw<'_>| -> Vec<String> {
        let one = value.text().into_iter();
        let many = value.items().filter_map(Raw::text);
        one.chain(many).map(|text| String::from_utf8_lossy(&text).into_owned()).collect()
    };
    if input.kind() == Kind::Array {
        return texts(input).iter().find_map(|text| word(text));
    }
    input.members().find_map(|(key, value)| {
        let key = key.text()?;
        let is = |names: &[&str]| names.iter().any(|name| key.as_ref() == name.as_bytes());
        if is(&PATHS) {
            return texts(value).into_iter().find(|path| denied(path));
        }
        if is(&COMMANDS) { texts(value).iter().find_map(|text| word(text)) } else { None }
    })
}

/// A denied path among the words of a command. Quotes inside a word are no way around it.
fn word(command: &str) -> Option<String> {
    let ends = |c: char| c.is_whitespace() || ";|&<>()`=,".contains(c);
    let plain = |word: &str| word.replace(['"', '\''], "");
    command
        .split(ends)
        .map(plain)
        .find(|word| !word.is_empty() && (denied(word) || denied(&word.replace('\\', ""))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(text: &str) -> (String, Found) {
        let mut tool = Tool { input: Some(text.to_owned().into()), ..Tool::default() };
        let mut found = Found::default();
        call(&mut tool, &mut found);
        (tool.input.unwrap_or_default().into_owned(), found)
    }

    /// The part of a rule's example that must be gone.
    fn secret(example: &str) -> &str {
        example.get(example.len() / 2..).unwrap()
    }

    #[test]
    fn every_rule_finds_its_example_and_not_what_is_like_it() {
        for rule in RULES {
            let (text, found) = told(&rule.example());
            assert!(found.rules.contains(&rule.name), "{}: {text} {found:?}", rule.name);
            let (text, found) = told(rule.miss);
            assert_eq!(text, rule.miss, "{}", rule.name);
            assert!(found.rules.is_empty(), "{}: {found:?}", rule.name);
        }
    }

    #[test]
    fn time_is_linear_in_runs_of_beginnings() {
        for part in
            ["sk-", "SG.", "a://b:", "hf_", "authorization:", "1 ", "4111 ", "AKIA", "://:@", "a://x@"]
        {
            told(&part.repeat(60_000 / part.len()));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn planted_secrets_are_found(
            // Without dots: by chance `.env` stands there, and then all is withheld for that.
            before in "[a-z ,\\n]{0,200}", after in "[a-z ,\\n]{0,200}", rule in 0..RULES.len(),
        ) {
            let rule = RULES.get(rule).unwrap();
            let (text, found) = told(&format!("{before}\n{}\n{after}", rule.example()));
            prop_assert!(found.rules.contains(&rule.name));
            prop_assert!(!text.contains(secret(&rule.example())) || rule.name == "uri_credentials" || rule.name == "card_number" || rule.name == "denied_path", "{}", text);
        }

        #[test]
        fn text_without_secrets_is_left(text in "[a-zA-Z ,;\\n\\\\\"{}é🦀]{0,300}") {
            let (out, found) = told(&text);
            prop_assert!(found.rules.is_empty());
            prop_assert_eq!(out, text);
        }

        #[test]
        fn a_second_pass_changes_nothing(text in "\\PC{0,100}", rule in 0..RULES.len()) {
            let (once, _) = told(&format!("{text} {}", RULES.get(rule).unwrap().example()));
            prop_assert_eq!(told(&once).0, once);
        }
    }
}
