//! What the trail asks of the disk, behind an interface, so that tests can fill it up and let it fail.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Makes and opens the files that are written to.
pub(super) trait AuditDisk: Send + Sync {
    /// Makes a file of that many bytes, all zero and really written, and durable with its name.
    ///
    /// # Errors
    /// It cannot be made; nothing is left of it.
    fn make(&self, path: &Path, bytes: u64) -> io::Result<Arc<dyn AuditFileTarget>>;

    fn open(&self, path: &Path) -> io::Result<Arc<dyn AuditFileTarget>>;
}

/// A file that is written to.
pub(super) trait AuditFileTarget: Send + Sync {
    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// Returns when what was written is durable.
    fn sync(&self) -> io::Result<()>;

    /// Whether a path leads to this file, which has at least so many bytes. True where the disk cannot tell.
    fn is_at(&self, path: &Path, bytes: u64) -> bool;
}

/// The machine's own.
pub(super) struct SystemDisk;

impl AuditDisk for SystemDisk {
    fn make(&self, path: &Path, bytes: u64) -> io::Result<Arc<dyn AuditFileTarget>> {
        let mut file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        if let Err(error) = fill(&mut file, bytes).and_then(|()| sync_folder(path)) {
            // What could not be filled would take the room that others wait for.
            drop(fs::remove_file(path));
            return Err(error);
        }
        Ok(Arc::new(file))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn AuditFileTarget>> {
        Ok(Arc::new(OpenOptions::new().read(true).write(true).open(path)?))
    }
}

impl AuditFileTarget for File {
    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        FileExt::write_all_at(self, bytes, at)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn is_at(&self, path: &Path, bytes: u64) -> bool {
        match (self.metadata(), fs::metadata(path)) {
            (Ok(open), Ok(found)) => (open.dev(), open.ino()) == (found.dev(), found.ino()) && found.len() >= bytes,
            (Ok(_), Err(error)) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
            (Err(_), _) => true,
        }
    }
}

fn fill(file: &mut File, bytes: u64) -> io::Result<()> {
    let zeros = vec![0; 256 * 1024];
    let mut left = bytes;
    while left > 0 {
        let some = left.min(zeros.len() as u64);
        file.write_all(&zeros[..some as usize])?;
        left -= some;
    }
    file.sync_all()
}

/// Makes the names in the folder of a file durable.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

/// A file of the trail, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    /// `00000001.log`
    Plain(u64),
    /// `00000001.zst`
    Sealed(u64),
}

/// Largest number of a file of the trail.
const FILE_NUMBER_MAX: u64 = u64::MAX / 2;

impl Name {
    pub fn parse(name: &str) -> Option<Name> {
        let (digits, ending) = name.split_once('.')?;
        // Those behind it are counted on from it.
        let number = digits.parse().ok().filter(|number| (1..=FILE_NUMBER_MAX).contains(number))?;
        let name = match ending {
            "log" => Name::Plain(number),
            "zst" => Name::Sealed(number),
            _ => return None,
        };
        (digits == format!("{number:08}")).then_some(name)
    }

    pub fn file(self) -> u64 {
        let (Name::Plain(file) | Name::Sealed(file)) = self;
        file
    }

    pub fn within(self, folder: &Path) -> PathBuf {
        folder.join(self.to_string())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Name::Plain(file) => write!(formatter, "{file:08}.log"),
            Name::Sealed(file) => write!(formatter, "{file:08}.zst"),
        }
    }
}

/// Where the trail of a data folder lies.
pub fn folder(data: &Path) -> PathBuf {
    data.join("audit")
}

pub(super) fn write_durable(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
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
        let is_file = Name::parse(&format!("{file}.zst")).is_some();
        is_file && (ending == INDEX || ending == INDEX_UNFINISHED)
    })
}

/// The path of a sealed file's index.
pub(super) fn index_path(folder: &Path, file: u64) -> PathBuf {
    Name::Sealed(file).within(folder).with_extension(INDEX)
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
