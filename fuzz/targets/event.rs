//! Any line is an event or none; what is written of one reads back as the same, by another reader too.
#![no_main]

use curt_tools::json::raw::Raw;
use curt_tools::lake::event::Event;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| {
    let Ok(raw) = Raw::parse(line) else { return };
    let Ok(event) = Event::read(raw) else { return };
    let mut out = Vec::new();
    event.write(&mut out);
    let text = out.strip_suffix(b"\n").unwrap();
    assert!(!text.contains(&b'\n'));
    serde_json::from_slice::<serde_json::Value>(text).unwrap();
    let again = Event::read(Raw::parse(text).unwrap()).unwrap();
    assert_eq!(again.key(), event.key());
    let mut twice = Vec::new();
    again.write(&mut twice);
    assert_eq!(twice, out);
});
