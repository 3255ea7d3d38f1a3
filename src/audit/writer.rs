//! Where the next event goes, what is not durable yet, and how it becomes so.

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::disk::{TrailFileName, mark};
use super::head::{ChainHead, Hash, Number};
use super::header::{HEADER_BYTES, Header};
use super::index::Indexes;
use super::source::FollowState;
use super::{AuditEvent, encoding};
use crate::audit::limits::AUDIT_WRITE_BYTES_MAX;
use crate::config::limits::AUDIT_PENDING_BYTES_MAX;
use base::held_folder::HeldFolder;
use base::log::event;
use base::regular_file;
use certificate::Seq;
use journal::disk::{Disk, DiskFile, sync_folder};
use journal::record;

/// Why an event cannot be written. No personal data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrailWriteError(pub String);

impl fmt::Display for TrailWriteError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for TrailWriteError {}

/// Tells the time in milliseconds since 1970 UTC.
pub type AuditClock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// Tells the time, in milliseconds since 1970 UTC, before which events may be removed; nothing while none may. Asked before each removal,
/// so that a clock that is not believed removes nothing. Decision 209.
pub type RetentionLimit = Arc<dyn Fn() -> Option<i64> + Send + Sync>;

/// How a trail is opened.
#[derive(Clone)]
pub struct TrailOptions {
    /// The data folder; the trail lies in `audit` below it.
    pub folder: PathBuf,
    /// Bytes of a file.
    pub file_bytes: u64,
    /// When retention removes files.
    pub keep_from: RetentionLimit,
    pub clock: AuditClock,
}

/// What the log and its threads share.
pub(super) struct TrailShared {
    pub options: TrailOptions,
    /// `audit` in the data folder.
    pub folder: PathBuf,
    /// The same, held open: another one may lie at its path later.
    pub held: Option<HeldFolder>,
    pub disk: Arc<dyn Disk>,
    pub writer: Mutex<TrailWriter>,
    /// Something was written, something fails, or the log is closed: whoever makes durable looks.
    pub written: Condvar,
    /// The next file was taken, or the log is closed: whoever makes files looks.
    pub taken: Condvar,
    /// Held while something is made durable.
    pub syncing: Mutex<()>,
    pub indexes: Indexes,
    pub following: FollowState,
}

/// Where the next event goes, and what is not durable yet.
pub(super) struct TrailWriter {
    pub current: CurrentFile,
    /// The file after this one, made ahead.
    pub ready: Option<ReadyFile>,
    /// The highest number that a file was ever made with; none is used twice.
    pub newest_file: u64,
    pub head: ChainHead,
    pub last_change: Seq,
    pub durable: DurablePosition,
    /// The records behind `durable`, as they were written.
    pub pending: Vec<u8>,
    /// When the first of them was written.
    pub dirty_since: Option<Instant>,
    /// Files that were full before they were made durable.
    pub left: Vec<Arc<dyn DiskFile>>,
    /// What was written could not be made durable.
    pub sync_problem: Option<String>,
    pub write_problem: Option<String>,
    /// The file is not where it was made; nothing mends it but a restart, which begins another one.
    pub gone: Option<String>,
    /// The next file cannot be made.
    pub room_problem: Option<String>,
    /// And this one is full.
    pub is_full: bool,
    /// What the last check found.
    pub damage: Option<String>,
    /// A head of earlier that the store has; the trail has to have it.
    pub expected: Option<ChainHead>,
    /// The event that the first file goes on from, where a retention was found to tell that those before it were removed.
    pub removed: Option<ChainHead>,
    pub closing: bool,
}

pub(super) struct CurrentFile {
    pub file: u64,
    pub target: Arc<dyn DiskFile>,
    pub bytes: u64,
    pub position: u64,
    /// A write that failed may have left something up to here.
    pub soiled_to: u64,
}

pub(super) struct ReadyFile {
    pub file: u64,
    pub target: Arc<dyn DiskFile>,
    pub bytes: u64,
}

/// How far the trail is known to be durable.
#[derive(Clone, Copy)]
pub(super) struct DurablePosition {
    pub head: ChainHead,
    pub file: u64,
    pub position: u64,
    pub last_change: Seq,
}

impl TrailShared {
    /// A panic elsewhere leaves the trail as it was: what is held under the lock is changed after what can fail.
    pub(super) fn writer(&self) -> MutexGuard<'_, TrailWriter> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn syncing(&self) -> MutexGuard<'_, ()> {
        self.syncing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A search met something that is not as it was written; the health tells so until a check finds the trail whole.
    pub(super) fn doubt(&self, problem: &str) {
        let mut writer = self.writer();
        if writer.damage.is_none() {
            event!(AUDIT_DAMAGED, problem);
            writer.damage = Some(format!("the trail is damaged: {problem}"));
        }
    }

    pub(super) fn append_all(&self, events: &[AuditEvent]) -> Result<Number, TrailWriteError> {
        let mut records = Vec::with_capacity(events.len() * 384);
        events.iter().for_each(|event| record::open(&mut records, |out| encoding::write(out, event)));
        let told = |before| events.iter().fold(before, |last, event| event.last_change(last));
        if records.len() > AUDIT_WRITE_BYTES_MAX {
            return Err(TrailWriteError(format!("events of {} bytes are too many at once", records.len())));
        }
        let mut writer = self.writer();
        let file = writer.current.file;
        let written = writer.write(&mut records, &told);
        if writer.current.file != file {
            self.taken.notify_all();
        }
        if written.is_ok() && writer.dirty_since.is_none() {
            writer.dirty_since = Some(Instant::now());
            self.written.notify_all();
        }
        if writer.write_fails() {
            // Whoever mends may have gone to sleep for an hour, and nobody may write before it is mended.
            self.written.notify_all();
        }
        written.map_err(TrailWriteError)
    }

    /// Whether the folder is still the one that was opened, for whoever makes, seals or removes files in it.
    ///
    /// # Errors
    /// It is another one, of which nothing is this trail's.
    pub(super) fn expect_folder(&self) -> io::Result<()> {
        match self.held.as_ref().is_none_or(|held| held.is_at(&self.folder)) {
            true => Ok(()),
            false => Err(io::Error::other("audit/ was moved away, and another folder, or none, lies in its place")),
        }
    }

    /// As [`AuditTrail::sync_now`]. Waiting for each other, callers find their events durable already.
    pub(super) fn sync_now(&self) -> Result<(), TrailWriteError> {
        let asked = self.writer().head.number;
        let _turn = self.syncing();
        let started = Instant::now();
        let (reached, left, targets, bytes) = {
            let writer = self.writer();
            if let Some(problem) = &writer.sync_problem {
                return Err(TrailWriteError(problem.clone()));
            }
            if writer.durable.head.number >= asked {
                return Ok(());
            }
            let current = &writer.current;
            let reached = DurablePosition {
                head: writer.head,
                file: current.file,
                position: current.position,
                last_change: writer.last_change,
            };
            let mut targets = writer.left.clone();
            targets.push(current.target.clone());
            (reached, writer.left.len(), targets, writer.pending.len())
        };
        let synced = targets.iter().try_for_each(|target| target.sync());
        let mut writer = self.writer();
        match synced {
            Ok(()) => {
                writer.durable = reached;
                writer.pending.drain(..bytes);
                writer.left.drain(..left);
                writer.dirty_since = (!writer.pending.is_empty()).then_some(started);
                Ok(())
            }
            Err(error) => {
                let problem = format!("what was written could not be made durable: {error}");
                event!(AUDIT_FAILING, problem);
                writer.sync_problem = Some(problem.clone());
                let marked = self.expect_folder().and_then(|()| regular_file::make_empty(&mark(&self.folder)));
                if let Err(error) = marked {
                    event!(AUDIT_UNMARKED, %error);
                }
                self.written.notify_all();
                Err(TrailWriteError(problem))
            }
        }
    }

    /// After a failed sync: what is not known to be durable goes into a new file, since the kernel may have let go of it, and another
    /// sync of the same file would not tell.
    ///
    /// # Errors
    /// The new file fails too; the trail stays as it was.
    pub(super) fn recover(&self) -> Result<(), String> {
        self.expect_folder().map_err(|error| error.to_string())?;
        let _turn = self.syncing();
        // Nothing is appended while the trail fails, so that nothing moves in between.
        let (durable, pending, file, ready) = {
            let mut writer = self.writer();
            if writer.sync_problem.is_none() {
                return Ok(());
            }
            writer.newest_file += 1;
            (writer.durable, writer.pending.clone(), writer.newest_file, writer.ready.take())
        };
        // One made before would come after its follower.
        if let Some(ready) = ready {
            self.remove(ready.file);
        }
        let header = Header {
            file,
            before: (durable.head.number, durable.head.hash),
            continues: (durable.file, durable.position),
            last_change: durable.last_change,
            after_failure: true,
        };
        let mut content = header.write().to_vec();
        content.extend_from_slice(&pending);
        let bytes = self.options.file_bytes.max(content.len() as u64);
        let path = TrailFileName::Plain(file).within(&self.folder);
        let made = self.disk.make(&path, bytes).and_then(|target| {
            target.write_all_at(&content, 0)?;
            target.sync()?;
            sync_folder(&path)?;
            Ok(target)
        });
        let mut writer = self.writer();
        let target = match made {
            Ok(target) => target,
            Err(error) => {
                drop(writer);
                self.remove(file);
                return Err(error.to_string());
            }
        };
        let position = content.len() as u64;
        writer.current = CurrentFile { file, target, bytes, position, soiled_to: position };
        writer.durable = DurablePosition { head: writer.head, file, position, last_change: writer.last_change };
        writer.pending.clear();
        writer.left.clear();
        writer.dirty_since = None;
        writer.sync_problem = None;
        writer.write_problem = None;
        // One that stays costs the next start some writing.
        drop(fs::remove_file(mark(&self.folder)));
        self.taken.notify_all();
        Ok(())
    }

    /// Asks whether the file that is written to still lies where it was made, with all its bytes. Written to another place, or to none, or
    /// behind events that were cut off, events would be lost.
    pub(super) fn look_for_file(&self) {
        let (file, target, bytes) = {
            let writer = self.writer();
            if writer.gone.is_some() {
                return;
            }
            (writer.current.file, writer.current.target.clone(), writer.current.bytes)
        };
        let name = TrailFileName::Plain(file);
        if target.is_at(&name.within(&self.folder), bytes) {
            return;
        }
        let mut writer = self.writer();
        // One that is full may be sealed meanwhile.
        if writer.current.file == file {
            let problem = format!(
                "audit/{name} was removed, moved, replaced or cut, or its disk was unmounted; put it back and start the server again"
            );
            event!(AUDIT_FAILING, problem);
            writer.gone = Some(problem);
        }
    }

    /// Removes a plain file that holds nothing. Where that fails, a later file tells that it does not count.
    pub(super) fn remove(&self, file: u64) {
        if self.expect_folder().is_ok() {
            drop(fs::remove_file(TrailFileName::Plain(file).within(&self.folder)));
        }
    }
}

impl TrailWriter {
    /// Bytes of events that are not written yet.
    pub(super) fn pending_bytes(&self) -> usize {
        self.pending.len()
    }

    /// Puts records behind the newest one. Nothing has changed when it fails.
    fn write(&mut self, records: &mut [u8], told: &dyn Fn(Seq) -> Seq) -> Result<Number, String> {
        if let Some(problem) = self.gone.as_ref().or(self.sync_problem.as_ref()) {
            return Err(problem.clone());
        }
        if self.pending.len() + records.len() > AUDIT_PENDING_BYTES_MAX {
            return Err("the disk falls behind".to_owned());
        }
        let (number, hash) = record::chain(records, (self.head.number, self.head.hash));
        let written = match self.current.position + records.len() as u64 <= self.current.bytes {
            true => self.current.write(records),
            false => return self.write_to_next(records).map(|()| self.wrote((number, hash), records, told)),
        };
        if let Err(error) = written {
            let problem = format!("writing failed: {error}");
            if self.write_problem.is_none() {
                event!(AUDIT_FAILING, problem);
            }
            self.write_problem = Some(problem.clone());
            return Err(problem);
        }
        self.write_problem = None;
        Ok(self.wrote((number, hash), records, told))
    }

    fn wrote(&mut self, (number, hash): (Number, Hash), records: &[u8], told: &dyn Fn(Seq) -> Seq) -> Number {
        self.head = ChainHead { number, hash };
        self.last_change = told(self.last_change);
        self.pending.extend_from_slice(records);
        number
    }

    /// Tries whether a file that could not be written can be again.
    pub(super) fn mend(&mut self) {
        if self.write_problem.is_some() && self.current.clean().is_ok() {
            self.write_problem = None;
            event!(AUDIT_WRITTEN_AGAIN);
        }
    }

    /// Events cannot be written, and the next one will not mend it.
    pub(super) fn write_fails(&self) -> bool {
        self.write_problem.is_some()
    }

    /// Begins the next file with them.
    fn write_to_next(&mut self, records: &[u8]) -> Result<(), String> {
        let content_bytes = (HEADER_BYTES + records.len()) as u64;
        let Some(ready) = self.ready.as_ref() else {
            self.is_full = true;
            let problem = self.room_problem.as_deref().unwrap_or("the next file is being made");
            return Err(format!("the file is full: {problem}"));
        };
        if content_bytes > ready.bytes {
            return Err(format!("events of {} bytes do not fit into a file", records.len()));
        }
        let header = Header {
            file: ready.file,
            before: (self.head.number, self.head.hash),
            continues: (self.current.file, self.current.position),
            last_change: self.last_change,
            after_failure: false,
        };
        let mut content = header.write().to_vec();
        content.extend_from_slice(records);
        // Whatever becomes of the next file: it says how far this one counts.
        self.current.bytes = self.current.position;
        if let Err(error) = ready.target.write_all_at(&content, 0) {
            self.ready = None;
            self.is_full = true;
            self.room_problem = Some(format!("the next file cannot be written: {error}"));
            return Err(format!("writing failed: {error}"));
        }
        let ready = self.ready.take().expect("it was looked at above");
        let begun = CurrentFile {
            file: ready.file,
            target: ready.target,
            bytes: ready.bytes,
            position: content_bytes,
            soiled_to: content_bytes,
        };
        let full = std::mem::replace(&mut self.current, begun);
        self.left.push(full.target);
        Ok(())
    }

    /// The next file is there.
    pub(super) fn make_room(&mut self, ready: ReadyFile) {
        self.ready = Some(ready);
        self.room_problem = None;
        self.is_full = false;
    }

    pub(super) fn state(&self) -> TrailState {
        let room = self.room_problem.as_ref();
        let failing = self.gone.as_ref().or(self.sync_problem.as_ref()).or(self.write_problem.as_ref());
        match (failing, room) {
            (Some(problem), _) => TrailState::Failing(problem.clone()),
            (None, Some(problem)) if self.is_full => TrailState::Failing(problem.clone()),
            (None, Some(problem)) => TrailState::Degraded(problem.clone()),
            (None, None) => self.damage.clone().map_or(TrailState::Good, TrailState::Degraded),
        }
    }
}

impl CurrentFile {
    fn write(&mut self, records: &[u8]) -> io::Result<()> {
        let end = self.position + records.len() as u64;
        self.clean()?;
        if let Err(error) = self.target.write_all_at(records, self.position) {
            self.soiled_to = end;
            return Err(error);
        }
        (self.position, self.soiled_to) = (end, end);
        Ok(())
    }

    /// What a failed write left would look like a damaged record.
    fn clean(&mut self) -> io::Result<()> {
        if self.soiled_to > self.position {
            self.target.write_all_at(&vec![0; (self.soiled_to - self.position) as usize], self.position)?;
            self.soiled_to = self.position;
        }
        Ok(())
    }
}

/// How the trail is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrailState {
    Good,
    /// Events are written, but room runs out, or a check found damage.
    Degraded(String),
    /// Events are not written; requests have to be refused.
    Failing(String),
}
