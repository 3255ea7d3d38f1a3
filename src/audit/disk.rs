//! The files of a trail by their names, and those beside them.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use base::regular_file;

/// A file of the trail, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrailFileName {
    /// `00000001.log`
    Plain(u64),
    /// `00000001.zst`
    Sealed(u64),
}

/// Largest number of a file of the trail.
const FILE_NUMBER_MAX: u64 = u64::MAX / 2;

impl TrailFileName {
    pub fn parse(name: &str) -> Option<TrailFileName> {
        let (digits, ending) = name.split_once('.')?;
        // Those behind it are counted on from it.
        let number = digits.parse().ok().filter(|number| (1..=FILE_NUMBER_MAX).contains(number))?;
        let name = match ending {
            "log" => TrailFileName::Plain(number),
            "zst" => TrailFileName::Sealed(number),
            _ => return None,
        };
        (digits == format!("{number:08}")).then_some(name)
    }

    pub fn file(self) -> u64 {
        let (TrailFileName::Plain(file) | TrailFileName::Sealed(file)) = self;
        file
    }

    pub fn within(self, folder: &Path) -> PathBuf {
        folder.join(self.to_string())
    }
}

impl fmt::Display for TrailFileName {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            TrailFileName::Plain(file) => write!(formatter, "{file:08}.log"),
            TrailFileName::Sealed(file) => write!(formatter, "{file:08}.zst"),
        }
    }
}

/// Where the trail of a data folder lies.
pub fn folder(data: &Path) -> PathBuf {
    data.join("audit")
}

pub(super) fn write_durable(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = regular_file::make_anew(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Removes what a crash left of a file that was being sealed.
pub(super) fn remove_unfinished(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == SEAL_UNFINISHED) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Whether a name is that of an index, whole or unfinished.
pub(super) fn is_index(name: &str) -> bool {
    name.split_once('.').is_some_and(|(file, ending)| {
        let is_file = TrailFileName::parse(&format!("{file}.zst")).is_some();
        is_file && (ending == INDEX || ending == INDEX_UNFINISHED)
    })
}

/// The path of a sealed file's index.
pub(super) fn index_path(folder: &Path, file: u64) -> PathBuf {
    TrailFileName::Sealed(file).within(folder).with_extension(INDEX)
}

pub(super) const INDEX: &str = "idx";

pub(super) const INDEX_UNFINISHED: &str = "idx.part";

/// A sealed file that is being written.
pub(super) const SEAL_UNFINISHED: &str = "part";

/// Says that a sync has failed, and that what it was for was not written again: for the next process. It need not be durable itself, as
/// it matters for as long as the system shows what the disk does not have.
pub(super) fn mark(folder: &Path) -> PathBuf {
    folder.with_extension("unsynced")
}
