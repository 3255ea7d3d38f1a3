//! What the engine's threads note about themselves for [`EngineHealth`].

use std::sync::atomic::Ordering;

use super::store::{StoreError, StoreReader};
use super::{Engine, EngineShared};
use crate::{DiskSpace, EngineHealth, IndexHealth, StoreHealth};
use base::log::event;

impl Engine {
    /// How the engine is. Waits for nobody; only the room of the disk is asked of the file system.
    pub fn health(&self) -> EngineHealth {
        let shared = &self.shared;
        let index = match shared.view() {
            Some(view) => IndexHealth::Live { lag: view.seq.0.saturating_sub(view.index.at.0) },
            None => IndexHealth::Building {
                percent: shared.built_percent.load(Ordering::Acquire).min(100),
                why: shared.notes.index().clone(),
            },
        };
        let store = match shared.notes.store().clone() {
            StoreHealth::Good | StoreHealth::Reopening { .. } | StoreHealth::Damaged { .. }
                if shared.store.is_gone() =>
            {
                StoreHealth::Gone
            }
            noted => noted,
        };
        let heads = if store == StoreHealth::Good { self.ledger().heads().ok() } else { None };
        EngineHealth {
            store,
            heads,
            damage: shared.notes.damage().clone(),
            index,
            index_waits: shared.notes.index_waits().clone(),
            disk: DiskSpace::of(&shared.folder),
            overlay_rows: shared.overlay_rows.load(Ordering::Acquire),
            queue: shared.queued.load(Ordering::Acquire),
            seq: shared.seq(),
        }
    }
}

impl Engine {
    /// A request met damage; it stays in the health until the process ends, as nothing mends it.
    pub fn note_damage(&self, problem: &str) {
        self.shared.note_damage(problem);
    }

    /// Reads at one moment; damage that is met is told.
    pub(super) fn reading<T>(&self, read: impl FnOnce(&StoreReader) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.shared.heed(self.shared.store.reader().and_then(|reader| read(&reader)))
    }
}

impl EngineShared {
    pub(super) fn note_damage(&self, problem: &str) {
        let mut noted = self.notes.damage();
        if noted.as_deref() != Some(problem) {
            event!(STORE_DAMAGED, problem);
            *noted = Some(problem.to_owned());
        }
    }

    /// Tells the damage that a call has met, and whether what it waits for is a file that will not come back.
    pub(super) fn heed<T>(&self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        done.map_err(|error| match error {
            StoreError::Reopening => self.store.expect_in_place().err().unwrap_or(error),
            error => error,
        })
        .inspect_err(|error| {
            if let StoreError::Damaged(_) = error {
                self.note_damage(&error.to_string());
            }
        })
    }

    /// The store has failed and is being opened again. The moment of the first failure stays.
    pub(super) fn note_trouble(&self, problem: String) {
        let now = (self.clock)();
        let mut store = self.notes.store();
        let since = match &*store {
            StoreHealth::Reopening { since, .. } | StoreHealth::Damaged { since, .. } => *since,
            StoreHealth::Good | StoreHealth::Gone | StoreHealth::Closed => now,
        };
        *store = match self.store.is_damaged() {
            true => StoreHealth::Damaged { since, problem },
            false => StoreHealth::Reopening { since, problem },
        };
    }

    /// The store reads and writes again.
    pub(super) fn note_store_good(&self) {
        *self.notes.store() = StoreHealth::Good;
    }

    pub(super) fn note_closed(&self) {
        *self.notes.store() = StoreHealth::Closed;
    }

    /// Why the index was built last, where it was.
    pub(super) fn why_built(&self) -> Option<String> {
        Some(self.notes.index().clone()).filter(|why| !why.is_empty())
    }

    /// The index is built, and this is why.
    pub(super) fn note_building(&self, why: impl Into<String>) {
        self.built_percent.store(0, Ordering::Release);
        *self.notes.index() = why.into();
    }

    /// The index is not written, and this is why; or it is again.
    pub(super) fn note_index_waits(&self, why: Option<String>) {
        *self.notes.index_waits() = why;
    }
}
