//! The log as a map in memory: what is kept lives as long as the process. It has no file that could be damaged or full, and nothing to
//! repair.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Range;
use std::ops::{Bound, RangeBounds};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The rows of a table, in the order of their keys.
pub(crate) type MemoryRows = BTreeMap<OrderedKey, Arc<[u8]>>;

/// All tables of one moment, by name. Moments share the tables that did not change between them.
type MemoryTables = BTreeMap<String, Arc<MemoryRows>>;

/// A key as bytes, with the order of its type.
#[derive(Clone)]
pub struct OrderedKey {
    pub(super) bytes: Arc<[u8]>,
    compare: fn(&[u8], &[u8]) -> Ordering,
}

impl OrderedKey {
    pub(super) fn new<'k, K: redb::Key + 'static>(key: impl Borrow<K::SelfType<'k>>) -> OrderedKey {
        OrderedKey { bytes: K::as_bytes(key.borrow()).as_ref().into(), compare: K::compare }
    }
}

impl Ord for OrderedKey {
    fn cmp(&self, other: &OrderedKey) -> Ordering {
        (self.compare)(&self.bytes, &other.bytes)
    }
}

impl PartialOrd for OrderedKey {
    fn partial_cmp(&self, other: &OrderedKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Eq for OrderedKey {}

impl PartialEq for OrderedKey {
    fn eq(&self, other: &OrderedKey) -> bool {
        self.cmp(other).is_eq()
    }
}

/// A log in memory. Whoever has a clone of it can open it again, as a file can be.
#[derive(Clone, Debug, Default)]
pub struct MemoryLog(Arc<MemoryState>);

#[derive(Default)]
struct MemoryState {
    newest: Mutex<Arc<MemoryTables>>,
    is_written: Mutex<bool>,
    ended: Condvar,
}

impl std::fmt::Debug for MemoryState {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str("tables in memory")
    }
}

/// What is locked is replaced as a whole, so a panic leaves it as it was.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryLog {
    /// What was committed last.
    pub(super) fn read(&self) -> MemorySnapshot {
        MemorySnapshot(locked(&self.0.newest).clone())
    }

    /// Begins to write, once whoever writes already has ended.
    pub(super) fn write(&self) -> MemoryTransaction {
        let is_written = locked(&self.0.is_written);
        *self.0.ended.wait_while(is_written, |is_written| *is_written).unwrap_or_else(PoisonError::into_inner) = true;
        let tables = RefCell::new((*self.read().0).clone());
        MemoryTransaction { log: self.clone(), tables }
    }
}

/// The tables of one moment.
pub struct MemorySnapshot(Arc<MemoryTables>);

impl MemorySnapshot {
    pub(super) fn table(&self, name: &str) -> Option<Arc<MemoryRows>> {
        self.0.get(name).cloned()
    }

    /// Each table with its rows and the bytes of their keys and values.
    pub(super) fn sizes(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        let bytes = |(key, value): (&OrderedKey, &Arc<[u8]>)| (key.bytes.len() + value.len()) as u64;
        self.0.iter().map(move |(name, rows)| (name.as_str(), rows.len() as u64, rows.iter().map(bytes).sum()))
    }
}

/// The tables as the one writer changes them. Dropping it changes nothing.
pub struct MemoryTransaction {
    log: MemoryLog,
    tables: RefCell<MemoryTables>,
}

impl MemoryTransaction {
    pub(super) fn table(&self, name: &str) -> MemoryWriteTable<'_> {
        let rows = self.tables.borrow_mut().remove(name).unwrap_or_default();
        MemoryWriteTable { name: name.to_owned(), rows, of: self }
    }

    pub(super) fn commit(self) {
        *locked(&self.log.0.newest) = Arc::new(self.tables.take());
    }
}

impl Drop for MemoryTransaction {
    fn drop(&mut self) {
        *locked(&self.log.0.is_written) = false;
        self.log.0.ended.notify_one();
    }
}

/// A table that is open to be written; it goes back among the others when it is dropped.
pub struct MemoryWriteTable<'t> {
    name: String,
    rows: Arc<MemoryRows>,
    of: &'t MemoryTransaction,
}

impl MemoryWriteTable<'_> {
    pub(super) fn rows(&self) -> &MemoryRows {
        &self.rows
    }

    pub(super) fn change(&mut self) -> &mut MemoryRows {
        Arc::make_mut(&mut self.rows)
    }
}

impl Drop for MemoryWriteTable<'_> {
    fn drop(&mut self) {
        let before = self.of.tables.borrow_mut().insert(self.name.clone(), std::mem::take(&mut self.rows));
        debug_assert!(before.is_none(), "{} was open twice", self.name);
    }
}

/// Rows of a range of keys; none where the range ends before it begins.
pub(super) fn range<'r, 'k, K: redb::Key + 'static, B: Borrow<K::SelfType<'k>> + 'k>(
    rows: &'r MemoryRows,
    range: &impl RangeBounds<B>,
) -> Range<'r, OrderedKey, Arc<[u8]>> {
    let of = |bound: Bound<&B>| bound.map(|key| OrderedKey::new::<K>(key.borrow()));
    let bounds = (of(range.start_bound()), of(range.end_bound()));
    let is_empty = match &bounds {
        (Bound::Included(from), Bound::Included(to)) => from > to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => from >= to,
        _ => false,
    };
    if is_empty { Range::default() } else { rows.range(bounds) }
}
