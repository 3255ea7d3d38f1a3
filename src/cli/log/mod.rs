//! The system log: lines on stderr, as JSON for machines or in words for a terminal. It never holds personal data (Contract 7.8).
//!
//! Each line is formatted by the thread that logs it and written by the thread of [`QueuedOutput`], so that no request waits for the reader of
//! the log (Contract 10.1). [`flush`] waits for what is queued, at the end of the process.

mod answer;
mod escape;
mod fields;
mod json;
mod level;
mod repeats;
#[cfg(test)]
mod tests;
mod text;
mod time;
mod values;

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::time::Duration;

use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::registry::LookupSpan;

use crate::cli::limits::LOG_FLUSH_MS;
use crate::config::{self, LogSettings};
use crate::output::{Importance, QueuedOutput};
use base::log::event;
pub(super) use escape::{harmless, on_one_line};
pub(super) use fields::NAMES;
use json::JsonLines;
pub(super) use level::finish;
use text::TextLines;

/// How a line is written.
enum LineFormat {
    Json(JsonLines),
    Text(TextLines),
}

/// Standard error of the service; empty in commands, which write their messages directly.
static OUTPUT: OnceLock<QueuedOutput> = OnceLock::new();

/// Lets messages of this process, and its log once that is started, wait for no reader of standard error.
///
/// # Errors
/// The thread that writes cannot be started.
pub(super) fn open() -> io::Result<QueuedOutput> {
    let output = QueuedOutput::start(io::stderr())?;
    // A process that has one keeps it.
    drop(OUTPUT.set(output.clone()));
    Ok(output)
}

/// Starts the log on the output of [`open`] and lets panics write to it.
pub(super) fn start(settings: &LogSettings, output: &QueuedOutput) {
    let is_terminal = io::stderr().is_terminal();
    let format = match settings.format {
        config::LogFormat::Json => LineFormat::Json(JsonLines::new()),
        config::LogFormat::Auto if !is_terminal => LineFormat::Json(JsonLines::new()),
        config::LogFormat::Auto | config::LogFormat::Text => {
            // As clap does it for its messages. Source: no-color.org.
            let wants_none = std::env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty());
            LineFormat::Text(TextLines { has_colours: is_terminal && !wants_none })
        }
    };
    // A failed write is the output's to count. Without this the library would report it by `eprintln!`, which panics.
    let writes_all = tracing_subscriber::fmt().log_internal_errors(false).with_max_level(LevelFilter::TRACE);
    let writes_all = writes_all.with_writer(LineWriter(output.clone())).event_format(format);
    level::install(writes_all.finish(), settings);
    // `install` panics if the process has a log already.
    std::panic::set_hook(Box::new(|panic| {
        let at = panic.location().map(ToString::to_string).unwrap_or_default();
        // A message that was put together at run time may quote what a request held; a fixed one may not.
        let cause = panic.payload().downcast_ref::<&'static str>().copied().unwrap_or("(not shown)");
        event!(PANICKED, at, cause);
    }));
}

/// Writes a message for people to standard error: behind the lines of the log where there is one. Whether anybody can read it makes no
/// difference to the caller.
pub(super) fn say_on_stderr(message: impl fmt::Display) {
    let message = format!("{message}\n");
    let message = harmless(&message);
    match OUTPUT.get() {
        // Each line by itself: a long list of problems may be more than one line may hold.
        Some(output) => {
            message.split_inclusive('\n').for_each(|line| output.push(line.as_bytes(), Importance::Urgent));
        }
        None => drop(io::stderr().write_all(message.as_bytes())),
    }
}

/// Waits until the lines that are queued were written, but not long for a reader that does not take them.
pub(super) fn flush() {
    if let Some(output) = OUTPUT.get() {
        output.flush(Duration::from_millis(LOG_FLUSH_MS));
    }
}

/// Makes a [`QueuedOutput`] known to tracing-subscriber, which hands over each line by one write.
struct LineWriter(QueuedOutput);

/// Writes one line.
struct OneLine<'l>(&'l QueuedOutput, Importance);

impl<'l> MakeWriter<'l> for LineWriter {
    type Writer = OneLine<'l>;

    fn make_writer(&'l self) -> OneLine<'l> {
        OneLine(&self.0, Importance::Urgent)
    }

    fn make_writer_for(&'l self, about: &Metadata<'_>) -> OneLine<'l> {
        let is_urgent = *about.level() <= Level::WARN;
        OneLine(&self.0, if is_urgent { Importance::Urgent } else { Importance::Routine })
    }
}

impl Write for OneLine<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.push(line, self.1);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<S, N> FormatEvent<S, N> for LineFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        match self {
            LineFormat::Json(json) => json.write(&mut writer, event),
            LineFormat::Text(text) => text.write(&mut writer, event),
        }
    }
}
