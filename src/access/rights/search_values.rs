//! Whether the values a search names lie within the caller's rights: one that does not is refused, so that an empty page never hides
//! that the question was not allowed.
//!
//! Source: Contract 7.4.

use super::permissions::{Grant, PermittedAction};
use super::{OwnPatient, Rights};
use certificate::State;
use certificate::search::filter::TokenTest;
use certificate::search::narrow::PositiveValues;
use certificate::search::parameter::Field;
use certificate::search::term::{Term, TermForm};

impl Rights {
    /// The parameter whose value lies outside of what a permission reaches, as far as that is known without asking the registry.
    pub fn outside(&self, what: PermittedAction, asked: &PositiveValues) -> Option<&'static str> {
        let refused = |admits: &dyn Fn(&Grant) -> bool| !self.granting(what).any(admits);
        if asked.states.iter().any(|state| refused(&|grant| admits_state(grant, *state))) {
            return Some("status");
        }
        if asked.categories.iter().any(|test| refused(&|grant| self.admits_category(grant, test))) {
            return Some("category");
        }
        if asked.employers.iter().any(|text| refused(&|grant| self.admits_employer(grant, text))) {
            return Some("section-code-text");
        }
        // Somebody else's personal code is known to be one.
        let own = |system: Option<&str>, value: &str| {
            system.is_some_and(|system| system != self.systems.estonian_code)
                || self.identity.patient.as_deref() == Some(value)
        };
        let identifiers = asked.identifiers.iter();
        let others = identifiers.filter(|identifier| !own(identifier.system.as_deref(), &identifier.value));
        let foreign = others.into_iter().any(|_| refused(&|grant| !grant.rows.own_patient));
        foreign.then_some("subject:Patient.identifier")
    }

    /// The same for what is known once the registry said who the token's patient is.
    pub fn outside_own(&self, what: PermittedAction, asked: &PositiveValues, own: &OwnPatient) -> Option<&'static str> {
        let refused = |is_own: bool| !self.granting(what).any(|grant| is_own || !grant.rows.own_patient);
        let terms: Vec<Term> =
            own.ids.iter().map(|id| Term::new(Field::Subject, TermForm::Code, &["Patient/", id].concat())).collect();
        if asked.subjects.iter().any(|subject| refused(terms.contains(subject))) {
            return Some("subject");
        }
        let is_own = |system: Option<&str>, value: &str| {
            let by_code = system.is_none_or(|system| system == self.systems.estonian_code)
                && self.identity.patient.as_deref() == Some(value);
            by_code || own.identifiers.iter().any(|(known, own)| system == Some(known) && own == value)
        };
        let mut identifiers = asked.identifiers.iter();
        let foreign = identifiers.any(|asked| refused(is_own(asked.system.as_deref(), &asked.value)));
        foreign.then_some("subject:Patient.identifier")
    }

    fn admits_category(&self, grant: &Grant, test: &TokenTest) -> bool {
        let Some(codes) = &grant.rows.categories else { return true };
        match test {
            TokenTest::Code(code) => codes.contains(code),
            TokenTest::SystemCode(system, code) => **system == *self.systems.category && codes.contains(code),
            TokenTest::System(system) => **system == *self.systems.category,
            TokenTest::CodeWithoutSystem(_) => false,
            TokenTest::Present => true,
        }
    }

    fn admits_employer(&self, grant: &Grant, text: &str) -> bool {
        !grant.rows.own_employer || self.identity.represented_party.as_deref() == Some(text)
    }
}

fn admits_state(grant: &Grant, state: State) -> bool {
    grant.rows.states.as_ref().is_none_or(|states| states.contains(&state))
}
