//! The log of patients: every version that the store took, numbered from 1 without gaps, so that a copy can go on where it stopped.
//!
//! Patients and certificates are counted apart. The table is made by the first patient that is stored.

use redb::{TableDefinition, TableHandle};

use super::super::StoreError;
use super::super::ascending::Ascending;
use super::super::chain;
use super::super::log::{ReadTransaction, WriteTransaction, WrittenTable};
use crate::chain::{ChainedEntry, ENTRY_HASH_BYTES, EntryHash, EntryLog};
use certificate::{Id, Version};

/// Bytes that say what a change made: id u64, version u32, little-endian.
pub const PATIENT_CHANGE_BYTES: usize = 12;

/// Bytes of a row: what a change made, then its hash.
pub const PATIENT_LOGGED_BYTES: usize = PATIENT_CHANGE_BYTES + ENTRY_HASH_BYTES;

/// Number of the change to what it made.
pub const PATIENT_LOG: TableDefinition<u64, &[u8; PATIENT_LOGGED_BYTES]> = TableDefinition::new("patient_log");

/// One row of the log of patients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatientLogEntry {
    /// Number of the change, over all patients.
    pub number: u64,
    /// Id of the patient.
    pub id: Id,
    /// The version that was made.
    pub version: Version,
}

impl PatientLogEntry {
    /// The change as the chain has it.
    pub fn chained<'r>(&self, record: &'r [u8]) -> ChainedEntry<'r> {
        let what = (0, self.id.get(), self.version.get());
        ChainedEntry { log: EntryLog::Patients, number: self.number, what, record }
    }

    fn logged(self, hash: EntryHash) -> [u8; PATIENT_LOGGED_BYTES] {
        let mut out = [0; PATIENT_LOGGED_BYTES];
        out[..8].copy_from_slice(&self.id.get().to_le_bytes());
        out[8..12].copy_from_slice(&self.version.get().to_le_bytes());
        out[12..].copy_from_slice(hash.bytes());
        out
    }

    /// What stands in front of a row under a number.
    pub fn read(number: u64, bytes: &[u8; PATIENT_CHANGE_BYTES]) -> Result<PatientLogEntry, StoreError> {
        let (id, version) = bytes.split_first_chunk::<8>().expect("a change has twelve bytes");
        let version = u32::from_le_bytes(version.try_into().expect("four bytes are left"));
        let made = Id::new(u64::from_le_bytes(*id)).zip(Version::new(version));
        let (id, version) =
            made.ok_or_else(|| StoreError::Damaged(format!("change {number} of patients is not readable")))?;
        Ok(PatientLogEntry { number, id, version })
    }
}

/// The hash in a row.
pub fn patient_hash_of(bytes: &[u8; PATIENT_LOGGED_BYTES]) -> EntryHash {
    EntryHash::from_bytes(*bytes.last_chunk().expect("a row ends with a hash"))
}

/// The log in a write transaction.
pub struct PatientLogTable<'t> {
    rows: WrittenTable<'t, u64, &'static [u8; PATIENT_LOGGED_BYTES]>,
    last: u64,
    head: EntryHash,
}

impl<'t> PatientLogTable<'t> {
    /// Opens the log, or makes it.
    pub fn open(transaction: &'t WriteTransaction) -> Result<PatientLogTable<'t>, StoreError> {
        let rows = transaction.open_table(PATIENT_LOG)?;
        let last = rows.last()?.map(|(number, row)| (number.value(), patient_hash_of(row.value())));
        let (last, head) = match last {
            Some(last) => last,
            None => (0, chain::written_origin(transaction)?),
        };
        Ok(PatientLogTable { rows, last, head })
    }

    /// Number of the newest change; 0 while there is none.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Adds a version under the next number.
    pub fn push(&mut self, id: Id, version: Version, record: &[u8]) -> Result<(), StoreError> {
        self.last += 1;
        let change = PatientLogEntry { number: self.last, id, version };
        self.head = self.head.followed_by(&change.chained(record));
        let replaced = self.rows.insert(self.last, &change.logged(self.head))?;
        assert!(!replaced, "the number follows the last one");
        Ok(())
    }
}

/// Changes behind a number, each with its hash, in their order, at most `max`.
pub fn after(
    transaction: &ReadTransaction,
    after: u64,
    max: usize,
) -> Result<Vec<(PatientLogEntry, EntryHash)>, StoreError> {
    let Some(rows) = transaction.find_table(PATIENT_LOG)? else { return Ok(Vec::new()) };
    let found = rows.range(after.saturating_add(1)..)?.take(max);
    let mut ascending = Ascending { table: PATIENT_LOG.name(), last: after };
    found
        .map(|row| {
            let (number, bytes) = row?;
            ascending.next(&number.value())?;
            let change = bytes.value().first_chunk().expect("a row begins with a change");
            Ok((PatientLogEntry::read(number.value(), change)?, patient_hash_of(bytes.value())))
        })
        .collect()
}

/// Hash of the newest change.
pub fn head(transaction: &ReadTransaction) -> Result<Option<EntryHash>, StoreError> {
    let Some(rows) = transaction.find_table(PATIENT_LOG)? else { return Ok(None) };
    Ok(rows.last()?.map(|(_, row)| patient_hash_of(row.value())))
}

/// Number of the newest change; 0 while there is none.
pub fn last(transaction: &ReadTransaction) -> Result<u64, StoreError> {
    let Some(rows) = transaction.find_table(PATIENT_LOG)? else { return Ok(0) };
    Ok(rows.last()?.map_or(0, |(number, _)| number.value()))
}
