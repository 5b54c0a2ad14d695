//! The rules over bodies built here; the bodies that JavaScript judged are in `tests/curt_check.rs`.

use super::*;

/// A body with one message, and some text of it replaced.
fn body(changes: &[(&str, &str)]) -> String {
    let mut body = concat!(
        r#"{"curt":"curtis-conversation","version":1,"conversation":{"id":"c_1","title":"T","#,
        r#""createdAt":1,"updatedAt":2,"messages":[{"id":"m1","role":"user","content":"hi","timestamp":3}]}}"#
    )
    .to_owned();
    for (from, to) in changes {
        assert!(body.contains(from), "{from}");
        body = body.replacen(from, to, 1);
    }
    body
}

/// Judge a body whole and cut anywhere; the verdicts must be one.
fn judge(body: impl AsRef<[u8]>) -> Result<Header, Invalid> {
    let body = body.as_ref();
    let in_blocks = |size: usize| {
        let mut checker = Checker::new().with_header();
        body.chunks(size).try_for_each(|block| checker.feed(block))?;
        checker.finish()
    };
    let whole = in_blocks(body.len().max(1));
    for size in [1, 2, 3, 16, 61] {
        assert_eq!(in_blocks(size), whole, "in blocks of {size}");
    }
    assert_eq!(check(body), whole.clone().map(drop));
    whole
}

fn accepted(changes: &[(&str, &str)]) -> Header {
    judge(body(changes)).unwrap()
}

fn reason(changes: &[(&str, &str)]) -> String {
    judge(body(changes)).unwrap_err().to_string()
}

#[test]
fn the_header_is_that_of_the_conversation() {
    let expected = Header { id: b"\"c_1\"".into(), title: b"\"T\"".into(), created_at: 1.0, updated_at: 2.0 };
    assert_eq!(accepted(&[]), expected);
    let mut plain = Checker::new();
    plain.feed(body(&[]).as_bytes()).unwrap();
    assert_eq!(plain.finish(), Ok(Header::default()));
}

#[test]
fn the_header_is_the_one_that_counts() {
    let header = accepted(&[
        (r#""id":"c_1""#, r#""id":7,"id":"c_2","\u0069d":"\ud800\n""#),
        (r#""createdAt":1"#, r#""createdAt":"x","createdAt":1e400"#),
        (r#""updatedAt":2"#, r#""updatedAt":2,"updatedAt":-0.25e1"#),
        (r#""title":"T""#, r#""title":"U","title":"V","title":"Ü""#),
    ]);
    assert_eq!(header.id, br#""\ud800\n""#);
    assert_eq!(header.title, "\"Ü\"".as_bytes());
    assert_eq!((header.created_at, header.updated_at), (f64::INFINITY, -2.5));
    let first = r#"{"id":"x_9","title":"X","createdAt":9,"updatedAt":9,"messages":[]}"#;
    let twice = accepted(&[(r#""conversation":"#, &format!(r#""conversation":{first},"conversation":"#))]);
    assert_eq!(twice, accepted(&[]));
}

#[test]
fn the_header_is_not_taken_from_elsewhere() {
    let header = accepted(&[
        (r#"{"curt""#, r#"{"id":"no","title":"no","createdAt":0,"x":{"conversation":{"id":"no"}},"curt""#),
        (r#""id":"m1""#, r#""id":"no","title":"no","updatedAt":0"#),
    ]);
    assert_eq!(header, accepted(&[]));
}

#[test]
fn version_is_numerically_one() {
    let ten = "10".to_owned() + &"0".repeat(900);
    for one in ["1.0", "1e0", "10e-1", "0.1e1", "1.0000000000000001", "0.99999999999999999", &(ten + "e-901")]
    {
        accepted(&[(":1,", &format!(":{one},"))]);
    }
    for other in ["2", "0", "-1", "1.1", "1e400", "1.0000000000000002"] {
        let reason = reason(&[(":1,", &format!(":{other},"))]);
        assert_eq!(reason, "wrong version: expected version to be the number 1, found another number");
    }
    assert_eq!(
        reason(&[(":1,", r#":"1","#)]),
        "wrong version: expected version to be the number 1, found a string"
    );
    assert_eq!(
        reason(&[(r#""version":1,"#, "")]),
        "wrong version: expected version to be the number 1, found nothing"
    );
}

#[test]
fn magic_is_exact() {
    accepted(&[("curtis-", r"c\u0075rtis\u002D")]);
    for (to, found) in [
        (r#""Curtis-conversation""#, "another string"),
        (r#""curtis-conversation ""#, "another string"),
        (r#""curtis-conversation\u0000""#, "another string"),
        (r#""curtis-conversatio\u00f1""#, "another string"),
        (r#"["curtis-conversation"]"#, "an array"),
        ("null", "null"),
    ] {
        let expected = format!("wrong magic: expected curt to be \"curtis-conversation\", found {found}");
        assert_eq!(reason(&[(r#""curtis-conversation""#, to)]), expected, "{to}");
    }
    assert!(reason(&[("curt", "Curt")]).ends_with("found nothing"));
}

#[test]
fn each_field_has_its_path_and_what_it_must_be() {
    let message = "user, assistant, system or tool";
    for (from, to, expected) in [
        (
            r#""conversation":{"#,
            r#""conversatio":{"#,
            "conversation: expected an object, found nothing".to_owned(),
        ),
        (r#""id":"c_1""#, r#""id":5"#, "conversation.id: expected a string, found a number".into()),
        (r#""title":"T","#, "", "conversation.title: expected a string, found nothing".into()),
        (r#":1,"up"#, r#":"1","up"#, "conversation.createdAt: expected a number, found a string".into()),
        (r#":2,"me"#, r#":true,"me"#, "conversation.updatedAt: expected a number, found true".into()),
        ("[{", "{\"0\":{", "conversation.messages: expected an array, found an object".into()),
        ("[{", "[[],{", "conversation.messages[0]: expected an object, found an array".into()),
        (r#""id":"m1","#, "", "conversation.messages[0].id: expected a string, found nothing".into()),
        (
            r#""user""#,
            r#""User""#,
            format!("conversation.messages[0].role: expected {message}, found another string"),
        ),
        (r#""user""#, "null", format!("conversation.messages[0].role: expected {message}, found null")),
        (r#""hi""#, "{}", "conversation.messages[0].content: expected a string, found an object".into()),
        (":3", ":false", "conversation.messages[0].timestamp: expected a number, found false".into()),
    ] {
        let body = body(&[(from, to)]);
        let body = if from == "[{" && to.starts_with('{') { body.replace("}]}}", "}}}}") } else { body };
        assert_eq!(judge(body).unwrap_err().to_string(), expected);
    }
}

#[test]
fn the_first_bad_message_is_named() {
    let good = r#"{"id":"m","role":"tool","content":"","timestamp":-0.5}"#;
    let bad = r#"{"id":"m","role":"tool","timestamp":1}"#;
    let with = |messages: &str| judge(body(&[("[{", &format!("[{messages},{{"))]));
    assert!(with(good).is_ok());
    let fourth = with(&format!("{good},{good},{good},{bad},7,{bad}")).unwrap_err().to_string();
    assert_eq!(fourth, "conversation.messages[3].content: expected a string, found nothing");
    let third = with(&format!("{good},{good},7,{bad}")).unwrap_err().to_string();
    assert_eq!(third, "conversation.messages[2]: expected an object, found a number");
}

#[test]
fn the_last_of_equal_keys_counts_both_ways() {
    let flips = |from: &str, bad: &str, good: &str| {
        assert!(judge(body(&[(from, &format!("{bad},{good}"))])).is_ok(), "{bad},{good}");
        assert!(judge(body(&[(from, &format!("{good},{bad}"))])).is_err(), "{good},{bad}");
    };
    for (good, bads) in [
        (r#""curt":"curtis-conversation""#, [r#""curt":"x""#, r#""curt":1"#]),
        (r#""version":1"#, [r#""version":2"#, r#""version":"1""#]),
        (r#""id":"c_1""#, [r#""id":null"#, r#""\u0069d":[]"#]),
        (r#""title":"T""#, [r#""title":{"title":"T"}"#, r#""title":1"#]),
        (r#""createdAt":1"#, [r#""createdAt":"1""#, r#""createdAt":[1]"#]),
        (r#""updatedAt":2"#, [r#""updatedAt":null"#, r#""updatedAt":"2""#]),
        (r#""id":"m1""#, [r#""id":1"#, r#""id":{"id":"m1"}"#]),
        (r#""role":"user""#, [r#""role":"x""#, r#""role":["user"]"#]),
        (r#""content":"hi""#, [r#""content":0"#, r#""content":["hi"]"#]),
        (r#""timestamp":3"#, [r#""timestamp":"3""#, r#""timestamp":null"#]),
    ] {
        bads.iter().for_each(|bad| flips(good, bad, good));
    }
    let messages = r#""messages":[{"id":"m1","role":"user","content":"hi","timestamp":3}]"#;
    flips(messages, r#""messages":[{}]"#, messages);
    flips(messages, r#""messages":{}"#, r#""messages":[]"#);
    let conversation =
        format!(r#""conversation":{{"id":"c_1","title":"T","createdAt":1,"updatedAt":2,{messages}}}"#);
    flips(&conversation, r#""conversation":null"#, &conversation);
    flips(&conversation, r#""conversation":{"id":"c_1"}"#, &conversation);
}

#[test]
fn keys_of_the_rules_mean_nothing_elsewhere() {
    accepted(&[
        (r#"{"curt""#, r#"{"x":{"curt":0,"version":0,"conversation":0,"messages":[0]},"role":0,"curt""#),
        (r#""hi""#, r#""hi","messages":[0],"curt":0,"x":[{"id":0,"role":0}]"#),
        (r#""title""#, r#""role":0,"content":0,"conversation":0,"title""#),
    ]);
    assert!(reason(&[(r#","version":1"#, ""), ("hi\"", r#"hi","version":1"#)]).starts_with("wrong version"));
}

#[test]
fn one_byte_order_mark_is_ignored() {
    let marked = |marks: usize| ["\u{feff}".repeat(marks), body(&[])].concat();
    assert!(judge(marked(1)).is_ok());
    let twice = judge(marked(2)).unwrap_err().to_string();
    assert_eq!(twice, "not JSON at byte 3 (line 1, column 1): expected a value, found U+FEFF");
    let half = judge([b"\xef\xbb", body(&[]).as_bytes()].concat()).unwrap_err().to_string();
    assert_eq!(half, "not UTF-8 at byte 0 (line 1, column 1)");
    assert_eq!(judge(b"\xef\xbb").unwrap_err().to_string(), half);
    assert!(judge(b" \xef\xbb\xbf{}").unwrap_err().to_string().starts_with("not JSON at byte 1 "));
    assert!(judge(b"\xef\xbb\xbf").unwrap_err().to_string().ends_with("found the end"));
}

#[test]
fn a_value_that_is_no_object_says_so() {
    for (value, kind) in [("[]", "an array"), ("1", "a number"), ("null", "null"), ("\"\"", "a string")] {
        let reason = judge(value).unwrap_err().to_string();
        assert_eq!(reason, format!("not a .curt body: expected an object, found {kind}"));
    }
}

#[test]
fn unknown_fields_of_any_kind_and_depth_are_ignored() {
    let deep = format!("{}1e400{}", "[".repeat(100_000), "]".repeat(100_000));
    accepted(&[(
        "{\"curt\"",
        &format!("{{\"generator\":{deep},\"extensions\":7,\"\\ud800\":\"\\udc00\",\"curt\""),
    )]);
}

#[test]
fn lines_of_a_file_are_placed_in_the_file() {
    let mut checker = Checker::starting_at(1000, 17);
    let invalid = checker.feed(b"{\"a\"}").unwrap_err();
    assert_eq!(invalid.to_string(), "not JSON at byte 1004 (line 17, column 5): expected ':', found '}'");
}

#[test]
fn blank_and_complete_are_known_before_the_end() {
    let state = |text: &[u8]| {
        let mut checker = Checker::new();
        let _ = checker.feed(text);
        (checker.is_blank(), checker.is_complete())
    };
    assert_eq!(state(b""), (true, false));
    assert_eq!(state(b" \r"), (true, false));
    assert_eq!(state(b"\xef\xbb"), (false, false));
    assert_eq!(state(b"{"), (false, false));
    assert_eq!(state(b"\xef\xbb\xbf{}"), (false, true));
    assert_eq!(state(b"7"), (false, true));
}
