//! A server on a bare socket that plays whatever a registry may do.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// What the server does with one request.
pub(super) enum Play {
    /// Sends bytes and waits for the next request.
    Send(Vec<u8>),
    /// Sends bytes and closes.
    Close(Vec<u8>),
    /// Sends bytes, and then the same again and again until nobody takes them.
    Endless(Vec<u8>, Vec<u8>),
    /// Sends bytes, and then a blank now and then.
    Trickle(Vec<u8>),
    /// Keeps the connection and says nothing.
    Hang,
}

/// One request as the server saw it.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Counted from 1 over all connections.
    pub number: usize,
    /// First line and headers.
    pub head: String,
    pub body: String,
}

impl Seen {
    /// Value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// What stands between method and version.
    pub(super) fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }
}

#[derive(Clone)]
pub(super) struct Server {
    pub socket: SocketAddr,
    scheme: &'static str,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<AtomicUsize>,
}

type Script = Arc<dyn Fn(&Seen) -> Play + Send + Sync>;

impl Server {
    pub(super) async fn start(script: impl Fn(&Seen) -> Play + Send + Sync + 'static) -> Server {
        Server::start_with(None, script).await
    }

    pub(super) async fn start_with(
        tls: Option<TlsAcceptor>,
        script: impl Fn(&Seen) -> Play + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Server {
            socket: listener.local_addr().unwrap(),
            scheme: if tls.is_some() { "https" } else { "http" },
            seen: Arc::default(),
            connections: Arc::default(),
        };
        let (shared, script): (Server, Script) = (server.clone(), Arc::new(script));
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                shared.connections.fetch_add(1, Ordering::SeqCst);
                let (shared, script, tls) = (shared.clone(), script.clone(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => shared.serve(stream, script).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                shared.serve(stream, script).await;
                            }
                        }
                    }
                });
            }
        });
        server
    }

    /// Base address, by name: the certificate of the TLS tests is for it.
    pub(super) fn address(&self) -> String {
        format!("{}://localhost:{}/fhir", self.scheme, self.socket.port())
    }

    pub(super) fn requests(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(super) fn last(&self) -> Seen {
        self.seen.lock().unwrap().last().unwrap().clone()
    }

    async fn serve(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin, script: Script) {
        while let Some(head) = head(&mut stream).await {
            let mut seen = Seen { number: 0, head, body: String::new() };
            let length = seen.header("content-length").map_or(0, |length| length.trim().parse().unwrap());
            let mut body = vec![0; length];
            if stream.read_exact(&mut body).await.is_err() {
                return;
            }
            seen.body = String::from_utf8(body).unwrap();
            let seen = {
                let mut all = self.seen.lock().unwrap();
                seen.number = all.len() + 1;
                all.push(seen.clone());
                seen
            };
            match script(&seen) {
                Play::Send(bytes) => {
                    if stream.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
                Play::Close(bytes) => {
                    let _ = stream.write_all(&bytes).await;
                    let _ = stream.shutdown().await;
                    return;
                }
                Play::Endless(start, again) => {
                    let _ = stream.write_all(&start).await;
                    while stream.write_all(&again).await.is_ok() {}
                    return;
                }
                Play::Trickle(start) => {
                    let _ = stream.write_all(&start).await;
                    while stream.write_all(b" ").await.is_ok() {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    return;
                }
                Play::Hang => std::future::pending().await,
            }
        }
    }
}

async fn head(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}

/// An answer in the type of FHIR.
pub(super) fn json(status: u16, body: &str) -> Vec<u8> {
    answer(status, "Content-Type: application/fhir+json; charset=utf-8\r\n", body)
}

/// An answer with these header lines.
pub(super) fn answer(status: u16, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} As it is\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
