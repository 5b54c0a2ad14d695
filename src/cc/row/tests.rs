use super::*;
use proptest::prelude::*;

#[test]
fn places_in_a_folder() {
    for (path, place) in [
        ("p/a.jsonl", Place::Session),
        ("a.jsonl", Place::Session),
        ("p/agent-1.jsonl", Place::Subagent),
        ("p/s/subagents/agent-1.jsonl", Place::Subagent),
        ("p/s/subagents/workflows/w/journal.jsonl", Place::Other),
        ("p/s/tool-results/a.jsonl", Place::Other),
        ("history.jsonl", Place::Other),
        ("p/a.json", Place::Other),
        ("p/a", Place::Other),
        ("", Place::Other),
    ] {
        assert_eq!(Place::of(Path::new(path)), place, "{path}");
    }
}

proptest! {
    /// Of any lines, also half ones: the row is one line of JSON with every object in it.
    #[test]
    fn any_lines_make_a_row(lines in proptest::collection::vec(prop_oneof![
        r#"\{("[a-z\\\\]{0,4}":("x|é"|[0-9]|null|\{\}|\[1\]),?){0,3}\}?"#,
        r#"\{"uuid":"[ab]","agentId":"\\\\ud83d","isSidechain":true,"timestamp":"2026-01-0[1-3]T00:00:00Z"\}"#,
    ], 0..6)) {
        let mut gather = Gather::default();
        let mut good = 0;
        for line in &lines {
            gather.line(line.as_bytes()).unwrap();
            good += usize::from(Raw::parse(line.as_bytes()).is_ok_and(|value| value.kind() == Kind::Object));
        }
        let Some(about) = gather.about(b"stem") else { return Ok(()) };
        let mut row = Vec::new();
        gather.write(&about, &mut row).unwrap();
        prop_assert_eq!(row.iter().filter(|byte| **byte == b'\n').count(), 1);
        let row = Raw::parse(&row).unwrap();
        prop_assert!(row.get("messages").unwrap().items().count() >= good);
        prop_assert!(gather.about(b"stem").is_none(), "what was written is forgotten");
    }
}
