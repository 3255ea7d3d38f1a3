//! The lock of a data folder: who has it has the folder, whatever becomes of the files in it.
//!
//! It is the lock of a file in the folder that its owner alone can open, since a lock of the folder itself can be taken by everybody who may
//! list it. That one is taken as well where it is free: releases without the file know no other. Decision 291.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use redb::DatabaseError;

use crate::{FOLDER_LOCK, STORE_FILE};
use base::held_folder::HeldFolder;
use base::{owner, regular_file};

/// The lock, until it is dropped, and the folder that it is of.
#[derive(Debug)]
pub(super) struct FolderLock {
    folder: HeldFolder,
    /// None where the folder's own lock has to do.
    file: Option<File>,
}

impl Drop for FolderLock {
    /// A process that another thread is just starting has these files too until it runs its program, and would hold the locks as long.
    fn drop(&mut self) {
        for locked in self.file.iter().chain([self.folder.file()]) {
            drop(locked.unlock());
        }
    }
}

impl FolderLock {
    /// Takes the lock of a folder, and makes the file that it is of. Those who look share it, and make no file. None where the folder cannot
    /// be opened, which shows in what is done in it next.
    ///
    /// # Errors
    /// `DatabaseAlreadyOpen`.
    pub(super) fn take(folder: &Path, looks: bool) -> Result<Option<FolderLock>, DatabaseError> {
        let Ok(held) = HeldFolder::open(folder) else { return Ok(None) };
        let found = match looks {
            true => regular_file::open_itself(&folder.join(FOLDER_LOCK)).ok().map(|file| (file, false)),
            false => open_or_make(folder).ok(),
        };
        let mut file = None;
        let mut decides = false;
        if let Some((found, is_new)) = found {
            // A file system may have no locks.
            decides = locked(&found, looks)? && !is_new;
            file = Some(found);
        }
        match locked(held.file(), looks) {
            Err(in_use) if !decides => Err(in_use),
            _ => Ok(Some(FolderLock { folder: held, file })),
        }
    }

    /// As [`take`](Self::take), and gives it back. No file is made where there is no store.
    ///
    /// # Errors
    /// As there.
    pub(super) fn expect_free(folder: &Path, looks: bool) -> Result<(), DatabaseError> {
        FolderLock::take(folder, looks || !folder.join(STORE_FILE).exists()).map(drop)
    }

    /// Whether the folder is still the one that a path leads to.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        self.folder.is_at(path)
    }
}

/// Whether a lock was taken; false where there are none.
fn locked(file: &File, looks: bool) -> Result<bool, DatabaseError> {
    match if looks { file.try_lock_shared() } else { file.try_lock() } {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Err(DatabaseError::DatabaseAlreadyOpen),
        Err(TryLockError::Error(_)) => Ok(false),
    }
}

/// The file, and whether it was made just now.
fn open_or_make(folder: &Path) -> io::Result<(File, bool)> {
    let path = folder.join(FOLDER_LOCK);
    match regular_file::open_itself_to_write(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound && owner::other_owner(folder).is_none() => {
            match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
                // Another process was faster.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    regular_file::open_itself_to_write(&path).map(|file| (file, false))
                }
                made => made.map(|file| (file, true)),
            }
        }
        found => found.map(|file| (closed(file), false)),
    }
}

/// Any user who can open the file can hold its lock.
fn closed(file: File) -> File {
    if let Ok(found) = file.metadata()
        && found.mode() & 0o077 != 0
        && found.uid() == owner::own_user()
    {
        // On a disk that takes no writes it stays as it is.
        drop(file.set_permissions(PermissionsExt::from_mode(0o600)));
    }
    file
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn in_use(lock: &Result<Option<FolderLock>, DatabaseError>) -> bool {
        matches!(lock, Err(DatabaseError::DatabaseAlreadyOpen))
    }

    /// What was seen: opening a folder that was closed just now failed while another thread started a process.
    #[test]
    fn a_lock_that_was_given_back_is_free_though_another_process_still_has_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let lock = FolderLock::take(folder.path(), false).unwrap().unwrap();
        let inherited = (lock.folder.file().try_clone().unwrap(), lock.file.as_ref().unwrap().try_clone().unwrap());
        drop(lock);
        assert!(FolderLock::take(folder.path(), false).is_ok());
        drop(inherited);
    }

    #[test]
    fn one_process_has_the_folder_and_those_who_look_share_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let writes = FolderLock::take(path, false).unwrap();
        assert_eq!(fs::metadata(path.join(FOLDER_LOCK)).unwrap().mode() & 0o777, 0o600);
        assert!(in_use(&FolderLock::take(path, false)) && in_use(&FolderLock::take(path, true)));
        drop(writes);
        let looks = [FolderLock::take(path, true).unwrap(), FolderLock::take(path, true).unwrap()];
        assert!(in_use(&FolderLock::take(path, false)));
        drop(looks);
        // With the file removed, the lock of the folder itself keeps the next process out.
        let writes = FolderLock::take(path, false).unwrap();
        fs::remove_file(path.join(FOLDER_LOCK)).unwrap();
        assert!(in_use(&FolderLock::take(path, true)) && in_use(&FolderLock::take(path, false)));
        drop(writes);
        assert!(FolderLock::take(&path.join("none"), false).unwrap().is_none());
    }

    /// What was seen: a user who could only list the folder held a lock of it, and the service could not be started again.
    #[test]
    fn whoever_can_only_list_the_folder_keeps_nobody_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        drop(FolderLock::take(path, false).unwrap());
        fs::set_permissions(path.join(FOLDER_LOCK), fs::Permissions::from_mode(0o644)).unwrap();
        let listed = File::open(path).unwrap();
        for lock in [File::try_lock_shared, File::try_lock] {
            lock(&listed).unwrap();
            assert!(FolderLock::take(path, false).is_ok() && FolderLock::take(path, true).is_ok());
            listed.unlock().unwrap();
        }
        assert_eq!(fs::metadata(path.join(FOLDER_LOCK)).unwrap().mode() & 0o777, 0o600, "nobody else can open it");
    }

    #[test]
    fn a_release_that_locks_the_folder_alone_is_kept_out_and_keeps_this_one_out_of_a_folder_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let of_before = File::open(folder.path()).unwrap();
        of_before.try_lock().unwrap();
        assert!(FolderLock::expect_free(folder.path(), false).is_err());
        assert!(!folder.path().join(FOLDER_LOCK).exists(), "nothing is made where there is no store");
        assert!(in_use(&FolderLock::take(folder.path(), false)));
        of_before.unlock().unwrap();
        let taken = FolderLock::take(folder.path(), false).unwrap();
        assert!(of_before.try_lock().is_err());
        drop(taken);
    }
}
