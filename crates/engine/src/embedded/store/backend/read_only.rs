//! A database opened to be looked at: nothing is written where it lies, whether that could be written to or not.

use std::path::Path;

use redb::{Builder, Database, DatabaseError};

use super::super::folder_lock::FolderLock;
use super::FileMedium;
use super::copy_on_write::CopyOnWriteBackend;
use super::failure_recorder::RecordingBackend;
use super::mark::UnsyncedMark;

impl FileMedium {
    /// Opens the database that is there, with all that redb would write kept in memory. A server cannot have it meanwhile, and it cannot be
    /// opened while a server has it. The alarm is off from here on.
    ///
    /// # Errors
    /// `DatabaseAlreadyOpen`, or why it cannot be read.
    pub fn open_read_only(&self, builder: &Builder, path: &Path) -> Result<Database, DatabaseError> {
        let (backend, locks) = self.location.open_to_read(path, true)?;
        let copy_on_write = Box::new(CopyOnWriteBackend::new(backend, locks)?);
        builder.create_with_backend(RecordingBackend::new(copy_on_write, &self.recorder, UnsyncedMark::NONE, None))
    }

    /// Locks the data folder, until what comes back is dropped: the lock of the database goes with its file, which can be
    /// moved and replaced. Those who look share it.
    ///
    /// # Errors
    /// `DatabaseAlreadyOpen`.
    pub(in crate::embedded::store) fn lock_folder(
        &self,
        folder: &Path,
        looks: bool,
    ) -> Result<Option<FolderLock>, DatabaseError> {
        self.location.lock_folder(folder, looks)
    }
}

#[cfg(test)]
mod tests {
    use super::super::readable;
    use super::*;

    /// The file of a store that may only be read is refused while a server has it, as one that may be written is.
    #[test]
    fn whoever_may_only_read_is_kept_out_by_a_server_and_keeps_one_out() {
        let folder = tempfile::tempdir().unwrap();
        let (path, builder, medium) = (folder.path().join("store.redb"), Database::builder(), FileMedium::default());
        medium.make_if_missing(&builder, &path).unwrap();
        let served = medium.open(&builder, &path).unwrap();
        assert!(matches!(readable(&path), Err(DatabaseError::DatabaseAlreadyOpen)));
        assert!(matches!(medium.open_read_only(&builder, &path), Err(DatabaseError::DatabaseAlreadyOpen)));
        drop(served);
        let looked_at = (readable(&path).unwrap(), readable(&path).unwrap());
        assert!(matches!(medium.open(&builder, &path), Err(DatabaseError::DatabaseAlreadyOpen)));
        drop(looked_at);
        drop(medium.open_read_only(&builder, &path).unwrap());
        drop(medium.open(&builder, &path).unwrap());
    }
}
