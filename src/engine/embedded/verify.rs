//! Whether everything stored is as it was written: every record, every row that says something twice, and the index beside the store.
//!
//! The store is read in short pieces, so that a server goes on meanwhile. What came after the change at which the check began is looked
//! at as far as it stands in a piece, but counts for no total.

mod changes;
mod consents;
mod findings;
mod index;
mod indexed;
mod patients;
mod small;
mod versions;

use std::panic::{self, AssertUnwindSafe, catch_unwind};

use findings::Findings;
pub use findings::{Problem, Verified, Verifying};
use indexed::Indexed;

use super::classes::Classes;
use super::store::{Error, FORMAT, Position, Reader};
use super::{Embedded, Shared};
use crate::certificate::{Names, Seq};

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
    /// Checks everything, and changes nothing. Of a folder that is [looked at](Embedded::look) the file's own structure is checked too.
    ///
    /// # Errors
    /// The store cannot be read at all. What is found wrong is no error, but told in the result.
    pub fn verify(&self, names: &Names, report: &mut dyn FnMut(&Verifying)) -> Result<Verified, Error> {
        let mut found = Findings::default();
        let _silence = self.shared.store.is_looked_at().then(Silence::begin);
        if self.shared.store.is_looked_at() {
            report(&Verifying { part: "file", at: 0, of: 1 });
            match self.shared.store.integrity() {
                Ok(true) => {}
                Ok(false) => {
                    found.tell("file", "its pages do not hold together; opening it to serve mends what can be mended")
                }
                Err(Error::Damaged(problem)) => found.tell("file", &problem),
                Err(error) => return Err(error),
            }
        }
        if let Some(from) = self.migrated.filter(|_| self.shared.store.is_looked_at()) {
            found.note(&format!(
                "the store is of format {from} and was looked at as the next start will bring it to format {FORMAT}"
            ));
        }
        report(&Verifying { part: "index", at: 0, of: 1 });
        // The index first: the store is never behind it.
        let (index, standing) = self.index_to_compare(&mut found);
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
        let mut indexed = index.as_ref().and_then(|index| Indexed::read(index, &mut check.found));
        check.part("version", |check| check.versions(&classes, &mut indexed))?;
        if let Some(indexed) = &indexed {
            indexed.finish(&mut check.found);
        }
        check.part("change", Check::changes)?;
        check.part("consent", Check::consents)?;
        check.part("patient", Check::patients)?;
        check.found.conclude(standing);
        Ok(check.found.verified(check.start.seq, check.start.patient_change))
    }
}

/// Keeps panics from being told on the terminal, until it is dropped: those of damaged bytes are caught, and told in words. For a process
/// that does nothing else.
struct Silence(Option<Hook>);

/// What was told of panics before.
type Hook = Box<dyn Fn(&panic::PanicHookInfo) + Send + Sync>;

impl Silence {
    fn begin() -> Silence {
        let before = panic::take_hook();
        panic::set_hook(Box::new(|panic| tracing::debug!(%panic, "a check met bytes that make no sense")));
        Silence(Some(before))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // The hook cannot be changed while a panic is on its way up.
        if let Some(before) = self.0.take().filter(|_| !std::thread::panicking()) {
            panic::set_hook(before);
        }
    }
}

impl Check<'_> {
    /// Runs one part. What ends it early is told and keeps no other part from being looked at.
    fn part(&mut self, name: &'static str, run: impl FnOnce(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        match catch_unwind(AssertUnwindSafe(|| run(self))) {
            Ok(Ok(())) => {}
            // A folder that is looked at is opened again by the next part.
            Ok(Err(Error::Reopening)) if self.shared.store.is_looked_at() => {
                self.found.tell(name, "it cannot be read to its end: the file system failed");
            }
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
