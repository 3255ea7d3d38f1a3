//! What is asked of the disk, behind an interface, so that tests can fill it up and let it fail.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use base::regular_file;

/// Makes and opens the files that are written to.
pub trait Disk: Send + Sync {
    /// Makes a file of that many bytes, all zero and really written, and durable with its name.
    ///
    /// # Errors
    /// It cannot be made; nothing is left of it.
    fn make(&self, path: &Path, bytes: u64) -> io::Result<Arc<dyn DiskFile>>;

    /// # Errors
    /// What the file system says.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// The first bytes of a file, as many at most; nothing where there is none.
    ///
    /// # Errors
    /// What the file system says.
    fn read(&self, path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>>;

    /// Takes a file away, where there is one.
    ///
    /// # Errors
    /// What the file system says.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// A file that is written to.
pub trait DiskFile: Send + Sync {
    /// # Errors
    /// What the file system says. Some of the bytes may be written.
    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// Returns when what was written is durable.
    ///
    /// # Errors
    /// Nobody knows what is durable; another sync would not tell.
    fn sync(&self) -> io::Result<()>;

    /// Whether a path leads to this file, which has at least so many bytes. True where the disk cannot tell.
    fn is_at(&self, path: &Path, bytes: u64) -> bool;
}

/// The machine's own.
pub struct SystemDisk;

impl Disk for SystemDisk {
    fn make(&self, path: &Path, bytes: u64) -> io::Result<Arc<dyn DiskFile>> {
        let mut file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        if let Err(error) = fill(&mut file, bytes).and_then(|()| sync_folder(path)) {
            // What could not be filled would take the room that others wait for.
            drop(fs::remove_file(path));
            return Err(error);
        }
        Ok(Arc::new(file))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(regular_file::open_itself_to_write(path)?))
    }

    fn read(&self, path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        absent_is_none(regular_file::read_itself(path, bytes_max))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        absent_is_none(fs::remove_file(path)).map(drop)
    }
}

fn absent_is_none<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

impl DiskFile for File {
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
///
/// # Errors
/// The folder cannot be opened or synced.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}
