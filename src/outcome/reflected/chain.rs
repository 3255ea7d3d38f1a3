//! Chains of issues: the registry's integration error, the microservice's error, the error of the source register.
//!
//! Source: specification of reflected errors, 7.1.

use super::catalogue::{Entry, find};
use super::{Chain, IssueSystems, Reflected, System};
use crate::outcome::Language;

impl Entry {
    /// The chain in which this code reaches a caller: the registry's own code first, this one last.
    pub fn chain(&'static self) -> Vec<&'static Entry> {
        let mut chain = match self.before() {
            Some(before) => find(before).expect("a test finds every code that stands before another").chain(),
            None => Vec::new(),
        };
        chain.push(self);
        chain
    }

    /// The code of the service in front, which tells this one on.
    #[rustfmt::skip]
    fn before(&self) -> Option<&'static str> {
        match (self.system, self.code.as_str()) {
            (System::Mpi, _)                      => None,
            (System::XroadRr, _)                  => Some("MPI-029"),
            (System::XroadAds, _)                 => Some("MPI-031"),
            (System::XroadTor, _)                 => Some("MPI-040"),
            // The registry has five integration errors for five microservices. This one names its service xroad-sk; the other four
            // name theirs in full.
            (System::XroadSka, _)                 => Some("MPI-030"),
            (System::XroadTk, _)                  => Some("MPI-043"),
            // XRR300 tells of exactly these two: a person whom the register does not have, and an account that is not valid.
            (System::PopulationRegister, "10027" | "V10580") => Some("XRR300"),
            (System::PopulationRegister, _)       => Some("XRR200"),
            (System::UnemploymentFund, _)         => Some("XTK200"),
            (System::SocialInsurance, _)          => Some("XSKA200"),
            (System::AddressRegister, _)          => Some("XR_ADS-100"),
            (System::TaxCustoms, _)               => Some("XR_TOR-100"),
        }
    }

    fn quotes(&self) -> bool {
        matches!(self.code.as_str(), "XR_ADS-100" | "XR_TOR-100")
    }
}

impl Chain {
    /// The chain as the registry answers it. A service that quotes the error behind it (`<code> - <text>`) quotes the next issue, and
    /// the last one, the original error, decides the status. `entries` must not be empty.
    pub fn of(entries: &[&Entry], language: Language, systems: &IssueSystems) -> Chain {
        let mut issues: Vec<Reflected> = Vec::with_capacity(entries.len());
        for entry in entries.iter().rev() {
            let issue = match issues.last() {
                Some(next) if entry.quotes() => {
                    entry.issue(language, &[("code", next.code()), ("text", &next.text)], systems)
                }
                _ => entry.issue(language, &[], systems),
            };
            issues.push(issue);
        }
        issues.reverse();
        let status = entries.last().expect("callers give at least one entry").status;
        Chain { status, issues }
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::all;
    use super::*;

    fn codes(chain: &[&Entry]) -> String {
        chain.iter().map(|entry| entry.code.as_str()).collect::<Vec<_>>().join("/")
    }

    #[test]
    fn every_code_ends_a_chain_that_begins_with_the_registry() {
        for entry in all() {
            let chain = entry.chain();
            assert_eq!(chain.first().unwrap().system, System::Mpi, "{}", entry.code);
            assert_eq!(chain.last().unwrap().code, entry.code);
            assert!(chain.is_sorted_by_key(|entry| entry.system), "{}", codes(&chain));
        }
        for (code, expected) in [
            ("MPI-021", "MPI-021"),
            ("XTK100", "MPI-043/XTK100"),
            ("10001", "MPI-029/XRR200/10001"),
            ("V10580", "MPI-029/XRR300/V10580"),
            ("XR_ADS-404", "MPI-031/XR_ADS-404"),
            ("58", "MPI-040/XR_TOR-100/58"),
            ("XSKA200", "MPI-030/XSKA200"),
        ] {
            assert_eq!(codes(&find(code).unwrap().chain()), expected);
        }
    }

    #[test]
    fn the_original_error_decides_the_status_and_is_quoted_by_the_service_that_says_so() {
        let of = |code: &str| Chain::of(&find(code).unwrap().chain(), Language::Estonian, &IssueSystems::default());
        let invalid_code = of("10005");
        assert_eq!((invalid_code.status, invalid_code.issues.len()), (400, 3));
        let missing = of("68");
        assert_eq!(missing.status, 400);
        assert_eq!(missing.issues[1].text, "Töötamise teenus vastas veaga: 68 - Sisendis puudub isikukood");
        assert_eq!(missing.issues[1].codings[0].system.as_deref(), Some("https://xroad-tor.tehik.ee"));
        assert_eq!(
            of("XR_TOR-100").issues[1].text,
            "Töötamise teenus vastas veaga: 50 - Päringu töötlemisel tekkis viga"
        );
    }
}
