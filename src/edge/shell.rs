//! The life of one program: arguments in, records out, messages beside them, one exit status.
//!
//! | status | meaning |
//! |---|---|
//! | 0 | done, and the answer is yes |
//! | 1 | ran to the end, and the answer is no |
//! | 2 | trouble: usage, input or output; beats 1 |
//! | SIGPIPE | the reader of stdout went away; as every C filter dies, so that `xargs` and the shell see it |

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
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
    /// For verdicts and names: writes of at most 4096 bytes (`PIPE_BUF`, pipe(7)), which a pipe takes
    /// whole, so that `xargs -P` tears no line.
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
}

impl Shell {
    fn new(name: &'static str, buffer: Buffer) -> Shell {
        Shell { out: Out::new(buffer), name, status: 0, stderr_is_terminal: io::stderr().is_terminal() }
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

    /// One line, one `write(2)`, so that messages of parallel programs do not mix. A stderr that cannot
    /// be written leaves nobody to tell.
    fn message(&mut self, text: &str) {
        let line = format!("{}: {}\n", self.name, escaped(text, self.stderr_is_terminal));
        let _ = io::stderr().write_all(line.as_bytes());
    }

    /// Flush, tell what stopped the program, and settle the status.
    fn end(mut self, stopped: Result<(), Stop>) -> ExitCode {
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
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => die_of_closed_pipe(),
            Err(error) => self.trouble(&"write error", &error),
            Ok(()) => {}
        }
        ExitCode::from(self.status)
    }
}

/// Buffered stdout that never splits a record which fits the buffer: it is flushed before a record that
/// does not fit any more, not in its middle. On a terminal every record shows at once.
pub struct Out {
    stdout: io::Stdout,
    buffer: Vec<u8>,
    /// Bytes; also the largest write.
    limit: usize,
    is_terminal: bool,
    /// What `write!` formats into, so that its pieces arrive as one record.
    scratch: Vec<u8>,
}

impl Out {
    fn new(buffer: Buffer) -> Out {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let limit = match buffer {
            Buffer::Lines => 4096,
            Buffer::Blocks => 64 << 10,
        };
        Out { stdout, buffer: Vec::with_capacity(limit), limit, is_terminal, scratch: Vec::new() }
    }

    /// Write what is buffered. Buffered bytes are gone afterwards, also on an error: nobody may write
    /// them a second time after half of them.
    fn drain(&mut self) -> io::Result<()> {
        let written = write_to(&self.stdout, &self.buffer);
        self.buffer.clear();
        written
    }
}

impl Write for Out {
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        self.write_all(record).map(|()| record.len())
    }

    fn write_all(&mut self, record: &[u8]) -> io::Result<()> {
        if self.buffer.len() + record.len() > self.limit {
            self.drain()?;
        }
        if record.len() > self.limit {
            return write_to(&self.stdout, record);
        }
        self.buffer.extend_from_slice(record);
        if self.is_terminal { self.drain() } else { Ok(()) }
    }

    fn write_fmt(&mut self, record: std::fmt::Arguments<'_>) -> io::Result<()> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let written = scratch.write_fmt(record).and_then(|()| self.write_all(&scratch));
        self.scratch = scratch;
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.drain()
    }
}

/// Past std's own line buffer, which would cut records that end in NUL.
fn write_to(stdout: &io::Stdout, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(stdout, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
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

/// Text that cannot move a cursor, forge a second line, or (on a terminal) reorder or hide what stands
/// beside it.
fn escaped(text: &str, terminal: bool) -> String {
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
