//! Patients: read from the store, written through the one writer, and tied to each other in memory.

use std::sync::{Arc, PoisonError};

use super::links::PatientLinks;
use super::store::StoreError;
use super::store::patient::record::PatientRecord;
use super::store::{ChangeKind, LoggedEntry};
use super::{Engine, EngineShared};
use crate::{EntryLog, PatientFacts, PatientLine, StoredPatient};
use certificate::{Id, Version, head};
use fhir::json::{self, Json};

/// The patients of an engine: its registry of those whose data are embedded.
#[derive(Clone, Copy)]
pub struct Patients<'e>(&'e Engine);

impl Engine {
    /// Its patients, to be read.
    pub fn patients(&self) -> Patients<'_> {
        Patients(self)
    }
}

impl Patients<'_> {
    /// The newest version of a patient; none when the id is unknown.
    pub fn newest(&self, id: Id) -> Result<Option<StoredPatient>, StoreError> {
        self.0.reading(|reader| reader.newest_patient(id, |version, record| stored(id, version, &record)))
    }

    /// One version of a patient.
    pub fn version(&self, id: Id, version: Version) -> Result<Option<StoredPatient>, StoreError> {
        self.0.reading(|reader| reader.patient_version(id, version, |record| stored(id, version, &record)))
    }

    /// All versions of a patient, newest first.
    pub fn versions(&self, id: Id) -> Result<Vec<StoredPatient>, StoreError> {
        self.0.reading(|reader| reader.patient_versions(id, |version, record| stored(id, version, &record)))
    }

    /// What the newest version of a patient says, without its resource: some two microseconds.
    pub fn facts(&self, id: Id) -> Result<Option<(Version, PatientFacts)>, StoreError> {
        self.0.reading(|reader| reader.newest_patient(id, |version, record| Ok((version, record.facts()?))))
    }

    /// The newest version of a patient, in few words.
    pub fn line(&self, id: Id) -> Result<Option<PatientLine>, StoreError> {
        let line = |record: &PatientRecord| {
            let PatientFacts { is_active, is_deceased, born, .. } = record.facts()?;
            Ok(PatientLine { id, born, is_active, is_deceased, milliseconds: record.stamp.milliseconds })
        };
        self.0.reading(|reader| reader.newest_patient(id, |_, record| line(&record)))
    }

    /// Current patients with an identifier of this value: its system and their id, by system, then id. A patient stands here once
    /// for each system.
    pub fn with(&self, value: &str) -> Result<Vec<(String, Id)>, StoreError> {
        self.0.reading(|reader| reader.patients_with(value))
    }

    /// Patients whom an identifier names or named: those who have it now, else those who had it in an earlier version.
    pub fn known_by(&self, system: &str, value: &str) -> Result<Vec<Id>, StoreError> {
        let of_system = |found: Vec<(String, Id)>| -> Vec<Id> {
            found.into_iter().filter(|(of, _)| of == system).map(|(_, id)| id).collect()
        };
        self.0.reading(|reader| {
            let now = of_system(reader.patients_with(value)?);
            if now.is_empty() { reader.patients_formerly_with(value).map(of_system) } else { Ok(now) }
        })
    }

    /// Identifiers of a patient, system and value: those of the newest version, and those of earlier ones that no other patient has now.
    pub fn identifiers(&self, id: Id) -> Result<Vec<(String, String)>, StoreError> {
        self.0.reading(|reader| {
            let versions = reader.patient_versions(id, |_, record| Ok(record.facts()?.identifiers))?;
            let mut known = Vec::new();
            for (at, identifiers) in versions.into_iter().enumerate() {
                for identifier @ (system, value) in &identifiers {
                    let is_others = || -> Result<bool, StoreError> {
                        Ok(reader.patients_with(value)?.iter().any(|(of, other)| of == system && *other != id))
                    };
                    if !known.contains(identifier) && (at == 0 || !is_others()?) {
                        known.push(identifier.clone());
                    }
                }
            }
            Ok(known)
        })
    }

    /// Patients whose birth date can mean one of the days `from..=to` (since 1970-01-01), by its first day, then id. None when they
    /// are more than `max`.
    pub fn born(&self, from: i32, to: i32, max: usize) -> Result<Option<Vec<PatientLine>>, StoreError> {
        self.0.reading(|reader| reader.patients_born(from, to, max))
    }

    /// All patients: those without a birth date first, then as [`born`](Self::born). None when they are more than `max`.
    pub fn all(&self, max: usize) -> Result<Option<Vec<PatientLine>>, StoreError> {
        self.0.reading(|reader| reader.patients_all(max))
    }

    /// Versions of patients in the order they were made, behind a change of patients, at most `max`: number, id and version. They
    /// are numbered from 1 without gaps, apart from changes of certificates.
    pub fn changes(&self, after: u64, max: usize) -> Result<Vec<(u64, Id, Version)>, StoreError> {
        let entries = self.0.reading(|reader| reader.entries_after(EntryLog::Register, after, max))?;
        let version = |entry: LoggedEntry| match entry.row.what {
            ChangeKind::Patient(version) => Some((entry.row.seq.0, entry.row.id, version)),
            _ => None,
        };
        Ok(entries.into_iter().filter_map(version).collect())
    }

    /// Number of the newest change of patients; 0 while there is none.
    pub fn last_change(&self) -> Result<u64, StoreError> {
        self.0.reading(|reader| Ok(reader.last_entry(EntryLog::Register)?.map_or(0, |entry| entry.row.seq.0)))
    }

    /// Number of patients.
    pub fn count(&self) -> Result<u64, StoreError> {
        self.0.reading(|reader| reader.patient_count())
    }

    /// Everyone tied to a patient by links of current patients in either direction, and to those in turn, nearest first, the patient
    /// left out; at most [`LINKED_PATIENTS_MAX`](crate::limits::LINKED_PATIENTS_MAX). Some may be unknown here.
    pub fn linked(&self, id: Id) -> Arc<[Id]> {
        self.0.shared.links.read().unwrap_or_else(PoisonError::into_inner).tied(id)
    }
}

fn stored(id: Id, version: Version, record: &PatientRecord) -> Result<StoredPatient, StoreError> {
    let resource = resource(id, version, record)?;
    Ok(StoredPatient { id, version, stamp: record.stamp, facts: record.facts()?, resource })
}

/// The resource of a version. Type and id stand in its head; a second one behind it is refused.
///
/// # Errors
/// `Damaged` when it is not the JSON of a resource.
pub(super) fn resource(id: Id, version: Version, record: &PatientRecord) -> Result<Vec<u8>, StoreError> {
    let mut resource = Vec::with_capacity(head::HEAD_BYTES_MAX + record.tail.len());
    head::write(&mut resource, "Patient", id, version, record.stamp);
    resource.extend_from_slice(record.tail);
    match json::parse(&resource) {
        Ok(Json::Object(_)) => Ok(resource),
        _ => Err(StoreError::Damaged(format!("the resource of version {version} of Patient/{id} is not JSON"))),
    }
}

impl EngineShared {
    /// Takes links of new versions in; they were committed.
    pub(super) fn link(&self, changed: Vec<(Id, Vec<Id>)>) {
        if !changed.is_empty() {
            let mut links = self.links.write().unwrap_or_else(PoisonError::into_inner);
            changed.into_iter().for_each(|(id, others)| links.set(id, others));
        }
    }

    /// Reads all links anew, where it is not known what was committed.
    pub(super) fn read_links(&self) -> Result<(), StoreError> {
        let links = PatientLinks::read(&*self.store.reader()?)?;
        // A writer that panicked may have left the ones before half-way; nobody sees them again.
        *self.links.write().unwrap_or_else(PoisonError::into_inner) = links;
        Ok(())
    }
}
