//! The order of a search: what is compared, of rows of the index and of the overlay alike.

use std::cmp::Ordering;
use std::sync::Arc;

use super::bounds::beginning;
use super::title;
use certificate::search::class::Class;
use certificate::search::parameter::TimeField;
use certificate::search::row::Row;
use certificate::search::{Sort, SortKey};
use certificate::{Id, Version};

/// Sort keys of one search at most: there are no more.
pub(super) const KEYS_MAX: usize = 7;

/// The order asked for, with the ranks that class fields have in it.
#[derive(Clone, Copy)]
pub(crate) struct OrderBy<'q> {
    pub sort: &'q [Sort],
    pub ranks: &'q Ranks,
    /// The last row first: a page past the middle is nearer to the end.
    pub from_end: bool,
}

/// Rank of each class by status code and by category code; `u64::MAX` for no category.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranks {
    status: Vec<u64>,
    category: Vec<u64>,
}

impl Ranks {
    /// Ranks by the alphabet of codes.
    pub(crate) fn new(classes: &[Arc<Class>]) -> Ranks {
        fn category(class: &Class) -> Option<&str> {
            class.category.first().and_then(|coding| coding.code.as_deref())
        }
        let mut codes: Vec<&str> = classes.iter().filter_map(|class| category(class)).collect();
        codes.sort_unstable();
        codes.dedup();
        let rank = |code: &str| codes.binary_search(&code).expect("the list was made of these codes") as u64;
        let status = |class: &Arc<Class>| {
            let mut all = certificate::Status::ALL.map(|status| status.code());
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
pub(super) type SortKeys = [u64; KEYS_MAX];

/// A row that may stand on the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(super) order: OrderPosition,
    pub id: Id,
    pub version: Version,
}

/// Where a row stands in an order. Most orders have one key, so the others lie apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OrderPosition {
    first: u64,
    others: Option<Box<Others>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Others {
    keys: SortKeys,
    /// Sort key of the title, when it is asked for and there is one.
    title: Option<Arc<[u8]>>,
}

/// What an order asks of a row.
pub(crate) trait Sortable {
    fn id(&self) -> Id;
    fn class(&self) -> u32;
    /// When a time begins, as its column holds it; none when its beginning is open.
    fn begins(&self, field: TimeField) -> Option<i64>;
    /// Rank of the title; compared only within one segment.
    fn title_rank(&self) -> Option<u64>;
}

/// A row that is not in the index.
struct UnindexedRow<'r> {
    id: Id,
    class: u32,
    row: &'r Row,
}

impl Sortable for UnindexedRow<'_> {
    fn id(&self) -> Id {
        self.id
    }

    fn class(&self) -> u32 {
        self.class
    }

    fn begins(&self, field: TimeField) -> Option<i64> {
        self.row.time(field).and_then(beginning)
    }

    fn title_rank(&self) -> Option<u64> {
        None
    }
}

impl OrderBy<'_> {
    /// A row that is not in the index.
    pub(crate) fn candidate(&self, id: Id, version: Version, class: u32, row: &Row) -> Candidate {
        let title = row.title.as_deref().filter(|_| self.has_title()).map(|title| title::key(title).into());
        Candidate { order: self.place(&UnindexedRow { id, class, row }, title), id, version }
    }

    /// Where a row stands. `title` is the sort key of its title, if the order asks for it.
    pub(crate) fn place(&self, row: &impl Sortable, title: Option<Arc<[u8]>>) -> OrderPosition {
        let others = self.sort.len() > 1 || self.title_first();
        let others = others.then(|| Box::new(Others { keys: self.keys(row), title }));
        OrderPosition { first: self.key(0, row), others }
    }

    /// Which of two rows comes first.
    pub(crate) fn compare(&self, left: &Candidate, right: &Candidate) -> Ordering {
        self.compare_places((&left.order, left.id), (&right.order, right.id))
    }

    pub(crate) fn compare_places(&self, left: (&OrderPosition, Id), right: (&OrderPosition, Id)) -> Ordering {
        let (left, right) = if self.from_end { (right, left) } else { (left, right) };
        if !self.title_first() && left.0.first != right.0.first {
            return left.0.first.cmp(&right.0.first);
        }
        if let (Some(one), Some(other)) = (&left.0.others, &right.0.others) {
            for at in 0..self.sort.len() {
                let order = self.compare_others(at, one, other);
                if order != Ordering::Equal {
                    return order;
                }
            }
        }
        self.by_id(left.1, right.1)
    }

    fn compare_others(&self, at: usize, left: &Others, right: &Others) -> Ordering {
        if self.sort[at].key != SortKey::Title {
            return left.keys[at].cmp(&right.keys[at]);
        }
        match (&left.title, &right.title) {
            (None, None) => Ordering::Equal,
            (None, _) => Ordering::Greater,
            (_, None) => Ordering::Less,
            (Some(left), Some(right)) if self.sort[at].descending => right.cmp(left),
            (Some(left), Some(right)) => left.cmp(right),
        }
    }

    /// Ties break by id, in the direction of the first key. Contract 4.7.
    pub(crate) fn by_id(&self, left: Id, right: Id) -> Ordering {
        if self.first_descends() { right.cmp(&left) } else { left.cmp(&right) }
    }

    pub(crate) fn first_descends(&self) -> bool {
        self.sort.first().is_some_and(|sort| sort.descending)
    }

    pub(crate) fn has_title(&self) -> bool {
        self.sort.iter().any(|sort| sort.key == SortKey::Title)
    }

    fn title_first(&self) -> bool {
        self.sort.first().is_some_and(|sort| sort.key == SortKey::Title)
    }

    /// All keys of a row. Titles are compared by them only within one segment.
    pub(crate) fn keys(&self, row: &impl Sortable) -> SortKeys {
        let mut keys = [0; KEYS_MAX];
        for (at, key) in keys.iter_mut().enumerate().take(self.sort.len()) {
            *key = self.key(at, row);
        }
        keys
    }

    /// One key of a row.
    pub(crate) fn key(&self, at: usize, row: &impl Sortable) -> u64 {
        let begins = |field: TimeField| row.begins(field).map(ordered);
        let rank = |ranks: &[u64]| ranks.get(row.class() as usize).copied().filter(|rank| *rank != u64::MAX);
        let Some(sort) = self.sort.get(at) else { return 0 };
        let value = match sort.key {
            SortKey::Date => begins(TimeField::Date),
            SortKey::LastUpdated => begins(TimeField::LastUpdated),
            SortKey::Period => begins(TimeField::Period),
            SortKey::Status => rank(&self.ranks.status),
            SortKey::Category => rank(&self.ranks.category),
            SortKey::Id => Some(row.id().get()),
            SortKey::Title => row.title_rank(),
        };
        directed(value, sort.descending)
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
