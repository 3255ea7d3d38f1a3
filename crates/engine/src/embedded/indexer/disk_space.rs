//! A disk that takes nothing for the index, or a system that gives it no thread: searches go on with what was committed and the overlay, until it does.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use crate::DiskSpace;
use crate::embedded::EngineShared;
use crate::embedded::index::{IndexMedium, IndexWriterHandle};
use crate::embedded::indexer::steps::look_through;
use base::log::event;
use base::threads::is_beyond_limits;
use certificate::Seq;

/// Bytes free on the index's disk below which a failure of the index is put down to the disk. A round of the indexer writes less.
const INDEX_ROOM_BYTES_MIN: u64 = 1024 * 1024;

/// Between two looks whether there is room again. Tests do not want to wait.
const PAUSE: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 1_000 });

/// File by which it is seen whether the folder of the index takes any.
const PROBE: &str = ".room";

/// Whether an index failed because of its disk or for want of a thread, and not of itself. tantivy's words for it are those of the system;
/// when one of its threads met the error first, it only says that the thread has ended, and the disk is asked.
pub(super) fn is_missing(shared: &EngineShared, problem: &str) -> bool {
    const WORDS: [&str; 5] =
        ["No space left", "no storage space", "Read-only file system", "read-only filesystem", "Disk quota exceeded"];
    // tantivy starts a thread for each commit.
    is_beyond_limits(problem)
        || WORDS.iter().any(|words| problem.contains(words))
        || takes_nothing(&shared.index_medium, &shared.index_folder)
}

/// Whether a folder has no room, or is not to be written to. One that is not there is neither.
fn takes_nothing(medium: &IndexMedium, folder: &Path) -> bool {
    if let Some(is_full) = medium.is_full() {
        return is_full;
    }
    if DiskSpace::of(folder).is_some_and(|disk| disk.free_bytes < INDEX_ROOM_BYTES_MIN) {
        return true;
    }
    let probe = folder.join(PROBE);
    // What is left of the last look goes first, and so does a link that others left there.
    let _ = fs::remove_file(&probe);
    let written = File::create_new(&probe).and_then(|mut file| file.write_all(b"?"));
    let _ = fs::remove_file(&probe);
    use ErrorKind::{FileTooLarge, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    written.is_err_and(|error| {
        matches!(error.kind(), FileTooLarge | PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull)
    })
}

/// The index as it was committed at `at`, as soon as the disk takes writes and the system gives threads again. None when the engine is closed meanwhile.
///
/// # Errors
/// It is not what it was.
pub(super) fn wait(shared: &EngineShared, at: Seq) -> Option<Result<IndexWriterHandle, String>> {
    let (medium, folder, origin) = (&shared.index_medium, &shared.index_folder, &shared.origin);
    while shared.notifier.pause(PAUSE) {
        if takes_nothing(medium, folder) {
            continue;
        }
        // A torn file may show as a panic as well as an error.
        let opened = catch_unwind(AssertUnwindSafe(|| match at {
            // Nothing was committed that could be opened.
            Seq(0) => IndexWriterHandle::create_on(medium, folder, origin),
            _ => IndexWriterHandle::open_on(medium, folder, origin),
        }));
        match opened {
            Ok(Ok((writer, snapshot))) if snapshot.at == at => {
                // It may be that what looked like want of room was damage.
                if let Err(problem) = look_through(shared, &writer) {
                    writer.close();
                    return Some(Err(problem));
                }
                event!(INDEX_WRITTEN_AGAIN, at = at.0);
                return Some(Ok(writer));
            }
            Ok(Ok((writer, snapshot))) => {
                writer.close();
                return Some(Err(format!("it is at change {} where it was at {at}", snapshot.at)));
            }
            Ok(Err(error)) if is_missing(shared, &error.0) => {}
            Ok(Err(error)) => return Some(Err(error.0)),
            Err(_) => return Some(Err("opening it panicked".into())),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_room_takes_files_and_keeps_none_of_the_look() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!takes_nothing(&IndexMedium::default(), folder.path()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(
            !takes_nothing(&IndexMedium::default(), &folder.path().join("nowhere")),
            "an index that is gone is built again"
        );
    }
}
