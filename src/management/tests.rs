use std::sync::mpsc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::Method;
use serde_json::Value;

use super::parts::{backup, disk, registry, storage, tls, trail};
use super::*;
use crate::audit::{self, Number};
use crate::certificate::Seq;
use crate::engine::{self, IndexHealth, StoreHealth};
use crate::registry::{BreakerState, CredentialState, Health, Remembered};

/// A part that is as it is told to be.
struct Staged(fn(&mut Told));

impl Watched for Staged {
    fn look(&self, told: &mut Told) {
        (self.0)(told);
    }
}

fn management(parts: &[fn(&mut Told)]) -> Arc<Management> {
    let management = Management::new(Metrics::new(), "developer");
    management.watch(parts.iter().map(|part| Box::new(Staged(*part)) as Box<dyn Watched>).collect());
    management.enter(Phase::Serving);
    management
}

async fn ask(management: &Management, path: &str) -> (u16, String) {
    let answer = management.answer(&Method::GET, path).await;
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

async fn json(management: &Management, path: &str) -> (u16, Value) {
    let (status, text) = ask(management, path).await;
    (status, serde_json::from_str(&text).unwrap())
}

const WELL: fn(&mut Told) = |told| told.add(Part::new("disk", Status::Ok, "The disk has room.").with("free_bytes", 7));
const ILL: fn(&mut Told) = |told| told.add(Part::new("registry", Status::Degraded, "It is left alone."));
const DEAD: fn(&mut Told) =
    |told| told.add(Part::new("audit", Status::Down, "Nothing can be written down.").holding_up(true));

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
        assert_eq!(health["environment"], "developer");
        assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(ask(&management, "/ready").await.0, ready);
        assert_eq!(ask(&management, "/live").await.0, 200);
        let (_, metrics) = ask(&management, "/metrics").await;
        for (part, is) in health["parts"].as_object().unwrap() {
            for state in Status::NAMES {
                let value = u8::from(is["status"] == state);
                let line = format!("hcert_part_state{{part=\"{part}\",state=\"{state}\"}} {value}\n");
                assert!(metrics.contains(&line), "{line}{metrics}");
            }
        }
        assert!(metrics.contains(&format!("hcert_part_state{{part=\"service\",state=\"{status}\"}} 1\n")));
        assert!(metrics.contains(&format!("hcert_ready {}.0\n", u8::from(ready == 200))), "{metrics}");
    }
}

#[tokio::test]
async fn it_is_ready_only_between_opening_and_draining() {
    let management = management(&[WELL]);
    for (phase, ready, health) in [
        (Phase::Opening, 503, 503),
        (Phase::Serving, 200, 200),
        (Phase::Draining, 503, 200),
        (Phase::Closing, 503, 503),
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
    impl Watched for Hanging {
        fn look(&self, _: &mut Told) {
            let hang = self.0.lock().unwrap();
            hang.recv().unwrap_or_default();
        }
    }
    let (release, hang) = mpsc::channel();
    let management = Management::new(Metrics::new(), "jwt");
    management.watch(vec![Box::new(Hanging(Mutex::new(hang)))]);
    management.enter(Phase::Serving);
    for _ in 0..3 {
        let report = management.report_within(Duration::from_millis(1)).await;
        assert_eq!((report.status(), report.told.parts[0].name), (Status::Down, "look"));
        assert!(!report.reasons().is_empty());
    }
    drop(release);
    assert!(management.report_within(Duration::from_secs(60)).await.reasons().is_empty());
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
    assert_eq!(metrics.headers()["content-type"], crate::metrics::CONTENT_TYPE);
}

#[test]
fn each_state_of_the_engine_has_its_words() {
    let good = engine::Health {
        store: StoreHealth::Good,
        index: IndexHealth::Live { lag: 3 },
        index_waits: None,
        disk: None,
        overlay_rows: 5,
        queue: 2,
        seq: Seq(9),
    };
    assert_eq!((storage::store(&good).status, storage::index(&good).status), (Status::Ok, Status::Ok));
    assert_eq!(storage::index(&good).facts["lag_changes"], Fact::Number(3));
    let problem = "no space left on device".to_owned();
    let failed = engine::Health { store: StoreHealth::Reopening { since: 7, problem }, ..good.clone() };
    let part = storage::store(&failed);
    assert!(part.status == Status::Down && part.holds_up && part.words.contains("no space left"), "{part:?}");
    let closed = engine::Health { store: StoreHealth::Closed, ..good.clone() };
    assert!(storage::store(&closed).holds_up);
    let waits = engine::Health { index_waits: Some("no space left on device".to_owned()), ..good.clone() };
    let part = storage::index(&waits);
    assert!(part.status == Status::Degraded && !part.holds_up && part.words.contains("waits"), "{part:?}");
    let index = IndexHealth::Building { percent: 41, why: "it was missing".to_owned() };
    let part = storage::index(&engine::Health { index, ..good });
    assert!(part.status == Status::Degraded && part.holds_up && part.words.contains("41 %"), "{part:?}");
}

#[test]
fn each_state_of_the_others_has_its_words() {
    let room = |free_bytes| disk::part(Some(engine::Disk { free_bytes, total_bytes: 100 }), 10).status;
    assert_eq!((room(9), room(10)), (Status::Degraded, Status::Ok));
    assert_eq!(disk::part(None, 10).status, Status::Degraded);

    let trail = |state| {
        let waits = Duration::from_millis(40);
        trail::part(&audit::Health { state, head: Number(9), durable: Number(7), waits })
    };
    let good = trail(audit::State::Good);
    assert_eq!((good.status, good.holds_up, &good.facts["lag_events"]), (Status::Ok, false, &Fact::Number(2)));
    assert!(!trail(audit::State::Degraded("room runs out".to_owned())).holds_up);
    let failing = trail(audit::State::Failing("the disk is full".to_owned()));
    assert!(failing.status == Status::Down && failing.holds_up && failing.words.contains("the disk is full"));

    let with = |breaker, credential| {
        registry::part(&Health::Remote { breaker, credential, remembered: Remembered::default() })
    };
    let remote = |breaker| with(breaker, CredentialState::Accepted);
    assert_eq!(registry::part(&Health::Embedded).status, Status::Ok);
    assert_eq!(remote(BreakerState::Closed).status, Status::Ok);
    for breaker in [BreakerState::Open, BreakerState::HalfOpen] {
        assert!(remote(breaker).status == Status::Degraded && !remote(breaker).holds_up);
        assert!(with(breaker, CredentialState::Refused).words.contains("own credential"));
    }
    for (credential, words) in
        [(CredentialState::Refused, "own credential"), (CredentialState::Unreadable, "token_file")]
    {
        let part = with(BreakerState::Closed, credential);
        assert!(part.status == Status::Degraded && !part.holds_up && part.words.contains(words));
    }
}

#[test]
fn a_certificate_is_told_with_its_end() {
    let status = |not_after, warnings: &[&str]| crate::tls::Status {
        not_after: Some(not_after),
        warnings: warnings.iter().map(|warning| (*warning).to_owned()).collect(),
        ..crate::tls::Status::default()
    };
    let good = tls::part(&status(2_000_000_000, &[]), 1_900_000_000);
    assert_eq!((good.status, &good.facts["certificate_end"]), (Status::Ok, &Fact::Text("2033-05-18T03:33:20Z".into())));
    let ending = tls::part(&status(2_000_000_000, &["it ends soon"]), 1_999_999_999);
    assert!(ending.status == Status::Degraded && ending.words.contains("it ends soon"));
    assert_eq!(tls::part(&status(2_000_000_000, &[]), 2_000_000_000).status, Status::Down);
}

#[test]
fn backups_that_fail_or_are_missed_are_told() {
    const MINUTE: i64 = 60_000;
    let status = |last_ok, last_problem: Option<&str>| crate::backup::Status {
        last_ok,
        last_until: 7,
        last_problem: last_problem.map(str::to_owned),
    };
    let at = |status, now| backup::part(&status, 60, now);
    assert_eq!(at(status(None, None), 0).status, Status::Ok);
    assert!(at(status(None, Some("no room")), 0).words.contains("no room"));
    let good = at(status(Some(MINUTE), None), 121 * MINUTE);
    assert_eq!((good.status, &good.facts["age_s"]), (Status::Ok, &Fact::Number(7_200)));
    assert_eq!(at(status(Some(MINUTE), None), 121 * MINUTE + 1).status, Status::Degraded);
    assert_eq!(at(status(Some(MINUTE), Some("no room")), 2 * MINUTE).status, Status::Degraded);
    // A clock that was set back makes no backup of the future.
    assert_eq!(at(status(Some(5 * MINUTE), None), 0).facts["age_s"], Fact::Number(0));
}
