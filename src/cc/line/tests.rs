use super::*;

fn read(text: &[u8]) -> (Vec<String>, Damage) {
    let mut values = Vec::new();
    let damage = super::values(text, |raw| values.push(String::from_utf8_lossy(raw.bytes()).into_owned()));
    (values, damage)
}

fn bad(damage: Damage) -> Option<u64> {
    damage.bad.map(|bad| bad.offset)
}

#[test]
fn many_objects_on_a_line_cost_what_the_line_costs() {
    // Quadratic, this takes minutes.
    let (values, damage) = read("{}".repeat(200_000).as_bytes());
    assert!(values.len() == 200_000 && damage.joined && damage.bad.is_none());
    // Of any length, and however their bytes fall into pieces.
    let long = format!("{{\"a\":\"{}\"}}", "é漢😀".repeat(500));
    assert_eq!(read([&*long; 3].concat().as_bytes()).0, [&*long; 3]);
}

#[test]
fn a_good_line_is_one_value() {
    assert_eq!(read(b" {\"a\":1} \r"), (vec!["{\"a\":1}".into()], Damage::default()));
    assert_eq!(read(b"null"), (vec!["null".into()], Damage::default()));
}

#[test]
fn joined_objects_are_read_one_by_one() {
    let (values, damage) = read(br#"{"a":"}{"}{"b":1} {}"#);
    assert_eq!(values, [r#"{"a":"}{"}"#, r#"{"b":1}"#, "{}"]);
    assert!(damage.joined && damage.bad.is_none());
    let (values, damage) = read(br#"{"a":1}{"b":"cut"#);
    assert_eq!((values.len(), damage.joined, bad(damage)), (1, true, Some(8 + 1)));
    // Only objects are records, so only they are told apart.
    for text in [&b"1 2"[..], b"[][]", b"{}[]", b"{},{}"] {
        let (values, damage) = read(text);
        assert!(values.is_empty() && damage.bad.is_some() && !damage.joined, "{text:?}");
    }
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    let (values, damage) = read(b"\xEF\xBB\xBF{}");
    assert_eq!((values.len(), damage), (1, Damage { bom: true, ..Damage::default() }));
    assert!(read(b"\xEF\xBB\xBF\xEF\xBB\xBF{}").1.bad.is_some(), "but only one");
}

#[test]
fn invalid_utf8_is_read_as_javascript_does() {
    let (values, damage) = read(b"{\"a\":\"x\xFF\xF0\x9F\"}{}");
    assert_eq!(values, ["{\"a\":\"x\u{FFFD}\u{FFFD}\"}", "{}"]);
    assert!(damage.not_utf8 && damage.joined && damage.bad.is_none());
}

#[test]
fn what_is_no_json_is_placed() {
    for (text, offset) in [
        (&br#"{"a":"C:\p"}"#[..], 9),
        (b"{\"a\":\"x\x01\"}", 7),
        (b"{\"a\":\"cut", 9),
        (b"x", 0),
        (b"{\"a\":1,}", 7),
    ] {
        let (values, damage) = read(text);
        assert_eq!((values.len(), bad(damage)), (0, Some(offset)), "{}", text.escape_ascii());
    }
}

#[test]
fn fields_are_what_stands_there() {
    let raw = Raw::parse(br#"{"type":"x","\u0074ype":"user","uuid":"","parentUuid":7,"isSidechain":"true"}"#)
        .unwrap();
    let record = Record::new(raw).unwrap();
    assert!(record.is("user"), "the last duplicate wins, however it is escaped");
    assert!(name(record.uuid).is_none() && name(record.parent).is_none() && !record.is_sidechain());
    assert!(record.session.is_none() && record.blocks().count() == 0);
    for text in ["null", "42", "[{}]", "\"{}\""] {
        assert!(Record::new(Raw::parse(text.as_bytes()).unwrap()).is_none());
    }
}

#[test]
fn bookkeeping_is_no_node() {
    let node = |text: &str| Record::new(Raw::parse(text.as_bytes()).unwrap()).unwrap().is_node();
    assert!(node(r#"{"type":"user","uuid":"a"}"#));
    assert!(node(r#"{"type":"of-tomorrow","uuid":"a","parentUuid":null}"#));
    assert!(!node(r#"{"type":"content-replacement","uuid":"a","replacements":[]}"#));
    assert!(!node(r#"{"type":"file-history-snapshot","messageId":"a","snapshot":{"messageId":"a"}}"#));
    assert!(!node(r#"{"type":"summary","summary":"","leafUuid":"a"}"#));
    assert!(!node(r#"{"type":"user","uuid":null,"parentUuid":null}"#));
}

#[test]
fn blocks_of_odd_kinds_are_blocks_without_fields() {
    let raw = Raw::parse(br#"{"message":{"content":[1,null,"s",{"type":"tool_use","id":"t"}]}}"#).unwrap();
    let blocks: Vec<_> = Record::new(raw).unwrap().blocks().collect();
    assert_eq!(blocks.len(), 4);
    assert!(blocks[..3].iter().all(|block| block.kind.is_none()) && blocks[3].is("tool_use"));
}
