//! The system log: lines on stderr, as JSON for machines or in words for a terminal. It never holds personal data (Contract 7.8).
//!
//! Each line is written at once and whole, by whoever has something to say: a crash loses none that was said before it.

mod escape;
mod fields;
mod json;
#[cfg(test)]
mod tests;
mod text;

use std::fmt;
use std::io::IsTerminal;

use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::config::{self, Log};
use json::Json;
use text::Text;

/// How a line is written.
enum Format {
    Json(Json),
    Text(Text),
}

/// Starts the log and lets panics write to it.
pub fn start(settings: &Log) {
    // Libraries would show headers and addresses of requests below `warn`, and those hold personal codes.
    let filter = EnvFilter::new(format!("warn,hcert={}", settings.level.name()));
    let is_terminal = std::io::stderr().is_terminal();
    let format = match settings.format {
        config::Format::Auto if is_terminal => Format::Text(Text { has_colours: true }),
        config::Format::Text => Format::Text(Text { has_colours: is_terminal }),
        config::Format::Auto | config::Format::Json => Format::Json(Json::new()),
    };
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).event_format(format).init();
    std::panic::set_hook(Box::new(|panic| {
        let at = panic.location().map(ToString::to_string).unwrap_or_default();
        // A message that was put together at run time may quote what a request held; a fixed one may not.
        let cause = panic.payload().downcast_ref::<&'static str>().copied().unwrap_or("(not shown)");
        tracing::error!(at, cause, "panicked");
    }));
}

impl<S, N> FormatEvent<S, N> for Format
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        match self {
            Format::Json(json) => json.write(&mut writer, event),
            Format::Text(text) => text.write(&mut writer, event),
        }
    }
}

/// The moment, UTC, to the millisecond: `2026-11-22T08:00:00.000Z`.
fn now() -> impl fmt::Display {
    struct Now(jiff::Timestamp);
    impl fmt::Display for Now {
        fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
            write!(formatter, "{:.3}", self.0)
        }
    }
    Now(jiff::Timestamp::now())
}
