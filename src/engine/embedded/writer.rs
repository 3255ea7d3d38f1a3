//! The one writer: takes everything that waits, judges each request inside one transaction, stamps it, commits once, answers all.

mod import;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::oneshot;

use super::classes::{self, Classes};
use super::counters;
use super::overlay::{NewEntry, Numbered};
use super::store::record::{Draft, Record};
use super::store::{Batch, Change, Commit, Error, Position};
use super::{Import, Imported, Refused, Shared, Write, Written};
use crate::certificate::{Id, Stamp, State, Version};
use crate::engine::decide::{Current, Decision, judge};
use crate::engine::{ListChange, PatientWrite, PatientWritten};
use crate::limits::{BATCH_BYTES_MAX, BATCH_JOBS_MAX, CLASSES_MAX, OVERLAY_ROWS_MAX};
use crate::outcome::{Hcert, Issue, Outcome};
use crate::search::row::Row;
use crate::search::term::{Field, Form, Term};

type Answer<T> = oneshot::Sender<Result<T, Refused>>;

/// A write with its compressed body.
pub struct Prepared {
    pub write: Write,
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
pub fn start(shared: &Arc<Shared>, position: Position, queue: Receiver<Job>) -> Result<JoinHandle<()>, Error> {
    let mut writer = Writer { shared: shared.clone(), position };
    let thread = thread::Builder::new().name("hcert-writer".into());
    thread.spawn(move || writer.run(&queue)).map_err(|error| Error::Io(format!("no thread for the writer: {error}")))
}

struct Writer {
    shared: Arc<Shared>,
    position: Position,
}

/// What a batch has done so far, in memory; it counts only after the commit.
struct Pending {
    position: Position,
    entries: Vec<NewEntry>,
    /// The newest row of every certificate the batch changed.
    newest: HashMap<Id, (Version, State, Option<Arc<Numbered>>)>,
    classes: Option<Classes>,
    /// The last stamp is not the latest one: an import brought older versions.
    latest_is_elsewhere: bool,
    lists_changed: bool,
    patients_changed: bool,
    /// Links of the patients that the batch changed.
    links: Vec<(Id, Vec<Id>)>,
}

enum Reply {
    Write(Answer<Written>, Result<Written, Refused>),
    Import(Answer<Vec<Imported>>, Vec<Imported>),
    Lists(Answer<()>),
    Patients(Answer<Vec<PatientWritten>>, Vec<PatientWritten>),
}

impl Writer {
    fn run(&mut self, queue: &Receiver<Job>) {
        while let Ok(first) = queue.recv() {
            self.slow_down();
            let mut bytes = first.bytes();
            let mut jobs = vec![first];
            while jobs.len() < BATCH_JOBS_MAX && bytes < BATCH_BYTES_MAX {
                let Ok(job) = queue.try_recv() else { break };
                bytes += job.bytes();
                jobs.push(job);
            }
            // A panic is a fault of ours in the middle of a batch: what was stored is asked of the store, and the next batch goes on.
            if catch_unwind(AssertUnwindSafe(|| self.batch(jobs))).is_err() {
                tracing::error!("the writer panicked; its batch was given up");
                // The overlay may hold a part of the batch. The store is asked for everything again.
                self.shared.set_view(None);
                self.shared.bell.ring();
                self.reopen();
            }
        }
    }

    /// Lets the indexer catch up before the overlay reaches its bound: past its half a batch waits for each thousand rows more.
    fn slow_down(&self) {
        let rows = self.shared.overlay_rows.load(Ordering::Acquire);
        if rows > OVERLAY_ROWS_MAX / 2 {
            thread::sleep(Duration::from_millis(((rows - OVERLAY_ROWS_MAX / 2) / 1024) as u64));
        }
    }

    fn batch(&mut self, jobs: Vec<Job>) {
        let mut pending = Pending {
            position: self.position,
            entries: Vec::new(),
            newest: HashMap::new(),
            classes: None,
            latest_is_elsewhere: false,
            lists_changed: false,
            patients_changed: false,
            links: Vec::new(),
        };
        let mut replies = Vec::with_capacity(jobs.len());
        let mut jobs = jobs.into_iter();
        let outcome = self.shared.store.write(|batch| {
            // On a storage error the batch is given up; `replies` and `jobs` then hold everyone who waits.
            for job in jobs.by_ref() {
                match job {
                    Job::Write(prepared) => {
                        let (answer, result) = self.one(batch, &mut pending, prepared)?;
                        replies.push(Reply::Write(answer, result));
                    }
                    Job::Import { versions, answer } => {
                        let imported = versions
                            .into_iter()
                            .map(|(draft, import)| self.import_one(batch, &mut pending, &draft, import))
                            .collect::<Result<Vec<_>, _>>()?;
                        replies.push(Reply::Import(answer, imported));
                    }
                    Job::Lists { changes, answer } => {
                        batch.change_lists(&changes)?;
                        pending.lists_changed = true;
                        replies.push(Reply::Lists(answer));
                    }
                    Job::Patients { writes, answer, .. } => {
                        let done = match batch.write_patients(&writes, || (self.shared.clock)()) {
                            Ok(done) => done,
                            Err(error) => {
                                replies.push(Reply::Patients(answer, Vec::new()));
                                return Err(error);
                            }
                        };
                        pending.patients_changed |= done.written.iter().any(|written| written.is_new());
                        pending.links.extend(done.links);
                        replies.push(Reply::Patients(answer, done.written));
                    }
                }
            }
            let moved = counters::deltas(&pending.entries);
            if !moved.is_empty() {
                batch.count(moved)?;
            }
            if pending.latest_is_elsewhere {
                batch.remember_latest_stamp(pending.position.milliseconds)?;
            }
            let nothing = pending.entries.is_empty() && !pending.lists_changed && !pending.patients_changed;
            Ok(((), if nothing { Commit::No } else { Commit::Yes }))
        });
        match outcome {
            Ok(()) => {
                self.publish(pending);
                replies.into_iter().for_each(Reply::send);
            }
            Err(error) => {
                tracing::error!(error = %error, "a batch was not stored");
                let unknown = matches!(error, Error::CommitUnknown(_));
                let error = Arc::new(error);
                replies.into_iter().for_each(|reply| reply.fail(&error));
                jobs.for_each(|job| job.refuse(Refused::Store(error.clone())));
                if unknown {
                    self.reopen();
                }
            }
        }
    }

    /// Judges and stores one write. The outer error is a failure of the store, the inner result the caller's answer.
    fn one(
        &self,
        batch: &mut Batch,
        pending: &mut Pending,
        prepared: Box<Prepared>,
    ) -> Result<(Answer<Written>, Result<Written, Refused>), Error> {
        let Prepared { write, draft, answer } = *prepared;
        let (id, current, old) = match &write {
            Write::Create { .. } => (pending.position.next_id, None, None),
            Write::Update { id, .. } | Write::Delete { id, .. } => {
                let (current, old) = self.current(batch, pending, *id)?.unzip();
                (*id, current, old.flatten())
            }
        };
        let decision = match judge(&write, current.as_ref()) {
            Ok(decision) => decision,
            Err(refused) => return Ok((answer, Err(refused))),
        };
        let state = match (decision, &current) {
            (Decision::Store(state), _) => state,
            (Decision::Nothing, current) => {
                let current = current.as_ref().expect("only a stored certificate can be deleted already");
                let written = self.written(batch, id, current.version, false)?;
                return Ok((answer, Ok(written)));
            }
        };
        if let Write::Create { if_none_exist: Some(term), .. } = &write {
            match self.with_term(pending, term) {
                Err(refused) => return Ok((answer, Err(refused))),
                Ok(found) => match found.as_slice() {
                    [] => {}
                    [(id, version)] => {
                        let written = self.written(batch, *id, *version, false)?;
                        return Ok((answer, Ok(written)));
                    }
                    _ => return Ok((answer, Err(Outcome::from(Hcert::MultipleMatches).into()))),
                },
            }
        }
        let row = match write {
            Write::Create { content, .. } | Write::Update { content, .. } => Some(content.row),
            Write::Delete { .. } => None,
        };
        if let Some(row) = &row
            && self.shared.unique_number
            && let Err(refused) = self.check_number(pending, id, row)
        {
            return Ok((answer, Err(refused)));
        }
        if row.as_ref().is_some_and(|row| !self.has_room_for(pending, row)) {
            return Ok((answer, Err(Outcome::from(classes_full()).into())));
        }
        let version = current.map_or(Version::FIRST, |current| current.version.next());
        let milliseconds = (self.shared.clock)().max(pending.position.milliseconds.saturating_add(1));
        let stamp = Stamp::at(milliseconds);
        self.store(batch, pending, Step { id, version, stamp, state, row, old }, &draft)?;
        Ok((answer, Ok(Written { id, version, stamp, state, changed: true })))
    }

    /// Inserts a version and moves the pending position on.
    fn store(&self, batch: &mut Batch, pending: &mut Pending, step: Step, draft: &Draft) -> Result<(), Error> {
        let Step { id, version, stamp, state, row, old } = step;
        let new = match row {
            Some(mut row) => {
                row.last_updated = stamp.milliseconds;
                Some(self.number(batch, pending, row)?)
            }
            None => None,
        };
        let seq = pending.position.seq.next();
        let running = pending.position.running + 1;
        let change = Change { seq, id, version, milliseconds: stamp.milliseconds, running };
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
        pending.newest.insert(id, (version, state, new.clone()));
        pending.entries.push(NewEntry { seq, id, version, new, old });
        Ok(())
    }

    /// The newest version of a certificate, earlier jobs of the batch included, and its row for the overlay.
    fn current(&self, batch: &Batch, pending: &Pending, id: Id) -> Result<Option<Met>, Error> {
        if let Some((version, state, row)) = pending.newest.get(&id) {
            let current =
                Current { version: *version, state: *state, row: row.as_ref().map(|numbered| numbered.row.clone()) };
            return Ok(Some((current, row.clone())));
        }
        let found = batch.newest(id, |version, bytes| -> Result<_, Error> {
            let record = Record::read(bytes)?;
            Ok((version, record.state, self.shared.row(&record)?))
        })?;
        let Some((version, state, row)) = found.transpose()? else { return Ok(None) };
        let classes = self.shared.publishing().classes.clone();
        let old = match &row {
            Some(row) => Some(super::view::numbered(&classes, row.clone()).ok_or_else(unknown_class)?),
            None => None,
        };
        Ok(Some((Current { version, state, row }, old)))
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

    /// Current certificates that carry a term: those of the view the batch did not change, and those of the batch.
    fn with_term(&self, pending: &Pending, term: &Term) -> Result<Vec<(Id, Version)>, Refused> {
        let percent = self.shared.built_percent.load(Ordering::Acquire).to_string();
        let not_ready = || Issue::new(Hcert::IndexNotReady).with("percent", percent.clone());
        let view = self.shared.view().ok_or_else(|| Outcome::from(not_ready()))?;
        // More than the batch can have changed are asked for, so that two of the rest are seen when there are two.
        let max = u32::try_from(pending.newest.len() + 2).unwrap_or(u32::MAX);
        let hits = view.with_term(term, max).map_err(|error| Outcome::from(not_ready()).because(error.0))?;
        let unchanged =
            hits.into_iter().filter(|hit| !pending.newest.contains_key(&hit.id)).map(|hit| (hit.id, hit.version));
        let carries = |row: &Option<Arc<Numbered>>| row.as_ref().is_some_and(|numbered| numbered.row.has(term));
        let changed =
            pending.newest.iter().filter(|(_, (_, _, row))| carries(row)).map(|(id, (version, ..))| (*id, *version));
        Ok(unchanged.chain(changed).collect())
    }

    /// Contract 3.9.
    fn check_number(&self, pending: &Pending, id: Id, row: &Row) -> Result<(), Refused> {
        for number in row.terms_of(&[Field::Identifier]).filter(|term| term.is_form(Form::SystemCode)) {
            if self.with_term(pending, &number)?.iter().any(|(other, _)| *other != id) {
                return Err(Outcome::from(Issue::new(Hcert::NumberInUse).at("Composition.identifier")).into());
            }
        }
        Ok(())
    }

    /// What a stored version answers with.
    fn written(&self, batch: &Batch, id: Id, version: Version, changed: bool) -> Result<Written, Error> {
        let found =
            batch.version(id, version, |bytes| Record::read(bytes).map(|record| (record.stamp, record.state)))?;
        let (stamp, state) = found.ok_or_else(|| Error::Damaged(format!("version {version} of {id} is missing")))??;
        Ok(Written { id, version, stamp, state, changed })
    }

    /// Makes what was committed visible: after the commit, before the answers.
    fn publish(&mut self, pending: Pending) {
        self.position = pending.position;
        self.shared.link(pending.links);
        if !pending.entries.is_empty() {
            self.shared.publish(pending.entries, pending.classes.map(Arc::new), pending.position.seq);
        }
    }

    /// After a failed commit: opens the database again, with back-off, and takes in what may have been stored after all.
    fn reopen(&mut self) {
        let mut pause = Duration::from_millis(10);
        loop {
            let reopened = self.shared.store.reopen().and_then(|(position, classes)| {
                self.shared.read_links()?;
                self.shared.catch_up(self.position.seq, position, Classes::read(&classes)?)
            });
            match reopened {
                Ok(position) => {
                    tracing::warn!(seq = position.seq.0, "the store is open again");
                    self.position = position;
                    return;
                }
                Err(error) => tracing::error!(error = %error, "the store cannot be opened again yet"),
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }
}

fn classes_full() -> Issue {
    Issue::new(Hcert::ClassesFull).with("max", CLASSES_MAX.to_string()).at("Composition.category")
}

fn unknown_class() -> Error {
    Error::Damaged("a stored row has a class that the table of classes does not know".into())
}

/// The newest version of a certificate, as the rules ask for it and as the overlay does.
type Met = (Current, Option<Arc<Numbered>>);

/// A version on its way into the store.
struct Step {
    id: Id,
    version: Version,
    stamp: Stamp,
    state: State,
    row: Option<Row>,
    old: Option<Arc<Numbered>>,
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
