//! What every test of a real program needs: a directory of its own, a command with bytes on stdin, a
//! shell with the programs on its path.
#![allow(dead_code, reason = "each helper serves some of the modules")]

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// A file under `tests/data`.
pub fn data(path: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(path)
}

/// The directory the programs were built into.
pub fn programs() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_curt-check")).parent().unwrap()
}

/// A fresh directory, removed with everything in it when dropped.
pub struct Dir(PathBuf);

impl Dir {
    /// `name` only tells directories apart when a run is interrupted.
    pub fn new(name: &str) -> Dir {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let unique =
            format!("curt-tools-{name}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(unique);
        fs::create_dir_all(&path).unwrap();
        Dir(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// Write a file, with the directories above it, and give its path.
    pub fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Copy a file of `tests/data` here under its own name, and give its path.
    pub fn copy(&self, data_path: impl AsRef<Path>) -> PathBuf {
        self.copy_from(data(data_path))
    }

    /// The same for any file.
    pub fn copy_from(&self, from: PathBuf) -> PathBuf {
        let to = self.join(from.file_name().unwrap());
        fs::copy(from, &to).unwrap();
        to
    }

    pub fn read(&self, name: impl AsRef<Path>) -> Vec<u8> {
        let path = self.join(name);
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The names in it, hidden ones too, in byte order.
    pub fn names(&self) -> Vec<OsString> {
        let mut names: Vec<_> =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }
}

impl AsRef<Path> for Dir {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// One run of one program. Stdin is empty unless given.
pub struct Cmd {
    command: Command,
    stdin: Option<Vec<u8>>,
}

impl Cmd {
    /// A program of this package.
    pub fn new(program: &str) -> Cmd {
        Cmd::any(programs().join(program))
    }

    /// Any other program.
    pub fn any(program: impl AsRef<OsStr>) -> Cmd {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Cmd { command, stdin: None }
    }

    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Cmd {
        self.command.arg(arg);
        self
    }

    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Cmd {
        self.command.args(args);
        self
    }

    pub fn stdin(mut self, bytes: impl AsRef<[u8]>) -> Cmd {
        self.command.stdin(Stdio::piped());
        self.stdin = Some(bytes.as_ref().to_vec());
        self
    }

    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Cmd {
        self.command.env(name, value);
        self
    }

    /// Nothing of the environment this test runs in.
    pub fn env_clear(mut self) -> Cmd {
        self.command.env_clear();
        self
    }

    pub fn dir(mut self, dir: impl AsRef<Path>) -> Cmd {
        self.command.current_dir(dir);
        self
    }

    /// Stdout goes to this file or device instead of the test.
    pub fn stdout_to(mut self, path: impl AsRef<Path>) -> Cmd {
        self.command.stdout(File::options().write(true).create(true).truncate(true).open(path).unwrap());
        self
    }

    /// Stdout is a pipe whose reader has gone.
    pub fn stdout_closed(mut self) -> Cmd {
        let mut writer = io::pipe().unwrap().1;
        // A child that another test forked in between holds the reader too, until its exec.
        while writer.write(b"x").is_ok() {
            thread::yield_now();
        }
        self.command.stdout(writer);
        self
    }

    /// Run it to its end.
    #[track_caller]
    pub fn run(mut self) -> Output2 {
        let shown = format!("{:?}", self.command);
        let mut child = self.command.spawn().unwrap_or_else(|error| panic!("{shown}: {error}"));
        let feeder = child.stdin.take().zip(self.stdin).map(|(mut pipe, bytes)| {
            // A program may end before it has read everything.
            thread::spawn(move || drop(pipe.write_all(&bytes)))
        });
        // The parent's copy of a closed or redirected stdout goes with it.
        drop(self.command);
        let output = child.wait_with_output().unwrap();
        if let Some(feeder) = feeder {
            feeder.join().unwrap();
        }
        Output2 {
            status: output.status.code(),
            signal: output.status.signal(),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            shown,
        }
    }
}

/// How a run ended.
pub struct Output2 {
    /// `None` when a signal ended it.
    pub status: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
    /// The command, for failures.
    pub shown: String,
}

impl Output2 {
    /// Status 0 and nothing on stderr.
    #[track_caller]
    pub fn ok(self) -> Output2 {
        let this = self.status(0);
        assert_eq!(this.stderr, "", "{}: stderr", this.shown);
        this
    }

    #[track_caller]
    pub fn status(self, status: i32) -> Output2 {
        assert_eq!(self.status, Some(status), "{self:?}");
        self
    }

    /// Ended by this signal.
    #[track_caller]
    pub fn signal(self, signal: i32) -> Output2 {
        assert_eq!(self.signal, Some(signal), "{self:?}");
        self
    }

    #[track_caller]
    pub fn stderr(self, expected: &str) -> Output2 {
        assert_eq!(self.stderr, expected, "{self:?}");
        self
    }

    #[track_caller]
    pub fn stdout(self, expected: impl AsRef<[u8]>) -> Output2 {
        let (got, expected) = (self.stdout.as_slice(), expected.as_ref());
        assert!(got == expected, "{self:?}\nexpected: {}", String::from_utf8_lossy(expected));
        self
    }

    #[track_caller]
    pub fn stdout_str(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap_or_else(|_| panic!("stdout is not UTF-8: {self:?}"))
    }
}

impl std::fmt::Debug for Output2 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Output2 { status, signal, stdout, stderr, shown } = self;
        let stdout = String::from_utf8_lossy(stdout);
        write!(f, "{shown}\nstatus: {status:?} signal: {signal:?}\nstdout: {stdout}\nstderr: {stderr}")
    }
}

/// Run a bash script in `dir`, with the programs first in `PATH`, under `pipefail`.
#[track_caller]
pub fn sh(dir: &Dir, script: &str) -> Output2 {
    let mut path = OsString::from(programs());
    if let Some(rest) = std::env::var_os("PATH") {
        path.push(":");
        path.push(rest);
    }
    Cmd::any("bash").args(["-o", "pipefail", "-c", script]).env("PATH", path).dir(dir).run()
}
