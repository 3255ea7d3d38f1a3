//! A folder that is held open. Its path may lead to another one a moment later; what is looked up through the open one stays in it.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A folder that is held open.
#[derive(Debug)]
pub struct HeldFolder(File);

impl HeldFolder {
    /// # Errors
    /// It cannot be read, or is no folder.
    pub fn open(path: &Path) -> io::Result<HeldFolder> {
        OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(path).map(HeldFolder)
    }

    /// The folder as an open file, to be locked or made durable.
    pub fn file(&self) -> &File {
        &self.0
    }

    /// # Errors
    /// What the file system says.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.0.metadata()
    }

    /// The path of a file in this folder, whatever became of the folder's own path.
    pub fn within(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.0.as_raw_fd()))
    }

    /// Whether a path leads to this folder. True where the system cannot tell.
    pub fn is_at(&self, path: &Path) -> bool {
        let id = |found: Metadata| (found.dev(), found.ino());
        match (self.0.metadata().map(id), fs::metadata(path).map(id)) {
            (Ok(held), Ok(found)) => held == found,
            (Ok(_), Err(error)) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
            (Err(_), _) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_was_moved_away_is_not_at_its_path_any_more_and_is_reached_all_the_same() {
        let place = tempfile::tempdir().unwrap();
        let [path, moved] = ["data", "data.before"].map(|name| place.path().join(name));
        fs::create_dir(&path).unwrap();
        let held = HeldFolder::open(&path).unwrap();
        assert!(held.is_at(&path));
        fs::rename(&path, &moved).unwrap();
        assert!(!held.is_at(&path), "nothing is there");
        fs::create_dir(&path).unwrap();
        assert!(!held.is_at(&path), "another one is there");
        fs::write(held.within("file"), "text").unwrap();
        assert_eq!(fs::read_to_string(moved.join("file")).unwrap(), "text");
        fs::write(place.path().join("file"), "").unwrap();
        assert!(HeldFolder::open(&place.path().join("file")).is_err());
    }
}
