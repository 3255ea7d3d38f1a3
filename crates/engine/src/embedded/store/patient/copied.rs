//! Versions of patients that come from a copy: the record as it was, everything beside it as a write makes it.

use super::*;

/// What a piece of copied patients held.
pub struct Copied {
    /// Number of the last version in the log; 0 where there was none.
    pub last: u64,
    /// Its time stamp; `i64::MIN` where there was none.
    pub last_stamp: i64,
    /// The largest id; 0 where there was none.
    pub last_id: u64,
    /// A version is older than the one before it.
    pub goes_back: bool,
}

/// Stores versions whose order was checked: each is the next of its patient and of the log.
///
/// # Errors
/// `Damaged` when one is not readable.
pub fn insert_copied<'c>(
    transaction: &WriteTransaction,
    copied: impl Iterator<Item = Result<CopiedPatient<'c>, StoreError>>,
) -> Result<Copied, StoreError> {
    let mut tables = WrittenPatientTables::open(transaction, 1)?;
    let (mut last_id, mut last_stamp, mut goes_back) = (0, i64::MIN, false);
    for copied in copied {
        let copied = copied?;
        let (stamp, is_older) = tables.insert_copied(&copied)?;
        (last_stamp, goes_back) = (stamp, goes_back || is_older);
        last_id = last_id.max(copied.id.get());
    }
    Ok(Copied { last: tables.log.last(), last_stamp, last_id, goes_back })
}

impl WrittenPatientTables<'_> {
    /// Its time stamp, and whether it is older than the version before it.
    fn insert_copied(&mut self, copied: &CopiedPatient) -> Result<(i64, bool), StoreError> {
        let CopiedPatient { id, version, record: bytes, .. } = *copied;
        let record = PatientRecord::read(id, version, bytes)?;
        let facts = record.facts()?;
        let before = self.before(id, record.tail)?;
        if let Some(before) = &before {
            self.forget(id, &before.facts, &facts)?;
        }
        self.versions.insert((id.get(), version.get()), bytes)?;
        self.log.push(id, version, bytes)?;
        self.remember(id, &facts, record.stamp)?;
        let stamp = record.stamp.milliseconds;
        Ok((stamp, before.is_some_and(|before| before.stamp.milliseconds > stamp)))
    }
}

/// One version of a patient as it was copied.
#[derive(Clone, Copy, Debug)]
pub struct CopiedPatient<'a> {
    /// Number of the change of patients that made this version, from 1.
    pub number: u64,
    /// Id of the patient.
    pub id: Id,
    /// Version of the patient, from 1.
    pub version: Version,
    /// The record as it lies in the store that was copied.
    pub record: &'a [u8],
}
