//! The engine's time: both clocks are read here, judged by [`ClockGuard`], and told to whoever watches.

use std::thread;
use std::time::Duration;

use super::known_time::ChangeTime;
use super::store::{StoreError, StorePosition};
use super::{Engine, EngineShared};
use crate::{ClockDecision, ClockEvent, ClockProblem, ClockReading, ClockState};
use base::log::event;
use certificate::Stamp;

impl Engine {
    /// How the clock is, and whether changes are taken.
    pub fn clock(&self) -> ClockState {
        let now = self.shared.clocks();
        let mut known = self.shared.time.lock();
        let newest = known.newest;
        ClockState {
            at: now.at,
            newest: (newest > i64::MIN).then_some(newest),
            settled: known.settled(now),
            problem: known.stamp(now, newest).err(),
            is_accepted: known.guard.is_accepted(now, newest),
            reset: known.reset,
        }
    }

    /// When the clock was not believed any more, and when it was again: what came after a number, of the last 64.
    pub fn clock_events_after(&self, number: u64) -> Vec<ClockEvent> {
        self.shared.time.lock().events.iter().filter(|event| event.number > number).copied().collect()
    }
}

impl EngineShared {
    /// As [`ClockState::settled`].
    pub(super) fn settled(&self) -> i64 {
        let now = self.clocks();
        self.time.lock().settled(now)
    }

    /// Reads both clocks.
    pub(super) fn clocks(&self) -> ClockReading {
        ClockReading { at: (self.clock)(), elapsed: (self.elapsed)() }
    }

    /// The time of a change behind all those whose newest time stamp this is.
    ///
    /// # Errors
    /// The clock is not believed.
    pub(super) fn now(&self, newest: i64) -> Result<ChangeTime, ClockProblem> {
        let now = self.clocks();
        let mut known = self.time.lock();
        let stamp = Stamp::at(known.stamp(now, newest)?);
        Ok(ChangeTime { at: now.at, stamp, is_accepted: known.guard.is_accepted(now, newest) })
    }

    /// Takes over how far the time has come, and what was decided about the clock: after the commit. The acceptance goes as far where one
    /// is given.
    pub(super) fn note_time(
        &self,
        position: &StorePosition,
        decided: &[(ClockDecision, ClockReading)],
        accepted: Option<i64>,
    ) {
        let mut known = self.time.lock();
        for (decision, now) in decided {
            match decision {
                ClockDecision::Accept => known.guard.accept(*now, position.milliseconds),
                ClockDecision::Reset => known.guard.reset(*now),
            }
        }
        if let Some(accepted) = accepted {
            known.guard.accept_up_to(accepted);
        }
        (known.newest, known.reset) = (position.milliseconds, position.reset);
    }

    /// Takes over how far the time has come in a store that was opened again: a batch that failed may be stored after all.
    pub(super) fn note_time_of_store(&self, position: &StorePosition) -> Result<(), StoreError> {
        let accepted = self.store.reader()?.clock_accepted()?;
        let now = self.clocks();
        let mut known = self.time.lock();
        if known.reset != position.reset {
            known.guard.reset(now);
        }
        known.guard.accept_up_to(accepted);
        (known.newest, known.reset) = (position.milliseconds, position.reset);
        Ok(())
    }

    /// Looks at the clock, and tells the log where it is not believed any more, or is again; [`Engine::clock_events_after`] tells it too.
    pub(super) fn watch_clock(&self) {
        let problem = {
            let mut known = self.time.lock();
            // Nothing can have changed since the clocks were read last, if no time has passed.
            if known.read != (self.elapsed)() || known.problem.is_some() {
                let newest = known.newest;
                let _ = known.stamp(self.clocks(), newest);
            }
            let problem = known.problem;
            if problem.is_some() == known.is_told {
                return;
            }
            let at = (self.clock)();
            known.tell(at, problem);
            problem
        };
        match problem {
            Some(problem) => event!(CLOCK_WRONG, problem = %problem),
            None => event!(CLOCK_RIGHT),
        }
    }

    /// Waits until the clock is past a time stamp. A clock that stands, or is behind, is not waited for.
    pub(super) fn wait_for_clock(&self, stamp: i64) {
        for _ in 0..10 {
            if (self.clock)() > stamp {
                return;
            }
            thread::sleep(Duration::from_micros(200));
        }
    }
}
