//! Versions without their content: what an operator's erasure leaves of them.
//!
//! The record keeps its place, its time and who acted. Body, row and everything that names the patient are gone. The chain needs the hash of
//! what was there, which cannot be computed any more, so a field keeps it, with the state that the version made:
//!
//! ```text
//! Erased   hash 32 | state u8
//! ```
//!
//! A mark in the register says which certificate was erased. Without it such a record is a forgery, which `verify` reports.

use std::collections::BTreeSet;

use super::record::{EntryDraft, EntryKind, FieldTag, VersionRecord, push_tagged};
use super::{Batch, ChangeKind, ChangeRow, StoreError, StoreReader, mark};
use crate::EntryHash;
use crate::chain::ENTRY_HASH_BYTES;
use certificate::{Id, State};

/// What an erased version still says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErasedContent {
    /// Hash of the entry when it had its content.
    pub hash: EntryHash,
    /// State that the version made.
    pub state: State,
}

/// Fields that an erasure takes out: they name the patient, or certificates by what they hold.
const OF_PATIENT: [FieldTag; 4] =
    [FieldTag::Subject, FieldTag::Condition, FieldTag::ConditionIdentifier, FieldTag::ConditionCertificates];

impl VersionRecord<'_> {
    /// What it still says, where its certificate was erased.
    ///
    /// # Errors
    /// `Damaged` when the fields are none, or it has content all the same.
    pub fn erased(&self) -> Result<Option<ErasedContent>, StoreError> {
        let Some(field) = self.fields.get(FieldTag::Erased)? else { return Ok(None) };
        let read = field.split_last_chunk::<1>().and_then(|(hash, [state])| {
            Some(ErasedContent { hash: EntryHash::from_bytes(hash.try_into().ok()?), state: State::from_byte(*state)? })
        });
        match read.filter(|_| self.state == State::Deleted && self.is_bare()) {
            Some(erased) => Ok(Some(erased)),
            None => Err(StoreError::Damaged("a record says that it was erased, and is not".into())),
        }
    }

    /// The state that the version made: also of one that was erased.
    ///
    /// # Errors
    /// As [`erased`](Self::erased).
    pub fn made_state(&self) -> Result<State, StoreError> {
        Ok(self.erased()?.map_or(self.state, |erased| erased.state))
    }

    /// The record without its content; `hash` is that of the entry.
    fn without_content(&self, hash: EntryHash) -> Result<Vec<u8>, StoreError> {
        let mut draft = EntryDraft::bare(EntryKind::Version, State::Deleted as u8);
        for field in self.fields.iter() {
            let (tag, content) = field?;
            if !OF_PATIENT.iter().any(|gone| *gone as u8 == tag) {
                push_tagged(&mut draft.fields, tag, content);
            }
        }
        let mut erased = [0; ENTRY_HASH_BYTES + 1];
        erased[..ENTRY_HASH_BYTES].copy_from_slice(hash.bytes());
        erased[ENTRY_HASH_BYTES] = self.state as u8;
        draft.push(FieldTag::Erased, &erased);
        Ok(draft.write(self.seq.0, self.stamp))
    }
}

impl ChangeRow {
    /// Hash of the entry behind the one before it. A version that was erased keeps the hash of what it was.
    pub fn hash_behind(&self, before: EntryHash, record: &[u8]) -> EntryHash {
        self.erased_hash(record).unwrap_or_else(|| before.followed_by(&self.chained(record)))
    }

    fn erased_hash(&self, record: &[u8]) -> Option<EntryHash> {
        // Almost no version ends a certificate, so the checksum of almost none is looked at here.
        if !matches!(self.what, ChangeKind::Version(_)) || record.get(2) != Some(&(State::Deleted as u8)) {
            return None;
        }
        VersionRecord::read(record).ok()?.erased().ok()?.map(|erased| erased.hash)
    }
}

impl StoreReader {
    /// Certificates that marks name as erased.
    ///
    /// # Errors
    /// `Damaged`.
    pub fn erased(&self) -> Result<BTreeSet<Id>, StoreError> {
        mark::erased(&self.transaction)
    }

    /// Those of them that have content all the same, as they come out of an archive from before.
    ///
    /// # Errors
    /// `Damaged`.
    pub fn marked_with_content(&self) -> Result<Vec<Id>, StoreError> {
        let mut found = Vec::new();
        for id in self.erased()? {
            let newest = self.newest(id, |_, bytes| VersionRecord::read(bytes)?.erased())?;
            if newest.transpose()? == Some(None) {
                found.push(id);
            }
        }
        Ok(found)
    }
}

impl Batch<'_> {
    /// Takes the content out of every version of a certificate; how many had some. What is derived from them is not touched.
    ///
    /// # Errors
    /// `Damaged`.
    pub fn erase(&mut self, id: Id) -> Result<u64, StoreError> {
        let mut erased = 0;
        for (key, bytes) in self.versions_of(id)? {
            let record = VersionRecord::read(&bytes)?;
            if record.erased()?.is_some() {
                continue;
            }
            let missing = || StoreError::Damaged(format!("change {} is missing", record.seq));
            let hash = self.log.hash(record.seq)?.ok_or_else(missing)?;
            self.replace_version(key, &record.without_content(hash)?)?;
            erased += 1;
        }
        Ok(erased)
    }
}
