//! Format 3: the logs of changes and of patients, as they were, become chains.

use redb::TableDefinition;

use super::super::StoreError;
use super::super::chain::{CHAIN_ORIGIN, written_origin};
use super::super::change::{CHANGE_BYTES, ChangeKind, ChangeRow, hash_of};
use super::super::consent::CONSENT;
use super::super::patient::PATIENT;
use super::super::patient::change::{PATIENT_CHANGE_BYTES, PatientLogEntry, PatientLogTable};
use super::super::tables::{LOG, META, VERSION};
use super::MigrationWalk;
use crate::EntryHash;

/// The log of changes of format 2.
pub(super) const CHANGE_2: TableDefinition<u64, &[u8; CHANGE_BYTES]> = TableDefinition::new("change");

/// The log of patients of format 2.
pub(super) const PATIENT_CHANGE_2: TableDefinition<u64, &[u8; PATIENT_CHANGE_BYTES]> =
    TableDefinition::new("patient_change");

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
    while changes(walk)? {}
    while patients(walk)? {}
    walk.commit(|transaction| {
        transaction.delete_table(CHANGE_2)?;
        transaction.delete_table(PATIENT_CHANGE_2)
    })
}

/// Chains some changes; false where there are none left.
fn changes(walk: &MigrationWalk) -> Result<bool, StoreError> {
    let reader = walk.log.begin_read()?;
    let Some(from) = reader.find_table(CHANGE_2)? else { return Ok(false) };
    let (versions, consents) = (reader.open_table(VERSION)?, reader.find_table(CONSENT)?);
    let mut rows = 0;
    walk.commit(|transaction| {
        let mut log = transaction.open_table(LOG)?;
        let last = log.last()?.map(|(seq, row)| (seq.value(), hash_of(row.value())));
        let (done, mut head) = match last {
            Some(last) => last,
            None => (0, written_origin(transaction)?),
        };
        for row in from.range(done + 1..)?.take(walk.chunk_rows) {
            let (seq, change) = row?;
            let change = ChangeRow::read(seq.value(), change.value())?;
            let key = change.id.get();
            let record = match (change.what, &consents) {
                (ChangeKind::Version(version), _) => versions.get((key, version.get()))?,
                (ChangeKind::Consent(number), Some(consents)) => consents.get((key, number))?,
                (ChangeKind::Consent(_), None) => None,
            };
            // A record that is missing is told by a check, and keeps nobody from the others.
            let record = record.as_ref().map_or(&[][..], |record| record.value());
            head = head.followed_by(&change.chained(record));
            log.insert(seq.value(), &change.logged(head))?;
            rows += 1;
        }
        Ok(())
    })?;
    Ok(rows > 0)
}

/// As [`changes`], of patients.
fn patients(walk: &MigrationWalk) -> Result<bool, StoreError> {
    let reader = walk.log.begin_read()?;
    let Some(from) = reader.find_table(PATIENT_CHANGE_2)? else { return Ok(false) };
    let versions = reader.open_table(PATIENT)?;
    let mut rows = 0;
    walk.commit(|transaction| {
        let mut log = PatientLogTable::open(transaction)?;
        for row in from.range(log.last() + 1..)?.take(walk.chunk_rows) {
            let (number, change) = row?;
            let PatientLogEntry { id, version, .. } = PatientLogEntry::read(number.value(), change.value())?;
            let record = versions.get((id.get(), version.get()))?;
            log.push(id, version, record.as_ref().map_or(&[][..], |record| record.value()))?;
            rows += 1;
        }
        Ok(())
    })?;
    Ok(rows > 0)
}
