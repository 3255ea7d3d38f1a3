//! How the engine is, told without waiting for it: out of numbers and short locks that nobody holds while a disk works.

use std::path::Path;

use crate::EntryHead;
use certificate::Seq;

/// The engine at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineHealth {
    /// Whether the store reads and writes, and why not.
    pub store: StoreHealth,
    /// The last damage that a request or a command met, in words without personal data; the store goes on with what can be read.
    pub damage: Option<String>,
    /// Whether searches are answered.
    pub index: IndexHealth,
    /// Why the index is not written to, while its disk takes nothing; searches go on meanwhile.
    pub index_waits: Option<String>,
    /// Of the file system that holds the data folder; nothing where it does not say.
    pub disk: Option<DiskSpace>,
    /// Rows of changes that the index does not hold yet.
    pub overlay_rows: usize,
    /// Requests handed over that the writer has not begun with.
    pub queue: usize,
    /// The last acknowledged change.
    pub seq: Seq,
    /// The last change and the last version of a patient, with their hashes; none while the store does not read.
    pub heads: Option<[EntryHead; 2]>,
}

/// How the store is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StoreHealth {
    /// It reads and writes.
    #[default]
    Good,
    /// A commit failed, and the store is being opened again. Writes are refused meanwhile, reads wait or are refused.
    Reopening {
        /// Milliseconds since 1970 UTC.
        since: i64,
        /// The last failure, in words without personal data.
        problem: String,
    },
    /// A commit met damage. Writes are refused until every page of the file is as it was written, reads go on where they can.
    Damaged {
        /// Milliseconds since 1970 UTC.
        since: i64,
        /// What was met, in words without personal data.
        problem: String,
    },
    /// Its file was removed, moved, replaced or cut. Writes are refused until a restart.
    Gone,
    /// It was closed in order.
    Closed,
}

/// How the index is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexHealth {
    /// Searches are answered; `lag` changes are still found beside the index.
    Live {
        /// Changes of the store that the index does not hold yet.
        lag: u64,
    },
    /// It is being built, and searches are refused.
    Building {
        /// How much of the store's changes the index holds so far, in percent from 0 to 100.
        percent: u64,
        /// What was wrong with the one before, in words.
        why: String,
    },
}

/// Room of a file system, as far as this user may fill it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// Bytes that this user may still write.
    pub free_bytes: u64,
    /// Size of the whole file system in bytes.
    pub total_bytes: u64,
}

impl DiskSpace {
    /// Asks the file system that holds a folder.
    pub fn of(folder: &Path) -> Option<DiskSpace> {
        use std::os::unix::ffi::OsStrExt;
        let path = std::ffi::CString::new(folder.as_os_str().as_bytes()).ok()?;
        // SAFETY: all bytes zero are a valid value of this structure of numbers.
        let mut told: libc::statvfs = unsafe { std::mem::zeroed() };
        // SAFETY: the path ends with its zero, the structure is ours, and both outlive the call.
        let asked = unsafe { libc::statvfs(path.as_ptr(), &raw mut told) };
        let bytes = |blocks: u64| blocks.saturating_mul(told.f_frsize);
        (asked == 0).then(|| DiskSpace { free_bytes: bytes(told.f_bavail), total_bytes: bytes(told.f_blocks) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_there_has_room_and_one_that_is_not_has_no_answer() {
        let folder = tempfile::tempdir().unwrap();
        let disk = DiskSpace::of(folder.path()).unwrap();
        assert!(disk.free_bytes <= disk.total_bytes && disk.total_bytes > 0, "{disk:?}");
        assert_eq!(DiskSpace::of(&folder.path().join("nowhere")), None);
    }
}
