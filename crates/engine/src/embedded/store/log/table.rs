//! Tables of a log: rows by key, read at one moment or changed by the one writer, in a file of redb or in memory.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::collections::btree_map;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use redb::{
    AccessGuard, Key, OwnedAccessGuard, Range, ReadableTable, ReadableTableMetadata, TableDefinition, TableHandle,
    Value,
};

use super::super::error::StoreError;
use super::guarded::{GuardedDrop, guarded};
use super::memory::{self, OrderedKey};
use super::redo::RedoNotes;

/// A table. One of redb that is dropped tells its transaction, which panics where a call met damage before.
pub struct Table<T, K: Key + 'static, V: Value + 'static> {
    definition: TableDefinition<'static, K, V>,
    rows: T,
}

impl<T, K: Key + 'static, V: Value + 'static> Table<T, K, V> {
    pub(super) fn new(definition: TableDefinition<'static, K, V>, rows: T) -> Table<T, K, V> {
        Table { definition, rows }
    }
}

/// A table at one moment.
pub(in super::super) type ReadOnlyTable<K, V> = Table<ReadRows<K, V>, K, V>;

/// A table of the open write transaction.
pub(in super::super) type WrittenTable<'t, K, V> = Table<WriteTable<'t, K, V>, K, V>;

/// Rows of a table that nobody changes.
pub enum ReadRows<K: Key + 'static, V: Value + 'static> {
    Redb(GuardedDrop<redb::ReadOnlyTable<K, V>>),
    Memory(Arc<memory::MemoryRows>),
}

/// Rows of a table that the transaction changes.
pub enum WriteTable<'t, K: Key + 'static, V: Value + 'static> {
    Redb(GuardedDrop<redb::Table<'t, K, V>>, Option<&'t RefCell<RedoNotes>>),
    Memory(memory::MemoryWriteTable<'t>),
}

/// Where rows are read.
pub enum ReadTable<'a, T> {
    Redb(&'a T),
    Memory(&'a memory::MemoryRows),
}

/// Rows that can be read, of either kind of table.
pub trait ReadableRows<K: Key + 'static, V: Value + 'static> {
    type OfRedb: ReadableTable<K, V>;

    fn lying(&self) -> ReadTable<'_, Self::OfRedb>;
}

impl<K: Key + 'static, V: Value + 'static> ReadableRows<K, V> for ReadRows<K, V> {
    type OfRedb = redb::ReadOnlyTable<K, V>;

    fn lying(&self) -> ReadTable<'_, Self::OfRedb> {
        match self {
            ReadRows::Redb(table) => ReadTable::Redb(table),
            ReadRows::Memory(rows) => ReadTable::Memory(rows),
        }
    }
}

impl<'t, K: Key + 'static, V: Value + 'static> ReadableRows<K, V> for WriteTable<'t, K, V> {
    type OfRedb = redb::Table<'t, K, V>;

    fn lying(&self) -> ReadTable<'_, Self::OfRedb> {
        match self {
            WriteTable::Redb(table, _) => ReadTable::Redb(table),
            WriteTable::Memory(table) => ReadTable::Memory(table.rows()),
        }
    }
}

/// A key or a value where it lies.
pub enum PageGuard<'t, V: Value + 'static> {
    Redb(AccessGuard<'t, V>),
    Memory(Arc<[u8]>),
}

impl<V: Value + 'static> PageGuard<'_, V> {
    pub fn value(&self) -> V::SelfType<'_> {
        match self {
            PageGuard::Redb(guard) => guard.value(),
            PageGuard::Memory(bytes) => V::from_bytes(bytes),
        }
    }
}

/// As [`PageGuard`], to be read later: it keeps its moment's pages from being used again.
pub enum OwnedGuard<V: Value + 'static> {
    Redb(OwnedAccessGuard<V>),
    Memory(Arc<[u8]>),
}

impl<V: Value + 'static> OwnedGuard<V> {
    pub fn value(&self) -> V::SelfType<'_> {
        match self {
            OwnedGuard::Redb(guard) => guard.value(),
            OwnedGuard::Memory(bytes) => V::from_bytes(bytes),
        }
    }
}

/// Key and value of a row.
pub(super) type TableRow<'t, K, V> = (PageGuard<'t, K>, PageGuard<'t, V>);

/// A row of the map.
type RowInMemory<'t> = (&'t OrderedKey, &'t Arc<[u8]>);

fn in_memory<'t, K: Key + 'static, V: Value + 'static>((key, value): RowInMemory) -> TableRow<'t, K, V> {
    (PageGuard::Memory(key.bytes.clone()), PageGuard::Memory(value.clone()))
}

fn decoded<'t, K: Key + 'static, V: Value + 'static>(
    row: Option<(AccessGuard<'t, K>, AccessGuard<'t, V>)>,
) -> Result<Option<TableRow<'t, K, V>>, StoreError> {
    let Some((key, value)) = row else { return Ok(None) };
    key.value();
    value.value();
    Ok(Some((PageGuard::Redb(key), PageGuard::Redb(value))))
}

impl<T: ReadableRows<K, V>, K: Key + 'static, V: Value + 'static> Table<T, K, V> {
    /// The value under a key.
    pub fn get<'k>(&self, key: impl Borrow<K::SelfType<'k>>) -> Result<Option<PageGuard<'_, V>>, StoreError> {
        match self.rows.lying() {
            ReadTable::Redb(table) => guarded(self.definition.name(), || {
                let found = table.get(key)?;
                found.as_ref().map(AccessGuard::value);
                Ok(found.map(PageGuard::Redb))
            }),
            ReadTable::Memory(rows) => Ok(rows.get(&OrderedKey::new::<K>(key)).cloned().map(PageGuard::Memory)),
        }
    }

    /// The first row.
    pub fn first(&self) -> Result<Option<TableRow<'_, K, V>>, StoreError> {
        match self.rows.lying() {
            ReadTable::Redb(table) => guarded(self.definition.name(), || decoded(table.first()?)),
            ReadTable::Memory(rows) => Ok(rows.first_key_value().map(in_memory)),
        }
    }

    /// The last row.
    pub fn last(&self) -> Result<Option<TableRow<'_, K, V>>, StoreError> {
        match self.rows.lying() {
            ReadTable::Redb(table) => guarded(self.definition.name(), || decoded(table.last()?)),
            ReadTable::Memory(rows) => Ok(rows.last_key_value().map(in_memory)),
        }
    }

    /// The last row up to a key and with it.
    pub fn last_up_to<'k>(&self, key: impl Borrow<K::SelfType<'k>>) -> Result<Option<TableRow<'_, K, V>>, StoreError> {
        match self.rows.lying() {
            ReadTable::Redb(table) => {
                guarded(self.definition.name(), || decoded(table.upper_bound(Bound::Included(key))?.prev()?))
            }
            ReadTable::Memory(rows) => Ok(rows.range(..=OrderedKey::new::<K>(key)).next_back().map(in_memory)),
        }
    }

    /// Rows of a range of keys.
    pub fn range<'k, B: Borrow<K::SelfType<'k>> + 'k>(
        &self,
        range: impl RangeBounds<B> + 'k,
    ) -> Result<RowRange<'_, K, V>, StoreError> {
        let rows = match self.rows.lying() {
            ReadTable::Redb(table) => RangeWalk::Redb(guarded(self.definition.name(), || Ok(table.range(range)?))?),
            ReadTable::Memory(rows) => RangeWalk::Memory(memory::range::<K, B>(rows, &range), PhantomData),
        };
        Ok(RowRange { definition: self.definition, rows: Some(rows) })
    }

    /// All rows.
    pub fn iter(&self) -> Result<RowRange<'_, K, V>, StoreError> {
        let rows = match self.rows.lying() {
            ReadTable::Redb(table) => RangeWalk::Redb(guarded(self.definition.name(), || Ok(table.iter()?))?),
            ReadTable::Memory(rows) => RangeWalk::Memory(rows.range(..), PhantomData),
        };
        Ok(RowRange { definition: self.definition, rows: Some(rows) })
    }

    /// Hands out all rows as they are stored.
    pub fn each_bytes(&self, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), StoreError> {
        for row in self.iter()? {
            let (key, value) = row?;
            each(K::as_bytes(&key.value()).as_ref(), V::as_bytes(&value.value()).as_ref());
        }
        Ok(())
    }

    /// Number of rows.
    pub fn len(&self) -> Result<u64, StoreError> {
        match self.rows.lying() {
            ReadTable::Redb(table) => guarded(self.definition.name(), || Ok(table.len()?)),
            ReadTable::Memory(rows) => Ok(rows.len() as u64),
        }
    }
}

impl<K: Key + 'static, V: Value + 'static> ReadOnlyTable<K, V> {
    /// The value under a key, to be read later.
    pub fn get_owned<'k>(&self, key: impl Borrow<K::SelfType<'k>>) -> Result<Option<OwnedGuard<V>>, StoreError> {
        match &self.rows {
            ReadRows::Redb(table) => guarded(self.definition.name(), || {
                let found = table.get_owned(key)?;
                found.as_ref().map(OwnedAccessGuard::value);
                Ok(found.map(OwnedGuard::Redb))
            }),
            ReadRows::Memory(rows) => Ok(rows.get(&OrderedKey::new::<K>(key)).cloned().map(OwnedGuard::Memory)),
        }
    }
}

impl<K: Key + 'static, V: Value + 'static> WrittenTable<'_, K, V> {
    /// Puts a row in; whether it replaced one.
    pub fn insert<'k, 'v>(
        &mut self,
        key: impl Borrow<K::SelfType<'k>>,
        value: impl Borrow<V::SelfType<'v>>,
    ) -> Result<bool, StoreError> {
        match &mut self.rows {
            WriteTable::Redb(table, notes) => {
                if let Some(notes) = notes {
                    let (key, value) = (K::as_bytes(key.borrow()), V::as_bytes(value.borrow()));
                    notes.borrow_mut().put(self.definition.name(), key.as_ref(), value.as_ref());
                }
                guarded(self.definition.name(), || Ok(table.insert(key, value)?.is_some()))
            }
            WriteTable::Memory(table) => {
                let value = V::as_bytes(value.borrow()).as_ref().into();
                Ok(table.change().insert(OrderedKey::new::<K>(key), value).is_some())
            }
        }
    }

    /// Takes a row out, where it is there.
    pub fn remove<'k>(&mut self, key: impl Borrow<K::SelfType<'k>>) -> Result<(), StoreError> {
        match &mut self.rows {
            WriteTable::Redb(table, notes) => {
                if let Some(notes) = notes {
                    notes.borrow_mut().take(self.definition.name(), K::as_bytes(key.borrow()).as_ref());
                }
                guarded(self.definition.name(), || {
                    table.remove(key)?;
                    Ok(())
                })
            }
            WriteTable::Memory(table) => {
                table.change().remove(&OrderedKey::new::<K>(key));
                Ok(())
            }
        }
    }

    /// Takes all rows out.
    pub fn clear(&mut self) -> Result<(), StoreError> {
        match &mut self.rows {
            WriteTable::Redb(table, notes) => {
                notes.iter().for_each(|notes| notes.borrow_mut().clear(self.definition.name()));
                guarded(self.definition.name(), || Ok(table.retain(|_, _| false)?))
            }
            WriteTable::Memory(table) => {
                table.change().clear();
                Ok(())
            }
        }
    }

    /// Puts rows in whose keys ascend and lie behind all others: redb packs their pages full.
    pub fn append<'k, 'v, A: Borrow<K::SelfType<'k>>, B: Borrow<V::SelfType<'v>>>(
        &mut self,
        rows: impl IntoIterator<Item = (A, B)>,
    ) -> Result<(), StoreError> {
        let WriteTable::Redb(table, notes) = &mut self.rows else {
            return rows.into_iter().try_for_each(|(key, value)| self.insert(key, value).map(drop));
        };
        guarded(self.definition.name(), || {
            let mut end = table.upper_bound_mut(Bound::<A>::Unbounded)?;
            for (key, value) in rows {
                if let Some(notes) = notes {
                    let (key, value) = (K::as_bytes(key.borrow()), V::as_bytes(value.borrow()));
                    notes.borrow_mut().put(self.definition.name(), key.as_ref(), value.as_ref());
                }
                end.insert_before(key, value).map_err(|error| match error {
                    redb::CursorError::Storage(error) => error.into(),
                    // The last key that the table says is not its last one.
                    error => StoreError::Damaged(error.to_string()),
                })?;
            }
            Ok(end.close()?)
        })
    }
}

/// Rows of a table, from either end; the first that cannot be read ends them.
pub struct RowRange<'t, K: Key + 'static, V: Value + 'static> {
    definition: TableDefinition<'static, K, V>,
    rows: Option<RangeWalk<'t, K, V>>,
}

#[expect(clippy::large_enum_variant, reason = "a box for each walk would cost the usual log more than the other saves")]
enum RangeWalk<'t, K: Key + 'static, V: Value + 'static> {
    Redb(Range<'t, K, V>),
    Memory(btree_map::Range<'t, OrderedKey, Arc<[u8]>>, PhantomData<(K, V)>),
}

/// What a range of redb gives next.
type RangeStep<'t, K, V> = Option<Result<(AccessGuard<'t, K>, AccessGuard<'t, V>), redb::StorageError>>;

impl<'t, K: Key + 'static, V: Value + 'static> RowRange<'t, K, V> {
    fn step(
        &mut self,
        of_redb: impl FnOnce(&mut Range<'t, K, V>) -> RangeStep<'t, K, V>,
        of_memory: impl FnOnce(&mut btree_map::Range<'t, OrderedKey, Arc<[u8]>>) -> Option<RowInMemory<'t>>,
    ) -> Option<Result<TableRow<'t, K, V>, StoreError>> {
        let row = match self.rows.as_mut()? {
            RangeWalk::Redb(rows) => guarded(self.definition.name(), || decoded(of_redb(rows).transpose()?)),
            RangeWalk::Memory(rows, _) => return of_memory(rows).map(in_memory).map(Ok),
        };
        if row.is_err() {
            self.rows = None;
        }
        row.transpose()
    }
}

impl<'t, K: Key + 'static, V: Value + 'static> Iterator for RowRange<'t, K, V> {
    type Item = Result<TableRow<'t, K, V>, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(Iterator::next, Iterator::next)
    }
}

impl<K: Key + 'static, V: Value + 'static> DoubleEndedIterator for RowRange<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(DoubleEndedIterator::next_back, DoubleEndedIterator::next_back)
    }
}
