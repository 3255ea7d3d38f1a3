//! Thousands of connections that do nothing, or next to nothing, and what they cost.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use hcert::http::limits::HEADERS_MAX;

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
pub(crate) const CONNECTIONS_MAX: &str = "20000";

/// Lets this process open as many files as it may.
pub(crate) fn open_many_files() {
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
pub(crate) fn report(server: &Process) {
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

/// Prints how long reads take beside each attacker. Attackers of the server `elsewhere`, a second one on the same machine, show what the
/// machine alone costs a reader: its processors are shared.
pub(crate) fn reads_beside_attackers(server: &Process, elsewhere: &Process, count: u64, quiet: &Latency) {
    for (whose, attacked, priority) in [
        ("", server, Priority::Usual),
        (" elsewhere", elsewhere, Priority::Usual),
        (" of low priority", server, Priority::Low),
    ] {
        let beside = |what: &str, other: &(dyn Fn() + Sync)| {
            beside(&format!("{what}{whose}"), server, count, quiet, priority, other);
        };
        beside("refused heads", &|| heads(attacked, attack::FIELDS));
        beside("heads that are served", &|| heads(attacked, HEADERS_MAX - 1));
        beside("large bodies", &|| attack::bodies(attacked.address, attack::BODIES));
    }
}

/// Prints how long reads take beside each crowd, and beside all of them and both attackers.
pub(crate) fn reads_beside_crowds(server: &Process, count: u64, quiet: &Latency) {
    let beside = |what: &str, other: &(dyn Fn() + Sync)| {
        beside(what, server, count, quiet, Priority::Usual, other);
    };
    let idle = connect(server, IDLE);
    beside(&format!("{} idle connections", idle.len()), &pause);
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
            scope.spawn(|| heads(server, attack::FIELDS));
            scope.spawn(|| attack::bodies(server.address, attack::BODIES));
            drip();
        });
    });
    drop(idle);
}

/// How much of the processors attackers get.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Priority {
    /// As much as readers and server.
    Usual,
    /// What these leave, as if attackers had a machine of their own.
    Low,
}

/// Prints how long reads take while something is done again and again, and how long the server ran and waited for a processor.
fn beside(what: &str, server: &Process, count: u64, quiet: &Latency, priority: Priority, other: &(dyn Fn() + Sync)) {
    let (ran, waited) = processor_time(server);
    let over = AtomicBool::new(false);
    let (latency, ()) = readers::read_while(server.address, count, || {
        thread::scope(|scope| {
            scope.spawn(|| {
                if priority == Priority::Low {
                    // SAFETY: the call takes numbers; 0 is this thread, and those that it starts have its priority.
                    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
                }
                while !over.load(Ordering::Relaxed) {
                    other();
                }
            });
            thread::sleep(BESIDE);
            over.store(true, Ordering::Relaxed);
        });
    });
    let (has_run, has_waited) = processor_time(server);
    let percent = |time: u64| 100.0 * time as f64 / BESIDE.as_nanos() as f64;
    println!(
        "{:<50}{}; of a processor it had {:.0} %, and waited {:.0} % for one",
        format!("reads beside {what}"),
        latency.line(Some(quiet)),
        percent(has_run.saturating_sub(ran)),
        percent(has_waited.saturating_sub(waited)),
    );
}

/// Nanoseconds that the threads of the server ran, and that they were ready to run and did not. Only Linux tells them here.
fn processor_time(server: &Process) -> (u64, u64) {
    let threads = std::fs::read_dir(format!("/proc/{}/task", server.id())).into_iter().flatten().flatten();
    let times = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("schedstat")).ok());
    times.fold((0, 0), |(ran, waited), text| {
        let mut numbers = text.split_whitespace().map(|number| number.parse::<u64>().unwrap_or_default());
        (ran + numbers.next().unwrap_or_default(), waited + numbers.next().unwrap_or_default())
    })
}

fn heads(server: &Process, fields: usize) {
    drop(attack::heads(server.address, attack::CONNECTIONS, fields));
    pause();
}

fn pause() {
    thread::sleep(Duration::from_millis(10));
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
