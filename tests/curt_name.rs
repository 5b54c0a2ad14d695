//! curt-name: the names JavaScript gives, and how they are printed.

use super::common::{Cmd, Dir, Output2, sh};
use super::curt_check::{GOOD, Vector, node, vectors};
use super::mutants::Dice;
use curt_tools::curt::name::Name;

fn name(args: &[&str], stdin: impl AsRef<[u8]>) -> Output2 {
    Cmd::new("curt-name").args(args).stdin(stdin).run()
}

#[test]
fn each_accepted_body_has_javascripts_name() {
    let dir = Dir::new("name-vectors");
    let mut expected = Vec::new();
    for Vector { name, body, accepted } in vectors() {
        dir.write(format!("{}/{name}.curt", if accepted.is_some() { "good" } else { "bad" }), body);
        if let Some(accepted) = accepted {
            expected.extend_from_slice(accepted.as_bytes());
            expected.push(0);
        }
    }
    sh(&dir, "curt-name -0 good/*").ok().stdout(&expected);
    let bad = sh(&dir, "curt-name bad/*").status(1).stdout("");
    assert!(bad.stderr.lines().all(|line| line.starts_with("curt-name: bad/")), "{bad:?}");
    assert_eq!(bad.stderr.lines().count(), vectors().iter().filter(|v| v.accepted.is_none()).count());
}

#[test]
fn the_example_of_the_spec() {
    name(&[], GOOD).ok().stdout("2025-10-09 fixture-conversation 001.curt\n");
    name(&["--ext", "jsonl"], GOOD.replace(',', ",\n"))
        .ok()
        .stdout("2025-10-09 fixture-conversation 001.jsonl\n");
    name(&["-0"], GOOD).ok().stdout("2025-10-09 fixture-conversation 001.curt\0");
}

#[test]
fn each_line_has_a_name_and_invalid_ones_are_told() {
    let dir = Dir::new("name-lines");
    let lines = ["a_1", "b_2", "c_3"].map(|id| GOOD.replace("c_001", id));
    let text = lines.join("\n7\n\n");
    dir.write("x.ndjson", &text);
    let names = ["1", "2", "3"].map(|id| format!("2025-10-09 fixture-conversation {id}.curt\n")).concat();
    let told = |input: &str| {
        let reason = "not a .curt body: expected an object, found a number";
        format!("curt-name: {input}:2: {reason}\ncurt-name: {input}:5: {reason}\n")
    };
    sh(&dir, "curt-name x.ndjson").status(1).stdout(&names).stderr(&told("x.ndjson"));
    sh(&dir, "curt-name < x.ndjson").status(1).stdout(&names).stderr(&told("-"));
    dir.write("bad.curt", "[]");
    dir.write("good.curt", &lines[0]);
    sh(&dir, "curt-name bad.curt good.curt")
        .status(1)
        .stdout("2025-10-09 fixture-conversation 1.curt\n")
        .stderr("curt-name: bad.curt: not a .curt body: expected an object, found an array\n");
    sh(&dir, "curt-name bad.curt gone.curt").status(2).stdout("");
}

#[test]
fn names_are_printed_as_the_rule_says_however_unsafe() {
    name(&[], GOOD.replace("c_001", "x_../../a"))
        .ok()
        .stdout("2025-10-09 fixture-conversation ../../a.curt\n");
    name(&["-0"], GOOD.replace("c_001", r"x_a\nb"))
        .ok()
        .stdout("2025-10-09 fixture-conversation a\nb.curt\0");
    let long = "y".repeat(5000);
    name(&[], GOOD.replace("001", &long))
        .ok()
        .stdout(format!("2025-10-09 fixture-conversation {long}.curt\n"));
}

#[test]
fn safe_names_are_those_that_files_get() {
    let dir = Dir::new("name-safe");
    let row = |id: &str| {
        let cells = r#""runtime":"hermes","source":"cli","started_at":1759968000"#;
        let message = r#"{"id":1,"role":"user","content":"hi","timestamp":1759968000}"#;
        format!(r#"{{{cells},"id":"{id}","title":"Fixture conversation","messages":[{message}]}}"#)
    };
    for (id, stem) in [
        ("x_../../a", "2025-10-09 fixture-conversation ..-..-a"),
        (r"x_a\nb", "2025-10-09 fixture-conversation a-b"),
        (r"x_a\u0000/", "2025-10-09 fixture-conversation a--"),
        ("x_001", "2025-10-09 fixture-conversation 001"),
    ] {
        name(&["--safe", "--ext=jsonl"], GOOD.replace("c_001", id)).ok().stdout(format!("{stem}.jsonl\n"));
        dir.write("row", row(id));
        sh(&dir, "rm -rf out; curt-pack -o out row && ls out").ok().stdout(format!("{stem}.curt\n"));
    }
    let long = name(&["--safe"], GOOD.replace("001", &"y".repeat(5000))).ok();
    assert!(long.stdout.len() <= 256 && long.stdout.ends_with(b"y.curt\n"), "{long:?}");
}

#[test]
fn unique_names_come_once() {
    let bodies = |ids: &[&str]| ids.iter().map(|id| GOOD.replace("c_001", id) + "\n").collect::<String>();
    let names = |suffixes: &[&str]| {
        let name = |suffix: &&str| format!("2025-10-09 fixture-conversation {suffix}.curt\n");
        suffixes.iter().map(name).collect::<String>()
    };
    let same = bodies(&["a_1", "b_1", "c_2", "d_1"]);
    name(&[], &same).ok().stdout(names(&["1", "1", "2", "1"]));
    name(&["--unique"], &same).ok().stdout(names(&["1", "1-2", "2", "1-3"]));
    // A name that another one's number makes is taken too, on either side.
    let numbered = bodies(&["a_1-2", "b_1", "c_1", "d_1", "e_1-2"]);
    name(&["--unique"], &numbered).ok().stdout(names(&["1-2", "1", "1-3", "1-4", "1-2-2"]));
    let later = bodies(&["a_1", "b_1", "c_1-2", "d_1-2"]);
    name(&["--unique"], &later).ok().stdout(names(&["1", "1-2", "1-2-2", "1-2-3"]));
    // Two ids that a folder cannot tell apart.
    let unsafe_ids = bodies(&["a_x/y", "b_x-y"]);
    name(&["--unique"], &unsafe_ids).ok().stdout(names(&["x/y", "x-y"]));
    name(&["--unique", "--safe"], &unsafe_ids).ok().stdout(names(&["x-y", "x-y-2"]));
}

/// Id, title, createdAt.
type Case = (Vec<u16>, Vec<u16>, f64);

/// Ask node for the names of these; `None` for one that its Unicode is too old for.
fn names(cases: &[Case]) -> Vec<Option<Vec<u16>>> {
    let hex = |units: &[u16]| units.iter().map(|unit| format!("{unit:04x}")).collect::<String>();
    let line = |(id, title, ms): &Case| format!("u{} u{} {ms:e}\n", hex(id), hex(title));
    let answers = node("name.mjs", &cases.iter().map(line).collect::<String>());
    assert_eq!(answers.len(), cases.len());
    let units = |hex: &str| {
        hex.as_bytes()
            .chunks(4)
            .map(|unit| u16::from_str_radix(std::str::from_utf8(unit).unwrap(), 16).unwrap())
            .collect()
    };
    answers.iter().map(|answer| answer.strip_prefix('u').map(units)).collect()
}

fn agree(cases: &[Case]) {
    let mut unknown = 0;
    for ((id, title, ms), theirs) in cases.iter().zip(names(cases)) {
        let ours = Name::of(id, title, *ms).file_name("curt");
        match theirs {
            Some(theirs) => assert_eq!(ours, String::from_utf16(&theirs).unwrap(), "{id:x?} {title:x?} {ms}"),
            None => unknown += 1,
        }
    }
    assert!(unknown < cases.len() / 2, "{unknown}");
}

#[test]
fn every_character_is_in_a_name_as_javascript_has_it() {
    // Before a capital sigma, whose lower case depends on what stands before it.
    let planes = (0..0x3_4000).chain(0xE_0000..0xE_0200);
    let title = |code: u32| match char::from_u32(code) {
        Some(c) => format!("A{c}Σ {c}").encode_utf16().collect(),
        None => vec![0x41, code as u16, 0x3A3],
    };
    agree(&planes.map(|code| (vec![], title(code), 0.0)).collect::<Vec<_>>());
}

#[test]
fn random_titles_ids_and_times_have_javascripts_names() {
    let dice = &mut Dice(2);
    let pools: &[&[std::ops::Range<u32>]] = &[
        &[0x20..0x5b, 0x5b..0x7f],
        &[0x20..0x22, 0x61..0x7b, 0x2d..0x30, 0x5f..0x60],
        &[0xc0..0x250, 0x20..0x21],
        &[0x370..0x400, 0x20..0x21, 0x300..0x310, 0x27..0x28],
        &[0x10400..0x10450, 0x20..0x21],
        &[0x4e00..0x4f00, 0x20000..0x20100, 0x1f600..0x1f640],
        &[0xd7f0..0xe010, 0x61..0x62],
        &[0x900..0xe00, 0x1e00..0x2200],
        &[0..0x1_0000, 0x1_0000..0x3_0000],
    ];
    let mut units = |most: usize| {
        let pool = pools[dice.roll(pools.len())];
        let mut units = Vec::new();
        for _ in 0..dice.roll(most) {
            let range = &pool[dice.roll(pool.len())];
            let code = range.start + dice.roll(range.len()) as u32;
            match char::from_u32(code) {
                Some(c) => units.extend_from_slice(c.encode_utf16(&mut [0; 2])),
                None => units.push(code as u16),
            }
        }
        units
    };
    let strings: Vec<_> = (0..20_000).map(|_| (units(30), units(80))).collect();
    let times = [0.0, -0.0, 0.5, -0.5, -1.0, 8.64e15, -8.64e15, 8.64e15 + 2.0, 1e300, -62_198_755_200_000.0];
    let cases: Vec<_> = strings
        .into_iter()
        .map(|(id, title)| {
            let ms = match dice.roll(4) {
                0 => times[dice.roll(times.len())],
                1 => (dice.roll(17_280_000_000) as f64 - 8.64e9) * 1e6 + dice.roll(1_000_000) as f64 / 8.0,
                _ => dice.roll(4_000_000_000_000) as f64 / 2.0,
            };
            (id, title, ms)
        })
        .collect();
    agree(&cases);
}
