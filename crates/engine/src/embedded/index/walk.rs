//! Walks what a plan brings of one segment: counts what meets it and keeps the first rows in sort order.

use tantivy::DocId;

use super::IndexError;
use super::columns::{Segment, SegmentColumns};
use super::order::{Candidate, OrderBy, SortKeys};
use super::plan::{DrivingDocuments, SegmentPlan, SegmentPredicate};
use super::sequence::IndexedDocument;
use crate::embedded::predicate::Predicate;
use base::pause;
use certificate::Id;

/// What a segment holds of a search.
#[derive(Debug, Default)]
pub(crate) struct SegmentHits {
    /// Documents that meet the filter, masked ones included.
    pub count: u64,
    /// The first ones in sort order, masked ones left out; unordered.
    pub candidates: Vec<Candidate>,
}

/// Searches one segment as it was planned for a predicate. `masked` tells ids whose newest version the overlay has; `first` is how many rows the page reaches to.
pub(crate) fn walk(
    segment: &Segment,
    plan: SegmentPlan,
    predicate: &Predicate,
    order: &OrderBy,
    first: usize,
    masked: &dyn Fn(Id) -> bool,
) -> Result<SegmentHits, IndexError> {
    let mut test = plan.test(predicate, segment)?;
    let columns = segment.columns.as_ref();
    let title_ranks = if order.has_title() && first > 0 { columns.title_ranks()? } else { &[] };
    let mut top = TopRows { order, columns, title_ranks, first, rows: Vec::new() };
    let (mut count, mut rows) = (0, 0);
    let mut take = |doc: DocId, test: &mut SegmentPredicate| {
        rows += 1;
        pause::at(rows);
        if segment.is_alive(doc) && test.matches(doc, columns) {
            count += 1;
            top.offer(doc, masked);
        }
    };
    match plan.drive {
        DrivingDocuments::Every(max_doc) => (0..max_doc).for_each(|doc| take(doc, &mut test)),
        drive => drive.for_each(|doc| take(doc, &mut test)),
    }
    Ok(SegmentHits { count, candidates: top.finish()? })
}

/// The first rows in sort order, of all that were offered.
struct TopRows<'w> {
    order: &'w OrderBy<'w>,
    columns: &'w SegmentColumns,
    title_ranks: &'w [u32],
    first: usize,
    rows: Vec<(SortKeys, Id, DocId)>,
}

impl TopRows<'_> {
    fn offer(&mut self, doc: DocId, masked: &dyn Fn(Id) -> bool) {
        if self.first == 0 {
            return;
        }
        let id = self.columns.id(doc);
        if masked(id) {
            return;
        }
        self.rows.push((self.order.keys(&self.row(doc)), id, doc));
        if self.rows.len() >= self.first.saturating_mul(2).max(1024) {
            self.cut();
        }
    }

    fn row(&self, doc: DocId) -> IndexedDocument<'_> {
        IndexedDocument { columns: self.columns, title_ranks: self.title_ranks, doc }
    }

    fn cut(&mut self) {
        if self.rows.len() > self.first {
            let order = self.order;
            let compare = |left: &(SortKeys, Id, DocId), right: &(SortKeys, Id, DocId)| {
                left.0.cmp(&right.0).then_with(|| order.by_id(left.1, right.1))
            };
            self.rows.select_nth_unstable_by(self.first, compare);
            self.rows.truncate(self.first);
        }
    }

    fn finish(mut self) -> Result<Vec<Candidate>, IndexError> {
        self.cut();
        let has_title = self.order.has_title();
        let candidate = |(_, id, doc): &(SortKeys, Id, DocId)| -> Result<Candidate, IndexError> {
            let title = match self.columns.title_number(*doc).filter(|_| has_title) {
                Some(number) => Some(self.columns.title_key(number)?),
                None => None,
            };
            let order = self.order.place(&self.row(*doc), title);
            Ok(Candidate { order, id: *id, version: self.columns.version(*doc) })
        };
        self.rows.iter().map(candidate).collect()
    }
}
