//! The time of changes: which time stamp a change gets, and when the system clock cannot be believed. Contract 2.8, 10.4.
//!
//! Pure: clocks are read elsewhere, and what has to last is stored elsewhere.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::limits::CLOCK_BEHIND_MS_MAX;

/// How far the clock may jump forward before changes are refused, in milliseconds. Contract 10.4.
const CLOCK_JUMP_MS_MAX: i64 = 10 * 60 * 1_000;

/// Tells the time in milliseconds since 1970 UTC. An argument, so that tests can hold it.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The system's clock.
pub fn system_clock() -> Clock {
    Arc::new(|| {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |elapsed| elapsed.as_millis() as i64)
    })
}

/// Milliseconds since the machine was started. Nobody can set this clock, and it counts the time during which the machine was suspended
/// (`CLOCK_BOOTTIME`), so a laptop that wakes up is no jump of the system clock.
pub fn elapsed_clock() -> Clock {
    Arc::new(|| {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the structure is ours and outlives the call. Linux has had this clock since 2.6.39, so the call cannot fail.
        unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
        time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
    })
}

/// How long a clock has to be believed, in milliseconds, before data are removed by what it says.
pub(crate) const CLOCK_SETTLES_MS: i64 = 24 * 60 * 60 * 1_000;

/// How far the newest time stamp may be ahead of what was settled before, in milliseconds, to be believed at a start: a store that is
/// started every few hours settles by it.
pub(crate) const CLOCK_UNSETTLED_MS_MAX: i64 = 30 * CLOCK_SETTLES_MS;

/// Both clocks at one moment, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// The system clock, since 1970 UTC.
    pub at: i64,
    /// As [`elapsed_clock`] tells it.
    pub elapsed: i64,
}

impl ClockReading {
    /// Whether the system clock is behind the newest time stamp by more than is allowed.
    pub fn is_behind(self, newest: i64) -> bool {
        is_behind(self.at, newest)
    }
}

/// Why the system clock is not believed. Changes are refused meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockProblem {
    /// The clock is this many milliseconds behind the newest time stamp.
    Behind(i64),
    /// The clock has jumped forward by this many milliseconds, compared with the time that has passed.
    Jumped(i64),
}

impl fmt::Display for ClockProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let seconds = |ms: &i64| ms / 1_000;
        match self {
            ClockProblem::Behind(ms) => {
                write!(formatter, "the system clock is {} s behind the newest time stamp", seconds(ms))
            }
            ClockProblem::Jumped(ms) => write!(formatter, "the system clock has jumped forward by {} s", seconds(ms)),
        }
    }
}

/// What an operator decides about a clock that is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockDecision {
    /// The clock is right. Time stamps stay at the newest one until the clock has caught up with it.
    Accept,
    /// Time begins again at the system clock: time stamps may be smaller than those before.
    Reset,
}

/// The point in the order of changes behind which time began again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReset {
    /// Number of the last change before it; 0 when there was none.
    pub change: u64,
    /// The system clock then, milliseconds since 1970 UTC.
    pub at: i64,
}

/// What an engine knows of its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockState {
    /// The system clock, milliseconds since 1970 UTC.
    pub at: i64,
    /// The newest time stamp; none while nothing was changed.
    pub newest: Option<i64>,
    /// The time by which the age of data is counted before they are removed, milliseconds since 1970 UTC. For the first day after a start
    /// it goes on from what was settled before, however far the clock is ahead. Decision 275.
    pub settled: i64,
    /// Why changes are refused; nothing while they are taken.
    pub problem: Option<ClockProblem>,
    /// The clock is behind by more than is allowed, and an operator has accepted that.
    pub is_accepted: bool,
    /// The last reset.
    pub reset: Option<ClockReset>,
}

/// Compares the system clock with the newest time stamp and with the time that has passed.
///
/// A forward jump is remembered by this value alone: a process that starts behind one believes the clock it finds.
#[derive(Clone, Copy, Debug)]
pub struct ClockGuard {
    /// Nothing until a clock is found that is not behind: one that was behind at the start may be put right by any step.
    trusted: Option<TrustedClock>,
    /// The newest time stamp when an operator accepted that the clock is behind it. One that is newer by a minute ends the acceptance.
    accepted: i64,
}

/// What of the two clocks is believed.
#[derive(Clone, Copy, Debug)]
struct TrustedClock {
    /// System clock minus elapsed time.
    difference: i64,
    /// Elapsed time at which `difference` was moved last.
    moved: i64,
}

impl TrustedClock {
    fn of(now: ClockReading) -> TrustedClock {
        TrustedClock { difference: now.at.saturating_sub(now.elapsed), moved: now.elapsed }
    }
}

/// The believed difference between the two clocks follows the real one by one part in this many of the time that passes, which is ten
/// minutes an hour. So corrections by a few minutes are not added up for ever, and many small jumps cannot make a large one.
const FOLLOW: i64 = 6;

/// How often it follows, so that fractions of milliseconds are not lost.
const FOLLOW_MS: i64 = 1_000;

impl ClockGuard {
    /// Believes the first clock that is not behind the newest time stamp. `accepted` is as in [`ClockGuard::accept_up_to`].
    pub fn new(accepted: i64) -> ClockGuard {
        ClockGuard { trusted: None, accepted }
    }

    /// The time stamp of a change: the system clock, or the newest time stamp while the clock is behind that by less than a minute or an
    /// operator has accepted it.
    ///
    /// # Errors
    /// Why the clock is not believed.
    pub fn stamp(&mut self, now: ClockReading, newest: i64) -> Result<i64, ClockProblem> {
        if is_behind(now.at.max(self.accepted), newest) {
            return Err(ClockProblem::Behind(newest.saturating_sub(now.at)));
        }
        let trusted = self.trusted.get_or_insert_with(|| TrustedClock::of(now));
        let jumped = now.at.saturating_sub(now.elapsed).saturating_sub(trusted.difference);
        if jumped > CLOCK_JUMP_MS_MAX {
            return Err(ClockProblem::Jumped(jumped));
        }
        let passed = now.elapsed.saturating_sub(trusted.moved);
        if passed >= FOLLOW_MS {
            let step = passed / FOLLOW;
            trusted.difference = trusted.difference.saturating_add(jumped.clamp(-step, step));
            trusted.moved = now.elapsed;
        }
        Ok(now.at.max(newest))
    }

    /// Believes the clock from now on, however far it has jumped or is behind the newest time stamp.
    pub fn accept(&mut self, now: ClockReading, newest: i64) {
        let accepted = if now.is_behind(newest) { newest } else { self.accepted };
        *self = ClockGuard { trusted: Some(TrustedClock::of(now)), accepted };
    }

    /// Time begins again at this clock. The newest time stamp is what it says now.
    pub fn reset(&mut self, now: ClockReading) {
        *self = ClockGuard { trusted: Some(TrustedClock::of(now)), accepted: i64::MIN };
    }

    /// The clock may be behind a newest time stamp up to this one; `i64::MIN` for none.
    pub fn accept_up_to(&mut self, accepted: i64) {
        self.accepted = accepted;
    }

    /// Whether the clock is behind by more than is allowed, and an operator has accepted that.
    pub fn is_accepted(&self, now: ClockReading, newest: i64) -> bool {
        now.is_behind(newest) && !is_behind(self.accepted, newest)
    }
}

fn is_behind(at: i64, newest: i64) -> bool {
    newest.saturating_sub(at) > CLOCK_BEHIND_MS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1_736_676_000_000;
    const MINUTE: i64 = 60_000;

    fn reading(at: i64, elapsed: i64) -> ClockReading {
        ClockReading { at: START + at, elapsed }
    }

    fn guard() -> ClockGuard {
        started(reading(0, 0))
    }

    /// A guard that believes this clock.
    fn started(now: ClockReading) -> ClockGuard {
        let mut guard = ClockGuard::new(i64::MIN);
        assert_eq!(guard.stamp(now, i64::MIN), Ok(now.at));
        guard
    }

    #[test]
    fn the_time_stamp_is_the_clock_and_stays_where_it_is_while_the_clock_is_behind_by_a_minute_at_most() {
        let mut guard = guard();
        assert_eq!(guard.stamp(reading(5, 5), START), Ok(START + 5));
        assert_eq!(guard.stamp(reading(5, 5), START + 5), Ok(START + 5));
        assert_eq!(guard.stamp(reading(0, 6), START + MINUTE), Ok(START + MINUTE));
        assert_eq!(guard.stamp(reading(0, 6), START + MINUTE + 1), Err(ClockProblem::Behind(MINUTE + 1)));
        // It is believed again without a word when it has caught up.
        assert_eq!(guard.stamp(reading(1, 7), START + MINUTE + 1), Ok(START + MINUTE + 1));
    }

    #[test]
    fn a_jump_forward_by_more_than_ten_minutes_is_not_believed_until_the_clock_is_right_again() {
        let mut guard = guard();
        assert_eq!(guard.stamp(reading(10 * MINUTE, 0), START), Ok(START + 10 * MINUTE));
        assert_eq!(guard.stamp(reading(10 * MINUTE + 1, 0), START), Err(ClockProblem::Jumped(10 * MINUTE + 1)));
        // However long it stays so.
        let day = 24 * 60 * MINUTE;
        assert!(guard.stamp(reading(day + 11 * MINUTE, day), START).is_err());
        assert_eq!(guard.stamp(reading(day, day), START), Ok(START + day));
    }

    #[test]
    fn a_clock_that_is_behind_at_the_start_is_believed_when_it_is_put_right_and_measured_from_there() {
        let mut guard = ClockGuard::new(i64::MIN);
        let year = 365 * 24 * 60 * MINUTE;
        assert_eq!(guard.stamp(reading(-year, 0), START), Err(ClockProblem::Behind(year)));
        assert_eq!(guard.stamp(reading(MINUTE, MINUTE), START), Ok(START + MINUTE));
        assert_eq!(guard.stamp(reading(12 * MINUTE, MINUTE), START), Err(ClockProblem::Jumped(11 * MINUTE)));
        // One that has been believed is measured, also when it is behind in between.
        let mut guard = started(reading(0, 0));
        assert!(guard.stamp(reading(-year, 0), START).is_err());
        assert_eq!(guard.stamp(reading(11 * MINUTE, 0), START), Err(ClockProblem::Jumped(11 * MINUTE)));
    }

    #[test]
    fn time_during_which_the_machine_was_suspended_is_no_jump() {
        let night = 8 * 60 * MINUTE;
        assert_eq!(guard().stamp(reading(night, night), START), Ok(START + night));
    }

    #[test]
    fn corrections_by_some_minutes_are_not_added_up_for_ever_and_many_at_once_are_a_jump() {
        let mut guard = guard();
        let hour = 60 * MINUTE;
        for step in 1..=20 {
            let now = reading(step * (hour + 9 * MINUTE), step * hour);
            assert!(guard.stamp(now, START).is_ok(), "step {step}");
        }
        let mut guard = started(reading(0, 0));
        let steps = (1..=20).map(|step| guard.stamp(reading(step * 9 * MINUTE, step), START).is_ok());
        assert_eq!(steps.filter(|is_believed| *is_believed).count(), 1);
    }

    #[test]
    fn what_is_accepted_holds_until_the_clock_has_caught_up() {
        let mut guard = guard();
        let newest = START + 365 * 24 * 60 * MINUTE;
        guard.accept(reading(0, 0), newest);
        assert!(guard.is_accepted(reading(0, 0), newest));
        assert_eq!(guard.stamp(reading(1, 1), newest), Ok(newest));
        // A clock that is behind what it was later is as wrong as ever.
        let later = newest + 2 * MINUTE;
        assert_eq!(guard.stamp(ClockReading { at: later, elapsed: later - START }, newest), Ok(later));
        assert!(guard.stamp(reading(1, later - START), later).is_err());
        let mut guard = started(reading(0, 0));
        guard.accept(reading(60 * MINUTE, 0), START);
        assert_eq!(guard.stamp(reading(60 * MINUTE, 0), START), Ok(START + 60 * MINUTE));
    }

    #[test]
    fn extreme_times_do_not_overflow() {
        for newest in [i64::MIN, 0, i64::MAX] {
            for at in [i64::MIN, 0, i64::MAX] {
                for elapsed in [i64::MIN, 0, i64::MAX] {
                    let now = ClockReading { at, elapsed };
                    let mut guard = ClockGuard::new(i64::MIN);
                    let _ = guard.stamp(now, newest);
                    guard.accept(now, newest);
                    assert!(guard.stamp(now, newest).is_ok());
                    let _ = guard.stamp(ClockReading { at: 0, elapsed: 0 }, newest);
                    guard.reset(now);
                    assert_eq!(guard.stamp(now, now.at), Ok(now.at));
                }
            }
        }
    }

    /// Numbers that look random, the same in every run (xorshift).
    struct TestNumbers(u64);

    impl TestNumbers {
        fn below(&mut self, end: u64) -> i64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % end) as i64
        }
    }

    /// Ten million changes under a clock that steps back and forth, is suspended, stands, and is accepted and reset. What must hold
    /// follows from what was seen from outside, not by what the guard remembers.
    #[test]
    fn ten_million_changes_under_clocks_that_jump() {
        let mut numbers = TestNumbers(0x9E37_79B9_7F4A_7C15);
        let (mut at, mut elapsed, mut newest) = (START, 0, i64::MIN);
        let mut guard = ClockGuard::new(i64::MIN);
        // The clocks when the clock was declared right last (nothing since a start that found no clock to believe), the least difference
        // that was believed since, and what was accepted.
        let (mut declared, mut least, mut accepted) = (None, i64::MAX, i64::MIN);
        let (mut stored, mut behind, mut jumped, mut held, mut put_right) = (0_u32, 0_u32, 0_u32, 0_u32, 0_u32);
        while stored < 10_000_000 {
            let dice = numbers.below(1_000_000);
            let passed = match dice {
                0..10 => numbers.below(100_000_000),
                10..400_000 => 1,
                _ => 0,
            };
            (at, elapsed) = (at + passed, elapsed + passed);
            at += match dice {
                400_000..400_040 => numbers.below(50) - 25,
                400_040..400_080 => numbers.below(120_000) - 60_000,
                400_080..400_100 => numbers.below(1_400_000) - 700_000,
                400_100..400_105 => numbers.below(400_000_000) - 200_000_000,
                _ => 0,
            };
            if dice >= 999_950 {
                // The machine is started, often with a clock that is behind.
                (guard, declared, least) = (ClockGuard::new(accepted), None, i64::MAX);
                (at, elapsed) = (at - numbers.below(2) * numbers.below(400_000_000), numbers.below(100_000));
            }
            let now = ClockReading { at, elapsed };
            let difference = at - elapsed;
            match guard.stamp(now, newest) {
                Ok(stamp) => {
                    assert!(stamp >= newest, "time ran backwards");
                    assert!(stamp == at || stamp == newest, "the time stamp is neither the clock nor the newest one");
                    let is_accepted = newest <= accepted.saturating_add(MINUTE);
                    assert!(stamp - at <= MINUTE || is_accepted, "{} ms ahead of the clock", stamp - at);
                    let (declared_at, declared_elapsed) = *declared.get_or_insert((at, elapsed));
                    let gained = difference - (declared_at - declared_elapsed);
                    assert!(gained <= 10 * MINUTE + (elapsed - declared_elapsed) / 6, "{gained} ms gained");
                    held += u32::from(stamp > at);
                    stored += 1;
                    (newest, least) = (stamp, least.min(difference));
                }
                Err(ClockProblem::Behind(by)) => {
                    assert!(by == newest - at && by > MINUTE, "behind by {by}");
                    behind += 1;
                }
                Err(ClockProblem::Jumped(by)) => {
                    assert!(declared.is_some(), "nothing was believed that it could have jumped from");
                    assert!(by > 10 * MINUTE && difference - least > 10 * MINUTE, "jumped by {by}");
                    jumped += 1;
                }
            }
            if guard.stamp(now, newest).is_err() && numbers.below(1_000) == 0 {
                match numbers.below(3) {
                    // The clock is put right: what it would be without all jumps since it was declared right. Or it never was: then
                    // it is any time that is not behind.
                    0 => match declared {
                        Some((declared_at, declared_elapsed)) => at = declared_at + (elapsed - declared_elapsed),
                        None => {
                            at = newest + numbers.below(400_000_000);
                            assert_eq!(guard.stamp(ClockReading { at, elapsed }, newest), Ok(at), "it was put right");
                            (declared, least) = (Some((at, elapsed)), at - elapsed);
                            put_right += 1;
                        }
                    },
                    1 => {
                        if newest - at > MINUTE {
                            accepted = newest;
                        }
                        guard.accept(now, newest);
                        (declared, least) = (Some((at, elapsed)), difference);
                        assert_eq!(guard.stamp(now, newest), Ok(at.max(newest)), "it was accepted");
                    }
                    _ => {
                        guard.reset(now);
                        (declared, least, accepted, newest) = (Some((at, elapsed)), difference, i64::MIN, at);
                    }
                }
            }
        }
        // All of it happened, and often.
        assert!(
            behind > 1_000 && jumped > 1_000 && held > 1_000 && put_right > 5,
            "{behind} {jumped} {held} {put_right}"
        );
    }

    #[test]
    fn elapsed_time_goes_on() {
        let elapsed = elapsed_clock();
        let before = elapsed();
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert!(elapsed() >= before + 5);
    }
}
