//! How long to wait before a question is put again.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime};

use fhir::date_time::parse_http_date;

/// Milliseconds that the first pause between two tries lasts at most; each later one may last twice as long.
const REGISTRY_PAUSE_MS: u64 = 50;

/// Milliseconds that any such pause lasts at most.
const REGISTRY_PAUSE_MS_MAX: u64 = 1_000;

/// The pause after the try of this number, counted from 1: any part of a length that doubles each time, so that callers who failed
/// together do not come back together. `random` is any number.
pub(super) fn pause(tried: u32, random: u64) -> Duration {
    let doubled = REGISTRY_PAUSE_MS.saturating_mul(1 << tried.saturating_sub(1).min(16));
    let longest_us = doubled.min(REGISTRY_PAUSE_MS_MAX) * 1_000;
    Duration::from_micros(random % (longest_us + 1))
}

/// A number nobody foresees; good enough to spread pauses.
pub(super) fn random() -> u64 {
    RandomState::new().hash_one(0_u8)
}

/// What `Retry-After` asks for: seconds, or a moment. Nothing when it is neither.
pub(super) fn retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    if let Ok(seconds) = text.trim().parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    let moment = Duration::from_secs(parse_http_date(text)?.try_into().ok()?);
    let now = now.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(moment.saturating_sub(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_bound_and_may_be_as_short_as_nothing() {
        for (tried, longest) in [(1, 50), (2, 100), (3, 200), (5, 800), (6, 1_000), (60, 1_000), (u32::MAX, 1_000)] {
            let longest_us = longest * 1_000;
            assert_eq!(pause(tried, longest_us), Duration::from_millis(longest), "{tried}");
            assert_eq!(pause(tried, longest_us + 1), Duration::ZERO, "{tried}");
        }
    }

    #[test]
    fn pauses_differ() {
        let pauses: std::collections::BTreeSet<_> = (0..100).map(|_| pause(5, random())).collect();
        assert!(pauses.len() > 90, "{}", pauses.len());
    }

    #[test]
    fn retry_after_is_read_as_seconds_and_as_a_moment() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_700);
        let seconds = |text| retry_after(text, now).map(|pause| pause.as_secs());
        assert_eq!(seconds("2"), Some(2));
        assert_eq!(seconds(" 120 "), Some(120));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT"), Some(77));
        assert_eq!(seconds("Sat, 05 Nov 1994 08:49:37 GMT"), Some(0));
        for text in ["", "soon", "-1", "1.5", "99999999999", "Sun, 99 Nov 1994 08:49:37 GMT"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
