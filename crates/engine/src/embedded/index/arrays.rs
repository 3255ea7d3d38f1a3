//! Order arrays: the documents of a segment in the order of a search, so that a page is walked to instead of sorted for.
//!
//! One key serves both directions and both ends with one array. Arrays are made at the first search that wants the order, and for
//! new segments before anyone searches them, as long as the order is among those wanted last.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tantivy::DocId;

use certificate::search::Sort;

/// Orders of which a segment keeps an array: 4 bytes for each of its documents, so 32 MB for a million certificates at most.
const ORDER_ARRAYS_MAX: usize = 8;

/// The arrays of one segment, the one asked for last first.
#[derive(Default)]
pub(crate) struct Arrays(Mutex<Vec<(Vec<Sort>, ArraySlot)>>);

/// An array, once it is made.
pub(super) type ArraySlot = Arc<OnceLock<Array>>;

/// The documents of a segment in one order.
pub(super) struct Array {
    /// None: from the last document to the first, as a segment lies that is sorted by falling time.
    pub docs: Option<Vec<DocId>>,
    /// How many have a value for the first key; those without come last.
    pub present: u32,
}

impl Arrays {
    /// Orders that have an array here.
    pub(crate) fn wanted(&self) -> Vec<Vec<Sort>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|(sort, _)| sort.clone()).collect()
    }

    /// Whether a search finds the array of its order made.
    pub(crate) fn has(&self, sort: &[Sort]) -> bool {
        let ascending = sort.first().map(|first| Sort { key: first.key, descending: false });
        let sort = if sort.len() == 1 { ascending.as_slice() } else { sort };
        let slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slots.iter().any(|(known, array)| known == sort && array.get().is_some())
    }

    pub(super) fn slot(&self, sort: Vec<Sort>) -> ArraySlot {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = slots.iter().position(|(known, _)| *known == sort).map(|at| slots.remove(at));
        let slot = found.unwrap_or_else(|| (sort, Arc::default()));
        let array = slot.1.clone();
        slots.insert(0, slot);
        slots.truncate(ORDER_ARRAYS_MAX);
        array
    }
}
