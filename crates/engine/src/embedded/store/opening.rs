//! Opening a store: made when it is new, checked when it is not, and asked how far it has come.

use std::path::Path;

use super::chain::CHAIN_ORIGIN;
use super::hour_count::TIME_COUNT;
use super::log::{Log, ReadOnlyTable};
use super::medium::{OpenMode, StoreMedium};
use super::position::{StorePosition, position, stored_classes, stored_counters};
use super::{CLASS, COUNTER, DICTIONARY, FORMAT, LOG, META, StoreError, StoreOptions, TIME, VERSION, body, migration};
use crate::{EntryHash, FolderNames, FolderPurpose};
use certificate::Id;

/// What the store knows of itself when it is opened.
#[derive(Clone, Debug)]
pub struct OpenedStore {
    /// Made at the first start; copies of the folder share it.
    pub uuid: String,
    /// Made anew by a restore.
    pub epoch: String,
    /// Key for links that carry sealed parameters.
    pub seal_key: [u8; 32],
    /// The format it was migrated from, where it was just now.
    pub migrated: Option<u32>,
    /// How far the store has come.
    pub position: StorePosition,
    /// Stored classes in the order of their numbers, from 0.
    pub classes: Vec<Vec<u8>>,
    /// Current certificates by class number.
    pub counters: Vec<(u32, u64)>,
}

/// Whether no other process has a data folder: the lock is taken and given back.
///
/// # Errors
/// `InUse`.
pub fn expect_unused(folder: &Path, looks: bool) -> Result<(), StoreError> {
    StoreMedium::expect_unused(folder, looks)
}

/// Opens a log that was looked at before: what the first look made of it in memory is made again.
pub(super) fn look_again(path: &Path, options: &StoreOptions) -> Result<Log, StoreError> {
    let log = options.open(path, OpenMode::ReadOnly)?;
    first_look(&log, None, options)?;
    Ok(log)
}

/// Makes what a new store needs, checks what an old one says, migrates one of an earlier format, and reads how far it has come. One of an
/// earlier format is copied to `copied` first, where there is such a path.
pub(super) fn first_look(log: &Log, copied: Option<&Path>, options: &StoreOptions) -> Result<OpenedStore, StoreError> {
    let names = &options.names;
    let fresh = match log.begin_read()?.find_table(META)? {
        Some(meta) => meta.get("format")?.is_none(),
        None => true,
    };
    if fresh {
        make(log, names)?;
    }
    check_names(log, names)?;
    let migrated = migration::run(log, copied, options.cache_bytes)?;
    record_names(log, names)?;
    options.purpose.map_or(Ok(()), |purpose| claim(log, purpose))?;
    add_shipped_dictionary(log)?;
    let transaction = log.begin_read()?;
    let meta = transaction.open_table(META)?;
    let seal_key = meta.get("seal-key")?.and_then(|key| key.value().try_into().ok());
    Ok(OpenedStore {
        uuid: meta_text(&meta, "store")?,
        epoch: meta_text(&meta, "epoch")?,
        seal_key: seal_key.ok_or_else(|| StoreError::Damaged("the key of sealed links is missing".into()))?,
        migrated,
        position: position(log)?,
        classes: stored_classes(log)?,
        counters: stored_counters(log)?,
    })
}

fn make(log: &Log, names: &FolderNames) -> Result<(), StoreError> {
    let transaction = log.begin_write()?;
    {
        transaction.open_table(VERSION)?;
        transaction.open_table(LOG)?;
        transaction.open_table(TIME)?;
        transaction.open_table(TIME_COUNT)?;
        transaction.open_table(CLASS)?;
        transaction.open_table(COUNTER)?;
        transaction.open_table(DICTIONARY)?;
        let mut meta = transaction.open_table(META)?;
        let mut seal_key = [0; 32];
        aws_lc_rs::rand::fill(&mut seal_key).map_err(|_| StoreError::Io("no random numbers".into()))?;
        meta.insert("format", FORMAT.to_le_bytes().as_slice())?;
        let (store, epoch) = (uuid::Uuid::new_v4().to_string(), uuid::Uuid::new_v4().to_string());
        meta.insert("store", store.as_bytes())?;
        meta.insert("epoch", epoch.as_bytes())?;
        meta.insert(CHAIN_ORIGIN, EntryHash::origin(&store, &epoch).bytes().as_slice())?;
        meta.insert("seal-key", seal_key.as_slice())?;
        meta.insert("next-id", Id::FIRST.get().to_le_bytes().as_slice())?;
        for (name, value) in &names.0 {
            meta.insert(format!("name.{name}").as_str(), value.as_bytes())?;
        }
    }
    transaction.commit()
}

fn check_names(log: &Log, names: &FolderNames) -> Result<(), StoreError> {
    let meta = log.begin_read()?.open_table(META)?;
    for (name, wanted) in &names.0 {
        let key = format!("name.{name}");
        let unrecorded = FolderNames::UNRECORDED.iter().find(|(later, _)| later == name);
        let stored = match unrecorded.filter(|_| matches!(meta.get(key.as_str()), Ok(None))) {
            Some((_, value)) => (*value).to_owned(),
            None => meta_text(&meta, &key)?,
        };
        if stored != *wanted {
            return Err(StoreError::OtherNames { name: name.clone(), stored, wanted: wanted.clone() });
        }
    }
    Ok(())
}

/// Adds the names that are settings since a later release than the one that made the store.
fn record_names(log: &Log, names: &FolderNames) -> Result<(), StoreError> {
    let meta = log.begin_read()?.open_table(META)?;
    for (name, value) in &names.0 {
        let key = format!("name.{name}");
        if meta.get(key.as_str())?.is_none() {
            let transaction = log.begin_write()?;
            transaction.open_table(META)?.insert(key.as_str(), value.as_bytes())?;
            transaction.commit()?;
        }
    }
    Ok(())
}

/// Writes down what the folder is for, or refuses one that is for something else.
fn claim(log: &Log, purpose: FolderPurpose) -> Result<(), StoreError> {
    let stored = log.begin_read()?.open_table(META)?.get(PURPOSE)?.map(|stored| stored.value().to_vec());
    match stored {
        None => {
            let transaction = log.begin_write()?;
            transaction.open_table(META)?.insert(PURPOSE, purpose.name().as_bytes())?;
            transaction.commit()
        }
        Some(stored) => match purpose_of(&stored)? {
            stored if stored == purpose => Ok(()),
            stored => Err(StoreError::OtherPurpose(stored)),
        },
    }
}

/// What the folder is for, in the table `meta`.
pub(super) const PURPOSE: &str = "purpose";

/// What stands there.
pub(super) fn purpose_of(stored: &[u8]) -> Result<FolderPurpose, StoreError> {
    FolderPurpose::named(stored)
        .ok_or_else(|| StoreError::Damaged(format!("'{PURPOSE}' is neither developer nor service")))
}

fn meta_text(meta: &ReadOnlyTable<&str, &[u8]>, key: &str) -> Result<String, StoreError> {
    let value = meta.get(key)?.ok_or_else(|| StoreError::Damaged(format!("'{key}' is missing")))?;
    String::from_utf8(value.value().to_vec()).map_err(|_| StoreError::Damaged(format!("'{key}' is not text")))
}

/// A release with a better dictionary adds it; bodies written with older ones keep theirs.
fn add_shipped_dictionary(log: &Log) -> Result<(), StoreError> {
    let table = log.begin_read()?.open_table(DICTIONARY)?;
    let newest = table.last()?.map(|(number, content)| (number.value(), content.value() == body::SHIPPED));
    if newest.is_some_and(|(_, shipped)| shipped) {
        return Ok(());
    }
    let number = newest.map_or(1, |(number, _)| number + 1);
    let transaction = log.begin_write()?;
    transaction.open_table(DICTIONARY)?.insert(number, body::SHIPPED)?;
    transaction.commit()
}
