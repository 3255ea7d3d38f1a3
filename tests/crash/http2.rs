//! A client of HTTP/2 that writes its frames by hand, since no library would do what a hostile client does.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Kinds of frames (RFC 9113, 6) that are told apart here.
pub(crate) const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;

/// Largest window there is.
pub(crate) const WINDOW_MAX: u32 = (1 << 31) - 1;

pub(crate) struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

impl Frame {
    pub(crate) fn is_head(&self) -> bool {
        self.kind == HEADERS
    }

    pub(crate) fn ends_stream(&self) -> bool {
        matches!(self.kind, DATA | HEADERS) && self.flags & END_STREAM != 0
    }
}

/// A connection. Frames that come are read only when they are asked for.
pub(crate) struct Http2 {
    stream: TcpStream,
    next: u32,
    read: Vec<u8>,
    /// What each request carries beside its own headers.
    always: Vec<u8>,
}

impl Http2 {
    /// Connects and begins. `window` is what each stream may send at first (SETTINGS_INITIAL_WINDOW_SIZE).
    pub(crate) fn connect(address: SocketAddr, window: u32) -> io::Result<Http2> {
        Http2::begin(TcpStream::connect(address)?, window)
    }

    /// As [`connect`](Self::connect), over a connection that is there.
    pub(crate) fn begin(stream: TcpStream, window: u32) -> io::Result<Http2> {
        stream.set_nodelay(true)?;
        let mut begun = Http2 { stream, next: 1, read: Vec::new(), always: Vec::new() };
        begun.stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")?;
        let mut settings = vec![0, 4];
        settings.extend(window.to_be_bytes());
        begun.send(SETTINGS, 0, 0, &settings)?;
        Ok(begun)
    }

    /// Sends a header with each request from now on.
    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Http2 {
        self.always.push(0);
        for text in [name, value] {
            self.always.push(u8::try_from(text.len()).ok().filter(|length| *length < 127).expect("a short text"));
            self.always.extend(text.as_bytes());
        }
        self
    }

    fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> io::Result<()> {
        let length = u32::try_from(payload.len()).expect("frames of a test are short").to_be_bytes();
        let mut frame = vec![length[1], length[2], length[3], kind, flags];
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.stream.write_all(&frame)
    }

    /// Asks for a path; the number of the stream.
    pub(crate) fn get(&mut self, path: &str) -> io::Result<u32> {
        // HPACK: ":method: GET" and ":scheme: http" of the static table.
        self.ask(&[0x82, 0x86], path, END_STREAM, &[])
    }

    /// As [`get`](Self::get), with a header that is sent once for the connection and then named by a byte each of `count` times.
    pub(crate) fn get_with_headers(&mut self, path: &str, count: usize) -> io::Result<u32> {
        // RFC 7541: the first entry of the dynamic table has the index 62.
        let mut headers = vec![0xbe; count];
        if self.next == 1 {
            headers.splice(0..0, [0x40, 1, b'a', 0]);
        }
        self.ask(&[0x82, 0x86], path, END_STREAM, &headers)
    }

    /// Begins a request with a body, of which nothing is sent yet.
    pub(crate) fn post(&mut self, path: &str, bytes: usize) -> io::Result<u32> {
        let mut headers = Vec::new();
        literal(&mut headers, 31, "application/fhir+json");
        literal(&mut headers, 28, &bytes.to_string());
        // ":method: POST"
        self.ask(&[0x83, 0x86], path, 0, &headers)
    }

    fn ask(&mut self, known: &[u8], path: &str, flags: u8, more: &[u8]) -> io::Result<u32> {
        let stream = self.next;
        self.next += 2;
        let mut block = known.to_vec();
        literal(&mut block, 4, path);
        literal(&mut block, 1, "localhost");
        block.extend(&self.always);
        block.extend(more);
        self.send(HEADERS, END_HEADERS | flags, stream, &block)?;
        Ok(stream)
    }

    pub(crate) fn data(&mut self, stream: u32, bytes: &[u8]) -> io::Result<()> {
        self.send(DATA, 0, stream, bytes)
    }

    pub(crate) fn ping(&mut self) -> io::Result<()> {
        self.send(PING, 0, 0, b"are you?")
    }

    /// Lets `bytes` more come: of a stream, or of all together where it is 0.
    pub(crate) fn allow(&mut self, stream: u32, bytes: u32) -> io::Result<()> {
        self.send(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes())
    }

    /// Takes an answer back (RST_STREAM, CANCEL).
    pub(crate) fn take_back(&mut self, stream: u32) -> io::Result<()> {
        self.send(RST_STREAM, 0, stream, &8_u32.to_be_bytes())
    }

    /// The next frame, if one comes within `wait`; settings and pings are answered on the way.
    ///
    /// # Errors
    /// The connection has ended.
    pub(crate) fn frame(&mut self, wait: Duration) -> io::Result<Option<Frame>> {
        self.stream.set_read_timeout(Some(wait))?;
        loop {
            while let Some(frame) = self.whole() {
                match (frame.kind, frame.flags & ACK) {
                    (SETTINGS, 0) => self.send(SETTINGS, ACK, 0, &[])?,
                    (PING, 0) => self.send(PING, ACK, 0, &frame.payload)?,
                    _ => return Ok(Some(frame)),
                }
            }
            let mut bytes = [0; 64 * 1024];
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.read.extend(&bytes[..count]),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes a whole frame from what was read.
    fn whole(&mut self) -> Option<Frame> {
        let head: [u8; 9] = self.read.get(..9)?.try_into().expect("nine bytes");
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let payload = self.read.get(9..9 + length)?.to_vec();
        self.read.drain(..9 + length);
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & WINDOW_MAX;
        Some(Frame { kind: head[3], flags: head[4], stream, payload })
    }
}

/// A header whose name is in the static table (RFC 7541, 6.2.2), neither indexed nor compressed.
fn literal(block: &mut Vec<u8>, name: u8, value: &str) {
    // Names from 15 on take a second byte.
    match name.checked_sub(15) {
        None => block.push(name),
        Some(rest) => block.extend([15, rest]),
    }
    let length = u8::try_from(value.len()).expect("a short value");
    assert!(length < 127, "a short value");
    block.push(length);
    block.extend(value.as_bytes());
}
