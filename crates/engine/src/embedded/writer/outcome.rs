//! What was decided of a request, and from what.

use std::sync::Arc;

use super::pending::VersionTime;
use crate::embedded::known_time::ChangeTime;
use crate::embedded::overlay::NumberedRow;
use crate::{AcknowledgedChange, EffectiveRow, RefusedChange, Write};
use certificate::search::row::Row;
use certificate::{Id, Stamp, State, Version};

/// The newest version of a certificate, as the rules ask for it and as the overlay does.
pub(super) struct NewestVersion {
    pub effective_row: EffectiveRow,
    pub made: VersionTime,
    /// None for a tombstone.
    pub old: Option<Arc<NumberedRow>>,
}

/// What became of a write.
pub(super) enum WriteOutcome {
    /// The caller's answer.
    Now(Result<AcknowledgedChange, RefusedChange>),
    /// It belongs into the next batch.
    Later(Box<Write>),
}

/// When the next version of a certificate can be made.
pub(super) enum NextVersionTime {
    At(ChangeTime),
    /// Not in this millisecond.
    Wait,
    Never(RefusedChange),
}

/// A version on its way into the store.
pub(super) struct NewVersion {
    pub id: Id,
    pub version: Version,
    /// What the system clock says, milliseconds since 1970 UTC.
    pub at: i64,
    pub stamp: Stamp,
    pub state: State,
    pub row: Option<Row>,
    pub old: Option<Arc<NumberedRow>>,
    /// It keeps its time, and may be ahead of the clock.
    pub is_imported: bool,
}
