//! A log in the open write transaction: rows by number, each with the hash that goes on from the one before.

use super::StoreError;
use super::chain;
use super::change::{ChangeKind, ChangeRow, LOGGED_BYTES, hash_of};
use super::log::{WriteTransaction, WrittenTable};
use super::tables::table_of;
use crate::chain::{EntryHash, EntryLog};
use certificate::{Id, Seq};

/// A log in the open write transaction.
pub(super) struct WrittenLog<'t> {
    pub(super) rows: WrittenTable<'t, u64, &'static [u8; LOGGED_BYTES]>,
    last: u64,
    running: u64,
    head: EntryHash,
    /// Rows that are put into the table at the end.
    new: Vec<(u64, [u8; LOGGED_BYTES])>,
}

impl<'t> WrittenLog<'t> {
    /// Opens a log, or makes it.
    ///
    /// # Errors
    /// `Damaged` where its last row is not readable: nothing is chained to it.
    pub(super) fn open(transaction: &'t WriteTransaction, log: EntryLog) -> Result<WrittenLog<'t>, StoreError> {
        let rows = transaction.open_table(table_of(log))?;
        let last = rows.last()?.map(|(number, row)| (number.value(), *row.value()));
        let (last, running, head) = match last {
            Some((number, row)) => (number, ChangeRow::of_log(number, &row)?.running, hash_of(&row)),
            None => (0, 0, chain::written_origin(transaction)?),
        };
        Ok(WrittenLog { rows, last, running, head, new: Vec::new() })
    }

    /// Number of the newest entry; 0 while there is none.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// The row of the entry that comes next.
    pub(super) fn next(&self, id: Id, what: ChangeKind, milliseconds: i64) -> ChangeRow {
        let row = ChangeRow { seq: Seq(self.last).next(), id, what, milliseconds, running: self.running };
        ChangeRow { running: self.running + u64::from(row.is_counted()), ..row }
    }

    /// Adds the next entry.
    pub(super) fn push(&mut self, row: ChangeRow, record: &[u8]) {
        assert_eq!(row.seq.0, self.last + 1, "the number follows the last one");
        (self.last, self.running) = (row.seq.0, row.running);
        self.head = row.hash_behind(self.head, record);
        self.new.push((row.seq.0, row.logged(self.head)));
    }

    /// Hash of an entry that is in the table.
    pub(super) fn hash(&self, number: Seq) -> Result<Option<EntryHash>, StoreError> {
        Ok(self.rows.get(number.0)?.map(|row| hash_of(row.value())))
    }

    /// Puts what was added into the table.
    pub(super) fn flush(&mut self) -> Result<(), StoreError> {
        let rows = std::mem::take(&mut self.new);
        self.rows.append(rows.iter().map(|(number, row)| (*number, row)))
    }
}
