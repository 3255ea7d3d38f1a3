//! Whether a code belongs to a value set, as far as the lists at hand tell. Contract 8.3.

use super::value_set::{Include, ValueSet};
use super::{ListHeader, Terminology};

/// What is known of a code and a value set, in the order of certainty that it belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Membership {
    NotMember,
    /// It cannot be judged: the list is known only in part, or not at hand. Worth a warning, never an error.
    Unknown,
    Member,
}

/// When a code that a list does not hold is told to be none of its codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// When the list refuses it: what certificates are judged by.
    Refusal,
    /// When the list says that it is complete: what callers are told who ask for the list itself.
    Claim,
}

impl Certainty {
    fn of(self, about: &ListHeader) -> bool {
        match self {
            Certainty::Refusal => about.refuses,
            Certainty::Claim => about.is_complete,
        }
    }
}

impl Membership {
    fn not(self) -> Membership {
        match self {
            Membership::NotMember => Membership::Member,
            Membership::Unknown => Membership::Unknown,
            Membership::Member => Membership::NotMember,
        }
    }
}

impl Terminology {
    /// Whether a certificate may have a code where this value set is required. `value_set` is a canonical address, whose `|version` is
    /// passed over. Without `system` the code is one of any system of the value set, as values of type `code` are.
    pub fn judge(&self, value_set: &str, system: Option<&str>, code: &str) -> Membership {
        match self.value_set(value_set) {
            Some(set) => self.member(set, system, code, Certainty::Refusal),
            None => Membership::Unknown,
        }
    }

    /// Whether a code belongs to a value set.
    pub fn member(&self, set: &ValueSet, system: Option<&str>, code: &str, certainty: Certainty) -> Membership {
        let of = |system: &str| {
            // The code system's own spelling, where capitals do not count.
            let concept = match self.any_ignores_case {
                true => self.code_systems.get(system).and_then(|own| own.find(code)),
                false => None,
            };
            self.holds(set, system, concept.map_or(code, |concept| &concept.code), certainty)
        };
        match system {
            Some(system) => of(system),
            None => set.systems.iter().map(|system| of(system)).max().unwrap_or(Membership::NotMember),
        }
    }

    /// Whether a code is one of a code system; unknown when that is not at hand.
    pub fn member_of_system(&self, system: &str, code: &str, certainty: Certainty) -> Membership {
        match self.code_systems.get(system) {
            None => Membership::Unknown,
            Some(own) if own.find(code).is_some() => Membership::Member,
            Some(own) if certainty.of(&own.about) => Membership::NotMember,
            Some(_) => Membership::Unknown,
        }
    }

    fn holds(&self, set: &ValueSet, system: &str, code: &str, certainty: Certainty) -> Membership {
        let any = |parts: &[Include], is_open: bool| {
            let mut best = Membership::NotMember;
            for part in parts {
                best = best.max(self.part(part, is_open, system, code, certainty));
                if best == Membership::Member {
                    break;
                }
            }
            best
        };
        let included = any(&set.include, !certainty.of(&set.about));
        included.min(any(&set.exclude, false).not())
    }

    /// `is_open`: the codes that the part lists are not all of them.
    fn part(&self, part: &Include, is_open: bool, system: &str, code: &str, certainty: Certainty) -> Membership {
        let own = match (&part.system, &part.concepts) {
            (None, _) => Membership::Member,
            (Some(own), _) if own != system => Membership::NotMember,
            (Some(_), None) => self.member_of_system(system, code, certainty),
            (Some(_), Some(listed)) if listed.find(code).is_some() => Membership::Member,
            (Some(_), Some(_)) if !is_open => Membership::NotMember,
            // The list may lack a code of the system, but none that the system does not have.
            (Some(_), Some(_)) => self.member_of_system(system, code, certainty).min(Membership::Unknown),
        };
        let imported = part.imports.iter().map(|url| match self.value_sets.get(url) {
            Some(set) => self.holds(set, system, code, certainty),
            None => Membership::Unknown,
        });
        imported.fold(own, Membership::min)
    }
}
