//! What is known of the time.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::store::StorePosition;
use crate::clock::{CLOCK_SETTLES_MS, CLOCK_UNSETTLED_MS_MAX};
use crate::limits::CLOCK_EVENTS_MAX;
use crate::{ClockEvent, ClockGuard, ClockProblem, ClockReading, ClockReset};
use certificate::Stamp;

/// The time of a change.
#[derive(Clone, Copy)]
pub(super) struct ChangeTime {
    /// What the system clock says, milliseconds since 1970 UTC.
    pub at: i64,
    pub stamp: Stamp,
    /// As [`ClockGuard::is_accepted`] tells it.
    pub is_accepted: bool,
}

/// What is known of the time outside of a batch.
pub(super) struct KnownTime(pub(super) Mutex<CommittedTime>);

pub(super) struct CommittedTime {
    pub guard: ClockGuard,
    /// As [`StorePosition::milliseconds`] and [`StorePosition::reset`].
    pub newest: i64,
    pub reset: Option<ClockReset>,
    /// What was found when the clocks were read last.
    pub problem: Option<ClockProblem>,
    /// Whether a problem was told, and no end of it.
    pub is_told: bool,
    /// What was told last, oldest first.
    pub events: VecDeque<ClockEvent>,
    /// Elapsed time when the clocks were read last.
    pub read: i64,
    /// Elapsed time at the start, and what was settled then: by the last run, else the newest time stamp.
    started: (i64, i64),
}

impl CommittedTime {
    pub(super) fn stamp(&mut self, now: ClockReading, newest: i64) -> Result<i64, ClockProblem> {
        let stamp = self.guard.stamp(now, newest);
        (self.read, self.problem) = (now.elapsed, stamp.err());
        stamp
    }

    /// Notes that a problem began, or that there is none any more.
    pub(super) fn tell(&mut self, at: i64, problem: Option<ClockProblem>) {
        self.is_told = problem.is_some();
        let number = self.events.back().map_or(0, |event| event.number) + 1;
        self.events.push_back(ClockEvent { number, at, problem });
        if self.events.len() > CLOCK_EVENTS_MAX {
            self.events.pop_front();
        }
    }

    /// As [`ClockState::settled`](crate::ClockState::settled).
    pub(super) fn settled(&self, now: ClockReading) -> i64 {
        let (elapsed, newest) = self.started;
        match now.elapsed.saturating_sub(elapsed) {
            CLOCK_SETTLES_MS.. => now.at,
            passed => now.at.min(newest.saturating_add(passed)),
        }
    }
}

impl KnownTime {
    /// Begins with what the clocks say now: a clock is believed, unless it is behind the newest time stamp.
    pub(super) fn new(now: ClockReading, position: &StorePosition, accepted: i64, settled: Option<i64>) -> KnownTime {
        let (newest, reset) = (position.milliseconds, position.reset);
        let mut guard = ClockGuard::new(accepted);
        let problem = guard.stamp(now, newest).err();
        // The stamp of a change may be that of a wrong clock, too.
        let trusted = settled.filter(|settled| newest.saturating_sub(*settled) > CLOCK_UNSETTLED_MS_MAX);
        let started = (now.elapsed, trusted.unwrap_or(newest));
        KnownTime(Mutex::new(CommittedTime {
            guard,
            newest,
            reset,
            problem,
            is_told: false,
            events: VecDeque::new(),
            read: now.elapsed,
            started,
        }))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, CommittedTime> {
        // Nothing is left half-way by a panic: each value is replaced as a whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
