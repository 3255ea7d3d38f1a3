//! Tables that say again what the entries say, so that it is found. All of them can be made again from both logs.

use redb::{Key, TableDefinition, TableHandle, Value};

use super::consent::CLOSED;
use super::hour_count::TIME_COUNT;
use super::list::LIST_ID;
use super::log::{ReadTransaction, WriteTransaction};
use super::patient::{BORN, FORMER, IDENTIFIER, LINK};
use super::tables::{CLASS, COUNTER, META, TIME, UNORDERED};
use super::{StoreError, StoreReader};
use aws_lc_rs::digest::{Context, SHA256};

/// Hash over the rows of a table, and the name of the table.
pub(super) type DerivedTable = (String, [u8; 32]);

/// Does something with each table that is derived.
macro_rules! each_derived {
    ($do:ident, $($argument:expr),*) => {
        [
            $do(CLASS, $($argument),*), $do(COUNTER, $($argument),*), $do(TIME, $($argument),*), $do(TIME_COUNT, $($argument),*),
            $do(CLOSED, $($argument),*), $do(IDENTIFIER, $($argument),*), $do(FORMER, $($argument),*), $do(BORN, $($argument),*),
            $do(LINK, $($argument),*), $do(LIST_ID, $($argument),*),
        ]
    };
}

/// Whether the table of this name is derived.
pub(crate) fn is_derived(name: &str) -> bool {
    each_derived!(has_name, name).contains(&true)
}

fn has_name<K: Key + 'static, V: Value + 'static>(table: TableDefinition<'static, K, V>, name: &str) -> bool {
    table.name() == name
}

/// Takes all rows out of them.
pub(super) fn clear(transaction: &WriteTransaction) -> Result<(), StoreError> {
    each_derived!(clear_one, transaction).into_iter().collect::<Result<(), StoreError>>()?;
    transaction.open_table(META)?.remove(UNORDERED)
}

fn clear_one<K: Key + 'static, V: Value + 'static>(
    table: TableDefinition<'static, K, V>,
    transaction: &WriteTransaction,
) -> Result<(), StoreError> {
    transaction.open_table(table)?.clear()
}

impl StoreReader {
    /// All of them, as they are.
    pub fn derived(&self) -> Result<Vec<DerivedTable>, StoreError> {
        each_derived!(hash_of, &self.transaction).into_iter().collect()
    }
}

fn hash_of<K: Key + 'static, V: Value + 'static>(
    definition: TableDefinition<'static, K, V>,
    transaction: &ReadTransaction,
) -> Result<DerivedTable, StoreError> {
    let mut hash = Context::new(&SHA256);
    if let Some(table) = transaction.find_table(definition)? {
        table.each_bytes(|key, value| {
            for part in [key, value] {
                hash.update(&(part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        })?;
    }
    Ok((definition.name().to_owned(), hash.finish().as_ref().try_into().expect("SHA-256 has 32 bytes")))
}
