//! Checks all parts of the service within a time. A part that waits for its disk must not make the caller wait too.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::report::{HealthPart, HealthReport, HealthStatus, PartReports};
use super::{ManagementService, ServicePhase, WatchedPart};
use base::metrics::ProcessFigures;

/// Milliseconds that all parts of the service may take together to say how they are. One that waits for a disk is not well.
const MANAGEMENT_LOOK_MS: u64 = 2_000;

impl ManagementService {
    /// How everything is. One look at a time is under way, so that parts that hang hold up one thread and no more.
    pub async fn report(&self) -> HealthReport {
        self.report_within(Duration::from_millis(MANAGEMENT_LOOK_MS)).await
    }

    pub(super) async fn report_within(&self, time: Duration) -> HealthReport {
        let phase = self.phase();
        let (watched, checking) = (self.watched(), Arc::clone(&self.checking));
        let check = async {
            let turn = checking.lock_owned().await;
            let checked = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                check_parts(&watched)
            });
            checked.await.unwrap_or_default()
        };
        let mut told = timeout(time, check).await.unwrap_or_else(|_| {
            let words = format!("the health check timed out after {} ms", time.as_millis());
            let mut told = PartReports::default();
            told.add(HealthPart::new("health_check", HealthStatus::Down, words).holding_up(true));
            told
        });
        told.add(self.liveness().part());
        match phase {
            ServicePhase::Opening => {
                told.add(
                    HealthPart::new("storage", HealthStatus::Down, "The data folder is being opened.").holding_up(true),
                );
            }
            ServicePhase::Closing => {
                told.add(
                    HealthPart::new("storage", HealthStatus::Down, "The data folder is being closed.").holding_up(true),
                );
            }
            ServicePhase::Serving | ServicePhase::Draining => {}
        }
        ProcessFigures::read().tell(self.metrics.started, &mut told.readings);
        told.readings.build(env!("CARGO_PKG_VERSION"));
        let mut report = HealthReport { phase, told };
        report.tell();
        report
    }
}

fn check_parts(watched: &[Box<dyn WatchedPart>]) -> PartReports {
    let mut told = PartReports::default();
    for part in watched {
        // The panic hook tells where; the other parts are well nevertheless.
        if catch_unwind(AssertUnwindSafe(|| part.check(&mut told))).is_err() {
            told.add(
                HealthPart::new("health_check", HealthStatus::Down, "The health check of a part failed.")
                    .holding_up(true),
            );
        }
    }
    told
}
