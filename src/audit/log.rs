//! The trail while it is written: one positioned write for each event, and threads that make it durable and keep room ready.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::copy::FileOf;
use super::disk::{Disk, Machine, Name, Target, sync_folder};
use super::header::{HEADER_BYTES, Header};
use super::index::{self, Indexes, Subjects};
use super::opening;
use super::record::{self, Hash};
use super::search::Search;
use super::trail::Trail;
use super::{Action, Event, Order, Verified, Wanted, encoding, keeper};
use crate::audit::limits::AUDIT_WRITE_BYTES_MAX;
use crate::config::limits::AUDIT_PENDING_BYTES_MAX;
use base::log::event;
use base::threads;
use certificate::Seq;

/// Number of an event, from 1 without gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(pub u64);

/// The newest event: its number, and the hash that stands for everything up to it. Shown as `number:hash`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub number: Number,
    pub hash: Hash,
}

/// Why an event cannot be written. No personal data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing(pub String);

/// How the trail is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Good,
    /// Events are written, but room runs out, or a check found damage.
    Degraded(String),
    /// Events are not written; requests have to be refused.
    Failing(String),
}

/// The trail at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    pub state: State,
    /// The newest event.
    pub head: Number,
    /// The newest event that is known to be durable.
    pub durable: Number,
    /// How long the first event behind it has waited.
    pub waits: Duration,
}

/// Tells the time in milliseconds since 1970 UTC.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// Tells the time, in milliseconds since 1970 UTC, before which events may be removed; nothing while none may. Asked before each removal,
/// so that a clock that is not believed removes nothing. Decision 209.
pub type KeepFrom = Arc<dyn Fn() -> Option<i64> + Send + Sync>;

/// How a trail is opened.
#[derive(Clone)]
pub struct Options {
    /// The data folder; the trail lies in `audit` below it.
    pub folder: PathBuf,
    /// Bytes of a file.
    pub file_bytes: u64,
    /// When retention removes files.
    pub keep_from: KeepFrom,
    pub clock: Clock,
}

/// Times 10 ms that completing the trail waits for room.
const COMPLETE_TRIES: u32 = 1_000;

/// Where the trail of a data folder lies.
pub fn folder(data: &Path) -> PathBuf {
    data.join("audit")
}

/// The trail of a data folder. One process has it open at a time, which redb's lock of the folder sees to.
pub struct Log {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// What the log and its threads share.
pub(super) struct Shared {
    pub options: Options,
    /// `audit` in the data folder.
    pub folder: PathBuf,
    pub disk: Arc<dyn Disk>,
    pub writer: Mutex<Writer>,
    /// Something was written, something fails, or the log is closed: whoever makes durable looks.
    pub written: Condvar,
    /// The next file was taken, or the log is closed: whoever makes files looks.
    pub taken: Condvar,
    /// Held while something is made durable.
    syncing: Mutex<()>,
    pub indexes: Indexes,
}

/// Where the next event goes, and what is not durable yet.
pub(super) struct Writer {
    pub current: Current,
    /// The file after this one, made ahead.
    pub ready: Option<Ready>,
    /// The highest number that a file was ever made with; none is used twice.
    pub newest_file: u64,
    pub head: Head,
    pub last_change: Seq,
    pub durable: Durable,
    /// The records behind `durable`, as they were written.
    pending: Vec<u8>,
    /// When the first of them was written.
    pub dirty_since: Option<Instant>,
    /// Files that were full before they were made durable.
    left: Vec<Arc<dyn Target>>,
    /// What was written could not be made durable.
    pub sync_problem: Option<String>,
    write_problem: Option<String>,
    /// The file is not where it was made; nothing mends it but a restart, which begins another one.
    gone: Option<String>,
    /// The next file cannot be made.
    pub room_problem: Option<String>,
    /// And this one is full.
    is_full: bool,
    /// What the last check found.
    damage: Option<String>,
    /// A head of earlier that the store has; the trail has to have it.
    expected: Option<Head>,
    pub closing: bool,
}

pub(super) struct Current {
    pub file: u64,
    pub target: Arc<dyn Target>,
    pub bytes: u64,
    pub position: u64,
    /// A write that failed may have left something up to here.
    pub soiled_to: u64,
}

pub(super) struct Ready {
    pub file: u64,
    pub target: Arc<dyn Target>,
    pub bytes: u64,
}

/// How far the trail is known to be durable.
#[derive(Clone, Copy)]
pub(super) struct Durable {
    pub head: Head,
    pub file: u64,
    pub position: u64,
    pub last_change: Seq,
}

impl Log {
    /// Opens the trail, or begins one. Only its newest file is read: some milliseconds.
    ///
    /// # Errors
    /// Its files cannot be made or read, in words for the person at the terminal.
    pub fn open(options: Options) -> Result<Log, String> {
        Log::open_on(options, Arc::new(Machine))
    }

    pub(super) fn open_on(options: Options, disk: Arc<dyn Disk>) -> Result<Log, String> {
        let folder = folder(&options.folder);
        let opened = opening::open(&folder, options.file_bytes, &*disk)
            .map_err(|problem| format!("the audit trail in {}: {problem}", folder.display()))?;
        let opening::Opened { current, ready, head, last_change, repaired } = opened;
        let durable = Durable { head, file: current.file, position: current.position, last_change };
        let newest_file = ready.as_ref().map_or(current.file, |ready| ready.file.max(current.file));
        let writer = Writer {
            current,
            ready,
            newest_file,
            head,
            last_change,
            durable,
            pending: Vec::new(),
            dirty_since: None,
            left: Vec::new(),
            sync_problem: None,
            write_problem: None,
            gone: None,
            room_problem: None,
            is_full: false,
            damage: None,
            expected: None,
            closing: false,
        };
        let shared = Arc::new(Shared {
            options,
            folder,
            disk,
            writer: Mutex::new(writer),
            written: Condvar::new(),
            taken: Condvar::new(),
            syncing: Mutex::new(()),
            indexes: Indexes::default(),
        });
        let mut log = Log { shared, threads: Vec::new() };
        for repair in repaired {
            event!(AUDIT_REPAIRED, repair);
            let event = Event { note: Some(repair), ..Event::new(Action::AuditRepaired, (log.shared.options.clock)()) };
            log.append(&event).and_then(|_| log.sync_now()).map_err(|failing| failing.0)?;
        }
        for (name, run) in
            [("hcert-audit", keeper::keep_durable as fn(&Shared)), ("hcert-audit-files", keeper::keep_files)]
        {
            let shared = log.shared.clone();
            let spawned = thread::Builder::new().name(name.into()).spawn(move || run(&shared));
            log.threads.push(spawned.map_err(|error| threads::refused(&error))?);
        }
        Ok(log)
    }

    /// Writes one event; its number comes back. It is durable within 100 ms.
    ///
    /// # Errors
    /// The trail cannot take it: what the event is about must not happen.
    pub fn append(&self, event: &Event) -> Result<Number, Failing> {
        self.append_all(std::slice::from_ref(event))
    }

    /// Writes some events at once, all or none; the number of the last comes back.
    ///
    /// # Errors
    /// As [`append`](Log::append).
    pub fn append_all(&self, events: &[Event]) -> Result<Number, Failing> {
        self.shared.append_all(events)
    }

    /// Returns when everything written by now is durable.
    ///
    /// # Errors
    /// It is not, or nobody knows.
    pub fn sync_now(&self) -> Result<(), Failing> {
        self.shared.sync_now()
    }

    /// The highest change that an event stands for.
    pub fn last_change(&self) -> Option<Seq> {
        Some(self.shared.writer().last_change).filter(|seq| seq.0 > 0)
    }

    /// Writes the events of changes that a crash kept out of the trail, marks them as rebuilt, and makes them durable. Their number
    /// comes back.
    ///
    /// # Errors
    /// As [`append`](Log::append).
    pub fn complete(&self, changes: impl Iterator<Item = Event>) -> Result<u64, Failing> {
        let mut count = 0;
        for event in changes {
            let event = Event { rebuilt: true, ..event };
            // A crash leaves a few; for a trail that was lost, all changes come faster than files are made for them.
            let mut tries = 0;
            while let Err(failing) = self.append(&event) {
                self.sync_now()?;
                tries += 1;
                if tries > COMPLETE_TRIES {
                    return Err(failing);
                }
                thread::sleep(Duration::from_millis(10));
            }
            count += 1;
        }
        if count > 0 {
            self.sync_now()?;
        }
        Ok(count)
    }

    pub fn head(&self) -> Head {
        self.shared.writer().head
    }

    pub fn state(&self) -> State {
        self.shared.writer().state()
    }

    /// The files of the trail up to its newest event, to be copied while it is written on.
    ///
    /// # Errors
    /// The newest events are not durable, or the folder cannot be read.
    pub fn files(&self) -> Result<Vec<FileOf>, String> {
        self.sync_now().map_err(|failing| failing.0)?;
        self.trail().map(FileOf::all).map_err(|error| error.to_string())
    }

    /// How the trail is. Waits for an event that is being written.
    pub fn health(&self) -> Health {
        let writer = self.shared.writer();
        Health {
            state: writer.state(),
            head: writer.head.number,
            durable: writer.durable.head.number,
            waits: writer.dirty_since.map_or(Duration::ZERO, |since| since.elapsed()),
        }
    }

    /// Compares the trail with a head of earlier that the store has. One that it lacks was cut off or replaced: the trail tells so itself, and
    /// the health does until an operator [accepts](Self::accept) it, and it comes back in words.
    ///
    /// # Errors
    /// The trail cannot be read or written.
    pub fn expect(&self, head: Head) -> Result<Option<String>, String> {
        self.shared.writer().expected = Some(head);
        if self.trail().and_then(|trail| trail.holds(head)).map_err(|error| error.to_string())? {
            return Ok(None);
        }
        let (number, newest) = (head.number.0, self.head().number.0);
        let problem = format!(
            "the trail lacks event {number}, which the store knows, and ends with event {newest}: it was cut, replaced or removed; put it \
             back while the service is stopped, or `hcert audit accept`"
        );
        event!(AUDIT_CUT, problem);
        let note = format!("event {number}, which the store knows, is not in the trail");
        let event = Event { note: Some(note), ..Event::new(Action::AuditRepaired, (self.shared.options.clock)()) };
        self.append(&event).and_then(|_| self.sync_now()).map_err(|failing| failing.0)?;
        self.shared.writer().damage = Some(problem.clone());
        Ok(Some(problem))
    }

    /// The trail is taken as it is from now on, whatever the store knows of an earlier one.
    pub fn accept(&self) {
        let mut writer = self.shared.writer();
        (writer.expected, writer.damage) = (None, None);
    }

    /// The newest durable event, for the store to know; nothing while the trail lacks what it should have, or a check found damage.
    pub fn head_to_keep(&self) -> Option<Head> {
        let writer = self.shared.writer();
        writer.damage.is_none().then_some(writer.durable.head).filter(|head| head.number.0 > 0)
    }

    /// Verifies the trail up to its newest event; the health tells what is wrong until a check finds it whole.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn verify(&self, known: Option<Head>) -> Result<Verified, String> {
        let trail = self.trail().map_err(|error| format!("the audit trail cannot be read: {error}"))?;
        let known: Vec<Head> = known.into_iter().chain(self.shared.writer().expected).collect();
        let verified = super::verify::verify_with(&trail, &known, self.shared.indexes.subjects())?;
        let damage = verified.problems.first().map(|problem| format!("a check found the trail damaged: {problem}"));
        if let Some(problem) = &damage {
            event!(AUDIT_DAMAGED, problem);
        }
        self.shared.writer().damage = damage;
        Ok(verified)
    }

    /// What is wrong with the trail, as far as it was met, in words.
    pub fn damage(&self) -> Option<String> {
        self.shared.writer().damage.clone()
    }

    /// What somebody else found wrong with it.
    pub fn doubt(&self, problem: &str) {
        self.shared.doubt(problem);
    }

    /// A search of the trail up to its newest event.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn search<'s>(&'s self, wanted: &'s Wanted, order: Order) -> io::Result<Search<'s>> {
        let trail = self.trail()?;
        if let Some(problem) = trail.gap() {
            self.shared.doubt(&problem);
        }
        Ok(Search { shared: &self.shared, trail, wanted, order })
    }

    /// Keeps an index of each file from now on, on a thread of its own, so that searches need not read all events.
    ///
    /// # Errors
    /// There is no thread for it.
    pub fn index(&mut self, subjects: Subjects) -> Result<(), String> {
        if self.shared.indexes.begin(subjects) {
            let shared = self.shared.clone();
            let spawned = thread::Builder::new().name("hcert-audit-index".into()).spawn(move || index::keep(&shared));
            self.threads.push(spawned.map_err(|error| threads::refused(&error))?);
        }
        Ok(())
    }

    /// The trail up to its newest event, to be read while it is written on.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn trail(&self) -> io::Result<Trail> {
        // Files are not replaced while this is held.
        let _still = self.shared.syncing();
        let bound = {
            let writer = self.shared.writer();
            (writer.current.file, writer.current.position)
        };
        Trail::up_to(&self.shared.folder, bound)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.shared.writer().closing = true;
        self.shared.written.notify_all();
        self.shared.taken.notify_all();
        // One of the threads may be the last that holds the engine, and with it the trail.
        let is_other = |thread: &JoinHandle<()>| thread.thread().id() != thread::current().id();
        for thread in self.threads.drain(..).filter(is_other) {
            if thread.join().is_err() {
                event!(THREAD_OF_AUDIT);
            }
        }
        if let Err(Failing(problem)) = self.shared.sync_now() {
            event!(AUDIT_LEFT_OPEN, problem);
        }
    }
}

impl Shared {
    /// A panic elsewhere leaves the trail as it was: what is held under the lock is changed after what can fail.
    pub(super) fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn syncing(&self) -> MutexGuard<'_, ()> {
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

    pub(super) fn append_all(&self, events: &[Event]) -> Result<Number, Failing> {
        let mut records = Vec::with_capacity(events.len() * 384);
        events.iter().for_each(|event| record::open(&mut records, |out| encoding::write(out, event)));
        let told = |before| events.iter().fold(before, |last, event| event.last_change(last));
        if records.len() > AUDIT_WRITE_BYTES_MAX {
            return Err(Failing(format!("events of {} bytes are too many at once", records.len())));
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
        written.map_err(Failing)
    }

    /// As [`Log::sync_now`]. Waiting for each other, callers find their events durable already.
    pub(super) fn sync_now(&self) -> Result<(), Failing> {
        let asked = self.writer().head.number;
        let _turn = self.syncing();
        let started = Instant::now();
        let (reached, left, targets, bytes) = {
            let writer = self.writer();
            if let Some(problem) = &writer.sync_problem {
                return Err(Failing(problem.clone()));
            }
            if writer.durable.head.number >= asked {
                return Ok(());
            }
            let current = &writer.current;
            let reached = Durable {
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
                if let Err(error) = File::create(opening::mark(&self.folder)) {
                    event!(AUDIT_UNMARKED, %error);
                }
                self.written.notify_all();
                Err(Failing(problem))
            }
        }
    }

    /// After a failed sync: what is not known to be durable goes into a new file, since the kernel may have let go of it, and another
    /// sync of the same file would not tell.
    ///
    /// # Errors
    /// The new file fails too; the trail stays as it was.
    pub(super) fn recover(&self) -> Result<(), String> {
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
        let path = Name::Plain(file).within(&self.folder);
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
        writer.current = Current { file, target, bytes, position, soiled_to: position };
        writer.durable = Durable { head: writer.head, file, position, last_change: writer.last_change };
        writer.pending.clear();
        writer.left.clear();
        writer.dirty_since = None;
        writer.sync_problem = None;
        writer.write_problem = None;
        // One that stays costs the next start some writing.
        drop(fs::remove_file(opening::mark(&self.folder)));
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
        let name = Name::Plain(file);
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
        drop(fs::remove_file(Name::Plain(file).within(&self.folder)));
    }
}

impl Writer {
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
        self.head = Head { number, hash };
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
        let begun = Current {
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
    pub(super) fn make_room(&mut self, ready: Ready) {
        self.ready = Some(ready);
        self.room_problem = None;
        self.is_full = false;
    }

    fn state(&self) -> State {
        let room = self.room_problem.as_ref();
        let failing = self.gone.as_ref().or(self.sync_problem.as_ref()).or(self.write_problem.as_ref());
        match (failing, room) {
            (Some(problem), _) => State::Failing(problem.clone()),
            (None, Some(problem)) if self.is_full => State::Failing(problem.clone()),
            (None, Some(problem)) => State::Degraded(problem.clone()),
            (None, None) => self.damage.clone().map_or(State::Good, State::Degraded),
        }
    }
}

impl Current {
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

impl fmt::Display for Failing {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Failing {}

impl fmt::Display for Head {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}:", self.number.0)?;
        self.hash.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl Head {
    /// As it is shown.
    pub fn parse(text: &str) -> Option<Head> {
        let (number, hex) = text.split_once(':')?;
        let is_hex = hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = number.parse().ok().filter(|_| is_hex)?;
        let mut hash = [0; 32];
        for (byte, digits) in hash.iter_mut().zip(hex.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        }
        Some(Head { number: Number(number), hash })
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "Log({})", self.shared.folder.display())
    }
}
