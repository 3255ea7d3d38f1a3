//! Random histories of several clients at once, against a plain map.
//!
//! Each run has a few clients that change, read and search the same few certificates over HTTP. Afterwards the store's own list of
//! changes says in which order they came, and every answer must be one that the map would have given at some moment between the
//! request and its answer. `HCERT_TEST_SEED` throws the same dice again; a failure tells its seed.

#[path = "search/dice.rs"]
mod dice;
#[path = "log/mod.rs"]
mod log;
#[path = "search/server.rs"]
mod server;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use certificate::{Seq, State};
use engine::{self, Engine, MemoryLog, QuickRepair, StoredVersion};
use hcert::corpus;
use serde_json::{Value, json};

use dice::{Dice, seed};
use server::{TestResponse, TestServer, encoded, know_patients};

const STORES: u64 = 6;
const RUNS: u64 = 40;
const CLIENTS: u64 = 4;
const REQUESTS: usize = 12;

#[test]
fn every_answer_is_explained_by_the_order_of_the_changes() {
    for store in 0..STORES {
        let folder = tempfile::tempdir().unwrap();
        let now = Arc::new(AtomicI64::new(1_736_676_000_000));
        // The clock stands still for half of the stores and runs backwards for the others: stamps must not fall, and those of one certificate rise, all the same.
        let clock: engine::Clock =
            Arc::new(move || now.fetch_add(if store % 2 == 0 { 0 } else { -7 }, Ordering::Relaxed));
        let unique = store % 3 == 0;
        let options = engine::EngineOptions {
            folder: folder.path().join("data"),
            cache_bytes: 8 << 20,
            quick_repair: QuickRepair::Auto,
            purpose: None,
            names: engine::FolderNames::default(),
            unique_number: unique,
            metrics: base::metrics::Metrics::new(),
            clock: clock.clone(),
            elapsed: Arc::new(|| 0),
        };
        let engine = Arc::new(log::open(options, &MemoryLog::default()));
        let numbers = store * RUNS..(store + 1) * RUNS;
        know_patients(&engine, numbers.flat_map(|number| [5_000_000 + number, (5_000_000 + number) * 10 + 9]));
        let server = TestServer::new(&engine, clock);
        for run in 0..RUNS {
            let number = store * RUNS + run;
            let outcome = catch_unwind(AssertUnwindSafe(|| Run::new(&engine, &server, unique, number).play()));
            if let Err(panic) = outcome {
                eprintln!("run {number} of HCERT_TEST_SEED={} failed", seed());
                resume_unwind(panic);
            }
        }
    }
}

/// What a client asks.
#[derive(Clone, Debug)]
enum Request {
    Create { body: Value, if_none_exist: bool },
    Update { id: u64, body: Value, if_match: Option<u32> },
    Delete { id: u64, if_match: Option<u32> },
    Suspend { id: u64, reason: String, if_match: Option<u32> },
    Cancel { id: u64, reason: String, if_match: Option<u32> },
    Read { id: u64 },
    Vread { id: u64, version: u32 },
    History { id: u64 },
    HistoryOfAll,
    Search { status: Option<&'static str>, number: Option<String> },
}

/// A request with its answer.
#[derive(Debug)]
struct Event {
    request: Request,
    /// Ticks of a clock that all clients share.
    sent: u64,
    told_at: u64,
    /// The last change acknowledged when it was sent.
    after: u64,
    told: TestResponse,
}

struct Run<'r> {
    engine: &'r Engine,
    server: &'r TestServer,
    unique: bool,
    number: u64,
    /// The last change before this run.
    first: u64,
    tick: AtomicU64,
    /// Certificates of this run.
    ids: Mutex<Vec<u64>>,
    events: Mutex<Vec<Event>>,
}

impl<'r> Run<'r> {
    fn new(engine: &'r Engine, server: &'r TestServer, unique: bool, number: u64) -> Run<'r> {
        let first = engine.seq().0;
        let (tick, ids, events) = (AtomicU64::new(0), Mutex::default(), Mutex::default());
        Run { engine, server, unique, number, first, tick, ids, events }
    }

    fn play(self) {
        thread::scope(|scope| {
            for client in 0..CLIENTS {
                let run = &self;
                scope.spawn(move || {
                    let mut dice = Dice::new(seed() ^ (run.number << 8) ^ client);
                    let mut indexing = [false; REQUESTS];
                    indexing[0] = true;
                    dice.shuffle(&mut indexing);
                    for index_now in indexing {
                        let request = run.request(&mut dice);
                        run.send(request);
                        if index_now {
                            run.engine.index_now();
                        }
                    }
                });
            }
        });
        let Run { engine, unique, number, first, events, .. } = self;
        let changes = changes(engine, first);
        Judge::new(unique, number, first, changes, events.into_inner().unwrap()).judge();
    }

    fn patient(&self) -> String {
        format!("Patient/{}", 5_000_000 + self.number)
    }

    fn request(&self, dice: &mut Dice) -> Request {
        let ids = self.ids.lock().unwrap().clone();
        let newest = ids.len().saturating_sub(3);
        if ids.is_empty() || dice.one_in(7) {
            return Request::Create { body: self.body(dice), if_none_exist: dice.one_in(2) };
        }
        let id = *dice.pick(&ids[newest..]);
        let version = 1 + dice.below(4) as u32;
        let if_match = dice.one_in(3).then_some(version);
        let reason = format!("Põhjus {}", dice.next());
        match dice.below(16) {
            0..6 => Request::Update { id, body: self.body(dice), if_match },
            6 => Request::Delete { id, if_match },
            7 => Request::Suspend { id, reason, if_match },
            8 => Request::Cancel { id, reason, if_match },
            9 | 10 => Request::Read { id },
            11 => Request::Vread { id, version },
            12 => Request::History { id },
            13 => Request::HistoryOfAll,
            _ => Request::Search {
                status: dice.one_in(2).then(|| *dice.pick(&["preliminary", "final", "cancelled", "entered-in-error"])),
                number: dice.one_in(2).then(|| self.certificate_number(dice)),
            },
        }
    }

    /// Three numbers that all clients use.
    fn certificate_number(&self, dice: &mut Dice) -> String {
        format!("N-{}-{}", self.number, dice.below(3))
    }

    fn body(&self, dice: &mut Dice) -> Value {
        let mut body: Value = serde_json::from_str(&corpus::certificate(self.number, 1)).unwrap();
        let patient = if dice.one_in(8) { format!("{}9", self.patient()) } else { self.patient() };
        body["subject"] = json!([{"reference": patient}]);
        body["identifier"][0]["value"] = json!(self.certificate_number(dice));
        // Tells one request's content from all others'.
        body["title"] = json!(format!("Tõend {}", dice.next()));
        body["status"] = json!(if dice.one_in(2) { "preliminary" } else { "final" });
        if dice.one_in(2) {
            body["section"].as_array_mut().unwrap().push(section("change-reason", "Parandus"));
        }
        body
    }

    fn send(&self, request: Request) {
        let tick = || self.tick.fetch_add(1, Ordering::SeqCst);
        let sent = tick();
        let after = self.engine.seq().0;
        let told = self.told(&request);
        let told_at = tick();
        if let (Request::Create { .. }, 201) = (&request, told.status) {
            self.ids.lock().unwrap().push(version_of(&told).0);
        }
        self.events.lock().unwrap().push(Event { request, sent, told_at, after, told });
    }

    fn told(&self, request: &Request) -> TestResponse {
        let tag = |if_match: &Option<u32>| if_match.map(|version| format!("W/\"{version}\""));
        let headers =
            |tag: &Option<String>| -> Vec<(&str, String)> { tag.iter().map(|tag| ("if-match", tag.clone())).collect() };
        let with = |method: &str, path: String, if_match: &Option<u32>, body: Option<&Value>| {
            let headers = headers(&tag(if_match));
            let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            match body {
                Some(body) => self.server.put(method, &path, &headers, body),
                None => self.server.send(method, &path, &headers, ""),
            }
        };
        let parameters = |reason: &str| json!({"resourceType": "Parameters", "parameter": [{"name": "reason", "valueString": reason}]});
        match request {
            Request::Create { body, if_none_exist } => {
                let number = &body["identifier"][0];
                let number = format!("{}|{}", number["system"].as_str().unwrap(), number["value"].as_str().unwrap());
                let condition = encoded(&[("identifier".into(), number)]);
                let headers = [("if-none-exist", condition.as_str())];
                let headers = if *if_none_exist { &headers[..] } else { &[] };
                self.server.put("POST", "Composition", headers, body)
            }
            Request::Update { id, body, if_match } => with("PUT", format!("Composition/{id}"), if_match, Some(body)),
            Request::Delete { id, if_match } => with("DELETE", format!("Composition/{id}"), if_match, None),
            Request::Suspend { id, reason, if_match } => {
                with("POST", format!("Composition/{id}/$suspend"), if_match, Some(&parameters(reason)))
            }
            Request::Cancel { id, reason, if_match } => {
                with("POST", format!("Composition/{id}/$cancel"), if_match, Some(&parameters(reason)))
            }
            Request::Read { id } => self.server.get(&format!("Composition/{id}")),
            Request::Vread { id, version } => self.server.get(&format!("Composition/{id}/_history/{version}")),
            Request::History { id } => self.server.get(&format!("Composition/{id}/_history?_count=100")),
            Request::HistoryOfAll => self.server.get("Composition/_history?_count=5"),
            Request::Search { status, number } => {
                let mut parameters = vec![("subject".to_owned(), self.patient()), ("_count".into(), "100".into())];
                parameters.extend(status.map(|status| ("status".to_owned(), status.to_owned())));
                parameters.extend(number.clone().map(|number| ("identifier".to_owned(), number)));
                self.server.get(&format!("Composition?{}", encoded(&parameters)))
            }
        }
    }
}

fn section(code: &str, text: &str) -> Value {
    json!({
        "code": {"coding": [{"system": "https://fhir.ee/CodeSystem/tervisetoendi-sektsioon", "code": code}]},
        "text": {"status": "additional", "div": format!("<div xmlns=\"http://www.w3.org/1999/xhtml\">{text}</div>")},
    })
}

/// Id and version of an answer's `Location`.
fn version_of(told: &TestResponse) -> (u64, u32) {
    let location = told.header("location").unwrap_or_else(|| panic!("{told:?} names no version"));
    let parts: Vec<&str> = location.rsplit('/').collect();
    (parts[2].parse().unwrap(), parts[0].parse().unwrap())
}

fn changes(engine: &Engine, after: u64) -> Vec<StoredVersion> {
    let changes = engine.ledger().versions_after(Seq(after), usize::MAX).unwrap();
    assert!(changes.iter().zip(after + 1..).all(|((seq, _), expected)| seq.0 == expected), "changes without gaps");
    changes.into_iter().map(|(_, stored)| stored).collect()
}

/// A certificate as the map has it.
#[derive(Clone, Debug)]
struct Certificate {
    version: u32,
    state: State,
    subject: Value,
    number: Value,
    /// Place of its newest version among the changes.
    at: usize,
}

type Map = BTreeMap<u64, Certificate>;

struct Judge {
    unique: bool,
    patient: String,
    first: u64,
    changes: Vec<StoredVersion>,
    resources: Vec<Value>,
    /// The map after 0, 1, 2 … changes of the run.
    maps: Vec<Map>,
    events: Vec<Event>,
}

impl Judge {
    fn new(unique: bool, number: u64, first: u64, changes: Vec<StoredVersion>, events: Vec<Event>) -> Judge {
        let read = |stored: &StoredVersion| match stored.resource.as_slice() {
            [] => Value::Null,
            resource => {
                let mut resource: Value = serde_json::from_slice(resource).unwrap();
                // Contract 6.1: named with the version that the registry has.
                let named = resource["subject"][0]["reference"].as_str().unwrap().strip_suffix("/_history/1").unwrap();
                resource["subject"][0]["reference"] = json!(named);
                resource
            }
        };
        let resources: Vec<Value> = changes.iter().map(read).collect();
        let mut maps = vec![Map::new()];
        for (at, (stored, resource)) in changes.iter().zip(&resources).enumerate() {
            let mut map = maps[at].clone();
            let (subject, number) = (resource["subject"][0].clone(), resource["identifier"][0]["value"].clone());
            let (version, state) = (stored.version.get(), stored.state);
            map.insert(stored.id.get(), Certificate { version, state, subject, number, at });
            maps.push(map);
        }
        let patient = format!("Patient/{}", 5_000_000 + number);
        Judge { unique, patient, first, changes, resources, maps, events }
    }

    fn judge(&self) {
        self.versions_have_no_gaps_and_stamps_rise();
        self.every_change_was_asked_for();
        for event in &self.events {
            let (low, high) = self.window(event);
            let explained = (low..=high).any(|at| self.explains(at, event));
            assert!(explained, "no moment from {low} to {high} explains\n{event:?}\namong {:#?}", self.list());
        }
    }

    fn list(&self) -> Vec<String> {
        let told = |stored: &StoredVersion| format!("{} version {} {:?}", stored.id, stored.version, stored.state);
        self.changes.iter().map(told).collect()
    }

    fn versions_have_no_gaps_and_stamps_rise(&self) {
        let mut stamps = std::collections::HashMap::new();
        for (at, stored) in self.changes.iter().enumerate() {
            let before = self.maps[at].get(&stored.id.get()).map_or(0, |before| before.version);
            assert_eq!(stored.version.get(), before + 1, "version of {} at {at}", stored.id);
            let before = stamps.insert(stored.id, stored.stamp.milliseconds);
            assert!(before.is_none_or(|before| before < stored.stamp.milliseconds), "time of {} at {at}", stored.id);
        }
        assert!(self.changes.is_sorted_by_key(|stored| stored.stamp.milliseconds));
    }

    /// Each change was acknowledged to one request and brings what that one sent; the refused ones brought nothing.
    fn every_change_was_asked_for(&self) {
        for at in 0..self.changes.len() {
            let makers: Vec<&Event> = self.events.iter().filter(|event| self.made(event) == Some(at)).collect();
            if self.changes[at].state == State::Deleted {
                assert!(self.deletes(at).count() > 0, "nobody deleted {}", self.changes[at].id);
                continue;
            }
            assert_eq!(makers.len(), 1, "requests that made change {at} of {:#?}: {makers:?}", self.list());
            let mut found = self.resources[at].clone();
            let maker = makers[0];
            let [meta, etag] = [&found["meta"], &found["meta"]["versionId"]];
            assert_eq!(meta["lastUpdated"].as_str().map(str::len), Some(29));
            assert_eq!(maker.told.header("etag"), Some(format!("W/{etag}").as_str()));
            found.as_object_mut().unwrap().remove("id");
            for name in ["versionId", "lastUpdated"] {
                found["meta"].as_object_mut().unwrap().remove(name);
            }
            assert_eq!(found, self.expected(at, &maker.request), "change {at}");
        }
    }

    fn expected(&self, at: usize, request: &Request) -> Value {
        let operated = |id: &u64, status: &str, code: &str, reason: &str| {
            let mut body = self.resources[self.maps[at][id].at].clone();
            body.as_object_mut().unwrap().remove("id");
            for name in ["versionId", "lastUpdated"] {
                body["meta"].as_object_mut().unwrap().remove(name);
            }
            body["status"] = json!(status);
            // Contract 8.5: the state and its reason stand at the top, and the rest of the narrative is below.
            let text = &self.resources[at]["text"];
            let div = text["div"].as_str().unwrap();
            let word = if status == "cancelled" { "Peatatud" } else { "Tühistatud" };
            let (state, rest) = div.split_once("</div>").expect("a narrative of an operation begins with the state");
            assert!(state.contains(&format!("Olek: {word}.")) && state.contains(reason), "{div}");
            assert!(rest.contains("Tervisetõend nr") && !rest.contains("hcert-state"), "{div}");
            body["text"] = text.clone();
            body["section"].as_array_mut().unwrap().push(section(code, reason));
            body
        };
        match request {
            Request::Create { body, .. } | Request::Update { body, .. } => body.clone(),
            Request::Suspend { id, reason, .. } => operated(id, "cancelled", "suspend-reason", reason),
            Request::Cancel { id, reason, .. } => operated(id, "entered-in-error", "cancel-reason", reason),
            other => panic!("{other:?} makes no version"),
        }
    }

    /// Place of the change that a request was told to have made.
    fn made(&self, event: &Event) -> Option<usize> {
        let made = match (&event.request, event.told.status) {
            (Request::Create { .. }, 201) => version_of(&event.told),
            (Request::Update { .. } | Request::Suspend { .. } | Request::Cancel { .. }, 200) => version_of(&event.told),
            _ => return None,
        };
        let place = self.changes.iter().position(|stored| (stored.id.get(), stored.version.get()) == made);
        Some(place.unwrap_or_else(|| panic!("{made:?} was acknowledged and is not stored")))
    }

    /// Acknowledged deletes that may have made a tombstone.
    fn deletes(&self, at: usize) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(move |event| {
            matches!(&event.request, Request::Delete { id, .. } if *id == self.changes[at].id.get())
                && event.told.status == 204
        })
    }

    /// The moments a request may have been answered at, as numbers of changes made: not before what was acknowledged when it was
    /// sent, and not after a change that was asked for only later.
    fn window(&self, event: &Event) -> (usize, usize) {
        let asked = |at: usize| {
            let maker = self.events.iter().find(|event| self.made(event) == Some(at)).map(|event| event.sent);
            maker.or_else(|| self.deletes(at).map(|event| event.sent).min()).expect("every change was asked for")
        };
        let high = (0..self.changes.len()).find(|at| asked(*at) > event.told_at).unwrap_or(self.changes.len());
        let low = (event.after - self.first) as usize;
        let acknowledged =
            self.events.iter().filter(|other| other.told_at < event.sent).filter_map(|other| self.made(other));
        assert!(
            acknowledged.max().is_none_or(|at| at < low),
            "{event:?} was sent after an answer that it does not count"
        );
        (low, high)
    }

    /// Whether the map would have answered so after `at` changes. A change that was made is judged by the map before it.
    fn explains(&self, at: usize, event: &Event) -> bool {
        let (map, told) = (&self.maps[at], &event.told);
        match &event.request {
            Request::Read { .. } | Request::Vread { .. } => self.explains_read(map, event),
            Request::History { id } => self.explains_history(map, *id, told),
            Request::HistoryOfAll => self.explains_history_of_all(at, told),
            Request::Search { status, number } => self.explains_search(map, *status, number.as_deref(), told),
            Request::Create { body, if_none_exist: true } if told.status == 200 => {
                let same: Vec<_> = self.in_use(map, &body["identifier"][0]["value"], None).collect();
                matches!(same[..], [(id, found)] if (*id, found.version) == version_of(told))
            }
            Request::Delete { id, .. } if told.status == 204 => {
                let made = self.changes.get(at).is_some_and(|stored| stored.id.get() == *id);
                map[id].state == State::Deleted || (made && self.verdict(map, &event.request) == 204)
            }
            request => {
                let fits = self.verdict(map, request) == told.status;
                fits && self.made(event).is_none_or(|made| made == at)
            }
        }
    }

    /// The rules on changes. Specification, section 3; Contract 2.5, 2.9, 3.
    fn verdict(&self, map: &Map, request: &Request) -> u16 {
        let matched = |id: &u64, if_match: &Option<u32>| if_match.is_none_or(|version| version == map[id].version);
        let numbered = |body: &Value, own: Option<u64>| {
            self.unique && self.in_use(map, &body["identifier"][0]["value"], own).next().is_some()
        };
        match request {
            Request::Create { body, if_none_exist } => {
                let same = self.in_use(map, &body["identifier"][0]["value"], None).count();
                match same {
                    1 if *if_none_exist => 200,
                    2.. if *if_none_exist => 412,
                    _ if numbered(body, None) => 409,
                    _ => 201,
                }
            }
            Request::Update { id, if_match, .. } if map[id].state != State::Deleted && !matched(id, if_match) => 412,
            Request::Update { id, body, .. } => {
                let reason = body["section"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|part| *part == section("change-reason", "Parandus"));
                let moved = map[id].subject != body["subject"][0] || map[id].number != body["identifier"][0]["value"];
                match (map[id].state, body["status"].as_str().unwrap()) {
                    (State::Deleted, _) => 410,
                    (State::Draft, _) if numbered(body, Some(*id)) => 409,
                    (State::Draft, _) => 200,
                    (State::Completed, "final") if !reason || moved => 422,
                    (State::Completed, "final") if numbered(body, Some(*id)) => 409,
                    (State::Completed, "final") => 200,
                    _ => 409,
                }
            }
            Request::Delete { id, if_match } => match map[id].state {
                State::Deleted => 204,
                _ if !matched(id, if_match) => 412,
                State::Draft => 204,
                _ => 409,
            },
            Request::Suspend { id, if_match, .. } | Request::Cancel { id, if_match, .. } => match map[id].state {
                State::Deleted => 410,
                _ if !matched(id, if_match) => 412,
                State::Completed => 200,
                State::Suspended if matches!(request, Request::Cancel { .. }) => 200,
                _ => 409,
            },
            _ => 0,
        }
    }

    /// Current certificates with a number, but one's own.
    fn in_use<'m>(
        &self,
        map: &'m Map,
        number: &'m Value,
        own: Option<u64>,
    ) -> impl Iterator<Item = (&'m u64, &'m Certificate)> {
        map.iter()
            .filter(move |(id, found)| found.state != State::Deleted && found.number == *number && Some(**id) != own)
    }

    fn explains_read(&self, map: &Map, event: &Event) -> bool {
        let (id, version) = match &event.request {
            Request::Read { id } => (id, map[id].version),
            Request::Vread { id, version } => (id, *version),
            other => panic!("{other:?} is no read"),
        };
        let newest = &map[id];
        let stored =
            self.changes[..=newest.at].iter().find(|stored| stored.id.get() == *id && stored.version.get() == version);
        let told = &event.told;
        match stored {
            None => told.status == 404,
            Some(stored) if stored.state == State::Deleted => told.status == 410,
            Some(stored) => {
                let tag = format!("W/\"{version}\"");
                told.status == 200 && told.body == stored.resource && told.header("etag") == Some(tag.as_str())
            }
        }
    }

    fn explains_history(&self, map: &Map, id: u64, told: &TestResponse) -> bool {
        let newest = &map[&id];
        let versions = self.changes[..=newest.at].iter().filter(|stored| stored.id.get() == id).rev();
        told.status == 200 && shows(told, u64::from(newest.version), &versions.collect::<Vec<_>>())
    }

    /// Changes of earlier runs are not known here; a page that reaches back to them is cut.
    fn explains_history_of_all(&self, at: usize, told: &TestResponse) -> bool {
        let expected: Vec<&StoredVersion> = self.changes[..at].iter().rev().take(5).collect();
        told.status == 200 && shows(told, self.first + at as u64, &expected)
    }

    fn explains_search(&self, map: &Map, status: Option<&str>, number: Option<&str>, told: &TestResponse) -> bool {
        let wanted = |found: &&Certificate| {
            found.state != State::Deleted
                && found.subject["reference"] == self.patient.as_str()
                && status.is_none_or(|status| found.state.status().code() == status)
                && number.is_none_or(|number| found.number == number)
        };
        let mut found: Vec<&Certificate> = map.values().filter(wanted).collect();
        // Contract 4.7: of one millisecond, ids decide.
        let place = |found: &&Certificate| (self.changes[found.at].stamp.milliseconds, self.changes[found.at].id);
        found.sort_by_key(|found| std::cmp::Reverse(place(found)));
        let expected: Vec<&StoredVersion> = found.iter().map(|found| &self.changes[found.at]).collect();
        told.status == 200 && shows(told, expected.len() as u64, &expected)
    }
}

/// Whether a Bundle has this total and begins with these versions, byte for byte.
fn shows(told: &TestResponse, total: u64, expected: &[&StoredVersion]) -> bool {
    let bundle = told.json();
    let entries = bundle["entry"].as_array().map_or(&[][..], Vec::as_slice);
    let shown = |entry: &Value, stored: &StoredVersion| match stored.state {
        State::Deleted => {
            let tag = format!("W/\"{}\"", stored.version);
            entry.get("resource").is_none() && entry["response"]["etag"] == tag.as_str()
        }
        _ => entry["resource"] == serde_json::from_slice::<Value>(&stored.resource).unwrap(),
    };
    bundle["total"].as_u64() == Some(total)
        && entries.len() >= expected.len()
        && (entries.len() as u64) <= total
        && entries.iter().zip(expected).all(|(entry, stored)| shown(entry, stored))
}
