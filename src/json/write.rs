//! Writing JSON: `JSON.stringify`'s escapes and its two layouts, into a byte buffer.
//!
//! All writers share one escape policy: the short escapes, other controls as lower-case `\u00xx`,
//! lone surrogates as `\udxxx`, everything else raw. Because of that, a string token that one
//! program wrote is the token the next one would write, and can be copied.

use super::raw::{Kind, Raw, Tokens};
use super::skip;
use super::text::Text;
use memchr::memchr2;
use std::io::{self, Read, Write};

/// How a value is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    #[default]
    /// On one line, no white space: `JSON.stringify(v)`.
    Line,
    /// One tab a level: `JSON.stringify(v, null, "\t")`, the convention of `.curt` files. What lies
    /// deeper than 32 levels stays on one line: tabs there would grow as the square of the depth.
    Tabs,
}

/// Levels that are laid out by tabs.
const DEEPEST: usize = 32;

/// Append `text` as a JSON string token, quotes included. `text` is UTF-8 or WTF-8; a byte that is
/// neither becomes U+FFFD (one for each maximal part, as every decoder does).
pub fn escape_into(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    escape_inside(out, text);
    out.push(b'"');
}

/// The same for what is known to be UTF-8.
pub fn escape_str_into(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    escape_clean(out, text.as_bytes());
    out.push(b'"');
}

/// The same for a piece of a text that is known to be UTF-8, cut anywhere, without the quotes: a large
/// text need not be held as a token.
pub fn escape_piece_into(out: &mut Vec<u8>, piece: &[u8]) {
    escape_clean(out, piece);
}

/// The same without the quotes: for a token that is built from parts.
pub fn escape_inside(out: &mut Vec<u8>, text: &[u8]) {
    match std::str::from_utf8(text) {
        Ok(text) => escape_clean(out, text.as_bytes()),
        Err(_) => {
            let mut rest = text;
            while let Some((valid, bad, after)) = split_invalid(rest) {
                escape_clean(out, valid);
                match surrogate(bad, after) {
                    Some(unit) => {
                        out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                        // The decoder stops after the first byte of the three.
                        rest = after.get(2..).unwrap_or_default();
                    }
                    None => {
                        out.extend_from_slice("\u{FFFD}".as_bytes());
                        rest = after;
                    }
                }
            }
            escape_clean(out, rest);
        }
    }
}

/// Append a finite number, always with a point or an exponent: the shortest text that reads back as it.
pub fn real_into(out: &mut Vec<u8>, n: f64) {
    // Writing to a Vec cannot fail.
    let _ = serde_json::to_writer(out, &n);
}

/// (valid front, invalid part, rest) of the first fault; `None` when there is none.
fn split_invalid(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let error = std::str::from_utf8(text).err()?;
    let (valid, rest) = text.split_at_checked(error.valid_up_to())?;
    let (bad, after) = rest.split_at_checked(error.error_len().unwrap_or(rest.len()))?;
    Some((valid, bad, after))
}

/// The lone surrogate that WTF-8 spells with `bad` and the two bytes after it.
fn surrogate(bad: &[u8], after: &[u8]) -> Option<u32> {
    match (bad, after) {
        ([0xED], [second @ 0xA0..=0xBF, third @ 0x80..=0xBF, ..]) => {
            Some(0xD000 | (u32::from(*second) & 0x3F) << 6 | u32::from(*third) & 0x3F)
        }
        _ => None,
    }
}

/// Valid UTF-8: runs that need no escape are copied as they are found.
fn escape_clean(out: &mut Vec<u8>, text: &[u8]) {
    out.reserve(text.len() + 2);
    let mut rest = text;
    while let Some((plain, tail)) = rest.split_at_checked(skip::plain(rest)) {
        out.extend_from_slice(plain);
        let [byte, after @ ..] = tail else { break };
        escape_byte(out, *byte);
        rest = after;
    }
}

/// A quote, a backslash or a control character.
fn escape_byte(out: &mut Vec<u8>, byte: u8) {
    let letter = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0C => b'f',
        _ => {
            let hex = |n: u8| if n < 10 { b'0' + n } else { b'a' + n - 10 };
            return out.extend_from_slice(&[b'\\', b'u', b'0', b'0', hex(byte >> 4), hex(byte & 15)]);
        }
    };
    out.extend_from_slice(&[b'\\', letter]);
}

/// Lay a valid text out anew from beginning to end.
///
/// # Errors
/// Those of `from` and `to`.
pub fn relay(mut from: impl Read, layout: Layout, to: &mut dyn Write) -> io::Result<()> {
    let (mut block, mut out) = (vec![0; 64 << 10], Vec::new());
    let mut relay = Relay::new(layout);
    loop {
        let count = from.read(&mut block)?;
        if count == 0 {
            return Ok(());
        }
        out.clear();
        relay.feed(block.get(..count).unwrap_or_default(), &mut out);
        to.write_all(&out)?;
    }
}

/// Lays a valid text out anew as it comes in blocks, cut anywhere: only white space changes, and memory
/// does not follow the text.
#[derive(Debug)]
pub struct Relay {
    layout: Layout,
    depth: usize,
    fresh: bool,
    keyed: bool,
    inside: Inside,
}

/// Where a block ended.
#[derive(Clone, Copy, Debug)]
enum Inside {
    Nothing,
    String,
    /// In a string, behind a backslash.
    Escape,
    /// In a number or a literal.
    Scalar,
}

impl Relay {
    /// Nothing relaid yet.
    pub fn new(layout: Layout) -> Relay {
        Relay { layout, depth: 0, fresh: true, keyed: false, inside: Inside::Nothing }
    }

    /// Append the next block to `out`, laid out.
    pub fn feed(&mut self, mut block: &[u8], out: &mut Vec<u8>) {
        while let [byte, tail @ ..] = block {
            let (used, inside) = match self.inside {
                Inside::Nothing => {
                    block = tail;
                    self.between(*byte, out);
                    continue;
                }
                Inside::Escape => (1, Inside::String),
                Inside::String => match memchr2(b'"', b'\\', block) {
                    None => (block.len(), Inside::String),
                    Some(at) if block.get(at) == Some(&b'"') => (at + 1, Inside::Nothing),
                    Some(at) => (at + 1, Inside::Escape),
                },
                Inside::Scalar => {
                    let end = block.iter().position(|b| b" \t\n\r,]}".contains(b));
                    end.map_or((block.len(), Inside::Scalar), |at| (at, Inside::Nothing))
                }
            };
            let (token, rest) = block.split_at_checked(used).unwrap_or((block, &[]));
            out.extend_from_slice(token);
            (self.inside, block) = (inside, rest);
        }
    }

    /// A byte between tokens, or the first of one.
    fn between(&mut self, byte: u8, out: &mut Vec<u8>) {
        let Relay { layout, depth, fresh, keyed, .. } = *self;
        let mut writer = Writer { out, layout, depth, fresh, keyed };
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b',' => {}
            b'{' | b'[' => writer.open(byte),
            b'}' | b']' => writer.close(byte),
            b':' => writer.colon(),
            _ => {
                writer.lead();
                writer.out.push(byte);
                self.inside = if byte == b'"' { Inside::String } else { Inside::Scalar };
            }
        }
        (self.depth, self.fresh, self.keyed) = (writer.depth, writer.fresh, writer.keyed);
    }
}

/// An object of these members, each already JSON; `None` when there are none.
pub fn object(members: impl Iterator<Item = (&'static str, Vec<u8>)>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, Layout::Line);
    w.open(b'{');
    let mut any = false;
    for (name, json) in members {
        w.key(name);
        w.raw(Raw::known(&json));
        any = true;
    }
    w.close(b'}');
    any.then_some(out)
}

/// Builds one value in a buffer. The caller keeps the grammar: a key before each member's value,
/// every container closed.
pub struct Writer<'o> {
    out: &'o mut Vec<u8>,
    layout: Layout,
    depth: usize,
    /// Nothing stands in the current container yet.
    fresh: bool,
    /// A key was just written: the value follows it on the same line.
    keyed: bool,
}

impl<'o> Writer<'o> {
    /// Write into `out` from here on.
    pub fn new(out: &'o mut Vec<u8>, layout: Layout) -> Self {
        Self::nested(out, layout, 0, true)
    }

    /// Go on inside a container that stands `depth` levels deep; `fresh`: it is still empty.
    pub fn nested(out: &'o mut Vec<u8>, layout: Layout, depth: usize, fresh: bool) -> Self {
        Writer { out, layout, depth, fresh, keyed: false }
    }

    /// Open an object or array: `b'{'` or `b'['`.
    pub fn open(&mut self, bracket: u8) {
        self.lead();
        self.out.push(bracket);
        self.depth += 1;
        self.fresh = true;
    }

    /// Close it: `b'}'` or `b']'`.
    pub fn close(&mut self, bracket: u8) {
        if !self.fresh {
            self.new_line(self.depth.saturating_sub(1));
        }
        self.depth = self.depth.saturating_sub(1);
        self.out.push(bracket);
        self.fresh = false;
    }

    /// The key of the next member; plain ASCII names of our own.
    pub fn key(&mut self, name: &str) {
        self.lead();
        escape_into(self.out, name.as_bytes());
        self.colon();
    }

    /// The key of the next member, as the token it already is.
    pub fn key_token(&mut self, key: Raw<'_>) {
        self.lead();
        self.out.extend_from_slice(key.bytes());
        self.colon();
    }

    /// A string value.
    pub fn string(&mut self, text: &[u8]) {
        self.lead();
        escape_into(self.out, text);
    }

    /// A string value that may still be the token it came in.
    pub fn text(&mut self, text: &Text<'_>) {
        self.lead();
        text.write(self.out);
    }

    /// Anything that prints as a JSON scalar: an integer, `true`, `null`.
    pub fn scalar(&mut self, value: impl std::fmt::Display) {
        self.lead();
        // Writing to a Vec cannot fail.
        let _ = Write::write_fmt(self.out, format_args!("{value}"));
    }

    /// A finite number as JavaScript prints it; one that is not finite as `null`.
    pub fn float(&mut self, value: f64) {
        match serde_json::Number::from_f64(value) {
            Some(_) if value == value.trunc() && value.abs() < 1e15 => self.scalar(value as i64),
            Some(number) => self.scalar(number),
            None => self.scalar("null"),
        }
    }

    /// A value from another text, laid out anew; its tokens are copied.
    pub fn raw(&mut self, value: Raw<'_>) {
        match value.kind() {
            Kind::Object | Kind::Array => self.relay(value.bytes()),
            _ => {
                self.lead();
                self.out.extend_from_slice(value.bytes());
            }
        }
    }

    /// Copy a valid container token by token, with this writer's white space.
    fn relay(&mut self, text: &[u8]) {
        for token in Tokens(text) {
            match token {
                [bracket @ (b'{' | b'[')] => self.open(*bracket),
                [bracket @ (b'}' | b']')] => self.close(*bracket),
                b":" => self.colon(),
                scalar => {
                    self.lead();
                    self.out.extend_from_slice(scalar);
                }
            }
        }
    }

    fn colon(&mut self) {
        self.out.extend_from_slice(match self.layout {
            Layout::Line => b":".as_slice(),
            Layout::Tabs => b": ",
        });
        self.keyed = true;
    }

    /// What stands before a key or a value: a comma, a line of its own.
    fn lead(&mut self) {
        if std::mem::take(&mut self.keyed) {
            return;
        }
        if !self.fresh {
            self.out.push(b',');
        }
        self.fresh = false;
        if self.depth > 0 {
            self.new_line(self.depth);
        }
    }

    fn new_line(&mut self, tabs: usize) {
        if self.layout == Layout::Tabs && self.depth <= DEEPEST {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + tabs, b'\t');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relaid(text: &str, layout: Layout) -> String {
        let mut out = Vec::new();
        Writer::new(&mut out, layout).raw(Raw::parse(text.as_bytes()).unwrap());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn layouts_are_those_of_json_stringify() {
        // Expected texts: node 20, JSON.stringify(v) and JSON.stringify(v, null, "\t").
        let text = r#" {"a" : [ ], "b":{ }, "c":[1 , {"d":"x: y,"}], "e": null } "#;
        assert_eq!(relaid(text, Layout::Line), r#"{"a":[],"b":{},"c":[1,{"d":"x: y,"}],"e":null}"#);
        assert_eq!(
            relaid(text, Layout::Tabs),
            "{\n\t\"a\": [],\n\t\"b\": {},\n\t\"c\": [\n\t\t1,\n\t\t{\n\t\t\t\"d\": \"x: y,\"\n\t\t}\n\t],\n\t\"e\": null\n}"
        );
        assert_eq!(relaid("[]", Layout::Tabs), "[]");
    }

    #[test]
    fn no_depth_costs_its_square_in_tabs() {
        let nest = |levels: usize| "[".repeat(levels) + "[0,{}]" + &"]".repeat(levels);
        let by_tabs = |levels: usize, inmost: &str| {
            let tabs = |n: usize| format!("\n{}", "\t".repeat(n));
            let open: String = (1..=levels).map(|n| format!("[{}", tabs(n))).collect();
            let close: String = (0..levels).rev().map(|n| format!("{}]", tabs(n))).collect();
            open + inmost + &close
        };
        // node 20 as long as there are tabs.
        let inmost = format!("[\n{0}0,\n{0}{{}}\n{1}]", "\t".repeat(32), "\t".repeat(31));
        assert_eq!(relaid(&nest(31), Layout::Tabs), by_tabs(31, &inmost));
        assert_eq!(relaid(&nest(32), Layout::Tabs), by_tabs(32, "[0,{}]"));
        assert_eq!(relaid(&nest(33), Layout::Tabs), by_tabs(32, "[[0,{}]]"));
        assert!(relaid(&nest(100_000), Layout::Tabs).len() < 300_000);
        assert_eq!(relaid(" 1.0 ", Layout::Tabs), "1.0");
    }

    #[test]
    fn a_relay_gives_the_same_bytes_however_the_text_is_cut() {
        let text = r#" {"a" : [ ], "\"b":{ } ,"c":[1 , -2.5e3,true ,{"d":"x: y,\\" , "\u00e9":null}],"":"",
            "e" : [[[0]] , "ä"] } "#;
        for layout in [Layout::Line, Layout::Tabs] {
            let expected = relaid(text, layout);
            for size in 1..text.len() {
                let (mut relay, mut out) = (Relay::new(layout), Vec::new());
                text.as_bytes().chunks(size).for_each(|block| relay.feed(block, &mut out));
                assert_eq!(String::from_utf8(out).unwrap(), expected, "{size}");
            }
        }
        for scalar in [" 1.50 ", "\"a\\\\\"", "null"] {
            let (mut relay, mut out) = (Relay::new(Layout::Tabs), Vec::new());
            relay.feed(scalar.as_bytes(), &mut out);
            assert_eq!(out, scalar.trim().as_bytes());
        }
    }

    #[test]
    fn number_text_and_lone_surrogates_are_copied() {
        let text = r#"{"n":[1.0,-0,1e400,12345678901234567890123],"s":"\ud83d\u00e9"}"#;
        assert_eq!(relaid(text, Layout::Line), text);
    }

    #[test]
    fn escapes_are_those_of_json_stringify() {
        let mut out = Vec::new();
        escape_into(&mut out, "\u{0}\u{8}\t\n\u{b}\u{c}\r\u{1f}\"\\/\u{7f}é\u{2028}🦀".as_bytes());
        let expected = "\"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\\\"\\\\/\u{7f}é\u{2028}🦀\"";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let mut out = Vec::new();
        escape_into(&mut out, b"a\xED\xA0\xBDb\xFFc\xED\xB0");
        assert_eq!(String::from_utf8(out).unwrap(), "\"a\\ud83db\u{FFFD}c\u{FFFD}\u{FFFD}\"");
    }

    #[test]
    fn a_built_object_is_laid_out_like_a_relaid_one() {
        for layout in [Layout::Line, Layout::Tabs] {
            let mut out = Vec::new();
            let mut w = Writer::new(&mut out, layout);
            w.open(b'{');
            w.key("a");
            w.open(b'[');
            w.scalar(1);
            w.string(b"x");
            w.close(b']');
            w.key("b");
            w.float(0.25);
            w.key("c");
            w.open(b'{');
            w.close(b'}');
            w.close(b'}');
            assert_eq!(String::from_utf8(out).unwrap(), relaid(r#"{"a":[1,"x"],"b":0.25,"c":{}}"#, layout));
        }
    }
}
