//! Files of the index that are deleted, cut or changed, a disk that takes nothing, a clock that goes back: answers are right or say that
//! they have to wait, the engine mends itself, and its health tells what is wrong.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::*;
use crate::embedded::store::backend::disk::{DiskFault, SimulatedDisk};
use crate::embedded::{EngineMedia, indexer, writer};
use crate::{EngineHealth, IndexHealth, StoreHealth};

/// What is done to a file.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Delete,
    Cut,
    Flip,
}

const DAMAGES: [Damage; 3] = [Damage::Delete, Damage::Cut, Damage::Flip];

/// A certificate of each of a few patients, indexed in two rounds with something deleted, so that every kind of file is there.
fn indexed() -> Fixture {
    let fixture = Fixture::new();
    for patient in 1..=20 {
        fixture.create(State::Draft, &format!("Patient/{}", patient % 3));
    }
    fixture.indexed();
    fixture.delete(Id::new(3).unwrap()).unwrap();
    fixture.update(Id::new(4).unwrap(), Trigger::Update, State::Draft, "Patient/2").unwrap();
    fixture.indexed();
    fixture
}

/// One file of each kind.
fn kinds(fixture: &Fixture) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(fixture.folder.path().join("data/index"))
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind != "lock"))
        .collect();
    files.sort_by_key(|path| path.extension().unwrap().to_owned());
    files.dedup_by_key(|path| path.extension().unwrap().to_owned());
    files
}

fn damage(path: &PathBuf, damage: Damage) {
    match damage {
        Damage::Delete => fs::remove_file(path).unwrap(),
        Damage::Cut => {
            let bytes = fs::metadata(path).unwrap().len();
            fs::OpenOptions::new().write(true).open(path).unwrap().set_len(bytes / 2).unwrap();
        }
        Damage::Flip => {
            use std::os::unix::fs::FileExt;
            let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
            let at = file.metadata().unwrap().len() / 3;
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[byte[0] ^ 0x55], at).unwrap();
        }
    }
}

/// What a few searches say.
fn answers(fixture: &Fixture) -> Vec<(u64, Vec<(u64, u32)>)> {
    let filters = [Filter::All(vec![]), Filter::Term(about("Patient/1")), Filter::Term(about("Patient/2"))];
    filters.into_iter().map(|filter| fixture.find(filter)).collect()
}

fn until(fixture: &Fixture, what: &str, is_so: impl Fn(&EngineHealth) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so(&fixture.engine.health()) {
        assert!(Instant::now() < deadline, "{what}: {:?}", fixture.engine.health());
        std::thread::yield_now();
    }
}

fn is_live(health: &EngineHealth) -> bool {
    matches!(health.index, IndexHealth::Live { .. })
}

#[test]
fn an_index_damaged_while_stopped_gives_right_answers_and_is_built_again() {
    let mut fixture = indexed();
    let right = answers(&fixture);
    let kinds_there = kinds(&fixture).len();
    assert!(kinds_there >= 6, "every kind of file is there: {:?}", kinds(&fixture));
    for kind in 0..kinds_there {
        for how in DAMAGES {
            fixture.engine.close();
            let files = kinds(&fixture);
            let Some(file) = files.get(kind) else { continue };
            damage(file, how);
            fixture.reopen();
            assert_eq!(answers(&fixture), right, "{how:?} {}", file.display());
            fixture.indexed();
            assert_eq!(answers(&fixture), right, "{how:?} {}", file.display());
        }
    }
}

#[test]
fn index_files_that_vanish_while_it_runs_are_not_missed_and_are_made_again() {
    let fixture = indexed();
    for kind in 0..kinds(&fixture).len() {
        let right = answers(&fixture);
        let files = kinds(&fixture);
        let Some(file) = files.get(kind) else { continue };
        damage(file, Damage::Delete);
        assert_eq!(answers(&fixture), right, "without {}", file.display());
        fixture.engine.shared.notifier.suspect();
        fixture.create(State::Draft, "Patient/1");
        fixture.indexed();
        let found = answers(&fixture);
        assert_eq!((found[0].0, found[1].0, found[2].0), (right[0].0 + 1, right[1].0 + 1, right[2].0));
    }
}

#[test]
fn a_byte_that_changes_while_it_runs_is_found_by_looking_through() {
    let fixture = indexed();
    let right = answers(&fixture);
    let terms = kinds(&fixture).into_iter().find(|path| path.extension().unwrap() == "idx").unwrap();
    damage(&terms, Damage::Flip);
    fixture.engine.shared.notifier.suspect();
    until(&fixture, "the index is given up", |health| match &health.index {
        IndexHealth::Building { why, .. } => why.contains("not what was written"),
        // It may be built again already.
        IndexHealth::Live { .. } => !terms.exists(),
    });
    until(&fixture, "the index is built again", is_live);
    assert_eq!(answers(&fixture), right);
}

/// A large index answers from the start on, and its files are compared meanwhile. Until that is done a wrong byte may show in an answer;
/// it does not get into a segment that a merge makes.
#[test]
fn a_large_index_answers_at_once_and_damage_in_it_is_found_afterwards() {
    let fixture = indexed();
    let mut right = answers(&fixture);
    let (folder, now) = (fixture.folder.path().to_owned(), fixture.now.clone());
    fixture.engine.close();
    let mut fixture = Fixture { engine: later(&fixture.folder, &now), ..fixture };
    assert!(fixture.engine.indexed().is_some(), "searches work on return");
    assert_eq!(answers(&fixture), right);
    for kind in ["idx", "term", "fast", "del"] {
        fixture.engine.close();
        let files = fs::read_dir(folder.join("data/index")).unwrap().map(|file| file.unwrap().path());
        let file = files.filter(|path| path.extension().is_some_and(|found| found == kind)).min().unwrap();
        damage(&file, Damage::Flip);
        fixture.engine = later(&fixture.folder, &now);
        // By then it is found by itself.
        until(&fixture, kind, |health| is_live(health) && fixture.engine.shared.why_built().is_some());
        assert_eq!(answers(&fixture), right, "{kind}");
        fixture.indexed();
        // So that something is deleted in a segment again.
        fixture.update(Id::new(4).unwrap(), Trigger::Update, State::Draft, "Patient/2").unwrap();
        fixture.indexed();
        right = answers(&fixture);
    }
}

/// As [`Engine::open`], where every index counts as a large one.
fn later(folder: &tempfile::TempDir, now: &Arc<AtomicI64>) -> Engine {
    let media = EngineMedia { index: index::IndexMedium::checked_later(), ..EngineMedia::default() };
    Engine::run_on(&options(folder, now), media).unwrap()
}

/// A panic in a search may come from damage or from a fault of ours. An index that is whole is not built again for it: whoever finds a
/// search that panics could otherwise keep everyone from searching.
#[test]
fn a_panic_in_a_search_leaves_an_index_that_is_whole() {
    let fixture = indexed();
    let right = answers(&fixture);
    let before = fixture.engine.shared.view().unwrap().index.at;
    let failed = fixture.engine.shared.search(|| -> Result<(), index::IndexError> { panic!("a fault of ours") });
    assert!(matches!(failed, Err(SearchError::Failed(_))));
    fixture.create(State::Draft, "Patient/9");
    fixture.indexed();
    assert!(is_live(&fixture.engine.health()) && fixture.engine.shared.view().unwrap().index.at > before);
    assert_eq!(fixture.find(Filter::All(vec![])).0, right[0].0 + 1);
}

#[test]
fn stamps_do_not_descend_when_the_clock_goes_back() {
    let mut fixture = Fixture::new();
    let first = fixture.create(State::Draft, "Patient/1").stamp.milliseconds;
    fixture.now.store(first - 30_000, Ordering::Relaxed);
    let second = fixture.create(State::Draft, "Patient/1").stamp.milliseconds;
    assert_eq!(second, first);
    fixture.reopen();
    let third = fixture.update(Id::FIRST, Trigger::Update, State::Draft, "Patient/1").unwrap().stamp.milliseconds;
    assert_eq!(third, first + 1);
    // It is followed again as soon as it is past what was said.
    fixture.now.store(first + 60_000, Ordering::Relaxed);
    // Looks of the writer at this clock move it too.
    let followed = fixture.create(State::Draft, "Patient/1").stamp.milliseconds;
    assert!((first + 60_000..first + 65_000).contains(&followed), "{followed}");
    assert_eq!(fixture.engine.health().store, StoreHealth::Good);
    let query = HistoryQuery { id: None, since: Some(first + 1), at: None, page: 1, count: 10, hidden: None };
    assert_eq!(fixture.engine.history(&query).unwrap().unwrap().total, 2);
}

/// An engine with all its threads, on a disk that a test plays.
fn on(disk: &Arc<SimulatedDisk>) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let now = Arc::new(AtomicI64::new(1_736_676_000_000));
    let media = EngineMedia {
        store: store::StoreMedium::File(store::FileMedium::of(disk)),
        index: index::IndexMedium::default(),
    };
    let (engine, workers) = Engine::assemble(&options(&folder, &now), media).unwrap();
    let threads = [writer::start(workers.writer, workers.queue).unwrap(), indexer::start(workers.indexer).unwrap()];
    engine.threads.lock().unwrap().extend(threads);
    Fixture { folder, now, engine }
}

#[test]
fn reads_go_on_while_the_disk_takes_nothing_and_writes_when_it_does_again() {
    for fault in [DiskFault::Full, DiskFault::ReadOnly] {
        let disk = Arc::new(SimulatedDisk::default());
        let fixture = on(&disk);
        let there = fixture.create(State::Draft, "Patient/1");
        disk.break_at(1, fault);
        let create = || {
            let content = content(Trigger::Create, State::Draft, "Patient/2");
            fixture.write(Write::Create { content, if_none_exist: None, rows: None })
        };
        // The journal has its room; what is written there was acknowledged.
        let refused = (0..100).map(|_| create()).find(Result::is_err).expect("a checkpoint needs room");
        let written = fixture.engine.seq().0;
        assert!(matches!(refused, Err(RefusedChange::Store(_))), "{refused:?}");
        until(&fixture, "it is told", |health| matches!(health.store, StoreHealth::Reopening { .. }));
        until(&fixture, "it is opened copy-on-write", |_| fixture.engine.shared.store.is_copy_on_write());
        // Between two tries to open it a read may be told to come again.
        let read = || fixture.engine.read(there.id, None, |entry| entry.stored());
        let deadline = Instant::now() + Duration::from_secs(60);
        let stored = loop {
            match read() {
                Ok(stored) => break stored,
                Err(error) => assert!(Instant::now() < deadline, "{fault:?}: {error}"),
            }
        };
        assert_eq!(stored.unwrap().version, Version::FIRST);
        assert_eq!(fixture.find(Filter::All(vec![])).0, written);
        disk.mend();
        until(&fixture, "it is open again", |health| health.store == StoreHealth::Good);
        fixture.create(State::Draft, "Patient/3");
        assert_eq!(fixture.find(Filter::All(vec![])).0, fixture.engine.seq().0);
    }
}

/// A read met the failure, and nobody writes: the store is opened again all the same.
#[test]
fn a_failure_that_only_a_reader_met_is_mended_without_a_write() {
    let disk = Arc::new(SimulatedDisk::default());
    let fixture = on(&disk);
    let there = fixture.create(State::Draft, "Patient/1");
    fixture.engine.shared.store.distrust();
    until(&fixture, "it is open again", |_| !fixture.engine.shared.store.has_failed());
    assert!(fixture.engine.read(there.id, None, |entry| entry.stored()).unwrap().is_some());
    assert_eq!(fixture.create(State::Draft, "Patient/1").id.get(), 2);
}
