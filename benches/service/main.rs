//! The service beside its floors: reads, searches and creates over HTTP on a full store, each with what it could cost at least,
//! measured in the same run so that the ratio holds on any machine.
//!
//! ```text
//! cargo bench --bench service
//! ```
//!
//! `HCERT_BENCH_CERTIFICATES` (100000) sets the size of the store, `HCERT_BENCH_SECONDS` (5) the time of each measurement. Server,
//! HTTP floor and clients are three processes, so that the server's CPU time is its own. `docs/BENCHMARKS.md` explains the figures.

mod floor;
mod load;
#[path = "../../tests/process/mod.rs"]
mod process;

use std::cell::Cell;
use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hcert::certificate::State;
use hcert::corpus::Corpus;

use floor::Commits;
use load::{Measured, Random, median};
use process::{Client, Process, hcert};

/// As in the binary that is measured.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SEED: u64 = 7;

/// Different bodies of creates.
const BODIES: u64 = 2_000;

/// Patients of what is created; the store's own keep the number of their certificates.
const STRANGER: u64 = 1_000_000_000;

/// A measurement is cut into slices that take turns with its floor, so that both meet the same neighbours on the machine.
const SLICES: u32 = 5;

fn main() {
    if std::env::args().any(|argument| argument == floor::ARGUMENT) {
        return floor::serve();
    }
    let count = setting("HCERT_BENCH_CERTIFICATES", 100_000);
    let slice = Duration::from_secs(setting("HCERT_BENCH_SECONDS", 5)) / SLICES;
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the build's own folder can be written");
    let data = folder.path().join("data");
    let store = Store::fill(&data, count);
    let commits = Commits::over_copy(&data.join("store.redb"), &folder.path().join("floor.redb"));
    let bench = Bench {
        server: Process::start(&data),
        bare: floor::start(folder.path()),
        store,
        commits,
        slice,
        next_body: AtomicUsize::new(0),
    };
    println!(
        "{:<34} {:>9} {:>9} {:>9} {:>9}   {:>9}  ratio (spread)     goal",
        "", "1/s", "p50 µs", "p99 µs", "CPU µs", "floor"
    );
    bench.read();
    bench.search();
    bench.create_alone();
    bench.create_together(16);
    bench.create_together(64);
    bench.search_after_write();
}

fn setting(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a whole number")))
}

/// What the store holds.
struct Store {
    /// Certificates that can be read.
    ids: Vec<u64>,
    /// Patients by the number of their certificates.
    subjects: HashMap<usize, Vec<u64>>,
    bodies: Vec<String>,
}

impl Store {
    /// Fills a data folder, through the command for it.
    fn fill(data: &Path, count: u64) -> Store {
        let start = Instant::now();
        let mut import = hcert(&["import", "-", "--data", data.to_str().expect("the folder's name is ASCII")]);
        let mut child = import.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the binary was built");
        let mut lines = BufWriter::with_capacity(1 << 20, child.stdin.take().expect("standard input is a pipe"));
        let mut line = String::new();
        let mut newest: HashMap<u64, Option<u64>> = HashMap::new();
        let mut versions = 0_u64;
        for change in Corpus::new(SEED, count) {
            line.clear();
            change.write_entry(&mut line);
            line.push('\n');
            lines.write_all(line.as_bytes()).expect("the import reads to the end");
            let facts = change.facts();
            newest.insert(change.id().get(), (facts.state != State::Deleted).then_some(facts.subject));
            versions += 1;
        }
        drop(lines);
        assert!(child.wait().expect("a child can be waited for").success(), "the import failed");
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{count} certificates in {versions} versions; imported in {seconds:.1} s, {:.0}/s\n",
            versions as f64 / seconds
        );

        let mut certificates: HashMap<u64, usize> = HashMap::new();
        newest.values().flatten().for_each(|subject| *certificates.entry(*subject).or_default() += 1);
        let mut subjects: HashMap<usize, Vec<u64>> = HashMap::new();
        certificates.into_iter().for_each(|(subject, number)| subjects.entry(number).or_default().push(subject));
        let ids = newest.iter().filter(|(_, subject)| subject.is_some()).map(|(id, _)| *id).collect();
        let body = |number| of_subject(&hcert::corpus::certificate(SEED + 1, number), STRANGER + number / 5);
        let bodies = (1..=BODIES).map(body).collect();
        Store { ids, subjects, bodies }
    }
}

struct Bench {
    server: Process,
    /// The HTTP code without a service behind it.
    bare: Process,
    store: Store,
    commits: Commits,
    slice: Duration,
    next_body: AtomicUsize,
}

/// Clients of the measurements that look at CPU time: enough to keep the server busy, whatever a client costs.
const CLIENTS: usize = 4;

impl Bench {
    fn read(&self) {
        let read = |client: &mut Client, random: &mut Random| {
            let id = self.store.ids[random.below(self.store.ids.len())];
            let answer = client.send("GET", &format!("/Composition/{id}"), &[], b"").expect("the server runs");
            assert_eq!(answer.status, 200);
        };
        self.beside_bare("read by id", 2.5, &read);
    }

    fn search(&self) {
        let subjects = &self.store.subjects[&5];
        let search = |client: &mut Client, random: &mut Random| {
            let subject = subjects[random.below(subjects.len())];
            let answer = client.send("GET", &format!("/Composition?subject=Patient/{subject}"), &[], b"");
            assert!(answer.expect("the server runs").text().contains("\"total\":5,"));
        };
        self.beside_bare("search by subject, 5 hits", 6.0, &search);
    }

    /// CPU of the server beside that of the HTTP code alone.
    fn beside_bare(&self, name: &str, goal: f64, request: &(impl Fn(&mut Client, &mut Random) + Sync)) {
        let bare = |client: &mut Client, random: &mut Random| {
            let id = random.below(100_000);
            let answer = client.send("GET", &format!("/Composition/{id}"), &[], b"").expect("the floor runs");
            assert_eq!(answer.body.len(), floor::BODY_BYTES);
        };
        // Pages of the store come into the cache before anything counts.
        load::run(&self.server, CLIENTS, self.slice, request);
        let pairs = self.slices(
            || load::run(&self.bare, CLIENTS, self.slice, &bare),
            || load::run(&self.server, CLIENTS, self.slice, request),
        );
        let cpu = |measured: &Measured| measured.cpu_us();
        report(name, &pairs, cpu, &Goal::AtMost(goal), "µs CPU");
    }

    fn create_alone(&self) {
        let create = |client: &mut Client, _: &mut Random| _ = self.create(client, None);
        let pairs = self.slices(|| self.commits.run(self.slice, 1), || load::run(&self.server, 1, self.slice, &create));
        report("create, 1 client", &pairs, Measured::p50_us, &Goal::AtMost(3.0), "µs p50");
    }

    fn create_together(&self, clients: usize) {
        let create = |client: &mut Client, _: &mut Random| _ = self.create(client, None);
        let pairs =
            self.slices(|| self.commits.run(self.slice, 32), || load::run(&self.server, clients, self.slice, &create));
        let goal = if clients == 64 { Goal::AtLeast(0.35) } else { Goal::None };
        report(&format!("create, {clients} clients"), &pairs, Measured::rate, &goal, "rows/s");
    }

    fn search_after_write(&self) {
        let (with_five, with_four) = (&self.store.subjects[&5], &self.store.subjects[&4]);
        let (next_five, next_four) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let search = |client: &mut Client, subject: u64| {
            let path = format!("/Composition?subject=Patient/{subject}");
            let answer = client.send("GET", &path, &[], b"").expect("the server runs");
            assert!(answer.text().contains("\"total\":5,"), "a search missed what was acknowledged before it");
            answer
        };
        // Each patient is written for once, in one of the slices.
        let share = with_four.len() / SLICES as usize;
        let take =
            |subjects: &[u64], next: &AtomicUsize| subjects[next.fetch_add(1, Ordering::Relaxed) % subjects.len()];
        // Whatever is searched after a pause finds the processor's caches cold, so the search without a write has its pause too.
        let (mut client, mut other) = (self.server.client(), self.server.client());
        let pause = Cell::new(Duration::from_millis(1));
        let pairs = self.slices(
            || {
                load::alone(self.slice, usize::MAX, &self.server, || {
                    let subject = take(with_five, &next_five);
                    thread::sleep(pause.get());
                    let start = Instant::now();
                    search(&mut client, subject);
                    start.elapsed()
                })
            },
            || {
                load::alone(self.slice, share, &self.server, || {
                    let subject = take(with_four, &next_four);
                    let start = Instant::now();
                    let id = self.create(&mut other, Some(subject));
                    pause.set(start.elapsed());
                    let start = Instant::now();
                    let found = search(&mut other, subject);
                    let time = start.elapsed();
                    assert!(found.text().contains(&format!("\"Composition/{id}\"")));
                    time
                })
            },
        );
        report("search straight after a write", &pairs, Measured::p50_us, &Goal::AtMost(1.5), "µs p50");
    }

    /// Creates a certificate, of a given patient or of the one it names; tells its id.
    fn create(&self, client: &mut Client, subject: Option<u64>) -> u64 {
        let at = self.next_body.fetch_add(1, Ordering::Relaxed) % self.store.bodies.len();
        let body = &self.store.bodies[at];
        let answer = match subject {
            None => client.send("POST", "/Composition", &[], body.as_bytes()),
            Some(subject) => client.send("POST", "/Composition", &[], of_subject(body, subject).as_bytes()),
        };
        let answer = answer.expect("the server runs");
        assert_eq!(answer.status, 201, "{}", answer.text());
        let location = answer.header("location").expect("a create tells where");
        location.rsplit('/').nth(2).and_then(|id| id.parse().ok()).expect("an address ends with /_history/1")
    }

    /// Floor and measurement in turns.
    fn slices(
        &self,
        mut floor: impl FnMut() -> Measured,
        mut measured: impl FnMut() -> Measured,
    ) -> Vec<(Measured, Measured)> {
        (0..SLICES).map(|_| (floor(), measured())).collect()
    }
}

/// The body with another patient.
fn of_subject(body: &str, subject: u64) -> String {
    let (before, rest) = body.split_once("\"Patient/").expect("a certificate has a patient");
    let end = rest.find('"').expect("a JSON string ends");
    format!("{before}\"Patient/{subject}{}", &rest[end..])
}

enum Goal {
    AtMost(f64),
    AtLeast(f64),
    None,
}

fn report(name: &str, pairs: &[(Measured, Measured)], value: impl Fn(&Measured) -> f64, goal: &Goal, unit: &str) {
    let of = |each: &dyn Fn(&(Measured, Measured)) -> f64| -> Vec<f64> { pairs.iter().map(each).collect() };
    let middle = |each: &dyn Fn(&Measured) -> f64| median(of(&|(_, measured)| each(measured)));
    let ratios = of(&|(floor, measured)| value(measured) / value(floor));
    let (low, high) = ratios.iter().fold((f64::MAX, 0.0_f64), |(low, high), ratio| (low.min(*ratio), high.max(*ratio)));
    let ratio = median(ratios);
    let floor = median(of(&|(floor, _)| value(floor)));
    let (goal, reached) = match goal {
        Goal::AtMost(goal) => (format!("<= {goal:.2}"), ratio <= *goal),
        Goal::AtLeast(goal) => (format!(">= {goal:.2}"), ratio >= *goal),
        Goal::None => ("-".to_owned(), true),
    };
    println!(
        "{name:<34} {:>9.0} {:>9.0} {:>9.0} {:>9.1}   {floor:>9.1} {unit:<7} {ratio:>5.2} ({low:.2}-{high:.2})  {goal}{}",
        middle(&Measured::rate),
        middle(&Measured::p50_us),
        middle(&Measured::p99_us),
        middle(&Measured::cpu_us),
        if reached { "" } else { "  not reached" }
    );
}
