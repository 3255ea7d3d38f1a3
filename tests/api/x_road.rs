//! A client written for the real service, through X-Road paths: tokens, patients and certificates. Contract 1.4.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::body::{self, Body};
use crate::foreign::Reason::WritesToTheConnection;
use crate::response::TestResponse;
use crate::server::{START, Server};

const SERVICE: &str = "/r1/ee-dev/GOV/70009770/tis";
const AUTHOR: &str = "49403136515";

/// The order as the published client collection writes it: JSON with notes.
fn order(person: &str, role: &str, more: &str) -> String {
    format!(
        "{{\n  \"user\": {{ \"personalCode\": \"EE{person}\" }}, // who logs in\r\n  \"organization\": \"90006399\",\n  \
         \"role\": \"{role}\", // see https://example.ee/roles\n  \"application\": \"clinic\"{more}\n}}"
    )
}

async fn token(server: &Server, order: &str) -> String {
    let asked = server.ask("POST", &format!("{SERVICE}/auth/v2/token"));
    let told =
        asked.body_as(Some("application/json"), order).header("x-road-client", "ee-dev/COM/12345678/clinic").await;
    let told = told.expect(200);
    assert!(told.header("x-road-id").is_some(), "{told}");
    let answer = told.json();
    assert_eq!((&answer["tokenType"], &answer["expiresIn"]), (&json!("Bearer"), &json!(300)));
    format!("Bearer {}", answer["accessToken"].as_str().expect("a token"))
}

/// A request of the client, as it makes all of them.
async fn ask(server: &Server, method: &str, path: &str, token: &str, body: Option<Vec<u8>>) -> TestResponse {
    let path = if path.starts_with('/') { path.to_owned() } else { format!("{SERVICE}/fhir/{path}") };
    let asked = server.ask(method, &path).header("Authorization", token).header("x-road-id", "11111111-2222");
    let asked = asked.header("x-road-client", "ee-dev/COM/12345678/clinic").header("x-road-userid", "EE49403136515");
    let asked = asked.header("Prefer", "return=representation");
    let told = match body {
        Some(body) => asked.body(body).await,
        None => asked.await,
    };
    assert_eq!(told.header("x-road-id"), Some("11111111-2222"), "{told}");
    assert_eq!(told.header("x-road-client"), Some("ee-dev/COM/12345678/clinic"), "{told}");
    told
}

/// Where an answer says it is; on this server's own X-Road path.
fn place(told: &TestResponse) -> String {
    let location = told.header("location").expect("a location");
    let path = location.strip_prefix("http://127.0.0.1:8080").expect("this server");
    assert!(path.starts_with(&format!("{SERVICE}/fhir/Composition/")), "{path}");
    path.to_owned()
}

fn parameters(name: &str, value: &str) -> Option<Vec<u8>> {
    let parameter = json!([{"name": name, "valueString": value}]);
    Some(json!({"resourceType": "Parameters", "parameter": parameter}).to_string().into_bytes())
}

/// A whole case: patient found, draft, completion, change, suspension, cancellation, each read back where the answer said it is.
async fn case(draft: Body, completed: Body) -> (Server, String) {
    let server = Server::start().await;
    let doctor = token(&server, &order(AUTHOR, "doctor", "")).await;
    let system = "https%3A%2F%2Ffhir.ee%2Fsid%2Fpid%2Fest%2Fni%7C39406240015";
    let found = ask(&server, "GET", &format!("Patient?identifier={system}"), &doctor, None).await.expect(200);
    let patient = found.json()["entry"][0]["resource"]["id"].as_str().expect("a patient").to_owned();
    let about = |body: Body| Some(Vec::from(body.with("/subject/0/reference", json!(format!("Patient/{patient}")))));

    let created = ask(&server, "POST", "Composition", &doctor, about(draft)).await.expect(201);
    let certificate = place(&created).split_once("/_history").expect("a version").0.to_owned();
    ask(&server, "GET", &place(&created), &doctor, None).await.expect(200);
    let done = ask(&server, "PUT", &certificate, &doctor, about(completed)).await.expect(200);
    assert_eq!(done.json()["status"], "final");

    let page = ask(&server, "GET", &format!("Composition?subject=Patient/{patient}&_count=1"), &doctor, None).await;
    let page = page.expect(200);
    let own = format!("http://127.0.0.1:8080{SERVICE}/fhir/Composition?");
    assert!(page.link("self").expect("a link").starts_with(&own), "{page}");
    assert_eq!(page.json()["total"], 1);
    (server, certificate)
}

#[tokio::test]
async fn a_drivers_case_runs_through_unchanged() {
    let (server, certificate) = case(Body::draft(), Body::completed()).await;
    let doctor = token(&server, &order(AUTHOR, "doctor", "")).await;
    let me = token(&server, &order("39406240015", "patient", "")).await;
    ask(&server, "GET", &certificate, &me, None).await.expect(200);
    let changed = ask(&server, "PUT", &certificate, &doctor, Some(Body::changed().into())).await.expect(200);
    assert!(place(&changed).ends_with("/_history/3"));
    let suspend = format!("{certificate}/$suspend");
    let suspended = ask(&server, "POST", &suspend, &doctor, parameters("reason", "Uus uuring")).await.expect(200);
    assert_eq!(suspended.json()["status"], "cancelled");
    let cancel = format!("{certificate}/$cancel");
    let cancelled = ask(&server, "POST", &cancel, &doctor, parameters("reason", "Vale isik")).await.expect(200);
    assert_eq!(cancelled.json()["status"], "entered-in-error");
    let history = ask(&server, "GET", &format!("{certificate}/_history"), &doctor, None).await.expect(200);
    assert_eq!(history.json()["total"], 5);
    ask(&server, "GET", &certificate, &me, None).await.refused(403, &["HCERT-179"]);
}

#[tokio::test]
async fn an_occupational_case_runs_through_unchanged() {
    let (server, certificate) = case(Body::example("occupational-draft"), Body::example("occupational-final")).await;
    let doctor = token(&server, &order("37605030299", "doctor", "")).await;
    let me = token(&server, &order("39406240015", "patient", "")).await;
    let consent = |name: &str| format!("{certificate}/${name}-consent");
    ask(&server, "POST", &consent("set"), &me, parameters("doctor", "closed")).await.expect(200);
    let told = ask(&server, "GET", &consent("get"), &me, None).await.expect(200).json();
    assert_eq!(told["parameter"][0], json!({"name": "doctor", "valueString": "closed"}));
    ask(&server, "GET", &certificate, &doctor, None).await.refused(403, &["HCERT-179"]);
    let party = ",\n \"representedParty\": \"16978044\"";
    let employer = token(&server, &order("37605030299", "org-legal-representative", party)).await;
    let found = ask(&server, "GET", "Composition?section-code-text=employer$16978044", &employer, None).await;
    let found = found.expect(200).json();
    let profile = "https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-occupational-employer";
    assert_eq!(found["entry"][0]["resource"]["meta"]["profile"], json!([profile]));
}

#[tokio::test]
async fn who_called_is_kept_with_the_version_and_written_down_as_claimed() {
    let (server, _) = case(Body::draft(), Body::completed()).await;
    let events = server.events();
    let create = events.iter().find(|event| event.action.name() == "composition.create").expect("a create");
    assert_eq!(create.who.person.as_deref(), Some(AUTHOR));
    assert_eq!(create.from.x_road_id.as_deref(), Some("11111111-2222"));
    assert_eq!(create.from.x_road_client.as_deref(), Some("ee-dev/COM/12345678/clinic"));
    assert_eq!(create.from.x_road_user.as_deref(), Some("EE49403136515"));
}

#[tokio::test]
async fn what_x_road_does_not_know_is_told_in_its_words() {
    let server = Server::start().await;
    for (path, status, kind) in [
        ("/r1/ee-dev/GOV/70009770/other/fhir/Composition/1", 500, "Server.ServerProxy.UnknownService"),
        ("/r1/ee-dev/GOV/70009770/tis/soap", 500, "Server.ServerProxy.UnknownService"),
        ("/r1/ee-dev//70009770/tis/fhir/metadata", 400, "Client.BadRequest"),
        ("/r1/ee-dev/GOV/7000%2F9770/tis/fhir/metadata", 400, "Client.BadRequest"),
        ("/r1/ee-dev/GOV/../tis/fhir/metadata", 400, "Client.BadRequest"),
    ] {
        let (got, headers, body) = server.raw("GET", path).await;
        assert_eq!(got, status, "{path}");
        assert_eq!(headers["x-road-error"], kind, "{path}");
        let fault: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(fault["type"], kind);
        assert!(fault["message"].is_string() && fault["detail"].is_string(), "{fault}");
        assert_eq!(server.events().last().map(|event| event.status), Some(status), "the event of {path}");
    }
    let inside = server.get(&format!("{SERVICE}/fhir/nothing")).await;
    inside.refused(404, &["HCERT-126"]);
    server.get(&format!("{SERVICE}/fhir/metadata")).await.expect(200);
    assert_eq!(
        server.ask("OPTIONS", &format!("{SERVICE}/fhir/Composition")).await.header("allow"),
        Some("GET, HEAD, POST, OPTIONS")
    );
}

#[tokio::test]
async fn headers_can_be_made_obligatory() {
    let change = |config: &mut hcert::config::Config| config.x_road.required_headers = vec!["x-road-userid".to_owned()];
    let server = Server::with(START, change).await;
    let path = format!("{SERVICE}/fhir/Composition");
    // Also a blank of another kind than ASCII's.
    for blank in [None, Some(" "), Some("\u{a0}")] {
        let asked = match blank {
            Some(blank) => server.get(&path).header("x-road-userid", blank),
            None => server.get(&path),
        };
        let told = asked.await.refused(400, &["HCERT-219"]);
        assert_eq!(told.said(), "The header x-road-userid is missing");
    }
    server.get(&path).header("x-road-userid", "EE1").await.expect(200);
    server.get("Composition").await.expect(200);
}

/// What was seen: a reason in Estonian, or one of more than 256 bytes, was refused with 400, and with it every request of such a client.
#[tokio::test]
async fn a_reason_in_estonian_is_taken_recorded_and_shown() {
    let server = Server::start().await;
    let reason = "Töötervishoiu kontroll, põhjus täpsustamata";
    let latin_1: Vec<u8> = reason.chars().map(|character| u8::try_from(character).expect("Latin-1")).collect();
    let longest = "õ".repeat(256);
    let longer = "😀".repeat(2_000);
    let of_longer = format!("{}… (cut, 2000 characters)", "😀".repeat(256));
    for (sent, recorded) in [
        (reason.as_bytes(), reason),
        (&latin_1, reason),
        (longest.as_bytes(), longest.as_str()),
        (longer.as_bytes(), of_longer.as_str()),
    ] {
        let asked = server.post("Composition", Body::draft());
        let created = asked.header("x-road-issue", sent).header("x-road-id", sent).header("x-road-client", sent).await;
        let created = created.expect(201);
        assert_eq!(created.headers["x-road-id"].as_bytes(), sent, "{created}");
        server.get("Composition/1").header("x-road-issue", sent).header("x-road-userid", sent).await.expect(200);
        let events = server.events();
        let [.., create, read] = events.as_slice() else { panic!("two events at least") };
        for claimed in [&create.from.x_road_issue, &create.from.x_road_id, &create.from.x_road_client] {
            assert_eq!(claimed.as_deref(), Some(recorded));
        }
        assert_eq!(read.from.x_road_issue.as_deref(), Some(recorded));
        assert_eq!(read.from.x_road_user.as_deref(), Some(recorded));
        let shown = server.get("AuditEvent?_count=100").await.expect(200);
        assert!(shown.text().contains(&format!("\"valueString\":\"{recorded}\"")), "{shown}");
    }
}

#[tokio::test]
async fn a_header_with_a_control_character_or_twice_is_refused() {
    let server = Server::start().await;
    for value in [&b"a\tb"[..], b"a\x85", "a\u{85}".as_bytes()] {
        server.get("Composition").header("x-road-issue", value).await.refused(400, &["HCERT-117"]);
        server.post("Composition", Body::draft()).header("x-road-id", value).await.refused(400, &["HCERT-117"]);
    }
    let twice = server.get("Composition").header("x-road-client", "a").header("x-road-client", "b").await;
    twice.refused(400, &["HCERT-117"]);
    assert_eq!(server.seq(), 0);
}

#[tokio::test]
async fn a_slash_at_the_end_of_a_path_is_ignored_here_too() {
    let server = Server::start().await;
    let told = server.post(&format!("{SERVICE}/fhir/Composition/"), Body::draft()).await.expect(201);
    let base = format!("http://127.0.0.1:8080{SERVICE}/fhir");
    assert_eq!(told.header("location"), Some(format!("{base}/Composition/1/_history/1").as_str()));
    let found = server.get(&format!("{SERVICE}/fhir/Composition/?status=preliminary")).await.expect(200).json();
    assert_eq!(found["link"][0]["url"], format!("{base}/Composition?status=preliminary&_page=1"));
    let order = order(AUTHOR, "doctor", "");
    let asked = server.ask("POST", &format!("{SERVICE}/auth/v2/token/")).body_as(Some("application/json"), order);
    asked.await.expect(200);
}

/// The security server that the tests below trust, and another machine.
const SECURITY_SERVER: &str = "192.0.2.10";
const OTHER_MACHINE: &str = "192.0.2.66";

async fn trusting(change: impl FnOnce(&mut hcert::config::Config)) -> Server {
    let trusting = |config: &mut hcert::config::Config| {
        WritesToTheConnection.set_default_names(config);
        config.x_road.from = Some(vec![SECURITY_SERVER.parse().expect("an address")]);
        change(config);
    };
    Server::with(START, trusting).await
}

const CLAIMS: [(&str, &str); 5] = [
    ("x-road-client", "ee-dev/COM/12345678/clinic"),
    ("x-road-id", "11111111-2222"),
    ("x-road-issue", "17"),
    ("x-road-userid", "EE49403136515"),
    ("x-author-id", "EE49403136515"),
];

/// What a machine gets that sends these headers.
async fn sent(server: &Server, from: &str, request: (&str, &str), headers: &[(&str, &str)]) -> Response<Full<Bytes>> {
    let (method, path) = request;
    let bytes = if method == "POST" { Bytes::from(body::text("driver-draft")) } else { Bytes::new() };
    let request = Request::builder().method(method).uri(path).header("content-type", "application/fhir+json");
    let request = request.header("content-length", bytes.len());
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let request = request.body(Full::new(bytes)).expect("a request");
    server.http().answer(request, Some(from.parse().expect("an address"))).await
}

/// What was seen: anybody who reached the port could have another's X-Road client and user written down as theirs.
#[tokio::test]
async fn headers_of_a_sender_that_is_not_trusted_are_dropped_and_the_trail_says_so() {
    let server = trusting(|_| ()).await;
    let dropped = "x-road-client, x-road-id, x-road-issue, x-road-userid, x-author-id";
    let paths = [("POST", "/fhir/Composition"), ("GET", "/fhir/Composition/1")];
    let by_x_road = ("GET", &*format!("{SERVICE}/fhir/Composition/1"));
    for (from, is_trusted) in [(SECURITY_SERVER, true), (OTHER_MACHINE, false)] {
        for request in [paths[0], paths[1], by_x_road] {
            let told = sent(&server, from, request, &CLAIMS).await;
            assert!(told.status().is_success(), "{from} {request:?}: {told:?}");
            let events = server.events();
            let noted = &events.last().expect("an event").from;
            let claimed = |value: &'static str| is_trusted.then_some(value);
            assert_eq!(noted.x_road_client.as_deref(), claimed(CLAIMS[0].1), "{from} {request:?}");
            assert_eq!(noted.x_road_issue.as_deref(), claimed(CLAIMS[2].1));
            assert_eq!(noted.x_road_user.as_deref(), claimed(CLAIMS[3].1));
            assert_eq!(noted.x_road_dropped.as_deref(), (!is_trusted).then_some(dropped));
            let id = told.headers().get("x-road-id").map(|id| id.to_str().expect("text"));
            assert_eq!(id == Some(CLAIMS[1].1), is_trusted, "{from} {request:?}: {id:?}");
            // Below /r1 every request has an id, made where none is accepted.
            assert_eq!(id.is_some(), is_trusted || request == by_x_road);
            assert_eq!(noted.x_road_id.as_deref(), id);
        }
    }
    let shown = server.get("AuditEvent?_count=100").await.expect(200);
    assert_eq!(shown.text().matches(&format!("\"valueString\":\"{dropped}\"")).count(), 3, "{shown}");
    let dropped = || server.http().load().x_road_dropped.load(Ordering::Relaxed);
    assert_eq!(dropped(), 3);
    // A request without these headers is not counted.
    sent(&server, OTHER_MACHINE, paths[1], &[]).await;
    assert_eq!(dropped(), 3);
}

#[tokio::test]
async fn a_required_header_that_was_dropped_is_missing() {
    let server = trusting(|config| config.x_road.required_headers = vec!["x-road-userid".to_owned()]).await;
    let path = format!("{SERVICE}/fhir/Composition");
    for (from, status) in [(SECURITY_SERVER, 200), (OTHER_MACHINE, 400)] {
        assert_eq!(sent(&server, from, ("GET", &path), &CLAIMS).await.status().as_u16(), status, "{from}");
    }
}

/// What was seen: one security server is one address, so that the whole country had 64 requests at once.
#[expect(clippy::await_holding_lock, reason = "the writer, which waits for it, is no task")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_security_server_counts_as_the_clients_it_stands_for() {
    const PATIENCE: Duration = Duration::from_secs(120);
    let server = Arc::new(trusting(|_| ()).await);
    for (from, clients, taken) in [
        (SECURITY_SERVER, &["ee-dev/COM/12345678/clinic", "ee-dev/COM/87654321/clinic"][..], 70),
        (SECURITY_SERVER, &["ee-dev/COM/12345678/clinic", "EE-DEV/COM/%31%32345678/clinic"], 64),
        (OTHER_MACHINE, &["ee-dev/COM/12345678/clinic", "ee-dev/COM/87654321/clinic"], 64),
    ] {
        let created = sent(&server, SECURITY_SERVER, ("POST", "/fhir/Composition"), &[]).await;
        let location =
            created.headers()["location"].to_str().expect("text").split_once("/_history").expect("a version").0;
        let path: Arc<str> = location.split_once(":8080").expect("this server").1.into();
        let (told, mut answers) = mpsc::unbounded_channel();
        let held = server.hold_writer();
        for number in 0..70 {
            let (server, path, told) = (Arc::clone(&server), Arc::clone(&path), told.clone());
            let client = clients[number % clients.len()];
            tokio::spawn(async move {
                let answer = sent(&server, from, ("DELETE", &path), &[("x-road-client", client)]).await;
                let _ = told.send(answer.status().as_u16());
            });
        }
        // Requests that wait for the writer have no answer yet.
        for _ in taken..70 {
            assert_eq!(timeout(PATIENCE, answers.recv()).await.expect("an answer"), Some(429), "{from} {clients:?}");
        }
        let working = || server.http().load().requests.load(Ordering::Relaxed);
        let all = async {
            while working() < taken {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, all).await.unwrap_or_else(|_| panic!("{from} {clients:?}: {} of {taken}", working()));
        drop(held);
        for _ in 0..taken {
            let status = timeout(PATIENCE, answers.recv()).await.expect("an answer").expect("a sender");
            assert_eq!(status, 204, "{from} {clients:?}");
        }
    }
}
