//! The view that finds: tantivy, behind the store by at most a round. The only module that uses tantivy.
//!
//! It holds exactly the current rows of the store at one seq, its checkpoint. It can be deleted at any time and is built again.

mod arrays;
mod blocks;
mod bounds;
mod columns;
mod contents;
mod cursor;
mod error;
mod folder_state;
mod jump;
pub(super) mod medium;
mod merge;
mod order;
mod plan;
mod read_only;
mod schema;
mod sequence;
mod snapshot;
#[cfg(test)]
mod tests;
mod title;
mod walk;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

use tantivy::directory::Directory;
use tantivy::index::SegmentId;
use tantivy::indexer::{LogMergePolicy, MergePolicy, NoMergePolicy};
use tantivy::{
    HasLen, Index, IndexReader, IndexSettings, IndexSortByField, IndexWriter, Order, ReloadPolicy, TantivyDocument,
    Term,
};

use super::overlay::NumberedRow;
use base::log::event;
use base::number::counted;
use certificate::search::Sort;
use certificate::{Id, Seq, Version};
pub(super) use columns::Segment;
use columns::SegmentColumns;
pub(super) use contents::{IndexContents, IndexedCertificate};
pub(super) use error::IndexError;
pub(super) use folder_state::{IndexFilesCheck, IndexFolderState, inspect, read, read_up_to};
pub(super) use medium::{IndexMedium, remove};
pub(super) use merge::merge;
pub(super) use order::{Candidate, OrderBy, Ranks};
pub(super) use plan::{SegmentPlan, plan, rows};
use schema::{IndexFields, Payload, schema};
pub(super) use schema::{IndexOrigin, LAYOUT};
pub(super) use snapshot::Snapshot;
pub(super) use walk::walk;

/// Share of deleted documents from which a segment is rewritten.
const DELETED_RATIO_MAX: f32 = 0.2;

/// Rows of a new segment up to which its order arrays are made in the round that brings it: twice what a round takes in, some 5 ms an order.
const WARMED_ROWS_MAX: u32 = if cfg!(test) { 64 } else { 32_768 };

/// The index as the indexer writes it.
pub(super) struct IndexWriterHandle {
    writer: IndexWriter,
    reader: IndexReader,
    fields: IndexFields,
    origin: IndexOrigin,
    /// Certificates that the last commit held.
    rows: u64,
    merges_when_told: bool,
    is_outdated: bool,
    columns: HashMap<SegmentId, Arc<SegmentColumns>>,
}

impl IndexWriterHandle {
    /// [`open_on`](Self::open_on) the file system.
    #[cfg(test)]
    pub(super) fn open(folder: &Path, origin: &IndexOrigin) -> Result<(IndexWriterHandle, Snapshot), IndexError> {
        Self::open_on(&IndexMedium::default(), folder, origin)
    }

    /// Opens the index of a folder with all it holds.
    ///
    /// # Errors
    /// There is none, or one that is torn or foreign.
    pub(super) fn open_on(
        medium: &IndexMedium,
        folder: &Path,
        origin: &IndexOrigin,
    ) -> Result<(IndexWriterHandle, Snapshot), IndexError> {
        let index = Index::open(medium.directory(folder)?)?;
        let (schema, fields) = schema();
        if index.schema() != schema {
            return Err(IndexError("the index has other fields".into()));
        }
        let payload = index.load_metas()?.payload.ok_or_else(|| IndexError("the index was never committed".into()))?;
        let payload: Payload = serde_json::from_str(&payload).map_err(|error| IndexError(error.to_string()))?;
        if !origin.reads(&payload.origin) {
            return Err(IndexError("the index was made from another store or by other rules".into()));
        }
        // It stays what it was made by, so that the next process to open it knows that it is to be built again.
        let (mut writer, snapshot) =
            Self::wrap(index, fields, &payload.origin, Seq(payload.seq), payload.rows, medium)?;
        writer.is_outdated = payload.origin != *origin;
        Ok((writer, snapshot))
    }

    /// Whether it was filled by the rules of an earlier release.
    pub(super) fn is_outdated(&self) -> bool {
        self.is_outdated
    }

    /// [`create_on`](Self::create_on) the file system.
    pub(super) fn create(folder: &Path, origin: &IndexOrigin) -> Result<(IndexWriterHandle, Snapshot), IndexError> {
        Self::create_on(&IndexMedium::default(), folder, origin)
    }

    /// Starts an empty index, in place of whatever was there.
    pub(super) fn create_on(
        medium: &IndexMedium,
        folder: &Path,
        origin: &IndexOrigin,
    ) -> Result<(IndexWriterHandle, Snapshot), IndexError> {
        medium.clear(folder)?;
        let (schema, fields) = schema();
        let settings = IndexSettings {
            sort_by_field: Some(IndexSortByField { field: "last_updated".into(), order: Order::Desc }),
            docstore_compression: tantivy::store::Compressor::None,
            docstore_compress_dedicated_thread: false,
            ..IndexSettings::default()
        };
        let index = Index::builder().schema(schema).settings(settings).open_or_create(medium.directory(folder)?)?;
        Self::wrap(index, fields, origin, Seq(0), 0, medium)
    }

    fn wrap(
        index: Index,
        fields: IndexFields,
        origin: &IndexOrigin,
        at: Seq,
        rows: u64,
        medium: &IndexMedium,
    ) -> Result<(IndexWriterHandle, Snapshot), IndexError> {
        let writer: IndexWriter = index.writer_with_options(medium.threads())?;
        // A kill before a commit leaves files that no commit knows. The next round counts on from the commit before and would give
        // one of its own the same name, which tantivy refuses.
        writer.garbage_collect_files().wait()?;
        // tantivy's first stamp is the one of the commit that it opened. A merge that begins before the next commit would take a deletion
        // with that stamp for a part of that commit, and may pass over it. So nothing gets it: a batch of no operations takes it. Decision 331.
        writer.run(std::iter::empty())?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let (origin, merges_when_told) = (origin.clone(), medium.merges_when_told());
        let mut writer = IndexWriterHandle {
            writer,
            reader,
            fields,
            origin,
            rows,
            merges_when_told,
            is_outdated: false,
            columns: HashMap::new(),
        };
        writer.set_merging(true);
        let snapshot = writer.snapshot(at, &Ranks::default())?;
        Ok((writer, snapshot))
    }

    /// Takes a certificate out.
    pub(super) fn remove(&self, id: Id) {
        self.writer.delete_term(Term::from_field_u64(self.fields.id, id.get()));
    }

    /// Puts the current row of a certificate in; an older one must be removed first.
    pub(super) fn add(&self, id: Id, version: Version, row: &NumberedRow) -> Result<(), IndexError> {
        let (fields, class, row) = (&self.fields, row.class, &row.row);
        let mut document = TantivyDocument::new();
        document.add_u64(fields.id, id.get());
        document.add_u64(fields.version, u64::from(version.get()));
        document.add_i64(fields.last_updated, row.last_updated);
        document.add_u64(fields.class, u64::from(class));
        if let Some(date) = row.date {
            document.add_i64(fields.date_low, bounds::bounded(date.low));
            document.add_i64(fields.date_high, bounds::bounded(date.high));
        }
        if let Some(period) = row.period {
            document.add_i64(fields.period_low, bounds::bounded(period.low));
            document.add_i64(fields.period_high, bounds::bounded(period.high));
        }
        if let Some(title) = &row.title {
            document.add_bytes(fields.title, &title::value(title));
        }
        for term in &row.terms {
            document.add_bytes(fields.term, term.bytes());
        }
        self.writer.add_document(document)?;
        Ok(())
    }

    /// Makes the round durable: the content is now the store's state at `seq`, which has `more` certificates than the one before.
    /// `ranks` are those of the classes its rows have.
    ///
    /// # Errors
    /// tantivy failed, or holds another number of rows than it was given: no search may be answered from it.
    pub(super) fn commit(&mut self, seq: Seq, more: i64, ranks: &Ranks) -> Result<Snapshot, IndexError> {
        let rows =
            self.rows.checked_add_signed(more).ok_or_else(|| IndexError("the index lost rows it never had".into()))?;
        self.rows = rows;
        let payload = Payload { origin: self.origin.clone(), seq: seq.0, rows };
        let mut commit = self.writer.prepare_commit()?;
        commit.set_payload(&serde_json::to_string(&payload).expect("two texts and a number have a JSON form"));
        commit.commit()?;
        self.reader.reload()?;
        self.snapshot(seq, ranks)
    }

    /// Bytes of its files. One that cannot be opened counts for nothing; looking through it tells.
    pub(super) fn bytes(&self) -> u64 {
        let directory = self.writer.index().directory();
        let of = |file: &std::path::PathBuf| directory.open_read(file).map_or(0, |file| file.len() as u64);
        directory.list_managed_files().iter().map(of).sum()
    }

    /// Compares the files of the last commit with their checksums, here or on another thread.
    pub(super) fn check(&self) -> IndexFilesCheck {
        IndexFilesCheck::new(self.writer.index(), self.reader.searcher(), self.fields)
    }

    /// Whether segments are merged from now on. A merge of a damaged one would give its damage a checksum that fits.
    pub(super) fn set_merging(&self, merges: bool) {
        let policy: Box<dyn MergePolicy> = match merges && !self.merges_when_told {
            true => {
                let mut policy = LogMergePolicy::default();
                policy.set_del_docs_ratio_before_merge(DELETED_RATIO_MAX);
                Box::new(policy)
            }
            false => Box::new(NoMergePolicy),
        };
        self.writer.set_merge_policy(policy);
    }

    /// Makes one segment of all, as tantivy does by itself elsewhere.
    #[cfg(test)]
    pub(super) fn merge(&mut self) -> Result<(), IndexError> {
        let segments = self.writer.index().searchable_segment_ids()?;
        if segments.len() > 1 {
            self.writer.merge(&segments).wait()?;
        }
        Ok(())
    }

    /// Makes one segment of all, without what was deleted, and lets the folder go.
    ///
    /// # Errors
    /// tantivy failed; what was committed is there all the same.
    pub(super) fn merge_all(mut self) -> Result<(), IndexError> {
        self.set_merging(false);
        let segments = self.writer.index().searchable_segment_ids()?;
        if !segments.is_empty() {
            self.writer.merge(&segments).wait()?;
        }
        self.columns.clear();
        self.reader.reload()?;
        self.writer.garbage_collect_files().wait()?;
        self.writer.wait_merging_threads()?;
        Ok(())
    }

    /// Lets the folder go. Merges under way are waited for and no new ones begun: one that ends later would write its own list of
    /// segments over that of whoever opens the folder next.
    pub(super) fn close(self) {
        self.set_merging(false);
        if let Err(error) = self.writer.wait_merging_threads() {
            event!(INDEX_MERGE_FAILED, problem = %error);
        }
    }

    /// The committed content, with the columns of new segments opened (about 30 µs each, which no search should pay), and the order arrays of
    /// small ones made. Those of large ones, which merges make, are noted.
    ///
    /// # Errors
    /// It is not what was committed.
    fn snapshot(&mut self, seq: Seq, ranks: &Ranks) -> Result<Snapshot, IndexError> {
        let searcher = self.reader.searcher();
        let mut columns = HashMap::new();
        let mut segments = Vec::new();
        let wanted: HashSet<Vec<Sort>> = self.columns.values().flat_map(|known| known.arrays.wanted()).collect();
        for reader in searcher.segment_readers() {
            let opened = match self.columns.remove(&reader.segment_id()) {
                Some(known) => known,
                None => {
                    let opened = Arc::new(SegmentColumns::open(reader)?);
                    for sort in &wanted {
                        match reader.max_doc() <= WARMED_ROWS_MAX {
                            true => sequence::warm(&opened, sort, ranks)?,
                            false => sequence::want(&opened, sort),
                        }
                    }
                    opened
                }
            };
            columns.insert(reader.segment_id(), opened.clone());
            segments.push(Segment::new(reader, opened, self.fields.term, self.fields.id)?);
        }
        self.columns = columns;
        let alive: u64 = searcher.num_docs();
        if alive != self.rows {
            let certificates = counted(alive, "certificate", "certificates");
            return Err(IndexError(format!("the index holds {certificates}, but the store has {}", self.rows)));
        }
        Ok(Snapshot { segments, at: seq, alive, counted: Mutex::default() })
    }
}
