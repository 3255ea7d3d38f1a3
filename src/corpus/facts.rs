//! What is true of one version, told beside its body.

use jiff::civil::Date;

use super::composition::{Category, Declaration, PlannedCertificate};
use crate::registry::PersonalCode;
use certificate::State;

/// Everything a search may ask of a version. Texts are written as the search writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// `Deleted` for a tombstone; the rest then describes the draft that was deleted.
    pub state: State,
    pub category: Category,
    /// `Composition.identifier.value`
    pub identifier: String,
    /// Number in `Patient/<n>`.
    pub subject: u64,
    /// The patient's personal code, which no body contains.
    pub subject_code: PersonalCode,
    /// In `Practitioner/<code>`.
    pub practitioner: PersonalCode,
    /// Eight digits, in `Organization/<code>`.
    pub organisation: u32,
    /// Eight digits, the text of section `employer`; occupational certificates only.
    pub employer: Option<u32>,
    pub declaration: Declaration,
    /// `Composition.date`, milliseconds since 1970 UTC, whole seconds.
    pub date: i64,
    /// First and last day of the validity in Estonia, both part of it.
    pub period: Option<(Date, Date)>,
    pub title: &'static str,
}

impl Facts {
    pub(super) fn of(certificate: &PlannedCertificate, at: usize) -> Facts {
        let state = certificate.steps[at].state();
        let shown = if state == State::Deleted { at - 1 } else { at };
        let mut identifier = String::new();
        certificate.write_identifier(&mut identifier);
        Facts {
            state,
            category: certificate.category,
            identifier,
            subject: certificate.subject(),
            subject_code: certificate.person().code,
            practitioner: certificate.author().code,
            organisation: certificate.institution().code,
            employer: certificate.employer().map(|employer| employer.code),
            declaration: certificate.declaration(),
            date: certificate.date(shown).utc(),
            period: certificate.validity(shown).map(|(first, last)| (first.date(), last.date())),
            title: certificate.title(),
        }
    }
}
