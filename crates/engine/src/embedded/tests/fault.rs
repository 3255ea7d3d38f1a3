//! Every write, sync and change of the length of the store's file fails or tears once, or is forgotten, one after another, in a scripted
//! life of a store.
//!
//! Nothing acknowledged is lost, nothing is there in parts, reads go on, the writer goes on by itself when the disk does, and counters,
//! searches and totals are what a recount says. Where something was forgotten the power is cut after the next batch that is acknowledged:
//! until then all is seen as it should be.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use super::simulation::dice::Dice;
use super::simulation::request::{Foreign, Request};
use super::simulation::stepped::{Known, Machine, Process};
use super::simulation::{check_search, expected};
use super::*;
use crate::StoreHealth;
use crate::embedded::store::backend::disk::{DiskFault, Kept};

/// What is asked, batch by batch; an empty batch is a round of the indexer, and a stop and a start.
fn script() -> Vec<Vec<Request>> {
    let create = |state, subject| Request::Create { state, subject, unless: None };
    let update = |id, trigger, state, subject| Request::Update { id, trigger, state, subject };
    let foreign = |id, version, milliseconds| Foreign { id, version, milliseconds, subject: Some(2) };
    let old = 1_600_000_000_000;
    vec![
        vec![create(State::Draft, 1), create(State::Completed, 2), create(State::Draft, 1)],
        vec![update(1, Trigger::Update, State::Completed, 1), Request::Delete { id: 3 }],
        vec![Request::Consent { id: 1, consent: Consent::ALL[3] }],
        vec![],
        vec![Request::List { at: 1, url: 1, puts: true }],
        vec![Request::Patients { writes: vec![(None, 1, None), (Some(7), 2, Some(1))] }],
        vec![
            update(2, Trigger::Suspend, State::Suspended, 2),
            Request::Import { versions: vec![foreign(9, 1, old), foreign(9, 2, old + 1)] },
            create(State::Completed, 3),
            Request::Patients { writes: vec![(Some(1), 3, None)] },
            Request::List { at: 2, url: 1, puts: false },
        ],
        vec![],
        vec![Request::Create { state: State::Draft, subject: 3, unless: Some(3) }, create(State::Draft, 2)],
    ]
}

/// What a life met.
#[derive(Default)]
struct Met {
    failed: bool,
    cut: bool,
}

/// A life in which something goes wrong at one call.
struct Life {
    machine: Machine,
    known: Known,
    dice: Dice,
    fault: DiskFault,
    /// The process is killed by the failure, and the next one goes on.
    kills: bool,
    met: Met,
}

impl Life {
    /// Opens the store; where the disk does not let it, the disk is mended first.
    fn open(&mut self) -> Process {
        let process = loop {
            match self.machine.open() {
                Ok(process) => break process,
                Err(error) => {
                    assert!(!self.met.failed, "{:?}: it opens on a disk that was mended: {error}", self.fault);
                    self.met.failed = true;
                    self.mend();
                }
            }
        };
        self.known.settle(&process.engine);
        process
    }

    /// The operator makes room, or the power comes back.
    fn mend(&mut self) {
        if self.machine.disk.is_off() {
            self.cut();
        }
        self.machine.disk.mend();
    }

    /// The power goes, and comes back.
    fn cut(&mut self) {
        self.met.cut = true;
        let dice = &mut self.dice;
        self.machine.disk.crash(&mut || dice.pick(&[Kept::All, Kept::Nothing, Kept::Part]));
    }

    /// Cuts the power under a process; a sync has failed since, and later ones did not.
    fn crash(&mut self, process: Process) -> Process {
        self.met.failed = true;
        self.cut();
        drop(process);
        self.open()
    }

    /// Moves the writer until nothing waits, through whatever goes wrong.
    fn write(&mut self, mut process: Process) -> Process {
        let mut tried = 0;
        while !process.is_idle() {
            let word = process.write(&mut self.known, self.machine.now());
            match word {
                _ if self.machine.disk.is_off() => {
                    self.mend();
                    self.met.failed = true;
                    drop(process);
                    return self.open();
                }
                "fails" => {
                    self.met.failed = true;
                    if self.kills {
                        self.machine.kill();
                        drop(process);
                        return self.open();
                    }
                }
                "cannot reopen" => {
                    let engine = &process.engine;
                    assert!(engine.shared.store.is_copy_on_write(), "{:?}: reads go on", self.fault);
                    let is_whole = |model: &super::simulation::model::Model| model.differs(engine).is_none();
                    assert!(is_whole(&self.known.model) || self.known.maybe.as_ref().is_some_and(is_whole));
                    self.search(&process);
                    tried += 1;
                    assert!(tried < 3, "{:?}: a mended disk lets it open", self.fault);
                    self.mend();
                }
                _ => {}
            }
        }
        process
    }

    fn search(&self, process: &Process) {
        let all = Filter::All(vec![]);
        let open = Filter::Not(Box::new(Filter::Class(ClassTest::DoctorClosed)));
        for filter in [all.clone(), Filter::Term(about("Patient/2")), Filter::All(vec![all, open])] {
            let sort = vec![Sort { key: SortKey::LastUpdated, descending: true }];
            let query = EngineQuery { filter, sort, page: 1, count: 100 };
            match process.engine.plan(query.clone()) {
                Ok(planned) => check_search(planned, &query, &self.known.seen),
                Err(error) => panic!("{error:?} where {:?} is expected", expected(&query, &self.known.seen)),
            }
        }
    }

    fn play(&mut self) {
        let mut process = self.open();
        for batch in script() {
            self.machine.now.fetch_add(1_000, Ordering::Relaxed);
            if batch.is_empty() {
                process = self.write(process);
                while process.index() != "has nothing to do" {}
                process.stop();
                drop(process);
                if self.machine.disk.is_off() {
                    self.met.failed = true;
                    self.mend();
                }
                process = self.open();
            }
            let is_told = self.machine.disk.told() > 0;
            batch.into_iter().for_each(|request| process.ask(request));
            process = self.write(process);
            assert_eq!(process.engine.health().store, StoreHealth::Good);
            if is_told && !self.met.cut {
                process = self.crash(process);
            }
            while process.index() != "has nothing to do" {}
            self.search(&process);
        }
        self.mend();
        process.stop();
        drop(process);
        let mut process = self.open();
        self.known.check(&process.engine);
        if self.machine.disk.told() > 0 {
            process.ask(Request::Create { state: State::Draft, subject: 3, unless: None });
            process = self.write(process);
            process = self.crash(process);
            self.known.check(&process.engine);
        }
        while process.index() != "has nothing to do" {}
        self.search(&process);
    }
}

fn life(quick_repair: QuickRepair, broken: Option<(u64, DiskFault)>, kills: bool) -> Life {
    let machine = Machine::new(quick_repair);
    let (calls, fault) = broken.unwrap_or((u64::MAX / 2, DiskFault::Once));
    machine.disk.break_at(calls, fault);
    let mut life = Life { machine, known: Known::default(), dice: Dice::new(calls), fault, kills, met: Met::default() };
    life.play();
    life
}

/// What goes wrong at each call, and whether that kills the process too.
const FAULTS: [(DiskFault, bool); 6] = [
    (DiskFault::Once, false),
    (DiskFault::Full, false),
    (DiskFault::ReadOnly, false),
    (DiskFault::Torn, false),
    (DiskFault::Forgets, false),
    (DiskFault::Forgets, true),
];

/// Walks the points: every fourth, or every so many as `HCERT_FAULT_STEP` says, which is 1 for all.
fn walk(quick_repair: QuickRepair) {
    let step = std::env::var("HCERT_FAULT_STEP").map_or(4, |text| text.parse().expect("a number"));
    let calls = life(quick_repair, None, false).machine.disk.calls();
    let points: Vec<(u64, (DiskFault, bool))> = (1..=calls)
        .flat_map(|call| (0..).zip(FAULTS).map(move |(number, fault)| (number, call, fault)))
        .filter(|(number, call, _)| (call + number).is_multiple_of(step))
        .map(|(_, call, fault)| (call, fault))
        .collect();
    let (next, failed, cut) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let lost = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some((call, (fault, kills))) = points.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                    let played = std::panic::catch_unwind(|| life(quick_repair, Some((*call, *fault)), *kills));
                    let Ok(life) = played else {
                        lost.lock().unwrap().push(format!("call {call}, {fault:?}, kills: {kills}"));
                        continue;
                    };
                    failed.fetch_add(u64::from(life.met.failed), Ordering::Relaxed);
                    cut.fetch_add(u64::from(life.met.cut), Ordering::Relaxed);
                }
            });
        }
    });
    let (failed, cut) = (failed.into_inner(), cut.into_inner());
    println!(
        "{} faults at {calls} calls, quick repair {quick_repair:?}: {failed} noticed, {cut} power cuts",
        points.len()
    );
    let lost = lost.into_inner().unwrap();
    assert!(lost.is_empty(), "{} of {} points of {calls} calls: {lost:#?}", lost.len(), points.len());
    // What fails while a file is closed or made larger ahead of time hurts nobody.
    assert!(failed * 2 > points.len() as u64, "most faults hit something");
}

#[test]
fn nothing_is_lost_whichever_call_of_the_disk_fails() {
    walk(QuickRepair::Off);
}

#[test]
fn nothing_is_lost_whichever_call_fails_where_commits_prepare_a_fast_start() {
    walk(QuickRepair::On);
}
