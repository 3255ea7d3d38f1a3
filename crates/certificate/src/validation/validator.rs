//! The validator and what it finds.

use super::rules::Profile;
use fhir::outcome::Problems;

/// All profiles, ready to be asked.
#[derive(Debug)]
pub struct Validator {
    pub(super) profiles: Vec<Profile>,
    pub(super) rule_names: Vec<String>,
}

/// What a validation found.
#[derive(Debug, Default)]
pub struct Findings {
    pub problems: Problems,
    /// Numbers of the profile rules that were broken, for [`Validator::rules`]; one may stand several times.
    pub broken: Vec<u16>,
}
