//! The order of a search: what is compared, of rows of the index and of the overlay alike.

use std::cmp::Ordering;
use std::sync::Arc;

use super::columns::beginning;
use super::title;
use crate::certificate::{Id, Version};
use crate::fhir::date_time::Span;
use crate::search::class::Class;
use crate::search::filter::TimeField;
use crate::search::{Sort, SortKey};

/// Sort keys of one search at most: there are no more.
pub const KEYS_MAX: usize = 7;

/// The order asked for, with the ranks that class fields have in it.
#[derive(Clone, Copy)]
pub struct OrderBy<'q> {
    pub sort: &'q [Sort],
    pub ranks: &'q Ranks,
    /// The last row first: a page past the middle is nearer to the end.
    pub from_end: bool,
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
    pub(super) keys: Keys,
    /// Sort key of the title, when it is asked for and there is one.
    pub(super) title: Option<Arc<[u8]>>,
    pub id: Id,
    pub version: Version,
}

impl OrderBy<'_> {
    /// A row that is not in the index.
    pub fn candidate(&self, id: Id, version: Version, class: u32, row: &crate::search::row::Row) -> Candidate {
        let time = |field: TimeField| field.of(row);
        let keys = self.keys(id, class, time, |_| 0);
        let title = self.has_title().then(|| row.title.as_deref().map(|title| title::key(title).into())).flatten();
        Candidate { keys, title, id, version }
    }

    /// Which of two rows comes first.
    pub fn compare(&self, left: &Candidate, right: &Candidate) -> Ordering {
        match self.from_end {
            true => self.forward(right, left),
            false => self.forward(left, right),
        }
    }

    fn forward(&self, left: &Candidate, right: &Candidate) -> Ordering {
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
    pub fn by_id(&self, left: Id, right: Id) -> Ordering {
        if self.first_descends() { right.cmp(&left) } else { left.cmp(&right) }
    }

    pub fn first_descends(&self) -> bool {
        self.sort.first().is_some_and(|sort| sort.descending)
    }

    pub fn has_title(&self) -> bool {
        self.sort.iter().any(|sort| sort.key == SortKey::Title)
    }

    /// Keys of a row. `title` gives the one of the title by its direction; it is compared only within one segment.
    pub fn keys(
        &self,
        id: Id,
        class: u32,
        time: impl Fn(TimeField) -> Option<Span>,
        title: impl Fn(bool) -> u64,
    ) -> Keys {
        let mut keys = [0; KEYS_MAX];
        for (key, sort) in keys.iter_mut().zip(self.sort) {
            let start = |field: TimeField| time(field).and_then(beginning).map(ordered);
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
pub fn directed(value: Option<u64>, descending: bool) -> u64 {
    match value {
        None => u64::MAX,
        Some(value) if descending => u64::MAX - 1 - value.min(u64::MAX - 1),
        Some(value) => value,
    }
}
