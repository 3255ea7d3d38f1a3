//! Times as columns hold them.

use fhir::date_time::Span;

/// Times outside the years 0 to 9999 stand at these ends, so that a column stays narrow.
pub(super) const TIME_MIN: i64 = -100_000_000_000_000;

pub(super) const TIME_MAX: i64 = 300_000_000_000_000;

/// A time as its column holds it.
pub(super) fn bounded(milliseconds: i64) -> i64 {
    milliseconds.clamp(TIME_MIN, TIME_MAX)
}

/// When a span begins, as its column holds it; none when its beginning is open.
pub(super) fn beginning(span: Span) -> Option<i64> {
    Some(bounded(span.low)).filter(|low| *low > TIME_MIN)
}
