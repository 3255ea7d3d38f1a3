//! Loaded code lists: each compressed by itself, under its type and address.
//!
//! The table is made by the first load; a folder that never had one has none.

use super::log::{ReadTransaction, WriteTransaction};
use super::{StoreError, TERMINOLOGY, io};
use crate::{ListChange, ListKey, StoredList};

/// Bytes before the frame: time i64, bytes of the raw text u32, both little-endian.
const HEADER_BYTES: usize = 12;

/// All lists, by key.
pub(super) fn read_all(transaction: &ReadTransaction) -> Result<Vec<StoredList>, StoreError> {
    let Some(table) = transaction.find_table(TERMINOLOGY)? else { return Ok(Vec::new()) };
    let rows = table.iter()?;
    rows.map(|row| row.and_then(|(key, value)| read(key.value(), value.value()))).collect()
}

/// Takes steps, in their order.
pub(super) fn change(transaction: &WriteTransaction, changes: &[ListChange]) -> Result<(), StoreError> {
    let mut table = transaction.open_table(TERMINOLOGY)?;
    for change in changes {
        match change {
            ListChange::Put(list) => drop(table.insert(key(&list.key).as_str(), write(list)?.as_slice())?),
            ListChange::Remove(removed) => table.remove(key(removed).as_str())?,
        }
    }
    Ok(())
}

/// A type has no blank in it, so the first one ends it.
fn key(key: &ListKey) -> String {
    format!("{} {}", key.resource_type, key.url)
}

fn write(list: &StoredList) -> Result<Vec<u8>, StoreError> {
    let raw_bytes =
        u32::try_from(list.text.len()).map_err(|_| StoreError::Io("a code list is larger than 4 GiB".into()))?;
    let mut value = list.at.to_le_bytes().to_vec();
    value.extend_from_slice(&raw_bytes.to_le_bytes());
    let mut compressor = zstd::bulk::Compressor::new(3).map_err(io)?;
    compressor.include_checksum(true).map_err(io)?;
    value.extend_from_slice(&compressor.compress(&list.text).map_err(io)?);
    Ok(value)
}

fn read(key: &str, value: &[u8]) -> Result<StoredList, StoreError> {
    let damaged = || StoreError::Damaged(format!("the code list '{key}' is not readable"));
    let (resource_type, url) = key.split_once(' ').ok_or_else(damaged)?;
    let (header, frame) = value.split_at_checked(HEADER_BYTES).ok_or_else(damaged)?;
    let (at, raw_bytes) = header.split_first_chunk().ok_or_else(damaged)?;
    let raw_bytes = u32::from_le_bytes(raw_bytes.try_into().map_err(|_| damaged())?) as usize;
    let text = zstd::bulk::decompress(frame, raw_bytes).map_err(|_| damaged())?;
    if text.len() != raw_bytes {
        return Err(damaged());
    }
    let key = ListKey { resource_type: resource_type.to_owned(), url: url.to_owned() };
    Ok(StoredList { key, at: i64::from_le_bytes(*at), text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(url: &str, text: &str) -> StoredList {
        let key = ListKey { resource_type: "CodeSystem".into(), url: url.into() };
        StoredList { key, at: 1_732_000_000_000, text: text.as_bytes().to_vec() }
    }

    #[test]
    fn a_list_comes_back_and_a_damaged_one_is_told() {
        let list = list("https://fhir.ee/CodeSystem/a b", &"{\"code\":\"õ\"}".repeat(100));
        let (key, value) = (key(&list.key), write(&list).unwrap());
        assert_eq!(read(&key, &value).unwrap(), list);
        assert!(value.len() < list.text.len() / 2);
        let mut torn = value.clone();
        let last = torn.len() - 1;
        torn[last] ^= 1;
        for wrong in [&torn[..], &value[..last], &value[..5], b""] {
            assert!(matches!(read(&key, wrong), Err(StoreError::Damaged(_))));
        }
        assert!(matches!(read("CodeSystem", &value), Err(StoreError::Damaged(_))));
    }
}
