//! argh made Unix.
//!
//! argh reads `&str` words, takes no `-`, no `--option=value`, no `-qv`, and refuses an option given
//! twice. This front end knows the program's options from [`ArgsInfo`], reads the words as `getopt_long`
//! would, and hands argh one canonical spelling: every option with its value as two words, then `--`,
//! then the operands. `--help` and `--version` are answered before anything can be wrong.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use argh::{ArgsInfo, EarlyExit, FlagInfo, FlagInfoKind, FromArgValue, FromArgs, Optionality};

/// A path on the command line: any bytes the system allows, UTF-8 or not. Every operand and every
/// option that names a file is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand(pub PathBuf);

impl FromArgValue for Operand {
    fn from_arg_value(word: &str) -> Result<Self, String> {
        Ok(Operand(OsString::from_vec(unescape(word)).into()))
    }
}

impl From<Operand> for PathBuf {
    fn from(operand: Operand) -> PathBuf {
        operand.0
    }
}

/// A word that must be text (`--source`, `--session`): what `String` would be, if `String` could tell
/// a word that is not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word(pub String);

impl FromArgValue for Word {
    fn from_arg_value(word: &str) -> Result<Self, String> {
        if word.contains(MARK) { Err("not UTF-8".to_owned()) } else { Ok(Word(word.to_owned())) }
    }
}

impl From<Word> for String {
    fn from(word: Word) -> String {
        word.0
    }
}

/// The `N` of `--max-bytes N`: digits, with `K`, `M`, `G` or `T` for powers of 1024. 0 means no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// `n` mebibytes.
    pub const fn mib(n: u32) -> ByteSize {
        ByteSize((n as u64) << 20)
    }
}

impl FromArgValue for ByteSize {
    fn from_arg_value(word: &str) -> Result<Self, String> {
        let units = [("K", 10), ("M", 20), ("G", 30), ("T", 40)];
        let unit = units.into_iter().find_map(|(unit, shift)| Some((word.strip_suffix(unit)?, shift)));
        let (digits, shift) = unit.unwrap_or((word, 0));
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err("not a number of bytes such as 4096, 64K or 2G".to_owned());
        }
        let size = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
        size.map(ByteSize).ok_or_else(|| "too large".to_owned())
    }
}

/// The `N` of `-j N`. 0 means as many as there are processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jobs(u16);

impl Jobs {
    /// No thread but the first.
    pub const ONE: Jobs = Jobs(1);

    /// How many workers that is.
    pub fn count(self) -> usize {
        match self.0 {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n.into(),
        }
    }
}

impl FromArgValue for Jobs {
    fn from_arg_value(word: &str) -> Result<Self, String> {
        match word.parse() {
            Ok(n @ 0..=1024) => Ok(Jobs(n)),
            _ => Err("not a number of jobs from 0 to 1024".to_owned()),
        }
    }
}

/// Why a command line gave no arguments to run with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Early {
    /// Asked for: goes to stdout, status 0.
    Output(String),
    /// Wrong: goes to stderr, status 2. One line, without the program's name.
    Usage(String),
}

/// Read the words after the program's name as `T`.
///
/// Of an option given twice the last one counts, so that an alias can be overridden, unless it is
/// repeatable. Options may follow operands.
///
/// # Errors
/// [`Early::Output`] when help or version is asked for, however wrong the rest is; else
/// [`Early::Usage`] with the first thing wrong.
pub fn parse<T: FromArgs + ArgsInfo>(
    name: &str,
    words: impl IntoIterator<Item = OsString>,
) -> Result<T, Early> {
    let line = CommandLine::read(T::get_args_info().flags, words);
    match line.asked {
        Some(Asked::Help) => return Err(Early::Output(help::<T>(name))),
        Some(Asked::Version) => return Err(Early::Output(format!("{name} {}\n", crate::VERSION))),
        None => {}
    }
    if let Some(reason) = line.wrong {
        return Err(Early::Usage(reason));
    }
    T::from_args(&[name], &line.canonical()).map_err(|exit| Early::Usage(line.explain(&exit)))
}

/// argh's help, with the option it does not know of.
fn help<T: FromArgs>(name: &str) -> String {
    let text = T::from_args(&[name], &["--help"]).err().map(|exit| exit.output).unwrap_or_default();
    text.trim_end().lines().fold(String::new(), |mut help, line| {
        help += line;
        help += "\n";
        if line.starts_with("  -h, --help") {
            help += "  -V, --version     display the version\n";
        }
        help
    })
}

enum Asked {
    Help,
    Version,
}

/// One option as it was given.
struct Given<'a> {
    flag: &'a FlagInfo<'a>,
    value: Option<String>,
}

/// The words, told apart. `wrong` is the first thing wrong; reading goes on after it, because help may
/// still be asked for.
#[derive(Default)]
struct CommandLine<'a> {
    options: Vec<Given<'a>>,
    operands: Vec<String>,
    asked: Option<Asked>,
    wrong: Option<String>,
}

impl<'a> CommandLine<'a> {
    fn read(flags: &'a [FlagInfo<'a>], words: impl IntoIterator<Item = OsString>) -> Self {
        let mut line = CommandLine::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            match word.as_bytes() {
                b"--" => line.operands.extend(words.by_ref().map(|word| escape(word.as_bytes()))),
                [b'-', b'-', long @ ..] => line.long(flags, long, &mut words),
                [b'-', bundle @ ..] if !bundle.is_empty() => line.bundle(flags, bundle, &mut words),
                operand => line.operands.push(escape(operand)),
            }
        }
        line.keep_last();
        line
    }

    /// `--name`, `--name=value` or `--name value`.
    fn long(&mut self, flags: &'a [FlagInfo<'a>], word: &[u8], words: &mut dyn Iterator<Item = OsString>) {
        let mut parts = word.splitn(2, |&b| b == b'=');
        let name = parts.next().unwrap_or_default();
        let value = parts.next();
        let flag = flags.iter().find(|flag| flag.long.as_bytes().strip_prefix(b"--") == Some(name));
        match (name, flag, value) {
            (b"help", _, None) => self.ask(Asked::Help),
            (b"version", _, None) => self.ask(Asked::Version),
            (b"help" | b"version", _, Some(_)) => self.unwanted(name),
            (_, None, _) => self.wrong(format!("unrecognized option '--{}'", shown(name))),
            (_, Some(flag), value) => match (takes_value(flag), value) {
                (false, None) => self.options.push(Given { flag, value: None }),
                (false, Some(_)) => self.unwanted(name),
                (true, Some(value)) => self.options.push(Given { flag, value: Some(escape(value)) }),
                (true, None) => self.with_next(flag, flag.long, words),
            },
        }
    }

    /// `-q`, `-qv`, `-mVALUE` or `-m VALUE`.
    fn bundle(&mut self, flags: &'a [FlagInfo<'a>], word: &[u8], words: &mut dyn Iterator<Item = OsString>) {
        let mut rest = word;
        while let Some((letter, tail)) = first_letter(rest) {
            rest = tail;
            match (letter, flags.iter().find(|flag| flag.short == letter)) {
                (Some('h'), _) => self.ask(Asked::Help),
                (Some('V'), _) => self.ask(Asked::Version),
                (Some(_), Some(flag)) if !takes_value(flag) => {
                    self.options.push(Given { flag, value: None });
                }
                (Some(letter), Some(flag)) if rest.is_empty() => {
                    return self.with_next(flag, &format!("-{letter}"), words);
                }
                (Some(_), Some(flag)) => {
                    return self.options.push(Given { flag, value: Some(escape(rest)) });
                }
                (Some(letter), None) => self.wrong(format!("invalid option '-{letter}'")),
                (None, _) => return self.wrong(format!("invalid option '-{}'", shown(word))),
            }
        }
    }

    /// The option takes the word after it, whatever that looks like.
    fn with_next(
        &mut self,
        flag: &'a FlagInfo<'a>,
        spelled: &str,
        words: &mut dyn Iterator<Item = OsString>,
    ) {
        match words.next() {
            Some(value) => self.options.push(Given { flag, value: Some(escape(value.as_bytes())) }),
            None => self.wrong(format!("option '{spelled}' requires an argument")),
        }
    }

    fn ask(&mut self, asked: Asked) {
        self.asked.get_or_insert(asked);
    }

    fn wrong(&mut self, reason: String) {
        self.wrong.get_or_insert(reason);
    }

    fn unwanted(&mut self, name: &[u8]) {
        self.wrong(format!("option '--{}' doesn't allow an argument", shown(name)));
    }

    /// argh refuses a second value; here it replaces the first. Switches may count, so they all stay.
    fn keep_last(&mut self) {
        let mut seen = Vec::new();
        let mut kept: Vec<_> = std::mem::take(&mut self.options).into_iter().rev().collect();
        kept.retain(|given| {
            let once = takes_value(given.flag) && !matches!(given.flag.optionality, Optionality::Repeating);
            let first = !seen.contains(&given.flag.long);
            if once && first {
                seen.push(given.flag.long);
            }
            !once || first
        });
        kept.reverse();
        self.options = kept;
    }

    /// The one spelling that argh reads without a mistake.
    fn canonical(&self) -> Vec<&str> {
        let options = self.options.iter().flat_map(|given| [Some(given.flag.long), given.value.as_deref()]);
        options.flatten().chain(["--"]).chain(self.operands.iter().map(String::as_str)).collect()
    }

    /// argh's complaint in this toolkit's words. What argh can still find wrong is a value that its
    /// type refuses, a required word that is missing, an operand too many.
    fn explain(&self, exit: &EarlyExit) -> String {
        let complaint = exit.output.trim_end();
        let refused_option = self.options.iter().find_map(|given| {
            let (name, value) = (given.flag.long, given.value.as_deref()?);
            let reason =
                complaint.strip_prefix(&format!("Error parsing option '{name}' with value '{value}': "))?;
            Some(format!("invalid argument '{}' for '{name}': {reason}", unescaped(value)))
        });
        let refused_operand = || {
            let rest = complaint.strip_prefix("Error parsing positional argument '")?;
            self.operands.iter().find_map(|value| {
                let (_, rest) = rest.split_once("' with value '")?;
                let reason = rest.strip_prefix(value.as_str())?.strip_prefix("': ")?;
                Some(format!("invalid operand '{}': {reason}", unescaped(value)))
            })
        };
        let extra = || {
            let word = complaint.strip_prefix("Unrecognized argument: ")?;
            Some(format!("extra operand '{}'", unescaped(word)))
        };
        let missing = || {
            let one_line = complaint.split_whitespace().collect::<Vec<_>>().join(" ");
            let mut letters = one_line.chars();
            letters.next().map(|first| first.to_lowercase().chain(letters).collect::<String>())
        };
        refused_option.or_else(refused_operand).or_else(extra).or_else(missing).unwrap_or_default()
    }
}

fn takes_value(flag: &FlagInfo<'_>) -> bool {
    matches!(flag.kind, FlagInfoKind::Option { .. })
}

/// The first character of an option word, `None` where it is not UTF-8, and what follows it.
fn first_letter(word: &[u8]) -> Option<(Option<char>, &[u8])> {
    let chunk = word.utf8_chunks().next()?;
    let letter = chunk.valid().chars().next();
    let length = letter.map_or(chunk.invalid().len(), char::len_utf8);
    Some((letter, word.get(length..).unwrap_or_default()))
}

/// NUL cannot occur in a word of the command line, so two of them can enclose, as hexadecimal digits,
/// a word that argh's `&str` cannot carry.
const MARK: char = '\0';

fn escape(word: &[u8]) -> String {
    match std::str::from_utf8(word) {
        Ok(text) => text.to_owned(),
        Err(_) => {
            let digits: String = word.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{MARK}{digits}{MARK}")
        }
    }
}

fn unescape(word: &str) -> Vec<u8> {
    match word.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(MARK)) {
        None => word.as_bytes().to_vec(),
        Some(digits) => digits
            .as_bytes()
            .chunks(2)
            .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect(),
    }
}

/// A word as a message shows it.
fn shown(word: &[u8]) -> String {
    match std::str::from_utf8(word) {
        Ok(text) => text.to_owned(),
        Err(_) => word.escape_ascii().to_string(),
    }
}

/// An escaped word as a message shows it.
fn unescaped(word: &str) -> String {
    shown(&unescape(word))
}

#[cfg(test)]
mod tests {
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
        assert_eq!(
            demo(&[&b"-o\xfd"[..]]).unwrap().output,
            Some(Operand(OsString::from_vec(vec![0xfd]).into()))
        );
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
            assert!(help.contains("\n  -h, --help        display usage information\n  -V, --version     display the version\n"), "{help}");
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
                Meant::Value('m', _, value) => {
                    demo.max_bytes = ByteSize::from_arg_value(&text(value)).unwrap()
                }
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
}
