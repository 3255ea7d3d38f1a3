//! What the engine does: batches, commits, rounds of the index.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::names::{
    COMMIT_DURATION, COMMITS_FAILED, INDEX_REBUILT, INDEX_ROUND_DURATION, STORE_REOPENED, WRITE_BATCH_JOBS,
};

/// Requests of a batch, up to its bound.
const JOBS: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// Seconds of a durable commit: tenths of a millisecond on a disk with a safe cache, tens on one without.
const COMMIT_SECONDS: [f64; 12] = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 5.0];

/// Seconds of a round of the index: its own commit takes some milliseconds, sixteen thousand rows some hundred.
const ROUND_SECONDS: [f64; 10] = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// What is counted behind the HTTP front end.
#[derive(Debug)]
pub struct WorkCounters {
    batch_jobs: Histogram,
    commit: Histogram,
    commits_failed: Counter,
    reopened: Counter,
    round: Histogram,
    rebuilt: Counter,
}

impl WorkCounters {
    pub(super) fn new(registry: &mut Registry) -> WorkCounters {
        let work = WorkCounters {
            batch_jobs: Histogram::new(JOBS),
            commit: Histogram::new(COMMIT_SECONDS),
            commits_failed: Counter::default(),
            reopened: Counter::default(),
            round: Histogram::new(ROUND_SECONDS),
            rebuilt: Counter::default(),
        };
        WRITE_BATCH_JOBS.register(registry, work.batch_jobs.clone());
        COMMIT_DURATION.register(registry, work.commit.clone());
        COMMITS_FAILED.register(registry, work.commits_failed.clone());
        STORE_REOPENED.register(registry, work.reopened.clone());
        INDEX_ROUND_DURATION.register(registry, work.round.clone());
        INDEX_REBUILT.register(registry, work.rebuilt.clone());
        work
    }

    /// The writer begins a batch of so many requests.
    pub fn batch(&self, jobs: usize) {
        self.batch_jobs.observe(jobs as f64);
    }

    /// Records a durable commit. `took` runs from the last decision until the disk confirmed the write.
    pub fn committed(&self, took: Duration) {
        self.commit.observe(took.as_secs_f64());
    }

    /// Counts a batch that was not stored, or whose result is unknown.
    pub fn commit_failed(&self) {
        self.commits_failed.inc();
    }

    /// Counts that the store was opened again after a failure.
    pub fn reopened(&self) {
        self.reopened.inc();
    }

    /// Records a round of the index that had new rows, and the time it took.
    pub fn round(&self, took: Duration) {
        self.round.observe(took.as_secs_f64());
    }

    /// Counts that the index was given up, to be built again.
    pub fn rebuilt(&self) {
        self.rebuilt.inc();
    }
}
