//! Bounds of a migration, and its commits.

use super::super::StoreError;
use super::super::log::{Log, WriteTransaction};

/// Bounds of a migration, and who is told of its commits: an argument, so that tests can interrupt it everywhere.
pub struct MigrationWalk<'d> {
    pub(super) log: &'d Log,
    /// Rows of one commit.
    pub(super) chunk_rows: usize,
    /// Called behind every commit; an error of it ends the migration there.
    pub(super) committed: &'d dyn Fn() -> Result<(), StoreError>,
}

impl MigrationWalk<'_> {
    /// Commits what `write` puts into a transaction.
    pub(super) fn commit(
        &self,
        write: impl FnOnce(&WriteTransaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let transaction = self.log.begin_write()?;
        write(&transaction)?;
        transaction.commit()?;
        (self.committed)()
    }
}
