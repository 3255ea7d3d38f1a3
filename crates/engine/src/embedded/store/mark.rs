//! Marks: what happened to the store itself, as entries of the register.
//!
//! ```text
//! says 1  a restore began a new epoch; row: the last change that it restored u64, the uuid of the epoch
//! says 2  time began again; row: the change before it u64, the clock then i64, little-endian
//! says 3  a certificate was erased; row: the last change then u64, the certificate u64, why
//! ```

use std::collections::BTreeSet;

use redb::TableDefinition;

use super::log::{ReadTransaction, WriteTransaction};
use super::record::{EntryDraft, EntryKind, StoredEntry};
use super::written_log::WrittenLog;
use super::{ChangeKind, REGISTER, StoreError};
use crate::{ClockReset, EntryLog};
use certificate::{Id, Stamp};

/// Id and 1 to the mark.
pub(super) const MARK: TableDefinition<(u64, u32), &[u8]> = TableDefinition::new("mark");

const EPOCH: u8 = 1;
const RESET: u8 = 2;
const ERASED: u8 = 3;

/// What a mark says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreMark {
    /// A restore up to a change began an epoch.
    Epoch {
        /// The last change that was restored.
        change: u64,
        /// Uuid of the epoch.
        epoch: String,
    },
    /// Time began again.
    Reset(ClockReset),
    /// A certificate was erased: none of its versions has content.
    Erased {
        /// The last change then.
        change: u64,
        /// Which one.
        certificate: Id,
        /// Why, as the operator said it.
        reason: String,
    },
}

impl StoreMark {
    /// Reads a mark.
    ///
    /// # Errors
    /// `Damaged` when the bytes are not as they were written.
    pub fn read(id: u64, bytes: &[u8]) -> Result<StoreMark, StoreError> {
        let entry = StoredEntry::read(EntryKind::Mark, bytes, || format!("mark {id}"))?;
        let read = entry.row.split_first_chunk().and_then(|(change, rest)| {
            let change = u64::from_le_bytes(*change);
            match entry.says {
                EPOCH => Some(StoreMark::Epoch { change, epoch: String::from_utf8(rest.to_vec()).ok()? }),
                RESET => Some(StoreMark::Reset(ClockReset { change, at: i64::from_le_bytes(rest.try_into().ok()?) })),
                ERASED => {
                    let (certificate, reason) = rest.split_first_chunk()?;
                    let certificate = Id::new(u64::from_le_bytes(*certificate))?;
                    Some(StoreMark::Erased { change, certificate, reason: String::from_utf8(reason.to_vec()).ok()? })
                }
                _ => None,
            }
        });
        read.ok_or_else(|| StoreError::Damaged(format!("mark {id} is not readable")))
    }

    fn draft(&self) -> EntryDraft {
        let (says, row) = match self {
            StoreMark::Epoch { change, epoch } => (EPOCH, [&change.to_le_bytes(), epoch.as_bytes()].concat()),
            StoreMark::Reset(ClockReset { change, at }) => (RESET, [change.to_le_bytes(), at.to_le_bytes()].concat()),
            StoreMark::Erased { change, certificate, reason } => {
                let certificate = certificate.get().to_le_bytes();
                (ERASED, [change.to_le_bytes().as_slice(), &certificate, reason.as_bytes()].concat())
            }
        };
        EntryDraft { row, ..EntryDraft::bare(EntryKind::Mark, says) }
    }
}

/// Adds a mark to the register.
pub(super) fn add(transaction: &WriteTransaction, mark: &StoreMark, milliseconds: i64) -> Result<(), StoreError> {
    let mut log = WrittenLog::open(transaction, EntryLog::Register)?;
    let mut marks = transaction.open_table(MARK)?;
    let id = marks.last()?.map_or(1, |(key, _)| key.value().0 + 1);
    let number = Id::new(id).ok_or_else(|| StoreError::Damaged("a mark has id 0".into()))?;
    let row = log.next(number, ChangeKind::Mark, milliseconds);
    let record = mark.draft().write(row.seq.0, Stamp::at(milliseconds));
    marks.insert((id, 1), record.as_slice())?;
    log.push(row, &record);
    log.flush()
}

/// Takes the last mark back, which is the last entry of the register.
pub(super) fn take_back(transaction: &WriteTransaction) -> Result<(), StoreError> {
    let mut register = transaction.open_table(REGISTER)?;
    let mut marks = transaction.open_table(MARK)?;
    let entry = register.last()?.map(|(number, _)| number.value());
    let mark = marks.last()?.map(|(key, _)| key.value());
    entry.into_iter().try_for_each(|number| register.remove(number))?;
    mark.into_iter().try_for_each(|key| marks.remove(key))
}

/// Stores a mark that comes from a copy.
pub(super) fn insert_copied(transaction: &WriteTransaction, id: Id, bytes: &[u8]) -> Result<(), StoreError> {
    StoreMark::read(id.get(), bytes)?;
    transaction.open_table(MARK)?.insert((id.get(), 1), bytes).map(drop)
}

/// Where time began again, in their order. A restore that ends before a reset has not got it.
pub(super) fn resets(transaction: &ReadTransaction) -> Result<Vec<ClockReset>, StoreError> {
    let mut resets = Vec::new();
    each(transaction, |mark| match mark {
        StoreMark::Reset(reset) => resets.push(reset),
        StoreMark::Epoch { change, .. } => resets.retain(|reset: &ClockReset| reset.change <= change),
        StoreMark::Erased { .. } => {}
    })?;
    Ok(resets)
}

/// Certificates that were erased.
pub(super) fn erased(transaction: &ReadTransaction) -> Result<BTreeSet<Id>, StoreError> {
    let mut erased = BTreeSet::new();
    each(transaction, |mark| {
        if let StoreMark::Erased { certificate, .. } = mark {
            erased.insert(certificate);
        }
    })?;
    Ok(erased)
}

/// Hands out all marks in their order.
fn each(transaction: &ReadTransaction, mut each: impl FnMut(StoreMark)) -> Result<(), StoreError> {
    let Some(marks) = transaction.find_table(MARK)? else { return Ok(()) };
    for row in marks.iter()? {
        let (key, bytes) = row?;
        each(StoreMark::read(key.value().0, bytes.value())?);
    }
    Ok(())
}
