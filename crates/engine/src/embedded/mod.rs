//! The engine of one machine: redb keeps, tantivy finds, the overlay bridges the two, one writer decides.

pub mod actor;
mod append;
mod classes;
mod closed_certificates;
mod closed_versions;
mod committed;
mod compact;
mod compressed_version;
mod consent;
mod copy;
mod counters;
mod derive;
mod engine;
mod entry;
mod erase;
mod folder_history;
mod health;
mod history;
mod index;
mod indexer;
mod known_time;
mod ledger;
mod links;
mod notes;
mod overlay;
mod panics;
mod patients;
mod predicate;
mod reindex;
mod replacement;
mod restore;
mod salvage;
mod search_error;
mod shared;
mod stats;
pub mod store;
mod subject;
#[cfg(test)]
mod tests;
mod time;
mod verify;
mod view;
mod writer;

use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, RwLock};

use super::decide;
use super::write::{RefusedChange, Write};
use super::{ClockReading, FolderNames, FolderPurpose, SearchExplanation, StoredList, StoredVersion};
pub use append::{AuditHead, Change, IdsLeftOut, ImportBatch, PatientWrites};
use base::log::event;
use certificate::search::row::Row;
use certificate::search::term::Term;
use certificate::search::{EngineQuery, Hit, SearchPage};
use certificate::{Id, Seq};
use classes::Classes;
pub use compact::Compacted;
pub use compressed_version::CompressedVersion;
pub use copy::{CopyCheck, CopyOrder, made_by};
use counters::Counters;
pub use engine::{Engine, EngineOptions, EngineOrigin};
pub use entry::Entry;
pub use erase::ErasedCertificate;
pub use folder_history::FolderHistory;
use indexer::Indexer;
use known_time::KnownTime;
pub use ledger::Ledger;
use links::PatientLinks;
use notes::Notes;
pub use patients::Patients;
pub use restore::{RestoredStore, StoreRestore};
pub use salvage::{Salvage, Salvaged};
pub use search_error::SearchError;
use shared::{EngineMedia, EngineShared, Published};
pub use stats::{FileSize, Stats, TableSize, size};
pub use store::{FORMAT, RESTORING};
pub use store::{MemoryLog, StoreError, expect_unused, payload};
use store::{OpenedStore, Store, StoreReader};
pub use verify::{VerifyProblem, VerifyProgress, VerifyReport};
use view::IndexView;
use writer::{Job, SteppedWriter, check_number};

/// Requests waiting for the writer. Beyond it a write is answered with 503 at once instead of waiting unseen.
const WRITE_QUEUE_MAX: usize = 4_096;

/// What the threads of an engine run.
struct EngineWorkers {
    writer: SteppedWriter,
    queue: Receiver<Job>,
    indexer: Indexer,
}

impl Engine {
    /// Opens the data folder, or makes it (0700). After a clean stop this takes milliseconds; an index that is missing, torn or
    /// foreign is built again in the background, and searches answer [`SearchError::Building`] until it is there.
    ///
    /// # Errors
    /// The folder is in use, newer than this release, made with other names, damaged, or not to be written.
    pub fn open(options: EngineOptions) -> Result<Engine, StoreError> {
        Self::run_on(&options, EngineMedia::default())
    }

    /// As [`open`](Self::open), with certificates and all that is stored kept in memory: they are there as long as somebody has the log. The
    /// index lies in the folder.
    ///
    /// # Errors
    /// As there, as far as they are not about a file.
    pub fn open_in_memory(options: EngineOptions, log: &MemoryLog) -> Result<Engine, StoreError> {
        Self::run_on(
            &options,
            EngineMedia { store: store::StoreMedium::Memory(log.clone()), index: index::IndexMedium::default() },
        )
    }

    fn run_on(options: &EngineOptions, media: EngineMedia) -> Result<Engine, StoreError> {
        Self::run(Self::assemble(options, media)?)
    }

    /// Starts the threads.
    fn run((engine, workers): (Engine, EngineWorkers)) -> Result<Engine, StoreError> {
        let writer = writer::start(workers.writer, workers.queue)?;
        engine.threads.lock().expect("no holder of this lock can panic").push(writer);
        let indexer = indexer::start(workers.indexer)?;
        engine.threads.lock().expect("no holder of this lock can panic").push(indexer);
        Ok(engine)
    }

    /// Opens the data folder read-only: what is stored can be read, nothing is written, searched or indexed. It needs no right to write
    /// to the folder, and leaves it as it was.
    ///
    /// # Errors
    /// As [`open`](Self::open), or there is no store.
    pub fn open_read_only(options: EngineOptions) -> Result<Engine, StoreError> {
        let media = EngineMedia::default();
        let (store, opened) = Store::open_read_only(&options.folder, store_options(&options, media.store))?;
        let (seal_key, migrated, names) = (opened.seal_key, opened.migrated, options.names.clone());
        let shared = Self::share(&options, media.index, store, opened)?;
        let (queue, threads) = (Mutex::new(None), Mutex::default());
        Ok(Engine { shared, queue, threads, seal_key, migrated, names })
    }

    /// The engine before its threads are started, and the workers that they run.
    fn assemble(options: &EngineOptions, media: EngineMedia) -> Result<(Engine, EngineWorkers), StoreError> {
        make_folder(&options.folder)
            .map_err(|error| StoreError::Io(format!("{}: {error}", options.folder.display())))?;
        let opened = Store::open(&options.folder, store_options(options, media.store))?;
        Self::over(options, media.index, opened)
    }

    /// As [`assemble`](Self::assemble), over a store that is open.
    fn over(
        options: &EngineOptions,
        index_medium: index::IndexMedium,
        (store, opened): (Store, OpenedStore),
    ) -> Result<(Engine, EngineWorkers), StoreError> {
        let (position, seal_key, migrated) = (opened.position, opened.seal_key, opened.migrated);
        let shared = Self::share(options, index_medium, store, opened)?;
        let indexer = Indexer::open(&shared)?;
        let writer = SteppedWriter::new(&shared, position);
        let (sender, queue) = sync_channel(WRITE_QUEUE_MAX);
        let (sender, threads) = (Mutex::new(Some(sender)), Mutex::default());
        let names = options.names.clone();
        let engine = Engine { shared, queue: sender, threads, seal_key, migrated, names };
        Ok((engine, EngineWorkers { writer, queue, indexer }))
    }

    /// What all parts of an engine share, over an open store.
    fn share(
        options: &EngineOptions,
        index_medium: index::IndexMedium,
        store: Store,
        opened: OpenedStore,
    ) -> Result<Arc<EngineShared>, StoreError> {
        let classes = Arc::new(Classes::read(&opened.classes)?);
        let counters = Arc::new(Counters::new(opened.counters));
        let reader = store.reader()?;
        let links = RwLock::new(PatientLinks::read(&reader)?);
        let now = ClockReading { at: (options.clock)(), elapsed: (options.elapsed)() };
        let time = KnownTime::new(now, &opened.position, reader.clock_accepted()?, reader.settled()?);
        drop(reader);
        Ok(Arc::new(EngineShared {
            store,
            clock: options.clock.clone(),
            elapsed: options.elapsed.clone(),
            time,
            unique_number: options.unique_number,
            metrics: options.metrics.clone(),
            notes: Notes::default(),
            folder: options.folder.clone(),
            index_folder: options.folder.join("index"),
            index_medium,
            origin: index::IndexOrigin::new(opened.uuid.clone(), opened.epoch.clone()),
            view: Mutex::new(None),
            publishing: Mutex::new(Published { classes, counters }),
            seq: AtomicU64::new(opened.position.seq.0),
            built_percent: AtomicU64::new(0),
            overlay_rows: AtomicUsize::new(0),
            queued: AtomicUsize::new(0),
            links,
            closed: RwLock::default(),
            notifier: indexer::Notifier::default(),
            reindexing: Mutex::default(),
        }))
    }

    /// # Errors
    /// The folder was made by the command that serves for another purpose. One that no command has served yet is for any.
    pub fn expect_purpose(&self, wanted: FolderPurpose) -> Result<(), StoreError> {
        match self.reading(StoreReader::purpose)? {
            Some(purpose) if purpose != wanted => Err(StoreError::OtherPurpose(purpose)),
            _ => Ok(()),
        }
    }

    /// Whether the data folder is still the one that was opened, for whoever opens something else in it by its path.
    ///
    /// # Errors
    /// `Moved`.
    pub fn expect_folder(&self) -> Result<(), StoreError> {
        self.shared.store.expect_folder()
    }

    /// What the store is.
    pub fn origin(&self) -> EngineOrigin<'_> {
        EngineOrigin {
            epoch: &self.shared.origin.epoch,
            format: store::FORMAT,
            // What a look does in memory is done again by whoever opens the folder to write.
            migrated_from: self.migrated.filter(|_| !self.shared.store.is_read_only()),
            seal_key: self.seal_key,
        }
    }

    /// What the writer would say of a write if it came now and alone; nothing is changed, and no later write is bound by it. Whether
    /// another certificate has the number, [`check_number`](Self::check_number) says.
    pub fn judge(&self, write: &Write) -> Result<Result<(), RefusedChange>, StoreError> {
        let current = match write {
            Write::Create { .. } => None,
            Write::Update { id, .. } | Write::Delete { id, .. } | Write::Consent { id, .. } => {
                self.read(*id, None, |entry| entry.effective_row())?
            }
        };
        Ok(decide::judge(write, current.as_ref()).map(drop))
    }

    /// Whether a row may be stored, of a certificate or of a new one, where numbers have to be unique. Contract 3.9.
    ///
    /// # Errors
    /// Another certificate has its number, or the index is not ready.
    pub fn check_number(&self, id: Option<Id>, row: &Row) -> Result<(), RefusedChange> {
        let with_term = |number: &Term| {
            // One may be the certificate itself.
            let hits = self.shared.with_term(number, None, 2)?;
            Ok(hits.into_iter().map(|hit| (hit.id, hit.version)).collect())
        };
        if self.shared.unique_number { check_number(id, row, with_term) } else { Ok(()) }
    }

    /// The versions a page names, in its order. None when they have more than `room` bytes together: not all of them were found then.
    pub fn versions(&self, hits: &[Hit], mut room: usize) -> Result<Option<Vec<CompressedVersion>>, StoreError> {
        let reader = self.shared.store.reader()?;
        let mut versions = Vec::with_capacity(hits.len());
        for hit in hits {
            let version = self.shared.compressed(&reader, hit.id, hit.version)?;
            let Some(left) = room.checked_sub(version.bytes_max()) else { return Ok(None) };
            room = left;
            versions.push(version);
        }
        Ok(Some(versions))
    }

    /// One version a page names. A version never changes, so a page may be read piece by piece.
    pub fn compressed(&self, hit: Hit) -> Result<CompressedVersion, StoreError> {
        self.shared.compressed(&*self.shared.store.reader()?, hit.id, hit.version)
    }

    /// Plans a search over everything acknowledged before the call. The plan is at its moment from now on, and says what it costs.
    pub fn plan(&self, query: EngineQuery) -> Result<PlannedSearch, SearchError> {
        let view = self.shared.view().ok_or_else(|| self.building())?;
        let planned = self.shared.search(|| view.plan(&query))?;
        Ok(PlannedSearch { shared: self.shared.clone(), view, query, planned })
    }

    /// Plans and runs a search as [`plan`](Self::plan) and [`PlannedSearch::run`] do, on this thread, and tells how that was.
    ///
    /// # Errors
    /// As theirs.
    pub fn explain(&self, query: &EngineQuery) -> Result<SearchExplanation, SearchError> {
        let view = self.shared.view().ok_or_else(|| self.building())?;
        self.shared.search(|| view.explain(query))
    }

    fn building(&self) -> SearchError {
        SearchError::Building { percent: self.shared.built_percent.load(Ordering::Acquire) }
    }

    /// The code lists that were loaded.
    pub fn lists(&self) -> Result<Vec<StoredList>, StoreError> {
        self.reading(|reader| reader.lists(|number| self.shared.store.dictionary(number)))
    }

    /// The head of the audit trail, as it was handed over last.
    pub fn audit_head(&self) -> Result<Option<String>, StoreError> {
        self.reading(StoreReader::audit_head)
    }

    /// The last acknowledged change.
    pub fn seq(&self) -> Seq {
        self.shared.seq()
    }

    /// The change up to which the index itself has come; none while it is being built.
    pub fn indexed(&self) -> Option<Seq> {
        self.shared.view().map(|view| view.index.at)
    }

    /// Makes the indexer take its round now instead of waiting for the second to pass.
    pub fn index_now(&self) {
        self.shared.notifier.wake();
    }

    /// Finishes what was handed over, commits the index and lets the folder go. Later calls fail.
    pub fn close(&self) {
        if self.stop() || self.shared.store.is_read_only() {
            self.let_go();
        }
    }

    fn let_go(&self) {
        self.shared.set_view(None);
        // Before the store is closed, so that a reader that finds no store sees that the engine was closed.
        self.shared.note_closed();
        self.shared.store.close();
    }

    /// Finishes what was handed over and commits the index; the store stays open. False when that was done before.
    fn stop(&self) -> bool {
        drop(self.queue.lock().expect("no holder of this lock can panic").take());
        let threads = std::mem::take(&mut *self.threads.lock().expect("no holder of this lock can panic"));
        if threads.is_empty() {
            return false;
        }
        for (at, thread) in threads.into_iter().enumerate() {
            // The writer ends when its queue does; only then is the indexer told that nothing more will come.
            if at == 1 {
                self.shared.notifier.close();
            }
            if thread.join().is_err() {
                event!(THREAD_OF_ENGINE);
            }
        }
        true
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.close();
    }
}

/// A search at its moment, ready to run, here or on another thread.
pub struct PlannedSearch {
    shared: Arc<EngineShared>,
    view: Arc<IndexView>,
    query: EngineQuery,
    planned: view::Planned,
}

impl PlannedSearch {
    /// Rows it has to look at, roughly: an expensive search belongs on a thread of its own.
    pub fn rows(&self) -> u64 {
        self.planned.rows
    }

    /// Runs the search and returns its page; a damaged index or a panic is [`SearchError::Failed`].
    pub fn run(self) -> Result<SearchPage, SearchError> {
        self.shared.search(|| self.view.run(&self.query, self.planned))
    }
}
fn store_options(options: &EngineOptions, medium: store::StoreMedium) -> store::StoreOptions {
    store::StoreOptions {
        cache_bytes: options.cache_bytes,
        quick_repair: options.quick_repair,
        purpose: options.purpose,
        names: options.names.clone(),
        medium,
    }
}

fn make_folder(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    if folder.is_dir() {
        return Ok(());
    }
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))
}
