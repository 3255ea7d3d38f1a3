//! Where the database's bytes lie, and what is noticed of it.
//!
//! redb refuses everything after one failed call, reads too, until it is opened again. So every call is listened to: the first that
//! fails raises the alarm, and the writer opens the database again, whoever met the failure.

mod aside;
#[cfg(test)]
pub mod disk;
mod looking;

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use redb::backends::FileBackend;
use redb::{BackendError, Builder, Database, DatabaseError, StorageBackend};

use crate::limits::STORE_ROOM_BYTES;
use aside::Aside;

/// What the database is opened on: the file, unless a test says otherwise.
#[derive(Clone, Debug, Default)]
pub struct Medium {
    #[cfg(test)]
    disk: Option<Arc<disk::Disk>>,
    alarm: Arc<Alarm>,
}

impl Medium {
    /// A disk that a test plays.
    #[cfg(test)]
    pub fn of(disk: &Arc<disk::Disk>) -> Medium {
        Medium { disk: Some(disk.clone()), alarm: Arc::default() }
    }

    /// Makes the database where there is none. It gets its name when it is whole: one that was cut off on the way could not be opened
    /// again, nor be told from one that was damaged.
    pub fn make_if_missing(&self, builder: &Builder, path: &Path) -> Result<(), DatabaseError> {
        #[cfg(test)]
        if let Some(disk) = &self.disk {
            if disk.is_blank() {
                drop(builder.create_with_backend(disk.power_on())?);
                disk.name()?;
            }
            return Ok(());
        }
        if path.try_exists()? {
            return Ok(());
        }
        let making = path.with_extension("new");
        match fs::remove_file(&making) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        drop(builder.create(&making)?);
        File::open(&making)?.sync_all()?;
        // A link takes no name that another process has made meanwhile; a file system without links has to do with less.
        match fs::hard_link(&making, path) {
            Ok(()) => fs::remove_file(&making)?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => fs::remove_file(&making)?,
            Err(_) => fs::rename(&making, path)?,
        }
        Ok(())
    }

    /// Opens the database that is there. The alarm is off from here on.
    pub fn open(&self, builder: &Builder, path: &Path) -> Result<Database, DatabaseError> {
        let number = self.alarm.opened.fetch_add(1, Ordering::AcqRel) + 1;
        let heard = |inner| Heard { inner, number, alarm: self.alarm.clone() };
        #[cfg(test)]
        if let Some(disk) = &self.disk {
            return builder.create_with_backend(heard(Box::new(disk.power_on())));
        }
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        builder.create_with_backend(heard(Box::new(FileBackend::new(file)?)))
    }

    /// Writes a file beside the database and removes it again. Opening a database takes no room, but the next commit does.
    ///
    /// # Errors
    /// The disk is full or takes no writes.
    pub fn prove_room(&self, path: &Path) -> io::Result<()> {
        #[cfg(test)]
        if self.disk.is_some() {
            return Ok(());
        }
        let probe = path.with_extension("room");
        let written = File::create(&probe).and_then(|mut file| {
            file.write_all(&vec![0; STORE_ROOM_BYTES])?;
            file.sync_all()
        });
        // One that cannot be removed lies where the next one is written.
        drop(fs::remove_file(&probe));
        written
    }

    /// Opens the database so that nothing is written where it lies: for reading, while the disk takes nothing.
    pub fn open_aside(&self, builder: &Builder, path: &Path) -> Result<Database, DatabaseError> {
        #[cfg(test)]
        if let Some(disk) = &self.disk {
            return builder.create_with_backend(Aside::new(Box::new(disk.power_on()), true)?);
        }
        // A file system that became read-only lets nobody open a file for writing; then nobody has to be kept out by a lock either.
        let (file, locks) = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => (file, true),
            Err(_) => (File::open(path)?, false),
        };
        builder.create_with_backend(Aside::new(Box::new(FileBackend::new(file)?), locks)?)
    }

    /// Whether a call has failed since the database was opened.
    pub fn has_failed(&self) -> bool {
        let opened = self.alarm.opened.load(Ordering::Acquire);
        opened > 0 && self.alarm.failed.load(Ordering::Acquire) >= opened
    }
}

/// Which opening of the database is the last, and which one failed last: both counted from 1.
#[derive(Debug, Default)]
struct Alarm {
    opened: AtomicU64,
    failed: AtomicU64,
}

/// A backend that is listened to.
#[derive(Debug)]
struct Heard {
    inner: Box<dyn StorageBackend>,
    number: u64,
    alarm: Arc<Alarm>,
}

impl Heard {
    fn hear<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if result.is_err() {
            self.alarm.failed.fetch_max(self.number, Ordering::AcqRel);
        }
        result
    }
}

impl StorageBackend for Heard {
    fn len(&self) -> io::Result<u64> {
        self.hear(self.inner.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.hear(self.inner.read(offset, out))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.hear(self.inner.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.hear(self.inner.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.hear(self.inner.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.query_lock_range(start, end)
    }
}
