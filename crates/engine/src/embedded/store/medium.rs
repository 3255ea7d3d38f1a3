//! What a store is opened on: a file, or a map in memory that a test or a trial hands in.

use std::fs;
use std::io;
use std::path::Path;

use redb::{Database, DatabaseError};

use super::backend::FileMedium;
use super::error::{FILE, StoreError, io};
use super::folder_lock::FolderLock;
use super::holder::FolderHolder;
use super::journal::StoreJournal;
use super::log::memory::MemoryLog;
use super::log::{Log, guarded};
use super::pages::Pages;
use super::replay::replay;
use crate::{FolderNames, FolderPurpose, QuickRepair, STORE_FILE};

/// File size from which quick repair is switched on by `auto`: below it a full repair takes well under a second.
const QUICK_REPAIR_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// What a store is opened on.
#[derive(Clone, Debug)]
pub enum StoreMedium {
    /// A file of redb in the data folder.
    File(FileMedium),
    /// Tables in memory, kept until the last clone of the log is dropped.
    Memory(MemoryLog),
}

impl Default for StoreMedium {
    fn default() -> StoreMedium {
        StoreMedium::File(FileMedium::default())
    }
}

/// What a log is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenMode {
    Write,
    /// For reading, on a disk that takes no writes: they stay in memory.
    CopyOnWrite,
    /// For reading: nothing is written to its file.
    ReadOnly,
}

impl StoreMedium {
    /// Locks the data folder, as [`FileMedium::lock_folder`]. What lies beside the store is in the folder with every medium.
    pub(super) fn lock_folder(&self, folder: &Path, looks: bool) -> Result<Option<FolderLock>, StoreError> {
        let locked = match self {
            StoreMedium::File(file) => file.lock_folder(folder, looks),
            StoreMedium::Memory(_) => FileMedium::default().lock_folder(folder, looks),
        };
        locked.map_err(|error| unopened(&folder.join(STORE_FILE), error))
    }

    /// Whether no other process has a data folder: the lock is taken and given back.
    pub(super) fn expect_unused(folder: &Path, looks: bool) -> Result<(), StoreError> {
        FolderLock::expect_free(folder, looks).map_err(|error| unopened(&folder.join(STORE_FILE), error))
    }

    /// Makes the log where there is none.
    pub(super) fn make(&self, path: &Path, cache_bytes: usize) -> Result<(), StoreError> {
        let StoreMedium::File(file) = self else { return Ok(()) };
        let mut builder = Database::builder();
        builder.set_cache_size(cache_bytes);
        guarded(FILE, || file.make_if_missing(&builder, path).map_err(io))
    }

    /// Opens the log that is there.
    pub(super) fn open(&self, path: &Path, cache_bytes: usize, way: OpenMode) -> Result<Log, StoreError> {
        let file = match self {
            StoreMedium::File(file) => file,
            StoreMedium::Memory(memory) => return Ok(Log::Memory(memory.clone())),
        };
        let mut builder = Database::builder();
        builder.set_cache_size(cache_bytes);
        expect_bytes(path)?;
        if way != OpenMode::CopyOnWrite {
            expect_first_pages(path)?;
        }
        let opened = guarded(FILE, || match way {
            OpenMode::Write => file.open(&builder, path).map_err(|error| unopened(path, error)),
            OpenMode::CopyOnWrite => file.open_copy_on_write(&builder, path).map_err(io),
            OpenMode::ReadOnly => file.open_read_only(&builder, path).map_err(|error| unopened(path, error)),
        });
        opened.map(Log::of_redb)
    }

    /// Brings a log that was just opened to where its journal ends, and returns the journal, where it has one.
    ///
    /// # Errors
    /// As [`replay`].
    pub(super) fn catch_up(
        &self,
        log: &Log,
        path: &Path,
        quick_repair: bool,
    ) -> Result<Option<StoreJournal>, StoreError> {
        match self {
            StoreMedium::File(file) => replay(log, file.journal(), path, quick_repair),
            StoreMedium::Memory(_) => Ok(None),
        }
    }

    /// As [`FileMedium::is_in_place`].
    pub(super) fn is_in_place(&self, path: &Path) -> bool {
        match self {
            StoreMedium::File(file) => file.is_in_place(path),
            StoreMedium::Memory(_) => true,
        }
    }

    /// As [`FileMedium::is_gone`].
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, StoreMedium::File(file) if file.is_gone())
    }

    /// As [`FileMedium::prove_room`].
    pub(super) fn prove_room(&self, path: &Path) -> io::Result<()> {
        match self {
            StoreMedium::File(file) => file.prove_room(path),
            StoreMedium::Memory(_) => Ok(()),
        }
    }

    /// As [`FileMedium::has_failed`].
    pub(super) fn has_failed(&self) -> bool {
        matches!(self, StoreMedium::File(file) if file.has_failed())
    }
}

/// Refuses an empty file, in which redb would begin a new database.
fn expect_bytes(path: &Path) -> Result<(), StoreError> {
    match fs::metadata(path) {
        Ok(file) if file.len() == 0 => Err(StoreError::Damaged("its file is empty".into())),
        _ => Ok(()),
    }
}

/// Refuses a file where redb would end the process, or the next number would be one that was given already.
fn expect_first_pages(path: &Path) -> Result<(), StoreError> {
    match Pages::damage_before_opening(path)? {
        Some(problem) => Err(StoreError::Damaged(problem)),
        None => Ok(()),
    }
}

/// Why a database cannot be opened, in words.
fn unopened(path: &Path, error: DatabaseError) -> StoreError {
    match error {
        DatabaseError::DatabaseAlreadyOpen => StoreError::InUse(path.parent().and_then(FolderHolder::of)),
        DatabaseError::UpgradeRequired(format) => StoreError::Newer(format!("file format {format} of redb")),
        error => io(error),
    }
}

/// How to open the store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// redb's cache in bytes; it may be exceeded by about half.
    pub cache_bytes: usize,
    /// When commits prepare a fast start after a crash.
    pub quick_repair: QuickRepair,
    /// Names that stored data hold; a store that was made with other names is refused.
    pub names: FolderNames,
    /// What the folder is opened for; none for commands that serve it to nobody.
    pub purpose: Option<FolderPurpose>,
    /// Where the store is kept: in a file or in memory.
    pub medium: StoreMedium,
}

impl StoreOptions {
    /// For a restore. Nothing is to be repaired quickly: nobody waits for the start behind a restore that was cut.
    pub fn of_restore(cache_bytes: usize, names: FolderNames) -> StoreOptions {
        StoreOptions {
            cache_bytes,
            quick_repair: QuickRepair::Off,
            names,
            purpose: None,
            medium: StoreMedium::default(),
        }
    }

    /// Opens the log and applies what its journal has. Commits of a log that is opened to write go to the journal first.
    pub(super) fn open(&self, path: &Path, way: OpenMode) -> Result<Log, StoreError> {
        let (mut log, journal) = self.open_with_journal(path, way)?;
        journal.into_iter().filter(|_| way == OpenMode::Write).for_each(|journal| log.attach(journal));
        Ok(log)
    }

    /// As [`open`](Self::open), with the journal beside the log, to be attached later.
    pub(super) fn open_with_journal(
        &self,
        path: &Path,
        way: OpenMode,
    ) -> Result<(Log, Option<StoreJournal>), StoreError> {
        let log = self.medium.open(path, self.cache_bytes, way)?;
        let journal = self.medium.catch_up(&log, path, self.has_quick_repair(path))?;
        Ok((log, journal))
    }

    /// Whether durable commits prepare a fast start after a crash.
    pub(super) fn has_quick_repair(&self, path: &Path) -> bool {
        match self.quick_repair {
            QuickRepair::On => true,
            QuickRepair::Off => false,
            QuickRepair::Auto => fs::metadata(path).is_ok_and(|file| file.len() >= QUICK_REPAIR_FILE_BYTES),
        }
    }
}
