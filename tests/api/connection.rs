//! Over real sockets: what only a connection can show, and clients that misbehave on one.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use hcert::config::limits::STREAMS_MAX;
use hcert::http::limits::{HEADER_BYTES_MAX, HEADERS_MAX, HTTP2_FIELDS_MAX, TARGET_BYTES_MAX};

use crate::body::{self, Body};
use crate::foreign::Reason::WritesToTheConnection;
use crate::server::{Listening, START, Server};

/// Longer than anything here takes, so that a failure is a failure and not a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

async fn listening() -> Listening {
    Server::with(START, |config| WritesToTheConnection.set_default_names(config)).await.listen().await
}

/// A server that waits for a second only.
async fn impatient() -> Listening {
    let server = Server::with(START, |config| {
        WritesToTheConnection.set_default_names(config);
        config.server.header_timeout_s = 1;
        config.server.body_timeout_s = 1;
    });
    server.await.listen().await
}

async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.expect("the server listens")
}

/// Reads until the server closes.
async fn to_end(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset behind the answer is an end as well.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("the server closes");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads until this text was seen.
async fn until(stream: &mut TcpStream, text: &str) -> String {
    let mut read = String::new();
    let mut buffer = [0; 4096];
    while !read.contains(text) {
        let count = timeout(PATIENCE, stream.read(&mut buffer)).await.expect("an answer").expect("a connection");
        assert!(count > 0, "the server closed before {text:?}: {read}");
        read.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    read
}

async fn exchange(address: SocketAddr, request: impl AsRef<[u8]>) -> String {
    let mut stream = connect(address).await;
    // A server that refuses early may close before all is sent.
    let _ = stream.write_all(request.as_ref()).await;
    to_end(&mut stream).await
}

fn create(body: &str, headers: &str) -> String {
    format!(
        "POST /fhir/Composition HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/fhir+json\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
}

fn get(path: &str, headers: &str) -> String {
    format!("GET /fhir/{path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")
}

const LAST: &str = "Connection: close\r\n";

/// Number of certificates.
async fn total(address: SocketAddr) -> String {
    let answer = exchange(address, get("Composition?_count=0", LAST)).await;
    let (_, behind) = answer.split_once("\"total\":").expect("a Bundle");
    behind.split(',').next().expect("a number").to_owned()
}

#[tokio::test]
async fn one_connection_serves_a_whole_life() {
    let server = listening().await;
    let mut stream = connect(server.address).await;
    stream.write_all(create(&body::text("driver-draft"), "").as_bytes()).await.expect("sent");
    let created = until(&mut stream, "\r\n\r\n").await;
    assert!(created.starts_with("HTTP/1.1 201 Created\r\n") && created.contains("content-length: 0\r\n"), "{created}");
    stream.write_all(get("Composition/1", "").as_bytes()).await.expect("sent");
    let read = until(&mut stream, "QuestionnaireResponse/300\"}]}]}").await;
    assert!(read.starts_with("HTTP/1.1 200 OK\r\n") && read.contains("etag: W/\"1\"\r\n"), "{read}");
    stream.write_all(b"DELETE /fhir/Composition/1 HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("sent");
    let deleted = until(&mut stream, "\r\n\r\n").await;
    assert!(deleted.starts_with("HTTP/1.1 204 No Content\r\n") && !deleted.contains("content-length"), "{deleted}");
    stream.write_all(get("Composition/1", LAST).as_bytes()).await.expect("sent");
    assert!(to_end(&mut stream).await.starts_with("HTTP/1.1 410 Gone\r\n"));
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_their_order() {
    let server = listening().await;
    let mut requests = String::new();
    for number in 0..20 {
        let id = format!("X-Request-Id: create-{number}\r\n");
        requests += &create(&body::text("driver-draft"), &id);
        requests += &get(&format!("Composition/{}", number + 1), &format!("X-Request-Id: read-{number}\r\n"));
    }
    requests += &get("Composition/21", LAST);
    let answers = exchange(server.address, requests).await;
    let statuses: Vec<&str> = answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
    assert_eq!(statuses[..40], ["201", "200"].repeat(20), "{answers}");
    assert_eq!(statuses[40..], ["404"]);
    let ids: Vec<&str> = answers.lines().filter_map(|line| line.strip_prefix("x-request-id: ")).collect();
    let expected: Vec<String> = (0..20).flat_map(|at| [format!("create-{at}"), format!("read-{at}")]).collect();
    assert_eq!(ids[..40], expected);
}

#[tokio::test]
async fn http2_is_spoken_to_those_who_begin_with_it() {
    let server = listening().await;
    let io = TokioIo::new(connect(server.address).await);
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.expect("an HTTP/2 connection");
    tokio::spawn(connection);
    let request = |method: &str, path: &str, body: Vec<u8>| {
        let uri = format!("http://{}/fhir/{path}", server.address);
        let builder = Request::builder().method(method).uri(uri).header("Content-Type", "application/fhir+json");
        builder.body(Full::new(Bytes::from(body))).expect("a request")
    };
    // Many at once on one connection.
    let creates: Vec<_> =
        (0..30).map(|_| client.send_request(request("POST", "Composition", Body::draft().into()))).collect();
    for create in creates {
        let answer = timeout(PATIENCE, create).await.expect("an answer").expect("a connection");
        assert_eq!((answer.status().as_u16(), answer.version()), (201, hyper::Version::HTTP_2));
    }
    let answer = client.send_request(request("GET", "Composition?_count=0", Vec::new())).await.expect("an answer");
    let bundle = answer.into_body().collect().await.expect("a body").to_bytes();
    assert!(String::from_utf8_lossy(&bundle).contains("\"total\":30"));
    let head = client.send_request(request("HEAD", "Composition/1", Vec::new())).await.expect("an answer");
    assert_eq!(head.status(), 200);
    assert!(head.headers().contains_key("content-length"));
}

#[tokio::test]
async fn many_clients_at_once_lose_nothing() {
    let server = listening().await;
    let address = server.address;
    let clients: Vec<_> = (0..16)
        .map(|_| {
            tokio::spawn(async move {
                let requests = create(&body::text("occupational-final"), "").repeat(9);
                let answers = exchange(address, requests + &create(&body::text("driver-draft"), LAST)).await;
                answers.matches("HTTP/1.1 201 Created").count()
            })
        })
        .collect();
    for client in clients {
        assert_eq!(client.await.expect("no panic"), 10);
    }
    assert_eq!(total(address).await, "160");
}

#[tokio::test]
async fn a_client_is_told_to_go_on_only_when_its_body_is_wanted() {
    let server = listening().await;
    let draft = body::text("driver-draft");
    let request = create(&draft, "Expect: 100-continue\r\nConnection: close\r\n");
    let (head, body) = request.split_once("\r\n\r\n").expect("a head and a body");
    let mut stream = connect(server.address).await;
    stream.write_all(format!("{head}\r\n\r\n").as_bytes()).await.expect("sent");
    until(&mut stream, "HTTP/1.1 100 Continue\r\n\r\n").await;
    stream.write_all(body.as_bytes()).await.expect("sent");
    assert!(to_end(&mut stream).await.contains("HTTP/1.1 201 Created\r\n"));

    let refused = head.replace("application/fhir+json", "text/plain");
    let answer = exchange(server.address, format!("{refused}\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 415 Unsupported Media Type\r\n"), "{answer}");
}

#[tokio::test]
async fn a_body_of_twenty_megabytes_is_refused_before_it_is_read() {
    let server = listening().await;
    // The length alone is enough: not one byte of the body is ever sent.
    let mut stream = connect(server.address).await;
    let head = create("", "").replace("Content-Length: 0", "Content-Length: 20971520");
    stream.write_all(head.as_bytes()).await.expect("sent");
    let answer = until(&mut stream, "HCERT-139").await;
    assert!(answer.starts_with("HTTP/1.1 413 Payload Too Large\r\n"), "{answer}");

    // Without a length it is refused as soon as it has grown too long.
    let head = create("", "").replace("Content-Length: 0", "Transfer-Encoding: chunked");
    let mut stream = connect(server.address).await;
    stream.write_all(head.as_bytes()).await.expect("sent");
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    for _ in 0..40 {
        stream.write_all(chunk.as_bytes()).await.expect("the server reads on, so that its answer is seen");
    }
    let answer = until(&mut stream, "HCERT-139").await;
    assert!(answer.starts_with("HTTP/1.1 413 Payload Too Large\r\n"), "{answer}");
    assert_eq!(total(server.address).await, "0");
}

/// What was seen: 2^64 - 1 was 431, as if the headers were too long, and 2^64 was 400, as if it were no number.
#[tokio::test]
async fn a_length_beyond_all_numbers_is_413_and_one_that_is_no_number_400() {
    let server = listening().await;
    let told = |length: &str, before: &str| {
        let head = create("", before).replace("Content-Length: 0", &format!("content-LENGTH:{length}"));
        exchange(server.address, head)
    };
    let many = format!("{}1", "9".repeat(10_000));
    let long = format!("X-Long: {}\r\n", "x".repeat(1_000));
    for length in ["18446744073709551614", "18446744073709551615", "18446744073709551616"]
        .into_iter()
        .chain(["99999999999999999999999", &many])
    {
        for (length, before) in [(length.to_owned(), ""), (format!(" \t{length} "), long.as_str())] {
            let answer = told(&length, before).await;
            assert!(answer.starts_with("HTTP/1.1 413 Payload Too Large\r\n"), "{length:.30}: {answer}");
            assert!(answer.contains("HCERT-139"), "{length:.30}: {answer}");
        }
    }
    for length in ["", "a", "-1", "+1", "0x10", "1 2", "1,2", "99999999999999999999999a"] {
        let answer = told(length, "").await;
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("OperationOutcome"), "{length}: {answer}");
    }
    assert_eq!(total(server.address).await, "0");
}

#[tokio::test]
async fn headers_that_are_too_many_or_too_long_are_431() {
    let server = listening().await;
    let headers: String = (0..10_000).map(|number| format!("X-{number}: 1\r\n")).collect();
    let answer = exchange(server.address, get("metadata", &headers)).await;
    assert!(answer.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"), "{answer}");
    assert!(answer.contains("HCERT-218"), "{answer}");
    for length in [100_000, 200_000, 1_000_000] {
        let long = format!("X-Long: {}\r\n{LAST}", "x".repeat(length));
        let answer = exchange(server.address, get("metadata", &long)).await;
        assert!(answer.starts_with("HTTP/1.1 431 ") && answer.contains("HCERT-218"), "{answer}");
    }
    // A head that does not end is refused when it is longer than the bound, and not held any further.
    let mut stream = connect(server.address).await;
    let begun = format!("GET /fhir/metadata HTTP/1.1\r\nHost: a\r\nX-Long: {}", "x".repeat(HEADER_BYTES_MAX));
    stream.write_all(begun.as_bytes()).await.expect("sent");
    let answer = to_end(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 431 ") && answer.contains("HCERT-218"), "{answer}");

    let answer = exchange(server.address, get("metadata", LAST)).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "the server is well: {answer}");
}

/// What was seen: an address of 200 KB was 431, without a word.
#[tokio::test]
async fn a_target_that_is_too_long_is_414() {
    let server = listening().await;
    for length in [TARGET_BYTES_MAX, HEADER_BYTES_MAX, 65_535, 70_000, 100_000, 200_000, 1_000_000] {
        for (before, target) in [("", "Composition/"), ("", "Composition?title="), ("first", "metadata?x=")] {
            let target = format!("{target}{}", "x".repeat(length));
            let mut stream = connect(server.address).await;
            if !before.is_empty() {
                stream.write_all(get("Composition/1", "").as_bytes()).await.expect("sent");
                until(&mut stream, "</div>\"},\"issue\":").await;
            }
            let _ = stream.write_all(get(&target, LAST).as_bytes()).await;
            let answer = to_end(&mut stream).await;
            let (head, body) = answer.rsplit_once("\r\n\r\n").expect("a head and a body");
            assert!(head.contains("HTTP/1.1 414 URI Too Long\r\n"), "{length}: {answer}");
            assert!(head.contains("content-type: application/fhir+json") && head.contains("x-request-id: "), "{head}");
            assert!(
                body.starts_with("{\"resourceType\":\"OperationOutcome\"") && body.contains("HCERT-220"),
                "{answer}"
            );
        }
    }
    let answer = exchange(server.address, get("metadata", LAST)).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "the server is well: {answer}");
}

#[tokio::test]
async fn a_target_that_is_too_long_is_414_over_http2() {
    let server = listening().await;
    let io = TokioIo::new(connect(server.address).await);
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.expect("an HTTP/2 connection");
    tokio::spawn(connection);
    let uri = format!("http://{}/fhir/Composition/{}", server.address, "x".repeat(TARGET_BYTES_MAX));
    let request = Request::get(uri).body(Full::<Bytes>::default()).expect("a request");
    let answer = timeout(PATIENCE, client.send_request(request)).await.expect("an answer").expect("a connection");
    assert_eq!(answer.status(), 414);
    let body = answer.into_body().collect().await.expect("a body").to_bytes();
    assert!(String::from_utf8_lossy(&body).contains("HCERT-220"));
    let mut request = Request::get(format!("http://{}/fhir/metadata", server.address));
    request = request.header("x-long", "x".repeat(200_000));
    let request = request.body(Full::<Bytes>::default()).expect("a request");
    let answer = timeout(PATIENCE, client.send_request(request)).await.expect("an answer");
    assert!(answer.is_err() || answer.is_ok_and(|answer| answer.status() == 431));
}

/// A connection of HTTP/2, and what ends with it.
async fn http2(
    address: SocketAddr,
) -> (hyper::client::conn::http2::SendRequest<Full<Bytes>>, tokio::task::JoinHandle<hyper::Result<()>>) {
    let io = TokioIo::new(connect(address).await);
    let (client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.expect("an HTTP/2 connection");
    (client, tokio::spawn(connection))
}

/// What was seen: 2 900 headers of HTTP/2 were taken, some 280 KB of memory for each request.
#[tokio::test]
async fn a_head_has_at_most_100_headers_and_32_kib_in_both_protocols() {
    let server = listening().await;
    let uri = format!("http://{}/fhir/metadata", server.address);
    // `host` is one of them over HTTP/1.1, and none over HTTP/2.
    let fields = |count: usize| (0..count).map(|number| (format!("x-{number}"), "1".to_owned())).collect::<Vec<_>>();
    // A colon, a blank and the end of each line, and the first line.
    let long =
        |bytes: usize| vec![("x-long".to_owned(), "x".repeat(bytes - "/fhir/metadata".len() - "x-long".len() - 4))];
    let (refused, passes) = ((431, true), (200, false));
    for (headers, expected) in [
        (fields(HEADERS_MAX), passes),
        (fields(HEADERS_MAX + 1), refused),
        (fields(HTTP2_FIELDS_MAX as usize - 20), refused),
        (long(HEADER_BYTES_MAX), passes),
        (long(HEADER_BYTES_MAX + 1), refused),
    ] {
        let (mut client, _connection) = http2(server.address).await;
        let mut request = Request::get(&uri);
        for (name, value) in &headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::default()).expect("a request");
        let answer = timeout(PATIENCE, client.send_request(request)).await.expect("an answer").expect("a connection");
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        assert_eq!((status, String::from_utf8_lossy(&body).contains("HCERT-218")), expected, "{}", headers.len());
    }
    let (mut client, connection) = http2(server.address).await;
    let mut request = Request::get(&uri);
    for (name, value) in fields(HTTP2_FIELDS_MAX as usize) {
        request = request.header(name, value);
    }
    let request = request.body(Full::default()).expect("a request");
    assert!(timeout(PATIENCE, client.send_request(request)).await.expect("an end").is_err());
    let _ = timeout(PATIENCE, connection).await.expect("the connection ends");

    let lines = |count: usize| fields(count).into_iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let text = |headers: String| {
        format!("GET /fhir/metadata HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n")
    };
    let long = |bytes: usize| format!("X-Long: {}\r\n", "x".repeat(bytes - text("X-Long: \r\n".to_owned()).len()));
    for (headers, status) in [
        (lines(HEADERS_MAX - 2), "200"),
        (lines(HEADERS_MAX - 1), "431"),
        (long(HEADER_BYTES_MAX), "200"),
        (long(HEADER_BYTES_MAX + 1), "431"),
    ] {
        let answer = exchange(server.address, text(headers)).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
}

#[tokio::test]
async fn a_client_with_as_many_requests_at_once_as_it_may_and_the_longest_tokens_is_served() {
    let server = listening().await;
    let (client, _connection) = http2(server.address).await;
    let uri = format!("http://{}/fhir/metadata", server.address);
    let token = format!("Bearer {}", "x".repeat(16 * 1024));
    for _ in 0..3 {
        let requests: Vec<_> = (0..STREAMS_MAX)
            .map(|_| {
                let request = Request::get(&uri).header("authorization", &token).body(Full::default());
                tokio::spawn(client.clone().send_request(request.expect("a request")))
            })
            .collect();
        for request in requests {
            let answer = timeout(PATIENCE, request).await.expect("an answer").expect("no panic").expect("a connection");
            assert_eq!(answer.status(), 200);
            answer.into_body().collect().await.expect("a body");
        }
    }
}

#[tokio::test]
async fn what_is_no_http_is_400() {
    let server = listening().await;
    for nonsense in [
        "nonsense\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{fc}\u{3}",
        "GET  /fhir/metadata HTTP/1.1\r\n\r\n",
        "GET /fhir/metadata HTTP/9.9\r\n\r\n",
        "GET /fhir/metadata HTTP/1.1\r\nNo colon\r\n\r\n",
        "POST /fhir/Composition HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n123456",
    ] {
        let answer = exchange(server.address, nonsense).await;
        let is_told = answer.starts_with("HTTP/1.1 400 Bad Request\r\n") && answer.contains("OperationOutcome");
        assert!(is_told || answer.is_empty(), "{nonsense:?}: {answer}");
    }
    assert_eq!(total(server.address).await, "0");
}

#[tokio::test]
async fn a_silent_client_is_cut_off() {
    let server = impatient().await;
    for begun in ["", "G", "GET /fhir/metadata HTTP/1.1\r\nHost", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let answer = exchange(server.address, begun).await;
        assert!(!answer.contains("200 OK"), "{begun:?}: {answer}");
    }
    assert_eq!(total(server.address).await, "0");
}

#[tokio::test]
async fn a_client_that_stops_in_the_middle_of_its_body_changes_nothing() {
    let server = impatient().await;
    let request = create(&body::text("driver-final"), "");
    let half = &request[..request.len() - 1];

    // It stays, and is told.
    let answer = exchange(server.address, half).await;
    assert!(answer.starts_with("HTTP/1.1 408 Request Timeout\r\n") && answer.contains("HCERT-132"), "{answer}");

    // It goes away.
    let mut stream = connect(server.address).await;
    stream.write_all(half.as_bytes()).await.expect("sent");
    stream.shutdown().await.expect("closed");
    let answer = to_end(&mut stream).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert_eq!(total(server.address).await, "0");
}

#[tokio::test]
async fn what_was_sent_whole_is_stored_though_the_client_is_gone() {
    let server = listening().await;
    let mut stream = connect(server.address).await;
    stream.write_all(create(&body::text("driver-final"), "").as_bytes()).await.expect("sent");
    drop(stream);
    let waited = timeout(PATIENCE, async {
        while total(server.address).await != "1" {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    waited.await.expect("the certificate is there");
}
