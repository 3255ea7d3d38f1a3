//! Walks all segments and the overlay together in sort order, to the page and no further. For searches that much meets.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;

use tantivy::DocId;

use super::IndexError;
use super::columns::Segment;
use super::order::{Candidate, OrderBy, OrderPosition};
use super::plan::{DocumentSet, Test};
use super::sequence::{IndexedDocument, Sequence};
use certificate::search::Hit;
use certificate::{Id, Version};

/// The rows from `skip` on, at most `take` of them: those of the segments that meet their tests and are not masked, and `overlay`.
pub(crate) fn merge(
    segments: &[Segment],
    tests: Vec<Test>,
    order: &OrderBy,
    mut overlay: Vec<Candidate>,
    masked: &dyn Fn(Id) -> bool,
    (skip, take): (u64, usize),
) -> Result<Vec<Hit>, IndexError> {
    let mut cursors = Vec::with_capacity(segments.len());
    for (segment, test) in segments.iter().zip(tests) {
        if let Some(cursor) = Cursor::new(segment, test, order)? {
            cursors.push(cursor);
        }
    }
    overlay.sort_unstable_by(|left, right| order.compare(left, right));
    let mut overlay = overlay.into_iter().map(SourceHead::of_overlay);

    let mut heads = BinaryHeap::with_capacity(cursors.len() + 1);
    for (source, cursor) in cursors.iter_mut().enumerate() {
        heads.extend(cursor.next(masked)?.map(|head| Sourced { head, source, order }));
    }
    let of_overlay = cursors.len();
    heads.extend(overlay.next().map(|head| Sourced { head, source: of_overlay, order }));

    let mut hits = Vec::with_capacity(take);
    let mut place = 0;
    while hits.len() < take {
        let Some(mut first) = heads.peek_mut() else { break };
        let source = first.source;
        if place >= skip {
            let SourceHead { id, row, .. } = first.head;
            let version = match row {
                HitRow::Of(doc) => cursors[source].segment.columns.version(doc),
                HitRow::Known(version) => version,
            };
            hits.push(Hit { id, version });
        }
        place += 1;
        let next = match cursors.get_mut(source) {
            Some(cursor) => cursor.next(masked)?,
            None => overlay.next(),
        };
        match next {
            Some(next) => first.head = next,
            None => drop(PeekMut::pop(first)),
        }
    }
    Ok(hits)
}

/// The next row of a source.
struct SourceHead {
    order: OrderPosition,
    id: Id,
    row: HitRow,
}

/// A row whose version is asked for only when it stands on the page.
#[derive(Clone, Copy)]
enum HitRow {
    Of(DocId),
    Known(Version),
}

impl SourceHead {
    fn of_overlay(candidate: Candidate) -> SourceHead {
        SourceHead { order: candidate.order, id: candidate.id, row: HitRow::Known(candidate.version) }
    }
}

/// A row with where it comes from. The greatest one of a heap is the one that comes first.
struct Sourced<'o> {
    head: SourceHead,
    source: usize,
    order: &'o OrderBy<'o>,
}

impl Ord for Sourced<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let (left, right) = (&other.head, &self.head);
        self.order.compare_places((&left.order, left.id), (&right.order, right.id))
    }
}

impl PartialOrd for Sourced<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Sourced<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Sourced<'_> {}

/// One segment, read in sort order.
struct Cursor<'w> {
    segment: &'w Segment,
    order: &'w OrderBy<'w>,
    test: Test,
    sequence: Sequence,
    place: u32,
    has_title: bool,
    title_ranks: &'w [u32],
    /// Number and sort key of the title met last: many certificates share one.
    title: Option<(u64, Arc<[u8]>)>,
}

impl<'w> Cursor<'w> {
    /// None when nothing of the segment meets the test.
    fn new(segment: &'w Segment, mut test: Test, order: &'w OrderBy) -> Result<Option<Cursor<'w>>, IndexError> {
        if matches!(test, Test::Never) {
            return Ok(None);
        }
        make_random_access(&mut test, segment.max_doc());
        let columns = segment.columns.as_ref();
        let has_title = order.has_title();
        let title_ranks = if has_title { columns.title_ranks()? } else { &[] };
        let sequence = Sequence::new(columns, order)?;
        Ok(Some(Cursor { segment, order, test, sequence, place: 0, has_title, title_ranks, title: None }))
    }

    fn next(&mut self, masked: &dyn Fn(Id) -> bool) -> Result<Option<SourceHead>, IndexError> {
        let columns = self.segment.columns.as_ref();
        while self.place < self.sequence.len() {
            let doc = self.sequence.at(self.place);
            self.place += 1;
            if !self.segment.is_alive(doc) || !self.test.matches(doc, columns) {
                continue;
            }
            let id = columns.id(doc);
            if masked(id) {
                continue;
            }
            let title = if self.has_title { columns.title_number(doc) } else { None };
            let title = title.map(|number| self.title_key(number)).transpose()?;
            let order = self.order.place(&IndexedDocument { columns, title_ranks: self.title_ranks, doc }, title);
            return Ok(Some(SourceHead { order, id, row: HitRow::Of(doc) }));
        }
        Ok(None)
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
fn make_random_access(test: &mut Test, max_doc: u32) {
    match test {
        Test::All(parts) | Test::Any(parts) => parts.iter_mut().for_each(|part| make_random_access(part, max_doc)),
        Test::Not(part) => make_random_access(part, max_doc),
        Test::Postings(postings) => *test = Test::Member(DocumentSet::new(postings, max_doc)),
        _ => {}
    }
}
