//! The one writer: takes everything that waits, judges each request inside one transaction, stamps it, commits once, answers all.

mod consent;
mod import;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::classes::{self, Classes};
use super::counters;
use super::overlay::{NewEntry, Numbered};
use super::standing::lay;
use super::store::record::{Draft, Record};
use super::store::{Batch, Change, Commit, Error, Position, What};
use super::witnessed::patient_of;
use super::{Import, Imported, Refused, Shared, Write, Written};
use crate::certificate::{Id, Seq, Stamp, State, Version};
use crate::engine::decide::{Decision, judge};
use crate::engine::{Action, Committed, ListChange, PatientWrite, PatientWritten, Standing, Who};
use crate::limits::{BATCH_BYTES_MAX, BATCH_JOBS_MAX, CLASSES_MAX, OVERLAY_ROWS_MAX};
use crate::outcome::{Hcert, Issue, Outcome};
use crate::search::filter::Filter;
use crate::search::row::Row;
use crate::search::term::{Field, Form, Term};
use consent::Said;

type Answer<T> = oneshot::Sender<Result<T, Refused>>;

/// A write with its compressed body.
pub struct Prepared {
    pub write: Write,
    /// Of a change of consent only the fields count.
    pub draft: Draft,
    pub answer: Answer<Written>,
}

/// What waits for the writer.
pub enum Job {
    Write(Box<Prepared>),
    Import {
        versions: Vec<(Draft, Import)>,
        answer: Answer<Vec<Imported>>,
    },
    Lists {
        changes: Vec<ListChange>,
        answer: Answer<()>,
    },
    Patients {
        writes: Vec<PatientWrite>,
        /// For a place in the queue, instead of being refused.
        waits: bool,
        answer: Answer<Vec<PatientWritten>>,
    },
}

impl Job {
    fn bytes(&self) -> usize {
        match self {
            Job::Write(prepared) => prepared.draft.bytes(),
            Job::Import { versions, .. } => versions.iter().map(|(draft, _)| draft.bytes()).sum(),
            Job::Lists { changes, .. } => changes.iter().map(ListChange::bytes).sum(),
            Job::Patients { writes, .. } => writes.iter().map(PatientWrite::bytes).sum(),
        }
    }

    /// An operator's command waits its turn; a caller of the service is told to come again.
    pub fn may_be_refused(&self) -> bool {
        matches!(self, Job::Write(_) | Job::Patients { waits: false, .. })
    }

    pub fn refuse(self, refused: Refused) {
        // A caller who went away needs no answer.
        match self {
            Job::Write(prepared) => drop(prepared.answer.send(Err(refused))),
            Job::Import { answer, .. } => drop(answer.send(Err(refused))),
            Job::Lists { answer, .. } => drop(answer.send(Err(refused))),
            Job::Patients { answer, .. } => drop(answer.send(Err(refused))),
        }
    }
}

/// Starts the writer's thread. It ends when the queue does.
pub fn start(mut writer: Writer, queue: Receiver<Job>) -> Result<JoinHandle<()>, Error> {
    let thread = thread::Builder::new().name("hcert-writer".into());
    thread.spawn(move || writer.run(&queue)).map_err(|error| Error::Io(format!("no thread for the writer: {error}")))
}

/// The writer in steps: its thread takes them one after another, a test may do something else in between.
pub struct Writer {
    shared: Arc<Shared>,
    position: Position,
    /// The last change that the witness was told of.
    told: Seq,
}

/// How often an idle writer looks whether the store has failed a reader.
const IDLE_TIME: Duration = Duration::from_secs(1);

/// A batch that is committed, and that nobody knows of yet.
pub struct Stored {
    pending: Pending,
    replies: Vec<Reply>,
}

/// A batch that is not stored, as far as is known.
pub struct Failed {
    error: Arc<Error>,
    replies: Vec<Reply>,
    /// Those that the batch did not come to.
    jobs: Vec<Job>,
}

impl Failed {
    /// Tells everyone.
    pub fn answer(self) {
        self.replies.into_iter().for_each(|reply| reply.fail(&self.error));
        self.jobs.into_iter().for_each(|job| job.refuse(Refused::Store(self.error.clone())));
    }
}

/// What a batch has done so far, in memory; it counts only after the commit.
struct Pending {
    position: Position,
    entries: Vec<NewEntry>,
    /// The newest version of every certificate the batch changed.
    newest: HashMap<Id, Newest>,
    /// For the witness, where there is one.
    told: Vec<Committed>,
    classes: Option<Classes>,
    /// The last stamp is not the latest one: an import brought older versions.
    latest_is_elsewhere: bool,
    lists_changed: bool,
    patients_changed: bool,
    /// Links of the patients that the batch changed.
    links: Vec<(Id, Vec<Id>)>,
}

/// The newest version of a certificate that the batch changed.
struct Newest {
    version: Version,
    state: State,
    /// Of a tombstone: what was deleted.
    row: Option<Arc<Numbered>>,
}

enum Reply {
    Write(Answer<Written>, Result<Written, Refused>),
    Import(Answer<Vec<Imported>>, Vec<Imported>),
    Lists(Answer<()>),
    Patients(Answer<Vec<PatientWritten>>, Vec<PatientWritten>),
}

impl Writer {
    pub fn new(shared: &Arc<Shared>, position: Position) -> Writer {
        Writer { shared: shared.clone(), position, told: position.seq }
    }

    fn run(&mut self, queue: &Receiver<Job>) {
        loop {
            let first = match queue.recv_timeout(IDLE_TIME) {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            // A reader may have met the failure; nothing else would open the store again.
            let first = if self.shared.store.has_failed() { self.reopen(queue, first) } else { first };
            let Some(first) = first else { continue };
            self.slow_down();
            let jobs = self.take(first, queue);
            self.shared.metrics.work.batch(jobs.len());
            // A panic is a fault of ours in the middle of a batch: what was stored is asked of the store, and the next batch goes on.
            if catch_unwind(AssertUnwindSafe(|| self.batch(jobs))).is_err() {
                self.give_up();
            }
            if self.shared.store.has_failed() {
                self.reopen(queue, None);
            }
        }
    }

    /// After a panic: nothing that the batch may have left half-way is seen again.
    pub fn give_up(&mut self) {
        tracing::error!("the writer panicked; its batch was given up");
        self.shared.store.distrust();
        self.shared.note_trouble("the writer panicked".into());
        {
            // The overlay may hold a part of the batch. In turn, or what the indexer makes of the view at this moment would bring it back.
            let _turn = self.shared.publishing();
            self.shared.set_view(None);
        }
        self.shared.bell.ring();
    }

    /// Lets the indexer catch up before the overlay reaches its bound: past its half a batch waits for each thousand rows more.
    fn slow_down(&self) {
        let rows = self.shared.overlay_rows.load(Ordering::Acquire);
        if rows > OVERLAY_ROWS_MAX / 2 {
            thread::sleep(Duration::from_millis(((rows - OVERLAY_ROWS_MAX / 2) / 1024) as u64));
        }
    }

    /// The first jobs of the queue that make a batch together.
    pub fn take(&self, first: Job, queue: &Receiver<Job>) -> Vec<Job> {
        let mut bytes = first.bytes();
        let mut jobs = vec![first];
        while jobs.len() < BATCH_JOBS_MAX && bytes < BATCH_BYTES_MAX {
            let Ok(job) = queue.try_recv() else { break };
            bytes += job.bytes();
            jobs.push(job);
        }
        self.shared.queued.fetch_sub(jobs.len(), Ordering::AcqRel);
        jobs
    }

    fn batch(&mut self, jobs: Vec<Job>) {
        match self.commit(jobs) {
            Ok(mut stored) => {
                self.publish(&mut stored);
                stored.answer();
            }
            Err(failed) => failed.answer(),
        }
    }

    /// Judges the jobs of a batch in their order and commits what they change.
    ///
    /// # Errors
    /// The store failed. Whether the batch is in it is known when it is open again.
    pub fn commit(&self, jobs: Vec<Job>) -> Result<Stored, Failed> {
        let mut pending = Pending {
            position: self.position,
            entries: Vec::new(),
            newest: HashMap::new(),
            told: Vec::new(),
            classes: None,
            latest_is_elsewhere: false,
            lists_changed: false,
            patients_changed: false,
            links: Vec::new(),
        };
        let mut replies = Vec::with_capacity(jobs.len());
        let mut jobs = jobs.into_iter();
        let mut decided = None;
        let outcome = self.shared.store.write(|batch| {
            // On a storage error the batch is given up; `replies` and `jobs` then hold everyone who waits.
            for job in jobs.by_ref() {
                self.job(batch, &mut pending, job, &mut replies)?;
            }
            let moved = counters::deltas(&pending.entries);
            if !moved.is_empty() {
                batch.count(moved)?;
            }
            if pending.latest_is_elsewhere {
                batch.remember_latest_stamp(pending.position.milliseconds)?;
            }
            let nothing = pending.entries.is_empty() && !pending.lists_changed && !pending.patients_changed;
            decided = (!nothing).then(Instant::now);
            Ok(((), if nothing { Commit::No } else { Commit::Yes }))
        });
        match outcome {
            Ok(()) => {
                if let Some(decided) = decided {
                    self.shared.metrics.work.committed(decided.elapsed());
                }
                Ok(Stored { pending, replies })
            }
            Err(error) => {
                tracing::error!(error = %error, "a batch was not stored");
                self.shared.metrics.work.commit_failed();
                if self.shared.store.has_failed() {
                    self.shared.note_trouble(error.to_string());
                }
                Err(Failed { error: Arc::new(error), replies, jobs: jobs.collect() })
            }
        }
    }

    /// Does one job. Whoever waits for it is in `replies` afterwards, also when the store failed.
    fn job(&self, batch: &mut Batch, pending: &mut Pending, job: Job, replies: &mut Vec<Reply>) -> Result<(), Error> {
        match job {
            Job::Write(prepared) => {
                let Prepared { write, draft, answer } = *prepared;
                let done = self.one(batch, pending, write, &draft);
                keep(replies, done, |result| Reply::Write(answer, result), Err(Refused::Closed))
            }
            Job::Import { versions, answer } => {
                let one = |(draft, import)| self.import_one(batch, pending, &draft, import);
                let done = versions.into_iter().map(one).collect();
                keep(replies, done, |imported| Reply::Import(answer, imported), Vec::new())
            }
            Job::Lists { changes, answer } => {
                let done = batch.change_lists(&changes);
                pending.lists_changed = true;
                keep(replies, done, |()| Reply::Lists(answer), ())
            }
            Job::Patients { writes, answer, .. } => {
                let done = batch.write_patients(&writes, || (self.shared.clock)()).map(|done| {
                    pending.patients_changed |= done.written.iter().any(|written| written.is_new());
                    pending.links.extend(done.links);
                    done.written
                });
                keep(replies, done, |written| Reply::Patients(answer, written), Vec::new())
            }
        }
    }

    /// Judges and stores one write. The outer error is a failure of the store, the inner result the caller's answer.
    fn one(
        &self,
        batch: &mut Batch,
        pending: &mut Pending,
        write: Write,
        draft: &Draft,
    ) -> Result<Result<Written, Refused>, Error> {
        let (id, current, old) = match &write {
            Write::Create { .. } => (pending.position.next_id, None, None),
            Write::Update { id, .. } | Write::Delete { id, .. } | Write::Consent { id, .. } => {
                let (current, old) = self.current(batch, pending, *id)?.unzip();
                (*id, current, old.flatten())
            }
        };
        let decision = match judge(&write, current.as_ref()) {
            Ok(decision) => decision,
            Err(refused) => return Ok(Err(refused)),
        };
        let state = match decision {
            Decision::Store(state) => state,
            Decision::Nothing => {
                let current = current.expect("only a stored certificate can be as it should be already");
                return Ok(Ok(self.unchanged(batch, id, current.version)?));
            }
            Decision::Consent(consent) => {
                let current = current.expect("only a stored certificate has a consent to change");
                let Write::Consent { who, .. } = write else { unreachable!("no other write changes consent") };
                let patient = self.patient(batch, id, current.version)?;
                let by = By { action: Action::Consent, who, patient };
                let said = Said { consent, fields: &draft.fields, by };
                let written = self.store_consent(batch, pending, id, (current, old), said)?;
                return Ok(Ok(written));
            }
        };
        if let Write::Create { if_none_exist: Some(term), rows, .. } = &write {
            match self.with_term(pending, term, rows.as_deref()) {
                Err(refused) => return Ok(Err(refused)),
                Ok(found) => match found.as_slice() {
                    [] => {}
                    [(id, version)] => {
                        return Ok(Ok(self.unchanged(batch, *id, *version)?));
                    }
                    _ => return Ok(Err(Outcome::from(Hcert::MultipleMatches).into())),
                },
            }
        }
        let (row, who, patient) = match write {
            Write::Create { content, .. } | Write::Update { content, .. } => {
                (Some(content.row), content.who, content.subject.map(|subject| subject.id))
            }
            Write::Delete { who, .. } | Write::Consent { who, .. } => {
                let deleted = current.as_ref().map(|current| self.patient(batch, id, current.version));
                (None, who, deleted.transpose()?.flatten())
            }
        };
        if let Some(row) = &row
            && self.shared.unique_number
            && let Err(refused) = self.check_number(pending, id, row)
        {
            return Ok(Err(refused));
        }
        if row.as_ref().is_some_and(|row| !self.has_room_for(pending, row)) {
            return Ok(Err(Outcome::from(classes_full()).into()));
        }
        let version = current.map_or(Version::FIRST, |current| current.version.next());
        let stamp = self.stamp(pending);
        let consent = old.as_ref().map(|old| old.row.class.consent).unwrap_or_default();
        let by = By { action: Action::of(version, state), who, patient };
        self.store(batch, pending, Step { id, version, stamp, state, row, old, by }, draft)?;
        Ok(Ok(Written { id, version, stamp, state, changed: true, consent }))
    }

    /// The time of the next change: later than that of every change before.
    fn stamp(&self, pending: &Pending) -> Stamp {
        Stamp::at((self.shared.clock)().max(pending.position.milliseconds.saturating_add(1)))
    }

    /// Inserts a version and moves the pending position on.
    fn store(&self, batch: &mut Batch, pending: &mut Pending, step: Step, draft: &Draft) -> Result<(), Error> {
        let Step { id, version, stamp, state, row, old, by } = step;
        let new = match row {
            Some(mut row) => {
                row.last_updated = stamp.milliseconds;
                // A new version leaves the consent as it is.
                lay(&mut row, old.as_ref().map(|old| old.row.class.consent).unwrap_or_default());
                Some(self.number(batch, pending, row)?)
            }
            None => None,
        };
        let seq = pending.position.seq.next();
        let running = pending.position.running + 1;
        let change = Change { seq, id, what: What::Version(version), milliseconds: stamp.milliseconds, running };
        batch.insert(change, draft, stamp);
        let position = &mut pending.position;
        let out_of_order = stamp.milliseconds < position.milliseconds;
        if out_of_order || position.unordered {
            batch.insert_time(change, !position.unordered)?;
            position.unordered = true;
        }
        pending.latest_is_elsewhere = out_of_order;
        position.seq = seq;
        position.running = running;
        position.milliseconds = position.milliseconds.max(stamp.milliseconds);
        position.next_id = position.next_id.max(id.next());
        pending.newest.insert(id, Newest { version, state, row: new.clone().or_else(|| old.clone()) });
        pending.entries.push(NewEntry { seq, id, version, new, old });
        if self.shared.witness.is_some() {
            let By { action, who, patient } = by;
            pending.told.push(Committed { seq, id, version, state, stamp, action, consent: None, who, patient });
        }
        Ok(())
    }

    /// The newest version of a certificate, earlier jobs of the batch included, and its row for the overlay.
    fn current(&self, batch: &mut Batch, pending: &Pending, id: Id) -> Result<Option<Met>, Error> {
        if let Some(Newest { version, state, row }) = pending.newest.get(&id) {
            let (version, state) = (*version, *state);
            let current = Standing { version, state, row: row.as_ref().map(|numbered| numbered.row.clone()) };
            return Ok(Some((current, row.clone().filter(|_| state != State::Deleted))));
        }
        let found = batch.newest(id, |version, bytes| -> Result<_, Error> {
            let record = Record::read(bytes)?;
            Ok((version, record.state, self.shared.row(&record)?))
        })?;
        let Some((version, state, mut row)) = found.transpose()? else { return Ok(None) };
        if state == State::Deleted
            && let Some(before) = version.before()
        {
            let deleted = batch.version(id, before, |bytes| self.shared.row(&Record::read(bytes)?))?;
            row = deleted.transpose()?.flatten();
        }
        if let Some(row) = &mut row {
            lay(row, batch.consent(id)?);
        }
        let old = match &row {
            Some(row) if state != State::Deleted => {
                let classes = self.shared.publishing().classes.clone();
                Some(super::view::numbered(&classes, row.clone()).ok_or_else(unknown_class)?)
            }
            _ => None,
        };
        Ok(Some((Standing { version, state, row }, old)))
    }

    /// The patient of a stored version, for the witness.
    fn patient(&self, batch: &Batch, id: Id, version: Version) -> Result<Option<String>, Error> {
        if self.shared.witness.is_none() {
            return Ok(None);
        }
        Ok(batch.version(id, version, patient_of)?.transpose()?.flatten())
    }

    /// Whether the row's class is known or may become so.
    fn has_room_for(&self, pending: &Pending, row: &Row) -> bool {
        match &pending.classes {
            Some(classes) => classes.has_room_for(&row.class),
            None => self.shared.publishing().classes.has_room_for(&row.class),
        }
    }

    /// Gives the row's class its number, a new one where it has none.
    fn number(&self, batch: &mut Batch, pending: &mut Pending, mut row: Row) -> Result<Arc<Numbered>, Error> {
        let known = match &pending.classes {
            Some(classes) => classes.find(&row.class),
            None => self.shared.publishing().classes.find(&row.class),
        };
        if let Some((class, shared)) = known {
            row.class = shared;
            return Ok(Arc::new(Numbered { row, class }));
        }
        let classes = pending.classes.get_or_insert_with(|| Classes::clone(&self.shared.publishing().classes));
        let class = classes.add(row.class.clone());
        batch.insert_class(class, &classes::write(&row.class))?;
        Ok(Arc::new(Numbered { row, class }))
    }

    /// Current certificates within `rows` that carry a term: those of the view the batch did not change, and those of the batch.
    fn with_term(&self, pending: &Pending, term: &Term, rows: Option<&Filter>) -> Result<Vec<(Id, Version)>, Refused> {
        let percent = self.shared.built_percent.load(Ordering::Acquire).to_string();
        let not_ready = || Issue::new(Hcert::IndexNotReady).with("percent", percent.clone());
        let view = self.shared.view().ok_or_else(|| Outcome::from(not_ready()))?;
        // More than the batch can have changed are asked for, so that two of the rest are seen when there are two.
        let max = u32::try_from(pending.newest.len() + 2).unwrap_or(u32::MAX);
        let hits = view.with_term(term, rows, max).map_err(|error| Outcome::from(not_ready()).because(error.0))?;
        let unchanged =
            hits.into_iter().filter(|hit| !pending.newest.contains_key(&hit.id)).map(|hit| (hit.id, hit.version));
        let counts = |id: Id, row: &Row| row.has(term) && rows.is_none_or(|rows| rows.matches(id, row));
        let changed = pending.newest.iter().filter(|(id, newest)| {
            newest.state != State::Deleted && newest.row.as_ref().is_some_and(|numbered| counts(**id, &numbered.row))
        });
        Ok(unchanged.chain(changed.map(|(id, newest)| (*id, newest.version))).collect())
    }

    /// Contract 3.9.
    fn check_number(&self, pending: &Pending, id: Id, row: &Row) -> Result<(), Refused> {
        for number in row.terms_of(&[Field::Identifier]).filter(|term| term.is_form(Form::SystemCode)) {
            if self.with_term(pending, &number, None)?.iter().any(|(other, _)| *other != id) {
                return Err(Outcome::from(Issue::new(Hcert::NumberInUse).at("Composition.identifier")).into());
            }
        }
        Ok(())
    }

    /// What a stored version answers with that is left as it is.
    fn unchanged(&self, batch: &mut Batch, id: Id, version: Version) -> Result<Written, Error> {
        let found =
            batch.version(id, version, |bytes| Record::read(bytes).map(|record| (record.stamp, record.state)))?;
        let (stamp, state) = found.ok_or_else(|| Error::Damaged(format!("version {version} of {id} is missing")))??;
        Ok(Written { id, version, stamp, state, changed: false, consent: batch.consent(id)? })
    }

    /// Makes what was committed visible and tells the witness: after the commit, before the answers.
    pub fn publish(&mut self, stored: &mut Stored) {
        let pending = &mut stored.pending;
        self.shared.link(std::mem::take(&mut pending.links));
        let (entries, classes) = (std::mem::take(&mut pending.entries), pending.classes.take());
        if !entries.is_empty() {
            self.shared.publish(entries, classes.map(Arc::new), pending.position.seq);
        }
        self.position = pending.position;
        self.shared.tell(&std::mem::take(&mut pending.told));
        self.told = self.position.seq;
    }

    /// Opens the store again, with back-off; whoever waits meanwhile is told so. Gives back who waited first, when nothing was to wait for.
    fn reopen(&mut self, queue: &Receiver<Job>, mut first: Option<Job>) -> Option<Job> {
        let refused = Arc::new(Error::Reopening);
        let mut pause = Duration::from_millis(10);
        loop {
            // What is read may be as damaged as what failed, and a panic here would end the thread.
            let tried = catch_unwind(AssertUnwindSafe(|| self.try_reopen()));
            match tried.unwrap_or_else(|_| Err(Error::Damaged("opening it again panicked".into()))) {
                Ok(()) => return first,
                Err(error) => {
                    tracing::error!(error = %error, "the store cannot be opened again yet");
                    self.shared.note_trouble(error.to_string());
                }
            }
            let until = Instant::now() + pause;
            loop {
                if let Some(first) = first.take() {
                    self.take(first, queue).into_iter().for_each(|job| job.refuse(Refused::Store(refused.clone())));
                }
                first = match queue.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(job) => Some(job),
                    Err(RecvTimeoutError::Timeout) => break,
                    // Nobody comes any more, and whatever is acknowledged is in the store.
                    Err(RecvTimeoutError::Disconnected) => return None,
                }
            }
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }

    /// Opens the store again, and takes in what a batch that failed has stored after all.
    pub fn try_reopen(&mut self) -> Result<(), Error> {
        let stands = self.shared.store.reopen()?;
        self.shared.read_links()?;
        let missed = match self.shared.witness {
            Some(_) => self.shared.committed_after(self.told, usize::MAX)?,
            None => Vec::new(),
        };
        let position = stands.position;
        self.shared.catch_up(stands)?;
        tracing::warn!(seq = position.seq.0, "the store is open again");
        self.position = position;
        self.shared.tell(&missed);
        self.told = position.seq;
        self.shared.store.trust();
        self.shared.note_store_good();
        self.shared.metrics.work.reopened();
        Ok(())
    }
}

/// Notes who waits for a job that is done, or that the store failed: then `nothing` stands where its result would.
fn keep<T>(
    replies: &mut Vec<Reply>,
    done: Result<T, Error>,
    reply: impl FnOnce(T) -> Reply,
    nothing: T,
) -> Result<(), Error> {
    let (value, result) = match done {
        Ok(value) => (value, Ok(())),
        Err(error) => (nothing, Err(error)),
    };
    replies.push(reply(value));
    result
}

impl Stored {
    /// Tells everyone.
    pub fn answer(self) {
        self.replies.into_iter().for_each(Reply::send);
    }
}

fn classes_full() -> Issue {
    Issue::new(Hcert::ClassesFull).with("max", CLASSES_MAX.to_string()).at("Composition.category")
}

fn unknown_class() -> Error {
    Error::Damaged("a stored row has a class that the table of classes does not know".into())
}

/// The newest version of a certificate, as the rules ask for it and as the overlay does.
type Met = (Standing, Option<Arc<Numbered>>);

/// A version on its way into the store.
struct Step {
    id: Id,
    version: Version,
    stamp: Stamp,
    state: State,
    row: Option<Row>,
    old: Option<Arc<Numbered>>,
    by: By,
}

/// Who asked for a change, for the witness.
struct By {
    action: Action,
    who: Who,
    patient: Option<String>,
}

impl Reply {
    fn send(self) {
        // A caller who went away needs no answer.
        match self {
            Reply::Write(answer, result) => drop(answer.send(result)),
            Reply::Import(answer, imported) => drop(answer.send(Ok(imported))),
            Reply::Lists(answer) => drop(answer.send(Ok(()))),
            Reply::Patients(answer, written) => drop(answer.send(Ok(written))),
        }
    }

    fn fail(self, error: &Arc<Error>) {
        match self {
            Reply::Write(answer, _) => drop(answer.send(Err(Refused::Store(error.clone())))),
            Reply::Import(answer, _) => drop(answer.send(Err(Refused::Store(error.clone())))),
            Reply::Lists(answer) => drop(answer.send(Err(Refused::Store(error.clone())))),
            Reply::Patients(answer, _) => drop(answer.send(Err(Refused::Store(error.clone())))),
        }
    }
}
