//! What is counted and measured while the service runs, told as OpenMetrics; the only module that knows prometheus-client.
//!
//! There are two kinds. What happens again and again is counted where it happens: [`Metrics`], one for each server and handed to
//! whoever counts. What is simply so at a moment is asked for when somebody wants to know: [`Readings`], made anew each time. Neither
//! ever holds a name, an id or anything else that leads to a person: every label comes from a list that the program was built with.

mod durations;
pub mod names;
mod process;
mod readings;
mod requests;
#[cfg(test)]
mod tests;
mod work;

use std::sync::Arc;

use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::registry::Registry;

pub use durations::DurationSummary;
pub use process::{ProcessFigures, StartTimes};
pub use readings::Readings;
pub use requests::{Requests, ResponseLabels, RouteLabel};
pub use work::WorkCounters;

/// `Content-Type` of [`Metrics::text`]. Source: OpenMetrics 1.0, "Protocol Negotiation".
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Everything that is counted in one server.
#[derive(Debug)]
pub struct Metrics {
    /// What the HTTP front end sees.
    pub requests: Requests,
    /// What the engine does.
    pub work: WorkCounters,
    /// When this was made, which is when the service began.
    pub started: StartTimes,
    registry: Registry,
}

impl Metrics {
    /// Counters that all stand at nothing.
    pub fn new() -> Arc<Metrics> {
        let mut registry = Registry::default();
        let requests = Requests::new(&mut registry);
        let work = WorkCounters::new(&mut registry);
        Arc::new(Metrics { requests, work, started: StartTimes::now(), registry })
    }

    /// All counters, and behind them what was read for this occasion.
    pub fn text(&self, readings: &Readings) -> String {
        let mut text = String::with_capacity(16 * 1024);
        let written = encode_registry(&mut text, &self.registry)
            .and_then(|()| encode_registry(&mut text, readings.registry()))
            .and_then(|()| encode_eof(&mut text));
        written.expect("writing to memory does not fail");
        text
    }
}
