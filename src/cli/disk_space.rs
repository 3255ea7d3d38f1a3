//! A disk without room: which one it is, what is free there, and how much a command wants. "No space left on device" names none of them.

use std::path::Path;

use super::writable::mount_at;
use crate::config::Config;
use engine::limits::STORE_ROOM_BYTES;
use engine::{DiskSpace, size};

/// The system's words for it, and those of the standard library.
const WORDS: [&str; 3] = ["No space left", "no storage space", "Disk quota exceeded"];

/// Why a command could not be done; where a disk had no room, with its mount, what is free on it now, and what is wanted. `folder` is on the
/// disk that the command writes to; it need not be there.
pub(super) fn named(problem: String, folder: &Path, wants: impl FnOnce() -> String) -> String {
    if !WORDS.iter().any(|words| problem.contains(words)) {
        return problem;
    }
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let there = whole.ancestors().find(|path| path.is_dir()).unwrap_or(&whole);
    let disk = mount_at(there).map_or_else(String::new, |mount| format!(" ({mount})"));
    let free =
        DiskSpace::of(there).map_or_else(String::new, |disk| format!(", which has {} bytes free now", disk.free_bytes));
    format!("{problem}\nnext: make room on the disk of {}{disk}{free}; {}", there.display(), wants())
}

/// What a new index wants, or one that is made one segment.
pub(super) fn of_index(config: &Config) -> String {
    let bytes = size(&config.storage.data.join("index")).1;
    format!("a new index takes as much as the one that is there, about {bytes} bytes, beside it")
}

/// What `compact` wants.
pub(super) fn of_compact(config: &Config) -> String {
    let bytes = size(&config.storage.data.join("index")).1 + STORE_ROOM_BYTES as u64;
    format!(
        "to compact takes about {bytes} bytes beside what is there; nothing is lost, and the folder can be used as before"
    )
}

/// What an import of a file wants.
pub(super) fn of_import(file: &Path) -> String {
    let bytes = size(file).1;
    let wanted = if bytes > 0 {
        format!("the file has {bytes} bytes, and its lines take about as much; ")
    } else {
        String::new()
    };
    format!("{wanted}what was stored stays, so run the import again, and it goes on from there")
}

/// What a backup wants.
pub(super) fn of_backup(config: &Config) -> String {
    let data = &config.storage.data;
    let bytes = size(&data.join(engine::STORE_FILE)).1 + size(&data.join("audit")).1;
    format!("a full archive takes up to {bytes} bytes; nothing of this one is left")
}

/// What the trail wants, which records a command before it does anything.
pub(super) fn of_trail() -> String {
    "the audit trail is written there; nothing of this archive is left".to_owned()
}

/// What a restore wants.
pub(super) fn of_restore<'a>(archives: impl Iterator<Item = &'a Path>) -> String {
    let bytes: u64 = archives.map(|archive| size(archive).1).sum();
    format!("what is restored takes more than the {bytes} bytes of the archives, as a rule two to three times as much")
}
