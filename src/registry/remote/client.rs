//! One HTTP request and its answer, within a time and a size.

use std::collections::VecDeque;
use std::error::Error as _;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Bytes, Incoming};
use hyper::http::Extensions;
use hyper::{HeaderMap, Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::{Connected, HttpConnector, HttpInfo, capture_connection};
use hyper_util::client::legacy::{Client as Pool, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::answer::RegistryResponse;
use crate::config::limits::{REGISTRY_ANSWER_BYTES_MAX, REGISTRY_LARGE_ANSWERS};
use crate::registry::NoAnswer;

/// Seconds that an idle connection to the registry is kept. Servers mostly close theirs after a minute.
const REGISTRY_IDLE_S: u64 = 30;

/// Bytes from which an answer of the registry is a large one. It is read in turns, on a thread of its own.
pub(super) const REGISTRY_LARGE_ANSWER_BYTES: usize = 256 * 1024;

/// Bytes of an answer's first line and headers.
const REGISTRY_HEAD_BYTES_MAX: usize = 64 * 1024;

/// Connections to one registry, kept and used again. Redirects are not followed, and proxies of the environment are not known.
#[derive(Debug)]
pub(super) struct RegistryClient {
    pool: Pool<HttpsConnector<HttpConnector>, Empty<Bytes>>,
    /// Keeps no connection.
    once: Pool<HttpsConnector<HttpConnector>, Empty<Bytes>>,
    proven: ProvenConnections,
    large: Arc<Semaphore>,
}

/// What came back.
#[derive(Debug)]
pub(super) struct ReceivedResponse {
    pub answer: RegistryResponse,
    /// Held until a large answer is judged.
    pub turn: Option<OwnedSemaphorePermit>,
}

/// Why nothing did.
#[derive(Debug)]
pub(super) struct TransportFailure {
    pub why: NoAnswer,
    /// Whether it may help to ask again: no connection, or one that broke.
    pub is_passing: bool,
}

impl RegistryClient {
    /// `connections` may be idle at once.
    pub(super) fn new(tls: ClientConfig, connections: usize) -> RegistryClient {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(Duration::from_secs(REGISTRY_IDLE_S)));
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(tcp);
        let keeping = |connections: usize| {
            Pool::builder(TokioExecutor::new())
                .timer(TokioTimer::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(Duration::from_secs(REGISTRY_IDLE_S))
                .pool_max_idle_per_host(connections)
                .http1_max_buf_size(REGISTRY_HEAD_BYTES_MAX)
                .build(connector.clone())
        };
        let (pool, once) = (keeping(connections), keeping(0));
        let large = Arc::new(Semaphore::new(REGISTRY_LARGE_ANSWERS));
        RegistryClient { pool, once, proven: ProvenConnections::new(connections), large }
    }

    /// Sends a GET and reads the answer as far as it is JSON. `is_told_apart`: an answer to another question is told from the right one, so
    /// that a kept connection may be used; what comes late on one, or twice, would else be taken for the answer.
    ///
    /// A kept connection that the other side gave up just then is no failure: the request goes once more, over another one.
    pub(super) async fn get(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        is_told_apart: bool,
        until: Instant,
    ) -> Result<ReceivedResponse, TransportFailure> {
        let pool = if is_told_apart { &self.pool } else { &self.once };
        let mut is_second = false;
        let response = loop {
            let mut request = Request::new(Empty::new());
            request.uri_mut().clone_from(uri);
            request.headers_mut().clone_from(headers);
            let connection = capture_connection(&mut request);
            match timeout_at(until, pool.request(request)).await {
                Ok(Ok(response)) => break response,
                Ok(Err(error)) if !is_second && self.proven.forgives(&error) => is_second = true,
                Ok(Err(error)) => return Err(lost(&error)),
                Err(_) if connection.connection_metadata().is_none() => return Err(late("no connection", true)),
                Err(_) => return Err(late("no answer", false)),
            }
        };
        if is_told_apart {
            self.proven.add(response.extensions());
        }
        self.read(response, until).await
    }

    async fn read(&self, response: Response<Incoming>, until: Instant) -> Result<ReceivedResponse, TransportFailure> {
        let (head, mut body) = response.into_parts();
        let status = head.status.as_u16();
        if !RegistryResponse::is_json(&head.headers) {
            return Ok(ReceivedResponse {
                answer: RegistryResponse { status, headers: head.headers, body: None },
                turn: None,
            });
        }
        let too_large = || unreadable(format!("it has more than {REGISTRY_ANSWER_BYTES_MAX} bytes"));
        if body.size_hint().lower() > REGISTRY_ANSWER_BYTES_MAX as u64 {
            return Err(too_large());
        }
        let (mut bytes, mut turn) = (Vec::new(), None);
        while let Some(frame) =
            timeout_at(until, body.frame()).await.map_err(|_| late("no end of the answer", false))?
        {
            let frame = frame.map_err(|error| broken(&error))?;
            // Trailers say nothing that is read here.
            let Ok(data) = frame.into_data() else { continue };
            let bytes_now = bytes.len() + data.len();
            if bytes_now > REGISTRY_ANSWER_BYTES_MAX {
                return Err(too_large());
            }
            if bytes_now > REGISTRY_LARGE_ANSWER_BYTES && turn.is_none() {
                let waited = timeout_at(until, self.large.clone().acquire_owned()).await;
                let waited = waited.map_err(|_| late("no turn for a large answer", false))?;
                turn = Some(waited.expect("nobody closes the semaphore"));
            }
            bytes.extend_from_slice(&data);
        }
        Ok(ReceivedResponse { answer: RegistryResponse { status, headers: head.headers, body: Some(bytes) }, turn })
    }
}

/// Connections that an answer came over, the newest last, by their address on this side.
#[derive(Debug)]
struct ProvenConnections {
    addresses: Mutex<VecDeque<SocketAddr>>,
    addresses_max: usize,
}

impl ProvenConnections {
    fn new(connections: usize) -> ProvenConnections {
        ProvenConnections { addresses: Mutex::default(), addresses_max: 2 * connections }
    }

    fn add(&self, extensions: &Extensions) {
        let Some(address) = extensions.get::<HttpInfo>().map(HttpInfo::local_addr) else { return };
        // Nothing panics while it is held; so below.
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        if addresses.back() == Some(&address) {
            return;
        }
        addresses.retain(|known| *known != address);
        addresses.push_back(address);
        if addresses.len() > self.addresses_max {
            addresses.pop_front();
        }
    }

    /// Whether a connection that had served before was closed instead of answering.
    fn forgives(&self, error: &Error) -> bool {
        let mut extensions = Extensions::new();
        error.connect_info().iter().for_each(|connected: &&Connected| connected.get_extras(&mut extensions));
        let Some(address) = extensions.get::<HttpInfo>().map(HttpInfo::local_addr) else { return false };
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        let known = addresses.len();
        addresses.retain(|known| *known != address);
        addresses.len() < known && was_closed(error)
    }
}

fn was_closed(error: &Error) -> bool {
    sources(error).any(|source| {
        let http = source.downcast_ref::<hyper::Error>();
        let socket = source.downcast_ref::<io::Error>().map(io::Error::kind);
        http.is_some_and(|error| error.is_incomplete_message() || error.is_closed() || error.is_canceled())
            || matches!(socket, Some(io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe))
    })
}

fn lost(error: &Error) -> TransportFailure {
    let http = sources(error).find_map(|source| source.downcast_ref::<hyper::Error>());
    if !error.is_connect() && http.is_some_and(|error| error.is_parse() || error.is_parse_too_large()) {
        return unreadable("it is not HTTP");
    }
    TransportFailure { why: NoAnswer::Unreachable(words(error)), is_passing: true }
}

/// What the answer was read from broke, or its frame did.
fn broken(error: &hyper::Error) -> TransportFailure {
    if error.is_parse() {
        return unreadable("it is not HTTP");
    }
    TransportFailure { why: NoAnswer::Unreachable(words(error)), is_passing: true }
}

fn unreadable(why: impl Into<String>) -> TransportFailure {
    TransportFailure { why: NoAnswer::Unreadable(why.into()), is_passing: false }
}

fn late(missing: &str, is_passing: bool) -> TransportFailure {
    TransportFailure { why: NoAnswer::Timeout(format!("{missing} within its time")), is_passing }
}

/// An error with its causes, which name hosts, ports and certificates at most.
fn words(error: &(dyn std::error::Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        words.push_str(": ");
        words.push_str(&error.to_string());
        source = error.source();
    }
    words
}

fn sources(error: &Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(error.source(), |&error| error.source())
}
