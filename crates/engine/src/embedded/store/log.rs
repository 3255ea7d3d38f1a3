//! Where rows are kept, and how they are read and written: tables of keys and values, one moment of them for a reader, one transaction for
//! the writer. Either in a file of redb or in memory; whoever is above does not know which.

mod guarded;
pub(super) mod memory;
mod redo;

/// What a table takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Name of the table, such as `version`.
    pub name: String,
    /// Number of rows in the table.
    pub rows: u64,
    /// Bytes of keys and values.
    pub stored_bytes: u64,
    /// Bytes of the pages above them.
    pub metadata_bytes: u64,
    /// Bytes that are free inside its pages.
    pub fragmented_bytes: u64,
}

#[cfg(test)]
mod tests;

use std::borrow::Borrow;
use std::cell::RefCell;
use std::collections::btree_map;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redb::{
    AccessGuard, CompactionError, Database, Durability, Key, OwnedAccessGuard, Range, ReadableDatabase, ReadableTable,
    ReadableTableMetadata, TableDefinition, TableError, TableHandle, Value,
};

use super::error::{FILE, StoreError};
use super::journal::StoreJournal;
use super::tables::META;
pub(super) use guarded::{GuardedDrop, guarded};
use memory::{MemoryLog, OrderedKey};
use redo::RedoNotes;
pub(super) use redo::{RedoStep, steps};

/// An open log.
pub enum Log {
    Redb(RedbLog),
    Memory(MemoryLog),
}

/// A log in a file of redb. With a journal commits are durable in that first, and redb's file follows.
pub struct RedbLog {
    database: GuardedDrop<Database>,
    journal: Option<SharedJournal>,
}

/// The journal, of the log and of the transaction that is open.
type SharedJournal = Arc<Mutex<StoreJournal>>;

/// Name in `meta` of where the store goes on in its journal.
pub(super) const JOURNAL: &str = "journal";

/// A panic leaves the journal as it was before or behind a record, and what failed is not written to again.
fn locked(journal: &SharedJournal) -> MutexGuard<'_, StoreJournal> {
    journal.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Log {
    /// A database without a journal.
    pub(super) fn of_redb(database: Database) -> Log {
        Log::Redb(RedbLog { database: GuardedDrop::new(database), journal: None })
    }

    /// From now on commits are durable in a journal first.
    pub(super) fn follow(&mut self, journal: StoreJournal) {
        if let Log::Redb(log) = self {
            log.journal = Some(Arc::new(Mutex::new(journal)));
        }
    }

    /// Makes redb's file durable, so that it has what its journal has. One that `ends` goes on with no journal until the next commit.
    pub(super) fn checkpoint(&self, quick_repair: bool, ends: bool) -> Result<(), StoreError> {
        let Log::Redb(RedbLog { journal: Some(journal), .. }) = self else { return Ok(()) };
        if !locked(journal).is_open() {
            return Ok(());
        }
        let mut transaction = self.begin_write()?;
        transaction.durable(quick_repair)?;
        match transaction {
            WriteTransaction::Redb(writing) => checkpoint(writing.transaction, &mut locked(journal), ends),
            WriteTransaction::Memory(_) => Ok(()),
        }
    }

    /// Whether records wait for a checkpoint, the newest for so long.
    pub(super) fn waits_for(&self, pause: Duration) -> bool {
        let Log::Redb(RedbLog { journal: Some(journal), .. }) = self else { return false };
        locked(journal).waits_since().is_some_and(|newest| newest.elapsed() >= pause)
    }

    /// Begins to read at the newest commit.
    pub(super) fn begin_read(&self) -> Result<ReadTransaction, StoreError> {
        match self {
            Log::Redb(log) => guarded(FILE, || Ok(ReadTransaction::Redb(GuardedDrop::new(log.database.begin_read()?)))),
            Log::Memory(memory) => Ok(ReadTransaction::Memory(memory.read())),
        }
    }

    /// Begins the one write transaction.
    pub(super) fn begin_write(&self) -> Result<WriteTransaction, StoreError> {
        match self {
            Log::Redb(log) => {
                let transaction = guarded(FILE, || Ok(GuardedDrop::new(log.database.begin_write()?)))?;
                let notes = |journal: &SharedJournal| RefCell::new(RedoNotes::new(locked(journal).record_bytes_max()));
                let journal = log.journal.as_ref().map(|journal| (journal.clone(), notes(journal)));
                Ok(WriteTransaction::Redb(RedbWriting { transaction, journal }))
            }
            Log::Memory(memory) => Ok(WriteTransaction::Memory(memory.write())),
        }
    }

    /// Compares everything with its checksums; false where something was mended.
    pub(super) fn check_integrity(&mut self) -> Result<bool, StoreError> {
        match self {
            Log::Redb(log) => guarded(FILE, || Ok(log.database.check_integrity()?)),
            Log::Memory(_) => Ok(true),
        }
    }

    /// Gives free room back; whether there was some. Nothing while somebody reads.
    pub(super) fn compact(&mut self) -> Result<Option<bool>, StoreError> {
        let Log::Redb(log) = self else { return Ok(Some(false)) };
        guarded(FILE, || match log.database.compact() {
            Ok(more) => Ok(Some(more)),
            Err(CompactionError::TransactionInProgress) => Ok(None),
            Err(error) => Err(error.into()),
        })
    }
}

/// One moment of the log.
pub enum ReadTransaction {
    Redb(GuardedDrop<redb::ReadTransaction>),
    Memory(memory::MemorySnapshot),
}

impl ReadTransaction {
    /// A table that every store has.
    pub fn open_table<K: Key + 'static, V: Value + 'static>(
        &self,
        definition: TableDefinition<'static, K, V>,
    ) -> Result<ReadOnlyTable<K, V>, StoreError> {
        let missing = || StoreError::Damaged(format!("Table '{}' does not exist", definition.name()));
        self.find_table(definition)?.ok_or_else(missing)
    }

    /// A table that may be absent.
    pub fn find_table<K: Key + 'static, V: Value + 'static>(
        &self,
        definition: TableDefinition<'static, K, V>,
    ) -> Result<Option<ReadOnlyTable<K, V>>, StoreError> {
        let rows = match self {
            ReadTransaction::Redb(transaction) => {
                guarded(definition.name(), || match transaction.open_table(definition) {
                    Ok(table) => Ok(Some(ReadRows::Redb(GuardedDrop::new(table)))),
                    Err(TableError::TableDoesNotExist(_)) => Ok(None),
                    Err(error) => Err(error.into()),
                })?
            }
            ReadTransaction::Memory(moment) => moment.table(definition.name()).map(ReadRows::Memory),
        };
        Ok(rows.map(|rows| Table { definition, rows }))
    }

    /// The names of its tables, in their order.
    pub(super) fn table_names(&self) -> Result<Vec<String>, StoreError> {
        let mut names: Vec<String> = match self {
            ReadTransaction::Redb(transaction) => {
                guarded(FILE, || Ok(transaction.list_tables()?.map(|table| table.name().to_owned()).collect()))?
            }
            ReadTransaction::Memory(moment) => moment.sizes().map(|(name, ..)| name.to_owned()).collect(),
        };
        names.sort();
        Ok(names)
    }

    /// What the table of a name takes.
    pub(super) fn measure(&self, name: String) -> Result<Measured, StoreError> {
        match self {
            ReadTransaction::Redb(transaction) => {
                let (rows, stats) = guarded(&name, || {
                    let handle = transaction.list_tables()?.find(|table| table.name() == name);
                    let table = handle.ok_or_else(|| StoreError::Damaged(format!("the table '{name}' is missing")))?;
                    let table = transaction.open_untyped_table(table)?;
                    Ok((table.len()?, table.stats()?))
                })?;
                let (stored_bytes, metadata_bytes) = (stats.stored_bytes(), stats.metadata_bytes());
                Ok(Measured { name, rows, stored_bytes, metadata_bytes, fragmented_bytes: stats.fragmented_bytes() })
            }
            ReadTransaction::Memory(moment) => {
                let (_, rows, stored_bytes) = moment.sizes().find(|(known, ..)| *known == name).unwrap_or_default();
                Ok(Measured { name, rows, stored_bytes, metadata_bytes: 0, fragmented_bytes: 0 })
            }
        }
    }
}

/// A write transaction. One that is dropped changes nothing.
#[expect(clippy::large_enum_variant, reason = "there is one of it at a time")]
pub enum WriteTransaction {
    Redb(RedbWriting),
    Memory(memory::MemoryTransaction),
}

/// A write transaction of redb, and what it changes where that goes into a journal.
pub struct RedbWriting {
    transaction: GuardedDrop<redb::WriteTransaction>,
    journal: Option<(SharedJournal, RefCell<RedoNotes>)>,
}

/// Commits durably, and says where the store goes on behind it.
fn checkpoint(
    transaction: GuardedDrop<redb::WriteTransaction>,
    journal: &mut StoreJournal,
    ends: bool,
) -> Result<(), StoreError> {
    let start = if ends { journal.end() } else { journal.prepare()? };
    guarded(FILE, || {
        transaction.open_table(META)?.insert(JOURNAL, start.write().as_slice())?;
        Ok(transaction.into_inner().commit()?)
    })?;
    journal.checkpointed();
    Ok(())
}

impl RedbWriting {
    fn commit(self) -> Result<(), StoreError> {
        let RedbWriting { mut transaction, journal } = self;
        let Some((journal, notes)) = journal else { return guarded(FILE, || Ok(transaction.into_inner().commit()?)) };
        let (mut journal, notes) = (locked(&journal), notes.into_inner());
        let Some(steps) = notes.whole().filter(|steps| journal.has_room(steps.len())) else {
            return checkpoint(transaction, &mut journal, false);
        };
        // From here on it is committed, also where redb fails. Where the journal fails nobody has seen it, and it is given up.
        journal.append(steps)?;
        transaction.set_durability(Durability::None).map_err(|error| StoreError::Io(error.to_string()))?;
        transaction.set_quick_repair(false);
        guarded(FILE, || Ok(transaction.into_inner().commit()?))
    }
}

impl WriteTransaction {
    /// Every commit is durable before anyone is answered. `quick_repair` is for one that is a checkpoint.
    pub fn durable(&mut self, quick_repair: bool) -> Result<(), StoreError> {
        if let WriteTransaction::Redb(RedbWriting { transaction, .. }) = self {
            transaction.set_durability(Durability::Immediate).map_err(|error| StoreError::Io(error.to_string()))?;
            transaction.set_quick_repair(quick_repair);
        }
        Ok(())
    }

    /// Takes a whole table out of a file.
    #[cfg(test)]
    pub fn delete_table<K: Key + 'static, V: Value + 'static>(&self, definition: TableDefinition<'static, K, V>) {
        let WriteTransaction::Redb(writing) = self else { unreachable!("it was opened as a file") };
        writing.transaction.delete_table(definition).unwrap();
    }

    /// A table, made where it is absent.
    pub fn open_table<K: Key + 'static, V: Value + 'static>(
        &self,
        definition: TableDefinition<'static, K, V>,
    ) -> Result<WrittenTable<'_, K, V>, StoreError> {
        let rows = match self {
            WriteTransaction::Redb(RedbWriting { transaction, journal }) => {
                let table = guarded(definition.name(), || Ok(transaction.open_table(definition)?))?;
                WriteTable::Redb(GuardedDrop::new(table), journal.as_ref().map(|(_, notes)| notes))
            }
            WriteTransaction::Memory(writing) => WriteTable::Memory(writing.table(definition.name())),
        };
        Ok(Table { definition, rows })
    }

    pub fn commit(self) -> Result<(), StoreError> {
        match self {
            WriteTransaction::Redb(writing) => writing.commit(),
            WriteTransaction::Memory(writing) => {
                writing.commit();
                Ok(())
            }
        }
    }

    pub fn abort(self) -> Result<(), StoreError> {
        match self {
            WriteTransaction::Redb(writing) => guarded(FILE, || Ok(writing.transaction.into_inner().abort()?)),
            WriteTransaction::Memory(_) => Ok(()),
        }
    }
}

/// A table. One of redb that is dropped tells its transaction, which panics where a call met damage before.
pub struct Table<T, K: Key + 'static, V: Value + 'static> {
    definition: TableDefinition<'static, K, V>,
    rows: T,
}

/// A table at one moment.
pub(super) type ReadOnlyTable<K, V> = Table<ReadRows<K, V>, K, V>;

/// A table of the open write transaction.
pub(super) type WrittenTable<'t, K, V> = Table<WriteTable<'t, K, V>, K, V>;

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
type TableRow<'t, K, V> = (PageGuard<'t, K>, PageGuard<'t, V>);

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
