//! What searches see: one immutable value that is replaced, never changed. A search clones one `Arc` and is at one moment.

use std::sync::Arc;

use super::classes::Classes;
use super::index::{self, OrderBy, Plan, Snapshot};
use super::overlay::{Entry, Generation, Numbered};
use crate::certificate::{Id, Seq};
use crate::search::filter::{ClassTest, Filter};
use crate::search::row::Row;
use crate::search::term::Term;
use crate::search::{Hit, Page, Query};

/// The index at its checkpoint, and every change since up to `seq`.
#[derive(Clone)]
pub struct View {
    pub index: Arc<Snapshot>,
    /// Generations from the oldest; all their entries lie behind the checkpoint.
    pub generations: Vec<Arc<Generation>>,
    pub classes: Arc<Classes>,
    pub seq: Seq,
}

impl View {
    /// Plans a search on every segment of the index.
    pub fn plan(&self, filter: &Filter) -> Result<Vec<Plan>, index::Error> {
        let classes =
            |test: &ClassTest| -> Vec<bool> { self.classes.iter().map(|class| test.matches(class)).collect() };
        self.index.segments.iter().map(|segment| index::plan(filter, segment, &classes)).collect()
    }

    /// Runs a search as it was planned. Total and page are of the moment `seq`.
    pub fn run(&self, query: &Query, plans: Vec<Plan>) -> Result<Page, index::Error> {
        let order = OrderBy { sort: &query.sort, ranks: self.classes.ranks() };
        let page = query.page.saturating_sub(1);
        let skip = usize::try_from(page.saturating_mul(u64::from(query.count))).unwrap_or(usize::MAX);
        let first = if query.count == 0 { 0 } else { skip.saturating_add(query.count as usize) };

        let masked = |id: Id| self.generations.iter().any(|generation| generation.touches(id, self.seq));
        let mut total: i64 = 0;
        let mut candidates = Vec::new();
        for (segment, plan) in self.index.segments.iter().zip(plans) {
            let found = index::walk(segment, plan, &order, first, &masked)?;
            total += found.count as i64;
            candidates.extend(found.candidates);
        }

        let matches = |id: Id, row: &Option<Arc<Numbered>>| {
            row.as_ref().filter(|row| query.filter.matches(id, &row.row)).cloned()
        };
        self.each_entry(&query.filter, &mut |entry| {
            let new = matches(entry.id, &entry.new);
            // The sum over all changes of one certificate telescopes to its newest row less the one the index holds.
            total += i64::from(new.is_some()) - i64::from(matches(entry.id, &entry.old).is_some());
            if let Some(row) = new
                && first > 0
                && entry.newest_at(self.seq)
            {
                candidates.push(order.candidate(entry.id, entry.version, row.class, &row.row));
            }
        });

        candidates.sort_unstable_by(|left, right| order.compare(left, right));
        let shown = candidates.into_iter().skip(skip).take(query.count as usize);
        let hits = shown.map(|candidate| Hit { id: candidate.id, version: candidate.version }).collect();
        Ok(Page { total: u64::try_from(total).expect("no view counts less than nothing"), hits, at: self.seq })
    }

    /// Current certificates that carry a term, with the row of the moment `seq`: at most `max` of them.
    pub fn with_term(&self, term: &Term, max: u32) -> Result<Vec<Hit>, index::Error> {
        let sort = [crate::search::Sort { key: crate::search::SortKey::Id, descending: false }];
        let query = Query { filter: Filter::Term(term.clone()), sort: sort.to_vec(), page: 1, count: max };
        Ok(self.run(&query, self.plan(&query.filter)?)?.hits)
    }

    /// Entries that can matter to a filter: those of its most selective terms or ids, or all.
    fn each_entry<'v>(&'v self, filter: &Filter, each: &mut dyn FnMut(&'v Entry)) {
        for generation in self.generations.iter().filter(|generation| generation.len() > 0) {
            match narrow(filter) {
                Some(Narrow::Terms(terms)) if terms.len() == 1 => {
                    generation.with_term(terms[0], self.seq).for_each(&mut *each)
                }
                Some(Narrow::Terms(terms)) => {
                    let mut entries: Vec<&Entry> =
                        terms.iter().flat_map(|term| generation.with_term(term, self.seq)).collect();
                    entries.sort_unstable_by_key(|entry| entry.seq);
                    entries.dedup_by_key(|entry| entry.seq);
                    entries.into_iter().for_each(&mut *each);
                }
                Some(Narrow::Ids(ids)) => {
                    ids.iter().flat_map(|id| generation.with_id(*id, self.seq)).for_each(&mut *each);
                }
                None => generation.until(self.seq).for_each(&mut *each),
            }
        }
    }
}

/// What the overlay is asked by.
enum Narrow<'f> {
    Terms(Vec<&'f Term>),
    /// Sorted, without doubles.
    Ids(&'f [Id]),
}

/// The part of a filter that every match must meet and that the overlay can look up.
fn narrow(filter: &Filter) -> Option<Narrow<'_>> {
    match filter {
        Filter::Term(term) if term.is_selective() => Some(Narrow::Terms(vec![term])),
        Filter::Ids(ids) => Some(Narrow::Ids(ids)),
        Filter::All(parts) => parts.iter().filter_map(narrow).min_by_key(Narrow::len),
        Filter::Any(parts) => {
            let mut terms = Vec::new();
            for part in parts {
                match part {
                    Filter::Term(term) if term.is_selective() => terms.push(term),
                    _ => return None,
                }
            }
            Some(Narrow::Terms(terms))
        }
        _ => None,
    }
}

impl Narrow<'_> {
    fn len(&self) -> usize {
        match self {
            Narrow::Terms(terms) => terms.len(),
            Narrow::Ids(ids) => ids.len(),
        }
    }
}

/// A row with its class number, sharing the class of the list.
pub fn numbered(classes: &Classes, mut row: Row) -> Option<Arc<Numbered>> {
    let (class, shared) = classes.find(&row.class)?;
    row.class = shared;
    Some(Arc::new(Numbered { row, class }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate::State;
    use crate::search::term::{Field, Form};

    fn term(value: &str) -> Filter {
        Filter::Term(Term::new(Field::Subject, Form::Code, value))
    }

    fn ids(ids: &[u64]) -> Filter {
        Filter::Ids(ids.iter().filter_map(|id| Id::new(*id)).collect())
    }

    /// What the overlay is asked by, in short.
    fn asked(filter: &Filter) -> String {
        match narrow(filter) {
            None => "all".into(),
            Some(Narrow::Ids(ids)) => format!("{} ids", ids.len()),
            Some(Narrow::Terms(terms)) => {
                let values = terms.iter().map(|term| String::from_utf8_lossy(&term.bytes()[2..]).into_owned());
                values.collect::<Vec<_>>().join("|")
            }
        }
    }

    #[test]
    fn the_overlay_is_asked_by_what_every_match_must_have() {
        let present = Filter::Term(Term::new(Field::Subject, Form::Present, ""));
        let draft = Filter::Class(ClassTest::State(State::Draft));
        for (filter, expected) in [
            (term("a"), "a"),
            (present.clone(), "all"),
            (draft.clone(), "all"),
            (Filter::Not(Box::new(term("a"))), "all"),
            (Filter::All(vec![]), "all"),
            // Nothing meets it, so nothing has to be looked at.
            (Filter::Any(vec![]), ""),
            (Filter::Any(vec![term("a"), term("b")]), "a|b"),
            (Filter::Any(vec![term("a"), present.clone()]), "all"),
            (Filter::Any(vec![term("a"), ids(&[1])]), "all"),
            (Filter::All(vec![draft.clone(), term("a"), present]), "a"),
            (Filter::All(vec![Filter::Any(vec![term("a"), term("b")]), term("c")]), "c"),
            (Filter::All(vec![ids(&[1, 2, 3]), Filter::Any(vec![term("a"), term("b")])]), "a|b"),
            (Filter::All(vec![ids(&[7]), term("a"), draft.clone()]), "1 ids"),
            (Filter::All(vec![Filter::All(vec![draft, Filter::All(vec![term("a")])])]), "a"),
        ] {
            assert_eq!(asked(&filter), expected, "{filter:?}");
        }
    }
}
