//! [`Progress`]: what is printed while an ensemble runs.

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Prints to standard error: a bar on a terminal, and otherwise a line for each run.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    is_quiet: bool,
    total: u64,
    start: Instant,
}

impl Progress {
    pub(crate) fn new(total: usize, done: usize, is_quiet: bool) -> Progress {
        let is_bar = !is_quiet && std::io::stderr().is_terminal();
        let bar = is_bar.then(|| {
            let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr());
            let template = "runs {bar:32} {pos}/{len}  {rate} a second  {left} left  {wide_msg}";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.with_key("rate", write_rate).with_key("left", write_left));
            }
            bar.set_position(done as u64);
            bar.reset_eta();
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        Progress { bar, is_quiet, total: total as u64, start: Instant::now() }
    }

    /// Says that a run has ended. `ended` runs have in all, `here` of them in this process.
    pub(crate) fn ended(&self, run: &str, error: Option<&str>, ended: usize, here: usize) {
        if let Some(bar) = &self.bar {
            bar.set_position(ended as u64);
            match error {
                Some(error) => bar.println(format!("failed {run}: {error}")),
                None => bar.set_message(run.to_owned()),
            }
            return;
        }
        if let Some(error) = error {
            eprintln!("failed {run}: {error}");
        } else if !self.is_quiet {
            let elapsed = self.start.elapsed().as_secs_f64();
            let left = elapsed / here.max(1) as f64 * self.total.saturating_sub(ended as u64) as f64;
            let rate = here as f64 / elapsed.max(1e-9);
            eprintln!("done {run} ({ended} of {}, {rate:.2} a second, {left:.0} s left)", self.total);
        }
    }

    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn write_rate(state: &ProgressState, text: &mut dyn fmt::Write) {
    // What cannot be written is not shown.
    let _ = write!(text, "{:.2}", state.per_sec());
}

/// Writes the time that is left, which is not known before the first run has ended.
fn write_left(state: &ProgressState, text: &mut dyn fmt::Write) {
    let _ = match state.per_sec() > 0.0 {
        true => write!(text, "{:#}", HumanDuration(state.eta())),
        false => text.write_str("?"),
    };
}
