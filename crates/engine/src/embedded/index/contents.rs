//! What the index holds of each certificate, laid beside what it should hold.
//!
//! Postings lead from terms to documents. To ask which terms a document has, all postings are walked once: a document keeps how many
//! terms it was met in and the sum of their hashes.

use std::hash::{DefaultHasher, Hash, Hasher};

use tantivy::DocId;

use super::bounds::bounded;
use super::{IndexError, Snapshot, title};
use crate::embedded::overlay::NumberedRow;
use certificate::search::parameter::TimeField;
use certificate::{Id, Version};
use fhir::date_time::Span;

/// What the index holds, or should hold, of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexedCertificate {
    version: Version,
    last_updated: i64,
    class: u32,
    date: Option<(i64, i64)>,
    period: Option<(i64, i64)>,
    title: Option<Vec<u8>>,
    terms: IndexTerms,
    /// By how many ids it is found.
    ids: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct IndexTerms {
    count: u32,
    sum: u64,
}

impl IndexTerms {
    fn add(&mut self, term: &[u8]) {
        let mut hasher = DefaultHasher::new();
        term.hash(&mut hasher);
        self.count += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

impl IndexedCertificate {
    /// What the index should hold of a row.
    pub(crate) fn expected(version: Version, numbered: &NumberedRow) -> IndexedCertificate {
        let row = &numbered.row;
        let mut terms = IndexTerms::default();
        row.terms.iter().for_each(|term| terms.add(term.bytes()));
        IndexedCertificate {
            version,
            last_updated: row.last_updated,
            class: numbered.class,
            date: row.date.map(ends),
            period: row.period.map(ends),
            title: row.title.as_deref().map(title::value),
            terms,
            ids: 1,
        }
    }

    /// In what it differs from what it should be, in a word; none when in nothing.
    pub(crate) fn difference(&self, expected: &IndexedCertificate) -> Option<&'static str> {
        let parts = [
            (self.version == expected.version, "version"),
            (self.last_updated == expected.last_updated, "time"),
            (self.class == expected.class, "class"),
            (self.date == expected.date, "date"),
            (self.period == expected.period, "validity"),
            (self.title == expected.title, "title"),
            (self.terms == expected.terms, "terms"),
            (self.ids == expected.ids, "id among the terms"),
        ];
        parts.into_iter().find(|(is_same, _)| !is_same).map(|(_, part)| part)
    }
}

fn ends(span: Span) -> (i64, i64) {
    (bounded(span.low), bounded(span.high))
}

/// Everything that a snapshot holds, by id. Some 30 bytes for each certificate.
pub(crate) struct IndexContents<'s> {
    snapshot: &'s Snapshot,
    /// Id, segment, document; of those that are alive, by id.
    rows: Vec<(u64, u32, DocId)>,
    next: usize,
    /// By segment and document.
    terms: Vec<Vec<IndexTerms>>,
    ids: Vec<Vec<u32>>,
}

impl<'s> IndexContents<'s> {
    /// Reads the index, once through.
    ///
    /// # Errors
    /// It cannot be read. A damaged file may also show as a panic.
    pub(crate) fn read(snapshot: &'s Snapshot) -> Result<IndexContents<'s>, IndexError> {
        let mut holdings = IndexContents { snapshot, rows: Vec::new(), next: 0, terms: Vec::new(), ids: Vec::new() };
        for (number, segment) in (0..).zip(&snapshot.segments) {
            let documents = segment.max_doc() as usize;
            let mut terms = vec![IndexTerms::default(); documents];
            segment.each_term(|term, doc| terms[doc as usize].add(term))?;
            let mut ids = vec![0; documents];
            segment.each_id(|id, doc| ids[doc as usize] += u32::from(segment.columns.id(doc).get() == id))?;
            holdings.terms.push(terms);
            holdings.ids.push(ids);
            let alive = (0..segment.max_doc()).filter(|doc| segment.is_alive(*doc));
            holdings.rows.extend(alive.map(|doc| (segment.columns.id(doc).get(), number, doc)));
        }
        holdings.rows.sort_unstable();
        Ok(holdings)
    }

    /// Certificates it holds.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// What it holds of a certificate. Ids are asked in their order; `passed` is told every id before that was not asked for.
    pub(crate) fn of(&mut self, id: Id, mut passed: impl FnMut(u64)) -> Result<Vec<IndexedCertificate>, IndexError> {
        let mut held = Vec::new();
        while let Some((found, segment, doc)) = self.rows.get(self.next).copied() {
            match found.cmp(&id.get()) {
                std::cmp::Ordering::Less => passed(found),
                std::cmp::Ordering::Equal => held.push(self.held(segment as usize, doc)?),
                std::cmp::Ordering::Greater => break,
            }
            self.next += 1;
        }
        Ok(held)
    }

    /// Ids behind the last one that was asked for.
    pub(crate) fn rest(&self) -> impl Iterator<Item = u64> {
        self.rows[self.next..].iter().map(|(id, ..)| *id)
    }

    fn held(&self, segment: usize, doc: DocId) -> Result<IndexedCertificate, IndexError> {
        let columns = &self.snapshot.segments[segment].columns;
        let time = |field| columns.time(field, doc).map(|span| (span.low, span.high));
        Ok(IndexedCertificate {
            version: columns.version(doc),
            last_updated: columns.last_updated(doc),
            class: columns.class(doc),
            date: time(TimeField::Date),
            period: time(TimeField::Period),
            title: columns.title_value(doc)?,
            terms: self.terms[segment][doc as usize],
            ids: self.ids[segment][doc as usize],
        })
    }
}
