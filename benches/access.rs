//! What access control and the audit trail cost: CPU that the server spends on a request over a socket, beside the same request without
//! them, in turn.
//!
//! ```text
//! cargo bench --bench access
//! cargo bench --bench access -- 1
//! ```
//!
//! The floor of each line is measured in the same run. CPU is that of the thread that serves, kernel included; the trail's own threads
//! make durable what it wrote, at most twenty times a second.

#[path = "allocations/store.rs"]
#[expect(dead_code, reason = "the store serves other benches too")]
mod store;

use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use certificate::{Id, Openness};
use engine::{Actor, Clock, Write};
use hcert::access::Tokens;
use hcert::access::token::{TokenRequest, issue_in};
use hcert::audit::{AuditTrail, TrailOptions};
use hcert::config::Config;
use hcert::http::HttpServer;
use hcert::interaction::{Policy, Service};

use store::{Store, serve};

const CERTIFICATES: u64 = 30_000;
/// One certificate in so many is closed to doctors.
const CLOSED_SHARE: u64 = 100;
const ROUNDS: usize = 9;
/// Requests sent before the first answer is read, unless an argument says another number. With one, as most clients do it, waking the
/// server is measured too.
const AT_ONCE: usize = 20;
/// Moment of all requests, so that tokens do not end: 2026-11-21.
const NOW: i64 = 1_795_219_200_000;
/// Who holds the tokens.
const PERSON: &str = "37605030299";

struct Bench {
    bare: Serving,
    guarded: Serving,
    audited: Serving,
    folder: tempfile::TempDir,
    at_once: usize,
}

/// A server on a thread of its own.
struct Serving {
    address: SocketAddr,
    /// CPU clock of the thread.
    clock: libc::clockid_t,
}

fn main() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let store = Store::fill_with(&folder.path().join("data"), 0, CERTIFICATES);
    let clock: Clock = Arc::new(|| NOW);
    let tokens = Arc::new(Tokens::open(&Config::default(), folder.path(), clock.clone()).expect("a key can be made"));
    let trail = TrailOptions {
        folder: folder.path().to_owned(),
        file_bytes: 64 << 20,
        keep_from: Arc::new(|| None),
        clock: clock.clone(),
    };
    let log = Arc::new(AuditTrail::open(trail).expect("a trail can be begun"));
    let with_trail = Policy { audit: Some(log), ..Policy::default() };
    let bench = Bench {
        bare: Serving::start(serve(&store.engine, Policy::default(), None, clock.clone())),
        guarded: Serving::start(serve(&store.engine, Policy::default(), Some(tokens.clone()), clock.clone())),
        audited: Serving::start(serve(&store.engine, with_trail, Some(tokens), clock)),
        folder,
        at_once: std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(AT_ONCE),
    };
    let doctor = bench.token("doctor", None, None);
    println!("{:<52} {:>9} {:>8}", "", "CPU µs", "ratio");
    let id = store.ids(certificate::State::Completed).nth(100).expect("there are completed ones");
    let read = format!("/fhir/Composition/{id}");
    bench.compare("read", &read, &doctor, 4_000, true);
    let patient = store.subjects(5)[0];
    let by_subject = format!("/fhir/Composition?subject=Patient/{patient}");
    bench.compare("search by subject, 5 hits", &by_subject, &doctor, 1_500, true);
    bench.searches("nothing closed", &store, &doctor);

    for number in (CLOSED_SHARE..CERTIFICATES).step_by(CLOSED_SHARE as usize) {
        let id = Id::new(number).expect("counted from above zero");
        let (doctor, representative) = (Some(Openness::Closed), None);
        let closing = Write::Consent { id, doctor, representative, if_match: None, who: Actor::default(), rows: None };
        drop(store.engine.append(closing).blocking_recv());
    }
    store.settle();
    bench.searches("1 % closed to doctors", &store, &doctor);
    bench.compare("read, another one closed", &read, &doctor, 4_000, true);
}

impl Bench {
    fn token(&self, role: &str, patient: Option<&str>, party: Option<&str>) -> String {
        let order = TokenRequest {
            person: PERSON.to_owned(),
            role: role.to_owned(),
            patient: patient.map(str::to_owned),
            represented_party: party.map(str::to_owned),
            ..TokenRequest::default()
        };
        let issued = issue_in(self.folder.path(), &Config::default(), &order, NOW / 1000).expect("the key is there");
        format!("Bearer {}", issued.token)
    }

    fn searches(&self, when: &str, store: &Store, doctor: &str) {
        let employer = store.employers()[0].to_string();
        let org = self.token("org-legal-representative", None, Some(&employer));
        let official = self.token("gov-official", None, None);
        let of_employer = format!("/fhir/Composition?section-code-text=employer${employer}");
        for (name, path, token, count) in [
            ("dense, 20 hits, doctor", "/fhir/Composition?status=final", doctor, 600),
            ("dense by date, page 500, doctor", "/fhir/Composition?status=final&_sort=-date&_page=500", doctor, 300),
            ("number only, doctor", "/fhir/Composition?status=final&_count=0", doctor, 2_000),
            ("dense drivers, 20 hits, official", "/fhir/Composition?category=driver-group-I", &official, 600),
            ("by employer, number only, employer", &format!("{of_employer}&_count=0"), &org, 2_000),
        ] {
            self.compare(&format!("{name} ({when})"), path, token, count, false);
        }
    }

    /// The same request without access control, with it, and with the trail too.
    fn compare(&self, name: &str, path: &str, token: &str, count: usize, with_trail: bool) {
        let mut best = [u64::MAX; 3];
        for _ in 0..ROUNDS {
            best[0] = best[0].min(self.spend(&self.bare, path, None, count));
            best[1] = best[1].min(self.spend(&self.guarded, path, Some(token), count));
            if with_trail {
                best[2] = best[2].min(self.spend(&self.audited, path, Some(token), count));
            }
        }
        let count = count / self.at_once * self.at_once;
        let each = |nanoseconds: u64| nanoseconds as f64 / count as f64 / 1e3;
        println!("{:<52} {:>9.2}", format!("{name}: bare"), each(best[0]));
        let kinds = [("with rights", best[1]), ("with rights and trail", best[2])];
        for (kind, spent) in kinds.into_iter().take(if with_trail { 2 } else { 1 }) {
            let ratio = spent as f64 / best[0] as f64;
            println!("{:<52} {:>9.2} {:>8.2}", format!("{name}: {kind}"), each(spent), ratio);
        }
    }

    /// CPU of so many requests, nanoseconds.
    fn spend(&self, server: &Serving, path: &str, token: Option<&str>, count: usize) -> u64 {
        let authorization = token.map_or_else(String::new, |token| format!("authorization: {token}\r\n"));
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{authorization}\r\n");
        let batch = request.repeat(self.at_once);
        // A connection of its own: on a slow machine, one that waits for its turn is closed as an idle one.
        let stream = TcpStream::connect(server.address).expect("it listens");
        stream.set_nodelay(true).expect("a socket");
        let mut stream = BufReader::with_capacity(1 << 18, stream);
        stream.get_mut().write_all(request.as_bytes()).expect("the server is there");
        answer(&mut stream);
        let before = server.cpu();
        for _ in 0..count / self.at_once {
            stream.get_mut().write_all(batch.as_bytes()).expect("the server is there");
            (0..self.at_once).for_each(|_| answer(&mut stream));
        }
        server.cpu() - before
    }
}

impl Serving {
    fn start(server: Arc<HttpServer<Service>>) -> Serving {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a socket");
        let address = listener.local_addr().expect("it has an address");
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut clock = 0;
            // SAFETY: the thread is this one, and the place to write to is ours.
            unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
            tell.send(clock).expect("who started us waits");
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
                hcert::http::serve(listener, server, std::future::pending()).await;
            });
        });
        Serving { address, clock: told.recv().expect("the thread has started") }
    }

    /// CPU time of the serving thread, nanoseconds.
    fn cpu(&self) -> u64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the thread never ends, so its clock is there, and the place to write to is ours.
        unsafe { libc::clock_gettime(self.clock, &raw mut time) };
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}

/// Reads an answer to its end.
fn answer(stream: &mut BufReader<TcpStream>) {
    let mut line = String::new();
    let mut length = 0;
    let mut first = true;
    loop {
        line.clear();
        stream.read_line(&mut line).expect("an answer");
        assert!(!first || line.starts_with("HTTP/1.1 200"), "{line}");
        first = false;
        match line.trim_end() {
            "" => break,
            header => {
                if let Some(text) = header.strip_prefix("content-length: ") {
                    length = text.parse().expect("a number");
                }
            }
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).expect("a body");
}
