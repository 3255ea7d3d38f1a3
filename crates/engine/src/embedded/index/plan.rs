//! How a filter is run on one segment: the most selective terms drive, everything else is tested on columns and postings.

use tantivy::postings::{SegmentPostings, TermInfo};
use tantivy::{DocId, DocSet, TERMINATED};

use super::IndexError;
use super::columns::{Segment, SegmentColumns};
use crate::SearchDriver;
use crate::embedded::predicate::{Predicate, meets};
use base::pause;
use certificate::Id;
use certificate::search::filter::TimeTest;
use certificate::search::parameter::TimeField;

/// A predicate made ready for one segment. Documents must be asked in ascending order where it holds [`SegmentPredicate::Postings`].
pub(crate) enum SegmentPredicate {
    Always,
    Never,
    All(Vec<SegmentPredicate>),
    Any(Vec<SegmentPredicate>),
    Not(Box<SegmentPredicate>),
    Ids(Vec<Id>),
    Postings(Box<SegmentPostings>),
    Member(DocumentSet),
    /// By class number.
    Class(Vec<bool>),
    Time(TimeField, TimeTest),
    /// By title number of the segment.
    Title(Vec<bool>),
}

impl SegmentPredicate {
    /// Makes a predicate ready. One on titles looks at every title of the segment.
    pub(crate) fn new(predicate: &Predicate, segment: &Segment) -> Result<SegmentPredicate, IndexError> {
        let parts = |parts: &[Predicate]| -> Result<Vec<SegmentPredicate>, IndexError> {
            parts.iter().map(|part| SegmentPredicate::new(part, segment)).collect()
        };
        Ok(match predicate {
            Predicate::Always => SegmentPredicate::Always,
            Predicate::Never => SegmentPredicate::Never,
            Predicate::All(predicates) => all(parts(predicates)?),
            Predicate::Any(predicates) => any(parts(predicates)?),
            Predicate::Not(predicate) => match SegmentPredicate::new(predicate, segment)? {
                SegmentPredicate::Always => SegmentPredicate::Never,
                SegmentPredicate::Never => SegmentPredicate::Always,
                test => SegmentPredicate::Not(Box::new(test)),
            },
            Predicate::Ids(ids) => SegmentPredicate::Ids(ids.clone()),
            Predicate::Term(term) => match segment.postings(term)? {
                Some(postings) => SegmentPredicate::Postings(Box::new(postings)),
                None => SegmentPredicate::Never,
            },
            Predicate::Class(table) => SegmentPredicate::Class(table.clone()),
            Predicate::Time(field, test) => SegmentPredicate::Time(*field, *test),
            Predicate::Title(test) => {
                let mut table = Vec::new();
                segment.columns.each_title(|number, _, title| {
                    pause::at(number);
                    table.push(test.matches(title));
                })?;
                SegmentPredicate::Title(table)
            }
        })
    }

    /// Whether classes alone decide.
    pub(super) fn is_by_class(&self) -> bool {
        matches!(self, SegmentPredicate::Always | SegmentPredicate::Never | SegmentPredicate::Class(_))
    }

    /// Whether documents of a class meet the predicate, where classes alone decide.
    pub(super) fn meets_class(&self, class: u32) -> bool {
        match self {
            SegmentPredicate::Class(table) => meets(table, class),
            test => matches!(test, SegmentPredicate::Always),
        }
    }

    /// Whether the document meets the predicate.
    pub(crate) fn matches(&mut self, doc: DocId, columns: &SegmentColumns) -> bool {
        match self {
            SegmentPredicate::Always => true,
            SegmentPredicate::Never => false,
            SegmentPredicate::All(parts) => parts.iter_mut().all(|part| part.matches(doc, columns)),
            SegmentPredicate::Any(parts) => parts.iter_mut().any(|part| part.matches(doc, columns)),
            SegmentPredicate::Not(part) => !part.matches(doc, columns),
            SegmentPredicate::Ids(ids) => ids.binary_search(&columns.id(doc)).is_ok(),
            SegmentPredicate::Postings(postings) => {
                if postings.doc() < doc {
                    postings.seek(doc);
                }
                postings.doc() == doc
            }
            SegmentPredicate::Member(member) => member.has(doc),
            SegmentPredicate::Class(table) => meets(table, columns.class(doc)),
            SegmentPredicate::Time(field, test) => columns.time(*field, doc).is_some_and(|span| test.matches(span)),
            SegmentPredicate::Title(table) => {
                columns.title_number(doc).and_then(|number| table.get(number as usize)).copied().unwrap_or(false)
            }
        }
    }
}

/// Documents by number, a bit each.
pub(crate) struct DocumentSet(Vec<u64>);

impl DocumentSet {
    /// The documents from where the postings stand on.
    pub(crate) fn new(postings: &mut SegmentPostings, max_doc: DocId) -> DocumentSet {
        let mut bits = vec![0; (max_doc as usize).div_ceil(64)];
        while postings.doc() != TERMINATED {
            bits[postings.doc() as usize / 64] |= 1 << (postings.doc() % 64);
            postings.advance();
        }
        DocumentSet(bits)
    }

    fn has(&self, doc: DocId) -> bool {
        self.0[doc as usize / 64] & (1 << (doc % 64)) != 0
    }
}

fn all(mut parts: Vec<SegmentPredicate>) -> SegmentPredicate {
    if parts.iter().any(|part| matches!(part, SegmentPredicate::Never)) {
        return SegmentPredicate::Never;
    }
    parts.retain(|part| !matches!(part, SegmentPredicate::Always));
    match parts.len() {
        0 => SegmentPredicate::Always,
        1 => parts.remove(0),
        _ => SegmentPredicate::All(parts),
    }
}

fn any(mut parts: Vec<SegmentPredicate>) -> SegmentPredicate {
    if parts.iter().any(|part| matches!(part, SegmentPredicate::Always)) {
        return SegmentPredicate::Always;
    }
    parts.retain(|part| !matches!(part, SegmentPredicate::Never));
    match parts.len() {
        0 => SegmentPredicate::Never,
        1 => parts.remove(0),
        _ => SegmentPredicate::Any(parts),
    }
}

/// The documents worth asking, in ascending order.
pub(crate) enum DrivingDocuments {
    /// Every document of the segment.
    Every(DocId),
    Postings(Box<SegmentPostings>),
    List(std::vec::IntoIter<DocId>),
}

impl Iterator for DrivingDocuments {
    type Item = DocId;

    fn next(&mut self) -> Option<DocId> {
        match self {
            // The whole segment is walked by the caller, which knows its size.
            DrivingDocuments::Every(_) => None,
            DrivingDocuments::Postings(postings) => {
                let doc = postings.doc();
                if doc == TERMINATED {
                    return None;
                }
                postings.advance();
                Some(doc)
            }
            DrivingDocuments::List(docs) => docs.next(),
        }
    }
}

/// Tells whether a table of classes is selective: it admits so few certificates that their documents are worth listing.
pub(super) type IsSelective<'v> = dyn Fn(&[bool]) -> bool + 'v;

/// Chooses what drives, and what is left to test on each document it brings.
pub(crate) fn plan(
    predicate: &Predicate,
    segment: &Segment,
    is_selective: &IsSelective,
) -> Result<SegmentPlan, IndexError> {
    let parts = parts_of(predicate);
    let Some((cost, driver)) = cheapest(parts, segment, is_selective)? else {
        let drive = DrivingDocuments::Every(segment.max_doc());
        return Ok(SegmentPlan { drive, driver: None, rows: u64::from(segment.max_doc()) });
    };
    let drive = match cost.term {
        Some(known) => segment.known_postings(&known).map(|postings| DrivingDocuments::Postings(Box::new(postings)))?,
        None => drive(&parts[driver], segment, is_selective)?,
    };
    Ok(SegmentPlan { drive, driver: Some(driver), rows: cost.rows })
}

/// Documents that [`plan`] would ask, roughly.
pub(crate) fn rows(predicate: &Predicate, segment: &Segment, is_selective: &IsSelective) -> Result<u64, IndexError> {
    Ok(cost(predicate, segment, is_selective)?.map_or(u64::from(segment.max_doc()), |cost| cost.rows))
}

/// How one segment is searched.
pub(crate) struct SegmentPlan {
    pub drive: DrivingDocuments,
    /// Which part of the predicate drives.
    driver: Option<usize>,
    /// Documents that are asked, roughly.
    pub rows: u64,
}

impl SegmentPlan {
    /// What is left to ask of each document that drives.
    pub(crate) fn test(&self, predicate: &Predicate, segment: &Segment) -> Result<SegmentPredicate, IndexError> {
        let is_met = |at: usize, part: &Predicate| Some(at) == self.driver && is_exact(part);
        let rest = parts_of(predicate).iter().enumerate().filter(|(at, part)| !is_met(*at, part));
        let rest: Result<Vec<SegmentPredicate>, IndexError> =
            rest.map(|(_, part)| SegmentPredicate::new(part, segment)).collect();
        Ok(all(rest?))
    }

    /// Adds what drives to `drivers`, each once.
    pub(crate) fn name_drivers(
        &self,
        predicate: &Predicate,
        segment: &Segment,
        is_selective: &IsSelective,
        drivers: &mut Vec<SearchDriver>,
    ) -> Result<(), IndexError> {
        match self.driver {
            Some(driver) => name_drivers(&parts_of(predicate)[driver], segment, is_selective, drivers),
            None => {
                add(SearchDriver::Every, drivers);
                Ok(())
            }
        }
    }
}

/// Names what [`collect`] takes a part's documents from.
fn name_drivers(
    part: &Predicate,
    segment: &Segment,
    is_selective: &IsSelective,
    drivers: &mut Vec<SearchDriver>,
) -> Result<(), IndexError> {
    match part {
        Predicate::Term(term) => {
            if let Some(field) = term.field() {
                add(SearchDriver::Postings(field), drivers);
            }
        }
        Predicate::Ids(_) => add(SearchDriver::Ids, drivers),
        Predicate::Class(_) => add(SearchDriver::Classes, drivers),
        Predicate::Any(parts) => {
            for part in parts {
                name_drivers(part, segment, is_selective, drivers)?;
            }
        }
        Predicate::All(parts) => {
            if let Some((_, cheapest)) = cheapest(parts, segment, is_selective)? {
                name_drivers(&parts[cheapest], segment, is_selective, drivers)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn add(driver: SearchDriver, drivers: &mut Vec<SearchDriver>) {
    if !drivers.contains(&driver) {
        drivers.push(driver);
    }
}

/// What each document must meet.
fn parts_of(predicate: &Predicate) -> &[Predicate] {
    if let Predicate::All(parts) = predicate { parts } else { std::slice::from_ref(predicate) }
}

/// What a part costs when it drives.
struct Cost {
    /// Documents it brings.
    rows: u64,
    /// The dictionary's entry, when the part is one term that the segment knows: it need not be looked up twice.
    term: Option<TermInfo>,
}

impl Cost {
    fn rows(rows: u64) -> Cost {
        Cost { rows, term: None }
    }
}

/// The part that brings the fewest documents, with their number.
fn cheapest(
    parts: &[Predicate],
    segment: &Segment,
    is_selective: &IsSelective,
) -> Result<Option<(Cost, usize)>, IndexError> {
    let mut best: Option<(Cost, usize)> = None;
    for (at, part) in parts.iter().enumerate() {
        if let Some(cost) = cost(part, segment, is_selective)?
            && best.as_ref().is_none_or(|(least, _)| cost.rows < least.rows)
        {
            best = Some((cost, at));
        }
    }
    Ok(best)
}

/// Whether driving by the part brings just the documents that meet it.
fn is_exact(part: &Predicate) -> bool {
    match part {
        Predicate::Never | Predicate::Term(_) | Predicate::Ids(_) | Predicate::Class(_) => true,
        Predicate::Any(parts) => parts.iter().all(is_exact),
        _ => false,
    }
}

/// How many documents a part brings when it drives; none when it cannot.
fn cost(part: &Predicate, segment: &Segment, is_selective: &IsSelective) -> Result<Option<Cost>, IndexError> {
    Ok(match part {
        Predicate::Term(term) => {
            let known = segment.term(term)?;
            Some(Cost { rows: known.as_ref().map_or(0, |known| u64::from(known.doc_freq)), term: known })
        }
        Predicate::Never => Some(Cost::rows(0)),
        Predicate::Ids(ids) => Some(Cost::rows(ids.len() as u64)),
        Predicate::Class(table) if is_selective(table) => {
            Some(Cost::rows(segment.columns.of_classes(table).map(|docs| docs.len() as u64).sum()))
        }
        Predicate::Any(parts) => {
            let mut sum = 0;
            for part in parts {
                match cost(part, segment, is_selective)? {
                    Some(cost) => sum += cost.rows,
                    None => return Ok(None),
                }
            }
            Some(Cost::rows(sum))
        }
        Predicate::All(parts) => cheapest(parts, segment, is_selective)?.map(|(cost, _)| Cost::rows(cost.rows)),
        _ => None,
    })
}

fn drive(part: &Predicate, segment: &Segment, is_selective: &IsSelective) -> Result<DrivingDocuments, IndexError> {
    if let Predicate::Term(term) = part {
        return Ok(match segment.postings(term)? {
            Some(postings) => DrivingDocuments::Postings(Box::new(postings)),
            None => DrivingDocuments::List(Vec::new().into_iter()),
        });
    }
    let mut docs = Vec::new();
    collect(part, segment, is_selective, &mut docs)?;
    docs.sort_unstable();
    docs.dedup();
    Ok(DrivingDocuments::List(docs.into_iter()))
}

/// Documents that may meet the part. A part that is more than terms and ids is tested again by the caller.
fn collect(
    part: &Predicate,
    segment: &Segment,
    is_selective: &IsSelective,
    docs: &mut Vec<DocId>,
) -> Result<(), IndexError> {
    let take = |docs: &mut Vec<DocId>, postings: Option<SegmentPostings>| {
        let Some(mut postings) = postings else { return };
        while postings.doc() != TERMINATED {
            docs.push(postings.doc());
            postings.advance();
        }
    };
    match part {
        Predicate::Term(term) => take(docs, segment.postings(term)?),
        Predicate::Ids(ids) => {
            for id in ids {
                take(docs, segment.of_id(*id)?);
            }
        }
        Predicate::Class(table) => segment.columns.of_classes(table).for_each(|of_class| docs.extend(of_class)),
        Predicate::Any(parts) => {
            for part in parts {
                collect(part, segment, is_selective, docs)?;
            }
        }
        Predicate::All(parts) => {
            let (_, cheapest) = cheapest(parts, segment, is_selective)?
                .expect("a part that drives has a cost, so one of its parts has");
            collect(&parts[cheapest], segment, is_selective, docs)?;
        }
        Predicate::Never => {}
        _ => unreachable!("only parts with a cost drive, and a cost is given to these alone"),
    }
    Ok(())
}
