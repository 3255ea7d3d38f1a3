//! Numbers of versions by the hour, so that nobody counts them one by one.

use std::collections::BTreeMap;
use std::ops::Range;

use redb::TableDefinition;

use super::StoreError;
use super::log::{ReadOnlyTable, WriteTransaction};
use super::tables::TIME;
use super::version_keys::HiddenVersions;

/// Versions of an hour (step 0), or of 1 024 hours (step 1): step and number of the hour, or of the first of them by 1 024, since 1970.
pub const TIME_COUNT: TableDefinition<(u8, i64), u64> = TableDefinition::new("time_count");

/// Milliseconds of an hour.
pub(super) const HOUR_MS: i64 = 60 * 60 * 1_000;

/// Hours that are counted together: some six weeks. A century has 856 of them.
pub(super) const HOURS: i64 = 1_024;

/// Numbers of versions by the hour, as they stand in the table.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HourCounts(pub(super) BTreeMap<(u8, i64), u64>);

impl HourCounts {
    /// Counts a version.
    pub fn add(&mut self, milliseconds: i64) {
        hour_of(milliseconds).into_iter().for_each(|key| *self.0.entry(key).or_default() += 1);
    }

    /// Adds them to those of the table.
    pub(super) fn store(self, transaction: &WriteTransaction) -> Result<(), StoreError> {
        if self.0.is_empty() {
            return Ok(());
        }
        let mut counts = transaction.open_table(TIME_COUNT)?;
        for (key, versions) in self.0 {
            let before = counts.get(key)?.map_or(0, |number| number.value());
            counts.insert(key, before + versions)?;
        }
        Ok(())
    }
}

/// The hour of a time, and what it is counted together with.
pub(super) fn hour_of(milliseconds: i64) -> [(u8, i64); 2] {
    let hour = milliseconds.div_euclid(HOUR_MS);
    [(0, hour), (1, hour.div_euclid(HOURS))]
}

/// The counts of all versions in the table of times.
pub(super) fn fill_counts(transaction: &WriteTransaction) -> Result<(), StoreError> {
    let mut counts = HourCounts::default();
    for row in transaction.open_table(TIME)?.range::<(i64, u64)>(..)? {
        counts.add(row?.0.value().0);
    }
    transaction.open_table(TIME_COUNT)?.clear()?;
    counts.store(transaction)
}

/// Passes counts from the newest back while they have no more versions than are to be passed; the key of the one that has more. What is
/// hidden does not count.
pub(super) fn passed(
    counts: &ReadOnlyTable<(u8, i64), u64>,
    step: u8,
    keys: Range<i64>,
    newer: &mut u64,
    hidden: &HiddenVersions,
) -> Result<Option<i64>, StoreError> {
    for row in counts.range((step, keys.start)..(step, keys.end))?.rev() {
        let (key, versions) = row?;
        let (_, key) = key.value();
        match newer.checked_sub(versions.value().saturating_sub(hidden.within(times_of(step, key)))) {
            Some(left) => *newer = left,
            None => return Ok(Some(key)),
        }
    }
    Ok(None)
}

/// The times that are counted together under a key.
fn times_of(step: u8, key: i64) -> Range<i64> {
    let length = if step == 0 { HOUR_MS } else { HOURS * HOUR_MS };
    key.saturating_mul(length)..(key + 1).saturating_mul(length)
}
