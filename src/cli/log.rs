//! The system log: lines on stderr. It never holds personal data (Contract 7.8).

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::Log;

/// Starts the log and lets panics write to it.
pub fn start(settings: &Log) {
    // Libraries would show headers and addresses of requests below `warn`, and those hold personal codes.
    let filter = EnvFilter::new(format!("warn,hcert={}", settings.level.name()));
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours).with_writer(std::io::stderr).init();
    std::panic::set_hook(Box::new(|panic| {
        let at = panic.location().map(ToString::to_string).unwrap_or_default();
        // A message that was put together at run time may quote what a request held; a fixed one may not.
        let message = panic.payload().downcast_ref::<&'static str>().copied().unwrap_or("(not shown)");
        tracing::error!(at, message, "panicked");
    }));
}
