//! Dates of HTTP headers (`Last-Modified`, `If-Modified-Since`).

use jiff::fmt::strtime;

use super::calendar;

const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The three spellings a server must read: the current one and two obsolete ones. Source: RFC 9110, 5.6.7.
const FORMS: [&str; 3] = ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];

/// A moment (milliseconds since 1970 UTC) as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`, milliseconds cut off. Nothing for
/// years that HTTP cannot write, before 0 and after 9999.
pub fn http_date(milliseconds: i64) -> Option<[u8; 29]> {
    let seconds = milliseconds.div_euclid(1000);
    let (date, clock) = calendar::civil_unbounded(seconds);
    if !(0..=9999).contains(&date.year) {
        return None;
    }
    let mut text = *b"Thu, 01 Jan 1970 00:00:00 GMT";
    // Day 0, the first of 1970, was a Thursday; both places are within their tables by arithmetic.
    let weekday = WEEKDAYS[seconds.div_euclid(calendar::DAY).rem_euclid(7) as usize];
    let month = MONTHS[(date.month - 1) as usize];
    text[..3].copy_from_slice(weekday.as_bytes());
    text[8..11].copy_from_slice(month.as_bytes());
    let numbers = [
        (5, date.day),
        (12, date.year / 100),
        (14, date.year % 100),
        (17, clock.hour),
        (20, clock.minute),
        (23, clock.second),
    ];
    for (at, number) in numbers {
        text[at] = b'0' + (number / 10) as u8;
        text[at + 1] = b'0' + (number % 10) as u8;
    }
    Some(text)
}

/// Seconds since 1970 UTC of an HTTP date; nothing when it is none, which a condition ignores (RFC 9110, 13.1.3).
pub fn parse_http_date(text: &str) -> Option<i64> {
    let broken_down = FORMS.iter().find_map(|form| strtime::parse(form, text).ok())?;
    // strtime reads a sign before the year, which HTTP has no place for.
    let written = broken_down.to_datetime().ok().filter(|written| written.year() >= 0)?;
    Some(written.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc_is_written_and_read_in_all_three_spellings() {
        let moment = 784_111_777;
        assert_eq!(http_date(moment * 1000 + 999).as_ref(), Some(b"Sun, 06 Nov 1994 08:49:37 GMT"));
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(parse_http_date(text), Some(moment), "{text}");
        }
    }

    #[test]
    fn written_dates_are_read_back_to_the_second() {
        for seconds in [0, 951_782_400, 1_743_296_399, 1_743_296_400, 4_102_444_800, -1] {
            let text = http_date(seconds * 1000).unwrap();
            assert_eq!(parse_http_date(std::str::from_utf8(&text).unwrap()), Some(seconds));
        }
    }

    #[test]
    fn years_without_four_digits_have_no_http_date() {
        let last = 253_402_300_799;
        assert_eq!(http_date(last * 1000 + 999).as_ref(), Some(b"Fri, 31 Dec 9999 23:59:59 GMT"));
        assert_eq!(http_date((last + 1) * 1000), None);
        assert_eq!(http_date(i64::MIN), None);
    }

    #[test]
    fn anything_else_is_no_http_date() {
        for text in [
            "",
            "2025-03-30",
            "Sun, 31 Feb 2025 00:00:00 GMT",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 EET",
            "Sun Nov  6 08:49:37 -994",
        ] {
            assert_eq!(parse_http_date(text), None, "{text}");
        }
    }
}
