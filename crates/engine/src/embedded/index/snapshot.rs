//! The index as searches see it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::columns::Segment;
use super::error::IndexError;
use super::order::Ranks;
use super::sequence::{want, warm};
use certificate::Seq;
use certificate::search::filter::Filter;
use certificate::search::{Sort, SortKey};

/// The index at its checkpoint.
pub(in crate::embedded) struct Snapshot {
    pub segments: Vec<Segment>,
    pub at: Seq,
    /// Certificates.
    pub alive: u64,
    /// How many rows met a filter, of searches that had to count many.
    pub(super) counted: Mutex<HashMap<Filter, u64>>,
}

impl Snapshot {
    /// Documents, deleted ones included.
    pub(in crate::embedded) fn rows(&self) -> u64 {
        self.segments.iter().map(|segment| u64::from(segment.max_doc())).sum()
    }

    /// How many rows of the index meet a filter, where that was counted before.
    pub(in crate::embedded) fn counted(&self, filter: &Filter) -> Option<u64> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).get(filter).copied()
    }

    pub(in crate::embedded) fn remember(&self, filter: &Filter, count: u64) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.len() >= COUNTED_FILTERS_MAX {
            counted.clear();
        }
        counted.insert(filter.clone(), count);
    }

    /// Notes the orders that most searches want.
    pub(in crate::embedded) fn want_usual(&self) {
        for key in [SortKey::LastUpdated, SortKey::Date] {
            self.segments.iter().for_each(|segment| want(&segment.columns, &[Sort { key, descending: true }]));
        }
    }

    /// Whether an order that is wanted has no array yet.
    pub(in crate::embedded) fn lacks_arrays(&self) -> bool {
        self.segments.iter().any(|segment| !segment.columns.arrays.unmade().is_empty())
    }

    /// Makes the order arrays that are wanted, one after the other. `goes_on` is asked before each.
    pub(in crate::embedded) fn make_arrays(&self, ranks: &Ranks, goes_on: &dyn Fn() -> bool) -> Result<(), IndexError> {
        for segment in &self.segments {
            for sort in segment.columns.arrays.unmade() {
                if !goes_on() {
                    return Ok(());
                }
                warm(&segment.columns, &sort, ranks)?;
            }
        }
        Ok(())
    }
}

/// Filters whose count is remembered until the next round of the indexer.
const COUNTED_FILTERS_MAX: usize = 256;
