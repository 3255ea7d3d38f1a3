//! Keys as they stand at a moment.

use std::sync::Arc;
use std::time::Duration;

/// Milliseconds since 1970 UTC.
pub type TokenClock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// State of the issuer's keys, for health and metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySet {
    pub keys: usize,
    /// When the source last gave them, milliseconds since 1970 UTC; `None`: never.
    pub read: Option<i64>,
    /// How long ago that was.
    pub age: Option<Duration>,
    /// Beyond this age they are not trusted.
    pub age_max: Duration,
    /// How often the source is asked.
    pub refresh: Duration,
    /// Why it gave none since.
    pub last_problem: Option<String>,
}
