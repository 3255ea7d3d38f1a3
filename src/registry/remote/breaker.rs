//! Leaves a registry alone that fails again and again, and tries it with one request after a while.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::registry::BreakerState;

/// A circuit breaker: closed it lets everything through, open nothing, and half-open one request that decides.
#[derive(Debug)]
pub(super) struct Breaker {
    /// Failures in a row that open it, from 1.
    failures_max: u32,
    /// How long it stays open.
    rest: Duration,
    state: Mutex<CircuitState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CircuitState {
    Closed { failures: u32 },
    Open { until: Instant },
    HalfOpen,
}

/// Permission to send one request. Dropped without a recorded result it counts for nothing, so that a caller who goes away
/// leaves the probe to the next.
#[derive(Debug)]
pub(super) struct BreakerPermit<'a> {
    breaker: &'a Breaker,
    /// Of a probe: when it was let through.
    probe: Option<Instant>,
}

/// What became of a request, as far as it concerns the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallResult {
    /// The registry answered, whatever it said.
    Answered,
    /// The registry did not answer this one request, which may be the request's fault.
    Failed,
    /// The registry did not answer `GET /metadata` either, in which no caller has a part.
    Down,
}

/// What a request changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BreakerChange {
    Opened,
    Closed,
}

impl Breaker {
    pub(super) fn new(failures_max: u32, rest: Duration) -> Breaker {
        Breaker { failures_max, rest, state: Mutex::new(CircuitState::Closed { failures: 0 }) }
    }

    /// Whether a request would be refused now. It may wait for its turn otherwise, and then ask for [a permit](Self::permit).
    pub(super) fn refuses(&self, now: Instant) -> bool {
        match *self.state() {
            CircuitState::Closed { .. } => false,
            CircuitState::Open { until } => now < until,
            CircuitState::HalfOpen => true,
        }
    }

    /// Whether requests go, for whoever watches.
    pub(super) fn condition(&self, now: Instant) -> BreakerState {
        match *self.state() {
            CircuitState::Closed { .. } => BreakerState::Closed,
            CircuitState::Open { until } if now < until => BreakerState::Open,
            CircuitState::Open { .. } | CircuitState::HalfOpen => BreakerState::HalfOpen,
        }
    }

    /// Lets a request through; nothing while the registry is left alone. The first one after that is the probe.
    pub(super) fn permit(&self, now: Instant) -> Option<BreakerPermit<'_>> {
        let mut state = self.state();
        let probe = match *state {
            CircuitState::Closed { .. } => None,
            CircuitState::Open { until } if now >= until => {
                *state = CircuitState::HalfOpen;
                Some(now)
            }
            CircuitState::Open { .. } | CircuitState::HalfOpen => return None,
        };
        Some(BreakerPermit { breaker: self, probe })
    }

    fn state(&self) -> MutexGuard<'_, CircuitState> {
        // Nothing panics while it is held, and a state is replaced as a whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BreakerPermit<'_> {
    /// Whether a failure would open it: then [`CallResult::Failed`] is not enough.
    pub(super) fn decides(&self) -> bool {
        match *self.breaker.state() {
            CircuitState::Closed { failures } => failures + 1 >= self.breaker.failures_max,
            CircuitState::Open { .. } | CircuitState::HalfOpen => self.probe.is_some(),
        }
    }

    /// Records what became of the request. A request that went before the breaker opened changes nothing any more; only the probe does,
    /// and a probe that fails by itself leaves its place to the next.
    pub(super) fn record(mut self, result: CallResult, now: Instant) -> Option<BreakerChange> {
        if self.probe.is_some() && result == CallResult::Failed {
            return None;
        }
        let is_probe = self.probe.take().is_some();
        let mut state = self.breaker.state();
        let open = CircuitState::Open { until: now + self.breaker.rest };
        let (next, change) = match (*state, result) {
            (CircuitState::HalfOpen, CallResult::Answered) if is_probe => {
                (CircuitState::Closed { failures: 0 }, Some(BreakerChange::Closed))
            }
            (CircuitState::HalfOpen, _) if is_probe => (open, Some(BreakerChange::Opened)),
            (CircuitState::Closed { .. }, CallResult::Answered) => (CircuitState::Closed { failures: 0 }, None),
            (CircuitState::Closed { failures }, CallResult::Down) if failures + 1 >= self.breaker.failures_max => {
                (open, Some(BreakerChange::Opened))
            }
            (CircuitState::Closed { failures }, _) => {
                (CircuitState::Closed { failures: (failures + 1).min(self.breaker.failures_max - 1) }, None)
            }
            (other, _) => (other, None),
        };
        *state = next;
        change
    }
}

impl Drop for BreakerPermit<'_> {
    fn drop(&mut self) {
        if let Some(until) = self.probe {
            // Its rest is over already, so the next request is the probe.
            *self.breaker.state() = CircuitState::Open { until };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: Duration = Duration::from_secs(10);

    /// A breaker that three failures opened, and the moment of the last.
    fn open() -> (Breaker, Instant) {
        let (breaker, now) = (Breaker::new(3, REST), Instant::now());
        let told: Vec<_> = (0..3).map(|_| breaker.permit(now).unwrap().record(CallResult::Down, now)).collect();
        assert_eq!(told, [None, None, Some(BreakerChange::Opened)]);
        (breaker, now)
    }

    #[test]
    fn failures_in_a_row_open_it_and_a_success_between_starts_the_row_anew() {
        let (breaker, now) = (Breaker::new(3, REST), Instant::now());
        for result in [CallResult::Down, CallResult::Failed, CallResult::Answered, CallResult::Failed, CallResult::Down]
        {
            assert_eq!(breaker.permit(now).unwrap().record(result, now), None);
        }
        assert!(!breaker.refuses(now));
        assert_eq!(breaker.permit(now).unwrap().record(CallResult::Down, now), Some(BreakerChange::Opened));
        assert!(breaker.refuses(now) && breaker.permit(now).is_none());
    }

    #[test]
    fn requests_that_fail_by_themselves_open_it_never_and_the_last_before_that_is_told_so() {
        let (breaker, now) = (Breaker::new(3, REST), Instant::now());
        let decides: Vec<_> = (0..5)
            .map(|_| {
                let permit = breaker.permit(now).unwrap();
                let decides = permit.decides();
                assert_eq!(permit.record(CallResult::Failed, now), None);
                decides
            })
            .collect();
        assert_eq!(decides, [false, false, true, true, true]);
        assert_eq!(breaker.permit(now).unwrap().record(CallResult::Down, now), Some(BreakerChange::Opened));
        let probe = breaker.permit(now + REST).unwrap();
        assert!(probe.decides());
        assert_eq!(probe.record(CallResult::Failed, now + REST), None);
        assert!(breaker.permit(now + REST).is_some_and(|next| next.decides()), "the next is the probe");
    }

    #[test]
    fn after_its_rest_exactly_one_request_goes() {
        let (breaker, start) = open();
        assert!(breaker.permit(start + REST - Duration::from_nanos(1)).is_none());
        assert_eq!(breaker.condition(start), BreakerState::Open);
        let now = start + REST;
        assert_eq!(breaker.condition(now), BreakerState::HalfOpen);
        let probe = breaker.permit(now).unwrap();
        assert!(breaker.refuses(now) && breaker.permit(now).is_none());
        assert_eq!(breaker.condition(now), BreakerState::HalfOpen);
        assert_eq!(probe.record(CallResult::Answered, now), Some(BreakerChange::Closed));
        assert_eq!(breaker.condition(now), BreakerState::Closed);
        assert!(breaker.permit(now).is_some());
    }

    #[test]
    fn a_probe_that_fails_opens_it_for_another_rest() {
        let (breaker, start) = open();
        let now = start + REST;
        assert_eq!(breaker.permit(now).unwrap().record(CallResult::Down, now), Some(BreakerChange::Opened));
        assert!(breaker.permit(now + REST - Duration::from_nanos(1)).is_none());
        assert!(breaker.permit(now + REST).is_some());
    }

    #[test]
    fn a_probe_that_is_given_up_leaves_its_place_to_the_next() {
        let (breaker, start) = open();
        drop(breaker.permit(start + REST).unwrap());
        assert!(breaker.permit(start + REST).is_some());
        let (breaker, now) = (Breaker::new(1, REST), Instant::now());
        drop(breaker.permit(now).unwrap());
        assert!(!breaker.refuses(now), "what goes in a closed one and is given up is no failure");
    }

    #[test]
    fn what_went_before_it_opened_changes_nothing_any_more() {
        let (breaker, now) = (Breaker::new(1, REST), Instant::now());
        let (late, later) = (breaker.permit(now).unwrap(), breaker.permit(now).unwrap());
        breaker.permit(now).unwrap().record(CallResult::Down, now);
        assert_eq!(late.record(CallResult::Answered, now), None);
        assert!(breaker.refuses(now));
        let probe = breaker.permit(now + REST).unwrap();
        assert_eq!(later.record(CallResult::Down, now + REST), None);
        assert_eq!(probe.record(CallResult::Answered, now + REST), Some(BreakerChange::Closed));
    }
}
