//! The time of a line.

use std::fmt;
use std::time::SystemTime;

use jiff::Timestamp;

/// The moment, UTC, to the millisecond: `2026-11-22T08:00:00.000Z`.
pub(super) fn now() -> impl fmt::Display {
    struct LogTime(Timestamp);
    impl fmt::Display for LogTime {
        fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
            write!(formatter, "{:.3}", self.0)
        }
    }
    LogTime(moment(SystemTime::now()))
}

/// A moment as four digits can show its year; earlier and later ones are brought into that range, so that no clock can stop the log.
pub(super) fn moment(at: SystemTime) -> Timestamp {
    /// 0000-01-01T00:00:00Z
    const FIRST: Timestamp = Timestamp::constant(-62_167_219_200, 0);
    let edge = if at < SystemTime::UNIX_EPOCH { FIRST } else { Timestamp::MAX };
    Timestamp::try_from(at).unwrap_or(edge).max(FIRST)
}
