//! The tables that every store has, or may have.

use redb::TableDefinition;

use super::change::LOGGED_BYTES;
use crate::chain::EntryLog;

pub(super) const VERSION: TableDefinition<(u64, u32), &[u8]> = TableDefinition::new("version");
pub(super) const LOG: TableDefinition<u64, &[u8; LOGGED_BYTES]> = TableDefinition::new("log");
/// Register: the log of everything that is no change of a certificate.
pub(super) const REGISTER: TableDefinition<u64, &[u8; LOGGED_BYTES]> = TableDefinition::new("register");
pub(super) const TIME: TableDefinition<(i64, u64), ()> = TableDefinition::new("time");
pub(super) const CLASS: TableDefinition<u32, &[u8]> = TableDefinition::new("class");
pub(super) const COUNTER: TableDefinition<u32, u64> = TableDefinition::new("counter");
pub(super) const DICTIONARY: TableDefinition<u8, &[u8]> = TableDefinition::new("dictionary");
pub(super) const META: TableDefinition<&str, &[u8]> = TableDefinition::new("meta");

/// In `meta`: the first change that is older than the one before it.
pub(super) const UNORDERED: &str = "unordered";

/// Number of the layout of tables and keys. A folder with a lower one is migrated when it is opened, one with a higher one is refused.
pub const FORMAT: u32 = 3;

type LogTable = TableDefinition<'static, u64, &'static [u8; LOGGED_BYTES]>;

/// The table of a log. That of the register is made by its first entry.
pub(super) fn table_of(log: EntryLog) -> LogTable {
    match log {
        EntryLog::Changes => LOG,
        EntryLog::Register => REGISTER,
    }
}
