//! Where the index's files lie: in the file system, unless a test says otherwise.

#[cfg(test)]
pub(crate) mod memory;
#[cfg(test)]
pub(crate) mod refusing;

use std::fmt::Debug;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::{Directory, MmapDirectory};
use tantivy::indexer::IndexWriterOptions;

use super::error::IndexError;
use super::read_only::ReadOnlyDirectory;
use super::schema::ARENA_BYTES;
use base::regular_file;

/// Removes a folder of an index with all it holds, or whatever lies in its place. Nothing is opened, so a FIFO holds up nobody.
///
/// # Errors
/// It is still there.
pub(crate) fn remove(folder: &Path) -> io::Result<()> {
    let removed = match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() == ErrorKind::NotADirectory => std::fs::remove_file(folder),
        done => done,
    };
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Bytes of the index up to which its files are compared with their checksums at once, before searches are answered from it: some 20 ms. Those
/// of a larger one are compared in the background.
const INDEX_CHECKED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What the index is opened on.
#[derive(Clone, Debug)]
pub(crate) struct IndexMedium(Arc<dyn IndexStorage>);

/// Where the files of an index lie: in the file system, or where a test plays one.
pub(crate) trait IndexStorage: Debug + Send + Sync {
    /// The files of a folder that is there.
    fn directory(&self, folder: &Path) -> Result<Box<dyn Directory>, IndexError>;

    /// Makes the folder, or empties it.
    fn clear(&self, folder: &Path) -> Result<(), IndexError>;

    /// Threads of an indexer.
    fn threads(&self) -> IndexWriterOptions;

    /// Whether segments are merged only when that is asked for, so that a test knows when.
    fn merges_when_told(&self) -> bool;

    /// Whether there is no room; nothing where the file system is to be asked.
    fn is_full(&self) -> Option<bool>;

    /// Bytes of an index up to which its files are compared with their checksums at once.
    fn checked_bytes_max(&self) -> u64;
}

impl Default for IndexMedium {
    fn default() -> IndexMedium {
        IndexMedium::on(Arc::new(IndexFolder { checked_bytes_max: INDEX_CHECKED_BYTES_MAX }))
    }
}

impl IndexMedium {
    pub(crate) fn on(files: Arc<dyn IndexStorage>) -> IndexMedium {
        IndexMedium(files)
    }

    /// The files of a folder that is there.
    ///
    /// # Errors
    /// It is no folder, or one of its files is a FIFO or a device, which may make its opener wait for ever.
    pub(crate) fn directory(&self, folder: &Path) -> Result<Box<dyn Directory>, IndexError> {
        self.0.directory(folder)
    }

    /// The files of a folder that is there, for reading alone.
    pub(crate) fn read_only_directory(&self, folder: &Path) -> Result<Box<dyn Directory>, IndexError> {
        Ok(Box::new(ReadOnlyDirectory(self.directory(folder)?)))
    }

    /// Makes the folder, or empties it.
    pub(crate) fn clear(&self, folder: &Path) -> Result<(), IndexError> {
        self.0.clear(folder)
    }

    /// One thread that indexes, and those that merge, as tantivy sees fit.
    pub(crate) fn threads(&self) -> IndexWriterOptions {
        self.0.threads()
    }

    pub(crate) fn merges_when_told(&self) -> bool {
        self.0.merges_when_told()
    }

    pub(crate) fn is_full(&self) -> Option<bool> {
        self.0.is_full()
    }

    /// Whether an index of so many bytes is compared with its checksums at once.
    pub(crate) fn is_checked_at_once(&self, bytes: u64) -> bool {
        bytes <= self.0.checked_bytes_max()
    }
}

/// tantivy deletes what its list of files names and no segment needs, wherever that leads. Decision 274.
///
/// # Errors
/// The list names a file that does not lie in the folder. What is no such list is left to tantivy.
fn expect_plain_names(folder: &Path) -> Result<(), IndexError> {
    let Ok(list) = std::fs::read(folder.join(".managed.json")) else { return Ok(()) };
    let Ok(names) = serde_json::from_slice::<Vec<PathBuf>>(&list) else { return Ok(()) };
    let is_plain = |name: &PathBuf| name.file_name().is_some_and(|last| last == name.as_os_str());
    match names.iter().all(is_plain) {
        true => Ok(()),
        false => Err(IndexError("its list of files (.managed.json) names one outside of its folder".to_owned())),
    }
}

/// The file system.
#[derive(Debug)]
struct IndexFolder {
    checked_bytes_max: u64,
}

#[cfg(test)]
impl IndexMedium {
    /// The file system, where every index is so large that its files are compared in the background.
    pub(crate) fn checked_later() -> IndexMedium {
        IndexMedium::on(Arc::new(IndexFolder { checked_bytes_max: 0 }))
    }
}

impl IndexStorage for IndexFolder {
    fn directory(&self, folder: &Path) -> Result<Box<dyn Directory>, IndexError> {
        if let Some(problem) = regular_file::irregular_in(folder) {
            return Err(IndexError(problem));
        }
        expect_plain_names(folder)?;
        Ok(Box::new(MmapDirectory::open(folder).map_err(|error| IndexError(error.to_string()))?))
    }

    fn clear(&self, folder: &Path) -> Result<(), IndexError> {
        remove(folder)?;
        Ok(std::fs::create_dir(folder)?)
    }

    fn threads(&self) -> IndexWriterOptions {
        IndexWriterOptions::builder().num_worker_threads(1).memory_budget_per_thread(ARENA_BYTES).build()
    }

    fn merges_when_told(&self) -> bool {
        false
    }

    fn is_full(&self) -> Option<bool> {
        None
    }

    fn checked_bytes_max(&self) -> u64 {
        self.checked_bytes_max
    }
}
