//! Any text as a time: as FHIR spells it, as a search asks for it, as HTTP spells it; and any number as a moment.

use std::sync::LazyLock;

use certificate::search::class::Class;
use certificate::search::parameter::TimeField;
use certificate::search::row::Row;
use certificate::search::time::filter;
use certificate::{Consent, Id, Profile, State};
use fhir::date_time::{
    Span, day, http_date, instant, is_date, is_time, normalise, normalise_instant, offset_minutes, parse_http_date,
    search_span, span,
};

/// 2026-11-01, in milliseconds since 1970 UTC.
const NOW: i64 = 1_793_491_200_000;

/// The years 1 and 9999, in milliseconds since 1970 UTC: a day less on either side, since Tallinn is ahead of UTC.
const SPELLED: std::ops::Range<i64> = -62_135_510_400_000..253_402_214_400_000;

static ROW: LazyLock<Row> = LazyLock::new(|| {
    let (state, profile) = (State::Completed, Profile::Driver);
    let class = Class { state, profile, consent: Consent::default(), category: vec![], kind: vec![] };
    Row { class: class.into(), last_updated: NOW, date: None, period: None, title: None, terms: vec![] }
});

/// Judges one text, and the number that its first bytes are.
pub fn judge(bytes: &[u8]) {
    if let Some(number) = bytes.first_chunk() {
        moment(i64::from_le_bytes(*number));
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    fhir(text);
    asked(text);
    if let Some(seconds) = parse_http_date(text) {
        let written = http_date(seconds * 1_000).expect("what was read has four digits of a year");
        let written = std::str::from_utf8(&written).expect("it is ASCII");
        assert_eq!(parse_http_date(written), Some(seconds), "{text:?} is written as {written:?}");
    }
}

fn fhir(text: &str) {
    let covered = span(text);
    if let Ok(covered) = covered {
        assert!(covered.low <= covered.high, "{text:?} has a beginning and an end");
        assert_eq!(search_span(text), Ok(covered), "a search reads all that a certificate may hold");
    }
    match normalise(text) {
        Ok(normal) => {
            assert_eq!(normalise(&normal).as_deref(), Ok(&*normal), "{text:?} normalised once is normal");
            let (covered, normal) = (covered.expect("it is a time"), span(&normal).expect("it still is one"));
            assert_eq!(covered.low, normal.low, "{text:?} begins when it began");
            assert!(covered.high <= normal.high, "{text:?} covers no less");
        }
        Err(wrong) => assert_eq!(covered, Err(wrong), "what cannot be stored is no time"),
    }
    assert!(normalise_instant(text).is_err() || normalise_instant(text) == normalise(text), "an instant is a dateTime");
    if is_date(text) {
        assert_eq!(normalise(text).as_deref(), Ok(text), "a date stays as it is");
    }
    assert!(!is_date(text) || !is_time(text), "{text:?} is one of both");
}

/// As the value of a search parameter.
fn asked(text: &str) {
    for field in [TimeField::Date, TimeField::LastUpdated, TimeField::Period] {
        let Ok(asked) = filter(field, text, NOW) else { continue };
        assert!(
            !asked.matches(Id::FIRST, &ROW) || field == TimeField::LastUpdated,
            "a certificate without a time is not found by it"
        );
        let (prefix, value) = match text.get(..2) {
            Some(prefix) if prefix.bytes().all(|byte| byte.is_ascii_lowercase()) => (prefix, &text[2..]),
            _ => ("eq", text),
        };
        let Ok(Span { low, high }) = search_span(value) else { continue };
        let span = Some(Span { low, high });
        let of_that_time = Row { date: span, period: span, last_updated: low, ..ROW.clone() };
        let finds_itself = matches!(prefix, "eq" | "ge" | "le" | "ap");
        assert_eq!(asked.matches(Id::FIRST, &of_that_time), finds_itself, "{text:?} asked of its own time");
    }
}

fn moment(milliseconds: i64) {
    let written = instant(milliseconds);
    assert!((29..64).contains(&written.len()), "{milliseconds} is written as {written:?}");
    assert!([0, 60, 99, 100, 120, 180, 240].contains(&offset_minutes(milliseconds)), "Tallinn was never elsewhere");
    let _ = http_date(milliseconds);
    if SPELLED.contains(&milliseconds) {
        assert!(normalise_instant(&written).is_ok(), "what we write can be read");
        assert_eq!(span(&written), Ok(Span { low: milliseconds, high: milliseconds }), "{written:?} is that moment");
        let day = day(milliseconds);
        assert!(
            (day.low..=day.high).contains(&milliseconds) && day.high - day.low < 26 * 3_600_000,
            "it is in its day"
        );
    }
}
