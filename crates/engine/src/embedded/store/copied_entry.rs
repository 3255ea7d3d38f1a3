//! Entries on their way from one store to another.

use std::borrow::Cow;

use super::change::ChangeRow;

/// One entry as it was copied.
#[derive(Clone, Debug)]
pub struct CopiedEntry<'a> {
    /// The row of its log.
    pub row: ChangeRow,
    /// The entry as it is stored.
    pub record: Cow<'a, [u8]>,
}
