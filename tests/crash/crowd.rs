//! Thousands of clients that do nothing, next to nothing, or ask and never read: what they cost is bounded, and others are served.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hcert::cli::limits::OPEN_FILES_RESERVED;
use hcert::config::limits::{
    ANSWERS_BYTES_MAX, CONNECTION_MEMORY_BYTES, HEAD_MEMORY_BYTES, HEADS_BYTES_MAX, HTTP2_SMALL_ANSWER_BYTES,
    HTTP2_WINDOW_BYTES, STREAMS_MAX, WORKERS,
};
use hcert::http::limits::{HEADERS_MAX, HTTP2_SEND_BYTES_MAX, NEWCOMERS_MAX, REFUSALS_MAX};
use hcert::interaction::limits::LARGE_ANSWER_BYTES;

use crate::Raise;
use crate::attack;
use crate::http2::Http2;
use crate::process::{Client, PATIENCE, Process, eventually};
use crate::unread::{create, draft_of};

/// Connections that are wanted to be silent, where the system allows as many.
const IDLE: usize = 10_000;

/// Connections that send a byte of a head now and then.
const DRIPPING: usize = 300;

/// Connections of each protocol that ask for large answers and read nothing.
const UNREAD: usize = 40;

/// Connections of HTTP/2 that keep back all the answers they may ask for.
const HOARDING: usize = 12;

/// Bytes of the certificate they ask for: half of what an answer may have before it waits for a turn.
const LARGE: usize = LARGE_ANSWER_BYTES / 4;

/// Lets this process, and so its children, open as many files as it may; how many these are.
fn open_many_files() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls are given a structure of ours that lives longer than they take.
    let set = unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 && {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit) == 0
        }
    };
    assert!(set, "the limit of open files can be raised to what is allowed");
    usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
}

/// Bytes of a process that lie in memory. Only Linux tells them here.
pub(crate) fn memory(server: &Process) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).expect("it runs on Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
    let kilobytes = line.split_whitespace().next().and_then(|number| number.parse::<usize>().ok());
    kilobytes.expect("a number") * 1024
}

/// Files that a process has, sockets among them.
fn files(server: &Process) -> usize {
    fs::read_dir(format!("/proc/{}/fd", server.id())).expect("it runs on Linux").count()
}

/// Sockets that a process has.
pub(crate) fn sockets(server: &Process) -> usize {
    let files = fs::read_dir(format!("/proc/{}/fd", server.id())).expect("it runs on Linux");
    // A file may be closed before its turn comes.
    let kinds = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    kinds.filter(|kind| kind.to_string_lossy().starts_with("socket:")).count()
}

/// Opens connections, in pieces that the kernel keeps until the server has taken them.
fn connect(server: &Process, count: usize) -> Vec<TcpStream> {
    let mut opened = Vec::new();
    while opened.len() < count {
        let before = files(server);
        let piece = (count - opened.len()).min(NEWCOMERS_MAX as usize / 2);
        opened.extend((0..piece).map(|_| TcpStream::connect(server.address).expect("the service listens")));
        // It may have closed some of its own meanwhile.
        eventually("they are taken", || files(server) + 50 >= before + piece);
    }
    opened
}

fn start(folder: &std::path::Path, connections_max: usize) -> Process {
    Process::start_with(&folder.join("data"), |command| {
        command.env("HCERT__SERVER__CONNECTIONS_MAX", connections_max.to_string());
        // However long the machine takes for this crowd, it is there until it leaves by itself.
        for setting in ["HEADER_TIMEOUT_S", "BODY_TIMEOUT_S", "WRITE_TIMEOUT_S"] {
            command.env(format!("HCERT__SERVER__{setting}"), "600");
        }
    })
}

/// What a client asks that is as others should be: it reads, searches and creates.
fn is_served(client: &mut Client, known: &str) {
    for path in [known, "/Composition?status=preliminary&_count=5", "/metadata"] {
        let answer = client.send("GET", path, &[], b"").expect("others are served");
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    }
    create(client, &draft_of(0));
}

#[test]
fn a_crowd_that_is_silent_drips_or_never_reads_costs_a_bounded_amount_and_others_are_served() {
    let files = open_many_files();
    // Those of this process beside them: its tests run at once.
    let idle = IDLE.min(files.saturating_sub(OPEN_FILES_RESERVED + 1_000));
    let crowd = idle + DRIPPING + 2 * UNREAD;
    println!("{files} files may be open: {crowd} connections, {idle} of them silent");
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), crowd + 100);
    let alone = sockets(&server);
    let mut other = server.client();
    let known = create(&mut other, &draft_of(0));
    let large = create(&mut other, &draft_of(LARGE));
    // Both of them on a page.
    create(&mut other, &draft_of(LARGE));
    let page = "/fhir/Composition?_sort=-_id&_count=2";
    is_served(&mut other, &known);
    drop((other.get(&large), other));
    let before = memory(&server);

    // All kinds of silence: before the first byte, in a preface, in a head, behind an answer.
    let mut silent = connect(&server, idle);
    for (number, stream) in silent.iter_mut().enumerate() {
        match number % 20 {
            0 => stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap(),
            1 => stream.write_all(b"GET /fhir/Comp").unwrap(),
            _ => {}
        }
    }
    let mut dripping = connect(&server, DRIPPING);
    for stream in &mut dripping {
        stream.write_all(b"GET /fhir/metadata HTTP/1.1\r\nhost: localhost\r\nx-drip: ").unwrap();
    }
    let mut unread = connect(&server, UNREAD);
    for stream in &mut unread {
        // More of them than the sockets between hold.
        let request = format!("GET {page} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        stream.write_all(request.repeat(4).as_bytes()).unwrap();
    }
    let kept_back: Vec<Http2> = (0..UNREAD)
        .map(|_| {
            let mut client = Http2::connect(server.address, 0).unwrap();
            client.get(page).unwrap();
            client
        })
        .collect();
    let leaves = AtomicBool::new(false);
    thread::scope(|scope| {
        let done = Raise(&leaves);
        scope.spawn(|| {
            while !leaves.load(Ordering::Relaxed) {
                for stream in &mut dripping {
                    stream.write_all(b"x").expect("it drips as long as it likes");
                }
                thread::sleep(Duration::from_millis(100));
            }
        });
        for _ in 0..10 {
            // A connection each, as a newcomer has.
            is_served(&mut server.client(), &known);
        }
        let heads = attack::heads(server.address, attack::CONNECTIONS / 4, attack::FIELDS);
        for _ in 0..5 {
            is_served(&mut server.client(), &known);
        }
        drop(heads);
        drop(done);
    });
    let bound = idle * CONNECTION_MEMORY_BYTES
        + HEADS_BYTES_MAX
        + (attack::CONNECTIONS / 4 + DRIPPING + 2 * UNREAD) * HEAD_MEMORY_BYTES
        + 2 * UNREAD * 2 * LARGE
        + UNREAD * HTTP2_WINDOW_BYTES as usize;
    assert_grown(&server, before, bound, "a crowd");

    let asked = HOARDING * STREAMS_MAX as usize * LARGE;
    let hoarded = ANSWERS_BYTES_MAX
        + WORKERS * 2 * LARGE
        + HOARDING * (HTTP2_WINDOW_BYTES as usize + HEAD_MEMORY_BYTES)
        + HOARDING * STREAMS_MAX as usize * (HTTP2_SMALL_ANSWER_BYTES + HTTP2_SEND_BYTES_MAX / 8);
    assert!(bound + hoarded < asked, "{asked} bytes of answers are too few to tell whether a bound holds");
    let mut hoarding = hoard(&server, &large);
    assert_grown(&server, before, bound + hoarded, "a crowd that hoards answers");
    let mut other = server.client();
    create(&mut other, &draft_of(0));
    assert_eq!(other.send("GET", &known, &[], b"").unwrap().status, 200);
    eventually("they end where others need memory", || {
        server.client().send("GET", &large, &[], b"").unwrap().status == 200
    });
    hoarding.clear();

    drop((silent, dripping, unread, kept_back, other));
    eventually("all of their sockets are closed", || sockets(&server) <= alone);
    is_served(&mut server.client(), &known);
    assert_grown(&server, before, bound + hoarded, "what stays of it all");
    assert_eq!(server.stop().code(), Some(0));
}

/// Has connections ask for as many large answers as they may, and take none; ready when each was answered or its connection ended.
fn hoard(server: &Process, large: &str) -> Vec<Http2> {
    let mut clients: Vec<Http2> =
        (0..HOARDING).map(|_| Http2::connect(server.address, 0).expect("there is a place")).collect();
    for client in &mut clients {
        for _ in 0..STREAMS_MAX {
            drop(client.get(&format!("/fhir{large}")));
        }
    }
    for client in &mut clients {
        let mut heads = 0;
        eventually("each has its head", || {
            loop {
                match client.frame(Duration::from_millis(1)) {
                    Ok(Some(frame)) => heads += usize::from(frame.is_head()),
                    Ok(None) => return heads == STREAMS_MAX as usize,
                    Err(_) => return true,
                }
            }
        });
    }
    clients
}

fn assert_grown(server: &Process, before: usize, bound: usize, what: &str) {
    let grown = memory(server).saturating_sub(before);
    println!("{what}: {} KiB more, {} KiB are allowed", grown / 1024, bound / 1024);
    assert!(grown <= bound, "{what} costs {grown} bytes, {bound} are allowed");
}

#[test]
fn where_places_are_few_a_crowd_pushes_out_itself_and_nobody_who_asks() {
    const PLACES: usize = 64;
    open_many_files();
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), PLACES);
    let alone = sockets(&server);
    let known = create(&mut server.client(), &draft_of(0));
    let mut crowd = Vec::new();
    for _ in 0..20 {
        crowd.extend((0..PLACES).map(|_| TcpStream::connect(server.address).expect("the service listens")));
        eventually("a newcomer is served", || {
            // Where the machine is slow to close another one, it is told to come back.
            let answer = server.client().send("GET", &known, &[], b"");
            answer.is_ok_and(|answer| answer.status == 200)
        });
        // Two of them may be accepted, and not looked at yet.
        let now = sockets(&server);
        assert!(now <= alone + PLACES + REFUSALS_MAX + 2, "{now} sockets for {PLACES} places");
    }
    drop(crowd);
    eventually("all of their sockets are closed", || sockets(&server) <= alone);
    assert_eq!(server.stop().code(), Some(0));
}

/// What was seen: 22 MB of heads took 1.8 GB of memory, and a read beside them 8.7 s. No token was needed.
#[test]
fn heads_that_are_short_as_they_are_sent_take_no_more_memory_than_their_budget() {
    const GROWN_MAX: usize = 64 * 1024 * 1024;
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), 1_000);
    let known = create(&mut server.client(), &draft_of(0));
    for _ in 0..20 {
        is_served(&mut server.client(), &known);
    }
    let before = memory(&server);
    // Headers that no request may have, headers for which a request is refused, and as many as are allowed.
    for fields in [attack::FIELDS, 150, HEADERS_MAX - 1] {
        let leaves = AtomicBool::new(false);
        let (peak, slowest) = thread::scope(|scope| {
            let done = Raise(&leaves);
            let peak = scope.spawn(|| {
                let mut peak = 0;
                while !leaves.load(Ordering::Relaxed) {
                    peak = peak.max(memory(&server));
                    thread::sleep(Duration::from_millis(5));
                }
                peak
            });
            let reader = scope.spawn(|| {
                let mut slowest = Duration::ZERO;
                while !leaves.load(Ordering::Relaxed) {
                    let start = Instant::now();
                    let answer = server.client().send("GET", &known, &[], b"").expect("others are served");
                    assert_eq!(answer.status, 200, "{}", answer.text());
                    slowest = slowest.max(start.elapsed());
                    thread::sleep(Duration::from_millis(20));
                }
                slowest
            });
            let attackers = attack::heads(server.address, attack::CONNECTIONS, fields);
            thread::sleep(Duration::from_secs(2));
            drop((attackers, done));
            (peak.join().unwrap(), reader.join().unwrap())
        });
        let grown = peak.saturating_sub(before);
        println!("{fields} headers: {} KiB more, the slowest read took {slowest:?}", grown / 1024);
        assert!(grown <= GROWN_MAX, "{fields} headers: {grown} bytes more, {GROWN_MAX} are allowed");
        assert!(slowest < PATIENCE / 4, "{fields} headers: a read took {slowest:?}");
    }
    assert_eq!(server.stop().code(), Some(0));
}

/// What was seen: 64 bodies of 2 MiB kept reads waiting, since they were read by the threads that answer them.
#[test]
fn bodies_that_are_long_to_read_and_large_heads_keep_nobody_from_reading() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), 1_000);
    let known = create(&mut server.client(), &draft_of(0));
    let leaves = AtomicBool::new(false);
    let (reads, slowest, peak) = thread::scope(|scope| {
        let done = Raise(&leaves);
        let reader = scope.spawn(|| {
            let (mut reads, mut slowest, mut peak) = (0, Duration::ZERO, 0);
            while !leaves.load(Ordering::Relaxed) {
                let start = Instant::now();
                let answer = server.client().send("GET", &known, &[], b"").expect("reads are answered");
                assert_eq!(answer.status, 200, "{}", answer.text());
                (reads, slowest, peak) = (reads + 1, slowest.max(start.elapsed()), peak.max(memory(&server)));
                thread::sleep(Duration::from_millis(20));
            }
            (reads, slowest, peak)
        });
        let heads = attack::heads(server.address, attack::CONNECTIONS, attack::FIELDS);
        attack::bodies(server.address, attack::BODIES);
        drop((heads, done));
        reader.join().unwrap()
    });
    println!("{reads} reads beside both attackers: the slowest took {slowest:?}; {} KiB of memory", peak / 1024);
    let sum = hcert::config::Config::default().memory_bytes_max();
    assert!(peak as u64 <= sum, "{peak} bytes of memory, all bounds together are {sum}");
    is_served(&mut server.client(), &known);
    assert_eq!(server.stop().code(), Some(0));
}
