//! Searches while certificates are written, changed and deleted, and while the indexer commits: every page must be the answer of
//! the one moment it names.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use certificate::search::SearchPage;
use certificate::{Id, Version};
use engine::SearchError;
use hcert::corpus::Corpus;
use serde_json::{Value, json};

use crate::by_hand::{Answer, Log, World};
use crate::dice::{Dice, seed};
use crate::odd;
use crate::order::{KEYS, Order, newest_first};
use crate::questions::Question;
use crate::server::{TestResponse, TestServer, know_patients};
use crate::store::{NOW, Store, find, hits};

/// A search that was answered while the store changed.
struct Seen {
    questions: Vec<Question>,
    order: Order,
    page: u64,
    count: u32,
    found: SearchPage,
}

const WRITERS: u64 = 3;
const SEARCHERS: u64 = 2;
const WRITES: usize = 180;
const SEARCHES_MAX: usize = 1_000;

#[test]
fn every_page_is_the_answer_of_its_moment_while_the_store_changes() {
    let mut store = Store::new();
    let mut lines = String::new();
    for change in Corpus::new(seed(), 500) {
        change.write_entry(&mut lines);
        lines.push('\n');
    }
    store.import(&lines);
    know_patients(&store.engine, 1_000..1_030);
    let mut seen = Vec::new();
    for phase in 0..4 {
        match phase {
            // The first starts with everything outside the index, the second with a tail behind it, the third without an index.
            0 => {}
            1 | 2 => store.reopen(|_| {}),
            _ => store.reopen(Store::remove_index),
        }
        seen.extend(run(&store, phase));
        if phase == 1 {
            store.settle();
        }
    }
    assert!(seen.len() > 400, "{} searches were answered", seen.len());
    judge(&store, seen);
}

/// Writers, searchers and an impatient indexer at once, until the writers are done.
fn run(store: &Store, phase: u64) -> Vec<Seen> {
    let server = TestServer::new(&store.engine, std::sync::Arc::new(|| NOW));
    let world = Log::read(&store.engine).world();
    let writing = AtomicUsize::new(WRITERS as usize);
    let indexing = AtomicBool::new(true);
    let all = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (server, store, world, writing, all) = (&server, &store, &world, &writing, &all);
            let dice = Dice::new(seed() ^ (phase << 32) ^ (writer << 8));
            scope.spawn(move || {
                // Told also when it panics, so that the others end.
                let _done = Done(writing);
                let mut writer = Writer { server, store, dice, seen: Vec::new() };
                writer.run(world);
                all.lock().unwrap().extend(writer.seen);
            });
        }
        for searcher in 0..SEARCHERS {
            let (store, world, writing, all) = (&store, &world, &writing, &all);
            let mut dice = Dice::new(seed() ^ (phase << 32) ^ (searcher << 16) ^ 1);
            scope.spawn(move || {
                let mut seen = Vec::new();
                while writing.load(Ordering::Acquire) > 0 && seen.len() < SEARCHES_MAX {
                    seen.push(search(store, world, &mut dice));
                    thread::sleep(Duration::from_micros(dice.below(800) as u64));
                }
                all.lock().unwrap().extend(seen);
            });
        }
        let (store, writing, indexing) = (&store, &writing, &indexing);
        scope.spawn(move || {
            let mut dice = Dice::new(seed() ^ phase);
            while writing.load(Ordering::Acquire) > 0 {
                store.engine.index_now();
                thread::sleep(Duration::from_millis(dice.below(12) as u64));
            }
            indexing.store(false, Ordering::Release);
        });
    });
    all.into_inner().unwrap()
}

struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

fn search(store: &Store, world: &World, dice: &mut Dice) -> Seen {
    let questions = match dice.below(4) {
        0 => vec![],
        1 => vec![Question::subject(1_000 + dice.below(30) as u64)],
        2 => vec![Question::any(world, dice)],
        _ => vec![Question::broad(world, dice), Question::any(world, dice)],
    };
    let mut keys = KEYS;
    dice.shuffle(&mut keys);
    let order = match dice.below(3) {
        0 => newest_first(),
        _ => keys[..1 + dice.below(2)].iter().map(|key| (*key, dice.one_in(2))).collect(),
    };
    let count = *dice.pick(&[1, 7, 20, 100]);
    let page = *dice.pick(&[1, 1, 2, 5]);
    let found = find(&store.engine, &questions, &order, page, count);
    let found = found.unwrap_or_else(|problem: SearchError| panic!("{problem:?}"));
    Seen { questions, order, page, count, found }
}

/// Replays the changes and compares each page with a search by hand at its moment.
fn judge(store: &Store, mut seen: Vec<Seen>) {
    let log = Log::read(&store.engine);
    seen.sort_by_key(|seen| seen.found.at);
    let mut world = World::default();
    let mut at = 0;
    for Seen { questions, order, page, count, found } in seen {
        while at < found.at.0 {
            world.apply(&log.changes[at as usize]);
            at += 1;
        }
        let answer = Answer { total: found.total, hits: hits(&found) };
        let expected = world.page(&questions, &order, page, count);
        assert_eq!(answer, expected, "{questions:?} by {order:?}, page {page} of {count} at {at} (seed {})", seed());
    }
    store.settle();
    let (world, everything) = (log.world(), vec![("_id", false)]);
    let rows = world.find(&[], &everything).len();
    let found: Vec<(u64, u32)> =
        (1..=rows as u64 / 100 + 1).flat_map(|page| hits(&store.find(&[], &everything, page, 100))).collect();
    assert_eq!(found, world.find(&[], &everything).iter().map(|row| row.hit()).collect::<Vec<_>>());
}

struct Writer<'a> {
    server: &'a TestServer,
    store: &'a Store,
    dice: Dice,
    /// Its own searches, each straight after a write.
    seen: Vec<Seen>,
}

impl Writer<'_> {
    fn run(&mut self, world: &World) {
        // Some certificates of its own, and some that the others want too.
        let mut known: Vec<u64> = world.rows.keys().copied().take(40).collect();
        for _ in 0..WRITES {
            match self.dice.below(10) {
                0..4 => known.push(self.create()),
                _ => {
                    let id = known[known.len() - 1 - self.dice.below(known.len().min(50))];
                    self.change(id);
                }
            }
        }
    }

    fn create(&mut self) -> u64 {
        let mut body: Value =
            serde_json::from_str(&hcert::corpus::certificate(3, self.dice.next() % 100_000 + 1)).unwrap();
        body["subject"] = json!([{"reference": format!("Patient/{}", 1_000 + self.dice.below(30))}]);
        if self.dice.one_in(2) {
            body["status"] = json!("preliminary");
        }
        if self.dice.one_in(3) {
            body["title"] = json!(self.dice.pick(odd::TITLES));
        }
        let told = self.server.put("POST", "Composition", &[], &body);
        assert_eq!(told.status, 201, "{}", String::from_utf8_lossy(&told.body));
        let location = told.header("location").unwrap();
        let id = location.split('/').rev().nth(2).unwrap().parse().unwrap();
        self.must_see(id, &told);
        id
    }

    /// One of the ways to change a certificate; the state it is in may not allow it.
    fn change(&mut self, id: u64) {
        let path = format!("Composition/{id}");
        let reason = json!({"resourceType": "Parameters", "parameter": [{"name": "reason", "valueString": "Viga"}]});
        let told = match self.dice.below(8) {
            0 => self.server.send("DELETE", &path, &[], ""),
            1 => self.server.put("POST", &format!("{path}/$suspend"), &[], &reason),
            2 => self.server.put("POST", &format!("{path}/$cancel"), &[], &reason),
            _ => {
                let current = self.server.get(&path);
                if current.status != 200 {
                    return;
                }
                self.server.put("PUT", &path, &[], &self.changed(current.json()))
            }
        };
        match told.status {
            200 => self.must_see(id, &told),
            204 => self.must_miss(id),
            409 | 410 | 422 => {}
            status => panic!("{status}: {}", String::from_utf8_lossy(&told.body)),
        }
    }

    fn changed(&mut self, mut body: Value) -> Value {
        if body["status"] == "preliminary" {
            body["subject"] = json!([{"reference": format!("Patient/{}", 1_000 + self.dice.below(30))}]);
            if self.dice.one_in(3) {
                body["status"] = json!("final");
            }
        } else {
            body["status"] = json!("final");
            let section = json!({
                "code": {"coding": [{"system": "https://fhir.ee/CodeSystem/tervisetoendi-sektsioon", "code": "change-reason"}]},
                "text": {"status": "additional", "div": "<div xmlns=\"http://www.w3.org/1999/xhtml\">Parandus</div>"},
            });
            body["section"].as_array_mut().unwrap().push(section);
        }
        match self.dice.below(4) {
            0 => body["title"] = json!(self.dice.pick(odd::TITLES)),
            1 => drop(body.as_object_mut().unwrap().remove("title")),
            2 => body["event"] = json!([{"period": {"start": format!("202{}-05-05", self.dice.below(6))}}]),
            _ => body["date"] = json!(format!("2024-1{}-01T10:00:00+02:00", self.dice.below(3))),
        }
        body
    }

    /// An acknowledged version is found by the next search, or a later one is. Contract 4.10.
    fn must_see(&mut self, id: u64, told: &TestResponse) {
        let version: u32 = told.header("etag").unwrap().trim_matches(['W', '/', '"']).parse().unwrap();
        let found = self.look(id);
        let written = self
            .store
            .engine
            .read(Id::new(id).unwrap(), Some(Version::new(version).unwrap()), |entry| Ok(entry.seq()))
            .unwrap()
            .unwrap();
        assert!(found.at >= written, "the search is of {}, version {version} of {id} of {written}", found.at);
        // Another writer may have changed or deleted it since; which of them is judged with the others.
        assert!(hits(&found).iter().all(|(_, found)| *found >= version), "{id}: {found:?} after {version}");
    }

    fn must_miss(&mut self, id: u64) {
        let found = self.look(id);
        assert_eq!((found.total, found.hits.len()), (0, 0), "{id} was deleted");
    }

    fn look(&mut self, id: u64) -> SearchPage {
        let (questions, order) = (vec![Question::id(id)], newest_first());
        let found = self.store.find(&questions, &order, 1, 5);
        self.seen.push(Seen { questions, order, page: 1, count: 5, found: found.clone() });
        found
    }
}
