//! An index that is gone is built again from the store, while certificates are written and searched. Until it is there a search
//! has no answer; from then on it has the right one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use certificate::search::class::{Class, ClassCoding};
use certificate::search::filter::Filter;
use certificate::search::parameter::Field;
use certificate::search::row::Row;
use certificate::search::term::{Term, TermForm};
use certificate::search::{EngineQuery, SearchPage, Sort, SortKey};
use certificate::transition::{Need, Trigger};
use certificate::{Consent, Profile};
use certificate::{Id, Stamp, State, Version};
use engine::{Actor, Engine, Imported, ImportedVersion, SearchError, VersionContent, Write};

use crate::store::{DEADLINE, Store};

/// More changes than are read into memory at once when the index is behind, so that it is built in the background.
const VERSIONS: u64 = 18_000;

/// Every third certificate has a second version, which has moved on to the next subject; the import brings them in turn.
const PATIENTS: u64 = 40;

fn row(subject: &str, class: u64, title: &str) -> Row {
    let coding = ClassCoding { system: None, code: Some(format!("category-{class}").into()) };
    Row {
        class: Arc::new(Class {
            state: State::Draft,
            profile: Profile::Driver,
            consent: Consent::default(),
            category: vec![coding],
            kind: vec![],
        }),
        last_updated: 0,
        date: None,
        period: None,
        title: Some(title.into()),
        terms: vec![about(subject)],
    }
}

fn about(subject: &str) -> Term {
    Term::new(Field::Subject, TermForm::Code, subject)
}

fn patient(number: u64) -> String {
    format!("Patient/{}", number % PATIENTS)
}

/// Certificates of four changes: the first version of three and then the second of the first of them.
fn versions() -> impl Iterator<Item = ImportedVersion> {
    (0..VERSIONS).map(|change| {
        let (group, at) = (change / 4, change % 4);
        let (number, version) = if at == 3 { (group * 3, 2) } else { (group * 3 + at, 1) };
        let row = row(&patient(number + u64::from(version)), 0, &format!("Tõend {}", number % 7));
        ImportedVersion {
            id: Id::new(number + 1).unwrap(),
            version: Version::new(version).unwrap(),
            // Now and then the clock goes back.
            stamp: Stamp::at(1_700_000_000_000 + change as i64 * 10 - if change % 100 < 4 { 5_000 } else { 0 }),
            state: State::Draft,
            content: Some((br#"},"status":"preliminary"}"#.to_vec(), row)),
        }
    })
}

fn current(subject: u64) -> u64 {
    let certificates = VERSIONS / 4 * 3;
    (0..certificates).filter(|number| (number + if number % 3 == 0 { 2 } else { 1 }) % PATIENTS == subject).count()
        as u64
}

fn query(filter: Filter) -> EngineQuery {
    let sort = vec![Sort { key: SortKey::LastUpdated, descending: true }];
    EngineQuery { filter, sort, page: 1, count: 20 }
}

/// What creates and searches see while the index is not there, and after.
struct Traffic<'s> {
    engine: &'s Engine,
    /// Acknowledged creates, before this run and in it.
    created: &'s AtomicU64,
    /// Changes of the store before the first create.
    first: u64,
    stop: AtomicBool,
    waited: AtomicU64,
    answered: AtomicU64,
}

impl Traffic<'_> {
    fn create(&self) {
        while !self.stop.load(Ordering::Acquire) {
            let number = self.created.load(Ordering::Acquire);
            let content = VersionContent {
                trigger: Trigger::Create,
                brings: Need::Preliminary,
                tail: br#"},"status":"preliminary"}"#.to_vec(),
                // Batch after batch brings classes that nobody has seen before; a store takes no more than a thousand of them.
                row: row("Patient/new", 1 + number / 4 % 900, "Uus"),
                who: Actor::default(),
                subject: None,
            };
            self.engine
                .append(Write::Create { content, if_none_exist: None, rows: None })
                .blocking_recv()
                .unwrap()
                .unwrap();
            self.created.fetch_add(1, Ordering::Release);
        }
    }

    fn search(&self) {
        while !self.stop.load(Ordering::Acquire) {
            let acknowledged = self.created.load(Ordering::Acquire);
            match self.engine.plan(query(Filter::Term(about("Patient/new")))).and_then(|planned| planned.run()) {
                Ok(page) => {
                    self.answered.fetch_add(1, Ordering::Relaxed);
                    assert_eq!(page.total, page.at.0 - self.first, "of {}", page.at);
                    assert!(page.total >= acknowledged, "{} of {acknowledged}", page.total);
                    assert_eq!(page.hits.len() as u64, page.total.min(20));
                }
                Err(SearchError::Building { percent }) => {
                    assert!(percent <= 100);
                    self.waited.fetch_add(1, Ordering::Relaxed);
                }
                Err(SearchError::Failed(problem)) => panic!("{problem}"),
            }
            thread::yield_now();
        }
    }
}

/// Creates and searches until the index has come as far as the store and a while longer. Gives how many searches had to wait.
fn under_traffic(engine: &Engine, created: &AtomicU64) -> u64 {
    let first = VERSIONS;
    let (stop, waited, answered) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let traffic = Traffic { engine, created, first, stop, waited, answered };
    thread::scope(|scope| {
        let creating = scope.spawn(|| traffic.create());
        let searching = scope.spawn(|| traffic.search());
        let started = Instant::now();
        while traffic.answered.load(Ordering::Relaxed) < 300 || traffic.waited.load(Ordering::Relaxed) == 0 {
            let alive = !creating.is_finished() && !searching.is_finished();
            if !alive || started.elapsed() > DEADLINE {
                break;
            }
            thread::yield_now();
        }
        traffic.stop.store(true, Ordering::Release);
    });
    assert!(traffic.answered.into_inner() >= 300, "searches have answers again");
    traffic.waited.into_inner()
}

fn everything_is_there(engine: &Engine, created: u64) {
    let total =
        |filter: Filter| -> SearchPage { engine.plan(query(filter)).and_then(|planned| planned.run()).unwrap() };
    assert_eq!(total(Filter::All(vec![])).total, VERSIONS / 4 * 3 + created);
    for subject in 0..PATIENTS {
        let of = Filter::Term(about(&format!("Patient/{subject}")));
        assert_eq!(total(of.clone()).total, current(subject), "Patient/{subject}");
        let gone = Filter::Not(Box::new(of));
        assert_eq!(total(gone).total, VERSIONS / 4 * 3 + created - current(subject), "not Patient/{subject}");
    }
    let newest = total(Filter::Term(about("Patient/new"))).hits;
    assert!(newest.is_sorted_by(|left, right| left.id > right.id), "the newest first");
}

#[test]
fn a_lost_index_is_built_in_the_background() {
    let mut store = Store::new();
    let mut import = versions();
    loop {
        let batch: Vec<ImportedVersion> = import.by_ref().take(2_000).collect();
        if batch.is_empty() {
            break;
        }
        let imported = store.engine.append(store.engine.prepare_import(batch)).blocking_recv().unwrap().unwrap();
        assert!(imported.iter().all(|imported| *imported == Imported::Stored), "{imported:?}");
    }
    store.settle();
    everything_is_there(&store.engine, 0);

    let created = AtomicU64::new(0);
    store.reopen(Store::remove_index);
    let waited = under_traffic(&store.engine, &created);
    assert!(waited > 0, "an index of {VERSIONS} changes is not there at once");
    store.settle();
    everything_is_there(&store.engine, created.load(Ordering::Acquire));

    // Under the running engine it is missed when the next round is to be stored.
    store.remove_index();
    let waited = under_traffic(&store.engine, &created);
    assert!(waited > 0, "the lost index is given up");
    store.settle();
    everything_is_there(&store.engine, created.load(Ordering::Acquire));

    store.reopen(|_| {});
    everything_is_there(&store.engine, created.load(Ordering::Acquire));
}
