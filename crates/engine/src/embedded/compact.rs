//! Making a data folder smaller: pages of the store move to its front, segments of the index become one.

use std::fs;
use std::path::Path;

use super::index::IndexWriterHandle;
use super::stats::size;
use super::store::StoreError;
use super::{Engine, index};

/// Bytes before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// Bytes of the store's file, before and after.
    pub store: (u64, u64),
    /// Bytes of all files of the index, before and after.
    pub index: (u64, u64),
}

impl Engine {
    /// Compacts store and index, for a folder that nobody else works on. Nothing is copied: a crash in between leaves a store that is
    /// whole, and an index that is whole or built again. Afterwards the engine is closed.
    ///
    /// # Errors
    /// The store or the index cannot be compacted, as on a full disk. An index that cannot be is left for the next start to build again.
    pub fn compact(&self) -> Result<Compacted, StoreError> {
        let (store, index) = (self.shared.folder.join(crate::STORE_FILE), &self.shared.index_folder);
        let before = (length(&store), size(index).1);
        self.stop();
        let compacted = self.shared.store.compact().map(drop);
        let merged = merge(index, &self.shared.origin);
        self.let_go();
        compacted?;
        merged.map_err(|error| StoreError::Io(format!("the index was not made one segment: {}", error.0)))?;
        Ok(Compacted { store: (before.0, length(&store)), index: (before.1, size(index).1) })
    }
}

fn merge(folder: &Path, origin: &index::IndexOrigin) -> Result<(), index::IndexError> {
    let (writer, _) = IndexWriterHandle::open_on(&index::IndexMedium::default(), folder, origin)?;
    writer.merge_all()
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len())
}
