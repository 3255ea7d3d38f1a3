//! Answers over HTTP/2 that are not taken, in every way a client has to keep one back: the connection is cut once it owes
//! `server.write_timeout_s`, and what the answers held is free again.

use std::io::{self, Read};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::http2::{DATA, Http2, WINDOW_MAX};
use crate::process::{Client, PATIENCE, Process, eventually};

const DRAFT: &str = include_str!("../../examples/driver-draft.json");

/// Between two signs of life of a client that takes nothing.
const BEAT: Duration = Duration::from_millis(10);

/// Bytes of a certificate that fits into no window a client begins with, and that would take ten minutes at the slowest pace.
pub(crate) const LARGE: usize = 300 * 1024;

/// A draft with a narrative of some bytes.
pub(crate) fn draft_of(bytes: usize) -> String {
    let paragraph = format!("<p>{}</p>", "x".repeat(990));
    DRAFT.replacen("</div>", &format!("{}</div>", paragraph.repeat(bytes / paragraph.len())), 1)
}

/// Creates a certificate; its address below the base path.
pub(crate) fn create(client: &mut Client, body: &str) -> String {
    let answer = client.send("POST", "/Composition", &[], body.as_bytes()).expect("the server runs");
    assert_eq!(answer.status, 201, "{}", answer.text());
    let location = answer.header("location").expect("a create tells where");
    let id = location.rsplit('/').nth(2).expect("an address ends with /_history/1");
    format!("/Composition/{id}")
}

/// How a client keeps an answer back.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// It does nothing at all.
    Silent,
    /// It lets nothing come, and pings.
    ShutWindow,
    /// It never enlarges the windows that every connection begins with, and pings.
    FirstWindow,
    /// It lets a byte come now and then.
    ByteWise,
    /// It leaves one answer and takes one after another.
    OneOfMany,
    /// It leaves an answer while it sends another request, without an end.
    WhileItSends,
    /// It lets everything come, and takes it from the socket byte by byte.
    Socket,
}

const WAYS: [Way; 7] =
    [Way::Silent, Way::ShutWindow, Way::FirstWindow, Way::ByteWise, Way::OneOfMany, Way::WhileItSends, Way::Socket];

/// Goes a way until the server ends the connection. An error is such an end; nothing is returned when it does not come.
fn go(server: &Process, way: Way, path: &str) -> io::Result<()> {
    let path = format!("/fhir{path}");
    let start = Instant::now();
    let is_late = || start.elapsed() > PATIENCE;
    if let Way::Socket = way {
        let stream = TcpStream::connect(server.address)?;
        let mut client = Http2::begin(stream.try_clone()?, WINDOW_MAX)?;
        client.allow(0, WINDOW_MAX - 65_535)?;
        // More than the sockets between hold, and not so many that others of the same machine find no place to wait for a large read.
        for _ in 0..40 {
            client.get(&path)?;
        }
        stream.set_read_timeout(Some(BEAT))?;
        let mut drip = stream;
        while !is_late() {
            thread::sleep(BEAT);
            // A reset is told before what was taken from the wire has been read.
            if let Some(end) = drip.take_error()? {
                return Err(end);
            }
            match drip.read(&mut [0]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        return Ok(());
    }
    let mut client = match way {
        Way::ShutWindow | Way::OneOfMany => Http2::connect(server.address, 0)?,
        _ => Http2::connect(server.address, 65_535)?,
    };
    let left = client.get(&path)?;
    if let Way::OneOfMany = way {
        client.allow(0, 1 << 30)?;
    }
    let sending = match way {
        Way::WhileItSends => Some(client.post("/fhir/Composition", 1_000_000)?),
        _ => None,
    };
    let mut read = None;
    let mut finished = 0;
    while !is_late() {
        if !matches!(way, Way::Silent) {
            client.ping()?;
        }
        match way {
            Way::ByteWise => {
                client.allow(0, 1)?;
                client.allow(left, 1)?;
            }
            Way::OneOfMany if read.is_none() => {
                let stream = client.get(&path)?;
                client.allow(stream, 1 << 20)?;
                read = Some(stream);
            }
            _ => {}
        }
        if let Some(stream) = sending {
            client.data(stream, b" ")?;
        }
        let beat = Instant::now();
        while let Some(frame) = client.frame(BEAT)? {
            if Some(frame.stream) == read && frame.ends_stream() {
                (read, finished) = (None, finished + 1);
            }
            if Some(frame.stream) == read && frame.kind == DATA && !frame.payload.is_empty() {
                client.allow(0, u32::try_from(frame.payload.len()).expect("a frame is short"))?;
            }
            assert!(!(frame.stream == left && frame.ends_stream()), "{way:?}: the answer that is left came to its end");
            if beat.elapsed() > BEAT {
                break;
            }
        }
    }
    println!("{way:?}: {finished} other answers were taken");
    Ok(())
}

#[test]
fn an_answer_that_is_kept_back_by_whatever_means_ends_its_connection_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let server = Process::start_with(&folder.path().join("data"), |command| {
        // Nothing but the bound on unread answers ends a connection in this time.
        command.env("HCERT__SERVER__WRITE_TIMEOUT_S", "1").env("HCERT__SERVER__HEADER_TIMEOUT_S", "3");
        command.env("HCERT__SERVER__BODY_TIMEOUT_S", "600").env("HCERT__SERVER__BODY_BYTES_PER_SECOND_MIN", "1");
    });
    let path = create(&mut server.client(), &draft_of(LARGE));
    thread::scope(|scope| {
        let ways = WAYS.map(|way| {
            (
                way,
                scope.spawn({
                    let (server, path) = (&server, &path);
                    move || go(server, way, path)
                }),
            )
        });
        for (way, ended) in ways {
            let ended = ended.join().expect("a way has its end");
            assert!(ended.is_err(), "{way:?}: still connected after {} s", PATIENCE.as_secs());
        }
    });
    assert_eq!(server.client().get(&path).status, 200);
    assert_eq!(server.stop().code(), Some(0));
}

#[test]
fn who_takes_an_answer_piece_by_piece_gets_the_whole_and_keeps_the_connection() {
    let folder = tempfile::tempdir().unwrap();
    let server = Process::start(&folder.path().join("data"));
    let path = create(&mut server.client(), &draft_of(LARGE));
    let whole = server.client().get(&path).body;
    let mut client = Http2::connect(server.address, 0).unwrap();
    for round in 0..2 {
        let stream = client.get(&format!("/fhir{path}")).unwrap();
        let taken_back = client.get(&format!("/fhir{path}")).unwrap();
        let mut read = Vec::new();
        eventually("the answer has come", || {
            client.allow(0, 20_000).unwrap();
            client.allow(stream, 20_000).unwrap();
            let mut is_over = false;
            while let Some(frame) = client.frame(Duration::from_millis(1)).unwrap() {
                assert!(frame.stream != taken_back || frame.kind != DATA, "nothing of it was let through");
                is_over |= frame.stream == stream && frame.ends_stream();
                if (frame.stream, frame.kind) == (stream, DATA) {
                    read.extend(frame.payload);
                }
            }
            is_over
        });
        assert!(read == whole, "byte for byte, in round {round}");
        client.take_back(taken_back).unwrap();
    }
    assert_eq!(server.stop().code(), Some(0));
}
