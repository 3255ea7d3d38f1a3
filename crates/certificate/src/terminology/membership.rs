//! Whether a code belongs to a value set, as far as the lists at hand tell. Contract 8.3.

use std::collections::HashMap;

use super::value_set::{Include, ValueSet};
use super::{ListHeader, Terminology};

/// What is known of a code and a value set, in the order of certainty that it belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Membership {
    /// The code does not belong to the value set.
    NotMember,
    /// It cannot be judged: the list is known only in part, or not at hand. Worth a warning, never an error.
    Unknown,
    /// The code belongs to the value set.
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
            None => set.composed.systems.iter().map(|system| of(system)).max().unwrap_or(Membership::NotMember),
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
        MembershipQuery { terminology: self, system, code, certainty, known: HashMap::new() }.holds(set)
    }
}

/// One code, looked for in value sets: what was found of an imported one is remembered, so that each is looked at once however many
/// import it.
struct MembershipQuery<'q> {
    terminology: &'q Terminology,
    system: &'q str,
    code: &'q str,
    certainty: Certainty,
    known: HashMap<&'q str, Membership>,
}

impl<'q> MembershipQuery<'q> {
    fn holds(&mut self, set: &'q ValueSet) -> Membership {
        let included = self.any(&set.include, !self.certainty.of(&set.about));
        included.min(self.any(&set.exclude, false).not())
    }

    fn any(&mut self, parts: &'q [Include], is_open: bool) -> Membership {
        let mut best = Membership::NotMember;
        for part in parts {
            best = best.max(self.part(part, is_open));
            if best == Membership::Member {
                break;
            }
        }
        best
    }

    /// `is_open`: the codes that the part lists are not all of them.
    fn part(&mut self, part: &'q Include, is_open: bool) -> Membership {
        let MembershipQuery { terminology, system, code, certainty, .. } = *self;
        let mut found = match (&part.system, &part.concepts) {
            (None, _) => Membership::Member,
            (Some(own), _) if own != system => Membership::NotMember,
            (Some(_), None) => terminology.member_of_system(system, code, certainty),
            (Some(_), Some(listed)) if listed.find(code).is_some() => Membership::Member,
            (Some(_), Some(_)) if !is_open => Membership::NotMember,
            // The list may lack a code of the system, but none that the system does not have.
            (Some(_), Some(_)) => terminology.member_of_system(system, code, certainty).min(Membership::Unknown),
        };
        for url in &part.imports {
            if found == Membership::NotMember {
                break;
            }
            found = found.min(self.imported(url));
        }
        found
    }

    fn imported(&mut self, url: &'q str) -> Membership {
        if let Some(known) = self.known.get(url) {
            return *known;
        }
        let found = self.terminology.value_sets.get(url).map_or(Membership::Unknown, |set| self.holds(set));
        self.known.insert(url, found);
        found
    }
}
