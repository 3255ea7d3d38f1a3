//! The log of changes: every version and every change of consent that the store took, numbered.

use super::StoreError;
use crate::chain::{ChainedEntry, ENTRY_HASH_BYTES, EntryHash, EntryLog};
use certificate::{Id, Seq, Version};

/// One row of the log: what happened, to which certificate, when, and how many versions the store had then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeRow {
    /// Number of this change, over all certificates.
    pub seq: Seq,
    /// Id of the certificate that was changed.
    pub id: Id,
    /// Whether a version was made or the consent was changed.
    pub what: ChangeKind,
    /// Stamp of the change, milliseconds since 1970 UTC.
    pub milliseconds: i64,
    /// Versions up to and with this change, over the whole store.
    pub running: u64,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// A version was made.
    Version(Version),
    /// The consent was changed for this how-manieth time.
    Consent(u32),
}

/// Bytes of a change as it is written: kind, id, version or number of the consent, time, running count; little-endian.
pub const CHANGE_BYTES: usize = 29;
/// Bytes of a row of the log: a change, then its hash.
pub const LOGGED_BYTES: usize = CHANGE_BYTES + ENTRY_HASH_BYTES;
const KIND_VERSION: u8 = 1;
const KIND_CONSENT: u8 = 2;

impl ChangeRow {
    /// The version that was made; none when consent was changed.
    pub fn version(&self) -> Option<Version> {
        match self.what {
            ChangeKind::Version(version) => Some(version),
            ChangeKind::Consent(_) => None,
        }
    }

    /// The row of the log.
    pub fn logged(self, hash: EntryHash) -> [u8; LOGGED_BYTES] {
        let mut out = [0; LOGGED_BYTES];
        out[..CHANGE_BYTES].copy_from_slice(&self.write());
        out[CHANGE_BYTES..].copy_from_slice(hash.bytes());
        out
    }

    /// Reads a row of the log, as [`read`](Self::read) does.
    pub fn of_log(seq: u64, bytes: &[u8; LOGGED_BYTES]) -> Result<ChangeRow, StoreError> {
        ChangeRow::read(seq, bytes.first_chunk().expect("a row begins with a change"))
    }

    /// The change as the chain has it.
    pub fn chained<'r>(&self, record: &'r [u8]) -> ChainedEntry<'r> {
        let (kind, number) = self.what.parts();
        ChainedEntry { log: EntryLog::Changes, number: self.seq.0, what: (kind, self.id.get(), number), record }
    }

    /// The change without `seq`, which is the key of its row.
    pub fn write(self) -> [u8; CHANGE_BYTES] {
        let (kind, number) = self.what.parts();
        let mut out = [0; CHANGE_BYTES];
        out[0] = kind;
        out[1..9].copy_from_slice(&self.id.get().to_le_bytes());
        out[9..13].copy_from_slice(&number.to_le_bytes());
        out[13..21].copy_from_slice(&self.milliseconds.to_le_bytes());
        out[21..29].copy_from_slice(&self.running.to_le_bytes());
        out
    }

    /// Reads the change that has the key `seq`; fails with `Damaged` on an unknown kind or a number or id of 0.
    pub fn read(seq: u64, bytes: &[u8; CHANGE_BYTES]) -> Result<ChangeRow, StoreError> {
        let damaged = || StoreError::Damaged(format!("change {seq} is not readable"));
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes were cut"));
        let number = u32::from_le_bytes(bytes[9..13].try_into().expect("four bytes were cut"));
        let what = match bytes[0] {
            KIND_VERSION => ChangeKind::Version(Version::new(number).ok_or_else(damaged)?),
            KIND_CONSENT if number > 0 => ChangeKind::Consent(number),
            KIND_CONSENT => return Err(damaged()),
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
    /// Number of the kind, and of the version or of the change of consent.
    fn parts(self) -> (u8, u32) {
        match self {
            ChangeKind::Version(version) => (KIND_VERSION, version.get()),
            ChangeKind::Consent(number) => (KIND_CONSENT, number),
        }
    }
}

/// The hash in a row of the log.
pub fn hash_of(bytes: &[u8; LOGGED_BYTES]) -> EntryHash {
    EntryHash::from_bytes(*bytes.last_chunk().expect("a row ends with a hash"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_read_as_they_were_written_and_there_is_no_other() {
        for what in [ChangeKind::Version(Version::FIRST), ChangeKind::Consent(7)] {
            let change = ChangeRow { seq: Seq(9), id: Id::FIRST, what, milliseconds: -1, running: 3 };
            assert_eq!(ChangeRow::read(9, &change.write()).unwrap(), change);
            let mut none = change.write();
            none[9..13].fill(0);
            assert!(matches!(ChangeRow::read(9, &none), Err(StoreError::Damaged(_))));
            let mut other = change.write();
            other[0] = 3;
            assert!(matches!(ChangeRow::read(9, &other), Err(StoreError::Damaged(_))));
        }
    }
}
