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

/// Where an index lies while two renames exchange it for another.
fn before(index_folder: &Path) -> PathBuf {
    index_folder.with_extension("old")
}

/// Puts the folder made beside in the place of the index. Nobody may have either of them open for writing. A crash at any moment leaves one of
/// the two in its place, or what [`clear_away`] puts there.
pub(super) fn exchange(index_folder: &Path) -> io::Result<()> {
    let (beside, before) = (beside(index_folder), before(index_folder));
    let left = match swap(&beside, index_folder) {
        Ok(()) => beside,
        // A file system that cannot do both at once.
        Err(_) => {
            index::remove(&before)?;
            fs::rename(index_folder, &before)?;
            if let Err(error) = fs::rename(&beside, index_folder) {
                fs::rename(&before, index_folder)?;
                return Err(error);
            }
            before
        }
    };
    if let Some(folder) = index_folder.parent() {
        fs::File::open(folder)?.sync_all()?;
    }
    // What it still fails to remove goes at the next start.
    drop(index::remove(&left));
    Ok(())
}

/// Exchanges the names of two folders in one step.
#[cfg(target_os = "linux")]
fn swap(one: &Path, other: &Path) -> io::Result<()> {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    let name = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other);
    let (one, other) = (name(one)?, name(other)?);
    let (here, flags) = (libc::AT_FDCWD, libc::RENAME_EXCHANGE);
    // SAFETY: both names end with a zero and live through the call, which only reads them.
    match unsafe { libc::renameat2(here, one.as_ptr(), here, other.as_ptr(), flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(not(target_os = "linux"))]
fn swap(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Removes what an exchange that was cut off left behind. One that was cut off between two renames is taken back.
pub(super) fn clear_away(index_folder: &Path) {
    let before = before(index_folder);
    if !index_folder.exists() && before.exists() {
        // Where that fails the index is built again.
        drop(fs::rename(&before, index_folder));
    }
    for left in [beside(index_folder), before] {
        if let Err(error) = index::remove(&left) {
            event!(REINDEX_LEFT, problem = %error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(index: &Path, content: [Option<&str>; 3]) {
        for (path, content) in [index.to_owned(), beside(index), before(index)].iter().zip(content) {
            if path.exists() {
                fs::remove_dir_all(path).unwrap();
            }
            if let Some(content) = content {
                fs::create_dir(path).unwrap();
                fs::write(path.join("meta.json"), content).unwrap();
            }
        }
    }

    fn lies(index: &Path) -> String {
        assert!(!beside(index).exists() && !before(index).exists(), "nothing is left beside");
        fs::read_to_string(index.join("meta.json")).unwrap()
    }

    #[test]
    fn the_names_of_two_folders_are_exchanged_and_no_crash_leaves_none() {
        let folder = tempfile::tempdir().unwrap();
        let index = folder.path().join("index");
        folders(&index, [Some("one"), Some("two"), None]);
        exchange(&index).unwrap();
        assert_eq!(lies(&index), "two");
        #[cfg(target_os = "linux")]
        {
            folders(&index, [Some("one"), Some("two"), None]);
            swap(&beside(&index), &index).unwrap();
            assert_eq!(fs::read_to_string(beside(&index).join("meta.json")).unwrap(), "one", "in one step");
        }
        // Cut off behind either step, and between two renames.
        for (left, found) in [
            ([Some("two"), Some("one"), None], "two"),
            ([Some("two"), None, Some("one")], "two"),
            ([None, Some("two"), Some("one")], "one"),
        ] {
            folders(&index, left);
            clear_away(&index);
            assert_eq!(lies(&index), found, "{left:?}");
        }
    }
}
