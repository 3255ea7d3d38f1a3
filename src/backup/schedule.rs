//! Backups by the clock: taken by a thread of the running server into one folder, the old ones removed.

use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::chain::{Archive, chains, newest};
use super::member::ArchiveMember;
use super::sealing::{ArchiveKeys, Sealing, UNSIGNED};
use super::take::{Sink, TakeOptions, fits, take};
use super::{ArchiveTarget, Unfinished, folder};
use crate::audit::AuditTrail;
use base::log::event;
use base::threads;
use engine::{Clock, Engine};

/// Minutes after which a scheduled backup that failed is tried again; a disk that was full may have room by then.
const BACKUP_RETRY_MINUTES: u64 = 10;

/// When backups are taken, and how long they are kept.
#[derive(Clone, Debug)]
pub struct BackupPlan {
    pub folder: PathBuf,
    pub every_minutes: u64,
    /// Every so-manieth is a full one.
    pub full_every: u64,
    /// 0: for ever.
    pub keep_days: u64,
    /// Whom archives are encrypted to; nobody: they are not.
    pub recipients: Vec<String>,
    /// The data folder, which has the key that they are signed with.
    pub data: PathBuf,
}

/// How scheduled backups go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduleStatus {
    /// When the last one was taken, milliseconds since 1970 UTC; also by an earlier run of the server.
    pub last_ok: Option<i64>,
    /// The last change that it holds.
    pub last_until: u64,
    /// Why the last try failed; none after one that did not.
    pub last_problem: Option<String>,
}

/// The thread that takes them. Dropping it ends a backup that is being taken.
pub struct Schedule {
    shared: Arc<ScheduleShared>,
    thread: Option<JoinHandle<()>>,
}

struct ScheduleShared {
    plan: BackupPlan,
    engine: Arc<Engine>,
    log: Arc<AuditTrail>,
    clock: Clock,
    status: Mutex<ScheduleStatus>,
    is_closing: AtomicBool,
    bell: Condvar,
}

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

impl Schedule {
    /// Starts taking backups: the first one when the newest of the folder is older than the plan wants.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(
        plan: BackupPlan,
        engine: Arc<Engine>,
        log: Arc<AuditTrail>,
        clock: Clock,
    ) -> Result<Schedule, String> {
        let (status, is_closing, bell) = (Mutex::default(), AtomicBool::new(false), Condvar::new());
        let shared = Arc::new(ScheduleShared { plan, engine, log, clock, status, is_closing, bell });
        let own = shared.clone();
        let thread = thread::Builder::new().name("hcert-backup".into()).spawn(move || own.run());
        let thread = Some(thread.map_err(|error| threads::refused(&error))?);
        Ok(Schedule { shared, thread })
    }

    pub fn status(&self) -> ScheduleStatus {
        self.shared.status()
    }

    /// Tells [`status`](Self::status) to whoever outlives the borrow: for health answers.
    pub fn teller(&self) -> impl Fn() -> ScheduleStatus + Send + Sync + use<> {
        let shared = self.shared.clone();
        move || shared.status()
    }
}

impl Drop for Schedule {
    fn drop(&mut self) {
        {
            let _status = self.shared.status.lock().unwrap_or_else(PoisonError::into_inner);
            self.shared.is_closing.store(true, Ordering::Release);
        }
        self.shared.bell.notify_all();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            event!(THREAD_OF_BACKUP);
        }
    }
}

impl ScheduleShared {
    fn status(&self) -> ScheduleStatus {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, change: impl FnOnce(&mut ScheduleStatus)) {
        change(&mut self.status.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Acquire)
    }

    fn run(&self) {
        while !self.is_closing() {
            let wait = match self.round() {
                Ok(next) => next - (self.clock)(),
                // Ended by a stop; nothing failed.
                Err(_) if self.is_closing() => return,
                Err(problem) => {
                    event!(BACKUP_FAILED, problem);
                    self.set(|status| status.last_problem = Some(problem));
                    (BACKUP_RETRY_MINUTES.min(self.plan.every_minutes) as i64) * MINUTE_MS
                }
            };
            self.wait(Duration::from_millis(wait.clamp(1, DAY_MS) as u64));
        }
    }

    fn wait(&self, time: Duration) {
        let status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_closing() {
            drop(self.bell.wait_timeout(status, time));
        }
    }

    /// Takes a backup when one is due; when the next one is due comes back.
    fn round(&self) -> Result<i64, String> {
        let BackupPlan { folder, every_minutes, .. } = &self.plan;
        let every = i64::try_from(*every_minutes).unwrap_or(i64::MAX / MINUTE_MS).saturating_mul(MINUTE_MS);
        let now = (self.clock)();
        // Each time, since it may have become another one, or another's, meanwhile.
        folder::expect_target(folder)?;
        let sealing = Sealing::open(&self.plan.recipients, &self.plan.data)?;
        // What others signed is nothing to go on from.
        let keys = ArchiveKeys::of_signer(sealing.as_ref().map(Sealing::signer));
        let found = folder::list_given(folder, &keys)?;
        // Plain ones from before there were recipients are good for a restore, and nothing to go on from.
        let bad = found.problems.iter().filter(|problem| !problem.text.contains(UNSIGNED));
        bad.for_each(|problem| event!(ARCHIVE_BAD, problem = problem.text));
        let moment = self.engine.ledger().moment().map_err(|error| error.to_string())?;
        let chains = chains(&found.archives);
        let own = |chain: &&Vec<&Archive>| chain[0].about.store == moment.store && chain[0].about.epoch == moment.epoch;
        let newest = newest(chains.iter().filter(own));
        if let Some(end) = newest.and_then(|chain| chain.last()) {
            self.set(|status| (status.last_ok, status.last_until) = (Some(end.about.at), end.about.until));
            // A clock that was set back must not put the next one off for years.
            let is_due = end.about.at.saturating_add(every) <= now || end.about.at > now.saturating_add(every);
            if !is_due {
                return Ok(end.about.at.saturating_add(every));
            }
        }
        drop(folder::remove_left(folder));
        let goes_on = newest.filter(|chain| (chain.len() as u64) < self.plan.full_every);
        let end = goes_on.and_then(|chain| chain.last());
        // A store that was set back by hand begins anew, and so do archives for others.
        let recipients = sealing.as_ref().map(Sealing::recipients);
        let base = end
            .filter(|end| fits(&end.about, &self.engine, &moment, &|| self.log.trail().map(Some), recipients).is_ok())
            .map(|end| end.base());
        let mut sink = StoppableArchive {
            shared: self,
            archive: Unfinished::begin(ArchiveTarget::Folder(folder.clone()), sealing)?,
        };
        let taking = TakeOptions { base: base.as_ref(), recipients, command: "hcert serve", at: now, is_gentle: true };
        take(&self.engine, &self.log, &taking, &mut sink, &mut |_| {})?;
        let written = sink.archive.finish()?;
        if let Some(problem) = written.trail.first() {
            self.log.doubt(problem);
        }
        event!(BACKUP_TAKEN, until = written.about.until, bytes = written.bytes);
        self.set(|status| {
            *status =
                ScheduleStatus { last_ok: Some(written.about.at), last_until: written.about.until, last_problem: None }
        });
        self.remove_old(&moment.store, now, &keys);
        Ok(now.saturating_add(every))
    }

    fn remove_old(&self, store: &str, now: i64, keys: &ArchiveKeys) {
        let BackupPlan { folder, keep_days, .. } = &self.plan;
        // A clock that is not believed removes nothing.
        let clock = self.engine.clock();
        if *keep_days == 0 || clock.problem.is_some() {
            return;
        }
        let oldest = now
            .min(clock.settled)
            .saturating_sub(i64::try_from(*keep_days).unwrap_or(i64::MAX / DAY_MS).saturating_mul(DAY_MS));
        let listed = folder::list_given(folder, keys);
        let archives = listed.map_or(Vec::new(), |found| found.archives);
        for archive in folder::too_old(&archives, store, oldest) {
            if let Err(error) = folder::remove(archive) {
                event!(ARCHIVE_KEPT, %error);
                return;
            }
        }
    }
}

/// Ends a backup between two members when the server stops.
struct StoppableArchive<'s> {
    shared: &'s ScheduleShared,
    archive: Unfinished,
}

impl Sink for StoppableArchive<'_> {
    fn member(&mut self, member: &ArchiveMember, bytes: u64, content: &mut dyn Read) -> Result<(), String> {
        match self.shared.is_closing() {
            true => Err("the server stops".to_owned()),
            false => self.archive.member(member, bytes, content),
        }
    }
}
