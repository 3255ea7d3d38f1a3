//! What the journal has and redb does not, done again when a store is opened.

use std::path::Path;

use super::super::error::StoreError;
use super::super::journal::{JournalPlace, JournalStart, StoreJournal};
use super::super::tables::{FORMAT, META};
use super::redo::redo;
use super::{JOURNAL, Log, guarded};
use base::log::event;

/// The first format of a store that has a journal.
const FORMAT_OF_JOURNAL: u32 = 3;

/// Brings a log to where its journal ends, in one commit, and returns the journal to go on with; none of a store that a later release made.
///
/// # Errors
/// `Damaged`: the journal is missing, cut, another one or newer than the store. `Io`.
pub(in super::super) fn replay(
    log: &Log,
    place: JournalPlace,
    store: &Path,
    quick_repair: bool,
) -> Result<Option<StoreJournal>, StoreError> {
    let start = match log.begin_read()?.find_table(META)? {
        None => JournalStart::read(None)?,
        Some(meta) => {
            let format = meta.get("format")?.and_then(|format| format.value().try_into().map(u32::from_le_bytes).ok());
            match format {
                Some(later) if later > FORMAT => return Ok(None),
                // A journal beside a store of before there was one is that of a store which an operator went back from.
                Some(earlier) if earlier < FORMAT_OF_JOURNAL => {
                    return Ok(Some(StoreJournal::begun(place, store)));
                }
                _ => JournalStart::read(meta.get(JOURNAL)?.as_ref().map(|start| start.value()))?,
            }
        }
    };
    let found = StoreJournal::read(&*place.disk, store, start)?;
    if !found.records.is_empty() {
        let mut transaction = log.begin_write()?;
        transaction.durable(quick_repair)?;
        guarded("the journal", || found.records.iter().try_for_each(|steps| redo(&transaction, steps)))?;
        let start = JournalStart { is_closed: true, before: found.head, ..start };
        transaction.open_table(META)?.insert(JOURNAL, start.write().as_slice())?;
        transaction.commit()?;
        event!(STORE_REPLAYED, records = found.records.len());
    }
    Ok(Some(StoreJournal::new(place, store, start.file, found.head)))
}
