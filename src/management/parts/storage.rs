//! Store and index.

use std::sync::Arc;

use crate::management::{HealthPart, HealthStatus, PartReports, WatchedPart};
use base::metrics::names::{INDEX_BUILT, INDEX_LAG_CHANGES, LAST_CHANGE, OVERLAY_ROWS, WRITE_QUEUE_JOBS};
use engine::{Engine, EngineHealth, IndexHealth, StoreHealth};

/// Watches the engine.
pub struct StoragePart(pub Arc<Engine>);

impl WatchedPart for StoragePart {
    fn check(&self, told: &mut PartReports) {
        let health = self.0.health();
        told.add(store(&health));
        told.add(index(&health));
        let readings = &mut told.readings;
        readings.gauge(&LAST_CHANGE, health.seq.0 as f64);
        readings.gauge(&WRITE_QUEUE_JOBS, health.queue as f64);
        readings.gauge(&OVERLAY_ROWS, health.overlay_rows as f64);
        match health.index {
            IndexHealth::Live { lag } => {
                readings.gauge(&INDEX_LAG_CHANGES, lag as f64);
                readings.gauge(&INDEX_BUILT, 1.0);
            }
            IndexHealth::Building { percent, .. } => {
                readings.gauge(&INDEX_BUILT, percent as f64 / 100.0);
            }
        }
    }
}

pub(crate) fn store(health: &EngineHealth) -> HealthPart {
    let part = match &health.store {
        StoreHealth::Good if let Some(problem) = &health.damage => {
            let words = format!("Damage was met; `hcert verify` names all of it. {problem}");
            HealthPart::new("storage", HealthStatus::Degraded, words)
        }
        StoreHealth::Good => HealthPart::new("storage", HealthStatus::Ok, "The store reads and writes."),
        StoreHealth::Reopening { since, problem } => {
            let words = format!("The store failed and is being opened again; writes are refused. {problem}");
            HealthPart::new("storage", HealthStatus::Down, words).with("since_ms", u64::try_from(*since).unwrap_or(0))
        }
        StoreHealth::Damaged { since, problem } => {
            let words = format!(
                "The store is damaged; writes are refused, reads go on where they can. Stop the server, then `hcert verify` names the damage \
                 and `hcert export --salvage` exports what can be read. {problem}"
            );
            HealthPart::new("storage", HealthStatus::Down, words).with("since_ms", u64::try_from(*since).unwrap_or(0))
        }
        StoreHealth::Gone => {
            let words = "store.redb was removed, moved, replaced or cut, or its disk was unmounted. Writes are refused until the server \
                         is started again; put the file back before, or restore a backup.";
            HealthPart::new("storage", HealthStatus::Down, words)
        }
        StoreHealth::Closed => HealthPart::new("storage", HealthStatus::Down, "The store is closed."),
    };
    let is_good = health.store == StoreHealth::Good;
    let heads = health.heads.iter().flatten().map(|head| (head.log.name(), head.to_string()));
    let part = heads.fold(part, |part, (name, head)| part.with_text(name, head));
    part.with("last_change", health.seq.0).with("write_queue_jobs", health.queue as u64).holding_up(!is_good)
}

pub(crate) fn index(health: &EngineHealth) -> HealthPart {
    let part = match &health.index {
        IndexHealth::Live { lag } => {
            let part = match &health.index_waits {
                None => HealthPart::new("index", HealthStatus::Ok, "Searches are answered."),
                Some(why) => {
                    let words = "Searches are answered; the index waits until its disk takes something again.";
                    HealthPart::new("index", HealthStatus::Degraded, words).with_text("why", why)
                }
            };
            part.with("lag_changes", *lag).with("percent", 100)
        }
        IndexHealth::Building { percent, why } => {
            let words = format!("The index is being built, {percent} % are done; searches are refused meanwhile.");
            HealthPart::new("index", HealthStatus::Degraded, words)
                .with("percent", *percent)
                .with_text("why", why)
                .holding_up(true)
        }
    };
    part.with("overlay_rows", health.overlay_rows as u64)
}
