//! Everything that is kept beside the entries, derived from them: by a restore as they come, and from those that lie there.

use std::sync::Arc;

use super::classes::{self, Classes};
use super::copy::whole_row;
use super::counters::Deltas;
use super::index;
use super::store::consent::record::StoredConsent;
use super::store::record::VersionRecord;
use super::store::row::{lay, read_row};
use super::store::{Batch, ChangeKind, ChangeRow, CommitNeed, Store, StoreError, StoreMedium, StorePosition};
use super::{Engine, EngineOptions, store_options};
use crate::EntryLog;
use certificate::search::row::Row;
use certificate::{Id, Seq, Version};

/// Entries that are read at one moment.
const ENTRIES_AT_ONCE: usize = 4_096;

/// What changes of certificates bring and take: classes, their counters, and the consent that holds.
pub(super) struct Derivation<'d> {
    store: &'d Store,
    classes: &'d mut Arc<Classes>,
    deltas: Deltas,
    /// Bodies are looked at too.
    is_check: bool,
}

impl<'d> Derivation<'d> {
    /// `is_check` for entries that come from elsewhere: each body is to be the JSON of a resource.
    pub(super) fn new(store: &'d Store, classes: &'d mut Arc<Classes>, is_check: bool) -> Derivation<'d> {
        Derivation { store, classes, deltas: Deltas::new(), is_check }
    }

    /// Takes the next change in, behind all before it; whether it is a version that was imported.
    ///
    /// # Errors
    /// `Damaged`, or the store cannot be written.
    pub(super) fn change(&mut self, batch: &mut Batch, change: &ChangeRow, bytes: &[u8]) -> Result<bool, StoreError> {
        let id = change.id;
        let (before, new, is_imported) = match change.what {
            ChangeKind::Version(number) => {
                let record = VersionRecord::read(bytes)?;
                let new = match self.is_check {
                    true => whole_row(id, number, &record, |number| self.store.dictionary(number))?,
                    false => self.row_of(&record)?,
                };
                let before = number.before().map(|before| self.row(batch, id, before)).transpose()?.flatten();
                (before, new, record.is_imported()?)
            }
            ChangeKind::Consent(number) => {
                let record = StoredConsent::read(id, number, bytes)?;
                batch.version(id, record.version, |_| ())?.ok_or_else(|| {
                    StoreError::Damaged(format!("Composition/{id} has no version {}", record.version))
                })?;
                // None where the certificate was erased.
                let row = self.row(batch, id, record.version)?;
                self.leaves(row.clone())?;
                batch.hold_consent(id, record.consent)?;
                (None, row, false)
            }
            _ => return Err(change.misplaced()),
        };
        self.leaves(before)?;
        if let Some(mut new) = new {
            lay(&mut new, batch.consent(id)?);
            self.enters(batch, new)?;
        }
        Ok(is_imported)
    }

    /// Takes the content out of all versions of a certificate; how many had some.
    ///
    /// # Errors
    /// `Damaged`, or the store cannot be written.
    pub(super) fn erase(&mut self, batch: &mut Batch, id: Id) -> Result<u64, StoreError> {
        if let Some(newest) = batch.newest(id, |version, _| version)? {
            let current = self.row(batch, id, newest)?;
            self.leaves(current)?;
        }
        batch.erase(id)
    }

    /// Moves the counters.
    pub(super) fn finish(self, batch: &mut Batch) {
        batch.count(self.deltas);
    }

    /// The row of a version, with the consent that holds; none for a tombstone.
    fn row(&self, batch: &mut Batch, id: Id, version: Version) -> Result<Option<Row>, StoreError> {
        let found = batch.version(id, version, |bytes| self.row_of(&VersionRecord::read(bytes)?))?;
        let Some(mut row) = found.transpose()?.flatten() else { return Ok(None) };
        lay(&mut row, batch.consent(id)?);
        Ok(Some(row))
    }

    fn row_of(&self, record: &VersionRecord) -> Result<Option<Row>, StoreError> {
        match record.row.is_empty() {
            true => Ok(None),
            false => read_row(record, self.store.dictionary(record.dictionary)?).map(Some),
        }
    }

    /// A current row is replaced.
    fn leaves(&mut self, row: Option<Row>) -> Result<(), StoreError> {
        let Some(row) = row else { return Ok(()) };
        let class = self.classes.find(&row.class).map(|(class, _)| class);
        let class = class.ok_or_else(|| StoreError::Damaged("a stored row has a class that was never met".into()))?;
        *self.deltas.entry(class).or_default() -= 1;
        Ok(())
    }

    /// A row becomes current.
    fn enters(&mut self, batch: &mut Batch, row: Row) -> Result<(), StoreError> {
        let class = match self.classes.find(&row.class) {
            Some((class, _)) => class,
            None => {
                let class = Arc::make_mut(self.classes).add(row.class.clone());
                batch.insert_class(class, &classes::write(&row.class))?;
                class
            }
        };
        *self.deltas.entry(class).or_default() += 1;
        Ok(())
    }
}

impl Engine {
    /// Makes everything anew in a store that is kept beside its entries, in one commit. Nobody else has the folder. The names of the tables
    /// come back that were not as they should be.
    ///
    /// # Errors
    /// As [`open`](Engine::open); `Damaged` where an entry is not as it was written: then nothing was changed.
    pub fn derive(options: &EngineOptions) -> Result<Vec<String>, StoreError> {
        let (store, opened) = Store::open(&options.folder, store_options(options, StoreMedium::default()))?;
        let before = store.reader()?.derived()?;
        derive_anew(&store, opened.position)?;
        let after = store.reader()?.derived()?;
        store.close();
        let differing = before.into_iter().zip(after).filter(|(before, after)| before != after);
        let others: Vec<_> = differing.map(|(_, (name, _))| name).collect();
        // The index has numbers of classes.
        if others.iter().any(|name| name == "class") {
            let removed = index::remove(&options.folder.join("index"));
            removed.map_err(|error| StoreError::Io(format!("the search index was not removed: {error}")))?;
        }
        Ok(others)
    }
}

/// Makes everything anew that is derived, in one commit.
///
/// # Errors
/// `Damaged` where an entry is not as it was written: then nothing was changed.
pub(super) fn derive_anew(store: &Store, mut position: StorePosition) -> Result<(), StoreError> {
    (position.first_timed, position.last) = (None, i64::MIN);
    let mut classes = Arc::new(Classes::default());
    store.write(|batch| {
        batch.clear_derived()?;
        let mut derived = Derivation::new(store, &mut classes, false);
        entries(store, EntryLog::Changes, |row, bytes| {
            derived.change(batch, &row, bytes)?;
            batch.keep_time(&mut position, row)
        })?;
        derived.finish(batch);
        let mut register = batch.register()?;
        entries(store, EntryLog::Register, |row, bytes| register.derive(&row, bytes))?;
        Ok(((), CommitNeed::Yes))
    })
}

/// Hands out all entries of a log, with what they made.
fn entries(
    store: &Store,
    log: EntryLog,
    mut each: impl FnMut(ChangeRow, &[u8]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut at = Seq(0);
    loop {
        let reader = store.reader()?;
        let entries = reader.entries_after(log, at.0, ENTRIES_AT_ONCE)?;
        let Some(last) = entries.last() else { return Ok(()) };
        at = last.row.seq;
        for entry in entries {
            let missing = || StoreError::Damaged(format!("{} is missing", entry.row.made()));
            reader.record_of(&entry.row, |bytes| each(entry.row, bytes))?.ok_or_else(missing)??;
        }
    }
}
