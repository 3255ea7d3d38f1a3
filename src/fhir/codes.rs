//! The codes of the value sets that R5 binds its elements to with strength `required`.
//!
//! They stand in `data/r5-codes.txt` (`data/r5-codes.py` explains its form).

use std::collections::HashMap;
use std::sync::LazyLock;

const TEXT: &str = include_str!("../../data/r5-codes.txt");

/// The codes of one value set.
#[derive(Debug)]
pub struct Codes {
    /// Code system and its codes.
    systems: Vec<(&'static str, Vec<&'static str>)>,
}

static VALUE_SETS: LazyLock<HashMap<&'static str, Codes>> = LazyLock::new(|| {
    let mut sets = HashMap::new();
    let mut open: Option<(&str, Codes)> = None;
    for line in TEXT.lines().filter(|line| !line.starts_with('#')) {
        match line.strip_prefix(' ') {
            Some(codes) => {
                let mut words = codes.split(' ');
                let system = words.next().unwrap_or_default();
                let mut codes: Vec<_> = words.collect();
                codes.sort_unstable();
                if let Some((_, set)) = &mut open {
                    set.systems.push((system, codes));
                }
            }
            None => {
                sets.extend(open.take());
                // One that cannot be listed, such as all languages, has a question mark.
                open = (!line.ends_with(" ?")).then(|| (line, Codes { systems: Vec::new() }));
            }
        }
    }
    sets.extend(open);
    sets
});

/// The codes of a value set, by its address without version. Nothing for one that cannot be listed, or that R5 binds nothing to.
pub fn of(value_set: &str) -> Option<&'static Codes> {
    VALUE_SETS.get(value_set)
}

impl Codes {
    /// Whether some system of the value set has the code: what an element of type `code` asks.
    pub fn has_code(&self, code: &str) -> bool {
        self.systems.iter().any(|(_, codes)| codes.binary_search(&code).is_ok())
    }

    /// Whether it holds the code of a system.
    pub fn has(&self, system: Option<&str>, code: &str) -> bool {
        let of_system = |known: &str| system == Some(known);
        self.systems.iter().any(|(known, codes)| of_system(known) && codes.binary_search(&code).is_ok())
    }

    /// The system that gives an element of type `code` its meaning.
    pub fn system_of(&self, code: &str) -> Option<&'static str> {
        self.systems.iter().find(|(_, codes)| codes.binary_search(&code).is_ok()).map(|(system, _)| *system)
    }

    /// All codes, in order within each system.
    pub fn codes(&self) -> impl Iterator<Item = &'static str> {
        self.systems.iter().flat_map(|(_, codes)| codes.iter().copied())
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
        assert!(of("http://hl7.org/fhir/ValueSet/all-languages").is_none());
        assert!(of("http://hl7.org/fhir/ValueSet/nothing").is_none());
    }

    #[test]
    fn every_required_binding_of_the_element_table_is_listed_or_said_to_be_unlistable() {
        let elements = include_str!("../../data/r5-elements.txt");
        for line in elements.lines().filter(|line| !line.starts_with('#')) {
            let Some((_, value_set)) = line.split_once(" =") else { continue };
            let unlistable = format!("\n{value_set} ?\n");
            assert!(of(value_set).is_some() || TEXT.contains(&unlistable), "{value_set}");
        }
    }
}
