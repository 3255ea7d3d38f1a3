//! What the table `meta` says of time.

use super::error::StoreError;
use certificate::Seq;

/// The newest time stamp as of a change: i64, then the change as u64. Earlier releases wrote the time stamp alone.
pub const LATEST_STAMP: &str = "latest-stamp";

/// The newest time stamp when an operator accepted that the clock is behind it: i64.
pub(super) const CLOCK_ACCEPTED: &str = "clock-accepted";

/// The newest time stamp where the last change does not carry it.
pub enum LatestStamp {
    /// As of this change. Behind it the last change carries the newest one.
    AsOf(Seq, i64),
    /// Of an earlier release: no change since is older.
    AtLeast(i64),
}

impl LatestStamp {
    /// Reads what lies in `meta`.
    pub fn read(bytes: &[u8]) -> Result<LatestStamp, StoreError> {
        let odd = || StoreError::Damaged(format!("'{LATEST_STAMP}' has {} bytes instead of 16", bytes.len()));
        let (stamp, rest) = bytes.split_first_chunk().ok_or_else(odd)?;
        let stamp = i64::from_le_bytes(*stamp);
        match rest.is_empty() {
            true => Ok(LatestStamp::AtLeast(stamp)),
            false => Ok(LatestStamp::AsOf(Seq(u64::from_le_bytes(rest.try_into().map_err(|_| odd())?)), stamp)),
        }
    }

    /// The newest time stamp, where the last change and its own time stamp are these.
    pub fn after(&self, last: Seq, last_stamp: i64) -> i64 {
        match *self {
            LatestStamp::AsOf(seq, stamp) if seq >= last => stamp,
            LatestStamp::AsOf(..) => last_stamp,
            LatestStamp::AtLeast(stamp) => stamp.max(last_stamp),
        }
    }
}
