//! The system log names nobody, and the audit trail names everybody. Contract 7.8.

use std::fs;

use super::Place;
use super::process::Process;

/// What is planted wherever a caller can put something. None of it may come back in the log.
const CODES: [&str; 3] = ["48001010001", "39901019992", "60001019906"];
const NAMES: [&str; 4] = ["Merisiil", "Kuldnokk", "Tigusaba", "Pilvelind"];

fn body() -> String {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/driver-final.json")).unwrap();
    text.replacen("49403136515", CODES[0], 1).replacen("\"title\": \"", &format!("\"title\": \"{} ", NAMES[0]), 1)
}

#[test]
fn nobody_is_named_in_the_log_whatever_is_sent() {
    let place = Place::new();
    let data = place.path("data");
    let server = Process::start_with(&data, |command| {
        command.env("HCERT__LOG__LEVEL", "trace");
    });
    let order = format!(
        "{{\"user\": {{\"personalCode\": \"37605030299\", \"name\": \"{}\"}}, \"role\": \"doctor\", \"application\": \"{}\"}}",
        NAMES[1], NAMES[2]
    );
    let mut client = server.client();
    let json = ["content-type: application/json"];
    let told = client.send_to("POST", "/auth/v2/token", &json, order.as_bytes()).unwrap();
    let token = told.text().split('"').find(|part| part.starts_with("eyJ")).expect("a token").to_owned();
    let authorization = format!("authorization: Bearer {token}");
    let claimed = format!("x-road-userid: EE{}", CODES[1]);
    let fhir = "content-type: application/fhir+json";
    let form = "content-type: application/x-www-form-urlencoded";
    let headers = [authorization.as_str(), claimed.as_str(), fhir];
    let searched = format!("subject:Patient.identifier={}&title={}", CODES[2], NAMES[3]);
    let wrong = format!("authorization: Bearer {}.{}", NAMES[3], token);
    let mut statuses = Vec::new();
    for (method, path, headers, body) in [
        ("POST", "/fhir/Composition".to_owned(), &headers[..], body()),
        ("POST", "/fhir/Composition".to_owned(), &headers[..], body().replace("final", NAMES[3])),
        ("POST", "/fhir/Composition".to_owned(), &headers[..], format!("{{\"{}", NAMES[3])),
        ("GET", format!("/fhir/Composition?{searched}"), &headers[..2], String::new()),
        ("GET", format!("/fhir/Composition?{}={}", NAMES[3], CODES[2]), &headers[..2], String::new()),
        ("POST", "/fhir/Composition/_search".to_owned(), &[authorization.as_str(), form], searched),
        ("GET", format!("/fhir/Patient?identifier={}", CODES[2]), &headers[..2], String::new()),
        ("GET", format!("/fhir/{}/{}", NAMES[3], CODES[2]), &headers[..2], String::new()),
        ("GET", format!("/r1/{}/GOV/{}/x/fhir", NAMES[3], CODES[2]), &headers[..2], String::new()),
        ("GET", "/fhir/Composition/1".to_owned(), &[wrong.as_str()], String::new()),
        ("POST", "/auth/v2/token".to_owned(), &json, format!("{{\"user\": \"{}\"}}", NAMES[3])),
        ("GET", "/fhir/Patient/200".to_owned(), &["x-hcert-fault: Merisiil"], String::new()),
    ] {
        let told = client.send_to(method, &path, headers, body.as_bytes()).unwrap();
        statuses.push(told.status);
    }
    assert_eq!(statuses[0], 201, "{statuses:?}");
    assert!(statuses.contains(&401) && statuses.contains(&404) && statuses.contains(&400), "{statuses:?}");
    drop(client);
    assert!(server.stop().success());
    let log = fs::read_to_string(data.with_extension("log")).unwrap();
    assert!(log.contains("/Composition/{id}"), "at level trace every request has its line: {log}");
    for planted in CODES.iter().chain(&NAMES).chain(&["37605030299", "39406240015", &token[..40]]) {
        assert!(!log.contains(planted), "{planted} in {log}");
    }
    // The trail is where they belong.
    let export = place.run(&["audit", "export", "--data", "data"]);
    assert!(export.expect(0).text().contains("37605030299"));
}

#[test]
fn what_was_acknowledged_is_in_the_trail_after_a_kill() {
    let place = Place::new();
    let data = place.path("data");
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/driver-draft.json")).unwrap();
    for round in 1..=3_u64 {
        let server = Process::start(&data);
        let mut client = server.client();
        for _ in 0..20 {
            assert_eq!(client.send("POST", "/Composition", &[], text.as_bytes()).unwrap().status, 201);
        }
        drop(client);
        server.kill();
        place.run(&["audit", "verify", "--data", "data"]).expect(0);
        let exported = place.run(&["audit", "export", "--data", "data"]);
        let exported = exported.expect(0).text();
        for id in 1..=round * 20 {
            let reference = format!("\"Composition/{id}/_history/1\"");
            assert_eq!(exported.matches(&reference).count(), 1, "{reference}");
        }
    }
}

/// What was seen: every export out of a running server left a warning of a connection that was lost.
#[test]
fn a_command_that_ended_well_is_not_reported_as_lost() {
    let place = Place::new();
    let server = Process::start(&place.path("data"));
    let data = ["--data", "data"];
    place.run(&[&["export"], &data[..]].concat()).expect(0);
    place.run(&[&["compact"], &data[..]].concat()).expect(1).says("only while it is stopped");
    place.run(&[&["stats"], &data[..]].concat()).expect(0);
    let log = server.log();
    assert!(server.stop().success());
    assert!(!log.contains("connection-lost"), "{log}");
}
