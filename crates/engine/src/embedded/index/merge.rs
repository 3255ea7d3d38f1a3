//! Walks all segments and the overlay together in sort order, to the page and no further. For searches that much meets.

use super::IndexError;
use super::columns::Segment;
use super::cursor::{Cursor, SourceHead};
use super::jump::{JumpTarget, MovedRows, jump};
use super::order::{Candidate, OrderBy};
use super::plan::SegmentPredicate;
use crate::embedded::predicate::Predicate;
use certificate::Id;
use certificate::search::Hit;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// The rows from `skip` on, at most `take` of them: those of the segments that meet a predicate and are not masked, and `overlay`. `moved` is what
/// changes since the index's checkpoint add (1) and take away (-1), masked rows included: with it the rows before the page are counted, without it
/// they are walked.
pub(crate) fn merge(
    segments: &[Segment],
    predicate: &Predicate,
    order: &OrderBy,
    mut overlay: Vec<Candidate>,
    masked: &dyn Fn(Id) -> bool,
    moved: Option<Vec<(Candidate, i64)>>,
    (skip, take): (u64, usize),
) -> Result<Vec<Hit>, IndexError> {
    let mut cursors = Vec::with_capacity(segments.len());
    for segment in segments {
        if let Some(cursor) = Cursor::new(segment, SegmentPredicate::new(predicate, segment)?, order)? {
            cursors.push(cursor);
        }
    }
    overlay.sort_unstable_by(|left, right| order.compare(left, right));
    let mut place = 0;
    if let Some(moved) = moved {
        let JumpTarget { head, rows } = jump(&mut cursors, &MovedRows::new(moved, order), order, skip)?;
        if let Some(head) = head {
            overlay.drain(..overlay.partition_point(|row| head.is_behind(row, order)));
        }
        place = rows;
    }
    let mut overlay = overlay.into_iter().map(SourceHead::of_overlay);

    let mut heads = BinaryHeap::with_capacity(cursors.len() + 1);
    for (source, cursor) in cursors.iter_mut().enumerate() {
        heads.extend(cursor.next(masked)?.map(|head| Sourced { head, source, order }));
    }
    let of_overlay = cursors.len();
    heads.extend(overlay.next().map(|head| Sourced { head, source: of_overlay, order }));

    let mut hits = Vec::with_capacity(take);
    while hits.len() < take {
        let Some(mut first) = heads.peek_mut() else { break };
        let source = first.source;
        if place >= skip {
            hits.push(first.head.hit(cursors.get(source)));
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
