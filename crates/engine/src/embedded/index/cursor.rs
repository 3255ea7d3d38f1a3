//! One segment read in sort order.

use std::sync::Arc;

use tantivy::DocId;

use super::IndexError;
use super::blocks::{BlockCounts, BlockSums};
use super::columns::Segment;
use super::order::{Candidate, OrderBy, OrderPosition};
use super::plan::{DocumentSet, SegmentPredicate};
use super::sequence::{IndexedDocument, Sequence};
use base::pause;
use certificate::search::Hit;
use certificate::{Id, Version};

/// The next row of a source.
pub(super) struct SourceHead {
    pub order: OrderPosition,
    pub id: Id,
    row: HitRow,
}

/// A row whose version is asked for only when it stands on the page.
#[derive(Clone, Copy)]
enum HitRow {
    Of(DocId),
    Known(Version),
}

impl SourceHead {
    pub(super) fn of_overlay(candidate: Candidate) -> SourceHead {
        SourceHead { order: candidate.order, id: candidate.id, row: HitRow::Known(candidate.version) }
    }

    /// The row on a page. `cursor` is the one that it comes from.
    pub(super) fn hit(&self, cursor: Option<&Cursor>) -> Hit {
        let version = match self.row {
            HitRow::Of(doc) => cursor.expect("a document comes from a cursor").segment.columns.version(doc),
            HitRow::Known(version) => version,
        };
        Hit { id: self.id, version }
    }

    /// Whether a row stands before it.
    pub(super) fn is_behind(&self, row: &Candidate, order: &OrderBy) -> bool {
        order.compare_places((&row.order, row.id), (&self.order, self.id)).is_lt()
    }
}

/// One segment, read in sort order.
pub(super) struct Cursor<'w> {
    segment: &'w Segment,
    order: &'w OrderBy<'w>,
    test: SegmentPredicate,
    sequence: Sequence,
    pub(super) place: u32,
    has_title: bool,
    title_ranks: &'w [u32],
    /// Number and sort key of the title met last: many certificates share one.
    title: Option<(u64, Arc<[u8]>)>,
}

impl<'w> Cursor<'w> {
    /// None when nothing of the segment meets the test.
    pub(super) fn new(
        segment: &'w Segment,
        mut test: SegmentPredicate,
        order: &'w OrderBy,
    ) -> Result<Option<Cursor<'w>>, IndexError> {
        if matches!(test, SegmentPredicate::Never) {
            return Ok(None);
        }
        make_random_access(&mut test, segment.max_doc());
        let columns = segment.columns.as_ref();
        let has_title = order.has_title();
        let title_ranks = if has_title { columns.title_ranks()? } else { &[] };
        let sequence = Sequence::new(columns, order)?;
        Ok(Some(Cursor { segment, order, test, sequence, place: 0, has_title, title_ranks, title: None }))
    }

    /// The next row, of those that are alive, meet the test and are not masked.
    ///
    /// # Errors
    /// The index cannot be read.
    pub(super) fn next(&mut self, masked: &dyn Fn(Id) -> bool) -> Result<Option<SourceHead>, IndexError> {
        let columns = self.segment.columns.as_ref();
        while self.place < self.sequence.len() {
            let doc = self.sequence.at(self.place);
            self.place += 1;
            pause::at(self.place.into());
            if !self.segment.is_alive(doc) || !self.test.matches(doc, columns) {
                continue;
            }
            if masked(columns.id(doc)) {
                continue;
            }
            return self.head_of(doc).map(Some);
        }
        Ok(None)
    }

    fn head_of(&mut self, doc: DocId) -> Result<SourceHead, IndexError> {
        let columns = self.segment.columns.as_ref();
        let title = if self.has_title { columns.title_number(doc) } else { None };
        let title = title.map(|number| self.title_key(number)).transpose()?;
        let order = self.order.place(&IndexedDocument { columns, title_ranks: self.title_ranks, doc }, title);
        Ok(SourceHead { order, id: columns.id(doc), row: HitRow::Of(doc) })
    }

    /// The row at a place, whether it meets the test or not.
    pub(super) fn head(&mut self, place: u32) -> Result<SourceHead, IndexError> {
        self.head_of(self.sequence.at(place))
    }

    /// Places of the segment.
    pub(super) fn len(&self) -> u32 {
        self.sequence.len()
    }

    /// The first place from `low` on, and before `high`, whose row is not before another one; `high` if there is none.
    pub(super) fn place_of(&mut self, head: &SourceHead, mut low: u32, mut high: u32) -> Result<u32, IndexError> {
        while low < high {
            let middle = low + (high - low) / 2;
            let found = self.head(middle)?;
            match self.order.compare_places((&found.order, found.id), (&head.order, head.id)).is_lt() {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Ok(low)
    }

    /// What its rows are counted by; none where the test asks for more than classes.
    pub(super) fn sums(&self) -> Option<BlockSums> {
        let (segment, array, len) = (self.segment, self.sequence.array(), self.len());
        let class = |place: u32| {
            let doc = array.doc(place, len);
            segment.is_alive(doc).then(|| segment.columns.class(doc))
        };
        let counts = || BlockCounts::kept(&array.counts, segment.deletions, len, class);
        self.test.is_by_class().then(|| counts().sums(|class| self.test.meets_class(class)))
    }

    /// Rows before a place that are alive and meet the test, masked ones included.
    pub(super) fn before(&self, place: u32, sums: &BlockSums) -> u64 {
        let (segment, array, len) = (self.segment, self.sequence.array(), self.len());
        let is_met = |place: u32| {
            let doc = array.doc(place, len);
            segment.is_alive(doc) && self.test.meets_class(segment.columns.class(doc))
        };
        self.sequence.before(place, |place| sums.before(place, is_met))
    }

    fn title_key(&mut self, number: u64) -> Result<Arc<[u8]>, IndexError> {
        match &self.title {
            Some((known, key)) if *known == number => Ok(key.clone()),
            _ => {
                let key = self.segment.columns.title_key(number)?;
                self.title = Some((number, key.clone()));
                Ok(key)
            }
        }
    }
}

/// Postings are read forwards only; documents come in any order here.
fn make_random_access(test: &mut SegmentPredicate, max_doc: u32) {
    match test {
        SegmentPredicate::All(parts) | SegmentPredicate::Any(parts) => {
            parts.iter_mut().for_each(|part| make_random_access(part, max_doc));
        }
        SegmentPredicate::Not(part) => make_random_access(part, max_doc),
        SegmentPredicate::Postings(postings) => *test = SegmentPredicate::Member(DocumentSet::new(postings, max_doc)),
        _ => {}
    }
}
