//! Questions about versions: of one certificate, or of all of them.

use certificate::search::Hit;
use certificate::search::hidden::HiddenCertificates;
use certificate::{Id, Seq};
use fhir::date_time::Span;

/// FHIR `history`. Source: Contract 4.1.
#[derive(Clone, Debug)]
pub struct HistoryQuery {
    /// One certificate, or all.
    pub id: Option<Id>,
    /// `_since`: versions made at or after this moment, milliseconds since 1970 UTC.
    pub since: Option<i64>,
    /// `_at`: versions that were current at some moment of this span.
    pub at: Option<Span>,
    /// From 1.
    pub page: u64,
    /// Entries of a page; 0 asks for the total only.
    pub count: u32,
    /// In the history of all: certificates that are left out with all their versions, judged by the newest row and the consent that holds.
    /// The right to one certificate is judged before its history is asked for.
    pub hidden: Option<HiddenCertificates>,
}

/// One page, newest first, with the exact total; both of the moment `at`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryPage {
    /// Versions on all pages together.
    pub total: u64,
    /// Versions on this page, newest first.
    pub hits: Vec<Hit>,
    /// The last change that the page takes into account; 0 in an empty store.
    pub at: Seq,
}
