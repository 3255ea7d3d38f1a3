//! Estonian local time: the zone Europe/Tallinn of the compiled-in tz database.

use std::ops::Range;
use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::calendar::DAY;

static ZONE: LazyLock<TimeZone> =
    LazyLock::new(|| TimeZone::get("Europe/Tallinn").expect("jiff is built with the tz database inside"));

/// The moments from which a table tells the offset, 1970 to 2099; others are asked of jiff, which takes ten times as long.
const TABLE: Range<i64> = 0..4_102_444_800;

/// The offset at the beginning of [`TABLE`] and each one after it: from when on, and how many seconds.
static OFFSETS: LazyLock<Vec<(i64, i64)>> = LazyLock::new(|| {
    let start = Timestamp::from_second(TABLE.start).expect("it lies within jiff's range");
    let later =
        ZONE.following(start).map(|change| (change.timestamp().as_second(), i64::from(change.offset().seconds())));
    let first = (TABLE.start, i64::from(ZONE.to_offset(start).seconds()));
    std::iter::once(first).chain(later.take_while(|(from, _)| TABLE.contains(from))).collect()
});

/// Seconds that Tallinn's clock is ahead of UTC at a moment, given in seconds since 1970 UTC. The last hours of the year 9999,
/// which jiff's moments do not reach, have the offset of the hour before.
pub(super) fn offset_at(seconds: i64) -> i64 {
    if TABLE.contains(&seconds) {
        let offsets = &*OFFSETS;
        return offsets[offsets.partition_point(|(from, _)| *from <= seconds) - 1].1;
    }
    let within = seconds.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    let moment = Timestamp::from_second(within).expect("it was brought into range");
    i64::from(ZONE.to_offset(moment).seconds())
}

/// The moment at which Tallinn's clock shows `local` (seconds since 1970 on that clock), the first of two; `None` in a gap.
pub(super) fn moment_of(local: i64) -> Option<i64> {
    let (before, after) = around(local);
    if before == after {
        return Some(local - before);
    }
    // Where the clock is put back, the time before the change comes first.
    [before, after]
        .into_iter()
        .map(|offset| (local - offset, offset))
        .find_map(|(moment, offset)| if offset_at(moment) == offset { Some(moment) } else { None })
}

/// First millisecond of a local day, counted from 1970-01-01. Where a day began with a gap (1921, 1940), it is the change itself.
pub(super) fn midnight(day_number: i64) -> i64 {
    let local = day_number * DAY;
    moment_of(local).unwrap_or_else(|| local - around(local).0) * 1000
}

/// The offsets a day before and a day after. Tallinn never changed its clock twice within two days.
fn around(local: i64) -> (i64, i64) {
    (offset_at(local - DAY), offset_at(local + DAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_what_jiff_says() {
        let by_jiff = |seconds| i64::from(ZONE.to_offset(Timestamp::from_second(seconds).unwrap()).seconds());
        let changes = OFFSETS.iter().flat_map(|(from, _)| [from - 1, *from, from + 1]);
        let days = (TABLE.start..TABLE.end).step_by(17 * 3600);
        for seconds in changes.chain(days).chain([TABLE.end - 1, TABLE.end, -1, -3_000_000_000, 10_000_000_000]) {
            assert_eq!(offset_at(seconds), by_jiff(seconds), "{seconds}");
        }
    }
}
