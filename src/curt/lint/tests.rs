use super::*;

/// A body without a fault, with these replacements.
fn warnings(changes: &[(&str, &str)]) -> Vec<String> {
    let mut body = concat!(
        r#"{"curt":"curtis-conversation","version":1,"generator":"w@1","extensions":["usage-metadata"],"#,
        r#""conversation":{"id":"c","title":"t","createdAt":1700000000000,"updatedAt":1700000001000,"messages":["#,
        r#"{"id":"a","role":"assistant","content":"","timestamp":1700000000000,"toolCalls":[{"id":"t1"}]},"#,
        r#"{"id":"b","role":"tool","content":"","timestamp":1700000000500,"toolCallId":"t1","tokens":{"totalTokens":3}}]}}"#,
    )
    .to_owned();
    for (from, to) in changes {
        assert!(body.contains(from), "{from}");
        body = body.replace(from, to);
    }
    crate::curt::check::check(body.as_bytes()).unwrap();
    lint(body.as_bytes(), false).iter().map(|w| format!("{} {} {}", w.rule.word(), w.path, w.count)).collect()
}

#[test]
fn a_clean_body_has_none() {
    assert_eq!(warnings(&[]), [""; 0]);
    // What a writer may do.
    assert_eq!(warnings(&[("\"w@1\"", "\"@scope/w@1.2.3-rc.1+x\"")]), [""; 0]);
    assert_eq!(warnings(&[("\"toolCallId\":\"t1\",", ""), ("\"toolCalls\"", "\"other\"")]), [""; 0]);
    assert_eq!(warnings(&[("1700000001000", "1700000000000")]), [""; 0]);
    assert_eq!(warnings(&[("{\"totalTokens\":3}", "{\"promptTokens\":0,\"more\":\"x\"}")]), [""; 0]);
    assert_eq!(warnings(&[("[\"usage-metadata\"]", "[\"images-inline\",\"usage-metadata\"]")]), [""; 0]);
}

#[test]
fn each_kind_is_told_with_its_place() {
    let time = "\"timestamp\":1700000000500";
    for (from, to, expected) in [
        ("\"generator\":\"w@1\",", "", "no-generator  1"),
        ("w@1", "w", "odd-generator generator 1"),
        ("w@1", "@1", "odd-generator generator 1"),
        ("\"w@1\"", "7", "odd-generator generator 1"),
        ("[\"usage-metadata\"]", "[\"usage-metadata\",\"\"]", "malformed-extensions extensions 1"),
        ("[\"usage-metadata\"]", "[\"usage-metadata\",7]", "malformed-extensions extensions 1"),
        ("[\"usage-metadata\"]", "[\"usage-metadata\",\"x\",\"y\"]", "unknown-extension extensions[1] 2"),
        ("[\"usage-metadata\"]", "[\"usage-metadata\",\"tool-linkage\"]", "draft-extension extensions[1] 1"),
        (
            "\"extensions\":[\"usage-metadata\"],",
            "",
            "undeclared-extension conversation.messages[1].tokens 1",
        ),
        (time, "\"timestamp\":1700000000500.5", "fractional-time conversation.messages[1].timestamp 1"),
        (time, "\"timestamp\":-1", "negative-time conversation.messages[1].timestamp 1"),
        (time, "\"timestamp\":1700000000", "seconds-time conversation.messages[1].timestamp 1"),
        (time, "\"timestamp\":1e400", "distant-time conversation.messages[1].timestamp 1"),
        (
            "\"updatedAt\":1700000001000",
            "\"updatedAt\":1600000001000",
            "updated-first conversation.updatedAt 1",
        ),
        ("\"id\":\"b\"", "\"id\":\"\\u0061\"", "duplicate-id conversation.messages[1].id 1"),
        ("{\"totalTokens\":3}", "3", "malformed-tokens conversation.messages[1].tokens 1"),
        ("{\"totalTokens\":3}", "{\"totalTokens\":-3}", "malformed-tokens conversation.messages[1].tokens 1"),
        (
            "{\"totalTokens\":3}",
            "{\"totalTokens\":\"3\"}",
            "malformed-tokens conversation.messages[1].tokens 1",
        ),
        ("{\"totalTokens\":3}", "{}", "malformed-tokens conversation.messages[1].tokens 1"),
        (
            "\"toolCallId\":\"t1\"",
            "\"toolCallId\":\"t2\"",
            "orphan-result conversation.messages[1].toolCallId 1",
        ),
        ("\"w@1\"", "\"w@1\",\"x\":9007199254740993", "rounded-integer  1"),
        (
            time,
            "\"timestamp\":1700000000500,\"x\":[-9007199254740993]",
            "rounded-integer conversation.messages[1] 1",
        ),
        ("\"title\"", "\"x\":{\"y\":12345678901234567890123},\"title\"", "rounded-integer conversation 1"),
    ] {
        assert_eq!(warnings(&[(from, to)]), [expected], "{from} -> {to}");
    }
    let empty = r#"{"curt":"curtis-conversation","version":1,"generator":"w@1","conversation":{"id":"c","title":"","createdAt":0,"updatedAt":0,"messages":[]}}"#;
    let told: Vec<_> = lint(empty.as_bytes(), true).iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "a byte-order mark, which readers pass over and writers must not emit",
            "no messages: conversation.messages"
        ]
    );
}

#[test]
fn escaped_keys_are_the_keys_they_are() {
    let escaped = [("{\"id\":\"a\"", "{\"\\u0069d\":\"a\""), ("{\"id\":\"b\"", "{\"\\u0069d\":\"b\"")];
    assert_eq!(warnings(&escaped), [""; 0]);
    assert_eq!(warnings(&[("toolCallId", "tool\\u0043allId"), ("toolCalls", "toolC\\u0061lls")]), [""; 0]);
}

#[test]
fn a_malformed_list_of_extensions_declares_nothing() {
    assert_eq!(
        warnings(&[("[\"usage-metadata\"]", "\"usage-metadata\"")]),
        ["malformed-extensions extensions 1", "undeclared-extension conversation.messages[1].tokens 1"]
    );
}

#[test]
fn integers_that_javascript_keeps_are_none() {
    for exact in
        ["9007199254740992", "9007199254740994", "18446744073709551616", "-9007199254740992", "1e300"]
    {
        assert_eq!(warnings(&[("\"w@1\"", &format!("\"w@1\",\"x\":{exact}"))]), [""; 0], "{exact}");
    }
    assert_eq!(warnings(&[("\"w@1\"", "\"w@1\",\"x\":\"9007199254740993\"")]), [""; 0], "text is no number");
}
