//! Consent: every change of it under id and number, and a table that says again what holds for certificates that are closed to someone.
//!
//! The tables are made by the first change of consent; in a folder that never had one, everything is open.

pub mod record;

use redb::TableDefinition;

use super::log::{ReadTransaction, WriteTransaction, WrittenTable};
use super::optional::KeptEntries;
use super::{OptionalTable, StoreError, opened};
use certificate::{Consent, Id, Seq};
use record::StoredConsent;

/// Id and number of the change to record.
pub(super) const CONSENT: TableDefinition<(u64, u32), &[u8]> = TableDefinition::new("consent");
/// Id to the bits of the consent that holds, where it is not open for everyone. Deleted certificates keep theirs.
pub(super) const CLOSED: TableDefinition<u64, u8> = TableDefinition::new("consent_closed");

/// Whether consent was ever changed in this store.
pub fn is_used(transaction: &ReadTransaction) -> Result<bool, StoreError> {
    match transaction.find_table(CONSENT)? {
        Some(table) => Ok(table.first()?.is_some()),
        None => Ok(false),
    }
}

/// The tables of the open write transaction.
pub struct WrittenConsentTables<'t> {
    changes: WrittenTable<'t, (u64, u32), &'static [u8]>,
    closed: WrittenTable<'t, u64, u8>,
}

impl<'t> WrittenConsentTables<'t> {
    /// Opens the tables, or makes them.
    pub fn open(transaction: &'t WriteTransaction) -> Result<WrittenConsentTables<'t>, StoreError> {
        Ok(WrittenConsentTables { changes: transaction.open_table(CONSENT)?, closed: transaction.open_table(CLOSED)? })
    }

    /// What holds for a certificate.
    pub fn now(&self, id: Id) -> Result<Consent, StoreError> {
        consent_of(id, self.closed.get(id.get())?.map(|bits| bits.value()))
    }

    /// Number of the last change; 0 when there was none.
    pub fn last_number(&self, id: Id) -> Result<u32, StoreError> {
        let mut of_id = self.changes.range((id.get(), 0)..=(id.get(), u32::MAX))?;
        Ok(of_id.next_back().transpose()?.map_or(0, |(key, _)| key.value().1))
    }

    /// Stores a change.
    pub fn insert(&mut self, id: Id, number: u32, record: &[u8]) -> Result<(), StoreError> {
        let replaced = self.changes.insert((id.get(), number), record)?;
        assert!(!replaced, "a change of consent is written once");
        Ok(())
    }

    /// Remembers what holds for a certificate.
    pub fn hold(&mut self, id: Id, consent: Consent) -> Result<(), StoreError> {
        match consent == Consent::default() {
            true => self.closed.remove(id.get())?,
            false => drop(self.closed.insert(id.get(), consent.bits())?),
        }
        Ok(())
    }
}

/// The tables at one moment, each opened when it is asked for first.
#[derive(Default)]
pub struct ConsentTables {
    changes: OptionalTable<(u64, u32), &'static [u8]>,
    closed: OptionalTable<u64, u8>,
}

impl ConsentTables {
    /// The records of all changes.
    pub(super) fn records(&self, transaction: &ReadTransaction) -> Result<KeptEntries<'_>, StoreError> {
        opened(&self.changes, transaction, CONSENT)
    }

    /// What holds for a certificate.
    pub fn now(&self, transaction: &ReadTransaction, id: Id) -> Result<Consent, StoreError> {
        let Some(closed) = opened(&self.closed, transaction, CLOSED)? else { return Ok(Consent::default()) };
        consent_of(id, closed.get(id.get())?.map(|bits| bits.value()))
    }

    /// What held for a certificate after a change of the store.
    pub fn at(&self, transaction: &ReadTransaction, id: Id, seq: Seq) -> Result<Consent, StoreError> {
        let mut found = Consent::default();
        self.each(transaction, id, |_, record| {
            if record.seq <= seq {
                found = record.consent;
            }
            Ok(record.seq > seq)
        })?;
        Ok(found)
    }

    /// One change, handed to `read` where it lies.
    pub fn change<T>(
        &self,
        transaction: &ReadTransaction,
        id: Id,
        number: u32,
        read: impl FnOnce(StoredConsent) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let Some(changes) = opened(&self.changes, transaction, CONSENT)? else { return Ok(None) };
        let found = changes.get((id.get(), number))?;
        found.map(|bytes| read(StoredConsent::read(id, number, bytes.value())?)).transpose()
    }

    /// Changes of a certificate from the newest back, while `each` says so.
    pub fn each(
        &self,
        transaction: &ReadTransaction,
        id: Id,
        mut each: impl FnMut(u32, StoredConsent) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let Some(changes) = opened(&self.changes, transaction, CONSENT)? else { return Ok(()) };
        for row in changes.range((id.get(), 0)..=(id.get(), u32::MAX))?.rev() {
            let (key, bytes) = row?;
            let number = key.value().1;
            if !each(number, StoredConsent::read(id, number, bytes.value())?)? {
                break;
            }
        }
        Ok(())
    }

    /// Certificates that are closed to someone, deleted ones too, by id.
    pub fn closed(&self, transaction: &ReadTransaction) -> Result<Vec<(Id, Consent)>, StoreError> {
        let Some(closed) = opened(&self.closed, transaction, CLOSED)? else { return Ok(Vec::new()) };
        let rows = closed.iter()?;
        rows.map(|row| {
            let (id, bits) = row?;
            let id = Id::new(id.value()).ok_or_else(|| StoreError::Damaged("the consent of a certificate 0".into()))?;
            Ok((id, consent_of(id, Some(bits.value()))?))
        })
        .collect()
    }
}

fn consent_of(id: Id, bits: Option<u8>) -> Result<Consent, StoreError> {
    let damaged = || StoreError::Damaged(format!("the consent of Composition/{id} is not readable"));
    bits.map_or(Ok(Consent::default()), |bits| Consent::from_bits(bits).ok_or_else(damaged))
}
