//! The two string skippers against each other: the fast one of this machine, and the one for any.
#![no_main]

use curt_tools::json::skip::{inside, plain, portable};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    // At every alignment of a vector, and cut there.
    for start in 0..input.len().min(64) {
        let text = &input[start..];
        assert_eq!(plain(text), portable::plain(text));
        assert_eq!(inside(text), portable::inside(text));
        let cut = &input[..start];
        assert_eq!(inside(cut), portable::inside(cut));
    }
});
