//! What a remote patient registry costs the service: one that hangs, and one that answers.
//!
//! ```text
//! cargo bench --bench registry
//! ```
//!
//! The service is a process of its own, the registry a socket of this one. First creates of 64 clients wait for a registry that takes
//! requests and never answers, while others read; rounds with and without them take turns, so that the ratio holds on a busy machine
//! too. Then creates one after the other, for patients not known yet and for the same ones
//! again, are counted against the requests that reach the registry.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hcert::corpus;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Clients whose creates hang, and those who read meanwhile.
const CREATORS: usize = 64;
const READERS: usize = 4;
/// What the registry is waited for.
const TIMEOUT: Duration = Duration::from_millis(1_000);
/// Rounds of either part, and how long each with and without hanging creates lasts.
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_millis(1_500);
/// Creates of each kind in a round of the second part; the fastest round counts.
const LOOKUPS: u64 = 100;
/// Patients from here on make the registry hang.
const HANGING_FROM: u64 = 1_000_000;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.expect("threads can be started").block_on(async {
        hanging().await;
        answering().await;
    });
}

async fn hanging() {
    let registry = Registry::start().await;
    // A breaker would end the hanging after five creates; here it is to last.
    let service = Service::start(&registry, &[("BREAKER_FAILURES", "1000")]);
    let read = service.certificate(&mut service.connect().await).await;
    let idle = service.threads();
    let (mut alone, mut beside, mut waits, mut threads) = (Vec::new(), Vec::new(), Vec::new(), idle);
    for _ in 0..ROUNDS {
        alone.push(reads(&service, &read, ROUND).await);
        let stop = Arc::new(AtomicBool::new(false));
        let mut creators = JoinSet::new();
        for creator in 0..CREATORS as u64 {
            let (mut connection, stop) = (service.connect().await, stop.clone());
            creators.spawn(async move { creates(&mut connection, HANGING_FROM + creator, &stop).await });
        }
        // All of them hang by now.
        tokio::time::sleep(TIMEOUT / 4).await;
        beside.push(reads(&service, &read, ROUND).await);
        threads = threads.max(service.threads());
        stop.store(true, Ordering::Relaxed);
        waits.extend(creators.join_all().await.into_iter().flatten());
    }
    let (alone, beside) = (median(&mut alone), median(&mut beside));
    println!("a registry that hangs, {CREATORS} clients creating");
    println!("  reads/s alone           {alone:>9.0}");
    println!("  reads/s beside creates  {beside:>9.0}   {:.2} of those alone", beside / alone);
    println!("  threads idle            {idle:>9}");
    println!("  threads beside creates  {threads:>9}");
    println!("  a create fails after    {:>6.0} ms   timeout {} ms", median(&mut waits), TIMEOUT.as_millis());
}

async fn answering() {
    let registry = Registry::start().await;
    // Nothing is forgotten while this runs.
    let service = Service::start(&registry, &[("CACHE_S", "3600")]);
    let mut connection = service.connect().await;
    service.certificate(&mut connection).await;
    // Requests that reached the registry, and milliseconds of a create, for patients not known yet and for the same ones again.
    let (mut requests, mut fastest) = ([0; 2], [f64::INFINITY; 2]);
    for round in 0..ROUNDS as u64 {
        for known in 0..2 {
            let before = registry.requests();
            let mut times = Vec::new();
            for patient in 1..=LOOKUPS {
                let (status, time) = create(&mut connection, 2_000 + round * LOOKUPS + patient).await;
                assert_eq!(status, StatusCode::CREATED);
                times.push(time);
            }
            requests[known] += registry.requests() - before;
            fastest[known] = fastest[known].min(median(&mut times));
        }
    }
    let creates = ROUNDS as u64 * LOOKUPS;
    println!("\na registry that answers, {creates} creates of each kind over {} connection", registry.connections());
    for (what, known) in [("looked up  ", 0), ("remembered ", 1)] {
        println!("  {what} {:>5} requests   a create takes {:.2} ms", requests[known], fastest[known]);
    }
}

/// Reads as fast as they are answered, each second.
async fn reads(service: &Service, path: &str, time: Duration) -> f64 {
    let start = Instant::now();
    let mut readers = JoinSet::new();
    for _ in 0..READERS {
        let (mut connection, path) = (service.connect().await, path.to_owned());
        readers.spawn(async move {
            let mut count = 0_u32;
            while start.elapsed() < time {
                let request = Request::get(&path).header("Host", "localhost").body(Full::default()).expect("a request");
                assert_eq!(connection.ask(request).await.0, StatusCode::OK);
                count += 1;
            }
            count
        });
    }
    let count: u32 = readers.join_all().await.into_iter().sum();
    f64::from(count) / start.elapsed().as_secs_f64()
}

/// Creates for a patient whom the registry does not answer for; milliseconds of each.
async fn creates(connection: &mut Connection, patient: u64, stop: &AtomicBool) -> Vec<f64> {
    let mut times = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let (status, time) = create(connection, patient).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        times.push(time);
    }
    times
}

async fn create(connection: &mut Connection, patient: u64) -> (StatusCode, f64) {
    let body = about(&corpus::certificate(7, 1), patient);
    let request = Request::post("/fhir/Composition").header("Host", "localhost");
    let request = request.header("Content-Type", "application/fhir+json").body(Full::from(body)).expect("a request");
    let start = Instant::now();
    let (status, _) = connection.ask(request).await;
    (status, start.elapsed().as_secs_f64() * 1e3)
}

/// The certificate with another patient as its subject.
fn about(body: &str, patient: u64) -> String {
    let (before, after) = body.split_once(r#""subject":[{"reference":"Patient/"#).expect("a certificate has a subject");
    let rest = &after[after.find('"').expect("a reference ends")..];
    format!(r#"{before}"subject":[{{"reference":"Patient/{patient}{rest}"#)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// `hcert dev` with a remote registry.
struct Service {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Service {
    /// `settings` are those of `[registry.remote]` that differ.
    fn start(registry: &Registry, settings: &[(&str, &str)]) -> Service {
        let folder = tempfile::tempdir().expect("a folder for the data");
        let mut command = Command::new(env!("CARGO_BIN_EXE_hcert"));
        command.args(["dev", "--listen", "127.0.0.1:0", "--data"]).arg(folder.path().join("data"));
        // Every create that hangs leaves a line in the log.
        let log = folder.path().join("serve.log");
        let stderr = std::fs::File::create(&log).expect("a file beside the data");
        command.current_dir(folder.path()).stdout(Stdio::piped()).stderr(stderr);
        command.env("HCERT__LOG__LEVEL", "error").env("HCERT__REGISTRY__MODE", "remote");
        let timeout = TIMEOUT.as_millis().to_string();
        let common = [("ADDRESS", registry.address.as_str()), ("TIMEOUT_MS", &timeout), ("TRIES", "1")];
        for (name, value) in common.iter().chain(settings) {
            command.env(format!("HCERT__REGISTRY__REMOTE__{name}"), value);
        }
        let mut child = command.spawn().expect("the service can be started");
        let mut told = String::new();
        let stdout = child.stdout.take().expect("standard output was asked for as a pipe");
        BufReader::new(stdout).read_line(&mut told).expect("the service tells where it listens");
        let address: Option<SocketAddr> =
            told.rsplit_once("//").and_then(|(_, rest)| rest.split('/').next()?.parse().ok());
        let address = address.unwrap_or_else(|| {
            panic!("the service did not start: {}", std::fs::read_to_string(&log).unwrap_or_default());
        });
        Service { child, address, _folder: folder }
    }

    async fn connect(&self) -> Connection {
        let stream = TcpStream::connect(self.address).await.expect("the service listens");
        stream.set_nodelay(true).expect("a TCP socket");
        let (sender, connection) = handshake(TokioIo::new(stream)).await.expect("HTTP/1.1");
        tokio::spawn(connection);
        Connection { sender }
    }

    /// Makes a certificate and tells its path.
    async fn certificate(&self, connection: &mut Connection) -> String {
        let (status, _) = create(connection, 1_000).await;
        assert_eq!(status, StatusCode::CREATED);
        "/fhir/Composition/1".to_owned()
    }

    fn threads(&self) -> u32 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("Threads:"));
        line.and_then(|number| number.trim().parse().ok()).expect("the kernel counts threads")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It runs until it is told to end, so there is one to kill and one to wait for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Connection {
    sender: SendRequest<Full<Bytes>>,
}

impl Connection {
    async fn ask(&mut self, request: Request<Full<Bytes>>) -> (StatusCode, Bytes) {
        self.sender.ready().await.expect("the connection stays open");
        let answer = self.sender.send_request(request).await.expect("an answer");
        let status = answer.status();
        (status, answer.into_body().collect().await.expect("a whole answer").to_bytes())
    }
}

/// A registry that knows every patient, and says nothing of those from [`HANGING_FROM`] on.
struct Registry {
    address: String,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    requests: AtomicUsize,
    connections: AtomicUsize,
}

impl Registry {
    async fn start() -> Registry {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = format!("http://{}/fhir", listener.local_addr().expect("it has an address"));
        let counts = Arc::new(Counts::default());
        let counted = counts.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.connections.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(serve(stream, counted.clone()));
            }
        });
        Registry { address, counts }
    }

    fn requests(&self) -> usize {
        self.counts.requests.load(Ordering::Relaxed)
    }

    fn connections(&self) -> usize {
        self.counts.connections.load(Ordering::Relaxed)
    }
}

async fn serve(mut stream: TcpStream, counts: Arc<Counts>) {
    stream.set_nodelay(true).expect("a TCP socket");
    let mut head = Vec::new();
    loop {
        head.clear();
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read_buf(&mut head).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => return,
            }
        }
        counts.requests.fetch_add(1, Ordering::Relaxed);
        let text = String::from_utf8_lossy(&head);
        let id = text.split_once("_id=").map_or("", |(_, rest)| rest.split(['&', ' ']).next().unwrap_or_default());
        if id.parse::<u64>().is_ok_and(|id| id >= HANGING_FROM) {
            std::future::pending::<()>().await;
        }
        let patient = format!(r#"{{"resourceType":"Patient","id":"{id}","meta":{{"versionId":"1"}}}}"#);
        let body =
            format!(r#"{{"resourceType":"Bundle","type":"searchset","total":1,"entry":[{{"resource":{patient}}}]}}"#);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/fhir+json\r\nContent-Length: {}", body.len());
        if stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await.is_err() {
            return;
        }
    }
}
