//! The one writer: takes everything that waits, judges each request inside one transaction, stamps it, commits once, answers all.

mod consent;
mod deciding;
mod import;
mod job;
mod outcome;
mod pending;

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::counters;
use super::store::{Batch, CommitNeed, StoreError, StorePosition};
use super::{EngineShared, RefusedChange};
use crate::limits::{ID_MAX, OVERLAY_ROWS_MAX};
use crate::{ClockDecision, ClockProblem, ClockReset};
use base::log::event;
use base::threads;
use certificate::{Id, Stamp};
pub(super) use deciding::check_number;
pub(super) use job::{AnswerSender, Job, Prepared};
use job::{Reply, keep};
use outcome::WriteOutcome;
use pending::{BatchNewest, Pending, VersionTime};
pub(super) use pending::{FailedBatch, SteppedWriter, StoredBatch};

/// Requests decided in one transaction. More would delay the first of them without making the rest cheaper.
const BATCH_JOBS_MAX: usize = 512;

/// Bytes of compressed bodies in one transaction, so that a batch of the largest bodies stays a short one.
const BATCH_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Starts the writer's thread. It ends when the queue does.
pub(super) fn start(mut writer: SteppedWriter, queue: Receiver<Job>) -> Result<JoinHandle<()>, StoreError> {
    let thread = thread::Builder::new().name("hcert-writer".into());
    thread.spawn(move || writer.run(&queue)).map_err(|error| StoreError::Limits(threads::refused(&error)))
}

/// How often an idle writer looks whether the store has failed a reader, or its file is gone.
const IDLE_TIME: Duration = Duration::from_secs(1);

impl SteppedWriter {
    pub(super) fn new(shared: &Arc<EngineShared>, position: StorePosition) -> SteppedWriter {
        SteppedWriter { shared: shared.clone(), position, later: VecDeque::new() }
    }

    fn run(&mut self, queue: &Receiver<Job>) {
        loop {
            self.shared.watch_clock();
            let first = match self.later.pop_front() {
                Some(first) => {
                    self.shared.wait_for_clock(self.position.milliseconds);
                    Some(first)
                }
                None => match queue.recv_timeout(IDLE_TIME) {
                    Ok(first) => Some(first),
                    Err(RecvTimeoutError::Timeout) => {
                        // Who watches the service learns it from the store's health.
                        drop(self.shared.store.expect_in_place());
                        if let Err(error) = self.shared.store.checkpoint_if_idle() {
                            event!(STORE_NOT_WRITTEN, error = %error);
                        }
                        None
                    }
                    Err(RecvTimeoutError::Disconnected) => return,
                },
            };
            // A reader may have met the failure; nothing else would open the store again.
            let first = if self.shared.store.has_failed() { self.reopen(queue, first, None) } else { first };
            let Some(first) = first else { continue };
            self.slow_down();
            let jobs = self.take(first, queue);
            self.shared.metrics.work.batch(jobs.len());
            // A panic is a fault of ours in the middle of a batch: what was stored is asked of the store, and the next batch goes on.
            let failed = catch_unwind(AssertUnwindSafe(|| self.batch(jobs))).unwrap_or_else(|_| {
                self.give_up();
                None
            });
            if self.shared.store.has_failed() {
                self.reopen(queue, None, failed);
            } else if let Some(failed) = failed {
                failed.answer();
            }
        }
    }

    /// After a panic: nothing that the batch may have left half-way is seen again.
    pub(super) fn give_up(&mut self) {
        event!(THREAD_OF_WRITER);
        self.shared.store.distrust();
        self.shared.note_trouble("the writer panicked".into());
        {
            // The overlay may hold a part of the batch. In turn, or what the indexer makes of the view at this moment would bring it back.
            let _turn = self.shared.publishing();
            self.shared.set_view(None);
        }
        self.shared.notifier.wake();
    }

    /// Lets the indexer catch up before the overlay reaches its bound: past its half a batch waits for each thousand rows more.
    fn slow_down(&self) {
        let rows = self.shared.overlay_rows.load(Ordering::Acquire);
        if rows > OVERLAY_ROWS_MAX / 2 {
            thread::sleep(Duration::from_millis(((rows - OVERLAY_ROWS_MAX / 2) / 1024) as u64));
        }
    }

    /// The next job: what was put off comes first.
    pub(super) fn next(&mut self, queue: &Receiver<Job>) -> Option<Job> {
        self.later.pop_front().or_else(|| queue.try_recv().ok())
    }

    /// The next jobs that make a batch together with the first.
    pub(super) fn take(&mut self, first: Job, queue: &Receiver<Job>) -> Vec<Job> {
        let mut bytes = first.bytes();
        let mut jobs = vec![first];
        while jobs.len() < BATCH_JOBS_MAX && bytes < BATCH_BYTES_MAX {
            let Some(job) = self.next(queue) else { break };
            bytes += job.bytes();
            jobs.push(job);
        }
        self.shared.queued.fetch_sub(jobs.len(), Ordering::AcqRel);
        jobs
    }

    /// Stores a batch and answers; one that failed comes back.
    fn batch(&mut self, jobs: Vec<Job>) -> Option<FailedBatch> {
        let mut stored = match self.commit(jobs) {
            Ok(stored) => stored,
            Err(failed) => return Some(failed),
        };
        self.publish(&mut stored);
        stored.answer();
        None
    }

    /// Judges the jobs of a batch in their order and commits what they change.
    ///
    /// # Errors
    /// The store failed. Whether the batch is in it is known when it is open again.
    pub(super) fn commit(&self, jobs: Vec<Job>) -> Result<StoredBatch, FailedBatch> {
        let mut pending = Pending {
            position: self.position,
            entries: Vec::new(),
            newest: HashMap::new(),
            classes: None,
            clock: Vec::new(),
            accepted: None,
            lists_changed: false,
            meta_changed: false,
            patients_changed: false,
            links: Vec::new(),
        };
        let (mut replies, mut later) = (Vec::with_capacity(jobs.len()), VecDeque::new());
        let mut jobs = jobs.into_iter();
        let mut decided = None;
        let outcome = self.shared.store.write(|batch| {
            // On a storage error the batch is given up; `replies` and `jobs` then hold everyone who waits.
            for job in jobs.by_ref() {
                if let Some(job) = self.job(batch, &mut pending, job, &mut replies)? {
                    later.push_back(job);
                }
            }
            batch.count(counters::deltas(&pending.entries));
            let nothing = pending.entries.is_empty()
                && !pending.lists_changed
                && !pending.meta_changed
                && !pending.patients_changed
                && pending.clock.is_empty();
            let StorePosition { seq, milliseconds, last, .. } = pending.position;
            if !nothing && milliseconds != last {
                batch.remember_latest_stamp(seq, milliseconds)?;
            }
            if let Some(accepted) = pending.accepted {
                batch.accept_clock(accepted)?;
            }
            decided = (!nothing).then(Instant::now);
            Ok(((), if nothing { CommitNeed::No } else { CommitNeed::Yes }))
        });
        match outcome {
            Ok(()) => {
                if let Some(decided) = decided {
                    self.shared.metrics.work.committed(decided.elapsed());
                }
                Ok(StoredBatch { pending, replies, later })
            }
            Err(error) => {
                // That the file is gone was logged once, and nothing mends it.
                if !matches!(error, StoreError::Gone) {
                    event!(STORE_NOT_WRITTEN, error = %error);
                }
                if let StoreError::Damaged(_) = error {
                    self.shared.note_damage(&error.to_string());
                }
                self.shared.metrics.work.commit_failed();
                if self.shared.store.has_failed() {
                    self.shared.note_trouble(error.to_string());
                }
                Err(FailedBatch { error: Arc::new(error), replies, jobs: later.into_iter().chain(jobs).collect() })
            }
        }
    }

    /// Does one job. Whoever waits for it is in `replies` afterwards, also when the store failed; or was refused, since the clock is not
    /// believed; or the job comes back, to be done in the next batch.
    fn job(
        &self,
        batch: &mut Batch,
        pending: &mut Pending,
        job: Job,
        replies: &mut Vec<Reply>,
    ) -> Result<Option<Job>, StoreError> {
        if let Job::Clock { decision, answer } = job {
            let done = self.decide_clock(batch, pending, decision);
            return keep(replies, done, |()| Reply::Done(answer), ()).map(|()| None);
        }
        match job {
            Job::Write(prepared) => {
                let Prepared { write, draft, answer, has_waited } = *prepared;
                let done = match self.one(batch, pending, write, &draft, has_waited) {
                    Ok(WriteOutcome::Later(write)) => {
                        let prepared = Prepared { write: *write, draft, answer, has_waited: true };
                        return Ok(Some(Job::Write(Box::new(prepared))));
                    }
                    Ok(WriteOutcome::Now(result)) => Ok(result),
                    Err(error) => Err(error),
                };
                keep(replies, done, |result| Reply::Write(answer, result), Err(RefusedChange::Closed))
            }
            Job::Import { versions, answer } => {
                let now = match self.shared.now(pending.position.milliseconds) {
                    Ok(now) => now,
                    Err(problem) => return Ok(refuse(Job::Import { versions, answer }, problem)),
                };
                let one = |(draft, import)| self.import_one(batch, pending, now, &draft, import);
                let done = versions.into_iter().map(one).collect();
                keep(replies, done, |imported| Reply::Import(answer, imported), Vec::new())
            }
            Job::Lists { changes, answer } => {
                let now = match self.shared.now(pending.position.milliseconds) {
                    Ok(now) => now,
                    Err(problem) => return Ok(refuse(Job::Lists { changes, answer }, problem)),
                };
                let dictionary = self.shared.store.current_dictionary();
                let done = batch.change_lists(&changes, now.stamp.milliseconds, dictionary);
                pending.lists_changed = true;
                keep(replies, done, |()| Reply::Done(answer), ())
            }
            Job::Patients { writes, waits, answer } => {
                let now = match self.shared.now(pending.position.milliseconds) {
                    Ok(now) => now,
                    Err(problem) => return Ok(refuse(Job::Patients { writes, waits, answer }, problem)),
                };
                // A large batch takes its time, so each version has its own, while the clock is believed.
                let (mut newest, mut next) = (now.stamp.milliseconds, Some(now));
                let done = batch.write_patients(&writes, || {
                    let now = next.take().or_else(|| self.shared.now(newest).ok());
                    newest = now.map_or(newest, |now| now.stamp.milliseconds);
                    Stamp::at(newest)
                });
                let done = done.map(|done| {
                    if done.written.iter().any(|written| written.is_new()) {
                        pending.patients_changed = true;
                        pending.position.milliseconds = newest;
                    }
                    pending.links.extend(done.links);
                    done.written
                });
                keep(replies, done, |written| Reply::Patients(answer, written), Vec::new())
            }
            Job::AuditHead { head, answer } => {
                let settled = self.shared.settled();
                let done = batch.set_audit_head(Some(&head)).and_then(|()| batch.set_settled(settled));
                pending.meta_changed = true;
                keep(replies, done, |()| Reply::Done(answer), ())
            }
            Job::IdsLeftOut { ids, answer } => {
                let next = pending.position.next_id.get().saturating_add(ids).min(ID_MAX);
                pending.position.next_id = pending.position.next_id.max(Id::new(next).unwrap_or(Id::FIRST));
                let done = batch.set_meta_number("next-id", pending.position.next_id.get());
                pending.meta_changed = true;
                keep(replies, done, |()| Reply::Done(answer), ())
            }
            Job::Clock { .. } => unreachable!("it was done above"),
        }
        .map(|()| None)
    }

    /// Stores what an operator decides about the clock. It holds from the end of the batch on.
    fn decide_clock(
        &self,
        batch: &mut Batch,
        pending: &mut Pending,
        decision: ClockDecision,
    ) -> Result<(), StoreError> {
        let now = self.shared.clocks();
        let position = &mut pending.position;
        match decision {
            ClockDecision::Accept => {
                if now.is_behind(position.milliseconds) {
                    batch.accept_clock(position.milliseconds)?;
                }
            }
            ClockDecision::Reset => {
                let reset = ClockReset { change: position.seq.0, at: now.at };
                batch.add_reset(reset)?;
                batch.accept_clock(i64::MIN)?;
                pending.accepted = None;
                batch.remember_latest_stamp(position.seq, now.at)?;
                (position.milliseconds, position.reset) = (now.at, Some(reset));
            }
        }
        pending.clock.push((decision, now));
        Ok(())
    }

    /// Makes what was committed visible: after the commit, before the answers.
    pub(super) fn publish(&mut self, stored: &mut StoredBatch) {
        let pending = &mut stored.pending;
        self.shared.link(std::mem::take(&mut pending.links));
        let (entries, classes) = (std::mem::take(&mut pending.entries), pending.classes.take());
        if !entries.is_empty() {
            self.shared.publish(entries, classes.map(Arc::new), pending.position.seq);
        }
        self.position = pending.position;
        self.shared.note_time(&pending.position, &pending.clock, pending.accepted);
        // They wait again.
        self.shared.queued.fetch_add(stored.later.len(), Ordering::AcqRel);
        self.later.append(&mut stored.later);
    }

    /// Opens the store again, with back-off; whoever waits meanwhile is told so. Gives back who waited first, when nothing was to wait for.
    ///
    /// The batch that failed is answered behind the first try: whoever reads next finds a store that is open. Behind damage a try reads the
    /// whole file, so nobody waits for it.
    fn reopen(
        &mut self,
        queue: &Receiver<Job>,
        mut first: Option<Job>,
        mut failed: Option<FailedBatch>,
    ) -> Option<Job> {
        if self.shared.store.is_damaged() {
            failed.take().into_iter().for_each(FailedBatch::answer);
        }
        let refused = Arc::new(StoreError::Reopening);
        let mut pause = Duration::from_millis(10);
        loop {
            // What is read may be as damaged as what failed, and a panic here would end the thread.
            let tried = catch_unwind(AssertUnwindSafe(|| self.try_reopen()));
            failed.take().into_iter().for_each(FailedBatch::answer);
            match tried.unwrap_or_else(|_| Err(StoreError::Damaged("opening it again panicked".into()))) {
                Ok(()) => return first,
                Err(error) => {
                    event!(STORE_NOT_OPEN, error = %error);
                    self.shared.note_trouble(error.to_string());
                }
            }
            let until = Instant::now() + pause;
            loop {
                if let Some(first) = first.take() {
                    self.take(first, queue)
                        .into_iter()
                        .for_each(|job| job.refuse(RefusedChange::Store(refused.clone())));
                }
                first = match queue.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(job) => Some(job),
                    Err(RecvTimeoutError::Timeout) => break,
                    // Nobody comes any more, and whatever is acknowledged is in the store.
                    Err(RecvTimeoutError::Disconnected) => return None,
                }
            }
            pause = (pause * 2).min(self.shared.store.reopen_pause_max());
        }
    }

    /// Opens the store again, and takes in what a batch that failed has stored after all.
    pub(super) fn try_reopen(&mut self) -> Result<(), StoreError> {
        let stands = self.shared.store.reopen()?;
        self.shared.forget_closed();
        self.shared.read_links()?;
        let position = stands.position;
        self.shared.catch_up(stands)?;
        event!(STORE_OPEN_AGAIN, seq = position.seq.0);
        self.position = position;
        self.shared.note_time_of_store(&position)?;
        self.shared.store.trust();
        self.shared.note_store_good();
        self.shared.metrics.work.reopened();
        Ok(())
    }
}

/// Refuses a job while the clock is not believed; it does not come back.
fn refuse(job: Job, problem: ClockProblem) -> Option<Job> {
    job.refuse(RefusedChange::Clock(problem));
    None
}
