//! Over real sockets: what only a connection can do.

mod addresses;
mod unread;

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Instant;

use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::body::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::*;
use crate::http::tests::{StandIn, ok, server_with, settings};
use crate::http::{HttpSettings, LoadCounters};

struct Running {
    address: SocketAddr,
    load: Arc<LoadCounters>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

const SILENCE: Duration = Duration::from_millis(300);

async fn start(change: impl FnOnce(&mut HttpSettings)) -> Running {
    let mut settings = HttpSettings { header_timeout: SILENCE, body_timeout: SILENCE, ..settings() };
    change(&mut settings);
    start_with(server_with(settings, Box::new(ok))).await
}

async fn start_with<R: Interactions>(server: Arc<HttpServer<R>>) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let load = Arc::clone(server.load());
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(serve(listener, server, async {
        let _ = stopped.await;
    }));
    Running { address, load, stop, task }
}

impl Running {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends bytes and reads until the server closes.
    async fn exchange(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        stream.write_all(bytes).await.unwrap();
        to_end(&mut stream).await
    }
}

async fn to_end(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut text = Vec::new();
    // A reset after the answer is an end as well.
    let _ = timeout(Duration::from_secs(10), stream.read_to_end(&mut text)).await.expect("the server closes");
    String::from_utf8_lossy(&text).into_owned()
}

/// Waits until something is so. It hangs where it never is.
async fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        sleep(Duration::from_millis(5)).await;
    }
}

async fn until_some<F: Future<Output = bool>>(mut is_so: impl FnMut() -> F) {
    while !is_so().await {
        sleep(Duration::from_millis(5)).await;
    }
}

const GET: &[u8] = b"GET /fhir/metadata HTTP/1.1\r\nHost: localhost\r\n\r\n";
const LAST: &[u8] = b"GET /fhir/metadata HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

#[tokio::test]
async fn a_silent_client_is_closed_after_its_time() {
    let running = start(|_| ()).await;
    for begun in ["", "GET /fhir/met", "PRI * HTTP/2.0\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let started = Instant::now();
        running.exchange(begun.as_bytes()).await;
        let waited = started.elapsed();
        assert!(waited >= SILENCE / 2 && waited < SILENCE * 8, "{begun:?} was closed after {waited:?}");
    }
}

#[tokio::test]
async fn a_connection_serves_one_request_after_another_until_it_falls_silent() {
    let running = start(|_| ()).await;
    let mut stream = running.connect().await;
    for _ in 0..3 {
        stream.write_all(GET).await.unwrap();
        let mut buffer = vec![0; 4096];
        let count = stream.read(&mut buffer).await.unwrap();
        assert!(buffer[..count].starts_with(b"HTTP/1.1 200 OK\r\n"));
        sleep(SILENCE / 3).await;
    }
    assert_eq!(to_end(&mut stream).await, "");
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let running = start(|_| ()).await;
    let unknown = b"GET /second HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let text = running.exchange(&[GET, unknown.as_slice(), LAST].concat()).await;
    let statuses: Vec<_> = text.match_indices("HTTP/1.1 ").map(|(at, _)| &text[at + 9..at + 12]).collect();
    assert_eq!(statuses, ["200", "404", "200"]);
}

#[tokio::test]
async fn a_body_sent_half_is_answered_with_408_and_the_connection_closed() {
    let running = start(|_| ()).await;
    let head = "POST /fhir/Composition HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
    let text = running.exchange(head.as_bytes()).await;
    assert!(text.starts_with("HTTP/1.1 408 ") && text.contains("HCERT-132"), "{text}");
}

#[tokio::test]
async fn a_client_that_writes_before_it_reads_sees_that_its_body_is_too_long() {
    let running = start(|settings| settings.body_bytes_max = 10_000).await;
    let length = 4_000_000;
    let head = format!(
        "POST /fhir/Composition HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let chunked = "POST /fhir/Composition HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    let chunks = [format!("{length:x}\r\n").into_bytes(), vec![b' '; length], b"\r\n0\r\n\r\n".to_vec()].concat();
    for bytes in [[head.into_bytes(), vec![b' '; length]].concat(), [chunked.as_bytes().to_vec(), chunks].concat()] {
        let text = running.exchange(&bytes).await;
        assert!(text.starts_with("HTTP/1.1 413 ") && text.contains("HCERT-139"), "{text}");
    }
}

#[tokio::test]
async fn a_body_too_long_that_asks_first_is_never_sent() {
    let running = start(|_| ()).await;
    let head = "POST /fhir/Composition HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9999999\r\nExpect: 100-continue\r\n\r\n";
    let text = running.exchange(head.as_bytes()).await;
    assert!(text.starts_with("HTTP/1.1 413 "), "{text}");
}

#[tokio::test]
async fn too_many_or_too_long_headers_are_refused() {
    let running = start(|_| ()).await;
    let many: String = (0..10_000).map(|number| format!("a{number}: b\r\n")).collect();
    let long = format!("connection: close\r\na: {}\r\n", "b".repeat(HEADER_BYTES_MAX));
    for headers in [many, long] {
        let text = running.exchange(format!("GET /fhir/metadata HTTP/1.1\r\n{headers}\r\n").as_bytes()).await;
        assert!(text.starts_with("HTTP/1.1 431 "), "{text}");
    }
}

#[tokio::test]
async fn the_longest_query_a_setting_allows_reaches_the_service() {
    let running = start(|settings| settings.query_bytes_max = 24_576).await;
    for (bytes, status) in [(24_576, "200"), (24_577, "414")] {
        let query = "a".repeat(bytes);
        let request = format!("GET /fhir/Composition?{query} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let text = running.exchange(request.as_bytes()).await;
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{}", &text[..20.min(text.len())]);
    }
}

#[tokio::test]
async fn http_2_is_spoken_by_prior_knowledge() {
    let running = start(|_| ()).await;
    let io = TokioIo::new(running.connect().await);
    let (mut sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    let connection = tokio::spawn(connection);
    for path in ["metadata", "Composition/7"] {
        let uri = format!("http://{}/fhir/{path}", running.address);
        let response = sender.send_request(Request::get(uri).body(Empty::<Bytes>::new()).unwrap()).await.unwrap();
        assert_eq!((response.status().as_u16(), response.version()), (200, hyper::Version::HTTP_2));
        assert!(!response.into_body().collect().await.unwrap().to_bytes().is_empty());
    }
    // It answers pings, yet without requests it is closed like any other.
    timeout(SILENCE * 10, connection).await.expect("closed").unwrap().unwrap();
}

#[tokio::test]
async fn a_unix_socket_is_served_by_the_same_code() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hcert.sock");
    let server: Arc<HttpServer<StandIn>> = server_with(settings(), Box::new(ok));
    let task = tokio::spawn(serve(UnixListener::bind(&path).unwrap(), server, std::future::pending()));
    let mut stream = UnixStream::connect(&path).await.unwrap();
    stream.write_all(LAST).await.unwrap();
    assert!(to_end(&mut stream).await.starts_with("HTTP/1.1 200 OK\r\n"));
    task.abort();
}

#[tokio::test]
async fn whoever_is_idle_longest_makes_room_for_a_newcomer() {
    let running = start(|settings| settings.connections_max = 2).await;
    let mut first = running.connect().await;
    let mut second = running.connect().await;
    second.write_all(GET).await.unwrap();
    let mut buffer = vec![0; 4096];
    assert!(second.read(&mut buffer).await.unwrap() > 0);
    assert!(running.exchange(LAST).await.starts_with("HTTP/1.1 200 OK\r\n"));
    assert_eq!(to_end(&mut first).await, "");
    assert_eq!(running.load.connections_made_room.load(Ordering::Relaxed), 1);
    // The second is between two requests and keeps its place.
    second.write_all(LAST).await.unwrap();
    assert!(to_end(&mut second).await.starts_with("HTTP/1.1 200 OK\r\n"));
}

#[tokio::test]
async fn where_all_are_at_work_a_newcomer_is_told_so_at_once() {
    let settings = HttpSettings { connections_max: 1, ..settings() };
    let running = start_with(HttpServer::new(Slow(Duration::from_secs(5)), settings)).await;
    let mut busy = running.connect().await;
    busy.write_all(GET).await.unwrap();
    until(|| running.load.requests.load(Ordering::Relaxed) == 1).await;
    let text = running.exchange(GET).await;
    assert!(text.starts_with("HTTP/1.1 503 ") && text.contains("HCERT-238"), "{text}");
    for header in ["retry-after: 2\r\n", "connection: close\r\n", "x-content-type-options: nosniff\r\n"] {
        assert!(text.contains(header), "{header}: {text}");
    }
    assert_eq!(running.load.connections_refused.load(Ordering::Relaxed), 1);
    drop(busy);
    until(|| running.load.connections.load(Ordering::Relaxed) == 0).await;
}

#[tokio::test]
async fn refusals_are_bounded_and_never_hold_up_others() {
    let settings = HttpSettings { connections_max: 1, ..settings() };
    let running = start_with(HttpServer::new(Slow(Duration::from_secs(600)), settings)).await;
    let mut busy = running.connect().await;
    busy.write_all(GET).await.unwrap();
    until(|| running.load.requests.load(Ordering::Relaxed) == 1).await;
    // None of them ever asks anything.
    let mut silent = Vec::new();
    for _ in 0..REFUSALS_MAX * 3 {
        silent.push(running.connect().await);
    }
    for mut stream in silent {
        assert_eq!(to_end(&mut stream).await, "");
    }
    assert!(running.exchange(GET).await.starts_with("HTTP/1.1 503 "));
}

#[tokio::test]
async fn one_address_cannot_take_all_places() {
    let running = start(|settings| {
        settings.uncounted.clear();
        settings.connections_per_address_max = 2;
    })
    .await;
    let _kept = [running.connect().await, running.connect().await];
    until(|| running.load.connections.load(Ordering::Relaxed) == 2).await;
    let text = running.exchange(GET).await;
    assert!(text.starts_with("HTTP/1.1 429 ") && text.contains("HCERT-200"), "{text}");
    assert!(text.contains("retry-after: 2\r\n") && text.contains("limit of concurrent connections is 2"), "{text}");
}

#[tokio::test]
async fn one_address_cannot_have_all_requests() {
    let settings = HttpSettings { uncounted: Vec::new(), requests_per_address_max: 1, ..settings() };
    let running = start_with(HttpServer::new(Slow(Duration::from_secs(600)), settings)).await;
    let mut busy = running.connect().await;
    busy.write_all(GET).await.unwrap();
    until(|| running.load.requests.load(Ordering::Relaxed) == 1).await;
    let text = running.exchange(LAST).await;
    assert!(text.starts_with("HTTP/1.1 429 ") && text.contains("HCERT-200"), "{text}");
    drop(busy);
    until(|| running.load.requests.load(Ordering::Relaxed) == 0).await;
}

#[tokio::test]
async fn a_request_too_many_is_told_to_come_back() {
    let settings = HttpSettings { requests_max: 1, ..settings() };
    let running = start_with(HttpServer::new(Slow(Duration::from_secs(600)), settings)).await;
    let mut busy = running.connect().await;
    busy.write_all(GET).await.unwrap();
    until(|| running.load.requests.load(Ordering::Relaxed) == 1).await;
    let text = running.exchange(LAST).await;
    assert!(
        text.starts_with("HTTP/1.1 503 ") && text.contains("HCERT-231") && text.contains("retry-after: 2"),
        "{text}"
    );
}

#[tokio::test]
async fn what_only_reads_is_given_up_after_its_time_and_what_writes_is_not() {
    let settings = HttpSettings { request_timeout: Duration::from_millis(50), ..settings() };
    let running = start_with(HttpServer::new(Slow(Duration::from_millis(200)), settings)).await;
    let text = running.exchange(LAST).await;
    assert!(text.starts_with("HTTP/1.1 503 ") && text.contains("HCERT-234"), "{text}");
    assert_eq!(running.load.requests_given_up.load(Ordering::Relaxed), 1);
    let delete = b"DELETE /fhir/Composition/1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert!(running.exchange(delete).await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn a_client_that_never_reads_its_answer_loses_its_place() {
    let large = |_: &_| {
        let body = vec![b'x'; 16 * 1024 * 1024];
        Ok(crate::interaction::Answer { status: 200, body, ..crate::interaction::Answer::default() })
    };
    let settings = HttpSettings { write_timeout: SILENCE, ..settings() };
    let running = start_with(server_with(settings, Box::new(large))).await;
    let mut stream = running.connect().await;
    stream.write_all(GET).await.unwrap();
    until(|| running.load.answers_unread.load(Ordering::Relaxed) == 1).await;
    until(|| running.load.connections.load(Ordering::Relaxed) == 0).await;
}

#[tokio::test]
async fn a_body_that_drips_is_too_late() {
    let running = start(|settings| settings.body_timeout = SILENCE).await;
    let mut stream = running.connect().await;
    let head = "POST /fhir/Composition HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut reader, mut writer) = stream.split();
    let dripping = async {
        while writer.write_all(b" ").await.is_ok() {
            sleep(SILENCE / 20).await;
        }
        std::future::pending::<()>().await;
    };
    let text = select! {
        text = to_end(&mut reader) => text,
        () = dripping => unreachable!("it never ends"),
    };
    assert!(text.starts_with("HTTP/1.1 408 ") && text.contains("HCERT-132"), "{text}");
    assert_eq!(running.load.bodies_late.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_request_with_two_lengths_is_its_connections_last() {
    let running = start(|_| ()).await;
    let both = "POST /fhir/Composition HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
    let swapped = both
        .replace("Content-Length: 4\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 4");
    for request in [both, &swapped] {
        let text = running.exchange(&[request.as_bytes(), GET].concat()).await;
        assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "what follows is never taken for a request: {text}");
    }
}

#[tokio::test]
async fn other_transfer_codings_than_chunked_are_not_implemented() {
    let running = start(|_| ()).await;
    let request = "POST /fhir/Composition HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: gzip, chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
    let text = running.exchange(request.as_bytes()).await;
    assert!(text.starts_with("HTTP/1.1 501 ") && text.contains("HCERT-201"), "{text}");
}

struct Slow(Duration);

impl Interactions for Slow {
    async fn run(
        &self,
        interaction: crate::interaction::Interaction,
        _: crate::interaction::RequestContext,
        _: Vec<u8>,
    ) -> Result<crate::interaction::Answer, fhir::outcome::Outcome> {
        sleep(self.0).await;
        ok(&interaction)
    }
}

#[tokio::test]
async fn a_stop_finishes_what_is_under_way_and_takes_nothing_new() {
    let running = start_with(HttpServer::new(Slow(Duration::from_millis(200)), settings())).await;
    let mut idle = running.connect().await;
    let mut busy = running.connect().await;
    busy.write_all(GET).await.unwrap();
    sleep(Duration::from_millis(50)).await;
    running.stop.send(()).unwrap();
    assert!(to_end(&mut busy).await.starts_with("HTTP/1.1 200 OK\r\n"));
    assert_eq!(to_end(&mut idle).await, "");
    timeout(Duration::from_secs(2), running.task).await.expect("drained before the deadline").unwrap();
    assert!(TcpStream::connect(running.address).await.is_err());
}

#[tokio::test]
async fn a_stop_does_not_wait_longer_than_its_deadline() {
    let settings = HttpSettings { drain_timeout: Duration::from_millis(100), ..settings() };
    let running = start_with(HttpServer::new(Slow(Duration::from_secs(60)), settings)).await;
    let mut busy = running.connect().await;
    busy.write_all(GET).await.unwrap();
    sleep(Duration::from_millis(50)).await;
    running.stop.send(()).unwrap();
    timeout(Duration::from_secs(2), running.task).await.expect("cut at the deadline").unwrap();
    assert_eq!(to_end(&mut busy).await, "");
}

#[tokio::test]
async fn a_client_that_has_said_all_it_wants_to_say_still_gets_its_answer() {
    let running = start_with(HttpServer::new(Slow(Duration::from_millis(50)), settings())).await;
    for request in [GET, b"DELETE /fhir/Composition/7 HTTP/1.1\r\nHost: localhost\r\n\r\n"] {
        let mut stream = running.connect().await;
        stream.write_all(request).await.unwrap();
        stream.shutdown().await.unwrap();
        assert!(to_end(&mut stream).await.starts_with("HTTP/1.1 200 OK\r\n"));
    }
}
