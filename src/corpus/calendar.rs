//! Days and working time, written as FHIR writes them.
//!
//! Doctors write certificates from Monday to Friday, 8 to 18 o'clock. A [`Tick`] counts milliseconds of such time only, so that
//! ticks rise exactly when moments do, and no moment falls into the hours in which the clock is changed.

use jiff::civil::Date;

use super::digits::padded;

/// A day of the calendar, counted from 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Day(pub i32);

/// A moment in Estonian local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LocalTime {
    pub day: Day,
    /// Milliseconds since midnight by the clock on the wall.
    pub millisecond: u32,
}

/// Milliseconds of working time since the corpus began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Tick(pub u64);

/// Monday, 2020-01-06.
const FIRST_DAY: i32 = 18_267;
const MORNING: u32 = 8 * HOUR;
const HOUR: u32 = 3_600_000;

impl Tick {
    pub(super) const HOUR: u64 = HOUR as u64;
    pub(super) const DAY: u64 = 10 * Tick::HOUR;
    pub(super) const WEEK: u64 = 5 * Tick::DAY;

    pub(super) fn moment(self) -> LocalTime {
        let (week, within) = (self.0 / Tick::WEEK, self.0 % Tick::WEEK);
        let day = FIRST_DAY + (7 * week + within / Tick::DAY) as i32;
        LocalTime { day: Day(day), millisecond: MORNING + (within % Tick::DAY) as u32 }
    }
}

impl Day {
    pub(super) fn of(year: i32, month: u32, day: u32) -> Day {
        let year = if month <= 2 { year - 1 } else { year };
        let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year as i32;
        Day(era * 146_097 + of_era - 719_468)
    }

    /// Year, month and day of the month.
    pub(super) fn civil(self) -> (i32, u32, u32) {
        let shifted = self.0 + 719_468;
        let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = (of_era - (365 * year + year / 4 - year / 100)) as u32;
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        (year + era * 400 + i32::from(month <= 2), month, day)
    }

    pub(super) fn date(self) -> Date {
        let (year, month, day) = self.civil();
        Date::new(year as i16, month as i8, day as i8).expect("a day between 1900 and 2100 is a day of the calendar")
    }

    /// The last day of a validity of so many months that begins on this day.
    pub(super) fn last_of(self, months: u32) -> Day {
        let (year, month, day) = self.civil();
        let months = month - 1 + months;
        let (year, month) = (year + (months / 12) as i32, months % 12 + 1);
        let (next_year, next_month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        let length = (Day::of(next_year, next_month, 1).0 - Day::of(year, month, 1).0) as u32;
        Day(Day::of(year, month, day.min(length)).0 - 1)
    }

    pub(super) fn at(self, millisecond: u32) -> LocalTime {
        LocalTime { day: self, millisecond }
    }

    /// `2025-01-12`
    pub(super) fn write(self, out: &mut String) {
        let (year, month, day) = self.civil();
        padded(out, year as u64, 4);
        out.push('-');
        padded(out, month.into(), 2);
        out.push('-');
        padded(out, day.into(), 2);
    }

    /// `12.01.2025`, as people write it.
    pub(super) fn write_estonian(self, out: &mut String) {
        let (year, month, day) = self.civil();
        padded(out, day.into(), 2);
        out.push('.');
        padded(out, month.into(), 2);
        out.push('.');
        padded(out, year as u64, 4);
    }

    fn last_sunday(year: i32, month: u32) -> Day {
        let last = Day::of(year, month, 31).0;
        // 1970-01-04 was a Sunday.
        Day(last - (last - 3).rem_euclid(7))
    }
}

impl LocalTime {
    pub(super) const LAST_SECOND: u32 = 24 * HOUR - 1_000;

    /// Hours ahead of UTC: 3 from the last Sunday of March to the last one of October, else 2. Directive 2000/84/EC.
    fn offset(self) -> u32 {
        let (year, _, _) = self.day.civil();
        let (spring, autumn) = (Day::last_sunday(year, 3), Day::last_sunday(year, 10));
        let summer = self >= spring.at(3 * HOUR) && self < autumn.at(4 * HOUR);
        if summer { 3 } else { 2 }
    }

    /// Milliseconds since 1970 UTC.
    pub(super) fn utc(self) -> i64 {
        i64::from(self.day.0) * 86_400_000 + i64::from(self.millisecond) - i64::from(self.offset() * HOUR)
    }

    /// The same moment so many seconds earlier, without its milliseconds. Stays on the day.
    pub(super) fn earlier(self, seconds: u32) -> LocalTime {
        LocalTime { day: self.day, millisecond: (self.millisecond / 1_000).saturating_sub(seconds) * 1_000 }
    }

    /// `2025-01-12T10:00:00+02:00`
    pub(super) fn write_date_time(self, out: &mut String) {
        self.write_clock(out);
        self.write_offset(out);
    }

    /// `2025-01-12T10:00:00.123+02:00`
    pub(super) fn write_instant(self, out: &mut String) {
        self.write_clock(out);
        out.push('.');
        padded(out, (self.millisecond % 1_000).into(), 3);
        self.write_offset(out);
    }

    fn write_clock(self, out: &mut String) {
        self.day.write(out);
        for (sign, unit, range) in [('T', HOUR, 24), (':', 60_000, 60), (':', 1_000, 60)] {
            out.push(sign);
            padded(out, (self.millisecond / unit % range).into(), 2);
        }
    }

    fn write_offset(self, out: &mut String) {
        out.push_str(if self.offset() == 3 { "+03:00" } else { "+02:00" });
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::civil::{Weekday, date};
    use jiff::tz::TimeZone;

    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for day in (-30_000..60_000).step_by(13) {
            let expected = date(1970, 1, 1) + jiff::Span::new().days(day);
            assert_eq!(Day(day).date(), expected);
            assert_eq!(Day::of(expected.year().into(), expected.month() as u32, expected.day() as u32), Day(day));
        }
        let first = Tick(0).moment();
        assert_eq!((first.day.date(), first.day.date().weekday()), (date(2020, 1, 6), Weekday::Monday));
    }

    #[test]
    fn offsets_are_those_of_tallinn_also_around_the_change_of_the_clock() {
        let tallinn = TimeZone::get("Europe/Tallinn").unwrap();
        for day in 18_000..22_500 {
            for millisecond in [0, 2 * HOUR, 5 * HOUR, 8 * HOUR + 123, LocalTime::LAST_SECOND] {
                let moment = Day(day).at(millisecond);
                let mut text = String::new();
                moment.write_instant(&mut text);
                let timestamp: Timestamp = text.parse().unwrap();
                assert_eq!(timestamp.as_millisecond(), moment.utc(), "{text}");
                assert_eq!(timestamp.to_zoned(tallinn.clone()).strftime("%FT%T%.3f%:z").to_string(), text);
            }
        }
    }

    #[test]
    fn ticks_rise_as_moments_do_and_fall_on_working_days() {
        let mut last = Tick(0).moment();
        for tick in (1..100 * Tick::WEEK).step_by(1_234_567) {
            let moment = Tick(tick).moment();
            assert!(moment > last);
            assert!(!matches!(moment.day.date().weekday(), Weekday::Saturday | Weekday::Sunday));
            assert!((8 * HOUR..18 * HOUR).contains(&moment.millisecond));
            last = moment;
        }
    }

    #[test]
    fn a_validity_ends_on_the_day_before_its_anniversary() {
        for (start, months, last) in [
            (date(2025, 1, 12), 120, date(2035, 1, 11)),
            (date(2024, 2, 29), 12, date(2025, 2, 27)),
            (date(2024, 1, 1), 24, date(2025, 12, 31)),
            (date(2024, 8, 31), 6, date(2025, 2, 27)),
            (date(2024, 11, 30), 1, date(2024, 12, 29)),
        ] {
            let start = Day::of(start.year().into(), start.month() as u32, start.day() as u32);
            assert_eq!(start.last_of(months).date(), last);
        }
    }

    #[test]
    fn days_are_written_as_fhir_and_as_people_write_them() {
        let (mut fhir, mut estonian) = (String::new(), String::new());
        Day::of(2025, 3, 9).write(&mut fhir);
        Day::of(2025, 3, 9).write_estonian(&mut estonian);
        assert_eq!((fhir.as_str(), estonian.as_str()), ("2025-03-09", "09.03.2025"));
    }
}
