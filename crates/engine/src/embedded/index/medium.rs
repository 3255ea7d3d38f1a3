//! Where the index's files lie: in the file system, unless a test says otherwise.

#[cfg(test)]
pub(crate) mod memory;

use std::io::{self, ErrorKind};
use std::path::Path;

use tantivy::directory::{Directory, MmapDirectory};
use tantivy::indexer::IndexWriterOptions;

use super::looking::Looking;
use super::{ARENA_BYTES, Error};
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

/// What the index is opened on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Medium {
    #[cfg(test)]
    memory: Option<std::sync::Arc<memory::Memory>>,
}

impl Medium {
    /// A disk that a test plays.
    #[cfg(test)]
    pub(crate) fn of(memory: &std::sync::Arc<memory::Memory>) -> Medium {
        Medium { memory: Some(memory.clone()) }
    }

    /// The files of a folder that is there.
    ///
    /// # Errors
    /// It is no folder, or one of its files is a FIFO or a device, which may make its opener wait for ever.
    pub(crate) fn directory(&self, folder: &Path) -> Result<Box<dyn Directory>, Error> {
        #[cfg(test)]
        if let Some(memory) = &self.memory {
            return Ok(Box::new(memory.power_on()));
        }
        if let Some(problem) = regular_file::irregular_in(folder) {
            return Err(Error(problem));
        }
        Ok(Box::new(MmapDirectory::open(folder).map_err(|error| Error(error.to_string()))?))
    }

    /// The files of a folder that is there, for reading alone.
    pub(crate) fn looking(&self, folder: &Path) -> Result<Box<dyn Directory>, Error> {
        Ok(Box::new(Looking(self.directory(folder)?)))
    }

    /// Makes the folder, or empties it.
    pub(crate) fn clear(&self, folder: &Path) -> Result<(), Error> {
        #[cfg(test)]
        if let Some(memory) = &self.memory {
            return Ok(memory.clear()?);
        }
        remove(folder)?;
        Ok(std::fs::create_dir(folder)?)
    }

    /// One thread that indexes, and those that merge, as tantivy sees fit.
    pub(crate) fn threads(&self) -> IndexWriterOptions {
        #[cfg(test)]
        if self.memory.is_some() {
            return IndexWriterOptions::builder().num_merge_threads(1).build();
        }
        IndexWriterOptions::builder().num_worker_threads(1).memory_budget_per_thread(ARENA_BYTES).build()
    }

    /// Whether segments are merged only when that is asked for, so that a test knows when.
    pub(crate) fn merges_when_told(&self) -> bool {
        #[cfg(test)]
        if self.memory.is_some() {
            return true;
        }
        false
    }

    /// Whether a disk that a test plays has no room; nothing where the file system is to be asked.
    pub(crate) fn is_full(&self) -> Option<bool> {
        #[cfg(test)]
        return self.memory.as_ref().map(|memory| memory.is_full());
        #[cfg(not(test))]
        None
    }
}
