//! Bounds that several files of this module share: what each bounds, its unit, and why it is so large.

/// Heartbeats in a row, one a second, that may be missing before `/live` is 503. A scheduler that is only busy brings one back in
/// milliseconds.
pub const LIVE_BEATS_MISSED_MAX: u32 = 4;
