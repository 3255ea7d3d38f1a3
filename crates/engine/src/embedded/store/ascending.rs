//! Keys in their order.

use super::error::StoreError;

/// Keys of a table as they are met. Each must lie above the one before: who reads in pieces goes on behind the last key, and one that
/// goes back would have him read the same piece for ever.
pub(super) struct Ascending<'t, K> {
    pub table: &'t str,
    pub last: K,
}

impl<K: PartialOrd + Clone> Ascending<'_, K> {
    /// Takes the next key.
    ///
    /// # Errors
    /// `Damaged`: it does not lie above the one before.
    pub(super) fn next(&mut self, key: &K) -> Result<(), StoreError> {
        if *key <= self.last {
            return Err(StoreError::Damaged(format!("keys of {} are out of order", self.table)));
        }
        self.last = key.clone();
        Ok(())
    }
}
