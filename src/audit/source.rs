//! What a trail follows: a store, in which each change is durable with who made it.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};

use super::AuditEvent;
use certificate::Seq;

/// How far a trail has followed what a store reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FollowPosition {
    /// The last change.
    pub change: Seq,
    /// Number of the last event of the clock since the store was opened.
    pub clock: u64,
}

/// Some events that a store reports, in their order.
pub struct EventBatch {
    pub events: Vec<AuditEvent>,
    /// How far they go; further than their changes where some have no event of their own.
    pub until: FollowPosition,
}

/// What tells changes of certificates, and what became of the clock.
pub trait EventSource: Send + Sync {
    /// The last change that was committed. It is asked before each event that is written.
    fn last_change(&self) -> Seq;

    /// The events behind a place, at most some hundred; none at the end.
    ///
    /// # Errors
    /// The store cannot be read now, in words.
    fn events_after(&self, place: FollowPosition) -> Result<Option<EventBatch>, String>;
}

/// What a trail follows, and how far it has come.
#[derive(Default)]
pub(super) struct FollowState {
    pub source: OnceLock<Arc<dyn EventSource>>,
    /// Held while events are taken over, so that they come into the trail in the order of their changes.
    pub place: Mutex<FollowPosition>,
    /// The change in `place`, for those who find nothing new.
    pub change: AtomicU64,
    /// Whether the log was told that changes wait.
    pub is_waiting: Mutex<bool>,
}
