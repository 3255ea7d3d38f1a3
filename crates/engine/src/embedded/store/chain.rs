//! Where the chains of a store begin.

use super::StoreError;
use super::log::WriteTransaction;
use super::tables::META;
use crate::EntryHash;

/// Name in `meta` of where both chains begin.
pub(super) const CHAIN_ORIGIN: &str = "chain-origin";

/// Where the chains begin, as a writer sees it.
pub(super) fn written_origin(transaction: &WriteTransaction) -> Result<EntryHash, StoreError> {
    origin(transaction.open_table(META)?.get(CHAIN_ORIGIN)?.as_ref().map(|origin| origin.value()))
}

/// Where the chains begin, as `meta` has it.
pub(super) fn origin(stored: Option<&[u8]>) -> Result<EntryHash, StoreError> {
    let bytes = stored.and_then(|bytes| bytes.try_into().ok()).map(EntryHash::from_bytes);
    bytes.ok_or_else(|| StoreError::Damaged(format!("'{CHAIN_ORIGIN}' is no hash")))
}
