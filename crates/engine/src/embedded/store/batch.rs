//! Writing: the one open transaction.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use super::body::Dictionary;
use super::change::{ChangeKind, ChangeRow};
use super::copied_entry::CopiedEntry;
use super::hour_count::NewCounts;
use super::log::{WriteTransaction, WrittenTable};
use super::mark::{self, StoreMark};
use super::newest::{expect_newest, newest};
use super::written_log::WrittenLog;
use super::{CLASS, COUNTER, StoreError, VERSION, record};
use super::{consent, derived, list, patient};
use crate::{EntryLog, ListChange, PatientWrite};
use certificate::{Consent, Id, Stamp, Version};

/// Id and version of a stored version, and its record.
type StoredRecord = ((u64, u32), Vec<u8>);

/// The open write transaction.
///
/// Rows are put into their tables at the end, in the order of their keys: redb packs pages full where a run of keys is appended, and
/// leaves them half empty where each key comes alone.
pub struct Batch<'t> {
    transaction: &'t WriteTransaction,
    versions: WrittenTable<'t, (u64, u32), &'static [u8]>,
    pub(super) log: WrittenLog<'t>,
    new_versions: BTreeMap<(u64, u32), Vec<u8>>,
    /// Versions that were put into the table of times.
    pub(super) times: NewCounts,
    /// By how much the numbers of current certificates of classes move.
    moved: BTreeMap<u32, i64>,
    has_consent: &'t AtomicBool,
    /// Opened when they are needed first.
    consents: Option<consent::WrittenConsentTables<'t>>,
}

impl<'t> Batch<'t> {
    pub(super) fn new(transaction: &'t WriteTransaction, has_consent: &'t AtomicBool) -> Result<Batch<'t>, StoreError> {
        Ok(Batch {
            versions: transaction.open_table(VERSION)?,
            log: WrittenLog::open(transaction, EntryLog::Changes)?,
            transaction,
            new_versions: BTreeMap::new(),
            times: NewCounts::default(),
            moved: BTreeMap::new(),
            has_consent,
            consents: None,
        })
    }

    /// The newest version of a certificate, earlier requests of this batch included.
    pub fn newest<T>(&self, id: Id, read: impl FnOnce(Version, &[u8]) -> T) -> Result<Option<T>, StoreError> {
        let of_id = (id.get(), 0)..=(id.get(), u32::MAX);
        match self.new_versions.range(of_id).next_back() {
            Some(((_, version), bytes)) => {
                let version = Version::new(*version).expect("a version that was inserted has a number");
                Ok(Some(read(version, bytes)))
            }
            None => {
                expect_newest(&self.versions, id)?;
                newest(&self.versions, id, read)
            }
        }
    }

    /// One version.
    pub fn version<T>(&self, id: Id, version: Version, read: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, StoreError> {
        let key = (id.get(), version.get());
        match self.new_versions.get(&key) {
            Some(bytes) => Ok(Some(read(bytes))),
            None => Ok(self.versions.get(key)?.map(|bytes| read(bytes.value()))),
        }
    }

    /// The stored versions of a certificate, by their keys.
    pub(super) fn versions_of(&self, id: Id) -> Result<Vec<StoredRecord>, StoreError> {
        let of_id = self.versions.range((id.get(), 0)..=(id.get(), u32::MAX))?;
        let owned = of_id.map(|row| row.map(|(key, record)| (key.value(), record.value().to_vec())));
        owned.collect()
    }

    /// Puts another record in the place of a stored one.
    pub(super) fn replace_version(&mut self, key: (u64, u32), record: &[u8]) -> Result<(), StoreError> {
        self.versions.insert(key, record).map(drop)
    }

    /// Stores a version and its change.
    pub fn insert(&mut self, change: ChangeRow, draft: &record::EntryDraft, stamp: Stamp) {
        let version = change.version().expect("a draft becomes a version");
        let record = draft.write(change.seq.0, stamp);
        self.log.push(change, &record);
        let replaced = self.new_versions.insert((change.id.get(), version.get()), record);
        assert!(replaced.is_none(), "a version is written once");
    }

    /// Stores a version or a change of consent that was copied from another store, and its row of the log.
    pub fn insert_copied(&mut self, change: ChangeRow, record: &[u8]) -> Result<(), StoreError> {
        match change.what {
            ChangeKind::Consent(number) => self.consents()?.insert(change.id, number, record)?,
            _ => {
                let replaced = self.new_versions.insert(change.key(), record.to_vec());
                assert!(replaced.is_none(), "a version is written once");
            }
        }
        self.log.push(change, record);
        Ok(())
    }

    /// Remembers the consent that holds for a certificate.
    pub fn hold_consent(&mut self, id: Id, consent: Consent) -> Result<(), StoreError> {
        self.has_consent.store(true, Ordering::Release);
        self.consents()?.hold(id, consent)
    }

    /// Takes out everything that is derived from the entries.
    pub fn clear_derived(&mut self) -> Result<(), StoreError> {
        self.consents = None;
        derived::clear(self.transaction)
    }

    /// The tables that are derived from the register.
    pub fn register(&mut self) -> Result<patient::WrittenPatientTables<'t>, StoreError> {
        patient::WrittenPatientTables::open(self.transaction, 1)
    }

    pub(super) fn transaction(&self) -> &'t WriteTransaction {
        self.transaction
    }

    /// The consent that holds for a certificate, earlier requests of this batch included.
    pub fn consent(&mut self, id: Id) -> Result<Consent, StoreError> {
        // Only this thread sets it, before it inserts the first one.
        match self.has_consent.load(Ordering::Acquire) {
            true => self.consents()?.now(id),
            false => Ok(Consent::default()),
        }
    }

    /// Number of the next change of a certificate's consent.
    pub fn next_consent(&mut self, id: Id) -> Result<u32, StoreError> {
        let next = self.consents()?.last_number(id)?.checked_add(1);
        Ok(next.expect("four thousand million changes of one consent are never reached"))
    }

    /// Stores a change of consent.
    pub fn insert_consent(
        &mut self,
        change: ChangeRow,
        record: &consent::record::StoredConsent,
    ) -> Result<(), StoreError> {
        let ChangeKind::Consent(number) = change.what else { unreachable!("a version has a draft") };
        let bytes = record.write();
        self.hold_consent(change.id, record.consent)?;
        self.consents()?.insert(change.id, number, &bytes)?;
        self.log.push(change, &bytes);
        Ok(())
    }

    fn consents(&mut self) -> Result<&mut consent::WrittenConsentTables<'t>, StoreError> {
        if self.consents.is_none() {
            self.consents = Some(consent::WrittenConsentTables::open(self.transaction)?);
        }
        Ok(self.consents.as_mut().expect("it was opened above"))
    }

    /// Puts the rows into their tables. Every write comes through the pages that this needs.
    pub(super) fn finish(mut self) -> Result<(), StoreError> {
        self.flush()?;
        std::mem::take(&mut self.times).store(self.transaction)?;
        self.move_counters()
    }

    pub(super) fn flush(&mut self) -> Result<(), StoreError> {
        let last = self.versions.last()?.map(|(key, _)| key.value());
        let appended = match last {
            Some((id, version)) => self.new_versions.split_off(&(id, version.saturating_add(1))),
            None => std::mem::take(&mut self.new_versions),
        };
        for (key, record) in std::mem::take(&mut self.new_versions) {
            if self.versions.insert(key, record.as_slice())? {
                return Err(StoreError::Damaged(format!(
                    "version {} of Composition/{} is there already",
                    key.1, key.0
                )));
            }
        }
        self.versions.append(appended.iter().map(|(key, record)| (*key, record.as_slice())))?;
        self.log.flush()
    }

    /// Stores a class under its number.
    pub fn insert_class(&mut self, number: u32, class: &[u8]) -> Result<(), StoreError> {
        self.transaction.open_table(CLASS)?.insert(number, class)?;
        Ok(())
    }

    /// Moves the numbers of current certificates of some classes.
    pub fn count(&mut self, deltas: impl IntoIterator<Item = (u32, i64)>) {
        for (class, delta) in deltas {
            *self.moved.entry(class).or_default() += delta;
        }
    }

    fn move_counters(&mut self) -> Result<(), StoreError> {
        self.moved.retain(|_, delta| *delta != 0);
        if self.moved.is_empty() {
            return Ok(());
        }
        let mut counters = self.transaction.open_table(COUNTER)?;
        for (&class, &delta) in &self.moved {
            let number = counters.get(class)?.map_or(0, |number| number.value());
            let moved = number.checked_add_signed(delta);
            let moved = moved
                .ok_or_else(|| StoreError::Damaged(format!("more certificates leave class {class} than are in it")))?;
            // Without a certificate a class has no row, so that the same certificates always give the same table.
            match moved {
                0 => counters.remove(class)?,
                _ => drop(counters.insert(class, moved)?),
            }
        }
        Ok(())
    }

    /// Changes the loaded code lists, at a time.
    pub fn change_lists(
        &mut self,
        changes: &[ListChange],
        milliseconds: i64,
        dictionary: (u8, Dictionary),
    ) -> Result<(), StoreError> {
        list::change(self.transaction, changes, milliseconds, dictionary)
    }

    /// Adds a mark to the register.
    pub fn mark(&mut self, mark: &StoreMark, milliseconds: i64) -> Result<(), StoreError> {
        mark::add(self.transaction, mark, milliseconds)
    }

    /// Takes the last mark back, which is the last entry of the register.
    pub fn take_mark_back(&mut self) -> Result<(), StoreError> {
        mark::take_back(self.transaction)
    }

    /// Stores copied entries of the register, with everything that is kept beside them.
    pub fn insert_copied_register(&mut self, entries: &[CopiedEntry]) -> Result<patient::CopiedRegister, StoreError> {
        patient::insert_copied(self.transaction, entries)
    }

    /// Stores patients; `stamp` tells the time of each new version.
    pub fn write_patients(
        &mut self,
        writes: &[PatientWrite],
        stamp: impl FnMut() -> Stamp,
    ) -> Result<patient::PatientBatchResult, StoreError> {
        patient::write(self.transaction, writes, stamp)
    }
}
