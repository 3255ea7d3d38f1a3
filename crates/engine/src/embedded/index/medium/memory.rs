//! Files in memory that a power cut takes: names since the last sync of the folder are there or not, by a seed. What tantivy has ended
//! it has synced, so a file that keeps its name keeps its bytes; one that was still written is empty.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, OwnedBytes, TerminatingWrite, WatchCallback,
    WatchHandle, WritePtr,
};
use tantivy::indexer::IndexWriterOptions;

use super::{IndexError, IndexMedium};

/// The files of one index. They outlive the processes that use them.
#[derive(Default)]
pub(crate) struct MemoryFiles(Mutex<MemoryFilesState>);

#[derive(Default)]
struct MemoryFilesState {
    seen: Files,
    synced: Files,
    /// Files that were ever made, so that what a power cut leaves does not depend on their names, which are random.
    made: u64,
    /// Makings and endings of files so far.
    calls: u64,
    /// Calls from which on there is no room.
    full_from: Option<u64>,
    /// Calls that found none since.
    refused: u64,
    /// As of the store's disk.
    life: u64,
}

type Files = BTreeMap<PathBuf, MemoryFile>;

#[derive(Clone)]
struct MemoryFile {
    number: u64,
    bytes: OwnedBytes,
}

impl fmt::Debug for MemoryFiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("MemoryFiles")
    }
}

impl IndexMedium {
    /// An index whose files a test keeps.
    pub(crate) fn of(memory: &Arc<MemoryFiles>) -> IndexMedium {
        IndexMedium::on(Arc::new(SimulatedFiles(memory.clone())))
    }
}

/// Files in memory as the place of an index.
#[derive(Debug)]
struct SimulatedFiles(Arc<MemoryFiles>);

impl super::IndexStorage for SimulatedFiles {
    fn directory(&self, _: &Path) -> Result<Box<dyn Directory>, IndexError> {
        Ok(Box::new(self.0.power_on()))
    }

    fn clear(&self, _: &Path) -> Result<(), IndexError> {
        Ok(self.0.clear()?)
    }

    fn threads(&self) -> IndexWriterOptions {
        IndexWriterOptions::builder().num_merge_threads(1).build()
    }

    fn merges_when_told(&self) -> bool {
        true
    }

    fn is_full(&self) -> Option<bool> {
        Some(self.0.is_full())
    }

    fn checked_bytes_max(&self) -> u64 {
        u64::MAX
    }
}

impl MemoryFiles {
    fn state(&self) -> MutexGuard<'_, MemoryFilesState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For a process that starts now, or opens the files again.
    pub(crate) fn power_on(self: &Arc<MemoryFiles>) -> ProcessFiles {
        ProcessFiles { memory: self.clone(), life: self.state().life }
    }

    pub(crate) fn clear(&self) -> io::Result<()> {
        let mut state = self.state();
        state.spend()?;
        state.seen.clear();
        // Whoever still has the files open must not write into those that come.
        state.life += 1;
        Ok(())
    }

    /// There is no room for anything from so many calls on.
    pub(crate) fn fill_up(&self, calls: u64) {
        let mut state = self.state();
        state.full_from = Some(state.calls + calls);
        state.refused = 0;
    }

    /// Calls that found no room since it became less.
    pub(crate) fn refused(&self) -> u64 {
        self.state().refused
    }

    /// Whether the next call finds no room.
    pub(crate) fn is_full(&self) -> bool {
        let state = self.state();
        state.full_from.is_some_and(|from| state.calls + 1 >= from)
    }

    pub(crate) fn mend(&self) {
        self.state().full_from = None;
    }

    /// Ends the process that has the files: none of its calls arrives any more. The system keeps what it sees.
    pub(crate) fn kill(&self) {
        self.state().life += 1;
    }

    /// Cuts the power and turns it on again.
    pub(crate) fn crash(&self, keep: &mut dyn FnMut() -> bool) {
        let mut state = self.state();
        let mut names: Vec<(u64, PathBuf)> = Vec::new();
        for (path, file) in state.seen.iter().chain(&state.synced) {
            names.push((file.number, path.clone()));
        }
        names.sort();
        names.dedup_by(|later, first| later.1 == first.1);
        for (_, path) in names {
            let (seen, synced) = (state.seen.get(&path), state.synced.get(&path));
            if seen.map(|file| file.number) == synced.map(|file| file.number) {
                continue;
            }
            let left = if keep() { seen.cloned() } else { synced.cloned() };
            match left {
                Some(file) => state.seen.insert(path, file),
                None => state.seen.remove(&path),
            };
        }
        state.synced = state.seen.clone();
        state.full_from = None;
        state.life += 1;
    }

    /// Names of the files, in the order they were made.
    pub(crate) fn names(&self) -> Vec<PathBuf> {
        let state = self.state();
        let mut files: Vec<(&PathBuf, &MemoryFile)> = state.seen.iter().collect();
        files.sort_by_key(|(_, file)| file.number);
        files.into_iter().map(|(path, _)| path.clone()).collect()
    }

    /// The bytes of a file; none where it is not there.
    pub(crate) fn bytes(&self, path: &Path) -> Vec<u8> {
        self.state().seen.get(path).map_or(Vec::new(), |file| file.bytes.to_vec())
    }

    /// Changes the bytes of a file behind everyone's back; without bytes it is removed. Whoever has it open keeps what it was.
    pub(crate) fn damage(&self, path: &Path, damage: impl FnOnce(Vec<u8>) -> Option<Vec<u8>>) {
        let bytes = self.bytes(path);
        let mut state = self.state();
        match damage(bytes) {
            Some(bytes) => state.put(path, bytes),
            None => drop(state.seen.remove(path)),
        }
        state.synced = state.seen.clone();
    }
}

impl MemoryFilesState {
    fn spend(&mut self) -> io::Result<()> {
        self.calls += 1;
        match self.full_from.is_some_and(|from| self.calls >= from) {
            true => {
                self.refused += 1;
                // As the system says it, since its words are what tells a full disk from a damaged index.
                Err(io::Error::from_raw_os_error(libc::ENOSPC))
            }
            false => Ok(()),
        }
    }

    fn put(&mut self, path: &Path, bytes: Vec<u8>) {
        self.made += 1;
        self.seen.insert(path.to_owned(), MemoryFile { number: self.made, bytes: OwnedBytes::new(bytes) });
    }
}

/// The files as one process has them.
#[derive(Clone, Debug)]
pub(crate) struct ProcessFiles {
    memory: Arc<MemoryFiles>,
    life: u64,
}

impl ProcessFiles {
    fn state(&self) -> io::Result<MutexGuard<'_, MemoryFilesState>> {
        let state = self.memory.state();
        match state.life == self.life {
            true => Ok(state),
            false => Err(io::Error::other("the power was cut")),
        }
    }

    fn open(&self, path: &Path) -> Result<OwnedBytes, OpenReadError> {
        let wrapped = |error| OpenReadError::wrap_io_error(error, path.to_owned());
        let state = self.state().map_err(wrapped)?;
        let found = state.seen.get(path).map(|file| file.bytes.clone());
        found.ok_or_else(|| OpenReadError::FileDoesNotExist(path.to_owned()))
    }
}

impl Directory for ProcessFiles {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        Ok(Arc::new(self.open(path)?))
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        let wrapped = |error| DeleteError::IoError { io_error: Arc::new(error), filepath: path.to_owned() };
        let removed = self.state().map_err(wrapped)?.seen.remove(path);
        removed.map(drop).ok_or_else(|| DeleteError::FileDoesNotExist(path.to_owned()))
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        let wrapped = |error| OpenReadError::wrap_io_error(error, path.to_owned());
        Ok(self.state().map_err(wrapped)?.seen.contains_key(path))
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let wrapped = |error| OpenWriteError::wrap_io_error(error, path.to_owned());
        let mut state = self.state().map_err(wrapped)?;
        if state.seen.contains_key(path) {
            return Err(OpenWriteError::FileAlreadyExists(path.to_owned()));
        }
        state.spend().map_err(wrapped)?;
        state.put(path, Vec::new());
        Ok(BufWriter::new(Box::new(WritingFile { directory: self.clone(), path: path.to_owned(), bytes: Vec::new() })))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        Ok(self.open(path)?.to_vec())
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let mut state = self.state()?;
        state.spend()?;
        state.put(path, data.to_vec());
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        let mut state = self.state()?;
        state.synced = state.seen.clone();
        Ok(())
    }

    // One process at a time is played.
    fn acquire_lock(&self, _lock: &Lock) -> Result<DirectoryLock, LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, _callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}

struct WritingFile {
    directory: ProcessFiles,
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Write for WritingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TerminatingWrite for WritingFile {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        let mut state = self.directory.state()?;
        state.spend()?;
        let bytes = std::mem::take(&mut self.bytes);
        state.put(&self.path, bytes);
        Ok(())
    }
}
