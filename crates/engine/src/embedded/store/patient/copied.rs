//! Versions of patients that come from a copy: the entry as it was, everything beside it as a write makes it.

use super::super::copied_entry::CopiedEntry;
use super::super::{ChangeRow, list, mark};
use super::*;

/// What copied entries of the register held.
#[derive(Clone, Copy, Debug)]
pub struct CopiedRegister {
    /// Time stamp of the last version of a patient; `i64::MIN` where there was none.
    pub last_stamp: i64,
    /// The largest id of a patient; 0 where there was none.
    pub last_id: u64,
    /// A version is older than the one before it.
    pub goes_back: bool,
}

/// Stores entries of the register whose order was checked: each is the next of the register, and of its patient or list.
///
/// # Errors
/// `Damaged` when one is not readable.
pub fn insert_copied(transaction: &WriteTransaction, entries: &[CopiedEntry]) -> Result<CopiedRegister, StoreError> {
    let mut tables = WrittenPatientTables::open(transaction, 1)?;
    let mut copied = CopiedRegister { last_stamp: i64::MIN, last_id: 0, goes_back: false };
    for CopiedEntry { row, record } in entries {
        match row.what {
            ChangeKind::Patient(version) => {
                let (stamp, is_older) = tables.insert_copied(row.id, version, record)?;
                (copied.last_stamp, copied.goes_back) = (stamp, copied.goes_back || is_older);
                copied.last_id = copied.last_id.max(row.id.get());
            }
            ChangeKind::List(number) => list::insert_copied(transaction, row.id, number, record)?,
            ChangeKind::Mark => mark::insert_copied(transaction, row.id, record)?,
            _ => return Err(row.misplaced()),
        }
        tables.log.push(*row, record);
    }
    tables.log.flush()?;
    Ok(copied)
}

impl WrittenPatientTables<'_> {
    /// Its time stamp, and whether it is older than the version before it.
    fn insert_copied(&mut self, id: Id, version: Version, bytes: &[u8]) -> Result<(i64, bool), StoreError> {
        self.versions.insert((id.get(), version.get()), bytes)?;
        self.derive_patient(id, version, bytes)
    }

    /// Takes an entry of the register into the tables that are derived from it, behind all before it.
    ///
    /// # Errors
    /// `Damaged`.
    pub fn derive(&mut self, row: &ChangeRow, bytes: &[u8]) -> Result<(), StoreError> {
        match row.what {
            ChangeKind::Patient(version) => self.derive_patient(row.id, version, bytes).map(drop),
            ChangeKind::List(_) => list::derive(self.transaction, row.id, bytes),
            ChangeKind::Mark => Ok(()),
            _ => Err(row.misplaced()),
        }
    }

    fn derive_patient(&mut self, id: Id, version: Version, bytes: &[u8]) -> Result<(i64, bool), StoreError> {
        let record = PatientRecord::read(id, version, bytes)?;
        let (facts, stamp) = (record.facts()?, record.stamp);
        let mut is_older = false;
        if let Some(before) = version.before() {
            let key = (id.get(), before.get());
            let missing = || StoreError::Damaged(format!("version {before} of Patient/{id} is missing"));
            let read = |bytes: &[u8]| -> Result<_, StoreError> {
                let record = PatientRecord::read(id, before, bytes)?;
                Ok((record.facts()?, record.stamp.milliseconds))
            };
            let (had, made) = self.versions.get(key)?.map(|bytes| read(bytes.value())).ok_or_else(missing)??;
            is_older = made > stamp.milliseconds;
            self.forget(id, &had, &facts)?;
        }
        self.remember(id, &facts, stamp)?;
        Ok((stamp.milliseconds, is_older))
    }
}
