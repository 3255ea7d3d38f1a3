//! Writer, indexer, overlay and searches under one scheduler: step by step, in any order that a seed says, on a disk and with files that
//! a power cut takes. After each step what was acknowledged is compared with a model of a few maps.
//!
//! - What was committed is there, byte for byte; what failed is there as a whole or not at all. Numbers have no gaps, no id comes twice.
//! - A search finds what asking every row finds, at the moment it says; a search that was planned earlier keeps to its moment.
//! - Counters are what a recount says. Reads go on while the disk takes no writes.
//!
//! `HCERT_SIMULATION_SEED=7` plays one run and prints its steps, `HCERT_SIMULATION_RUNS=10000` plays that many; the test plays 300. Each of
//! these faults was put in once, and found within them: rows that the overlay replaced are not masked; the indexer drops changes that
//! came after it sealed; a failed commit that was stored after all is not taken in; a commit is not durable; counters count a part of a
//! batch.

pub(super) mod dice;
pub(super) mod model;
pub(super) mod request;
pub(super) mod stepped;

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::ClockDecision;
use crate::embedded::store::backend::disk::{DiskFault, Kept};
use dice::Dice;
use model::Moment;
use request::{Request, subject};
use stepped::{Known, Machine, Process};

/// A search that was planned and is run later, with what it must find.
type Held = (PlannedSearch, EngineQuery, Moment);

/// Everything of one run.
struct Run {
    dice: Dice,
    machine: Machine,
    process: Process,
    known: Known,
    held: Vec<Held>,
    /// Printed when the run fails.
    steps: Vec<String>,
}

fn query(dice: &mut Dice) -> EngineQuery {
    let term = |dice: &mut Dice| Filter::Term(about(&subject(dice.below(4))));
    let class = |test| Filter::Class(test);
    let ids = |dice: &mut Dice| {
        let some = (1..9).filter(|_| dice.once_in(2)).collect::<Vec<u64>>();
        Filter::Ids(some.into_iter().filter_map(Id::new).collect())
    };
    let filter = match dice.below(8) {
        0 | 1 => Filter::All(vec![]),
        2 => term(dice),
        3 => class(ClassTest::State(dice.pick(&[State::Draft, State::Completed, State::Revoked]))),
        4 => class(ClassTest::DoctorClosed),
        5 => Filter::All(vec![term(dice), Filter::Not(Box::new(class(ClassTest::DoctorClosed)))]),
        6 => Filter::Any(vec![term(dice), ids(dice)]),
        _ => ids(dice),
    };
    let key = dice.pick(&[SortKey::Id, SortKey::LastUpdated]);
    let sort = vec![Sort { key, descending: dice.once_in(2) }];
    EngineQuery { filter, sort, page: dice.pick(&[1, 1, 2, 3]), count: dice.pick(&[100, 3, 1, 0]) }
}

/// What a search must find at a moment: its total and its page.
pub(super) fn expected(query: &EngineQuery, moment: &Moment) -> (u64, Vec<(u64, u32)>) {
    let of = |id: &u64| Id::new(*id).unwrap();
    let mut found: Vec<(i64, u64, u32)> = moment
        .rows
        .iter()
        .filter(|(id, (_, row))| query.filter.matches(of(id), row))
        .map(|(id, (version, row))| {
            (if query.sort[0].key == SortKey::Id { 0 } else { row.last_updated }, *id, *version)
        })
        .collect();
    found.sort_unstable();
    if query.sort[0].descending {
        found.reverse();
    }
    let skip = (query.page - 1) as usize * query.count as usize;
    let page = found.iter().skip(skip).take(query.count as usize).map(|(_, id, version)| (*id, *version));
    (found.len() as u64, page.collect())
}

/// Runs a search that was planned and compares.
pub(super) fn check_search(planned: PlannedSearch, query: &EngineQuery, moment: &Moment) {
    let page = planned.run().unwrap_or_else(|error| panic!("{query:?} failed: {error:?}"));
    let found: Vec<(u64, u32)> = page.hits.iter().map(|hit| (hit.id.get(), hit.version.get())).collect();
    assert_eq!((page.total, found), expected(query, moment), "{query:?} at {}", moment.seq);
    assert_eq!(page.at.0, moment.seq, "the moment of {query:?}");
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut dice = Dice::new(seed);
        let machine = Machine::new(dice.pick(&[QuickRepair::On, QuickRepair::Off]));
        let process = machine.open().unwrap();
        Run { dice, machine, process, known: Known::default(), held: Vec::new(), steps: Vec::new() }
    }

    fn note(&mut self, step: impl Into<String>) {
        self.steps.push(step.into());
    }

    fn play(&mut self) {
        for _ in 0..10 + self.dice.below(25) {
            self.step();
            if self.machine.disk.is_off() {
                self.crash();
            }
        }
        self.machine.disk.mend();
        self.machine.files.mend();
        self.note("the end");
        self.finish();
        self.reopen();
        self.finish();
    }

    fn step(&mut self) {
        match self.dice.below(40) {
            0..10 => {
                let (ids, patients) = (self.known.model.ids().min(8), self.known.model.patient_ids().min(4));
                let request = Request::roll(&mut self.dice, self.machine.now(), ids, patients);
                self.note(format!("{request:?}"));
                self.process.ask(request);
            }
            10..21 => {
                let word = self.process.write(&mut self.known, self.machine.now());
                self.note(format!("the writer {word}"));
                self.check_reads(word);
            }
            21..28 => {
                let word = self.process.index();
                self.note(format!("the indexer {word}"));
            }
            28..30 => self.hold(),
            30 | 31 => self.release(),
            32 => {
                let jump = self.dice.pick(&[-86_400_000, -30_000, -1_000, -1, 1, 1_000, 86_400_000, 86_400_000]);
                self.machine.now.fetch_add(jump, Ordering::Relaxed);
                self.note(format!("the clock jumps by {jump}"));
            }
            33 => {
                let (calls, fault) = (self.dice.below(14) + 1, self.dice.pick(&DiskFault::ALL));
                self.machine.disk.break_at(calls, fault);
                self.note(format!("the disk breaks in {calls} calls: {fault:?}"));
            }
            34 => {
                self.machine.disk.mend();
                self.machine.files.mend();
                self.note("the disk is mended");
            }
            35 if self.dice.once_in(3) => self.kill(),
            35 => self.crash(),
            36 => self.reopen(),
            37 => {
                self.process.engine.shared.notifier.condemn();
                self.note("the index is condemned");
            }
            38 => {
                let calls = self.dice.below(9) + 1;
                self.machine.files.fill_up(calls);
                self.note(format!("the index has room for {calls} files"));
            }
            39 if self.dice.once_in(3) => {
                let decision = self.dice.pick(&[ClockDecision::Accept, ClockDecision::Reset]);
                self.note(format!("an operator decides: {decision:?}"));
                self.process.ask(Request::Clock(decision));
            }
            _ if self.dice.once_in(2) => {
                self.process.merge();
                self.note("segments are merged");
            }
            _ => {
                self.damage();
                self.process.look_through();
                self.note("index files were damaged, and are looked through");
            }
        }
        self.search();
    }

    /// Any search, now.
    fn search(&mut self) {
        let query = query(&mut self.dice);
        match self.process.engine.plan(query.clone()) {
            Ok(planned) => check_search(planned, &query, &self.known.seen),
            Err(SearchError::Building { .. }) => assert!(self.process.engine.shared.view().is_none()),
            Err(error) => panic!("{error:?}"),
        }
    }

    fn hold(&mut self) {
        let query = query(&mut self.dice);
        if let Ok(planned) = self.process.engine.plan(query.clone()) {
            self.note("a search is planned");
            self.held.push((planned, query, self.known.seen.clone()));
        }
    }

    fn release(&mut self) {
        if !self.held.is_empty() {
            let at = self.dice.below(self.held.len() as u64) as usize;
            let (planned, query, moment) = self.held.swap_remove(at);
            self.note(format!("a search planned at {} is run", moment.seq));
            check_search(planned, &query, &moment);
        }
    }

    /// The store by what the writer has just done.
    fn check_reads(&mut self, word: &str) {
        let engine = &self.process.engine;
        match word {
            "commits" | "answers" => self.known.check(engine),
            "cannot reopen" if !self.machine.disk.is_off() => {
                assert!(
                    matches!(engine.health().store, crate::StoreHealth::Good) || engine.shared.store.is_copy_on_write()
                );
                let maybe = self.known.maybe.as_ref();
                let difference = self.known.model.differs(engine);
                let is_maybe = || maybe.is_some_and(|maybe| maybe.differs(engine).is_none());
                assert!(difference.is_none() || is_maybe(), "reads do not go on: {difference:?}");
            }
            _ => {}
        }
    }

    fn crash(&mut self) {
        self.note("the power is cut");
        let dice = &mut self.dice;
        self.machine.disk.crash(&mut || dice.pick(&[Kept::All, Kept::Nothing, Kept::Part]));
        self.machine.files.crash(&mut || dice.once_in(2));
        self.machine.files.mend();
        self.held.clear();
        if self.dice.once_in(3) {
            self.damage();
            self.note("index files are damaged");
        }
        self.open();
    }

    /// The process ends where it is, and the next one begins; the system has what was written, synced or not.
    fn kill(&mut self) {
        self.note("it is killed");
        self.machine.kill();
        self.machine.disk.mend();
        self.machine.files.mend();
        self.held.clear();
        self.open();
    }

    /// A clean stop, and a start.
    fn reopen(&mut self) {
        self.note("it is stopped and started");
        self.held.clear();
        self.machine.disk.mend();
        self.machine.files.mend();
        self.process.finish(&self.machine, &mut self.known);
        self.process.stop();
        self.open();
    }

    fn open(&mut self) {
        self.process = self.machine.open().expect("a store opens again after anything");
        self.known.settle(&self.process.engine);
    }

    fn damage(&mut self) {
        let names = self.machine.files.names();
        if names.is_empty() {
            return;
        }
        let name = &names[self.dice.below(names.len() as u64) as usize];
        let (kind, at) = (self.dice.below(3), self.dice.below(1 << 20) as usize);
        self.machine.files.damage(name, |mut bytes| match kind {
            0 => None,
            1 => {
                bytes.truncate(at % (bytes.len() + 1));
                Some(bytes)
            }
            _ => {
                let at = at % bytes.len().max(1);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 0x55;
                }
                Some(bytes)
            }
        });
    }

    /// Everything that waits is done; then store, counters, index and searches say the same.
    fn finish(&mut self) {
        assert!(self.process.finish(&self.machine, &mut self.known), "nothing is broken any more");
        self.known.check(&self.process.engine);
        self.known.check_counters(&self.process.engine);
        assert!(self.process.engine.shared.view().is_some(), "the index heals");
        for _ in 0..4 {
            self.search();
        }
        while !self.held.is_empty() {
            self.release();
        }
    }
}

/// Plays one run; its steps are printed when it fails.
fn play(seed: u64, tells: bool) -> Result<(), String> {
    let Ok(mut run) = catch_unwind(|| Run::new(seed)) else { return Err(format!("seed {seed} cannot begin")) };
    let played = catch_unwind(AssertUnwindSafe(|| run.play()));
    let story = || format!("HCERT_SIMULATION_SEED={seed} failed after these steps:\n  {}", run.steps.join("\n  "));
    if tells {
        println!("{}", run.steps.join("\n"));
    }
    played.map_err(|_| story())
}

#[test]
fn any_order_of_steps_and_crashes_keeps_what_was_acknowledged() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    if let Some(seed) = number("HCERT_SIMULATION_SEED") {
        return play(seed, true).unwrap();
    }
    let runs = number("HCERT_SIMULATION_RUNS").unwrap_or(300);
    let next = AtomicI64::new(1);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed) as u64;
                    if seed > runs {
                        break;
                    }
                    play(seed, false).unwrap_or_else(|story| panic!("{story}"));
                }
            });
        }
    });
    println!("{runs} runs");
}
