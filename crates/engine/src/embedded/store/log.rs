//! Where rows are kept, and how they are read and written: tables of keys and values, one moment of them for a reader, one transaction for
//! the writer. Either in a file of redb or in memory; whoever is above does not know which.

mod guarded;
pub(super) mod memory;
mod redo;
mod table;

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

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redb::{
    CompactionError, Database, Durability, Key, ReadableDatabase, ReadableTableMetadata, TableDefinition, TableError,
    TableHandle, Value,
};

use super::error::{FILE, StoreError};
use super::journal::StoreJournal;
use super::tables::META;
#[cfg(test)]
pub use guarded::CALLS;
pub(super) use guarded::{GuardedDrop, guarded};
use memory::MemoryLog;
use redo::RedoNotes;
pub(super) use redo::{RedoStep, steps};
pub(super) use table::{OwnedGuard, PageGuard, ReadOnlyTable, ReadableRows, Table, WrittenTable};
use table::{ReadRows, WriteTable};

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
    pub(super) fn attach(&mut self, journal: StoreJournal) {
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
        Ok(rows.map(|rows| Table::new(definition, rows)))
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

    /// Takes a whole table out of a file, where it is there. No journal is beside it yet: it could not record it.
    pub fn delete_table<K: Key + 'static, V: Value + 'static>(
        &self,
        definition: TableDefinition<'static, K, V>,
    ) -> Result<(), StoreError> {
        let WriteTransaction::Redb(RedbWriting { transaction, journal: None }) = self else {
            unreachable!("only a migration does so, before the journal goes on")
        };
        guarded(definition.name(), || Ok(transaction.delete_table(definition)?)).map(drop)
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
        Ok(Table::new(definition, rows))
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
