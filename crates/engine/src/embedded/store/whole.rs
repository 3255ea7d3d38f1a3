//! What is done to the file as a whole: its structure checked, its free pages given back, its tables measured.

use std::fs;
use std::io::ErrorKind;
use std::sync::PoisonError;
use std::thread;
use std::time::{Duration, Instant};

use super::log::{Log, Measured, ReadTransaction};
use super::medium::OpenMode;
use super::opening::look_again;
use super::pages::{self, Pages};
use super::{Store, StoreError};
use crate::JOURNAL_FILES;
use base::regular_file;

/// Seconds that a check or a compaction of a whole file waits for reads under way to end.
const STORE_QUIET_SECONDS: u64 = 10;

impl Store {
    /// The pages of its file. Only of a store that is looked at, since nobody writes to that one.
    pub fn pages(&self) -> Result<Pages, StoreError> {
        Pages::of(regular_file::following(&self.path).read(true).open(&self.path)?)
    }

    /// Walks the whole file and compares every page with its checksum; nobody reads or writes meanwhile. False when something does not
    /// hold together but could be mended. redb mends while it looks, and may make what could still be read unreadable; so it looks at the
    /// file through a layer that keeps in memory what would be written.
    ///
    /// # Errors
    /// `Damaged` when it could not be mended, or what keeps it from being looked at.
    pub fn integrity(&self) -> Result<bool, StoreError> {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        *kept = None;
        let mut guard = self.database.write().unwrap_or_else(PoisonError::into_inner);
        *guard = None;
        let beside = if self.is_read_only { OpenMode::ReadOnly } else { OpenMode::CopyOnWrite };
        let looked = self.options.open(&self.path, beside).and_then(|mut log| log.check_integrity());
        let again = match self.is_read_only {
            true => look_again(&self.path, &self.options),
            false => self.options.open(&self.path, OpenMode::Write),
        };
        *guard = Some(again?);
        looked
    }

    /// Moves pages to the front of the file and cuts it off behind them; nobody reads or writes meanwhile. A crash in between leaves a
    /// file that is whole. False when there was nothing to gain.
    pub fn compact(&self) -> Result<bool, StoreError> {
        // What is moved is written beside what is there: without room nothing is moved, but the file may have grown.
        self.options.medium.prove_room(&self.path)?;
        let mut has_gained = false;
        loop {
            let more = self.alone(Log::compact)?;
            if !more {
                return Ok(has_gained);
            }
            has_gained = true;
        }
    }

    /// Closes the file for good, and overwrites with zeros what it and its journal hold of earlier commits: after a crash in between, that is
    /// done again by the next call. The lock of the folder is kept until the store is [closed](Store::close). How many bytes were overwritten.
    ///
    /// # Errors
    /// What was committed cannot be made durable, or a file cannot be read or written: nothing that is in use was touched.
    pub fn scrub(&self) -> Result<u64, StoreError> {
        self.expect_in_place()?;
        *self.kept.write().unwrap_or_else(PoisonError::into_inner) = None;
        let database = self.database.write().unwrap_or_else(PoisonError::into_inner).take();
        let database = database.filter(|_| !self.is_copy_on_write() && !self.has_failed());
        let database = database.ok_or(StoreError::Reopening)?;
        database.checkpoint(self.options.has_quick_repair(&self.path), true)?;
        drop(database);
        let mut zeroed = Pages::zero_unused(&self.path)?;
        for name in JOURNAL_FILES {
            let path = self.path.with_file_name(name);
            let file = match regular_file::open_itself_to_write(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                file => file?,
            };
            let bytes = file.metadata()?.len();
            pages::zero(&file, 0, bytes)?;
            file.sync_all()?;
            fs::remove_file(&path)?;
            zeroed += bytes;
        }
        Ok(zeroed)
    }

    /// Does something that needs the file for itself. `run` says nothing while a read is under way; it is run again then.
    fn alone<T>(&self, mut run: impl FnMut(&mut Log) -> Result<Option<T>, StoreError>) -> Result<T, StoreError> {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        *kept = None;
        let mut guard = self.database.write().unwrap_or_else(PoisonError::into_inner);
        let database = guard.as_mut().ok_or(StoreError::Reopening)?;
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(STORE_QUIET_SECONDS) {
            if let Some(done) = run(database)? {
                return Ok(done);
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err(StoreError::Io("it is being read all the time".into()))
    }

    /// Measures every table, by name. Each takes a read transaction of its own, which walks all its pages.
    pub fn measure(&self) -> Result<Vec<Measured>, StoreError> {
        let begin = || -> Result<ReadTransaction, StoreError> {
            let guard = self.database.read().unwrap_or_else(PoisonError::into_inner);
            guard.as_ref().ok_or(StoreError::Reopening)?.begin_read()
        };
        let names = begin()?.table_names()?;
        names.into_iter().map(|name| begin()?.measure(name)).collect()
    }
}
