//! Where the store's file lies: in a file system, or where a test plays one.

use std::fmt::Debug;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use redb::backends::FileBackend;
use redb::{Builder, DatabaseError, StorageBackend};

use super::super::folder_lock::FolderLock;
use super::super::journal::{JOURNAL_FILE_BYTES, JournalPlace};
use super::mark::UnsyncedMark;
use crate::limits::STORE_ROOM_BYTES;
use base::regular_file;
use journal::disk::SystemDisk;

/// The place of a store's file and of what lies beside it.
pub(super) trait StoreLocation: Debug + Send + Sync {
    /// Makes the database where there is none; it gets its name when it is whole.
    fn make_if_missing(&self, builder: &Builder, path: &Path) -> Result<(), DatabaseError>;

    /// Opens the file that is there.
    fn open(&self, path: &Path) -> Result<OpenedFile, DatabaseError>;

    /// Opens the file so that nothing has to be written to it, and whether its locks count. One that `looks` keeps a server out.
    fn open_to_read(&self, path: &Path, looks: bool) -> Result<(Box<dyn StorageBackend>, bool), DatabaseError>;

    /// What is told the next process beside the file.
    fn mark(&self, path: &Path) -> UnsyncedMark;

    /// Writes a file beside the database and removes it again.
    fn prove_room(&self, path: &Path) -> io::Result<()>;

    /// Where the journal of the database lies.
    fn journal(&self) -> JournalPlace;

    /// Locks the folder until what comes back is dropped; nothing where it has no locks.
    fn lock_folder(&self, folder: &Path, looks: bool) -> Result<Option<FolderLock>, DatabaseError>;
}

/// A file that was opened for writing.
pub(super) struct OpenedFile {
    pub(super) backend: Box<dyn StorageBackend>,
    /// What it is, where its name may lead to another one later.
    pub(super) found: Option<Metadata>,
    /// The same opening once more, with the same locks.
    pub(super) same: Option<File>,
}

/// The file system.
#[derive(Debug)]
pub(super) struct StoreFolder;

impl StoreLocation for StoreFolder {
    fn make_if_missing(&self, builder: &Builder, path: &Path) -> Result<(), DatabaseError> {
        if path.try_exists()? {
            return Ok(());
        }
        let making = path.with_extension("new");
        drop(builder.create_with_backend(FileBackend::new(regular_file::make_anew(&making)?)?)?);
        File::open(&making)?.sync_all()?;
        // A link never takes a name that another process has made meanwhile. Where a file system has no links, a new name has to do.
        match fs::hard_link(&making, path) {
            Ok(()) => fs::remove_file(&making)?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => fs::remove_file(&making)?,
            Err(_) => fs::rename(&making, path)?,
        }
        Ok(())
    }

    fn open(&self, path: &Path) -> Result<OpenedFile, DatabaseError> {
        let file = regular_file::following(path).read(true).write(true).open(path)?;
        let (found, same) = (file.metadata()?, file.try_clone()?);
        Ok(OpenedFile { backend: Box::new(FileBackend::new(file)?), found: Some(found), same: Some(same) })
    }

    fn open_to_read(&self, path: &Path, looks: bool) -> Result<(Box<dyn StorageBackend>, bool), DatabaseError> {
        // A file system that became read-only lets nobody open a file for writing; then nobody has to be kept out by a lock either.
        let (file, locks) = match regular_file::following(path).read(true).write(true).open(path) {
            Ok(file) => (file, true),
            Err(_) if looks => (readable(path)?, false),
            Err(_) => (regular_file::following(path).read(true).open(path)?, false),
        };
        Ok((Box::new(FileBackend::new(file)?), locks))
    }

    fn mark(&self, path: &Path) -> UnsyncedMark {
        UnsyncedMark::beside(path)
    }

    fn prove_room(&self, path: &Path) -> io::Result<()> {
        let probe = path.with_extension("room");
        // A link that others left there is removed, and not followed.
        drop(fs::remove_file(&probe));
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&probe);
        let written = made.and_then(|mut file| {
            file.write_all(&vec![0; STORE_ROOM_BYTES])?;
            file.sync_all()
        });
        // One that cannot be removed lies where the next one is written.
        drop(fs::remove_file(&probe));
        written
    }

    fn journal(&self) -> JournalPlace {
        JournalPlace { disk: Arc::new(SystemDisk), file_bytes: JOURNAL_FILE_BYTES }
    }

    fn lock_folder(&self, folder: &Path, looks: bool) -> Result<Option<FolderLock>, DatabaseError> {
        FolderLock::take(folder, looks)
    }
}

/// A file that only its bytes can be had of. redb locks what it may write; who only reads can take a shared lock, which a server that runs
/// elsewhere on the same file does not grant. It is let go with the file.
pub fn readable(path: &Path) -> Result<File, DatabaseError> {
    let file = regular_file::following(path).read(true).open(path)?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Err(DatabaseError::DatabaseAlreadyOpen),
        // A file system without locks has no server on it that could be kept out.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}
