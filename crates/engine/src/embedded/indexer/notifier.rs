//! What wakes the indexer.

use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::embedded::replacement::ReplacementIndex;

/// A round is taken when this long has passed since its first change.
const ROUND_TIME: Duration = Duration::from_secs(1);

/// The index's files are looked through when this long has passed: bytes may change on a disk that nobody writes to.
const LOOK_TIME: Duration = Duration::from_secs(3_600);

/// After a suspicion they are not looked through again within this time: it costs as much as reading them.
const SUSPICION_TIME: Duration = Duration::from_secs(60);

/// Wakes the indexer.
#[derive(Default)]
pub(crate) struct Notifier {
    state: Mutex<NotifierState>,
    woken: Condvar,
}

#[derive(Default)]
struct NotifierState {
    /// When the first change of the next round came.
    since: Option<Instant>,
    /// Do not wait any longer.
    now: bool,
    /// The index is damaged.
    condemned: bool,
    /// The index may be damaged.
    suspected: bool,
    /// When its files were looked through last.
    looked: Option<Instant>,
    /// When that was for a suspicion.
    answered: Option<Instant>,
    /// An index made beside, to take the place of the one in use.
    replacement: Option<ReplacementIndex>,
    /// How often an index was given up, or could not be made.
    given_up: u64,
    closed: bool,
}

impl Notifier {
    /// Changes have come; `many` are worth a round at once.
    pub(crate) fn note(&self, many: bool) {
        let mut state = self.state.lock().expect("no holder of this lock can panic");
        let first = state.since.is_none();
        state.since.get_or_insert_with(Instant::now);
        state.now |= many;
        if first || many {
            self.woken.notify_all();
        }
    }

    /// A round is wanted at once.
    pub(crate) fn wake(&self) {
        self.state.lock().expect("no holder of this lock can panic").now = true;
        self.woken.notify_all();
    }

    /// A search found the index damaged: it is to be given up.
    pub(crate) fn condemn(&self) {
        self.state.lock().expect("no holder of this lock can panic").condemned = true;
        self.wake();
    }

    /// A search panicked: the index's files are to be looked through.
    pub(crate) fn suspect(&self) {
        self.state.lock().expect("no holder of this lock can panic").suspected = true;
        self.wake();
    }

    /// Whether the index's files are to be looked through now: after a suspicion, though not again and again, and at times without one.
    pub(crate) fn is_time_to_look(&self) -> bool {
        let mut state = self.state.lock().expect("no holder of this lock can panic");
        let is_time = state.look_in().is_zero();
        if is_time {
            let now = Some(Instant::now());
            if std::mem::take(&mut state.suspected) {
                state.answered = now;
            }
            state.looked = now;
        }
        is_time
    }

    /// Waits, however often it is woken. False when the engine is closed meanwhile.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        let state = self.state.lock().expect("no holder of this lock can panic");
        let waited = self.woken.wait_timeout_while(state, time, |state| !state.closed);
        !waited.expect("no holder of this lock can panic").0.closed
    }

    /// Whether the index was condemned since this was asked last.
    pub(crate) fn was_condemned(&self) -> bool {
        std::mem::take(&mut self.state.lock().expect("no holder of this lock can panic").condemned)
    }

    /// An index was given up, or could not be made.
    pub(crate) fn note_given_up(&self) {
        self.state.lock().expect("no holder of this lock can panic").given_up += 1;
    }

    /// How often that was.
    pub(crate) fn given_up(&self) -> u64 {
        self.state.lock().expect("no holder of this lock can panic").given_up
    }

    /// An index was made beside: it is to take the place of the one in use.
    pub(crate) fn offer(&self, replacement: ReplacementIndex) {
        self.state.lock().expect("no holder of this lock can panic").replacement = Some(replacement);
        self.wake();
    }

    /// What was offered.
    pub(crate) fn offered(&self) -> Option<ReplacementIndex> {
        self.state.lock().expect("no holder of this lock can panic").replacement.take()
    }

    /// The index's files were looked through just now.
    pub(crate) fn looked(&self) {
        self.state.lock().expect("no holder of this lock can panic").looked = Some(Instant::now());
    }

    /// Nothing more will come.
    pub(crate) fn close(&self) {
        self.state.lock().expect("no holder of this lock can panic").closed = true;
        self.woken.notify_all();
    }

    /// Waits for the next round; false when it is the last one.
    pub(crate) fn wait(&self) -> bool {
        let mut state = self.state.lock().expect("no holder of this lock can panic");
        loop {
            if state.closed {
                return false;
            }
            let left = state.since.map(|since| ROUND_TIME.saturating_sub(since.elapsed()));
            let look_in = state.look_in();
            if state.now || left == Some(Duration::ZERO) || look_in.is_zero() {
                state.now = false;
                state.since = None;
                return true;
            }
            let left = left.map_or(look_in, |left| left.min(look_in));
            state = self.woken.wait_timeout(state, left).expect("no holder of this lock can panic").0;
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state.lock().expect("no holder of this lock can panic").closed
    }
}

impl NotifierState {
    /// How long until the index's files are to be looked through.
    fn look_in(&self) -> Duration {
        let left = |time: Duration, since: Option<Instant>| since.map(|since| time.saturating_sub(since.elapsed()));
        let by_itself = left(LOOK_TIME, self.looked).unwrap_or(LOOK_TIME);
        match self.suspected {
            true => by_itself.min(left(SUSPICION_TIME, self.answered).unwrap_or_default()),
            false => by_itself,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspicion_is_answered_at_once_and_the_next_one_waits() {
        let notifier = Notifier::default();
        assert!(!notifier.is_time_to_look());
        notifier.suspect();
        assert!(notifier.is_time_to_look());
        notifier.suspect();
        assert!(!notifier.is_time_to_look());
        let left = notifier.state.lock().unwrap().look_in();
        assert!(left > Duration::ZERO && left <= SUSPICION_TIME, "{left:?}");
    }
}
