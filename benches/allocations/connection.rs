//! Reads through hyper and one kept connection, which lies in memory instead of a network. The client's side allocates nothing.

use std::future::pending;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use hcert::http::{Listen, Server, serve};
use hcert::interaction::Service;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::runtime::Runtime;

use crate::counting::Spent;

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
const BUFFER_BYTES: usize = 64 * 1024;

/// What each of `counted` reads spent on the thread of server and client, after `warm_up` others.
pub fn measure(
    runtime: &Runtime,
    server: Arc<Server<Service>>,
    paths: &[String],
    warm_up: usize,
    counted: usize,
) -> Vec<Spent> {
    let (mut client, stream) = duplex(BUFFER_BYTES);
    let requests: Vec<String> = paths
        .iter()
        .map(|path| format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nAccept: application/fhir+json\r\n\r\n"))
        .collect();
    runtime.block_on(async {
        let serving = tokio::spawn(serve(Once(Mutex::new(Some(stream))), server, pending()));
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut spent = Vec::with_capacity(counted);
        for at in 0..warm_up + counted {
            let before = Spent::by_this_thread();
            exchange(&mut client, requests[at % requests.len()].as_bytes(), &mut buffer).await;
            if at >= warm_up {
                spent.push(Spent::by_this_thread() - before);
            }
        }
        serving.abort();
        spent
    })
}

async fn exchange(client: &mut DuplexStream, request: &[u8], buffer: &mut [u8]) {
    client.write_all(request).await.expect("the server reads");
    let mut filled = 0;
    loop {
        filled += client.read(&mut buffer[filled..]).await.expect("the server answers");
        let head = std::str::from_utf8(&buffer[..filled]).expect("a certificate is UTF-8");
        if let Some((head, body)) = head.split_once("\r\n\r\n") {
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
            if length.and_then(|length| length.parse().ok()) == Some(body.len()) {
                return;
            }
        }
    }
}
