use super::*;

/// Gives out so many bytes at a time, and an interruption before each.
struct Slow<'a>(&'a [u8], usize, bool);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.2 = !self.2;
        if self.2 {
            return Err(ErrorKind::Interrupted.into());
        }
        let end = self.1.min(buffer.len());
        self.0.take(end as u64).read(buffer).inspect(|&n| self.0 = &self.0[n..])
    }
}

const GOOD: &str = r#"{"curt":"curtis-conversation","version":1,"conversation":{"id":"c_1","title":"T","createdAt":1,"updatedAt":2,"messages":[]}}"#;

/// One line a body: `line: verdict`, or `verdict` for one that is alone; the same for reads of any size.
fn judge(text: impl AsRef<[u8]>, limit: usize) -> Vec<String> {
    let with = |size: usize| {
        let mut bodies = Bodies::or_lines(Slow(text.as_ref(), size, false)).limit(limit as u64);
        let mut seen = Vec::new();
        while let Some(Judged { place, verdict }) = bodies.next().unwrap() {
            let verdict = verdict.map_or_else(|invalid| invalid.to_string(), |_| "ok".into());
            seen.push(match place {
                Place::Line(line) => format!("{line}: {verdict}"),
                _ => verdict,
            });
        }
        assert_eq!(bodies.next().unwrap(), None);
        seen
    };
    let whole = with(usize::MAX);
    for size in [1, 2, 3, 16, 61] {
        assert_eq!(with(size), whole, "reads of {size}");
    }
    whole
}

#[test]
fn lines_when_the_first_is_a_complete_text() {
    let text = format!("{GOOD}\n\n{GOOD}\r\n7\n[\n \t\n{GOOD}");
    let expected = [
        "1: ok",
        "3: ok",
        "4: not a .curt body: expected an object, found a number",
        &format!(
            "5: not JSON at byte {} (line 5, column 2): expected a value or ']', found the end",
            2 * GOOD.len() + 7
        ),
        "7: ok",
    ];
    assert_eq!(judge(text, 0), expected);
    assert_eq!(judge("12", 0), ["1: not a .curt body: expected an object, found a number"]);
    assert_eq!(judge(GOOD, 0), ["1: ok"]);
    assert_eq!(judge(format!("\n \n{GOOD}\n{GOOD}\n"), 0), ["3: ok", "4: ok"]);
    assert_eq!(judge(format!("\u{feff}{GOOD}\n{GOOD}\n"), 0), ["1: ok", "2: ok"]);
}

#[test]
fn one_body_when_it_is_not() {
    let pretty = GOOD.replace(',', ",\n\t");
    assert_eq!(judge(&pretty, 0), ["ok"]);
    assert_eq!(judge(format!("\n\n{pretty}\n"), 0), ["ok"]);
    assert_eq!(judge(format!("\u{feff}\n{pretty}"), 0), ["ok"]);
    assert_eq!(
        judge(format!("{pretty}\n{GOOD}"), 0),
        [format!(
            "not JSON at byte {} (line 8, column 1): expected nothing more, found '{{'",
            pretty.len() + 1
        )]
    );
    let end = "expected a value, found the end";
    assert_eq!(judge("", 0), [format!("not JSON at byte 0 (line 1, column 1): {end}")]);
    assert_eq!(judge("\n\n", 0), [format!("not JSON at byte 2 (line 3, column 1): {end}")]);
    let broken = judge(format!("{{\"a\" 1}}\n{GOOD}\n"), 0);
    assert_eq!(broken, ["not JSON at byte 5 (line 1, column 6): expected ':', found '1'"]);
    assert!(judge(b"\xef\xbb\n{}", 0)[0].starts_with("not UTF-8 at byte 0 "));
}

#[test]
fn one_file_is_one_body_whatever_its_first_line_is() {
    let text = format!("{GOOD}\n{GOOD}\n");
    let mut bodies = Bodies::one(text.as_bytes());
    let Some(Judged { place: Place::Whole, verdict: Err(invalid) }) = bodies.next().unwrap() else {
        panic!()
    };
    assert!(invalid.to_string().contains("(line 2, column 1): expected nothing more"));
    assert_eq!(bodies.next().unwrap(), None);
}

#[test]
fn one_body_is_read_no_further_than_to_its_first_fault() {
    struct Once(bool);
    impl Read for Once {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            assert!(!std::mem::replace(&mut self.0, true), "read again");
            buffer[..2].copy_from_slice(b"[}");
            Ok(2)
        }
    }
    for mut bodies in [Bodies::one(Once(false)), Bodies::or_lines(Once(false))] {
        assert!(bodies.next().unwrap().unwrap().verdict.is_err());
        assert_eq!(bodies.next().unwrap(), None);
    }
}

#[test]
fn a_limit_holds_for_each_body() {
    let exact = GOOD.len();
    let long = GOOD.replace("\"T\"", "\"Ti\"");
    let too_large = format!("too large: more than {} bytes", GOOD.len());
    assert_eq!(
        judge(format!("{GOOD}\n{long}\n{GOOD}\n"), exact),
        ["1: ok", &format!("2: {too_large}"), "3: ok"]
    );
    assert_eq!(judge(format!("{long}\n{GOOD}\n"), exact), [&*format!("1: {too_large}"), "2: ok"]);
    assert_eq!(judge(format!("{}]\n{GOOD}", " ".repeat(GOOD.len())), exact), [&*too_large]);
    assert_eq!(judge(GOOD.replace(',', ",\n"), exact), [too_large]);
    assert!(judge("[}         ", 5)[0].starts_with("not JSON at byte 1 "));
    assert_eq!(judge("[                ]", 5), ["1: too large: more than 5 bytes"]);
    assert_eq!(judge("[0,              }", 5), ["too large: more than 5 bytes"]);
    let mut one = Bodies::one(io::repeat(b' ')).limit(1 << 20);
    assert_eq!(one.next().unwrap().unwrap().verdict, Err(Invalid::TooLarge(1 << 20)));
}

#[test]
fn the_text_of_a_body_is_kept_when_it_is_wanted() {
    let pretty = format!("\n\u{feff}{}\n", GOOD.replace(',', ",\n")).replace("\n\u{feff}", "\u{feff}\n");
    for size in [1, 7, usize::MAX] {
        let text = format!("\n{GOOD}\n  \n {GOOD}\r\n7\n");
        let mut bodies = Bodies::or_lines(Slow(text.as_bytes(), size, false)).keeping();
        for expected in [format!("\n{GOOD}"), format!(" {GOOD}\r"), "7".into()] {
            bodies.next().unwrap().unwrap();
            assert_eq!(bodies.text(), expected.as_bytes());
        }
        let mut one = Bodies::or_lines(Slow(pretty.as_bytes(), size, false)).keeping().with_header();
        assert_eq!(one.next().unwrap().unwrap().verdict.unwrap().id, b"\"c_1\"");
        assert_eq!(one.text(), pretty.trim_start_matches('\u{feff}').as_bytes());
        let mut long = Bodies::one(Slow(pretty.as_bytes(), size, false)).keeping().limit(9);
        assert!(long.next().unwrap().unwrap().verdict.is_err());
        assert!(long.text().len() <= 9);
    }
}

#[test]
fn headers_are_those_of_their_lines() {
    let text = ["a_1", "b_2", "c_3"].map(|id| GOOD.replace("c_1", id) + "\n").concat();
    let mut bodies = Bodies::or_lines(text.as_bytes()).with_header();
    for id in [r#""a_1""#, r#""b_2""#, r#""c_3""#] {
        assert_eq!(bodies.next().unwrap().unwrap().verdict.unwrap().id, id.as_bytes());
    }
}
