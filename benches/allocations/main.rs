//! What a request asks of the allocator, counted; fails when a path asks for more than is recorded in [`BOUNDS`].
//!
//! ```text
//! cargo bench --profile dev --bench allocations
//! cargo bench --profile dev --bench allocations -- read search
//! ```
//!
//! Counts of the answering thread do not depend on the machine or on what runs beside, so `.ci/run` holds them; those of all threads
//! move by some hundredths, so their bounds leave five. Requests go through [`HttpServer::answer`], the whole
//! way but for sockets; some go through hyper and a connection in memory, one of them with nothing behind it. `docs/performance/hot-paths.md` tells where the rest goes.

mod connection;
mod counting;
mod store;

use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;

use certificate::State;
use hcert::config::Config;
use hcert::http::{HttpServer, HttpSettings, Interactions};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use tokio::runtime::{self, Runtime};

use connection::Floor;
use counting::{Counting, Spent};
use store::Store;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A path, who is counted, and the most it may spend on a request.
type Bound = (&'static str, Who, Spent);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    /// The thread that answers.
    Own,
    /// With the writer's work for it.
    All,
}
use Who::{All, Own};

/// Medians as they were when they were last looked at; a lower one is written down here, so that nothing creeps back. What all threads
/// ask for differs by some hundredths from run to run, as the writer's batches and pages fall: these bounds stand 5 % above.
/// Whichever request comes first makes the events of changes, so that one or two of its allocations may be another's. An answer over a
/// connection differs by some hundred bytes, as its pieces fall on a busy machine.
#[rustfmt::skip]
const BOUNDS: &[Bound] = &[
    //  path                              who   allocations    bytes
    bound("read",                           Own,          10,     5_250),
    bound("connection: 4 KB of memory",     Own,           7,     5_650),
    bound("connection: read",               Own,          11,     5_300),
    bound("connection: search by subject",  Own,          45,    32_900),
    bound("vread",                          Own,           8,     4_900),
    bound("conditional read (304)",         Own,          13,     1_750),
    bound("history of one",                 Own,          22,    10_200),
    bound("search by subject, 5 hits",      Own,          44,    32_550),
    bound("search by employer and period",  Own,          40,     9_800),
    bound("dense search, page 1",           Own,          64,    78_300),
    bound("metadata",                       Own,           4,    15_700),
    bound("create",                         Own,         240,    67_700),
    bound("create",                         All,         475,   185_000),
    bound("update",                         Own,         450,   118_900),
    bound("update",                         All,         710,   238_000),
    bound("$suspend",                       Own,         250,    80_600),
    bound("$suspend",                       All,         505,   199_000),
];

const fn bound(path: &'static str, who: Who, allocations: u64, bytes: u64) -> Bound {
    (path, who, Spent { allocations, bytes })
}

/// Requests counted, and sent before so that every buffer that is kept is there.
const COUNTED: usize = 200;
const WARM_UP: usize = 50;

fn main() -> ExitCode {
    // As the server logs, but to nowhere.
    tracing_subscriber::fmt().with_env_filter("warn,hcert=info").with_ansi(false).with_writer(std::io::sink).init();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the build's own folder can be written");
    let store = Store::fill(&folder.path().join("data"), WARM_UP + COUNTED);
    let runtime = runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let paths = Paths { store, runtime, wanted };
    let measured = paths.all();
    paths.store.engine.close();
    let mut failed = false;
    println!("{:<34} {:<4} {:>21} {:>21}", "median of a request", "", "allocations (bound)", "bytes (bound)");
    for (path, who, bound) in BOUNDS {
        let Some((_, [own, all])) = measured.iter().find(|(name, _)| name == path) else { continue };
        let spent = if *who == Own { own } else { all };
        println!(
            "{path:<34} {:<4} {:>12} {:>8} {:>12} {:>8}",
            format!("{who:?}").to_lowercase(),
            spent.allocations,
            format!("({})", bound.allocations),
            spent.bytes,
            format!("({})", bound.bytes),
        );
        for (what, spent, bound) in
            [("allocations", spent.allocations, bound.allocations), ("bytes", spent.bytes, bound.bytes)]
        {
            if spent > bound {
                failed = true;
                println!("  {spent} {what} are more than the {bound} that are recorded: the path has become dearer");
            } else if spent * 10 < bound * 9 - 9 {
                failed = true;
                println!("  {spent} {what} are far below the {bound} that are recorded: write the gain down");
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

struct Paths {
    store: Store,
    runtime: Runtime,
    /// Parts of the names of paths; all of them when empty.
    wanted: Vec<String>,
}

/// Own thread and all threads.
type Medians = [Spent; 2];

impl Paths {
    fn all(&self) -> Vec<(&'static str, Medians)> {
        let ids: Vec<u64> = self.store.ids(State::Completed).collect();
        let read = |at: usize| get(&format!("Composition/{}", ids[at % ids.len()]));
        let vread = |at: usize| get(&format!("Composition/{}/_history/1", ids[at % ids.len()]));
        let history = |at: usize| get(&format!("Composition/{}/_history", ids[at % ids.len()]));
        let current: Vec<_> =
            self.store.certificates.iter().filter(|(_, _, facts)| facts.state == State::Completed).collect();
        let known = |at: usize| {
            let (id, version, _) = current[at % current.len()];
            let mut request = get(&format!("Composition/{id}"));
            let tag = format!("W/\"{version}\"").parse().expect("a tag is ASCII");
            request.headers_mut().insert("if-none-match", tag);
            request
        };
        let subjects = self.store.subjects(5);
        let subject = |at: usize| get(&format!("Composition?subject=Patient/{}", subjects[at % subjects.len()]));
        let employers = self.store.employers();
        let employer = |at: usize| {
            let employer = employers[at % employers.len()];
            get(&format!("Composition?section-code-text=employer${employer}&period=2025-06-01"))
        };
        let dense = |_: usize| get("Composition?category=driver-group-I&status=final");
        let mut measured = vec![
            self.measure("read", 200, read),
            self.measure("vread", 200, vread),
            self.measure("conditional read (304)", 304, known),
            self.measure("history of one", 200, history),
            self.measure("search by subject, 5 hits", 200, subject),
            self.measure("search by employer and period", 200, employer),
            self.measure("dense search, page 1", 200, dense),
            self.measure("metadata", 200, |_| get("metadata")),
        ];
        let reads: Vec<String> = ids.iter().map(|id| format!("Composition/{id}")).collect();
        let searches: Vec<String> = subjects.iter().map(|id| format!("Composition?subject=Patient/{id}")).collect();
        let settings = HttpSettings::new(&Config::default(), "127.0.0.1:8080".parse().expect("an address"));
        let settings = HttpSettings { is_developer: false, ..settings.expect("settings") };
        let floor = HttpServer::new(Floor::default(), settings);
        measured.push(self.over_a_connection("connection: 4 KB of memory", &floor, &reads));
        measured.push(self.over_a_connection("connection: read", &self.store.server, &reads));
        measured.push(self.over_a_connection("connection: search by subject", &self.store.server, &searches));
        let bodies = &self.store.bodies;
        let drafts: Vec<u64> = self.store.ids(State::Draft).collect();
        let draft = bodies.iter().find(|body| body.contains(r#""status":"preliminary""#)).expect("a draft");
        let reason = include_str!("../../examples/suspend.json");
        let put = |at: usize| send("PUT", &format!("Composition/{}", drafts[at % drafts.len()]), draft);
        let suspend = |at: usize| send("POST", &format!("Composition/{}/$suspend", ids[at]), reason);
        measured.push(self.measure("create", 201, |at| send("POST", "Composition", &bodies[at])));
        measured.push(self.measure("update", 200, put));
        measured.push(self.measure("$suspend", 200, suspend));
        measured
    }

    fn is_wanted(&self, path: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|wanted| path.starts_with(wanted.as_str()))
    }

    fn over_a_connection(
        &self,
        path: &'static str,
        server: &Arc<HttpServer<impl Interactions>>,
        requests: &[String],
    ) -> (&'static str, Medians) {
        if !self.is_wanted(path) {
            return ("", Medians::default());
        }
        let spent = connection::measure(&self.runtime, server.clone(), requests, WARM_UP, COUNTED);
        (path, [median(spent.clone()), median(spent)])
    }

    fn measure(
        &self,
        path: &'static str,
        status: u16,
        request: impl Fn(usize) -> Request<Full<Bytes>>,
    ) -> (&'static str, Medians) {
        if !self.is_wanted(path) {
            return ("", Medians::default());
        }
        self.store.settle();
        let (mut own, mut all) = (Vec::new(), Vec::new());
        for at in 0..WARM_UP + COUNTED {
            let request = request(at);
            let before = (Spent::by_this_thread(), Spent::by_all_threads());
            let response = answered(&self.runtime, &self.store, request);
            let after = (Spent::by_this_thread(), Spent::by_all_threads());
            assert_eq!(response.status(), status, "{path} {at}: {response:?}");
            if at >= WARM_UP {
                own.push(after.0 - before.0);
                all.push(after.1 - before.1);
            }
        }
        (path, [median(own), median(all)])
    }
}

/// Of its own, so that a profiler can be told to look at nothing else.
#[inline(never)]
#[unsafe(no_mangle)]
fn hcert_answered(runtime: &Runtime, store: &Store, request: Request<Full<Bytes>>) -> Response<Full<Bytes>> {
    // Pinned here, since a runtime would put a future of this size on the heap, which a connection does not do.
    runtime.block_on(pin!(Arc::clone(&store.server).answer(request, None)))
}
use hcert_answered as answered;

fn median(mut spent: Vec<Spent>) -> Spent {
    let middle = |mut numbers: Vec<u64>| {
        numbers.sort_unstable();
        numbers[numbers.len() / 2]
    };
    spent.sort_unstable();
    Spent {
        allocations: middle(spent.iter().map(|spent| spent.allocations).collect()),
        bytes: middle(spent.iter().map(|spent| spent.bytes).collect()),
    }
}

fn get(path: &str) -> Request<Full<Bytes>> {
    request("GET", path).body(Full::default()).expect("a path is an address")
}

fn send(method: &str, path: &str, body: &str) -> Request<Full<Bytes>> {
    let request = request(method, path).header("content-type", "application/fhir+json");
    let request = request.header("content-length", body.len());
    request.body(Full::from(body.to_owned())).expect("a path is an address")
}

/// With the headers that clients send.
fn request(method: &str, path: &str) -> hyper::http::request::Builder {
    let request = Request::builder().method(method).uri(format!("http://127.0.0.1:8080/fhir/{path}"));
    request.header("host", "127.0.0.1:8080").header("accept", "application/fhir+json").header("user-agent", "bench")
}
