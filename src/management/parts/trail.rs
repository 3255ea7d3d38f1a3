//! The audit trail.

use std::sync::Arc;

use crate::audit::{AuditTrail, TrailHealth, TrailState};
use crate::management::{HealthPart, HealthStatus, PartReports, WatchedPart};
use base::metrics::names::{AUDIT_LAG_EVENTS, AUDIT_LAG_SECONDS, AUDIT_LAST_EVENT};

/// Watches the audit trail.
pub struct TrailPart(pub Arc<AuditTrail>);

impl WatchedPart for TrailPart {
    fn check(&self, told: &mut PartReports) {
        let health = self.0.health();
        told.add(part(&health));
        let readings = &mut told.readings;
        readings.gauge(&AUDIT_LAST_EVENT, health.head.0 as f64);
        readings.gauge(&AUDIT_LAG_EVENTS, lag(&health) as f64);
        readings.gauge(&AUDIT_LAG_SECONDS, health.waits.as_secs_f64());
    }
}

fn lag(health: &TrailHealth) -> u64 {
    health.head.0.saturating_sub(health.durable.0)
}

pub(crate) fn part(health: &TrailHealth) -> HealthPart {
    let (status, words) = match &health.state {
        TrailState::Good => (HealthStatus::Ok, "Every access is recorded.".to_owned()),
        TrailState::Degraded(problem) => (HealthStatus::Degraded, format!("Accesses are written down, but {problem}")),
        TrailState::Failing(problem) => {
            (HealthStatus::Down, format!("Nothing can be written down, so nothing is shown. {problem}"))
        }
    };
    let part = HealthPart::new("audit", status, words).holding_up(status == HealthStatus::Down);
    part.with("last_event", health.head.0)
        .with("lag_events", lag(health))
        .with("lag_ms", health.waits.as_millis() as u64)
}
