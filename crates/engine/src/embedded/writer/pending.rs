//! What the writer holds, and what of a batch is not committed yet.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::job::{Job, Reply};
use crate::embedded::classes::Classes;
use crate::embedded::overlay::{NewEntry, NumberedRow};
use crate::embedded::shared::EngineShared;
use crate::embedded::store::{StoreError, StorePosition};
use crate::{ClockDecision, ClockReading, RefusedChange};
use certificate::{Id, Seq, State, Version};

/// The writer in steps: its thread takes them one after another, a test may do something else in between.
pub(in crate::embedded) struct SteppedWriter {
    pub shared: Arc<EngineShared>,
    pub position: StorePosition,
    /// Writes that were put off to the next batch: the certificate has a version of the same millisecond.
    pub later: VecDeque<Job>,
}

/// A batch that is committed, and that nobody knows of yet.
pub(in crate::embedded) struct StoredBatch {
    pub(super) pending: Pending,
    pub(super) replies: Vec<Reply>,
    pub later: VecDeque<Job>,
}

/// A batch that is not stored, as far as is known.
pub(in crate::embedded) struct FailedBatch {
    pub error: Arc<StoreError>,
    pub(super) replies: Vec<Reply>,
    /// Those that the batch did not come to.
    pub jobs: Vec<Job>,
}

impl FailedBatch {
    /// Tells everyone.
    pub(in crate::embedded) fn answer(self) {
        self.replies.into_iter().for_each(|reply| reply.fail(&self.error));
        self.jobs.into_iter().for_each(|job| job.refuse(RefusedChange::Store(self.error.clone())));
    }
}

/// What a batch has done so far, in memory; it counts only after the commit.
pub(super) struct Pending {
    pub position: StorePosition,
    pub entries: Vec<NewEntry>,
    /// The newest version of every certificate the batch changed.
    pub newest: HashMap<Id, BatchNewest>,
    pub classes: Option<Classes>,
    /// What was decided about the clock, and when.
    pub clock: Vec<(ClockDecision, ClockReading)>,
    /// The time stamp of a version that had to be later than the newest one while an operator accepts that the clock is behind: the
    /// acceptance follows it. Decision 194.
    pub accepted: Option<i64>,
    pub lists_changed: bool,
    /// The head of the audit trail moved, or ids are left out.
    pub meta_changed: bool,
    pub patients_changed: bool,
    /// Links of the patients that the batch changed.
    pub links: Vec<(Id, Vec<Id>)>,
}

/// The newest version of a certificate that the batch changed.
pub(super) struct BatchNewest {
    pub version: Version,
    pub state: State,
    pub made: VersionTime,
    /// Of a tombstone: what was deleted.
    pub row: Option<Arc<NumberedRow>>,
}

/// When a version was made.
#[derive(Clone, Copy)]
pub(super) struct VersionTime {
    pub seq: Seq,
    /// Its time stamp.
    pub milliseconds: i64,
}

impl StoredBatch {
    /// How many jobs were put off.
    #[cfg(test)]
    pub(in crate::embedded) fn later(&self) -> usize {
        self.later.len()
    }

    /// Tells everyone.
    pub(in crate::embedded) fn answer(self) {
        self.replies.into_iter().for_each(Reply::send);
    }
}
