//! What a failed sync was for, told to the next process: `store.unsynced` beside the store.
//!
//! It is not synced itself. It matters for as long as the system shows what the disk does not have; a power cut takes both.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
#[cfg(test)]
use std::sync::Arc;

#[cfg(test)]
use super::disk::Disk;
use super::ranges::Ranges;

#[derive(Debug)]
pub(super) enum Mark {
    File(PathBuf),
    /// Of a look at a store: what is not written cannot be lost, and the mark that is there stays for who writes.
    None,
    #[cfg(test)]
    Played(Arc<Disk>),
}

impl Mark {
    /// Of a store's file.
    pub(super) fn beside(store: &Path) -> Mark {
        Mark::File(store.with_extension("unsynced"))
    }

    /// What it says, where there is one. One that is not whole, or cannot be read, stands for the whole file.
    pub(super) fn read(&self) -> Option<Ranges> {
        let text = match self {
            Mark::File(path) => match fs::read_to_string(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => return None,
                read => read.unwrap_or_default(),
            },
            Mark::None => return None,
            #[cfg(test)]
            Mark::Played(disk) => disk.mark()?,
        };
        Some(Ranges::parse(&text).unwrap_or_else(Ranges::whole))
    }

    /// # Errors
    /// What the file system says. A file that was made and not filled says all that is needed.
    pub(super) fn write(&self, ranges: &Ranges) -> io::Result<()> {
        match self {
            Mark::File(path) => {
                let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
                file.write_all(ranges.to_string().as_bytes())
            }
            Mark::None => Ok(()),
            #[cfg(test)]
            Mark::Played(disk) => disk.set_mark(Some(ranges.to_string())),
        }
    }

    /// One that cannot be removed costs the next process some writing.
    pub(super) fn remove(&self) {
        match self {
            Mark::File(path) => drop(fs::remove_file(path)),
            Mark::None => {}
            #[cfg(test)]
            Mark::Played(disk) => drop(disk.set_mark(None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_says_what_was_written_and_one_that_was_cut_off_means_everything() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store.redb");
        let mark = Mark::beside(&store);
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
