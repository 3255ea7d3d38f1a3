//! Versions in the order of their times, kept from the first change on that is older than the one before it: an import, or a reset of the
//! clock. Beside them stand numbers of versions by the hour, so that nobody counts them one by one.

use std::ops::Range;

use super::change::ChangeRow;
use super::hour_count::{HOUR_MS, HOURS, HourCounts, TIME_COUNT, fill_counts, hour_of, passed};
use super::tables::{META, TIME};
use super::version_keys::HiddenVersions;
use super::{Batch, StoreError, StoreReader};
use certificate::Seq;

impl Batch<'_> {
    /// From here on times do not rise with the changes: fills the table of times with the versions before a change.
    pub fn begin_times(&mut self, before: Seq) -> Result<(), StoreError> {
        self.flush()?;
        let transaction = self.transaction();
        transaction.open_table(META)?.insert("unordered", 1u64.to_le_bytes().as_slice())?;
        {
            let mut times = transaction.open_table(TIME)?;
            for row in self.log.rows.range(..before.0)? {
                let (seq, bytes) = row?;
                let earlier = ChangeRow::of_log(seq.value(), bytes.value())?;
                if earlier.version().is_some() {
                    times.insert((earlier.milliseconds, earlier.seq.0), ())?;
                }
            }
        }
        fill_counts(transaction)
    }

    /// Adds a version to the table of times.
    pub fn insert_time(&mut self, change: ChangeRow) -> Result<(), StoreError> {
        self.transaction().open_table(TIME)?.insert((change.milliseconds, change.seq.0), ())?;
        self.hours.add(change.milliseconds);
        Ok(())
    }
}

impl StoreReader {
    /// Times and numbers of changes before one, newest first, at most `max`. For stores with imports out of order.
    pub fn times_before(&self, before: (i64, u64), max: usize) -> Result<Vec<(i64, u64)>, StoreError> {
        let times = self.transaction.open_table(TIME)?;
        let rows = times.range(..before)?.rev().take(max);
        rows.map(|row| row.map(|(key, _)| key.value())).collect()
    }

    /// Walks the versions made from `since` on, newest first by time, but for the hidden ones, and behind the first `skip` of the others,
    /// until `each` says stop. For stores with imports out of the order of their times. Only within an hour are versions passed one by one.
    pub fn changes_by_time(
        &self,
        since: i64,
        skip: u64,
        hidden: &HiddenVersions,
        mut each: impl FnMut(Seq) -> bool,
    ) -> Result<(), StoreError> {
        let times = self.transaction.open_table(TIME)?;
        let (mut skip, mut before) = (skip, i64::MAX);
        'hours: while let Some(mut shown) = self.hour_behind(before, &mut skip, hidden)? {
            let end = (shown + 1).saturating_mul(HOUR_MS);
            if end <= since {
                break;
            }
            for row in times.range((since, 0)..(end, 0))?.rev() {
                let key = row?.0.value();
                if !hidden.has(key) {
                    if skip > 0 {
                        skip -= 1;
                    } else if !each(Seq(key.1)) {
                        return Ok(());
                    }
                    continue;
                }
                let [(_, hour), _] = hour_of(key.0);
                // Hours that have hidden versions only are jumped over.
                if hour < shown && self.hour_behind(hour + 1, &mut 0, hidden)? != Some(hour) {
                    before = hour;
                    continue 'hours;
                }
                shown = hour;
            }
            break;
        }
        Ok(())
    }

    /// Number of versions made from `since` on, in a store with imports out of order.
    pub fn count_by_time(&self, since: i64) -> Result<u64, StoreError> {
        let [(_, hour), (_, many)] = hour_of(since);
        let times = self.transaction.open_table(TIME)?;
        let mut versions = 0;
        for row in times.range((since, 0)..((hour + 1).saturating_mul(HOUR_MS), 0))? {
            row?;
            versions += 1;
        }
        let counts = self.transaction.open_table(TIME_COUNT)?;
        let sum = |step: u8, keys: Range<i64>| -> Result<u64, StoreError> {
            let rows = counts.range((step, keys.start)..(step, keys.end))?;
            rows.map(|row| row.map(|(_, versions)| versions.value())).sum()
        };
        Ok(versions + sum(0, hour + 1..(many + 1) * HOURS)? + sum(1, many + 1..i64::MAX)?)
    }

    /// The hour before another one in which the version stands that has `newer` shown ones between; `newer` is how many of these the hour
    /// itself has then. None where there are not so many.
    fn hour_behind(&self, before: i64, newer: &mut u64, hidden: &HiddenVersions) -> Result<Option<i64>, StoreError> {
        let counts = self.transaction.open_table(TIME_COUNT)?;
        let many = before.div_euclid(HOURS);
        if let Some(hour) = passed(&counts, 0, many * HOURS..before, newer, hidden)? {
            return Ok(Some(hour));
        }
        let Some(many) = passed(&counts, 1, i64::MIN..many, newer, hidden)? else { return Ok(None) };
        passed(&counts, 0, many * HOURS..(many + 1) * HOURS, newer, hidden)
    }

    /// The numbers of versions by the hour.
    pub fn hour_counts(&self) -> Result<HourCounts, StoreError> {
        let Some(counts) = self.transaction.find_table(TIME_COUNT)? else { return Ok(HourCounts::default()) };
        let rows = counts.iter()?.map(|row| row.map(|(key, versions)| (key.value(), versions.value())));
        rows.collect::<Result<_, _>>().map(HourCounts)
    }
}
