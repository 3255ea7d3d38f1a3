//! The codes of the value sets that R5 binds its elements to with strength `required`.
//!
//! They stand in `data/r5-codes.txt` (`data/r5-codes.py` explains its form).

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use super::language_tag;

const TEXT: &str = include_str!("../../../data/r5-codes.txt");

/// The codes of one value set.
#[derive(Debug)]
pub enum Codes {
    /// Each code system with its codes, these in order.
    Listed(Vec<(&'static str, Vec<&'static str>)>),
    /// All languages: the tags of BCP 47, of which no list is complete.
    Languages,
}

/// The value set of all languages.
const ALL_LANGUAGES: &str = "http://hl7.org/fhir/ValueSet/all-languages";

static VALUE_SETS: LazyLock<HashMap<&'static str, Codes>> = LazyLock::new(|| {
    let mut sets = HashMap::new();
    let mut open: Option<(&str, Vec<_>)> = None;
    for line in TEXT.lines().filter(|line| !line.starts_with('#')) {
        match line.strip_prefix(' ') {
            Some(codes) => {
                let mut words = codes.split(' ');
                let system = words.next().unwrap_or_default();
                let mut codes: Vec<_> = words.collect();
                codes.sort_unstable();
                if let Some((_, systems)) = &mut open {
                    systems.push((system, codes));
                }
            }
            None => {
                sets.extend(open.take().map(|(url, systems)| (url, Codes::Listed(systems))));
                // One that cannot be listed, such as all languages, has a question mark.
                open = (!line.ends_with(" ?")).then(|| (line, Vec::new()));
            }
        }
    }
    sets.extend(open.map(|(url, systems)| (url, Codes::Listed(systems))));
    sets.insert(ALL_LANGUAGES, Codes::Languages);
    sets
});

/// The codes of a value set, by its address without version. Nothing for one that can be neither listed nor told by a grammar, or that
/// R5 binds nothing to.
pub fn of(value_set: &str) -> Option<&'static Codes> {
    VALUE_SETS.get(value_set)
}

impl Codes {
    /// Whether some system of the value set has the code: what an element of type `code` asks.
    pub fn has_code(&self, code: &str) -> bool {
        match self {
            Codes::Listed(systems) => systems.iter().any(|(_, codes)| codes.binary_search(&code).is_ok()),
            Codes::Languages => language_tag::is_well_formed(code),
        }
    }

    /// Whether it holds the code of a system.
    pub fn has(&self, system: Option<&str>, code: &str) -> bool {
        let of_system = |known: &str| system == Some(known);
        match self {
            Codes::Listed(systems) => {
                systems.iter().any(|(known, codes)| of_system(known) && codes.binary_search(&code).is_ok())
            }
            Codes::Languages => of_system(language_tag::SYSTEM) && language_tag::is_well_formed(code),
        }
    }

    /// The system that gives an element of type `code` its meaning.
    pub fn system_of(&self, code: &str) -> Option<&'static str> {
        match self {
            Codes::Listed(systems) => {
                systems.iter().find(|(_, codes)| codes.binary_search(&code).is_ok()).map(|(system, _)| *system)
            }
            Codes::Languages => language_tag::is_well_formed(code).then_some(language_tag::SYSTEM),
        }
    }

    /// The codes in words, for messages: the first `max`, in order within each system.
    pub fn words(&self, max: usize) -> Cow<'static, str> {
        let Codes::Listed(systems) = self else { return "allowed are: tags of BCP 47 such as et or en-GB".into() };
        let mut codes = systems.iter().flat_map(|(_, codes)| codes.iter().copied());
        let mut listed: Vec<&str> = codes.by_ref().take(max).collect();
        listed.extend(codes.next().map(|_| "…"));
        format!("allowed are: {}", listed.join(", ")).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statuses_of_a_composition_are_known() {
        let statuses = of("http://hl7.org/fhir/ValueSet/composition-status").unwrap();
        assert!(statuses.has_code("final") && !statuses.has_code("Final") && !statuses.has_code(""));
        assert!(statuses.has(Some("http://hl7.org/fhir/composition-status"), "entered-in-error"));
        assert!(!statuses.has(None, "final") && !statuses.has(Some("http://other"), "final"));
    }

    #[test]
    fn what_cannot_be_listed_is_not_judged() {
        assert!(of("http://hl7.org/fhir/ValueSet/mimetypes").is_none());
        assert!(of("http://hl7.org/fhir/ValueSet/nothing").is_none());
    }

    #[test]
    fn a_language_is_judged_by_its_grammar() {
        let languages = of(ALL_LANGUAGES).unwrap();
        assert!(languages.has_code("et-EE") && !languages.has_code("zzzzz_12"));
        assert!(languages.has(Some("urn:ietf:bcp:47"), "et") && !languages.has(Some("http://other"), "et"));
        assert!(!languages.has(None, "et") && languages.system_of("et") == Some("urn:ietf:bcp:47"));
    }

    #[test]
    fn a_message_lists_the_first_codes_and_says_when_there_are_more() {
        let genders = of("http://hl7.org/fhir/ValueSet/administrative-gender").unwrap();
        assert_eq!(genders.words(4), "allowed are: female, male, other, unknown");
        assert_eq!(genders.words(3), "allowed are: female, male, other, …");
    }

    #[test]
    fn every_required_binding_of_the_element_table_is_listed_or_said_to_be_unlistable() {
        let elements = include_str!("../../../data/r5-elements.txt");
        for line in elements.lines().filter(|line| !line.starts_with('#')) {
            let Some((_, value_set)) = line.split_once(" =") else { continue };
            let unlistable = format!("\n{value_set} ?\n");
            assert!(of(value_set).is_some() || TEXT.contains(&unlistable), "{value_set}");
        }
    }
}
