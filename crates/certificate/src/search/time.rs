//! Dates as a search asks for them: a prefix and a value that is a range, compared with a range.

use super::filter::{Filter, TimeTest};
use super::parameter::TimeField;
use fhir::date_time::{self, Span, TimeError};

/// FHIR R5 `search.html#prefix`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prefix {
    Eq,
    Ne,
    Gt,
    Lt,
    Ge,
    Le,
    Sa,
    Eb,
    Ap,
}

/// Why a text is no date to search for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchDateError {
    /// The prefix is none, or none of this parameter.
    Prefix,
    /// The value behind the prefix is no date.
    Time(TimeError),
}

/// Reads one value of a date parameter. `now` is milliseconds since 1970 UTC; only `ap` asks for it.
///
/// The rules are R5's: `eq` and `ne` ask whether the value contains the time, `gt` and `lt` whether the time reaches past the
/// value, `ge` and `le` add containment, `sa` and `eb` whether it lies wholly past it, `ap` whether the two overlap once the value
/// is widened on both sides by a tenth of its distance from now. A certificate without the time meets none of them, `ne` included.
///
/// The validity is different without a prefix and with `eq` (Contract 4.3). A value with a time asks for the instant at which the
/// value begins (Decision 160). Any other value asks for whole days: the validity covers every day of the value, its own first and last day
/// included. `ne` and `ap` are not supported there.
pub fn filter(field: TimeField, text: &str, now: i64) -> Result<Filter, SearchDateError> {
    let (prefix, value) = Prefix::cut(text).ok_or(SearchDateError::Prefix)?;
    // A `+` that was not escaped in an address arrives as a blank, and no time holds a blank.
    let value = if value.contains(' ') { &value.replacen(' ', "+", 1) } else { value };
    let has_time = value.contains('T');
    let value = date_time::search_span(value).map_err(SearchDateError::Time)?;
    let time = |test| Filter::Time(field, test);
    let contained = || time(TimeTest::Within { low: value.low, high: value.high });
    let (after, before) = (|| time(TimeTest::EndsAfter(value.high)), || time(TimeTest::BeginsBefore(value.low)));
    Ok(match (prefix, field) {
        (Prefix::Ne | Prefix::Ap, TimeField::Period) => return Err(SearchDateError::Prefix),
        (Prefix::Eq, TimeField::Period) if has_time => time(TimeTest::Covers { low: value.low, high: value.low }),
        (Prefix::Eq, TimeField::Period) => {
            let (first, last) = (date_time::day(value.low), date_time::day(value.high));
            time(TimeTest::Covers { low: first.high, high: last.low })
        }
        (Prefix::Eq, _) => contained(),
        (Prefix::Ne, _) => Filter::All(vec![time(TimeTest::Present), Filter::Not(Box::new(contained()))]),
        (Prefix::Gt, _) => after(),
        (Prefix::Lt, _) => before(),
        (Prefix::Ge, _) => Filter::Any(vec![after(), contained()]),
        (Prefix::Le, _) => Filter::Any(vec![before(), contained()]),
        (Prefix::Sa, _) => time(TimeTest::BeginsAfter(value.high)),
        (Prefix::Eb, _) => time(TimeTest::EndsBefore(value.low)),
        (Prefix::Ap, _) => {
            let widened = about(value, now);
            let begins = time(TimeTest::BeginsBefore(widened.high.saturating_add(1)));
            Filter::All(vec![begins, time(TimeTest::EndsAfter(widened.low.saturating_sub(1)))])
        }
    })
}

/// The value and a tenth of its distance from now on both sides: the width that R5 recommends for `ap`.
fn about(value: Span, now: i64) -> Span {
    let distance = value.low.saturating_sub(now).max(now.saturating_sub(value.high)).max(0);
    Span { low: value.low.saturating_sub(distance / 10), high: value.high.saturating_add(distance / 10) }
}

impl Prefix {
    /// The prefix and what stands behind it; nothing when letters stand there that are no prefix.
    fn cut(text: &str) -> Option<(Prefix, &str)> {
        if !text.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return Some((Prefix::Eq, text));
        }
        let (prefix, value) = text.split_at_checked(2)?;
        let prefix = match prefix {
            "eq" => Prefix::Eq,
            "ne" => Prefix::Ne,
            "gt" => Prefix::Gt,
            "lt" => Prefix::Lt,
            "ge" => Prefix::Ge,
            "le" => Prefix::Le,
            "sa" => Prefix::Sa,
            "eb" => Prefix::Eb,
            "ap" => Prefix::Ap,
            _ => return None,
        };
        Some((prefix, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::class::Class;
    use crate::search::row::Row;
    use crate::{Consent, Profile};
    use crate::{Id, State};

    fn row(date: Option<Span>, period: Option<Span>) -> Row {
        let class = Class {
            state: State::Draft,
            profile: Profile::Driver,
            consent: Consent::default(),
            category: vec![],
            kind: vec![],
        };
        Row { class: class.into(), last_updated: 0, date, period, title: None, terms: vec![] }
    }

    fn of(text: &str) -> Span {
        date_time::span(text).unwrap()
    }

    fn holds(field: TimeField, asked: &str, row: &Row) -> bool {
        filter(field, asked, of("2025-01-01").low).unwrap().matches(Id::FIRST, row)
    }

    #[test]
    fn every_prefix_compares_ranges_as_r5_says() {
        // Columns: a time in 2024, one on 12 January 2025, the whole of January 2025, one in 2026, none.
        let rows = [
            row(Some(of("2024-12-31T23:59:59+02:00")), None),
            row(Some(of("2025-01-12T10:00:00+02:00")), None),
            row(Some(of("2025-01")), None),
            row(Some(of("2026-01-01T00:00:00+02:00")), None),
            row(None, None),
        ];
        for (asked, found) in [
            ("2025-01-12", "-x---"),
            ("eq2025-01", "-xx--"),
            ("eq2025-01-12T10:00:00+02:00", "-x---"),
            ("eq2025-01-12T08:00:00Z", "-x---"),
            ("eq2025-01-12T10:00:00 02:00", "-x---"),
            ("ne2025-01", "x--x-"),
            ("gt2025-01-12", "--xx-"),
            ("gt2024", "-xxx-"),
            ("lt2025-01-12", "x-x--"),
            ("ge2025-01-12", "-xxx-"),
            ("ge2025-01-31", "---x-"),
            ("le2025-01-12", "xxx--"),
            ("le2025-01", "xxx--"),
            ("sa2025-01-12", "---x-"),
            ("sa2024", "-xxx-"),
            ("eb2025-01-12", "x----"),
            ("eb2025-02-01", "xxx--"),
            ("ap2025-01-12", "-xx--"),
            ("ap2024-12", "x----"),
            ("ap2026-01", "---x-"),
            ("ap2026-02-05", "---x-"),
            ("ap2026-03-01", "-----"),
        ] {
            let got: String =
                rows.iter().map(|row| if holds(TimeField::Date, asked, row) { 'x' } else { '-' }).collect();
            assert_eq!(got, found, "{asked}");
        }
    }

    #[test]
    fn both_end_days_of_the_validity_count_whatever_the_hour() {
        let (start, end) = (of("2025-01-12T15:00:00+02:00"), of("2025-03-10T09:00:00+02:00"));
        let valid = row(None, Some(Span { low: start.low, high: end.high }));
        for (asked, held) in [
            ("2025-01-11", false),
            ("2025-01-12", true),
            ("eq2025-02-01", true),
            ("2025-02-01T12:00:00+02:00", true),
            ("2025-01-12T14:59:59.999+02:00", false),
            ("2025-01-12T15:00:00+02:00", true),
            ("eq2025-01-12T13:00Z", true),
            ("2025-03-10T09:00:00+02:00", true),
            ("2025-03-10T09:00:01+02:00", false),
            ("2025-03-10T12:00+02:00", false),
            ("2025-03-10", true),
            ("2025-03-11", false),
            ("2025-02", true),
            ("2025-01", false),
            ("2025", false),
            ("ge2025-03-09", true),
            ("ge2025-03-10", false),
            ("gt2025-03-10", false),
            ("ge2025", true),
            ("le2025-01-13", true),
            ("le2025-01-12", false),
            ("lt2025-01-12", false),
            ("lt2025-01-13", true),
            ("sa2025-01-11", true),
            ("sa2025-01-12", false),
            ("eb2025-03-11", true),
            ("eb2025-03-10", false),
        ] {
            assert_eq!(holds(TimeField::Period, asked, &valid), held, "{asked}");
            assert!(!holds(TimeField::Period, asked, &row(None, None)), "{asked} of no period");
        }
    }

    #[test]
    fn an_open_validity_reaches_as_far_as_it_is_asked() {
        let open = row(None, Some(Span { low: of("2025-01-12").low, high: i64::MAX }));
        assert!(holds(TimeField::Period, "2999-12-31", &open) && holds(TimeField::Period, "gt2999", &open));
        assert!(!holds(TimeField::Period, "2025-01-11", &open) && !holds(TimeField::Period, "eb2999", &open));
    }

    #[test]
    fn wrong_prefixes_and_dates_are_told_apart() {
        let wrong = |field, text| filter(field, text, 0).unwrap_err();
        for text in ["xx2025", "EQ2025", "e", "a", "Z", "eõ"] {
            assert_eq!(wrong(TimeField::Date, text), SearchDateError::Prefix, "{text}");
        }
        for text in ["ne2025-01-12", "ap2025-01-12"] {
            assert_eq!(wrong(TimeField::Period, text), SearchDateError::Prefix, "{text}");
        }
        for text in ["", "ge", "2025-13", "12.01.2025", "ge ge2025", "2025-01-12 10:00", "õ"] {
            assert_eq!(wrong(TimeField::Date, text), SearchDateError::Time(TimeError::Malformed), "{text}");
        }
        assert_eq!(wrong(TimeField::Date, "2025-03-30T03:30"), SearchDateError::Time(TimeError::NotInLocalTime));
    }
}
