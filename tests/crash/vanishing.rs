//! Clients that vanish in the middle of everything: a handshake, a head, a body, an answer. Nothing of them stays, and a server that is told
//! to stop among them stops.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use crate::crowd::{memory, sockets};
use crate::http2::Http2;
use crate::process::{Client, Process, eventually};
use crate::unread::{LARGE, create, draft_of};
use crate::{Raise, Random, random};

/// Half handshakes of one run.
const HANDSHAKES: usize = 1_000;

/// Connections of one run that vanish in the middle of a request or an answer.
const OTHERS: usize = 400;

/// Bytes of memory that may stay after all of them, since the allocator keeps what was given back: what the largest request and answer of
/// each of the connections open at once take.
const KEPT_BYTES: usize = AT_ONCE * 2 * (LARGE + 512 * 1024);

/// Connections open at once.
const AT_ONCE: usize = 50;

/// The first message of a client of TLS, who trusts the service.
fn hello(authority: &[u8]) -> (ClientConnection, Vec<u8>) {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(authority.to_vec())).expect("a certificate");
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider knows them")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().expect("a name");
    let mut client = ClientConnection::new(Arc::new(config), name).expect("the settings fit");
    let mut bytes = Vec::new();
    while client.wants_write() {
        client.write_tls(&mut bytes).expect("memory takes it");
    }
    (client, bytes)
}

/// Ends a connection as a client does whose machine is gone: by a reset, or in order.
fn vanish(stream: TcpStream, by_reset: bool) {
    if by_reset {
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        let size = libc::socklen_t::try_from(size_of::<libc::linger>()).expect("it is small");
        // SAFETY: the descriptor is that of an open socket, and the structure and its size are right and outlive the call.
        let set = unsafe {
            libc::setsockopt(
                stream.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_LINGER,
                std::ptr::from_ref(&linger).cast(),
                size,
            )
        };
        assert_eq!(set, 0, "a socket lingers as it is told");
    }
    drop(stream);
}

/// Goes as far as chance says into something, and stays there.
fn half_way(server: &Process, path: &str, random: &mut Random) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(server.address)?;
    let body = draft_of(0);
    let head = format!(
        "POST /fhir/Composition HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/fhir+json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let get = format!("GET /fhir{path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    match random.below(6) {
        // In a head or a body, sometimes behind the last byte but before the answer.
        0 | 1 => {
            let whole = head + &body;
            let until = 1 + random.below(whole.len() as u64) as usize;
            stream.write_all(&whole.as_bytes()[..until])?;
        }
        // In a body whose pieces have no end.
        2 => {
            let pieces = head.replace(&format!("content-length: {}", body.len()), "transfer-encoding: chunked");
            stream.write_all(format!("{pieces}5\r\n{{\"a\":\r\n").as_bytes())?;
        }
        // In answers, after a piece of the first.
        3 | 4 => {
            stream.write_all(get.repeat(3).as_bytes())?;
            stream.read_exact(&mut [0; 1_000])?;
        }
        // In answers and bodies of HTTP/2.
        _ => {
            let mut client = Http2::begin(stream.try_clone()?, 65_535)?;
            for _ in 0..10 {
                client.get(&format!("/fhir{path}"))?;
            }
            let post = client.post("/fhir/Composition", 10_000)?;
            client.data(post, b"{")?;
        }
    }
    Ok(stream)
}

/// One of the numbers that the server tells about itself.
fn metric(server: &Process, name: &str) -> f64 {
    let at = server.watched_at.expect("it can be watched");
    let told = Client::new(at).send_to("GET", "/metrics", &[], b"").expect("an answer");
    let line = told.text().lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} is told")).parse().expect("a number")
}

fn leaves_nothing(server: &Process, alone: usize) {
    eventually("all sockets are closed", || sockets(server) <= alone);
    for name in ["hcert_connections", "hcert_http_requests_working", "hcert_http_requests_waiting"] {
        eventually(&format!("{name} is 0"), || metric(server, name) == 0.0);
    }
}

#[test]
fn a_thousand_half_handshakes_leave_nothing_and_keep_nobody_out() {
    let mut random = random("half handshakes");
    let folder = tempfile::tempdir().unwrap();
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(folder.path().join("own.pem"), own.cert.pem()).unwrap();
    fs::write(folder.path().join("key.pem"), own.signing_key.serialize_pem()).unwrap();
    let server = start(folder.path(), |command| {
        command.env("HCERT__TLS__CERTIFICATE", folder.path().join("own.pem"));
        command.env("HCERT__TLS__KEY", folder.path().join("key.pem"));
    });
    let alone = sockets(&server);
    let (_, hello_bytes) = hello(own.cert.der());
    let mut open = Vec::new();
    for number in 0..HANDSHAKES {
        let mut stream = TcpStream::connect(server.address).unwrap();
        // Some say nothing, some a piece, some all and wait for the rest, some what is no TLS.
        let until = random.below(hello_bytes.len() as u64 + 1) as usize;
        let sent = match random.below(4) {
            0 => stream.write_all(&hello_bytes),
            1 => stream.write_all(b"GET / HTTP/1.1\r\n\r\n"),
            _ => stream.write_all(&hello_bytes[..until]),
        };
        sent.expect("the first bytes are taken");
        open.push(stream);
        if open.len() == AT_ONCE {
            open.drain(..).for_each(|stream| vanish(stream, random.below(2) == 0));
        }
        if number % 100 == 0 {
            greet(&server, own.cert.der());
        }
    }
    drop(open);
    leaves_nothing(&server, alone);
    let failed = metric(&server, "hcert_connections_closed_total{why=\"handshake-failed\"}");
    assert!(failed > HANDSHAKES as f64 / 4.0, "{failed} handshakes failed");

    let mut open = Vec::new();
    for bytes in [&hello_bytes[..], &hello_bytes[..50], b""] {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(bytes).unwrap();
        open.push(stream);
    }
    eventually("they are there", || metric(&server, "hcert_connections") == open.len() as f64);
    assert_eq!(server.stop().code(), Some(0), "handshakes do not hold a stop up");
}

/// A client that means it: it shakes hands, asks and is answered.
fn greet(server: &Process, authority: &[u8]) {
    let (mut client, hello) = hello(authority);
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(&hello).unwrap();
    let mut secured = rustls::Stream::new(&mut client, &mut stream);
    secured.write_all(b"GET /fhir/metadata HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut status = [0; 12];
    secured.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
}

fn start(folder: &Path, more: impl FnOnce(&mut std::process::Command)) -> Process {
    Process::start_with(&folder.join("data"), |command| {
        command.env("HCERT__MANAGEMENT__LISTEN", "127.0.0.1:0").env("HCERT__SERVER__DRAIN_TIMEOUT_S", "2");
        more(command);
    })
}

#[test]
fn clients_that_vanish_half_way_leave_nothing_and_hold_no_stop_up() {
    let mut random = random("vanishing clients");
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), |_| ());
    let alone = sockets(&server);
    let path = create(&mut server.client(), &draft_of(LARGE));
    // Once as many as are open at once later, so that memory is what it is then.
    let crowd = |server: &Process, random: &mut Random| {
        let open: Vec<_> = (0..AT_ONCE).map(|_| half_way(server, &path, random)).collect();
        for stream in open {
            vanish(stream.expect("it went half-way"), random.below(2) == 0);
        }
    };
    crowd(&server, &mut random);
    let before = memory(&server);
    for _ in 0..OTHERS / AT_ONCE {
        crowd(&server, &mut random);
        assert_eq!(server.client().send("GET", &path, &[], b"").unwrap().status, 200);
    }
    leaves_nothing(&server, alone);
    let grown = memory(&server).saturating_sub(before);
    println!("{} KiB more, {} KiB are allowed", grown / 1024, KEPT_BYTES / 1024);
    assert!(grown <= KEPT_BYTES, "{grown} bytes stay");

    let gone = AtomicBool::new(false);
    thread::scope(|scope| {
        let done = Raise(&gone);
        for number in 0..4 {
            let (server, path, gone) = (&server, &path, &gone);
            let mut random = Random(number);
            scope.spawn(move || {
                let mut open = Vec::new();
                while !gone.load(Ordering::Relaxed) {
                    // Where it is stopping, nobody is let in any more.
                    open.extend(half_way(server, path, &mut random));
                    if open.len() == AT_ONCE / 4 {
                        open.clear();
                    }
                }
            });
        }
        eventually("they are there", || metric(&server, "hcert_connections") > 4.0);
        server.terminate();
        server.ended();
        drop(done);
    });
    assert_eq!(server.stop().code(), Some(0), "it has ended by itself");
}

#[test]
fn clients_of_http_2_that_are_gone_without_a_word_do_not_hold_a_stop_up() {
    let folder = tempfile::tempdir().unwrap();
    let server = Process::start_with(&folder.path().join("data"), |command| {
        // Longer than anybody waits for a test.
        command.env("HCERT__SERVER__DRAIN_TIMEOUT_S", "600");
    });
    let gone: Vec<_> = (0..5)
        .map(|_| {
            let mut client = Http2::connect(server.address, 65_535).unwrap();
            let asked = client.get("/fhir/metadata").unwrap();
            client.allow(asked, 1 << 20).unwrap();
            client.allow(0, 1 << 20).unwrap();
            eventually("it is answered", || {
                client.frame(Duration::from_millis(1)).unwrap().is_some_and(|frame| frame.ends_stream())
            });
            // From here on it answers no pings.
            client
        })
        .collect();
    assert_eq!(server.stop().code(), Some(0));
    drop(gone);
}
