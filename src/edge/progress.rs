//! How far long work has come, for a person at a terminal: counts, never content.

use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::shell::{Bar, Shell};

/// Work that is done sooner shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);

/// A progress bar on stderr, when stderr is a terminal; otherwise nothing at all. Messages and records
/// that reach the same terminal are written above it.
#[derive(Clone)]
pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    wanted: bool,
}

impl Progress {
    /// Begin. `what` is being counted (`sessions`).
    pub fn new(shell: &mut Shell, what: &'static str) -> Progress {
        let wanted = shell.stderr_is_terminal();
        let bar = ProgressBar::hidden().with_message(what).with_style(style(None));
        let progress = Progress { bar, begun: Instant::now(), wanted };
        shell.watch(Rc::new(progress.clone()));
        progress
    }

    /// `done` of `total`, where a total is known. Cheap: call it for every record.
    pub fn set(&self, done: u64, total: Option<u64>) {
        if !self.wanted {
            return;
        }
        self.bar.set_position(done);
        if self.bar.length() != total {
            self.bar.set_style(style(total));
            match total {
                Some(total) => self.bar.set_length(total),
                None => self.bar.unset_length(),
            }
        }
        if self.bar.is_hidden() && self.begun.elapsed() >= PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.tick();
        }
    }

    /// The work is done, or given up: wipe the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Bar for Progress {
    fn aside(&self, write: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        if self.bar.is_hidden() || self.bar.is_finished() { write() } else { self.bar.suspend(write) }
    }

    fn finish(&self) {
        self.finish();
    }
}

fn style(total: Option<u64>) -> ProgressStyle {
    let template = match total {
        Some(_) => "{msg} [{wide_bar}] {human_pos}/{human_len}, {eta} left",
        None => "{msg} {human_pos}",
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("=> ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(wanted: bool) -> Progress {
        Progress { bar: ProgressBar::hidden(), begun: Instant::now(), wanted }
    }

    #[test]
    fn without_a_terminal_nothing_is_counted_or_drawn() {
        let progress = progress(false);
        progress.set(3, Some(9));
        assert_eq!((progress.bar.position(), progress.bar.length()), (0, None));
        assert!(progress.bar.is_hidden());
        let mut written = false;
        let write = &mut || {
            written = true;
            Ok(())
        };
        progress.aside(write).unwrap();
        assert!(written);
        progress.finish();
    }

    #[test]
    fn short_work_shows_nothing() {
        let progress = progress(true);
        progress.set(3, Some(9));
        assert!(progress.bar.is_hidden());
    }

    #[test]
    fn a_total_may_come_and_go() {
        let progress = progress(true);
        for total in [None, Some(9), Some(10), None] {
            progress.set(3, total);
            assert_eq!(progress.bar.length(), total);
        }
    }
}
