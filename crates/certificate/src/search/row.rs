//! The index row: all that searches and rights ask of one version of a certificate, in about 100 bytes.
//!
//! It is stored in the version's header, so that rights, replay and rebuild never parse a body. One row format serves the overlay
//! (as it is), the index (as terms and columns) and the store (as bytes).

use std::sync::Arc;

use super::class::Class;
use super::parameter::{Field, TimeField};
use super::term::Term;
use fhir::date_time::Span;

/// Search and rights fields of one version. A deleted certificate has no row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Status, profile, category and type: the fields with few values, together.
    pub class: Arc<Class>,
    /// `meta.lastUpdated`, milliseconds since 1970 UTC.
    pub last_updated: i64,
    /// `Composition.date`.
    pub date: Option<Span>,
    /// `Composition.event.period`; an open end reaches to the end of time.
    pub period: Option<Span>,
    /// `Composition.title`.
    pub title: Option<Box<str>>,
    /// Everything that is found by equality: references, identifiers, section texts. Sorted, without doubles.
    pub terms: Vec<Term>,
}

impl Row {
    /// Whether the row carries a term.
    pub fn has(&self, term: &Term) -> bool {
        self.terms.binary_search(term).is_ok()
    }

    /// Terms that say something about one of these fields, in their order.
    pub fn terms_of(&self, fields: &[Field]) -> impl Iterator<Item = Term> {
        self.terms.iter().filter(|term| fields.iter().any(|field| term.is_about(*field))).cloned()
    }

    /// One of its times; nothing where the certificate does not state it.
    pub fn time(&self, field: TimeField) -> Option<Span> {
        match field {
            TimeField::LastUpdated => Some(Span { low: self.last_updated, high: self.last_updated }),
            TimeField::Date => self.date,
            TimeField::Period => self.period,
        }
    }
}
