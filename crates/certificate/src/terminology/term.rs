//! From a code to its words: for narratives, `$lookup` and messages.

use std::collections::HashMap;

use super::canonical::without_version;
use super::concept::{Concept, speaks};
use super::{ListHeader, Terminology};
use crate::DisplayTerms;
use fhir::outcome::Language;

/// Estonian, as lists name it.
pub const ESTONIAN: &str = "et";

/// What a list calls a code in a language. A list without a language is taken to be in the requested one. Decision 142.
pub(super) fn in_language<'t>(about: &ListHeader, concept: &'t Concept, language: &str) -> Option<&'t str> {
    let display = concept.display.as_deref();
    match &about.language {
        Some(own) if speaks(own, language) => display,
        Some(_) => concept.designation(language),
        None => concept.designation(language).or(display),
    }
}

impl Terminology {
    /// The term of a code in a language (BCP 47): what its code system says, else the first value set, by address, that lists the code
    /// with such a term. Decision 142.
    pub fn term(&self, system: &str, code: &str, language: &str) -> Option<&str> {
        self.first(system, code, |about, concept| in_language(about, concept, language))
    }

    /// As [`term`](Self::term), else the display in whatever language a list has.
    pub fn display(&self, system: &str, code: &str, language: Option<&str>) -> Option<&str> {
        let any = || self.first(system, code, |_, concept| concept.display.as_deref());
        language.and_then(|language| self.term(system, code, language)).or_else(any)
    }

    /// What the first list with an answer says: the code system of a code, then the value sets that list the code.
    fn first<'t, T>(
        &'t self,
        system: &str,
        code: &str,
        pick: impl Fn(&'t ListHeader, &'t Concept) -> Option<T>,
    ) -> Option<T> {
        let system = without_version(system);
        let own = self.code_systems.get(system).and_then(|own| Some((&own.about, own.find(code)?)));
        let code = own.map_or(code, |(_, concept)| &concept.code);
        let listed = |(url, part): &(String, usize)| {
            let set = &self.value_sets[url];
            pick(&set.about, set.include[*part].concepts.as_ref()?.find(code)?)
        };
        let in_value_set = || self.listings.get(system)?.iter().find_map(listed);
        own.and_then(|(about, concept)| pick(about, concept)).or_else(in_value_set)
    }

    /// Where the codes of each code system are listed.
    pub(super) fn find_listings(&mut self) {
        let mut listings = HashMap::<String, Vec<(String, usize)>>::new();
        for (url, set) in &self.value_sets {
            for (at, part) in set.include.iter().enumerate().filter(|(_, part)| part.concepts.is_some()) {
                listings.entry(part.system.clone().unwrap_or_default()).or_default().push((url.clone(), at));
            }
        }
        listings.values_mut().for_each(|found| found.sort());
        self.listings = listings;
    }

    /// A property of a code that is a text.
    fn property(&self, system: &str, code: &str, name: &str) -> Option<&str> {
        let concept = self.code_system(system)?.find(code)?;
        let property = concept.properties.iter().find(|property| property.text("code") == Some(name))?;
        property.text("valueString")
    }
}

impl Terminology {
    /// Its words in a language.
    pub fn words_in(&self, language: Language) -> TermsIn<'_> {
        let language = match language {
            Language::Estonian => ESTONIAN,
            Language::English => "en",
        };
        TermsIn { terminology: self, language }
    }
}

/// The words of all lists in one language.
#[derive(Clone, Copy, Debug)]
pub struct TermsIn<'t> {
    terminology: &'t Terminology,
    language: &'static str,
}

impl DisplayTerms for TermsIn<'_> {
    fn term(&self, system: &str, code: &str) -> Option<&str> {
        self.terminology.term(system, code, self.language)
    }

    fn other_words(&self, system: &str, code: &str) -> Option<&str> {
        self.terminology.other_words(system, code)
    }

    fn unit(&self, system: &str, code: &str) -> Option<&str> {
        self.terminology.unit(system, code)
    }

    fn title(&self, system: &str) -> Option<&str> {
        self.terminology.title(system)
    }
}

impl DisplayTerms for Terminology {
    fn term(&self, system: &str, code: &str) -> Option<&str> {
        Terminology::term(self, system, code, ESTONIAN)
    }

    fn other_words(&self, system: &str, code: &str) -> Option<&str> {
        self.display(system, code, None).or_else(|| self.property(system, code, "meaning"))
    }

    fn unit(&self, system: &str, code: &str) -> Option<&str> {
        self.property(system, code, "unit")
    }

    fn title(&self, system: &str) -> Option<&str> {
        self.code_system(system).map(|list| list.about.title.as_str())
    }
}
