//! The order to stop, and why a bench ends early.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Why a bench has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BenchError {
    /// The plan cannot be carried out as it is; nothing was begun.
    Plan(String),
    /// Somebody ordered it to stop.
    Stopped,
    /// Anything else, in words.
    Failed(String),
}

impl BenchError {
    /// Says what was being done.
    pub fn failed(what: impl fmt::Display, error: impl fmt::Display) -> BenchError {
        BenchError::Failed(format!("{what}: {error}"))
    }
}

/// One flag that everything long looks at.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

/// How often a wait looks at the flag: seldom enough to cost nothing, often enough for an impatient person.
pub(super) const LOOK: Duration = Duration::from_millis(20);

impl Stop {
    pub fn order(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// # Errors
    /// [`BenchError::Stopped`] once the order was given.
    pub fn check(&self) -> Result<(), BenchError> {
        if self.0.load(Ordering::Acquire) { Err(BenchError::Stopped) } else { Ok(()) }
    }

    /// Sleeps, unless the order comes.
    pub fn sleep(&self, time: Duration) -> Result<(), BenchError> {
        let start = std::time::Instant::now();
        loop {
            self.check()?;
            let left = time.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK));
        }
    }

    /// Ready once the order was given.
    pub async fn ordered(&self) {
        while self.check().is_ok() {
            tokio::time::sleep(LOOK).await;
        }
    }
}
