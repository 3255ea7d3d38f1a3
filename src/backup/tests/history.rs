//! The claim of it all: what was restored answers as the other store did at that change.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::script::{Dice, about};
use super::*;
use certificate::search::filter::{ClassTest, Filter};
use certificate::search::{EngineQuery, SearchPage, Sort, SortKey};
use certificate::{Id, Seq, State, Version};
use engine::{HistoryQuery, SearchError};
use fhir::date_time::Span;

/// Every id that a script uses, and some more.
fn ids() -> impl Iterator<Item = Id> {
    (1..60).chain(198..210).chain(498..510).filter_map(Id::new)
}

fn search(engine: &Engine, query: &EngineQuery) -> SearchPage {
    let started = Instant::now();
    loop {
        match engine.plan(query.clone()).and_then(|planned| planned.run()) {
            Ok(page) => return page,
            Err(SearchError::Building { .. }) if started.elapsed() < Duration::from_secs(60) => {
                std::thread::yield_now();
            }
            Err(error) => panic!("{error:?}"),
        }
    }
}

fn assert_same_certificates(one: &Engine, other: &Engine) {
    assert_eq!(one.seq(), other.seq());
    let shown = |engine: &Engine, id: Id| {
        let versions = (1..12).map(|version| {
            let stored = engine.read(id, Some(Version::new(version).unwrap()), |entry| entry.stored()).unwrap()?;
            Some((stored.state, stored.stamp, stored.resource))
        });
        let versions: Vec<_> = versions.collect();
        let current =
            engine.read(id, None, |entry| entry.stored()).unwrap().map(|stored| (stored.version, stored.state));
        (
            versions,
            current,
            engine.read(id, None, |entry| entry.effective_row()).unwrap(),
            engine.consent_history(id).unwrap(),
        )
    };
    ids().for_each(|id| assert_eq!(shown(one, id), shown(other, id), "Composition/{id}"));
    let times = [None, Some(NOON - 50_000), Some(NOON + 20_000), Some(NOON + 90_500)];
    for id in ids().map(Some).chain([None]) {
        for since in times {
            for at in times.map(|at| at.map(|low| Span { low, high: low + 3_000 })) {
                for page in 1..4 {
                    let query = HistoryQuery { id, since, at, page, count: 7, hidden: None };
                    assert_eq!(one.history(&query).unwrap(), other.history(&query).unwrap(), "{query:?}");
                }
            }
        }
    }
    let closed = || Filter::Class(ClassTest::DoctorClosed);
    let states = State::ALL.into_iter().map(|state| Filter::Class(ClassTest::State(state)));
    let filters = [Filter::All(vec![]), closed(), Filter::Not(Box::new(closed()))].into_iter().chain(states);
    let filters: Vec<_> = filters.chain((0..5).map(|subject| Filter::Term(about(subject)))).collect();
    for filter in filters {
        for key in [SortKey::Id, SortKey::LastUpdated, SortKey::Title, SortKey::Category] {
            for page in 1..4 {
                let sort = vec![Sort { key, descending: page % 2 == 0 }];
                let query = EngineQuery { filter: filter.clone(), sort, page, count: 6 };
                assert_eq!(search(one, &query), search(other, &query), "{query:?}");
            }
        }
    }
}

fn assert_same_patients(one: &Engine, other: &Engine) {
    let shown = |engine: &Engine, id: Id| {
        let versions = engine.patients().versions(id).unwrap();
        let found = engine.patients().with(&(id.get() % 7).to_string()).unwrap();
        (versions, engine.patients().line(id).unwrap(), engine.patients().linked(id), found)
    };
    ids().for_each(|id| assert_eq!(shown(one, id), shown(other, id), "Patient/{id}"));
    let log = |engine: &Engine| engine.patients().changes(0, 10_000).unwrap();
    assert_eq!(log(one), log(other));
    assert_eq!(one.patients().all(1_000).unwrap(), other.patients().all(1_000).unwrap());
    assert_eq!(one.patients().born(300, 600, 1_000).unwrap(), other.patients().born(300, 600, 1_000).unwrap());
    assert_eq!(one.patients().count().unwrap(), other.patients().count().unwrap());
}

/// A store that never had more than these changes.
fn reference(script: &Script, to: Seq, patients_to: u64) -> (TempDir, Engine) {
    let folder = tempfile::tempdir().unwrap();
    let now = Arc::new(AtomicI64::new(NOON));
    let engine = engine(&folder.path().join("data"), &now).unwrap();
    play(&engine, &now, script, to.0, patients_to);
    (folder, engine)
}

#[test]
fn whatever_the_history_and_whenever_backups_are_taken_a_restored_store_answers_as_it_was() {
    let seed = std::env::var("HCERT_TEST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_261_122);
    for round in 0..4 {
        eprintln!("round {round} of HCERT_TEST_SEED={seed}");
        one_history(seed + round);
    }
}

fn one_history(seed: u64) {
    let mut dice = Dice::new(seed);
    let place = Place::new();
    let script = Script::new(seed, 150 + dice.below(100) as usize);
    let mut chain: Vec<Archive> = Vec::new();
    std::thread::scope(|scope| {
        // Times of archives are another clock's, which the script's must not move.
        let now = Arc::new(AtomicI64::new(NOON));
        let writing = scope.spawn(|| play(&place.engine, &place.now, &script, u64::MAX, u64::MAX));
        let backups = 1 + dice.below(4);
        for number in 0..backups {
            // Somewhere within the history, the last one mostly behind its end.
            let is_last = number + 1 == backups && dice.below(4) > 0;
            let until = if is_last { u64::MAX } else { place.engine.seq().0 + dice.below(60) };
            while place.engine.seq().0 < until && !writing.is_finished() {
                std::thread::yield_now();
            }
            let path = place.path(&format!("{number}.tar"));
            let mut archive = Unfinished::begin(ArchiveTarget::File(path.clone()), None).unwrap();
            let base = chain.last().map(Archive::base);
            let at = now.fetch_add(1_000, Ordering::SeqCst);
            let taking = TakeOptions { base: base.as_ref(), recipients: None, command: "test", at, is_gentle: false };
            super::take(&place.engine, &place.log, &taking, &mut archive, &mut |_| {}).unwrap();
            archive.finish().unwrap();
            chain.push(Archive::look(&path, &ArchiveKeys::default()).unwrap());
        }
    });
    let end = chain.last().unwrap().about.clone();
    check(&chain, true, &mut |_| {}).unwrap();
    let points: BTreeSet<u64> = [0, end.until, dice.below(end.until + 1), dice.below(end.until + 1)].into();
    for to in points {
        let needed = chain.iter().find(|archive| archive.about.until >= to).unwrap();
        let name = format!("restored-{to}");
        let (restored, engine) = place.restored(&chain, &name, Some(to));
        assert_eq!((restored.until, restored.patients_until), (Seq(to), needed.about.patients_until));
        if to == needed.about.until {
            assert_eq!(Some(engine.ledger().moment().unwrap().time), needed.about.time);
        }
        let (_folder, reference) = reference(&script, Seq(to), restored.patients_until);
        assert_same_certificates(&engine, &reference);
        assert_same_patients(&engine, &reference);
        engine.close();
        // Once more with the index that it made, and nothing told that is wrong.
        let engine = super::engine(&place.path(&name), &place.now).unwrap();
        assert_same_certificates(&engine, &reference);
        assert_eq!(engine.ledger().moment().unwrap().next_id, end.next_id + 1_000);
    }
}

#[test]
fn a_backup_of_an_empty_store_is_a_store_again() {
    let place = Place::new();
    let archive = place.full("empty.tar");
    let (restored, engine) = place.restored(std::slice::from_ref(&archive), "restored", None);
    assert_eq!((restored.until, restored.next_id), (Seq(0), 1_001));
    assert_eq!(engine.ledger().moment().unwrap().epoch, restored.epoch);
    assert_ne!(restored.epoch, archive.about.epoch);
    assert_eq!(engine.ledger().moment().unwrap().store, archive.about.store);
}

#[test]
fn no_id_is_given_twice_to_certificates_or_to_patients() {
    let place = Place::with_history(120);
    let archive = place.full("a.tar");
    let (_, engine) = place.restored(std::slice::from_ref(&archive), "restored", Some(3));
    let moment = engine.ledger().moment().unwrap();
    assert_eq!(moment.next_id, archive.about.next_id + 1_000);
    assert_eq!(moment.next_patient_id, archive.about.next_patient_id + 1_000);
}

#[test]
fn code_lists_come_back_as_of_the_last_archive() {
    let place = Place::with_history(200);
    let full = place.full("a.tar");
    play(&place.engine, &place.now, &Script::new(99, 60), u64::MAX, u64::MAX);
    let more = place.behind("b.tar", &full);
    let (_, engine) = place.restored(&[full, more], "restored", None);
    assert_eq!(engine.lists().unwrap(), place.engine.lists().unwrap());
}

#[test]
fn an_index_of_before_the_restore_is_built_again() {
    let place = Place::with_history(80);
    let archive = place.full("a.tar");
    let (_, engine) = place.restored(&[archive], "restored", Some(20));
    let query = EngineQuery { filter: Filter::All(vec![]), sort: vec![], page: 1, count: 1_000 };
    let found = search(&engine, &query);
    engine.close();
    place.engine.close();
    // Somebody keeps the index of the other epoch to save the time.
    std::fs::remove_dir_all(place.path("restored/index")).unwrap();
    std::fs::rename(place.path("data/index"), place.path("restored/index")).unwrap();
    let engine = super::engine(&place.path("restored"), &place.now).unwrap();
    assert_eq!(search(&engine, &query), found);
}
