//! Tables that not every store has.

use std::sync::OnceLock;

use redb::{Key, TableDefinition, Value};

use super::error::StoreError;
use super::log::{ReadOnlyTable, ReadTransaction};

/// A table that is opened once, where there is one.
pub(super) fn opened<'a, K: Key + 'static, V: Value + 'static>(
    cell: &'a OptionalTable<K, V>,
    transaction: &ReadTransaction,
    definition: TableDefinition<'static, K, V>,
) -> Result<Option<&'a ReadOnlyTable<K, V>>, StoreError> {
    if let Some(table) = cell.get() {
        return Ok(table.as_ref());
    }
    let table = transaction.find_table(definition)?;
    Ok(cell.get_or_init(|| table).as_ref())
}

/// Entries by id and number; none where the store has none of their kind.
pub(super) type KeptEntries<'t> = Option<&'t ReadOnlyTable<(u64, u32), &'static [u8]>>;

/// A table that may be absent.
pub(super) type OptionalTable<K, V> = OnceLock<Option<ReadOnlyTable<K, V>>>;
