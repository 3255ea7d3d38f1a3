//! An engine without threads, on a disk that is played, and the model beside it. Every step is taken by a caller; after each the two are
//! compared as far as they can be.

use std::collections::VecDeque;
use std::sync::mpsc::Receiver;

use super::super::*;
use super::model::{Batching, Expected, Model, Moment};
use super::request::{Request, Waiting};
use crate::embedded::index::medium::memory::MemoryFiles;
use crate::embedded::indexer::{self, Building, Indexer, RoundInput};
use crate::embedded::store::backend::disk::SimulatedDisk;
use crate::embedded::writer::{FailedBatch, StoredBatch as Committed};
use crate::embedded::{EngineMedia, EngineWorkers};

/// What outlives a process.
pub(crate) struct Machine {
    pub disk: Arc<SimulatedDisk>,
    pub files: Arc<MemoryFiles>,
    pub now: Arc<AtomicI64>,
    pub quick_repair: QuickRepair,
    folder: TempDir,
}

impl Machine {
    pub(crate) fn new(quick_repair: QuickRepair) -> Machine {
        let folder = tempfile::tempdir().unwrap();
        let now = Arc::new(AtomicI64::new(1_736_676_000_000));
        Machine { disk: Arc::default(), files: Arc::default(), now, quick_repair, folder }
    }

    pub(crate) fn now(&self) -> i64 {
        self.now.load(Ordering::Relaxed)
    }

    /// Ends the process; what it has written is seen by the next one.
    pub(crate) fn kill(&self) {
        self.disk.kill();
        self.files.kill();
    }

    /// A process opens the folder.
    pub(crate) fn open(&self) -> Result<Process, StoreError> {
        let now = self.now.clone();
        let options = EngineOptions {
            quick_repair: self.quick_repair,
            purpose: None,
            cache_bytes: 1 << 20,
            clock: Arc::new(move || now.load(Ordering::Relaxed)),
            ..options(&self.folder, &self.now)
        };
        let media = EngineMedia {
            store: store::StoreMedium::File(store::FileMedium::of(&self.disk)),
            index: index::IndexMedium::of(&self.files),
        };
        let (engine, workers) = Engine::assemble(&options, media)?;
        let EngineWorkers { writer, queue, indexer: Indexer { writer: index, at, .. } } = workers;
        let indexing =
            if engine.shared.view().is_some() { Indexing::Idle } else { Indexing::Building(Building::from(at)) };
        let batch = Batch::None;
        Ok(Process { engine, writer, queue, batch, index: Some(index), indexing, asked: VecDeque::new() })
    }
}

/// A running engine.
pub(crate) struct Process {
    pub engine: Engine,
    writer: writer::SteppedWriter,
    queue: Receiver<Job>,
    batch: Batch,
    /// None while there is none.
    index: Option<index::IndexWriterHandle>,
    indexing: Indexing,
    /// What was asked and waits for the writer.
    asked: VecDeque<Asked>,
}

/// What was asked.
struct Asked {
    request: Request,
    waiting: Waiting,
    /// It was put off once.
    has_waited: bool,
}

/// How far the writer is with a batch.
enum Batch {
    None,
    /// Committed, and nobody sees it.
    Committed(Committed, Vec<(Asked, Expected)>),
    /// Seen, and nobody was answered.
    Published(Committed, Vec<(Asked, Expected)>),
}

/// How far the indexer is with a round.
enum Indexing {
    Idle,
    Building(Building),
    RoundInput(RoundInput),
    Indexed(RoundInput, index::Snapshot),
}

/// What is known of what must be there.
#[derive(Default)]
pub(crate) struct Known {
    /// All that was committed, acknowledged or not.
    pub model: Model,
    /// The same with a batch whose commit failed: the one or the other is stored.
    pub maybe: Option<Model>,
    /// What searches see.
    pub seen: Moment,
}

impl Known {
    /// The store was opened: which of the two it is.
    pub(crate) fn settle(&mut self, engine: &Engine) {
        let difference = self.model.differs(engine);
        if let Some(difference) = difference {
            let maybe = self.maybe.take().unwrap_or_else(|| panic!("the store lost or gained something: {difference}"));
            if let Some(other) = maybe.differs(engine) {
                panic!("a batch is there in parts: {difference}; with it: {other}");
            }
            self.model = maybe;
        }
        self.maybe = None;
        self.seen = self.model.moment();
        self.check_counters(engine);
    }

    pub(crate) fn check(&self, engine: &Engine) {
        if let Some(difference) = self.model.differs(engine) {
            panic!("{difference}");
        }
    }

    /// Only where nothing is between a commit and its publishing.
    pub(crate) fn check_counters(&self, engine: &Engine) {
        if let Some(difference) = self.model.miscounted(engine) {
            panic!("{difference}");
        }
        assert_eq!(engine.seq().0, self.model.seq(), "the last change");
    }
}

impl Process {
    pub(crate) fn ask(&mut self, request: Request) {
        let waiting = request.ask(&self.engine);
        self.asked.push_back(Asked { request, waiting, has_waited: false });
    }

    /// Whether nothing is between a commit and its answers.
    pub(crate) fn is_settled(&self) -> bool {
        matches!(self.batch, Batch::None)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.is_settled() && self.asked.is_empty() && !self.engine.shared.store.has_failed()
    }

    /// The next step of the writer. In words what it was.
    pub(crate) fn write(&mut self, known: &mut Known, now: i64) -> &'static str {
        let store = &self.engine.shared.store;
        match std::mem::replace(&mut self.batch, Batch::None) {
            Batch::Committed(mut stored, answers) => {
                let later = stored.later();
                self.writer.publish(&mut stored);
                let (put_off, answers): (Vec<_>, Vec<_>) =
                    answers.into_iter().partition(|(_, expected)| *expected == Expected::Later);
                assert_eq!(put_off.len(), later, "requests that are put off");
                for (asked, _) in put_off.into_iter().rev() {
                    self.asked.push_front(Asked { has_waited: true, ..asked });
                }
                known.seen = known.model.moment();
                known.check_counters(&self.engine);
                self.batch = Batch::Published(stored, answers);
                "publishes"
            }
            Batch::Published(stored, answers) => {
                stored.answer();
                for (mut asked, expected) in answers {
                    let answer = asked.waiting.answer().expect("a batch is answered as a whole");
                    assert!(expected.is(&answer), "answered with {answer:?} where {expected:?} is expected");
                }
                "answers"
            }
            Batch::None if store.has_failed() => match self.writer.try_reopen() {
                Ok(()) => {
                    known.settle(&self.engine);
                    "reopens"
                }
                Err(_) => {
                    self.refuse_all();
                    "cannot reopen"
                }
            },
            Batch::None => {
                let Some(first) = self.writer.next(&self.queue) else { return "waits" };
                let jobs = self.writer.take(first, &self.queue);
                let asked: Vec<_> = self.asked.drain(..jobs.len()).collect();
                let is_searched = self.engine.shared.view().is_some();
                let mut after = known.model.clone();
                let batching = Batching { now, is_searched, seq: after.seq() };
                let expected: Vec<_> =
                    asked.iter().map(|asked| after.apply(&asked.request, asked.has_waited, batching)).collect();
                after.batched();
                match self.writer.commit(jobs) {
                    Ok(stored) => {
                        known.model = after;
                        self.batch = Batch::Committed(stored, asked.into_iter().zip(expected).collect());
                        "commits"
                    }
                    Err(failed) => {
                        known.maybe = Some(after);
                        Self::refuse(failed, asked);
                        "fails"
                    }
                }
            }
        }
    }

    fn refuse(failed: FailedBatch, asked: Vec<Asked>) {
        failed.answer();
        for Asked { request, mut waiting, .. } in asked {
            let answer = waiting.answer().expect("a batch that failed is answered as a whole");
            // A clock that is behind is told before the store is asked.
            let is_failure = answer.failure().is_some() || answer.is_not_now();
            assert!(is_failure, "{request:?} was answered with {answer:?} though the store failed");
        }
    }

    /// What the writer's thread does with a request that comes while the store cannot be opened.
    fn refuse_all(&mut self) {
        while let Some(first) = self.writer.next(&self.queue) {
            for job in self.writer.take(first, &self.queue) {
                job.refuse(RefusedChange::Store(Arc::new(StoreError::Reopening)));
            }
        }
        self.asked.clear();
    }

    /// The next step of the indexer. In words what it was.
    pub(crate) fn index(&mut self) -> &'static str {
        let shared = self.engine.shared.clone();
        let Some(index) = &mut self.index else {
            let made = index::IndexWriterHandle::create_on(&shared.index_medium, &shared.index_folder, &shared.origin);
            let Ok((made, _)) = made else { return "finds no room for an index" };
            self.index = Some(made);
            self.indexing = Indexing::Building(Building::from(Seq(0)));
            return "begins an index";
        };
        let step = match std::mem::replace(&mut self.indexing, Indexing::Idle) {
            Indexing::Building(mut building) => building.step(&shared, index).map(|is_live| match is_live {
                true => (Indexing::Idle, "goes live"),
                false => (Indexing::Building(building), "builds"),
            }),
            Indexing::Idle if shared.notifier.was_condemned() => Err("a search could not read it".into()),
            Indexing::Idle if shared.view().is_none() => Err("its view was given up".into()),
            Indexing::Idle => Ok(match shared.seal() {
                Some(sealed) => (Indexing::RoundInput(sealed), "seals"),
                None => (Indexing::Idle, "has nothing to do"),
            }),
            Indexing::RoundInput(sealed) => indexer::index_sealed(&shared, index, &sealed)
                .map(|snapshot| (Indexing::Indexed(sealed, snapshot), "commits a round")),
            Indexing::Indexed(sealed, snapshot) => {
                shared.drop_generations(snapshot, &sealed);
                Ok((Indexing::Idle, "takes a round over"))
            }
        };
        match step {
            Ok((next, word)) => {
                self.indexing = next;
                word
            }
            Err(problem) => {
                self.give_up(&problem);
                "gives the index up"
            }
        }
    }

    fn give_up(&mut self, problem: &str) {
        indexer::give_up(&self.engine.shared, problem);
        if let Some(index) = self.index.take() {
            index.close();
        }
    }

    /// Makes one segment of all, where nothing else is under way.
    pub(crate) fn merge(&mut self) {
        if let (Some(index), Indexing::Idle) = (&mut self.index, &self.indexing)
            && index.merge().is_err()
        {
            self.give_up("a merge failed");
        }
    }

    /// Reads the index's files through.
    pub(crate) fn look_through(&mut self) {
        if let Some(index) = &self.index
            && let Err(problem) = indexer::look_through(&self.engine.shared, index)
        {
            self.give_up(&problem);
        }
    }

    /// Finishes everything, as far as the disk lets it; false when the power was cut on the way.
    pub(crate) fn finish(&mut self, machine: &Machine, known: &mut Known) -> bool {
        while !self.is_idle() {
            self.write(known, machine.now());
            if machine.disk.is_off() {
                return false;
            }
        }
        // The last step of a round that brings nothing new.
        while !["has nothing to do", "finds no room for an index"].contains(&self.index()) {}
        !machine.disk.is_off()
    }

    /// Lets everything go; nothing of it is written any more.
    pub(crate) fn stop(&mut self) {
        if let Some(index) = self.index.take() {
            index.close();
        }
        self.engine.shared.set_view(None);
        self.engine.shared.store.close();
    }
}
