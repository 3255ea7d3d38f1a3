//! Rows as they lie, damaged ones too, for whoever checks the store. Each call reads a bounded piece, so that no read grows old.

use std::ops::Bound;

use redb::{Key, TableDefinition, TableHandle, Value};

use super::ascending::Ascending;
use super::change::{ChangeRow, hash_of};
use super::consent::{CLOSED, CONSENT};
use super::log::ReadOnlyTable;
use super::patient::{BORN, BornRow, FORMER, IDENTIFIER, LINK, PATIENT};
use super::position::{StorePosition, position_at};
use super::tables::table_of;
use super::{CLASS, COUNTER, DICTIONARY, META, StoreError, StoreReader, TIME, VERSION};
use crate::{EntryHash, EntryLog};

/// A table of `(id, number)` to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// Versions of certificates; the number is the version.
    Version,
    /// Changes of consent; the number counts those of one certificate, from 1.
    Consent,
    /// Versions of patients; the number is the version.
    Patient,
}

/// A table of identifiers of patients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatientIdentifiers {
    /// Those of newest versions.
    Current,
    /// Those that only earlier versions have.
    Former,
}

impl PatientIdentifiers {
    fn table(self) -> TableDefinition<'static, (&'static str, &'static str, u64), ()> {
        match self {
            PatientIdentifiers::Current => IDENTIFIER,
            PatientIdentifiers::Former => FORMER,
        }
    }

    /// Name of the table.
    pub fn name(self) -> &'static str {
        match self {
            PatientIdentifiers::Current => "patient_identifier",
            PatientIdentifiers::Former => "patient_former",
        }
    }
}

/// Number of an entry, and its row as far as it can be read.
type BareEntry = (u64, Result<ChangeRow, StoreError>, EntryHash);

impl StoreReader {
    fn found<K: Key + 'static, V: Value + 'static>(
        &self,
        definition: TableDefinition<'static, K, V>,
    ) -> Result<Option<ReadOnlyTable<K, V>>, StoreError> {
        self.transaction.find_table(definition)
    }

    /// Records behind a key, at most `max`; the last key, or none when there are no more.
    pub fn bare_records(
        &self,
        records: Records,
        after: (u64, u32),
        max: usize,
        mut each: impl FnMut((u64, u32), &[u8]) -> Result<(), StoreError>,
    ) -> Result<Option<(u64, u32)>, StoreError> {
        let definition = match records {
            Records::Version => VERSION,
            Records::Consent => CONSENT,
            Records::Patient => PATIENT,
        };
        let Some(table) = self.found(definition)? else { return Ok(None) };
        let mut ascending = Ascending { table: definition.name(), last: after };
        for row in table.range((Bound::Excluded(after), Bound::Unbounded))?.take(max) {
            let (key, bytes) = row?;
            ascending.next(&key.value())?;
            each(key.value(), bytes.value())?;
        }
        Ok(Some(ascending.last).filter(|last| *last != after))
    }

    /// Number of records.
    pub fn record_count(&self, records: Records) -> Result<u64, StoreError> {
        match records {
            Records::Version => self.count_of(VERSION),
            Records::Consent => self.count_of(CONSENT),
            Records::Patient => self.count_of(PATIENT),
        }
    }

    pub(super) fn count_of<K: Key + 'static, V: Value + 'static>(
        &self,
        definition: TableDefinition<'static, K, V>,
    ) -> Result<u64, StoreError> {
        self.found(definition)?.map_or(Ok(0), |table| table.len())
    }

    /// Entries of a log behind a number, at most `max`, each as far as it can be read.
    pub fn bare_entries(&self, log: EntryLog, after: u64, max: usize) -> Result<Vec<BareEntry>, StoreError> {
        let Some(table) = self.log(log)? else { return Ok(Vec::new()) };
        let rows = table.range((Bound::Excluded(after), Bound::Unbounded))?.take(max);
        let definition = table_of(log);
        let mut ascending = Ascending { table: definition.name(), last: after };
        rows.map(|row| {
            let (seq, bytes) = row?;
            ascending.next(&seq.value())?;
            Ok((seq.value(), ChangeRow::of_log(seq.value(), bytes.value()), hash_of(bytes.value())))
        })
        .collect()
    }

    /// How far the store had come.
    pub fn position(&self) -> Result<StorePosition, StoreError> {
        position_at(&self.transaction)
    }

    /// Whether the table of times has a change.
    pub fn has_time(&self, milliseconds: i64, seq: u64) -> Result<bool, StoreError> {
        match self.found(TIME)? {
            Some(table) => Ok(table.get((milliseconds, seq))?.is_some()),
            None => Ok(false),
        }
    }

    /// Rows of the table of times.
    pub fn time_count(&self) -> Result<u64, StoreError> {
        self.count_of(TIME)
    }

    /// Numbers of current certificates by class.
    pub fn counters(&self) -> Result<Vec<(u32, u64)>, StoreError> {
        self.pairs(COUNTER, |class| class, |number| number)
    }

    /// Classes by number.
    pub fn bare_classes(&self) -> Result<Vec<(u32, Vec<u8>)>, StoreError> {
        self.pairs(CLASS, |number| number, |class| class.to_vec())
    }

    /// Dictionaries by number.
    pub fn bare_dictionaries(&self) -> Result<Vec<(u8, Vec<u8>)>, StoreError> {
        self.pairs(DICTIONARY, |number| number, |content| content.to_vec())
    }

    /// What the store says of itself, by name.
    pub fn bare_meta(&self) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.pairs(META, |name| name.to_owned(), |value| value.to_vec())
    }

    /// Consent that is not open, by certificate.
    pub fn bare_closed(&self) -> Result<Vec<(u64, u8)>, StoreError> {
        self.pairs(CLOSED, |id| id, |bits| bits)
    }

    /// Links of current patients.
    pub fn bare_links(&self) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        self.pairs(LINK, |id| id, |links| links.to_vec())
    }

    /// All rows of a small table.
    fn pairs<K: Key + 'static, V: Value + 'static, A, B>(
        &self,
        definition: TableDefinition<'static, K, V>,
        key: impl for<'k> Fn(K::SelfType<'k>) -> A,
        value: impl for<'v> Fn(V::SelfType<'v>) -> B,
    ) -> Result<Vec<(A, B)>, StoreError> {
        let Some(table) = self.found(definition)? else { return Ok(Vec::new()) };
        let rows = table.iter()?;
        rows.map(|row| row.map(|(found, content)| (key(found.value()), value(content.value())))).collect()
    }

    /// Identifiers of patients behind one, at most `max`: value, system, id.
    pub fn bare_identifiers(
        &self,
        which: PatientIdentifiers,
        after: &(String, String, u64),
        max: usize,
    ) -> Result<Vec<(String, String, u64)>, StoreError> {
        let definition = which.table();
        let Some(table) = self.found(definition)? else { return Ok(Vec::new()) };
        let mut ascending = Ascending { table: definition.name(), last: after.clone() };
        let after = (after.0.as_str(), after.1.as_str(), after.2);
        let rows = table.range((Bound::Excluded(after), Bound::Unbounded))?.take(max);
        rows.map(|row| {
            let (key, _) = row?;
            let (value, system, id) = key.value();
            let key = (value.to_owned(), system.to_owned(), id);
            ascending.next(&key)?;
            Ok(key)
        })
        .collect()
    }

    /// Lines of the table of birth dates behind one, at most `max`.
    pub fn bare_born(&self, after: (i32, u64), max: usize) -> Result<Vec<BornRow>, StoreError> {
        let Some(table) = self.found(BORN)? else { return Ok(Vec::new()) };
        let rows = table.range((Bound::Excluded(after), Bound::Unbounded))?.take(max);
        let mut ascending = Ascending { table: BORN.name(), last: after };
        rows.map(|row| {
            let (key, value) = row?;
            ascending.next(&key.value())?;
            Ok(BornRow { key: key.value(), value: value.value() })
        })
        .collect()
    }

    /// The line of the table of birth dates under a key.
    pub fn born_at(&self, key: (i32, u64)) -> Result<Option<BornRow>, StoreError> {
        let Some(table) = self.found(BORN)? else { return Ok(None) };
        Ok(table.get(key)?.map(|value| BornRow { key, value: value.value() }))
    }

    /// Whether an identifier stands in its table.
    pub fn has_identifier(
        &self,
        which: PatientIdentifiers,
        (system, value): (&str, &str),
        id: u64,
    ) -> Result<bool, StoreError> {
        let Some(table) = self.found(which.table())? else { return Ok(false) };
        Ok(table.get((value, system, id))?.is_some())
    }

    /// Links of a patient as their table has them.
    pub fn links_of(&self, id: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(table) = self.found(LINK)? else { return Ok(None) };
        Ok(table.get(id)?.map(|links| links.value().to_vec()))
    }
}
