//! Versions in the order of their times, where these do not always rise with the changes: behind an import of older versions, or a reset
//! of the clock. Up to the first change that is older than the one before it the log has them in this order, and the table of times has all
//! others. Places are found by halving, with numbers of versions beside the table (`time_count`).

use std::iter;
use std::ops::Range;

use super::change::ChangeRow;
use super::hour_count::{CountStep, TIME_COUNT, newest_first};
use super::log::ReadOnlyTable;
use super::tables::{META, TIME, UNORDERED};
use super::version_keys::{HiddenVersions, VersionKey};
use super::{Batch, StoreError, StoreReader};
use certificate::Seq;

/// Hidden versions that are passed one by one before the next shown one is looked for by halving.
const HIDDEN_ROWS_MAX: u64 = if cfg!(test) { 4 } else { 64 };

impl Batch<'_> {
    /// Times do not rise with the changes any more from this one on.
    pub fn begin_times(&mut self, first: Seq) -> Result<(), StoreError> {
        self.transaction().open_table(META)?.insert(UNORDERED, first.0.to_le_bytes().as_slice())?;
        Ok(())
    }

    /// Adds a version to the table of times.
    pub fn insert_time(&mut self, change: ChangeRow) -> Result<(), StoreError> {
        self.transaction().open_table(TIME)?.insert((change.milliseconds, change.seq.0), ())?;
        self.times.add(change.milliseconds);
        Ok(())
    }
}

/// Versions of one moment of the store in the order of their times.
pub struct VersionsByTime<'r> {
    reader: &'r StoreReader,
    /// The last change of those whose times rise from the first one on.
    ordered: u64,
    /// Versions among these.
    ordered_versions: u64,
    times: ReadOnlyTable<VersionKey, ()>,
    counts: ReadOnlyTable<(u8, i64), u64>,
}

/// Where a version is looked for.
struct SearchedTimes {
    low: VersionKey,
    high: VersionKey,
    /// Versions of the table of times at or behind `high`.
    behind: u64,
    /// The ordered changes up to the first one and up to the last one of these are before `low` and `high`.
    changes: Range<u64>,
}

/// Versions of the table of times that are counted together.
struct CountedVersions {
    start: VersionKey,
    end: VersionKey,
    versions: u64,
}

impl StoreReader {
    /// Versions in the order of their times; none where this is that of the changes.
    pub fn by_time(&self) -> Result<Option<VersionsByTime<'_>>, StoreError> {
        let Some(first) = self.number(UNORDERED)? else { return Ok(None) };
        let ordered = first.saturating_sub(1);
        let ordered_versions = if ordered == 0 { 0 } else { self.change_at(ordered)?.running };
        let (times, counts) = (self.transaction.open_table(TIME)?, self.transaction.open_table(TIME_COUNT)?);
        Ok(Some(VersionsByTime { reader: self, ordered, ordered_versions, times, counts }))
    }
}

impl VersionsByTime<'_> {
    /// Number of versions made from a moment on.
    pub fn since(&self, milliseconds: i64) -> Result<u64, StoreError> {
        let hour = CountStep::Hour.times(CountStep::Hour.of(milliseconds));
        let is_by_second = self.counts.range(CountStep::Second.keys(hour.clone()))?.next().is_some();
        let step = if is_by_second { CountStep::Second } else { CountStep::Hour };
        let end = step.times(step.of(milliseconds)).end;
        let mut versions = self.ordered_from((milliseconds, 0), &(0..self.ordered))?;
        for row in self.times.range((milliseconds, 0)..(end, 0))? {
            row?;
            versions += 1;
        }
        let hours = CountStep::Hours.times(CountStep::Hours.of(milliseconds)).end;
        let of_hour = if is_by_second { end..hour.end } else { end..end };
        for (step, times) in
            [(CountStep::Second, of_hour), (CountStep::Hour, hour.end..hours), (CountStep::Hours, hours..i64::MAX)]
        {
            for count in newest_first(&self.counts, step, times)? {
                versions += count?.1;
            }
        }
        Ok(versions)
    }

    /// Walks versions, newest first, but for the hidden ones, and behind the first `skip` of the others, until `each` says stop.
    pub fn walk(
        &self,
        mut skip: u64,
        hidden: &HiddenVersions,
        mut each: impl FnMut(Seq) -> bool,
    ) -> Result<(), StoreError> {
        'places: while let Some((time, seq)) = self.place(skip, hidden)? {
            let mut passed = 0;
            for key in self.before((time, seq + 1))? {
                let key = key?;
                if !hidden.has(key) {
                    if !each(Seq(key.1)) {
                        return Ok(());
                    }
                    (skip, passed) = (skip + 1, 0);
                } else if passed == HIDDEN_ROWS_MAX {
                    continue 'places;
                } else {
                    passed += 1;
                }
            }
            break;
        }
        Ok(())
    }

    /// Versions before one, newest first.
    pub fn before(
        &self,
        key: VersionKey,
    ) -> Result<impl Iterator<Item = Result<VersionKey, StoreError>> + '_, StoreError> {
        let mut timed = self.times.range(..key)?.rev().map(|row| row.map(|(key, _)| key.value()));
        let mut next_timed = timed.next().transpose()?;
        let mut next_ordered = self.ordered_version(self.ordered_before(key, &(0..self.ordered))?)?;
        let mut next = move || {
            let next = next_timed.max(next_ordered);
            match next {
                Some(key) if next == next_ordered => next_ordered = self.ordered_version(key.1 - 1)?,
                _ => next_timed = timed.next().transpose()?,
            }
            Ok(next)
        };
        Ok(iter::from_fn(move || next().transpose()))
    }

    /// The version that has this many shown ones behind it.
    fn place(&self, newer: u64, hidden: &HiddenVersions) -> Result<Option<VersionKey>, StoreError> {
        let mut span =
            SearchedTimes { low: (i64::MIN, 0), high: (i64::MAX, u64::MAX), behind: 0, changes: 0..self.ordered };
        let has_more = |key: VersionKey, timed: u64, changes: &Range<u64>| -> Result<bool, StoreError> {
            Ok((self.ordered_from(key, changes)? + timed).saturating_sub(hidden.from(key)) > newer)
        };
        for step in [Some(CountStep::Hours), Some(CountStep::Hour), Some(CountStep::Second), None] {
            let counted = self.counted(step, &span)?;
            if counted.is_empty() && step == Some(CountStep::Second) {
                continue;
            }
            let behind = counted.iter().scan(span.behind, |behind, counted| {
                *behind += counted.versions;
                Some(*behind)
            });
            let behind: Vec<u64> = behind.collect();
            // The first of them, newest first, at whose beginning more versions are behind.
            let (mut at, mut end) = (0, counted.len());
            while at < end {
                let middle = at.midpoint(end);
                if has_more(counted[middle].start, behind[middle], &span.changes)? {
                    end = middle;
                } else {
                    at = middle + 1;
                }
            }
            if at > 0 {
                (span.high, span.behind) = (counted[at - 1].start, behind[at - 1]);
            }
            let Some(found) = counted.get(at) else { break };
            if has_more(found.end, span.behind, &span.changes)? {
                span.low = found.end;
                break;
            }
            if step.is_none() {
                return Ok(Some(found.start));
            }
            (span.low, span.high) = (found.start, found.end);
            span.changes =
                self.ordered_before(span.low, &span.changes)?..self.ordered_before(span.high, &span.changes)?;
        }
        // Only ordered ones are between both, and what is hidden before them is not asked about: `behind` lacks the versions there.
        let first = self.ordered_before(span.low, &span.changes)?;
        let last = self.ordered_before(span.high, &span.changes)?;
        let seq = self.reader.last_where(first, last, |change| {
            let key = (change.milliseconds, change.seq.0);
            let before = change.running - u64::from(change.version().is_some());
            (self.ordered_versions + span.behind).saturating_sub(before + hidden.from(key)) > newer
        })?;
        let version = self.ordered_version(seq)?;
        Ok(version.filter(|key| *key >= span.low))
    }

    /// What the table of times has in a span, newest first, counted by a length; by itself with none.
    fn counted(&self, step: Option<CountStep>, span: &SearchedTimes) -> Result<Vec<CountedVersions>, StoreError> {
        let Some(step) = step else {
            let rows = self.times.range(span.low..span.high)?.rev();
            let version = |(time, seq)| CountedVersions { start: (time, seq), end: (time, seq + 1), versions: 1 };
            return rows.map(|row| row.map(|(key, _)| version(key.value()))).collect();
        };
        let counted = |(number, versions)| {
            let times = step.times(number);
            CountedVersions { start: (times.start, 0), end: (times.end, 0), versions }
        };
        newest_first(&self.counts, step, span.low.0..span.high.0)?.map(|count| count.map(counted)).collect()
    }

    /// Ordered versions that are not before a place. The last ordered change before it is known to be one of some, or the one before them.
    fn ordered_from(&self, key: VersionKey, among: &Range<u64>) -> Result<u64, StoreError> {
        match self.ordered_before(key, among)? {
            0 => Ok(self.ordered_versions),
            seq => Ok(self.ordered_versions.saturating_sub(self.reader.change_at(seq)?.running)),
        }
    }

    /// The last ordered change before a place, or 0.
    fn ordered_before(&self, key: VersionKey, among: &Range<u64>) -> Result<u64, StoreError> {
        self.reader.last_where(among.start, among.end, |change| (change.milliseconds, change.seq.0) < key)
    }

    /// The newest version up to an ordered change.
    fn ordered_version(&self, seq: u64) -> Result<Option<VersionKey>, StoreError> {
        if seq == 0 {
            return Ok(None);
        }
        let mut change = self.reader.change_at(seq)?;
        if change.version().is_none() {
            let versions = change.running;
            if versions == 0 {
                return Ok(None);
            }
            // However many changes of consent follow each other, they are passed in one jump.
            change = self.reader.change_at(self.reader.last_near(seq - 1, |change| change.running < versions)? + 1)?;
        }
        Ok(Some((change.milliseconds, change.seq.0)))
    }
}
