//! Changes as the audit trail knows them: told by the writer as they are committed, and told again from the records where that was
//! cut off.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::store::record::{FieldTag, VersionRecord};
use super::store::{ChangeKind, ChangeRow, StoreError, StoreReader};
use super::{Engine, EngineShared, subject, who};
use crate::{ChangeAction, CommittedChange};
use base::log::event;
use certificate::{Id, Seq, State, Version};

impl Engine {
    /// Changes after one, in their order, at most `max`: the same as the witness was told when they were made.
    pub fn changes_for_audit(&self, after: Seq, max: usize) -> Result<Vec<CommittedChange>, StoreError> {
        self.shared.committed_after(after, max)
    }
}

impl EngineShared {
    /// Tells the witness, where there is one.
    pub(super) fn tell(&self, changes: &[CommittedChange]) {
        let Some(witness) = self.witness.as_ref().filter(|_| !changes.is_empty()) else { return };
        // The changes are committed, whatever becomes of the telling.
        if catch_unwind(AssertUnwindSafe(|| witness.committed(changes))).is_err() {
            event!(THREAD_OF_WITNESS);
        }
    }

    pub(super) fn committed_after(&self, after: Seq, max: usize) -> Result<Vec<CommittedChange>, StoreError> {
        let reader = self.store.reader()?;
        reader.changes_after(after, max)?.into_iter().map(|change| committed(&reader, change)).collect()
    }
}

fn committed(reader: &StoreReader, change: ChangeRow) -> Result<CommittedChange, StoreError> {
    let ChangeRow { seq, id, .. } = change;
    match change.what {
        ChangeKind::Version(version) => {
            let found = reader.version(id, version, |bytes| -> Result<_, StoreError> {
                let record = VersionRecord::read(bytes)?;
                let action =
                    if record.is_imported()? { ChangeAction::Import } else { ChangeAction::of(version, record.state) };
                Ok((record.state, record.stamp, action, who::decode(record.fields)?))
            })?;
            let (state, stamp, action, who) = found.ok_or_else(|| missing(id, version))??;
            let about = if state == State::Deleted { version.before() } else { Some(version) };
            let patient = about.map(|version| patient(reader, id, version)).transpose()?.flatten();
            let at = stamp.milliseconds;
            Ok(CommittedChange { seq, id, version, state, at, action, consent: None, who, patient })
        }
        ChangeKind::Consent(number) => {
            let (version, consent, stamp, who) = reader.consent_change(id, number, |record| {
                Ok((record.version, record.consent, record.stamp, who::decode(record.fields)?))
            })?;
            let state = reader.version(id, version, |bytes| VersionRecord::read(bytes).map(|record| record.state))?;
            let state = state.ok_or_else(|| missing(id, version))??;
            let patient = patient(reader, id, version)?;
            let (action, consent) = (ChangeAction::Consent, Some(consent));
            let at = stamp.milliseconds;
            Ok(CommittedChange { seq, id, version, state, at, action, consent, who, patient })
        }
    }
}

fn patient(reader: &StoreReader, id: Id, version: Version) -> Result<Option<String>, StoreError> {
    Ok(reader.version(id, version, patient_of)?.transpose()?.flatten())
}

/// The registry's id of the patient that a stored version names.
pub(super) fn patient_of(bytes: &[u8]) -> Result<Option<String>, StoreError> {
    let Some(field) = VersionRecord::read(bytes)?.fields.get(FieldTag::Subject)? else { return Ok(None) };
    let damaged = || StoreError::Damaged("the subject of a record is cut".into());
    Ok(Some(subject::decode(field).ok_or_else(damaged)?.id))
}

fn missing(id: Id, version: Version) -> StoreError {
    StoreError::Damaged(format!("version {version} of Composition/{id} is missing"))
}
