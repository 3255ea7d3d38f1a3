//! An index that was made beside the one in use, to replace it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;

use super::index::{self, IndexWriterHandle};
use base::log::event;
use certificate::Seq;

/// How a reindex ended, in words, when it did not end well.
pub(super) type ReindexProblem = String;

/// An index that was made to replace the one in use, on its way to the indexer.
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
pub(super) fn replacement_folder(index_folder: &Path) -> PathBuf {
    index_folder.with_extension("new")
}

/// Where an index lies while two renames exchange it for another.
fn previous_folder(index_folder: &Path) -> PathBuf {
    index_folder.with_extension("old")
}

/// Exchanges the index and the folder made beside; done again, it takes that back. Nobody may have either of them open for writing. A crash at
/// any moment leaves one of the two in its place, or what [`put_in_place`] puts there.
pub(super) fn exchange(index_folder: &Path) -> io::Result<()> {
    let (replacement, previous) = (replacement_folder(index_folder), previous_folder(index_folder));
    // A file system that cannot do both at once.
    if swap(&replacement, index_folder).is_err() {
        index::remove(&previous)?;
        fs::rename(index_folder, &previous)?;
        if let Err(error) = fs::rename(&replacement, index_folder) {
            fs::rename(&previous, index_folder)?;
            return Err(error);
        }
        fs::rename(&previous, &replacement)?;
    }
    if let Some(folder) = index_folder.parent() {
        fs::File::open(folder)?.sync_all()?;
    }
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

/// Where no index of the store is in its place, one that lies beside it takes it: what a reindex or an exchange that was cut off has left, the
/// one that has come furthest. It may be behind the store, as any other. `is_usable` says up to which change a folder holds the store's index.
pub(super) fn put_in_place(index_folder: &Path, is_usable: impl Fn(&Path) -> Option<Seq>) {
    if is_usable(index_folder).is_none() {
        let usable = |folder: PathBuf| Some((is_usable(&folder)?, folder));
        let left = [replacement_folder(index_folder), previous_folder(index_folder)].into_iter().filter_map(usable);
        if let Some((_, folder)) = left.max() {
            // Where that fails the index is built again.
            drop(index::remove(index_folder).and_then(|()| fs::rename(&folder, index_folder)));
        }
    }
    clear_away(index_folder);
}

/// Removes what lies beside the index.
pub(super) fn clear_away(index_folder: &Path) {
    for left in [replacement_folder(index_folder), previous_folder(index_folder)] {
        if let Err(error) = index::remove(&left) {
            event!(REINDEX_LEFT, problem = %error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(index: &Path, content: [Option<&str>; 3]) {
        for (path, content) in [index.to_owned(), replacement_folder(index), previous_folder(index)].iter().zip(content)
        {
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
        assert!(!replacement_folder(index).exists() && !previous_folder(index).exists(), "nothing is left beside");
        fs::read_to_string(index.join("meta.json")).unwrap()
    }

    #[test]
    fn the_names_of_two_folders_are_exchanged_and_no_crash_leaves_none() {
        let folder = tempfile::tempdir().unwrap();
        let index = folder.path().join("index");
        folders(&index, [Some("one"), Some("two"), None]);
        exchange(&index).unwrap();
        assert_eq!(
            fs::read_to_string(replacement_folder(&index).join("meta.json")).unwrap(),
            "one",
            "it can be taken back"
        );
        clear_away(&index);
        assert_eq!(lies(&index), "two");
        #[cfg(target_os = "linux")]
        {
            folders(&index, [Some("one"), Some("two"), None]);
            swap(&replacement_folder(&index), &index).unwrap();
            assert_eq!(fs::read_to_string(replacement_folder(&index).join("meta.json")).unwrap(), "one", "in one step");
        }
        // Cut off behind either step, and between two renames; not whole is what has no number.
        let is_usable = |folder: &Path| fs::read_to_string(folder.join("meta.json")).ok()?.parse().ok().map(Seq);
        for (left, found) in [
            ([Some("2"), Some("1"), None], "2"),
            ([Some("1"), Some("2"), None], "1"),
            ([Some("2"), None, Some("1")], "2"),
            ([None, Some("2"), Some("1")], "2"),
            ([None, Some("half"), Some("1")], "1"),
            ([None, Some("1"), None], "1"),
            ([Some("torn"), Some("1"), None], "1"),
            ([Some("torn"), Some("half"), None], "torn"),
        ] {
            folders(&index, left);
            put_in_place(&index, is_usable);
            assert_eq!(lies(&index), found, "{left:?}");
        }
    }
}
