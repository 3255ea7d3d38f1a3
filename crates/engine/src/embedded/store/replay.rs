//! Replay: what the journal has and redb may not have is applied when a store is opened.

use std::path::Path;

use redb::{Key, TableDefinition, TableHandle, Value};

use super::consent::{CLOSED, CONSENT};
use super::error::StoreError;
use super::hour_count::TIME_COUNT;
use super::journal::{JournalPlace, JournalStart, StoreJournal};
use super::list::{LIST, LIST_ID};
use super::log::{JOURNAL, Log, RedoStep, WriteTransaction, guarded, steps};
use super::mark::MARK;
use super::patient::{BORN, FORMER, IDENTIFIER, LINK, PATIENT};
use super::tables::{CLASS, COUNTER, DICTIONARY, FORMAT, LOG, META, REGISTER, TIME, VERSION};
use base::log::event;

/// The first format of a store that has a journal.
const FORMAT_OF_JOURNAL: u32 = 3;

/// Brings a log to where its journal ends, in one commit, and returns the journal to go on with; none of a store that a later release made.
///
/// # Errors
/// `Damaged`: the journal is missing, cut, another one or newer than the store. `Io`.
pub(super) fn replay(
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
    let found = StoreJournal::read(&place, store, start)?;
    // What was opened is closed, so that a stop in order leaves no journal that the next start needs.
    if !start.is_closed {
        let mut transaction = log.begin_write()?;
        transaction.durable(quick_repair)?;
        guarded("the journal", || found.records.iter().try_for_each(|steps| redo(&transaction, steps)))?;
        let start = JournalStart { is_closed: true, before: found.head, ..start };
        transaction.open_table(META)?.insert(JOURNAL, start.write().as_slice())?;
        transaction.commit()?;
        if !found.records.is_empty() {
            event!(STORE_REPLAYED, records = found.records.len());
        }
    }
    Ok(Some(StoreJournal::new(place, store, start.file, found.head)))
}

/// Applies the steps of a record.
///
/// # Errors
/// `Damaged` when they are none.
fn redo(transaction: &WriteTransaction, record: &[u8]) -> Result<(), StoreError> {
    steps(record, |table, step| apply(transaction, table, step))
}

fn apply(transaction: &WriteTransaction, name: &[u8], step: RedoStep) -> Result<(), StoreError> {
    macro_rules! of {
        ($($table:ident)*) => {
            $(if name == $table.name().as_bytes() {
                return apply_to(transaction, $table, step);
            })*
        };
    }
    of!(VERSION LOG REGISTER TIME TIME_COUNT CLASS COUNTER DICTIONARY META CONSENT CLOSED PATIENT IDENTIFIER FORMER BORN LINK
        LIST LIST_ID MARK);
    Err(StoreError::Damaged("a record of the journal names a table that there is not".into()))
}

fn apply_to<K: Key + 'static, V: Value + 'static>(
    transaction: &WriteTransaction,
    table: TableDefinition<'static, K, V>,
    step: RedoStep,
) -> Result<(), StoreError> {
    let has_width = |bytes: &[u8], width: Option<usize>| width.is_none_or(|width| width == bytes.len());
    let fits = match step {
        RedoStep::Put(key, value) => has_width(key, K::fixed_width()) && has_width(value, V::fixed_width()),
        RedoStep::Take(key) => has_width(key, K::fixed_width()),
        RedoStep::Clear => true,
    };
    if !fits {
        return Err(StoreError::Damaged(format!("a record of the journal has no row of {}", table.name())));
    }
    let mut table = transaction.open_table(table)?;
    match step {
        RedoStep::Put(key, value) => table.insert(K::from_bytes(key), V::from_bytes(value)).map(drop),
        RedoStep::Take(key) => table.remove(K::from_bytes(key)),
        RedoStep::Clear => table.clear(),
    }
}
