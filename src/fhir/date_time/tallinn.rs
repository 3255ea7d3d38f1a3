//! Estonian local time: the zone Europe/Tallinn of the compiled-in tz database.

use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::calendar::DAY;

static ZONE: LazyLock<TimeZone> =
    LazyLock::new(|| TimeZone::get("Europe/Tallinn").expect("jiff is built with the tz database inside"));

/// Seconds that Tallinn's clock is ahead of UTC at a moment, given in seconds since 1970 UTC. The last hours of the year 9999,
/// which jiff's moments do not reach, have the offset of the hour before.
pub fn offset_at(seconds: i64) -> i64 {
    let within = seconds.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    let moment = Timestamp::from_second(within).expect("it was brought into range");
    i64::from(ZONE.to_offset(moment).seconds())
}

/// The moment at which Tallinn's clock shows `local` (seconds since 1970 on that clock), the first of two; `None` in a gap.
pub fn moment_of(local: i64) -> Option<i64> {
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
pub fn midnight(day_number: i64) -> i64 {
    let local = day_number * DAY;
    moment_of(local).unwrap_or_else(|| local - around(local).0) * 1000
}

/// The offsets a day before and a day after. Tallinn never changed its clock twice within two days.
fn around(local: i64) -> (i64, i64) {
    (offset_at(local - DAY), offset_at(local + DAY))
}
