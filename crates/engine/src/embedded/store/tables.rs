//! The tables that every store has, or may have.

use std::sync::OnceLock;

use redb::{Key, TableDefinition, Value};

use super::change::CHANGE_BYTES;
use super::error::StoreError;
use super::log::{ReadOnlyTable, ReadTransaction};

pub(super) const VERSION: TableDefinition<(u64, u32), &[u8]> = TableDefinition::new("version");
pub(super) const CHANGE: TableDefinition<u64, &[u8; CHANGE_BYTES]> = TableDefinition::new("change");
pub(super) const TIME: TableDefinition<(i64, u64), ()> = TableDefinition::new("time");
pub(super) const CLASS: TableDefinition<u32, &[u8]> = TableDefinition::new("class");
pub(super) const COUNTER: TableDefinition<u32, u64> = TableDefinition::new("counter");
pub(super) const DICTIONARY: TableDefinition<u8, &[u8]> = TableDefinition::new("dictionary");
pub(super) const TERMINOLOGY: TableDefinition<&str, &[u8]> = TableDefinition::new("terminology");
pub(super) const META: TableDefinition<&str, &[u8]> = TableDefinition::new("meta");

/// Number of the layout of tables and keys. A folder with a lower one is migrated when it is opened, one with a higher one is refused.
pub const FORMAT: u32 = 3;

/// A table that is opened once, where there is one.
pub(super) fn opened<'a, K: Key + 'static, V: Value + 'static>(
    cell: &'a MayBeOpen<K, V>,
    transaction: &ReadTransaction,
    definition: TableDefinition<'static, K, V>,
) -> Result<Option<&'a ReadOnlyTable<K, V>>, StoreError> {
    if let Some(table) = cell.get() {
        return Ok(table.as_ref());
    }
    let table = transaction.find_table(definition)?;
    Ok(cell.get_or_init(|| table).as_ref())
}

/// A table that may be absent.
pub(super) type MayBeOpen<K, V> = OnceLock<Option<ReadOnlyTable<K, V>>>;
