//! What an audit event costs, beside the floor: the same bytes written to a file at their places, and nothing else.
//!
//! ```text
//! cargo bench --bench audit
//! ```

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use certificate::{Id, Version};
use hcert::audit::{AuditAction, AuditEvent, AuditTrail, EventOrder, TrailOptions, verify};
use hcert::config::limits::AUDIT_FILE_MB;

const EVENTS: u64 = 20_000;
const THREADS: u64 = 16;
const ROUNDS: usize = 5;
/// Bytes that the event of a read takes in the file.
const RECORD_BYTES: usize = 330;

fn main() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let log = open(folder.path());
    let (mut floor, mut read, mut page) = (Duration::MAX, Duration::MAX, Duration::MAX);
    // Taking turns, so that a busy machine is busy for all of them; the fastest round counts.
    for _ in 0..ROUNDS {
        floor = floor.min(write_bytes(folder.path()));
        read = read.min(append(&log, &event(1)));
        page = page.min(append(&log, &event(100)));
    }
    println!("floor, {RECORD_BYTES} bytes written    {:>7.2} µs", micros(floor, EVENTS));
    println!("event of a read            {:>7.2} µs", micros(read, EVENTS));
    println!("event of a page of 100     {:>7.2} µs", micros(page, EVENTS));
    println!("event of a read, {THREADS} threads {:>5.2} µs", micros(append_together(&log), EVENTS));
    let started = Instant::now();
    log.sync_now().expect("the disk works");
    println!("making durable what is not {:>7.2} ms", started.elapsed().as_secs_f64() * 1e3);
    let trail = || log.trail().expect("the folder can be read");
    let started = Instant::now();
    let count = trail().events(EventOrder::NewestFirst, i64::MIN..=i64::MAX).count();
    println!("reading                    {:>7.0} events/ms", count as f64 / started.elapsed().as_secs_f64() / 1e3);
    let started = Instant::now();
    let verified = verify(&trail(), &[]).expect("the folder can be read");
    println!("verifying                  {:>7.0} events/ms", count as f64 / started.elapsed().as_secs_f64() / 1e3);
    assert!(verified.is_whole(), "{}", verified.report());
    drop(log);
    let started = Instant::now();
    drop(open(folder.path()));
    println!("opening and closing        {:>7.2} ms", started.elapsed().as_secs_f64() * 1e3);
}

fn open(folder: &Path) -> AuditTrail {
    let options = TrailOptions {
        folder: folder.to_owned(),
        file_bytes: AUDIT_FILE_MB * 1024 * 1024,
        keep_from: Arc::new(|| None),
        clock: Arc::new(|| 0),
    };
    AuditTrail::open(options).expect("the folder is ours")
}

fn event(hits: u64) -> AuditEvent {
    let text = |text: &str| Some(text.to_owned());
    let mut event = AuditEvent::new(AuditAction::CompositionRead, 1_793_000_000_000);
    event.who.person = text("47101010033");
    event.who.given_name = text("Mari");
    event.who.family_name = text("Maasikas");
    event.who.roles = vec!["doctor".into()];
    event.who.organization = text("90006399");
    event.who.application = text("clinic");
    event.who.session = text("0123456789abcdef");
    event.from.ip = text("192.0.2.7");
    event.from.x_road_client = text("ee-dev/COM/90006399/clinic");
    event.from.x_road_id = text("2c1e8a52-5f0f-4b0a-9d43-1c35a2d5d3a1");
    event.trace = "4e6a2b6e-0c0c-4d8f-8a8e-6f2f7a3b1c2d".into();
    event.status = 200;
    event.entities = (0..hits).filter_map(|at| Some((Id::new(900_000 - at * 7)?, Version::new(2)))).collect();
    event.patients = vec!["200".into()];
    event
}

fn write_bytes(folder: &Path) -> Duration {
    let path = folder.join("floor");
    let bytes = vec![7; RECORD_BYTES];
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path).expect("the folder is ours");
    let started = Instant::now();
    for at in 0..EVENTS {
        file.write_all_at(&bytes, at * RECORD_BYTES as u64).expect("the disk works");
    }
    started.elapsed()
}

fn append(log: &AuditTrail, event: &AuditEvent) -> Duration {
    // Not measured: waiting for the file after the next, which no request does unless it comes in such a crowd.
    std::thread::sleep(Duration::from_millis(500));
    let started = Instant::now();
    (0..EVENTS).for_each(|_| put(log, event));
    started.elapsed()
}

fn append_together(log: &AuditTrail) -> Duration {
    let event = event(1);
    std::thread::sleep(Duration::from_millis(500));
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..EVENTS / THREADS).for_each(|_| put(log, &event)));
        }
    });
    started.elapsed()
}

fn put(log: &AuditTrail, event: &AuditEvent) {
    while log.append(event).is_err() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn micros(time: Duration, count: u64) -> f64 {
    time.as_secs_f64() * 1e6 / count as f64
}
