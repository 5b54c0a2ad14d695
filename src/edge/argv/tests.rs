use super::*;
use proptest::prelude::*;

/// one option of every kind
#[derive(Debug, PartialEq, FromArgs, ArgsInfo)]
#[argh(help_triggers("-h", "--help"))]
struct Demo {
    /// a switch
    #[argh(switch, short = 'q')]
    quiet: bool,
    /// a counted switch
    #[argh(switch, short = 'v')]
    verbose: u8,
    /// a digit
    #[argh(switch, short = '0')]
    null: bool,
    /// a size
    #[argh(option, short = 'm', default = "ByteSize::mib(1)")]
    max_bytes: ByteSize,
    /// a path
    #[argh(option, short = 'o')]
    output: Option<Operand>,
    /// a repeatable word
    #[argh(option, short = 's')]
    source: Vec<Word>,
    /// the operands
    #[argh(positional)]
    files: Vec<Operand>,
}

/// one operand and one option that must be
#[derive(Debug, PartialEq, FromArgs, ArgsInfo)]
#[argh(help_triggers("-h", "--help"))]
struct Strict {
    /// a word
    #[argh(option)]
    fleet: Word,
    /// a size
    #[argh(positional)]
    size: ByteSize,
}

fn words<W: AsRef<[u8]>>(words: &[W]) -> Vec<OsString> {
    words.iter().map(|word| OsString::from_vec(word.as_ref().to_vec())).collect()
}

fn demo<W: AsRef<[u8]>>(line: &[W]) -> Result<Demo, Early> {
    parse("demo", words(line))
}

#[track_caller]
fn refused(line: &[&str], reason: &str) {
    assert_eq!(demo(line), Err(Early::Usage(reason.to_owned())), "{line:?}");
}

fn paths(files: &[&[u8]]) -> Vec<Operand> {
    words(files).into_iter().map(|word| Operand(word.into())).collect()
}

#[test]
fn a_bare_dash_is_an_operand_and_a_value() {
    let args = demo(&["-", "-o", "-", "-s", "-"]).unwrap();
    assert_eq!(args.files, paths(&[b"-"]));
    assert_eq!(args.output, Some(Operand("-".into())));
    assert_eq!(args.source, [Word("-".into())]);
}

#[test]
fn a_value_is_spelled_four_ways() {
    for line in [&["--max-bytes", "7"][..], &["--max-bytes=7"], &["-m", "7"], &["-m7"]] {
        assert_eq!(demo(line).unwrap().max_bytes, ByteSize(7), "{line:?}");
    }
}

#[test]
fn a_value_may_be_empty_or_look_like_an_option_or_hold_an_equals_sign() {
    assert_eq!(demo(&["--output="]).unwrap().output, Some(Operand("".into())));
    assert_eq!(demo(&["-o", ""]).unwrap().output, Some(Operand("".into())));
    assert_eq!(demo(&["-o", "--help"]).unwrap().output, Some(Operand("--help".into())));
    assert_eq!(demo(&["--output", "--", "x"]).unwrap().output, Some(Operand("--".into())));
    assert_eq!(demo(&["--output=a=b"]).unwrap().output, Some(Operand("a=b".into())));
    assert_eq!(demo(&["-o=b"]).unwrap().output, Some(Operand("=b".into())));
}

#[test]
fn short_switches_bundle_and_the_last_may_take_a_value() {
    let args = demo(&["-qv0vm9", "-vofile"]).unwrap();
    assert!(args.quiet && args.null);
    assert_eq!((args.verbose, args.max_bytes), (3, ByteSize(9)));
    assert_eq!(args.output, Some(Operand("file".into())));
    assert_eq!(demo(&["-qm", "9"]).unwrap().max_bytes, ByteSize(9));
}

#[test]
fn two_dashes_end_the_options() {
    let args = demo(&["-q", "--", "-v", "--", "--help", "-"]).unwrap();
    assert_eq!((args.verbose, args.files), (0, paths(&[b"-v", b"--", b"--help", b"-"])));
}

#[test]
fn options_follow_operands() {
    let args = demo(&["a", "-q", "b", "-m", "3"]).unwrap();
    assert!(args.quiet);
    assert_eq!((args.max_bytes, args.files), (ByteSize(3), paths(&[b"a", b"b"])));
}

#[test]
fn the_word_help_is_an_operand() {
    assert_eq!(demo(&["help"]).unwrap().files, paths(&[b"help"]));
}

#[test]
fn paths_are_bytes() {
    let line: [&[u8]; 4] = [b"\xff/\n", b"--output=\xfe", b"", "é".as_bytes()];
    let args = demo(&line).unwrap();
    assert_eq!(args.files, paths(&[b"\xff/\n", b"", "é".as_bytes()]));
    assert_eq!(args.output, Some(Operand(OsString::from_vec(vec![0xfe]).into())));
    assert_eq!(demo(&[&b"-o\xfd"[..]]).unwrap().output, Some(Operand(OsString::from_vec(vec![0xfd]).into())));
}

#[test]
fn a_word_is_text() {
    let reason = r"invalid argument '\xff' for '--source': not UTF-8".to_owned();
    assert_eq!(demo(&[&b"-s\xff"[..]]), Err(Early::Usage(reason)));
}

#[test]
fn of_an_option_given_twice_the_last_counts() {
    assert_eq!(demo(&["-m1", "-m", "2", "--max-bytes=3"]).unwrap().max_bytes, ByteSize(3));
    assert_eq!(demo(&["-mx", "-m2"]).unwrap().max_bytes, ByteSize(2));
    assert_eq!(demo(&["-sa", "-sb"]).unwrap().source, [Word("a".into()), Word("b".into())]);
    assert!(demo(&["-q", "-q"]).unwrap().quiet);
}

#[test]
fn help_and_version_are_answered_whatever_else_is_wrong() {
    for line in
        [&["--nope", "-h"][..], &["-z", "--help", "-m"], &["-zh"], &["--help", "-q"], &["--help=x", "-h"]]
    {
        let Err(Early::Output(help)) = demo(line) else { panic!("{line:?}") };
        assert!(help.starts_with("Usage: demo ") && help.ends_with('\n'), "{help}");
        assert!(
            help.contains(
                "\n  -h, --help        display usage information\n  -V, --version     display the version\n"
            ),
            "{help}"
        );
    }
    for line in [&["--nope", "-V"][..], &["--max-bytes=x", "--version"], &["-qV"], &["-V", "-h"]] {
        assert_eq!(demo(line), Err(Early::Output(format!("demo {}\n", env!("CARGO_PKG_VERSION")))));
    }
    assert!(matches!(parse::<Strict>("strict", words(&["-h"])), Err(Early::Output(_))));
}

#[test]
fn help_as_a_value_or_an_operand_is_not_asked_for() {
    assert_eq!(demo(&["-s", "-h"]).unwrap().source, [Word("-h".into())]);
    assert_eq!(demo(&["--", "-h"]).unwrap().files, paths(&[b"-h"]));
}

#[test]
fn what_is_wrong_is_said_in_the_words_of_getopt() {
    refused(&["--nope"], "unrecognized option '--nope'");
    refused(&["--nope=3", "-z"], "unrecognized option '--nope'");
    refused(&["--quie"], "unrecognized option '--quie'");
    refused(&["--=x"], "unrecognized option '--'");
    refused(&["-z"], "invalid option '-z'");
    refused(&["-qz"], "invalid option '-z'");
    refused(&["-é"], "invalid option '-é'");
    refused(&["-7"], "invalid option '-7'");
    refused(&["--quiet=yes"], "option '--quiet' doesn't allow an argument");
    refused(&["--version=1"], "option '--version' doesn't allow an argument");
    refused(&["--max-bytes"], "option '--max-bytes' requires an argument");
    refused(&["-qm"], "option '-m' requires an argument");
    refused(
        &["-m", "many"],
        "invalid argument 'many' for '--max-bytes': not a number of bytes such as 4096, 64K or 2G",
    );
    assert_eq!(demo(&[&b"--\xff"[..]]), Err(Early::Usage(r"unrecognized option '--\xff'".into())));
    assert_eq!(demo(&[&b"-q\xff"[..]]), Err(Early::Usage(r"invalid option '-q\xff'".into())));
}

#[test]
fn what_argh_finds_wrong_is_said_in_one_line() {
    let strict = |line: &[&str]| match parse::<Strict>("strict", words(line)) {
        Err(Early::Usage(reason)) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(strict(&["--fleet=a", "1", "2"]), "extra operand '2'");
    assert_eq!(
        strict(&["--fleet=a", "' with value '"]),
        "invalid operand '' with value '': not a number of bytes such as 4096, 64K or 2G"
    );
    assert_eq!(strict(&["--fleet=a"]), "required positional arguments not provided: size");
    assert_eq!(strict(&["1"]), "required options not provided: --fleet");
}

#[test]
fn sizes_are_bytes_with_a_binary_suffix() {
    let size = |word: &str| ByteSize::from_arg_value(word).map(|size| size.0);
    assert_eq!(size("0"), Ok(0));
    assert_eq!(size("64K"), Ok(65_536));
    assert_eq!(size("2G"), Ok(2_147_483_648));
    assert_eq!(size("18446744073709551615"), Ok(u64::MAX));
    for word in ["", "K", "-1", "+1", "1.5M", "1 K", "1k", "0x10", "1KB", "٣"] {
        assert!(size(word).unwrap_err().starts_with("not a number"), "{word}");
    }
    assert_eq!(size("16777216T"), Err("too large".into()));
    assert_eq!(size("18446744073709551616"), Err("too large".into()));
}

#[test]
fn many_options_are_read_in_linear_time() {
    let line: Vec<_> = (0..200_000).map(|n| if n % 2 == 0 { "-sx" } else { "-m1" }).collect();
    assert_eq!(demo(&line).unwrap().source.len(), 100_000);
}

/// What a person means, before it is spelled.
#[derive(Clone, Debug)]
enum Meant {
    Switch(char, &'static str),
    Value(char, &'static str, Vec<u8>),
    File(Vec<u8>),
}

fn meant() -> impl Strategy<Value = Meant> {
    let word = prop_oneof![
        prop::sample::select(vec!["-", "--", "", "-h", "--help", "help", "=", "--x=y", "-q"])
            .prop_map(|word| word.as_bytes().to_vec()),
        prop::collection::vec(1..=255u8, 0..6),
    ];
    let text = prop_oneof![Just("-".to_owned()), "[^\0]{0,5}"].prop_map(String::into_bytes);
    prop_oneof![
        prop::sample::select(vec![('q', "quiet"), ('v', "verbose"), ('0', "null")])
            .prop_map(|(short, long)| Meant::Switch(short, long)),
        "[0-9]{1,9}[KM]?".prop_map(|n| Meant::Value('m', "max-bytes", n.into_bytes())),
        word.clone().prop_map(|path| Meant::Value('o', "output", path)),
        text.prop_map(|text| Meant::Value('s', "source", text)),
        word.prop_map(Meant::File),
    ]
}

/// One of the spellings that mean this; `bundle` is an open `-qv` word that it may join.
fn spell(meant: &Meant, how: u8, line: &mut Vec<Vec<u8>>, bundle: &mut bool) {
    let joined = |line: &mut Vec<Vec<u8>>, bundle: &mut bool, short: char| match line.last_mut() {
        Some(word) if *bundle => word.push(short as u8),
        _ => line.push(vec![b'-', short as u8]),
    };
    match meant {
        Meant::Switch(short, long) => {
            if how.is_multiple_of(2) {
                line.push(format!("--{long}").into_bytes());
                *bundle = false;
            } else {
                joined(line, bundle, *short);
                *bundle = true;
            }
        }
        Meant::Value(short, long, value) => {
            match how % 4 {
                0 => line.extend([format!("--{long}").into_bytes(), value.clone()]),
                1 => line.push([format!("--{long}=").as_bytes(), value].concat()),
                2 if !value.is_empty() => {
                    joined(line, bundle, *short);
                    line.last_mut().unwrap().extend(value);
                }
                _ => {
                    joined(line, bundle, *short);
                    line.push(value.clone());
                }
            }
            *bundle = false;
        }
        Meant::File(path) => {
            line.push(path.clone());
            *bundle = false;
        }
    }
}

/// What it must read as, worked out without any parser.
fn expected(meant: &[Meant]) -> Demo {
    let path = |bytes: &Vec<u8>| Operand(OsString::from_vec(bytes.clone()).into());
    let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
    let mut demo = Demo {
        quiet: false,
        verbose: 0,
        null: false,
        max_bytes: ByteSize::mib(1),
        output: None,
        source: Vec::new(),
        files: Vec::new(),
    };
    for one in meant {
        match one {
            Meant::Switch('q', _) => demo.quiet = true,
            Meant::Switch('v', _) => demo.verbose += 1,
            Meant::Switch(..) => demo.null = true,
            Meant::Value('m', _, value) => demo.max_bytes = ByteSize::from_arg_value(&text(value)).unwrap(),
            Meant::Value('o', _, value) => demo.output = Some(path(value)),
            Meant::Value(_, _, value) => demo.source.push(Word(text(value))),
            Meant::File(value) => demo.files.push(path(value)),
        }
    }
    demo
}

proptest! {
    #[test]
    fn every_spelling_means_the_same(meant in prop::collection::vec((meant(), any::<u8>()), 0..12)) {
        let (mut line, mut bundle) = (Vec::new(), false);
        let (operands, options): (Vec<_>, Vec<_>) =
            meant.into_iter().partition(|(one, _)| matches!(one, Meant::File(_)));
        let plain = |path: &[u8]| path == b"-" || !path.starts_with(b"-");
        // Plain operands may stand among the options, the others after `--`.
        let (mut early, late): (Vec<_>, Vec<_>) = operands.into_iter().partition(
            |(one, how)| matches!(one, Meant::File(path) if plain(path)) && how % 2 == 0);
        let mut order = Vec::new();
        for (option, how) in options {
            if how % 3 == 0 && !early.is_empty() {
                order.push(early.remove(0));
            }
            order.push((option, how));
        }
        order.extend(early);
        for (one, how) in &order {
            spell(one, *how, &mut line, &mut bundle);
        }
        line.push(b"--".to_vec());
        for (one, how) in &late {
            spell(one, *how, &mut line, &mut bundle);
        }
        let meant: Vec<_> = order.into_iter().chain(late).map(|(one, _)| one).collect();
        prop_assert_eq!(demo(&line).unwrap(), expected(&meant), "{:?}", line);
    }

    #[test]
    fn any_words_are_read_or_refused_in_one_line(
        line in prop::collection::vec(prop::collection::vec(1..=255u8, 0..6), 0..6)
    ) {
        match demo(&line) {
            Err(Early::Usage(reason)) => prop_assert!(!reason.is_empty() && !reason.contains(MARK)),
            Err(Early::Output(text)) => prop_assert!(text.ends_with('\n')),
            Ok(_) => {}
        }
    }
}
