use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use hyper::Method;
use serde_json::Value;

use super::parts::{backup, clock, disk, files, log, registry, storage, tls, tokens, trail};
use super::*;
use crate::access::KeySet;
use crate::audit::{self, Number};
use crate::output::{DroppedLines, OutputState};
use crate::registry::{BreakerState, CredentialState, RegistryHealth, RememberedAnswers};
use certificate::Seq;
use engine::{self, IndexHealth, StoreHealth};

type Look = fn(&mut PartReports);

/// A part that is as it is told to be.
struct Staged(Look);

impl WatchedPart for Staged {
    fn check(&self, told: &mut PartReports) {
        (self.0)(told);
    }
}

fn management(parts: &[Look]) -> Arc<ManagementService> {
    let management = ManagementService::new(Metrics::new(), "developer");
    management.watch(parts.iter().map(|part| Box::new(Staged(*part)) as Box<dyn WatchedPart>).collect());
    management.enter(ServicePhase::Serving);
    management
}

async fn ask(management: &ManagementService, path: &str) -> (u16, String) {
    let answer = management.answer(&Method::GET, path).await;
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

async fn json(management: &ManagementService, path: &str) -> (u16, Value) {
    let (status, text) = ask(management, path).await;
    (status, serde_json::from_str(&text).unwrap())
}

const WELL: fn(&mut PartReports) =
    |told| told.add(HealthPart::new("disk", HealthStatus::Ok, "The disk has room.").with("free_bytes", 7));
const ILL: fn(&mut PartReports) =
    |told| told.add(HealthPart::new("registry", HealthStatus::Degraded, "It is left alone."));
const DEAD: fn(&mut PartReports) =
    |told| told.add(HealthPart::new("audit", HealthStatus::Down, "Nothing can be written down.").holding_up(true));

#[tokio::test]
async fn the_service_is_as_well_as_the_worst_of_its_parts() {
    for (parts, status, number, ready) in [
        (&[WELL][..], "ok", 200, 200),
        (&[WELL, ILL][..], "degraded", 200, 200),
        (&[WELL, DEAD, ILL][..], "down", 503, 503),
    ] {
        let management = management(parts);
        let (told, health) = json(&management, "/health").await;
        assert_eq!((told, &health["status"]), (number, &Value::from(status)), "{health}");
        assert_eq!(health["parts"]["disk"]["facts"]["free_bytes"], 7);
        assert_eq!(health["mode"], "developer");
        assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(ask(&management, "/ready").await.0, ready);
        assert_eq!(ask(&management, "/live").await.0, 200);
        let (_, metrics) = ask(&management, "/metrics").await;
        for (part, is) in health["parts"].as_object().unwrap() {
            for state in HealthStatus::NAMES {
                let value = u8::from(is["status"] == state);
                let line = format!("hcert_part_state{{part=\"{part}\",state=\"{state}\"}} {value}\n");
                assert!(metrics.contains(&line), "{line}{metrics}");
            }
        }
        assert!(metrics.contains(&format!("hcert_part_state{{part=\"service\",state=\"{status}\"}} 1\n")));
        assert!(metrics.contains(&format!("hcert_ready {}.0\n", u8::from(ready == 200))), "{metrics}");
    }
}

/// Each part that requests need, as it is when it fails.
const NEEDED: &[(&str, Look)] = &[
    ("storage", |told| {
        let store = StoreHealth::Reopening { since: 7, problem: "no space left on device".to_owned() };
        told.add(storage::store(&engine::EngineHealth { store, ..healthy() }));
    }),
    ("index", |told| {
        let index = IndexHealth::Building { percent: 41, why: "it was missing".to_owned() };
        told.add(storage::index(&engine::EngineHealth { index, ..healthy() }));
    }),
    ("audit", |told| {
        let state = audit::TrailState::Failing("the disk is full".to_owned());
        let (head, durable, waits) = (Number(9), Number(7), Duration::ZERO);
        told.add(trail::part(&audit::TrailHealth { state, head, durable, waits }));
    }),
    ("tokens", |told| {
        let (second, last_problem) = (Duration::from_secs(1), Some("connection refused".to_owned()));
        let set = KeySet { keys: 0, read: None, age: None, age_max: second, refresh: second, last_problem };
        told.add(tokens::part(Some(&set), true, None));
    }),
    ("clock", |told| {
        let problem = Some(engine::ClockProblem::Jumped(3_600_000));
        told.add(clock::part(&clock_state(problem)));
    }),
];

#[tokio::test]
async fn each_part_that_requests_need_makes_the_service_not_ready_and_says_why() {
    for (name, fails) in NEEDED {
        let management = management(&[WELL, *fails]);
        let (status, told) = json(&management, "/ready").await;
        let reasons = told["why_not"].as_array().unwrap();
        assert_eq!((status, reasons.len()), (503, 1), "{name}: {told}");
        assert!(reasons[0].as_str().unwrap().starts_with(&format!("{name}: ")), "{told}");
        let document = include_str!("../../docs/MONITORING.md");
        assert!(document.contains(&format!("| `{name}` | no")), "{name} is missing in the table of readiness");
    }
}

#[tokio::test]
async fn it_is_ready_only_between_opening_and_draining() {
    let management = management(&[WELL]);
    for (phase, ready, health) in [
        (ServicePhase::Opening, 503, 503),
        (ServicePhase::Serving, 200, 200),
        (ServicePhase::Draining, 503, 200),
        (ServicePhase::Closing, 503, 503),
    ] {
        management.enter(phase);
        let (status, told) = json(&management, "/ready").await;
        assert_eq!((status, told["ready"] == true), (ready, ready == 200), "{phase:?} {told}");
        assert_eq!(told["why_not"].as_array().unwrap().is_empty(), ready == 200, "{told}");
        assert_eq!(ask(&management, "/health").await.0, health, "{phase:?}");
        assert_eq!(ask(&management, "/live").await.0, 200);
    }
}

#[tokio::test]
async fn a_part_that_hangs_or_panics_is_told_and_holds_up_nobody() {
    let panicking = management(&[WELL, |_| std::panic::resume_unwind(Box::new(()))]);
    let (status, health) = json(&panicking, "/health").await;
    assert_eq!((status, &health["parts"]["disk"]["status"]), (503, &Value::from("ok")), "{health}");

    struct Hanging(Mutex<mpsc::Receiver<()>>);
    impl WatchedPart for Hanging {
        fn check(&self, _: &mut PartReports) {
            let hang = self.0.lock().unwrap();
            hang.recv().unwrap_or_default();
        }
    }
    let (release, hang) = mpsc::channel();
    let management = ManagementService::new(Metrics::new(), "jwt");
    management.watch(vec![Box::new(Hanging(Mutex::new(hang)))]);
    management.enter(ServicePhase::Serving);
    for _ in 0..3 {
        let report = management.report_within(Duration::from_millis(1)).await;
        assert_eq!((report.status(), report.told.parts[0].name), (HealthStatus::Down, "health_check"));
        assert!(!report.reasons().is_empty());
    }
    drop(release);
    assert!(management.report_within(Duration::from_secs(60)).await.reasons().is_empty());
}

/// One request over the network; status and body.
fn get(at: SocketAddr, path: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {at}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), serde_json::from_str(body).unwrap_or_default())
}

fn guard() -> Arc<CallerGuard> {
    CallerGuard::open(&crate::config::ManagementSettings::default()).unwrap()
}

#[test]
fn every_page_is_answered_while_every_thread_that_answers_requests_hangs() {
    let requests = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let management = management(&[WELL]);
    start(management.clone(), Some(listener), guard(), requests.handle().clone()).unwrap();
    assert_eq!((get(at, "/live"), get(at, "/ready").0), ((200, serde_json::json!({"live": true})), 200));
    let hang = Arc::new(Mutex::new(()));
    let held = hang.lock().unwrap();
    for _ in 0..2 {
        let hang = hang.clone();
        requests.spawn(async move { drop(hang.lock()) });
    }
    let until = |status| {
        let start = Instant::now();
        while get(at, "/live").0 != status {
            assert!(start.elapsed() < Duration::from_secs(60), "/live is not {status}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    until(503);
    assert!(get(at, "/live").1["why_not"][0].as_str().is_some_and(|told| told.contains("has been free for")));
    assert!(get(at, "/ready").1["why_not"][0].as_str().is_some_and(|told| told.starts_with("threads: ")));
    let (status, health) = get(at, "/health");
    assert_eq!((status, &health["parts"]["threads"]["status"]), (503, &Value::from("down")), "{health}");
    assert_eq!(get(at, "/metrics").0, 200);
    drop(held);
    until(200);
    assert_eq!(get(at, "/ready").0, 200);
}

/// What was seen: 16 connections that said nothing took every page away.
#[test]
fn a_newcomer_is_answered_beside_connections_that_say_nothing_or_hardly_anything() {
    let requests = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    start(management(&[WELL]), Some(listener), guard(), requests.handle().clone()).unwrap();
    let connect = move |_| TcpStream::connect(at).unwrap();
    let _silent: Vec<TcpStream> = (0..200).map(connect).collect();
    // One that asked and does not read goes after all that are silent.
    let mut asked = connect(0);
    write!(asked, "GET /live HTTP/1.1\r\nHost: {at}\r\n\r\n").unwrap();
    let (stop, stopped) = mpsc::channel::<()>();
    let dripping = std::thread::spawn(move || {
        let mut dripping: Vec<TcpStream> = (0..16).map(connect).collect();
        while stopped.recv_timeout(Duration::from_millis(20)) == Err(mpsc::RecvTimeoutError::Timeout) {
            for stream in &mut dripping {
                if stream.write_all(b"G").is_err() {
                    *stream = connect(0);
                }
            }
        }
    });
    let begun = Instant::now();
    for path in ["/live", "/ready", "/health", "/metrics"] {
        assert_eq!(get(at, path).0, 200, "{path}");
    }
    // Before, each had to wait for the 10 s of others, and then for its turn among all of them.
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let mut answer = String::new();
    asked.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    stop.send(()).unwrap();
    dripping.join().unwrap();
}

#[tokio::test]
async fn other_paths_and_methods_are_refused() {
    let management = management(&[]);
    for (method, path, expected) in [
        ("GET", "/", 404),
        ("GET", "/fhir/metadata", 404),
        ("GET", "/health/", 404),
        ("POST", "/nowhere", 404),
        ("POST", "/health", 405),
        ("DELETE", "/metrics", 405),
        ("OPTIONS", "/live", 405),
        ("HEAD", "/health", 200),
        ("HEAD", "/live", 200),
    ] {
        let answer = management.answer(&method.parse().unwrap(), path).await;
        assert_eq!(answer.status().as_u16(), expected, "{method} {path}");
        assert_eq!(answer.headers().contains_key("allow"), expected == 405);
        assert_eq!(answer.headers()["cache-control"], "no-store");
    }
    let metrics = management.answer(&Method::GET, "/metrics").await;
    assert_eq!(metrics.headers()["content-type"], base::metrics::CONTENT_TYPE);
}

fn healthy() -> engine::EngineHealth {
    engine::EngineHealth {
        damage: None,
        store: StoreHealth::Good,
        index: IndexHealth::Live { lag: 3 },
        index_waits: None,
        disk: None,
        overlay_rows: 5,
        queue: 2,
        seq: Seq(9),
        heads: engine::EntryHead::parse(&head("changes"))
            .zip(engine::EntryHead::parse(&head("register")))
            .map(Into::into),
    }
}

fn head(log: &str) -> String {
    format!("{log}/9:{}", "0f".repeat(32))
}

#[test]
fn each_state_of_the_engine_has_its_words() {
    let good = healthy();
    assert_eq!((storage::store(&good).status, storage::index(&good).status), (HealthStatus::Ok, HealthStatus::Ok));
    assert_eq!(storage::index(&good).facts["lag_changes"], Fact::Number(3));
    assert_eq!(storage::store(&good).facts["changes"], Fact::Text(head("changes")));
    assert_eq!(storage::store(&good).facts["register"], Fact::Text(head("register")));
    let problem = "no space left on device".to_owned();
    let failed = engine::EngineHealth { store: StoreHealth::Reopening { since: 7, problem }, ..good.clone() };
    let part = storage::store(&failed);
    assert!(part.status == HealthStatus::Down && part.holds_up && part.words.contains("no space left"), "{part:?}");
    let closed = engine::EngineHealth { store: StoreHealth::Closed, ..good.clone() };
    assert!(storage::store(&closed).holds_up);
    let gone = storage::store(&engine::EngineHealth { store: StoreHealth::Gone, ..good.clone() });
    assert!(gone.status == HealthStatus::Down && gone.holds_up && gone.words.contains("was removed"), "{gone:?}");
    let damaged = engine::EngineHealth { damage: Some("a page of version cannot be read".to_owned()), ..good.clone() };
    let part = storage::store(&damaged);
    assert_eq!(part.status, HealthStatus::Degraded);
    assert!(!part.holds_up, "what can be read is served");
    let waits = engine::EngineHealth { index_waits: Some("no space left on device".to_owned()), ..good.clone() };
    let part = storage::index(&waits);
    assert!(part.status == HealthStatus::Degraded && !part.holds_up && part.words.contains("waits"), "{part:?}");
    let index = IndexHealth::Building { percent: 41, why: "it was missing".to_owned() };
    let part = storage::index(&engine::EngineHealth { index, ..good });
    assert!(part.status == HealthStatus::Degraded && part.holds_up && part.words.contains("41 %"), "{part:?}");
}

#[test]
fn each_state_of_the_others_has_its_words() {
    let room = |free_bytes| disk::part(Some(engine::DiskSpace { free_bytes, total_bytes: 100 }), 10).status;
    assert_eq!((room(9), room(10)), (HealthStatus::Degraded, HealthStatus::Ok));
    assert_eq!(disk::part(None, 10).status, HealthStatus::Degraded);

    let trail = |state| {
        let waits = Duration::from_millis(40);
        trail::part(&audit::TrailHealth { state, head: Number(9), durable: Number(7), waits })
    };
    let good = trail(audit::TrailState::Good);
    assert_eq!((good.status, good.holds_up, &good.facts["lag_events"]), (HealthStatus::Ok, false, &Fact::Number(2)));
    assert!(!trail(audit::TrailState::Degraded("room runs out".to_owned())).holds_up);
    let failing = trail(audit::TrailState::Failing("the disk is full".to_owned()));
    assert!(failing.status == HealthStatus::Down && failing.holds_up && failing.words.contains("the disk is full"));

    let with = |breaker, credential| {
        registry::part(&RegistryHealth::Remote {
            breaker,
            credential,
            remembered: RememberedAnswers::default(),
            last_problem: None,
        })
    };
    let remote = |breaker| with(breaker, CredentialState::Accepted);
    assert_eq!(registry::part(&RegistryHealth::Embedded).status, HealthStatus::Ok);
    assert_eq!(remote(BreakerState::Closed).status, HealthStatus::Ok);
    for breaker in [BreakerState::Open, BreakerState::HalfOpen] {
        assert!(remote(breaker).status == HealthStatus::Degraded && !remote(breaker).holds_up);
        assert!(with(breaker, CredentialState::Refused).words.contains("own credential"));
    }
    for (credential, words) in
        [(CredentialState::Refused, "own credential"), (CredentialState::Unreadable, "token_file")]
    {
        let part = with(BreakerState::Closed, credential);
        assert!(part.status == HealthStatus::Degraded && !part.holds_up && part.words.contains(words));
    }
}

#[test]
fn a_registry_is_degraded_from_its_first_failure_and_the_service_stays_ready() {
    let failed = registry::part(&RegistryHealth::Remote {
        breaker: BreakerState::Closed,
        credential: CredentialState::Accepted,
        remembered: RememberedAnswers::default(),
        last_problem: Some("connection refused".to_owned()),
    });
    assert_eq!((failed.status, failed.holds_up), (HealthStatus::Degraded, false));
    assert_eq!(failed.facts["last_problem"], Fact::Text("connection refused".to_owned()));
}

#[test]
fn the_keys_of_tokens_hold_up_a_service_that_needs_them() {
    let second = Duration::from_secs(1);
    let good = KeySet {
        keys: 2,
        read: Some(1_000),
        age: Some(7 * second),
        age_max: 100 * second,
        refresh: 10 * second,
        last_problem: None,
    };
    let late = |problem: &str| Some(problem.to_owned());
    let never = KeySet { keys: 0, read: None, age: None, last_problem: late("connection refused"), ..good.clone() };
    let kept = KeySet { last_problem: late("status 500"), ..good.clone() };
    let old = KeySet { age: Some(101 * second), ..kept.clone() };
    let stale = KeySet { age: Some(31 * second), ..good.clone() };
    let empty = KeySet { keys: 0, ..good.clone() };
    for (set, status, words) in [
        (&good, HealthStatus::Ok, "verified"),
        (&kept, HealthStatus::Degraded, "status 500"),
        (&stale, HealthStatus::Degraded, "for a long time"),
        (&old, HealthStatus::Down, "jwks_age_max_s"),
        (&never, HealthStatus::Down, "connection refused"),
        (&empty, HealthStatus::Down, "has no key for RS256"),
    ] {
        let part = tokens::part(Some(set), true, None);
        assert!(part.status == status && part.words.contains(words), "{part:?}");
        assert_eq!(part.holds_up, status == HealthStatus::Down, "{part:?}");
        // In developer mode tokens of the developer's key are verified without them.
        let part = tokens::part(Some(set), false, None);
        assert!(part.status == status.min(HealthStatus::Degraded) && !part.holds_up, "{part:?}");
    }
    assert_eq!(tokens::part(Some(&good), true, None).facts["age_s"], Fact::Number(7));
    assert_eq!(tokens::part(Some(&never), true, None).facts.get("age_s"), None);
    assert_eq!(tokens::part(None, false, None).status, HealthStatus::Ok);
    let part = tokens::part(Some(&good), true, Some("it is gone"));
    assert!(
        part.status == HealthStatus::Degraded && part.words.contains("access.token.denied") && !part.holds_up,
        "{part:?}"
    );
    assert_eq!(tokens::part(Some(&empty), true, Some("it is gone")).status, HealthStatus::Down);
}

#[test]
fn what_others_can_read_or_change_is_told_and_holds_up_nobody() {
    assert_eq!(files::part(&[]).status, HealthStatus::Ok);
    let part = files::part(&["one thing".to_owned(), "another".to_owned()]);
    assert!(part.status == HealthStatus::Degraded && part.words == "one thing; another" && !part.holds_up, "{part:?}");
}

#[test]
fn a_log_that_loses_lines_is_told_and_holds_up_nobody() {
    let dropped = DroppedLines { queue: 2, write: 3, long: 1 };
    let at = |last_drop, writes_for, last_problem: Option<&str>| {
        let part = log::part(&OutputState {
            dropped,
            last_drop: Some(Duration::from_secs(last_drop)),
            last_problem: last_problem.map(str::to_owned),
            writes_for: Some(Duration::from_secs(writes_for)),
            queued_bytes: 7,
            is_discarded: false,
        });
        assert!(!part.holds_up && part.facts["dropped_lines"] == Fact::Number(6), "{part:?}");
        part
    };
    assert_eq!(log::part(&OutputState::default()).status, HealthStatus::Ok);
    let discarded = log::part(&OutputState { is_discarded: true, ..OutputState::default() });
    assert!(discarded.status == HealthStatus::Degraded && !discarded.holds_up, "{discarded:?}");
    assert_eq!((at(300, 4, None).status, at(299, 4, None).status), (HealthStatus::Ok, HealthStatus::Degraded));
    let stalled = at(300, 5, None);
    assert!(stalled.status == HealthStatus::Degraded && stalled.words.contains("has not read for 5 s"), "{stalled:?}");
    assert_eq!(at(0, 0, Some("Broken pipe")).facts["last_problem"], Fact::Text("Broken pipe".to_owned()));
}

#[test]
fn a_certificate_is_told_with_its_end() {
    let status = |not_after, warnings: &[&str]| crate::tls::TlsStatus {
        not_after: Some(not_after),
        warnings: warnings.iter().map(|warning| (*warning).to_owned()).collect(),
        ..crate::tls::TlsStatus::default()
    };
    let good = tls::part("tls", &status(2_000_000_000, &[]), 1_900_000_000);
    assert_eq!(
        (good.status, &good.facts["certificate_end"]),
        (HealthStatus::Ok, &Fact::Text("2033-05-18T03:33:20Z".into()))
    );
    let ending = tls::part("tls", &status(2_000_000_000, &["it ends soon"]), 1_999_999_999);
    assert!(ending.status == HealthStatus::Degraded && ending.words.contains("it ends soon"));
    assert_eq!(tls::part("tls", &status(2_000_000_000, &[]), 2_000_000_000).status, HealthStatus::Down);
}

#[test]
fn backups_that_fail_or_are_missed_are_told() {
    const MINUTE: i64 = 60_000;
    let status = |last_ok, last_problem: Option<&str>| crate::backup::ScheduleStatus {
        last_ok,
        last_until: 7,
        last_problem: last_problem.map(str::to_owned),
    };
    let at = |status, now| backup::part(&status, 60, now);
    assert_eq!(at(status(None, None), 0).status, HealthStatus::Ok);
    assert!(at(status(None, Some("no room")), 0).words.contains("no room"));
    let good = at(status(Some(MINUTE), None), 121 * MINUTE);
    assert_eq!((good.status, &good.facts["age_s"]), (HealthStatus::Ok, &Fact::Number(7_200)));
    assert_eq!(at(status(Some(MINUTE), None), 121 * MINUTE + 1).status, HealthStatus::Degraded);
    assert_eq!(at(status(Some(MINUTE), Some("no room")), 2 * MINUTE).status, HealthStatus::Degraded);
    // A clock that was set back makes no backup of the future.
    assert_eq!(at(status(Some(5 * MINUTE), None), 0).facts["age_s"], Fact::Number(0));
}

fn clock_state(problem: Option<engine::ClockProblem>) -> engine::ClockState {
    engine::ClockState {
        at: 100_000,
        newest: Some(300_000),
        settled: 100_000,
        problem,
        is_accepted: false,
        reset: None,
    }
}

#[test]
fn a_clock_that_is_not_believed_holds_up_and_one_that_was_accepted_does_not() {
    let state = |problem, is_accepted| engine::ClockState { is_accepted, ..clock_state(problem) };
    let good = clock::part(&state(None, false));
    assert_eq!(
        (good.status, good.holds_up, &good.facts["behind_ms"]),
        (HealthStatus::Ok, false, &Fact::Number(200_000))
    );
    let behind = clock::part(&state(Some(engine::ClockProblem::Behind(200_000)), false));
    assert!(
        behind.status == HealthStatus::Down && behind.holds_up && behind.words.contains("200 s behind"),
        "{behind:?}"
    );
    let jumped = clock::part(&state(Some(engine::ClockProblem::Jumped(700_000)), false));
    assert_eq!(
        (jumped.status, jumped.holds_up, &jumped.facts["ahead_ms"]),
        (HealthStatus::Down, true, &Fact::Number(700_000))
    );
    let accepted = clock::part(&state(None, true));
    assert_eq!((accepted.status, accepted.holds_up), (HealthStatus::Degraded, false));
}
