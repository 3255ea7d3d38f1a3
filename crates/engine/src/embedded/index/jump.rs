//! The way to a page far back: how many rows lie before a place of an order array is counted by blocks, so that nobody walks them.
//!
//! A position is looked for that has as many rows before it as the page, or a few less. The rows before a position are those before its
//! place in each order array, which is found by halving, and what the overlay adds and takes.

use super::IndexError;
use super::cursor::{Cursor, SourceHead};
use super::order::{Candidate, OrderBy};

/// Places of a segment that are walked rather than halved further.
const WALKED_PLACES_MAX: u32 = if cfg!(test) { 4 } else { 256 };

/// What changes since the index's checkpoint add at a position, or take away.
pub(super) struct MovedRows {
    rows: Vec<Candidate>,
    /// The sum of the first ones; one more than rows.
    sums: Vec<i64>,
}

impl MovedRows {
    pub(super) fn new(mut moved: Vec<(Candidate, i64)>, order: &OrderBy) -> MovedRows {
        moved.sort_unstable_by(|left, right| order.compare(&left.0, &right.0));
        let mut sum = 0;
        let sums = std::iter::once(0).chain(moved.iter().map(|(_, share)| {
            sum += share;
            sum
        }));
        let sums = sums.collect();
        MovedRows { rows: moved.into_iter().map(|(row, _)| row).collect(), sums }
    }

    fn before(&self, head: &SourceHead, order: &OrderBy) -> i64 {
        self.sums[self.rows.partition_point(|row| head.is_behind(row, order))]
    }
}

/// A position in the order of a search.
pub(super) struct JumpTarget {
    /// The first row that is not before it, none where all are asked.
    pub head: Option<SourceHead>,
    /// Rows before it.
    pub rows: u64,
}

/// Moves the cursors to a position with at most `skip` rows before it: those that are left to walk are few. Stays at the beginning where something
/// else than classes is asked for.
pub(super) fn jump(
    cursors: &mut [Cursor],
    moved: &MovedRows,
    order: &OrderBy,
    skip: u64,
) -> Result<JumpTarget, IndexError> {
    let mut reached = JumpTarget { head: None, rows: 0 };
    let Some(sums) = cursors.iter().map(Cursor::sums).collect::<Option<Vec<_>>>() else { return Ok(reached) };
    let mut low = vec![0; cursors.len()];
    let mut high: Vec<u32> = cursors.iter().map(Cursor::len).collect();
    loop {
        let width = |at: &usize| high[*at] - low[*at];
        let Some(widest) = (0..cursors.len()).max_by_key(width).filter(|at| width(at) > WALKED_PLACES_MAX) else {
            break;
        };
        let middle = low[widest] + width(&widest) / 2;
        let head = cursors[widest].head(middle)?;
        let (mut places, mut rows) = (Vec::with_capacity(cursors.len()), moved.before(&head, order));
        for (at, cursor) in cursors.iter_mut().enumerate() {
            let place = if at == widest { middle } else { cursor.place_of(&head, low[at], high[at])? };
            rows += cursor.before(place, &sums[at]) as i64;
            places.push(place);
        }
        let rows = u64::try_from(rows).map_err(|_| IndexError("fewer than no rows lie before a row".into()))?;
        match rows <= skip {
            true => (low, reached) = (places, JumpTarget { head: Some(head), rows }),
            false => high = places,
        }
    }
    cursors.iter_mut().zip(low).for_each(|(cursor, place)| cursor.place = place);
    Ok(reached)
}
