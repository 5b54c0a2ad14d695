//! Names: what a folder can bear, whatever the conversation is called.
#![no_main]

use curt_tools::curt::name::Name;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<u16>, Vec<u16>, f64, Option<u32>)| {
    let (id, title, created_at, nth) = input;
    let name = Name::of(&id, &title, created_at);
    assert!((1..=50).contains(&name.slug.encode_utf16().count()));
    assert!(!name.slug.starts_with('-') && !name.slug.ends_with('-') && !name.date.contains(' '));
    let (file, renamed) = name.on_disk("curt", nth);
    assert!(file.len() <= 255 && file.ends_with(".curt") && !file.starts_with('.'));
    assert!(!file.contains(|c: char| c == '/' || c.is_control()));
    assert!(nth.is_some() || renamed == (file != name.file_name("curt")));
});
