//! What a value set holds, code by code, and in words for messages.

use std::collections::HashSet;
use std::fmt::Write;

use super::concept::Concept;
use super::term::in_language;
use super::value_set::Include;
use super::{Certainty, ListHeader, Membership, Terminology, ValueSet};
use crate::DisplayTerms;
use fhir::json::Json;

/// Codes that a message lists. More than twenty nobody reads.
pub(super) const ALLOWED_CODES_MAX: usize = 20;

/// A code with everything the lists at hand say of it.
#[derive(Clone, Copy, Debug)]
pub struct Coded<'t> {
    /// Canonical address of the code system.
    pub system: &'t str,
    /// As the value set lists it.
    listed: Option<(&'t ListHeader, &'t Concept)>,
    /// As its code system has it.
    own: Option<(&'t ListHeader, &'t Concept)>,
}

impl<'t> Coded<'t> {
    /// The code itself, as `Coding.code`.
    pub fn code(&self) -> &'t str {
        self.sources().next().map_or("", |(_, concept)| concept.code.as_str())
    }

    /// The value set's words come first.
    fn sources(&self) -> impl Iterator<Item = (&'t ListHeader, &'t Concept)> + use<'t> {
        self.listed.into_iter().chain(self.own)
    }

    /// Its name, in the language asked for where a list has one.
    pub fn display(&self, language: Option<&str>) -> Option<&'t str> {
        let in_language =
            |language: &str| self.sources().find_map(|(about, concept)| in_language(about, concept, language));
        let any = || self.sources().find_map(|(_, concept)| concept.display.as_deref());
        language.and_then(in_language).or_else(any)
    }

    /// Its names in all languages.
    pub fn designations(&self) -> impl Iterator<Item = &'t Json<'static>> + use<'t> {
        self.sources().flat_map(|(_, concept)| &concept.designations)
    }

    /// Whether a text is one of its names; capitals do not count.
    pub fn is_called(&self, name: &str) -> bool {
        let name = name.trim().to_lowercase();
        let displays = self.sources().filter_map(|(_, concept)| concept.display.as_deref());
        let others = self.designations().filter_map(|designation| designation.text("value"));
        displays.chain(others).any(|known| known.to_lowercase() == name)
    }

    /// Whether its code or one of its names holds a text; capitals do not count. `part` is in small letters.
    pub fn holds(&self, part: &str) -> bool {
        let displays = self.sources().filter_map(|(_, concept)| concept.display.as_deref());
        let others = self.designations().filter_map(|designation| designation.text("value"));
        displays.chain(others).chain([self.code()]).any(|known| known.to_lowercase().contains(part))
    }
}

impl Terminology {
    /// What the lists say of a code in a value set; nothing when none of them has it.
    pub fn coded<'t>(&'t self, set: Option<&'t ValueSet>, system: &str, code: &str) -> Option<Coded<'t>> {
        let own = self.code_systems.get(system).and_then(|own| Some((&own.about, own.find(code)?)));
        let code = own.map_or(code, |(_, concept)| &concept.code);
        let parts = set.into_iter().flat_map(|set| set.include.iter().map(move |part| (&set.about, part)));
        let listed = parts.filter(|(_, part)| part.system.as_deref() == Some(system)).find_map(|(about, part)| {
            let concept = part.concepts.as_ref()?.find(code)?;
            Some((part.system.as_deref()?, about, concept))
        });
        let system = match (own, listed) {
            (Some((about, _)), _) => &about.url,
            (None, Some((system, ..))) => system,
            (None, None) => return None,
        };
        Some(Coded { system, listed: listed.map(|(_, about, concept)| (about, concept)), own })
    }

    /// Every code of a value set that is known, in the order of its `compose`.
    ///
    /// # Errors
    /// The address of a code system that belongs to it as a whole and is not at hand.
    pub fn expand<'t>(&'t self, set: &'t ValueSet) -> Result<Vec<Coded<'t>>, &'t str> {
        let mut found = Vec::new();
        self.candidates(set, &mut found, &mut HashSet::new())?;
        let mut seen = HashSet::new();
        found.retain(|coded: &Coded| {
            let certain = self.member(set, Some(coded.system), coded.code(), Certainty::Claim) == Membership::Member;
            certain && seen.insert((coded.system, coded.code()))
        });
        Ok(found)
    }

    /// Whether a value set may hold more codes than are known.
    pub fn is_open(&self, set: &ValueSet) -> bool {
        set.composed.is_open
    }

    /// Codes that an expansion looks at, each as often as it is met.
    pub fn size_of(&self, set: &ValueSet) -> usize {
        set.composed.size
    }

    /// More codes than belong to it: those that exclusions and further conditions leave out are still among them.
    /// An imported value set is looked at once, however many import it, and so is a code system that belongs as a whole: there are never
    /// more than the lists at hand hold together.
    pub(super) fn candidates<'t>(
        &'t self,
        set: &'t ValueSet,
        found: &mut Vec<Coded<'t>>,
        met: &mut HashSet<&'t str>,
    ) -> Result<(), &'t str> {
        for Include { system, concepts, imports } in &set.include {
            match (system, concepts) {
                (Some(system), Some(listed)) => found.extend(listed.all.iter().map(|concept| {
                    let own = self.code_systems.get(system.as_str());
                    let own = own.and_then(|own| Some((&own.about, own.find(&concept.code)?)));
                    Coded { system, listed: Some((&set.about, concept)), own }
                })),
                (Some(system), None) => {
                    let own = self.code_systems.get(system.as_str()).ok_or(system.as_str())?;
                    if !met.insert(&own.about.url) {
                        continue;
                    }
                    let coded = |concept| Coded { system, listed: None, own: Some((&own.about, concept)) };
                    found.extend(own.concepts().iter().map(coded));
                }
                // What is in all of the imported value sets is in the first of them.
                (None, _) => {
                    if let Some(imported) = imports.first().and_then(|url| self.value_sets.get(url))
                        && met.insert(&imported.about.url)
                    {
                        self.candidates(imported, found, met)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// What a value set allows, for messages: whether more is allowed than is known here, its code systems, and its codes as far as they
    /// are known and not too many, each with its term. Empty when the value set is not at hand.
    pub fn allowed(&self, value_set: &str) -> String {
        let Some(set) = self.value_set(value_set) else { return String::new() };
        let codes = self.expand(set).unwrap_or_default();
        let mut words = String::from(if self.is_open(set) { "known here are: " } else { "allowed are: " });
        for (number, system) in set.composed.systems.iter().enumerate() {
            let _ = write!(words, "{}{system}", if number == 0 { "" } else { "; " });
            let of_system = codes.iter().take(ALLOWED_CODES_MAX).filter(|coded| coded.system == system);
            for (number, coded) in of_system.enumerate() {
                let _ = write!(words, "{} {}", if number == 0 { ":" } else { "," }, coded.code());
                if let Some(term) =
                    DisplayTerms::term(self, system, coded.code()).or_else(|| self.other_words(system, coded.code()))
                {
                    let _ = write!(words, " ({term})");
                }
            }
        }
        if let Some(more @ 1..) = codes.len().checked_sub(ALLOWED_CODES_MAX) {
            let _ = write!(words, " … and {more} more");
        }
        words
    }
}
