//! Bodies made by chance, judged by us and by node: `JSON.parse`, a strict decoder, the predicates of the specification.

use super::curt_check::{Vector, node, vectors};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use curt_tools::curt::bodies::Bodies;
use curt_tools::curt::check::{Checker, Header, Invalid};
use curt_tools::json::raw::Raw;
use curt_tools::json::scan::{Bad, Reason};
use std::collections::BTreeMap;

/// As many bodies as `CURT_MUTANTS` says, ten thousand when it says nothing.
#[test]
fn bodies_are_judged_as_javascript_judges_them() {
    const BATCH: usize = 10_000;
    let wanted =
        std::env::var("CURT_MUTANTS").map_or(BATCH, |count| count.parse().expect("CURT_MUTANTS: a number"));
    let seeds: Vec<_> = vectors().into_iter().filter(|seed| seed.body.len() < 2000).collect();
    let mut counts = BTreeMap::new();
    for batch in 1..=wanted.div_ceil(BATCH) {
        judge(&seeds, BATCH, &mut Dice(batch as u64), &mut counts);
    }
    // Each of the four is met often enough to mean something.
    assert!(counts.len() == 4 && counts.values().all(|count| *count > wanted / 40), "{counts:?}");
    println!("bodies: {counts:?}, differences: 0");
}

/// Four verdicts: `utf8`, `syntax`, `shape`, or `ok` with the header as JavaScript holds it.
fn judge(seeds: &[Vector], count: usize, dice: &mut Dice, counts: &mut BTreeMap<String, usize>) {
    let bodies: Vec<_> =
        (0..count).map(|n| if n % 2 == 0 { changed(seeds, dice) } else { Maker::new(dice).body() }).collect();
    let lines = bodies.iter().map(|body| BASE64_STANDARD.encode(body) + "\n").collect::<String>();
    let verdicts = node("judge.mjs", &lines);
    assert_eq!(verdicts.len(), bodies.len());
    for (body, theirs) in bodies.iter().zip(&verdicts) {
        let whole = in_blocks(body, || usize::MAX);
        let size = 1 + dice.roll(200);
        for cut in [&mut || 1, &mut || size, &mut || dice.roll(70)] as [&mut dyn FnMut() -> usize; 3] {
            assert_eq!(in_blocks(body, cut), whole, "{}", body.escape_ascii());
        }
        let read = Bodies::one(body.as_slice()).with_header().next().unwrap().unwrap();
        assert_eq!(read.verdict, whole, "{}", body.escape_ascii());
        let ours = verdict(&whole);
        *counts.entry(ours.split(' ').next().unwrap().to_owned()).or_insert(0) += 1;
        // A body may be both no UTF-8 and no JSON; whichever comes first is told, and the oracle decodes first.
        let same = *theirs == ours || theirs == "utf8" && ours == "syntax";
        assert!(same, "node: {theirs}, ours: {ours}: {}", body.escape_ascii());
    }
}

fn in_blocks(mut body: &[u8], mut size: impl FnMut() -> usize) -> Result<Header, Invalid> {
    let mut checker = Checker::new().with_header();
    while !body.is_empty() {
        let (block, rest) = body.split_at(size().min(body.len()));
        checker.feed(block)?;
        body = rest;
    }
    checker.finish()
}

fn verdict(judged: &Result<Header, Invalid>) -> String {
    match judged {
        Ok(header) => {
            let hex = |token: &[u8]| {
                let units = Raw::parse(token).unwrap().utf16().unwrap();
                units.iter().map(|unit| format!("{unit:04x}")).collect::<String>()
            };
            let bits = |number: f64| format!("{:016x}", number.to_bits());
            let Header { id, title, created_at, updated_at } = header;
            format!("ok {} {} {} {}", hex(id), hex(title), bits(*created_at), bits(*updated_at))
        }
        Err(Invalid::Text(Bad { reason: Reason::NotUtf8, .. })) => "utf8".into(),
        Err(Invalid::Text(_)) => "syntax".into(),
        Err(_) => "shape".into(),
    }
}

/// A generator of numbers that is the same on every machine (splitmix64).
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % sides as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.roll(of.len())]
    }
}

/// A judged body with a few changes: bytes that matter in the grammar, fields that matter to the rules.
fn changed(seeds: &[Vector], dice: &mut Dice) -> Vec<u8> {
    const BYTES: &[u8] =
        b"\"\\{}[]:,0123456789-+.eEtfnu \n\t/abxd\x00\x1f\x7f\x80\xbf\xc3\xe4\xed\xa0\xef\xbb\xf0\xff";
    const PARTS: &[&str] = &[
        "\"curt\":",
        "\"version\":",
        "\"conversation\":",
        "\"id\":",
        "\"title\":",
        "\"createdAt\":",
        "\"updatedAt\":",
        "\"messages\":",
        "\"role\":",
        "\"content\":",
        "\"timestamp\":",
        "\"user\"",
        "\"tool\"",
        "\"curtis-conversation\"",
        "{\"id\":\"m\",\"role\":\"system\",\"content\":\"\",\"timestamp\":0}",
        "[]",
        "{}",
        "{",
        "}",
        "[",
        "]",
        "1",
        "1.0",
        "10e-1",
        "-0",
        "1e400",
        "null",
        "true",
        ",",
        "\"\\ud800\"",
        "\"\\u0069d\":",
        "\u{feff}",
        " ",
        "\n",
        "\"\":",
        "\"x\":",
    ];
    let mut body = seeds[dice.roll(seeds.len())].body.clone();
    for _ in 0..dice.roll(4) {
        let at = dice.roll(body.len() + 1);
        let end = (at + dice.roll(12)).min(body.len());
        match dice.roll(10) {
            9 => {
                // Long strings, dense in escapes, so that these come to lie across every block a skipper takes.
                const DENSE: &[&str] =
                    &["a", "é", "\\\\", "\\n", "\\u00e9", "\\ud83d", "\\/", "0123456789abcdef", "\\\""];
                let long: String = (0..dice.roll(90)).map(|_| DENSE[dice.roll(DENSE.len())]).collect();
                let at = body[at..].iter().position(|b| *b == b'"').map_or(at, |n| at + n + 1);
                body.splice(at..at, long.bytes()).for_each(drop);
            }
            0 => body.insert(at, BYTES[dice.roll(BYTES.len())]),
            1 if at < body.len() => body[at] = BYTES[dice.roll(BYTES.len())],
            2 => drop(body.drain(at..end)),
            3 => body.truncate(at),
            4 => {
                // After a comma or a bracket: what comes there is often a member of its own.
                let at = body[at..].iter().position(|b| b",[{".contains(b)).map_or(at, |n| at + n + 1);
                let part = PARTS[dice.roll(PARTS.len())].to_owned() + PARTS[dice.roll(PARTS.len())] + ",";
                body.splice(at..at, part.bytes()).for_each(drop);
            }
            5 => {
                let from = seeds[dice.roll(seeds.len())].body.clone();
                let start = dice.roll(from.len() + 1);
                let end = (start + dice.roll(100)).min(from.len());
                body.splice(at..at, from[start..end].iter().copied()).for_each(drop);
            }
            6 => body.splice(at..at, PARTS[dice.roll(PARTS.len())].bytes()).for_each(drop),
            7 => {
                let copy = body[at..end].to_vec();
                body.splice(at..at, copy).for_each(drop);
            }
            _ => {
                let part = PARTS[dice.roll(PARTS.len())];
                body.splice(at..end, part.bytes()).for_each(drop);
            }
        }
    }
    body
}

/// A body by the grammar and the rules, with a slip here and there: in a name, a type, a number, an escape, a
/// character, a separator. Most of what is odd in it is allowed.
struct Maker<'d> {
    dice: &'d mut Dice,
    out: Vec<u8>,
    /// One place in so many is a slip; 0 for none.
    slips: usize,
}

const MESSAGE: &[(&str, Type)] =
    &[("id", Type::Text), ("role", Type::Role), ("content", Type::Text), ("timestamp", Type::Number)];
const CONVERSATION: &[(&str, Type)] = &[
    ("id", Type::Text),
    ("title", Type::Text),
    ("createdAt", Type::Number),
    ("updatedAt", Type::Number),
    ("messages", Type::Messages),
];
const BODY: &[(&str, Type)] =
    &[("curt", Type::Magic), ("version", Type::One), ("conversation", Type::Object(CONVERSATION))];

#[derive(Clone, Copy)]
enum Type {
    Any,
    Text,
    Number,
    Role,
    Magic,
    One,
    Messages,
    Object(&'static [(&'static str, Type)]),
}

impl Maker<'_> {
    fn new(dice: &mut Dice) -> Maker<'_> {
        let slips = [0, 40, 200, 600][dice.roll(4)];
        Maker { dice, out: Vec::new(), slips }
    }

    fn body(mut self) -> Vec<u8> {
        if self.dice.roll(8) == 0 {
            self.put("\u{feff}");
        }
        if self.slip() {
            self.or_slip("", &["\u{feff}", " \u{feff}", "\0", "{}"]);
        }
        self.value(Type::Object(BODY), 0);
        self.or_slip("", &[",", "}", "\0", "//", "\u{a0}", "{}", "\u{feff}", "x"]);
        self.out
    }

    fn slip(&mut self) -> bool {
        self.slips > 0 && self.dice.roll(self.slips) == 0
    }

    fn put(&mut self, text: impl AsRef<[u8]>) {
        self.out.extend_from_slice(text.as_ref());
    }

    fn or_slip(&mut self, right: &str, wrong: &[&str]) {
        let text = if self.slip() { self.dice.pick(wrong) } else { right };
        self.put(text);
    }

    /// A separator, with white space around it.
    fn mark(&mut self, mark: &str) {
        const SPACE: &[&str] = &["", "", "", "", " ", "\n", "\n\t\t", "\r\n  ", "          \t"];
        let (before, after) = (self.dice.pick(SPACE), self.dice.pick(SPACE));
        self.put(before);
        self.or_slip(
            mark,
            &["", ",", ":", "}", "]", ",,", ";", "\u{a0}", "\x0b", "\u{2028}", "/**/", "\u{85}"],
        );
        self.put(after);
    }

    fn value(&mut self, kind: Type, depth: usize) {
        let kind = if self.slip() { Type::Any } else { kind };
        match kind {
            Type::Any => self.any(depth),
            Type::Text => self.string(),
            Type::Number => self.number(),
            Type::Role => {
                self.name(&["user", "assistant", "system", "tool"], &["User", "tools", "", "developer"])
            }
            Type::Magic => self.name(&["curtis-conversation"], &["curtis-conversations", "curtis", ""]),
            Type::One => {
                const ONES: &[&str] = &[
                    "1",
                    "1",
                    "1.0",
                    "1e0",
                    "10e-1",
                    "0.1e1",
                    "1E+0",
                    "100000000000000000000e-20",
                    "1.00000000000000000001",
                ];
                const OTHERS: &[&str] = &[
                    "\"1\"",
                    "2",
                    "-1",
                    "1.0000000000000003",
                    "0.9999999999999999",
                    "true",
                    "[1]",
                    "0",
                    "1e1",
                ];
                let one = self.dice.pick(ONES);
                self.or_slip(one, OTHERS);
            }
            Type::Messages => {
                let count = self.dice.roll(5);
                self.array(count, Type::Object(MESSAGE), depth);
            }
            Type::Object(fields) => self.object(fields, depth),
        }
    }

    fn any(&mut self, depth: usize) {
        match self.dice.roll(if depth < 5 { 9 } else { 5 }) {
            0 => self.put("null"),
            1 => self.or_slip("true", &["True", "tru", "truee", "t"]),
            2 => self.or_slip("false", &["fals", "falsE"]),
            3 => self.number(),
            4 => self.string(),
            5 | 6 => {
                let count = self.dice.roll(4);
                self.array(count, Type::Any, depth);
            }
            7 => {
                let levels = self.dice.roll(200);
                let (open, close) = if self.dice.roll(2) == 0 { ("[", "]") } else { ("{\"\":", "}") };
                self.put(open.repeat(levels) + "0" + &close.repeat(levels));
            }
            _ => {
                let fields = self.dice.pick(&[BODY, CONVERSATION, MESSAGE]);
                self.object(fields, depth);
            }
        }
    }

    fn array(&mut self, count: usize, of: Type, depth: usize) {
        self.mark("[");
        for n in 0..count {
            if n > 0 {
                self.mark(",");
            }
            self.value(of, depth + 1);
        }
        self.mark("]");
    }

    /// The fields in any order, some of them twice, and others among them.
    fn object(&mut self, fields: &'static [(&'static str, Type)], depth: usize) {
        let mut members = Vec::new();
        for (name, kind) in fields {
            // Of equal keys the last one counts: what is before it may be anything.
            if self.dice.roll(8) == 0 {
                members.push((*name, Type::Any));
            }
            if !self.slip() {
                members.push((*name, *kind));
            }
        }
        for _ in 0..self.dice.roll(3) {
            let name = self.dice.pick(&[
                "x",
                "",
                "model",
                "__proto__",
                "10",
                "Id",
                "ids",
                "message",
                "constructor",
                "é",
            ]);
            members.insert(self.dice.roll(members.len() + 1), (name, Type::Any));
        }
        if self.dice.roll(3) == 0 && depth < 3 {
            // Another order, perhaps with the wrong one of two last.
            for n in 1..members.len() {
                members.swap(n, self.dice.roll(n + 1));
            }
        }
        self.mark("{");
        for (n, (name, kind)) in members.into_iter().enumerate() {
            if n > 0 {
                self.mark(",");
            }
            self.name(&[name], &["\\u0", "\\x", "\n", "\\ud800", "\u{ffff}"]);
            self.mark(":");
            self.value(kind, depth + 1);
        }
        self.mark("}");
    }

    /// One of these strings, perhaps with some characters written as escapes.
    fn name(&mut self, right: &[&str], wrong: &[&str]) {
        let name = self.dice.pick(right);
        let escaped = self.dice.roll(6) == 0;
        self.put("\"");
        for character in name.chars() {
            match escaped && self.dice.roll(3) == 0 {
                true => self.put(format!("\\u{:04x}", u32::from(character))),
                false => self.put(character.to_string()),
            }
        }
        self.or_slip("", wrong);
        self.or_slip("\"", &["", "'", "\"\"", "\\\""]);
    }

    fn string(&mut self) {
        const PLAIN: &[&str] =
            &["a", "the quick brown fox ", "é", "你好", "🦀", "\u{7f}", "\u{2028}", "\u{fffd}", "/"];
        const ESCAPED: &[&str] = &[
            "\\\"",
            "\\\\",
            "\\/",
            "\\b",
            "\\f",
            "\\n",
            "\\r",
            "\\t",
            "\\u0000",
            "\\u00E9",
            "\\u2028",
            "\\ud83d\\ude00",
            "\\uD83E",
            "\\ude00",
            "\\ud83d\\n",
            "\\uFFFE",
        ];
        const BAD: &[&[u8]] = &[
            b"\\x41",
            b"\\u12g4",
            b"\\u12",
            b"\\U0041",
            b"\\'",
            b"\n",
            b"\t",
            b"\x1f",
            b"\0",
            b"\\\n",
            b"\"",
            b"\\",
            b"\x80",
            b"\xc0\xaf",
            b"\xed\xa0\x80",
            b"\xf4\x90\x80\x80",
            b"\xf8\x88\x80\x80\x80",
            b"\xe4\xbd",
            b"\xff",
            b"\xf0\x9f",
            b"\xe0\x80\xaf",
            b"\\\xc3\xa9",
        ];
        self.put("\"");
        // Now and then longer than any block that a skipper takes, and full of escapes.
        let (pieces, escapes) = ([0, 1, 4, 40][self.dice.roll(4)], 1 + self.dice.roll(6));
        for _ in 0..pieces {
            let piece: &[u8] = match self.dice.roll(escapes) {
                _ if self.slip() && self.dice.roll(4) == 0 => self.dice.pick(BAD),
                0 => self.dice.pick(ESCAPED).as_bytes(),
                _ => self.dice.pick(PLAIN).as_bytes(),
            };
            self.put(piece);
        }
        self.or_slip("\"", &["", "'", "\\\""]);
    }

    fn number(&mut self) {
        const BAD: &[&str] = &[
            "01",
            "-",
            "+1",
            "1.",
            ".5",
            "1e",
            "1e+",
            "--1",
            "0x1",
            "NaN",
            "Infinity",
            "-Infinity",
            "1_0",
            "1.5.5",
            "00",
            "１",
        ];
        if self.slip() {
            let bad = self.dice.pick(BAD);
            return self.put(bad);
        }
        let dice = &mut self.dice;
        let digits = |dice: &mut Dice, most| {
            (0..1 + dice.roll(most)).map(|_| char::from(b'0' + dice.roll(10) as u8)).collect::<String>()
        };
        let mut text = dice.pick(&["", "", "-"]).to_owned();
        text += &match dice.roll(4) {
            0 => "0".to_owned(),
            1 => "1700000000000".to_owned(),
            2 => "9".to_owned() + &digits(dice, 25),
            _ => "1".to_owned() + &digits(dice, 5),
        };
        if dice.roll(4) == 0 {
            text = text + "." + &digits(dice, 20);
        }
        if dice.roll(4) == 0 {
            text = text + dice.pick(&["e", "E"]) + dice.pick(&["", "+", "-"]) + &digits(dice, 3);
        }
        self.put(text);
    }
}
