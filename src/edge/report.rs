//! What a converter tells at its end, and the paths it wrote.

use super::argv::Operand;
use super::shell::{Shell, Stop};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How much a run says of itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// `-q`: nothing.
    pub quiet: bool,
    /// `-v`: also when nobody watches, as in a cron job.
    pub verbose: bool,
}

impl Summary {
    /// The line that sums a run up: for a person at a terminal, or who asked for it.
    pub fn tell(self, shell: &mut Shell, line: &str) {
        if !self.quiet && (self.verbose || shell.stderr_is_terminal()) {
            shell.say(&line);
        }
    }
}

/// The file of `--summary-json FILE`. Stdout is for records, so `-` is none.
pub fn report_file(file: Option<&Operand>) -> Result<Option<&Path>, Stop> {
    match file {
        Some(Operand(path)) if path == Path::new("-") => {
            Err(Stop::usage("--summary-json takes a file, such as /dev/stderr"))
        }
        file => Ok(file.map(|file| file.0.as_path())),
    }
}

/// Print a path as the bytes it is, ended by a newline or NUL.
pub fn print_path(shell: &mut Shell, path: &Path, null: bool) -> Result<(), Stop> {
    let mut record = path.as_os_str().as_bytes().to_vec();
    record.push(if null { 0 } else { b'\n' });
    Ok(shell.out.write_all(&record)?)
}
