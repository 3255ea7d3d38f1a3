//! Where the bytes of a database lie that is a file, and what is noticed of it.

mod copy_on_write;
#[cfg(test)]
pub mod disk;
mod failure_recorder;
mod location;
mod mark;
mod ranges;
mod read_only;

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use redb::{Builder, Database, DatabaseError, StorageError};

use super::journal::JournalPlace;
use base::log::event;
use copy_on_write::CopyOnWriteBackend;
use failure_recorder::{FailureRecorder, RecordingBackend};
pub use location::readable;
use location::{OpenedFile, StoreFolder, StoreLocation};

/// What the database is opened on, and what is noticed of it.
#[derive(Clone, Debug)]
pub struct FileMedium {
    location: Arc<dyn StoreLocation>,
    recorder: Arc<FailureRecorder>,
}

impl Default for FileMedium {
    fn default() -> FileMedium {
        FileMedium::on(Arc::new(StoreFolder))
    }
}

impl FileMedium {
    /// A database that lies there.
    fn on(location: Arc<dyn StoreLocation>) -> FileMedium {
        FileMedium { location, recorder: Arc::default() }
    }

    /// Makes the database where there is none. It gets its name when it is whole: one that was cut off on the way could not be opened
    /// again, nor be told from one that was damaged.
    pub fn make_if_missing(&self, builder: &Builder, path: &Path) -> Result<(), DatabaseError> {
        self.location.make_if_missing(builder, path)
    }

    /// Opens the database that is there. The alarm is off from here on.
    pub fn open(&self, builder: &Builder, path: &Path) -> Result<Database, DatabaseError> {
        let OpenedFile { backend, found, same } = self.location.open(path)?;
        if let Some(found) = found {
            if *self.recorder.opened_file.get_or_init(|| identity(&found)) != identity(&found) {
                return Err(DatabaseError::Storage(StorageError::Io(io::Error::other(
                    "another file lies in its place",
                ))));
            }
            self.recorder.bytes.store(found.len(), Ordering::Release);
        }
        builder.create_with_backend(RecordingBackend::new(backend, &self.recorder, self.location.mark(path), same))
    }

    /// Whether the file at the path is still the one that was opened, and nobody has cut it. Once it was not, the answer stays false: what
    /// was written meanwhile may be in neither, and nothing more is written.
    pub fn is_in_place(&self, path: &Path) -> bool {
        let Some(opened) = self.recorder.opened_file.get() else { return true };
        let least = || self.recorder.bytes.load(Ordering::Acquire);
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
        if is_gone && !self.recorder.is_gone.swap(true, Ordering::AcqRel) {
            event!(STORE_GONE);
        }
        !self.is_gone()
    }

    /// Whether [`is_in_place`](Self::is_in_place) was false once.
    pub fn is_gone(&self) -> bool {
        self.recorder.is_gone.load(Ordering::Acquire)
    }

    /// Writes a file beside the database and removes it again. Opening a database takes no room, but the next commit does.
    ///
    /// # Errors
    /// The disk is full or takes no writes.
    pub fn prove_room(&self, path: &Path) -> io::Result<()> {
        self.location.prove_room(path)
    }

    /// Opens the database so that nothing is written where it lies: for reading, while the disk takes nothing.
    pub fn open_copy_on_write(&self, builder: &Builder, path: &Path) -> Result<Database, DatabaseError> {
        let (backend, locks) = self.location.open_to_read(path, false)?;
        builder.create_with_backend(CopyOnWriteBackend::new(backend, locks)?)
    }

    /// Where its journal lies.
    pub(super) fn journal(&self) -> JournalPlace {
        self.location.journal()
    }

    /// Whether a call has failed since the database was opened.
    pub fn has_failed(&self) -> bool {
        self.recorder.has_failed()
    }
}

/// Device and inode of a file.
fn identity(found: &fs::Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}
