//! Steps that the indexer takes in several places.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::embedded::index::{self, IndexWriterHandle};
use crate::embedded::overlay::NumberedRow;
use crate::embedded::shared::EngineShared;
use certificate::{Id, Version};

/// Changes that are read into the overlay at once instead of being indexed first; about 50 ms of work.
pub(in crate::embedded) const TAIL_ROWS_MAX: u64 = 16_384;

/// Reads the index's files and compares them with their checksums: damage in the middle of one would give wrong answers, not errors.
pub(in crate::embedded) fn look_through(shared: &EngineShared, writer: &IndexWriterHandle) -> Result<(), String> {
    shared.notifier.looked();
    checked(|| writer.check().run(&|| true))
}

/// The outcome of a check. Damage may show as a panic as well.
pub(in crate::embedded) fn checked(check: impl FnOnce() -> Result<(), index::IndexError>) -> Result<(), String> {
    let looked = catch_unwind(AssertUnwindSafe(check));
    looked.unwrap_or_else(|_| Err(index::IndexError("reading it panicked".into()))).map_err(|error| error.0)
}

/// How many more certificates there are after a change.
pub(in crate::embedded) fn balance(new: bool, old: bool) -> i64 {
    i64::from(new) - i64::from(old)
}

/// The newest row of a certificate takes the place of the one before, where there is one.
pub(in crate::embedded) fn put(
    writer: &IndexWriterHandle,
    id: Id,
    version: Version,
    row: Option<&NumberedRow>,
    replaces: bool,
) -> Result<(), index::IndexError> {
    if replaces {
        writer.remove(id);
    }
    match row {
        Some(row) => writer.add(id, version, row),
        None => Ok(()),
    }
}
