//! What comes back, and what the service makes of it.

use super::server::{Play, Server, answer, json};
use super::*;
use crate::config::limits::REGISTRY_ANSWER_BYTES_MAX;
use crate::registry::remote::client::REGISTRY_LARGE_ANSWER_BYTES;

/// What a registry that always plays the same is heard to say to a read.
async fn heard(play: impl Fn() -> Play + Send + Sync + 'static) -> Result<RegistryFinding, LookupFailure> {
    let server = Server::start(move |_| play()).await;
    remote(&server, |_| ()).ask(&read(), &caller(LookupPurpose::Write)).await
}

/// The same, of an answer that does not change and closes its connection.
async fn heard_of(bytes: Vec<u8>) -> Result<RegistryFinding, LookupFailure> {
    heard(move || Play::Close(bytes.clone())).await
}

#[tokio::test]
async fn a_patient_is_told_minified_with_version_and_time() {
    let headers = "Content-Type: application/json\r\nETag: W/\"3\"\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    let spaced = PATIENT.replace(',', " ,\n");
    let told = heard_of(answer(200, headers, &spaced)).await.unwrap();
    assert_eq!(String::from_utf8(told.body).unwrap(), PATIENT);
    assert_eq!((told.version.as_deref(), told.last_modified), (Some("3"), Some(784_111_777_000)));
}

#[tokio::test]
async fn a_patient_of_r4_is_told_as_it_is() {
    let r4 = r#"{"resourceType":"Patient","id":"200","name":[{"family":"Tamm"}],"animal":{"species":{"text":"human"}},"photo":[{"size":1.10}]}"#;
    assert_eq!(text(heard_of(json(200, r4)).await), r4);
}

#[tokio::test]
async fn a_chunked_answer_is_put_together() {
    let chunks = PATIENT
        .as_bytes()
        .chunks(7)
        .map(|chunk| format!("{:x}\r\n{}\r\n", chunk.len(), std::str::from_utf8(chunk).unwrap()));
    let body: String = chunks.chain(["0\r\nX-Trailer: 1\r\n\r\n".to_owned()]).collect();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/fhir+json\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(text(heard_of(format!("{head}{body}").into_bytes()).await), PATIENT);
}

#[tokio::test]
async fn an_answer_that_is_not_fhir_is_unreadable() {
    let html = "Content-Type: text/html\r\n";
    let typed = "Content-Type: application/fhir+json\r\n";
    for bytes in [
        answer(200, html, "<html><body>Welcome</body></html>"),
        answer(200, "", PATIENT),
        answer(200, "Content-Type: application/fhir+xml\r\n", "<Patient/>"),
        answer(200, &format!("{typed}Content-Encoding: gzip\r\n"), PATIENT),
        answer(500, html, "<html>"),
        answer(204, typed, ""),
        json(200, ""),
        json(200, "<html>"),
        json(200, &bundle()),
        json(200, r#"{"resourceType":"Practitioner","id":"200"}"#),
        json(200, r#"{"resourceType":"Patient","id":"201"}"#),
        json(200, "\u{feff}{}"),
        json(404, PATIENT),
        json(500, PATIENT),
        b"HTTP/1.1 200 OK\r\nContent-Type: application/fhir+json\r\n\r\n\xff\xfe".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"220 mail.example.ee ESMTP\r\n\r\n\r\n".to_vec(),
        [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'x'; 200_000], b"\r\n\r\n".to_vec()].concat(),
        ["HTTP/1.1 200 OK\r\n".to_owned(), "X: x\r\n".repeat(1_000), "\r\n".to_owned()].concat().into_bytes(),
    ] {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
        let told = heard_of(bytes).await;
        assert!(matches!(told, Err(LookupFailure::NoAnswer(NoAnswer::Unreadable(_)))), "{shown}: {told:?}");
    }
}

#[tokio::test]
async fn reading_stops_at_the_largest_answer() {
    let typed = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
    let announced = format!("{typed}Content-Length: 52428800\r\n\r\n");
    let told = heard(move || Play::Endless(announced.clone().into_bytes(), vec![b' '; 65_536])).await;
    assert!(matches!(no_answer(told), NoAnswer::Unreadable(why) if why.contains("bytes")));
    let unannounced = format!("{typed}\r\n{{");
    let told = heard(move || Play::Endless(unannounced.clone().into_bytes(), vec![b' '; 65_536])).await;
    assert!(matches!(no_answer(told), NoAnswer::Unreadable(why) if why.contains("bytes")));
    let packed = format!("{typed}Transfer-Encoding: chunked\r\n\r\n");
    let chunk = [b"10000\r\n".to_vec(), vec![b' '; 65_536], b"\r\n".to_vec()].concat();
    let told = heard(move || Play::Endless(packed.clone().into_bytes(), chunk.clone())).await;
    assert!(matches!(no_answer(told), NoAnswer::Unreadable(why) if why.contains("bytes")));
}

#[tokio::test]
async fn a_large_answer_within_the_bound_is_read() {
    let padded = |bytes: usize| format!("{PATIENT}{}", " ".repeat(bytes - PATIENT.len()));
    for bytes in [REGISTRY_LARGE_ANSWER_BYTES, REGISTRY_LARGE_ANSWER_BYTES + 1, REGISTRY_ANSWER_BYTES_MAX] {
        assert_eq!(text(heard_of(json(200, &padded(bytes))).await), PATIENT, "{bytes}");
    }
    let told = heard_of(json(200, &padded(REGISTRY_ANSWER_BYTES_MAX + 1))).await;
    assert!(matches!(no_answer(told), NoAnswer::Unreadable(_)));
}

#[tokio::test]
async fn a_trickling_answer_ends_with_the_time() {
    let start = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{";
    let server = Server::start(move |_| Play::Trickle(start.as_bytes().to_vec())).await;
    let remote = remote(&server, |settings| settings.timeout_ms = 100);
    assert!(matches!(no_answer(remote.ask(&read(), &caller(LookupPurpose::Write)).await), NoAnswer::Timeout(_)));
    assert_eq!(server.requests(), 1, "what is only late is not asked for again");
}

#[tokio::test]
async fn a_registry_that_hangs_costs_the_time_and_one_request() {
    let server = Server::start(|_| Play::Hang).await;
    let remote = remote(&server, |settings| settings.timeout_ms = 100);
    assert!(matches!(no_answer(remote.ask(&read(), &caller(LookupPurpose::Write)).await), NoAnswer::Timeout(_)));
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn a_registry_that_is_not_there_is_unreachable() {
    let server = Server::start(|_| Play::Hang).await;
    let mut settings = settings(server.address());
    // The port of a socket that listens to nobody any more.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    settings.address = Some(format!("http://{free}/fhir"));
    let remote = RemoteRegistry::new(&settings).unwrap();
    assert!(matches!(no_answer(remote.ask(&read(), &caller(LookupPurpose::Write)).await), NoAnswer::Unreachable(_)));
}

#[tokio::test]
async fn a_connection_that_breaks_within_the_answer_is_unreachable() {
    let part = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{PATIENT}");
    assert!(matches!(no_answer(heard_of(part.into_bytes()).await), NoAnswer::Unreachable(_)));
    assert!(matches!(no_answer(heard_of(b"HTTP/1.1 200".to_vec()).await), NoAnswer::Unreachable(_)));
    assert!(matches!(no_answer(heard_of(Vec::new()).await), NoAnswer::Unreachable(_)));
}

#[tokio::test]
async fn redirects_are_not_followed() {
    for target in ["/fhir/Patient/200", "http://127.0.0.1:1/fhir/Patient/200"] {
        let server = Server::start(move |_| {
            Play::Send(answer(302, &format!("Content-Type: application/json\r\nLocation: {target}\r\n"), PATIENT))
        })
        .await;
        let told = remote(&server, |_| ()).ask(&read(), &caller(LookupPurpose::Write)).await;
        assert!(matches!(no_answer(told), NoAnswer::Unreadable(why) if why.contains("302")));
        assert_eq!(server.requests(), 1);
    }
}

#[tokio::test]
async fn an_outcome_refuses_with_its_status_and_all_its_issues() {
    let chain = r#"{"resourceType":"OperationOutcome","id":"r4","text":{"status":"generated","div":"<div/>"},"issue":[
        {"code":"processing","details":{"coding":[{"system":"https://mpi.tehik.ee","code":"MPI-029"}],"text":"one"},"location":["/f:Patient"]},
        {"severity":"fatal","code":"exception","details":{"text":"two"},"diagnostics":"three"}]}"#;
    for (status, expected) in [(400, 400), (422, 422), (500, 500), (200, 500)] {
        let Err(LookupFailure::Refused(chain)) = heard_of(json(status, chain)).await else { panic!("{status}") };
        assert_eq!((chain.status, chain.issues.len()), (expected, 2));
        let severities: Vec<_> = chain.issues.iter().map(|issue| issue.severity.as_str()).collect();
        assert_eq!(severities, ["error", "fatal"]);
        assert_eq!((chain.issues[0].code(), chain.issues[0].text.as_str()), ("MPI-029", "one"));
        assert_eq!(chain.issues[1].diagnostics.as_deref(), Some("three"));
    }
}

#[tokio::test]
async fn a_bundle_whose_total_lies_is_passed_through() {
    let lying = bundle().replace(r#""total":1"#, r#""total":4000"#);
    let server = Server::start({
        let lying = lying.clone();
        move |_| Play::Send(json(200, &lying))
    })
    .await;
    assert_eq!(text(remote(&server, |_| ()).ask(&search("1"), &caller(LookupPurpose::Write)).await), lying);
}
