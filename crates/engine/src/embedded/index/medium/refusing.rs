//! Files of an index in the file system, which cannot be opened for a while and are never made anew.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tantivy::directory::Directory;
use tantivy::indexer::IndexWriterOptions;

use super::{IndexError, IndexMedium, IndexStorage};

/// A folder that refuses to be opened as often as it is told.
#[derive(Debug, Default)]
pub(crate) struct RefusingFolder {
    medium: IndexMedium,
    refusals: AtomicU32,
}

impl RefusingFolder {
    /// So many next times it is not opened.
    pub(crate) fn refuse(&self, times: u32) {
        self.refusals.store(times, Ordering::Release);
    }
}

impl IndexMedium {
    /// An index whose folder a test makes refuse.
    pub(crate) fn refusing(folder: &Arc<RefusingFolder>) -> IndexMedium {
        IndexMedium::on(Arc::new(SharedFolder(folder.clone())))
    }
}

#[derive(Debug)]
struct SharedFolder(Arc<RefusingFolder>);

impl IndexStorage for SharedFolder {
    fn directory(&self, folder: &Path) -> Result<Box<dyn Directory>, IndexError> {
        let less = |left: u32| left.checked_sub(1);
        match self.0.refusals.fetch_update(Ordering::AcqRel, Ordering::Acquire, less) {
            Ok(_) => Err(IndexError("it cannot be opened".into())),
            Err(_) => self.0.medium.directory(folder),
        }
    }

    fn clear(&self, _: &Path) -> Result<(), IndexError> {
        panic!("no index may be built anew")
    }

    fn threads(&self) -> IndexWriterOptions {
        self.0.medium.threads()
    }

    fn merges_when_told(&self) -> bool {
        false
    }

    fn is_full(&self) -> Option<bool> {
        None
    }

    fn checked_bytes_max(&self) -> u64 {
        u64::MAX
    }
}
