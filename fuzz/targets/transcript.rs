//! Transcripts: whatever stands in a file, its row is one line of JSON, and what is made of that is a body.
#![no_main]

use curt_tools::cc::row::Gather;
use curt_tools::json::raw::Raw;
use curt_tools::mapping::counts::Count;
use curt_tools::mapping::pack::Packer;
use curt_tools::stream::deliver::Target;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let mut gather = Gather::default();
    for line in file.split(|byte| *byte == b'\n') {
        gather.line(line).unwrap();
    }
    let Some(about) = gather.about(b"file") else { return };
    let mut row = Vec::new();
    gather.write(&about, &mut row).unwrap();
    let row = row.strip_suffix(b"\n").unwrap();
    assert!(!row.contains(&b'\n') && Raw::parse(row).is_ok());
    let mut out = Vec::new();
    let mut packer = Packer::default();
    packer.row(row, &mut Target::Stream(&mut out)).unwrap();
    // Every body is judged by the rules of curt-check on its way.
    assert_eq!(packer.counts.sum(Count::RoundTripFailures), 0);
    assert_eq!(packer.counts.sum(Count::Empty) == 1, out.is_empty());
});
