//! The scanner: one verdict however the text is cut, and the one an independent parser gives.
#![no_main]

use curt_tools::json::scan::{Bad, Scan, validate};
use libfuzzer_sys::fuzz_target;

fn in_blocks(text: &[u8], size: usize) -> Result<(), Bad> {
    let mut scan = Scan::new(());
    text.chunks(size).try_for_each(|block| scan.feed(block))?;
    scan.finish()
}

fuzz_target!(|input: (u8, &[u8])| {
    let (size, text) = input;
    let whole = validate(text);
    assert_eq!(in_blocks(text, usize::from(size) + 1), whole);
    assert_eq!(in_blocks(text, 1), whole);
    let oracle = std::str::from_utf8(text)
        .is_ok_and(|text| serde_json::from_str::<serde_core::de::IgnoredAny>(text).is_ok());
    assert_eq!(whole.is_ok(), oracle);
});
