//! The newest version in a table of versions.

use super::error::StoreError;
use super::log::{ReadableRows, Table};
use certificate::{Id, Version};

/// A version number as it stands in a key.
pub(super) fn version_of(number: u32) -> Result<Version, StoreError> {
    Version::new(number).ok_or_else(|| StoreError::Damaged("a version has number 0".into()))
}

/// The newest version of a certificate in a table of versions.
pub(super) fn newest<T>(
    versions: &Table<impl ReadableRows<(u64, u32), &'static [u8]>, (u64, u32), &'static [u8]>,
    id: Id,
    read: impl FnOnce(Version, &[u8]) -> T,
) -> Result<Option<T>, StoreError> {
    // What stands before the end of the id's versions is its newest one, or belongs to an id before it.
    match versions.last_up_to((id.get(), u32::MAX))? {
        Some((key, bytes)) if key.value().0 == id.get() => Ok(Some(read(version_of(key.value().1)?, bytes.value()))),
        _ => Ok(None),
    }
}
