//! The namespaces a certificate is written in.

use std::sync::Arc;

use crate::Profile;
use fhir::outcome::IssueSystems;

/// The placeholders of the specification, filled from the configuration; none ends with a slash.
///
/// Source: specification, introduction; Contract 1.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// `{base_url}` as configured: references under it are stored and compared as relative ones.
    pub base_url: String,
    /// `{code_system_base}`
    pub code_system_base: String,
    /// Those below `{person_identifier_base}`.
    pub identifiers: IdentifierSystems,
    /// `{profile_base}`
    pub profile_base: String,
    /// `{hcert_ns}`
    pub hcert_ns: String,
    /// `{hcert_issue_system}`
    pub hcert_issue_system: String,
    /// `{issue_system_mpi}` and its sisters.
    pub issue_systems: IssueSystems,
}

/// Systems of the identifiers of persons and institutions, all below `{person_identifier_base}`. Cloning copies no text.
///
/// Source: Contract 1.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentifierSystems {
    base: Arc<str>,
    persons: Arc<str>,
    estonian_code: Arc<str>,
    institution: Arc<str>,
}

impl IdentifierSystems {
    /// `base` is `{person_identifier_base}`, without a slash at its end.
    pub fn new(base: &str) -> IdentifierSystems {
        let below = |path| [base, path].concat().into();
        IdentifierSystems {
            base: base.into(),
            persons: below("/pid"),
            estonian_code: below("/pid/est/ni"),
            institution: below("/org/est/br"),
        }
    }

    /// `{person_identifier_base}`
    pub fn base(&self) -> &str {
        &self.base
    }

    /// `…/pid`: the branch of the identifier systems of persons, of whatever country.
    pub fn persons(&self) -> &str {
        &self.persons
    }

    /// `…/pid/est/ni`: Estonian personal codes.
    pub fn estonian_code(&self) -> &str {
        &self.estonian_code
    }

    /// `…/org/est/br`: codes of the Estonian business register.
    pub fn institution(&self) -> &str {
        &self.institution
    }
}

impl Default for IdentifierSystems {
    fn default() -> Self {
        IdentifierSystems::new("https://fhir.ee/sid")
    }
}

impl Names {
    /// `namespaces` are names and values of the settings `[namespaces]`, all of them.
    pub fn new(base_url: String, namespaces: &[(String, String)]) -> Names {
        let value = |setting: &str| {
            let found = namespaces.iter().find(|(name, _)| name == setting);
            found.expect("a test of the settings finds one for every placeholder").1.clone()
        };
        Names {
            base_url,
            code_system_base: value("code_system_base"),
            identifiers: IdentifierSystems::new(&value("person_identifier_base")),
            profile_base: value("profile_base"),
            hcert_ns: value("hcert_ns"),
            hcert_issue_system: value("hcert_issue_system"),
            issue_systems: IssueSystems::new(value),
        }
    }

    /// Code system of `Composition.section.code`. Source: specification 2.5.
    pub fn section_system(&self) -> String {
        format!("{}/CodeSystem/tervisetoendi-sektsioon", self.code_system_base)
    }

    /// Canonical address of a use-case profile, without version.
    pub fn profile(&self, profile: Profile) -> String {
        format!("{}/StructureDefinition/{}", self.profile_base, profile.name())
    }

    /// Canonical address of what an employer is shown of an occupational certificate. Contract 7.5.
    pub fn employer_profile(&self) -> String {
        format!("{}/StructureDefinition/ee-health-certificate-occupational-employer", self.profile_base)
    }

    /// The use-case profile an address names; a `|version` behind it is allowed. Contract 8.1.
    pub fn profile_of(&self, address: &str) -> Option<Profile> {
        let address = address.split_once('|').map_or(address, |(address, _)| address);
        let name = address.strip_prefix(self.profile_base.as_str())?.strip_prefix("/StructureDefinition/")?;
        Profile::ALL.into_iter().find(|profile| profile.name() == name)
    }

    /// Addresses of all use-case profiles, for messages.
    pub fn supported_profiles(&self) -> String {
        Profile::ALL.map(|profile| self.profile(profile)).join(", ")
    }
}

impl Default for Names {
    /// The namespaces of Contract 1.1, for a server on its default address.
    fn default() -> Self {
        Names {
            base_url: "http://127.0.0.1:8080/fhir".into(),
            code_system_base: "https://fhir.ee".into(),
            identifiers: IdentifierSystems::default(),
            profile_base: "https://fhir.ee/hcert".into(),
            hcert_ns: "https://fhir.ee/hcert".into(),
            hcert_issue_system: "https://hcert.tehik.ee/issue".into(),
            issue_systems: IssueSystems::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_known_by_its_whole_address_with_or_without_version() {
        let names = Names::default();
        let driver = names.profile(Profile::Driver);
        assert_eq!(names.profile_of(&driver), Some(Profile::Driver));
        assert_eq!(names.profile_of(&format!("{driver}|1.0.0")), Some(Profile::Driver));
        for other in [
            "ee-health-certificate-driver",
            "https://fhir.ee/hcert/StructureDefinition/ee-health-certificate",
            "https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-driver-2",
            "https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-occupational-employer",
            "https://other.ee/StructureDefinition/ee-health-certificate-driver",
            "",
        ] {
            assert_eq!(names.profile_of(other), None, "{other}");
        }
    }
}
