//! The trail while it is written: one positioned write for each event, and threads that make it durable and keep room ready.

use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::copy::CopiedTrailFile;
use super::disk::folder;
use super::head::{ChainHead, Number};
use super::index::{self, Indexes, Subjects};
use super::opening;
use super::timeline::StoreTimeline;
use super::verify::StoreBeside;
use journal::disk::{Disk, SystemDisk};

use super::search::EventSearch;
use super::source::FollowState;
use super::trail::TrailFiles;
use super::writer::{DurablePosition, TrailOptions, TrailShared, TrailState, TrailWriteError, TrailWriter};
use super::{AuditAction, AuditEvent, EventFilter, EventOrder, TrailVerifyReport, head, keeper};
use crate::config::limits::AUDIT_PENDING_BYTES_MAX;
use base::held_folder::HeldFolder;
use base::log::event;
use base::threads;
use certificate::Seq;
use engine::EntryHash;

/// The trail at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrailHealth {
    pub state: TrailState,
    /// The newest event.
    pub head: Number,
    /// The newest event that is known to be durable.
    pub durable: Number,
    /// How long the first event behind it has waited.
    pub waits: Duration,
}

/// The trail of a data folder. One process has it open at a time, which redb's lock of the folder sees to.
pub struct AuditTrail {
    pub(super) shared: Arc<TrailShared>,
    threads: Vec<JoinHandle<()>>,
}

impl AuditTrail {
    /// Opens the trail, or begins one. Only its newest file is read: some milliseconds.
    ///
    /// # Errors
    /// Its files cannot be made or read, in words for the person at the terminal.
    pub fn open(options: TrailOptions) -> Result<AuditTrail, String> {
        AuditTrail::open_on(options, Arc::new(SystemDisk))
    }

    pub(super) fn open_on(options: TrailOptions, disk: Arc<dyn Disk>) -> Result<AuditTrail, String> {
        let folder = folder(&options.folder);
        let opened = opening::open(&folder, options.file_bytes, &*disk)
            .map_err(|problem| format!("the audit trail in {}: {problem}", folder.display()))?;
        let held = HeldFolder::open(&folder).ok();
        let opening::OpenedTrail { current, ready, head, last_change, repaired } = opened;
        let durable = DurablePosition { head, file: current.file, position: current.position, last_change };
        let newest_file = ready.as_ref().map_or(current.file, |ready| ready.file.max(current.file));
        let writer = TrailWriter {
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
            removed: None,
            closing: false,
        };
        let shared = Arc::new(TrailShared {
            options,
            folder,
            held,
            disk,
            writer: Mutex::new(writer),
            written: Condvar::new(),
            taken: Condvar::new(),
            syncing: Mutex::new(()),
            indexes: Indexes::default(),
            following: FollowState::default(),
        });
        let mut log = AuditTrail { shared, threads: Vec::new() };
        for opening::TrailRepair { note, is_damage } in repaired {
            let repair = &note;
            event!(AUDIT_REPAIRED, repair);
            if is_damage {
                log.shared.doubt(&note);
            }
            let event = AuditEvent {
                note: Some(note),
                ..AuditEvent::new(AuditAction::AuditRepaired, (log.shared.options.clock)())
            };
            log.append(&event).and_then(|_| log.sync_now()).map_err(|failing| failing.0)?;
        }
        for (name, run) in
            [("hcert-audit", keeper::keep_durable as fn(&TrailShared)), ("hcert-audit-files", keeper::keep_files)]
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
    pub fn append(&self, event: &AuditEvent) -> Result<Number, TrailWriteError> {
        self.append_all(std::slice::from_ref(event))
    }

    /// Writes some events at once, all or none, behind every change that was committed until now; the number of the last comes back.
    ///
    /// # Errors
    /// As [`append`](AuditTrail::append).
    pub fn append_all(&self, events: &[AuditEvent]) -> Result<Number, TrailWriteError> {
        self.shared.follow()?;
        self.shared.append_all(events)
    }

    /// Returns when everything written by now is durable.
    ///
    /// # Errors
    /// It is not, or nobody knows.
    pub fn sync_now(&self) -> Result<(), TrailWriteError> {
        self.shared.sync_now()
    }

    /// The highest change that an event stands for.
    pub fn last_change(&self) -> Option<Seq> {
        Some(self.shared.writer().last_change).filter(|seq| seq.0 > 0)
    }

    pub fn head(&self) -> ChainHead {
        self.shared.writer().head
    }

    pub fn state(&self) -> TrailState {
        self.shared.writer().state()
    }

    /// The files of the trail up to its newest event, to be copied while it is written on.
    ///
    /// # Errors
    /// The newest events are not durable, or the folder cannot be read.
    pub fn files(&self) -> Result<Vec<CopiedTrailFile>, String> {
        self.sync_now().map_err(|failing| failing.0)?;
        self.trail().map(CopiedTrailFile::all).map_err(|error| error.to_string())
    }

    /// How the trail is. Waits for an event that is being written.
    pub fn health(&self) -> TrailHealth {
        let writer = self.shared.writer();
        TrailHealth {
            state: writer.state(),
            head: writer.head.number,
            durable: writer.durable.head.number,
            waits: writer.dirty_since.map_or(Duration::ZERO, |since| since.elapsed()),
        }
    }

    /// Whether events for a quarter of the room for those that are not written yet wait.
    pub fn is_behind(&self) -> bool {
        self.shared.writer().pending_bytes() > AUDIT_PENDING_BYTES_MAX / 4
    }

    /// Compares the trail with a head of earlier that the store has. One that it lacks was cut off or replaced: the trail tells so itself, and
    /// the health does until an operator [accepts](Self::accept) it, and it comes back in words.
    ///
    /// # Errors
    /// The trail cannot be read or written.
    pub fn expect(&self, head: ChainHead) -> Result<Option<String>, String> {
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
        let event = AuditEvent {
            note: Some(note),
            ..AuditEvent::new(AuditAction::AuditRepaired, (self.shared.options.clock)())
        };
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
    pub fn head_to_keep(&self) -> Option<ChainHead> {
        let writer = self.shared.writer();
        writer.damage.is_none().then_some(writer.durable.head).filter(|head| head.number.0 > 0)
    }

    /// Verifies the trail up to its newest event; the health tells what is wrong until a check finds it whole.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn verify(
        &self,
        known: &[ChainHead],
        hashes: &dyn Fn(Seq) -> Option<EntryHash>,
    ) -> Result<TrailVerifyReport, String> {
        let trail = self.trail().map_err(|error| format!("the audit trail cannot be read: {error}"))?;
        let known: Vec<ChainHead> = known.iter().copied().chain(self.shared.writer().expected).collect();
        let beside = StoreBeside { subjects: self.shared.indexes.subjects(), hashes: Some(hashes) };
        let verified = super::verify::verify_with(&trail, &known, beside)?;
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

    /// Whether an event with a number was written and is not removed by retention, as the beginnings of the files tell it.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn should_hold(&self, number: Number) -> io::Result<bool> {
        let first = self.trail()?.removed_up_to().map_or(Number(0), |removed| removed.number);
        Ok(number > first && number <= self.head().number)
    }

    /// What somebody else found wrong with it.
    pub fn doubt(&self, problem: &str) {
        self.shared.doubt(problem);
    }

    /// A search of the trail up to its newest event.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn search<'s>(&'s self, wanted: &'s EventFilter, order: EventOrder) -> io::Result<EventSearch<'s>> {
        let trail = expect_files(&self.shared, self.trail()?)?;
        Ok(EventSearch { shared: &self.shared, trail, wanted, order })
    }

    /// Keeps an index of each file from now on, on a thread of its own, so that searches need not read all events.
    ///
    /// # Errors
    /// There is no thread for it.
    pub fn index(&mut self, subjects: Subjects) -> Result<(), String> {
        if self.shared.indexes.begin(subjects) {
            let shared = self.shared.clone();
            let keep = move || {
                look_through(&shared);
                index::keep(&shared);
            };
            let spawned = thread::Builder::new().name("hcert-audit-index".into()).spawn(keep);
            self.threads.push(spawned.map_err(|error| threads::refused(&error))?);
        }
        Ok(())
    }

    /// The trail up to its newest event, to be read while it is written on.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn trail(&self) -> io::Result<TrailFiles> {
        written(&self.shared)
    }
}

/// The files of a trail, the newest up to what was written: behind it lies what is being written just now.
fn written(shared: &TrailShared) -> io::Result<TrailFiles> {
    shared.expect_folder()?;
    // Files are not replaced while this is held.
    let _still = shared.syncing();
    let bound = {
        let writer = shared.writer();
        (writer.current.file, writer.current.position)
    };
    TrailFiles::up_to(&shared.folder, bound)
}

/// Looks at each start for what an earlier one may have told: files that are missing, until they are back, and a store that was set back,
/// until somebody has accepted it.
fn look_through(shared: &TrailShared) {
    // The next search reports what cannot be read.
    let Ok(trail) = written(shared).and_then(|trail| expect_files(shared, trail)) else { return };
    let wanted = EventFilter { actions: vec![StoreTimeline::ACTIONS.to_vec()], ..EventFilter::default() };
    let search = EventSearch { shared, trail, wanted: &wanted, order: EventOrder::OldestFirst };
    let mut timeline = StoreTimeline::default();
    let looked = search.each(&mut |_, _| None, |number, event| {
        timeline.event(number, event);
        Ok(())
    });
    if let (Ok(()), Some(problem)) = (looked, timeline.problem()) {
        shared.doubt(&problem);
    }
}

/// Tells what is missing between the files of a trail, or before the first: it begins with its first event, or behind one that a retention
/// tells to have removed, which is looked for once.
fn expect_files(shared: &TrailShared, trail: TrailFiles) -> io::Result<TrailFiles> {
    if let Some(problem) = trail.gap() {
        shared.doubt(&problem);
    }
    let Some(before) = trail.removed_up_to().filter(|before| shared.writer().removed != Some(*before)) else {
        return Ok(trail);
    };
    let told = head::removed((before.number, before.hash));
    let mut is_told = false;
    let wanted = EventFilter { actions: vec![vec![AuditAction::AuditRetention]], ..EventFilter::default() };
    let search = EventSearch { shared, trail, wanted: &wanted, order: EventOrder::NewestFirst };
    let each = |_, event: AuditEvent| {
        is_told |= event.note.is_some_and(|note: String| note.contains(&told));
        Ok(())
    };
    search.each(&mut |_, _| None, each).map_err(io::Error::other)?;
    match is_told {
        true => shared.writer().removed = Some(before),
        false => {
            shared.doubt(&format!("the trail begins behind number {}, and no retention removed it", before.number.0));
        }
    }
    Ok(search.trail)
}

impl Drop for AuditTrail {
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
        if let Err(TrailWriteError(problem)) = self.shared.follow_all().and_then(|()| self.shared.sync_now()) {
            event!(AUDIT_LEFT_OPEN, problem);
        }
    }
}

impl fmt::Debug for AuditTrail {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "AuditTrail({})", self.shared.folder.display())
    }
}
