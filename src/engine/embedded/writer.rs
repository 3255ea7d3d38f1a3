//! The one writer: takes everything that waits, judges each request inside one transaction, stamps it, commits once, answers all.

mod consent;
mod deciding;
mod import;
mod job;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::classes::Classes;
use super::counters;
use super::overlay::{NewEntry, Numbered};
use super::store::{Batch, Commit, Error, Position};
use super::{Refused, Shared};
use crate::certificate::{Id, Seq, State, Version};
use crate::engine::Committed;
use crate::limits::{BATCH_BYTES_MAX, BATCH_JOBS_MAX, OVERLAY_ROWS_MAX};
pub use job::{Job, Prepared};
use job::{Reply, keep};

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

impl Stored {
    /// Tells everyone.
    pub fn answer(self) {
        self.replies.into_iter().for_each(Reply::send);
    }
}
