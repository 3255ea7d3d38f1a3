//! A backend whose failures are recorded.
//!
//! redb refuses everything after one failed call, reads too, until it is opened again. So the first call that fails raises the alarm, and
//! the writer opens the database again, whoever met the failure.
//!
//! And a sync that fails is not followed by one that is believed: Linux takes the pages that it could not write for written, shows them,
//! and syncs what comes after without a word. A power cut would then take what redb has built upon. So what was written since the last
//! good sync is remembered, and written again before the next one.

use std::fs::File;
use std::io;
use std::ops::{Bound, Range};
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use redb::{BackendError, StorageBackend};

use super::mark::UnsyncedMark;
use super::ranges::Ranges;
use base::log::event;

/// Bytes of the store's file that are read and written again at once after a failed sync: the largest pages in which systems keep a file,
/// so that none of them lies in two such windows.
const STORE_AGAIN_BYTES: usize = 2 * 1024 * 1024;

/// What was recorded of one file, however often it was opened by this process.
#[derive(Debug, Default)]
pub(super) struct FailureRecorder {
    /// Openings so far.
    opened: AtomicU64,
    /// The last of them that failed.
    failed: AtomicU64,
    /// Written since the last sync began.
    written: Mutex<Ranges>,
    /// Device and inode of the file that was opened first.
    pub opened_file: OnceLock<(u64, u64)>,
    /// Bytes that the file has at least, unless somebody else has cut it.
    pub bytes: AtomicU64,
    /// Its path was found to lead to no file, to another one, or to one that was cut.
    pub is_gone: AtomicBool,
    /// Held by whoever syncs.
    unsynced: Mutex<UnsyncedRanges>,
}

/// Bytes that can be read and may not be on the disk.
#[derive(Debug, Default)]
struct UnsyncedRanges {
    ranges: Ranges,
    /// A sync by this process has succeeded. Until then one that fails may report what a process before has written.
    has_synced: bool,
    /// There is a mark that says so.
    is_marked: bool,
}

impl FailureRecorder {
    /// Whether a call has failed since the file was opened.
    pub(super) fn has_failed(&self) -> bool {
        let opened = self.opened.load(Ordering::Acquire);
        opened > 0 && self.failed.load(Ordering::Acquire) >= opened
    }

    fn written(&self) -> MutexGuard<'_, Ranges> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unsynced(&self) -> MutexGuard<'_, UnsyncedRanges> {
        self.unsynced.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One opening of the file, whose calls are recorded.
#[derive(Debug)]
pub(super) struct RecordingBackend {
    inner: Box<dyn StorageBackend>,
    recorder: Arc<FailureRecorder>,
    mark: UnsyncedMark,
    /// Where it is a file of the file system.
    file: Option<File>,
    number: u64,
    /// The first call was made; those of locks come before.
    has_begun: AtomicBool,
}

impl RecordingBackend {
    pub(super) fn new(
        inner: Box<dyn StorageBackend>,
        recorder: &Arc<FailureRecorder>,
        mark: UnsyncedMark,
        file: Option<File>,
    ) -> RecordingBackend {
        let number = recorder.opened.fetch_add(1, Ordering::AcqRel) + 1;
        RecordingBackend { inner, recorder: recorder.clone(), mark, file, number, has_begun: AtomicBool::new(false) }
    }

    /// Makes a call; before the first one, which comes when nobody else has the file, what can be read is made durable.
    fn recorded<T>(&self, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        // Looked at before it is changed: readers on many threads share this line of memory.
        let has_begun = self.has_begun.load(Ordering::Acquire) || self.has_begun.swap(true, Ordering::AcqRel);
        let begun = match has_begun {
            true => Ok(()),
            // What a process before has left unsynced may fail once, and is written again then.
            false => self.sync().or_else(|_| self.sync()),
        };
        let result = begun.and_then(|()| call());
        if result.is_err() {
            self.recorder.failed.fetch_max(self.number, Ordering::AcqRel);
        }
        result
    }

    /// As [`recorded`](Self::recorded), of a call that changes a range, whether it says so or fails.
    fn change<T>(&self, from: u64, to: u64, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.recorded(|| {
            // redb writes what it has in memory when it closes: a file that was cut would look like one that is whole.
            if self.recorder.is_gone.load(Ordering::Acquire) {
                return Err(io::Error::other("the file is not the one that was opened, or was cut"));
            }
            let result = call();
            // Behind the call: a sync that began before it may have missed it.
            self.recorder.written().add(from, to);
            result
        })
    }

    fn sync(&self) -> io::Result<()> {
        let mut unsynced = self.recorder.unsynced();
        if !unsynced.has_synced
            && let Some(left) = self.mark.read()
        {
            unsynced.ranges.add_all(&left);
            unsynced.is_marked = true;
        }
        let due = std::mem::take(&mut *self.recorder.written());
        match self.write_again(&unsynced.ranges).and_then(|()| self.inner.sync_data()) {
            Ok(()) => {
                unsynced.has_synced = true;
                unsynced.ranges = Ranges::default();
                if std::mem::take(&mut unsynced.is_marked) {
                    self.mark.remove();
                    event!(STORE_SYNCED);
                }
                Ok(())
            }
            Err(error) => {
                let due = if unsynced.has_synced { due } else { Ranges::whole() };
                unsynced.ranges.add_all(&due);
                // What was written meanwhile may have been in this sync or not.
                unsynced.ranges.add_all(&self.recorder.written());
                if unsynced.ranges.is_empty() {
                    return Err(error);
                }
                unsynced.is_marked = true;
                if let Err(problem) = self.mark.write(&unsynced.ranges) {
                    event!(STORE_SYNC_UNMARKED, %problem);
                }
                Err(error)
            }
        }
    }

    /// Reads ranges and writes what was read, so that the system takes it for unwritten. Whatever of it has been lost already reads as it
    /// was before, as after a power cut, which redb is made for.
    ///
    /// In between the system is to forget what it knows of these pages: ext4 remembers of a page whose place was new that it is written,
    /// and does not enter the place as written when the page is written once more; after a power cut it would be all zeros.
    fn write_again(&self, ranges: &Ranges) -> io::Result<()> {
        if ranges.is_empty() {
            return Ok(());
        }
        let len = self.inner.len()?;
        self.inner.set_len(len)?;
        const WINDOW: u64 = STORE_AGAIN_BYTES as u64;
        let mut bytes = vec![0; STORE_AGAIN_BYTES];
        let mut pieces = ranges.pieces(len, WINDOW).peekable();
        while let Some(first) = pieces.next() {
            let start = first.start / WINDOW * WINDOW;
            let mut held = vec![first];
            held.extend(std::iter::from_fn(|| pieces.next_if(|piece| piece.start < start + WINDOW)));
            let within = |piece: &Range<u64>| (piece.start - start) as usize..(piece.end - start) as usize;
            for piece in &held {
                self.inner.read(piece.start, &mut bytes[within(piece)])?;
            }
            // Room that was taken and never written shows zeros, and shows them after a power cut too.
            held.retain(|piece| bytes[within(piece)].iter().any(|byte| *byte != 0) || !self.is_hole(piece));
            if held.is_empty() {
                continue;
            }
            self.forget(start, WINDOW);
            for piece in &held {
                self.inner.write(piece.start, &bytes[within(piece)])?;
            }
        }
        Ok(())
    }

    /// Whether nothing was ever written there, as far as the file system tells.
    fn is_hole(&self, piece: &Range<u64>) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(file) = &self.file {
            // SAFETY: the call takes nothing but numbers, and the file is open. Nobody reads from where it stands.
            let data = unsafe { libc::lseek(file.as_raw_fd(), piece.start as libc::off_t, libc::SEEK_DATA) };
            return match u64::try_from(data) {
                Ok(data) => data >= piece.end,
                Err(_) => io::Error::last_os_error().raw_os_error() == Some(libc::ENXIO),
            };
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (piece, &self.file);
        false
    }

    /// Has the system let go of the pages that it shows and takes for written. A file system that cannot is no worse off.
    fn forget(&self, from: u64, bytes: u64) {
        #[cfg(target_os = "linux")]
        if let Some(file) = &self.file {
            let (from, bytes) = (from as libc::off_t, bytes as libc::off_t);
            // SAFETY: the call takes nothing but numbers, and the file is open.
            unsafe { libc::posix_fadvise(file.as_raw_fd(), from, bytes, libc::POSIX_FADV_DONTNEED) };
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (from, bytes, &self.file);
    }
}

impl StorageBackend for RecordingBackend {
    fn len(&self) -> io::Result<u64> {
        self.recorded(|| self.inner.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.recorded(|| self.inner.read(offset, out))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        // The last byte stands for the length: what lies before it was written, or is a hole that takes no room.
        self.change(len.saturating_sub(1), len, || {
            // Never more than the file has: it may be asked at any moment.
            self.recorder.bytes.fetch_min(len, Ordering::AcqRel);
            self.inner.set_len(len)?;
            self.recorder.bytes.store(len, Ordering::Release);
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.recorded(|| self.sync())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(offset, offset + data.len() as u64, || self.inner.write(offset, data))
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
