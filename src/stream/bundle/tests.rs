use super::*;
use proptest::prelude::*;

type Files = Vec<(String, Vec<u8>)>;

fn zip(files: &Files) -> Vec<u8> {
    let mut zip = Writer::new(Vec::new());
    for (name, data) in files {
        zip.add(name, 0, |to| to.write_all(data)).unwrap();
    }
    zip.finish().unwrap()
}

/// Names, and what is in them or is wrong with them; `None` for what is no zip.
type Found = Option<Vec<(Vec<u8>, Result<Vec<u8>, String>)>>;

fn read(zip: &[u8]) -> Found {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(zip).unwrap();
    let Opened::Bundle(bundle) = open(&Input::File(file.path().to_owned())).unwrap() else { return None };
    let entry = |entry: Entry| {
        let mut data = Vec::new();
        let whole = entry.data.take(1 << 20).read_to_end(&mut data);
        let whole = whole.inspect_err(|error| assert_eq!(error.kind(), ErrorKind::InvalidData, "{error:?}"));
        (entry.name, whole.map(|_| data).map_err(|error| error.to_string()))
    };
    Some(bundle.map(entry).collect())
}

fn files() -> impl Strategy<Value = Files> {
    let data = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300),
        (any::<u8>(), 0..100_000_usize).prop_map(|(byte, times)| vec![byte; times]),
    ];
    prop::collection::vec(("[a-zé \\n.]{0,20}x", data), 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_put_in_comes_out(files in files()) {
        let expected = files.iter().map(|(name, data)| (name.clone().into_bytes(), Ok(data.clone()))).collect();
        prop_assert_eq!(read(&zip(&files)), Some(expected));
    }

    /// Whatever is changed, it is another zip, a damaged one, or none: never a panic, and never an entry
    /// whose bytes are not those that its checksum was made of.
    #[test]
    fn damage_is_seen(
        files in files(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = zip(&files);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let known: Vec<_> = files.iter().map(|(_, data)| data).collect();
        for (_, data) in read(&bytes).unwrap_or_default() {
            if let Ok(data) = data {
                prop_assert!(known.contains(&&data), "{} bytes that nobody put in", data.len());
            }
        }
    }
}
