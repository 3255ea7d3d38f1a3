//! Faults on demand that are no codes, and faults by rule of the settings. Contract 6.4.

use std::time::{Duration, Instant};

use hcert::config::FaultRule;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{CODE, about_identifier, about_patient, asking};
use crate::foreign::Reason::WritesToTheConnection;
use crate::server::{Listening, START, Server};

/// The service with its own registry, and one that asks the other service, which is kept alive beside it. Both wait briefly.
async fn both(timeout_ms: u64) -> [(Option<Listening>, Server); 2] {
    let embedded = Server::with(START, |config| config.registry.remote.timeout_ms = timeout_ms).await;
    let registry = Server::registry(|_| ()).await;
    let remote = asking(&registry, |config| config.registry.remote.timeout_ms = timeout_ms).await;
    [(None, embedded), (Some(registry), remote)]
}

fn rule(fault: &str) -> FaultRule {
    FaultRule { identifier: None, path: None, fault: fault.to_owned(), probability: 1.0, seed: 0, times: None }
}

fn on_path(path: &str, fault: &str) -> FaultRule {
    FaultRule { path: Some(path.to_owned()), ..rule(fault) }
}

fn on_identifier(identifier: &str, fault: &str) -> FaultRule {
    FaultRule { identifier: Some(identifier.to_owned()), ..rule(fault) }
}

async fn with_rules(rules: Vec<FaultRule>) -> Server {
    Server::with(START, |config| config.registry.fault = rules).await
}

#[tokio::test]
async fn a_registry_that_says_nothing_readable_is_told_in_our_own_words() {
    for (_registry, server) in both(200).await {
        let create =
            |fault: &'static str| server.post("Composition", about_patient(200)).header("x-hcert-fault", fault);
        for (fault, code, issue_type) in [
            ("timeout", "HCERT-163", "timeout"),
            ("refuse", "HCERT-164", "transient"),
            ("garbage", "HCERT-165", "exception"),
            ("slow=10ms,garbage", "HCERT-165", "exception"),
            ("slow=60s", "HCERT-163", "timeout"),
            ("slow=60s,MPI-021", "HCERT-163", "timeout"),
        ] {
            let told = create(fault).await.refused(503, &[code]);
            assert_eq!(told.json()["issue"][0]["code"], issue_type, "{told}");
            assert!(told.header("retry-after").is_some(), "{told}");
        }
        create("slow=10ms,MPI-021").await.refused(400, &["HCERT-008", "MPI-021"]);
        let start = Instant::now();
        create("slow=50ms").await.expect(201);
        assert!(start.elapsed() >= Duration::from_millis(50));
        assert_eq!(server.seq(), 1);
    }
}

#[tokio::test]
async fn a_registry_that_hangs_ends_at_the_configured_deadline_everywhere() {
    for (_registry, server) in both(200).await {
        for path in [
            "Patient/200",
            "Patient?identifier=39406240015",
            "Patient/200/_history",
            "Patient/200/_history/1",
            "Composition?subject:Patient.identifier=39406240015",
        ] {
            for fault in ["timeout", "slow=60s", "slow=100ms,timeout", "slow=60s,MPI-021"] {
                let start = Instant::now();
                let told = server.get(path).header("x-hcert-fault", fault).await.refused(503, &["HCERT-163"]);
                assert!(told.header("retry-after").is_some(), "{told}");
                let took = start.elapsed();
                assert!(
                    took >= Duration::from_millis(190) && took < Duration::from_secs(5),
                    "{path} {fault}: {took:?}"
                );
            }
        }
        let start = Instant::now();
        server.get("Patient/200").header("x-hcert-fault", "slow=100ms").await.expect(200);
        assert!(start.elapsed() >= Duration::from_millis(100));
    }
    let server = Server::with(START, |config| {
        config.registry.remote.timeout_ms = 200;
        config.registry.fault = vec![on_path("/Patient/200", "timeout")];
    });
    server.await.get("Patient/200").await.refused(503, &["HCERT-163"]);
}

#[tokio::test]
async fn a_registry_that_hangs_holds_up_nobody_else() {
    let server = Server::with(START, |config| config.registry.remote.timeout_ms = 300).await;
    server.create(about_patient(200)).await;
    let start = Instant::now();
    let hanging = async { server.post("Composition", about_patient(200)).header("x-hcert-fault", "timeout").await };
    let reading = async {
        for _ in 0..20 {
            server.get("Composition/1").await.expect(200);
        }
        server.create(about_patient(201)).await;
        start.elapsed()
    };
    let (hung, read) = tokio::join!(hanging, reading);
    hung.refused(503, &["HCERT-163"]);
    assert!(read < start.elapsed() && start.elapsed() >= Duration::from_millis(300), "{read:?}");
}

#[tokio::test]
async fn a_fault_that_is_none_is_refused_with_what_would_be_one() {
    for (_registry, server) in both(2000).await {
        for fault in ["MPI-999", "HCERT-008", "slow", "slow=61s", "MPI-021/", "timeout/MPI-021"] {
            let told = server.post("Composition", about_patient(200)).header("x-hcert-fault", fault).await;
            assert!(told.said().contains("allowed are"), "{told}");
            told.refused(400, &["HCERT-117"]);
            let told = server.get("Patient/200").header("x-hcert-fault", fault).await;
            told.refused(400, &["HCERT-117"]);
        }
        assert_eq!(server.seq(), 0);
        // Where no registry is asked, nobody reads it.
        server.get("metadata").header("x-hcert-fault", "MPI-999").await.expect(200);
    }
}

#[tokio::test]
async fn who_asks_for_patients_meets_the_fault_with_the_registrys_own_status() {
    for (_registry, server) in both(2000).await {
        for (fault, status, codes) in [
            ("MPI-021", 404, &["MPI-021"][..]),
            ("MPI-029/XRR200/10001", 400, &["MPI-029", "XRR200", "10001"]),
            ("MPI-029/XRR200/10035", 409, &["MPI-029", "XRR200", "10035"]),
            ("MPI-052", 403, &["MPI-052"]),
            ("MPI-001", 500, &["MPI-001"]),
            ("MPI-031/XR_ADS-001", 503, &["MPI-031", "XR_ADS-001"]),
        ] {
            for path in ["Patient?_id=200", "Patient/200", "Patient/200/_history", "Patient/200/_history/1"] {
                let told = server.get(path).header("x-hcert-fault", fault).await.refused(status, codes);
                assert_eq!(told.header("retry-after").is_some(), status == 503, "{told}");
            }
        }
    }
}

#[tokio::test]
async fn a_registry_that_is_told_to_misbehave_does_so_on_the_wire() {
    let registry = Server::with(START, |config| WritesToTheConnection.set_default_names(config)).await.listen().await;
    let exchange = async |fault: &str| {
        let mut stream = TcpStream::connect(registry.address).await.expect("the server listens");
        let request = format!(
            "GET /fhir/Patient/200 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nx-hcert-fault: {fault}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.expect("the server reads");
        let mut answer = Vec::new();
        let read = tokio::time::timeout(Duration::from_millis(500), stream.read_to_end(&mut answer)).await;
        (read.is_ok(), String::from_utf8_lossy(&answer).into_owned())
    };
    assert_eq!(exchange("refuse").await, (true, String::new()));
    assert_eq!(exchange("timeout").await, (false, String::new()));
    let (ended, garbage) = exchange("garbage").await;
    assert!(ended && garbage.starts_with("HTTP/1.1 200 OK") && garbage.contains("<!DOCTYPE html>"), "{garbage}");
}

#[tokio::test]
async fn a_rule_strikes_those_whom_its_pattern_fits() {
    let server = with_rules(vec![
        on_identifier("49403136515", "MPI-029/XRR300/V10580"),
        on_identifier("https://fhir.ee/sid/pid/lva/*|*", "MPI-052"),
        on_path("/Patient/20*", "MPI-001"),
        on_path("/Patient/213/_history/1", "refuse"),
    ])
    .await;
    let create = |body: crate::body::Body| server.post("Composition", body);
    create(about_identifier(CODE, "49403136515")).await.refused(400, &["MPI-029", "XRR300", "V10580"]);
    create(about_identifier("https://fhir.ee/sid/pid/lva/ppn", "LV0090210")).await.refused(400, &["MPI-052"]);
    create(about_patient(201)).await.refused(503, &["MPI-001"]);
    create(about_patient(213)).await.expect(201);
    create(about_identifier(CODE, "48703129419")).await.expect(201);
    server.get("Patient?identifier=49403136515").await.refused(403, &["MPI-029", "XRR300", "V10580"]);
    server.get("Patient?identifier=39406240015,49403136515").await.refused(403, &["MPI-029", "XRR300", "V10580"]);
    server.get("Patient/209").await.refused(500, &["MPI-001"]);
    server.get("Patient/200/_history").await.refused(500, &["MPI-001"]);
    server.get("Patient/210").await.expect(200);
    server.get("Patient?active=true").await.expect(200);
    let search = format!("Composition?subject:Patient.identifier={CODE}|49403136515");
    server.get(&search).await.refused(400, &["MPI-029", "XRR300", "V10580"]);
    // The header comes first.
    create(about_patient(201)).header("x-hcert-fault", "MPI-052").await.refused(400, &["MPI-052"]);
}

#[tokio::test]
async fn a_rule_strikes_as_often_and_as_likely_as_it_says() {
    let server = with_rules(vec![FaultRule { times: Some(2), ..on_path("/Patient/200", "MPI-001") }]).await;
    for status in [503, 503, 201, 201] {
        server.post("Composition", about_patient(200)).await.expect(status);
    }
    let mut runs = Vec::new();
    for seed in [7, 7, 8] {
        let rule = FaultRule { probability: 0.5, seed, ..on_path("/Patient/200", "MPI-001") };
        let server = with_rules(vec![rule]).await;
        let mut run = Vec::new();
        for _ in 0..20 {
            run.push(server.get("Patient/200").await.status.as_u16());
        }
        assert!(run.contains(&200) && run.contains(&500), "{run:?}");
        runs.push(run);
    }
    assert!(runs[0] == runs[1] && runs[0] != runs[2], "{runs:?}");
}

#[tokio::test]
async fn rules_of_either_side_strike_between_two_services() {
    let registry = Server::registry(|config| config.registry.fault = vec![on_path("/Patient/200", "MPI-052")]).await;
    let server = asking(&registry, |config| config.registry.fault = vec![on_path("/Patient/201", "refuse")]).await;
    server.post("Composition", about_patient(200)).await.refused(400, &["MPI-052"]);
    server.post("Composition", about_patient(201)).await.refused(503, &["HCERT-164"]);
    server.post("Composition", about_patient(202)).await.expect(201);
}
