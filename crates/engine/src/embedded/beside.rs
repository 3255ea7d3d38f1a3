//! An index that was made beside the one in use.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;

use super::index::{self, IndexWriterHandle};
use base::log::event;
use certificate::Seq;

/// How a reindex ended, in words, when it did not end well.
pub(super) type ReindexProblem = String;

/// An index that was made beside, on its way to the indexer.
pub(super) struct ReplacementIndex {
    pub writer: IndexWriterHandle,
    /// It holds the store's state at this change.
    pub at: Seq,
    pub answer: SyncSender<Result<(), ReindexProblem>>,
}

impl ReplacementIndex {
    /// It is not wanted any more.
    pub(super) fn refuse(self, problem: ReindexProblem) {
        self.writer.close();
        // Who went away needs no answer.
        drop(self.answer.send(Err(problem)));
    }
}

/// The folder of an index that is made beside the one in use.
pub(super) fn beside(index_folder: &Path) -> PathBuf {
    index_folder.with_extension("new")
}

/// Puts the folder made beside in the place of the index. Nobody may have either of them open for writing.
pub(super) fn exchange(index_folder: &Path) -> io::Result<()> {
    let before = index_folder.with_extension("old");
    index::remove(&before)?;
    fs::rename(index_folder, &before)?;
    if let Err(error) = fs::rename(beside(index_folder), index_folder) {
        fs::rename(&before, index_folder)?;
        return Err(error);
    }
    if let Some(folder) = index_folder.parent() {
        fs::File::open(folder)?.sync_all()?;
    }
    // What it still fails to remove goes at the next start.
    drop(index::remove(&before));
    Ok(())
}

/// Removes what an exchange that was cut off left behind.
pub(super) fn clear_away(index_folder: &Path) {
    for left in [beside(index_folder), index_folder.with_extension("old")] {
        if let Err(error) = index::remove(&left) {
            event!(REINDEX_LEFT, problem = %error);
        }
    }
}
