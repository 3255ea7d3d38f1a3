//! How far a store has come.

use super::change::ChangeRow;
use super::error::StoreError;
use super::log::{Log, ReadTransaction};
use super::mark;
use super::stamps::{LATEST_STAMP, LatestStamp};
use super::tables::{CLASS, COUNTER, LOG, META, UNORDERED, VERSION};
use crate::ClockReset;
use certificate::{Id, Seq};

/// How far the store has come. It moves in memory only after a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorePosition {
    /// The id of the next new certificate.
    pub next_id: Id,
    /// The last change; 0 in an empty store.
    pub seq: Seq,
    /// The newest time stamp, milliseconds since 1970 UTC: no change gets an earlier one. Imported versions that are ahead of the clock do
    /// not count, nor does what lies before the last reset. `i64::MIN` when there is none.
    pub milliseconds: i64,
    /// Time stamp of the last change, imported or not.
    pub last: i64,
    /// Versions stored.
    pub running: u64,
    /// The first change that is older than the one before it, behind an import of older versions or a reset of the clock: the table `time`
    /// has the versions from there on.
    pub first_timed: Option<Seq>,
    /// Where time began again last.
    pub reset: Option<ClockReset>,
}

/// Where a database that was opened again stands.
#[derive(Clone, Debug)]
pub struct ReopenedPosition {
    /// How far the database has come.
    pub position: StorePosition,
    /// As [`Opened::classes`](super::OpenedStore::classes).
    pub classes: Vec<Vec<u8>>,
    /// As [`Opened::counters`](super::OpenedStore::counters).
    pub counters: Vec<(u32, u64)>,
}

impl ReopenedPosition {
    /// Reads position, classes and counters out of the database; fails when a row is damaged.
    pub fn read(log: &Log) -> Result<ReopenedPosition, StoreError> {
        let (position, classes) = (position(log)?, stored_classes(log)?);
        Ok(ReopenedPosition { position, classes, counters: stored_counters(log)? })
    }
}

/// Classes in the order of their numbers.
pub(super) fn stored_classes(log: &Log) -> Result<Vec<Vec<u8>>, StoreError> {
    let classes = log.begin_read()?.open_table(CLASS)?;
    let rows = classes.iter()?;
    rows.map(|row| row.map(|(_, class)| class.value().to_vec())).collect()
}

pub(super) fn stored_counters(log: &Log) -> Result<Vec<(u32, u64)>, StoreError> {
    let counters = log.begin_read()?.open_table(COUNTER)?;
    let rows = counters.iter()?;
    rows.map(|row| row.map(|(class, number)| (class.value(), number.value()))).collect()
}

pub(super) fn position(log: &Log) -> Result<StorePosition, StoreError> {
    position_at(&log.begin_read()?)
}

/// How far the store had come at a moment.
pub(super) fn position_at(transaction: &ReadTransaction) -> Result<StorePosition, StoreError> {
    let meta = transaction.open_table(META)?;
    let number = |key: &str| -> Result<Option<u64>, StoreError> {
        let number = meta.get(key)?.map(|bytes| bytes.value().try_into().map(u64::from_le_bytes));
        number.transpose().map_err(|_| StoreError::Damaged(format!("'{key}' is no number")))
    };
    let changes = transaction.open_table(LOG)?;
    let last = changes.last()?;
    let last = last.map(|(seq, change)| ChangeRow::of_log(seq.value(), change.value())).transpose()?;
    let versions = transaction.open_table(VERSION)?;
    let past_newest = match versions.last()? {
        Some((key, _)) => key.value().0.saturating_add(1),
        None => 1,
    };
    let next_id = number("next-id")?.unwrap_or(1).max(past_newest);
    let (seq, last_stamp) = last.map_or((Seq(0), i64::MIN), |change| (change.seq, change.milliseconds));
    let newest = meta.get(LATEST_STAMP)?.map(|bytes| LatestStamp::read(bytes.value())).transpose()?;
    // The writer takes it as a number when a patient comes.
    number("next-patient-id")?;
    Ok(StorePosition {
        next_id: Id::new(next_id).ok_or_else(|| StoreError::Damaged("the next id is 0".into()))?,
        seq,
        milliseconds: newest.map_or(last_stamp, |newest| newest.after(seq, last_stamp)),
        last: last_stamp,
        running: last.map_or(0, |change| change.running),
        first_timed: number(UNORDERED)?.map(Seq),
        reset: mark::resets(transaction)?.pop(),
    })
}
