//! Codes with their displays, found by code.

use std::collections::HashMap;

use fhir::json::Json;

/// One code.
#[derive(Debug)]
pub struct Concept {
    /// `code` as the list has it.
    pub code: String,
    /// `display`, where the list has one.
    pub display: Option<String>,
    /// `definition`, where the list has one.
    pub definition: Option<String>,
    /// `designation` as the list has it.
    pub designations: Vec<Json<'static>>,
    /// `property` as the list has it.
    pub properties: Vec<Json<'static>>,
    /// Where the concept above it stands.
    pub parent: Option<usize>,
}

impl Concept {
    fn read(concept: &Json<'static>, parent: Option<usize>) -> Option<Concept> {
        let text = |name: &str| concept.text(name).map(str::to_owned);
        let code = text("code")?;
        let (designations, properties) = (concept.items("designation").to_vec(), concept.items("property").to_vec());
        Some(Concept {
            code,
            display: text("display"),
            definition: text("definition"),
            designations,
            properties,
            parent,
        })
    }

    /// Its name in a language, as far as the list has one.
    pub fn designation(&self, language: &str) -> Option<&str> {
        let is = |designation: &&Json| designation.text("language").is_some_and(|own| speaks(own, language));
        self.designations.iter().find(is)?.text("value")
    }
}

/// Whether a language tag is of a language: `en-GB` of `en`.
pub(super) fn speaks(tag: &str, language: &str) -> bool {
    let main = |tag: &str| tag.split('-').next().unwrap_or_default().to_ascii_lowercase();
    tag.eq_ignore_ascii_case(language) || main(tag) == main(language)
}

/// The codes of a list in its order, each once.
#[derive(Debug, Default)]
pub(super) struct Concepts {
    pub all: Vec<Concept>,
    places: HashMap<Box<str>, usize>,
    /// Codes differ by more than capitals.
    pub ignores_case: bool,
}

impl Concepts {
    /// Reads `concept`, nested ones behind those they belong to.
    pub(super) fn read(list: &Json<'static>, ignores_case: bool, path: &str, problems: &mut Vec<String>) -> Concepts {
        let mut concepts = Concepts { ignores_case, ..Concepts::default() };
        concepts.add(list, None, path, problems);
        concepts
    }

    fn add(&mut self, list: &Json<'static>, parent: Option<usize>, path: &str, problems: &mut Vec<String>) {
        for (number, concept) in list.items("concept").iter().enumerate() {
            let path = format!("{path}concept[{number}]");
            let at = self.all.len();
            match Concept::read(concept, parent) {
                None => problems.push(format!("{path} has no code")),
                Some(read) => {
                    let before = self.places.insert(self.key(&read.code).into(), at);
                    if before.is_some() {
                        problems.push(format!("{path}: the code '{}' stands twice", read.code));
                    }
                    self.all.push(read);
                    self.add(concept, Some(at), &format!("{path}."), problems);
                }
            }
        }
    }

    fn key(&self, code: &str) -> String {
        if self.ignores_case { code.to_lowercase() } else { code.to_owned() }
    }

    pub(super) fn find(&self, code: &str) -> Option<&Concept> {
        let place =
            if self.ignores_case { self.places.get(code.to_lowercase().as_str()) } else { self.places.get(code) };
        place.map(|at| &self.all[*at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_covers_its_regions() {
        assert!(speaks("en-GB", "en") && speaks("EN", "en") && speaks("et", "et-EE"));
        assert!(!speaks("est", "et") && !speaks("en", "et"));
    }
}
