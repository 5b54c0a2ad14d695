//! Lines and graphs: any file has a verdict, the same whatever the secret of the run, and however a writer's
//! text is cut; and what the strict rules let pass, the real ones do.
#![no_main]

use curt_tools::cc::chain::{Chain, Mode, Proof};
use curt_tools::cc::line::values;
use curt_tools::cc::verdict::{Report, Severity};
use curt_tools::json::raw::Raw;
use libfuzzer_sys::fuzz_target;

fn report(mode: Mode, text: &[u8]) -> Report {
    let mut chain = Chain::new(mode);
    let mut number = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        number += 1;
        match line.strip_suffix(b"\n") {
            Some(b"") => {}
            Some(line) => chain.line(number, line, true),
            None => chain.line(number, line, false),
        }
    }
    chain.finish(number)
}

fuzz_target!(|input: (u8, &[u8])| {
    let (size, text) = input;
    for line in text.split(|byte| *byte == b'\n') {
        let mut count = 0;
        let damage = values(line, |value| {
            count += 1;
            assert!(Raw::parse(value.bytes()).is_ok());
        });
        assert_eq!(Raw::parse(line).is_ok(), count == 1 && damage == Default::default());
        assert_eq!(damage.joined, count > usize::from(damage.bad.is_none()));
    }
    let real = report(Mode::Real, text);
    assert_eq!(real.json("x"), report(Mode::Real, text).json("x"));
    let strict = report(Mode::Strict, text);
    assert!(strict.errors > 0 || real.errors == 0);
    let mut proof = Proof::new();
    text.chunks(usize::from(size) + 1).for_each(|block| proof.feed(block));
    let first = strict.findings.iter().find(|finding| finding.severity == Severity::Error);
    assert_eq!(proof.finish().err(), first.copied());
});
