//! Whether everything stored is as it was written: every record, every row that says something twice, and the index beside the store.
//!
//! The store is read in short pieces, so that a server goes on meanwhile. What came after the change at which the check began is looked
//! at as far as it stands in a piece, but counts for no total.

mod consents;
mod findings;
mod index;
mod indexed;
mod logs;
mod pages;
mod patients;
mod small;
mod versions;

use std::collections::BTreeSet;

use findings::VerifyFindings;
pub use findings::{VerifyProblem, VerifyProgress, VerifyReport};
use indexed::IndexComparison;

use super::classes::Classes;
use super::panics::caught;
use super::store::{FORMAT, Records, StoreError, StorePosition, StoreReader};
use super::{Engine, EngineShared};
use crate::limits::{CLOCK_BEHIND_MS_MAX, VERIFY_CHUNK_ROWS};
use crate::{ClockReset, DAMAGED, EntryLog};
use certificate::{Id, Names, Seq};
use fhir::date_time;

/// Ids that are tried one by one behind a row that cannot be read: more than a page holds.
const VERIFY_STEPS: u64 = 1024;

/// What a check knows of its beginning, and what it found.
struct StoreCheck<'c> {
    shared: &'c EngineShared,
    names: &'c Names,
    start: CheckStart,
    found: VerifyFindings,
    report: &'c mut dyn FnMut(&VerifyProgress),
}

/// The store when the check began.
struct CheckStart {
    /// The last change.
    seq: Seq,
    /// The last entry of the register.
    register: Seq,
    position: StorePosition,
    /// Current certificates by class.
    counters: Vec<(u32, u64)>,
    /// Rows of the table of times.
    times: u64,
    /// Rows of `version`, for the progress.
    versions: u64,
    /// Where time began again.
    resets: Vec<ClockReset>,
    /// Certificates that marks name as erased.
    erased: BTreeSet<Id>,
    /// The system clock, milliseconds since 1970 UTC.
    at: i64,
}

impl CheckStart {
    /// Whether time began again between two changes.
    fn has_reset(&self, after: Seq, before: Seq) -> bool {
        self.resets.iter().any(|reset| (after.0..before.0).contains(&reset.change))
    }

    /// Whether a time is ahead of the clock by more than clocks differ.
    fn is_ahead(&self, milliseconds: i64) -> bool {
        milliseconds.saturating_sub(self.at) > CLOCK_BEHIND_MS_MAX
    }
}

impl Engine {
    /// Checks everything, and changes nothing. Of a folder that is [opened to be read only](Engine::open_read_only) the file's own structure is checked too.
    ///
    /// # Errors
    /// The store cannot be read at all. What is found wrong is no error, but told in the result.
    pub fn verify(&self, names: &Names, report: &mut dyn FnMut(&VerifyProgress)) -> Result<VerifyReport, StoreError> {
        let verified = self.shared.heed(self.verified(names, report))?;
        let others = || verified.problems.iter().find(|problem| problem.part != "index");
        // The health check reports a file that is gone.
        if !self.shared.store.is_gone()
            && let Some(problem) = others()
        {
            self.shared.note_damage(&format!("{DAMAGED}: {}: {}", problem.part, problem.text));
        }
        if verified.problems.iter().any(|problem| problem.part == "index") {
            // Whoever looks after it looks it through, and builds it again where that is needed.
            self.shared.notifier.suspect();
        }
        Ok(verified)
    }

    fn verified(&self, names: &Names, report: &mut dyn FnMut(&VerifyProgress)) -> Result<VerifyReport, StoreError> {
        let mut found = VerifyFindings::default();
        if let Err(gone) = self.shared.store.expect_in_place() {
            found.tell("file", &gone.to_string());
        }
        if self.shared.store.is_read_only() {
            report(&VerifyProgress { part: "file", at: 0, of: 1 });
            // redb's own check ends at the first page that cannot be read; what it looks at besides are the free pages.
            let is_whole = pages::pages(&self.shared.store.pages()?, &mut found);
            match is_whole.then(|| self.shared.store.integrity()) {
                None | Some(Ok(true)) => {}
                Some(Ok(false)) => {
                    found.tell("file", "its pages do not hold together; opening it to serve mends what can be mended");
                }
                Some(Err(StoreError::Damaged(problem))) => found.tell("file", &problem),
                Some(Err(error)) => return Err(error),
            }
        }
        if let Some(from) = self.migrated.filter(|_| self.shared.store.is_read_only()) {
            found.note(&format!(
                "the store is of format {from} and was looked at as the next start will bring it to format {FORMAT}"
            ));
        }
        report(&VerifyProgress { part: "index", at: 0, of: 1 });
        // The index first: the store is never behind it.
        let (index, verdict) = self.index_to_compare(&mut found);
        let reader = self.shared.store.reader()?;
        let position = reader.position()?;
        let start = CheckStart {
            seq: found.readable("log", reader.last_change())?.flatten().map_or(position.seq, |change| change.seq),
            register: found
                .readable("register", reader.last_entry(EntryLog::Register))?
                .flatten()
                .map_or(Seq(0), |entry| entry.row.seq),
            counters: found.readable("meta", reader.counters())?.unwrap_or_default(),
            times: found.readable("log", reader.time_count())?.unwrap_or_default(),
            versions: found.readable("version", reader.record_count(Records::Version))?.unwrap_or_default(),
            position,
            resets: reader.clock_resets().unwrap_or_default(),
            erased: reader.erased().unwrap_or_default(),
            at: (self.shared.clock)(),
        };
        let classes = classes(&reader, &mut found)?;
        drop(reader);
        let mut check = StoreCheck { shared: &self.shared, names, start, found, report };
        check.part("meta", StoreCheck::small)?;
        let mut indexed = index.as_ref().and_then(|index| IndexComparison::read(index, &mut check.found));
        check.part("version", |check| check.versions(&classes, &mut indexed))?;
        if let Some(indexed) = &indexed {
            indexed.finish(&mut check.found);
        }
        check.part("log", StoreCheck::logs)?;
        check.part("consent", StoreCheck::consents)?;
        check.part("patient", StoreCheck::patients)?;
        check.clock();
        check.found.conclude(verdict);
        Ok(check.found.verified(check.start.seq, check.start.register))
    }
}

impl StoreCheck<'_> {
    /// Runs one part. What ends it early is told and keeps no other part from being looked at.
    fn part(
        &mut self,
        name: &'static str,
        run: impl FnOnce(&mut Self) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match caught(|| run(self)) {
            Some(Ok(())) => {}
            // A folder that is looked at is opened again by the next part.
            Some(Err(StoreError::Reopening)) if self.shared.store.is_read_only() => {
                self.found.tell(name, "it cannot be read to its end: the file system failed");
            }
            Some(Err(StoreError::Reopening)) => return Err(StoreError::Reopening),
            Some(Err(error)) => self.found.tell(name, &format!("it cannot be read to its end: {error}")),
            None => self.found.tell(name, "it cannot be read to its end: reading it panicked"),
        }
        Ok(())
    }

    /// Tells a clock that is behind what is stored.
    fn clock(&mut self) {
        let (newest, clock) = (self.start.position.milliseconds, self.start.at);
        if self.start.is_ahead(newest) {
            self.found.note(&format!(
                "the newest time stamp is {}, and the clock says {}: the server refuses changes until the clock is right; hcert clock \
                 says what can be done",
                date_time::instant(newest),
                date_time::instant(clock)
            ));
        }
    }

    fn at(&mut self, part: &'static str, at: u64, of: u64) {
        (self.report)(&VerifyProgress { part, at, of });
    }

    /// Walks a table of records. Rows that cannot be read are told, and the walk goes on behind them.
    fn records(
        &mut self,
        records: Records,
        name: &'static str,
        of: u64,
        mut each: impl FnMut(&mut Self, &StoreReader, (u64, u32), &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let (mut at, mut done) = ((0, 0), 0);
        loop {
            self.at(name, done, of);
            let reader = self.reader()?;
            let read = reader.bare_records(records, at, VERIFY_CHUNK_ROWS, |key, bytes| {
                (at, done) = (key, done + 1);
                each(self, &reader, key, bytes)
            });
            match read {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(()),
                Err(StoreError::Damaged(problem)) => {
                    self.found.tell(name, &format!("behind number {} of id {}: {problem}", at.1, at.0));
                    match self.behind(records, at)? {
                        Some(next) => at = next,
                        None => return Ok(()),
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The first place behind a row from which a table can be read again; none when that is nowhere. Ids are tried one by one at first, as
    /// many as a page holds, and in growing steps behind them.
    fn behind(&self, records: Records, at: (u64, u32)) -> Result<Option<(u64, u32)>, StoreError> {
        let mut ids = 0u64;
        loop {
            let from = if ids == 0 { at } else { (at.0.saturating_add(ids), 0) };
            match self.reader()?.bare_records(records, from, 1, |_, _| Ok(())) {
                Ok(Some(_)) => return Ok(Some(from)),
                Ok(None) => return Ok(None),
                Err(StoreError::Damaged(_)) if from.0 < u64::MAX => {}
                Err(StoreError::Damaged(_)) => return Ok(None),
                Err(error) => return Err(error),
            }
            ids = if ids < VERIFY_STEPS { ids + 1 } else { ids.saturating_mul(2) };
        }
    }

    fn reader(&self) -> Result<std::sync::Arc<StoreReader>, StoreError> {
        self.shared.store.reader()
    }
}

/// The classes, as far as they can be read. One that cannot is told, and no row has it.
fn classes(reader: &StoreReader, found: &mut VerifyFindings) -> Result<Classes, StoreError> {
    let stored = found.readable("class", reader.bare_classes())?.unwrap_or_default();
    for (at, (number, _)) in (0..).zip(&stored) {
        if *number != at {
            found.tell("class", &format!("number {number} stands where number {at} belongs"));
            break;
        }
    }
    let stored: Vec<Vec<u8>> = stored.into_iter().map(|(_, class)| class).collect();
    match Classes::read(&stored) {
        Ok(classes) if classes.is_injective() => Ok(classes),
        Ok(classes) => {
            found.tell("class", "two numbers stand for the same class");
            Ok(classes)
        }
        Err(error) => {
            found.tell("class", &error.to_string());
            Ok(Classes::default())
        }
    }
}
