//! The life of one program: arguments in, records out, messages beside them, one exit status.
//!
//! | status | meaning |
//! |---|---|
//! | 0 | done, and the answer is yes |
//! | 1 | ran to the end, and the answer is no |
//! | 2 | trouble: usage, input or output; beats 1 |
//! | SIGPIPE | the reader of stdout went away; as every C filter dies, so that `xargs` and the shell see it |

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::SystemTime;

use argh::{ArgsInfo, FromArgs};

use super::argv::{self, Early};

/// Why a program stopped before its end.
#[derive(Debug)]
pub enum Stop {
    /// Stdout could not be written.
    Output(io::Error),
    /// The command line asks for something that cannot be; only `run` could see it.
    Usage(String),
}

impl Stop {
    /// A usage error with this reason.
    pub fn usage(reason: impl Display) -> Stop {
        Stop::Usage(reason.to_string())
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Output(error)
    }
}

/// How stdout is buffered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// For verdicts and names: writes of at most `PIPE_BUF` bytes (4096 on Linux, pipe(7)), which a pipe
    /// takes whole, so that `xargs -P` tears no line.
    Lines,
    /// For data: writes of 64 KiB, and 1 MiB of pipe on either side where the system grants it.
    Blocks,
}

/// Run one program: read its command line as `T`, call `run`, flush, and give the exit status.
///
/// `name` is the program's name in messages, whatever `argv[0]` says.
pub fn main<T: FromArgs + ArgsInfo>(
    name: &'static str,
    buffer: Buffer,
    run: fn(T, &mut Shell) -> Result<(), Stop>,
) -> ExitCode {
    let mut shell = Shell::new(name, buffer);
    let stopped = match argv::parse::<T>(name, std::env::args_os().skip(1)) {
        Ok(args) => {
            if buffer == Buffer::Blocks {
                widen_pipes();
            }
            run(args, &mut shell)
        }
        Err(Early::Output(text)) => shell.out.write_all(text.as_bytes()).map_err(Stop::Output),
        Err(Early::Usage(reason)) => Err(Stop::Usage(reason)),
    };
    shell.end(stopped)
}

/// What a program has: stdout, a place for its messages, and the status it will end with.
pub struct Shell {
    /// Stdout, buffered. One `write_all` or `writeln!` a record.
    pub out: Out,
    name: &'static str,
    status: u8,
    stderr_is_terminal: bool,
    bar: Option<Rc<dyn Bar>>,
}

/// A bar on stderr that messages and records must not be drawn over. What it is drawn with is linked only into programs
/// that have one.
pub(super) trait Bar {
    /// Do something that may write to the terminal, with the bar out of the way.
    fn aside(&self, write: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()>;

    /// Wipe it away.
    fn finish(&self);
}

impl Shell {
    fn new(name: &'static str, buffer: Buffer) -> Shell {
        Shell {
            out: Out::stdout(buffer),
            name,
            status: 0,
            stderr_is_terminal: io::stderr().is_terminal(),
            bar: None,
        }
    }

    /// `prog: place: reason` on stderr; the program will end with status 2.
    pub fn trouble(&mut self, place: &dyn Display, reason: &dyn Display) {
        self.status = 2;
        self.complain(place, reason);
    }

    /// `prog: place: reason` on stderr; the program will end with status 1 at least.
    pub fn fault(&mut self, place: &dyn Display, reason: &dyn Display) {
        self.negative();
        self.complain(place, reason);
    }

    /// What could be had; else [`trouble`](Shell::trouble) at `place`.
    pub fn tried<T>(&mut self, place: &dyn Display, result: io::Result<T>) -> Option<T> {
        result.map_err(|error| self.trouble(place, &error)).ok()
    }

    /// `prog: text` on stderr. The status stays.
    pub fn say(&mut self, text: &dyn Display) {
        self.message(&text.to_string());
    }

    /// The answer is no: the program will end with status 1 at least.
    pub fn negative(&mut self) {
        self.status = self.status.max(1);
    }

    /// Whether a person reads stderr as it comes.
    pub fn stderr_is_terminal(&self) -> bool {
        self.stderr_is_terminal
    }

    /// The wall clock, for `--since 90d` and nothing else: output depends on input bytes and options.
    #[allow(clippy::disallowed_methods)]
    pub fn now() -> SystemTime {
        SystemTime::now()
    }

    fn complain(&mut self, place: &dyn Display, reason: &dyn Display) {
        let (place, reason) = (place.to_string(), reason.to_string());
        let reason = without_errno(&reason);
        if place.is_empty() { self.message(reason) } else { self.message(&format!("{place}: {reason}")) }
    }

    /// One line, one `write(2)` that a pipe takes whole, so that messages of parallel programs do not mix;
    /// of a longer one both ends. A stderr that cannot be written leaves nobody to tell.
    fn message(&mut self, text: &str) {
        let text = escaped(text, self.stderr_is_terminal);
        let room = libc::PIPE_BUF.saturating_sub(self.name.len() + ": \n".len());
        let line = format!("{}: {}\n", self.name, both_ends(&text, room));
        let _ = put(&mut io::stderr(), line.as_bytes(), self.bar.as_deref());
    }

    /// Keep out of the way of this bar, and wipe it at the end.
    pub(super) fn watch(&mut self, bar: Rc<dyn Bar>) {
        self.out.bar = self.out.at_once.then(|| Rc::clone(&bar));
        self.bar = Some(bar);
    }

    /// Flush, tell what stopped the program, and settle the status.
    fn end(mut self, stopped: Result<(), Stop>) -> ExitCode {
        if let Some(bar) = &self.bar {
            bar.finish();
        }
        let (stopped, usage) = match stopped {
            Err(Stop::Usage(reason)) => (Ok(()), Some(reason)),
            Err(Stop::Output(error)) => (Err(error), None),
            Ok(()) => (Ok(()), None),
        };
        let flushed = stopped.and_then(|()| self.out.flush());
        if let Some(reason) = usage {
            self.status = 2;
            self.message(&reason);
            let _ = writeln!(io::stderr(), "Try '{} --help' for more information.", self.name);
        }
        match flushed {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                die_of_closed_pipe();
                // Still here: a parent blocked the signal. What was not written is not done.
                self.status = 2;
            }
            Err(error) => self.trouble(&"write error", &error),
            Ok(()) => {}
        }
        ExitCode::from(self.status)
    }
}

/// Buffered output that never splits a record which fits the buffer: it is flushed before a record that
/// does not fit any more, not in its middle. On a terminal every record shows at once.
pub struct Out {
    sink: Box<dyn Write>,
    buffer: Vec<u8>,
    /// Bytes; no write of several records is larger.
    limit: usize,
    at_once: bool,
    /// A bar on the terminal that the records go to.
    bar: Option<Rc<dyn Bar>>,
    /// What `write!` formats into, so that its pieces arrive as one record.
    scratch: Vec<u8>,
}

impl Out {
    fn new(sink: Box<dyn Write>, limit: usize, at_once: bool) -> Out {
        Out { sink, buffer: Vec::with_capacity(limit), limit, at_once, bar: None, scratch: Vec::new() }
    }

    fn stdout(buffer: Buffer) -> Out {
        let limit = match buffer {
            Buffer::Lines => libc::PIPE_BUF,
            Buffer::Blocks => 64 << 10,
        };
        Out::new(Box::new(Stdout), limit, io::stdout().is_terminal())
    }
}

impl Write for Out {
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        self.write_all(record).map(|()| record.len())
    }

    fn write_all(&mut self, record: &[u8]) -> io::Result<()> {
        if self.buffer.len() + record.len() > self.limit {
            self.flush()?;
        }
        if record.len() > self.limit {
            return put(&mut self.sink, record, self.bar.as_deref());
        }
        self.buffer.extend_from_slice(record);
        if self.at_once { self.flush() } else { Ok(()) }
    }

    fn write_fmt(&mut self, record: fmt::Arguments<'_>) -> io::Result<()> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let written = scratch.write_fmt(record).and_then(|()| self.write_all(&scratch));
        self.scratch = scratch;
        written
    }

    /// The buffer is empty afterwards, also on an error: nobody may write its bytes a second time after
    /// half of them.
    fn flush(&mut self) -> io::Result<()> {
        let written = put(&mut self.sink, &self.buffer, self.bar.as_deref());
        self.buffer.clear();
        written
    }
}

fn put(sink: &mut dyn Write, bytes: &[u8], bar: Option<&dyn Bar>) -> io::Result<()> {
    match bar {
        Some(bar) if !bytes.is_empty() => bar.aside(&mut || sink.write_all(bytes)),
        _ => sink.write_all(bytes),
    }
}

/// The descriptor itself. std's `Stdout` has a line buffer of its own, which would cut records, and
/// forgets an error when it is flushed at exit.
struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(io::stdout(), bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Ask for 1 MiB of pipe on stdin and stdout. What is no pipe, or may not grow, stays as it is.
fn widen_pipes() {
    #[cfg(target_os = "linux")]
    {
        use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};
        use std::os::fd::AsFd;
        const WANTED: usize = 1 << 20;
        let (stdin, stdout) = (io::stdin(), io::stdout());
        for pipe in [stdin.as_fd(), stdout.as_fd()] {
            if fcntl_getpipe_size(pipe).is_ok_and(|size| size < WANTED) {
                let _ = fcntl_setpipe_size(pipe, WANTED);
            }
        }
    }
}

/// Rust ignores SIGPIPE so that a closed pipe is an error of the write; by now everything has been
/// dropped and this process may die as its parents expect (xargs stops, the shell says 141).
fn die_of_closed_pipe() {
    // SAFETY: signal and raise take two integers, SIG_DFL installs no handler of ours, and no other
    // thread of this process changes signal dispositions.
    #[allow(unsafe_code)]
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::raise(libc::SIGPIPE);
    }
}

/// `No such file or directory`, without the ` (os error 2)` that io::Error adds.
fn without_errno(reason: &str) -> &str {
    let cut = || {
        let (words, number) = reason.strip_suffix(')')?.rsplit_once(" (os error ")?;
        number.bytes().all(|b| b.is_ascii_digit() || b == b'-').then_some(words)
    };
    cut().unwrap_or(reason)
}

/// `text` in at most so many bytes: what names the place stands at its front, what is wrong at its end.
fn both_ends(text: &str, most: usize) -> Cow<'_, str> {
    const GAP: &str = " … ";
    if text.len() <= most {
        return text.into();
    }
    let half = most.saturating_sub(GAP.len()) / 2;
    let front = (0..=half).rev().find_map(|end| text.get(..end)).unwrap_or_default();
    let end = (text.len().saturating_sub(half)..).find_map(|start| text.get(start..)).unwrap_or_default();
    [front, GAP, end].concat().into()
}

/// Text that cannot move a cursor, forge a second line, or (on a terminal) reorder or hide what stands
/// beside it.
pub fn escaped(text: &str, terminal: bool) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => safe.extend(c.escape_default()),
            '\0'..='\x1f' | '\x7f' => safe += &format!("\\x{:02x}", u32::from(c)),
            _ if c.is_control() || (terminal && is_invisible(c)) => safe.extend(c.escape_unicode()),
            _ => safe.push(c),
        }
    }
    safe
}

/// Zero-width characters, line separators and the bidirectional controls of UAX #9.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// Every write(2) there would be.
    #[derive(Clone, Default)]
    struct Writes(Rc<RefCell<Vec<Vec<u8>>>>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn writes(limit: usize, at_once: bool, records: &[&str]) -> Vec<String> {
        let sink = Writes::default();
        let mut out = Out::new(Box::new(sink.clone()), limit, at_once);
        for record in records {
            out.write_all(record.as_bytes()).unwrap();
        }
        out.flush().unwrap();
        sink.0.take().into_iter().map(|bytes| String::from_utf8(bytes).unwrap()).collect()
    }

    #[test]
    fn records_that_fit_are_never_split() {
        assert_eq!(writes(8, false, &["aaa\n", "bbb\n", "c\n"]), ["aaa\nbbb\n", "c\n"]);
        assert_eq!(writes(8, false, &["aaa\n", "bbbbb\n"]), ["aaa\n", "bbbbb\n"]);
    }

    #[test]
    fn a_record_larger_than_the_buffer_goes_out_alone() {
        assert_eq!(writes(4, false, &["a\n", "123456\n", "b\n"]), ["a\n", "123456\n", "b\n"]);
    }

    #[test]
    fn a_record_that_is_exactly_the_buffer_fits() {
        assert_eq!(writes(4, false, &["123\n", "456\n"]), ["123\n", "456\n"]);
    }

    #[test]
    fn a_terminal_sees_each_record_at_once() {
        assert_eq!(writes(64, true, &["a\n", "b\n"]), ["a\n", "b\n"]);
    }

    #[test]
    fn a_formatted_record_is_one_record() {
        let sink = Writes::default();
        let mut out = Out::new(Box::new(sink.clone()), 8, false);
        let (name, reason) = ("a", "bc");
        writeln!(out, "{}{}", 12, 34).unwrap();
        writeln!(out, "{name}: {reason}").unwrap();
        out.flush().unwrap();
        assert_eq!(*sink.0.borrow(), [b"1234\n".to_vec(), b"a: bc\n".to_vec()]);
    }

    #[test]
    fn what_a_failed_write_left_is_not_written_again() {
        struct Full(Rc<RefCell<usize>>);
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                *self.0.borrow_mut() += 1;
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let tries = Rc::new(RefCell::new(0));
        let mut out = Out::new(Box::new(Full(Rc::clone(&tries))), 8, false);
        out.write_all(b"a\n").unwrap();
        assert!(out.flush().is_err());
        assert!(out.flush().is_ok());
        drop(out);
        assert_eq!(*tries.borrow(), 1);
    }

    #[test]
    fn a_reason_loses_its_errno_and_nothing_else() {
        let missing = io::Error::from_raw_os_error(libc::ENOENT).to_string();
        assert_eq!(without_errno(&missing), "No such file or directory");
        assert_eq!(without_errno("unterminated (os error x)"), "unterminated (os error x)");
        assert_eq!(without_errno("(os error 2)"), "(os error 2)");
        assert_eq!(without_errno("line 3)"), "line 3)");
    }

    #[test]
    fn controls_in_a_message_are_always_escaped() {
        assert_eq!(escaped("a\nb\rc\td\x1b[31me\0\x7f\u{9b}", false), r"a\nb\rc\td\x1b[31me\x00\x7f\u{9b}");
        assert_eq!(escaped("plain é 漢 👍", true), "plain é 漢 👍");
    }

    #[test]
    fn a_long_message_keeps_both_ends() {
        assert_eq!(both_ends("place: reason", 13), "place: reason");
        assert_eq!(both_ends("place: a long reason", 15), "place … eason");
        assert_eq!(both_ends(&"é".repeat(100), 16), "éé … éé");
        assert_eq!(both_ends("abc", 1), " … ");
        assert!(both_ends(&"漢".repeat(10_000), 4000).len() <= 4000);
    }

    #[test]
    fn what_reorders_or_hides_is_escaped_on_a_terminal_only() {
        let name = "a\u{202e}b\u{200b}c\u{2028}d\u{feff}";
        assert_eq!(escaped(name, true), r"a\u{202e}b\u{200b}c\u{2028}d\u{feff}");
        assert_eq!(escaped(name, false), name);
    }

    #[test]
    fn two_beats_one_and_neither_is_taken_back() {
        let mut shell = Shell::new("test", Buffer::Lines);
        assert_eq!(shell.status, 0);
        shell.negative();
        assert_eq!(shell.status, 1);
        shell.status = 2;
        shell.negative();
        assert_eq!(shell.status, 2);
    }
}
