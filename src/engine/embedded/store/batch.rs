//! Writing: the one open transaction.

use redb::{ReadableTable, Table};

use super::change::{CHANGE_BYTES, Change};
use super::reader::newest;
use super::{CHANGE, CLASS, COUNTER, Error, META, TIME, VERSION, io, record};
use crate::certificate::{Id, Stamp, Version};

/// The open write transaction.
pub struct Batch<'t> {
    transaction: &'t redb::WriteTransaction,
    versions: Table<'t, (u64, u32), &'static [u8]>,
    changes: Table<'t, u64, &'static [u8; CHANGE_BYTES]>,
    buffer: Vec<u8>,
}

impl<'t> Batch<'t> {
    pub(super) fn new(transaction: &'t redb::WriteTransaction) -> Result<Batch<'t>, Error> {
        Ok(Batch {
            versions: transaction.open_table(VERSION).map_err(io)?,
            changes: transaction.open_table(CHANGE).map_err(io)?,
            transaction,
            buffer: Vec::new(),
        })
    }

    /// The newest version of a certificate, earlier requests of this batch included.
    pub fn newest<T>(&self, id: Id, read: impl FnOnce(Version, &[u8]) -> T) -> Result<Option<T>, Error> {
        newest(&self.versions, id, read)
    }

    /// One version.
    pub fn version<T>(&self, id: Id, version: Version, read: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Error> {
        let found = self.versions.get((id.get(), version.get())).map_err(io)?;
        Ok(found.map(|bytes| read(bytes.value())))
    }

    /// Stores a version and its change.
    pub fn insert(&mut self, change: Change, draft: &record::Draft, stamp: Stamp) -> Result<(), Error> {
        let mut buffer = std::mem::take(&mut self.buffer);
        draft.write(change.seq, stamp, &mut buffer);
        let key = (change.id.get(), change.version.get());
        let replaced = self.versions.insert(key, buffer.as_slice()).map_err(io)?.is_some();
        assert!(!replaced, "a version is written once");
        self.buffer = buffer;
        self.changes.insert(change.seq.0, &change.write()).map_err(io)?;
        Ok(())
    }

    /// Stores a class under its number.
    pub fn insert_class(&mut self, number: u32, class: &[u8]) -> Result<(), Error> {
        self.transaction.open_table(CLASS).map_err(io)?.insert(number, class).map_err(io)?;
        Ok(())
    }

    /// Moves the numbers of current certificates of some classes.
    pub fn count(&mut self, deltas: impl IntoIterator<Item = (u32, i64)>) -> Result<(), Error> {
        let mut counters = self.transaction.open_table(COUNTER).map_err(io)?;
        for (class, delta) in deltas {
            let number = counters.get(class).map_err(io)?.map_or(0, |number| number.value());
            let moved = number.checked_add_signed(delta);
            let moved =
                moved.ok_or_else(|| Error::Damaged(format!("more certificates leave class {class} than are in it")))?;
            counters.insert(class, moved).map_err(io)?;
        }
        Ok(())
    }

    /// Adds a change to the table of times; the first call fills it with all changes before.
    pub fn insert_time(&mut self, change: Change, fill: bool) -> Result<(), Error> {
        let mut times = self.transaction.open_table(TIME).map_err(io)?;
        if fill {
            self.transaction
                .open_table(META)
                .map_err(io)?
                .insert("unordered", 1u64.to_le_bytes().as_slice())
                .map_err(io)?;
            for row in self.changes.range(..change.seq.0).map_err(io)? {
                let (seq, bytes) = row.map_err(io)?;
                let earlier = Change::read(seq.value(), bytes.value())?;
                times.insert((earlier.milliseconds, earlier.seq.0), ()).map_err(io)?;
            }
        }
        times.insert((change.milliseconds, change.seq.0), ()).map_err(io)?;
        Ok(())
    }

    /// Remembers the latest stamp where the last change does not carry it.
    pub fn remember_latest_stamp(&mut self, milliseconds: i64) -> Result<(), Error> {
        let mut meta = self.transaction.open_table(META).map_err(io)?;
        meta.insert("latest-stamp", (milliseconds as u64).to_le_bytes().as_slice()).map_err(io)?;
        Ok(())
    }
}
