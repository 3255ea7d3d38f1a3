//! Order arrays: the documents of a segment in the order of a search, so that a page is walked to instead of sorted for.
//!
//! One key serves both directions and both ends with one array. Arrays are made at the first search that wants the order. As long as the order
//! is among those wanted last, a new segment has its array before anyone searches it, or is given it in the background where it is a large one.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tantivy::DocId;

use super::IndexError;
use super::blocks::KeptCounts;
use certificate::search::Sort;

/// Orders of which a segment keeps an array: 4 bytes for each of its documents, so 32 MB for a million certificates at most.
const ORDER_ARRAYS_MAX: usize = 8;

/// The arrays of one segment, the one asked for last first.
#[derive(Default)]
pub(crate) struct Arrays(Mutex<Vec<(Vec<Sort>, Arc<ArraySlot>)>>);

/// An array, once it is made.
#[derive(Default)]
pub(super) struct ArraySlot {
    made: OnceLock<Array>,
    making: Mutex<()>,
}

impl ArraySlot {
    pub(super) fn get(&self) -> Option<&Array> {
        self.made.get()
    }

    /// The array. Of several who want it one makes it, so that its sorting takes memory once, and the others wait.
    pub(super) fn get_or_make(&self, make: impl FnOnce() -> Result<Array, IndexError>) -> Result<&Array, IndexError> {
        if self.made.get().is_none() {
            let _turn = self.making.lock().unwrap_or_else(PoisonError::into_inner);
            if self.made.get().is_none() {
                let made = make()?;
                return Ok(self.made.get_or_init(|| made));
            }
        }
        Ok(self.made.get().expect("it is made, as the lines above say"))
    }
}

/// The documents of a segment in one order.
pub(super) struct Array {
    /// None: from the last document to the first, as a segment lies that is sorted by falling time.
    pub docs: Option<Vec<DocId>>,
    /// How many have a value for the first key; those without come last.
    pub present: u32,
    /// Of the documents that are alive, where a page far back was asked for.
    pub counts: KeptCounts,
}

impl Array {
    /// The document at a place of the array of `len`.
    pub(super) fn doc(&self, place: u32, len: u32) -> DocId {
        match &self.docs {
            Some(docs) => docs[place as usize],
            None => len - 1 - place,
        }
    }
}

impl Arrays {
    /// Orders that have an array here, or are to have one.
    pub(crate) fn wanted(&self) -> Vec<Vec<Sort>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|(sort, _)| sort.clone()).collect()
    }

    /// Orders whose array is still to be made.
    pub(crate) fn unmade(&self) -> Vec<Vec<Sort>> {
        let slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slots.iter().filter(|(_, array)| array.get().is_none()).map(|(sort, _)| sort.clone()).collect()
    }

    /// Whether a search finds the array of its order made.
    pub(crate) fn has(&self, sort: &[Sort]) -> bool {
        self.made(sort, |_| true)
    }

    /// Whether a search finds the rows before a far page counted, of the documents that are alive after some deletions.
    pub(crate) fn is_counted(&self, sort: &[Sort], deletions: Option<u64>) -> bool {
        self.made(sort, |array| {
            // A search that counts at this moment holds the lock.
            let counts = array.counts.try_lock();
            counts.is_ok_and(|counts| counts.as_ref().is_some_and(|counts| counts.is_of(deletions)))
        })
    }

    /// Whether the array of an order is made, and so.
    fn made(&self, sort: &[Sort], is_so: impl FnOnce(&Array) -> bool) -> bool {
        let ascending = sort.first().map(|first| Sort { key: first.key, descending: false });
        let sort = if sort.len() == 1 { ascending.as_slice() } else { sort };
        let slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slots.iter().find(|(known, _)| known == sort).and_then(|(_, array)| array.get()).is_some_and(is_so)
    }

    pub(super) fn slot(&self, sort: Vec<Sort>) -> Arc<ArraySlot> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = slots.iter().position(|(known, _)| *known == sort).map(|at| slots.remove(at));
        let slot = found.unwrap_or_else(|| (sort, Arc::default()));
        let array = slot.1.clone();
        slots.insert(0, slot);
        slots.truncate(ORDER_ARRAYS_MAX);
        array
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn an_array_that_many_want_at_once_is_made_once() {
        let (slot, made) = (ArraySlot::default(), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let make = || {
                        made.fetch_add(1, Ordering::Relaxed);
                        std::thread::yield_now();
                        Ok(Array { docs: None, present: 3, counts: Mutex::default() })
                    };
                    assert_eq!(slot.get_or_make(make).unwrap().present, 3);
                });
            }
        });
        assert_eq!(made.into_inner(), 1);
    }

    #[test]
    fn an_array_that_could_not_be_made_is_made_by_the_next() {
        let slot = ArraySlot::default();
        assert!(slot.get_or_make(|| Err(IndexError("not now".into()))).is_err());
        assert!(slot.get().is_none());
        assert!(slot.get_or_make(|| Ok(Array { docs: None, present: 0, counts: Mutex::default() })).is_ok());
    }
}
