//! Changes a stored row as a program would that writes through redb: every checksum is right afterwards.

use std::path::Path;

use redb::{Database, Key, ReadableDatabase, ReadableTable, TableDefinition, Value};

use super::consent::{CLOSED, CONSENT};
use super::hour_count::TIME_COUNT;
use super::list::LIST_ID;
use super::patient::{BORN, FORMER, IDENTIFIER, LINK, PATIENT};
use super::{CLASS, COUNTER, DICTIONARY, LOG, META, TIME, VERSION};
use certificate::{Id, Seq, Version};

/// Edits the record of a version in the store's file, which nobody has open.
pub fn edit_version(file: &Path, id: Id, version: Version, edit: impl FnOnce(&mut Vec<u8>)) {
    edit_row(file, VERSION, (id.get(), version.get()), edit);
}

/// The record of a version in the store's file, which nobody has open.
pub fn version_record(file: &Path, id: Id, version: Version) -> Vec<u8> {
    let database = Database::open(file).unwrap();
    let table = database.begin_read().unwrap().open_table(VERSION).unwrap();
    table.get((id.get(), version.get())).unwrap().unwrap().value().to_vec()
}

/// As [`edit_version`], of a row of the log of changes, which keeps its length.
pub fn edit_change(file: &Path, seq: Seq, edit: impl FnOnce(&mut [u8])) {
    write(file, |transaction| {
        let mut changes = transaction.open_table(LOG).unwrap();
        let mut row = *changes.get(seq.0).unwrap().unwrap().value();
        edit(&mut row);
        changes.insert(seq.0, &row).unwrap();
    });
}

/// Puts each of two changes under the number of the other.
pub fn swap_changes(file: &Path, one: Seq, other: Seq) {
    write(file, |transaction| {
        let mut changes = transaction.open_table(LOG).unwrap();
        let rows = [one, other].map(|seq| *changes.get(seq.0).unwrap().unwrap().value());
        changes.insert(one.0, &rows[1]).unwrap();
        changes.insert(other.0, &rows[0]).unwrap();
    });
}

/// Takes a change out of the log.
pub fn remove_change(file: &Path, seq: Seq) {
    write(file, |transaction| assert!(transaction.open_table(LOG).unwrap().remove(seq.0).unwrap().is_some()));
}

/// As [`edit_version`], of a change of consent.
pub fn edit_consent(file: &Path, id: Id, number: u32, edit: impl FnOnce(&mut Vec<u8>)) {
    edit_row(file, CONSENT, (id.get(), number), edit);
}

/// As [`edit_version`], of a version of a patient.
pub fn edit_patient(file: &Path, id: Id, version: Version, edit: impl FnOnce(&mut Vec<u8>)) {
    edit_row(file, PATIENT, (id.get(), version.get()), edit);
}

/// As [`edit_version`], of a dictionary.
pub fn edit_dictionary(file: &Path, number: u8, edit: impl FnOnce(&mut Vec<u8>)) {
    edit_row(file, DICTIONARY, number, edit);
}

/// Writes a value of `meta`.
pub fn set_meta(file: &Path, name: &str, value: &[u8]) {
    write(file, |transaction| drop(transaction.open_table(META).unwrap().insert(name, value).unwrap()));
}

/// Takes every derived table out.
pub fn take_out_derived(file: &Path) {
    write(file, |transaction| {
        transaction.delete_table(CLASS).unwrap();
        transaction.delete_table(COUNTER).unwrap();
        transaction.delete_table(CLOSED).unwrap();
        transaction.delete_table(IDENTIFIER).unwrap();
        transaction.delete_table(FORMER).unwrap();
        transaction.delete_table(BORN).unwrap();
        transaction.delete_table(LINK).unwrap();
        transaction.delete_table(LIST_ID).unwrap();
        transaction.open_table(CLASS).unwrap();
        transaction.open_table(COUNTER).unwrap();
    });
}

/// Name of a derived table, and what takes its last row out.
pub type TakeOut = (&'static str, fn(&Path));

/// All derived tables.
pub const TAKE_OUT_LAST: [TakeOut; 10] = [
    ("class", |file| take_out_last(file, CLASS)),
    ("counter", |file| take_out_last(file, COUNTER)),
    ("time", |file| take_out_last(file, TIME)),
    ("time_count", |file| take_out_last(file, TIME_COUNT)),
    ("consent_closed", |file| take_out_last(file, CLOSED)),
    ("patient_identifier", |file| take_out_last(file, IDENTIFIER)),
    ("patient_former", |file| take_out_last(file, FORMER)),
    ("patient_born", |file| take_out_last(file, BORN)),
    ("patient_link", |file| take_out_last(file, LINK)),
    ("list_id", |file| take_out_last(file, LIST_ID)),
];

fn take_out_last<K: Key + 'static, V: Value + 'static>(file: &Path, table: TableDefinition<'static, K, V>) {
    write(file, |transaction| assert!(transaction.open_table(table).unwrap().pop_last().unwrap().is_some()));
}

/// Says another number of certificates of a class.
pub fn miscount(file: &Path) {
    write(file, |transaction| drop(transaction.open_table(COUNTER).unwrap().insert(0, 77).unwrap()));
}

fn edit_row<K: Key + for<'k> Value<SelfType<'k> = K> + Copy + 'static>(
    file: &Path,
    table: TableDefinition<K, &[u8]>,
    key: K,
    edit: impl FnOnce(&mut Vec<u8>),
) {
    write(file, |transaction| {
        let mut table = transaction.open_table(table).unwrap();
        let mut row = table.get(key).unwrap().unwrap().value().to_vec();
        edit(&mut row);
        table.insert(key, row.as_slice()).unwrap();
    });
}

fn write(file: &Path, write: impl FnOnce(&redb::WriteTransaction)) {
    let database = Database::open(file).unwrap();
    let transaction = database.begin_write().unwrap();
    write(&transaction);
    transaction.commit().unwrap();
}
