//! Where the database's bytes lie, and what is noticed of it.

mod aside;
#[cfg(test)]
pub mod disk;
mod heard;
mod looking;
mod mark;
mod ranges;

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use redb::backends::FileBackend;
use redb::{Builder, Database, DatabaseError, StorageError};

use crate::limits::STORE_ROOM_BYTES;
use aside::Aside;
use base::log::event;
use heard::{Ears, Heard};
pub use looking::readable;
use mark::Mark;

/// What the database is opened on: the file, unless a test says otherwise.
#[derive(Clone, Debug, Default)]
pub struct Medium {
    #[cfg(test)]
    disk: Option<Arc<disk::Disk>>,
    ears: Arc<Ears>,
}

impl Medium {
    /// A disk that a test plays.
    #[cfg(test)]
    pub fn of(disk: &Arc<disk::Disk>) -> Medium {
        Medium { disk: Some(disk.clone()), ears: Arc::default() }
    }

    /// Makes the database where there is none. It gets its name when it is whole: one that was cut off on the way could not be opened
    /// again, nor be told from one that was damaged.
    pub fn make_if_missing(&self, builder: &Builder, path: &Path) -> Result<(), DatabaseError> {
        #[cfg(test)]
        if let Some(disk) = &self.disk {
            if disk.is_blank() {
                drop(builder.create_with_backend(disk.power_on())?);
                disk.name()?;
            }
            return Ok(());
        }
        if path.try_exists()? {
            return Ok(());
        }
        let making = path.with_extension("new");
        match fs::remove_file(&making) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        drop(builder.create(&making)?);
        File::open(&making)?.sync_all()?;
        // A link takes no name that another process has made meanwhile; a file system without links has to do with less.
        match fs::hard_link(&making, path) {
            Ok(()) => fs::remove_file(&making)?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => fs::remove_file(&making)?,
            Err(_) => fs::rename(&making, path)?,
        }
        Ok(())
    }

    /// Opens the database that is there. The alarm is off from here on.
    pub fn open(&self, builder: &Builder, path: &Path) -> Result<Database, DatabaseError> {
        #[cfg(test)]
        if let Some(disk) = &self.disk {
            let powered = Box::new(disk.power_on());
            return builder.create_with_backend(Heard::new(powered, &self.ears, Mark::Played(disk.clone()), None));
        }
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let found = file.metadata()?;
        if *self.ears.opened_file.get_or_init(|| identity(&found)) != identity(&found) {
            return Err(DatabaseError::Storage(StorageError::Io(io::Error::other("another file lies in its place"))));
        }
        self.ears.bytes.store(found.len(), Ordering::Release);
        // The same opening of the file, so that it has the same locks.
        let same = file.try_clone()?;
        let backend = Box::new(FileBackend::new(file)?);
        builder.create_with_backend(Heard::new(backend, &self.ears, Mark::beside(path), Some(same)))
    }

    /// Whether the file at the path is still the one that was opened, and nobody has cut it. Once it was not, the answer stays false: what
    /// was written meanwhile may be in neither, and nothing more is written.
    pub fn is_in_place(&self, path: &Path) -> bool {
        let Some(opened) = self.ears.opened_file.get() else { return true };
        let least = || self.ears.bytes.load(Ordering::Acquire);
        let is_gone = loop {
            let before = least();
            break match fs::metadata(path) {
                // redb tells what it cuts off before it does.
                Ok(found) if found.len() < before && least() != before => continue,
                Ok(found) => identity(&found) != *opened || found.len() < before,
                // Any other error is one of the disk, and says nothing about the name.
                Err(error) => matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::StaleNetworkFileHandle
                ),
            };
        };
        if is_gone && !self.ears.is_gone.swap(true, Ordering::AcqRel) {
            event!(STORE_GONE);
        }
        !self.is_gone()
    }

    /// Whether [`is_in_place`](Self::is_in_place) was false once.
    pub fn is_gone(&self) -> bool {
        self.ears.is_gone.load(Ordering::Acquire)
    }

    /// Writes a file beside the database and removes it again. Opening a database takes no room, but the next commit does.
    ///
    /// # Errors
    /// The disk is full or takes no writes.
    pub fn prove_room(&self, path: &Path) -> io::Result<()> {
        #[cfg(test)]
        if self.disk.is_some() {
            return Ok(());
        }
        let probe = path.with_extension("room");
        let written = File::create(&probe).and_then(|mut file| {
            file.write_all(&vec![0; STORE_ROOM_BYTES])?;
            file.sync_all()
        });
        // One that cannot be removed lies where the next one is written.
        drop(fs::remove_file(&probe));
        written
    }

    /// Opens the database so that nothing is written where it lies: for reading, while the disk takes nothing.
    pub fn open_aside(&self, builder: &Builder, path: &Path) -> Result<Database, DatabaseError> {
        #[cfg(test)]
        if let Some(disk) = &self.disk {
            return builder.create_with_backend(Aside::new(Box::new(disk.power_on()), true)?);
        }
        // A file system that became read-only lets nobody open a file for writing; then nobody has to be kept out by a lock either.
        let (file, locks) = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => (file, true),
            Err(_) => (File::open(path)?, false),
        };
        builder.create_with_backend(Aside::new(Box::new(FileBackend::new(file)?), locks)?)
    }

    /// Whether a call has failed since the database was opened.
    pub fn has_failed(&self) -> bool {
        self.ears.has_failed()
    }
}

/// Device and inode of a file.
fn identity(found: &fs::Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}
