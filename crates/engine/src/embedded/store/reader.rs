//! Reading at one moment.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use redb::{TableDefinition, TableHandle, Value};

use super::body::Dictionary;
use super::chain::{CHAIN_ORIGIN, origin};
use super::change::{ChangeKind, ChangeRow, LOGGED_BYTES};
use super::list::LIST;
use super::log::{OwnedGuard, ReadOnlyTable, ReadTransaction};
use super::mark::MARK;
use super::newest::{newest, version_of};
use super::optional::{KeptEntries, OptionalTable, opened};
use super::pages::Pages;
use super::{DICTIONARY, LOG, META, REGISTER, StoreError, VERSION, consent, list, patient};
use crate::{EntryHash, EntryLog, PatientLine, StoreChain, StoredList};
use certificate::{Consent, Id, Seq, Version};
use patient::record::PatientRecord as Patient;

/// One moment of the store.
pub struct StoreReader {
    path: Arc<Path>,
    pub(super) transaction: ReadTransaction,
    /// Opened when it is asked for first, as the next: creates look at patients only.
    versions: OnceLock<ReadOnlyTable<(u64, u32), &'static [u8]>>,
    changes: OnceLock<ReadOnlyTable<u64, &'static [u8; LOGGED_BYTES]>>,
    register: OptionalTable<u64, &'static [u8; LOGGED_BYTES]>,
    lists: OptionalTable<(u64, u32), &'static [u8]>,
    marks: OptionalTable<(u64, u32), &'static [u8]>,
    patients: patient::PatientTables,
    /// None while everything is open.
    consents: Option<consent::ConsentTables>,
}

impl StoreReader {
    pub(super) fn new(path: Arc<Path>, transaction: ReadTransaction, has_consent: bool) -> StoreReader {
        StoreReader {
            path,
            versions: OnceLock::new(),
            changes: OnceLock::new(),
            register: OnceLock::new(),
            lists: OnceLock::new(),
            marks: OnceLock::new(),
            patients: patient::PatientTables::default(),
            consents: has_consent.then(consent::ConsentTables::default),
            transaction,
        }
    }

    fn table(&self) -> Result<&ReadOnlyTable<(u64, u32), &'static [u8]>, StoreError> {
        if let Some(versions) = self.versions.get() {
            return Ok(versions);
        }
        let versions = self.transaction.open_table(VERSION)?;
        Ok(self.versions.get_or_init(|| versions))
    }

    fn changes(&self) -> Result<&ReadOnlyTable<u64, &'static [u8; LOGGED_BYTES]>, StoreError> {
        if let Some(changes) = self.changes.get() {
            return Ok(changes);
        }
        let changes = self.transaction.open_table(LOG)?;
        Ok(self.changes.get_or_init(|| changes))
    }

    /// The rows of a log, where it has some.
    pub(super) fn log(
        &self,
        log: EntryLog,
    ) -> Result<Option<&ReadOnlyTable<u64, &'static [u8; LOGGED_BYTES]>>, StoreError> {
        match log {
            EntryLog::Changes => self.changes().map(Some),
            EntryLog::Register => opened(&self.register, &self.transaction, REGISTER),
        }
    }

    /// Where the entries of a kind lie.
    pub(super) fn kept(&self, kind: ChangeKind) -> Result<KeptEntries<'_>, StoreError> {
        match kind {
            ChangeKind::Version(_) => self.table().map(Some),
            ChangeKind::Consent(_) => match &self.consents {
                Some(consents) => consents.records(&self.transaction),
                None => Ok(None),
            },
            ChangeKind::Patient(_) => self.patients.records(&self.transaction),
            ChangeKind::List(_) => opened(&self.lists, &self.transaction, LIST),
            ChangeKind::Mark => opened(&self.marks, &self.transaction, MARK),
        }
    }

    /// One version, handed to `read` where it lies.
    pub fn version<T>(&self, id: Id, version: Version, read: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, StoreError> {
        let found = self.table()?.get((id.get(), version.get()))?;
        Ok(found.map(|bytes| read(bytes.value())))
    }

    /// One version, to be read later.
    pub fn lying(&self, id: Id, version: Version) -> Result<Option<StoredVersionPage>, StoreError> {
        // A guard of `get` would outlive the transaction, and its page be written anew under it.
        Ok(self.table()?.get_owned((id.get(), version.get()))?.map(StoredVersionPage))
    }

    /// The newest version of a certificate.
    pub fn newest<T>(&self, id: Id, read: impl FnOnce(Version, &[u8]) -> T) -> Result<Option<T>, StoreError> {
        match newest(self.table()?, id, read)? {
            None => self.expect_none(VERSION, id),
            found => Ok(found),
        }
    }

    /// What was not found is not there, unless the page is damaged that would have it: a search passes by a damaged key.
    fn expect_none<T, V: Value + 'static>(
        &self,
        table: TableDefinition<(u64, u32), V>,
        id: Id,
    ) -> Result<Option<T>, StoreError> {
        if let ReadTransaction::Memory(_) = self.transaction {
            return Ok(None);
        }
        match Pages::damage_between(&self.path, table, [(id.get(), 0), (id.get(), u32::MAX)])? {
            Some(problem) => Err(StoreError::Damaged(format!("{}: {problem}", table.name()))),
            None => Ok(None),
        }
    }

    /// Versions of a certificate from the newest down, until `each` says stop.
    pub fn versions(&self, id: Id, mut each: impl FnMut(Version, &[u8]) -> bool) -> Result<(), StoreError> {
        for row in self.table()?.range((id.get(), 1)..=(id.get(), u32::MAX))?.rev() {
            let (key, bytes) = row?;
            if !each(version_of(key.value().1)?, bytes.value()) {
                break;
            }
        }
        Ok(())
    }

    /// Walks the versions of all certificates, by id and number, until `each` says stop. Longer than a reader should be: for
    /// stores that nobody writes to.
    pub fn all(&self, mut each: impl FnMut(Version, &[u8]) -> Result<bool, StoreError>) -> Result<(), StoreError> {
        for row in self.table()?.iter()? {
            let (key, bytes) = row?;
            if !each(version_of(key.value().1)?, bytes.value())? {
                break;
            }
        }
        Ok(())
    }

    /// The loaded code lists.
    pub fn lists(
        &self,
        dictionary: impl Fn(u8) -> Result<Dictionary, StoreError>,
    ) -> Result<Vec<StoredList>, StoreError> {
        list::read_all(&self.transaction, dictionary)
    }

    /// What is wrong with the table of code lists, in words.
    pub fn differing_lists(&self) -> Result<Vec<String>, StoreError> {
        list::differing_ids(&self.transaction)
    }

    /// The consent that holds for a certificate.
    pub fn consent(&self, id: Id) -> Result<Consent, StoreError> {
        self.consents.as_ref().map_or(Ok(Consent::default()), |consents| consents.now(&self.transaction, id))
    }

    /// The consent that held for a certificate after a change of the store.
    pub fn consent_at(&self, id: Id, seq: Seq) -> Result<Consent, StoreError> {
        self.consents.as_ref().map_or(Ok(Consent::default()), |consents| consents.at(&self.transaction, id, seq))
    }

    /// One change of a certificate's consent.
    pub fn consent_change<T>(
        &self,
        id: Id,
        number: u32,
        read: impl FnOnce(consent::record::StoredConsent) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let found = match &self.consents {
            Some(consents) => consents.change(&self.transaction, id, number, read)?,
            None => None,
        };
        found.ok_or_else(|| {
            StoreError::Damaged(format!("change {number} of the consent of Composition/{id} is missing"))
        })
    }

    /// Changes of a certificate's consent from the newest back, while `each` says so.
    pub fn consent_changes(
        &self,
        id: Id,
        each: impl FnMut(u32, consent::record::StoredConsent) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        self.consents.as_ref().map_or(Ok(()), |consents| consents.each(&self.transaction, id, each))
    }

    /// Certificates that are closed to someone, deleted ones too.
    pub fn closed(&self) -> Result<Vec<(Id, Consent)>, StoreError> {
        self.consents.as_ref().map_or(Ok(Vec::new()), |consents| consents.closed(&self.transaction))
    }

    /// The newest version of a patient.
    pub fn newest_patient<T>(
        &self,
        id: Id,
        read: impl FnOnce(Version, Patient) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        match self.patients.newest(&self.transaction, id, read)? {
            None => self.expect_none(patient::PATIENT, id),
            found => Ok(found),
        }
    }

    /// One version of a patient.
    pub fn patient_version<T>(
        &self,
        id: Id,
        version: Version,
        read: impl FnOnce(Patient) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        self.patients.version(&self.transaction, id, version, read)
    }

    /// All versions of a patient, newest first.
    pub fn patient_versions<T>(
        &self,
        id: Id,
        read: impl FnMut(Version, Patient) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        self.patients.versions(&self.transaction, id, read)
    }

    /// Current patients with an identifier of this value: system and id, in their order.
    pub fn patients_with(&self, value: &str) -> Result<Vec<(String, Id)>, StoreError> {
        self.patients.with(&self.transaction, value)
    }

    /// As [`patients_with`](Self::patients_with), of patients who had it before and have it no more.
    pub fn patients_formerly_with(&self, value: &str) -> Result<Vec<(String, Id)>, StoreError> {
        self.patients.formerly_with(&self.transaction, value)
    }

    /// Patients whose birth date can mean a day of `from..=to`, by its first day, then id. None when they are more than `max`.
    pub fn patients_born(&self, from: i32, to: i32, max: usize) -> Result<Option<Vec<PatientLine>>, StoreError> {
        self.patients.born(&self.transaction, from, to, max)
    }

    /// All patients, those without a birth date first. None when they are more than `max`.
    pub fn patients_all(&self, max: usize) -> Result<Option<Vec<PatientLine>>, StoreError> {
        self.patients.all(&self.transaction, max)
    }

    /// Number of patients.
    pub fn patient_count(&self) -> Result<u64, StoreError> {
        self.patients.count(&self.transaction)
    }

    /// Links of all current patients that have some.
    pub fn patient_links(&self) -> Result<Vec<(Id, Vec<Id>)>, StoreError> {
        patient::links(&self.transaction)
    }

    /// One change.
    pub fn change(&self, seq: Seq) -> Result<Option<ChangeRow>, StoreError> {
        self.changes()?.get(seq.0)?.map(|bytes| ChangeRow::of_log(seq.0, bytes.value())).transpose()
    }

    /// Changes after one, in their order, at most `max`.
    pub fn changes_after(&self, seq: Seq, max: usize) -> Result<Vec<ChangeRow>, StoreError> {
        Ok(self.entries_after(EntryLog::Changes, seq.0, max)?.into_iter().map(|entry| entry.row).collect())
    }

    /// The newest change.
    pub fn last_change(&self) -> Result<Option<ChangeRow>, StoreError> {
        Ok(self.last_entry(EntryLog::Changes)?.map(|entry| entry.row))
    }

    /// Where the chains begin.
    pub(super) fn chain_origin(&self) -> Result<EntryHash, StoreError> {
        origin(self.meta(CHAIN_ORIGIN)?.as_deref())
    }

    /// How far the chains go.
    pub fn chain(&self) -> Result<StoreChain, StoreError> {
        let origin = self.chain_origin()?;
        let head = |log| Ok::<_, StoreError>(self.last_entry(log)?.map_or(origin, |entry| entry.hash));
        Ok(StoreChain { origin, changes: head(EntryLog::Changes)?, register: head(EntryLog::Register)? })
    }

    /// A value of `meta`.
    pub fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let meta = self.transaction.open_table(META)?;
        Ok(meta.get(name)?.map(|value| value.value().to_vec()))
    }

    /// What bodies are compressed with, by number.
    pub fn dictionaries(&self) -> Result<Vec<(u8, Vec<u8>)>, StoreError> {
        let table = self.transaction.open_table(DICTIONARY)?;
        let rows = table.iter()?;
        rows.map(|row| row.map(|(number, content)| (number.value(), content.value().to_vec()))).collect()
    }

    /// A number of `meta`.
    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, StoreError> {
        let number = self.meta(name)?.map(|bytes| bytes.try_into().map(u64::from_le_bytes));
        number.transpose().map_err(|_| StoreError::Damaged(format!("'{name}' is no number")))
    }
}

/// A version where it lies in the store. It keeps its moment's pages from being used again.
pub struct StoredVersionPage(OwnedGuard<&'static [u8]>);

impl StoredVersionPage {
    /// The record as it is stored, which [`VersionRecord::read`](super::record::VersionRecord::read) reads.
    pub fn bytes(&self) -> &[u8] {
        self.0.value()
    }
}
