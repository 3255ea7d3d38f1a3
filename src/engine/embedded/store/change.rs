//! The log of changes: every version the store took, numbered.

use super::Error;
use crate::certificate::{Id, Seq, Version};

/// One row of `change`: what happened, to which version, when, and the how-manieth version of the store it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub seq: Seq,
    pub id: Id,
    pub version: Version,
    /// Stamp of the version, milliseconds since 1970 UTC.
    pub milliseconds: i64,
    /// Versions up to and with this one, over the whole store.
    pub running: u64,
}

/// Bytes of a stored change: kind, id, version, time, running count; little-endian.
pub const CHANGE_BYTES: usize = 29;
const KIND_VERSION: u8 = 1;

impl Change {
    pub fn write(self) -> [u8; CHANGE_BYTES] {
        let mut out = [0; CHANGE_BYTES];
        out[0] = KIND_VERSION;
        out[1..9].copy_from_slice(&self.id.get().to_le_bytes());
        out[9..13].copy_from_slice(&self.version.get().to_le_bytes());
        out[13..21].copy_from_slice(&self.milliseconds.to_le_bytes());
        out[21..29].copy_from_slice(&self.running.to_le_bytes());
        out
    }

    pub fn read(seq: u64, bytes: &[u8; CHANGE_BYTES]) -> Result<Change, Error> {
        let damaged = || Error::Damaged(format!("change {seq} is not readable"));
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes were cut"));
        if bytes[0] != KIND_VERSION {
            return Err(Error::Newer(format!("change {seq} is of kind {}", bytes[0])));
        }
        let version = u32::from_le_bytes(bytes[9..13].try_into().expect("four bytes were cut"));
        Ok(Change {
            seq: Seq(seq),
            id: Id::new(number(1)).ok_or_else(damaged)?,
            version: Version::new(version).ok_or_else(damaged)?,
            milliseconds: number(13) as i64,
            running: number(21),
        })
    }
}
