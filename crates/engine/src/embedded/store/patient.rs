//! Patients: every version under id and number, and three tables that say again
//! what the newest ones hold, so that a patient is found by identifier, by birth date and by link. A fourth says which identifiers patients
//! had before.
//!
//! The tables are made by the first write; a folder that never had a patient has none, and nobody is found in it.

mod copied;
pub mod record;

use redb::TableDefinition;

use super::log::{PageGuard, ReadOnlyTable, ReadTransaction, WriteTransaction, WrittenTable};
use super::newest::newest;
use super::optional::KeptEntries;
use super::written_log::WrittenLog;
use super::{ChangeKind, META, OptionalTable, StoreError, opened};
use crate::limits::{BIRTH_DATE_DAYS_MAX, ID_MAX};
use crate::{EntryLog, PatientFacts, PatientLine, PatientWrite, PatientWritten};
use certificate::{Id, Stamp, Version};
pub use copied::{CopiedRegister, insert_copied};
use record::PatientRecord;

type Versions = TableDefinition<'static, (u64, u32), &'static [u8]>;
type Identifiers = TableDefinition<'static, (&'static str, &'static str, u64), ()>;
type BirthTable = TableDefinition<'static, (i32, u64), (i32, u8, i64)>;
type LinkTable = TableDefinition<'static, u64, &'static [u8]>;

/// Id and version to record.
pub(super) const PATIENT: Versions = TableDefinition::new("patient");
/// Value, system and id of current versions.
pub(super) const IDENTIFIER: Identifiers = TableDefinition::new("patient_identifier");
/// Value, system and id of versions that are not current, where the current one has not the same.
pub(super) const FORMER: Identifiers = TableDefinition::new("patient_former");
/// First day of the birth date and id to its last day, flags and stamp, of current versions.
pub(super) const BORN: BirthTable = TableDefinition::new("patient_born");
/// Id to the ids that its current version links to.
pub(super) const LINK: LinkTable = TableDefinition::new("patient_link");

/// Name in `meta` of the least id that a new patient may get.
const NEXT_ID: &str = "next-patient-id";

/// Where patients without a birth date stand in their table: before all others.
const UNKNOWN: i32 = i32::MIN;

const ACTIVE: u8 = 1;
const DECEASED: u8 = 2;

/// What a batch of patients did.
pub struct PatientBatchResult {
    /// What became of each write, in their order.
    pub written: Vec<PatientWritten>,
    /// Links of the new versions, where they have or had some, in the order they were made.
    pub links: Vec<(Id, Vec<Id>)>,
}

/// Stores patients in their order. `stamp` tells the time of each new version.
pub fn write(
    transaction: &WriteTransaction,
    writes: &[PatientWrite],
    mut stamp: impl FnMut() -> Stamp,
) -> Result<PatientBatchResult, StoreError> {
    let next_id =
        transaction.open_table(META)?.get(NEXT_ID)?.map(|next| next.value().try_into().map(u64::from_le_bytes));
    let next_id = next_id.transpose().map_err(|_| StoreError::Damaged(format!("'{NEXT_ID}' is no number")))?;
    let mut tables = WrittenPatientTables::open(transaction, next_id.unwrap_or(1))?;
    let written = writes.iter().map(|write| tables.write(write, &mut stamp)).collect::<Result<Vec<_>, _>>()?;
    tables.log.flush()?;
    let (moved, links) = (tables.next_id, tables.links_changed);
    if next_id != Some(moved) {
        let mut meta = transaction.open_table(META)?;
        meta.insert(NEXT_ID, moved.to_le_bytes().as_slice())?;
    }
    Ok(PatientBatchResult { written, links })
}

/// The tables of patients in the open write transaction, and the register.
pub struct WrittenPatientTables<'t> {
    transaction: &'t WriteTransaction,
    versions: WrittenTable<'t, (u64, u32), &'static [u8]>,
    identifiers: WrittenTable<'t, (&'static str, &'static str, u64), ()>,
    former: WrittenTable<'t, (&'static str, &'static str, u64), ()>,
    born: WrittenTable<'t, (i32, u64), (i32, u8, i64)>,
    links: WrittenTable<'t, u64, &'static [u8]>,
    log: WrittenLog<'t>,
    next_id: u64,
    links_changed: Vec<(Id, Vec<Id>)>,
}

impl<'t> WrittenPatientTables<'t> {
    pub(super) fn open(
        transaction: &'t WriteTransaction,
        next_id: u64,
    ) -> Result<WrittenPatientTables<'t>, StoreError> {
        Ok(WrittenPatientTables {
            transaction,
            versions: transaction.open_table(PATIENT)?,
            identifiers: transaction.open_table(IDENTIFIER)?,
            former: transaction.open_table(FORMER)?,
            born: transaction.open_table(BORN)?,
            links: transaction.open_table(LINK)?,
            log: WrittenLog::open(transaction, EntryLog::Register)?,
            next_id,
            links_changed: Vec::new(),
        })
    }

    fn write(&mut self, write: &PatientWrite, stamp: &mut impl FnMut() -> Stamp) -> Result<PatientWritten, StoreError> {
        if let Some((system, value)) = &write.unless
            && let Some(id) = self.first_with(system, value)?
        {
            let version = newest(&self.versions, id, |version, _| version)?;
            let version = version.ok_or_else(|| StoreError::Damaged(format!("Patient/{id} has lost its versions")))?;
            return Ok(PatientWritten::ThereAlready(id, version));
        }
        let before = match write.id {
            None => None,
            Some(id) => self.before(id, &write.tail)?,
        };
        let id = match write.id {
            Some(id) => id,
            None => {
                let next = Id::new(self.next_id).filter(|id| id.get() <= ID_MAX);
                let impossible = || format!("'{NEXT_ID}' is {}, an id that no patient can have", self.next_id);
                next.ok_or_else(|| StoreError::Damaged(impossible()))?
            }
        };
        if let Some(before) = &before {
            if before.is_same {
                return Ok(PatientWritten::Identical(id, before.version));
            }
            self.forget(id, &before.facts, &write.facts)?;
        }
        let version = before.as_ref().map_or(Version::FIRST, |before| before.version.next());
        let stamp = stamp();
        let row = self.log.next(id, ChangeKind::Patient(version), stamp.milliseconds);
        let record = record::draft(&write.facts, &write.tail).write(row.seq.0, stamp);
        self.versions.insert((id.get(), version.get()), record.as_slice())?;
        self.log.push(row, &record);
        self.remember(id, &write.facts, stamp)?;
        if !write.facts.links.is_empty() || before.is_some_and(|before| !before.facts.links.is_empty()) {
            self.links_changed.push((id, write.facts.links.clone()));
        }
        self.next_id = self.next_id.max(id.next().get());
        let other = match &write.alone {
            Some((system, value)) => self.other_with(system, value, id)?,
            None => None,
        };
        Ok(other.map_or(PatientWritten::Stored(id, version), |other| PatientWritten::Shared(id, version, other)))
    }

    /// The version that a write would replace.
    fn before(&self, id: Id, tail: &[u8]) -> Result<Option<PreviousPatient>, StoreError> {
        let read = |version, bytes: &[u8]| -> Result<PreviousPatient, StoreError> {
            let record = PatientRecord::read(id, version, bytes)?;
            Ok(PreviousPatient { version, facts: record.facts()?, is_same: record.tail == tail })
        };
        newest(&self.versions, id, read)?.transpose()
    }

    fn first_with(&self, system: &str, value: &str) -> Result<Option<Id>, StoreError> {
        let mut rows = self.identifiers.range((value, system, 0)..=(value, system, u64::MAX))?;
        rows.next().transpose()?.map(|(key, _)| id_of(key.value().2)).transpose()
    }

    /// The first other patient with an identifier.
    fn other_with(&self, system: &str, value: &str, own: Id) -> Result<Option<Id>, StoreError> {
        let rows = self.identifiers.range((value, system, 0)..=(value, system, u64::MAX))?;
        for row in rows.take(2) {
            let id = id_of(row?.0.value().2)?;
            if id != own {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    fn remember(&mut self, id: Id, facts: &PatientFacts, stamp: Stamp) -> Result<(), StoreError> {
        for (system, value) in &facts.identifiers {
            self.identifiers.insert((value.as_str(), system.as_str(), id.get()), ())?;
        }
        let BornRow { key, value } = BornRow::of(id, facts, stamp.milliseconds);
        self.born.insert(key, value)?;
        if !facts.links.is_empty() {
            self.links.insert(id.get(), record::write_links(&facts.links).as_slice())?;
        }
        Ok(())
    }

    /// Takes out what the version before says, and keeps which identifiers the next one has not.
    fn forget(&mut self, id: Id, facts: &PatientFacts, next: &PatientFacts) -> Result<(), StoreError> {
        for identifier @ (system, value) in &facts.identifiers {
            let key = (value.as_str(), system.as_str(), id.get());
            self.identifiers.remove(key)?;
            if !next.identifiers.contains(identifier) {
                self.former.insert(key, ())?;
            }
        }
        for (system, value) in &next.identifiers {
            self.former.remove((value.as_str(), system.as_str(), id.get()))?;
        }
        self.born.remove((facts.born.map_or(UNKNOWN, |(first, _)| first), id.get()))?;
        self.links.remove(id.get())?;
        Ok(())
    }
}

struct PreviousPatient {
    version: Version,
    facts: PatientFacts,
    is_same: bool,
}

/// The tables at one moment, each opened when it is asked for first: certificates do without.
#[derive(Default)]
pub struct PatientTables {
    versions: OptionalTable<(u64, u32), &'static [u8]>,
    identifiers: OptionalTable<(&'static str, &'static str, u64), ()>,
    former: OptionalTable<(&'static str, &'static str, u64), ()>,
    born: OptionalTable<(i32, u64), (i32, u8, i64)>,
}

impl PatientTables {
    /// The newest version of a patient.
    pub fn newest<T>(
        &self,
        transaction: &ReadTransaction,
        id: Id,
        read: impl FnOnce(Version, PatientRecord) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let Some(versions) = opened(&self.versions, transaction, PATIENT)? else { return Ok(None) };
        let read = |version, bytes: &[u8]| read(version, PatientRecord::read(id, version, bytes)?);
        newest(versions, id, read)?.transpose()
    }

    /// The records of all versions.
    pub(super) fn records(&self, transaction: &ReadTransaction) -> Result<KeptEntries<'_>, StoreError> {
        opened(&self.versions, transaction, PATIENT)
    }

    /// One version of a patient.
    pub fn version<T>(
        &self,
        transaction: &ReadTransaction,
        id: Id,
        version: Version,
        read: impl FnOnce(PatientRecord) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let Some(versions) = opened(&self.versions, transaction, PATIENT)? else { return Ok(None) };
        let found = versions.get((id.get(), version.get()))?;
        found.map(|bytes| read(PatientRecord::read(id, version, bytes.value())?)).transpose()
    }

    /// All versions of a patient, newest first.
    pub fn versions<T>(
        &self,
        transaction: &ReadTransaction,
        id: Id,
        mut read: impl FnMut(Version, PatientRecord) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let Some(versions) = opened(&self.versions, transaction, PATIENT)? else { return Ok(Vec::new()) };
        let rows = versions.range((id.get(), 1)..=(id.get(), u32::MAX))?.rev();
        rows.map(|row| {
            let (key, bytes) = row?;
            let version = Version::new(key.value().1).expect("the range begins at version 1");
            read(version, PatientRecord::read(id, version, bytes.value())?)
        })
        .collect()
    }

    /// Current patients with an identifier of this value: system and id, in their order.
    pub fn with(&self, transaction: &ReadTransaction, value: &str) -> Result<Vec<(String, Id)>, StoreError> {
        opened(&self.identifiers, transaction, IDENTIFIER)?.map_or(Ok(Vec::new()), |table| with(table, value))
    }

    /// As [`with`](Self::with), of patients who had it before and have it no more.
    pub fn formerly_with(&self, transaction: &ReadTransaction, value: &str) -> Result<Vec<(String, Id)>, StoreError> {
        opened(&self.former, transaction, FORMER)?.map_or(Ok(Vec::new()), |table| with(table, value))
    }

    /// Patients whose birth date can mean a day of `from..=to`, by its first day, then id. None when they are more than `max`.
    pub fn born(
        &self,
        transaction: &ReadTransaction,
        from: i32,
        to: i32,
        max: usize,
    ) -> Result<Option<Vec<PatientLine>>, StoreError> {
        let Some(born) = opened(&self.born, transaction, BORN)? else { return Ok(Some(Vec::new())) };
        // A birth date that begins before `from` may reach into it.
        let first = from.saturating_sub(BIRTH_DATE_DAYS_MAX).max(UNKNOWN + 1);
        if from > to || first > to {
            return Ok(Some(Vec::new()));
        }
        let lines = born.range((first, 0)..=(to, u64::MAX))?.map(line);
        bounded(
            lines.filter(|line| line.as_ref().map_or(true, |line| line.born.is_some_and(|(_, last)| last >= from))),
            max,
        )
    }

    /// All patients: those without a birth date first, then as [`born`](Self::born).
    pub fn all(&self, transaction: &ReadTransaction, max: usize) -> Result<Option<Vec<PatientLine>>, StoreError> {
        let Some(born) = opened(&self.born, transaction, BORN)? else { return Ok(Some(Vec::new())) };
        bounded(born.iter()?.map(line), max)
    }

    /// Number of patients.
    pub fn count(&self, transaction: &ReadTransaction) -> Result<u64, StoreError> {
        // Each has one line.
        opened(&self.born, transaction, BORN)?.map_or(Ok(0), |born| born.len())
    }
}

fn with(
    identifiers: &ReadOnlyTable<(&'static str, &'static str, u64), ()>,
    value: &str,
) -> Result<Vec<(String, Id)>, StoreError> {
    let mut found = Vec::new();
    for row in identifiers.range((value, "", 0)..)? {
        let (key, _) = row?;
        let (met, system, id) = key.value();
        if met != value {
            break;
        }
        found.push((system.to_owned(), id_of(id)?));
    }
    Ok(found)
}

/// Links of all current patients that have some.
pub fn links(transaction: &ReadTransaction) -> Result<Vec<(Id, Vec<Id>)>, StoreError> {
    let Some(links) = transaction.find_table(LINK)? else { return Ok(Vec::new()) };
    let rows = links.iter()?;
    let read = |id: Id, bytes: &[u8]| {
        let links = record::links(bytes);
        links.ok_or_else(|| StoreError::Damaged(format!("the links of Patient/{id} are not readable")))
    };
    rows.map(|row| {
        let (key, bytes) = row?;
        let id = id_of(key.value())?;
        Ok((id, read(id, bytes.value())?))
    })
    .collect()
}

/// A row of the table of birth dates, as it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BornRow {
    /// First day and id.
    pub key: (i32, u64),
    /// Last day, flags, time.
    pub value: (i32, u8, i64),
}

impl BornRow {
    /// The row of a patient.
    pub fn of(id: Id, facts: &PatientFacts, milliseconds: i64) -> BornRow {
        let flags = if facts.is_active { ACTIVE } else { 0 } | if facts.is_deceased { DECEASED } else { 0 };
        let (first, last) = facts.born.unwrap_or((UNKNOWN, UNKNOWN));
        BornRow { key: (first, id.get()), value: (last, flags, milliseconds) }
    }
}

/// A row of the table of birth dates where it lies.
type BornLying<'a> = (PageGuard<'a, (i32, u64)>, PageGuard<'a, (i32, u8, i64)>);

fn line(row: Result<BornLying, StoreError>) -> Result<PatientLine, StoreError> {
    let (key, value) = row?;
    let ((first, id), (last, flags, milliseconds)) = (key.value(), value.value());
    Ok(PatientLine {
        id: id_of(id)?,
        born: (first != UNKNOWN).then_some((first, last)),
        is_active: flags & ACTIVE != 0,
        is_deceased: flags & DECEASED != 0,
        milliseconds,
    })
}

/// All of them, or nothing when they are more than `max`.
fn bounded(
    lines: impl Iterator<Item = Result<PatientLine, StoreError>>,
    max: usize,
) -> Result<Option<Vec<PatientLine>>, StoreError> {
    let mut found = Vec::new();
    for line in lines {
        if found.len() == max {
            return Ok(None);
        }
        found.push(line?);
    }
    Ok(Some(found))
}

/// An id as it stands in a key.
pub(super) fn id_of(number: u64) -> Result<Id, StoreError> {
    Id::new(number).ok_or_else(|| StoreError::Damaged("a patient has id 0".into()))
}

#[cfg(test)]
impl super::Store {
    /// Flips a bit in the first version of a patient.
    pub fn damage_patient(&self, id: Id) {
        let guard = self.database.read().unwrap();
        let transaction = guard.as_ref().expect("the store is open").begin_write().unwrap();
        {
            let mut versions = transaction.open_table(PATIENT).unwrap();
            let mut record = versions.get((id.get(), 1)).unwrap().expect("the patient is there").value().to_vec();
            let last = record.len() - 9;
            record[last] ^= 1;
            versions.insert((id.get(), 1), record.as_slice()).unwrap();
        }
        transaction.commit().unwrap();
        drop(guard);
        self.forget_reader();
    }
}
