//! The mark of a restore that has not come to its end.

use std::path::Path;

use super::error::StoreError;

/// Where the mark of a restore lies in the data folder. It is there before the first row and goes last, after the event of the restore in
/// the audit trail.
pub const RESTORING: &str = "restoring";

/// Whether a folder is one that a restore has not come to its end in.
///
/// # Errors
/// `Io`: it cannot be seen whether the mark is there.
pub fn is_restoring(folder: &Path) -> Result<bool, StoreError> {
    folder.join(RESTORING).try_exists().map_err(|error| StoreError::Io(format!("{RESTORING}: {error}")))
}
