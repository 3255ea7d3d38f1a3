//! The chain of entries: what a log holds at a number, and everything before it, in one hash.
//!
//! The hash of an entry covers the entry and the hash of the one before. An operator who keeps one hash elsewhere (in an archive, in the audit
//! trail, on paper) can tell the history behind it from one that was edited, put in another order, or exported, changed and imported.

use std::fmt;

use aws_lc_rs::digest::{Context, SHA256};
use base::hex;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Hash of an entry and of all before it in its log; shown as 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EntryHash([u8; 32]);

/// Bytes of a stored hash.
pub(crate) const ENTRY_HASH_BYTES: usize = 32;

/// A log of the store. Its number stands in every hash, so that no entry passes for one of the other log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EntryLog {
    /// Versions of certificates and changes of consent.
    Changes = 1,
    /// Versions of patients, code lists, and marks of the store itself.
    Register = 2,
}

/// An entry as its hash sees it.
#[derive(Clone, Copy, Debug)]
pub struct ChainedEntry<'r> {
    /// The log it stands in.
    pub log: EntryLog,
    /// Its number there, from 1 without gaps.
    pub number: u64,
    /// What the log says that it is: kind, id, version or number of the consent.
    pub what: (u8, u64, u32),
    /// The record as it is stored.
    pub record: &'r [u8],
}

impl EntryLog {
    /// Both, in the order of their numbers.
    pub const ALL: [EntryLog; 2] = [EntryLog::Changes, EntryLog::Register];

    /// As a head is shown.
    pub fn name(self) -> &'static str {
        match self {
            EntryLog::Changes => "changes",
            EntryLog::Register => "register",
        }
    }
}

/// An entry of a log by its number, and its hash; shown as `changes/120:` and 64 hexadecimal digits. Number 0 is where the log begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryHead {
    /// The log.
    pub log: EntryLog,
    /// Number of the entry.
    pub number: u64,
    /// Its hash.
    pub hash: EntryHash,
}

impl EntryHead {
    /// Reads it as it is shown.
    pub fn parse(text: &str) -> Option<EntryHead> {
        let (log, rest) = text.split_once('/')?;
        let (number, hash) = rest.split_once(':')?;
        let log = EntryLog::ALL.into_iter().find(|known| known.name() == log)?;
        Some(EntryHead { log, number: number.parse().ok()?, hash: EntryHash::parse(hash)? })
    }
}

impl fmt::Display for EntryHead {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}/{}:{}", self.log.name(), self.number, self.hash)
    }
}

impl EntryHash {
    /// Where the chains of a store begin: its name, and the epoch in which they were begun. Restored stores keep the beginning of theirs.
    pub fn origin(store: &str, epoch: &str) -> EntryHash {
        let mut hash = Context::new(&SHA256);
        ["hcert", store, epoch].iter().for_each(|part| {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        });
        EntryHash::made(hash)
    }

    /// The hash of the entry that comes next.
    pub fn followed_by(self, entry: &ChainedEntry) -> EntryHash {
        let (kind, id, part) = entry.what;
        let mut head = [0; ENTRY_HASH_BYTES + 22];
        head[..32].copy_from_slice(&self.0);
        head[32] = entry.log as u8;
        head[33..41].copy_from_slice(&entry.number.to_le_bytes());
        head[41] = kind;
        head[42..50].copy_from_slice(&id.to_le_bytes());
        head[50..].copy_from_slice(&part.to_le_bytes());
        let mut hash = Context::new(&SHA256);
        hash.update(&head);
        hash.update(entry.record);
        EntryHash::made(hash)
    }

    /// The stored form.
    pub fn bytes(&self) -> &[u8; ENTRY_HASH_BYTES] {
        &self.0
    }

    /// Reads the stored form.
    pub fn from_bytes(bytes: [u8; ENTRY_HASH_BYTES]) -> EntryHash {
        EntryHash(bytes)
    }

    /// Reads it as it is shown.
    pub fn parse(text: &str) -> Option<EntryHash> {
        hex::parse_shown(text).map(EntryHash)
    }

    fn made(hash: Context) -> EntryHash {
        EntryHash(hash.finish().as_ref().try_into().expect("SHA-256 has 32 bytes"))
    }
}

/// How far the chains of a store go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StoreChain {
    /// Where both began.
    pub origin: EntryHash,
    /// Hash of the last change; the origin where there is none.
    pub changes: EntryHash,
    /// Hash of the last entry of the register; the origin where there is none.
    pub register: EntryHash,
}

impl fmt::Display for EntryHash {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        hex::Hex(&self.0).fmt(formatter)
    }
}

impl Serialize for EntryHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EntryHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EntryHash, D::Error> {
        let text = String::deserialize(deserializer)?;
        EntryHash::parse(&text).ok_or_else(|| de::Error::custom("no hash of an entry"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_said_of_an_entry_or_before_it_changes_its_hash() {
        let entry = ChainedEntry { log: EntryLog::Changes, number: 1, what: (1, 7, 1), record: b"record" };
        let origin = EntryHash::origin("store", "epoch");
        let hash = origin.followed_by(&entry);
        let others = [
            EntryHash::origin("stor", "eepoch").followed_by(&entry),
            hash.followed_by(&entry),
            origin.followed_by(&ChainedEntry { log: EntryLog::Register, ..entry }),
            origin.followed_by(&ChainedEntry { number: 2, ..entry }),
            origin.followed_by(&ChainedEntry { what: (2, 7, 1), ..entry }),
            origin.followed_by(&ChainedEntry { what: (1, 8, 1), ..entry }),
            origin.followed_by(&ChainedEntry { what: (1, 7, 2), ..entry }),
            origin.followed_by(&ChainedEntry { record: b"recorD", ..entry }),
            origin.followed_by(&ChainedEntry { record: b"", ..entry }),
        ];
        for (at, other) in others.iter().enumerate() {
            assert_ne!(*other, hash, "{at}");
            assert!(others[..at].iter().all(|before| before != other), "{at}");
        }
        assert_eq!(EntryHash::parse(&hash.to_string()), Some(hash));
        assert_eq!(EntryHash::parse("0f"), None);
        let head = EntryHead { log: EntryLog::Register, number: 7, hash };
        assert_eq!(EntryHead::parse(&head.to_string()), Some(head));
        for wrong in ["", "register", "register/7", "others/7:0f", &head.to_string()[1..], &format!("{head}0")] {
            assert_eq!(EntryHead::parse(wrong), None, "{wrong}");
        }
    }
}
