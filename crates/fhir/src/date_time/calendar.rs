//! Days and clocks as plain numbers: the Gregorian calendar, carried back to the year 1 as FHIR and ISO 8601 do.

/// Seconds of a day.
pub(super) const DAY: i64 = 86_400;

/// The first millisecond of the year 1, counted from 1970-01-01 on the same clock.
pub(super) const FIRST_MS: i64 = -62_135_596_800_000;

/// The last millisecond of the year 9999.
pub(super) const LAST_MS: i64 = 253_402_300_799_999;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    pub year: i64,
    pub month: i64,
    pub day: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeOfDay {
    pub hour: i64,
    pub minute: i64,
    pub second: i64,
}

/// Days since 1970-01-01 of a date. The algorithm counts years from March, so that the leap day is the last of its year
/// (Howard Hinnant, "chrono-compatible low-level date algorithms").
pub(super) fn day_number(date: Date) -> i64 {
    let year = if date.month <= 2 { date.year - 1 } else { date.year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (date.month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + date.day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The date that is so many days after 1970-01-01: [`day_number`] the other way.
pub(super) fn date(day_number: i64) -> Date {
    let shifted = day_number + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Date { year, month, day }
}

/// Days of a month.
pub(super) fn days_in(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Date and clock of seconds since 1970-01-01 on some clock; nothing outside the years 1 to 9999, which four digits can show.
pub(super) fn civil(seconds: i64) -> Option<(Date, TimeOfDay)> {
    let (date, clock) = civil_unbounded(seconds);
    (1..=9999).contains(&date.year).then_some((date, clock))
}

/// As [`civil`], for moments that lie in range, or whose year the caller looks at.
pub(super) fn civil_unbounded(seconds: i64) -> (Date, TimeOfDay) {
    let rest = seconds.rem_euclid(DAY);
    (date(seconds.div_euclid(DAY)), TimeOfDay { hour: rest / 3600, minute: rest / 60 % 60, second: rest % 60 })
}

/// `2025-03-30T10:15`
pub(super) fn write_minute(out: &mut Vec<u8>, date: Date, clock: TimeOfDay) {
    write_two(out, date.year.div_euclid(100).rem_euclid(100));
    write_two(out, date.year.rem_euclid(100));
    out.push(b'-');
    write_two(out, date.month);
    out.push(b'-');
    write_two(out, date.day);
    out.push(b'T');
    write_two(out, clock.hour);
    out.push(b':');
    write_two(out, clock.minute);
}

/// `+02:00`, out of minutes.
pub(super) fn write_offset(out: &mut Vec<u8>, minutes: i64) {
    out.push(if minutes < 0 { b'-' } else { b'+' });
    write_two(out, minutes.abs() / 60);
    out.push(b':');
    write_two(out, minutes.abs() % 60);
}

/// Two digits of a number from 0 to 99.
pub(super) fn write_two(out: &mut Vec<u8>, number: i64) {
    out.extend_from_slice(&[b'0' + (number / 10) as u8, b'0' + (number % 10) as u8]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_the_years_1_to_9999_follows_the_one_before() {
        let mut expected = Date { year: 1, month: 1, day: 1 };
        for number in day_number(expected)..=day_number(Date { year: 9999, month: 12, day: 31 }) {
            assert_eq!(date(number), expected);
            assert_eq!(day_number(expected), number);
            expected.day += 1;
            if expected.day > days_in(expected.year, expected.month) {
                expected = Date { month: expected.month + 1, day: 1, ..expected };
            }
            if expected.month > 12 {
                expected = Date { year: expected.year + 1, month: 1, day: 1 };
            }
        }
        assert_eq!(date(0), Date { year: 1970, month: 1, day: 1 });
    }

    #[test]
    fn what_four_digits_cannot_show_has_no_civil_time() {
        let end = (day_number(Date { year: 9999, month: 12, day: 31 }) + 1) * DAY;
        assert!(civil(end - 1).is_some());
        assert_eq!(civil(end), None);
        assert_eq!(civil(day_number(Date { year: 1, month: 1, day: 1 }) * DAY - 1), None);
    }
}
