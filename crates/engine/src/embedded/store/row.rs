//! The row of a record.

use std::sync::Arc;

use super::error::StoreError;
use super::record::VersionRecord;
use certificate::Consent;
use certificate::search::row::Row;
use certificate::search::row_bytes;

/// The row of a record, from its raw bytes.
pub(crate) fn read_row(record: &VersionRecord, bytes: &[u8]) -> Result<Row, StoreError> {
    let unreadable = || StoreError::Damaged("an index row is not readable".into());
    let mut row = row_bytes::decode(bytes).ok_or_else(unreadable)?;
    row.last_updated = record.stamp.milliseconds;
    Ok(row)
}

/// Lays the consent that holds over a row.
pub(crate) fn lay(row: &mut Row, consent: Consent) {
    if row.class.consent != consent {
        Arc::make_mut(&mut row.class).consent = consent;
    }
}
