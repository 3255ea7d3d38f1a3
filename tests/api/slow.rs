//! Clients that take their time: each has a bounded one, and whoever waits behind them is answered.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::foreign::Reason::WritesToTheConnection;
use crate::server::{Listening, START, Server};

const PATIENCE: Duration = Duration::from_secs(60);

async fn impatient() -> Listening {
    let server = Server::with(START, |config| {
        WritesToTheConnection.set_default_names(config);
        config.server.header_timeout_s = 1;
        config.server.body_timeout_s = 1;
        config.server.write_timeout_s = 1;
    });
    server.await.listen().await
}

/// Sends the rest byte by byte until the server closes; what it said.
async fn drip(mut stream: TcpStream, byte: u8) -> String {
    let (mut reader, mut writer) = stream.split();
    let mut text = Vec::new();
    let dripping = async {
        while writer.write_all(&[byte]).await.is_ok() {
            sleep(Duration::from_millis(20)).await;
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        read = timeout(PATIENCE, reader.read_to_end(&mut text)) => drop(read.expect("the server closes")),
        () = dripping => {}
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[tokio::test]
async fn a_head_that_drips_ends_in_its_time() {
    let server = impatient().await;
    for begun in ["GET /fhir/met", "GET /fhir/metadata HTTP/1.1\r\nHost: localhost\r\nX-Long: "] {
        let mut stream = TcpStream::connect(server.address).await.expect("the server listens");
        stream.write_all(begun.as_bytes()).await.expect("sent");
        let text = drip(stream, b'x').await;
        assert!(!text.contains(" 200 "), "{begun:?}: {text}");
    }
}

#[tokio::test]
async fn a_body_that_drips_ends_in_its_time_and_changes_nothing() {
    let server = impatient().await;
    for length in ["Content-Length: 100000\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\nfffff\r\n{"] {
        let head = "POST /fhir/Composition HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/fhir+json\r\n";
        let mut stream = TcpStream::connect(server.address).await.expect("the server listens");
        stream.write_all(format!("{head}{length}").as_bytes()).await.expect("sent");
        let text = drip(stream, b' ').await;
        assert!(text.starts_with("HTTP/1.1 408 ") && text.contains("HCERT-132"), "{text}");
    }
    assert_eq!(server.server.seq(), 0);
}

#[tokio::test]
async fn an_http2_client_that_takes_no_answer_is_cut_off() {
    let server = impatient().await;
    let load = Arc::clone(server.server.http().load());
    let stream = TcpStream::connect(server.address).await.expect("the server listens");
    // It asks for one byte of answers and never for more, yet answers every ping.
    let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(1).initial_connection_window_size(65_535);
    let (mut client, connection) = builder.handshake(TokioIo::new(stream)).await.expect("an HTTP/2 connection");
    let connection = tokio::spawn(connection);
    let uri = format!("http://{}/fhir/metadata", server.address);
    let request = hyper::Request::get(uri).body(http_body_util::Empty::<hyper::body::Bytes>::new()).expect("a request");
    let answer = timeout(PATIENCE, client.send_request(request)).await.expect("an answer").expect("a connection");
    assert_eq!(answer.status(), 200);
    let _ = timeout(PATIENCE, connection).await.expect("the server closes");
    while load.connections.load(Ordering::Relaxed) > 0 {
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn an_http2_client_that_leaves_one_answer_and_takes_others_is_cut_off_too() {
    let server = impatient().await;
    let stream = TcpStream::connect(server.address).await.expect("the server listens");
    let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(100);
    let (mut client, connection) = builder.handshake(TokioIo::new(stream)).await.expect("an HTTP/2 connection");
    let mut connection = tokio::spawn(connection);
    let uri = format!("http://{}/fhir/Composition/1", server.address);
    let empty = http_body_util::Empty::<hyper::body::Bytes>::new;
    // Some hundred bytes, so that its time is some seconds.
    let request = hyper::Request::get(&uri).body(empty()).expect("a request");
    let left = client.send_request(request).await.expect("an answer");
    assert_eq!(left.status(), 404);
    let working = async {
        loop {
            let asked = client.send_request(hyper::Request::get(&uri).body(empty()).expect("a request")).await;
            let Ok(answer) = asked else {
                std::future::pending::<()>().await;
                continue;
            };
            let _ = answer.into_body().collect().await;
            sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        ended = timeout(PATIENCE, &mut connection) => drop(ended.expect("the server closes")),
        () = working => {}
    }
    drop(left);
}

#[tokio::test]
async fn streams_that_are_opened_and_taken_back_again_and_again_end_the_connection() {
    let server = Server::with(START, |config| WritesToTheConnection.set_default_names(config)).await.listen().await;
    let mut stream = TcpStream::connect(server.address).await.expect("the server listens");
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00".to_vec();
    for number in 0..2_000_u32 {
        let id = (2 * number + 1).to_be_bytes();
        // GET http / with one header field of HPACK's static table each, then RST_STREAM with CANCEL.
        bytes.extend([&[0, 0, 3, 1, 5][..], &id, &[0x82, 0x86, 0x84]].concat());
        bytes.extend([&[0, 0, 4, 3, 0][..], &id, &[0, 0, 0, 8]].concat());
    }
    // The server may close before all is sent.
    let _ = stream.write_all(&bytes).await;
    let mut told = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut told)).await.expect("the server closes");
    // GOAWAY (7), whose code ENHANCE_YOUR_CALM is 11.
    let is_calmed =
        told.windows(17).any(|frame| frame[3] == 7 && frame[..3] != [0; 3] && frame[13..17] == [0, 0, 0, 11]);
    assert!(is_calmed || told.is_empty(), "{told:?}");
}
