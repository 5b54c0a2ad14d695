use super::*;
use proptest::prelude::*;

fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

fn slug_of(title: &str) -> String {
    slug(title.encode_utf16())
}

fn suffix_of(id: &str) -> String {
    suffix(id.encode_utf16())
}

#[test]
fn the_example_of_the_spec() {
    let name = Name::of(&units("c_001"), &units("Fixture conversation"), 1_759_968_000_000.0);
    assert_eq!(name.file_name("curt"), "2025-10-09 fixture-conversation 001.curt");
}

#[test]
fn slugs_are_words_in_lower_case() {
    for (title, expected) in [
        ("", "untitled"),
        ("---", "untitled"),
        ("😀", "untitled"),
        ("  Don't  PANIC_now! ", "don-t-panic-now"),
        ("Ünïcödé 你好 世界 한국어", "ünïcödé-你好-世界-한국어"),
        ("e\u{301}te", "e-te"),
        ("İstanbul", "i-stanbul"),
        ("ΟΔΟΣ ΣΟΦΟΣ, Σ", "οδος-σοφος-σ"),
        ("x²½Ⅷ", "x²½ⅷ"),
        ("../../etc/passwd", "etc-passwd"),
        ("हिन्दी", "ह-न-द"),
    ] {
        assert_eq!(slug_of(title), expected, "{title}");
    }
}

#[test]
fn a_sigma_at_the_cut_knows_what_follows_it() {
    let (front, modifiers) = ("a".repeat(49), "\u{2b9}".repeat(60));
    assert_eq!(slug_of(&format!("{front}Σ{modifiers}A")), format!("{front}σ"));
    assert_eq!(slug_of(&format!("{front}Σ{modifiers}")), format!("{front}ς"));
    assert_eq!(slug_of(&format!("{front}Σ{} A", "'".repeat(60))), format!("{front}ς"));
    assert_eq!(slug_of(&format!("{front}Σ{}A", "'".repeat(60))), format!("{front}σ"));
}

#[test]
fn slugs_are_cut_at_fifty_units() {
    let a = |n: usize| "a".repeat(n);
    assert_eq!(slug_of(&a(51)), a(50));
    assert_eq!(slug_of(&format!("{} b", a(50))), a(50));
    assert_eq!(slug_of(&format!("{} b", a(49))), a(49));
    assert_eq!(slug_of(&format!("{} bc", a(48))), format!("{}-b", a(48)));
    // The 50th unit is the first half of a letter beyond the basic plane.
    assert_eq!(slug_of(&format!("{}𠮷", a(49))), a(49));
    assert_eq!(slug_of(&format!("{} 𠮷", a(48))), a(48));
    assert_eq!(slug_of(&format!("{}𠮷b", a(48))), format!("{}𠮷", a(48)));
}

#[test]
fn suffixes_come_after_the_last_underscore() {
    for (id, expected) in [
        ("c_001", "001"),
        ("20260717_120337_deadbeef", "deadbeef"),
        ("01234567-89ab-cdef-0123-abcdefabcdef", "efabcdef"),
        ("abc_", "abc_"),
        ("abcdefghi_", "cdefghi_"),
        ("_", "_"),
        ("", ""),
        ("x_../../a", "../../a"),
        ("😀😀😀😀😀", "😀😀😀😀"),
        ("a😀bcdefgh", "bcdefgh"),
        ("aa😀bcdefg", "😀bcdefg"),
    ] {
        assert_eq!(suffix_of(id), expected, "{id}");
    }
    assert_eq!(suffix([0x78, 0x5f, 0xd800, 0x79].into_iter()), "\u{fffd}y", "no file name can hold it");
    assert_eq!(
        suffix([0x78, 0xdc00, 0x61, 0x61, 0x61, 0x61, 0x61, 0x61, 0x61].into_iter()),
        "\u{fffd}aaaaaaa"
    );
}

#[test]
fn dates_are_javascripts() {
    for (ms, expected) in [
        (1_759_968_000_000.0, "2025-10-09"),
        (-1.0, "1969-12-31"),
        (-0.5, "1970-01-01"),
        (253_402_300_800_000.0, "+010000-01-01"),
        (-62_198_755_200_000.0, "-000001-01-01"),
        (8.64e15, "+275760-09-13"),
        (8.64e15 + 1.0, "1970-01-01"),
        (f64::INFINITY, "1970-01-01"),
        (f64::NAN, "1970-01-01"),
    ] {
        assert_eq!(date(ms), expected, "{ms}");
    }
}

fn name(slug: &str, suffix: &str) -> Name {
    Name { date: "2025-10-09".into(), slug: slug.into(), suffix: suffix.into() }
}

#[test]
fn a_good_name_is_the_rules() {
    assert_eq!(name("a", "b").on_disk("curt", None), ("2025-10-09 a b.curt".into(), false));
    assert_eq!(name("a", "b").on_disk("jsonl", Some(2)), ("2025-10-09 a b-2.jsonl".into(), false));
    assert_eq!(name("a", "..").on_disk("curt", None), ("2025-10-09 a ...curt".into(), false));
    assert_eq!(name("a", "").on_disk("curt", Some(10)), ("2025-10-09 a -10.curt".into(), false));
}

#[test]
fn a_name_that_is_no_file_name_is_made_one() {
    assert_eq!(name("a", "../../x").on_disk("curt", None), ("2025-10-09 a ..-..-x.curt".into(), true));
    assert_eq!(
        name("a", "x\0y\nz\u{7f}\u{85}").on_disk("curt", None),
        ("2025-10-09 a x-y-z--.curt".into(), true)
    );
    assert_eq!(component("..a/b"), "--a-b");
    assert_eq!(component("."), "-");
}

#[test]
fn a_long_name_is_cut_and_keeps_its_number_and_extension() {
    let suffix = "x".repeat(300);
    let (plain, renamed) = name("title", &suffix).on_disk("curt", None);
    assert!(renamed && plain.len() <= 255 && plain.ends_with("x.curt"), "{plain}");
    let (second, renamed) = name("title", &suffix).on_disk("curt", Some(2));
    assert!(renamed && second.len() <= 255, "{second}");
    assert_eq!(second, plain.replace(".curt", "-2.curt"));
    // The slug gives way, the suffix does not.
    let long = "漢".repeat(50);
    let (cut, renamed) = name(&long, &"y".repeat(100)).on_disk("curt", None);
    assert!(renamed && cut.len() <= 255 && cut.ends_with(&format!("漢 {}.curt", "y".repeat(100))), "{cut}");
    assert_eq!(name(&long, "y").on_disk("curt", None), (format!("2025-10-09 {long} y.curt"), false));
}

#[test]
fn text_may_hold_lone_surrogates() {
    assert_eq!(utf16("aä漢😀".as_bytes()), units("aä漢😀"));
    assert_eq!(utf16(b"a\xed\xa0\xbdb\xed\xb0\x80"), [0x61, 0xd83d, 0x62, 0xdc00]);
    assert_eq!(utf16(b"\xff\xed\xa0"), [0xfffd, 0xfffd, 0xfffd]);
    let header = Header {
        id: br#""x_\ud83d\ude00""#.into(),
        title: br#""\ud83dT\u0041""#.into(),
        ..Header::default()
    };
    assert_eq!(Name::of_header(&header), Name::of_text("x_😀".as_bytes(), b"\xed\xa0\xbdTA", 0.0));
}

proptest! {
    /// What is not looked at makes no difference: not for a sigma, whose neighbours may be far away.
    #[test]
    fn a_slug_is_that_of_the_whole_title_in_lower_case(
        parts in prop::collection::vec(prop::sample::select(vec!["Σ", "Σ", "a", "ʰ", "'", " ", "\u{301}", "İ", "9", "𝐀"]), 30..130),
    ) {
        let title = parts.concat();
        let lower = title.to_lowercase();
        let words: Vec<_> = lower.split(|c| !is_letter_or_digit(c)).filter(|word| !word.is_empty()).collect();
        let all: Vec<_> = words.join("-").encode_utf16().collect();
        let cut = String::from_utf16_lossy(&all[..all.len().min(SLUG)]);
        let cut = cut.trim_end_matches([char::REPLACEMENT_CHARACTER]).trim_end_matches('-');
        prop_assert_eq!(slug(title.encode_utf16()), if cut.is_empty() { "untitled" } else { cut });
    }

    #[test]
    fn every_name_on_disk_is_one_safe_component(
        id in prop::collection::vec(prop_oneof![any::<u16>(), 0x20u16..0x80], 0..300),
        title in prop::collection::vec(prop_oneof![any::<u16>(), 0x20u16..0x80], 0..120),
        other in prop::collection::vec(any::<u16>(), 0..120),
        ms in any::<f64>(),
        nth in prop::option::of(2u32..),
    ) {
        let name = Name::of(&id, &title, ms);
        prop_assert!(name.slug.encode_utf16().count() <= 50 && !name.slug.is_empty());
        prop_assert!(!name.slug.starts_with('-') && !name.slug.ends_with('-') && !name.slug.contains(' '));
        let (file, renamed) = name.on_disk("curt", nth);
        prop_assert!(file.len() <= 255, "{}", file.len());
        prop_assert!(!file.contains(|c: char| c == '/' || c.is_control()) && !file.starts_with('.'));
        prop_assert!(file.ends_with(".curt"));
        if nth.is_none() {
            prop_assert_eq!(renamed, file != name.file_name("curt"));
        }
        // A conversation is found by what stands after its slug.
        let after = |file: &str| file.splitn(3, ' ').nth(2).map(str::to_owned);
        let plain = after(&name.on_disk("curt", None).0);
        prop_assert_eq!(&plain, &after(&Name::of(&id, &other, ms).on_disk("curt", None).0));
        if let (Some(nth), Some(plain)) = (nth, plain) {
            let stem = plain.strip_suffix(".curt").unwrap().to_owned();
            prop_assert_eq!(after(&file), Some(format!("{stem}-{nth}.curt")));
        }
    }
}
