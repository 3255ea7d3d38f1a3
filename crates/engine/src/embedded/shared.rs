//! What writer, indexer and readers share.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::classes::Classes;
use super::closed_versions::ClosedVersions;
use super::counters::Counters;
use super::known_time::KnownTime;
use super::links::PatientLinks;
use super::notes::Notes;
use super::search_error::SearchError;
use super::store::record::{EntryDraft, EntryKind, VersionRecord};
use super::store::{self, Store, StoreError, body, row};
use super::view::IndexView;
use super::{index, indexer};
use crate::{Clock, RefusedChange};
use base::metrics::Metrics;
use certificate::search::Hit;
use certificate::search::filter::Filter;
use certificate::search::row::Row;
use certificate::search::row_bytes;
use certificate::search::term::Term;
use certificate::{Seq, State};
use fhir::outcome::{Hcert, Issue, Outcome};

/// What the engine's files lie on: the file system, unless a test says otherwise.
#[derive(Default)]
pub(super) struct EngineMedia {
    pub store: store::StoreMedium,
    pub index: index::IndexMedium,
}

/// What writer, indexer and readers share.
pub(super) struct EngineShared {
    pub store: Store,
    pub clock: Clock,
    pub elapsed: Clock,
    pub time: KnownTime,
    pub unique_number: bool,
    pub metrics: Arc<Metrics>,
    pub notes: Notes,
    /// The data folder.
    pub folder: PathBuf,
    pub index_folder: PathBuf,
    pub index_medium: index::IndexMedium,
    pub origin: index::IndexOrigin,
    /// What searches see; none while the index is being built.
    pub view: Mutex<Option<Arc<IndexView>>>,
    /// Held by whoever makes the next view, so that the writer and the indexer take turns.
    pub publishing: Mutex<Published>,
    /// Seq of the last commit, for those who wait for the index.
    pub seq: AtomicU64,
    /// How far the index is being built, in percent.
    pub built_percent: AtomicU64,
    pub overlay_rows: AtomicUsize,
    /// Requests handed over that the writer has not begun with.
    pub queued: AtomicUsize,
    /// Which patients are tied to which.
    pub links: RwLock<PatientLinks>,
    /// Versions of closed certificates; none before a history asks for them, and after the store was opened again.
    pub closed: RwLock<Option<ClosedVersions>>,
    pub notifier: indexer::Notifier,
    /// Held by whoever builds the index beside.
    pub reindexing: Mutex<()>,
}

/// What the next view is made from besides the last one.
#[derive(Clone, Default)]
pub(super) struct Published {
    pub classes: Arc<Classes>,
    pub counters: Arc<Counters>,
}

impl EngineShared {
    pub(super) fn view(&self) -> Option<Arc<IndexView>> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Current certificates within `rows` that carry a term, everything acknowledged included: at most `max` of them.
    ///
    /// # Errors
    /// The index is not ready.
    pub(super) fn with_term(&self, term: &Term, rows: Option<&Filter>, max: u32) -> Result<Vec<Hit>, RefusedChange> {
        let percent = self.built_percent.load(Ordering::Acquire).to_string();
        let not_ready = || Outcome::from(Issue::new(Hcert::IndexNotReady).with("percent", percent.clone()));
        let view = self.view().ok_or_else(not_ready)?;
        Ok(view.with_term(term, rows, max).map_err(|error| not_ready().because(error.0))?)
    }

    pub(super) fn set_view(&self, view: Option<IndexView>) {
        let rows = view.as_ref().map_or(0, |view| view.generations.iter().map(|generation| generation.rows()).sum());
        self.overlay_rows.store(rows, Ordering::Release);
        let next = view.map(Arc::new);
        let before = std::mem::replace(&mut *self.view.lock().unwrap_or_else(PoisonError::into_inner), next);
        drop(before);
    }

    pub(super) fn publishing(&self) -> MutexGuard<'_, Published> {
        // Views are replaced as a whole, so one that was left half-way by a panic was never seen.
        self.publishing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does a part of a search. An index that it cannot read is given up. Damage may show as a panic too, but a fault of ours as well,
    /// which a new index would not mend: then the index is looked through first.
    pub(super) fn search<T>(&self, part: impl FnOnce() -> Result<T, index::IndexError>) -> Result<T, SearchError> {
        match catch_unwind(AssertUnwindSafe(part)) {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => {
                self.notifier.condemn();
                Err(SearchError::Failed(error.0))
            }
            Err(_) => {
                self.notifier.suspect();
                Err(SearchError::Failed("it panicked".into()))
            }
        }
    }

    pub(super) fn seq(&self) -> Seq {
        Seq(self.seq.load(Ordering::Acquire))
    }

    /// The index row of a stored version, with an open consent; none for a tombstone.
    pub(super) fn row(&self, record: &VersionRecord) -> Result<Option<Row>, StoreError> {
        if record.row.is_empty() {
            return Ok(None);
        }
        row::read_row(record, self.store.dictionary(record.dictionary)?).map(Some)
    }

    /// Compresses a version, on the caller's thread, before it waits for the writer. A tombstone has neither body nor row.
    pub(super) fn draft(&self, state: State, content: Option<(&[u8], &Row)>) -> EntryDraft {
        let bare = EntryDraft::bare(EntryKind::Version, state as u8);
        let Some((tail, row)) = content else { return bare };
        let (number, dictionary) = self.store.current_dictionary();
        EntryDraft {
            dictionary: number,
            row: body::compress(dictionary, &row_bytes::encode(row)),
            raw_bytes: tail.len(),
            body: body::compress(dictionary, tail),
            ..bare
        }
    }
}
