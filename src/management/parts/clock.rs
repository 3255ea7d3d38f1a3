//! The system clock.

use std::sync::Arc;

use crate::management::{HealthPart, HealthStatus, PartReports, WatchedPart};
use base::metrics::names::{CLOCK_AHEAD_SECONDS, CLOCK_BEHIND_SECONDS};
use engine::{ClockProblem, ClockState, Engine};

/// Watches the clock as the engine judges it.
pub struct ClockPart(pub Arc<Engine>);

impl WatchedPart for ClockPart {
    fn check(&self, told: &mut PartReports) {
        let state = self.0.clock();
        told.add(part(&state));
        let readings = &mut told.readings;
        readings.gauge(&CLOCK_AHEAD_SECONDS, ahead_ms(&state) as f64 / 1000.0);
        readings.gauge(&CLOCK_BEHIND_SECONDS, behind_ms(&state) as f64 / 1000.0);
    }
}

fn ahead_ms(state: &ClockState) -> i64 {
    match state.problem {
        Some(ClockProblem::Jumped(ms)) => ms,
        _ => 0,
    }
}

fn behind_ms(state: &ClockState) -> i64 {
    state.newest.map_or(0, |newest| newest.saturating_sub(state.at).max(0))
}

pub(crate) fn part(state: &ClockState) -> HealthPart {
    let part = match &state.problem {
        Some(problem) => {
            let words = format!(
                "Changes are refused, since {problem}; reads go on. Set the clock right, or decide with hcert clock accept or reset."
            );
            HealthPart::new("clock", HealthStatus::Down, words)
        }
        None if state.is_accepted => {
            let words = "The clock is behind the newest time stamp, and an operator has accepted that: all changes get that time stamp.";
            HealthPart::new("clock", HealthStatus::Degraded, words)
        }
        None => HealthPart::new("clock", HealthStatus::Ok, "The clock is trusted."),
    };
    let ms = |value: i64| u64::try_from(value).unwrap_or(0);
    part.with("at_ms", ms(state.at))
        .with("newest_ms", ms(state.newest.unwrap_or(0)))
        .with("ahead_ms", ms(ahead_ms(state)))
        .with("behind_ms", ms(behind_ms(state)))
        .holding_up(state.problem.is_some())
}
