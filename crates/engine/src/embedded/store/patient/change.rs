//! The log of patients: every version that the store took, numbered from 1 without gaps, so that a copy can go on where it stopped.
//!
//! Patients and certificates are counted apart. The table is made by the first patient that is stored.

use redb::{TableDefinition, TableHandle};

use super::super::StoreError;
use super::super::ascending::Ascending;
use super::super::log::{ReadTransaction, WriteTransaction, WrittenTable};
use certificate::{Id, Version};

/// Bytes of a row: id u64, version u32, little-endian.
const BYTES: usize = 12;

/// Number of the change to what it made.
pub const PATIENT_CHANGE: TableDefinition<u64, &[u8; BYTES]> = TableDefinition::new("patient_change");

/// The log in a write transaction.
pub struct PatientChangeTable<'t> {
    rows: WrittenTable<'t, u64, &'static [u8; BYTES]>,
    last: u64,
}

impl<'t> PatientChangeTable<'t> {
    /// Opens the log, or makes it.
    pub fn open(transaction: &'t WriteTransaction) -> Result<PatientChangeTable<'t>, StoreError> {
        let rows = transaction.open_table(PATIENT_CHANGE)?;
        let last = rows.last()?.map_or(0, |(number, _)| number.value());
        Ok(PatientChangeTable { rows, last })
    }

    /// Number of the newest change; 0 while there is none.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Adds a version under the next number.
    pub fn push(&mut self, id: Id, version: Version) -> Result<(), StoreError> {
        self.last += 1;
        let replaced = self.rows.insert(self.last, &write(id, version))?;
        assert!(!replaced, "the number follows the last one");
        Ok(())
    }
}

/// Changes behind a number, in their order, at most `max`.
pub fn after(transaction: &ReadTransaction, after: u64, max: usize) -> Result<Vec<(u64, Id, Version)>, StoreError> {
    let Some(rows) = transaction.find_table(PATIENT_CHANGE)? else { return Ok(Vec::new()) };
    let found = rows.range(after.saturating_add(1)..)?.take(max);
    let mut ascending = Ascending { table: PATIENT_CHANGE.name(), last: after };
    found
        .map(|row| {
            let (number, bytes) = row?;
            let number = number.value();
            ascending.next(&number)?;
            let (id, version) = read(bytes.value())
                .ok_or_else(|| StoreError::Damaged(format!("change {number} of patients is not readable")))?;
            Ok((number, id, version))
        })
        .collect()
}

/// Number of the newest change; 0 while there is none.
pub fn last(transaction: &ReadTransaction) -> Result<u64, StoreError> {
    let Some(rows) = transaction.find_table(PATIENT_CHANGE)? else { return Ok(0) };
    Ok(rows.last()?.map_or(0, |(number, _)| number.value()))
}

fn write(id: Id, version: Version) -> [u8; BYTES] {
    let mut out = [0; BYTES];
    out[..8].copy_from_slice(&id.get().to_le_bytes());
    out[8..].copy_from_slice(&version.get().to_le_bytes());
    out
}

fn read(bytes: &[u8; BYTES]) -> Option<(Id, Version)> {
    let (id, version) = bytes.split_first_chunk::<8>()?;
    let version = u32::from_le_bytes(version.try_into().ok()?);
    Some((Id::new(u64::from_le_bytes(*id))?, Version::new(version)?))
}
