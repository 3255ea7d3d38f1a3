use proptest::prelude::*;

use super::*;

fn normal(text: &str) -> String {
    normalise(text).unwrap_or_else(|error| panic!("{text}: {error:?}")).into_owned()
}

fn refused(text: &str) {
    assert_eq!(normalise(text), Err(TimeError::Malformed), "{text}");
    assert_eq!(span(text), Err(TimeError::Malformed), "{text}");
}

/// Milliseconds of a text by jiff's own reader, to compare with.
fn by_jiff(text: &str) -> i64 {
    text.parse::<jiff::Timestamp>().unwrap().as_millisecond()
}

#[test]
fn any_offset_becomes_tallinns() {
    assert_eq!(normal("2025-01-12T10:00:00Z"), "2025-01-12T12:00:00+02:00");
    assert_eq!(normal("2025-07-12T10:00:00Z"), "2025-07-12T13:00:00+03:00");
    assert_eq!(normal("2025-01-01T00:30:00+05:30"), "2024-12-31T21:00:00+02:00");
    assert_eq!(normal("2024-02-28T23:00:00-01:00"), "2024-02-29T02:00:00+02:00");
    assert_eq!(normal("2025-07-12T10:00:00"), "2025-07-12T10:00:00+03:00");
    assert_eq!(normal("2025-01-12T10:00:00-00:00"), "2025-01-12T12:00:00+02:00");
}

#[test]
fn a_text_already_in_its_form_is_borrowed() {
    for text in ["2025", "2025-03", "2025-03-30", "2025-01-12T10:00:00+02:00", "2025-07-12T10:00:00.120+03:00"] {
        assert!(matches!(normalise(text), Ok(Cow::Borrowed(same)) if same == text), "{text}");
    }
}

#[test]
fn a_zero_fraction_is_dropped_and_another_keeps_its_digits() {
    assert_eq!(normal("2025-01-12T10:00:00.000+02:00"), "2025-01-12T10:00:00+02:00");
    assert_eq!(normal("2025-01-12T08:00:00.0Z"), "2025-01-12T10:00:00+02:00");
    assert_eq!(normal("2025-01-12T08:00:00.120Z"), "2025-01-12T10:00:00.120+02:00");
    assert_eq!(normal("2025-01-12T08:00:00.123456789"), "2025-01-12T08:00:00.123456789+02:00");
}

#[test]
fn in_the_spring_gap_there_is_no_local_time() {
    assert_eq!(normal("2025-03-30T02:59:59"), "2025-03-30T02:59:59+02:00");
    for text in ["2025-03-30T03:00:00", "2025-03-30T03:59:59.999"] {
        assert_eq!(normalise(text), Err(TimeError::NotInLocalTime), "{text}");
        assert_eq!(span(text), Err(TimeError::NotInLocalTime), "{text}");
    }
    assert_eq!(normal("2025-03-30T04:00:00"), "2025-03-30T04:00:00+03:00");
    assert_eq!(normal("2025-03-30T03:30:00+02:00"), "2025-03-30T04:30:00+03:00");
}

#[test]
fn of_the_two_autumn_hours_the_first_is_meant() {
    assert_eq!(normal("2025-10-26T02:59:59"), "2025-10-26T02:59:59+03:00");
    assert_eq!(normal("2025-10-26T03:00:00"), "2025-10-26T03:00:00+03:00");
    assert_eq!(normal("2025-10-26T03:59:59"), "2025-10-26T03:59:59+03:00");
    assert_eq!(normal("2025-10-26T03:30:00+02:00"), "2025-10-26T03:30:00+02:00");
    assert_eq!(normal("2025-10-26T04:00:00"), "2025-10-26T04:00:00+02:00");
}

#[test]
fn what_r5_does_not_spell_is_refused() {
    let day = "2025-01-12T";
    for time in [
        "",
        "10",
        "10:00",
        "10:00Z",
        "10:00:0",
        "1:00:00",
        "24:00:00",
        "10:60:00",
        "10:00:61",
        "10:00:00.",
        "10:00:00z",
        "10:00:00.1234567890Z",
        "10:00:00+2:00",
        "10:00:00+0200",
        "10:00:00+14:01",
        "10:00:00-15:00",
        "10:00:00+02:60",
        "10:00:00+02:00 ",
        "10:00:00,5",
        "10:00:00ZZ",
        "10:00:00 Z",
        "1０:00:00",
    ] {
        refused(&format!("{day}{time}"));
    }
    for text in [
        "",
        " ",
        "202",
        "20255",
        "0000",
        "0000-01-01",
        "2025-",
        "2025-1",
        "2025-13",
        "2025-00",
        "2025-02-30",
        "2025-02-29",
        "1900-02-29",
        "2025-04-31",
        "2025-01-00",
        "2025-01-1",
        "2025/01/01",
        "2025-01-12t10:00:00Z",
        "2025-01-12 10:00:00Z",
        "+2025",
        "-001",
        "2025-01-12T10:00:00Zõ",
        "õõ",
        "2025-01-õ",
    ] {
        refused(text);
    }
}

#[test]
fn the_edges_of_the_form_are_taken() {
    assert_eq!(normal("2024-02-29T00:00:00+14:00"), "2024-02-28T12:00:00+02:00");
    assert_eq!(normal("2024-02-29T00:00:00-14:00"), "2024-02-29T16:00:00+02:00");
    assert_eq!(normal("2000-02-29"), "2000-02-29");
    assert_eq!(normal("0001-01-01T00:00:00Z"), "0001-01-01T01:39:00+01:39");
    assert_eq!(normal("9999-12-31T23:59:59+02:00"), "9999-12-31T23:59:59+02:00");
    assert_eq!(normal("9999-12-31T23:59:59"), "9999-12-31T23:59:59+02:00");
}

#[test]
fn a_moment_after_the_last_year_or_before_the_first_stays_as_it_was_written() {
    for text in ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"] {
        assert_eq!(normal(text), text);
        let span = span(text).unwrap();
        assert_eq!(span.high - span.low, 999);
        assert!(day(span.low).low <= span.low && span.low <= day(span.low).high);
    }
    assert_eq!(span("9999").unwrap().high, span("9999-12-31T23:59:59.999+02:00").unwrap().high);
}

#[test]
fn a_leap_second_keeps_its_digits_and_is_the_second_after() {
    assert_eq!(normal("2016-12-31T23:59:60Z"), "2017-01-01T01:59:60+02:00");
    assert_eq!(normal("2017-01-01T01:59:60"), "2017-01-01T01:59:60+02:00");
    assert_eq!(span("2016-12-31T23:59:60Z"), span("2017-01-01T00:00:00Z"));
}

#[test]
fn a_span_covers_what_the_precision_leaves_open() {
    let moment = |text| by_jiff(text);
    let cases = [
        ("2025", "2025-01-01T00:00:00+02:00", "2025-12-31T23:59:59.999+02:00"),
        ("2025-07", "2025-07-01T00:00:00+03:00", "2025-07-31T23:59:59.999+03:00"),
        ("2024-02", "2024-02-01T00:00:00+02:00", "2024-02-29T23:59:59.999+02:00"),
        ("2025-03-30", "2025-03-30T00:00:00+02:00", "2025-03-30T23:59:59.999+03:00"),
        ("2025-10-26", "2025-10-26T00:00:00+03:00", "2025-10-26T23:59:59.999+02:00"),
        ("2025-01-12T10:00:07", "2025-01-12T10:00:07+02:00", "2025-01-12T10:00:07.999+02:00"),
        ("2025-01-12T10:00:07.5Z", "2025-01-12T10:00:07.500Z", "2025-01-12T10:00:07.500Z"),
        ("2025-01-12T10:00:07.1239Z", "2025-01-12T10:00:07.123Z", "2025-01-12T10:00:07.123Z"),
        ("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.500Z", "1969-12-31T23:59:59.500Z"),
    ];
    for (text, low, high) in cases {
        assert_eq!(span(text), Ok(Span { low: moment(low), high: moment(high) }), "{text}");
        assert_eq!(search_span(text), span(text), "{text}");
    }
}

#[test]
fn only_a_search_may_leave_the_seconds_out() {
    let low = by_jiff("2025-01-12T10:00:00Z");
    assert_eq!(search_span("2025-01-12T10:00Z"), Ok(Span { low, high: low + 59_999 }));
    assert_eq!(search_span("2025-01-12T12:00"), Ok(Span { low, high: low + 59_999 }));
    assert_eq!(search_span("2025-03-30T03:30"), Err(TimeError::NotInLocalTime));
    assert_eq!(search_span("2025-01-12T12"), Err(TimeError::Malformed));
    refused("2025-01-12T10:00Z");
}

#[test]
fn a_day_is_23_or_25_hours_long_where_the_clock_changes() {
    let hours = |text| {
        let span = day(by_jiff(text));
        (span.high - span.low + 1) / 3_600_000
    };
    assert_eq!(hours("2025-03-30T20:59:59.999Z"), 23);
    assert_eq!(hours("2025-03-30T21:00:00Z"), 24);
    assert_eq!(hours("2025-10-25T21:00:00Z"), 25);
    assert_eq!(hours("2025-10-25T20:59:59Z"), 24);
    assert_eq!(day(by_jiff("2025-10-25T21:00:00Z")), span("2025-10-26").unwrap());
}

#[test]
fn a_day_that_began_in_a_gap_begins_with_the_change() {
    // On 1940-08-06 the clock went from midnight to one o'clock.
    assert_eq!(span("1940-08-05").unwrap().high + 1, span("1940-08-06").unwrap().low);
    assert_eq!(span("1940-08-06").unwrap().low, by_jiff("1940-08-05T22:00:00Z"));
}

#[test]
fn an_instant_shows_tallinns_clock_with_milliseconds() {
    assert_eq!(instant(0), "1970-01-01T03:00:00.000+03:00");
    assert_eq!(instant(by_jiff("2025-03-30T00:59:59.999Z")), "2025-03-30T02:59:59.999+02:00");
    assert_eq!(instant(by_jiff("2025-03-30T01:00:00Z")), "2025-03-30T04:00:00.000+03:00");
    assert_eq!(instant(by_jiff("2025-10-26T01:00:00.050Z")), "2025-10-26T03:00:00.050+02:00");
    let mut out = b"at ".to_vec();
    write_instant(&mut out, -1, -210);
    assert_eq!(out, b"at 1969-12-31T20:29:59.999-03:30");
    assert_eq!((offset_minutes(0), offset_minutes(by_jiff("2025-01-01T00:00:00Z"))), (180, 120));
}

#[test]
fn the_largest_numbers_are_written_without_a_panic() {
    for extreme in [i64::MIN, i64::MAX] {
        let mut out = Vec::new();
        write_instant(&mut out, extreme, offset_minutes(extreme));
        assert_eq!(out.len(), 29);
    }
}

#[test]
fn an_instant_needs_time_and_offset() {
    assert_eq!(normalise_instant("2025-01-12T10:00:00Z").as_deref(), Ok("2025-01-12T12:00:00+02:00"));
    for text in ["2025", "2025-01-12", "2025-01-12T10:00:00", "2025-01-12T10:00Z"] {
        assert_eq!(normalise_instant(text), Err(TimeError::Malformed), "{text}");
    }
}

#[test]
fn dates_have_no_time_and_times_no_date() {
    assert!(["2025", "2025-02", "2024-02-29"].into_iter().all(is_date));
    assert!(!["", "2025-02-29", "2025-02-28T00:00:00Z", "10:00:00"].into_iter().any(is_date));
    assert!(["00:00:00", "23:59:60", "10:15:30.125"].into_iter().all(is_time));
    assert!(!["", "10:15", "24:00:00", "10:00:00Z", "10:00:00+02:00", "2025"].into_iter().any(is_time));
}

proptest! {
    #[test]
    fn normalising_keeps_the_moment_and_changes_nothing_twice(
        seconds in -62_000_000_000_i64..253_000_000_000,
        nanosecond in 0..1_000_000_000_i32,
        offset in -840..=840_i32,
    ) {
        let zone = jiff::tz::Offset::from_seconds(offset * 60).unwrap().to_time_zone();
        let moment = jiff::Timestamp::new(seconds, 0).unwrap();
        let local = moment.to_zoned(zone).datetime();
        let sign = if offset < 0 { '-' } else { '+' };
        let text = format!("{local}.{nanosecond:09}{sign}{:02}:{:02}", offset.abs() / 60, offset.abs() % 60);
        let once = normal(&text);
        prop_assert_eq!(span(&once), span(&text));
        prop_assert_eq!(span(&text).unwrap().low, seconds * 1000 + i64::from(nanosecond) / 1_000_000);
        prop_assert!(matches!(normalise(&once), Ok(Cow::Borrowed(_))));
    }

    #[test]
    fn local_times_agree_with_the_tz_database(seconds in -62_000_000_000_i64..253_000_000_000) {
        let zone = jiff::tz::TimeZone::get("Europe/Tallinn").unwrap();
        let local = jiff::Timestamp::new(seconds, 0).unwrap().to_zoned(zone.clone()).datetime();
        let expected = zone.to_ambiguous_timestamp(local).earlier().unwrap().as_millisecond();
        prop_assert_eq!(span(&local.to_string()).unwrap().low, expected);
    }

    #[test]
    fn no_text_panics(text in "\\PC*", near in "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9](:[0-9]{2}(\\.[0-9]{0,10})?)?.{0,7}") {
        for text in [text, near] {
            let _ = (span(&text), search_span(&text), is_time(&text));
            if let Ok(normal) = normalise(&text) {
                prop_assert!(span(&normal).is_ok());
            }
        }
    }
}

#[test]
fn a_moment_that_four_digits_cannot_show_is_written_as_the_nearest_that_they_can() {
    // Two seconds beyond 9999 in Tallinn, the year 10005, and before the year 1.
    for late in [253_402_300_801_000, 253_600_000_000_000, i64::MAX] {
        assert_eq!(instant(late), "9999-12-31T23:59:59.999+02:00", "{late}");
    }
    assert!(instant(-63_000_000_000_000).starts_with("0001-01-01T00:00:00.000"), "{}", instant(-63_000_000_000_000));
}
