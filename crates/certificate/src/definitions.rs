//! What this service defines: its profiles, code systems, value sets and operations. They are FHIR resources in `data/`, compiled in;
//! their addresses hold the placeholders of the specification, which are filled when one is read.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::Names;
use fhir::json::{self, Json};
use fhir::outcome::reflected::System;

/// One resource of `data/`.
#[derive(Debug)]
pub struct ShippedDefinition {
    /// FHIR resource type, such as `StructureDefinition`.
    pub resource_type: &'static str,
    /// Its id, and the name of its file.
    pub id: &'static str,
    text: &'static str,
}

macro_rules! definitions {
    ($($resource_type:literal in $folder:literal: $($id:literal)*;)*) => {
        /// Every definition, in the order in which a search answers them.
        pub const DEFINITIONS: &[ShippedDefinition] = &[$($(ShippedDefinition {
            resource_type: $resource_type,
            id: $id,
            text: include_str!(concat!("../../../data/", $folder, "/", $id, ".json")),
        },)*)*];
    };
}

definitions! {
    "StructureDefinition" in "profiles":
        "ee-health-certificate"
        "ee-health-certificate-driver"
        "ee-health-certificate-occupational"
        "ee-health-certificate-occupational-employer"
        "ee-health-certificate-contained-observation"
        "ee-health-certificate-decision"
        "ee-health-certificate-medical-restriction"
        "ee-health-certificate-work-additional-condition"
        "ee-health-certificate-work-related-risk-factor"
        "ee-health-certificate-occupational-employment";
    "CodeSystem" in "code-systems":
        "ametite-klassifikaator"
        "hcert-issue"
        "labivaatuse-tyyp"
        "mootorsoidukijuhi-medits-piirang"
        "snomed-ct-fragment"
        "tervisetoendi-piirangud"
        "tervisetoendi-sektsioon"
        "toolaadi-ja-tookeskkonnaga-seotud-ohutegurid"
        "tootamiseks-vajalikud-lisatingimused"
        "mpi-issue"
        "xroad-rr-issue"
        "xroad-ads-issue"
        "xroad-tor-issue"
        "xroad-ska-issue"
        "xroad-tk-issue"
        "population-register-issue"
        "unemployment-fund-issue"
        "social-insurance-issue"
        "address-register-issue"
        "tax-customs-issue";
    "ValueSet" in "value-sets":
        "ametite-klassifikaator"
        "labivaatuse-tyyp"
        "mootorsoidukijuhi-labivaatuse-tyyp"
        "mootorsoidukijuhi-medits-piirang"
        "mootorsoidukijuhi-tervisetoendi-otsus"
        "tervisetoendi-staatus-fhir"
        "toolaadi-ja-tookeskkonnaga-seotud-ohutegurid"
        "tootamiseks-vajalikud-lisatingimused"
        "tootervishoiu-tervisetoendi-otsus"
        "tootervishoiu-tt-piirangud";
    "OperationDefinition" in "operations":
        "ee-health-certificate-suspend"
        "ee-health-certificate-cancel"
        "ee-health-certificate-get-consent"
        "ee-health-certificate-set-consent"
        "ee-health-certificate-pdf";
}

impl ShippedDefinition {
    /// The resource with its placeholders filled.
    pub fn read(&self, names: &Names) -> Json<'static> {
        let mut resource = json::parse(self.text.as_bytes()).expect("a test reads every definition");
        fill(&mut resource, names);
        resource
    }
}

/// Definitions of one resource type.
pub fn of_type(resource_type: &str) -> impl Iterator<Item = &'static ShippedDefinition> {
    DEFINITIONS.iter().filter(move |definition| definition.resource_type == resource_type)
}

/// Elements by their ids, and what profiles state of each, by the names of StructureDefinition.
pub type MergedElements = BTreeMap<String, BTreeMap<String, Json<'static>>>;

/// The profiles of this service.
pub struct ProfileSource(Vec<Json<'static>>);

impl ProfileSource {
    /// Reads all of them.
    pub fn new(names: &Names) -> ProfileSource {
        ProfileSource(of_type("StructureDefinition").map(|profile| profile.read(names)).collect())
    }

    /// The elements of a profile, laid over those of the profile that it is built on.
    pub fn elements(&self, url: &str) -> MergedElements {
        let Some(profile) = self.0.iter().find(|profile| profile.text("url") == Some(url)) else {
            return MergedElements::new();
        };
        let mut elements = self.elements(profile.text("baseDefinition").unwrap_or_default());
        for element in profile.get("differential").map_or(&[][..], |differential| differential.items("element")) {
            let (Some(id), Some(members)) = (element.text("id"), element.as_object()) else { continue };
            let merged = elements.entry(id.to_owned()).or_default();
            merged.extend(members.iter().map(|(name, value)| (name.to_owned(), value.clone())));
        }
        elements
    }
}

fn fill(value: &mut Json<'static>, names: &Names) {
    match value {
        Json::String(text) if text.contains('{') => *text = Cow::Owned(filled(text, names)),
        Json::Array(items) => items.iter_mut().for_each(|item| fill(item, names)),
        Json::Object(object) => object.0.iter_mut().for_each(|(_, value)| fill(value, names)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

fn filled(text: &str, names: &Names) -> String {
    let text = System::ALL.iter().fold(text.to_owned(), |text, system| {
        text.replace(&format!("{{{}}}", system.placeholder()), names.issue_systems.of(*system))
    });
    [
        ("{profile_base}", names.profile_base.as_str()),
        ("{code_system_base}", &names.code_system_base),
        ("{person_identifier_base}", names.identifiers.base()),
        ("{hcert_ns}", &names.hcert_ns),
        ("{hcert_issue_system}", &names.hcert_issue_system),
    ]
    .iter()
    .fold(text, |text, (place, name)| text.replace(place, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fhir::shape;

    #[test]
    fn every_definition_is_a_resource_of_r5_under_its_own_id_with_nothing_left_to_fill() {
        for definition in DEFINITIONS {
            let mut resource = definition.read(&Names::default());
            assert!(shape::expect(&mut resource, definition.resource_type).is_ok(), "{}", definition.id);
            assert_eq!(resource.text("id"), Some(definition.id));
            let text = String::from_utf8(resource.to_vec()).unwrap();
            for place in ["_base}", "_ns}", "_system}", "{issue_"] {
                assert!(!text.contains(place), "{} holds {place}", definition.id);
            }
        }
    }

    #[test]
    fn addresses_are_those_of_the_settings() {
        let names = Names { hcert_issue_system: "https://example.ee/issue".into(), ..Names::default() };
        let issues = DEFINITIONS.iter().find(|definition| definition.id == "hcert-issue").unwrap();
        assert_eq!(issues.read(&names).text("url"), Some("https://example.ee/issue"));
    }
}
