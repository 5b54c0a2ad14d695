//! The graph and the strict rules, line by line.

use super::chain::{Chain, Mode, Proof};
use super::verdict::Fault::{self, *};
use super::verdict::{MOST_LISTED, Report, Severity};
use proptest::prelude::*;

/// The report on a file with these lines.
fn check<L: AsRef<[u8]>>(mode: Mode, lines: impl IntoIterator<Item = L>) -> Report {
    let mut chain = Chain::new(mode);
    let mut number = 0;
    for line in lines {
        number += 1;
        if !line.as_ref().is_empty() {
            chain.line(number, line.as_ref(), true);
        }
    }
    chain.finish(number)
}

fn faults(report: &Report) -> Vec<(u64, Fault)> {
    report.findings.iter().map(|finding| (finding.line, finding.fault)).collect()
}

fn real<L: AsRef<[u8]>>(lines: impl IntoIterator<Item = L>) -> Vec<(u64, Fault)> {
    faults(&check(Mode::Real, lines))
}

fn strict<L: AsRef<[u8]>>(lines: impl IntoIterator<Item = L>) -> Vec<(u64, Fault)> {
    faults(&check(Mode::Strict, lines))
}

fn quoted(id: &str) -> String {
    if id.is_empty() { "null".into() } else { format!("\"{id}\"") }
}

/// A user line of a real file; `""` is null.
fn user(uuid: &str, parent: &str) -> String {
    format!(r#"{{"type":"user","uuid":{},"parentUuid":{},"sessionId":"s"}}"#, quoted(uuid), quoted(parent))
}

/// A compaction boundary that goes on from `logical`.
fn boundary(uuid: &str, logical: &str) -> String {
    let (uuid, logical) = (quoted(uuid), quoted(logical));
    format!(
        r#"{{"type":"system","subtype":"compact_boundary","uuid":{uuid},"parentUuid":null,"logicalParentUuid":{logical},"sessionId":"s"}}"#
    )
}

mod graph {
    use super::*;

    #[test]
    fn a_straight_chain_has_nothing_to_say() {
        let report = check(Mode::Real, [user("a", ""), user("b", "a"), user("c", "b")]);
        assert_eq!(faults(&report), []);
        assert_eq!((report.nodes, report.roots, report.forks, report.orphans), (3, 1, 0, 0));
    }

    #[test]
    fn forks_forward_parents_and_copies_are_everyday() {
        let lines = [
            user("b", "a"),
            user("a", ""),
            user("c", "a"),
            user("c", "a"),
            boundary("x", "c"),
            user("d", "x"),
        ];
        let report = check(Mode::Real, lines);
        assert_eq!(faults(&report), []);
        assert_eq!((report.nodes, report.roots, report.forks, report.orphans), (5, 2, 1, 0));
    }

    #[test]
    fn a_cycle_is_found_once_at_its_first_line() {
        assert_eq!(real([user("a", "a")]), [(1, Cycle { length: 1 })]);
        assert_eq!(
            real([
                user("a", ""),
                user("b", "d"),
                user("c", "b"),
                user("d", "c"),
                user("e", "d"),
                user("f", "c")
            ]),
            [(2, Cycle { length: 3 })]
        );
        assert_eq!(
            real([user("a", "b"), user("b", "a"), user("c", "c"), user("d", "e"), user("e", "d")]),
            [(1, Cycle { length: 2 }), (3, Cycle { length: 1 }), (4, Cycle { length: 2 })]
        );
    }

    // See: anthropics/claude-code#87354
    #[test]
    fn a_boundary_whose_logical_parent_is_its_descendant_is_a_cycle() {
        let lines = [user("a", ""), boundary("x", "c"), user("b", "x"), user("c", "b")];
        assert_eq!(real(lines), [(2, Cycle { length: 3 })]);
        assert_eq!(real([boundary("x", "x")]), [(1, Cycle { length: 1 })]);
        // Where both are set, readers follow parentUuid.
        let both = r#"{"type":"user","uuid":"b","parentUuid":"a","logicalParentUuid":"c"}"#;
        assert_eq!(real([&user("a", ""), both, &user("c", "b")])[..], [(2, OtherSession), (3, OtherSession)]);
    }

    #[test]
    fn a_boundary_does_not_go_on_from_what_it_keeps_below_it() {
        let keeps = |metadata: &str| {
            boundary("x", "c")
                .replace(r#","sessionId""#, &format!(r#","compactMetadata":{metadata},"sessionId""#))
        };
        let lines = |metadata: &str| {
            [user("a", ""), user("b", "a"), keeps(metadata), user("s", "x"), user("c", "s"), user("d", "c")]
        };
        for metadata in [
            r#"{"preservedSegment":{"headUuid":"b","anchorUuid":"s","tailUuid":"c"}}"#,
            r#"{"preservedMessages":{"anchorUuid":"s","uuids":["b","c"]}}"#,
        ] {
            let report = check(Mode::Real, lines(metadata));
            assert_eq!(faults(&report), []);
            // It goes on from the one above it.
            assert_eq!(
                report.shape.map(|shape| (shape.naive, shape.bridged, shape.longest)),
                Some((3, 5, 6))
            );
        }
        // With none above it, it is a beginning.
        assert_eq!(real(lines(r#"{"preservedMessages":{"uuids":["c"]}}"#)), []);
        for metadata in [
            "{}",
            "null",
            "[]",
            r#"{"preservedMessages":{"uuids":"c"}}"#,
            r#"{"preservedMessages":{"uuids":["b"]}}"#,
        ] {
            assert_eq!(real(lines(metadata)), [(3, Cycle { length: 3 })], "{metadata}");
        }
        // What stands above it stays there.
        let above = keeps(r#"{"preservedMessages":{"uuids":["a","c"]}}"#);
        let report = check(Mode::Real, [user("a", ""), user("c", "a"), above, user("s", "x")]);
        assert_eq!(report.shape.map(|shape| (shape.naive, shape.bridged, shape.longest)), Some((1, 3, 4)));
    }

    // See: anthropics/claude-code#40027
    #[test]
    fn a_logical_parent_in_another_file_is_everyday() {
        assert_eq!(real([boundary("x", "elsewhere"), user("a", "x")]), []);
    }

    #[test]
    fn one_uuid_with_two_contents_is_an_error_and_a_copy_is_none() {
        let (a, b) = (user("a", ""), user("b", "a"));
        let other = b.replace('}', r#","cwd":"/"}"#);
        assert_eq!(real([&a, &b, &a, &b]), []);
        assert_eq!(
            real([&a, &b, &other, &b, &other]),
            [(3, OtherContent { first: 2 }), (5, OtherContent { first: 2 })]
        );
        // White space around a record is no content.
        assert_eq!(real([&a, &format!("  {a}\r")]), []);
        // A UUID in capitals is another name.
        let (low, up) = ("abcdefab-0000-4000-8000-00000000000a", "ABCDEFAB-0000-4000-8000-00000000000A");
        assert_eq!(real([user(low, ""), user(up, low)]), []);
    }

    // See: anthropics/claude-code#24304
    #[test]
    fn a_snapshot_is_no_node() {
        let snapshot = r#"{"type":"file-history-snapshot","messageId":"a","snapshot":{"messageId":"a"}}"#;
        let summary = r#"{"type":"summary","summary":"x","leafUuid":"nowhere"}"#;
        let report = check(Mode::Real, [summary, summary, snapshot, &user("a", ""), snapshot]);
        assert_eq!((faults(&report), report.nodes), (vec![], 1));
        assert_eq!(real([snapshot, summary]), [(0, NoChain)]);
    }

    #[test]
    fn nothing_is_no_chain() {
        assert_eq!(real::<&str>([]), [(0, NoChain)]);
        assert_eq!(real([r#"{"type":"user","message":{}}"#]), [(0, NoChain)]);
        assert_eq!(strict::<&str>([]), [(0, NoChain)]);
    }

    // See: anthropics/claude-code#22526, #46603, #61188
    #[test]
    fn a_missing_parent_is_a_warning_for_what_was_said() {
        let progress = r#"{"type":"progress","uuid":"p","parentUuid":"nowhere","sessionId":"s"}"#;
        assert_eq!(real([user("a", "cut off"), user("b", "a")]), [], "the first line of a slice");
        assert_eq!(real([&user("a", ""), progress]), []);
        let report = check(Mode::Real, [user("a", ""), boundary("x", "a"), user("b", "nowhere")]);
        assert_eq!(faults(&report), [(3, OrphanParent)]);
        assert_eq!((report.errors, report.warnings, report.orphans), (0, 1, 1));
    }

    #[test]
    fn one_root_a_session_needs_no_reason() {
        let line = |kind: &str, more: &str| {
            format!(
                r#"{{"type":"{kind}","uuid":"{kind}{}","parentUuid":null,"sessionId":"s"{more}}}"#,
                more.len()
            )
        };
        let reasons = [
            line("progress", ""),
            line("attachment", ""),
            line("system", r#","subtype":"local_command""#),
            line("user", r#","isSidechain":true"#),
            boundary("x", ""),
        ];
        assert_eq!(real(reasons.iter().chain([&user("a", "")])), []);
        assert_eq!(
            real(reasons.iter().chain([&user("a", ""), &user("b", ""), &line("assistant", "")])),
            [(7, ExtraRoot), (8, ExtraRoot)]
        );
        let other = user("b", "").replace("\"s\"", "\"t\"");
        assert_eq!(real([user("a", ""), other]), [], "another conversation of the same stream");
    }

    #[test]
    fn a_session_that_changes_along_the_chain_is_a_warning() {
        let copied = user("a", "").replace("\"s\"", "\"origin\"");
        assert_eq!(real([copied, user("b", "a"), user("c", "b")]), [(2, OtherSession)]);
    }

    #[test]
    fn results_are_told_from_calls_made_before() {
        let line = |kind: &str, uuid: &str, parent: &str, block: &str| {
            let (uuid, parent) = (quoted(uuid), quoted(parent));
            format!(
                r#"{{"type":"{kind}","uuid":{uuid},"parentUuid":{parent},"message":{{"content":[{block}]}}}}"#
            )
        };
        let call = line("assistant", "a", "", r#"{"type":"tool_use","id":"t"}"#);
        let result = line("user", "b", "a", r#"{"type":"tool_result","tool_use_id":"t"}"#);
        let nameless = line("user", "c", "b", r#"{"type":"tool_result"},{"type":"text"}"#);
        assert_eq!(real([&call, &result, &nameless]), [(3, OrphanResult)]);
        assert_eq!(real([&result, &call]), [(1, OrphanResult)]);
    }

    #[test]
    fn fields_of_odd_kinds_name_nothing() {
        for odd in ["7", "true", "[]", "{}", "\"\"", "[\"a\"]", "1e999"] {
            let line = format!(
                r#"{{"type":"user","uuid":"b","parentUuid":{odd},"sessionId":{odd},"isSidechain":{odd},"timestamp":{odd},"message":{odd},"logicalParentUuid":{odd}}}"#
            );
            assert_eq!(real([&line]), [], "{odd}");
            let nameless =
                format!(r#"{{"type":{odd},"uuid":{odd},"parentUuid":null,"message":{{"content":{odd}}}}}"#);
            assert_eq!(real([&line, &nameless]), [], "{odd}");
            assert!(!strict([&line]).is_empty() && !strict([&nameless]).is_empty(), "{odd}");
        }
    }

    #[test]
    fn a_long_chain_from_the_leaf_up_is_no_cycle_until_it_is_closed() {
        // Every parent is ahead, and the walk from the first line is the longest there is.
        let lines = |count: u32| (0..count).rev().map(|n| user(&format!("{n:x}"), &format!("{:x}", n + 1)));
        let report = check(Mode::Real, lines(10_000));
        assert_eq!((report.nodes, report.orphans, report.errors), (10_000, 1, 0));
        let round = lines(10_000).chain([user(&format!("{:x}", 10_000), "0")]);
        assert_eq!(real(round), [(1, Cycle { length: 10_001 })]);
    }
}

mod text {
    use super::*;

    // See: anthropics/claude-code#50347
    #[test]
    fn an_undecodable_line_hides_none_that_follow() {
        let lines = [user("a", ""), "{\"type\":\"C:\\p\"}".into(), user("b", "nowhere"), user("c", "c")];
        assert_eq!(real(&lines), [(2, NotJson { column: 13 }), (3, OrphanParent), (4, Cycle { length: 1 })]);
    }

    #[test]
    fn half_a_line_at_the_end_is_a_warning() {
        let half = user("b", "a").split_at(40).0.to_owned();
        assert_eq!(real([&user("a", ""), &half]), [(2, Truncated)]);
        assert_eq!(real([&user("a", ""), &half, "", ""]), [(2, Truncated)], "blank lines are none");
        assert_eq!(real([&user("a", ""), &half, &user("b", "a")])[..1], [(2, NotJson { column: 41 })]);
        assert_eq!(strict([&half])[..1], [(0, NoChain)]);
        assert_eq!(strict([&half])[1..], [(1, NotJson { column: 41 })]);
    }

    // See: codemie-ai/codemie-code#67
    #[test]
    fn joined_objects_are_all_read() {
        let joined = user("b", "a") + &user("c", "b") + " " + &user("d", "c");
        let report = check(Mode::Real, [user("a", ""), joined, user("e", "d")]);
        assert_eq!((faults(&report), report.nodes), (vec![(2, Joined)], 5));
        let half = user("b", "a") + user("c", "b").split_at(20).0;
        assert_eq!(real([&user("a", ""), &half]), [(2, Joined), (2, Truncated)]);
    }

    #[test]
    fn what_every_reader_survives_is_a_warning() {
        let bom = [b"\xEF\xBB\xBF", user("a", "").as_bytes()].concat();
        let invalid = user("b", "a").replace("\"s\"", "\"\u{1}\"").into_bytes();
        let invalid: Vec<u8> = invalid.into_iter().map(|byte| if byte == 1 { 0xFF } else { byte }).collect();
        let report = check(Mode::Real, [&bom[..], &invalid, b"null", b"[1]", b"42"]);
        let expected =
            [(1, Bom), (2, OtherSession), (2, NotUtf8), (3, NotObject), (4, NotObject), (5, NotObject)];
        assert_eq!((faults(&report), report.errors), (expected.to_vec(), 0));
    }

    // See: siteboon/claudecodeui#1002; anthropics/claude-code#68325
    #[test]
    fn what_is_legal_in_a_string_is_no_damage() {
        for text in ["\u{2028}\u{2029}\u{85}", r"\u0000", r"\ud83d", r"\udc00\ud83d", r"a\u0008\/"] {
            let line = user("a", "").replace("\"s\"", &format!("\"{text}\""));
            assert_eq!(real([line]), [], "{text:?}");
        }
    }

    #[test]
    fn duplicate_keys_are_javascripts_business() {
        let line =
            r#"{"type":"assistant","type":"user","uuid":"x","uuid":"a","parentUuid":"y","parentUuid":null}"#;
        assert_eq!(real([line, &user("b", "a")])[..], [(2, OtherSession)]);
    }

    #[test]
    fn depth_is_no_recursion() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let line = user("a", "").replace("\"s\"", &deep);
        assert_eq!(real([&line]), []);
        let message = format!(r#"{{"content":[{deep},{{"type":"tool_result","tool_use_id":{deep}}}]}}"#);
        let line = user("a", "").replace("\"s\"", &format!("\"s\",\"message\":{message}"));
        assert_eq!(real([&line]), [(1, OrphanResult)]);
        assert!(strict([&line]).len() > 5);
    }

    #[test]
    fn what_is_no_transcript_is_told_in_bounded_memory() {
        let report = check(Mode::Real, std::iter::repeat_n("x", 12_001));
        // The last one may have been cut.
        assert_eq!((report.errors, report.warnings), (12_001, 1));
        assert_eq!(report.findings.len() as u64, MOST_LISTED + 1);
        assert_eq!((report.unlisted(Severity::Error), report.unlisted(Severity::Warning)), (2_001, 0));
        let report = report.with_warnings_as_errors();
        assert_eq!((report.errors, report.unlisted(Severity::Error)), (12_002, 2_001));
    }

    #[test]
    fn a_line_that_nobody_read_is_an_error() {
        for mode in [Mode::Real, Mode::Strict] {
            let mut chain = Chain::new(mode);
            chain.too_long(1);
            assert!(faults(&chain.finish(1)).contains(&(1, TooLong)));
        }
    }
}

/// A conversation as `curt2cc` writes it: every kind of line, straight, all rules kept.
fn generated(session: &str) -> Vec<String> {
    let messages = [
        ("user", r#"{"role":"user","content":"hello"}"#),
        (
            "assistant",
            r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"t","signature":""},{"type":"tool_use","id":"call","name":"n","input":{"a":[{"b":1},{"b":2}]}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":1}}"#,
        ),
        (
            "user",
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"call","content":"ok","is_error":false}]}"#,
        ),
        ("system", ""),
        (
            "assistant",
            r#"{"id":"msg_2","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"done"}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":1}}"#,
        ),
    ];
    let uuid = |n: usize| format!("{:08x}-0000-5000-8000-{:0>12}", n, session.len() * 1000 + n);
    let mut lines = Vec::new();
    for (n, (kind, message)) in messages.into_iter().enumerate() {
        let parent = if n == 0 { "null".into() } else { quoted(&uuid(n - 1)) };
        let says = match message {
            "" => r#""subtype":"informational","level":"info","content":"note""#.into(),
            message => format!(r#""message":{message}"#),
        };
        lines.push(format!(
            r#"{{"parentUuid":{parent},"isSidechain":false,"userType":"external","cwd":"","sessionId":"{session}","version":"0.1.0","gitBranch":"","type":"{kind}",{says},"uuid":"{}","timestamp":"2026-01-01T00:00:0{n}.000Z"}}"#,
            uuid(n)
        ));
    }
    lines
}

mod generated_files {
    use super::*;

    #[test]
    fn keep_all_rules() {
        let report = check(Mode::Strict, generated("s1"));
        assert_eq!(faults(&report), []);
        assert_eq!((report.nodes, report.roots), (5, 1));
        assert_eq!(real(generated("s1")), []);
    }

    /// Each rule broken once: in this line, this text instead of that, gives these faults.
    #[test]
    fn every_rule_is_held() {
        let u = |n: usize| format!("{n:08x}-0000-5000-8000-{:0>12}", 2000 + n);
        let uuid = |n| format!("\"uuid\":\"{}\"", u(n));
        let parent = |n| format!("\"parentUuid\":\"{}\"", u(n));
        type Row<'a> = (usize, &'a str, &'a str, &'a [(u64, Fault)]);
        let rows: &[Row] = &[
            // The text.
            (2, "{", "\u{feff}{", &[(2, Bom)]),
            (2, "}", "}\r", &[(2, CarriageReturn)]),
            (2, ",\"isSide", ",\r\"isSide", &[(2, CarriageReturn)]),
            (2, "{", "  {", &[]),
            (2, "\"cwd\":\"\"", "\"cwd\":\"", &[(2, NotJson { column: 105 }), (3, OrphanResult)]),
            (2, &*generated("s1")[1].clone(), "null", &[(2, NotObject), (3, OrphanResult)]),
            (3, &*generated("s1")[2].clone(), "", &[(2, NoResult), (3, Blank), (4, NotPrevious)]),
            // Keys.
            (2, "\"cwd\":\"\"", "\"cwd\":\"\",\"cwd\":\"\"", &[(2, DuplicateKey)]),
            (2, "\"cwd\":\"\"", "\"cwd\":\"\",\"c\\u0077d\":\"\"", &[(2, DuplicateKey)]),
            (2, "{\"b\":1}", "{\"b\":1,\"b\":1}", &[(2, DuplicateKey)]),
            // type
            (4, "\"type\":\"system\"", "\"type\":\"ai-title\"", &[(4, Type)]),
            (4, "\"type\":\"system\",", "", &[(4, Type)]),
            (4, "\"type\":\"system\"", "\"type\":null", &[(4, Type)]),
            (1, "\"type\":\"user\"", "\"type\":\"User\"", &[(1, Type)]),
            // uuid
            (5, &uuid(4), "\"uuid\":null", &[(5, Uuid)]),
            (5, &uuid(4), "\"id\":0", &[(5, Uuid)]),
            (5, &uuid(4), "\"uuid\":\"\"", &[(5, Uuid)]),
            (5, &uuid(4), "\"uuid\":\"edge_005\"", &[(5, Uuid)]),
            (5, &uuid(4), "\"uuid\":\"0000000A-0000-5000-8000-000000000001\"", &[(5, Uuid)]),
            (5, &uuid(4), "\"uuid\":\"00000001000050008000000000000001\"", &[(5, Uuid)]),
            (5, &uuid(4), &uuid(1), &[(5, SameUuid { first: 2 })]),
            (5, &uuid(4), &uuid(3), &[(5, SameUuid { first: 4 })]),
            (3, &uuid(2), "\"uuid\":\"11111111-0000-5000-8000-000000000001\"", &[(4, NotPrevious)]),
            // parentUuid
            (1, "\"parentUuid\":null,", "", &[(1, NoParent)]),
            (1, "\"parentUuid\":null", &parent(4), &[(1, FirstParent)]),
            (1, "\"parentUuid\":null", "\"parentUuid\":\"\"", &[(1, FirstParent)]),
            (3, &(parent(1) + ","), "", &[(3, NoParent)]),
            (3, &parent(1), "\"parentUuid\":null", &[(3, NotPrevious)]),
            (3, &parent(1), &parent(0), &[(3, NotPrevious)]),
            (3, &parent(1), &parent(2), &[(3, NotPrevious)]),
            (3, &parent(1), &parent(4), &[(3, NotPrevious)]),
            (3, &parent(1), &parent(1).to_uppercase().replace("PARENTUUID", "parentUuid"), &[]),
            (3, &parent(1), "\"parentUuid\":1", &[(3, NotPrevious)]),
            // sessionId
            (3, "\"sessionId\":\"s1\"", "\"sessionId\":\"s2\"", &[(3, OtherSession), (4, OtherSession)]),
            (3, "\"sessionId\":\"s1\",", "", &[(3, Session)]),
            (3, "\"sessionId\":\"s1\"", "\"sessionId\":null", &[(3, Session)]),
            (3, "\"sessionId\":\"s1\"", "\"sessionId\":\"\"", &[(3, OtherSession), (4, OtherSession)]),
            // The rest of the envelope.
            (2, "\"isSidechain\":false", "\"isSidechain\":true", &[(2, Sidechain)]),
            (2, "\"isSidechain\":false", "\"isSidechain\":\"false\"", &[(2, Sidechain)]),
            (2, "\"isSidechain\":false,", "", &[(2, Sidechain)]),
            (2, "\"userType\":\"external\"", "\"userType\":\"human\"", &[(2, UserType)]),
            (2, "\"userType\":\"external\",", "", &[(2, UserType)]),
            (2, "\"cwd\":\"\",", "", &[(2, Cwd)]),
            (2, "\"cwd\":\"\"", "\"cwd\":null", &[(2, Cwd)]),
            (2, "\"gitBranch\":\"\",", "", &[(2, Branch)]),
            (2, "\"gitBranch\":\"\"", "\"gitBranch\":null", &[(2, Branch)]),
            (2, "\"version\":\"0.1.0\",", "", &[(2, Version)]),
            (2, "\"version\":\"0.1.0\"", "\"version\":1", &[(2, Version)]),
            (2, "T00:00:01.000Z", "T00:00:01Z", &[(2, Timestamp)]),
            (2, "T00:00:01.000Z", "T00:00:01.000+00:00", &[(2, Timestamp)]),
            (2, "2026-01-01T", "2026-02-30T", &[(2, Timestamp)]),
            (2, "\"2026-01-01T00:00:01.000Z\"", "1767225601000", &[(2, Timestamp)]),
            (2, "T00:00:01.000Z", "T00:01:00.000Z", &[(3, Backwards)]),
            (2, "2026-01-01T", "+012026-01-01T", &[(3, Backwards)]),
            (3, "T00:00:02.000Z", "T00:00:01.000Z", &[]),
            // message
            (1, r#""message":{"role":"user","content":"hello"}"#, r#""message":"hello""#, &[(1, Message)]),
            (1, r#""message":{"role":"user","content":"hello"},"#, "", &[(1, Message)]),
            (4, r#""content":"note""#, r#""message":null"#, &[(4, Message)]),
            (4, r#""content":"note""#, r#""message":{"role":"user"}"#, &[(4, Role)]),
            (1, r#""role":"user""#, r#""role":"assistant""#, &[(1, Role)]),
            (1, r#""role":"user","#, "", &[(1, Role)]),
            (1, r#""content":"hello""#, r#""content":null"#, &[(1, Content)]),
            (1, r#","content":"hello""#, "", &[(1, Content)]),
            (1, r#""content":"hello""#, r#""content":[]"#, &[]),
            (5, r#""content":[{"type":"text","text":"done"}]"#, r#""content":[]"#, &[(5, NoBlocks)]),
            (5, r#""content":[{"type":"text","text":"done"}]"#, r#""content":"done""#, &[(5, NoBlocks)]),
            (5, r#"{"type":"text","text":"done"}"#, r#""done""#, &[(5, Block)]),
            (2, r#""id":"call","#, "", &[(2, ToolId), (3, OrphanResult)]),
            (2, r#""id":"call""#, r#""id":7"#, &[(2, ToolId), (3, OrphanResult)]),
            (2, r#""id":"call""#, r#""id":"other""#, &[(2, NoResult), (3, OrphanResult)]),
            (2, r#"{"a":[{"b":1},{"b":2}]}"#, "[]", &[(2, Input)]),
            (2, r#"{"a":[{"b":1},{"b":2}]}"#, r#""{}""#, &[(2, Input)]),
            (2, r#","input":{"a":[{"b":1},{"b":2}]}"#, "", &[(2, Input)]),
            (
                5,
                r#"{"type":"text","text":"done"}"#,
                r#"{"type":"tool_use","id":"call","name":"n","input":{}}"#,
                &[(5, SameToolId { first: 2 }), (5, NoResult)],
            ),
            (3, r#""tool_use_id":"call","#, "", &[(2, NoResult), (3, ResultId)]),
            (3, r#""tool_use_id":"call""#, r#""tool_use_id":null"#, &[(2, NoResult), (3, ResultId)]),
            (5, r#""stop_reason":null"#, r#""stop_reason":"end_turn""#, &[]),
            (5, r#""stop_reason":null,"#, "", &[]),
            (5, r#""stop_reason":null"#, r#""stop_reason":"stop""#, &[(5, StopReason)]),
            (5, r#""stop_reason":null"#, r#""stop_reason":0"#, &[(5, StopReason)]),
        ];
        for (line, from, to, expected) in rows {
            let mut lines = generated("s1");
            let changed = lines[line - 1].replacen(from, to, 1);
            assert!(lines[line - 1].contains(from), "{from} is not in line {line}");
            lines[line - 1] = changed;
            assert_eq!(strict(&lines), *expected, "line {line}: {from} -> {to}");
        }
    }

    #[test]
    fn a_title_ends_its_conversation() {
        let last = generated("s1").pop().unwrap();
        let leaf = last.split("\"uuid\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let summary = |leaf: &str| format!(r#"{{"type":"summary","summary":"x","leafUuid":"{leaf}"}}"#);
        let custom =
            |session: &str| format!(r#"{{"type":"custom-title","customTitle":"x","sessionId":"{session}"}}"#);
        let with = |title: String| strict([generated("s1"), vec![title]].concat());
        assert_eq!(with(summary(&leaf)), []);
        assert_eq!(with(custom("s1")), []);
        for other in [
            summary("nowhere"),
            custom("s2"),
            summary(&leaf).replace("\"x\"", "7"),
            custom("s1").replace("customTitle", "title"),
            summary(&leaf).replace("{", "{\"uuid\":\"u\","),
        ] {
            assert_eq!(with(other.clone()), [(6, Title)], "{other}");
        }
        // Of no conversation.
        assert_eq!(strict([vec![custom("s1")], generated("s1")].concat()), [(1, Title)]);
    }

    #[test]
    fn warnings_are_no_errors() {
        for fault in [Backwards, OrphanResult, NoResult, StopReason] {
            assert_eq!(fault.severity(Mode::Strict), Severity::Warning);
        }
        for fault in [Joined, Bom, NotUtf8, NotObject, OtherSession, NotJson { column: 1 }, Blank, NoNewline]
        {
            assert_eq!(fault.severity(Mode::Strict), Severity::Error);
        }
    }

    #[test]
    fn end_with_a_newline_and_no_blank_line() {
        let lines = generated("s1");
        let run = |ended: bool, count: u64| {
            let mut chain = Chain::new(Mode::Strict);
            for (n, line) in (1..).zip(&lines) {
                chain.line(n, line.as_bytes(), ended || n < 5);
            }
            faults(&chain.finish(count))
        };
        assert_eq!(run(true, 5), []);
        assert_eq!(run(false, 5), [(5, NoNewline)]);
        assert_eq!(run(true, 6), [(6, Blank)]);
        assert_eq!(strict(std::iter::once(String::new()).chain(generated("s1"))), [(1, Blank)]);
    }

    #[test]
    fn are_utf8() {
        let mut lines: Vec<_> = generated("s1").into_iter().map(String::into_bytes).collect();
        let at = lines[0].windows(5).position(|w| w == b"hello").unwrap();
        lines[0][at] = 0xC0;
        assert_eq!(strict(lines), [(1, NotUtf8)]);
    }

    #[test]
    fn hold_one_object_a_line() {
        let [a, b, c, d, e] = &generated("s1")[..] else { panic!() };
        assert_eq!(strict([&format!("{a}{b}"), c, d, e]), [(1, Joined)]);
    }

    #[test]
    fn follow_each_other_in_a_stream() {
        let stream = [generated("s1"), generated("other"), generated("s")].concat();
        let report = check(Mode::Strict, &stream);
        assert_eq!((faults(&report), report.roots, report.nodes), (vec![], 3, 15));
        // The same conversation twice.
        let twice = strict([generated("s1"), generated("other"), generated("s1")].concat());
        let same = |line| (line, SameUuid { first: line - 10 });
        assert_eq!(twice, [same(11), (11, SessionAgain), same(12), same(13), same(14), same(15)]);
        // A conversation cannot go on in another one.
        let mut cut = generated("other");
        cut.remove(0);
        let cut = strict([generated("s1"), cut].concat());
        assert_eq!(cut[..2], [(6, NotPrevious), (6, OtherSession)]);
    }

    #[test]
    fn may_name_a_call_as_another_conversation_did() {
        let mut open = generated("other");
        open.remove(2);
        let stream = [open, generated("s1")].concat();
        // The line that was taken out breaks the chain, and its call stays open; nothing of it reaches on.
        assert_eq!(strict(stream), [(2, NoResult), (3, NotPrevious)]);
    }
}

mod proof {
    use super::*;

    fn prove(text: &[u8], size: usize) -> Result<u64, (u64, Fault)> {
        let mut proof = Proof::new();
        text.chunks(size).for_each(|block| proof.feed(block));
        proof.finish().map(|report| report.nodes).map_err(|finding| (finding.line, finding.fault))
    }

    #[test]
    fn judges_blocks_cut_anywhere() {
        let good = generated("s1").join("\n") + "\n";
        let blank = good.replacen('\n', "\n\n", 1);
        let open = good.trim_end();
        let bad = good.replace("false", "true");
        for size in [1, 2, 7, 300, 4096] {
            assert_eq!(prove(good.as_bytes(), size), Ok(5));
            assert_eq!(prove(blank.as_bytes(), size), Err((2, Blank)));
            assert_eq!(prove((good.clone() + "\n").as_bytes(), size), Err((6, Blank)));
            assert_eq!(prove(open.as_bytes(), size), Err((5, NoNewline)));
            assert_eq!(prove(bad.as_bytes(), size), Err((1, Sidechain)));
            assert_eq!(prove(b"", size), Err((0, NoChain)));
            assert_eq!(prove(b"\n", size), Err((0, NoChain)));
        }
    }

    #[test]
    fn lets_warnings_pass() {
        let text = generated("s1").join("\n").replace("\"call\",\"content", "\"gone\",\"content") + "\n";
        assert_eq!(prove(text.as_bytes(), 100), Ok(5));
    }
}

/// What a file holds, as indices: the parent of every line, and whether it is the logical one.
type Edges = Vec<Option<(usize, bool)>>;

fn forest(edges: &Edges) -> Vec<String> {
    let name = |n: usize| format!("{n:08x}-0000-4000-8000-000000000000");
    let line = |(n, edge): (usize, &Option<(usize, bool)>)| match edge {
        None => user(&name(n), ""),
        Some((parent, false)) => user(&name(n), &name(*parent)),
        Some((parent, true)) => boundary(&name(n), &name(*parent)),
    };
    edges.iter().enumerate().map(line).collect()
}

fn cycles(lines: &[String]) -> Vec<(u64, u64)> {
    real(lines)
        .into_iter()
        .filter_map(|(line, fault)| match fault {
            Cycle { length } => Some((line, length)),
            _ => None,
        })
        .collect()
}

/// Parents ahead of their children, as Claude Code writes them.
fn file_order() -> impl Strategy<Value = Edges> {
    prop::collection::vec((any::<prop::sample::Index>(), 0..10_u8), 1..60).prop_map(|picks| {
        let edge = |(n, (pick, kind)): (usize, &(prop::sample::Index, u8))| {
            (n > 0 && *kind > 1).then(|| (pick.index(n), *kind == 9))
        };
        picks.iter().enumerate().map(edge).collect()
    })
}

proptest! {
    #[test]
    fn a_forest_in_file_order_has_no_cycle(edges in file_order()) {
        prop_assert_eq!(cycles(&forest(&edges)), []);
    }

    #[test]
    fn a_forest_in_any_order_has_no_cycle(edges in file_order(), seed in any::<u64>()) {
        let mut lines = forest(&edges);
        let mut state = seed | 1;
        lines.sort_by_cached_key(|_| { state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407); state >> 20 });
        prop_assert_eq!(cycles(&lines), []);
    }

    #[test]
    fn a_back_edge_makes_one_cycle(edges in file_order(), pick in any::<prop::sample::Index>(), logical in any::<bool>()) {
        // From the root of some line's tree to that line: the path between them is the cycle.
        let leaf = pick.index(edges.len());
        let path: Vec<usize> = std::iter::successors(Some(leaf), |n| edges[*n].map(|(parent, _)| parent)).collect();
        let root = path[path.len() - 1];
        let mut edges = edges;
        edges[root] = Some((leaf, logical));
        prop_assert_eq!(cycles(&forest(&edges)), [(root as u64 + 1, path.len() as u64)]);
    }

    #[test]
    fn cycles_are_those_that_patience_finds(parents in prop::collection::vec(prop::option::of(0..30_usize), 1..30)) {
        let edges: Edges = parents.iter().map(|parent| parent.map(|parent| (parent, false))).collect();
        let mut expected = Vec::new();
        for start in 0..parents.len() {
            let step = |n: &usize| parents.get(*n).copied().flatten();
            let path: Vec<usize> = std::iter::successors(step(&start), step).take(parents.len()).collect();
            if let Some(round) = path.iter().position(|n| *n == start) && path[..round].iter().all(|n| *n > start) {
                expected.push((start as u64 + 1, round as u64 + 1));
            }
        }
        prop_assert_eq!(cycles(&forest(&edges)), expected);
    }

    #[test]
    fn no_line_stops_a_check(lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8)) {
        for mode in [Mode::Real, Mode::Strict] {
            let report = check(mode, &lines);
            prop_assert_eq!((report.errors + report.warnings) as usize, report.findings.len());
        }
    }

    #[test]
    fn one_byte_of_a_good_file_changed_stops_no_check(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut text = generated("s1").join("\n").into_bytes();
        let at = at.index(text.len());
        text[at] = byte;
        for mode in [Mode::Real, Mode::Strict] {
            let report = check(mode, text.split(|byte| *byte == b'\n'));
            prop_assert!(report.nodes <= 6);
        }
    }
}

/// What a writer or a disk does to one line of a good transcript.
#[derive(Clone, Copy, Debug)]
enum Harm {
    ParentGone,
    ParentNull,
    ParentSelf,
    OtherSession,
    AnswerToNobody,
    CopyChanged,
    CopyKept,
    TextBefore,
    ArrayBefore,
    NextJoined,
    Marked,
    NotUtf8,
    Cut,
}

const HARMS: [Harm; 13] = [
    Harm::ParentGone,
    Harm::ParentNull,
    Harm::ParentSelf,
    Harm::OtherSession,
    Harm::AnswerToNobody,
    Harm::CopyChanged,
    Harm::CopyKept,
    Harm::TextBefore,
    Harm::ArrayBefore,
    Harm::NextJoined,
    Harm::Marked,
    Harm::NotUtf8,
    Harm::Cut,
];

/// The lines of a tree, harmed at `at`, which is not its first or last, and what is to be found.
fn harm(parents: &[usize], at: usize, harm: Harm) -> (Vec<Vec<u8>>, Vec<(u64, Fault)>) {
    let edges: Edges =
        std::iter::once(None).chain(parents.iter().map(|parent| Some((*parent, false)))).collect();
    let good = forest(&edges);
    let mut lines: Vec<Vec<u8>> = good.iter().map(|line| line.clone().into_bytes()).collect();
    let (own, parent) = (format!("{at:08x}-0000"), format!("{:08x}-0000", edges[at].unwrap().0));
    let with_parent =
        |to: &str| good[at].replace(&format!("\"parentUuid\":\"{parent}"), &format!("\"parentUuid\":\"{to}"));
    let number = at as u64 + 1;
    let end = lines.len() as u64 + 1;
    let found = match harm {
        Harm::ParentGone => {
            lines[at] = with_parent("ffffffff-0000").into();
            vec![(number, OrphanParent)]
        }
        Harm::ParentNull => {
            let (uuid, none) = (format!("{at:08x}-0000-4000-8000-000000000000"), "");
            lines[at] = user(&uuid, none).into();
            vec![(number, ExtraRoot)]
        }
        Harm::ParentSelf => {
            lines[at] = with_parent(&own).into();
            vec![(number, Cycle { length: 1 })]
        }
        Harm::OtherSession => {
            lines[at] = good[at].replace("\"s\"", "\"t\"").into();
            let children =
                (1_u64..).zip(&edges).filter(|(_, edge)| edge.is_some_and(|(parent, _)| parent == at));
            std::iter::once(number)
                .chain(children.map(|(child, _)| child))
                .map(|line| (line, OtherSession))
                .collect()
        }
        Harm::AnswerToNobody => {
            let message = r#""s","message":{"content":[{"type":"tool_result","tool_use_id":"x"}]}"#;
            lines[at] = good[at].replace("\"s\"", message).into();
            vec![(number, OrphanResult)]
        }
        Harm::CopyChanged => {
            lines.push(good[at].replace('}', r#","cwd":""}"#).into());
            vec![(end, OtherContent { first: number })]
        }
        Harm::CopyKept => {
            lines.push(good[at].clone().into());
            vec![]
        }
        Harm::TextBefore => {
            lines.insert(at, b"x".into());
            vec![(number, NotJson { column: 1 })]
        }
        Harm::ArrayBefore => {
            lines.insert(at, b"[]".into());
            vec![(number, NotObject)]
        }
        Harm::NextJoined => {
            let next = lines.remove(at + 1);
            lines[at].extend(next);
            vec![(number, Joined)]
        }
        Harm::Marked => {
            lines[at].splice(..0, *b"\xEF\xBB\xBF");
            vec![(number, Bom)]
        }
        Harm::NotUtf8 => {
            let text = good[at].replace('}', r#","cwd":"?"}"#);
            lines[at] = text.bytes().map(|byte| if byte == b'?' { 0xFF } else { byte }).collect();
            vec![(number, Fault::NotUtf8)]
        }
        Harm::Cut => {
            lines.push(good[at].as_bytes()[..20].into());
            vec![(end, Truncated)]
        }
    };
    (lines, found)
}

proptest! {
    #[test]
    fn a_tree_has_no_fault_and_each_harm_has_its_own(
        picks in prop::collection::vec(any::<prop::sample::Index>(), 2..40),
        pick in any::<prop::sample::Index>(),
    ) {
        let parents: Vec<usize> = (1..).zip(&picks).map(|(n, pick)| pick.index(n)).collect();
        let edges: Edges = std::iter::once(None).chain(parents.iter().map(|parent| Some((*parent, false)))).collect();
        prop_assert_eq!(real(forest(&edges)), []);
        for kind in HARMS {
            let (lines, found) = harm(&parents, 1 + pick.index(parents.len() - 1), kind);
            prop_assert_eq!(real(lines), found, "{:?}", kind);
        }
    }
}
