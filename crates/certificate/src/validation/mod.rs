//! The validator: whether a certificate follows FHIR R5 and its use-case profile. Every problem is told, each with its element.
//!
//! Profiles are StructureDefinitions; they are read into rules at the start, and one walk over a body asks R5's own rules and
//! theirs. Form (names, kinds and formats of values) is checked before, by [`fhir::shape`].
//!
//! Source: Contract 8; FHIR R5 `profiling.html`, `validation.html`.

mod coded;
mod invariant;
mod read;
mod reference;
mod rules;
mod slice;
#[cfg(test)]
mod tests;
mod validator;
mod value;
mod walk;

use crate::Names;
use crate::definitions;
use crate::terminology::Terminology;
use fhir::fhirpath;
use fhir::json::Json;
pub use read::ProfileError;
pub use rules::ProfileRules;
pub use validator::{ValidationFindings, Validator};

impl Validator {
    /// The validator of this service's own profiles.
    ///
    /// # Errors
    /// A profile uses something that cannot be checked.
    pub fn new(names: &Names) -> Result<Validator, ProfileError> {
        let definitions: Vec<Json> =
            definitions::of_type("StructureDefinition").map(|definition| definition.read(names)).collect();
        Validator::of(&definitions)
    }

    /// The validator of any profiles.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of(definitions: &[Json<'static>]) -> Result<Validator, ProfileError> {
        let read::Profiles { profiles, rule_names } = read::read(definitions)?;
        Ok(Validator { profiles, rule_names })
    }

    /// A profile by its canonical address; a `|version` behind it must be the one that is served. Contract 8.2.
    pub fn profile(&self, canonical: &str) -> Option<&ProfileRules> {
        self.profile_of_any_version(canonical).filter(|profile| profile.has_version_of(canonical))
    }

    /// A profile by its canonical address; a `|version` behind it is passed over.
    pub fn profile_of_any_version(&self, canonical: &str) -> Option<&ProfileRules> {
        let url = canonical.split_once('|').map_or(canonical, |(url, _)| url);
        self.profiles.iter().find(|profile| profile.url == url)
    }

    /// All profiles.
    pub fn profiles(&self) -> &[ProfileRules] {
        &self.profiles
    }

    /// What every rule of every profile is, by number: `ee-health-certificate#Composition.section min`.
    pub fn rules(&self) -> &[String] {
        &self.rule_names
    }

    /// Checks a resource against R5 and, if one is given, a profile. It may have any form: what is not of R5's form is passed over
    /// here.
    pub fn check<'a>(
        &'a self,
        resource: &'a Json<'a>,
        profile: Option<&'a ProfileRules>,
        terminology: &'a Terminology,
    ) -> ValidationFindings {
        let shared = fhirpath::SharedContext::of(resource);
        walk::ProfileWalk::new(self, terminology, resource, &shared).run(profile)
    }
}
