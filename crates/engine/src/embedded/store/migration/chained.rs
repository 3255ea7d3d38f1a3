//! Format 3: records of format 2 become entries, and the logs of changes and of patients become chains. Code lists and resets of the clock,
//! which no log had, are entries of the register from now on.

use std::collections::HashMap;

use redb::TableDefinition;

use super::super::body::{self, Dictionary};
use super::super::chain::CHAIN_ORIGIN;
use super::super::change::{CHANGE_BYTES, ChangeKind, ChangeRow};
use super::super::consent::CONSENT;
use super::super::mark::{self, StoreMark};
use super::super::patient::PATIENT;
use super::super::record::EntryKind;
use super::super::tables::{DICTIONARY, META, VERSION};
use super::super::written_log::WrittenLog;
use super::super::{StoreError, format_2, list};
use super::MigrationWalk;
use crate::{ClockReset, EntryHash, EntryLog, ListChange, ListKey, StoredList};
use certificate::{Id, Seq, Version};

/// The log of changes of format 2.
pub(super) const CHANGE_2: TableDefinition<u64, &[u8; CHANGE_BYTES]> = TableDefinition::new("change");

/// Bytes of a row of the log of patients: id u64, version u32, little-endian.
const PATIENT_CHANGE_BYTES: usize = 12;

/// The log of patients of format 2.
pub(super) const PATIENT_CHANGE_2: TableDefinition<u64, &[u8; PATIENT_CHANGE_BYTES]> =
    TableDefinition::new("patient_change");

/// Code lists of format 2: type, blank and address to time i64, bytes of the raw text u32, and a zstd frame.
pub(super) const TERMINOLOGY_2: TableDefinition<&str, &[u8]> = TableDefinition::new("terminology");

/// Name in `meta` of where time began again in format 2: the change before each as u64, then the clock as i64.
pub(super) const CLOCK_RESETS_2: &str = "clock-resets";

/// Chains both logs. How far it came say the new logs themselves; the old ones go last.
pub(super) fn fill(walk: &MigrationWalk) -> Result<(), StoreError> {
    walk.commit(|transaction| {
        let mut meta = transaction.open_table(META)?;
        let text = |name: &str| -> Result<String, StoreError> {
            let text = meta.get(name)?.map(|text| String::from_utf8_lossy(text.value()).into_owned());
            text.ok_or_else(|| StoreError::Damaged(format!("'{name}' is missing")))
        };
        let origin = EntryHash::origin(&text("store")?, &text("epoch")?);
        meta.insert(CHAIN_ORIGIN, origin.bytes().as_slice()).map(drop)
    })?;
    let dictionaries = dictionaries(walk)?;
    while changes(walk, &dictionaries)? {}
    while patients(walk, &dictionaries)? {}
    unlogged(walk, &dictionaries)?;
    walk.commit(|transaction| {
        transaction.delete_table(CHANGE_2)?;
        transaction.delete_table(PATIENT_CHANGE_2)
    })
}

type Dictionaries = HashMap<u8, Dictionary>;

fn dictionaries(walk: &MigrationWalk) -> Result<Dictionaries, StoreError> {
    let table = walk.log.begin_read()?.open_table(DICTIONARY)?;
    let rows = table.iter()?;
    rows.map(|row| {
        let (number, content) = row?;
        Ok((number.value(), body::dictionary(content.value())?))
    })
    .collect()
}

/// Makes some rows of a log of format 2 rows of a chain, and what they made entries; false where there are none left.
fn logged<const BYTES: usize>(
    walk: &MigrationWalk,
    dictionaries: &Dictionaries,
    (from, to): (TableDefinition<'static, u64, &'static [u8; BYTES]>, EntryLog),
    row_of: impl Fn(u64, &[u8; BYTES]) -> Result<ChangeRow, StoreError>,
) -> Result<bool, StoreError> {
    let reader = walk.log.begin_read()?;
    let Some(from) = reader.find_table(from)? else { return Ok(false) };
    let mut rows = 0;
    walk.commit(|transaction| {
        let mut log = WrittenLog::open(transaction, to)?;
        for row in from.range(log.last() + 1..)?.take(walk.chunk_rows) {
            let (number, row) = row?;
            let mut row = row_of(number.value(), row.value())?;
            let kind = row.what.kind();
            let table = match kind {
                EntryKind::Consent => CONSENT,
                EntryKind::Patient => PATIENT,
                _ => VERSION,
            };
            let mut table = transaction.open_table(table)?;
            let former = table.get(row.key())?.map(|record| record.value().to_vec());
            // A check reports a record that is missing or damaged; the others stay readable.
            let known = |number| dictionaries.get(&number).copied();
            let dictionary =
                |number| known(number).ok_or_else(|| StoreError::Damaged(format!("dictionary {number} is missing")));
            let former = former.unwrap_or_default();
            let record = match format_2::entry(kind, row.seq.0, &former, dictionary) {
                Ok(record) if !former.is_empty() => {
                    table.insert(row.key(), &*record)?;
                    record
                }
                _ => former.as_slice().into(),
            };
            if kind == EntryKind::Patient {
                row.milliseconds = format_2::time_of(&record).unwrap_or_default();
            }
            log.push(row, &record);
            rows += 1;
        }
        log.flush()
    })?;
    Ok(rows > 0)
}

fn changes(walk: &MigrationWalk, dictionaries: &Dictionaries) -> Result<bool, StoreError> {
    logged(walk, dictionaries, (CHANGE_2, EntryLog::Changes), ChangeRow::read)
}

fn patients(walk: &MigrationWalk, dictionaries: &Dictionaries) -> Result<bool, StoreError> {
    logged(walk, dictionaries, (PATIENT_CHANGE_2, EntryLog::Register), |number, row| {
        let (id, version) = row.split_first_chunk::<8>().expect("a row has twelve bytes");
        let version = u32::from_le_bytes(version.try_into().expect("four bytes are left"));
        let made = Id::new(u64::from_le_bytes(*id)).zip(Version::new(version));
        let (id, version) =
            made.ok_or_else(|| StoreError::Damaged(format!("change {number} of patients is not readable")))?;
        let what = ChangeKind::Patient(version);
        Ok(ChangeRow { seq: Seq(number), id, what, milliseconds: 0, running: number })
    })
}

/// What no log had: code lists and resets of the clock.
fn unlogged(walk: &MigrationWalk, dictionaries: &Dictionaries) -> Result<(), StoreError> {
    let reader = walk.log.begin_read()?;
    let mut lists = Vec::new();
    if let Some(table) = reader.find_table(TERMINOLOGY_2)? {
        for row in table.iter()? {
            let (key, value) = row?;
            lists.push(ListChange::Put(list(key.value(), value.value())?));
        }
    }
    let resets = reader.open_table(META)?.get(CLOCK_RESETS_2)?.map(|resets| resets.value().to_vec());
    let newest = dictionaries.iter().max_by_key(|(number, _)| **number).map(|(number, newest)| (*number, *newest));
    walk.commit(|transaction| {
        if !lists.is_empty() {
            let missing = || StoreError::Damaged("there is no dictionary".into());
            list::change(transaction, &lists, 0, newest.ok_or_else(missing)?)?;
        }
        for reset in resets.as_deref().unwrap_or_default().as_chunks::<16>().0 {
            let (change, at) = reset.split_at(8);
            let change = u64::from_le_bytes(change.try_into().expect("eight bytes were cut"));
            let at = i64::from_le_bytes(at.try_into().expect("eight bytes were cut"));
            mark::add(transaction, &StoreMark::Reset(ClockReset { change, at }), at)?;
        }
        transaction.open_table(META)?.remove(CLOCK_RESETS_2)?;
        transaction.delete_table(TERMINOLOGY_2)
    })
}

/// A code list of format 2.
fn list(key: &str, value: &[u8]) -> Result<StoredList, StoreError> {
    let damaged = || StoreError::Damaged(format!("the code list '{key}' is not readable"));
    let (resource_type, url) = key.split_once(' ').ok_or_else(damaged)?;
    let (at, rest) = value.split_first_chunk().ok_or_else(damaged)?;
    let (raw_bytes, frame) = rest.split_first_chunk().ok_or_else(damaged)?;
    let text = zstd::bulk::decompress(frame, u32::from_le_bytes(*raw_bytes) as usize).map_err(|_| damaged())?;
    let key = ListKey { resource_type: resource_type.to_owned(), url: url.to_owned() };
    Ok(StoredList { key, at: i64::from_le_bytes(*at), text })
}
