//! The scanner against documents judged by JavaScript, and against an independent parser.

use super::*;
use proptest::prelude::*;

/// Judge a text that comes in blocks of one size.
fn in_blocks(text: &[u8], size: usize) -> Result<(), Bad> {
    let mut scan = Scan::new(());
    text.chunks(size).try_for_each(|block| scan.feed(block))?;
    scan.finish()
}

/// Judge a text whole and cut in every way that could matter; the verdicts must be one.
fn judge(text: &[u8]) -> Result<(), Bad> {
    let whole = validate(text);
    for size in [1, 2, 3, 7, 16, 61] {
        assert_eq!(in_blocks(text, size), whole, "in blocks of {size}: {}", text.escape_ascii());
    }
    whole
}

/// An independent judgement: the standard library's UTF-8, serde_json's grammar. `IgnoredAny` builds
/// no value, so it has no limits on depth, numbers and surrogates. Not from_slice: that one leaves
/// the bytes of strings unchecked.
fn oracle(text: &[u8]) -> bool {
    std::str::from_utf8(text)
        .is_ok_and(|text| serde_json::from_str::<serde_core::de::IgnoredAny>(text).is_ok())
}

fn agree(text: &[u8]) -> Result<(), Bad> {
    let verdict = judge(text);
    assert_eq!(verdict.is_ok(), oracle(text), "{verdict:?}: {}", text.escape_ascii());
    verdict
}

#[track_caller]
fn accept(texts: &[&str]) {
    for text in texts {
        assert_eq!(agree(text.as_bytes()), Ok(()), "{text}");
    }
}

#[track_caller]
fn reject(texts: &[&str]) {
    for text in texts {
        assert!(agree(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn lone_surrogate_escapes_are_text() {
    accept(&[
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800\ud800""#,
        r#""\ud83dx""#,
        r#""\ud83d\u0041""#,
        r#""\udc00\ud800""#,
        r#"{"\ud800":1}"#,
        r#""\uD83D\uDE00""#,
        r#""\ud83d\ude00""#,
    ]);
}

#[test]
fn numbers_have_no_size() {
    let digits = "9".repeat(400);
    let fraction = format!("0.{}", "1".repeat(1000));
    accept(&[
        "1e400",
        "-1e400",
        "1E400",
        "1e99999999999",
        "0e99999999999",
        "1e-400",
        "5e-324",
        &digits,
        &fraction,
    ]);
    accept(&["1.7976931348623159e308", "18446744073709551616", "-9223372036854775809", "9007199254740993"]);
    accept(&[
        "0",
        "-0",
        "-0.0",
        "1E5",
        "1e+5",
        "1e-5",
        "0.5",
        "[0]",
        "[-0e0]",
        " 12 ",
        "123456789012345678901234567890",
    ]);
}

#[test]
fn numbers_have_one_grammar() {
    reject(&[
        "00", "01", "-01", "1.", ".5", "+1", "1e", "1e+", "0x10", "1_0", "-", "--1", "1.e5", "1.5.5",
        "1e5e5", "1e5.5",
    ]);
    reject(&["NaN", "Infinity", "-Infinity", "[1.]", "[-]", "1a", "[1 2]", "1,"]);
}

#[test]
fn strings_have_one_grammar() {
    accept(&[
        r#""""#,
        r#""\"\\\/\b\f\n\r\t""#,
        r#""\u0000""#,
        "\"\u{7f}\u{2028}\u{ffff}\u{fffe}\u{feff}\"",
        "\"😀\"",
    ]);
    reject(&[
        r#""\u12g4""#,
        r#""\u12""#,
        r#""\x41""#,
        r#""\'""#,
        r#""\U0041""#,
        r#""\"#,
        r#"""#,
        r#""a"#,
        r#""\u"#,
        "'a'",
    ]);
    for control in 0..0x20u8 {
        let text = [b'"', control, b'"'];
        assert!(agree(&text).is_err(), "{control}");
    }
}

#[test]
fn containers_have_one_grammar() {
    accept(&[
        "{}",
        "[]",
        "[[]]",
        "[{}]",
        r#"{"":{}}"#,
        r#"{"a":1,"a":"2"}"#,
        r#"{"__proto__":1}"#,
        "[1,[2,{}],3]",
    ]);
    reject(&[
        "[1,]",
        "[,1]",
        "[,]",
        r#"{"a":1,}"#,
        r#"{,"a":1}"#,
        "{1:2}",
        "{a:1}",
        r#"{"a"}"#,
        r#"{"a":}"#,
        r#"{"a"::1}"#,
    ]);
    reject(&[
        "[",
        "{",
        "[1",
        r#"{"a""#,
        r#"{"a":"#,
        r#"{"a":1"#,
        "[1}",
        r#"{"a":1]"#,
        "]",
        "}",
        "[}",
        "{]",
        ":",
        ",",
    ]);
    reject(&["[1]]", "{}}", "[]{}", "[] []", "1 2", "{}x", "nullnull"]);
}

#[test]
fn literals_have_one_spelling() {
    accept(&["true", "false", "null", "[true,false,null]"]);
    reject(&["TRUE", "True", "nul", "nulll", "tru e", "undefined", "[tru]", "falsee"]);
}

#[test]
fn white_space_is_four_characters() {
    accept(&[" \t\r\n1 \t\r\n", "\r\n[\r\n]\r\n", "[\n\t\t\t\t\t\t\t\t\t1]", "{ \"a\" : 1 , \"b\" : [ ] }"]);
    reject(&[
        "",
        " ",
        "\n\n",
        "\u{a0}1",
        "\u{b}1",
        "\u{c}1",
        "1\0",
        "\u{2028}1",
        "// c\n1",
        "/**/1",
        "1 # c",
    ]);
}

#[test]
fn byte_order_marks_are_no_json() {
    reject(&["\u{feff}1", "\u{feff}\u{feff}1", " \u{feff}1", "1\u{feff}"]);
}

#[test]
fn bytes_that_are_no_utf8_are_their_own_reason() {
    let cases: [&[u8]; 10] = [
        b"\"\xff\"",
        b"\"\xc0\xaf\"",
        b"\"\xe0\x80\x80\"",
        b"\"\xed\xa0\x80\"",
        b"\"\xf4\x90\x80\x80\"",
        b"\"\x80\"",
        b"\"\xe4\"",
        b"\"\xf0\x9f\x98",
        b"[\xff",
        b"\xff\xfe1\0",
    ];
    for case in cases {
        let bad = agree(case).unwrap_err();
        assert_eq!(bad.reason, Reason::NotUtf8, "{}", case.escape_ascii());
        assert!(bad.to_string().starts_with("not UTF-8 at byte "), "{bad}");
    }
}

#[test]
fn depth_has_no_limit() {
    for depth in [63, 64, 65, 127, 128, 129, 1024, 10_000] {
        let arrays = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let objects = format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        let mixed = format!("{}1{}", "[{\"a\":".repeat(depth), "}]".repeat(depth));
        accept(&[&arrays, &objects, &mixed]);
        let unclosed = "[".repeat(depth) + &"]".repeat(depth - 1);
        let unopened = "[".repeat(depth) + &"]".repeat(depth + 1);
        reject(&[&unclosed, &unopened, &mixed.replace("1}]", "1]}"), &objects.replace("1}", "1]")]);
    }
}

#[test]
fn a_million_nested_arrays_need_a_bit_each() {
    let open = "[".repeat(1_000_000);
    let mut scan = Scan::new(());
    scan.feed(open.as_bytes()).unwrap();
    assert!(scan.levels.far.len() <= 1_000_000 / 64);
    scan.feed("]".repeat(1_000_000).as_bytes()).unwrap();
    scan.finish().unwrap();
}

#[test]
fn the_place_is_a_byte_a_line_and_a_column() {
    let bad = |text: &[u8]| judge(text).unwrap_err().to_string();
    assert_eq!(
        bad(b"[1,\n\t2,\n\t\t]"),
        "not JSON at byte 10 (line 3, column 3): expected a value, found ']'"
    );
    assert_eq!(
        bad(b"\"a\nb\""),
        "not JSON at byte 2 (line 1, column 3): expected the rest of a string, found U+000A"
    );
    assert_eq!(bad(b"{\n\"a\" 1}"), "not JSON at byte 6 (line 2, column 5): expected ':', found '1'");
    assert_eq!(bad(b"[1"), "not JSON at byte 2 (line 1, column 3): expected ',' or ']', found the end");
    assert_eq!(bad(b""), "not JSON at byte 0 (line 1, column 1): expected a value, found the end");
    assert_eq!(
        bad("[ä]".as_bytes()),
        "not JSON at byte 1 (line 1, column 2): expected a value or ']', found U+00E4"
    );
    assert_eq!(bad(b"\n\n[\"\xe4\"]"), "not UTF-8 at byte 4 (line 3, column 3)");
    assert_eq!(bad(b"\n1\n]"), "not JSON at byte 3 (line 3, column 1): expected nothing more, found ']'");
    assert_eq!(
        bad(br#"{"a":truE}"#),
        "not JSON at byte 8 (line 1, column 9): expected true, false or null, found 'E'"
    );
    assert_eq!(
        bad(br#""\q""#),
        r#"not JSON at byte 2 (line 1, column 3): expected one of \"/bfnrtu, found 'q'"#
    );
    assert_eq!(
        bad(br#""\u00_""#),
        "not JSON at byte 5 (line 1, column 6): expected a hexadecimal digit, found '_'"
    );
    assert_eq!(bad(b"[-x]"), "not JSON at byte 2 (line 1, column 3): expected a digit, found 'x'");
}

#[test]
fn the_first_error_is_reported_however_the_text_is_cut() {
    // JSON ends before UTF-8 does, and the other way round.
    assert!(matches!(judge(b"[} \"\xff\"").unwrap_err().reason, Reason::NotJson { .. }));
    assert_eq!(judge(b"[\"\xff\" }").unwrap_err().reason, Reason::NotUtf8);
}

#[test]
fn a_text_inside_a_file_has_the_places_of_the_file() {
    let mut scan = Scan::starting_at((), 100, 7);
    let bad = scan.feed(b"\n ]").unwrap_err();
    assert_eq!((bad.offset, bad.line, bad.column), (102, 8, 2));
    assert_eq!(scan.feed(b"1"), Err(bad), "an error stays");
    let mut marked = Scan::new(());
    marked.skip(3);
    let bad = marked.feed(b"]").unwrap_err();
    assert_eq!((bad.offset, bad.line, bad.column), (3, 1, 1));
}

#[test]
fn complete_and_blank_are_known_before_the_end() {
    let state = |text: &[u8]| {
        let mut scan = Scan::new(());
        let _ = scan.feed(text);
        (scan.is_complete(), scan.is_blank())
    };
    for complete in ["{}", "[1] ", "12", "-0.5e1", "\"a\"", "null", " true\n"] {
        assert_eq!(state(complete.as_bytes()), (true, false), "{complete}");
    }
    for open in ["{", "[12", "-", "1e", "\"a", "nul", "[]]", "\u{a0}"] {
        assert_eq!(state(open.as_bytes()), (false, false), "{open}");
    }
    assert_eq!(state(b" \r\n\t"), (false, true));
    assert_eq!(state(b"\xe4"), (false, false));
}

/// What a visitor is told, as text; it wants the members of all but the value of the key `skip`.
#[derive(Default)]
struct Trace(String, bool);

impl Visit for Trace {
    fn key(&mut self, name: Option<&[u8]>) {
        let name = name.map(|name| String::from_utf8_lossy(name).into_owned());
        self.1 = name.as_deref() == Some("skip");
        self.0 += &format!("{}=", name.as_deref().unwrap_or("?"));
    }
    fn begin(&mut self, kind: Kind) -> Want {
        self.0 += &format!("<{kind}:");
        match kind {
            _ if self.1 => Want::Nothing,
            Kind::Object | Kind::Array => Want::Members,
            _ => Want::Text,
        }
    }
    fn text(&mut self, piece: &[u8]) {
        self.0 += std::str::from_utf8(piece).unwrap();
    }
    fn end(&mut self) {
        self.0 += ">";
    }
}

#[test]
fn a_visitor_sees_what_it_wants() {
    let text = r#" {"a":[1,"x\n\u00e4ä",true, -0.5e1 ],"skip":[1,{"b":["\""]}],"\u0063":{"é":null},"c":{}} "#;
    let seen = concat!(
        "<an object:a=<an array:<a number:1><a string:\"x\\n\\u00e4ä\"><true:true><a number:-0.5e1>>",
        "skip=<an array:c=<an object:?=<null:null>>c=<an object:>>"
    );
    for size in [1, 2, 3, 5, 1000] {
        let mut scan = Scan::new(Trace::default());
        text.as_bytes().chunks(size).for_each(|block| scan.feed(block).unwrap());
        assert_eq!(scan.finish().unwrap().0, seen, "in blocks of {size}");
    }
}

#[test]
fn a_number_alone_ends_with_the_text() {
    let mut scan = Scan::new(Trace::default());
    scan.feed(b"12").unwrap();
    assert_eq!(scan.finish().unwrap().0, "<a number:12>");
}

/// Texts near JSON: a document, then changes of single bytes to ones that matter in the grammar.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    const SEEDS: [&str; 6] = [
        r#"{"curt":"curtis-conversation","version":1.0,"conversation":{"messages":[{"id":"m1","x":[]},{}]}}"#,
        "{\n\t\"a\": [true, false, null, -0.25e+10, 0, 12],\n\t\"\\u0062\": {}\n}",
        r#"["\ud83d\ude00\"\\\/\b\f\n\r\t", "äöü漢字😀", "a long plain text that takes more than one step of sixty-four bytes to skip, and then \" more"]"#,
        r#"[[[[[[{"a":{"b":[{}]}}]]]]],1e400,-0]"#,
        "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\\\\\\\\aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\\u00e4aaaaaaaaaaaaa\"",
        "-1234567890.0123456789E-10",
    ];
    const BYTES: &[u8] =
        b"\"\\{}[]:,0123456789-+.eEtfnu \n\t\r/abxd\x00\x1f\x7f\x80\xbf\xc3\xe4\xed\xa0\xf0\xff";
    let change = (any::<prop::sample::Index>(), 0..4u8, prop::sample::select(BYTES));
    (prop::sample::select(&SEEDS[..]), prop::collection::vec(change, 0..4)).prop_map(|(seed, changes)| {
        let mut text = seed.as_bytes().to_vec();
        for (place, how, byte) in changes {
            let at = place.index(text.len() + 1);
            match how {
                0 => text.insert(at, byte),
                1 if at < text.len() => text[at] = byte,
                2 if at < text.len() => drop(text.remove(at)),
                _ if byte == 0 => text.truncate(at),
                _ => {
                    text.splice(at..at, text[at..].iter().copied().take(9).collect::<Vec<_>>()).for_each(drop)
                }
            }
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn agrees_with_an_independent_parser(text in mutated()) {
        let _ = agree(&text);
    }

    #[test]
    fn bytes_of_any_kind_never_panic(text in prop::collection::vec(any::<u8>(), 0..200), size in 1usize..70) {
        prop_assert_eq!(in_blocks(&text, size), validate(&text));
        prop_assert_eq!(validate(&text).is_ok(), oracle(&text));
    }
}
