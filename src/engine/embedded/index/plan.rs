//! How a filter is run on one segment: the most selective terms drive, everything else is tested on columns and postings.

use tantivy::postings::{SegmentPostings, TermInfo};
use tantivy::{DocId, DocSet, TERMINATED};

use super::Error;
use super::columns::{Columns, Segment};
use crate::certificate::Id;
use crate::search::filter::{Filter, TimeField, TimeTest};

/// A filter made ready for one segment. Documents must be asked in ascending order.
pub enum Test {
    Always,
    Never,
    All(Vec<Test>),
    Any(Vec<Test>),
    Not(Box<Test>),
    Ids(Vec<Id>),
    Postings(Box<SegmentPostings>),
    /// By class number.
    Class(Vec<bool>),
    Time(TimeField, TimeTest),
    /// By title number of the segment.
    Title(Vec<bool>),
}

/// Numbers of the classes that meet a condition, for every class there is.
pub type ClassTable<'c> = dyn Fn(&crate::search::filter::ClassTest) -> Vec<bool> + 'c;

impl Test {
    /// Makes a filter ready.
    pub fn new(filter: &Filter, segment: &Segment, classes: &ClassTable) -> Result<Test, Error> {
        let parts = |parts: &[Filter]| -> Result<Vec<Test>, Error> {
            parts.iter().map(|part| Test::new(part, segment, classes)).collect()
        };
        Ok(match filter {
            Filter::All(filters) => all(parts(filters)?),
            Filter::Any(filters) => any(parts(filters)?),
            Filter::Not(filter) => match Test::new(filter, segment, classes)? {
                Test::Always => Test::Never,
                Test::Never => Test::Always,
                Test::Class(table) => Test::Class(table.into_iter().map(|meets| !meets).collect()),
                test => Test::Not(Box::new(test)),
            },
            Filter::Ids(ids) => Test::Ids(ids.clone()),
            Filter::Term(term) => match segment.postings(term)? {
                Some(postings) => Test::Postings(Box::new(postings)),
                None => Test::Never,
            },
            Filter::Class(test) => Test::Class(classes(test)),
            Filter::Time(field, test) => Test::Time(*field, *test),
            Filter::Title(test) => {
                let mut table = Vec::new();
                segment.columns.each_title(|_, _, title| table.push(test.matches(title)))?;
                Test::Title(table)
            }
        })
    }

    /// Whether the document meets the filter.
    pub fn matches(&mut self, doc: DocId, columns: &Columns) -> bool {
        match self {
            Test::Always => true,
            Test::Never => false,
            Test::All(parts) => parts.iter_mut().all(|part| part.matches(doc, columns)),
            Test::Any(parts) => parts.iter_mut().any(|part| part.matches(doc, columns)),
            Test::Not(part) => !part.matches(doc, columns),
            Test::Ids(ids) => ids.binary_search(&columns.id(doc)).is_ok(),
            Test::Postings(postings) => {
                if postings.doc() < doc {
                    postings.seek(doc);
                }
                postings.doc() == doc
            }
            Test::Class(table) => table.get(columns.class(doc) as usize).copied().unwrap_or(false),
            Test::Time(field, test) => columns.time(*field, doc).is_some_and(|span| test.matches(span)),
            Test::Title(table) => {
                columns.title_number(doc).and_then(|number| table.get(number as usize)).copied().unwrap_or(false)
            }
        }
    }
}

fn all(parts: Vec<Test>) -> Test {
    let mut parts = merged(parts, |one, other| one && other);
    if parts.iter().any(|part| matches!(part, Test::Never)) {
        return Test::Never;
    }
    parts.retain(|part| !matches!(part, Test::Always));
    // Columns are cheaper to ask than postings, and both than a tree.
    parts.sort_by_key(|part| match part {
        Test::Class(_) | Test::Ids(_) => 0,
        Test::Time(..) | Test::Title(_) => 1,
        Test::Postings(_) => 2,
        _ => 3,
    });
    match parts.len() {
        0 => Test::Always,
        1 => parts.remove(0),
        _ => Test::All(parts),
    }
}

/// Takes the tables of classes together, so that however many conditions there are on them, a document is asked once.
fn merged(parts: Vec<Test>, join: impl Fn(bool, bool) -> bool) -> Vec<Test> {
    let mut table: Option<Vec<bool>> = None;
    let mut rest = Vec::with_capacity(parts.len());
    for part in parts {
        match (part, &mut table) {
            (Test::Class(more), Some(table)) => {
                table.iter_mut().zip(more).for_each(|(meets, more)| *meets = join(*meets, more));
            }
            (Test::Class(first), none) => *none = Some(first),
            (part, _) => rest.push(part),
        }
    }
    rest.extend(table.map(Test::Class));
    rest
}

fn any(parts: Vec<Test>) -> Test {
    let mut parts = merged(parts, |one, other| one || other);
    if parts.iter().any(|part| matches!(part, Test::Always)) {
        return Test::Always;
    }
    parts.retain(|part| !matches!(part, Test::Never));
    match parts.len() {
        0 => Test::Never,
        1 => parts.remove(0),
        _ => Test::Any(parts),
    }
}

/// The documents worth asking, in ascending order.
pub enum Drive {
    /// Every document of the segment.
    Every(DocId),
    Postings(Box<SegmentPostings>),
    List(std::vec::IntoIter<DocId>),
}

impl Iterator for Drive {
    type Item = DocId;

    fn next(&mut self) -> Option<DocId> {
        match self {
            // The whole segment is walked by the caller, which knows its size.
            Drive::Every(_) => None,
            Drive::Postings(postings) => {
                let doc = postings.doc();
                if doc == TERMINATED {
                    return None;
                }
                postings.advance();
                Some(doc)
            }
            Drive::List(docs) => docs.next(),
        }
    }
}

/// Chooses what drives, and what is left to test on each document it brings.
pub fn plan(filter: &Filter, segment: &Segment, classes: &ClassTable) -> Result<Plan, Error> {
    let alone = std::slice::from_ref(filter);
    let parts = if let Filter::All(parts) = filter { parts.as_slice() } else { alone };
    let Some((cost, driver)) = cheapest(parts, segment)? else {
        let drive = Drive::Every(segment.max_doc());
        return Ok(Plan { drive, test: Test::new(filter, segment, classes)?, rows: u64::from(segment.max_doc()) });
    };
    let rest = parts.iter().enumerate().filter(|(at, part)| *at != driver || !is_exact(part));
    let rest: Result<Vec<Test>, Error> = rest.map(|(_, part)| Test::new(part, segment, classes)).collect();
    let drive = match cost.term {
        Some(known) => segment.known_postings(&known).map(|postings| Drive::Postings(Box::new(postings)))?,
        None => drive(&parts[driver], segment)?,
    };
    Ok(Plan { drive, test: all(rest?), rows: cost.rows })
}

/// How one segment is searched.
pub struct Plan {
    pub drive: Drive,
    /// What is left to ask of each document.
    pub test: Test,
    /// Documents that are asked, roughly.
    pub rows: u64,
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
fn cheapest(parts: &[Filter], segment: &Segment) -> Result<Option<(Cost, usize)>, Error> {
    let mut best: Option<(Cost, usize)> = None;
    for (at, part) in parts.iter().enumerate() {
        if let Some(cost) = cost(part, segment)?
            && best.as_ref().is_none_or(|(least, _)| cost.rows < least.rows)
        {
            best = Some((cost, at));
        }
    }
    Ok(best)
}

/// Whether driving by the part brings just the documents that meet it.
fn is_exact(part: &Filter) -> bool {
    match part {
        Filter::Term(_) | Filter::Ids(_) => true,
        Filter::Any(parts) => parts.iter().all(is_exact),
        _ => false,
    }
}

/// How many documents a part brings when it drives; none when it cannot.
fn cost(part: &Filter, segment: &Segment) -> Result<Option<Cost>, Error> {
    Ok(match part {
        Filter::Term(term) => {
            let known = segment.term(term)?;
            Some(Cost { rows: known.as_ref().map_or(0, |known| u64::from(known.doc_freq)), term: known })
        }
        Filter::Ids(ids) => Some(Cost::rows(ids.len() as u64)),
        Filter::Any(parts) => {
            let mut sum = 0;
            for part in parts {
                match cost(part, segment)? {
                    Some(cost) => sum += cost.rows,
                    None => return Ok(None),
                }
            }
            Some(Cost::rows(sum))
        }
        Filter::All(parts) => cheapest(parts, segment)?.map(|(cost, _)| Cost::rows(cost.rows)),
        _ => None,
    })
}

fn drive(part: &Filter, segment: &Segment) -> Result<Drive, Error> {
    if let Filter::Term(term) = part {
        return Ok(match segment.postings(term)? {
            Some(postings) => Drive::Postings(Box::new(postings)),
            None => Drive::List(Vec::new().into_iter()),
        });
    }
    let mut docs = Vec::new();
    collect(part, segment, &mut docs)?;
    docs.sort_unstable();
    docs.dedup();
    Ok(Drive::List(docs.into_iter()))
}

/// Documents that may meet the part. A part that is more than terms and ids is tested again by the caller.
fn collect(part: &Filter, segment: &Segment, docs: &mut Vec<DocId>) -> Result<(), Error> {
    let mut take = |postings: Option<SegmentPostings>| {
        let Some(mut postings) = postings else { return };
        while postings.doc() != TERMINATED {
            docs.push(postings.doc());
            postings.advance();
        }
    };
    match part {
        Filter::Term(term) => take(segment.postings(term)?),
        Filter::Ids(ids) => {
            for id in ids {
                take(segment.of_id(*id)?);
            }
        }
        Filter::Any(parts) => {
            for part in parts {
                collect(part, segment, docs)?;
            }
        }
        Filter::All(parts) => {
            let (_, cheapest) =
                cheapest(parts, segment)?.expect("a part that drives has a cost, so one of its parts has");
            collect(&parts[cheapest], segment, docs)?;
        }
        _ => unreachable!("only parts with a cost drive, and a cost is given to these alone"),
    }
    Ok(())
}
