//! Every error of another system that the service may tell on. Systems, codes and texts stand in `data/code-systems/<name>-issue.json`.
//!
//! Source: specification of reflected errors, 7.3 to 7.6.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::{IssueSystems, Reflected, ReflectedCoding, System};
use crate::outcome::concept::{self, IssueConcept};
use crate::outcome::{Language, template};

/// FHIR issue type of every mirrored issue. Contract 6.4; specification of reflected errors, 7.1; Decision 125.
pub const ISSUE_TYPE: &str = "exception";

/// One code of one system.
#[derive(Debug)]
pub struct ReflectedCode {
    /// The system that the code belongs to.
    pub system: System,
    /// `MPI-021`, `XRR200`, `10001`
    pub code: String,
    /// HTTP status of the registry's answer when this is the original error: the last issue of its chain.
    pub status: u16,
    /// Code of the service in front, which relays this one.
    pub(super) behind: Option<String>,
    english: String,
    estonian: String,
    examples: Vec<(String, String)>,
}

/// Every code, in the order of the specification.
pub fn all() -> &'static [ReflectedCode] {
    &CATALOGUE
}

/// A code, which no two systems share.
pub fn find(code: &str) -> Option<&'static ReflectedCode> {
    all().iter().find(|entry| entry.code == code)
}

impl ReflectedCode {
    /// The text with its `<name>` places still open.
    pub fn text(&self, language: Language) -> &str {
        match language {
            Language::English => &self.english,
            Language::Estonian => &self.estonian,
        }
    }

    /// The issue as its system tells it. `values` are names of places and what stands for them; for others stands the catalogue's
    /// example, so that no open place reaches a caller.
    pub fn issue(&self, language: Language, values: &[(&str, &str)], systems: &IssueSystems) -> Reflected {
        let text = template::fill(self.text(language), |name| {
            let given = values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            let example = || self.examples.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
            given.or_else(example).map(Cow::Borrowed)
        });
        Reflected {
            severity: "error".to_owned(),
            issue_type: ISSUE_TYPE.to_owned(),
            codings: vec![ReflectedCoding {
                system: Some(systems.of(self.system).to_owned()),
                code: Some(self.code.clone()),
                display: None,
            }],
            text,
            ..Reflected::default()
        }
    }
}

impl System {
    /// Short name: `mpi`, `xroad-rr`, `population-register`. Its code system has the id `<name>-issue`.
    pub fn name(self) -> &'static str {
        self.source().0
    }

    #[rustfmt::skip]
    fn source(self) -> (&'static str, &'static str) {
        macro_rules! source {
            ($name:literal) => { ($name, include_str!(concat!("../../../../../data/code-systems/", $name, "-issue.json"))) };
        }
        match self {
            System::Mpi                => source!("mpi"),
            System::XroadRr            => source!("xroad-rr"),
            System::XroadAds           => source!("xroad-ads"),
            System::XroadTor           => source!("xroad-tor"),
            System::XroadSka           => source!("xroad-ska"),
            System::XroadTk            => source!("xroad-tk"),
            System::PopulationRegister => source!("population-register"),
            System::UnemploymentFund   => source!("unemployment-fund"),
            System::SocialInsurance    => source!("social-insurance"),
            System::AddressRegister    => source!("address-register"),
            System::TaxCustoms         => source!("tax-customs"),
        }
    }
}

static CATALOGUE: LazyLock<Vec<ReflectedCode>> = LazyLock::new(|| {
    let entries = System::ALL.into_iter().flat_map(|system| {
        let entry = move |concept: IssueConcept| {
            let IssueConcept { code, status, english, estonian, behind, examples, .. } = concept;
            ReflectedCode { system, code, status, behind, english, estonian, examples }
        };
        concept::read(system.source().1).into_iter().map(entry)
    });
    entries.collect()
});

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::outcome::template::places;

    #[test]
    fn no_two_systems_share_a_code() {
        let codes: BTreeSet<&str> = all().iter().map(|entry| entry.code.as_str()).collect();
        assert_eq!((codes.len(), all().len()), (146, 146));
        assert!(all().is_sorted_by_key(|entry| entry.system));
        assert!(find("MPI-025.01").is_some() && find("MPI-014").is_none() && find("").is_none());
    }

    #[test]
    fn every_code_has_a_status_and_both_texts_with_the_same_places() {
        for entry in all() {
            let code = &entry.code;
            assert!(!entry.english.is_empty() && !entry.estonian.is_empty(), "{code}");
            assert!(matches!(entry.status, 400 | 403 | 404 | 409 | 422 | 500 | 503), "{code} has {}", entry.status);
            let english: BTreeSet<&str> = places(&entry.english).into_iter().collect();
            assert_eq!(english, places(&entry.estonian).into_iter().collect(), "{code}");
            assert_eq!(english, entry.examples.iter().map(|(name, _)| name.as_str()).collect(), "{code}");
        }
    }

    #[test]
    fn a_place_holds_the_value_given_or_an_example_and_never_stays_open() {
        let systems = IssueSystems::default();
        for entry in all() {
            for language in [Language::English, Language::Estonian] {
                let text = entry.issue(language, &[], &systems).text;
                assert!(!text.contains(['<', '>']), "{text}");
            }
        }
        let issue = find("MPI-098").unwrap().issue(Language::English, &[("code", "<system>")], &systems);
        assert!(issue.text.contains("administrative-gender|<system> not in value set"), "{}", issue.text);
        assert_eq!(issue.code(), "MPI-098");
        assert_eq!(issue.codings[0].system.as_deref(), Some("https://mpi.tehik.ee"));
        assert_eq!((issue.severity.as_str(), issue.issue_type.as_str()), ("error", "exception"));
    }
}
