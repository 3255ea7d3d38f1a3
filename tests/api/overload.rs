//! More than the service can take: whoever is too many is told so and when to come back, and the others get their answers.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{self, Poll};
use std::time::Duration;

use hcert::access::Identity;
use hcert::interaction::{HttpMethod, Interaction, RequestContext, Subset};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::{Bytes, Frame};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::body::{self, Body};
use crate::foreign::Reason::WritesToTheConnection;
use crate::server::{START, Server};

/// Longer than anything here takes, so that a failure is a failure and not a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// One request on a connection of its own. A client whose connection is closed before any answer tries again, as HTTP clients do.
async fn exchange(address: SocketAddr, request: &str) -> String {
    let trying = async {
        loop {
            let mut text = String::new();
            if let Ok(mut stream) = TcpStream::connect(address).await
                && stream.write_all(request.as_bytes()).await.is_ok()
            {
                let _ = stream.read_to_string(&mut text).await;
            }
            if !text.is_empty() {
                return text;
            }
        }
    };
    timeout(PATIENCE, trying).await.expect("an answer")
}

/// Comes again and again, sends a byte of a head now and then or nothing at all, and never reads.
async fn nuisance(address: SocketAddr, drips: bool) {
    loop {
        if let Ok(mut stream) = TcpStream::connect(address).await {
            for byte in b"GET /fhir/metadata HTTP/1.1\r\nHost: localhost\r\nX-Long: ".iter().chain(&[b'x'; 1000]) {
                if drips && stream.write_all(&[*byte]).await.is_err() {
                    break;
                }
                sleep(Duration::from_millis(100)).await;
            }
        }
        sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_and_dripping_clients_keep_nobody_from_an_answer_and_leave_nothing_behind() {
    let server = Server::with(START, |config| {
        WritesToTheConnection.set_default_names(config);
        config.server.connections_max = 50;
    });
    let server = server.await.listen().await;
    let (address, load) = (server.address, Arc::clone(server.server.http().load()));
    let nuisances: Vec<_> = (0..300).map(|number| tokio::spawn(nuisance(address, number % 2 == 0))).collect();
    while load.connections_made_room.load(Ordering::Relaxed) < 100 {
        sleep(Duration::from_millis(10)).await;
    }
    let draft = body::text("driver-draft");
    let create = format!(
        "POST /fhir/Composition HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/fhir+json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{draft}",
        draft.len()
    );
    for number in 1..=20 {
        let created = exchange(address, &create).await;
        assert!(created.starts_with("HTTP/1.1 201 "), "{created}");
        let read = format!("GET /fhir/Composition/{number} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        assert!(exchange(address, &read).await.starts_with("HTTP/1.1 200 "));
        assert!(load.connections.load(Ordering::Relaxed) <= 50);
    }
    for nuisance in nuisances {
        nuisance.abort();
    }
    while load.connections.load(Ordering::Relaxed) > 0 {
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(load.requests.load(Ordering::Relaxed), 0);
}

#[expect(clippy::await_holding_lock, reason = "the writer, which waits for it, is no task")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_of_the_writer_is_503_and_reads_go_on() {
    let server = Server::with(START, |config| {
        WritesToTheConnection.set_default_names(config);
        config.server.requests_max = 100_000;
    });
    let server = server.await;
    server.create(Body::draft()).await;
    let (told, mut answers) = mpsc::unbounded_channel();
    let held = server.hold_writer();
    // More than the queue and one batch of the writer hold together.
    let writes = 4_096 + 512 + 1;
    for _ in 0..writes {
        let (http, told) = (server.http(), told.clone());
        tokio::spawn(async move {
            let request = Request::delete("/fhir/Composition/1").body(Full::<Bytes>::default()).expect("a request");
            let (parts, body) = http.answer(request, None).await.into_parts();
            let body = body.collect().await.expect("a body in memory").to_bytes();
            let retry_after = parts.headers.get("retry-after").map(|value| value.to_str().expect("text").to_owned());
            let _ = told.send((parts.status.as_u16(), retry_after, String::from_utf8_lossy(&body).into_owned()));
        });
    }
    // Whoever waits for the writer gets no answer yet, so the first one is a refusal.
    let (status, retry_after, text) = timeout(PATIENCE, answers.recv()).await.expect("an answer").expect("a sender");
    assert_eq!((status, retry_after.as_deref()), (503, Some("2")), "{text}");
    assert!(text.contains("HCERT-235"), "{text}");
    server.get("Composition/1").await.expect(200);
    drop(held);
    let mut deleted = 0;
    for _ in 1..writes {
        let (status, _, text) = timeout(PATIENCE, answers.recv()).await.expect("an answer").expect("a sender");
        assert!(matches!(status, 204 | 503), "{status}: {text}");
        deleted += usize::from(status == 204);
    }
    assert!(deleted >= 4_096, "whoever had a place in the queue was answered");
}

#[tokio::test]
async fn a_client_that_is_too_fast_is_throttled_and_written_down() {
    let throttled = |http_settings: &mut hcert::http::HttpSettings| {
        http_settings.uncounted.clear();
        http_settings.requests_per_second = 1;
    };
    let server = Server::with_http(START, |config| WritesToTheConnection.set_default_names(config), throttled)
        .await
        .listen()
        .await;
    let request = "GET /fhir/Composition/1 HTTP/1.1\r\nHost: localhost\r\n";
    let pipelined = format!("{request}\r\n").repeat(9) + request + "Connection: close\r\n\r\n";
    let text = exchange(server.address, &pipelined).await;
    let statuses: Vec<&str> = text.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
    assert_eq!(statuses.len(), 10, "{text}");
    assert_eq!(statuses[..2], ["404", "404"], "two seconds' worth may come at once");
    assert!(statuses[2..].contains(&"429"), "{statuses:?}");
    assert!(text.contains("HCERT-200") && text.contains("the limit of requests per second is 1"), "{text}");
    let events = server.server.events();
    assert_eq!(events.iter().filter(|event| event.status == 429).count(), text.matches(" 429 ").count());
}

/// What was seen: bodies of 2 MiB with one empty section beside the other were checked on the threads that serve; beside 64 of them the
/// slowest read took 15 s. Contract 10.3.
#[tokio::test]
async fn reads_are_answered_while_many_large_bodies_are_processed() {
    let server = Server::with(START, |config| WritesToTheConnection.set_default_names(config)).await;
    server.create(Body::draft()).await;
    let pieces = ["{}", "0", "[0]", r#"{"title":"a"}"#];
    let large = |piece: &str| {
        let count = ((2 << 20) - 16_384) / (piece.len() + 1);
        Bytes::from(body::text("driver-draft").replacen(
            "\"section\": [",
            &format!("\"section\": [{},", vec![piece; count].join(",")),
            1,
        ))
    };
    let bodies = pieces.map(large);
    assert!(bodies.iter().all(|body| (1 << 20..=2 << 20).contains(&body.len())));
    let (told, mut answers) = mpsc::unbounded_channel();
    let paths = [("POST", "Composition"), ("PUT", "Composition/1"), ("POST", "Composition/$validate")];
    for number in 0..24 {
        let (http, told) = (server.http(), told.clone());
        let (method, path) = paths[number % paths.len()];
        let request = Request::builder().method(method).uri(format!("/fhir/{path}"));
        let request = request.header("content-type", "application/fhir+json").header("transfer-encoding", "chunked");
        let request = request.body(Full::new(bodies[number % bodies.len()].clone())).expect("a request");
        tokio::spawn(async move {
            let _ = told.send(http.answer(request, None).await.status().as_u16());
        });
    }
    // One thread serves here, and takes all of them in before it comes back to this test.
    for _ in 0..10 {
        server.get("Composition/1").await.expect(200);
        tokio::task::yield_now().await;
    }
    assert!(answers.len() < 12, "{} of 24 large bodies kept ten reads waiting", answers.len());
    for _ in 0..24 {
        let status = timeout(PATIENCE, answers.recv()).await.expect("an answer").expect("a sender");
        assert!(matches!(status, 200 | 400 | 422 | 503), "{status}");
    }
    server.get("Composition/1").await.expect(200);
}

/// What was seen: reads of a certificate of 2 MB were expanded on the threads that serve; beside eight of them every other read took
/// ten milliseconds.
#[tokio::test]
async fn reads_are_answered_while_a_large_certificate_is_read_again_and_again() {
    let server = Server::with(START, |config| WritesToTheConnection.set_default_names(config)).await;
    server.create(Body::draft()).await;
    let text = json!([{"url": "http://a.ee/1", "valueString": "a".repeat(1 << 20)}]);
    server.post("Composition", Body::completed().with("/extension", text)).await.expect(201);
    let (told, mut answers) = mpsc::unbounded_channel();
    for _ in 0..24 {
        let (http, told) = (server.http(), told.clone());
        tokio::spawn(async move {
            let request = Request::get("/fhir/Composition/2").body(Full::new(Bytes::new())).expect("a request");
            let _ = told.send(http.answer(request, None).await.status().as_u16());
        });
    }
    // One thread serves here: what it does itself is done before it comes back to this test.
    for _ in 0..3 {
        server.get("Composition/1").await.expect(200);
        tokio::task::yield_now().await;
    }
    assert!(answers.len() < 12, "{} of 24 large certificates kept three reads waiting", answers.len());
    for _ in 0..24 {
        let status = timeout(PATIENCE, answers.recv()).await.expect("an answer").expect("a sender");
        assert_eq!(status, 200);
    }
}

/// All of a body but its last byte, which never comes; counts that the rest was taken.
struct WithoutEnd(Option<Bytes>, Arc<AtomicUsize>);

impl hyper::body::Body for WithoutEnd {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut task::Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.0.take() {
            Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            None => {
                self.1.fetch_add(1, Ordering::Relaxed);
                Poll::Pending
            }
        }
    }
}

/// What was seen: two clients held all memory for bodies by 64 bodies of 2 MiB each, and the certificates of others, 4 KB each, were
/// 503 for as long.
#[tokio::test]
async fn large_bodies_that_wait_leave_memory_to_small_ones_and_to_large_ones_of_others() {
    let server = Server::with(START, |config| WritesToTheConnection.set_default_names(config)).await;
    let [crowd, other] = [[2, 3, 4], [5, 6, 7]].map(|hosts| hosts.map(|host| IpAddr::from([192, 0, 2, host])));
    let post = |length: usize| {
        let request = Request::post("/fhir/Composition").header("content-type", "application/fhir+json");
        request.header("content-length", length)
    };
    let (taken, refused) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let length = 2 << 20;
    let large = Bytes::from(vec![b' '; length - 1]);
    let count = 64;
    let mut waiting = JoinSet::new();
    for (peer, _) in crowd.iter().flat_map(|peer| (0..count).map(move |number| (*peer, number))) {
        let (http, refused) = (server.http(), Arc::clone(&refused));
        let request = post(length).body(WithoutEnd(Some(large.clone()), Arc::clone(&taken))).expect("a request");
        waiting.spawn(async move {
            let status = http.answer(request, Some(peer)).await.status().as_u16();
            assert!(matches!(status, 429 | 503), "{status}");
            refused.fetch_add(1, Ordering::Relaxed);
        });
    }
    // Those that were refused are read on, and thrown away.
    let all_taken = async {
        while taken.load(Ordering::Relaxed) < count * crowd.len() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, all_taken).await.expect("every body is read");
    let draft = body::text("driver-draft");
    let grown = draft.clone() + &" ".repeat(hcert::http::limits::LARGE_BODY_BYTES);
    for (peer, text) in other.into_iter().chain(crowd).flat_map(|peer| [(peer, draft.clone()), (peer, grown.clone())]) {
        let is_large_of_crowd = crowd.contains(&peer) && text.len() > hcert::http::limits::LARGE_BODY_BYTES;
        let request = post(text.len()).body(Full::new(Bytes::from(text))).expect("a request");
        let response = server.http().answer(request, Some(peer)).await;
        let status = response.status().as_u16();
        let text = response.into_body().collect().await.expect("a body in memory").to_bytes();
        let expected = if is_large_of_crowd { 429 } else { 201 };
        assert_eq!(status, expected, "{peer}: {}", String::from_utf8_lossy(&text));
    }
    assert!(refused.load(Ordering::Relaxed) < taken.load(Ordering::Relaxed));
    waiting.abort_all();
}

/// What was seen: one doctor, from 17 addresses, held every connection with bodies that did not end, and nobody else was served.
#[tokio::test]
async fn one_person_is_one_client_from_however_many_addresses() {
    let server = Server::with(START, |config| {
        WritesToTheConnection.set_default_names(config);
        config.server.requests_per_address_max = 3;
    });
    let server = server.await;
    let (taken, mut waiting) = (Arc::new(AtomicUsize::new(0)), JoinSet::new());
    let [crowd, other] =
        [server.token("doctor", json!({})).await, server.token_of("38001085718", "doctor", json!({})).await];
    let post = |token: &str| {
        let request = Request::post("/fhir/Composition").header("content-type", "application/fhir+json");
        request.header("content-length", 100).header("authorization", token)
    };
    for host in 1..=3 {
        let http = server.http();
        let request = post(&crowd).body(WithoutEnd(Some(Bytes::from_static(b" ")), Arc::clone(&taken)));
        let request = request.expect("a request");
        waiting.spawn(async move { http.answer(request, Some(IpAddr::from([192, 0, 2, host]))).await });
    }
    let all_taken = async {
        while taken.load(Ordering::Relaxed) < 3 {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, all_taken).await.expect("every body is read");
    for (token, host, expected) in [(&crowd, 4, 429), (&other, 4, 200), (&crowd, 1, 429), (&other, 1, 200)] {
        let request = Request::get("/fhir/Composition").header("authorization", token);
        let request = request.body(Full::new(Bytes::new())).expect("a request");
        let response = server.http().answer(request, Some(IpAddr::from([192, 0, 2, host]))).await;
        assert_eq!(response.status().as_u16(), expected, "192.0.2.{host}");
        if expected == 429 {
            let text = response.into_body().collect().await.expect("a body in memory").to_bytes();
            let text = String::from_utf8_lossy(&text).into_owned();
            assert!(text.contains("concurrent requests of one person is 3"), "{text}");
        }
    }
    waiting.abort_all();
}

/// What is done with a large stored certificate grows with it as well: it is read through for its parts, its rules and its new state.
#[tokio::test]
async fn a_large_certificate_lives_as_others_do() {
    let server = Server::with(START, |config| WritesToTheConnection.set_default_names(config)).await;
    let extensions: Vec<_> =
        (0..2_000).map(|at| json!({"url": format!("http://a.ee/{at}"), "valueBoolean": true})).collect();
    let large = Body::completed().with("/extension", json!(extensions));
    server.post("Composition", large).await.expect(201);
    server.create(Body::draft()).await;
    let service = server.http();
    let bytes = |interaction, context: &RequestContext| service.service().stored_bytes(&interaction, context);
    let asked = |verb, path: &str| {
        Interaction::find(verb, &path.split('/').collect::<Vec<_>>()).expect("a path of the service")
    };
    let (whole, part) =
        (RequestContext::default(), RequestContext { subset: Subset::Summary, ..RequestContext::default() });
    let of = |role: &str| {
        let identity = Identity { roles: vec![role.to_owned()], ..Identity::default() };
        RequestContext { identity: Some(Arc::new(identity)), ..RequestContext::default() }
    };
    for (id, is_large) in [(1, true), (2, false), (3, false)] {
        let is = |bytes: usize| bytes > hcert::http::limits::LARGE_BODY_BYTES;
        let at = |verb, below: &str| asked(verb, &format!("Composition/{id}{below}"));
        assert_eq!(is(bytes(at(HttpMethod::Post, "/$suspend"), &whole)), is_large);
        assert_eq!(is(bytes(at(HttpMethod::Post, "/$cancel"), &whole)), is_large);
        assert_eq!(is(bytes(at(HttpMethod::Get, "/$validate"), &whole)), is_large);
        assert_eq!(is(bytes(at(HttpMethod::Get, ""), &part)), is_large);
        assert_eq!(is(bytes(at(HttpMethod::Get, "/_history/1"), &part)), is_large);
        assert_eq!(bytes(at(HttpMethod::Get, "/_history/9"), &part), 0);
        assert_eq!(bytes(at(HttpMethod::Get, ""), &whole), 0, "it is copied");
        assert_eq!(bytes(at(HttpMethod::Get, ""), &of("doctor")), 0, "it is copied");
        assert_eq!(
            is(bytes(at(HttpMethod::Get, ""), &of("gov-official"))),
            is_large,
            "it is read through for the employer's view"
        );
    }
    server.get("Composition/1?_summary=true").await.expect(200);
    server.get("Composition/1/$validate").await.expect(200);
    server.post("Composition/1/$suspend", Body::reason("Dokument on vale")).await.expect(200);
    server.post("Composition/1/$cancel", Body::reason("Dokument on vale")).await.expect(200);
    let first = server.get("Composition/1/_history/1?_elements=title").await.expect(200).json();
    assert_eq!((first["title"].is_string(), first["extension"].is_null()), (true, true));
    assert_eq!(server.get("Composition/1").await.expect(200).json()["extension"][1_999]["url"], "http://a.ee/1999");
}
