//! How much a store keeps for its versions, beside what it takes on the disk. For benches.

use std::path::Path;

use super::record::VersionRecord;
use super::{Store, StoreError, StoreMedium, StoreOptions};
use crate::{FolderNames, QuickRepair};

/// Versions in the store of a folder that nobody holds, and bytes of their compressed bodies and index rows, as far as `go_on` lets it
/// count.
///
/// # Errors
/// The folder is in use, newer than this release, or damaged.
pub fn payload(
    folder: &Path,
    cache_bytes: usize,
    quick_repair: QuickRepair,
    mut go_on: impl FnMut() -> bool,
) -> Result<(u64, u64), StoreError> {
    let options = StoreOptions {
        cache_bytes,
        quick_repair,
        names: FolderNames::default(),
        purpose: None,
        medium: StoreMedium::default(),
    };
    let (store, _) = Store::open(folder, options)?;
    let (mut versions, mut bytes) = (0, 0);
    store.reader()?.all(|_, record| {
        versions += 1;
        let record = VersionRecord::read(record)?;
        bytes += (record.row.len() + record.body.len()) as u64;
        Ok(go_on())
    })?;
    Ok((versions, bytes))
}
