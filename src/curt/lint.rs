//! What a writer should not do though every reader accepts it: the duties of a writer in the spec ("Conformance",
//! "Extensions", the "should" of each field), and what people get wrong without noticing.
//!
//! Each kind is told once a body, with its first place and how many more there are: a million messages with one
//! mistake are one warning.

use crate::json::raw::{Kind, Raw};
use std::collections::HashSet;
use std::fmt;

/// The extension registry, as far as it is known: what is stable may be declared, a draft should not be
/// (curt-extensions(7)).
const STABLE: [&str; 2] = ["usage-metadata", "images-inline"];
const DRAFT: [&str; 1] = ["tool-linkage"];

/// The counts of `usage-metadata`.
const TOKENS: [&str; 4] = ["promptTokens", "completionTokens", "totalTokens", "cachedTokens"];

/// Times before this, 1973 in milliseconds, are seconds: the year 5138 in those.
const EARLIEST: f64 = 1e11;

/// What a JavaScript Date can hold (ECMA-262, 21.4.1.1).
const LATEST: f64 = 8.64e15;

/// The kinds of warnings, in the order in which they are told.
macro_rules! rules {
    ($($variant:ident = $word:literal, $reason:literal;)+) => {
        /// What a warning is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Rule { $(#[doc = $reason] $variant,)+ }

        impl Rule {
            /// Every one.
            pub const ALL: &[Rule] = &[$(Rule::$variant,)+];

            /// One word for it, which later versions keep.
            pub fn word(self) -> &'static str {
                match self { $(Rule::$variant => $word,)+ }
            }

            /// What is wrong.
            fn reason(self) -> &'static str {
                match self { $(Rule::$variant => $reason,)+ }
            }
        }
    };
}

rules! {
    Mark = "byte-order-mark", "a byte-order mark, which readers pass over and writers must not emit";
    NoGenerator = "no-generator", "no generator, which says who wrote the file";
    OddGenerator = "odd-generator", "a generator that is not \"writer-name@version\"";
    MalformedExtensions = "malformed-extensions", "extensions that are no array of non-empty strings";
    UnknownExtension = "unknown-extension", "an extension that is not in the registry";
    DraftExtension = "draft-extension", "an extension that is still a draft, and may change";
    UndeclaredExtension = "undeclared-extension", "tokens without usage-metadata among the extensions";
    NoMessages = "no-messages", "no messages";
    FractionalTime = "fractional-time", "a time that is no whole number of milliseconds";
    NegativeTime = "negative-time", "a time before 1970";
    SecondsTime = "seconds-time", "a time before 1973: seconds taken for milliseconds?";
    DistantTime = "distant-time", "a time that no JavaScript Date can hold";
    UpdatedFirst = "updated-first", "updatedAt before createdAt";
    DuplicateId = "duplicate-id", "a message id that an earlier message has";
    MalformedTokens = "malformed-tokens", "tokens that are no object of non-negative integers";
    OrphanResult = "orphan-result", "a toolCallId that no tool call before it has";
    RoundedInteger = "rounded-integer", "an integer that JavaScript rounds";
}

/// One kind of warning about a body. Displays as one line, in which nothing of the body's text stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What it is about.
    pub rule: Rule,
    /// Where it was first found, as JavaScript would write it; empty for the body itself.
    pub path: String,
    /// How often it was found.
    pub count: u64,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Warning { rule, path, count } = self;
        f.write_str(rule.reason())?;
        if !path.is_empty() {
            write!(f, ": {path}")?;
        }
        if *count > 1 {
            write!(f, " and {} more", count - 1)?;
        }
        Ok(())
    }
}

/// The warnings about a body that the checker accepted, in the order of [`Rule`]; `marked`: it began with a
/// byte-order mark, which is not in `body`.
pub fn lint(body: &[u8], marked: bool) -> Vec<Warning> {
    let body = Raw::valid(body);
    let mut found = Found(Vec::new());
    if marked {
        found.add(Rule::Mark, String::new);
    }
    generator(body.get("generator"), &mut found);
    let declares_usage = extensions(body.get("extensions"), &mut found);
    if let Some(conversation) = body.get("conversation") {
        times(conversation, &mut found);
        messages(conversation, declares_usage, &mut found);
    }
    integers(body, &mut found);
    found.0.sort_by_key(|warning| warning.rule);
    found.0
}

struct Found(Vec<Warning>);

impl Found {
    fn add(&mut self, rule: Rule, path: impl FnOnce() -> String) {
        match self.0.iter_mut().find(|warning| warning.rule == rule) {
            Some(warning) => warning.count += 1,
            None => self.0.push(Warning { rule, path: path(), count: 1 }),
        }
    }
}

fn generator(generator: Option<Raw<'_>>, found: &mut Found) {
    let Some(generator) = generator else { return found.add(Rule::NoGenerator, String::new) };
    let text = generator.text().unwrap_or_default();
    let signed = std::str::from_utf8(&text)
        .ok()
        .and_then(|text| text.rsplit_once('@'))
        .is_some_and(|(name, version)| !name.is_empty() && !version.is_empty());
    if !signed {
        found.add(Rule::OddGenerator, || "generator".to_owned());
    }
}

/// Whether `usage-metadata` is declared.
fn extensions(extensions: Option<Raw<'_>>, found: &mut Found) -> bool {
    let Some(extensions) = extensions else { return false };
    let names = || extensions.items().map(|name| name.text().unwrap_or_default());
    if extensions.kind() != Kind::Array || names().any(|name| name.is_empty()) {
        found.add(Rule::MalformedExtensions, || "extensions".to_owned());
    }
    let is = |name: &[u8], list: &[&str]| list.iter().any(|known| known.as_bytes() == name);
    for (n, name) in names().enumerate().filter(|(_, name)| !name.is_empty()) {
        if is(&name, &DRAFT) {
            found.add(Rule::DraftExtension, || format!("extensions[{n}]"));
        } else if !is(&name, &STABLE) {
            found.add(Rule::UnknownExtension, || format!("extensions[{n}]"));
        }
    }
    names().any(|name| *name == *b"usage-metadata")
}

fn times(conversation: Raw<'_>, found: &mut Found) {
    let [created, updated] = ["createdAt", "updatedAt"].map(|name| {
        let at = conversation.get(name).and_then(Raw::number).unwrap_or_default();
        time(at, || format!("conversation.{name}"), found);
        at
    });
    if updated < created {
        found.add(Rule::UpdatedFirst, || "conversation.updatedAt".to_owned());
    }
}

fn time(at: f64, path: impl FnOnce() -> String, found: &mut Found) {
    let rule = match at {
        _ if at.abs() > LATEST => Rule::DistantTime,
        _ if at < 0.0 => Rule::NegativeTime,
        _ if at > 0.0 && at < EARLIEST => Rule::SecondsTime,
        _ if at.fract() != 0.0 => Rule::FractionalTime,
        _ => return,
    };
    found.add(rule, path);
}

fn messages(conversation: Raw<'_>, declares_usage: bool, found: &mut Found) {
    let mut ids = HashSet::new();
    let mut calls = HashSet::new();
    let mut count = 0_u64;
    for (n, message) in conversation.get("messages").into_iter().flat_map(Raw::items).enumerate() {
        count += 1;
        let path = |field: &str| format!("conversation.messages[{n}].{field}");
        let fields = Fields::of(message);
        if !ids.insert(fields.id.and_then(Raw::text)) {
            found.add(Rule::DuplicateId, || path("id"));
        }
        time(fields.timestamp.and_then(Raw::number).unwrap_or_default(), || path("timestamp"), found);
        if let Some(tokens) = fields.tokens {
            if !is_usage(tokens) {
                found.add(Rule::MalformedTokens, || path("tokens"));
            }
            if !declares_usage {
                found.add(Rule::UndeclaredExtension, || path("tokens"));
            }
        }
        calls.extend(fields.calls.into_iter().flat_map(Raw::items).filter_map(|call| call.get("id")?.text()));
        if let Some(result) = fields.result
            && result.text().is_some_and(|id| !calls.contains(&id))
        {
            found.add(Rule::OrphanResult, || path("toolCallId"));
        }
    }
    if count == 0 {
        found.add(Rule::NoMessages, || "conversation.messages".to_owned());
    }
}

/// The fields of a message that are looked at, the last one of each name.
#[derive(Default)]
struct Fields<'a> {
    id: Option<Raw<'a>>,
    timestamp: Option<Raw<'a>>,
    tokens: Option<Raw<'a>>,
    calls: Option<Raw<'a>>,
    result: Option<Raw<'a>>,
}

impl<'a> Fields<'a> {
    /// In one pass: a message may be large.
    fn of(message: Raw<'a>) -> Fields<'a> {
        let mut fields = Fields::default();
        for (key, value) in message.members() {
            let field = match key.text().as_deref() {
                Some(b"id") => &mut fields.id,
                Some(b"timestamp") => &mut fields.timestamp,
                Some(b"tokens") => &mut fields.tokens,
                // Both spellings (rulings, ".curt to Claude Code").
                Some(b"toolCalls" | b"tool_calls") => &mut fields.calls,
                Some(b"toolCallId" | b"tool_call_id") => &mut fields.result,
                _ => continue,
            };
            *field = Some(value);
        }
        fields
    }
}

/// An object in which the counts of `usage-metadata` are counts.
fn is_usage(tokens: Raw<'_>) -> bool {
    let is_count = |value: Raw<'_>| value.number().is_some_and(|n| n >= 0.0 && n.fract() == 0.0);
    tokens.kind() == Kind::Object
        && TOKENS.iter().filter_map(|name| tokens.get(name)).all(is_count)
        && TOKENS.iter().any(|name| tokens.get(name).is_some())
}

/// Integers of the whole body, so that an unknown field's are found too.
fn integers(body: Raw<'_>, found: &mut Found) {
    let mut count = |value: Raw<'_>, path: &dyn Fn() -> String| {
        for _ in value.numbers().filter(|number| is_rounded(*number)) {
            found.add(Rule::RoundedInteger, path);
        }
    };
    for (key, value) in body.members() {
        if !key.is("conversation") {
            count(value, &String::new);
            continue;
        }
        for (key, value) in value.members() {
            if !key.is("messages") {
                count(value, &|| "conversation".to_owned());
                continue;
            }
            for (n, message) in value.items().enumerate() {
                count(message, &|| format!("conversation.messages[{n}]"));
            }
        }
    }
}

/// Whether JavaScript's number is another than the digits say.
fn is_rounded(number: Raw<'_>) -> bool {
    let text = number.bytes();
    // 2^53 has sixteen digits.
    if text.len() < 16 || !text.iter().all(|b| b.is_ascii_digit() || *b == b'-') {
        return false;
    }
    number.number().is_some_and(|value| format!("{value:.0}").as_bytes() != text)
}

#[cfg(test)]
mod tests;
