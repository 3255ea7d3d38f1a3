//! Transactions and tables of redb. What damaged pages make of a call is [`Error::Damaged`], never a panic.
//!
//! redb compares pages with their checksums only when it repairs or checks a file. A read takes what lies there, and bytes that cannot be a
//! page end it with a panic. So every call into redb that may read a page stands in [`guarded`], with the decoding of what it found.

use std::borrow::Borrow;
use std::ops::{Bound, Deref, DerefMut, RangeBounds};

use redb::{
    AccessGuard, Database, Durability, Key, OwnedAccessGuard, Range, ReadableDatabase, ReadableTable, TableDefinition,
    TableError, TableHandle, Value,
};

use super::Error;
use crate::embedded::panics::caught;

/// The result of a call that reads pages, `what` names whose; a panic is damage.
pub(super) fn guarded<T>(what: &str, call: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    caught(call).unwrap_or_else(|| Err(Error::Damaged(format!("a page of {what} cannot be read"))))
}

/// What redb ends by itself when it is dropped, which reads and writes pages as any other call does: a database is closed, a transaction is
/// given up. Damage met there is caught; the next opening of the file mends what was left half-way, or refuses it.
pub(super) struct GuardedDrop<T>(Option<T>);

/// An open database.
pub(super) type OpenDatabase = GuardedDrop<Database>;

impl<T> GuardedDrop<T> {
    pub(super) fn new(value: T) -> GuardedDrop<T> {
        GuardedDrop(Some(value))
    }

    fn into_inner(mut self) -> T {
        self.0.take().expect("only this and the end take it")
    }
}

impl<T> Deref for GuardedDrop<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("only the end takes it")
    }
}

impl<T> DerefMut for GuardedDrop<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("only the end takes it")
    }
}

impl<T> Drop for GuardedDrop<T> {
    fn drop(&mut self) {
        if let Some(value) = self.0.take() {
            caught(|| drop(value));
        }
    }
}

/// One moment of the database.
pub struct ReadTransaction(pub(super) GuardedDrop<redb::ReadTransaction>);

/// Begins to read at the newest commit.
pub(super) fn begin_read(database: &Database) -> Result<ReadTransaction, Error> {
    guarded("the file", || Ok(ReadTransaction(GuardedDrop::new(database.begin_read()?))))
}

impl ReadTransaction {
    /// A table that every store has.
    pub fn open_table<K: Key + 'static, V: Value + 'static>(
        &self,
        definition: TableDefinition<'static, K, V>,
    ) -> Result<ReadOnlyTable<K, V>, Error> {
        let table = guarded(definition.name(), || Ok(self.0.open_table(definition)?))?;
        Ok(Table::new(definition, table))
    }

    /// A table that may be absent.
    pub fn find_table<K: Key + 'static, V: Value + 'static>(
        &self,
        definition: TableDefinition<'static, K, V>,
    ) -> Result<Option<ReadOnlyTable<K, V>>, Error> {
        guarded(definition.name(), || match self.0.open_table(definition) {
            Ok(table) => Ok(Some(Table::new(definition, table))),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(error.into()),
        })
    }
}

/// A write transaction. One that is dropped changes nothing.
pub struct WriteTransaction(pub(super) GuardedDrop<redb::WriteTransaction>);

/// Begins the one write transaction.
pub(super) fn begin_write(database: &Database) -> Result<WriteTransaction, Error> {
    guarded("the file", || Ok(WriteTransaction(GuardedDrop::new(database.begin_write()?))))
}

impl WriteTransaction {
    /// Every commit is durable before anyone is answered.
    pub fn durable(&mut self, quick_repair: bool) -> Result<(), Error> {
        self.0.set_durability(Durability::Immediate).map_err(|error| Error::Io(error.to_string()))?;
        self.0.set_quick_repair(quick_repair);
        Ok(())
    }

    /// A table, made where it is absent.
    pub fn open_table<K: Key + 'static, V: Value + 'static>(
        &self,
        definition: TableDefinition<'static, K, V>,
    ) -> Result<WrittenTable<'_, K, V>, Error> {
        let table = guarded(definition.name(), || Ok(self.0.open_table(definition)?))?;
        Ok(Table::new(definition, table))
    }

    pub fn commit(self) -> Result<(), Error> {
        guarded("the file", || Ok(self.0.into_inner().commit()?))
    }

    pub fn abort(self) -> Result<(), Error> {
        guarded("the file", || Ok(self.0.into_inner().abort()?))
    }
}

/// A table of redb. One that is dropped tells its transaction, which panics where a call met damage before.
pub struct Table<T, K: Key + 'static, V: Value + 'static> {
    definition: TableDefinition<'static, K, V>,
    table: GuardedDrop<T>,
}

impl<T, K: Key + 'static, V: Value + 'static> Table<T, K, V> {
    fn new(definition: TableDefinition<'static, K, V>, table: T) -> Self {
        Table { definition, table: GuardedDrop::new(table) }
    }
}

/// A table at one moment.
pub(super) type ReadOnlyTable<K, V> = Table<redb::ReadOnlyTable<K, V>, K, V>;

/// A table of the open write transaction.
pub(super) type WrittenTable<'t, K, V> = Table<redb::Table<'t, K, V>, K, V>;

/// Key and value of a row.
type Row<'t, K, V> = (AccessGuard<'t, K>, AccessGuard<'t, V>);

impl<T: ReadableTable<K, V>, K: Key + 'static, V: Value + 'static> Table<T, K, V> {
    /// The value under a key.
    pub fn get<'k>(&self, key: impl Borrow<K::SelfType<'k>>) -> Result<Option<AccessGuard<'_, V>>, Error> {
        guarded(self.definition.name(), || {
            let found = self.table.get(key)?;
            found.as_ref().map(AccessGuard::value);
            Ok(found)
        })
    }

    /// The first row.
    pub fn first(&self) -> Result<Option<Row<'_, K, V>>, Error> {
        guarded(self.definition.name(), || decoded(self.table.first()?))
    }

    /// The last row.
    pub fn last(&self) -> Result<Option<Row<'_, K, V>>, Error> {
        guarded(self.definition.name(), || decoded(self.table.last()?))
    }

    /// The last row up to a key and with it.
    pub fn last_up_to<'k>(&self, key: impl Borrow<K::SelfType<'k>>) -> Result<Option<Row<'_, K, V>>, Error> {
        guarded(self.definition.name(), || decoded(self.table.upper_bound(Bound::Included(key))?.prev()?))
    }

    /// Rows of a range of keys.
    pub fn range<'k, B: Borrow<K::SelfType<'k>> + 'k>(
        &self,
        range: impl RangeBounds<B> + 'k,
    ) -> Result<Rows<'_, K, V>, Error> {
        let rows = guarded(self.definition.name(), || Ok(self.table.range(range)?))?;
        Ok(Rows { definition: self.definition, rows: Some(rows) })
    }

    /// All rows.
    pub fn iter(&self) -> Result<Rows<'_, K, V>, Error> {
        let rows = guarded(self.definition.name(), || Ok(self.table.iter()?))?;
        Ok(Rows { definition: self.definition, rows: Some(rows) })
    }

    /// Number of rows.
    pub fn len(&self) -> Result<u64, Error> {
        guarded(self.definition.name(), || Ok(self.table.len()?))
    }
}

fn decoded<'t, K: Key + 'static, V: Value + 'static>(
    row: Option<Row<'t, K, V>>,
) -> Result<Option<Row<'t, K, V>>, Error> {
    if let Some((key, value)) = &row {
        key.value();
        value.value();
    }
    Ok(row)
}

impl<K: Key + 'static, V: Value + 'static> ReadOnlyTable<K, V> {
    /// The value under a key, to be read later.
    pub fn get_owned<'k>(&self, key: impl Borrow<K::SelfType<'k>>) -> Result<Option<OwnedAccessGuard<V>>, Error> {
        guarded(self.definition.name(), || {
            let found = self.table.get_owned(key)?;
            found.as_ref().map(OwnedAccessGuard::value);
            Ok(found)
        })
    }
}

impl<K: Key + 'static, V: Value + 'static> WrittenTable<'_, K, V> {
    /// Puts a row in; whether it replaced one.
    pub fn insert<'k, 'v>(
        &mut self,
        key: impl Borrow<K::SelfType<'k>>,
        value: impl Borrow<V::SelfType<'v>>,
    ) -> Result<bool, Error> {
        guarded(self.definition.name(), || Ok(self.table.insert(key, value)?.is_some()))
    }

    /// Takes a row out, where it is there.
    pub fn remove<'k>(&mut self, key: impl Borrow<K::SelfType<'k>>) -> Result<(), Error> {
        guarded(self.definition.name(), || {
            self.table.remove(key)?;
            Ok(())
        })
    }

    /// Takes all rows out.
    pub fn clear(&mut self) -> Result<(), Error> {
        guarded(self.definition.name(), || Ok(self.table.retain(|_, _| false)?))
    }

    /// Puts rows in whose keys ascend and lie behind all others: redb packs their pages full.
    pub fn append<'k, 'v, A: Borrow<K::SelfType<'k>>, B: Borrow<V::SelfType<'v>>>(
        &mut self,
        rows: impl IntoIterator<Item = (A, B)>,
    ) -> Result<(), Error> {
        guarded(self.definition.name(), || {
            let mut end = self.table.upper_bound_mut(Bound::<A>::Unbounded)?;
            for (key, value) in rows {
                end.insert_before(key, value).map_err(|error| match error {
                    redb::CursorError::Storage(error) => error.into(),
                    // The last key that the table says is not its last one.
                    error => Error::Damaged(error.to_string()),
                })?;
            }
            Ok(end.close()?)
        })
    }
}

/// Rows of a table, from either end; the first that cannot be read ends them.
pub struct Rows<'t, K: Key + 'static, V: Value + 'static> {
    definition: TableDefinition<'static, K, V>,
    rows: Option<Range<'t, K, V>>,
}

impl<'t, K: Key + 'static, V: Value + 'static> Rows<'t, K, V> {
    fn step(
        &mut self,
        step: impl FnOnce(&mut Range<'t, K, V>) -> Option<Result<Row<'t, K, V>, redb::StorageError>>,
    ) -> Option<Result<Row<'t, K, V>, Error>> {
        let rows = self.rows.as_mut()?;
        let row = guarded(self.definition.name(), || decoded(step(rows).transpose()?));
        if row.is_err() {
            self.rows = None;
        }
        row.transpose()
    }
}

impl<'t, K: Key + 'static, V: Value + 'static> Iterator for Rows<'t, K, V> {
    type Item = Result<Row<'t, K, V>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(Iterator::next)
    }
}

impl<K: Key + 'static, V: Value + 'static> DoubleEndedIterator for Rows<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(DoubleEndedIterator::next_back)
    }
}
