//! A disk that has no room for the index: writes and searches go on, and the index catches up as soon as there is some.

use std::path::Path;
use std::time::{Duration, Instant};

use super::*;
use crate::embedded::index::medium::memory::MemoryFiles;
use crate::embedded::index::{IndexContents, IndexedCertificate};
use crate::embedded::store::backend::disk::SimulatedDisk;
use crate::embedded::{EngineMedia, indexer, writer};

/// Calls of a round to the disk of the index, and some more.
const CALLS: u64 = 14;

/// What outlives an engine.
struct Machine {
    disk: Arc<SimulatedDisk>,
    files: Arc<MemoryFiles>,
}

impl Machine {
    fn new() -> Machine {
        Machine { disk: Arc::default(), files: Arc::default() }
    }

    /// An engine with all its threads.
    fn start(&self) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let now = Arc::new(AtomicI64::new(1_736_676_000_000));
        let media = EngineMedia {
            store: store::StoreMedium::File(store::FileMedium::of(&self.disk)),
            index: index::IndexMedium::of(&self.files),
        };
        let (engine, workers) = Engine::assemble(&options(&folder, &now), media).unwrap();
        let threads = [writer::start(workers.writer, workers.queue).unwrap(), indexer::start(workers.indexer).unwrap()];
        engine.threads.lock().unwrap().extend(threads);
        Fixture { folder, now, engine }
    }
}

fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Changes that an index has to take in and to take out.
fn change(fixture: &Fixture) {
    let id = fixture.create(State::Draft, "Patient/1").id;
    fixture.update(id, Trigger::Update, State::Completed, "Patient/2").unwrap();
    let id = fixture.create(State::Draft, "Patient/1").id;
    fixture.delete(id).unwrap();
    fixture.create(State::Draft, "Patient/1");
    fixture.delete(Id::new(1).unwrap()).unwrap_or_else(|refused| panic!("{refused:?}"));
}

/// What searches find, by way of index and overlay.
fn answers(fixture: &Fixture) -> Vec<(u64, Vec<(u64, u32)>)> {
    let filters = [Filter::All(vec![]), Filter::Term(about("Patient/1")), Filter::Term(about("Patient/2"))];
    filters.into_iter().map(|filter| fixture.find(filter)).collect()
}

/// What the index holds, row by row.
fn held(fixture: &Fixture) -> Vec<(u64, Vec<IndexedCertificate>)> {
    let view = fixture.engine.shared.view().unwrap();
    let mut holdings = IndexContents::read(&view.index).unwrap();
    let ids = 1..=fixture.engine.seq().0;
    let held = ids.map(|id| (id, holdings.of(Id::new(id).unwrap(), |passed| panic!("{passed} was passed")).unwrap()));
    held.filter(|(_, held)| !held.is_empty()).collect()
}

/// Builds the index anew from the store.
fn rebuild(fixture: &Fixture) {
    let before = fixture.engine.shared.view().unwrap().index.clone();
    fixture.engine.shared.notifier.condemn();
    let is_new = || fixture.engine.shared.view().is_some_and(|view| !Arc::ptr_eq(&view.index, &before));
    eventually("it is built again", is_new);
    fixture.indexed();
}

fn is_waiting(fixture: &Fixture, files: &MemoryFiles) -> bool {
    fixture.engine.index_now();
    files.refused() > 0
}

#[test]
fn an_index_without_room_stays_in_use_and_catches_up_whichever_call_met_the_full_disk() {
    let mut met = 0;
    for calls in 1..=CALLS {
        let media = Machine::new();
        let fixture = media.start();
        fixture.create(State::Draft, "Patient/1");
        fixture.create(State::Draft, "Patient/1");
        fixture.indexed();
        let at = fixture.engine.indexed();
        media.files.fill_up(calls);
        fixture.create(State::Draft, "Patient/3");
        let until = fixture.engine.seq();
        // The round finds room for all it needs, or it does not.
        eventually("the round ends", || is_waiting(&fixture, &media.files) || fixture.engine.indexed() == Some(until));
        if media.files.refused() > 0 {
            met += 1;
            assert_eq!(fixture.engine.indexed(), at, "call {calls}: the index that was there is in use");
            change(&fixture);
            let found = answers(&fixture);
            assert_eq!(found[0].0, 4, "call {calls}: searches see what was written meanwhile: {found:?}");
            assert_eq!(fixture.engine.indexed(), at, "call {calls}");
        }
        media.files.mend();
        fixture.indexed();
        let (found, rows) = (answers(&fixture), held(&fixture));
        assert_eq!(fixture.engine.shared.overlay_rows.load(Ordering::Acquire), 0);
        assert_eq!(fixture.engine.shared.why_built(), None, "call {calls}: it is not built again for that");
        rebuild(&fixture);
        assert_eq!((answers(&fixture), held(&fixture)), (found, rows), "call {calls}: a fresh one holds the same");
    }
    assert!(met >= 4, "most calls of a round want room: {met}");
}

#[test]
fn an_engine_is_closed_while_its_index_waits_for_room_and_starts_without_and_with_some() {
    let media = Machine::new();
    let fixture = media.start();
    fixture.create(State::Draft, "Patient/1");
    fixture.indexed();
    media.files.fill_up(1);
    change(&fixture);
    eventually("it waits", || is_waiting(&fixture, &media.files));
    let found = answers(&fixture);
    fixture.engine.close();
    for is_full in [true, false] {
        if !is_full {
            media.files.mend();
        }
        let fixture = media.start();
        assert_eq!(answers(&fixture), found, "full: {is_full}");
        if !is_full {
            fixture.indexed();
            assert_eq!(answers(&fixture), found);
        }
        fixture.engine.close();
    }
}

#[test]
fn an_index_that_is_not_what_it_was_when_there_is_room_again_is_built_anew() {
    let media = Machine::new();
    let fixture = media.start();
    let list = Path::new("meta.json");
    fixture.create(State::Draft, "Patient/1");
    fixture.indexed();
    let earlier = media.files.bytes(list);
    // Nothing of it is deleted, so that files of the earlier list stay.
    fixture.create(State::Draft, "Patient/2");
    fixture.indexed();
    media.files.fill_up(1);
    fixture.create(State::Draft, "Patient/2");
    eventually("it waits", || is_waiting(&fixture, &media.files));
    let found = answers(&fixture);
    media.files.damage(list, |_| Some(earlier));
    media.files.mend();
    eventually("it is built again", || fixture.engine.shared.why_built().is_some());
    fixture.indexed();
    let why = fixture.engine.shared.why_built().unwrap();
    assert!(why.contains("it is at change 1 where it was at"), "{why}");
    assert_eq!(answers(&fixture), found);
}
