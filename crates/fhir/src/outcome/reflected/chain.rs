//! Chains of issues: the registry's integration error, the microservice's error, the error of the source register.
//!
//! Which code stands in front of which is the property `behind` of the catalogue.
//!
//! Source: specification of reflected errors, 7.1; Contract 6.4; Decision 56.

use super::catalogue::{ReflectedCode, find};
use super::{IssueChain, IssueSystems, Reflected};
use crate::outcome::Language;

impl ReflectedCode {
    /// The chain in which this code reaches a caller: the registry's own code first, this one last.
    pub fn chain(&'static self) -> Vec<&'static ReflectedCode> {
        let behind = self.behind.as_deref();
        let behind = behind.map(|code| find(code).expect("a test finds every code that stands in front of another"));
        let mut chain = behind.map(ReflectedCode::chain).unwrap_or_default();
        chain.push(self);
        chain
    }

    /// Whether the text repeats the error behind it.
    fn quotes(&self) -> bool {
        self.text(Language::English).ends_with("<code> - <text>")
    }
}

impl IssueChain {
    /// The chain as the registry answers it. A service that quotes the error behind it (`<code> - <text>`) quotes the next issue, and
    /// the last one, the original error, decides the status. `entries` must not be empty.
    pub fn of(entries: &[&ReflectedCode], language: Language, systems: &IssueSystems) -> IssueChain {
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
        IssueChain { status, issues }
    }
}

#[cfg(test)]
mod tests {
    use super::super::System;
    use super::super::catalogue::all;
    use super::*;

    fn codes(chain: &[&ReflectedCode]) -> String {
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
        let of =
            |code: &str| IssueChain::of(&find(code).unwrap().chain(), Language::Estonian, &IssueSystems::default());
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
