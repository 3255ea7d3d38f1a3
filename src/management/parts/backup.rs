//! Backups by the clock.

use crate::backup;
use crate::management::{HealthPart, HealthStatus, PartReports, WatchedPart};
use base::metrics::names::{BACKUP_AGE_SECONDS, BACKUP_LAST_CHANGE, BACKUP_LAST_SECONDS};
use engine::Clock;

/// Watches backups.
pub struct BackupPart {
    /// How they go; nothing where the settings name no folder for them.
    pub status: Option<Box<dyn Fn() -> backup::ScheduleStatus + Send + Sync>>,
    pub every_minutes: u64,
    pub clock: Clock,
}

impl WatchedPart for BackupPart {
    fn check(&self, told: &mut PartReports) {
        let Some(status) = &self.status else {
            let words = "No backups are taken by the clock: backup.folder is not set.";
            return told.add(HealthPart::new("backup", HealthStatus::Ok, words));
        };
        let (status, now) = (status(), (self.clock)());
        told.add(part(&status, self.every_minutes, now));
        if let Some(last) = status.last_ok {
            let readings = &mut told.readings;
            readings.gauge(&BACKUP_LAST_SECONDS, last as f64 / 1000.0);
            readings.gauge(&BACKUP_AGE_SECONDS, age_ms(last, now) as f64 / 1000.0);
            readings.gauge(&BACKUP_LAST_CHANGE, status.last_until as f64);
        }
    }
}

fn age_ms(last: i64, now: i64) -> u64 {
    u64::try_from(now.saturating_sub(last)).unwrap_or(0)
}

/// One that is late by as long as lies between two was missed.
pub(crate) fn part(status: &backup::ScheduleStatus, every_minutes: u64, now: i64) -> HealthPart {
    let Some(last) = status.last_ok else {
        return match &status.last_problem {
            Some(problem) => {
                HealthPart::new("backup", HealthStatus::Degraded, format!("No backup could be taken yet. {problem}"))
            }
            None => HealthPart::new("backup", HealthStatus::Ok, "No backup has been taken yet."),
        };
    };
    let age_ms = age_ms(last, now);
    let part = match &status.last_problem {
        Some(problem) => {
            HealthPart::new("backup", HealthStatus::Degraded, format!("The last backup failed. {problem}"))
        }
        None if age_ms > every_minutes.saturating_mul(2 * 60_000) => {
            HealthPart::new("backup", HealthStatus::Degraded, "The last backup is older than two backup intervals.")
        }
        None => HealthPart::new("backup", HealthStatus::Ok, "Backups are taken."),
    };
    part.with("last_ms", u64::try_from(last).unwrap_or(0))
        .with("age_s", age_ms / 1000)
        .with("last_change", status.last_until)
}
