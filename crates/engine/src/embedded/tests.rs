//! Stories of the engine alone, with rows made by hand.

mod chain;
mod clock;
mod consent;
mod damage;
mod derive;
mod erase;
mod explanation;
mod fault;
mod form;
mod health;
mod migration;
mod moment;
mod pages;
mod patients;
mod reindex;
mod room;
mod search;
mod simulation;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tempfile::TempDir;

use super::*;
use crate::{
    AcknowledgedChange, Actor, HistoryQuery, Imported, ImportedVersion, ListChange, PatientWrites, QuickRepair,
    RefusedChange, VersionContent, VersionSubject, Write,
};
use certificate::search::EngineQuery;
use certificate::search::class::Class;
use certificate::search::filter::{ClassTest, Filter};
use certificate::search::parameter::Field;
use certificate::search::row::Row;
use certificate::search::term::{Term, TermForm};
use certificate::search::{Sort, SortKey};
use certificate::transition::{Need, Trigger};
use certificate::{Consent, Profile};
use certificate::{Id, State, Version};

struct Fixture {
    folder: TempDir,
    now: Arc<AtomicI64>,
    engine: Engine,
}

fn options(folder: &TempDir, now: &Arc<AtomicI64>) -> EngineOptions {
    let (now, passed) = (now.clone(), now.clone());
    EngineOptions {
        folder: folder.path().join("data"),
        cache_bytes: 8 << 20,
        quick_repair: QuickRepair::Auto,
        purpose: None,
        names: FolderNames(vec![("hcert_ns".into(), "https://fhir.ee/hcert".into())]),
        unique_number: false,
        metrics: base::metrics::Metrics::new(),
        clock: Arc::new(move || now.fetch_add(1000, Ordering::Relaxed)),
        // The clock never jumps forward on its own.
        elapsed: Arc::new(move || passed.load(Ordering::Relaxed)),
    }
}

impl Fixture {
    fn new() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let now = Arc::new(AtomicI64::new(1_736_676_000_000));
        let engine = Engine::open(options(&folder, &now)).unwrap();
        Fixture { folder, now, engine }
    }

    fn reopen(&mut self) {
        self.engine.close();
        self.engine = Engine::open(options(&self.folder, &self.now)).unwrap();
    }

    fn write(&self, write: Write) -> Result<AcknowledgedChange, RefusedChange> {
        self.engine.append(write).blocking_recv().unwrap()
    }

    fn create(&self, state: State, subject: &str) -> AcknowledgedChange {
        let content = content(Trigger::Create, state, subject);
        self.write(Write::Create { content, if_none_exist: None, rows: None }).unwrap()
    }

    fn update(
        &self,
        id: Id,
        trigger: Trigger,
        state: State,
        subject: &str,
    ) -> Result<AcknowledgedChange, RefusedChange> {
        let content = content(trigger, state, subject);
        self.write(Write::Update { id, content, if_match: None, base: None, rows: None })
    }

    fn set_consent(&self, id: Id, consent: Consent) -> Result<AcknowledgedChange, RefusedChange> {
        let Consent { doctor, representative } = consent;
        let who = Actor { person: Some("47101010033".into()), ..Actor::default() };
        let (doctor, representative) = (Some(doctor), Some(representative));
        self.write(Write::Consent { id, doctor, representative, if_match: None, who, rows: None })
    }

    fn delete(&self, id: Id) -> Result<AcknowledgedChange, RefusedChange> {
        self.write(Write::Delete { id, if_match: None, who: Actor::default(), rows: None })
    }

    /// Builds the index anew from the store.
    fn rebuild(&mut self) {
        self.engine.close();
        std::fs::remove_dir_all(self.folder.path().join("data/index")).unwrap();
        self.reopen();
    }

    fn find(&self, filter: Filter) -> (u64, Vec<(u64, u32)>) {
        let sort = vec![Sort { key: SortKey::Id, descending: false }];
        let query = EngineQuery { filter, sort, page: 1, count: 100 };
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let page = loop {
            match self.engine.plan(query.clone()).and_then(|planned| planned.run()) {
                Ok(page) => break page,
                Err(SearchError::Building { .. }) if std::time::Instant::now() < deadline => std::thread::yield_now(),
                Err(error) => panic!("{error:?}: {:?}", self.engine.shared.why_built()),
            }
        };
        (page.total, page.hits.iter().map(|hit| (hit.id.get(), hit.version.get())).collect())
    }

    fn indexed(&self) {
        let until = self.engine.seq();
        while self.engine.indexed().is_none_or(|at| at < until) {
            self.engine.index_now();
            std::thread::yield_now();
        }
    }
}

fn content(trigger: Trigger, state: State, subject: &str) -> VersionContent {
    let class = Class { state, profile: Profile::Driver, consent: Consent::default(), category: vec![], kind: vec![] };
    let row = Row {
        class: Arc::new(class),
        last_updated: 0,
        date: None,
        period: None,
        title: Some("Tõend".into()),
        terms: vec![about(subject)],
    };
    let brings = match (trigger, state) {
        (Trigger::Suspend | Trigger::Cancel, _) => Need::Reason,
        (_, State::Draft) => Need::Preliminary,
        _ => Need::ChangeReason,
    };
    VersionContent {
        trigger,
        brings,
        tail: format!("}},\"subject\":\"{subject}\"}}").into_bytes(),
        row,
        who: Actor::default(),
        subject: None,
    }
}

fn about(subject: &str) -> Term {
    Term::new(Field::Subject, TermForm::Code, subject)
}

#[test]
fn a_change_is_found_at_once_before_and_after_it_is_indexed() {
    let fixture = Fixture::new();
    let one = fixture.create(State::Draft, "Patient/1");
    fixture.create(State::Completed, "Patient/2");
    let by_subject = Filter::Term(about("Patient/1"));
    assert_eq!(fixture.find(by_subject.clone()), (1, vec![(1, 1)]));
    fixture.indexed();
    assert_eq!(fixture.find(by_subject.clone()), (1, vec![(1, 1)]));

    fixture.update(one.id, Trigger::Update, State::Draft, "Patient/3").unwrap();
    assert_eq!(fixture.find(by_subject.clone()), (0, vec![]));
    assert_eq!(fixture.find(Filter::Term(about("Patient/3"))), (1, vec![(1, 2)]));
    assert_eq!(fixture.find(Filter::All(vec![])), (2, vec![(1, 2), (2, 1)]));
    fixture.indexed();
    assert_eq!(fixture.find(by_subject), (0, vec![]));
    assert_eq!(fixture.find(Filter::All(vec![])), (2, vec![(1, 2), (2, 1)]));
}

#[test]
fn a_deleted_draft_leaves_the_search_and_keeps_its_history() {
    let fixture = Fixture::new();
    let draft = fixture.create(State::Draft, "Patient/1");
    fixture.indexed();
    let gone =
        fixture.write(Write::Delete { id: draft.id, if_match: None, who: Actor::default(), rows: None }).unwrap();
    assert_eq!((gone.version.get(), gone.state, gone.changed), (2, State::Deleted, true));
    let again =
        fixture.write(Write::Delete { id: draft.id, if_match: None, who: Actor::default(), rows: None }).unwrap();
    assert_eq!((again.version.get(), again.changed), (2, false));
    assert_eq!(fixture.find(Filter::All(vec![])).0, 0);
    let query = HistoryQuery { id: Some(draft.id), since: None, at: None, page: 1, count: 10, hidden: None };
    let history = fixture.engine.history(&query).unwrap().unwrap();
    let [tombstone, before] = [0, 1].map(|at| fixture.engine.compressed(history.hits[at]).unwrap().expand().unwrap());
    assert_eq!((tombstone.state, before.state), (State::Deleted, State::Draft));
    assert!(tombstone.resource.is_empty() && !before.resource.is_empty());
}

#[test]
fn a_refused_change_changes_nothing() {
    let fixture = Fixture::new();
    let done = fixture.create(State::Completed, "Patient/1");
    let seq = fixture.engine.seq();
    let moved = fixture.update(done.id, Trigger::Update, State::Completed, "Patient/2");
    assert!(
        matches!(moved, Err(RefusedChange::Rules(outcome)) if outcome.leading() == fhir::outcome::Hcert::ElementFixed)
    );
    assert!(fixture.update(done.id, Trigger::Update, State::Draft, "Patient/1").is_err());
    assert_eq!(fixture.engine.seq(), seq);
    assert_eq!(fixture.engine.read(done.id, None, |entry| entry.stored()).unwrap().unwrap().version, Version::FIRST);
}

#[test]
fn opening_again_changes_nothing() {
    let mut fixture = Fixture::new();
    for patient in 1..=20 {
        fixture.create(State::Completed, &format!("Patient/{patient}"));
    }
    fixture.update(Id::new(3).unwrap(), Trigger::Suspend, State::Suspended, "Patient/3").unwrap();
    let suspended = Filter::Class(ClassTest::State(State::Suspended));
    let before = (fixture.find(Filter::All(vec![])), fixture.find(suspended.clone()), fixture.engine.seq());
    let resource = fixture.engine.read(Id::new(3).unwrap(), None, |entry| entry.stored()).unwrap().unwrap().resource;
    fixture.reopen();
    assert_eq!((fixture.find(Filter::All(vec![])), fixture.find(suspended), fixture.engine.seq()), before);
    assert_eq!(
        fixture.engine.read(Id::new(3).unwrap(), None, |entry| entry.stored()).unwrap().unwrap().resource,
        resource
    );
    assert_eq!(fixture.create(State::Draft, "Patient/9").id.get(), 21);
}

#[test]
fn a_missing_index_is_built_again() {
    let mut fixture = Fixture::new();
    for patient in 1..=50 {
        fixture.create(State::Completed, &format!("Patient/{}", patient % 7));
    }
    let before = fixture.find(Filter::Term(about("Patient/3")));
    fixture.engine.close();
    std::fs::remove_dir_all(fixture.folder.path().join("data/index")).unwrap();
    fixture.reopen();
    assert_eq!(fixture.find(Filter::Term(about("Patient/3"))), before);
    fixture.indexed();
    assert_eq!(fixture.find(Filter::Term(about("Patient/3"))), before);
}

#[test]
fn a_folder_keeps_the_names_it_was_made_with() {
    let fixture = Fixture::new();
    fixture.engine.close();
    let mut other = options(&fixture.folder, &fixture.now);
    other.names.0[0].1 = "https://example.ee".into();
    assert!(matches!(Engine::open(other), Err(StoreError::OtherNames { .. })));
}

#[test]
fn a_folder_from_before_a_name_was_a_setting_has_its_default_and_records_it() {
    let fixture = Fixture::new();
    fixture.engine.close();
    let [(name, default)] = FolderNames::UNRECORDED;
    let open = |value: &str| {
        let mut options = options(&fixture.folder, &fixture.now);
        options.names.0.push((name.to_owned(), value.to_owned()));
        Engine::open(options)
    };
    let refused = |value| match open(value) {
        Err(StoreError::OtherNames { name: told, stored, .. }) => {
            assert_eq!((told.as_str(), stored.as_str()), (name, default));
        }
        _ => panic!("{value} was taken"),
    };
    refused("https://example.ee/sid");
    let engine = open(default).unwrap();
    assert_eq!(engine.ledger().moment().unwrap().names[1], (name.to_owned(), default.to_owned()));
    engine.close();
    refused("https://example.ee/sid");
}

#[test]
fn a_folder_has_one_owner() {
    let fixture = Fixture::new();
    assert!(matches!(Engine::open(options(&fixture.folder, &fixture.now)), Err(StoreError::InUse(Some(_)))));
}

#[test]
fn versions_out_of_the_order_of_their_times_come_in_the_order_of_their_times() {
    let fixture = Fixture::new();
    fixture.create(State::Draft, "Patient/1");
    let import = |id: u64, milliseconds: i64| {
        let content = content(Trigger::Create, State::Completed, "Patient/5");
        ImportedVersion {
            id: Id::new(id).unwrap(),
            version: Version::FIRST,
            stamp: certificate::Stamp::at(milliseconds),
            state: State::Completed,
            content: Some((content.tail, content.row)),
        }
    };
    let old = 1_600_000_000_000;
    let engine = &fixture.engine;
    let imported = |versions| engine.append(engine.prepare_import(versions)).blocking_recv();
    let first = imported(vec![import(7, old), import(8, old + 5), import(7, old)]);
    assert_eq!(first.unwrap().unwrap(), [Imported::Stored, Imported::Stored, Imported::Identical]);
    let other = imported(vec![import(7, old + 1)]).unwrap().unwrap();
    assert!(matches!(other.as_slice(), [Imported::Bad(_)]));
    let created = fixture.create(State::Draft, "Patient/1");
    assert_eq!(created.id.get(), 9);
    let page = |since| {
        let query = HistoryQuery { id: None, since, at: None, page: 1, count: 10, hidden: None };
        let page = fixture.engine.history(&query).unwrap().unwrap();
        (page.total, page.hits.iter().map(|hit| hit.id.get()).collect::<Vec<_>>())
    };
    assert_eq!(page(None), (4, vec![9, 1, 8, 7]));
    assert_eq!(page(Some(old + 5)), (3, vec![9, 1, 8]));
}

#[test]
fn what_is_stored_but_not_published_yet_is_left_to_the_writer() {
    let fixture = Fixture::new();
    for patient in 1..=3 {
        fixture.create(State::Draft, &format!("Patient/{patient}"));
    }
    // As it is between a commit and its publishing: the store is ahead of the moment that is asked for.
    let shared = &fixture.engine.shared;
    let rows = shared.read_rows(Seq(0), Seq(2), usize::MAX).unwrap();
    assert_eq!(rows.iter().map(|row| row.seq.0).collect::<Vec<_>>(), [1, 2]);
    assert!(shared.read_rows(Seq(3), Seq(2), usize::MAX).unwrap().is_empty());
    assert_eq!(shared.read_rows(Seq(0), Seq(3), 1).unwrap().len(), 1);
}

/// The classes of a batch are in memory only once it is published; after a commit that failed half-way they are read again.
#[test]
fn a_batch_that_was_stored_after_all_is_taken_in_with_its_classes() {
    let fixture = Fixture::new();
    fixture.create(State::Draft, "Patient/1");
    let shared = &fixture.engine.shared;
    let before = (Published::clone(&shared.publishing()), shared.view().unwrap(), shared.seq());
    fixture.create(State::Completed, "Patient/2");
    assert_eq!(
        before.0.classes.iter().count() + 1,
        shared.publishing().classes.iter().count(),
        "the second is of a new class"
    );
    // The commit's outcome is unknown: memory stands where it stood before.
    let open = super::overlay::Generation::default();
    shared.read_rows(before.1.index.at, before.2, 9).unwrap().into_iter().for_each(|row| open.push(&[], row));
    shared.set_view(Some(IndexView { generations: vec![Arc::new(open)], ..IndexView::clone(&before.1) }));
    *shared.publishing() = before.0;
    shared.seq.store(before.2.0, Ordering::Release);
    assert_eq!(fixture.find(Filter::All(vec![])).0, 1);
    shared.catch_up(shared.store.reopen().unwrap()).unwrap();
    shared.store.trust();
    assert_eq!(shared.seq(), Seq(2));
    assert_eq!(fixture.find(Filter::All(vec![])).0, 2);
    assert_eq!(fixture.find(Filter::Class(ClassTest::State(State::Completed))), (1, vec![(2, 1)]));
}

#[test]
fn a_torn_index_is_built_again() {
    let mut fixture = Fixture::new();
    for patient in 1..=50 {
        fixture.create(State::Completed, &format!("Patient/{}", patient % 7));
    }
    let before = fixture.find(Filter::Term(about("Patient/3")));
    for kept in [0, 40] {
        fixture.engine.close();
        let mut torn = 0;
        for file in std::fs::read_dir(fixture.folder.path().join("data/index")).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|kind| kind == "fast") {
                // The footer stays, so only reading the columns shows the damage.
                let bytes = std::fs::read(&path).unwrap();
                let mut damaged = bytes.clone();
                let end = bytes.len() - kept;
                damaged[..end].fill(0xAB);
                std::fs::write(&path, damaged).unwrap();
                torn += 1;
            }
        }
        assert!(torn > 0, "the index has columns");
        fixture.reopen();
        assert_eq!(fixture.find(Filter::Term(about("Patient/3"))), before);
        fixture.indexed();
        assert_eq!(fixture.find(Filter::Term(about("Patient/3"))), before);
    }
}

#[test]
fn an_index_ahead_of_its_store_is_built_again() {
    let mut fixture = Fixture::new();
    fixture.create(State::Completed, "Patient/1");
    fixture.engine.close();
    let (data, older) = (fixture.folder.path().join("data/store.redb"), fixture.folder.path().join("older"));
    std::fs::copy(&data, &older).unwrap();
    fixture.reopen();
    fixture.create(State::Completed, "Patient/2");
    fixture.engine.close();
    std::fs::copy(&older, &data).unwrap();
    fixture.reopen();
    assert_eq!(fixture.find(Filter::All(vec![])), (1, vec![(1, 1)]));
    assert_eq!(fixture.create(State::Draft, "Patient/3").id.get(), 2);
    fixture.indexed();
    assert_eq!(fixture.find(Filter::All(vec![])), (2, vec![(1, 1), (2, 1)]));
}

struct Stop<'a>(&'a std::sync::atomic::AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Each time the index is given up, what was committed at that moment is either read from the store or pushed by the writer.
#[test]
fn a_condemned_index_is_replaced_while_writes_go_on() {
    const REBUILDS: u64 = 6;
    let fixture = Fixture::new();
    let engine = &fixture.engine;
    let count = EngineQuery { filter: Filter::All(vec![]), sort: vec![], page: 1, count: 0 };
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Acquire) {
                fixture.create(State::Completed, "Patient/1");
            }
        });
        // Also when a claim below fails, or the writer would go on for ever.
        let _stop = Stop(&stop);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        let mut rebuilds = 0;
        // Once for each index, so that none is left to be given up at the end.
        let mut condemned = false;
        while rebuilds < REBUILDS && std::time::Instant::now() < deadline {
            match engine.plan(count.clone()).and_then(|planned| planned.run()) {
                // Every change is a create here.
                Ok(page) if page.total == page.at.0 => {
                    if !std::mem::replace(&mut condemned, true) {
                        engine.shared.notifier.condemn();
                    }
                }
                Ok(page) => panic!("{} of {}", page.total, page.at),
                Err(_) => rebuilds += u64::from(std::mem::replace(&mut condemned, false)),
            }
            std::thread::yield_now();
        }
        assert_eq!(rebuilds, REBUILDS, "the index was given up as often");
    });
    fixture.indexed();
    assert_eq!(fixture.find(Filter::Term(about("Patient/1"))).0, engine.seq().0);
}

#[test]
fn an_import_cannot_use_up_the_ids() {
    let fixture = Fixture::new();
    let import = |id: u64| {
        let content = content(Trigger::Create, State::Completed, "Patient/5");
        let stamp = certificate::Stamp::at(1_600_000_000_000);
        let content = Some((content.tail, content.row));
        ImportedVersion { id: Id::new(id).unwrap(), version: Version::FIRST, stamp, state: State::Completed, content }
    };
    let max = crate::limits::IMPORT_ID_MAX;
    let versions = vec![import(u64::MAX), import(max + 1), import(max)];
    let imported = fixture.engine.append(fixture.engine.prepare_import(versions)).blocking_recv().unwrap().unwrap();
    assert!(matches!(imported.as_slice(), [Imported::Bad(_), Imported::Bad(_), Imported::Stored]), "{imported:?}");
    assert_eq!(fixture.create(State::Draft, "Patient/1").id.get(), max + 1);
}
