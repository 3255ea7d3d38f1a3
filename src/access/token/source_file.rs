//! A file that the settings name and that is read again when it changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use base::regular_file;

/// A file, and its state when it was read last.
#[derive(Debug)]
pub(super) struct SourceFile {
    path: PathBuf,
    bytes_max: u64,
    seen: Mutex<Option<FileState>>,
}

/// What tells one state of a file from another.
type FileState = (SystemTime, u64);

impl SourceFile {
    /// A file of at most `bytes_max` bytes, not read yet.
    pub(super) fn new(path: PathBuf, bytes_max: u64) -> SourceFile {
        SourceFile { path, bytes_max, seen: Mutex::new(None) }
    }

    /// Whether the file is another one than was read last.
    pub(super) fn has_changed(&self) -> bool {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) != stamp(&self.path)
    }

    /// Reads the file.
    ///
    /// # Errors
    /// It cannot be read, or is too large; in words.
    pub(super) fn read(&self) -> Result<Vec<u8>, String> {
        // Before the content: a change in between is seen as one.
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = stamp(&self.path);
        regular_file::contents(&self.path, self.bytes_max).map_err(|error| format!("it cannot be read: {error}"))
    }
}

fn stamp(path: &Path) -> Option<FileState> {
    let about = fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}
