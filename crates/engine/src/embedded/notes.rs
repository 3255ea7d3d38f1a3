//! What the engine's threads have noted for its health.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::StoreHealth;

/// Notes of writer and indexer. The locks are held for a copy and never while a disk works.
#[derive(Default)]
pub(super) struct Notes {
    pub store: Mutex<StoreHealth>,
    /// The last damage that was met.
    pub damage: Mutex<Option<String>>,
    /// Why the index is being built.
    pub index: Mutex<String>,
    /// Why it is not written, while its disk takes nothing.
    pub index_waits: Mutex<Option<String>>,
}

impl Notes {
    pub(super) fn store(&self) -> MutexGuard<'_, StoreHealth> {
        // What is noted is replaced as a whole; so below.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn damage(&self) -> MutexGuard<'_, Option<String>> {
        self.damage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn index(&self) -> MutexGuard<'_, String> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn index_waits(&self) -> MutexGuard<'_, Option<String>> {
        self.index_waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
