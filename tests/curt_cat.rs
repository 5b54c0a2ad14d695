//! curt-cat: the same bodies on the other side, in the layout that JavaScript gives, and nothing of one that
//! is invalid.

use super::common::{Cmd, Dir, Output2, sh};
use super::curt_check::{GOOD, node, vectors};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::path::Path;

fn cat(args: &[&str], stdin: impl AsRef<[u8]>) -> Output2 {
    Cmd::new("curt-cat").args(args).stdin(stdin).run()
}

/// What a body must become as a line and, where it can be told, indented.
struct Layouts {
    body: Vec<u8>,
    line: Vec<u8>,
    pretty: Option<Vec<u8>>,
}

/// Ask node.
fn layouts(bodies: Vec<Vec<u8>>) -> Vec<Layouts> {
    let lines: String = bodies.iter().map(|body| BASE64_STANDARD.encode(body) + "\n").collect();
    let answers = node("layout.mjs", &lines);
    assert_eq!(answers.len(), bodies.len());
    let read = |text: &str| [BASE64_STANDARD.decode(text).unwrap(), b"\n".to_vec()].concat();
    let layouts = bodies.into_iter().zip(answers).map(|(body, answer)| {
        let (line, pretty) = answer.split_once(' ').unwrap();
        Layouts { body, line: read(line), pretty: (pretty != "-").then(|| read(pretty)) }
    });
    layouts.collect()
}

/// Bodies that other writers may make.
fn generated() -> Vec<Vec<u8>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/bodies.py");
    let lines = Cmd::any("python3").arg(script).args(["--seed", "3", "--bodies", "150"]).run().ok();
    lines.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

#[test]
fn every_accepted_body_comes_out_with_its_own_tokens() {
    let dir = Dir::new("cat-vectors");
    let accepted = vectors().into_iter().filter(|vector| vector.accepted.is_some()).map(|vector| vector.body);
    let all = layouts(accepted.chain(generated()).collect());
    assert!(all.iter().filter(|layouts| layouts.pretty.is_some()).count() > 50);
    let mut expected = Vec::new();
    for (n, Layouts { body, line, .. }) in all.iter().enumerate() {
        dir.write(format!("{n:04}.curt"), body);
        expected.extend_from_slice(line);
    }
    sh(&dir, "curt-cat *.curt >lines").ok();
    assert!(dir.read("lines") == expected);
    // Lines are lines of the same, from stdin and from a file of that name.
    sh(&dir, "curt-cat < lines | cmp - lines && mv lines x.ndjson && curt-cat x.ndjson | cmp - x.ndjson")
        .ok();
    sh(&dir, "mkdir pretty; for f in *.curt; do curt-cat --pretty $f > pretty/$f || exit 1; done").ok();
    for (n, Layouts { pretty, .. }) in all.iter().enumerate() {
        if let Some(pretty) = pretty {
            assert!(dir.read(format!("pretty/{n:04}.curt")) == *pretty, "{n}");
        }
    }
    sh(&dir, "curt-cat pretty/*.curt | cmp - x.ndjson").ok();
    sh(&dir, "cd pretty; for f in *.curt; do curt-cat --pretty $f | cmp - $f || exit 1; done").ok();
}

#[test]
fn nothing_but_white_space_changes() {
    let text = "\u{feff} {\"z\" : 1.0, \"curt\":0, \"curt\": \"curtis\\u002dconversation\" , \"version\":10e-1,\n\
        \"10\":[ ],\"9\":{ }, \"9\": 12345678901234567890123,\r\n\"conversation\": {\"id\":\"\\ud83d\",\"title\":\"a  b\\t\",\
        \"createdAt\":-0, \"updatedAt\":1E400,\"x\":[-0.10 ,1e5],\"messages\":[ {\"id\":\"\", \"role\":\"user\",\
        \"content\":\"\\/ \\u00E9 é\u{2028}\u{7f}\", \"timestamp\":0.50,\"?\" : null } ]} } \n";
    let line = "{\"z\":1.0,\"curt\":0,\"curt\":\"curtis\\u002dconversation\",\"version\":10e-1,\
        \"10\":[],\"9\":{},\"9\":12345678901234567890123,\"conversation\":{\"id\":\"\\ud83d\",\"title\":\"a  b\\t\",\
        \"createdAt\":-0,\"updatedAt\":1E400,\"x\":[-0.10,1e5],\"messages\":[{\"id\":\"\",\"role\":\"user\",\
        \"content\":\"\\/ \\u00E9 é\u{2028}\u{7f}\",\"timestamp\":0.50,\"?\":null}]}}\n";
    cat(&[], text).ok().stdout(line);
    let pretty = cat(&["--pretty"], text).ok();
    cat(&[], pretty.stdout).ok().stdout(line);
}

#[test]
fn files_lines_and_zips_are_one_stream() {
    let dir = Dir::new("cat-kinds");
    let bodies = ["a_1", "b_2", "c_3"].map(|id| GOOD.replace("c_001", id) + "\n");
    dir.write("a.curt", bodies[0].replace(',', ",\n\t"));
    dir.write("b.jsonl", &bodies[1]);
    dir.write("c.curt", &bodies[2]);
    sh(&dir, "python3 -m zipfile -c c.zip c.curt").ok();
    let all = bodies.concat();
    sh(&dir, "curt-cat a.curt b.jsonl c.zip").ok().stdout(&all);
    sh(&dir, "cat c.zip | curt-cat a.curt b.jsonl -").ok().stdout(&all);
    sh(&dir, "printf 'a.curt\\0b.jsonl\\0c.zip' | curt-cat --files0-from=-").ok().stdout(&all);
    // Indented ones follow each other, which jq reads and we do not.
    sh(&dir, "curt-cat --pretty a.curt c.zip | jq -c .conversation.id").ok().stdout("\"a_1\"\n\"c_3\"\n");
    sh(&dir, "curt-cat a.curt b.jsonl c.zip | curt-check -v").ok().stdout("-:1: ok\n-:2: ok\n-:3: ok\n");
}

#[test]
fn of_an_invalid_body_nothing_is_printed_and_the_others_are() {
    let dir = Dir::new("cat-invalid");
    dir.write("good.curt", GOOD);
    // Its fault is behind more than is held in memory.
    let long = GOOD.replace("\"hi\"", &format!("\"{}\"", "x".repeat(6 << 20)));
    dir.write("long.curt", long.replace("\"timestamp\"", "\"time\""));
    dir.write("cut.curt", &long[..5 << 20]);
    dir.write("x.ndjson", format!("{GOOD}\n[]\n{GOOD}\n"));
    let output = sh(&dir, "curt-cat long.curt good.curt cut.curt x.ndjson").status(1);
    let fault = "curt-cat: long.curt: conversation.messages[0].timestamp: expected a number, found nothing\n\
        curt-cat: cut.curt: not JSON at byte 5242880 (line 1, column 5242881): expected the rest of a string, found the end\n\
        curt-cat: x.ndjson:2: not a .curt body: expected an object, found an array\n";
    output.stderr(fault).stdout(format!("{GOOD}\n").repeat(3));
    sh(&dir, "curt-cat gone good.curt").status(2).stdout(format!("{GOOD}\n"));
    sh(&dir, "cat long.curt | curt-cat --max-bytes=1M good.curt -")
        .status(1)
        .stdout(format!("{GOOD}\n"))
        .stderr("curt-cat: -:1: too large: more than 1048576 bytes\n");
}

#[test]
fn memory_does_not_follow_a_body() {
    let dir = Dir::new("cat-memory");
    let long = GOOD.replace("\"hi\"", &format!("\"{}\"", "x".repeat(32 << 20)));
    dir.write("long.curt", &long);
    sh(&dir, "python3 -m zipfile -c long.zip long.curt").ok();
    dir.write("line", long + "\n");
    sh(&dir, "ulimit -v 32000; curt-cat long.curt | cmp - line").ok();
    sh(&dir, "cat long.zip | (ulimit -v 32000; curt-cat) | cmp - line").ok();
    sh(&dir, "ulimit -v 32000; curt-cat -o out < line").ok();
    sh(&dir, "curt-cat out/*.curt | cmp - line").ok();
}

#[test]
fn files_are_placed_as_curt_pack_places_them() {
    let dir = Dir::new("cat-files");
    let states = [("1", "a"), ("2", "b")].map(|(updated, title)| {
        GOOD.replace("\"updatedAt\":1", &format!("\"updatedAt\":{updated}")).replace("Fixture", title) + "\n"
    });
    dir.write("old", &states[0]);
    dir.write("new", &states[1]);
    dir.write("other", GOOD.replace("c_001", "d_001"));
    let name = "2025-10-09 a-conversation 001.curt";
    sh(&dir, "curt-cat -o out --print old").ok().stdout(format!("out/{name}\n"));
    sh(&dir, &format!("curt-cat --pretty old | cmp - 'out/{name}'; stat -c %a out out/*"))
        .ok()
        .stdout("700\n600\n");
    sh(&dir, "curt-cat -o out --print -0 old new other")
        .ok()
        .stdout(format!("out/{name}\0out/2025-10-09 fixture-conversation 001.curt\0"));
    sh(&dir, &format!("curt-cat --pretty new | cmp - 'out/{name}'; ls out | wc -l")).ok().stdout("2\n");
    // A later state stays, unless it may not.
    sh(&dir, "curt-cat -o out --print old").ok().stdout("");
    sh(&dir, "curt-cat -o out --print -f old").ok().stdout(format!("out/{name}\n"));
    sh(&dir, "curt-cat --print old").status(2).stdout("");
    sh(&dir, "curt-cat -o old new").status(2).stdout("").stderr("curt-cat: old: Not a directory\n");
}
