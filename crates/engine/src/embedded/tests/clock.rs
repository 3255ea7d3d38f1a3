//! Time stamps and clocks: many changes in one millisecond, clocks that step, and what an operator decides about them.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, mpsc};
use std::thread;

use super::*;
use crate::limits::{ID_MAX, IMPORT_ID_MAX};
use crate::{ClockDecision, ClockProblem, system_clock};
use certificate::Stamp;

const START: i64 = 1_736_676_000_000;
const MINUTE: i64 = 60_000;
const YEAR_9999: i64 = 253_402_300_799_999;

/// An engine whose clocks stand until they are moved.
struct Clocks {
    fixture: Fixture,
    elapsed: Arc<AtomicI64>,
}

impl Clocks {
    fn new() -> Clocks {
        let folder = tempfile::tempdir().unwrap();
        let (now, elapsed) = (Arc::new(AtomicI64::new(START)), Arc::default());
        let engine = open(&folder, &now, &elapsed);
        Clocks { fixture: Fixture { folder, now, engine }, elapsed }
    }

    fn reopen(&mut self) {
        self.fixture.engine.close();
        self.fixture.engine = open(&self.fixture.folder, &self.fixture.now, &self.elapsed);
    }

    /// Time passes.
    fn pass(&self, milliseconds: i64) {
        self.elapsed.fetch_add(milliseconds, Ordering::Relaxed);
        self.step(milliseconds);
    }

    /// Somebody sets the clock.
    fn step(&self, milliseconds: i64) {
        self.fixture.now.fetch_add(milliseconds, Ordering::Relaxed);
    }

    fn at(&self) -> i64 {
        self.fixture.now.load(Ordering::Relaxed)
    }

    fn create(&self) -> Result<AcknowledgedChange, RefusedChange> {
        let content = content(Trigger::Create, State::Draft, "Patient/1");
        self.fixture.write(Write::Create { content, if_none_exist: None, rows: None })
    }

    fn update(&self, id: Id) -> Result<AcknowledgedChange, RefusedChange> {
        self.fixture.update(id, Trigger::Update, State::Draft, "Patient/1")
    }

    fn decide(&self, decision: ClockDecision) {
        self.fixture.engine.append(decision).blocking_recv().unwrap().unwrap();
    }

    fn import(&self, id: u64, version: u32, milliseconds: i64) -> Imported {
        let content = content(Trigger::Create, State::Draft, "Patient/5");
        let import = ImportedVersion {
            id: Id::new(id).unwrap(),
            version: Version::new(version).unwrap(),
            stamp: Stamp::at(milliseconds),
            state: State::Draft,
            content: Some((content.tail, content.row)),
        };
        let engine = &self.fixture.engine;
        engine.append(engine.prepare_import(vec![import])).blocking_recv().unwrap().unwrap().remove(0)
    }

    fn history(&self, since: Option<i64>) -> (u64, Vec<(u64, u32)>) {
        let query = HistoryQuery { id: None, since, at: None, page: 1, count: 100, hidden: None };
        let page = self.fixture.engine.history(&query).unwrap().unwrap();
        (page.total, page.hits.iter().map(|hit| (hit.id.get(), hit.version.get())).collect())
    }

    /// What a check finds: problems and notes.
    fn verified(&self) -> (Vec<VerifyProblem>, Vec<String>) {
        let verified = self.fixture.engine.verify(&certificate::Names::default(), &mut |_| ()).unwrap();
        // Rows made by hand are not those of their bodies.
        let problems = verified.problems.into_iter().filter(|problem| !problem.text.contains("its body gives no row"));
        (problems.collect(), verified.notes)
    }
}

fn open(folder: &TempDir, now: &Arc<AtomicI64>, elapsed: &Arc<AtomicI64>) -> Engine {
    let (at, passed) = (now.clone(), elapsed.clone());
    let options = EngineOptions {
        clock: Arc::new(move || at.load(Ordering::Relaxed)),
        elapsed: Arc::new(move || passed.load(Ordering::Relaxed)),
        ..options(folder, now)
    };
    Engine::open(options).unwrap()
}

fn clock_problem(result: Result<AcknowledgedChange, RefusedChange>) -> ClockProblem {
    match result {
        Err(RefusedChange::Clock(problem)) => problem,
        other => panic!("{other:?}"),
    }
}

#[test]
fn ten_thousand_creates_in_one_millisecond_have_the_time_of_the_clock() {
    let clocks = Clocks::new();
    let create = || {
        let content = content(Trigger::Create, State::Draft, "Patient/1");
        clocks.fixture.engine.append(Write::Create { content, if_none_exist: None, rows: None })
    };
    for _ in 0..10 {
        let answers: Vec<_> = (0..1_000).map(|_| create()).collect();
        for answer in answers {
            assert_eq!(answer.blocking_recv().unwrap().unwrap().stamp.milliseconds, START);
        }
    }
    // Their numbers order them.
    let newest: Vec<(u64, u32)> = (9_901..=10_000).rev().map(|id| (id, 1)).collect();
    assert_eq!(clocks.history(None), (10_000, newest.clone()));
    assert_eq!(clocks.history(Some(START)), (10_000, newest));
    assert_eq!(clocks.history(Some(START + 1)), (0, vec![]));
    let by_time = |descending| {
        let sort = vec![Sort { key: SortKey::LastUpdated, descending }];
        let query = EngineQuery { filter: Filter::All(vec![]), sort, page: 2, count: 3 };
        let hits = clocks.fixture.engine.plan(query).and_then(|planned| planned.run()).unwrap().hits;
        hits.iter().map(|hit| hit.id.get()).collect::<Vec<_>>()
    };
    assert_eq!((by_time(true), by_time(false)), (vec![9_997, 9_996, 9_995], vec![4, 5, 6]));
}

#[test]
fn versions_of_one_certificate_rise_strictly_and_are_never_ahead_of_the_clock() {
    let folder = tempfile::tempdir().unwrap();
    let now = Arc::new(AtomicI64::new(0));
    let clocks = EngineOptions { clock: system_clock(), elapsed: crate::elapsed_clock(), ..options(&folder, &now) };
    let fixture = Fixture { engine: Engine::open(clocks).unwrap(), folder, now };
    let id = fixture.create(State::Draft, "Patient/1").id;
    let update = || {
        let content = content(Trigger::Update, State::Draft, "Patient/1");
        fixture.engine.append(Write::Update { id, content, if_match: None, base: None, rows: None })
    };
    let answers: Vec<_> = (0..100).map(|_| update()).collect();
    for answer in answers {
        let written = answer.blocking_recv().unwrap().unwrap();
        assert!(written.stamp.milliseconds <= system_clock()(), "version {} is ahead", written.version);
    }
    let stamp = |version| {
        fixture.engine.read(id, Some(Version::new(version).unwrap()), |entry| entry.stored()).unwrap().unwrap().stamp
    };
    let stamps: Vec<i64> = (1..=101).map(|version| stamp(version).milliseconds).collect();
    assert!(stamps.is_sorted_by(|before, after| before < after), "{stamps:?}");
}

#[test]
fn a_clock_that_is_behind_by_less_than_a_minute_is_waited_for() {
    let clocks = Clocks::new();
    let first = clocks.create().unwrap();
    clocks.pass(1);
    clocks.step(-MINUTE);
    let second = clocks.create().unwrap();
    assert_eq!(second.stamp, first.stamp);
    // The next version of a certificate must be later. Time goes on for it, a millisecond for each batch.
    assert_eq!(clocks.update(second.id).unwrap().stamp.milliseconds, START + 1);
    assert_eq!(clocks.update(first.id).unwrap().stamp.milliseconds, START + 1);
    clocks.pass(MINUTE);
    assert_eq!(clocks.create().unwrap().stamp.milliseconds, clocks.at());
}

#[test]
fn changes_are_refused_while_the_clock_is_behind_and_taken_when_it_is_right_again() {
    let mut clocks = Clocks::new();
    let first = clocks.create().unwrap();
    clocks.step(-MINUTE - 1);
    let problem = ClockProblem::Behind(MINUTE + 1);
    assert_eq!(clock_problem(clocks.create()), problem);
    assert_eq!(clock_problem(clocks.update(first.id)), problem);
    assert_eq!(clock_problem(clocks.fixture.delete(first.id)), problem);
    assert_eq!(clock_problem(clocks.fixture.set_consent(first.id, Consent::ALL[1])), problem);
    // Reads go on, and the rules come first.
    assert_eq!(clocks.fixture.engine.read(first.id, None, |entry| entry.stored()).unwrap().unwrap().stamp, first.stamp);
    assert!(matches!(clocks.update(first.id.next()), Err(RefusedChange::Rules(_))));
    assert_eq!(clocks.fixture.engine.clock().problem, Some(problem));
    clocks.reopen();
    assert_eq!(clock_problem(clocks.create()), problem);
    clocks.step(1);
    assert!(clocks.create().is_ok());
    clocks.fixture.engine.close();
    let events = clocks.fixture.engine.clock_events_after(0);
    let told: Vec<_> = events.iter().map(|event| event.problem).collect();
    assert!(told.contains(&Some(problem)) && told.last() == Some(&None), "{told:?}");
    let last = events[events.len() - 1];
    assert_eq!(clocks.fixture.engine.clock_events_after(last.number - 1), [last]);
    assert_eq!(clocks.fixture.engine.clock_events_after(last.number), []);
}

#[test]
fn changes_are_refused_after_a_jump_forward_until_it_is_accepted() {
    let clocks = Clocks::new();
    clocks.create().unwrap();
    clocks.step(3 * 60 * MINUTE);
    assert_eq!(clock_problem(clocks.create()), ClockProblem::Jumped(3 * 60 * MINUTE));
    clocks.decide(ClockDecision::Accept);
    assert_eq!(clocks.create().unwrap().stamp.milliseconds, clocks.at());
    assert_eq!(clocks.fixture.engine.clock().problem, None);
    // A machine that sleeps is no jump.
    clocks.pass(8 * 60 * MINUTE);
    assert!(clocks.create().is_ok());
}

#[test]
fn a_clock_that_is_accepted_stays_so_after_a_start_and_time_stamps_stay_at_the_newest() {
    let mut clocks = Clocks::new();
    let first = clocks.create().unwrap();
    clocks.step(-365 * 24 * 60 * MINUTE);
    assert!(clocks.create().is_err());
    clocks.decide(ClockDecision::Accept);
    assert_eq!(clocks.create().unwrap().stamp, first.stamp);
    clocks.reopen();
    assert_eq!(clocks.create().unwrap().stamp, first.stamp);
    assert!(clocks.fixture.engine.clock().is_accepted);
}

#[test]
fn a_clock_that_was_behind_at_the_start_is_believed_as_soon_as_it_is_put_right() {
    let mut clocks = Clocks::new();
    clocks.create().unwrap();
    // The machine starts with the clock of last year, and the time servers answer later.
    let year = 365 * 24 * 60 * MINUTE;
    clocks.step(-year);
    clocks.reopen();
    assert_eq!(clock_problem(clocks.create()), ClockProblem::Behind(year));
    clocks.pass(MINUTE);
    clocks.step(year);
    assert_eq!(clocks.create().unwrap().stamp.milliseconds, START + MINUTE);
    // From here on a jump is a jump.
    clocks.step(11 * MINUTE);
    assert_eq!(clock_problem(clocks.create()), ClockProblem::Jumped(11 * MINUTE));
}

#[test]
fn a_store_that_a_wrong_clock_has_led_into_the_year_9999_is_healed_by_a_reset() {
    let mut clocks = Clocks::new();
    let before = clocks.create().unwrap();
    clocks.step(YEAR_9999 - START);
    clocks.reopen();
    let poisoned = clocks.create().unwrap();
    assert_eq!(poisoned.stamp.milliseconds, YEAR_9999);
    clocks.step(START + MINUTE - YEAR_9999);
    clocks.reopen();
    assert!(matches!(clock_problem(clocks.create()), ClockProblem::Behind(_)));
    let (problems, notes) = clocks.verified();
    assert!(problems.is_empty(), "{problems:?}");
    assert!(notes.iter().any(|note| note.contains("newest time stamp is")), "{notes:?}");
    clocks.decide(ClockDecision::Reset);
    let mut now = START + MINUTE;
    for reopens in [false, true] {
        if reopens {
            clocks.reopen();
        }
        assert_eq!(clocks.fixture.engine.clock().newest, Some(now));
        clocks.pass(1);
        now += 1;
        assert_eq!(clocks.create().unwrap().stamp.milliseconds, now);
    }
    // Also a certificate whose version has a time far ahead; from then on its versions rise.
    let healed = clocks.update(poisoned.id).unwrap();
    assert_eq!((healed.version.get(), healed.stamp.milliseconds), (2, now));
    assert!(clocks.update(poisoned.id).unwrap().stamp.milliseconds > now);
    assert_eq!(clocks.history(None).1, [(2, 1), (2, 3), (2, 2), (4, 1), (3, 1), (1, 1)]);
    assert_eq!(clocks.history(Some(before.stamp.milliseconds + 1)).0, 5);
    let (problems, notes) = clocks.verified();
    assert!(problems.is_empty(), "{problems:?}");
    assert!(notes.iter().any(|note| note.starts_with("1 version has a time")), "{notes:?}");
    let reset = clocks.fixture.engine.clock().reset.unwrap();
    assert_eq!((reset.change, reset.at), (2, START + MINUTE));
}

#[test]
fn an_acceptance_follows_the_time_that_goes_on_by_a_millisecond_a_batch() {
    let mut clocks = Clocks::new();
    let id = clocks.create().unwrap().id;
    clocks.step(-365 * 24 * 60 * MINUTE);
    clocks.decide(ClockDecision::Accept);
    // As after almost a minute of such milliseconds.
    let accepted = START - MINUTE + 1;
    let store = &clocks.fixture.engine.shared.store;
    store.write(|batch| Ok((batch.accept_clock(accepted)?, store::CommitNeed::Yes))).unwrap();
    clocks.reopen();
    for after in 1..=3 {
        assert_eq!(clocks.update(id).unwrap().stamp.milliseconds, START + after);
    }
    assert!(clocks.fixture.engine.clock().is_accepted);
    clocks.reopen();
    assert_eq!(clocks.update(id).unwrap().stamp.milliseconds, START + 4);
    // What the clock itself brings ends the acceptance as before.
    clocks.pass(365 * 24 * 60 * MINUTE + 2 * MINUTE);
    assert_eq!(clocks.create().unwrap().stamp.milliseconds, clocks.at());
    clocks.step(-2 * MINUTE);
    assert_eq!(clock_problem(clocks.create()), ClockProblem::Behind(2 * MINUTE));
}

#[test]
fn a_clock_that_jumps_in_the_middle_of_a_job_of_patients_stamps_none_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let (reads, jumps_at) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(i64::MAX)));
    let (counted, jump) = (reads.clone(), jumps_at.clone());
    let clock: crate::Clock = Arc::new(move || {
        let is_wrong = counted.fetch_add(1, Ordering::Relaxed) >= jump.load(Ordering::Relaxed);
        if is_wrong { YEAR_9999 } else { START }
    });
    let options = EngineOptions { clock, elapsed: Arc::new(|| 0), ..options(&folder, &reads) };
    let engine = Engine::open(options).unwrap();
    let write = || {
        let patients = (1..=3).map(|number| super::patients::patient(number, &[]));
        engine.append(PatientWrites { writes: patients.collect(), waits: false }).blocking_recv().unwrap().unwrap()
    };
    // The next reading is the job's: the first patient has it, and what follows is wrong.
    jumps_at.store(reads.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    assert_eq!(write().len(), 3);
    for number in 1..=3 {
        let stored = engine.patients().newest(Id::new(number).unwrap()).unwrap().unwrap();
        assert_eq!(stored.stamp.milliseconds, START, "Patient/{number}");
    }
    assert_eq!(engine.clock().newest, Some(START));
}

#[test]
fn imported_versions_may_be_five_minutes_ahead_and_lead_no_other_change_there() {
    let mut clocks = Clocks::new();
    assert!(
        matches!(clocks.import(1, 1, START + 5 * MINUTE + 1), Imported::Bad(problem) if problem.contains("ahead of the clock"))
    );
    assert!(matches!(clocks.import(1, 1, YEAR_9999), Imported::Bad(_)));
    assert_eq!(clocks.import(1, 1, START + 5 * MINUTE), Imported::Stored);
    assert_eq!(clocks.create().unwrap().stamp.milliseconds, START);
    clocks.reopen();
    assert_eq!(clocks.create().unwrap().stamp.milliseconds, START);
    // The next version of the imported one can only be later.
    let refused = clocks.update(Id::FIRST);
    assert!(
        matches!(refused, Err(RefusedChange::Rules(outcome)) if outcome.leading() == fhir::outcome::Hcert::VersionAhead)
    );
    clocks.pass(5 * MINUTE + 1);
    assert_eq!(clocks.update(Id::FIRST).unwrap().stamp.milliseconds, clocks.at());
    assert_eq!(clocks.history(None).1, [(1, 2), (1, 1), (3, 1), (2, 1)]);
    assert_eq!(clocks.verified().0, []);
}

/// Met once in a test of a running server: the check compared the newest time stamp with a change before it.
#[test]
fn a_check_that_an_import_overtakes_reports_no_damage() {
    let mut clocks = Clocks::new();
    clocks.create().unwrap();
    clocks.fixture.engine.close();
    let is_checking = Arc::new(AtomicBool::new(false));
    let (ask, asked) = mpsc::channel();
    let (answer, answered) = mpsc::channel();
    let (is_armed, answered) = (is_checking.clone(), Mutex::new(answered));
    // A check asks for the time between its look at the last change and its look at the newest time stamp.
    let clock = move || {
        if is_armed.swap(false, Ordering::Relaxed) {
            ask.send(()).unwrap();
            answered.lock().unwrap().recv().unwrap();
        }
        START
    };
    let options = options(&clocks.fixture.folder, &clocks.fixture.now);
    clocks.fixture.engine = Engine::open(EngineOptions { clock: Arc::new(clock), ..options }).unwrap();
    is_checking.store(true, Ordering::Relaxed);
    let clocks = &clocks;
    thread::scope(|scope| {
        scope.spawn(move || {
            asked.recv().unwrap();
            assert_eq!(clocks.import(7, 1, START - MINUTE), Imported::Stored);
            answer.send(()).unwrap();
        });
        assert_eq!(clocks.verified().0, []);
    });
    assert!(!is_checking.load(Ordering::Relaxed), "the import came in between");
}

#[test]
fn what_a_store_exports_another_one_imports_up_to_the_last_id() {
    let (one, other) = (Clocks::new(), Clocks::new());
    let too_large = |imported| matches!(imported, Imported::Bad(problem) if problem.contains("larger id"));
    assert!(too_large(one.import(ID_MAX, 1, START)) && too_large(one.import(IMPORT_ID_MAX + 1, 1, START)));
    assert_eq!(one.import(IMPORT_ID_MAX, 1, START), Imported::Stored);
    let ids: Vec<u64> = (0..3).map(|_| one.create().unwrap().id.get()).collect();
    assert_eq!(ids, [IMPORT_ID_MAX + 1, IMPORT_ID_MAX + 2, IMPORT_ID_MAX + 3]);
    for (_, stored) in one.fixture.engine.ledger().versions_after(Seq(0), 100).unwrap() {
        assert_eq!(other.import(stored.id.get(), 1, stored.stamp.milliseconds), Imported::Stored, "{}", stored.id);
    }
    assert!(too_large(other.import(IMPORT_ID_MAX + 5, 1, START)));
}

#[test]
fn a_create_beyond_the_last_id_is_refused_and_changes_nothing() {
    let mut clocks = Clocks::new();
    let shared = &clocks.fixture.engine.shared;
    shared.store.write(|batch| Ok((batch.set_meta_number("next-id", ID_MAX)?, store::CommitNeed::Yes))).unwrap();
    clocks.reopen();
    assert_eq!(clocks.create().unwrap().id.get(), ID_MAX);
    for _ in 0..2 {
        let refused = clocks.create();
        assert!(
            matches!(refused, Err(RefusedChange::Rules(outcome)) if outcome.leading() == fhir::outcome::Hcert::IdsUsedUp)
        );
    }
    assert_eq!(clocks.fixture.engine.seq(), Seq(1));
    assert!(clocks.update(Id::new(ID_MAX).unwrap()).is_ok());
}

/// What was seen: a start with a clock that was a year ahead removed the whole audit trail.
#[test]
fn what_a_clock_that_is_ahead_at_the_start_says_makes_nothing_old_for_a_day() {
    const DAY: i64 = 24 * 60 * MINUTE;
    let mut clocks = Clocks::new();
    assert_eq!(clocks.fixture.engine.clock().settled, i64::MIN, "nothing was changed yet");
    clocks.pass(DAY);
    assert_eq!(clocks.fixture.engine.clock().settled, START + DAY);
    clocks.create().unwrap();
    clocks.step(365 * DAY);
    // Its changes are stamped so, and however often it starts.
    for _ in 0..2 {
        clocks.reopen();
        clocks.pass(MINUTE);
        let state = clocks.fixture.engine.clock();
        assert_eq!((state.problem, state.settled), (None, START + DAY + MINUTE));
    }
    // Nor is a change that it made any proof, once what was settled before was handed over.
    clocks.fixture.engine.append(AuditHead("1:0".into())).blocking_recv().unwrap().unwrap();
    clocks.create().unwrap();
    clocks.reopen();
    clocks.pass(MINUTE);
    assert_eq!(clocks.fixture.engine.clock().settled, START + DAY + 2 * MINUTE);
    clocks.pass(DAY - 2 * MINUTE);
    assert_eq!(clocks.fixture.engine.clock().settled, START + 2 * DAY);
    clocks.pass(MINUTE);
    assert_eq!(clocks.fixture.engine.clock().settled, clocks.at());
}
