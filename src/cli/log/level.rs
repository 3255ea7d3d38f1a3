//! Puts level and targets in force, at the start and while the service runs.

use std::sync::OnceLock;

use tracing::Subscriber;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, reload};

use super::repeats::Repeats;
use crate::config::LogSettings;
use base::log;

static REPEATS: OnceLock<Repeats> = OnceLock::new();

/// Makes a subscriber that writes everything the log of this process, with the level and the sampling of the settings.
///
/// # Panics
/// The process has a log already.
pub(super) fn install<S>(writes_all: S, settings: &LogSettings)
where
    S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync + 'static,
{
    let level = settings.level.name();
    log::set_sample(settings.sample);
    // Without the thread summaries come at the end.
    let repeats = Repeats::start().unwrap_or_default();
    drop(REPEATS.set(repeats.clone()));
    // Libraries would show headers and addresses of requests below `warn`, and those hold personal codes.
    let (filter, handle) = reload::Layer::new(EnvFilter::new(format!("warn,hcert={level}")));
    writes_all.with(repeats).with(filter).init();
    let apply = move |directives: &str| {
        let filter = EnvFilter::try_new(directives).map_err(|error| error.to_string())?;
        handle.reload(filter).map_err(|error| error.to_string())
    };
    log::install(level, Box::new(apply));
}

/// Writes how many lines were left out so far. Called once no more lines are to come.
pub(crate) fn finish() {
    if let Some(repeats) = REPEATS.get() {
        repeats.finish();
    }
}
