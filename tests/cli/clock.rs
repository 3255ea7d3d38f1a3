//! A data folder that a wrong clock has led into the future: what the server says of it, and what `hcert clock` does about it.

use std::sync::Arc;

use engine::{self, Engine, QuickRepair, elapsed_clock};
use hcert::bulk::{self, ImportOptions};
use hcert::config::Config;
use hcert::interaction::Rulebook;

use super::Place;
use super::process::{Client, Process, eventually};

const DATA: [&str; 2] = ["--data", "data"];

/// 9999-12-31T23:59:59.999+02:00
const YEAR_9999: i64 = 253_402_293_599_999;

fn draft() -> Vec<u8> {
    std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/driver-draft.json")).expect("an example")
}

/// A draft on one line.
fn line() -> Vec<u8> {
    serde_json::to_vec(&serde_json::from_slice::<serde_json::Value>(&draft()).unwrap()).unwrap()
}

/// A folder with one certificate, which was written when the clock said the end of the year 9999.
fn place() -> Place {
    let place = Place::new();
    // The patients that ship are stored by the first start.
    assert!(Process::start(&place.path("data")).stop().success());
    let config = Config::default();
    let options = engine::EngineOptions {
        folder: place.path("data"),
        cache_bytes: 8 << 20,
        quick_repair: QuickRepair::Auto,
        purpose: None,
        names: engine::FolderNames(config.namespaces.pairs()),
        unique_number: false,
        metrics: base::metrics::Metrics::new(),
        clock: Arc::new(|| YEAR_9999),
        elapsed: elapsed_clock(),
    };
    let engine = Arc::new(Engine::open(options).unwrap());
    let names = certificate::Names::new(config.base_url(), &config.namespaces.pairs());
    let rulebook = Rulebook::open(engine.clone(), names, false).unwrap();
    let done = bulk::import(&engine, &rulebook, &mut line().as_slice(), ImportOptions::default(), &mut |_| ());
    assert_eq!(done.unwrap().stored, 1);
    engine.close();
    place
}

fn run(place: &Place, arguments: &[&str]) -> String {
    place.run(&[arguments, &DATA].concat()).expect(0).text().to_owned()
}

#[test]
fn a_running_server_refuses_changes_until_time_begins_again() {
    let place = place();
    let mut server = Process::start_with(&place.path("data"), |command| {
        command.env("HCERT__MANAGEMENT__LISTEN", "127.0.0.1:0");
    });
    let at = server.watched_at.expect("the introduction says where it can be watched");
    let ask = |path: &str| Client::new(at).send_to("GET", path, &[], b"").expect("an answer");
    let mut client = server.client();
    let refused = client.send("POST", "/Composition", &[], &draft()).unwrap();
    assert_eq!((refused.status, refused.text().contains("HCERT-211")), (503, true), "{}", refused.text());
    assert_eq!(client.get("/Composition/1").status, 200);
    let ready = ask("/ready");
    assert_eq!((ready.status, ready.text().contains("clock: ")), (503, true), "{}", ready.text());
    assert_eq!(ask("/health").json()["parts"]["clock"]["status"], "down");
    let metrics = ask("/metrics");
    assert!(metrics.text().contains("hcert_clock_behind_seconds 2"), "{}", metrics.text());
    let told = run(&place, &["clock"]);
    assert!(told.contains("newest time stamp 9999-12-31T23:59:59.999+02:00"), "{told}");
    assert!(told.contains("changes are refused, since the system clock is"), "{told}");

    let told = run(&place, &["clock", "reset"]);
    assert!(told.contains("time began again  behind change 1") && told.ends_with("changes are taken\n"), "{told}");
    let created = client.send("POST", "/Composition", &[], &draft()).unwrap();
    assert_eq!(created.status, 201, "{}", created.text());
    let updated = client.get("/Composition/2").json()["meta"]["lastUpdated"].as_str().unwrap().to_owned();
    assert!(updated.starts_with("20"), "{updated}");
    eventually("it is ready", || ask("/ready").status == 200);
    drop(client);
    // Its log has the error that the clock is.
    server.terminate();
    assert!(server.ends_by_itself().success());
    assert!(server.log().contains("changes are refused until the clock is right again"), "{}", server.log());

    let events = run(&place, &["audit", "export"]);
    for action in ["clock.wrong", "clock.reset", "clock.right"] {
        assert!(events.contains(action), "{action} is not in the trail: {events}");
    }
    let verified = run(&place, &["verify"]);
    assert!(verified.contains("note: 1 version has a time that is ahead of the clock"), "{verified}");
    let state: serde_json::Value = serde_json::from_str(&run(&place, &["clock", "--json"])).unwrap();
    assert_eq!((&state["problem"], &state["reset"]["change"]), (&serde_json::Value::Null, &1.into()), "{state}");
}

#[test]
fn a_folder_at_rest_takes_no_changes_until_an_operator_decides() {
    let place = place();
    let import = ["import", "-", "--data", "data"];
    let refused = place.run_with(&import, &line());
    refused.expect(1);
    let verified = run(&place, &["verify"]);
    assert!(verified.contains("note: the newest time stamp is"), "{verified}");
    let told = run(&place, &["clock"]);
    assert!(told.contains("hcert clock accept"), "{told}");

    let told = run(&place, &["clock", "accept"]);
    assert!(told.contains("until the clock has caught up (accepted)"), "{told}");
    place.run_with(&import, &line()).expect(0);
    run(&place, &["clock", "reset"]);
    place.run_with(&import, &line()).expect(0);
    let exported = run(&place, &["export"]);
    let stamps: Vec<&str> = exported.lines().filter_map(|line| line.split("\"lastUpdated\":\"").nth(1)).collect();
    assert_eq!(stamps.len(), 3, "{exported}");
    assert!(stamps[0][..10] == stamps[1][..10] && stamps[2].starts_with("20"), "{stamps:?}");
    run(&place, &["verify"]);
}

#[test]
fn without_a_store_there_is_no_clock() {
    let place = Place::new();
    for arguments in [&["clock"][..], &["clock", "accept"], &["clock", "reset"]] {
        let ran = place.run(&[arguments, &DATA].concat());
        ran.expect(1);
        assert!(!place.path("data").exists(), "{arguments:?} made a folder");
    }
}
