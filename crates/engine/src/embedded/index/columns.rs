//! One segment, ready for searching: its columns opened once, its postings at hand.

use std::sync::{Arc, OnceLock};

use tantivy::columnar::{BytesColumn, Column};
use tantivy::fastfield::AliveBitSet;
use tantivy::postings::{SegmentPostings, TermInfo};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, InvertedIndexReader, SegmentReader, TERMINATED};

use super::arrays::Arrays;
use super::bounds::TIME_MIN;
use super::{IndexError, title};
use certificate::search::parameter::TimeField;
use certificate::search::term::Term;
use certificate::{Id, Version};
use fhir::date_time::Span;

/// Columns of a segment. They never change, whatever is deleted from it.
pub(crate) struct SegmentColumns {
    id: Column<u64>,
    version: Column<u64>,
    last_updated: Column<i64>,
    class: Column<u64>,
    date: (Column<i64>, Column<i64>),
    period: (Column<i64>, Column<i64>),
    pub title: Option<BytesColumn>,
    title_ranks: OnceLock<Vec<u32>>,
    groups: OnceLock<Groups>,
    pub arrays: Arrays,
    max_doc: DocId,
}

/// The documents of each class.
struct Groups {
    /// Where the documents of a class end; they begin where those of the class before end.
    ends: Vec<u32>,
    /// Ascending within a class.
    docs: Vec<DocId>,
}

impl SegmentColumns {
    pub(crate) fn open(reader: &SegmentReader) -> Result<SegmentColumns, IndexError> {
        let fields = reader.fast_fields();
        let max_doc = reader.max_doc();
        // A segment in which no certificate has the field has no such column.
        let time = |name: &str| -> Result<Column<i64>, IndexError> {
            Ok(fields.column_opt(name)?.unwrap_or_else(|| Column::build_empty_column(max_doc)))
        };
        Ok(SegmentColumns {
            id: fields.u64("id")?,
            version: fields.u64("version")?,
            last_updated: fields.i64("last_updated")?,
            class: fields.u64("class")?,
            date: (time("date_low")?, time("date_high")?),
            period: (time("period_low")?, time("period_high")?),
            title: fields.bytes("title")?,
            title_ranks: OnceLock::new(),
            groups: OnceLock::new(),
            arrays: Arrays::default(),
            max_doc,
        })
    }

    pub(crate) fn id(&self, doc: DocId) -> Id {
        Id::new(self.id.values.get_val(doc)).expect("the indexer writes ids of certificates")
    }

    pub(crate) fn version(&self, doc: DocId) -> Version {
        let number = u32::try_from(self.version.values.get_val(doc)).ok();
        number.and_then(Version::new).expect("the indexer writes versions of certificates")
    }

    pub(crate) fn class(&self, doc: DocId) -> u32 {
        self.class.values.get_val(doc) as u32
    }

    /// Documents of the classes that a table says yes to, deleted ones included.
    pub(crate) fn of_classes<'c>(&'c self, table: &'c [bool]) -> impl Iterator<Item = &'c [DocId]> {
        let groups = self.groups.get_or_init(|| self.group());
        let classes = table.iter().enumerate().filter(|(_, meets)| **meets).map(|(class, _)| class);
        classes.take_while(|class| *class < groups.ends.len()).map(|class| {
            let from = class.checked_sub(1).map_or(0, |before| groups.ends[before]);
            &groups.docs[from as usize..groups.ends[class] as usize]
        })
    }

    /// Counting sort: two passes over the column.
    fn group(&self) -> Groups {
        let mut ends = Vec::new();
        for doc in 0..self.max_doc {
            let class = self.class(doc) as usize;
            if ends.len() <= class {
                ends.resize(class + 1, 0);
            }
            ends[class] += 1;
        }
        let mut next = Vec::with_capacity(ends.len());
        let mut sum = 0;
        for end in &mut ends {
            next.push(sum);
            sum += *end;
            *end = sum;
        }
        let mut docs = vec![0; self.max_doc as usize];
        for doc in 0..self.max_doc {
            let place: &mut u32 = &mut next[self.class(doc) as usize];
            docs[*place as usize] = doc;
            *place += 1;
        }
        Groups { ends, docs }
    }

    pub(crate) fn max_doc(&self) -> DocId {
        self.max_doc
    }

    pub(crate) fn last_updated(&self, doc: DocId) -> i64 {
        self.last_updated.values.get_val(doc)
    }

    /// When a time begins; none when its beginning is open.
    pub(crate) fn begins(&self, field: TimeField, doc: DocId) -> Option<i64> {
        let low = match field {
            TimeField::LastUpdated => Some(self.last_updated(doc)),
            TimeField::Date => self.date.0.first(doc),
            TimeField::Period => self.period.0.first(doc),
        };
        low.filter(|low| *low > TIME_MIN)
    }

    pub(crate) fn time(&self, field: TimeField, doc: DocId) -> Option<Span> {
        let of = |(low, high): &(Column<i64>, Column<i64>)| Some(Span { low: low.first(doc)?, high: high.first(doc)? });
        match field {
            TimeField::LastUpdated => {
                let time = self.last_updated(doc);
                Some(Span { low: time, high: time })
            }
            TimeField::Date => of(&self.date),
            TimeField::Period => of(&self.period),
        }
    }

    /// Number of the title in the segment's dictionary of titles, which is in sort order.
    pub(crate) fn title_number(&self, doc: DocId) -> Option<u64> {
        self.title.as_ref()?.ords().first(doc)
    }

    /// The title as its column holds it.
    pub(crate) fn title_value(&self, doc: DocId) -> Result<Option<Vec<u8>>, IndexError> {
        let Some(column) = &self.title else { return Ok(None) };
        let Some(number) = column.ords().first(doc) else { return Ok(None) };
        let mut value = Vec::new();
        column.ord_to_bytes(number, &mut value)?;
        Ok(Some(value))
    }

    /// Sort key of a title by its number.
    pub(crate) fn title_key(&self, number: u64) -> Result<Arc<[u8]>, IndexError> {
        let mut value = Vec::new();
        if let Some(column) = &self.title {
            column.ord_to_bytes(number, &mut value)?;
        }
        let (key, _) = title::split(&value).ok_or_else(unreadable_title)?;
        Ok(key.into())
    }

    /// For each title number its rank among sort keys: titles that differ only in case share one.
    pub(crate) fn title_ranks(&self) -> Result<&[u32], IndexError> {
        if let Some(ranks) = self.title_ranks.get() {
            return Ok(ranks);
        }
        let mut ranks = Vec::new();
        let mut before: Vec<u8> = Vec::new();
        let mut rank = 0;
        self.each_title(|_, key, _| {
            if before != key {
                rank += 1;
                before = key.to_vec();
            }
            ranks.push(rank);
        })?;
        Ok(self.title_ranks.get_or_init(|| ranks))
    }

    /// Titles that differ.
    pub(crate) fn distinct_titles(&self) -> u64 {
        self.title.as_ref().map_or(0, |column| column.dictionary().num_terms() as u64)
    }

    /// Every title of the segment with its number, sort key and text, in sort order.
    pub(crate) fn each_title(&self, mut each: impl FnMut(u64, &[u8], &str)) -> Result<(), IndexError> {
        let Some(column) = &self.title else { return Ok(()) };
        let mut stream = column.dictionary().stream()?;
        let mut number = 0;
        while stream.advance() {
            let (key, title) = title::split(stream.key()).ok_or_else(unreadable_title)?;
            each(number, key, title);
            number += 1;
        }
        Ok(())
    }
}

fn each_posting(reader: &InvertedIndexReader, mut each: impl FnMut(&[u8], DocId)) -> Result<(), IndexError> {
    let mut terms = reader.terms().stream()?;
    while let Some((term, known)) = terms.next() {
        let mut postings = reader.read_postings_from_terminfo(known, IndexRecordOption::Basic)?;
        while postings.doc() != TERMINATED {
            each(term, postings.doc());
            postings.advance();
        }
    }
    Ok(())
}

fn unreadable_title() -> IndexError {
    IndexError("a title in the index is not readable".into())
}

/// A segment of one snapshot.
pub(crate) struct Segment {
    pub columns: Arc<SegmentColumns>,
    alive: Option<AliveBitSet>,
    /// Which deletions `alive` holds; the same number stands for the same ones.
    pub deletions: Option<u64>,
    terms: Arc<InvertedIndexReader>,
    ids: Arc<InvertedIndexReader>,
    term_field: Field,
    id_field: Field,
}

impl Segment {
    pub(crate) fn new(
        reader: &SegmentReader,
        columns: Arc<SegmentColumns>,
        term_field: Field,
        id_field: Field,
    ) -> Result<Segment, IndexError> {
        Ok(Segment {
            columns,
            alive: reader.alive_bitset().cloned(),
            deletions: reader.delete_opstamp(),
            terms: reader.inverted_index(term_field)?,
            ids: reader.inverted_index(id_field)?,
            term_field,
            id_field,
        })
    }

    /// Documents of the segment, deleted ones included.
    pub(crate) fn max_doc(&self) -> DocId {
        self.columns.max_doc
    }

    pub(crate) fn is_alive(&self, doc: DocId) -> bool {
        self.alive.as_ref().is_none_or(|alive| alive.is_alive(doc))
    }

    /// Documents that carry a term, deleted ones included; none when the segment does not know the term.
    pub(crate) fn postings(&self, term: &Term) -> Result<Option<SegmentPostings>, IndexError> {
        let term = tantivy::Term::from_field_bytes(self.term_field, term.bytes());
        Ok(self.terms.read_postings(&term, IndexRecordOption::Basic)?)
    }

    /// The dictionary's entry of a term; none when the segment does not know it.
    pub(crate) fn term(&self, term: &Term) -> Result<Option<TermInfo>, IndexError> {
        Ok(self.terms.get_term_info(&tantivy::Term::from_field_bytes(self.term_field, term.bytes()))?)
    }

    /// As [`postings`](Self::postings), of a term that was looked up before.
    pub(crate) fn known_postings(&self, known: &TermInfo) -> Result<SegmentPostings, IndexError> {
        Ok(self.terms.read_postings_from_terminfo(known, IndexRecordOption::Basic)?)
    }

    /// Every term with every document that carries it, deleted ones included.
    pub(crate) fn each_term(&self, each: impl FnMut(&[u8], DocId)) -> Result<(), IndexError> {
        each_posting(&self.terms, each)
    }

    /// Every id with every document that is found by it, deleted ones included.
    pub(crate) fn each_id(&self, mut each: impl FnMut(u64, DocId)) -> Result<(), IndexError> {
        let mut odd = false;
        each_posting(&self.ids, |id, doc| match id.try_into() {
            Ok(id) => each(u64::from_be_bytes(id), doc),
            Err(_) => odd = true,
        })?;
        if odd { Err(IndexError("an id among the terms is none".into())) } else { Ok(()) }
    }

    /// Documents of a certificate: one that is alive, at most.
    pub(crate) fn of_id(&self, id: Id) -> Result<Option<SegmentPostings>, IndexError> {
        let term = tantivy::Term::from_field_u64(self.id_field, id.get());
        Ok(self.ids.read_postings(&term, IndexRecordOption::Basic)?)
    }
}
