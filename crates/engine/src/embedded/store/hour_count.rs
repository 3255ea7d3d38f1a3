//! Numbers of versions of the table of times, by the hour, and by the second in hours that have many, so that nobody counts them one by one.

use std::collections::BTreeMap;
use std::iter;
use std::ops::Range;

use redb::TableDefinition;

use super::log::{ReadOnlyTable, WriteTransaction, WrittenTable};
use super::tables::TIME;
use super::{StoreError, StoreReader};

/// Versions by the length and the number, since 1970, of the time that they are counted in.
pub(super) const TIME_COUNT: TableDefinition<(u8, i64), u64> = TableDefinition::new("time_count");

/// The length of a time in which versions are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum CountStep {
    Hour = 0,
    /// 1 024 hours: some six weeks. A century has 856 of them.
    Hours = 1,
    /// In busy hours only.
    Second = 2,
}

/// Versions of an hour from which on they are counted by the second too.
const BUSY_HOUR_VERSIONS_MIN: u64 = if cfg!(test) { 8 } else { 4_096 };

impl CountStep {
    /// Its length in milliseconds.
    pub(super) const fn length(self) -> i64 {
        match self {
            CountStep::Second => 1_000,
            CountStep::Hour => 3_600_000,
            CountStep::Hours => 1_024 * 3_600_000,
        }
    }

    /// Which one of its length a time is in.
    pub(super) fn of(self, milliseconds: i64) -> i64 {
        milliseconds.div_euclid(self.length())
    }

    /// The times of the one with a number.
    pub(super) fn times(self, number: i64) -> Range<i64> {
        number.saturating_mul(self.length())..number.saturating_add(1).saturating_mul(self.length())
    }

    /// The keys of counts whose times begin in a range, from the beginning of one on.
    pub(super) fn keys(self, times: Range<i64>) -> Range<(u8, i64)> {
        (self as u8, self.of(times.start))..(self as u8, self.of(times.end))
    }
}

/// Versions that a batch added, by the second.
#[derive(Debug, Default)]
pub(super) struct NewCounts(BTreeMap<i64, u64>);

impl NewCounts {
    /// Counts a version.
    pub(super) fn add(&mut self, milliseconds: i64) {
        *self.0.entry(CountStep::Second.of(milliseconds)).or_default() += 1;
    }

    /// Adds them to those of the table. The versions are in the table of times.
    pub(super) fn store(self, transaction: &WriteTransaction) -> Result<(), StoreError> {
        if self.0.is_empty() {
            return Ok(());
        }
        let mut counts = transaction.open_table(TIME_COUNT)?;
        let mut seconds =
            self.0.into_iter().map(|(second, versions)| (second * CountStep::Second.length(), versions)).peekable();
        while let Some((first, _)) = seconds.peek().copied() {
            let hour = CountStep::Hour.times(CountStep::Hour.of(first));
            let of_hour: Vec<_> = iter::from_fn(|| seconds.next_if(|(second, _)| hour.contains(second))).collect();
            let versions = of_hour.iter().map(|(_, versions)| versions).sum();
            add(&mut counts, CountStep::Hours, first, versions)?;
            let all = add(&mut counts, CountStep::Hour, first, versions)?;
            if all < BUSY_HOUR_VERSIONS_MIN {
                continue;
            }
            let is_counted = counts.range(CountStep::Second.keys(hour.clone()))?.next().is_some();
            if is_counted {
                for (second, versions) in of_hour {
                    add(&mut counts, CountStep::Second, second, versions)?;
                }
                continue;
            }
            let mut counted = InOrder::new(|step, number, versions| match step {
                CountStep::Second => counts.insert((step as u8, number), versions).map(drop),
                _ => Ok(()),
            });
            for row in transaction.open_table(TIME)?.range((hour.start, 0)..(hour.end, 0))? {
                counted.add(row?.0.value().0)?;
            }
            counted.finish()?;
        }
        Ok(())
    }
}

/// Adds to one count of the table; what it is then.
fn add(
    counts: &mut WrittenTable<(u8, i64), u64>,
    step: CountStep,
    time: i64,
    versions: u64,
) -> Result<u64, StoreError> {
    let key = (step as u8, step.of(time));
    let all = counts.get(key)?.map_or(0, |number| number.value()) + versions;
    counts.insert(key, all)?;
    Ok(all)
}

/// Counts versions that come in the order of their times; hands out each count once it is known.
struct InOrder<F> {
    each: F,
    /// Of the hour.
    seconds: Vec<(i64, u64)>,
    hours: Option<(i64, u64)>,
}

impl<F: FnMut(CountStep, i64, u64) -> Result<(), StoreError>> InOrder<F> {
    fn new(each: F) -> InOrder<F> {
        InOrder { each, seconds: Vec::new(), hours: None }
    }

    fn add(&mut self, milliseconds: i64) -> Result<(), StoreError> {
        let second = CountStep::Second.of(milliseconds);
        match self.seconds.last_mut() {
            Some((last, versions)) if *last == second => *versions += 1,
            Some((last, _)) if !in_one_hour(*last, second) => {
                self.end_hour()?;
                self.seconds.push((second, 1));
            }
            _ => self.seconds.push((second, 1)),
        }
        Ok(())
    }

    fn end_hour(&mut self) -> Result<(), StoreError> {
        let Some((first, _)) = self.seconds.first() else { return Ok(()) };
        let first = CountStep::Second.times(*first).start;
        let versions = self.seconds.iter().map(|(_, versions)| versions).sum();
        (self.each)(CountStep::Hour, CountStep::Hour.of(first), versions)?;
        let seconds = std::mem::take(&mut self.seconds);
        if versions >= BUSY_HOUR_VERSIONS_MIN {
            seconds.into_iter().try_for_each(|(second, versions)| (self.each)(CountStep::Second, second, versions))?;
        }
        let hours = CountStep::Hours.of(first);
        match &mut self.hours {
            Some((number, all)) if *number == hours => *all += versions,
            before => {
                if let Some((number, all)) = before.replace((hours, versions)) {
                    (self.each)(CountStep::Hours, number, all)?;
                }
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), StoreError> {
        self.end_hour()?;
        self.hours.map_or(Ok(()), |(number, versions)| (self.each)(CountStep::Hours, number, versions))
    }
}

fn in_one_hour(second: i64, other: i64) -> bool {
    let hour = |second| CountStep::Hour.of(CountStep::Second.times(second).start);
    hour(second) == hour(other)
}

/// The counts of all versions in the table of times.
pub(super) fn fill_counts(transaction: &WriteTransaction) -> Result<(), StoreError> {
    let mut counts = transaction.open_table(TIME_COUNT)?;
    counts.clear()?;
    let mut counted = InOrder::new(|step, number, versions| counts.insert((step as u8, number), versions).map(drop));
    for row in transaction.open_table(TIME)?.range::<(i64, u64)>(..)? {
        counted.add(row?.0.value().0)?;
    }
    counted.finish()
}

impl StoreReader {
    /// Whether the counts are those of the table of times.
    pub fn are_times_counted(&self) -> Result<bool, StoreError> {
        let (Some(times), Some(counts)) =
            (self.transaction.find_table(TIME)?, self.transaction.find_table(TIME_COUNT)?)
        else {
            return Ok(self.time_count()? == 0);
        };
        let (mut expected, mut differ) = (0, false);
        let mut counted = InOrder::new(|step, number, versions| {
            expected += 1;
            differ |= counts.get((step as u8, number))?.map(|found| found.value()) != Some(versions);
            Ok(())
        });
        for row in times.iter()? {
            counted.add(row?.0.value().0)?;
        }
        counted.finish()?;
        Ok(!differ && expected == self.count_of(TIME_COUNT)?)
    }
}

/// Counts of a length whose times begin in a range, newest first.
pub(super) fn newest_first(
    counts: &ReadOnlyTable<(u8, i64), u64>,
    step: CountStep,
    times: Range<i64>,
) -> Result<impl Iterator<Item = Result<(i64, u64), StoreError>>, StoreError> {
    let rows = counts.range(step.keys(times))?.rev();
    Ok(rows.map(|row| row.map(|(key, versions)| (key.value().1, versions.value()))))
}
