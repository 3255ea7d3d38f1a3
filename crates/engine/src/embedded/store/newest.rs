//! The newest version in a table of versions.

use redb::TableHandle;

use super::ascending::Ascending;
use super::error::StoreError;
use super::log::{ReadableRows, Table};
use super::tables::VERSION;
use certificate::{Id, Version};

/// A version number as it stands in a key.
pub(super) fn version_of(number: u32) -> Result<Version, StoreError> {
    Version::new(number).ok_or_else(|| StoreError::Damaged("a version has number 0".into()))
}

/// What stands behind the versions of an id must be in order: a version whose key is damaged stands there, and the one before it would be
/// taken for the newest. It may cost the pages of two neighbours, so it is for changes, which must not be made of an older version.
///
/// # Errors
/// `Damaged`
pub(super) fn expect_newest(
    versions: &Table<impl ReadableRows<(u64, u32), &'static [u8]>, (u64, u32), &'static [u8]>,
    id: Id,
) -> Result<(), StoreError> {
    let mut ascending = Ascending { table: VERSION.name(), last: (id.get(), u32::MAX) };
    versions.range((id.get(), u32::MAX)..)?.take(2).try_for_each(|row| ascending.next(&row?.0.value()))
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
