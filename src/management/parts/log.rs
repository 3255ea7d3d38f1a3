//! The log. It never holds up readiness: what only observes does not stop the service (Contract 10.1).

use std::time::Duration;

use crate::management::{HealthPart, HealthStatus, PartReports, WatchedPart};
use crate::output::{OutputState, QueuedOutput};
use base::metrics::names::{LOG_LINES_DROPPED, LOG_QUEUE};

/// Seconds that one write of the log may take before the part `log` is degraded.
const LOG_WRITE_STALLED_S: u64 = 5;

/// Seconds for which the part `log` stays degraded after lines were dropped. A scraper that asks once a minute must see it.
const LOG_DROPS_RECENT_S: u64 = 300;

/// Watches the output that the log is written to.
pub struct LogOutput(pub QueuedOutput);

impl WatchedPart for LogOutput {
    fn check(&self, told: &mut PartReports) {
        let state = self.0.state();
        told.add(part(&state));
        let reasons = [("queue", state.dropped.queue), ("write", state.dropped.write), ("long", state.dropped.long)];
        told.readings.counters(&LOG_LINES_DROPPED, &reasons);
        told.readings.gauge(&LOG_QUEUE, state.queued_bytes as f64);
    }
}

pub(crate) fn part(state: &OutputState) -> HealthPart {
    let is_recent = |ago: Duration| ago.as_secs() < LOG_DROPS_RECENT_S;
    let (status, words) = match state {
        OutputState { writes_for: Some(time), .. } if time.as_secs() >= LOG_WRITE_STALLED_S => {
            let words = format!("The reader of the log (standard error) has not read for {} s.", time.as_secs());
            (
                HealthStatus::Degraded,
                words + " Lines that do not fit into the queue are dropped; look at the log collector.",
            )
        }
        OutputState { last_drop: Some(ago), .. } if is_recent(*ago) => {
            let words = format!("Lines of the log were dropped {} s ago.", ago.as_secs());
            let advice = " Look at the log collector, and at the disk that it writes to.";
            (HealthStatus::Degraded, words + advice)
        }
        OutputState { is_discarded: true, .. } => {
            let words = "The log is lost: standard error was closed at the start, or is /dev/null.";
            (HealthStatus::Degraded, words.to_owned() + " Start the service with one that is kept.")
        }
        _ => (HealthStatus::Ok, "The log is written.".to_owned()),
    };
    let part = HealthPart::new("log", status, words).with("dropped_lines", state.dropped.total());
    let part = part.with("queued_bytes", state.queued_bytes as u64);
    let part = state.last_drop.iter().fold(part, |part, ago| part.with("last_drop_age_s", ago.as_secs()));
    state.last_problem.iter().fold(part, |part, problem| part.with_text("last_problem", problem))
}
