//! What happened, in its order: for exports, for copies, and for the audit trail.

use super::Engine;
use super::store::record::VersionRecord;
use super::store::{self, StoreError, StoreReader, copy};
use crate::{
    CommittedChange, EntryHash, EntryHead, EntryLog, LogPiece, StoreChain, StoreSnapshot, StoredTime, StoredVersion,
};
use certificate::{Seq, Version};

/// All changes of an engine's store in the order they were made.
#[derive(Clone, Copy)]
pub struct Ledger<'e>(&'e Engine);

impl Engine {
    /// What happened, to be read in its order.
    pub fn ledger(&self) -> Ledger<'_> {
        Ledger(self)
    }
}

impl Ledger<'_> {
    /// Versions after a change, in the order they were made: at most `max`, with the seq to go on from. Those that were erased are left out.
    /// For exports.
    pub fn versions_after(&self, after: Seq, max: usize) -> Result<Vec<(Seq, StoredVersion)>, StoreError> {
        let read = |reader: &StoreReader,
                    change: store::ChangeRow,
                    version: Version|
         -> Result<Option<(Seq, StoredVersion)>, StoreError> {
            let found = reader.version(change.id, version, |bytes| {
                let record = VersionRecord::read(bytes)?;
                let stored = self.0.shared.stored(change.id, version, bytes)?;
                Ok::<_, StoreError>((record.seq, stored, record.erased()?.is_some()))
            })?;
            match found.transpose()? {
                Some((seq, stored, is_erased))
                    if (seq, stored.stamp.milliseconds) == (change.seq, change.milliseconds) =>
                {
                    Ok((!is_erased).then_some((seq, stored)))
                }
                _ => Err(StoreError::Damaged(format!(
                    "change {} has not version {version} of Composition/{}, or another time than it",
                    change.seq, change.id
                ))),
            }
        };
        self.0.reading(|reader| {
            let (mut at, mut found) = (after, Vec::new());
            // Changes of consent are no versions; none at all means the end to whoever asks.
            while found.is_empty() {
                let changes = reader.changes_after(at, max)?;
                let Some(last) = changes.last() else { break };
                at = last.seq;
                for change in changes {
                    if let Some(version) = change.version() {
                        found.extend(read(reader, change, version)?);
                    }
                }
            }
            Ok(found)
        })
    }

    /// Changes after one, in their order, at most `max`, as the audit trail reports them.
    pub fn changes_after(&self, after: Seq, max: usize) -> Result<Vec<CommittedChange>, StoreError> {
        self.0.shared.committed_after(after, max)
    }

    /// The newest moment, read in one short transaction.
    pub fn moment(&self) -> Result<StoreSnapshot, StoreError> {
        self.0.reading(|reader| {
            let names =
                self.0.names.0.iter().map(|(name, _)| Ok((name.clone(), reader.meta_text(&format!("name.{name}"))?)));
            let position = reader.position()?;
            let since_1970 = |stamp: i64| (stamp > i64::MIN).then_some(stamp);
            Ok(StoreSnapshot {
                store: reader.meta_text("store")?,
                epoch: reader.meta_text("epoch")?,
                names: names.collect::<Result<_, StoreError>>()?,
                until: position.seq,
                register_until: reader.last_entry(EntryLog::Register)?.map_or(0, |entry| entry.row.seq.0),
                chain: reader.chain()?,
                next_id: position.next_id.get(),
                next_patient_id: reader.meta_number("next-patient-id")?.unwrap_or(1),
                dictionaries: reader.dictionaries()?,
                time: StoredTime {
                    newest: since_1970(position.milliseconds),
                    accepted: since_1970(reader.clock_accepted()?),
                    resets: reader.clock_resets()?,
                },
                purpose: reader.purpose()?,
                audit_head: reader.audit_head()?,
            })
        })
    }

    /// How far the chains went at an entry of each log; none where the store has not come so far.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn chain_at(&self, change: Seq, register: u64) -> Result<Option<StoreChain>, StoreError> {
        self.0.reading(|reader| reader.chain_at(change, register))
    }

    /// Hash of an entry; none where the log has not come so far. Number 0 is where it begins.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn hash(&self, log: EntryLog, number: u64) -> Result<Option<EntryHash>, StoreError> {
        self.0.reading(|reader| reader.entry_hash(log, number))
    }

    /// The last entry of each log.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn heads(&self) -> Result<[EntryHead; 2], StoreError> {
        self.0.reading(|reader| {
            let StoreChain { changes, register, .. } = reader.chain()?;
            let last = |log| Ok::<_, StoreError>(reader.last_entry(log)?.map_or(0, |entry| entry.row.seq.0));
            let of = |log, hash| Ok::<_, StoreError>(EntryHead { log, number: last(log)?, hash });
            Ok([of(EntryLog::Changes, changes)?, of(EntryLog::Register, register)?])
        })
    }

    /// Copies entries of a log behind one and up to another, as many as a piece holds; none when there is nothing between the two.
    ///
    /// # Errors
    /// An entry is missing or cannot be read.
    pub fn copy(&self, log: EntryLog, after: u64, until: u64) -> Result<LogPiece, StoreError> {
        self.0.shared.heed(copy::piece(&self.0.shared.store, log, after, until))
    }
}
