//! The spelling of FHIR's date, dateTime, instant and time, taken apart digit by digit.

use super::calendar::{DAY, Date, day_number, days_in};
use super::tallinn;

/// A date or dateTime. Days are counted from 1970-01-01.
pub(super) struct DateText<'a> {
    pub first_day: i64,
    /// The last day that a year or a month covers; the first one otherwise.
    pub last_day: i64,
    pub time: Option<ClockTime<'a>>,
}

/// The time behind a date.
pub(super) struct ClockTime<'a> {
    /// Seconds from midnight to the minute.
    minute: i64,
    /// 0 to 60.
    pub second: i64,
    /// Seconds were left out, as a search may.
    pub whole_minute: bool,
    /// Digits behind the point; empty without one.
    pub fraction: &'a str,
    /// Seconds ahead of UTC; nothing when it was left out.
    pub offset: Option<i64>,
    /// The offset is spelled `Z`.
    pub zulu: bool,
}

/// A moment and what Tallinn's clock is ahead of UTC then, both in seconds.
pub(super) struct ZonedSecond {
    pub seconds: i64,
    pub offset: i64,
}

impl<'a> DateText<'a> {
    /// # Errors
    /// `Malformed`; whether a local time exists is looked at in [`moment`](Self::moment).
    pub(super) fn parse(text: &'a str) -> Result<Self, TimeError> {
        Self::read(text).ok_or(TimeError::Malformed)
    }

    fn read(text: &'a str) -> Option<Self> {
        let bytes = text.as_bytes();
        let year = number(bytes, 0, 4).filter(|year| *year > 0)?;
        let whole =
            |from: Date, to: Date| Some(DateText { first_day: day_number(from), last_day: day_number(to), time: None });
        if bytes.len() == 4 {
            return whole(Date { year, month: 1, day: 1 }, Date { year, month: 12, day: 31 });
        }
        let month = number(bytes, 5, 2).filter(|month| bytes[4] == b'-' && (1..=12).contains(month))?;
        let last = days_in(year, month);
        if bytes.len() == 7 {
            return whole(Date { year, month, day: 1 }, Date { year, month, day: last });
        }
        let day = number(bytes, 8, 2).filter(|day| bytes[7] == b'-' && (1..=last).contains(day))?;
        let date = Date { year, month, day };
        if bytes.len() == 10 {
            return whole(date, date);
        }
        let time = ClockTime::read(text.get(10..)?.strip_prefix('T')?)?;
        Some(DateText { first_day: day_number(date), last_day: day_number(date), time: Some(time) })
    }

    /// When it is: its own offset decides, or Tallinn's clock.
    ///
    /// # Errors
    /// `NotInLocalTime` when there is no offset and the clock was put forward over it.
    pub(super) fn moment(&self, time: &ClockTime) -> Result<ZonedSecond, TimeError> {
        let minute = self.first_day * DAY + time.minute;
        match time.offset {
            Some(own) => {
                let offset = tallinn::offset_at(minute - own);
                Ok(ZonedSecond { seconds: minute - own + time.second, offset })
            }
            None => {
                let moment = tallinn::moment_of(minute).ok_or(TimeError::NotInLocalTime)?;
                Ok(ZonedSecond { seconds: moment + time.second, offset: minute - moment })
            }
        }
    }
}

impl<'a> ClockTime<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, TimeError> {
        Self::read(text).ok_or(TimeError::Malformed)
    }

    fn read(text: &'a str) -> Option<Self> {
        let bytes = text.as_bytes();
        let hour = number(bytes, 0, 2).filter(|hour| *hour < 24)?;
        let minute = number(bytes, 3, 2).filter(|minute| bytes[2] == b':' && *minute < 60)?;
        let mut time = ClockTime {
            minute: hour * 3600 + minute * 60,
            second: 0,
            whole_minute: true,
            fraction: "",
            offset: None,
            zulu: false,
        };
        let mut rest = text.get(5..)?;
        if let Some(seconds) = rest.strip_prefix(':') {
            time.second = number(seconds.as_bytes(), 0, 2).filter(|second| *second <= 60)?;
            time.whole_minute = false;
            rest = seconds.get(2..)?;
            if let Some(fraction) = rest.strip_prefix('.') {
                let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
                // R5's pattern has one to nine digits.
                (time.fraction, rest) = (1..=9).contains(&digits).then(|| fraction.split_at(digits))?;
            }
        }
        time.zulu = rest == "Z";
        time.offset = if rest.is_empty() { None } else { Some(offset(rest)?) };
        Some(time)
    }

    /// The millisecond within the second, cut and not rounded; nothing without a fraction.
    pub(super) fn millisecond(&self) -> Option<i64> {
        let digits = self.fraction.bytes().chain([b'0', b'0']).take(3);
        (!self.fraction.is_empty()).then(|| digits.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
    }

    pub(super) fn has_zero_fraction(&self) -> bool {
        !self.fraction.is_empty() && self.fraction.bytes().all(|digit| digit == b'0')
    }
}

/// `Z`, `+02:00`, at most 14 hours either way, in seconds.
fn offset(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let sign = match bytes {
        b"Z" => return Some(0),
        [b'+', _, _, b':', _, _] => 1,
        [b'-', _, _, b':', _, _] => -1,
        _ => return None,
    };
    let minute = number(bytes, 4, 2).filter(|minute| *minute < 60)?;
    let minutes = number(bytes, 1, 2)? * 60 + minute;
    (minutes <= 14 * 60).then_some(sign * minutes * 60)
}

/// So many ASCII digits at a place.
fn number(bytes: &[u8], at: usize, digits: usize) -> Option<i64> {
    bytes
        .get(at..at + digits)?
        .iter()
        .try_fold(0, |sum, byte| if byte.is_ascii_digit() { Some(sum * 10 + i64::from(byte - b'0')) } else { None })
}

/// Why a text is no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeError {
    /// Not of FHIR's form, or a day or hour that does not exist.
    Malformed,
    /// Without offset, and the clock was put forward over it. Contract 2.8.
    NotInLocalTime,
}
