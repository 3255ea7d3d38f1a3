//! What is done to the file as a whole: its structure checked, its free pages given back, its tables measured.

use std::thread;
use std::time::{Duration, Instant};

use redb::{
    CompactionError, Database, DatabaseError, ReadableDatabase, ReadableTableMetadata, StorageError, TableHandle,
};

use super::opening::{look_again, open_aside, open_database, open_looking};
use super::{Error, Store, guarded, io};
use crate::limits::STORE_QUIET_SECONDS;

/// What a table takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    pub name: String,
    pub rows: u64,
    /// Bytes of keys and values.
    pub stored_bytes: u64,
    /// Bytes of the pages above them.
    pub metadata_bytes: u64,
    /// Bytes that are free inside its pages.
    pub fragmented_bytes: u64,
}

impl Store {
    /// Walks the whole file and compares every page with its checksum; nobody reads or writes meanwhile. False when something does not
    /// hold together but could be mended. redb mends while it looks, and may make what could still be read unreadable; so it looks at the
    /// file through a layer that keeps in memory what would be written.
    ///
    /// # Errors
    /// `Damaged` when it could not be mended, or what keeps it from being looked at.
    pub fn integrity(&self) -> Result<bool, Error> {
        let mut kept = self.kept.write().expect("no holder of this lock can panic");
        *kept = None;
        let mut guard = self.database.write().expect("no holder of this lock can panic");
        *guard = None;
        let looked = guarded(|| {
            let mut database = match self.is_looked_at {
                true => open_looking(&self.path, &self.options)?,
                false => open_aside(&self.path, &self.options)?,
            };
            match database.check_integrity() {
                Ok(is_whole) => Ok(is_whole),
                Err(DatabaseError::Storage(StorageError::Corrupted(what))) => Err(Error::Damaged(what)),
                Err(error) => Err(io(error)),
            }
        });
        let again = guarded(|| match self.is_looked_at {
            true => look_again(&self.path, &self.options),
            false => open_database(&self.path, &self.options),
        });
        *guard = Some(again?);
        looked
    }

    /// Moves pages to the front of the file and cuts it off behind them; nobody reads or writes meanwhile. A crash in between leaves a
    /// file that is whole. False when there was nothing to gain.
    pub fn compact(&self) -> Result<bool, Error> {
        let mut has_gained = false;
        loop {
            let more = self.alone(|database| match database.compact() {
                Ok(more) => Ok(Some(more)),
                Err(CompactionError::TransactionInProgress) => Ok(None),
                Err(error) => Err(io(error)),
            })?;
            if !more {
                return Ok(has_gained);
            }
            has_gained = true;
        }
    }

    /// Does something that needs the file for itself. `run` says nothing while a read is under way; it is run again then.
    fn alone<T>(&self, mut run: impl FnMut(&mut Database) -> Result<Option<T>, Error>) -> Result<T, Error> {
        let mut kept = self.kept.write().expect("no holder of this lock can panic");
        *kept = None;
        let mut guard = self.database.write().expect("no holder of this lock can panic");
        let database = guard.as_mut().ok_or(Error::Reopening)?;
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(STORE_QUIET_SECONDS) {
            if let Some(done) = run(database)? {
                return Ok(done);
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err(Error::Io("it is being read all the time".into()))
    }

    /// Measures every table, by name. Each takes a read transaction of its own, which walks all its pages.
    pub fn measure(&self) -> Result<Vec<Measured>, Error> {
        let begin = || {
            let guard = self.database.read().expect("no holder of this lock can panic");
            guard.as_ref().ok_or(Error::Reopening)?.begin_read().map_err(io)
        };
        let mut names: Vec<_> = begin()?.list_tables().map_err(io)?.collect();
        names.sort_by(|left, right| left.name().cmp(right.name()));
        let measure = |table: redb::UntypedTableHandle| -> Result<Measured, Error> {
            let name = table.name().to_owned();
            let table = begin()?.open_untyped_table(table).map_err(io)?;
            let (rows, stats) = (table.len().map_err(io)?, table.stats().map_err(io)?);
            Ok(Measured {
                name,
                rows,
                stored_bytes: stats.stored_bytes(),
                metadata_bytes: stats.metadata_bytes(),
                fragmented_bytes: stats.fragmented_bytes(),
            })
        };
        names.into_iter().map(measure).collect()
    }
}
