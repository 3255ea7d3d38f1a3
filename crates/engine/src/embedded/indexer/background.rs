//! Work beside the indexer's rounds, which would hold them up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::embedded::EngineShared;
use base::threads;

/// A piece of work on a thread of its own. Dropped, nobody waits for it: it ends at its next step, and what it ended with is lost.
#[derive(Default)]
pub(super) struct BackgroundTask(Option<Arc<BackgroundState>>);

#[derive(Default)]
struct BackgroundState {
    is_unwanted: AtomicBool,
    outcome: Mutex<Option<Result<(), String>>>,
}

impl BackgroundTask {
    /// Starts the work, which must not panic and asks before each step whether it goes on. The indexer is woken when it has ended.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(super) fn start(
        &mut self,
        shared: &Arc<EngineShared>,
        name: &str,
        work: impl FnOnce(&dyn Fn() -> bool) -> Result<(), String> + Send + 'static,
    ) -> Result<(), String> {
        let (shared, state) = (shared.clone(), Arc::<BackgroundState>::default());
        let task = state.clone();
        let run = move || {
            let outcome = work(&|| !task.is_unwanted.load(Ordering::Acquire));
            *task.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            shared.notifier.wake();
        };
        thread::Builder::new().name(name.into()).spawn(run).map_err(|error| threads::refused(&error))?;
        self.0 = Some(state);
        Ok(())
    }

    pub(super) fn is_running(&self) -> bool {
        self.0.is_some()
    }

    /// What it ended with, once.
    pub(super) fn ended(&mut self) -> Option<Result<(), String>> {
        let outcome = self.0.as_ref()?.outcome.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        self.0 = None;
        Some(outcome)
    }
}

impl Drop for BackgroundTask {
    fn drop(&mut self) {
        if let Some(state) = &self.0 {
            state.is_unwanted.store(true, Ordering::Release);
        }
    }
}
