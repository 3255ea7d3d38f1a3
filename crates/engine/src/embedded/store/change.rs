//! Rows of both logs: every entry that the store took, numbered in its log.

use super::StoreError;
use super::record::EntryKind;
use crate::chain::{ChainedEntry, ENTRY_HASH_BYTES, EntryHash, EntryLog};
use certificate::{Id, Seq, Version};

/// One row of a log: what was made, of which certificate or patient, when, and how many versions of the log's resource there were then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeRow {
    /// Number of this entry in its log.
    pub seq: Seq,
    /// Id of the certificate, the patient, the code list or the mark.
    pub id: Id,
    /// What was made.
    pub what: ChangeKind,
    /// Stamp of the entry, milliseconds since 1970 UTC.
    pub milliseconds: i64,
    /// Versions of certificates, or of patients, up to and with this entry, over the whole store.
    pub running: u64,
}

/// What was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// A version of a certificate.
    Version(Version),
    /// A change of a certificate's consent, with its number, from 1.
    Consent(u32),
    /// A version of a patient.
    Patient(Version),
    /// A code list was loaded or taken away, with the number of that, from 1.
    List(u32),
    /// Something happened to the store itself. There is one mark of each id.
    Mark,
}

/// Bytes of a row without its hash: kind, id, version or number, time, running count; little-endian.
pub const CHANGE_BYTES: usize = 29;
/// Bytes of a row of a log: an entry, then its hash.
pub const LOGGED_BYTES: usize = CHANGE_BYTES + ENTRY_HASH_BYTES;

impl ChangeRow {
    /// The version of a certificate that was made; none when it was something else.
    pub fn version(&self) -> Option<Version> {
        match self.what {
            ChangeKind::Version(version) => Some(version),
            _ => None,
        }
    }

    /// Whether it counts as a version of its log's resource.
    pub fn is_counted(&self) -> bool {
        matches!(self.what, ChangeKind::Version(_) | ChangeKind::Patient(_))
    }

    /// The log it belongs to.
    pub fn log(&self) -> EntryLog {
        match self.what {
            ChangeKind::Version(_) | ChangeKind::Consent(_) => EntryLog::Changes,
            ChangeKind::Patient(_) | ChangeKind::List(_) | ChangeKind::Mark => EntryLog::Register,
        }
    }

    /// Key of what it made, in the table of its kind.
    pub fn key(&self) -> (u64, u32) {
        (self.id.get(), self.what.number())
    }

    /// What it made, in words.
    pub fn made(&self) -> String {
        let id = self.id;
        match self.what {
            ChangeKind::Version(version) => format!("version {version} of Composition/{id}"),
            ChangeKind::Consent(number) => format!("change {number} of the consent of Composition/{id}"),
            ChangeKind::Patient(version) => format!("version {version} of Patient/{id}"),
            ChangeKind::List(number) => format!("change {number} of code list {id}"),
            ChangeKind::Mark => format!("mark {id}"),
        }
    }

    /// It stands in a log that it does not belong to.
    pub fn misplaced(&self) -> StoreError {
        StoreError::Damaged(format!("{} stands in the wrong log", self.made()))
    }

    /// The row of the log.
    pub fn logged(self, hash: EntryHash) -> [u8; LOGGED_BYTES] {
        let mut out = [0; LOGGED_BYTES];
        out[..CHANGE_BYTES].copy_from_slice(&self.write());
        out[CHANGE_BYTES..].copy_from_slice(hash.bytes());
        out
    }

    /// Reads a row of a log, as [`read`](Self::read) does.
    pub fn of_log(seq: u64, bytes: &[u8; LOGGED_BYTES]) -> Result<ChangeRow, StoreError> {
        ChangeRow::read(seq, bytes.first_chunk().expect("a row begins with a change"))
    }

    /// The entry as the chain has it.
    pub fn chained<'r>(&self, record: &'r [u8]) -> ChainedEntry<'r> {
        let what = (self.what.kind() as u8, self.id.get(), self.what.number());
        ChainedEntry { log: self.log(), number: self.seq.0, what, record }
    }

    /// The row without `seq`, which is its key, and without its hash.
    pub fn write(self) -> [u8; CHANGE_BYTES] {
        let mut out = [0; CHANGE_BYTES];
        out[0] = self.what.kind() as u8;
        out[1..9].copy_from_slice(&self.id.get().to_le_bytes());
        out[9..13].copy_from_slice(&self.what.number().to_le_bytes());
        out[13..21].copy_from_slice(&self.milliseconds.to_le_bytes());
        out[21..29].copy_from_slice(&self.running.to_le_bytes());
        out
    }

    /// Reads the row that has the key `seq`; fails with `Damaged` on an unknown kind or a number or id of 0.
    pub fn read(seq: u64, bytes: &[u8; CHANGE_BYTES]) -> Result<ChangeRow, StoreError> {
        let damaged = || StoreError::Damaged(format!("change {seq} is not readable"));
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes were cut"));
        let number = u32::from_le_bytes(bytes[9..13].try_into().expect("four bytes were cut"));
        let version = Version::new(number).ok_or_else(damaged)?;
        let what = match bytes[0] {
            1 => ChangeKind::Version(version),
            2 => ChangeKind::Consent(number),
            3 => ChangeKind::Patient(version),
            4 => ChangeKind::List(number),
            5 if number == 1 => ChangeKind::Mark,
            5 => return Err(damaged()),
            kind => return Err(StoreError::Damaged(format!("change {seq} is of kind {kind}, which is unknown"))),
        };
        Ok(ChangeRow {
            seq: Seq(seq),
            id: Id::new(long(1)).ok_or_else(damaged)?,
            what,
            milliseconds: long(13) as i64,
            running: long(21),
        })
    }
}

impl ChangeKind {
    /// Of which kind the entry is.
    pub fn kind(self) -> EntryKind {
        match self {
            ChangeKind::Version(_) => EntryKind::Version,
            ChangeKind::Consent(_) => EntryKind::Consent,
            ChangeKind::Patient(_) => EntryKind::Patient,
            ChangeKind::List(_) => EntryKind::List,
            ChangeKind::Mark => EntryKind::Mark,
        }
    }

    /// Number of the version or change.
    fn number(self) -> u32 {
        match self {
            ChangeKind::Version(version) | ChangeKind::Patient(version) => version.get(),
            ChangeKind::Consent(number) | ChangeKind::List(number) => number,
            ChangeKind::Mark => 1,
        }
    }
}

/// The hash in a row of a log.
pub fn hash_of(bytes: &[u8; LOGGED_BYTES]) -> EntryHash {
    EntryHash::from_bytes(*bytes.last_chunk().expect("a row ends with a hash"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_read_as_they_were_written_and_there_is_no_other() {
        let first = Version::FIRST;
        let kinds =
            [ChangeKind::Version(first), ChangeKind::Consent(7), ChangeKind::Patient(first), ChangeKind::List(2)];
        for what in kinds.into_iter().chain([ChangeKind::Mark]) {
            let change = ChangeRow { seq: Seq(9), id: Id::FIRST, what, milliseconds: -1, running: 3 };
            assert_eq!(ChangeRow::read(9, &change.write()).unwrap(), change);
            let mut none = change.write();
            none[9..13].fill(0);
            assert!(matches!(ChangeRow::read(9, &none), Err(StoreError::Damaged(_))));
            for kind in [0, 6] {
                let mut other = change.write();
                other[0] = kind;
                assert!(matches!(ChangeRow::read(9, &other), Err(StoreError::Damaged(_))));
            }
        }
    }
}
