//! Whether everything stored is as it was written: every record, every row that says something twice, and the index beside the store.
//!
//! The store is read in short pieces, so that a server goes on meanwhile. What came after the change at which the check began is looked
//! at as far as it stands in a piece, but counts for no total.

mod changes;
mod consents;
mod findings;
mod indexed;
mod patients;
mod small;
mod versions;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

use findings::Findings;
pub use findings::{Problem, Verified, Verifying};
use indexed::Indexed;

use super::classes::Classes;
use super::store::{Error, Position, Reader};
use super::{Embedded, Shared};
use crate::certificate::{Names, Seq};
use crate::limits::VERIFY_INDEX_WAIT_SECONDS;

/// What a check knows of its beginning, and what it found.
struct Check<'c> {
    shared: &'c Shared,
    names: &'c Names,
    start: Start,
    found: Findings,
    report: &'c mut dyn FnMut(&Verifying),
}

/// The store when the check began.
struct Start {
    /// The last change.
    seq: Seq,
    /// The last change of patients.
    patient_change: u64,
    position: Position,
    /// Current certificates by class.
    counters: Vec<(u32, u64)>,
    /// Rows of the table of times.
    times: u64,
    /// Rows of `version`, for the progress.
    versions: u64,
}

impl Embedded {
    /// Checks everything. `is_alone` is for a folder that nobody else works on: the file's own structure is checked too, which stops
    /// everything else meanwhile, and the index is waited for.
    ///
    /// # Errors
    /// The store cannot be read at all. What is found wrong is no error, but told in the result.
    pub fn verify(&self, names: &Names, is_alone: bool, report: &mut dyn FnMut(&Verifying)) -> Result<Verified, Error> {
        let mut found = Findings::default();
        if is_alone {
            report(&Verifying { part: "file", at: 0, of: 1 });
            match self.shared.store.integrity() {
                Ok(true) => {}
                Ok(false) => found.tell("file", "its pages did not hold together; redb mended what could be mended"),
                Err(Error::Damaged(problem)) => found.tell("file", &problem),
                Err(error) => return Err(error),
            }
            self.wait_for_index(&mut found, report);
        }
        // The view first: the store is never behind it.
        let view = self.shared.view();
        let reader = self.shared.store.reader()?;
        let start = Start {
            seq: reader.last_change()?.map_or(Seq(0), |change| change.seq),
            patient_change: reader.last_patient_change()?,
            position: reader.position()?,
            counters: reader.counters()?,
            times: reader.time_count()?,
            versions: reader.record_count(super::store::Records::Version)?,
        };
        let classes = classes(&reader, &mut found)?;
        drop(reader);
        let mut check = Check { shared: &self.shared, names, start, found, report };
        check.part("meta", Check::small)?;
        let mut indexed = match &view {
            None => {
                check.found.note("the index is being built and was not compared with the store");
                None
            }
            Some(view) => Indexed::read(&view.index, &mut check.found),
        };
        check.part("version", |check| check.versions(&classes, &mut indexed))?;
        if let Some(indexed) = &indexed {
            indexed.finish(&mut check.found);
        }
        check.part("change", Check::changes)?;
        check.part("consent", Check::consents)?;
        check.part("patient", Check::patients)?;
        Ok(check.found.verified(check.start.seq, check.start.patient_change))
    }

    /// Waits until the index holds everything. It is built when it was missing.
    fn wait_for_index(&self, found: &mut Findings, report: &mut dyn FnMut(&Verifying)) {
        if self.indexed().is_none() {
            found.note("the index was missing, unreadable or far behind, and was built before it was compared");
        }
        if let Some(why) = self.shared.why_built() {
            found.note(&format!("the index was built again when the folder was opened: {why}"));
        }
        let until = self.seq();
        let (mut known, mut since) = ((None, 0), Instant::now());
        while self.indexed().is_none_or(|at| at < until) {
            self.index_now();
            let percent = self.built_percent();
            report(&Verifying { part: "index", at: percent, of: 100 });
            let come_to = (self.indexed(), percent);
            if come_to != known {
                (known, since) = (come_to, Instant::now());
            }
            if since.elapsed() > Duration::from_secs(VERIFY_INDEX_WAIT_SECONDS) {
                return found.tell("index", "it cannot be built; the log says why");
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Check<'_> {
    /// Runs one part. What ends it early is told and keeps no other part from being looked at.
    fn part(&mut self, name: &'static str, run: impl FnOnce(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        match catch_unwind(AssertUnwindSafe(|| run(self))) {
            Ok(Ok(())) => {}
            Ok(Err(Error::Reopening)) => return Err(Error::Reopening),
            Ok(Err(error)) => self.found.tell(name, &format!("it cannot be read to its end: {error}")),
            Err(_) => self.found.tell(name, "it cannot be read to its end: reading it panicked"),
        }
        Ok(())
    }

    fn at(&mut self, part: &'static str, at: u64, of: u64) {
        (self.report)(&Verifying { part, at, of });
    }

    fn reader(&self) -> Result<std::sync::Arc<Reader>, Error> {
        self.shared.store.reader()
    }
}

/// The classes, as far as they can be read. One that cannot is told, and no row has it.
fn classes(reader: &Reader, found: &mut Findings) -> Result<Classes, Error> {
    let stored = reader.bare_classes()?;
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
