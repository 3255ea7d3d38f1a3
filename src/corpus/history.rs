//! The lives a certificate can lead, from its creation to where it stands at the end.

use super::calendar::Tick;
use super::random::Random;
use certificate::State;
use certificate::transition::{Need, Trigger};

/// One change of a certificate, leading to one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// POST of a draft.
    Draft,
    /// POST of a completed certificate.
    Issue,
    /// PUT of a draft that stays one.
    Save,
    /// PUT that completes a draft.
    Complete,
    /// PUT of a completed certificate, with a change reason.
    Change,
    Suspend,
    Cancel,
    Delete,
}

/// How many of a hundred certificates live so, and the steps of such a life.
pub(super) struct History {
    pub share: u64,
    pub steps: &'static [Step],
}

const fn row(share: u64, steps: &'static [Step]) -> History {
    History { share, steps }
}

/// Shares add up to 100; together they make 1.38 versions a certificate.
#[rustfmt::skip]
pub(super) const HISTORIES: &[History] = &[
    row(60, &[Step::Issue]),
    row(12, &[Step::Draft, Step::Complete]),
    row( 2, &[Step::Draft, Step::Save, Step::Complete]),
    row( 6, &[Step::Issue, Step::Change]),
    row( 1, &[Step::Issue, Step::Change, Step::Change]),
    row( 7, &[Step::Draft]),
    row( 2, &[Step::Draft, Step::Save]),
    row( 2, &[Step::Draft, Step::Delete]),
    row( 3, &[Step::Issue, Step::Suspend]),
    row( 1, &[Step::Issue, Step::Change, Step::Suspend]),
    row( 3, &[Step::Issue, Step::Cancel]),
    row( 1, &[Step::Issue, Step::Suspend, Step::Cancel]),
];

/// Longest life of the table, in steps.
pub(super) const STEPS_MAX: usize = 3;

impl Step {
    /// What the step asks of the service, as the table of transitions knows it.
    pub fn request(self) -> (Trigger, Need) {
        match self {
            Step::Draft => (Trigger::Create, Need::Preliminary),
            Step::Issue => (Trigger::Create, Need::Final),
            Step::Save => (Trigger::Update, Need::Preliminary),
            Step::Complete => (Trigger::Update, Need::Final),
            Step::Change => (Trigger::Update, Need::ChangeReason),
            Step::Suspend => (Trigger::Suspend, Need::Reason),
            Step::Cancel => (Trigger::Cancel, Need::Reason),
            Step::Delete => (Trigger::Delete, Need::Nothing),
        }
    }

    /// The state the step leads to.
    pub fn state(self) -> State {
        match self {
            Step::Draft | Step::Save => State::Draft,
            Step::Issue | Step::Complete | Step::Change => State::Completed,
            Step::Suspend => State::Suspended,
            Step::Cancel => State::Revoked,
            Step::Delete => State::Deleted,
        }
    }

    /// Working time that passes before the step, at most: drafts are finished within a week, mistakes found within weeks.
    fn delay_max(self) -> u64 {
        match self {
            Step::Draft | Step::Issue => 0,
            Step::Save => 3 * Tick::HOUR,
            Step::Complete => Tick::WEEK,
            Step::Delete => 2 * Tick::WEEK,
            Step::Change => 10 * Tick::WEEK,
            Step::Suspend | Step::Cancel => 16 * Tick::WEEK,
        }
    }

    /// Working time between the step before and this one; short ones are likelier.
    pub(super) fn delay(self, random: &mut Random) -> u64 {
        const MINUTE: u64 = Tick::HOUR / 60;
        match self.delay_max() {
            0 => 0,
            max => MINUTE + random.skewed(max),
        }
    }
}

/// A life out of the table, by its shares.
pub(super) fn draw(random: &mut Random) -> &'static [Step] {
    let mut left = random.below(100);
    for history in HISTORIES {
        if left < history.share {
            return history.steps;
        }
        left -= history.share;
    }
    unreachable!("the shares add up to 100")
}

#[cfg(test)]
mod tests {
    use super::*;
    use certificate::transition::decide;

    #[test]
    fn every_life_is_legal_by_the_table_of_transitions() {
        for history in HISTORIES {
            let mut state = None;
            for step in history.steps {
                let (trigger, need) = step.request();
                let next = decide(state, trigger, need).unwrap_or_else(|_| panic!("{step:?} after {state:?}"));
                assert_eq!(next, step.state());
                state = Some(next);
            }
        }
    }

    #[test]
    fn shares_make_a_hundred_and_lives_fit_their_bound() {
        assert_eq!(HISTORIES.iter().map(|history| history.share).sum::<u64>(), 100);
        assert_eq!(HISTORIES.iter().map(|history| history.steps.len()).max(), Some(STEPS_MAX));
        let versions: u64 = HISTORIES.iter().map(|history| history.share * history.steps.len() as u64).sum();
        assert!((130..150).contains(&versions), "{versions} versions of a hundred certificates");
        for state in State::ALL {
            assert!(HISTORIES.iter().any(|history| history.steps.last().unwrap().state() == state), "{state:?}");
        }
    }
}
