//! The lives a certificate can lead, from its creation to where it stands at the end.

use super::calendar::Tick;
use super::random::RandomStream;
use certificate::State;
use certificate::transition::{Need, Trigger};

/// One change of a certificate, leading to one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifeStep {
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
pub(super) struct LifePattern {
    pub share: u64,
    pub steps: &'static [LifeStep],
}

const fn row(share: u64, steps: &'static [LifeStep]) -> LifePattern {
    LifePattern { share, steps }
}

/// Shares add up to 100; together they make 1.38 versions a certificate.
#[rustfmt::skip]
pub(super) const HISTORIES: &[LifePattern] = &[
    row(60, &[LifeStep::Issue]),
    row(12, &[LifeStep::Draft, LifeStep::Complete]),
    row( 2, &[LifeStep::Draft, LifeStep::Save, LifeStep::Complete]),
    row( 6, &[LifeStep::Issue, LifeStep::Change]),
    row( 1, &[LifeStep::Issue, LifeStep::Change, LifeStep::Change]),
    row( 7, &[LifeStep::Draft]),
    row( 2, &[LifeStep::Draft, LifeStep::Save]),
    row( 2, &[LifeStep::Draft, LifeStep::Delete]),
    row( 3, &[LifeStep::Issue, LifeStep::Suspend]),
    row( 1, &[LifeStep::Issue, LifeStep::Change, LifeStep::Suspend]),
    row( 3, &[LifeStep::Issue, LifeStep::Cancel]),
    row( 1, &[LifeStep::Issue, LifeStep::Suspend, LifeStep::Cancel]),
];

/// Longest life of the table, in steps.
pub(super) const STEPS_MAX: usize = 3;

impl LifeStep {
    /// What the step asks of the service, as the table of transitions knows it.
    pub fn request(self) -> (Trigger, Need) {
        match self {
            LifeStep::Draft => (Trigger::Create, Need::Preliminary),
            LifeStep::Issue => (Trigger::Create, Need::Final),
            LifeStep::Save => (Trigger::Update, Need::Preliminary),
            LifeStep::Complete => (Trigger::Update, Need::Final),
            LifeStep::Change => (Trigger::Update, Need::ChangeReason),
            LifeStep::Suspend => (Trigger::Suspend, Need::Reason),
            LifeStep::Cancel => (Trigger::Cancel, Need::Reason),
            LifeStep::Delete => (Trigger::Delete, Need::Nothing),
        }
    }

    /// The state the step leads to.
    pub fn state(self) -> State {
        match self {
            LifeStep::Draft | LifeStep::Save => State::Draft,
            LifeStep::Issue | LifeStep::Complete | LifeStep::Change => State::Completed,
            LifeStep::Suspend => State::Suspended,
            LifeStep::Cancel => State::Revoked,
            LifeStep::Delete => State::Deleted,
        }
    }

    /// Working time that passes before the step, at most: drafts are finished within a week, mistakes found within weeks.
    fn delay_max(self) -> u64 {
        match self {
            LifeStep::Draft | LifeStep::Issue => 0,
            LifeStep::Save => 3 * Tick::HOUR,
            LifeStep::Complete => Tick::WEEK,
            LifeStep::Delete => 2 * Tick::WEEK,
            LifeStep::Change => 10 * Tick::WEEK,
            LifeStep::Suspend | LifeStep::Cancel => 16 * Tick::WEEK,
        }
    }

    /// Working time between the step before and this one; short ones are likelier.
    pub(super) fn delay(self, random: &mut RandomStream) -> u64 {
        const MINUTE: u64 = Tick::HOUR / 60;
        match self.delay_max() {
            0 => 0,
            max => MINUTE + random.skewed(max),
        }
    }
}

/// A life out of the table, by its shares.
pub(super) fn draw(random: &mut RandomStream) -> &'static [LifeStep] {
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
