//! Order arrays made from columns, and read.

use std::sync::{Arc, Mutex};

use tantivy::DocId;

use super::arrays::{Array, ArraySlot};
use super::columns::SegmentColumns;
use super::error::IndexError;
use super::order::{OrderBy, Ranks, Sortable};
use certificate::Id;
use certificate::search::Sort;
use certificate::search::parameter::TimeField;

/// The documents of a segment as a search wants them.
pub(super) struct Sequence {
    array: Arc<ArraySlot>,
    len: u32,
    /// The array ascends and the order descends: values from the last to the first, then what has none.
    descending: bool,
    from_end: bool,
}

impl Sequence {
    /// Makes the array where there is none yet, which reads the columns of all documents and sorts them.
    pub(super) fn new(columns: &SegmentColumns, order: &OrderBy) -> Result<Sequence, IndexError> {
        let (sort, descending) = stored(order.sort);
        let array = columns.arrays.slot(sort.clone());
        array.get_or_make(|| make(columns, &OrderBy { sort: &sort, ranks: order.ranks, from_end: false }))?;
        Ok(Sequence { array, len: columns.max_doc(), descending, from_end: order.from_end })
    }

    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// The document at a place.
    pub(super) fn at(&self, place: u32) -> DocId {
        let array = self.array();
        let place = if self.from_end { self.len - 1 - place } else { place };
        let place = match (self.descending, place < array.present) {
            (false, _) => place,
            (true, true) => array.present - 1 - place,
            (true, false) => self.len - 1 - (place - array.present),
        };
        array.doc(place, self.len)
    }

    pub(super) fn array(&self) -> &Array {
        self.array.get().expect("a sequence has its array")
    }

    /// How much lies before a place, where `before` says how much does before one of the array.
    pub(super) fn before(&self, place: u32, before: impl Fn(u32) -> u64) -> u64 {
        let present = self.array().present;
        let ahead = |place: u32| match (self.descending, place <= present) {
            (false, _) => before(place),
            (true, true) => before(present) - before(present - place),
            (true, false) => before(present) + before(self.len) - before(self.len - (place - present)),
        };
        if self.from_end { ahead(self.len) - ahead(self.len - place) } else { ahead(place) }
    }
}

/// Makes the array of an order, so that no search has to.
pub(super) fn warm(columns: &SegmentColumns, sort: &[Sort], ranks: &Ranks) -> Result<(), IndexError> {
    Sequence::new(columns, &OrderBy { sort, ranks, from_end: false }).map(drop)
}

/// Notes that an order is wanted, whose array [`warm`] makes later.
pub(super) fn want(columns: &SegmentColumns, sort: &[Sort]) {
    drop(columns.arrays.slot(stored(sort).0));
}

/// The order an array is kept in, and whether the search wants it the other way round.
fn stored(sort: &[Sort]) -> (Vec<Sort>, bool) {
    match sort {
        [Sort { key, descending }] => (vec![Sort { key: *key, descending: false }], *descending),
        _ => (sort.to_vec(), false),
    }
}

fn make(columns: &SegmentColumns, order: &OrderBy) -> Result<Array, IndexError> {
    let title_ranks = if order.has_title() { columns.title_ranks()? } else { &[] };
    let row = |doc: DocId| IndexedDocument { columns, title_ranks, doc };
    let mut first: Vec<(u64, DocId)> = (0..columns.max_doc()).map(|doc| (order.key(0, &row(doc)), doc)).collect();
    // Documents lie from the latest to the earliest, which most orders follow or oppose.
    first.sort();
    let id = |doc: DocId| match order.first_descends() {
        true => u64::MAX - columns.id(doc).get(),
        false => columns.id(doc).get(),
    };
    for ties in first.chunk_by_mut(|one, other| one.0 == other.0).filter(|ties| ties.len() > 1) {
        match order.sort.len() {
            1 => ties.sort_by_cached_key(|(_, doc)| id(*doc)),
            _ => ties.sort_by_cached_key(|(_, doc)| (order.keys(&row(*doc)), id(*doc))),
        }
    }
    let present = first.partition_point(|(key, _)| *key != u64::MAX) as u32;
    let last = columns.max_doc().wrapping_sub(1);
    let is_reversed = first.iter().zip(0..).all(|((_, doc), place)| *doc == last - place);
    let docs = (!is_reversed).then(|| first.into_iter().map(|(_, doc)| doc).collect());
    Ok(Array { docs, present, counts: Mutex::default() })
}

/// A document as an order asks it.
pub(super) struct IndexedDocument<'c> {
    pub columns: &'c SegmentColumns,
    /// Empty when the order does not ask for titles.
    pub title_ranks: &'c [u32],
    pub doc: DocId,
}

impl Sortable for IndexedDocument<'_> {
    fn id(&self) -> Id {
        self.columns.id(self.doc)
    }

    fn class(&self) -> u32 {
        self.columns.class(self.doc)
    }

    fn begins(&self, field: TimeField) -> Option<i64> {
        self.columns.begins(field, self.doc)
    }

    fn title_rank(&self) -> Option<u64> {
        let number = self.columns.title_number(self.doc)?;
        self.title_ranks.get(number as usize).map(|rank| u64::from(*rank))
    }
}
