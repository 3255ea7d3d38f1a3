//! The index built again while it is used.

use std::fs;
use std::sync::atomic::AtomicBool;

use super::*;
use certificate::Openness;

fn reindex(engine: &Engine) -> Result<u64, String> {
    engine.reindex(&mut |_, _| ())
}

/// Each search finds every change that was acknowledged before it, whichever index it reads.
#[test]
fn an_index_is_built_again_while_writes_and_searches_go_on() {
    let fixture = Fixture::new();
    let engine = &fixture.engine;
    let count = EngineQuery { filter: Filter::All(vec![]), sort: vec![], page: 1, count: 0 };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Acquire) {
                let id = fixture.create(State::Draft, "Patient/1").id;
                fixture.update(id, Trigger::Update, State::Completed, "Patient/2").unwrap();
                let id = fixture.create(State::Draft, "Patient/3").id;
                fixture.delete(id).unwrap();
            }
        });
        scope.spawn(|| {
            while !stop.load(Ordering::Acquire) {
                // Of every four changes one certificate is left, and in between there may be one more.
                let page = engine.plan(count.clone()).and_then(|planned| planned.run()).expect("searches go on");
                let (rounds, step) = (page.at.0 / 4, page.at.0 % 4);
                assert_eq!(page.total, rounds + [0, 1, 1, 2][step as usize], "at change {}", page.at);
            }
        });
        let _stop = Stop(&stop);
        for _ in 0..10 {
            let before = engine.shared.view().unwrap().index.clone();
            reindex(engine).unwrap();
            assert!(!Arc::ptr_eq(&engine.shared.view().unwrap().index, &before), "it is another one");
        }
    });
    fixture.indexed();
    let certificates = engine.seq().0 / 4;
    assert_eq!(fixture.find(Filter::Term(about("Patient/2"))).0, certificates);
    assert_eq!(reindex(engine).unwrap(), certificates);
}

#[test]
fn an_index_built_again_is_the_one_that_the_next_start_opens() {
    let mut fixture = Fixture::new();
    let id = fixture.create(State::Draft, "Patient/1").id;
    fixture.create(State::Completed, "Patient/2");
    fixture.update(id, Trigger::Update, State::Completed, "Patient/2").unwrap();
    fixture.set_consent(id, Consent { doctor: Openness::Closed, representative: Openness::Open }).unwrap();
    fixture.indexed();
    let found = fixture.find(Filter::Term(about("Patient/2")));
    assert_eq!(reindex(&fixture.engine).unwrap(), 2);
    assert_eq!(fixture.find(Filter::Term(about("Patient/2"))), found);
    let data = fixture.folder.path().join("data");
    assert!(!data.join("index.new").exists() && !data.join("index.old").exists());
    fixture.reopen();
    let at = fixture.engine.indexed().expect("the index is there at once");
    assert_eq!(at, fixture.engine.seq());
    assert_eq!(fixture.find(Filter::Term(about("Patient/2"))), found);
}

/// The old index was removed before the new one was opened: where that could not be opened, searches were refused until another was built.
#[test]
fn a_new_index_that_cannot_be_opened_gives_its_place_back() {
    let mut fixture = Fixture::new();
    fixture.create(State::Draft, "Patient/1");
    fixture.create(State::Completed, "Patient/2");
    fixture.indexed();
    fixture.engine.close();
    let folder = Arc::new(index::medium::refusing::RefusingFolder::default());
    let media = EngineMedia { index: index::IndexMedium::refusing(&folder), ..EngineMedia::default() };
    fixture.engine = Engine::run_on(&options(&fixture.folder, &fixture.now), media).unwrap();
    folder.refuse(1);
    assert_eq!(reindex(&fixture.engine).unwrap_err(), "it cannot be opened");
    assert!(fixture.engine.shared.view().is_some(), "searches go on");
    fixture.create(State::Draft, "Patient/3");
    fixture.indexed();
    assert_eq!(fixture.find(Filter::All(vec![])).0, 3);
    assert_eq!(reindex(&fixture.engine).unwrap(), 3);
    assert!(!fixture.folder.path().join("data/index.new").exists());
}

/// A crash at a reindex, then the index was lost: what the reindex had committed is gone on with.
#[test]
fn an_index_that_was_left_beside_takes_the_place_of_one_that_is_missing() {
    let mut fixture = Fixture::new();
    for patient in 1..=3 {
        fixture.create(State::Completed, &format!("Patient/{patient}"));
    }
    fixture.engine.close();
    let [index, left] = ["data/index", "data/index.new"].map(|name| fixture.folder.path().join(name));
    fs::rename(&index, &left).unwrap();
    fixture.reopen();
    assert_eq!(fixture.engine.indexed(), Some(Seq(3)), "nothing is built");
    assert_eq!(fixture.find(Filter::Term(about("Patient/1"))), (1, vec![(1, 1)]));
}

/// The release before filled the same fields by other rules.
#[test]
fn an_index_of_an_earlier_layout_is_searched_until_one_of_this_is_built_beside_it() {
    let mut fixture = Fixture::new();
    for patient in 1..=3 {
        fixture.create(State::Completed, &format!("Patient/{patient}"));
    }
    fixture.engine.close();
    let list = fixture.folder.path().join("data/index/meta.json");
    let earlier = fs::read_to_string(&list).unwrap().replace("layout 1", "layout 0");
    assert!(earlier.contains("layout 0"));
    fs::write(&list, earlier).unwrap();
    fixture.reopen();
    assert_eq!(fixture.engine.indexed(), Some(Seq(3)), "searches work on return");
    assert_eq!(fixture.find(Filter::Term(about("Patient/1"))), (1, vec![(1, 1)]));
    fixture.create(State::Completed, "Patient/1");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while fs::read_to_string(&list).is_ok_and(|list| list.contains("layout 0")) {
        assert_eq!(fixture.find(Filter::All(vec![])).0, 4, "searches go on");
        assert!(std::time::Instant::now() < deadline, "it is built again");
        std::thread::yield_now();
    }
    fixture.indexed();
    assert_eq!(fixture.find(Filter::Term(about("Patient/1"))), (2, vec![(1, 1), (4, 1)]));
    assert_eq!(fixture.engine.shared.why_built(), None, "and not while searches wait");
    fixture.reopen();
    assert_eq!(fixture.find(Filter::Term(about("Patient/1"))), (2, vec![(1, 1), (4, 1)]));
}

#[test]
fn what_a_reindex_left_behind_goes_at_the_next_start() {
    let mut fixture = Fixture::new();
    fixture.create(State::Completed, "Patient/1");
    fixture.engine.close();
    let data = fixture.folder.path().join("data");
    for left in ["index.new", "index.old"] {
        fs::create_dir(data.join(left)).unwrap();
        fs::write(data.join(left).join("meta.json"), "{").unwrap();
    }
    fixture.reopen();
    assert!(!data.join("index.new").exists() && !data.join("index.old").exists());
    // A crash between the two renamings: the index has another name.
    fixture.engine.close();
    fs::rename(data.join("index"), data.join("index.old")).unwrap();
    fixture.reopen();
    assert_eq!(fixture.find(Filter::Term(about("Patient/1"))), (1, vec![(1, 1)]));
}

#[test]
fn a_reindex_that_cannot_be_done_leaves_the_index_in_use() {
    let fixture = Fixture::new();
    fixture.create(State::Completed, "Patient/1");
    fixture.indexed();
    // Its folder is gone for a while, as with a disk that is not mounted.
    let [folder, elsewhere] = ["data", "elsewhere"].map(|name| fixture.folder.path().join(name));
    fs::rename(&folder, &elsewhere).unwrap();
    assert!(reindex(&fixture.engine).is_err());
    assert_eq!(fixture.find(Filter::Term(about("Patient/1"))), (1, vec![(1, 1)]));
    fs::rename(&elsewhere, &folder).unwrap();
    fixture.create(State::Completed, "Patient/1");
    assert_eq!(fixture.find(Filter::Term(about("Patient/1"))), (2, vec![(1, 1), (2, 1)]));
    fixture.indexed();
    // Whatever lies in the way is no index, and gives way to one.
    for name in ["index.new", "index.old"] {
        fs::write(folder.join(name), "").unwrap();
    }
    assert_eq!(reindex(&fixture.engine).unwrap(), 2);
}

#[test]
fn only_one_reindex_runs_and_a_closed_engine_runs_none() {
    let fixture = Fixture::new();
    fixture.create(State::Completed, "Patient/1");
    let _running = fixture.engine.shared.reindexing.lock().unwrap();
    assert!(reindex(&fixture.engine).unwrap_err().contains("already"));
    drop(_running);
    fixture.engine.close();
    assert!(reindex(&fixture.engine).is_err());
}
