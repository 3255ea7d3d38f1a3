//! What connections and requests cost at this moment and did since the start: plain numbers that anybody may read.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Counters of the HTTP front end. Those in the plural without a verb go up and down; the others only rise.
#[derive(Debug, Default)]
pub struct LoadCounters {
    /// Connections that have a place, those in a handshake included.
    pub connections: AtomicUsize,
    pub connections_accepted: AtomicU64,
    /// Idle ones that were closed because a newcomer needed the place.
    pub connections_made_room: AtomicU64,
    /// Told that there is no place, or closed without a word.
    pub connections_refused: AtomicU64,
    pub handshakes_failed: AtomicU64,
    /// Ended because of header blocks or control frames of HTTP/2 beyond all need.
    pub connections_excessive: AtomicU64,
    /// Cut because their client took nothing of an answer.
    pub answers_unread: AtomicU64,
    /// Requests that are worked on.
    pub requests: AtomicUsize,
    /// Requests that wait to be worked on.
    pub requests_waiting: AtomicUsize,
    /// 503, since too many were worked on.
    pub requests_refused: AtomicU64,
    /// 429
    pub requests_throttled: AtomicU64,
    /// 503, since they took too long.
    pub requests_given_up: AtomicU64,
    /// Requests whose X-Road headers were dropped, since their sender is not trusted to set them.
    pub x_road_dropped: AtomicU64,
    /// 408
    pub bodies_late: AtomicU64,
}

/// One more of something that goes up and down, as long as this lives.
#[derive(Debug)]
pub(super) struct GaugeGuard<'a>(&'a AtomicUsize);

impl<'a> GaugeGuard<'a> {
    pub(super) fn new(counter: &'a AtomicUsize) -> GaugeGuard<'a> {
        counter.fetch_add(1, Ordering::Relaxed);
        GaugeGuard(counter)
    }
}

impl Drop for GaugeGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts one more of something that only rises.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
