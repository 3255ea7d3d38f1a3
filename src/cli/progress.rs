//! The progress bar of long commands: rate and time left on a terminal, nothing but problems elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::log::on_one_line;
use super::note;
use crate::bulk::BulkEvent;
use base::number::counted;

/// Shows events on standard error.
pub(super) struct ProgressBarLine {
    bar: ProgressBar,
    by_bytes: bool,
}

impl ProgressBarLine {
    /// `bytes` is the size of what is read, when it is known.
    pub(super) fn new(bytes: Option<u64>) -> ProgressBarLine {
        let (bar, template) = match bytes {
            Some(bytes) => {
                (ProgressBar::new(bytes), "{bar:32} {percent:>3} % {binary_bytes_per_sec} {msg}, {eta} left")
            }
            None => (ProgressBar::new_spinner(), "{spinner} {elapsed} {msg}"),
        };
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(4));
        bar.set_style(ProgressStyle::with_template(template).expect("the templates above are well-formed"));
        ProgressBarLine { bar, by_bytes: bytes.is_some() }
    }

    pub(super) fn show(&mut self, event: &BulkEvent) {
        match event {
            BulkEvent::Progress(progress) => {
                if self.by_bytes {
                    self.bar.set_position(progress.bytes);
                } else if let Some(total) = progress.lines_total {
                    let template = "{bar:32} {percent:>3} % {msg}, {eta} left";
                    self.bar.set_style(ProgressStyle::with_template(template).expect("the template is well-formed"));
                    self.bar.set_length(total);
                    self.bar.set_position(progress.lines);
                } else {
                    self.bar.tick();
                }
                let seconds = self.bar.elapsed().max(Duration::from_millis(1)).as_secs_f64();
                self.bar.set_message(format!(
                    "{}, {:.0} a second",
                    counted(progress.lines, "line", "lines"),
                    progress.lines as f64 / seconds
                ));
            }
            BulkEvent::Doubtful { problem } => self.bar.suspend(|| note(on_one_line(problem))),
            BulkEvent::BadLine { line, problem } => {
                self.bar.suspend(|| note(format_args!("line {line}: {}", on_one_line(problem))));
            }
            BulkEvent::Done(_) | BulkEvent::Failed { .. } => {}
        }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Shows how far something with a known end has come.
pub(super) struct Steps {
    bar: ProgressBar,
}

impl Steps {
    /// `what` is counted, such as "changes".
    pub(super) fn new(what: &'static str) -> Steps {
        let bar = ProgressBar::new(0);
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(4));
        let template = format!("{{bar:32}} {{percent:>3}} % {{pos}} of {{len}} {what}, {{per_sec}}, {{eta}} left");
        bar.set_style(ProgressStyle::with_template(&template).expect("the template is well-formed"));
        Steps { bar }
    }

    /// `at` of `of` are done.
    pub(super) fn show(&mut self, at: u64, of: u64) {
        self.bar.set_length(of);
        self.bar.set_position(at);
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Shows how far a run of several parts has come.
pub(super) struct Parts {
    bar: ProgressBar,
}

impl Parts {
    pub(super) fn new() -> Parts {
        let bar = ProgressBar::new(0);
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(4));
        bar.set_style(
            ProgressStyle::with_template("{bar:32} {percent:>3} % of {msg}, {elapsed}")
                .expect("the template is well-formed"),
        );
        Parts { bar }
    }

    /// `at` of `of` are done of a part.
    pub(super) fn show(&mut self, part: &str, at: u64, of: u64) {
        if self.bar.message() != part {
            self.bar.set_message(part.to_owned());
        }
        self.bar.set_length(of);
        self.bar.set_position(at);
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
