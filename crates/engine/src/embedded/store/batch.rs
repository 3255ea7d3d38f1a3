//! Writing: the one open transaction.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use super::chain;
use super::change::{ChangeKind, ChangeRow, LOGGED_BYTES, hash_of};
use super::hour_count::HourCounts;
use super::log::{WriteTransaction, WrittenTable};
use super::newest::newest;
use super::{CLASS, COUNTER, LOG, StoreError, VERSION, record};
use super::{consent, list, patient};
use crate::{EntryHash, ListChange, PatientWrite};
use certificate::{Consent, Id, Stamp, Version};

/// The open write transaction.
///
/// Rows are put into their tables at the end, in the order of their keys: redb packs pages full where a run of keys is appended, and
/// leaves them half empty where each key comes alone.
pub struct Batch<'t> {
    transaction: &'t WriteTransaction,
    versions: WrittenTable<'t, (u64, u32), &'static [u8]>,
    pub(super) log: WrittenTable<'t, u64, &'static [u8; LOGGED_BYTES]>,
    new_versions: BTreeMap<(u64, u32), Vec<u8>>,
    new_changes: Vec<(u64, [u8; LOGGED_BYTES])>,
    /// Hash of the last change.
    head: EntryHash,
    /// Versions that were put into the table of times.
    pub(super) hours: HourCounts,
    /// By how much the numbers of current certificates of classes move.
    moved: BTreeMap<u32, i64>,
    has_consent: &'t AtomicBool,
    /// Opened when they are needed first.
    consents: Option<consent::WrittenConsentTables<'t>>,
}

impl<'t> Batch<'t> {
    pub(super) fn new(transaction: &'t WriteTransaction, has_consent: &'t AtomicBool) -> Result<Batch<'t>, StoreError> {
        let log = transaction.open_table(LOG)?;
        let last = log.last()?.map(|(_, row)| hash_of(row.value()));
        let head = last.map_or_else(|| chain::written_origin(transaction), Ok)?;
        Ok(Batch {
            versions: transaction.open_table(VERSION)?,
            log,
            transaction,
            new_versions: BTreeMap::new(),
            new_changes: Vec::new(),
            head,
            hours: HourCounts::default(),
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
            None => newest(&self.versions, id, read),
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

    /// Stores a version and its change, whose hash comes back.
    pub fn insert(&mut self, change: ChangeRow, draft: &record::RecordDraft, stamp: Stamp) -> EntryHash {
        let version = change.version().expect("a draft becomes a version");
        let mut record = Vec::new();
        draft.write(change.seq, stamp, &mut record);
        let hash = self.log(change, &record);
        let replaced = self.new_versions.insert((change.id.get(), version.get()), record);
        assert!(replaced.is_none(), "a version is written once");
        hash
    }

    /// Puts a change into the log, chained to the one before.
    fn log(&mut self, change: ChangeRow, record: &[u8]) -> EntryHash {
        self.head = self.head.followed_by(&change.chained(record));
        self.new_changes.push((change.seq.0, change.logged(self.head)));
        self.head
    }

    /// Stores a version that was copied from another store, and its change.
    pub fn insert_copied(&mut self, change: ChangeRow, record: &[u8]) {
        let version = change.version().expect("a change of consent is inserted as one");
        self.log(change, record);
        let replaced = self.new_versions.insert((change.id.get(), version.get()), record.to_vec());
        assert!(replaced.is_none(), "a version is written once");
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

    /// Stores a change of consent. Its hash comes back.
    pub fn insert_consent(
        &mut self,
        change: ChangeRow,
        record: &consent::record::StoredConsent,
    ) -> Result<EntryHash, StoreError> {
        let ChangeKind::Consent(number) = change.what else { unreachable!("a version has a draft") };
        self.has_consent.store(true, Ordering::Release);
        let bytes = record.write();
        self.consents()?.insert(change.id, number, record.consent, &bytes)?;
        Ok(self.log(change, &bytes))
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
        std::mem::take(&mut self.hours).store(self.transaction)?;
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
        let rows = std::mem::take(&mut self.new_changes);
        self.log.append(rows.iter().map(|(seq, row)| (*seq, row)))
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
            counters.insert(class, moved)?;
        }
        Ok(())
    }

    /// Changes the loaded code lists.
    pub fn change_lists(&mut self, changes: &[ListChange]) -> Result<(), StoreError> {
        list::change(self.transaction, changes)
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
