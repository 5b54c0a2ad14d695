//! Which inputs a program reads: its operands, or the names in a `--files0-from` list, or stdin.
//!
//! The rules are those of `wc`, `du` and `sort`: `-` is stdin, a list and operands exclude each other, a
//! list is read as it comes and may hold a million names, a bad name in it is reported by its position
//! and the next one is read.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::ndjson::{Record, Records};

/// One input. Displays as messages name it: the path, or `-`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Standard input.
    Stdin,
    /// A file, FIFO or device.
    File(PathBuf),
}

impl Input {
    /// Open it for reading, unbuffered.
    ///
    /// # Errors
    /// Those of `open(2)`, and `EISDIR` for a directory, which would otherwise fail at the first read.
    pub fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(self.file()?))
    }

    /// About how many bytes it has, as far as that can be told without opening it.
    pub fn size(&self) -> u64 {
        match self {
            Input::Stdin => 0,
            Input::File(path) => path.metadata().map_or(0, |file| file.len()),
        }
    }

    /// Its path, or `-` for stdin.
    pub fn path(&self) -> &Path {
        match self {
            Input::Stdin => Path::new("-"),
            Input::File(path) => path,
        }
    }

    /// The same as the file it is.
    ///
    /// # Errors
    /// Those of [`Input::open`].
    pub fn file(&self) -> io::Result<File> {
        let file = match self {
            Input::Stdin => io::stdin().as_fd().try_clone_to_owned()?.into(),
            Input::File(path) => File::open(path)?,
        };
        match file.metadata()?.is_dir() {
            true => Err(io::Error::from_raw_os_error(libc::EISDIR)),
            false => Ok(file),
        }
    }
}

impl From<PathBuf> for Input {
    fn from(path: PathBuf) -> Input {
        if path.as_os_str() == "-" { Input::Stdin } else { Input::File(path) }
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Input::Stdin => f.write_str("-"),
            Input::File(path) => Named(path).fmt(f),
        }
    }
}

/// A file, or `-`, as the one input it is; a directory as the `.curt` files in it, by name.
///
/// # Errors
/// The path or the directory cannot be read.
pub fn folder_of_bodies(path: &Path) -> io::Result<Vec<Input>> {
    let input = Input::from(path.to_owned());
    if matches!(input, Input::Stdin) || !std::fs::metadata(path)?.is_dir() {
        return Ok(vec![input]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let file = entry?.path();
        if file.extension().is_some_and(|ext| ext == "curt") {
            files.push(file);
        }
    }
    files.sort();
    Ok(files.into_iter().map(Input::File).collect())
}

/// A path in a message: as it is, or, when it is not UTF-8, with `\xff` for every byte that is no ASCII;
/// `''` when there is nothing of it.
pub struct Named<'a>(pub &'a Path);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.to_str() {
            Some("") => f.write_str("''"),
            Some(text) => f.write_str(text),
            None => self.0.as_os_str().as_bytes().escape_ascii().fmt(f),
        }
    }
}

/// An operand, or a name in a list, that names no input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadOperand {
    /// What to name in the message: the list and the position of the name in it, or the operand.
    pub place: String,
    /// What is wrong with it.
    pub reason: String,
}

impl BadOperand {
    fn new(place: impl fmt::Display, reason: impl Into<String>) -> BadOperand {
        BadOperand { place: place.to_string(), reason: reason.into() }
    }
}

impl fmt::Display for BadOperand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)
    }
}

impl std::error::Error for BadOperand {}

/// The inputs that `files`, or the list `files0_from`, name; stdin when there is neither.
///
/// # Errors
/// A usage error: both are given, or `-` stands twice. In the iterator: a list that cannot be opened or
/// read, which ends it, or one bad name of the list, after which it goes on.
pub fn inputs<F: Into<PathBuf>, L: Into<PathBuf>>(
    files: impl IntoIterator<Item = F>,
    files0_from: Option<L>,
) -> Result<impl Iterator<Item = Result<Input, BadOperand>>, BadOperand> {
    let mut files: Vec<Input> = files.into_iter().map(|file| Input::from(file.into())).collect();
    let list = files0_from.map(|list| Input::from(list.into()));
    if let (Some(file), Some(_)) = (files.first(), &list) {
        return Err(BadOperand::new(file, "file operands cannot be combined with --files0-from"));
    }
    if files.iter().filter(|&file| *file == Input::Stdin).count() > 1 {
        return Err(BadOperand::new("-", "stdin given twice"));
    }
    if files.is_empty() && list.is_none() {
        files.push(Input::Stdin);
    }
    Ok(files.into_iter().map(Ok).chain(list.into_iter().flat_map(List::new)))
}

/// No system opens a longer name (`PATH_MAX`, limits.h, is 4096 on Linux); a list that holds one is no list.
const LONGEST_NAME: u64 = 64 << 10;

/// The names of a list, NUL after each; the last one may lack it.
struct List {
    list: Input,
    /// `None` before it is opened and after it ended.
    names: Option<Records<Box<dyn Read + Send>>>,
    unopened: Option<io::Error>,
    stdin_taken: bool,
}

impl List {
    fn new(list: Input) -> List {
        let (names, unopened) = match list.open() {
            Ok(names) => (Some(Records::new(names, 0, LONGEST_NAME)), None),
            Err(error) => (None, Some(error)),
        };
        let stdin_taken = list == Input::Stdin;
        List { list, names, unopened, stdin_taken }
    }

    fn input(&mut self, number: u64, name: &[u8]) -> Result<Input, BadOperand> {
        let place = format_args!("{}:{number}", self.list).to_string();
        let path = PathBuf::from(std::ffi::OsString::from_vec(name.to_vec()));
        match Input::from(path) {
            _ if name.is_empty() => Err(BadOperand::new(place, "zero-length file name")),
            Input::Stdin if self.list == Input::Stdin => {
                Err(BadOperand::new(place, "'-' in a list that is read from stdin"))
            }
            Input::Stdin if self.stdin_taken => Err(BadOperand::new(place, "stdin given twice")),
            input => {
                self.stdin_taken |= input == Input::Stdin;
                Ok(input)
            }
        }
    }
}

impl Iterator for List {
    type Item = Result<Input, BadOperand>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.unopened.take() {
            return Some(Err(BadOperand::new(&self.list, error.to_string())));
        }
        let mut names = self.names.take()?;
        let item = match names.next() {
            Ok(None) => return None,
            Err(error) => return Some(Err(BadOperand::new(&self.list, error.to_string()))),
            Ok(Some(Record::TooLong { number })) => {
                Err(BadOperand::new(format_args!("{}:{number}", self.list), "file name too long"))
            }
            Ok(Some(Record::Whole { number, bytes, .. })) => self.input(number, bytes),
        };
        self.names = Some(names);
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    /// Names and complaints, in order, as a test writes them.
    fn read(items: impl Iterator<Item = Result<Input, BadOperand>>) -> Vec<String> {
        items.map(|item| item.map_or_else(|bad| format!("! {bad}"), |input| input.to_string())).collect()
    }

    fn from_files(files: &[&str]) -> Vec<String> {
        read(inputs(files, None::<PathBuf>).unwrap())
    }

    /// What a list with these bytes gives. The first complaint's place is cut to the list's own name.
    fn from_list(bytes: &[u8]) -> Vec<String> {
        let list = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(list.path(), bytes).unwrap();
        let place = list.path().display().to_string();
        let read = read(inputs::<PathBuf, _>([], Some(list.path())).unwrap());
        read.into_iter().map(|item| item.replace(&place, "LIST")).collect()
    }

    #[test]
    fn no_operand_is_stdin() {
        assert_eq!(from_files(&[]), ["-"]);
    }

    #[test]
    fn operands_come_in_their_order_and_a_dash_among_them_is_stdin() {
        assert_eq!(from_files(&["b", "-", "a", "b"]), ["b", "-", "a", "b"]);
        assert_eq!(inputs(["-"], None::<PathBuf>).unwrap().next(), Some(Ok(Input::Stdin)));
        assert_eq!(inputs(["./-"], None::<PathBuf>).unwrap().next(), Some(Ok(Input::File("./-".into()))));
    }

    #[test]
    fn stdin_twice_is_a_usage_error() {
        let bad = inputs(["-", "a", "-"], None::<PathBuf>).err().unwrap();
        assert_eq!(bad.to_string(), "-: stdin given twice");
    }

    #[test]
    fn a_list_and_operands_are_a_usage_error() {
        let bad = inputs(["a"], Some("list")).err().unwrap();
        assert_eq!(bad.to_string(), "a: file operands cannot be combined with --files0-from");
    }

    #[test]
    fn a_list_names_what_nul_ends_and_the_last_name_may_lack_it() {
        assert_eq!(from_list(b"a\0b c\0\nd\0"), ["a", "b c", "\nd"]);
        assert_eq!(from_list(b"a\0b"), ["a", "b"]);
        assert_eq!(from_list(b"a\xff\0"), [r"a\xff"]);
    }

    #[test]
    fn an_empty_list_names_nothing_not_even_stdin() {
        assert_eq!(from_list(b""), [""; 0]);
    }

    #[test]
    fn a_zero_length_name_is_told_by_its_position_and_the_list_goes_on() {
        assert_eq!(from_list(b"a\0\0b\0"), ["a", "! LIST:2: zero-length file name", "b"]);
        assert_eq!(from_list(b"\0"), ["! LIST:1: zero-length file name"]);
    }

    #[test]
    fn a_dash_in_a_list_from_a_file_is_stdin_once() {
        assert_eq!(from_list(b"-\0a\0-\0"), ["-", "a", "! LIST:3: stdin given twice"]);
    }

    #[test]
    fn a_name_without_end_is_not_kept() {
        let name = vec![b'x'; 1 << 20];
        assert_eq!(from_list(&[&name, &b"\0a\0"[..]].concat()), ["! LIST:1: file name too long", "a"]);
    }

    #[test]
    fn a_list_that_cannot_be_opened_is_one_complaint() {
        let items = read(inputs::<PathBuf, _>([], Some("/nonexistent/list")).unwrap());
        assert_eq!(items, ["! /nonexistent/list: No such file or directory (os error 2)"]);
        let items = read(inputs::<PathBuf, _>([], Some("/")).unwrap());
        assert_eq!(items, ["! /: Is a directory (os error 21)"]);
    }

    #[test]
    fn a_million_names_stream() {
        let list = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(list.path(), "some/name\0".repeat(1_000_000)).unwrap();
        assert_eq!(
            inputs::<PathBuf, _>([], Some(list.path())).unwrap().filter(Result::is_ok).count(),
            1_000_000
        );
    }

    #[test]
    fn a_directory_is_refused_at_open() {
        let error = Input::File("/".into()).open().err().unwrap();
        assert_eq!(error.raw_os_error(), Some(libc::EISDIR));
    }

    #[test]
    fn a_path_that_is_not_utf8_is_shown_by_its_bytes() {
        let path = Path::new(OsStr::from_bytes(b"a\xff\xc3\xa9"));
        assert_eq!(Named(path).to_string(), r"a\xff\xc3\xa9");
        assert_eq!(Named(Path::new("é\n")).to_string(), "é\n");
    }
}
