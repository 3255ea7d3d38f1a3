//! What the store keeps of its time beside the changes: the newest time stamp where the last change does not carry it, and what an operator
//! accepted, in `meta`; resets, as marks.

use super::mark::{self, StoreMark};
use super::stamps::{CLOCK_ACCEPTED, LATEST_STAMP};
use super::{Batch, ChangeRow, META, StoreError, StorePosition, StoreReader};
use crate::ClockReset;
use certificate::Seq;

impl StoreReader {
    /// Points behind which time began again, in their order.
    pub fn clock_resets(&self) -> Result<Vec<ClockReset>, StoreError> {
        mark::resets(&self.transaction)
    }

    /// The newest time stamp that an operator accepted to be ahead of the clock; `i64::MIN` for none.
    pub fn clock_accepted(&self) -> Result<i64, StoreError> {
        let odd = || StoreError::Damaged(format!("'{CLOCK_ACCEPTED}' is no number"));
        let accepted = self.meta(CLOCK_ACCEPTED)?;
        accepted.map_or(Ok(i64::MIN), |bytes| bytes.try_into().map(i64::from_le_bytes).map_err(|_| odd()))
    }
}

impl Batch<'_> {
    /// Moves the position to the time of a change that was inserted. The first one that is older than the one before it begins the table of
    /// times.
    pub fn keep_time(&mut self, position: &mut StorePosition, change: ChangeRow) -> Result<(), StoreError> {
        if change.milliseconds < position.last && position.first_timed.is_none() {
            self.begin_times(change.seq)?;
            position.first_timed = Some(change.seq);
        }
        if position.first_timed.is_some() && change.version().is_some() {
            self.insert_time(change)?;
        }
        position.last = change.milliseconds;
        Ok(())
    }

    /// Remembers the newest time stamp as of a change that does not carry it.
    pub fn remember_latest_stamp(&mut self, seq: Seq, stamp: i64) -> Result<(), StoreError> {
        self.set_meta(LATEST_STAMP, &[stamp.to_le_bytes(), seq.0.to_le_bytes()].concat())
    }

    /// Time begins again here.
    pub fn add_reset(&mut self, reset: ClockReset) -> Result<(), StoreError> {
        self.mark(&StoreMark::Reset(reset), reset.at)
    }

    /// Remembers up to which time stamp an operator accepts that the clock is behind.
    pub fn accept_clock(&mut self, stamp: i64) -> Result<(), StoreError> {
        self.set_meta(CLOCK_ACCEPTED, &stamp.to_le_bytes())
    }

    fn set_meta(&mut self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        self.transaction().open_table(META)?.insert(name, value)?;
        Ok(())
    }
}
