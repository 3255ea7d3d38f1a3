//! What a backup is made from: one moment, then pieces of the logs up to it while the writer goes on. And what a copied piece must be.

use std::collections::HashMap;

use super::Engine;
use super::store::body::{self, Dictionary};
use super::store::consent::record::StoredConsent as ConsentRecord;
use super::store::copy::{self, CopiedChange};
use super::store::patient::CopiedPatient;
use super::store::patient::record::PatientRecord;
use super::store::record::VersionRecord;
use super::store::row;
use super::store::{ChangeKind, StoreError};
use crate::limits::{COPY_RECORD_BYTES_MAX, ID_MAX};
use crate::{KeptTime, LogPiece, StoreMoment};
use certificate::search::row::Row;
use certificate::{Seq, State};

impl Engine {
    /// The newest moment, read in one short transaction.
    pub fn moment(&self) -> Result<StoreMoment, StoreError> {
        self.reading(|reader| {
            let names =
                self.names.0.iter().map(|(name, _)| Ok((name.clone(), reader.meta_text(&format!("name.{name}"))?)));
            let position = reader.position()?;
            let since_1970 = |stamp: i64| (stamp > i64::MIN).then_some(stamp);
            Ok(StoreMoment {
                store: reader.meta_text("store")?,
                epoch: reader.meta_text("epoch")?,
                names: names.collect::<Result<_, StoreError>>()?,
                until: position.seq,
                patients_until: reader.last_patient_change()?,
                next_id: position.next_id.get(),
                next_patient_id: reader.meta_number("next-patient-id")?.unwrap_or(1),
                dictionaries: reader.dictionaries()?,
                lists: reader.lists()?,
                time: KeptTime {
                    newest: since_1970(position.milliseconds),
                    accepted: since_1970(reader.clock_accepted()?),
                    resets: reader.clock_resets()?,
                },
                purpose: reader.purpose()?,
                audit_head: reader.audit_head()?,
            })
        })
    }

    /// Copies changes after one and up to another, as many as a piece holds; none when there is nothing between the two.
    ///
    /// # Errors
    /// A change, or what it made, is missing or cannot be read.
    pub fn copy_changes(&self, after: Seq, until: Seq) -> Result<LogPiece, StoreError> {
        self.shared.heed(copy::changes(&self.shared.store, after.0, until.0))
    }

    /// As [`copy_changes`](Self::copy_changes), of the versions of patients.
    pub fn copy_patients(&self, after: u64, until: u64) -> Result<LogPiece, StoreError> {
        self.shared.heed(copy::patients(&self.shared.store, after, until))
    }
}

/// Reads copied pieces without storing them: every row whole, in its place and behind the one before.
pub struct CopyCheck {
    dictionaries: HashMap<u8, Dictionary>,
    raw: Vec<u8>,
}

impl CopyCheck {
    /// # Errors
    /// A dictionary cannot be used.
    pub fn new(dictionaries: &[(u8, Vec<u8>)]) -> Result<CopyCheck, StoreError> {
        let ready = dictionaries.iter().map(|(number, content)| Ok((*number, body::dictionary(content)?)));
        Ok(CopyCheck { dictionaries: ready.collect::<Result<_, StoreError>>()?, raw: Vec::new() })
    }

    /// Reads a piece whose first change follows `after`; its last one comes back.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn changes(&mut self, after: Seq, piece: &[u8]) -> Result<Seq, StoreError> {
        let mut last = after;
        for copied in copy::read_changes(piece) {
            let copied = copied?;
            follows(copied.change.seq, last)?;
            last = copied.change.seq;
            match copied.change.what {
                ChangeKind::Version(number) => {
                    let record = version(&copied)?;
                    let dictionaries = &self.dictionaries;
                    let known = |number| dictionaries.get(&number).copied().ok_or_else(|| unknown(number));
                    let read = row(&record, known, &mut self.raw);
                    read.map_err(|error| match error {
                        StoreError::Damaged(what) => {
                            StoreError::Damaged(format!("version {number} of Composition/{}: {what}", copied.change.id))
                        }
                        error => error,
                    })?;
                }
                ChangeKind::Consent(_) => drop(consent(&copied)?),
            }
        }
        Ok(last)
    }

    /// As [`changes`](Self::changes), of the versions of patients.
    pub fn patients(&mut self, after: u64, piece: &[u8]) -> Result<u64, StoreError> {
        let mut last = after;
        for copied in copy::read_patients(piece) {
            let CopiedPatient { number, id, version, record } = copied?;
            if number.checked_sub(1) != Some(last) {
                return Err(StoreError::Damaged(format!("change {number} of patients stands behind change {last}")));
            }
            last = number;
            PatientRecord::read(id, version, record)?.facts()?;
        }
        Ok(last)
    }
}

fn unknown(number: u8) -> StoreError {
    StoreError::Damaged(format!("dictionary {number} is missing"))
}

/// Changes are copied without gaps.
pub(super) fn follows(seq: Seq, before: Seq) -> Result<(), StoreError> {
    let is_next = seq.0.checked_sub(1) == Some(before.0);
    let odd = || StoreError::Damaged(format!("change {seq} stands behind change {before}"));
    is_next.then_some(()).ok_or_else(odd)
}

/// The record of a copied version; it must be that of its change.
pub(super) fn version<'a>(copied: &CopiedChange<'a>) -> Result<VersionRecord<'a>, StoreError> {
    let id = copied.change.id;
    if id.get() > ID_MAX {
        return Err(StoreError::Damaged(format!(
            "change {} is of Composition/{id}, an id that none can have",
            copied.change.seq
        )));
    }
    let record = VersionRecord::read(copied.record)?;
    let is_its = record.seq == copied.change.seq && record.stamp.milliseconds == copied.change.milliseconds;
    is_its.then_some(record).ok_or_else(|| foreign(copied))
}

/// The record of a copied change of consent; it must be that of its change.
pub(super) fn consent<'a>(copied: &CopiedChange<'a>) -> Result<ConsentRecord<'a>, StoreError> {
    let ChangeKind::Consent(number) = copied.change.what else { return Err(foreign(copied)) };
    let record = ConsentRecord::read(copied.change.id, number, copied.record)?;
    let is_its = record.seq == copied.change.seq && record.stamp.milliseconds == copied.change.milliseconds;
    is_its.then_some(record).ok_or_else(|| foreign(copied))
}

fn foreign(copied: &CopiedChange) -> StoreError {
    StoreError::Damaged(format!("change {} has the record of another", copied.change.seq))
}

/// The index row of a copied version, expanded with its body, whose checksum is looked at so; none for a tombstone.
pub(super) fn row(
    record: &VersionRecord,
    dictionary: impl FnOnce(u8) -> Result<Dictionary, StoreError>,
    raw: &mut Vec<u8>,
) -> Result<Option<Row>, StoreError> {
    if record.state == State::Deleted {
        let is_bare = record.frame.is_empty() && record.raw_bytes == 0 && record.row_bytes == 0;
        return is_bare.then_some(None).ok_or_else(|| StoreError::Damaged("a tombstone has a body".into()));
    }
    if record.raw_bytes + record.row_bytes > COPY_RECORD_BYTES_MAX {
        return Err(StoreError::Damaged("a version is larger than any can be".into()));
    }
    raw.clear();
    body::expand(dictionary(record.dictionary)?, record.frame, record.raw_bytes + record.row_bytes, raw)?;
    let row = row::read_row(record, &raw[record.raw_bytes..])?;
    match row.class.state == record.state {
        true => Ok(Some(row)),
        false => Err(StoreError::Damaged("the index row of a version is in another state than the version".into())),
    }
}
