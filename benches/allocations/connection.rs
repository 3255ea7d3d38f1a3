//! Requests through hyper and one kept connection, which lies in memory instead of a network. The client's side allocates nothing.

use std::future::pending;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use certificate::Version;
use fhir::outcome::Outcome;
use hcert::http::{HttpServer, Interactions, Listen, serve};
use hcert::interaction::{Answer, Interaction, RequestContext};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::runtime::Runtime;

use crate::counting::Spent;

/// A certificate as most of them are.
const BODY_BYTES: usize = 4096;

/// What HTTP alone costs: one body, out of memory.
pub(crate) struct Floor(Vec<u8>);

impl Default for Floor {
    fn default() -> Floor {
        Floor(vec![b'x'; BODY_BYTES])
    }
}

impl Interactions for Floor {
    async fn run(&self, _: Interaction, _: RequestContext, _: Vec<u8>) -> Result<Answer, Outcome> {
        Ok(Answer { status: 200, body: self.0.clone(), version: Some((Version::FIRST, 0)), ..Answer::default() })
    }
}

/// One connection, then none.
struct Once(Mutex<Option<DuplexStream>>);

impl Listen for Once {
    type Stream = DuplexStream;

    async fn accept(&self) -> io::Result<(DuplexStream, Option<IpAddr>)> {
        let stream = self.0.lock().expect("nobody panics with it").take();
        match stream {
            Some(stream) => Ok((stream, None)),
            None => pending().await,
        }
    }
}

/// Larger than any answer, so that each is written at once.
const BUFFER_BYTES: usize = 256 * 1024;

/// What each of `counted` requests spent on the thread of server and client, after `warm_up` others.
pub(crate) fn measure(
    runtime: &Runtime,
    server: Arc<HttpServer<impl Interactions>>,
    paths: &[String],
    warm_up: usize,
    counted: usize,
) -> Vec<Spent> {
    let (mut client, stream) = duplex(BUFFER_BYTES);
    let requests: Vec<String> = paths
        .iter()
        .map(|path| {
            format!("GET /fhir/{path} HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nAccept: application/fhir+json\r\n\r\n")
        })
        .collect();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut spent = Vec::with_capacity(counted);
    let serving = runtime.spawn(serve(Once(Mutex::new(Some(stream))), server, pending()));
    for at in 0..warm_up + counted {
        let before = Spent::by_this_thread();
        hcert_exchanged(runtime, &mut client, requests[at % requests.len()].as_bytes(), &mut buffer);
        if at >= warm_up {
            spent.push(Spent::by_this_thread() - before);
        }
    }
    serving.abort();
    spent
}

/// Of its own, so that a profiler can be told to look at nothing else.
#[inline(never)]
#[unsafe(no_mangle)]
fn hcert_exchanged(runtime: &Runtime, client: &mut DuplexStream, request: &[u8], buffer: &mut [u8]) {
    runtime.block_on(async {
        client.write_all(request).await.expect("the server reads");
        let mut filled = 0;
        while !is_whole(&buffer[..filled]) {
            filled += client.read(&mut buffer[filled..]).await.expect("the server answers");
        }
    });
}

/// Whether an answer with all of its body is there. It is looked at from behind the head only, so that the client costs little.
fn is_whole(answer: &[u8]) -> bool {
    let Some(end) = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { return false };
    let head = std::str::from_utf8(&answer[..end]).expect("a head is ASCII");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
    length.and_then(|length| length.parse().ok()) == Some(answer.len() - end - 4)
}
