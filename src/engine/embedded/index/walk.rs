//! Walks one segment: counts what meets a filter and keeps the first rows in sort order.

use std::cmp::Ordering;
use std::sync::Arc;

use tantivy::DocId;

use super::columns::{Columns, Segment};
use super::plan::{Drive, Plan, Test};
use super::{Error, title};
use crate::certificate::{Id, Version};
use crate::fhir::date_time::Span;
use crate::search::class::Class;
use crate::search::filter::TimeField;
use crate::search::{Sort, SortKey};

/// Sort keys of one search at most: there are no more.
pub const KEYS_MAX: usize = 7;

/// The order asked for, with the ranks that class fields have in it.
pub struct OrderBy<'q> {
    pub sort: &'q [Sort],
    pub ranks: &'q Ranks,
}

/// Rank of each class by status code and by category code; `u64::MAX` for no category.
#[derive(Clone, Debug, Default)]
pub struct Ranks {
    status: Vec<u64>,
    category: Vec<u64>,
}

impl Ranks {
    /// Ranks by the alphabet of codes.
    pub fn new(classes: &[Arc<Class>]) -> Ranks {
        fn category(class: &Class) -> Option<&str> {
            class.category.first().and_then(|coding| coding.code.as_deref())
        }
        let mut codes: Vec<&str> = classes.iter().filter_map(|class| category(class)).collect();
        codes.sort_unstable();
        codes.dedup();
        let rank = |code: &str| codes.binary_search(&code).expect("the list was made of these codes") as u64;
        let status = |class: &Arc<Class>| {
            let mut all = crate::certificate::Status::ALL.map(|status| status.code());
            all.sort_unstable();
            all.iter().position(|code| *code == class.state.status().code()).unwrap_or(all.len()) as u64
        };
        Ranks {
            status: classes.iter().map(status).collect(),
            category: classes.iter().map(|class| category(class).map_or(u64::MAX, rank)).collect(),
        }
    }
}

/// Sort keys of a row as numbers: smaller comes first, `u64::MAX` is a missing value. A title is compared apart.
pub type Keys = [u64; KEYS_MAX];

/// A row that may stand on the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    keys: Keys,
    /// Sort key of the title, when it is asked for and there is one.
    title: Option<Vec<u8>>,
    pub id: Id,
    pub version: Version,
}

impl OrderBy<'_> {
    /// A row that is not in the index.
    pub fn candidate(&self, id: Id, version: Version, class: u32, row: &crate::search::row::Row) -> Candidate {
        let time = |field: TimeField| field.of(row);
        let keys = self.keys(id, class, time, |_| 0);
        let title = self.has_title().then(|| row.title.as_deref().map(title::key)).flatten();
        Candidate { keys, title, id, version }
    }

    /// Which of two rows comes first.
    pub fn compare(&self, left: &Candidate, right: &Candidate) -> Ordering {
        for (at, sort) in self.sort.iter().enumerate() {
            let order = match sort.key {
                SortKey::Title => match (&left.title, &right.title) {
                    (None, None) => Ordering::Equal,
                    (None, _) => Ordering::Greater,
                    (_, None) => Ordering::Less,
                    (Some(left), Some(right)) if sort.descending => right.cmp(left),
                    (Some(left), Some(right)) => left.cmp(right),
                },
                _ => left.keys[at].cmp(&right.keys[at]),
            };
            if order != Ordering::Equal {
                return order;
            }
        }
        self.by_id(left.id, right.id)
    }

    /// Ties break by id, in the direction of the first key. Contract 4.7.
    fn by_id(&self, left: Id, right: Id) -> Ordering {
        if self.first_descends() { right.cmp(&left) } else { left.cmp(&right) }
    }

    fn first_descends(&self) -> bool {
        self.sort.first().is_some_and(|sort| sort.descending)
    }

    fn has_title(&self) -> bool {
        self.sort.iter().any(|sort| sort.key == SortKey::Title)
    }

    fn keys(&self, id: Id, class: u32, time: impl Fn(TimeField) -> Option<Span>, title: impl Fn(bool) -> u64) -> Keys {
        let mut keys = [0; KEYS_MAX];
        for (key, sort) in keys.iter_mut().zip(self.sort) {
            let start = |field: TimeField| time(field).and_then(super::columns::beginning).map(ordered);
            let rank = |ranks: &[u64]| ranks.get(class as usize).copied().filter(|rank| *rank != u64::MAX);
            let value = match sort.key {
                SortKey::Date => start(TimeField::Date),
                SortKey::LastUpdated => start(TimeField::LastUpdated),
                SortKey::Period => start(TimeField::Period),
                SortKey::Status => rank(&self.ranks.status),
                SortKey::Category => rank(&self.ranks.category),
                SortKey::Id => Some(id.get()),
                SortKey::Title => {
                    *key = title(sort.descending);
                    continue;
                }
            };
            *key = directed(value, sort.descending);
        }
        keys
    }
}

/// A signed number so that unsigned comparison keeps its order.
fn ordered(number: i64) -> u64 {
    (number as u64) ^ (1 << 63)
}

/// Missing last in both directions; no value is the largest number.
fn directed(value: Option<u64>, descending: bool) -> u64 {
    match value {
        None => u64::MAX,
        Some(value) if descending => u64::MAX - 1 - value.min(u64::MAX - 1),
        Some(value) => value,
    }
}

/// What a segment holds of a search.
#[derive(Debug, Default)]
pub struct Found {
    /// Documents that meet the filter, masked ones included.
    pub count: u64,
    /// The first ones in sort order, masked ones left out; unordered.
    pub candidates: Vec<Candidate>,
}

/// Searches one segment. `masked` tells ids whose newest version the overlay has; `first` is how many rows the page reaches to.
pub fn walk(
    segment: &Segment,
    plan: Plan,
    order: &OrderBy,
    first: usize,
    masked: &dyn Fn(Id) -> bool,
) -> Result<Found, Error> {
    let Plan { drive, mut test, .. } = plan;
    let columns = segment.columns.as_ref();
    let title_ranks = if order.has_title() { columns.title_ranks()? } else { &[] };
    let mut top = Top { order, columns, title_ranks, first, rows: Vec::new(), last: None };
    let mut count = 0;
    let mut take = |doc: DocId, test: &mut Test| {
        if segment.is_alive(doc) && test.matches(doc, columns) {
            count += 1;
            top.offer(doc, masked);
        }
    };
    match drive {
        Drive::Every(max_doc) => (0..max_doc).for_each(|doc| take(doc, &mut test)),
        drive => drive.for_each(|doc| take(doc, &mut test)),
    }
    Ok(Found { count, candidates: top.finish()? })
}

/// The first rows in sort order, of all that were offered.
struct Top<'w> {
    order: &'w OrderBy<'w>,
    columns: &'w Columns,
    title_ranks: &'w [u32],
    first: usize,
    rows: Vec<(Keys, Id, DocId)>,
    /// When documents come in sort order (the default order is that of the segment): the time of the last row that is needed.
    last: Option<i64>,
}

impl Top<'_> {
    fn offer(&mut self, doc: DocId, masked: &dyn Fn(Id) -> bool) {
        if self.first == 0 || self.last.is_some_and(|last| self.columns.last_updated(doc) < last) {
            return;
        }
        let id = self.columns.id(doc);
        if masked(id) {
            return;
        }
        let title = |descending: bool| {
            let rank = self.columns.title_number(doc).map(|number| u64::from(self.title_ranks[number as usize]));
            directed(rank, descending)
        };
        let keys = self.order.keys(id, self.columns.class(doc), |field| self.columns.time(field, doc), title);
        self.rows.push((keys, id, doc));
        if self.is_segment_order() {
            if self.rows.len() >= self.first && self.last.is_none() {
                self.last = Some(self.columns.last_updated(doc));
            }
        } else if self.rows.len() >= self.first.saturating_mul(2).max(1024) {
            self.cut();
        }
    }

    fn is_segment_order(&self) -> bool {
        self.order.sort.first().is_some_and(|sort| sort.key == SortKey::LastUpdated && sort.descending)
    }

    fn cut(&mut self) {
        if self.rows.len() > self.first {
            let order = self.order;
            let compare = |left: &(Keys, Id, DocId), right: &(Keys, Id, DocId)| {
                left.0.cmp(&right.0).then_with(|| order.by_id(left.1, right.1))
            };
            self.rows.select_nth_unstable_by(self.first, compare);
            self.rows.truncate(self.first);
        }
    }

    fn finish(mut self) -> Result<Vec<Candidate>, Error> {
        self.cut();
        let has_title = self.order.has_title();
        let candidate = |(keys, id, doc): &(Keys, Id, DocId)| -> Result<Candidate, Error> {
            let title = match self.columns.title_number(*doc).filter(|_| has_title) {
                Some(number) => Some(self.columns.title_key(number)?),
                None => None,
            };
            Ok(Candidate { keys: *keys, title, id: *id, version: self.columns.version(*doc) })
        };
        self.rows.iter().map(candidate).collect()
    }
}
