//! Changes as the audit trail knows them, from their entries.

use super::store::record::{FieldTag, VersionRecord};
use super::store::{ChangeKind, ChangeRow, StoreError, StoreReader};
use super::{EngineShared, actor, subject};
use crate::{ChangeAction, CommittedChange, EntryLog, VersionSubject};
use certificate::search::parameter::Field;
use certificate::search::row::Row;
use certificate::search::term::{Term, TermForm};
use certificate::{Id, Seq, Version};

impl EngineShared {
    pub(super) fn committed_after(&self, after: Seq, max: usize) -> Result<Vec<CommittedChange>, StoreError> {
        let reader = self.store.reader()?;
        reader.changes_after(after, max)?.into_iter().map(|change| committed(self, &reader, change)).collect()
    }

    /// Whom a version is about: as the registry knew them, else as its row says.
    pub(super) fn patient_in(&self, record: &VersionRecord) -> Result<Option<VersionSubject>, StoreError> {
        match subject_in(record)? {
            Some(known) => Ok(Some(known)),
            None => Ok(self.row(record)?.and_then(|row| said(&row))),
        }
    }

    fn patient_of(&self, reader: &StoreReader, id: Id, version: Version) -> Result<Option<VersionSubject>, StoreError> {
        let patient = |bytes: &[u8]| self.patient_in(&VersionRecord::read(bytes)?);
        Ok(reader.version(id, version, patient)?.transpose()?.flatten())
    }
}

/// Whom a row names: the id in its reference, which is empty where there is none, and its identifiers.
fn said(row: &Row) -> Option<VersionSubject> {
    let id = |term: &Term| term.verbatim(Field::Subject, TermForm::Code)?.strip_prefix("Patient/").map(str::to_owned);
    let identifier = |term: &Term| {
        let (system, value) = term.verbatim(Field::SubjectIdentifier, TermForm::SystemCode)?.split_once('|')?;
        Some((system.to_owned(), value.to_owned()))
    };
    let id = row.terms.iter().find_map(id).unwrap_or_default();
    let identifiers: Vec<_> = row.terms.iter().filter_map(identifier).collect();
    (!id.is_empty() || !identifiers.is_empty()).then(|| VersionSubject { id, version: String::new(), identifiers })
}

fn committed(shared: &EngineShared, reader: &StoreReader, change: ChangeRow) -> Result<CommittedChange, StoreError> {
    let ChangeRow { seq, id, .. } = change;
    let hash = reader
        .entry_hash(EntryLog::Changes, seq.0)?
        .ok_or_else(|| StoreError::Damaged(format!("change {seq} is missing")))?;
    match change.what {
        ChangeKind::Version(version) => {
            let found = reader.version(id, version, |bytes| -> Result<_, StoreError> {
                let record = VersionRecord::read(bytes)?;
                let state = record.made_state()?;
                let action =
                    if record.is_imported()? { ChangeAction::Import } else { ChangeAction::of(version, state) };
                Ok((state, record.stamp, action, actor::decode(record.fields)?))
            })?;
            let (state, stamp, action, who) = found.ok_or_else(|| missing(id, version))??;
            let patient_of = |version| shared.patient_of(reader, id, version);
            let ChangePatients { patient, moved_from } = match action {
                // Told as one, and not by whom it is about.
                ChangeAction::Import => ChangePatients::default(),
                _ => {
                    let before = version.before().map(patient_of).transpose()?.flatten();
                    ChangePatients::of(patient_of(version)?, before)
                }
            };
            let (at, consent) = (stamp.milliseconds, None);
            Ok(CommittedChange { seq, hash, id, version, state, at, action, consent, who, patient, moved_from })
        }
        ChangeKind::Consent(number) => {
            let (version, consent, stamp, who) = reader.consent_change(id, number, |record| {
                Ok((record.version, record.consent, record.stamp, actor::decode(record.fields)?))
            })?;
            let state = reader.version(id, version, |bytes| VersionRecord::read(bytes)?.made_state())?;
            let state = state.ok_or_else(|| missing(id, version))??;
            let ChangePatients { patient, moved_from } =
                ChangePatients::of(shared.patient_of(reader, id, version)?, None);
            let (action, consent) = (ChangeAction::Consent, Some(consent));
            let at = stamp.milliseconds;
            Ok(CommittedChange { seq, hash, id, version, state, at, action, consent, who, patient, moved_from })
        }
        _ => Err(change.misplaced()),
    }
}

/// Whom a change concerns: the patient of the version it made, and that of the version before, where the change moved it.
#[derive(Default)]
struct ChangePatients {
    patient: Option<String>,
    moved_from: Option<VersionSubject>,
}

impl ChangePatients {
    /// `made` is the patient of the version that was made, `before` that of the one before. A deletion makes a version without any.
    fn of(made: Option<VersionSubject>, before: Option<VersionSubject>) -> ChangePatients {
        let id = |subject: VersionSubject| Some(subject.id).filter(|id| !id.is_empty());
        match (made, before) {
            (None, before) => ChangePatients { patient: before.and_then(id), moved_from: None },
            (Some(made), before) => {
                let moved_from = before.filter(|before| before.id != made.id);
                ChangePatients { patient: id(made), moved_from }
            }
        }
    }
}

/// The patient that a version is about, where the registry was asked for them.
pub(super) fn subject(reader: &StoreReader, id: Id, version: Version) -> Result<Option<VersionSubject>, StoreError> {
    let subject = |bytes: &[u8]| subject_in(&VersionRecord::read(bytes)?);
    Ok(reader.version(id, version, subject)?.transpose()?.flatten())
}

/// The patient that a record names, as the registry knew them.
pub(super) fn subject_in(record: &VersionRecord) -> Result<Option<VersionSubject>, StoreError> {
    let Some(field) = record.fields.get(FieldTag::Subject)? else { return Ok(None) };
    let damaged = || StoreError::Damaged("the subject of a record is cut".into());
    subject::decode(field).map(Some).ok_or_else(damaged)
}

fn missing(id: Id, version: Version) -> StoreError {
    StoreError::Damaged(format!("version {version} of Composition/{id} is missing"))
}
