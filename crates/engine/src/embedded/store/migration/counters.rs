//! Format 2: the numbers of current certificates by class, where a store was made before there were any.

use std::collections::BTreeMap;

use super::super::body::{self, Dictionary};
use super::super::consent::ConsentTables as Consents;
use super::super::log::ReadTransaction;
use super::super::newest::version_of;
use super::super::position::stored_classes;
use super::super::record::VersionRecord;
use super::super::{COUNTER, DICTIONARY, StoreError, VERSION};
use super::MigrationWalk;
use crate::embedded::classes::Classes;
use crate::embedded::store::row::{lay, read_row};
use certificate::{Id, State};

/// Counts, unless a table of counters is there. They are few, so all of them are one commit.
pub(super) fn count(walk: &MigrationWalk) -> Result<(), StoreError> {
    let transaction = walk.log.begin_read()?;
    if transaction.find_table(COUNTER)?.is_some() {
        return Ok(());
    }
    let classes = Classes::read(&stored_classes(walk.log)?)?;
    let numbers = numbers(&transaction, &classes)?;
    walk.commit(|transaction| {
        let mut counters = transaction.open_table(COUNTER)?;
        for (class, number) in numbers {
            counters.insert(class, number)?;
        }
        Ok(())
    })
}

/// Current certificates by class.
fn numbers(transaction: &ReadTransaction, classes: &Classes) -> Result<BTreeMap<u32, u64>, StoreError> {
    let dictionaries = dictionaries(transaction)?;
    let consents = Consents::default();
    let versions = transaction.open_table(VERSION)?;
    let mut numbers = BTreeMap::new();
    let mut rows = versions.iter()?.peekable();
    while let Some(row) = rows.next() {
        let (key, bytes) = row?;
        let (id, version) = key.value();
        // Only the newest version of a certificate is current.
        if let Some(Ok((next, _))) = rows.peek()
            && next.value().0 == id
        {
            continue;
        }
        let record = VersionRecord::read(bytes.value())?;
        if record.state == State::Deleted {
            continue;
        }
        let (id, version) =
            (Id::new(id).ok_or_else(|| StoreError::Damaged("a certificate has id 0".into()))?, version_of(version)?);
        let dictionary = dictionaries.get(&record.dictionary);
        let dictionary =
            dictionary.ok_or_else(|| StoreError::Damaged(format!("dictionary {} is missing", record.dictionary)))?;
        let mut raw = Vec::new();
        body::expand(*dictionary, record.frame, record.raw_bytes + record.row_bytes, &mut raw)?;
        let mut row = read_row(&record, &raw[record.raw_bytes..])?;
        lay(&mut row, consents.now(transaction, id)?);
        let (class, _) = classes.find(&row.class).ok_or_else(|| {
            StoreError::Damaged(format!(
                "the class of version {version} of Composition/{id} is not in the table of classes"
            ))
        })?;
        *numbers.entry(class).or_default() += 1;
    }
    Ok(numbers)
}

fn dictionaries(transaction: &ReadTransaction) -> Result<BTreeMap<u8, Dictionary>, StoreError> {
    let table = transaction.open_table(DICTIONARY)?;
    let rows = table.iter()?;
    rows.map(|row| {
        let (number, content) = row?;
        Ok((number.value(), body::dictionary(content.value())?))
    })
    .collect()
}
