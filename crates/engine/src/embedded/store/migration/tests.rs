//! What tests of migrations need of redb; their stories stand with those of the engine.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::chain::CHAIN_ORIGIN;
use super::super::consent::CONSENT;
use super::super::patient::{FORMER, PATIENT};
use super::super::record::EntryKind;
use super::super::{LOG, REGISTER, VERSION, body, format_2};
use super::chained::{CHANGE_2, PATIENT_CHANGE_2};
use super::*;

const CACHE_BYTES: usize = 8 << 20;

fn opened(path: &Path) -> Log {
    Log::of_redb(redb::Database::open(path).unwrap())
}

/// Makes a store as format 2 left it. It has no code lists, and its clock was never reset.
pub fn set_back(path: &Path) {
    let log = opened(path);
    let reader = log.begin_read().unwrap();
    let transaction = log.begin_write().unwrap();
    let dictionary = body::dictionary(body::SHIPPED).unwrap();
    for (table, kind) in [(VERSION, EntryKind::Version), (CONSENT, EntryKind::Consent), (PATIENT, EntryKind::Patient)] {
        let Some(entries) = reader.find_table(table).unwrap() else { continue };
        let mut former = transaction.open_table(table).unwrap();
        for row in entries.iter().unwrap() {
            let (key, entry) = row.unwrap();
            let record = format_2::tests::former(kind, entry.value(), dictionary);
            former.insert(key.value(), record.as_slice()).unwrap();
        }
    }
    {
        let mut changes = transaction.open_table(CHANGE_2).unwrap();
        for row in reader.open_table(LOG).unwrap().iter().unwrap() {
            let (seq, row) = row.unwrap();
            changes.insert(seq.value(), row.value().first_chunk().unwrap()).unwrap();
        }
        let mut patients = transaction.open_table(PATIENT_CHANGE_2).unwrap();
        for row in reader.open_table(REGISTER).unwrap().iter().unwrap() {
            let (number, row) = row.unwrap();
            let of: [u8; 12] = row.value()[1..13].try_into().unwrap();
            patients.insert(number.value(), &of).unwrap();
        }
        transaction.open_table(META).unwrap().remove(CHAIN_ORIGIN).unwrap();
    }
    drop(reader);
    transaction.delete_table(LOG).unwrap();
    transaction.delete_table(REGISTER).unwrap();
    transaction.delete_table(FORMER).unwrap();
    say(&transaction, 2, None).unwrap();
    transaction.commit().unwrap();
}

/// Gives a store any number of a format.
pub fn set_format(path: &Path, format: u32) {
    let transaction = opened(path).begin_write().unwrap();
    say(&transaction, format, None).unwrap();
    transaction.commit().unwrap();
}

/// Format and rows of the register, as the file says.
pub fn state(path: &Path) -> (u32, Option<u32>, u64) {
    let log = opened(path);
    let (format, unfinished) = formats(&log).unwrap();
    (
        format,
        unfinished,
        log.begin_read().unwrap().find_table(REGISTER).unwrap().map_or(0, |register| register.len().unwrap()),
    )
}

/// Migrates a store with commits of few rows and takes the file as it is behind each of them, as a kill there would leave it.
pub fn images(path: &Path, chunk_rows: usize, into: &Path) -> Vec<PathBuf> {
    let images = RefCell::new(Vec::new());
    let log = opened(path);
    let committed = || {
        let mut images = images.borrow_mut();
        let folder = into.join(images.len().to_string());
        fs::create_dir(&folder).unwrap();
        fs::copy(path, folder.join("store.redb")).unwrap();
        images.push(folder);
        Ok(())
    };
    walked(&MigrationWalk { log: &log, chunk_rows, committed: &committed }, Some(path), CACHE_BYTES).unwrap();
    drop(log);
    images.into_inner()
}

/// Goes on with a migration for one commit.
pub fn one_commit(path: &Path, chunk_rows: usize) {
    let log = opened(path);
    let committed = || Err(StoreError::Io("a kill".into()));
    let walk = MigrationWalk { log: &log, chunk_rows, committed: &committed };
    assert!(matches!(walked(&walk, Some(path), CACHE_BYTES), Err(StoreError::Io(_))));
}
