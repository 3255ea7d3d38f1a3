//! Whoever reads the log, or does not, the service goes on. Contract 10.1.
//!
//! A server whose standard error was a pipe that nobody read hung after 112 requests, and one whose reader had gone or whose disk was full
//! ended with SIGABRT at the first request.

use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write, pipe};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::process::{Client, PATIENCE, Process, eventually, hcert, wait};
use super::{Place, open_metrics};

const REQUESTS: usize = 1_500;
const CLIENTS: usize = 4;

/// A server at level info that can be watched, with one certificate.
fn start(place: &Place, stderr: impl Into<Stdio>) -> Process {
    let server = Process::start_onto(&place.path("data"), stderr.into(), |command| {
        command.env("HCERT__LOG__LEVEL", "info").env("HCERT__MANAGEMENT__LISTEN", "127.0.0.1:0");
        command.env("HCERT__LOG__FORMAT", "json");
    });
    let draft = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/driver-draft.json")).expect("an example");
    assert_eq!(server.client().send("POST", "/Composition", &[], &draft).expect("an answer").status, 201);
    server
}

fn ask(at: SocketAddr, path: &str) -> (u16, String) {
    let told = Client::new(at).send_to("GET", path, &[], b"").expect("an answer");
    (told.status, told.text().to_owned())
}

fn part(at: SocketAddr) -> Value {
    let health: Value = serde_json::from_str(&ask(at, "/health").1).expect("JSON");
    health["parts"]["log"].clone()
}

fn dropped(at: SocketAddr, reason: &str) -> f64 {
    let told = ask(at, "/metrics").1;
    open_metrics::read(&told).expect("OpenMetrics")[&format!("hcert_log_lines_dropped_total{{reason=\"{reason}\"}}")]
}

/// Reads from several clients at once, each answered.
fn load(server: &Process) {
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = server.client();
                for _ in 0..REQUESTS / CLIENTS {
                    let told = client.send("GET", "/Composition/1", &[], b"").expect("an answer");
                    assert_eq!(told.status, 200, "{}", told.text());
                }
            });
        }
    });
}

/// The service is as if the log were written, and ends as if it were.
fn goes_on_and_stops(server: Process) {
    let at = server.watched_at.expect("it can be watched");
    load(&server);
    assert_eq!((ask(at, "/live").0, ask(at, "/ready").0), (200, 200));
    assert!(server.stop().success(), "SIGTERM ends it in order");
}

#[test]
fn a_reader_that_stops_holds_up_nobody_and_lines_that_do_not_fit_are_counted() {
    let place = Place::new();
    let (mut reader, writer) = pipe().expect("a pipe");
    let server = start(&place, writer);
    let at = server.watched_at.expect("it can be watched");
    // As many as the pipe and the queue hold, and more.
    while dropped(at, "queue") == 0.0 {
        load(&server);
    }
    let told = part(at);
    assert_eq!((&told["status"], &told["facts"]["last_problem"]), (&"degraded".into(), &Value::Null), "{told}");
    assert!(told["facts"]["dropped_lines"].as_u64().is_some_and(|lines| lines > 0), "{told}");
    assert_eq!((ask(at, "/live").0, ask(at, "/ready").0), (200, 200), "what only observes holds up no readiness");

    // It reads again: one line says how many are missing.
    let missing = read_until(&mut reader, "were dropped");
    let line: Value = serde_json::from_str(missing.lines().last().expect("a line")).expect("JSON");
    assert!(line["log.level"] == "warn" && line["hcert.lines"].as_u64().is_some_and(|lines| lines > 0), "{line}");
    // It stops again, for good.
    goes_on_and_stops(server);
}

/// Reads until a whole line holds these words.
fn read_until(reader: &mut PipeReader, words: &str) -> String {
    let (mut read, mut piece) = (Vec::new(), vec![0; 256 * 1024]);
    loop {
        let count = reader.read(&mut piece).expect("a pipe can be read");
        assert!(count > 0, "the server has ended");
        read.extend_from_slice(&piece[..count]);
        // Only the new end is looked at: there are megabytes before it.
        let from = read.len().saturating_sub(count + 4096);
        let end = String::from_utf8_lossy(&read[from..]).into_owned();
        if let Some(at) = end.find(words)
            && let Some(behind) = end[at..].find('\n')
        {
            return end[..at + behind].to_owned();
        }
    }
}

#[test]
fn a_reader_that_goes_away_and_a_full_disk_cost_lines_and_nothing_else() {
    let full = File::options().write(true).open("/dev/full").expect("every Linux has it");
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    for (stderr, problem) in [(Stdio::from(writer), "Broken pipe"), (Stdio::from(full), "No space left")] {
        let place = Place::new();
        let server = start(&place, stderr);
        let at = server.watched_at.expect("it can be watched");
        load(&server);
        eventually("the failure is counted", || dropped(at, "write") > 0.0);
        let told = part(at);
        assert_eq!(told["status"], "degraded", "{told}");
        assert!(told["facts"]["last_problem"].as_str().is_some_and(|told| told.contains(problem)), "{told}");
        goes_on_and_stops(server);
    }
}

#[test]
fn a_slow_reader_holds_up_nobody() {
    let place = Place::new();
    let (mut reader, writer) = pipe().expect("a pipe");
    let server = start(&place, writer);
    let ended = Arc::new(AtomicBool::new(false));
    let reading = thread::spawn({
        let ended = ended.clone();
        move || {
            // 4 KB a second.
            let mut piece = [0; 512];
            while !ended.load(Ordering::Acquire) && reader.read(&mut piece).is_ok() {
                thread::sleep(Duration::from_millis(125));
            }
        }
    });
    goes_on_and_stops(server);
    ended.store(true, Ordering::Release);
    reading.join().expect("it reads");
}

#[test]
fn a_log_that_was_closed_before_the_start_is_reported() {
    let place = Place::new();
    let server = Process::start_onto(&place.path("data"), Stdio::null(), |command| {
        command.env("HCERT__MANAGEMENT__LISTEN", "127.0.0.1:0");
        // SAFETY: closing a file is all that it does.
        unsafe {
            command.pre_exec(|| {
                libc::close(libc::STDERR_FILENO);
                Ok(())
            });
        }
    });
    let at = server.watched_at.expect("it can be watched");
    let log = part(at);
    assert_eq!(log["status"], "degraded", "{log}");
    assert!(log["words"].as_str().is_some_and(|words| words.contains("/dev/null")), "{log}");
    assert_eq!((ask(at, "/live").0, ask(at, "/ready").0), (200, 200));
    assert!(server.stop().success(), "SIGTERM ends it in order");
}

/// What was seen: a stop cut the line that was being written when the reader was slow.
#[test]
fn a_stop_while_the_reader_is_slow_leaves_no_torn_line() {
    let place = Place::new();
    let (mut reader, writer) = pipe().expect("a pipe");
    let server = start(&place, writer);
    load(&server);
    // Now the pipe is full and lines wait; room for some of them has the thread begin with all of them.
    let mut read = vec![0; 32 * 1024];
    reader.read_exact(&mut read).expect("lines");
    assert!(server.stop().success(), "SIGTERM ends it in order");
    let mut text = String::from_utf8(read).expect("text");
    reader.read_to_string(&mut text).expect("the writer has gone");
    assert!(text.len() > 50_000 && text.ends_with('\n'), "{:?}", &text[text.len().saturating_sub(200)..]);
    for line in text.lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|problem| panic!("{problem}: {line}"));
    }
}

#[test]
fn the_last_words_arrive_where_somebody_reads() {
    let place = Place::new();
    let (mut reader, writer) = pipe().expect("a pipe");
    let server = start(&place, writer);
    load(&server);
    let reading = thread::spawn(move || {
        let mut log = String::new();
        reader.read_to_string(&mut log).map(|_| log)
    });
    assert!(server.stop().success());
    let log = reading.join().expect("it reads").expect("text");
    assert_eq!(log.matches("\"http.response.status_code\":200").count(), REQUESTS);
    assert!(log.ends_with('\n') && log.contains("stopping"), "what was said at the end is there");

    // And where the start fails, behind the lines of the log.
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address").to_string();
    let _holder = TcpListener::bind(&taken).expect("still free");
    place.run(&["dev", "--listen", &taken, "--data", "other"]).expect(1).says("already in use");
}

#[test]
fn nobody_has_to_read_standard_output() {
    let place = Place::new();
    let watched = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address");
    let (_full_reader, writer) = full_pipe();
    let (gone_reader, gone) = pipe().expect("a pipe");
    drop(gone_reader);
    let full = File::options().write(true).open("/dev/full").expect("every Linux has it");
    for (number, stdout) in [Stdio::from(writer), gone.into(), full.into()].into_iter().enumerate() {
        let data = format!("data-{number}");
        let mut command = place.command(&["dev", "--listen", "127.0.0.1:0", "--data", &data]);
        command.env("HCERT__MANAGEMENT__LISTEN", watched.to_string()).stdout(stdout).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        let is_ready = || Client::new(watched).send_to("GET", "/ready", &[], b"").is_ok_and(|told| told.status == 200);
        eventually("it is ready", is_ready);
        // SAFETY: the call sends a signal to a child of our own that was not waited for yet.
        unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
        assert!(super::wait(&mut child).success());
    }
}

/// A pipe without room for one byte more, and its reader.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = pipe().expect("a pipe");
    // SAFETY: the call asks after a pipe of our own.
    let room = unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_GETPIPE_SZ) };
    writer.write_all(&vec![b'x'; usize::try_from(room).expect("a size")]).expect("as much as there is room for");
    (reader, writer)
}

#[test]
fn a_process_that_the_system_ends_does_not_wait_for_its_reader() {
    let place = Place::new();
    let (_reader, writer) = full_pipe();
    let mut server = start(&place, writer);
    // SAFETY: the call sends a signal to a child of our own that was not waited for yet.
    unsafe { libc::kill(server.id().cast_signed(), libc::SIGBUS) };
    assert_eq!(server.ends_by_itself().signal(), Some(libc::SIGBUS));
}

#[test]
fn systemd_is_told_of_the_start_of_life_and_of_the_end() {
    let place = Place::new();
    let path = place.path("notify");
    let socket = std::os::unix::net::UnixDatagram::bind(&path).expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time");
    let server = Process::start_with(&place.path("data"), |command| {
        command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "4000000");
    });
    let mut told = String::new();
    let mut until = |words: &str| {
        let mut message = [0; 1024];
        while !told.contains(words) {
            let count = socket.recv(&mut message).unwrap_or_else(|error| panic!("{words}: {error} behind {told}"));
            told.push_str(std::str::from_utf8(&message[..count]).expect("text"));
        }
        let before = told.split(words).next().expect("something").to_owned();
        told.clear();
        before
    };
    let opening = until("READY=1\n");
    assert!(opening.contains("EXTEND_TIMEOUT_USEC=") && !opening.contains("STOPPING"), "{opening}");
    for _ in 0..2 {
        assert!(!until("WATCHDOG=1\n").contains("STOPPING"));
    }
    assert!(server.stop().success());
    until("STOPPING=1\n");
}

/// What was seen: `HCERT__SERVER__WORKERS=99 hcert serve` never ended.
#[test]
fn a_start_that_fails_ends_though_nobody_reads_why() {
    let place = Place::new();
    for arguments in [&["dev", "--data", "data"][..], &["dev", "--prot", "1"], &["sevre"], &["import"], &[]] {
        let (_reader, writer) = full_pipe();
        let mut command = hcert(arguments);
        command.current_dir(place.path(".")).env("HCERT__SERVER__WORKERS", "99999").stderr(writer);
        assert_eq!(wait(&mut command.spawn().expect("a process")).code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn sighup_in_the_first_moments_of_a_start_ends_nothing() {
    let place = Place::new();
    let mut command = hcert(&["dev", "--listen", "127.0.0.1:0", "--data", "data"]);
    command.current_dir(place.path(".")).env("HCERT__LOG__LEVEL", "info").stderr(Stdio::piped());
    let mut child = command.spawn().expect("a process");
    let status = format!("/proc/{}/status", child.id());
    eventually("the start ignores them, long before it catches any", || {
        let status = std::fs::read_to_string(&status).expect("a process that runs");
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("the ignored signals");
        u64::from_str_radix(ignored.trim(), 16).expect("a mask") & (1 << (libc::SIGUSR1 - 1)) != 0
    });
    for number in [libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2] {
        // SAFETY: the call sends a signal to a child of our own that was not waited for yet.
        unsafe { libc::kill(child.id().cast_signed(), number) };
    }
    let mut said = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    assert!(said.any(|line| line.expect("text").contains("service.start")), "it starts all the same");
    child.kill().and_then(|()| child.wait()).expect("it ends");
}

#[test]
fn a_pipe_as_key_set_is_refused_at_the_start() {
    let place = Place::new();
    let path = place.path("keys.json");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    let mut command = hcert(&["serve", "--data", "data"]);
    command.current_dir(place.path(".")).env("HCERT__ACCESS__TOKEN__JWKS", &path).stderr(Stdio::piped());
    command.env("HCERT__ACCESS__TOKEN__ISSUER", "https://issuer.example");
    command.env("HCERT__ACCESS__TOKEN__AUDIENCE", "hcert");
    let mut child = command.spawn().expect("a process");
    let ended = wait(&mut child);
    let said = std::io::read_to_string(child.stderr.take().expect("a pipe")).expect("text");
    assert!(ended.code() == Some(2) && said.contains("it is no regular file"), "{ended} {said}");
}

#[test]
fn a_notify_socket_that_cannot_be_used_is_named_and_signals_of_rotators_end_nothing() {
    let place = Place::new();
    for name in ["x".repeat(300), place.path("nobody").display().to_string()] {
        let data = tempfile::tempdir_in(place.path(".")).expect("a folder");
        let server = Process::start_with(data.path(), |command| {
            command.env("NOTIFY_SOCKET", &name).env("HCERT__LOG__LEVEL", "warn");
        });
        for number in [libc::SIGUSR1, libc::SIGUSR2, libc::SIGHUP] {
            // SAFETY: the call sends a signal to a child of our own that was not waited for yet.
            unsafe { libc::kill(server.id().cast_signed(), number) };
        }
        eventually("the warning", || server.log().contains("systemd.unusable"));
        assert_eq!(server.client().get("/metadata").status, 200);
        assert_eq!(server.log().matches("systemd.unusable").count(), 1, "{}", server.log());
        assert!(server.stop().success());
    }
}
