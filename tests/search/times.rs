//! Times read by hand, with the calendar of another library than the service's.

use jiff::civil::{Date, DateTime, date};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// Both ends part of it; milliseconds since 1970 UTC. An open end is `i64::MIN` or `i64::MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub low: i64,
    pub high: i64,
}

pub(crate) fn tallinn() -> TimeZone {
    thread_local!(static TALLINN: TimeZone = TimeZone::get("Europe/Tallinn").expect("the zone is bundled"));
    TALLINN.with(Clone::clone)
}

/// The end of the year 9999 in Tallinn.
const LAST_MIDNIGHT: i64 = 253_402_300_800_000 - 7_200_000;

fn midnight(day: Date) -> i64 {
    day.to_zoned(tallinn()).expect("a day of our time").timestamp().as_millisecond()
}

/// A FHIR date, dateTime or instant, or one of a search without seconds.
pub(crate) fn span(text: &str) -> Span {
    let number = |from: usize, to: usize| text[from..to].parse::<i64>().expect("digits");
    if text.len() <= 10 {
        let (first, next) = match text.len() {
            4 => (date(number(0, 4) as i16, 1, 1), 1.year()),
            7 => (date(number(0, 4) as i16, number(5, 7) as i8, 1), 1.month()),
            10 => (date(number(0, 4) as i16, number(5, 7) as i8, number(8, 10) as i8), 1.day()),
            _ => panic!("{text} is no date"),
        };
        let high = first.checked_add(next).map_or(LAST_MIDNIGHT, midnight) - 1;
        return Span { low: midnight(first), high };
    }
    let (civil, offset_minutes) = match text[10..].find(['Z', '+', '-']).map(|at| at + 10) {
        Some(at) if &text[at..] == "Z" => (&text[..at], Some(0)),
        Some(at) => {
            let minutes = number(at + 1, at + 3) * 60 + number(at + 4, at + 6);
            (&text[..at], Some(if &text[at..=at] == "-" { -minutes } else { minutes }))
        }
        None => (text, None),
    };
    let clock: Vec<&str> = civil[11..].split(':').collect();
    let (second, fraction) = clock.get(2).map_or(("0", None), |second| match second.split_once('.') {
        Some((second, fraction)) => (second, Some(fraction)),
        None => (*second, None),
    });
    let (hour, minute, second) = (clock[0].parse().unwrap(), clock[1].parse().unwrap(), second.parse().unwrap());
    let civil =
        DateTime::new(number(0, 4) as i16, number(5, 7) as i8, number(8, 10) as i8, hour, minute, second, 0).unwrap();
    let low = match offset_minutes {
        Some(minutes) => civil.to_zoned(TimeZone::UTC).unwrap().timestamp().as_millisecond() - minutes * 60_000,
        None => civil.to_zoned(tallinn()).unwrap().timestamp().as_millisecond(),
    };
    match fraction {
        Some(fraction) => {
            let milliseconds: String = fraction.chars().chain("000".chars()).take(3).collect();
            let at = low + milliseconds.parse::<i64>().unwrap();
            Span { low: at, high: at }
        }
        None if clock.len() == 2 => Span { low, high: low + 59_999 },
        None => Span { low, high: low + 999 },
    }
}

/// The Tallinn day of a moment; the ends of time are days too.
pub(crate) fn day(milliseconds: i64) -> Date {
    match Timestamp::from_millisecond(milliseconds) {
        Ok(moment) => moment.to_zoned(tallinn()).date(),
        Err(_) if milliseconds < 0 => Date::MIN,
        Err(_) => Date::MAX,
    }
}

#[test]
fn times_are_read_as_they_are_meant() {
    assert_eq!(span("1970"), Span { low: -10_800_000, high: 365 * 86_400_000 - 10_800_000 - 1 });
    assert_eq!(span("2025-01-12T10:00:00+02:00"), Span { low: 1_736_668_800_000, high: 1_736_668_800_999 });
    assert_eq!(span("2025-01-12T08:00Z"), Span { low: 1_736_668_800_000, high: 1_736_668_859_999 });
    assert_eq!(span("2025-01-12T10:00:00.25").low, 1_736_668_800_250);
    assert_eq!(span("2025-03-30").high - span("2025-03-30").low, 23 * 3_600_000 - 1);
    assert_eq!(day(span("2025-03-30").high), date(2025, 3, 30));
}
