//! Changes a stored row as a program would that writes through redb: every checksum is right afterwards.

use std::path::Path;

use redb::{Database, ReadableTable};

use super::VERSION;
use crate::certificate::{Id, Version};

/// Edits the record of a version in the store's file, which nobody has open.
pub fn edit_version(file: &Path, id: Id, version: Version, edit: impl FnOnce(&mut Vec<u8>)) {
    let database = Database::open(file).unwrap();
    let transaction = database.begin_write().unwrap();
    {
        let mut versions = transaction.open_table(VERSION).unwrap();
        let key = (id.get(), version.get());
        let mut record = versions.get(key).unwrap().unwrap().value().to_vec();
        edit(&mut record);
        versions.insert(key, record.as_slice()).unwrap();
    }
    transaction.commit().unwrap();
}
