//! A code system: the codes of one address.

use super::about::{ListHeader, ListOrigin, ListPlace};
use super::concept::{Concept, Concepts};
use fhir::json::Json;

/// A code system at hand.
#[derive(Debug)]
pub struct CodeSystem {
    /// The code system without its codes.
    pub about: ListHeader,
    concepts: Concepts,
}

impl CodeSystem {
    /// Reads a resource whose form was checked.
    ///
    /// # Errors
    /// Everything that keeps it from being used.
    pub(super) fn read(resource: Json<'static>, place: ListPlace) -> Result<CodeSystem, Vec<String>> {
        let mut problems = super::file::address_problems(&resource);
        if resource.get("supplements").is_some() {
            problems.push("supplements of another code system are not taken".to_owned());
        }
        // A system that ships may be known by its address alone. What an operator loads is loaded for its codes.
        let may_be_empty = place.origin == ListOrigin::Shipped && resource.text("content") == Some("not-present");
        let is_complete = match resource.text("content") {
            Some("complete") => true,
            Some("fragment") => false,
            Some("not-present") if may_be_empty => false,
            other => {
                let found = other.unwrap_or("nothing");
                problems.push(format!("content is {found}; a list is taken when it is complete or a fragment"));
                false
            }
        };
        if resource.items("concept").is_empty() && !may_be_empty {
            problems.push("it has no concept".to_owned());
        }
        let ignores_case = resource.get("caseSensitive") == Some(&Json::Bool(false));
        let concepts = Concepts::read(&resource, ignores_case, "", &mut problems);
        if !problems.is_empty() {
            return Err(super::file::named(&resource, problems));
        }
        Ok(CodeSystem { about: ListHeader::new("CodeSystem", resource, place, is_complete), concepts })
    }

    /// A code, capitals ignored where the code system says so.
    pub fn find(&self, code: &str) -> Option<&Concept> {
        self.concepts.find(code)
    }

    /// Every code, those that are nested behind those they belong to.
    pub fn concepts(&self) -> &[Concept] {
        &self.concepts.all
    }

    pub(super) fn ignores_case(&self) -> bool {
        self.concepts.ignores_case
    }

    pub(super) fn concepts_count(&self) -> usize {
        self.concepts.all.len()
    }
}
