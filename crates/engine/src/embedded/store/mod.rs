//! The truth: versions and changes in redb. The only module that uses redb.
//!
//! All hot keys ascend, and certificates have no secondary tables: whatever is searched of them is searched in the index.
//! `docs/explanation/storage.md` describes every table byte by byte.

mod ascending;
pub mod backend;
mod bare;
mod batch;
pub mod body;
mod by_time;
mod chain;
pub mod change;
pub mod consent;
mod copied_entry;
pub mod copy;
pub mod crc;
pub(super) mod derived;
mod disk_space;
mod entry_log;
mod erased;
mod error;
mod folder_lock;
pub mod format_2;
mod halving;
mod holder;
mod hour_count;
mod journal;
pub mod list;
mod log;
mod mark;
mod medium;
pub mod migration;
mod newest;
mod opening;
mod optional;
pub mod pages;
pub mod patient;
mod payload;
mod position;
mod reader;
pub mod record;
mod replay;
mod restoring;
pub(crate) mod row;
mod stamps;
mod tables;
#[cfg(test)]
pub mod tampered;
mod time;
pub mod version_keys;
mod whole;
mod written_log;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use crate::STORE_FILE;
pub use backend::FileMedium;
pub use bare::{PatientIdentifiers, Records};
use base::log::event;
pub use batch::Batch;
use body::Dictionary;
pub use by_time::VersionsByTime;
pub use change::{ChangeKind, ChangeRow};
pub use entry_log::LoggedEntry;
pub use error::StoreError;
use error::io;
use folder_lock::FolderLock;
pub use holder::FolderHolder;
use holder::Holding;
#[cfg(test)]
pub use log::CALLS;
use log::Log;
pub use log::Measured;
pub use log::memory::MemoryLog;
pub use mark::StoreMark;
use medium::OpenMode;
pub use medium::{StoreMedium, StoreOptions};
pub use opening::{OpenedStore, expect_unused};
use opening::{first_look, look_again};
use optional::{OptionalTable, opened};
use pages::Pages;
pub use payload::payload;
pub use position::{ReopenedPosition, StorePosition};
pub use reader::{StoreReader, StoredVersionPage};
pub use restoring::{RESTORING, is_restoring};
pub use stamps::{LATEST_STAMP, LatestStamp};
pub use tables::FORMAT;
use tables::{CLASS, COUNTER, DICTIONARY, LOG, META, REGISTER, TIME, VERSION};

/// The longest pause between two tries to open the store again after a failure, in seconds.
const STORE_REOPEN_PAUSE_SECONDS: u64 = 5;

/// The same after a commit met damage, when each try reads the whole file.
const STORE_DAMAGED_PAUSE_SECONDS: u64 = 300;

/// The open store. Reads go on while the one writer commits.
///
/// Its locks are taken whether or not a thread panicked with one: what is under them is replaced as a whole.
pub struct Store {
    /// Given up before the database is, so that it is never somebody else's.
    holding: Mutex<Option<Holding>>,
    path: Arc<Path>,
    options: StoreOptions,
    /// Empty only while a failed database is being opened again.
    database: RwLock<Option<Log>>,
    /// The reader of the newest commit, for everyone who reads until the next one: opening a table costs more than finding a version.
    /// It keeps no page from being used again, since it is let go before the next acknowledgement, and a transaction frees only what
    /// those before it gave up. Locked before `database`, where both are.
    kept: RwLock<Option<Arc<StoreReader>>>,
    dictionaries: RwLock<Vec<(u8, Dictionary)>>,
    /// Consent was changed at some time, or is being changed: until then nobody looks for it. Set before the commit.
    has_consent: AtomicBool,
    /// What is in memory may not be what is stored: the database is to be opened again.
    distrusted: AtomicBool,
    /// A commit met damage: the database is opened again when every page of it is as it was written, since the next commit would meet the
    /// same.
    is_damaged: AtomicBool,
    /// The disk takes no writes; the database is opened copy-on-write: redb's writes stay in memory.
    is_copy_on_write: AtomicBool,
    /// Opened read-only: it is copy-on-write from the beginning to the end.
    is_read_only: bool,
    /// The data folder, locked. Given up after the database is.
    lock: Mutex<Option<FolderLock>>,
}

/// Seconds without a commit after which the store's file is made durable.
const CHECKPOINT_PAUSE_SECONDS: u64 = 5;

impl Store {
    /// Opens the store in a folder, or makes it.
    ///
    /// # Errors
    /// `InUse`, `Newer`, `Migration`, `OtherNames`, `Restoring`, or what the file system says.
    pub fn open(folder: &Path, options: StoreOptions) -> Result<(Store, OpenedStore), StoreError> {
        match is_restoring(folder)? {
            false => Store::open_restoring(folder, options),
            true => Err(StoreError::Restoring),
        }
    }

    /// As [`open`](Store::open), for the restore itself.
    pub fn open_restoring(folder: &Path, options: StoreOptions) -> Result<(Store, OpenedStore), StoreError> {
        let path = folder.join(STORE_FILE);
        let lock = options.medium.lock_folder(folder, false)?;
        options.medium.make(&path, options.cache_bytes)?;
        let (mut database, journal) = options.open_with_journal(&path, OpenMode::Write)?;
        let holding = Holding::begin(folder);
        // The file's name must survive a power cut as surely as what is committed to it.
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(io)?;
        let opened = first_look(&database, Some(&path), &options)?;
        journal.into_iter().for_each(|journal| database.attach(journal));
        Store::assemble(path, options, database, (holding, lock), false).map(|store| (store, opened))
    }

    /// Opens the store of a folder read-only. Nothing of it is changed: what redb mends after a kill, and what a migration does, stays in
    /// memory.
    ///
    /// # Errors
    /// As [`open`](Store::open); `Io` where there is none.
    pub fn open_read_only(folder: &Path, options: StoreOptions) -> Result<(Store, OpenedStore), StoreError> {
        match is_restoring(folder)? {
            false => Store::look_restoring(folder, options),
            true => Err(StoreError::Restoring),
        }
    }

    /// As [`open_read_only`](Store::open_read_only), for the restore itself.
    pub fn look_restoring(folder: &Path, options: StoreOptions) -> Result<(Store, OpenedStore), StoreError> {
        let path = folder.join(STORE_FILE);
        let lock = options.medium.lock_folder(folder, true)?;
        let database = options.open(&path, OpenMode::ReadOnly)?;
        let holding = Holding::beside(folder);
        let opened = first_look(&database, None, &options)?;
        Store::assemble(path, options, database, (holding, lock), true).map(|store| (store, opened))
    }

    fn assemble(
        path: PathBuf,
        options: StoreOptions,
        database: Log,
        (holding, lock): (Option<Holding>, Option<FolderLock>),
        is_read_only: bool,
    ) -> Result<Store, StoreError> {
        let (holding, lock) = (Mutex::new(holding), Mutex::new(lock));
        let (kept, dictionaries) = (RwLock::default(), RwLock::default());
        let has_consent = AtomicBool::new(consent::is_used(&database.begin_read()?)?);
        let (distrusted, is_damaged, is_copy_on_write) =
            (AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(is_read_only));
        let database = RwLock::new(Some(database));
        let store = Store {
            holding,
            path: path.into(),
            options,
            database,
            kept,
            dictionaries,
            has_consent,
            distrusted,
            is_damaged,
            is_copy_on_write,
            is_read_only,
            lock,
        };
        store.load_dictionaries()?;
        Ok(store)
    }

    /// Starts reading at one moment, after everything acknowledged. Readers are held briefly: nothing longer than 100 ms.
    pub fn reader(&self) -> Result<Arc<StoreReader>, StoreError> {
        if self.is_read_only && self.has_failed() {
            // No writer is there to do it.
            self.look_again()?;
        }
        if let Some(reader) = &*self.kept.read().unwrap_or_else(PoisonError::into_inner) {
            return Ok(reader.clone());
        }
        // Under the lock that a commit needs to forget the reader before it, so that an older one cannot be put back.
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(reader) = &*kept {
            return Ok(reader.clone());
        }
        let guard = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let database = guard.as_ref().ok_or(StoreError::Reopening)?;
        let transaction = database.begin_read()?;
        // Asked behind the beginning: whoever sees a consent sees this too.
        let reader =
            Arc::new(StoreReader::new(self.path.clone(), transaction, self.has_consent.load(Ordering::Acquire)));
        *kept = Some(reader.clone());
        Ok(reader)
    }

    /// Closes and opens the read-only database again, as redb demands after a call that failed.
    fn look_again(&self) -> Result<(), StoreError> {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        *kept = None;
        let mut guard = self.database.write().unwrap_or_else(PoisonError::into_inner);
        *guard = None;
        *guard = Some(look_again(&self.path, &self.options)?);
        Ok(())
    }

    /// Lets the reader of the commit before go.
    fn forget_reader(&self) {
        *self.kept.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The number and content of the dictionary that new bodies are written with.
    pub fn current_dictionary(&self) -> (u8, Dictionary) {
        *self.dictionaries().last().expect("opening stored at least one dictionary")
    }

    /// A dictionary by its number.
    pub fn dictionary(&self, number: u8) -> Result<Dictionary, StoreError> {
        let found = self.dictionaries().iter().find(|(known, _)| *known == number).map(|(_, dictionary)| *dictionary);
        found.ok_or_else(|| StoreError::Damaged(format!("dictionary {number} is missing")))
    }

    fn dictionaries(&self) -> RwLockReadGuard<'_, Vec<(u8, Dictionary)>> {
        self.dictionaries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn load_dictionaries(&self) -> Result<(), StoreError> {
        let guard = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let database = guard.as_ref().expect("the store was opened just now");
        let table = database.begin_read()?.open_table(DICTIONARY)?;
        let mut loaded = self.dictionaries.write().unwrap_or_else(PoisonError::into_inner);
        for row in table.iter()? {
            let (number, content) = row?;
            loaded.push((number.value(), body::dictionary(content.value())?));
        }
        Ok(())
    }

    /// Begins the one write transaction and lets `write` fill it; commits when `write` says so.
    ///
    /// # Errors
    /// What `write` returned (nothing is stored then), `Gone`, or `CommitUnknown`.
    pub fn write<T>(
        &self,
        write: impl FnOnce(&mut Batch) -> Result<(T, CommitNeed), StoreError>,
    ) -> Result<T, StoreError> {
        self.expect_in_place()?;
        let guard = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let database = guard.as_ref().filter(|_| !self.is_copy_on_write()).ok_or(StoreError::Reopening)?;
        let mut transaction = database.begin_write().inspect_err(|error| self.heed(error))?;
        transaction.durable(self.options.has_quick_repair(&self.path))?;
        let outcome = {
            let mut batch = Batch::new(&transaction, &self.has_consent).inspect_err(|error| self.heed(error))?;
            match write(&mut batch) {
                Ok((value, CommitNeed::Yes)) => {
                    batch.finish().map(|()| (value, CommitNeed::Yes)).inspect_err(|error| self.heed(error))
                }
                outcome => outcome,
            }
        };
        match outcome {
            Ok((value, CommitNeed::Yes)) => {
                transaction.commit().map_err(|error| {
                    self.heed(&error);
                    self.distrust();
                    StoreError::CommitUnknown(error.to_string())
                })?;
                drop(guard);
                self.forget_reader();
                // In a file that went away meanwhile nobody would find it again.
                self.expect_in_place().map_err(|gone| StoreError::CommitUnknown(gone.to_string()))?;
                Ok(value)
            }
            Ok((value, CommitNeed::No)) => {
                transaction.abort()?;
                Ok(value)
            }
            Err(error) => {
                // Opening it again walks the file, and damage would keep it closed: only where redb cannot give the transaction up.
                if let Err(error @ StoreError::Damaged(_)) = transaction.abort() {
                    self.heed(&error);
                }
                Err(error)
            }
        }
    }

    /// Asks whether the file is still the one that was opened; one system call.
    ///
    /// # Errors
    /// `Gone`, from the first time on for ever.
    pub fn expect_in_place(&self) -> Result<(), StoreError> {
        if self.options.medium.is_in_place(&self.path) { Ok(()) } else { Err(StoreError::Gone) }
    }

    /// Asks whether the data folder is still the one that was locked; two system calls.
    ///
    /// # Errors
    /// `Moved`.
    pub fn expect_folder(&self) -> Result<(), StoreError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if lock.as_ref().is_none_or(|lock| lock.is_at(folder)) { Ok(()) } else { Err(StoreError::Moved) }
    }

    /// Whether the file was found to be another one, or none. Asks nobody.
    pub fn is_gone(&self) -> bool {
        self.options.medium.is_gone()
    }

    /// Makes the file durable once nothing was committed for some seconds. The writer calls it while it has nothing to do.
    ///
    /// # Errors
    /// The disk failed: the store is to be opened again.
    pub fn checkpoint_if_idle(&self) -> Result<(), StoreError> {
        let guard = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let Some(database) = guard.as_ref().filter(|_| !self.is_copy_on_write() && !self.has_failed()) else {
            return Ok(());
        };
        match database.waits_for(Duration::from_secs(CHECKPOINT_PAUSE_SECONDS)) {
            true => database.checkpoint(self.options.has_quick_repair(&self.path), false).inspect_err(|error| {
                self.heed(error);
                self.distrust();
            }),
            false => Ok(()),
        }
    }

    /// Closes and opens the database again, as redb demands after a call that failed. Reads wait meanwhile. Returns where it stands now.
    ///
    /// # Errors
    /// It cannot be opened. Where it can be opened copy-on-write, reads go on; nothing is written until this succeeds.
    pub fn reopen(&self) -> Result<ReopenedPosition, StoreError> {
        self.distrust();
        self.expect_in_place()?;
        let ready = self.expect_whole().and_then(|()| Ok(self.options.medium.prove_room(&self.path)?));
        let is_open = || self.database.read().unwrap_or_else(PoisonError::into_inner).is_some();
        if self.is_copy_on_write()
            && is_open()
            && let Err(error) = ready
        {
            // Reads go on from what is open.
            return Err(error);
        }
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        *kept = None;
        let mut guard = self.database.write().unwrap_or_else(PoisonError::into_inner);
        *guard = None;
        let open = || -> Result<_, StoreError> {
            ready?;
            let database = self.options.open(&self.path, OpenMode::Write)?;
            Ok((ReopenedPosition::read(&database)?, database))
        };
        let opened = open();
        let (reopened, database) = match opened {
            Ok((reopened, database)) => (Ok(reopened), Some(database)),
            Err(error) => (Err(error), self.options.open(&self.path, OpenMode::CopyOnWrite).ok()),
        };
        self.is_copy_on_write.store(reopened.is_err(), Ordering::Release);
        *guard = database;
        reopened
    }

    /// What is in memory may not be what is stored, from now on until [`trust`](Self::trust).
    pub fn distrust(&self) {
        self.distrusted.store(true, Ordering::Release);
    }

    /// What is in memory was read from the database that is open.
    pub fn trust(&self) {
        self.is_damaged.store(false, Ordering::Release);
        self.distrusted.store(false, Ordering::Release);
    }

    /// Damage that a commit met will be met by the next one.
    fn heed(&self, error: &StoreError) {
        if let StoreError::Damaged(_) = error {
            self.is_damaged.store(true, Ordering::Release);
            self.distrust();
        }
    }

    /// Whether a commit met damage since the database was opened.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::Acquire)
    }

    /// The longest pause between two tries to open the database again. Behind damage each of them reads the whole file.
    pub fn reopen_pause_max(&self) -> Duration {
        Duration::from_secs(if self.is_damaged() { STORE_DAMAGED_PAUSE_SECONDS } else { STORE_REOPEN_PAUSE_SECONDS })
    }

    /// After a commit met damage: whether every page is as it was written.
    fn expect_whole(&self) -> Result<(), StoreError> {
        let problem = if self.is_damaged() { Pages::damage_of_all(&self.path)? } else { None };
        problem.map_or(Ok(()), |problem| Err(StoreError::Damaged(problem)))
    }

    /// Whether the database is to be opened again.
    pub fn has_failed(&self) -> bool {
        self.distrusted.load(Ordering::Acquire) || self.options.medium.has_failed()
    }

    /// Whether the disk takes no writes, so that the database can only be read.
    pub fn is_copy_on_write(&self) -> bool {
        self.is_copy_on_write.load(Ordering::Acquire)
    }

    /// Whether it was opened with [`open_read_only`](Store::open_read_only).
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Closes the file; every later call fails.
    pub fn close(&self) {
        // Or what closing it writes would cover up what happened to it.
        drop(self.expect_in_place());
        drop(self.holding.lock().unwrap_or_else(PoisonError::into_inner).take());
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        *kept = None;
        let database = self.database.write().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(database) = database.filter(|_| !self.is_copy_on_write() && !self.has_failed() && !self.is_gone())
            && let Err(error) = database.checkpoint(self.options.has_quick_repair(&self.path), true)
        {
            // The journal has it all.
            event!(STORE_NOT_SETTLED, error = %error);
        }
        drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Hands out the rows that the journal of a store has, the oldest first: table, key and value, or no value for a row that was taken out. A
/// salvage reads them.
pub fn journal_rows(folder: &Path, mut each: impl FnMut(&str, &[u8], Option<&[u8]>)) {
    for record in journal::StoreJournal::salvage(&::journal::disk::SystemDisk, &folder.join(STORE_FILE)) {
        let row = |table: &[u8], step: log::RedoStep| {
            let table = str::from_utf8(table).unwrap_or_default();
            match step {
                log::RedoStep::Put(key, value) => each(table, key, Some(value)),
                log::RedoStep::Take(key) => each(table, key, None),
                log::RedoStep::Clear => {}
            }
            Ok(())
        };
        // A record that holds together and cannot be read is one of a later release.
        drop(log::steps(&record, row));
    }
}

/// What is wrong with the journal of a store that says in `meta`, under `journal`, where it goes on.
pub fn journal_problem(folder: &Path, start: &[u8]) -> Option<String> {
    let place = journal::JournalPlace {
        disk: std::sync::Arc::new(::journal::disk::SystemDisk),
        file_bytes: journal::JOURNAL_FILE_BYTES,
    };
    let read = |start| journal::StoreJournal::read(&place, &folder.join(STORE_FILE), start);
    let problem = journal::JournalStart::read(Some(start)).and_then(read).err()?;
    Some(match problem {
        StoreError::Damaged(problem) => problem,
        problem => problem.to_string(),
    })
}

/// Whether a write transaction has something to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitNeed {
    /// The transaction changed something and is committed.
    Yes,
    /// The transaction changed nothing and is aborted.
    No,
}
