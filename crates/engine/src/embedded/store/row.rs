//! The row of a record.

use std::sync::Arc;

use super::body::{self, Dictionary};
use super::error::StoreError;
use super::record::VersionRecord;
use certificate::Consent;
use certificate::search::class::Class;
use certificate::search::row::Row;
use certificate::search::row_bytes;

/// The row of a record, out of its frame.
///
/// # Errors
/// `Damaged`.
pub(crate) fn read_row(record: &VersionRecord, dictionary: Dictionary) -> Result<Row, StoreError> {
    let mut row = row_bytes::decode(&body::expand_row(dictionary, record.row)?).ok_or_else(unreadable)?;
    row.last_updated = record.stamp.milliseconds;
    Ok(row)
}

/// The class of a record's row, its consent left open.
///
/// # Errors
/// `Damaged`.
pub(crate) fn read_class(record: &VersionRecord, dictionary: Dictionary) -> Result<Class, StoreError> {
    row_bytes::decode_class(&body::expand_row(dictionary, record.row)?).ok_or_else(unreadable)
}

fn unreadable() -> StoreError {
    StoreError::Damaged("an index row is not readable".into())
}

/// Lays the consent that holds over a row.
pub(crate) fn lay(row: &mut Row, consent: Consent) {
    if row.class.consent != consent {
        Arc::make_mut(&mut row.class).consent = consent;
    }
}
