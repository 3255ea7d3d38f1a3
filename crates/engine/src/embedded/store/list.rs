//! Loaded code lists: what an operator loads or takes away is an entry of the register, and a table says which entry holds for each list.
//!
//! ```text
//! says  1 loaded, 0 taken away
//! row   resource type, blank, address
//! body  the raw JSON in a zstd frame with the store's dictionary
//! ```
//!
//! The tables are made by the first load; a folder that never had one has none. A type has no blank in it, so the first one ends it.

use std::collections::{BTreeMap, BTreeSet};

use redb::TableDefinition;

use super::body::{self, Dictionary};
use super::log::{ReadTransaction, WriteTransaction};
use super::newest::newest;
use super::record::{EntryDraft, EntryKind, StoredEntry};
use super::written_log::WrittenLog;
use super::{ChangeKind, StoreError};
use crate::{EntryLog, ListChange, ListKey, StoredList};
use certificate::{Id, Stamp};

/// Id and number of the change to its entry.
pub(super) const LIST: TableDefinition<(u64, u32), &[u8]> = TableDefinition::new("list");
/// Resource type, blank and address to the id.
pub(super) const LIST_ID: TableDefinition<&str, u64> = TableDefinition::new("list_id");

/// Bytes of the largest code list that is read: far more than one may have that is loaded.
const LIST_BYTES_MAX: usize = 1 << 30;

/// All lists that are loaded, by key.
pub(super) fn read_all(
    transaction: &ReadTransaction,
    dictionary: impl Fn(u8) -> Result<Dictionary, StoreError>,
) -> Result<Vec<StoredList>, StoreError> {
    let Some((ids, lists)) = transaction.find_table(LIST_ID)?.zip(transaction.find_table(LIST)?) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for row in ids.iter()? {
        let (key, id) = row?;
        let missing = || StoreError::Damaged(format!("the code list '{}' is missing", key.value()));
        let number = Id::new(id.value()).ok_or_else(missing)?;
        let read = newest(&lists, number, |_, bytes| read(bytes, &dictionary))?;
        found.extend(read.ok_or_else(missing)??);
    }
    Ok(found)
}

/// What is wrong with the table that says which entry holds for each list.
pub(super) fn differing_ids(transaction: &ReadTransaction) -> Result<Vec<String>, StoreError> {
    let (mut says, mut derived) = (BTreeMap::new(), BTreeMap::new());
    if let Some(ids) = transaction.find_table(LIST_ID)? {
        for row in ids.iter()? {
            let (key, id) = row?;
            says.insert(key.value().to_owned(), id.value());
        }
    }
    if let Some(lists) = transaction.find_table(LIST)? {
        for row in lists.iter()? {
            let (key, bytes) = row?;
            let id = key.value().0;
            let entry = StoredEntry::read(EntryKind::List, bytes.value(), || format!("a change of code list {id}"))?;
            derived.insert(key_of(&entry)?.to_owned(), id);
        }
    }
    let all: BTreeSet<&String> = says.keys().chain(derived.keys()).collect();
    let differing = all.into_iter().filter(|key| says.get(*key) != derived.get(*key));
    Ok(differing.map(|key| format!("the code list '{key}' is missing, or has another id than its entries")).collect())
}

/// Reads the entry of a list; none where it was taken away.
///
/// # Errors
/// `Damaged` when it is not as it was written.
pub fn read(
    bytes: &[u8],
    dictionary: impl Fn(u8) -> Result<Dictionary, StoreError>,
) -> Result<Option<StoredList>, StoreError> {
    let entry = StoredEntry::read(EntryKind::List, bytes, || "a code list".to_owned())?;
    let key = key_of(&entry)?;
    if entry.says == 0 {
        return Ok(None);
    }
    let (resource_type, url) = key.split_once(' ').expect("a key has a blank");
    let damaged = || StoreError::Damaged(format!("the code list '{key}' is not readable"));
    if entry.raw_bytes > LIST_BYTES_MAX {
        return Err(damaged());
    }
    let mut text = Vec::new();
    body::expand(dictionary(entry.dictionary)?, entry.body, entry.raw_bytes, &mut text).map_err(|_| damaged())?;
    let key = ListKey { resource_type: resource_type.to_owned(), url: url.to_owned() };
    Ok(Some(StoredList { key, at: entry.stamp.milliseconds, text }))
}

/// Type, blank and address.
fn key_of<'a>(entry: &StoredEntry<'a>) -> Result<&'a str, StoreError> {
    let key = std::str::from_utf8(entry.row).ok().filter(|key| key.contains(' '));
    key.ok_or_else(|| StoreError::Damaged("a code list has no address".into()))
}

/// Takes steps, in their order. `milliseconds` is the time of those that take a list away; a list has its own.
pub(super) fn change(
    transaction: &WriteTransaction,
    changes: &[ListChange],
    milliseconds: i64,
    (number, dictionary): (u8, Dictionary),
) -> Result<(), StoreError> {
    for change in changes {
        let (key, at, draft) = match change {
            ListChange::Put(list) => {
                let draft = EntryDraft {
                    dictionary: number,
                    raw_bytes: list.text.len(),
                    body: body::compress(dictionary, &list.text),
                    ..EntryDraft::bare(EntryKind::List, 1)
                };
                (&list.key, list.at, draft)
            }
            ListChange::Remove(key) => (key, milliseconds, EntryDraft::bare(EntryKind::List, 0)),
        };
        let key = format!("{} {}", key.resource_type, key.url);
        store(transaction, &key, &EntryDraft { row: key.clone().into_bytes(), ..draft }, Stamp::at(at))?;
    }
    Ok(())
}

fn store(transaction: &WriteTransaction, key: &str, draft: &EntryDraft, stamp: Stamp) -> Result<(), StoreError> {
    let mut log = WrittenLog::open(transaction, EntryLog::Register)?;
    let (mut ids, mut lists) = (transaction.open_table(LIST_ID)?, transaction.open_table(LIST)?);
    let known = ids.get(key)?.map(|id| id.value());
    let id = match known {
        Some(id) => id,
        None if draft.says == 0 => return Ok(()),
        None => lists.last()?.map_or(1, |(key, _)| key.value().0 + 1),
    };
    let number = Id::new(id).ok_or_else(|| StoreError::Damaged("a code list has id 0".into()))?;
    let change = newest(&lists, number, |last, _| last.get())?.map_or(1, |last| last + 1);
    let row = log.next(number, ChangeKind::List(change), stamp.milliseconds);
    let record = draft.write(row.seq.0, stamp);
    lists.insert((id, change), record.as_slice())?;
    ids.insert(key, id)?;
    log.push(row, &record);
    log.flush()
}

/// Stores an entry that comes from a copy: the next of its list and of the register.
pub(super) fn insert_copied(
    transaction: &WriteTransaction,
    id: Id,
    number: u32,
    bytes: &[u8],
) -> Result<(), StoreError> {
    transaction.open_table(LIST)?.insert((id.get(), number), bytes)?;
    derive(transaction, id, bytes)
}

/// Takes an entry into the table that says which entry holds for each list.
pub(super) fn derive(transaction: &WriteTransaction, id: Id, bytes: &[u8]) -> Result<(), StoreError> {
    let entry = StoredEntry::read(EntryKind::List, bytes, || format!("a change of code list {id}"))?;
    transaction.open_table(LIST_ID)?.insert(key_of(&entry)?, id.get()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_comes_back_and_a_damaged_one_is_told() {
        let dictionary = body::dictionary(body::SHIPPED).unwrap();
        let known = |_| Ok(dictionary);
        let (key, text) = ("CodeSystem https://fhir.ee/CodeSystem/a b", "{\"code\":\"õ\"}".repeat(100));
        let draft = EntryDraft {
            dictionary: 1,
            row: key.into(),
            raw_bytes: text.len(),
            body: body::compress(dictionary, text.as_bytes()),
            ..EntryDraft::bare(EntryKind::List, 1)
        };
        let value = draft.write(1, Stamp::at(1_732_000_000_000));
        let list = StoredList {
            key: ListKey { resource_type: "CodeSystem".into(), url: "https://fhir.ee/CodeSystem/a b".into() },
            at: 1_732_000_000_000,
            text: text.clone().into_bytes(),
        };
        assert_eq!(read(&value, known).unwrap(), Some(list));
        assert!(value.len() < text.len() / 2);
        let taken = EntryDraft { row: key.into(), ..EntryDraft::bare(EntryKind::List, 0) };
        assert_eq!(read(&taken.write(2, Stamp::at(0)), known).unwrap(), None);
        let wrong = EntryDraft { body: draft.body[1..].to_vec(), ..draft.clone() }.write(1, Stamp::at(0));
        let nameless = EntryDraft { row: b"CodeSystem".to_vec(), ..draft }.write(1, Stamp::at(0));
        for value in [wrong, nameless] {
            assert!(matches!(read(&value, known), Err(StoreError::Damaged(_))));
        }
    }
}
