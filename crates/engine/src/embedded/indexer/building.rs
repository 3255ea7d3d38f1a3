//! Building an index out of the log of changes, chunk by chunk.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use super::steps::{TAIL_ROWS_MAX, balance, put};
use crate::embedded::EngineShared;
use crate::embedded::index::IndexWriterHandle;
use certificate::Seq;

/// Changes read from the store in one go, so that no read lasts longer than some milliseconds.
pub(crate) const CHUNK_ROWS: usize = 4_096;

/// Brings an index that is missing or far behind close to the store, then goes live. False when the engine is closed meanwhile.
pub(super) fn build(shared: &EngineShared, writer: &mut IndexWriterHandle, at: Seq) -> Result<bool, String> {
    let mut building = Building::from(at);
    while !shared.notifier.is_closed() {
        if building.step(shared, writer)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// An index on its way to the store's last change.
pub(crate) struct Building {
    at: Seq,
    /// What is put in and not committed.
    uncommitted: usize,
    more: i64,
}

impl Building {
    /// From an index that holds the state at a change.
    pub(crate) fn from(at: Seq) -> Building {
        Building { at, uncommitted: 0, more: 0 }
    }

    /// Takes a chunk of changes in; close behind the store, goes live. True when it has.
    pub(crate) fn step(&mut self, shared: &EngineShared, writer: &mut IndexWriterHandle) -> Result<bool, String> {
        let target = shared.seq();
        if self.at < target {
            shared.built_percent.store(self.at.0 * 100 / target.0, Ordering::Release);
            if let Some(done) = chunk(shared, writer, self.at, target)? {
                self.at = done.at;
                self.more += done.more;
                self.uncommitted += done.changes;
            }
        }
        let is_near = shared.seq().0 - self.at.0 <= TAIL_ROWS_MAX;
        if !is_near && self.uncommitted < 64 * CHUNK_ROWS {
            return Ok(false);
        }
        let more = std::mem::take(&mut self.more);
        let snapshot = writer.commit(self.at, more, shared.classes().ranks()).map_err(|error| error.0)?;
        self.uncommitted = 0;
        if !is_near {
            return Ok(false);
        }
        // Nothing is published while the tail is read, so the view is complete from its first moment.
        let published = shared.publishing();
        let seq = shared.seq();
        shared.go_live_locked(snapshot, seq, &published).map_err(|error| error.to_string())?;
        Ok(true)
    }
}

/// How far a chunk of changes brought an index.
pub(crate) struct BuildProgress {
    pub at: Seq,
    /// Certificates it has more than before.
    pub more: i64,
    pub changes: usize,
}

/// Puts the next changes behind `at` into an index, none behind `until`. None when there are no more.
pub(crate) fn chunk(
    shared: &EngineShared,
    writer: &IndexWriterHandle,
    at: Seq,
    until: Seq,
) -> Result<Option<BuildProgress>, String> {
    let rows = shared.read_rows(at, until, CHUNK_ROWS).map_err(|error| error.to_string())?;
    let Some(last) = rows.last().map(|row| row.seq) else { return Ok(None) };
    let mut done = HashSet::new();
    for row in rows.iter().rev().filter(|row| done.insert(row.id)) {
        put(writer, row.id, row.version, row.new.as_deref(), row.old.is_some()).map_err(|error| error.0)?;
    }
    let more = rows.iter().map(|row| balance(row.new.is_some(), row.old.is_some())).sum();
    Ok(Some(BuildProgress { at: last, more, changes: rows.len() }))
}
