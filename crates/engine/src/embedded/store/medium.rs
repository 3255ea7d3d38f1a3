//! What a store is opened on: a file, or a map in memory that a test or a trial hands in.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use redb::{Database, DatabaseError};

use super::backend::FileMedium;
use super::error::{Error, FILE, io};
use super::holder::Holder;
use super::log::memory::MemoryLog;
use super::log::{GuardedDrop, Log, guarded};
use super::pages::Pages;
use crate::{Names, Purpose, QuickRepair, STORE_FILE};

/// What a store is opened on.
#[derive(Clone, Debug)]
pub enum Medium {
    File(FileMedium),
    Memory(MemoryLog),
}

impl Default for Medium {
    fn default() -> Medium {
        Medium::File(FileMedium::default())
    }
}

/// What a log is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Write,
    /// For reading, on a disk that takes no writes.
    Aside,
    /// To be looked at: nothing is written to its file.
    Look,
}

impl Medium {
    /// Locks the data folder itself, as [`FileMedium::lock_folder`]. What lies beside the store is in the folder with every medium.
    pub(super) fn lock_folder(&self, folder: &Path, looks: bool) -> Result<Option<File>, Error> {
        let locked = match self {
            Medium::File(file) => file.lock_folder(folder, looks),
            Medium::Memory(_) => FileMedium::default().lock_folder(folder, looks),
        };
        locked.map_err(|error| unopened(&folder.join(STORE_FILE), error))
    }

    /// Makes the log where there is none.
    pub(super) fn make(&self, path: &Path, cache_bytes: usize) -> Result<(), Error> {
        let Medium::File(file) = self else { return Ok(()) };
        let mut builder = Database::builder();
        builder.set_cache_size(cache_bytes);
        guarded(FILE, || file.make_if_missing(&builder, path).map_err(io))
    }

    /// Opens the log that is there.
    pub(super) fn open(&self, path: &Path, cache_bytes: usize, way: Way) -> Result<Log, Error> {
        let file = match self {
            Medium::File(file) => file,
            Medium::Memory(memory) => return Ok(Log::Memory(memory.clone())),
        };
        let mut builder = Database::builder();
        builder.set_cache_size(cache_bytes);
        expect_bytes(path)?;
        if way != Way::Aside {
            expect_first_pages(path)?;
        }
        let opened = guarded(FILE, || match way {
            Way::Write => file.open(&builder, path).map_err(|error| unopened(path, error)),
            Way::Aside => file.open_aside(&builder, path).map_err(io),
            Way::Look => file.open_looking(&builder, path).map_err(|error| unopened(path, error)),
        });
        opened.map(|database| Log::Redb(GuardedDrop::new(database)))
    }

    /// As [`FileMedium::is_in_place`].
    pub(super) fn is_in_place(&self, path: &Path) -> bool {
        match self {
            Medium::File(file) => file.is_in_place(path),
            Medium::Memory(_) => true,
        }
    }

    /// As [`FileMedium::is_gone`].
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Medium::File(file) if file.is_gone())
    }

    /// As [`FileMedium::prove_room`].
    pub(super) fn prove_room(&self, path: &Path) -> io::Result<()> {
        match self {
            Medium::File(file) => file.prove_room(path),
            Medium::Memory(_) => Ok(()),
        }
    }

    /// As [`FileMedium::has_failed`].
    pub(super) fn has_failed(&self) -> bool {
        matches!(self, Medium::File(file) if file.has_failed())
    }
}

/// Refuses an empty file, in which redb would begin a new database.
fn expect_bytes(path: &Path) -> Result<(), Error> {
    match fs::metadata(path) {
        Ok(file) if file.len() == 0 => Err(Error::Damaged("its file is empty".into())),
        _ => Ok(()),
    }
}

/// Refuses a file where redb would end the process, or the next number would be one that was given already.
fn expect_first_pages(path: &Path) -> Result<(), Error> {
    match Pages::damage_before_opening(path)? {
        Some(problem) => Err(Error::Damaged(problem)),
        None => Ok(()),
    }
}

/// Why a database cannot be opened, in words.
fn unopened(path: &Path, error: DatabaseError) -> Error {
    match error {
        DatabaseError::DatabaseAlreadyOpen => Error::InUse(path.parent().and_then(Holder::of)),
        DatabaseError::UpgradeRequired(format) => Error::Newer(format!("file format {format} of redb")),
        error => io(error),
    }
}

/// How to open the store.
#[derive(Clone, Debug)]
pub struct Options {
    pub cache_bytes: usize,
    pub quick_repair: QuickRepair,
    pub names: Names,
    /// What the folder is opened for; none for commands that serve it to nobody.
    pub purpose: Option<Purpose>,
    pub medium: Medium,
}

impl Options {
    pub(super) fn open(&self, path: &Path, way: Way) -> Result<Log, Error> {
        self.medium.open(path, self.cache_bytes, way)
    }
}
