//! How the service is, told to whoever watches it, on an address of its own: `/live`, `/ready`, `/health`, `/metrics`.
//!
//! It listens before the data folder is opened, so that a long opening can be watched, and until the folder is let go. Whoever watches
//! never waits for what is watched: all of this runs on a thread of its own, and parts are looked at on another, within a time.

mod answer;
mod guard;
mod health_check;
pub mod limits;
mod listener;
mod liveness;
mod observer;
mod parts;
mod phase;
mod report;
mod systemd;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub use guard::{CallerGuard, token};
pub use liveness::Liveness;
pub use observer::start;
pub use parts::{
    BackupPart, ClockPart, Connections, DeveloperMode, DiskPart, FilesPart, HttpPart, LogOutput, ManagementAddress,
    MemoryLimit, MemorySum, RegistryPart, StoragePart, TlsPart, TokenKeys, TrailPart,
};
pub use phase::ServicePhase;
pub use report::{Fact, HealthPart, HealthStatus, PartReports};

use tokio::runtime::Handle;
use tokio::sync::Notify;

use base::metrics::Metrics;

/// Something that is watched.
pub trait WatchedPart: Send + Sync + 'static {
    /// Says how it is, and what can be measured of it. May take long: it is given up then.
    fn check(&self, told: &mut PartReports);
}

/// What the management listener reports on: one for each server.
pub struct ManagementService {
    metrics: Arc<Metrics>,
    /// `developer` or `jwt`: what the service is run for.
    mode: &'static str,
    phase: AtomicU8,
    phase_changed: Notify,
    liveness: Mutex<Liveness>,
    /// The threads for large resources, while there are any.
    pool: Mutex<Option<Handle>>,
    watched: Mutex<Arc<Vec<Box<dyn WatchedPart>>>>,
    checking: Arc<tokio::sync::Mutex<()>>,
}

impl ManagementService {
    pub fn new(metrics: Arc<Metrics>, mode: &'static str) -> Arc<ManagementService> {
        Arc::new(ManagementService {
            metrics,
            mode,
            phase: AtomicU8::new(ServicePhase::Opening as u8),
            phase_changed: Notify::new(),
            liveness: Mutex::default(),
            pool: Mutex::default(),
            watched: Mutex::default(),
            checking: Arc::default(),
        })
    }

    /// The service has come further.
    pub fn enter(&self, phase: ServicePhase) {
        self.phase.store(phase as u8, Ordering::Release);
        self.phase_changed.notify_one();
    }

    /// Whether the threads that answer requests run, as the last heartbeat found.
    pub fn liveness(&self) -> Liveness {
        *self.liveness.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_liveness(&self, liveness: Liveness) {
        *self.liveness.lock().unwrap_or_else(PoisonError::into_inner) = liveness;
    }

    pub fn phase(&self) -> ServicePhase {
        let number = self.phase.load(Ordering::Acquire);
        let all = [ServicePhase::Opening, ServicePhase::Serving, ServicePhase::Draining, ServicePhase::Closing];
        all.into_iter().find(|phase| *phase as u8 == number).expect("only a phase is ever stored")
    }

    /// Watches these from now on, and nothing else; none at all before the data folder is let go.
    pub fn watch(&self, watched: Vec<Box<dyn WatchedPart>>) {
        let before = std::mem::replace(&mut *self.lock(), Arc::new(watched));
        drop(before);
    }

    /// Watches these threads for large resources from now on; none before they are let go.
    pub fn watch_pool(&self, pool: Option<Handle>) {
        *self.pool.lock().unwrap_or_else(PoisonError::into_inner) = pool;
    }

    fn pool(&self) -> Option<Handle> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn watched(&self) -> Arc<Vec<Box<dyn WatchedPart>>> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Arc<Vec<Box<dyn WatchedPart>>>> {
        // Nothing but a copy is made while it is held.
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
