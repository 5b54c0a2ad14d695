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
mod tests;
