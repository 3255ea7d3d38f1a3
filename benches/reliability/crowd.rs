//! Thousands of connections that do nothing, or next to nothing, and what they cost.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use hcert::limits::HEADERS_MAX;

use crate::attack;
use crate::process::Process;
use crate::readers::{self, Latency};

/// Connections that send nothing.
const IDLE: usize = 10_000;

/// Connections that send a byte of a request every second.
const DRIPPING: usize = 1_000;

/// Seconds that they drip.
const DRIPS: usize = 10;

/// How long reads are measured beside each of them.
const BESIDE: Duration = Duration::from_secs(10);

/// Connections that the server is told to allow, so that all of them are really there.
pub const CONNECTIONS_MAX: &str = "20000";

/// Lets this process open as many files as it may.
pub fn open_many_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls are given a structure of ours that lives longer than they take.
    let set = unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 && {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit) == 0
        }
    };
    assert!(set, "the limit of open files can be raised to what is allowed");
}

/// Prints the memory of the server with each crowd beside that without one, and whether it still answers.
pub fn report(server: &Process) {
    let before = memory(server);
    let idle = connect(server, IDLE);
    thread::sleep(Duration::from_secs(2));
    tell("idle connections", idle.len(), before, server);
    drop(idle);
    thread::sleep(Duration::from_secs(2));
    let before = memory(server);
    let mut dripping = connect(server, DRIPPING);
    let head = b"GET /fhir/metadata HTTP/1.1\r\nhost: 127.0.0.1\r\nx-drip: ";
    for drip in 0..DRIPS {
        for stream in &mut dripping {
            let piece: &[u8] = if drip == 0 { head } else { b"x" };
            // The server may have had enough of it.
            drop(stream.write_all(piece));
        }
        thread::sleep(Duration::from_secs(1));
    }
    tell("dripping connections", dripping.len(), before, server);
}

/// Prints how long reads take beside each crowd and each attacker, and beside all of them. Attackers of the server `elsewhere`, a second
/// one on the same machine, show what the machine alone costs a reader: its processors are shared.
pub fn reads_beside(server: &Process, elsewhere: &Process, count: u64, quiet: &Latency) {
    let beside = |what: &str, other: &(dyn Fn() + Sync)| {
        let over = AtomicBool::new(false);
        let (latency, ()) = readers::read_while(server.address, count, || {
            thread::scope(|scope| {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        other();
                    }
                });
                thread::sleep(BESIDE);
                over.store(true, Ordering::Relaxed);
            });
        });
        println!("{:<34}{}", format!("reads beside {what}"), latency.line(Some(quiet)));
    };
    let rest = || thread::sleep(Duration::from_millis(10));
    let heads = |address, fields| {
        drop(attack::heads(address, attack::CONNECTIONS, fields));
        rest();
    };
    let bodies = |address| attack::bodies(address, attack::BODIES);
    for (whose, address) in [("", server.address), (" elsewhere", elsewhere.address)] {
        beside(&format!("refused heads{whose}"), &|| heads(address, attack::FIELDS));
        beside(&format!("heads that are served{whose}"), &|| heads(address, HEADERS_MAX - 1));
        beside(&format!("large bodies{whose}"), &|| bodies(address));
    }
    let idle = connect(server, IDLE);
    beside(&format!("{} idle connections", idle.len()), &rest);
    let dripping = Mutex::new(connect(server, DRIPPING));
    let drip = || {
        for stream in dripping.lock().expect("nobody else drips").iter_mut() {
            drop(stream.write_all(b"GET /fhir/metadata HTTP/1.1\r\nx-drip: "));
        }
        thread::sleep(Duration::from_millis(500));
    };
    beside(&format!("and {DRIPPING} dripping ones"), &drip);
    beside("and both attackers", &|| {
        thread::scope(|scope| {
            scope.spawn(|| heads(server.address, attack::FIELDS));
            scope.spawn(|| bodies(server.address));
            drip();
        });
    });
    drop(idle);
}

fn tell(what: &str, count: usize, before: u64, server: &Process) {
    let now = memory(server);
    let status = server.client().send("GET", "/metadata", &[], b"").map(|answer| answer.status);
    println!(
        "{what:<34}{count} opened: {:.1} MB more than {:.1} MB; a good client gets {}",
        now.saturating_sub(before) as f64 / 1e6,
        before as f64 / 1e6,
        status.map_or_else(|error| error.to_string(), |status| status.to_string()),
    );
}

/// As many as the system lets be opened.
fn connect(server: &Process, count: usize) -> Vec<TcpStream> {
    let open = |_| TcpStream::connect_timeout(&server.address, Duration::from_secs(2)).ok();
    (0..count).map_while(open).collect()
}

/// Bytes of the process that lie in memory. Only Linux tells them here.
fn memory(server: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default() * 1024
}
