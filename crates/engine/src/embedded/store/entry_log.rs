//! Both logs of entries as they are read.

use redb::TableHandle;

use super::ascending::Ascending;
use super::change::{ChangeRow, LOGGED_BYTES, hash_of};
use super::log::PageGuard;
use super::tables::table_of;
use super::{StoreError, StoreReader};
use crate::chain::{EntryHash, EntryLog, StoreChain};
use certificate::Seq;

/// A row of a log where it lies.
type LoggedRow<'a> = (PageGuard<'a, u64>, PageGuard<'a, &'static [u8; LOGGED_BYTES]>);

/// An entry as its log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedEntry {
    /// What was made.
    pub row: ChangeRow,
    /// Hash of the entry and of all before it.
    pub hash: EntryHash,
}

impl LoggedEntry {
    fn read((number, row): LoggedRow) -> Result<LoggedEntry, StoreError> {
        let (number, row) = (number.value(), row.value());
        Ok(LoggedEntry { row: ChangeRow::of_log(number, row)?, hash: hash_of(row) })
    }
}

impl StoreReader {
    /// Entries of a log behind a number, in their order, at most `max`.
    pub fn entries_after(&self, log: EntryLog, after: u64, max: usize) -> Result<Vec<LoggedEntry>, StoreError> {
        let Some(table) = self.log(log)? else { return Ok(Vec::new()) };
        let definition = table_of(log);
        let mut ascending = Ascending { table: definition.name(), last: after };
        let rows = table.range(after.saturating_add(1)..)?.take(max);
        rows.map(|row| {
            let row = row?;
            let (before, number) = (ascending.last, row.0.value());
            ascending.next(&number)?;
            // Numbers of a log have no gaps, so a gap is damage.
            match number - before {
                1 => LoggedEntry::read(row),
                _ => {
                    Err(StoreError::Damaged(format!("number {number} of {} stands behind number {before}", log.name())))
                }
            }
        })
        .collect()
    }

    /// The newest entry of a log.
    pub fn last_entry(&self, log: EntryLog) -> Result<Option<LoggedEntry>, StoreError> {
        match self.log(log)? {
            Some(table) => table.last()?.map(LoggedEntry::read).transpose(),
            None => Ok(None),
        }
    }

    /// Hash of an entry; where the log begins, of entry 0.
    pub fn entry_hash(&self, log: EntryLog, number: u64) -> Result<Option<EntryHash>, StoreError> {
        match (number, self.log(log)?) {
            (0, _) => self.chain_origin().map(Some),
            (_, Some(table)) => Ok(table.get(number)?.map(|row| hash_of(row.value()))),
            (_, None) => Ok(None),
        }
    }

    /// How far the chains went at an entry of each log; none where the store has not come so far.
    pub fn chain_at(&self, changes: Seq, register: u64) -> Result<Option<StoreChain>, StoreError> {
        let origin = self.chain_origin()?;
        let hashes = self.entry_hash(EntryLog::Changes, changes.0)?.zip(self.entry_hash(EntryLog::Register, register)?);
        Ok(hashes.map(|(changes, register)| StoreChain { origin, changes, register }))
    }

    /// What an entry made, as it lies in the store.
    pub fn record_of<T>(&self, row: &ChangeRow, read: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, StoreError> {
        let table = self.kept(row.what)?;
        Ok(table.map(|table| table.get(row.key())).transpose()?.flatten().map(|record| read(record.value())))
    }
}
