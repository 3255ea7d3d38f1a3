//! FHIR times, read and written in Estonian local time. Contract 2.8.
//!
//! A time is read as R5 spells it (`datatypes.html#dateTime`), with one exception: without an offset it is Europe/Tallinn.
//! Second 60 is read, as R5's own pattern allows it, and stands for the moment of the second after it.

mod calendar;
mod http_date;
mod tallinn;
mod text;

use std::borrow::Cow;

pub use http_date::{http_date, parse_http_date};
use tallinn::{midnight, offset_at};
pub use text::TimeError;
use text::{ClockTime, DateText};

/// A span of time, milliseconds since 1970 UTC, both ends part of it. An open end is `i64::MIN` or `i64::MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first millisecond of the span.
    pub low: i64,
    /// The last millisecond of the span.
    pub high: i64,
}

/// Reads a FHIR date or dateTime of any precision (`2025`, `2025-03`, `2025-03-30`, `2025-03-30T10:00:00.5+02:00`) as the time
/// it covers: whole Tallinn days, a whole second, or with a fraction the millisecond that holds it.
pub fn span(text: &str) -> Result<Span, TimeError> {
    match DateText::parse(text)? {
        DateText { time: Some(ClockTime { whole_minute: true, .. }), .. } => Err(TimeError::Malformed),
        parsed => covered(&parsed),
    }
}

/// As [`span`], for a value of a search, where seconds may be left out (`2025-03-30T10:00Z` covers a minute).
///
/// Source: FHIR R5 `search.html#date`.
pub fn search_span(text: &str) -> Result<Span, TimeError> {
    covered(&DateText::parse(text)?)
}

fn covered(text: &DateText) -> Result<Span, TimeError> {
    let Some(time) = &text.time else {
        return Ok(Span { low: midnight(text.first_day), high: midnight(text.last_day + 1) - 1 });
    };
    let low = text.moment(time)?.seconds * 1000;
    Ok(match time.millisecond() {
        Some(millisecond) => Span { low: low + millisecond, high: low + millisecond },
        None if time.whole_minute => Span { low, high: low + 59_999 },
        None => Span { low, high: low + 999 },
    })
}

/// A FHIR dateTime as answers show it: Europe/Tallinn with its offset, a zero fraction dropped. A date stays as it is, and so
/// do the few hours after the year 9999 in Tallinn, which FHIR has no digits for. A text that needs no change is borrowed.
pub fn normalise(text: &str) -> Result<Cow<'_, str>, TimeError> {
    let parsed = DateText::parse(text)?;
    let Some(time) = &parsed.time else { return Ok(Cow::Borrowed(text)) };
    if time.whole_minute {
        return Err(TimeError::Malformed);
    }
    let moment = parsed.moment(time)?;
    let written_so = time.offset == Some(moment.offset) && !time.zulu;
    if written_so && !time.has_zero_fraction() {
        return Ok(Cow::Borrowed(text));
    }
    // A leap second keeps its 60, so the minute is converted and the seconds are written as they were.
    let minute = moment.seconds - time.second;
    let Some((date, clock)) = calendar::civil(minute + moment.offset) else { return Ok(Cow::Borrowed(text)) };
    let mut out = Vec::with_capacity(text.len() + 6);
    calendar::write_minute(&mut out, date, clock);
    out.push(b':');
    calendar::write_two(&mut out, time.second);
    if !time.fraction.is_empty() && !time.has_zero_fraction() {
        out.push(b'.');
        out.extend_from_slice(time.fraction.as_bytes());
    }
    calendar::write_offset(&mut out, moment.offset / 60);
    Ok(Cow::Owned(String::from_utf8(out).expect("only ASCII was written")))
}

/// As [`normalise`], for an instant: date, time and offset must be there.
pub fn normalise_instant(text: &str) -> Result<Cow<'_, str>, TimeError> {
    match DateText::parse(text)?.time {
        Some(ClockTime { offset: Some(_), .. }) => normalise(text),
        _ => Err(TimeError::Malformed),
    }
}

/// Whether this is a FHIR date: a year, a month or a day, without time.
pub fn is_date(text: &str) -> bool {
    matches!(DateText::parse(text), Ok(DateText { time: None, .. }))
}

/// Whether this is a FHIR time: `hh:mm:ss` with or without fraction, without offset.
pub fn is_time(text: &str) -> bool {
    matches!(ClockTime::parse(text), Ok(ClockTime { offset: None, whole_minute: false, .. }))
}

/// The Tallinn day that holds a moment: 23 or 25 hours where the clock changes.
pub fn day(milliseconds: i64) -> Span {
    let seconds = milliseconds.div_euclid(1000);
    let number = (seconds + offset_at(seconds)).div_euclid(calendar::DAY);
    Span { low: midnight(number), high: midnight(number + 1) - 1 }
}

/// Minutes that Tallinn's clock is ahead of UTC at a moment: 120 in winter, 180 in summer.
pub fn offset_minutes(milliseconds: i64) -> i16 {
    // The zone's largest offset is three hours.
    (offset_at(milliseconds.div_euclid(1000)) / 60) as i16
}

/// A moment as FHIR instant with milliseconds, in Europe/Tallinn with its offset. One before the year 1 or after 9999, for which FHIR
/// has no digits, is written as the first or the last millisecond of these years.
pub fn instant(milliseconds: i64) -> String {
    let mut out = Vec::with_capacity(29);
    write_instant(&mut out, milliseconds, offset_minutes(milliseconds));
    String::from_utf8(out).expect("only ASCII was written")
}

/// As [`instant`], written behind `out`, with an offset known already (it is kept beside each stored moment).
pub fn write_instant(out: &mut Vec<u8>, milliseconds: i64, offset_minutes: i16) {
    let offset = i64::from(offset_minutes);
    let local = milliseconds.saturating_add(offset * 60_000).clamp(calendar::FIRST_MS, calendar::LAST_MS);
    let (date, clock) = calendar::civil_unbounded(local.div_euclid(1000));
    calendar::write_minute(out, date, clock);
    out.push(b':');
    calendar::write_two(out, clock.second);
    out.push(b'.');
    let millisecond = local.rem_euclid(1000);
    out.push(b'0' + (millisecond / 100) as u8);
    calendar::write_two(out, millisecond % 100);
    calendar::write_offset(out, offset);
}

#[cfg(test)]
mod tests;
