//! Zips: any bytes that claim to be one are bodies or faults, bounded by what comes out; and what we pack comes back.
#![no_main]

use curt_tools::curt::bodies::Bodies;
use curt_tools::stream::bundle::{Opened, Writer, open};
use curt_tools::stream::operands::Input;
use libfuzzer_sys::fuzz_target;
use std::io::Read;

const LIMIT: u64 = 1 << 20;

fuzz_target!(|input: (bool, &[u8], Vec<(String, Vec<u8>)>)| {
    let (packed, bytes, entries) = input;
    let path = std::env::temp_dir().join(format!("curt-tools-fuzz-{}.zip", std::process::id()));
    if packed {
        let mut zip = Writer::new(Vec::new());
        let mut named = Vec::new();
        for (n, (name, data)) in entries.iter().enumerate() {
            // Names that a zip can hold, none of them a directory's.
            let name: String = name.chars().filter(|c| c.is_alphanumeric()).take(100).collect();
            let name = format!("{name}{n}");
            zip.add(&name, i64::from(data.first().copied().unwrap_or(0)) << 30, |to| to.write_all(data)).unwrap();
            named.push(name);
        }
        std::fs::write(&path, zip.finish().unwrap()).unwrap();
        let Opened::Bundle(bundle) = open(&Input::File(path)).unwrap() else { panic!("no zip") };
        let mut read = 0;
        for (mut entry, ((_, data), name)) in bundle.zip(entries.iter().zip(&named)) {
            let mut unpacked = Vec::new();
            entry.data.read_to_end(&mut unpacked).unwrap();
            assert_eq!((entry.name, unpacked), (name.clone().into_bytes(), data.clone()));
            read += 1;
        }
        assert_eq!(read, entries.len());
        return;
    }
    let mut zip = b"PK\x03\x04".to_vec();
    zip.extend_from_slice(bytes.strip_prefix(b"PK\x03\x04").unwrap_or(bytes));
    std::fs::write(&path, zip).unwrap();
    let mut bodies = Bodies::of(&Input::File(path)).unwrap().limit(LIMIT).keeping();
    while let Ok(Some(_)) = bodies.next() {
        assert!(bodies.text().len() as u64 <= LIMIT);
    }
});
