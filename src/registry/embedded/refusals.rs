//! What the registry refuses, as its callers see it.

use std::borrow::Borrow;
use std::sync::Arc;

use crate::registry::NoAnswer;
use certificate::search::parameter::SHAPING;
use engine::StoreError;
use fhir::outcome::reflected::{ReflectedCode, find};
use fhir::outcome::{IssueChain, IssueSystems, Language};

/// Makes chains in the caller's language.
#[derive(Clone, Debug, Default)]
pub struct Refusals {
    language: Language,
    systems: Arc<IssueSystems>,
}

impl Refusals {
    pub fn new(language: Language, systems: impl Into<Arc<IssueSystems>>) -> Refusals {
        Refusals { language, systems: systems.into() }
    }

    /// One issue of the registry's own. `values` fill the places of its text.
    pub fn one(&self, code: &str, values: &[(&str, &str)]) -> IssueChain {
        let entry = known(code);
        let values: Vec<(&str, String)> = values.iter().map(|(name, value)| (*name, shown(value))).collect();
        let values: Vec<(&str, &str)> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
        IssueChain { status: entry.status, issues: vec![entry.issue(self.language, &values, &self.systems)] }
    }

    /// A search by a parameter that there is none of; which there are stands in `diagnostics`.
    pub(super) fn unknown_parameter(&self, name: &str, known: &[&str]) -> IssueChain {
        let mut chain = self.one("MPI-015", &[]);
        let known = known.iter().chain(SHAPING).copied().collect::<Vec<_>>().join(", ");
        chain.issues[0].diagnostics = Some(format!("unknown search parameter '{name}'; known are: {known}"));
        chain
    }

    /// The whole chain in which an error of a service behind the registry arrives.
    pub fn chain(&self, code: &str) -> IssueChain {
        IssueChain::of(&known(code).chain(), self.language, &self.systems)
    }
}

/// The store below the registry fails: for its callers the registry is not there, unless what they ask for is damaged.
pub(super) fn unreadable(error: impl Borrow<StoreError>) -> NoAnswer {
    let error = error.borrow();
    match error {
        StoreError::Damaged(_) => NoAnswer::Damaged(error.to_string()),
        _ => NoAnswer::Unreachable(error.to_string()),
    }
}

/// What came from outside, as a text of FHIR and no longer than it takes to know it again.
fn shown(value: &str) -> String {
    let mut shown: String =
        value.chars().take(200).map(|one| if one.is_control() { '\u{fffd}' } else { one }).collect();
    if value.chars().nth(200).is_some() {
        shown.push('…');
    }
    shown
}

fn known(code: &str) -> &'static ReflectedCode {
    find(code).expect("a test finds every code that the registry uses in the catalogue")
}
