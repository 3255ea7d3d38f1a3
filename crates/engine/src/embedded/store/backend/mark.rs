//! What a failed sync was for, told to the next process: `store.unsynced` beside the store.
//!
//! It is not synced itself. It matters for as long as the system shows what the disk does not have; a power cut takes both.

use std::fmt::Debug;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use base::regular_file;

use super::ranges::Ranges;

/// Bytes that are read of a mark. One with more cannot be read.
const MARK_BYTES_MAX: u64 = 1024 * 1024;

/// A mark beside the store; nothing of a look at it: what is not written cannot be lost, and the mark that is there stays for who writes.
#[derive(Debug)]
pub(super) struct UnsyncedMark(Option<Box<dyn MarkStorage>>);

/// Where a mark is kept.
pub(super) trait MarkStorage: Debug + Send + Sync {
    /// Nothing where there is none. What cannot be read is an empty text.
    fn read(&self) -> Option<String>;

    fn write(&self, text: &str) -> io::Result<()>;

    /// One that cannot be removed costs the next process some writing.
    fn remove(&self);
}

impl UnsyncedMark {
    pub(super) const NONE: UnsyncedMark = UnsyncedMark(None);

    /// Of a store's file.
    pub(super) fn beside(store: &Path) -> UnsyncedMark {
        UnsyncedMark::kept(store.with_extension("unsynced"))
    }

    pub(super) fn kept(note: impl MarkStorage + 'static) -> UnsyncedMark {
        UnsyncedMark(Some(Box::new(note)))
    }

    /// What it says, where there is one. One that is not whole, or cannot be read, stands for the whole file.
    pub(super) fn read(&self) -> Option<Ranges> {
        let text = self.0.as_ref()?.read()?;
        Some(Ranges::parse(&text).unwrap_or_else(Ranges::whole))
    }

    /// # Errors
    /// What the file system says. A file that was made and not filled says all that is needed.
    pub(super) fn write(&self, ranges: &Ranges) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |note| note.write(&ranges.to_string()))
    }

    pub(super) fn remove(&self) {
        if let Some(note) = &self.0 {
            note.remove();
        }
    }
}

impl MarkStorage for PathBuf {
    fn read(&self) -> Option<String> {
        match regular_file::read_itself(self, MARK_BYTES_MAX) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            read => Some(String::from_utf8(read.unwrap_or_default()).unwrap_or_default()),
        }
    }

    fn write(&self, text: &str) -> io::Result<()> {
        regular_file::make_empty(self)?.write_all(text.as_bytes())
    }

    fn remove(&self) {
        drop(fs::remove_file(self));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_says_what_was_written_and_one_that_was_cut_off_means_everything() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store.redb");
        let mark = UnsyncedMark::beside(&store);
        assert_eq!(mark.read(), None);
        let mut ranges = Ranges::default();
        ranges.add(320, 4_096);
        mark.write(&ranges).unwrap();
        assert_eq!(mark.read(), Some(ranges));
        fs::write(folder.path().join("store.unsynced"), "320-40").unwrap();
        assert_eq!(mark.read(), Some(Ranges::whole()));
        mark.remove();
        assert_eq!(mark.read(), None);
    }
}
