//! The validator and what it finds.

use super::rules::ProfileRules;
use fhir::outcome::Problems;

/// All profiles, ready to be asked.
#[derive(Debug)]
pub struct Validator {
    pub(super) profiles: Vec<ProfileRules>,
    pub(super) rule_names: Vec<String>,
}

/// What a validation found.
#[derive(Debug, Default)]
pub struct ValidationFindings {
    /// Errors and warnings for the caller.
    pub problems: Problems,
    /// Numbers of the profile rules that were broken, for [`Validator::rules`]; one may stand several times.
    pub broken: Vec<u16>,
}
