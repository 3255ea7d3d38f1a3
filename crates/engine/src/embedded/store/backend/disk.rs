//! A disk that a test plays: it knows what is synced and what is only written, fails, tears or forgets at the call it is told to, and at a
//! power cut keeps, loses or half keeps what was not synced, by a seed.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::ops::Bound;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::{BackendError, Builder, DatabaseError, StorageBackend};

use super::super::folder_lock::FolderLock;
use super::super::journal::JournalPlace;
use super::FileMedium;
use super::location::{OpenedFile, StoreLocation};
use super::mark::{MarkStorage, UnsyncedMark};
use journal::disk::{Disk, DiskFile};

/// What goes wrong, at the call of a write, a sync or a change of the length that has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// That call fails, with EIO. The next ones do not.
    Once,
    /// No call from then on finds room: ENOSPC, until the disk is mended.
    Full,
    /// No call from then on may write: EROFS, until the disk is mended.
    ReadOnly,
    /// A part of the write lands, then the power is cut.
    Torn,
    /// Of what was not synced by then a part is on the disk, and the rest never will be unless it is written again. It is seen all the
    /// same. The next sync, in whichever process, fails with EIO; the ones after it do not. So does Linux when a page cannot be written.
    Forgets,
}

impl DiskFault {
    /// Every kind of fault.
    pub const ALL: [DiskFault; 5] =
        [DiskFault::Once, DiskFault::Full, DiskFault::ReadOnly, DiskFault::Torn, DiskFault::Forgets];
}

/// A disk. It outlives the processes that use it.
#[derive(Debug, Default)]
pub struct SimulatedDisk(Mutex<SimulatedDiskState>);

/// A file by its name; that of the database is the empty one.
type FileName = String;

#[derive(Debug, Default)]
struct SimulatedFile {
    /// What the process sees.
    seen: Vec<u8>,
    /// What a power cut cannot take.
    synced: Vec<u8>,
    /// What came since the last sync, in its order.
    unsynced: Vec<DiskChange>,
    /// It has its name.
    is_named: bool,
    /// Something was forgotten, and no sync has told it.
    is_untold: bool,
}

#[derive(Debug, Default)]
struct SimulatedDiskState {
    files: BTreeMap<FileName, SimulatedFile>,
    /// Writes, syncs and changes of the length so far.
    calls: u64,
    fault: Option<(u64, DiskFault)>,
    /// Syncs that told it.
    told: u64,
    /// What lies beside the file to say what a failed sync was for.
    mark: Option<String>,
    /// The power is cut: every call of those who had it before fails.
    is_off: bool,
    /// Counts those who had the disk, so that no call of an earlier one arrives.
    life: u64,
}

#[derive(Debug)]
enum DiskChange {
    Write(usize, Vec<u8>),
    Length(usize),
}

impl DiskChange {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            DiskChange::Length(len) => bytes.resize(*len, 0),
            DiskChange::Write(offset, data) => {
                let end = offset + data.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[*offset..end].copy_from_slice(data);
            }
        }
    }
}

impl FileMedium {
    /// A database on a disk that a test plays.
    pub fn of(disk: &Arc<SimulatedDisk>) -> FileMedium {
        FileMedium::on(Arc::new(SimulatedLocation(disk.clone())))
    }
}

/// A played disk as the place of a store's file.
#[derive(Debug)]
struct SimulatedLocation(Arc<SimulatedDisk>);

impl StoreLocation for SimulatedLocation {
    fn make_if_missing(&self, builder: &Builder, _: &Path) -> Result<(), DatabaseError> {
        let SimulatedLocation(disk) = self;
        if disk.is_blank() {
            drop(builder.create_with_backend(disk.power_on())?);
            disk.name()?;
        }
        Ok(())
    }

    fn open(&self, _: &Path) -> Result<OpenedFile, DatabaseError> {
        Ok(OpenedFile { backend: Box::new(self.0.power_on()), found: None, same: None })
    }

    fn open_to_read(&self, _: &Path, _: bool) -> Result<(Box<dyn StorageBackend>, bool), DatabaseError> {
        Ok((Box::new(self.0.power_on()), true))
    }

    fn mark(&self, _: &Path) -> UnsyncedMark {
        UnsyncedMark::kept(self.0.clone())
    }

    fn prove_room(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    /// So small that it is full every few commits.
    fn journal(&self) -> JournalPlace {
        JournalPlace { disk: Arc::new(self.0.present(DATABASE)), file_bytes: 16 * 1024 }
    }

    fn lock_folder(&self, _: &Path, _: bool) -> Result<Option<FolderLock>, DatabaseError> {
        Ok(None)
    }
}

/// The name of the database.
const DATABASE: &str = "";

impl MarkStorage for Arc<SimulatedDisk> {
    fn read(&self) -> Option<String> {
        self.mark()
    }

    fn write(&self, text: &str) -> io::Result<()> {
        self.set_mark(Some(text.to_owned()))
    }

    fn remove(&self) {
        drop(self.set_mark(None));
    }
}

/// Unsynced writes reach the disk in sectors.
const SECTOR_BYTES: usize = 512;

impl SimulatedDisk {
    fn state(&self) -> MutexGuard<'_, SimulatedDiskState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For a process that starts now.
    pub fn power_on(self: &Arc<SimulatedDisk>) -> ProcessDisk {
        let mut state = self.state();
        state.life += 1;
        ProcessDisk { disk: self.clone(), life: state.life, file: DATABASE.to_owned() }
    }

    /// A file for the process that has the disk.
    fn present(self: &Arc<SimulatedDisk>, file: &str) -> ProcessDisk {
        ProcessDisk { disk: self.clone(), life: self.state().life, file: file.to_owned() }
    }

    /// Whether there is no file of this name; what was begun under another one is thrown away.
    pub fn is_blank(&self) -> bool {
        let mut state = self.state();
        let file = state.files.entry(DATABASE.to_owned()).or_default();
        if !file.is_named {
            *file = SimulatedFile::default();
        }
        !file.is_named
    }

    /// What lies beside the file. It takes no call: whoever writes it goes on when that fails.
    pub fn mark(&self) -> Option<String> {
        self.state().mark.clone()
    }

    /// Lays something beside the file, or takes it away.
    pub fn set_mark(&self, mark: Option<String>) -> io::Result<()> {
        let mut state = self.state();
        match state.fault {
            Some((at, DiskFault::Full | DiskFault::ReadOnly)) if state.calls >= at => {
                Err(ErrorKind::StorageFull.into())
            }
            _ => {
                state.mark = mark;
                Ok(())
            }
        }
    }

    /// The file gets its name.
    pub fn name(self: &Arc<SimulatedDisk>) -> io::Result<()> {
        self.power_on().change(None)?;
        self.state().files.entry(DATABASE.to_owned()).or_default().is_named = true;
        Ok(())
    }

    /// Writes, syncs and changes of the length so far.
    pub fn calls(&self) -> u64 {
        self.state().calls
    }

    /// Something goes wrong so many calls from now: 1 is the next one.
    pub fn break_at(&self, calls: u64, fault: DiskFault) {
        let mut state = self.state();
        state.fault = Some((state.calls + calls, fault));
    }

    /// Nothing goes wrong any more.
    pub fn mend(&self) {
        self.state().fault = None;
    }

    /// Syncs that failed because something was forgotten.
    pub fn told(&self) -> u64 {
        self.state().told
    }

    /// Ends the process that has the disk: none of its calls arrives any more. The system keeps what it sees.
    pub fn kill(&self) {
        self.state().life += 1;
    }

    /// Whether the power was cut by a torn write.
    pub fn is_off(&self) -> bool {
        self.state().is_off
    }

    /// Cuts the power, if that is not done, and turns it on again. Of what was not synced each sector is there or not, as `keep` says.
    pub fn crash(&self, keep: &mut dyn FnMut() -> Kept) {
        let mut state = self.state();
        for file in state.files.values_mut() {
            let mut bytes = std::mem::take(&mut file.synced);
            for change in std::mem::take(&mut file.unsynced) {
                match (keep(), change) {
                    (Kept::All, change) => change.apply(&mut bytes),
                    (Kept::Nothing, _) | (Kept::Part, DiskChange::Length(_)) => {}
                    (Kept::Part, DiskChange::Write(offset, data)) => {
                        for (at, sector) in data.chunks(SECTOR_BYTES).enumerate() {
                            if keep() != Kept::Nothing {
                                DiskChange::Write(offset + at * SECTOR_BYTES, sector.to_vec()).apply(&mut bytes);
                            }
                        }
                    }
                }
            }
            (file.synced, file.seen, file.is_untold) = (bytes.clone(), bytes, false);
        }
        // What never got its name is not there.
        state.files.retain(|name, file| file.is_named || name == DATABASE);
        (state.is_off, state.fault) = (false, None);
        if keep() == Kept::Nothing {
            state.mark = None;
        }
        state.life += 1;
    }
}

impl SimulatedDiskState {
    /// Some of what was not synced of a file is on the disk, and the rest is not: none, a third or two of three, by the call.
    fn forget(&mut self, file: &str) {
        let calls = self.calls;
        let Some(file) = self.files.get_mut(file) else { return };
        for (at, change) in (1..).zip(std::mem::take(&mut file.unsynced)) {
            let mixed: u64 = (calls + at * 0x1_0000).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            if mixed % 3 < calls % 3 {
                change.apply(&mut file.synced);
            }
        }
    }
}

/// What is left of an unsynced write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// All of it.
    All,
    /// Nothing of it.
    Nothing,
    /// Some of its sectors.
    Part,
}

/// A file of the disk as one process has it.
#[derive(Clone, Debug)]
pub struct ProcessDisk {
    disk: Arc<SimulatedDisk>,
    life: u64,
    file: FileName,
}

impl ProcessDisk {
    fn state(&self) -> io::Result<MutexGuard<'_, SimulatedDiskState>> {
        let state = self.disk.state();
        match state.is_off || state.life != self.life {
            true => Err(io::Error::other("the power is cut")),
            false => Ok(state),
        }
    }

    /// Whether a call that changes something may go on; a torn one gets as far as it gets.
    fn change(&self, change: Option<DiskChange>) -> io::Result<()> {
        let mut state = self.state()?;
        state.calls += 1;
        if let Some((at, DiskFault::Forgets)) = state.fault
            && state.calls >= at
        {
            state.fault = None;
            state.files.entry(self.file.clone()).or_default().is_untold = true;
            state.forget(&self.file);
        }
        if change.is_none() && std::mem::take(&mut state.files.entry(self.file.clone()).or_default().is_untold) {
            state.forget(&self.file);
            state.told += 1;
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        let due = state.fault.filter(|(at, fault)| match fault {
            DiskFault::Full | DiskFault::ReadOnly => state.calls >= *at,
            DiskFault::Once | DiskFault::Torn => state.calls == *at,
            DiskFault::Forgets => false,
        });
        let file = state.files.entry(self.file.clone()).or_default();
        match due.map(|(_, fault)| fault) {
            None | Some(DiskFault::Forgets) => {}
            Some(DiskFault::Once) => return Err(io::Error::from_raw_os_error(libc::EIO)),
            // Syncing takes no room, nor does what was filled with zeros; any other write does, on a file with holes.
            Some(DiskFault::Full)
                if change.is_none() || change.as_ref().is_some_and(|change| self.is_filled(file, change)) => {}
            Some(DiskFault::Full) => return Err(ErrorKind::StorageFull.into()),
            Some(DiskFault::ReadOnly) => return Err(ErrorKind::ReadOnlyFilesystem.into()),
            Some(DiskFault::Torn) => {
                if let Some(DiskChange::Write(offset, data)) = &change {
                    let half = DiskChange::Write(*offset, data[..data.len() / 2].to_vec());
                    file.unsynced.push(half);
                }
                state.is_off = true;
                return Err(io::Error::other("the power is cut"));
            }
        }
        match change {
            Some(change) => {
                change.apply(&mut file.seen);
                file.unsynced.push(change);
            }
            None => {
                for change in std::mem::take(&mut file.unsynced) {
                    change.apply(&mut file.synced);
                }
            }
        }
        Ok(())
    }

    /// Whether a write goes where zeros were written: files beside the database are made so.
    fn is_filled(&self, file: &SimulatedFile, change: &DiskChange) -> bool {
        let end = |offset: usize, data: &[u8]| offset + data.len();
        self.file != DATABASE
            && matches!(change, DiskChange::Write(offset, data) if end(*offset, data) <= file.seen.len())
    }
}

impl Disk for ProcessDisk {
    fn make(&self, path: &Path, bytes: u64) -> io::Result<Arc<dyn DiskFile>> {
        let file = self.disk.present(&name_of(path));
        if self.state()?.files.contains_key(&file.file) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let made = file.change(Some(DiskChange::Length(bytes as usize))).and_then(|()| file.change(None));
        let mut state = self.state()?;
        match made {
            Ok(()) => state.files.entry(file.file.clone()).or_default().is_named = true,
            Err(error) => {
                state.files.remove(&file.file);
                return Err(error);
            }
        }
        drop(state);
        Ok(Arc::new(file))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let file = self.disk.present(&name_of(path));
        match self.state()?.files.contains_key(&file.file) {
            true => Ok(Arc::new(file)),
            false => Err(ErrorKind::NotFound.into()),
        }
    }

    fn read(&self, path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        let seen = |file: &SimulatedFile| file.seen[..file.seen.len().min(bytes_max as usize)].to_vec();
        Ok(self.state()?.files.get(&name_of(path)).map(seen))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.state()?.files.remove(&name_of(path));
        Ok(())
    }
}

fn name_of(path: &Path) -> FileName {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl DiskFile for ProcessDisk {
    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.change(Some(DiskChange::Write(at as usize, bytes.to_vec())))
    }

    fn sync(&self) -> io::Result<()> {
        self.change(None)
    }

    fn is_at(&self, path: &Path, bytes: u64) -> bool {
        self.disk.state().files.get(&name_of(path)).is_some_and(|file| file.seen.len() as u64 >= bytes)
    }
}

impl StorageBackend for ProcessDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state()?.files.get(&self.file).map_or(0, |file| file.seen.len()) as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state()?;
        let offset = offset as usize;
        let bytes = state.files.get(&self.file).and_then(|file| file.seen.get(offset..offset + out.len()));
        let bytes = bytes.ok_or(ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change(Some(DiskChange::Length(len as usize)))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.change(None)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(Some(DiskChange::Write(offset as usize, data.to_vec())))
    }

    fn try_lock_range(&self, _start: Bound<u64>, _end: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }

    fn unlock_range(&self, _start: Bound<u64>, _end: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }
}
