//! What searches see: one immutable value that is replaced, never changed. A search clones one `Arc` and is at one moment.

use std::sync::Arc;
use std::time::Instant;

use super::classes::Classes;
use super::counters::Counters;
use super::index::{self, Candidate, OrderBy, SegmentPlan, Snapshot};
use super::overlay::{Generation, NumberedRow, OverlayEntry};
use super::predicate::Predicate;
use crate::{SearchExplanation, SearchWay, TotalSource};
use certificate::search::filter::Filter;
use certificate::search::row::Row;
use certificate::search::term::Term;
use certificate::search::{EngineQuery, Hit, SearchPage, Sort, SortKey};
use certificate::{Id, Seq};

/// Rows from which a count is worth remembering: about 50 µs of work.
const COUNTED_ROWS_MIN: u64 = 4_096;

/// Rows a page may reach to while matches are still being counted. A deeper page counts first, so that memory stays bounded.
const COUNTED_PAGE_ROWS_MAX: usize = 20_000;

/// Rows before a page from which they are counted by blocks instead of walked: about 1 ms of walking.
const JUMP_ROWS_MIN: u64 = 16_384;

/// The index at its checkpoint, and every change since up to `seq`.
#[derive(Clone)]
pub(super) struct IndexView {
    pub index: Arc<Snapshot>,
    /// Generations from the oldest; all their entries lie behind the checkpoint.
    pub generations: Vec<Arc<Generation>>,
    pub classes: Arc<Classes>,
    /// Current certificates at `seq`.
    pub counters: Arc<Counters>,
    pub seq: Seq,
}

/// How a search is run.
pub(super) struct Planned {
    predicate: Predicate,
    total: KnownTotal,
    way: SearchPath,
    /// Rows to look at, roughly.
    pub rows: u64,
}

/// What is known of the total before the search is run.
#[derive(Clone, Copy)]
enum KnownTotal {
    /// All of it: only classes are asked for, and they are counted.
    Exact(u64),
    /// What the index has of it.
    Index(u64),
    Unknown,
}

enum SearchPath {
    /// By what the most selective part brings, segment by segment.
    Driven(Vec<SegmentPlan>),
    /// In sort order, all segments together. The total must be known.
    Merged {
        /// Rows before the page are counted by blocks, as far as classes alone decide, and not walked.
        jumps: bool,
    },
}

/// A condition on classes drives when fewer than one certificate in so many meets it.
const FEW_SHARE: u64 = 64;

impl IndexView {
    /// Plans a search.
    pub(super) fn plan(&self, query: &EngineQuery) -> Result<Planned, index::IndexError> {
        let predicate = Predicate::new(&query.filter, &self.classes);
        let total = match &predicate {
            Predicate::Always => KnownTotal::Exact(self.counters.all()),
            Predicate::Never => KnownTotal::Exact(0),
            Predicate::Class(table) => KnownTotal::Exact(self.counters.sum(table)),
            _ => match self.index.counted(&query.filter) {
                Some(count) => KnownTotal::Index(count),
                None => self.by_classes(query, &predicate)?.map_or(KnownTotal::Unknown, KnownTotal::Exact),
            },
        };
        self.plan_with(query, predicate, total)
    }

    /// The total of a condition that classes decide but for an exception, where few rows are left to ask.
    fn by_classes(&self, query: &EngineQuery, predicate: &Predicate) -> Result<Option<u64>, index::IndexError> {
        let Some((whole, left)) = predicate.by_classes() else { return Ok(None) };
        let few = |table: &[bool]| self.few(table);
        let segments = &self.index.segments;
        let rows: u64 = segments.iter().map(|segment| index::rows(&left, segment, &few)).sum::<Result<_, _>>()?;
        if rows + self.title_rows(&left) > COUNTED_ROWS_MIN {
            return Ok(None);
        }
        let plans = segments.iter().map(|segment| index::plan(&left, segment, &few)).collect::<Result<_, _>>()?;
        let order = OrderBy { sort: &query.sort, ranks: self.classes.ranks(), from_end: false };
        let (count, _) = self.walk(SearchPath::Driven(plans), &left, &order, 0)?;
        let mut share = 0;
        self.each_entry(&query.filter, &mut |entry| {
            let meets = |row: &Option<Arc<NumberedRow>>| row.as_ref().is_some_and(|row| left.matches(entry.id, row));
            share += i64::from(meets(&entry.new)) - i64::from(meets(&entry.old));
        });
        let exceptions = u64::try_from(count as i64 + share).expect("no view counts less than nothing");
        Ok(Some(self.counters.sum(&whole) + exceptions))
    }

    /// Titles that are looked at for a predicate, before any row.
    fn title_rows(&self, predicate: &Predicate) -> u64 {
        match predicate.title_conditions() {
            0 => 0,
            conditions => {
                conditions * self.index.segments.iter().map(|segment| segment.columns.distinct_titles()).sum::<u64>()
            }
        }
    }

    /// Whether a condition on classes drives.
    fn few(&self, table: &[bool]) -> bool {
        self.counters.sum(table) <= self.counters.all() / FEW_SHARE
    }

    fn plan_with(
        &self,
        query: &EngineQuery,
        predicate: Predicate,
        total: KnownTotal,
    ) -> Result<Planned, index::IndexError> {
        let few = |table: &[bool]| self.few(table);
        let segments = &self.index.segments;
        if let KnownTotal::Exact(known) | KnownTotal::Index(known) = total {
            let (skip, take) = page(query);
            let walk = |rows: u64| rows.saturating_mul(self.index.rows()).checked_div(known).unwrap_or(0);
            let before = walk(skip.min(known.saturating_sub(skip)));
            let jumps = predicate.is_by_class() && before >= JUMP_ROWS_MIN;
            let walked = walk(take) + if jumps { JUMP_ROWS_MIN } else { before };
            let driven: u64 =
                segments.iter().map(|segment| index::rows(&predicate, segment, &few)).sum::<Result<_, _>>()?;
            if walked < driven || take == 0 {
                // An order that nobody asked for yet is made from all documents first.
                let unmade = segments.iter().filter(|segment| take > 0 && !segment.columns.arrays.has(&query.sort));
                let rows = walked.saturating_add(unmade.map(|segment| u64::from(segment.max_doc())).sum());
                // Counting a document takes a fraction of what walking to one does.
                let uncounted = segments
                    .iter()
                    .filter(|segment| jumps && !segment.columns.arrays.is_counted(&query.sort, segment.deletions));
                let rows = rows.saturating_add(uncounted.map(|segment| u64::from(segment.max_doc()) / 8).sum());
                let rows = rows.saturating_add(self.title_rows(&predicate));
                return Ok(Planned { predicate, total, way: SearchPath::Merged { jumps }, rows });
            }
        }
        let plans: Vec<SegmentPlan> =
            segments.iter().map(|segment| index::plan(&predicate, segment, &few)).collect::<Result<_, _>>()?;
        let rows = plans.iter().map(|plan| plan.rows).sum::<u64>() + self.title_rows(&predicate);
        Ok(Planned { predicate, total, way: SearchPath::Driven(plans), rows })
    }

    /// Plans and runs a search, and tells how.
    pub(super) fn explain(&self, query: &EngineQuery) -> Result<SearchExplanation, index::IndexError> {
        let begun = Instant::now();
        let planned = self.plan(query)?;
        let total = match planned.total {
            KnownTotal::Exact(_) if planned.predicate.is_by_class() => TotalSource::Counters,
            KnownTotal::Exact(_) => TotalSource::CountersAndRows,
            KnownTotal::Index(_) => TotalSource::Remembered,
            KnownTotal::Unknown => TotalSource::Counted,
        };
        let (rows, again) = (planned.rows, total == TotalSource::Counted && counts_first(query, planned.rows));
        let mut way = self.way(&planned)?;
        let found = self.run(query, planned)?;
        if again {
            // The rows were counted and remembered, and the page was planned anew.
            way = self.way(&self.plan(query)?)?;
        }
        let (skip, take) = page(query);
        if total != TotalSource::Counted && (take == 0 || skip >= found.total) {
            way = SearchWay::Nothing;
        }
        let mut overlay_rows = 0;
        self.each_entry(&query.filter, &mut |_| overlay_rows += 1);
        let took_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        Ok(SearchExplanation { way, total, rows, overlay_rows, segments: self.index.segments.len(), took_us })
    }

    /// A way as it is told.
    fn way(&self, planned: &Planned) -> Result<SearchWay, index::IndexError> {
        let plans = match &planned.way {
            SearchPath::Driven(plans) => plans,
            SearchPath::Merged { jumps } => return Ok(SearchWay::Merged { jumps: *jumps }),
        };
        let mut drivers = Vec::new();
        for (segment, plan) in self.index.segments.iter().zip(plans) {
            plan.name_drivers(&planned.predicate, segment, &|table| self.few(table), &mut drivers)?;
        }
        Ok(SearchWay::Driven(drivers))
    }

    /// Every way there is to run a search.
    #[cfg(test)]
    pub(super) fn every_plan(&self, query: &EngineQuery) -> Vec<Planned> {
        let predicate = || Predicate::new(&query.filter, &self.classes);
        let driven = |few: bool| -> SearchPath {
            let plan = |segment| index::plan(&predicate(), segment, &|_| few).unwrap();
            SearchPath::Driven(self.index.segments.iter().map(plan).collect())
        };
        let merged = |jumps| SearchPath::Merged { jumps };
        let order = OrderBy { sort: &query.sort, ranks: self.classes.ranks(), from_end: false };
        let count = KnownTotal::Index(self.walk(driven(false), &predicate(), &order, 0).unwrap().0);
        let planned = |total, way| Planned { predicate: predicate(), total, way, rows: 0 };
        let mut plans = vec![
            planned(KnownTotal::Unknown, driven(false)),
            planned(KnownTotal::Unknown, driven(true)),
            planned(count, driven(false)),
            planned(count, merged(false)),
            planned(count, merged(true)),
            Planned { rows: u64::MAX, ..planned(KnownTotal::Unknown, driven(false)) },
        ];
        if let exact @ KnownTotal::Exact(_) = self.plan(query).unwrap().total {
            plans.extend([planned(exact, driven(true)), planned(exact, merged(false)), planned(exact, merged(true))]);
        }
        plans
    }

    /// Runs a search as it was planned. Total and page are of the moment `seq`.
    pub(super) fn run(&self, query: &EngineQuery, planned: Planned) -> Result<SearchPage, index::IndexError> {
        let Planned { predicate, total, way, rows } = planned;
        let (skip, take) = page(query);
        let order = OrderBy { sort: &query.sort, ranks: self.classes.ranks(), from_end: false };
        let total = match total {
            KnownTotal::Exact(total) if take == 0 || skip >= total => return Ok(self.page(total as i64, Vec::new())),
            KnownTotal::Exact(_) | KnownTotal::Index(_) => total,
            KnownTotal::Unknown if counts_first(query, rows) => {
                let (count, _) = self.walk(way, &predicate, &order, 0)?;
                self.index.remember(&query.filter, count);
                let planned = self.plan_with(query, predicate, KnownTotal::Index(count))?;
                return self.run(query, planned);
            }
            KnownTotal::Unknown => total,
        };
        let jumps = matches!(way, SearchPath::Merged { jumps: true, .. });
        let overlay = self.overlay(query, &predicate, &order, jumps);
        let (total, way) = match (total, way) {
            (KnownTotal::Exact(total), way) => (total as i64, way),
            (KnownTotal::Index(count), way) => (count as i64 + overlay.share, way),
            (KnownTotal::Unknown, way) => {
                let (count, mut candidates) = self.walk(way, &predicate, &order, reach(query))?;
                if rows >= COUNTED_ROWS_MIN {
                    self.index.remember(&query.filter, count);
                }
                candidates.extend(overlay.newest);
                return Ok(self.page(count as i64 + overlay.share, page_of(candidates, &order, skip, take)));
            }
        };
        let left = u64::try_from(total).unwrap_or(0).saturating_sub(skip);
        if take == 0 || left == 0 {
            return Ok(self.page(total, Vec::new()));
        }
        let SearchPath::Merged { .. } = way else {
            let (_, mut candidates) = self.walk(way, &predicate, &order, reach(query))?;
            candidates.extend(overlay.newest);
            return Ok(self.page(total, page_of(candidates, &order, skip, take)));
        };
        let take = take.min(left);
        // A page past the middle is nearer to the end.
        let from_end = left < skip;
        let order = OrderBy { from_end, ..order };
        let span = (if from_end { left - take } else { skip }, take as usize);
        let masked = |id: Id| self.is_masked(id);
        let moved = jumps.then_some(overlay.moved);
        let mut hits = index::merge(&self.index.segments, &predicate, &order, overlay.newest, &masked, moved, span)?;
        if from_end {
            hits.reverse();
        }
        Ok(self.page(total, hits))
    }

    /// How many rows of the index meet the plans, and the first of them; unordered.
    fn walk(
        &self,
        way: SearchPath,
        predicate: &Predicate,
        order: &OrderBy,
        first: usize,
    ) -> Result<(u64, Vec<Candidate>), index::IndexError> {
        let SearchPath::Driven(plans) = way else {
            unreachable!("segments are walked together only where the total is known, and then elsewhere")
        };
        let (mut count, mut candidates) = (0, Vec::new());
        for (segment, plan) in self.index.segments.iter().zip(plans) {
            let found = index::walk(segment, plan, predicate, order, first, &|id| self.is_masked(id))?;
            count += found.count;
            candidates.extend(found.candidates);
        }
        Ok((count, candidates))
    }

    /// Whether the overlay has a newer version than the index.
    fn is_masked(&self, id: Id) -> bool {
        self.generations.iter().any(|generation| generation.touches(id, self.seq))
    }

    fn page(&self, total: i64, hits: Vec<Hit>) -> SearchPage {
        SearchPage { total: u64::try_from(total).expect("no view counts less than nothing"), hits, at: self.seq }
    }

    /// Current certificates that carry a term and lie within `rows`, with the row of the moment `seq`: at most `max` of them.
    pub(super) fn with_term(
        &self,
        term: &Term,
        rows: Option<&Filter>,
        max: u32,
    ) -> Result<Vec<Hit>, index::IndexError> {
        let sort = vec![Sort { key: SortKey::Id, descending: false }];
        let term = Filter::Term(term.clone());
        let filter = match rows {
            Some(rows) => Filter::All(vec![term, rows.clone()]),
            None => term,
        };
        let query = EngineQuery { filter, sort, page: 1, count: max };
        Ok(self.run(&query, self.plan(&query)?)?.hits)
    }

    /// What the overlay has of a search.
    fn overlay(&self, query: &EngineQuery, predicate: &Predicate, order: &OrderBy, jumps: bool) -> Overlay {
        let mut overlay = Overlay::default();
        self.each_entry(&query.filter, &mut |entry| {
            let new = entry.new.as_ref().filter(|row| predicate.matches(entry.id, row));
            let old = entry.old.as_ref().filter(|row| predicate.matches(entry.id, row));
            // The sum over all changes of one certificate telescopes to its newest row less the one the index holds.
            overlay.share += i64::from(new.is_some()) - i64::from(old.is_some());
            if jumps {
                let place = |row: &Arc<NumberedRow>| order.candidate(entry.id, entry.version, row.class, &row.row);
                // What an earlier change of the same certificate added is taken away again at the same place.
                overlay.moved.extend(new.map(|row| (place(row), 1)));
                overlay.moved.extend(old.map(|row| (place(row), -1)));
            }
            if let Some(row) = new
                && query.count > 0
                && entry.newest_at(self.seq)
            {
                overlay.newest.push(order.candidate(entry.id, entry.version, row.class, &row.row));
            }
        });
        overlay
    }

    /// Entries that can matter to a filter: those of its most selective terms or ids, or all.
    fn each_entry<'v>(&'v self, filter: &Filter, each: &mut dyn FnMut(&'v OverlayEntry)) {
        for generation in self.generations.iter().filter(|generation| generation.len() > 0) {
            match overlay_key(filter) {
                Some(OverlayKey::Terms(terms)) if terms.len() == 1 => {
                    generation.with_term(terms[0], self.seq).for_each(&mut *each);
                }
                Some(OverlayKey::Terms(terms)) => {
                    let mut entries: Vec<&OverlayEntry> =
                        terms.iter().flat_map(|term| generation.with_term(term, self.seq)).collect();
                    entries.sort_unstable_by_key(|entry| entry.seq);
                    entries.dedup_by_key(|entry| entry.seq);
                    entries.into_iter().for_each(&mut *each);
                }
                Some(OverlayKey::Ids(ids)) => {
                    ids.iter().flat_map(|id| generation.with_id(*id, self.seq)).for_each(&mut *each);
                }
                None => generation.until(self.seq).for_each(&mut *each),
            }
        }
    }
}

/// Rows before the page and rows of it.
fn page(query: &EngineQuery) -> (u64, u64) {
    let count = u64::from(query.count);
    (query.page.saturating_sub(1).saturating_mul(count), count)
}

/// Whether a search of unknown total counts its rows before it makes its page: a deep one of many.
fn counts_first(query: &EngineQuery, rows: u64) -> bool {
    reach(query) > COUNTED_PAGE_ROWS_MAX && rows > COUNTED_PAGE_ROWS_MAX as u64
}

/// How many rows the page reaches to.
fn reach(query: &EngineQuery) -> usize {
    let (skip, take) = page(query);
    if take == 0 { 0 } else { usize::try_from(skip.saturating_add(take)).unwrap_or(usize::MAX) }
}

/// The page of rows that are all at hand.
fn page_of(mut candidates: Vec<Candidate>, order: &OrderBy, skip: u64, take: u64) -> Vec<Hit> {
    candidates.sort_unstable_by(|left, right| order.compare(left, right));
    let skip = usize::try_from(skip).unwrap_or(usize::MAX);
    let shown = candidates.into_iter().skip(skip).take(take as usize);
    shown.map(|candidate| Hit { id: candidate.id, version: candidate.version }).collect()
}

/// What the overlay has of a search.
#[derive(Default)]
struct Overlay {
    /// What it adds to the total of the index.
    share: i64,
    /// Its rows, unordered; none of them is masked.
    newest: Vec<Candidate>,
    /// What each change adds to the rows of the index (1), and takes away (-1), where a page far back is asked for.
    moved: Vec<(Candidate, i64)>,
}

/// What the overlay is asked by.
enum OverlayKey<'f> {
    Terms(Vec<&'f Term>),
    /// Sorted, without doubles.
    Ids(&'f [Id]),
}

/// The part of a filter that every match must meet and that the overlay can look up.
fn overlay_key(filter: &Filter) -> Option<OverlayKey<'_>> {
    match filter {
        Filter::Term(term) if term.is_selective() => Some(OverlayKey::Terms(vec![term])),
        Filter::Ids(ids) => Some(OverlayKey::Ids(ids)),
        Filter::All(parts) => parts.iter().filter_map(overlay_key).min_by_key(OverlayKey::len),
        Filter::Any(parts) => {
            let mut terms = Vec::new();
            for part in parts {
                match part {
                    Filter::Term(term) if term.is_selective() => terms.push(term),
                    _ => return None,
                }
            }
            Some(OverlayKey::Terms(terms))
        }
        _ => None,
    }
}

impl OverlayKey<'_> {
    fn len(&self) -> usize {
        match self {
            OverlayKey::Terms(terms) => terms.len(),
            OverlayKey::Ids(ids) => ids.len(),
        }
    }
}

/// A row with its class number, sharing the class of the list.
pub(super) fn numbered(classes: &Classes, mut row: Row) -> Option<Arc<NumberedRow>> {
    let (class, shared) = classes.find(&row.class)?;
    row.class = shared;
    Some(Arc::new(NumberedRow { row, class }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use certificate::State;
    use certificate::search::parameter::Field;
    use certificate::search::term::TermForm;

    fn term(value: &str) -> Filter {
        Filter::Term(Term::new(Field::Subject, TermForm::Code, value))
    }

    fn ids(ids: &[u64]) -> Filter {
        Filter::Ids(ids.iter().filter_map(|id| Id::new(*id)).collect())
    }

    /// What the overlay is asked by, in short.
    fn asked(filter: &Filter) -> String {
        match overlay_key(filter) {
            None => "all".into(),
            Some(OverlayKey::Ids(ids)) => format!("{} ids", ids.len()),
            Some(OverlayKey::Terms(terms)) => {
                let values = terms.iter().map(|term| String::from_utf8_lossy(&term.bytes()[2..]).into_owned());
                values.collect::<Vec<_>>().join("|")
            }
        }
    }

    #[test]
    fn the_overlay_is_asked_by_what_every_match_must_have() {
        let present = Filter::Term(Term::new(Field::Subject, TermForm::Present, ""));
        let draft = Filter::Class(certificate::search::filter::ClassTest::State(State::Draft));
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
