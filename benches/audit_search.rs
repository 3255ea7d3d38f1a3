//! What a page of a search of the audit trail takes, among as many events as are asked for.
//!
//! ```text
//! cargo bench --bench audit_search -- 10000000
//! ```
//!
//! Every event is the read of a certificate: one in ten by the same doctor, each of a million patients as often as the others.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use certificate::{Id, Version};
use hcert::audit::{
    Agent, AuditAction, AuditEvent, AuditTrail, AuditedEntity, EventFilter, EventOrder, TrailOptions, folder,
};
use hcert::config::limits::AUDIT_FILE_MB;

const EVENTS: u64 = 100_000;
const PATIENTS: u64 = 1_000_000;
const SEARCHES: u64 = 200;
const AT_ONCE: u64 = 1_000;
/// Between two events, milliseconds.
const STEP: u64 = 100;
const BEGIN: i64 = 1_760_000_000_000;

fn main() {
    let count = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(EVENTS);
    let place = tempfile::tempdir().expect("there is room for a folder");
    let options = TrailOptions {
        folder: place.path().to_owned(),
        file_bytes: AUDIT_FILE_MB * 1024 * 1024,
        keep_from: Arc::new(|| None),
        clock: Arc::new(|| 0),
    };
    let mut log = AuditTrail::open(options).expect("the folder is ours");
    // Certificate and patient have the same number.
    log.index(Arc::new(|id, _| Some(vec![name(id.get()), id.to_string()]))).expect("a thread");
    let started = Instant::now();
    for from in (0..count).step_by(AT_ONCE as usize) {
        let events: Vec<AuditEvent> = (from..(from + AT_ONCE).min(count)).map(event).collect();
        while log.append_all(&events).is_err() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    log.sync_now().expect("the disk works");
    println!("{count} events written in {:.0} s", started.elapsed().as_secs_f64());
    let bytes = wait(place.path());
    println!(
        "sealed and indexed after {:.0} s: {:.0} MB of events, {:.0} MB of indexes",
        started.elapsed().as_secs_f64(),
        bytes.0,
        bytes.1
    );
    println!("{:<44} {:>10} {:>9} {:>9} {:>9}", "page of 20", "total", "first ms", "p50 ms", "p99 ms");
    let day = |day: i64| BEGIN + day * 86_400_000..=BEGIN + (day + 1) * 86_400_000;
    let patient = |at: u64| EventFilter { patients: vec![vec![name(at), at.to_string()]], ..EventFilter::default() };
    let agent = |code: &str| EventFilter { agents: vec![vec![Agent::Person(code.into())]], ..EventFilter::default() };
    measure(&log, "by patient", |at| patient(at * 4_999 % PATIENTS + 1));
    measure(&log, "by patient, one day", |at| EventFilter {
        times: vec![day(2)],
        ..patient(at * 4_999 % PATIENTS + 1)
    });
    measure(&log, "by certificate", |at| {
        let id = Id::new(at * 7_919 % PATIENTS + 1).expect("counted from 1");
        EventFilter { entities: vec![vec![AuditedEntity::Certificate((id, None))]], ..EventFilter::default() }
    });
    measure(&log, "by agent of a tenth of all events", |_| agent("37605030299"));
    measure(&log, "by agent of nine tenths", |_| agent("47101010033"));
    measure(&log, "of one day", |_| EventFilter { times: vec![day(2)], ..EventFilter::default() });
    measure(&log, "all", |_| EventFilter::default());
}

fn name(number: u64) -> String {
    format!("https://fhir.ee/sid/pid/est/ni|{:011}", 38_001_000_000 + number)
}

fn event(at: u64) -> AuditEvent {
    let text = |text: &str| Some(text.to_owned());
    let mut event = AuditEvent::new(AuditAction::CompositionRead, BEGIN + (at * STEP) as i64);
    event.who.person = text(if at.is_multiple_of(10) { "37605030299" } else { "47101010033" });
    event.who.given_name = text("Mari");
    event.who.family_name = text("Maasikas");
    event.who.roles = vec!["doctor".into()];
    event.who.organization = text("90006399");
    event.who.session = text("0123456789abcdef");
    event.from.ip = text("192.0.2.7");
    event.trace = format!("4e6a2b6e-0c0c-4d8f-8a8e-{at:012x}");
    event.status = 200;
    event.entities = Id::new(at * 7_919 % PATIENTS + 1).map(|id| (id, Version::new(1))).into_iter().collect();
    event
}

/// Megabytes of sealed files and of indexes, once there are all.
fn wait(data: &Path) -> (f64, f64) {
    loop {
        let files: Vec<_> =
            fs::read_dir(folder(data)).expect("it is ours").filter_map(Result::ok).map(|entry| entry.path()).collect();
        let with = |ending: &str| {
            files.iter().filter(|path| path.extension().is_some_and(|own| own == ending)).collect::<Vec<_>>()
        };
        let (plain, sealed, indexes) = (with("log"), with("zst"), with("idx"));
        if plain.len() <= 2 && sealed.len() == indexes.len() {
            let bytes = |paths: Vec<_>| {
                paths.into_iter().filter_map(|path| fs::metadata(path).ok()).map(|file| file.len() as f64 / 1e6).sum()
            };
            return (bytes(sealed), bytes(indexes));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn measure(log: &AuditTrail, name: &str, wanted: impl Fn(u64) -> EventFilter) {
    let mut total = 0;
    let mut times: Vec<f64> = (0..SEARCHES)
        .map(|at| {
            let wanted = wanted(at);
            let started = Instant::now();
            let search = log.search(&wanted, EventOrder::NewestFirst).expect("the folder is there");
            let page =
                search.page(0..20, &mut |id, _| Some(Arc::new(vec![id.to_string()]))).expect("the files can be read");
            total = page.total;
            started.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    let first = times[0];
    times.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!("{name:<44} {total:>10} {first:>9.1} {:>9.2} {:>9.2}", at(0.5), at(0.99));
}
