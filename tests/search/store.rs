//! A store in a folder of its own, and searches as its callers write them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use certificate::Names;
use certificate::search::paging::Counts;
use certificate::search::query::{CompositionSearch, PatientIds, ReadingLimits};
use certificate::search::seal::SealKey;
use certificate::search::{EngineQuery, SearchPage};
use engine::{self, Engine, MemoryLog, QuickRepair, SearchError};
use hcert::bulk::{self, BulkEvent, ImportOptions};
use hcert::interaction::Rulebook;
use tempfile::TempDir;

use crate::known::BASE_URL;
use crate::log;
use crate::order::{self, Order};
use crate::questions::Question;

/// When searches are asked: 21 November 2026, behind everything in the corpus.
pub(crate) const NOW: i64 = 1_795_219_200_000;

/// What waits for a condition waits no longer.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) struct Store {
    folder: TempDir,
    now: Arc<AtomicI64>,
    /// What is stored, where the log is in memory.
    memory: MemoryLog,
    pub engine: Arc<Engine>,
}

impl Store {
    pub(crate) fn new() -> Store {
        let folder = tempfile::tempdir().unwrap();
        let now = Arc::new(AtomicI64::new(NOW));
        let memory = MemoryLog::default();
        let engine = open(&folder, &now, &memory);
        Store { folder, now, memory, engine }
    }

    pub(crate) fn index_folder(&self) -> PathBuf {
        self.folder.path().join("data/index")
    }

    /// Closes and opens again; `meanwhile` has the closed folder.
    pub(crate) fn reopen(&mut self, meanwhile: impl FnOnce(&Store)) {
        self.engine.close();
        meanwhile(self);
        self.engine = open(&self.folder, &self.now, &self.memory);
    }

    /// Removes the index, whatever a merge that still runs writes into it.
    pub(crate) fn remove_index(&self) {
        let started = Instant::now();
        while self.index_folder().exists() {
            assert!(started.elapsed() < DEADLINE, "the index cannot be removed");
            drop(std::fs::remove_dir_all(self.index_folder()));
        }
    }

    /// Imports lines; every one of them is taken.
    pub(crate) fn import(&self, lines: &str) -> bulk::BulkProgress {
        let mut report = |event| {
            if let BulkEvent::BadLine { line, problem } = event {
                panic!("line {line}: {problem}\n{}", lines.lines().nth(line as usize - 1).unwrap_or_default());
            }
        };
        let rulebook = Rulebook::open(self.engine.clone(), Names::default(), false).unwrap();
        bulk::import(&self.engine, &rulebook, &mut lines.as_bytes(), ImportOptions::default(), &mut report).unwrap()
    }

    /// Waits until the index holds everything stored.
    pub(crate) fn settle(&self) {
        let started = Instant::now();
        while self.engine.indexed() != Some(self.engine.seq()) {
            assert!(started.elapsed() < DEADLINE, "the index does not come after");
            self.engine.index_now();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn find(&self, questions: &[Question], order: &Order, page: u64, count: u32) -> SearchPage {
        find(&self.engine, questions, order, page, count).expect("the index is there")
    }
}

fn open(folder: &TempDir, now: &Arc<AtomicI64>, memory: &MemoryLog) -> Arc<Engine> {
    let (now, passed) = (now.clone(), now.clone());
    let options = engine::EngineOptions {
        folder: folder.path().join("data"),
        cache_bytes: 16 << 20,
        quick_repair: QuickRepair::Auto,
        purpose: None,
        names: engine::FolderNames::default(),
        unique_number: false,
        metrics: base::metrics::Metrics::new(),
        clock: Arc::new(move || now.fetch_add(3, Ordering::Relaxed)),
        elapsed: Arc::new(move || passed.load(Ordering::Relaxed)),
    };
    Arc::new(log::open(options, memory))
}

/// The parameters of a search as a caller sends them.
pub(crate) fn parameters(questions: &[Question], order: &Order, page: u64, count: u32) -> Vec<(String, String)> {
    let asked = questions.iter().map(|question| (question.name.clone(), question.value.clone()));
    let mut parameters: Vec<(String, String)> = asked.collect();
    if *order != order::newest_first() {
        parameters.push(("_sort".into(), order::text(order)));
    }
    if page != 1 {
        parameters.push(("_page".into(), page.to_string()));
    }
    parameters.push(("_count".into(), count.to_string()));
    parameters
}

/// From parameters to what the engine runs.
pub(crate) fn query(engine: &Engine, questions: &[Question], order: &Order, page: u64, count: u32) -> EngineQuery {
    let settings = ReadingLimits {
        base_url: BASE_URL,
        names: &Names::default(),
        count: Counts::default(),
        link_seconds: 60,
        lenient: false,
        by_form: false,
        now: NOW,
        seal: &SealKey::new(&engine.origin().seal_key),
        caller: "",
        narrowed: false,
    };
    let parameters = parameters(questions, order, page, count);
    let search = CompositionSearch::parse(&parameters, &settings)
        .unwrap_or_else(|refused| panic!("{parameters:?}: {refused:?}"));
    let found: PatientIds = questions.iter().flat_map(|question| question.patients.iter().cloned()).collect();
    search.query(&found)
}

pub(crate) fn find(
    engine: &Engine,
    questions: &[Question],
    order: &Order,
    page: u64,
    count: u32,
) -> Result<SearchPage, SearchError> {
    engine.plan(query(engine, questions, order, page, count)).and_then(|planned| planned.run())
}

/// Ids and versions of a page.
pub(crate) fn hits(page: &SearchPage) -> Vec<(u64, u32)> {
    page.hits.iter().map(|hit| (hit.id.get(), hit.version.get())).collect()
}
