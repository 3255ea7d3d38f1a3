//! A small HTTP/1.1 client on a bare socket: what it costs must not be felt beside what it measures.

use std::io;
use std::io::Write as _;
use std::net::{SocketAddr, ToSocketAddrs};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::stop::BenchError;

/// A FHIR server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchTarget {
    pub address: SocketAddr,
    /// As the `Host` header names it.
    host: String,
    /// Without a slash at the end: `/fhir`.
    base: String,
}

impl BenchTarget {
    /// Takes a base address apart: `http://127.0.0.1:8080/fhir`.
    ///
    /// # Errors
    /// It is none, its host has no address, or it asks for TLS.
    pub fn parse(url: &str) -> Result<BenchTarget, BenchError> {
        let refused = |why: &str| BenchError::Plan(format!("'{url}' cannot be driven: {why}"));
        if url.starts_with("https://") {
            return Err(refused(
                "only http is spoken here; drive the server behind its TLS, or put a plain proxy in front",
            ));
        }
        let rest = url.strip_prefix("http://").ok_or_else(|| refused("it must begin with http://"))?;
        let (host, base) = rest.find(['/', '?', '#']).map_or((rest, ""), |at| rest.split_at(at));
        if host.is_empty() || host.contains('@') || base.contains(['?', '#', ' ']) {
            return Err(refused("a base address looks like http://host:port/fhir"));
        }
        let with_port = if host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
            host.to_owned()
        } else {
            format!("{host}:80")
        };
        let address = with_port.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
        let address = address.ok_or_else(|| refused("its host has no address"))?;
        Ok(BenchTarget { address, host: host.to_owned(), base: base.trim_end_matches('/').to_owned() })
    }

    /// Appends a GET of what lies behind the base address: `/Composition/1`.
    pub fn get(&self, out: &mut Vec<u8>, path: std::fmt::Arguments) {
        write!(out, "GET {}{path} HTTP/1.1\r\nHost: {}\r\nAccept: application/fhir+json\r\n\r\n", self.base, self.host)
            .expect("writing to memory does not fail");
    }

    /// Appends a request with a body, given in parts.
    pub fn send(&self, out: &mut Vec<u8>, method: &str, path: std::fmt::Arguments, body: &[&[u8]]) {
        let bytes: usize = body.iter().map(|part| part.len()).sum();
        write!(
            out,
            "{method} {}{path} HTTP/1.1\r\nHost: {}\r\nAccept: application/fhir+json\r\nContent-Type: application/fhir+json\r\n\
             Content-Length: {bytes}\r\n\r\n",
            self.base, self.host
        )
        .expect("writing to memory does not fail");
        body.iter().for_each(|part| out.extend_from_slice(part));
    }
}

/// One connection that is kept and, when the server closes it, opened again.
pub(super) struct BenchConnection {
    address: SocketAddr,
    stream: Option<TcpStream>,
    /// What came, from the first byte of the answer on.
    buffer: Vec<u8>,
    /// The body of an answer that came in chunks, put together.
    joined: Vec<u8>,
}

/// An answer, borrowed from its connection.
#[derive(Debug)]
pub(super) struct BenchResponse<'a> {
    pub status: u16,
    pub head: &'a [u8],
    pub body: &'a [u8],
}

/// Bytes of an answer's head at most; more is no server we can drive.
const HEAD_BYTES_MAX: usize = 64 * 1024;

impl BenchConnection {
    pub(super) fn new(target: &BenchTarget) -> BenchConnection {
        BenchConnection {
            address: target.address,
            stream: None,
            buffer: Vec::with_capacity(64 * 1024),
            joined: Vec::new(),
        }
    }

    /// Sends a request and reads the answer.
    ///
    /// # Errors
    /// The connection cannot be opened, or breaks: whether the request was done is not known.
    pub(super) async fn send(&mut self, request: &[u8]) -> io::Result<BenchResponse<'_>> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(self.address).await?;
                stream.set_nodelay(true)?;
                stream
            }
        };
        self.buffer.clear();
        stream.write_all(request).await?;
        let head = loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break end + 4;
            }
            if self.buffer.len() > HEAD_BYTES_MAX {
                return Err(broken("the head of the answer has no end"));
            }
            self.more(&mut stream).await?;
        };
        let status = status(&self.buffer[..head]).ok_or_else(|| broken("the answer is not HTTP/1.1"))?;
        let length = match length(&self.buffer[..head], status).ok_or_else(|| broken("the answer has no length"))? {
            BodyLength::Known(length) => {
                while self.buffer.len() < head + length {
                    self.more(&mut stream).await?;
                }
                Some(length)
            }
            BodyLength::Chunked => {
                self.chunks(&mut stream, head).await?;
                None
            }
        };
        let (head, rest) = self.buffer.split_at(head);
        if !header(head, b"connection").is_some_and(|value| value.eq_ignore_ascii_case(b"close")) {
            self.stream = Some(stream);
        }
        Ok(BenchResponse { status, head, body: length.map_or(&self.joined, |length| &rest[..length]) })
    }

    async fn more(&mut self, stream: &mut TcpStream) -> io::Result<()> {
        match stream.read_buf(&mut self.buffer).await? {
            0 => Err(broken("the server closed the connection")),
            _ => Ok(()),
        }
    }

    async fn chunks(&mut self, stream: &mut TcpStream, head: usize) -> io::Result<()> {
        self.joined.clear();
        let mut at = head;
        loop {
            let end = loop {
                match find(&self.buffer[at..], b"\r\n") {
                    Some(end) => break at + end,
                    None => self.more(stream).await?,
                }
            };
            let size = std::str::from_utf8(&self.buffer[at..end]).ok().and_then(|line| line.split(';').next());
            let size = size.and_then(|size| usize::from_str_radix(size.trim(), 16).ok());
            let size = size.ok_or_else(|| broken("a chunk has no size"))?;
            at = end + 2;
            while self.buffer.len() < at + size + 2 {
                self.more(stream).await?;
            }
            if size == 0 {
                return Ok(());
            }
            self.joined.extend_from_slice(&self.buffer[at..at + size]);
            at += size + 2;
        }
    }
}

impl BenchResponse<'_> {
    /// A header's value.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        header(self.head, name.as_bytes()).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// Id of what was created: `Location: …/Composition/17/_history/1`, with or without the end.
    pub(super) fn created_id(&self) -> Option<&str> {
        let (_, path) = self.header("location")?.rsplit_once("Composition/")?;
        path.split('/').next().filter(|id| !id.is_empty())
    }

    /// `Bundle.total`, found without reading the whole: every server writes it before the entries.
    pub(super) fn total(&self) -> Option<u64> {
        let at = find(self.body, b"\"total\"")? + 7;
        let digits =
            self.body[at..].iter().skip_while(|byte| matches!(byte, b' ' | b':')).take_while(|b| b.is_ascii_digit());
        let digits: Vec<u8> = digits.copied().collect();
        std::str::from_utf8(&digits).ok()?.parse().ok()
    }

    /// Whether the body holds a text.
    pub(super) fn holds(&self, text: &str) -> bool {
        find(self.body, text.as_bytes()).is_some()
    }

    /// Status and the beginning of the body, for people.
    pub(super) fn words(&self) -> String {
        let text = String::from_utf8_lossy(&self.body[..self.body.len().min(300)]);
        format!("status {} {}", self.status, text.split_whitespace().collect::<Vec<_>>().join(" "))
            .trim_end()
            .to_owned()
    }
}

enum BodyLength {
    Known(usize),
    Chunked,
}

fn length(head: &[u8], status: u16) -> Option<BodyLength> {
    if status == 204 || status == 304 {
        return Some(BodyLength::Known(0));
    }
    if header(head, b"transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case(b"chunked")) {
        return Some(BodyLength::Chunked);
    }
    let value = header(head, b"content-length")?;
    std::str::from_utf8(value).ok()?.parse().ok().map(BodyLength::Known)
}

fn status(head: &[u8]) -> Option<u16> {
    std::str::from_utf8(head.strip_prefix(b"HTTP/1.1 ")?.get(..3)?).ok()?.parse().ok()
}

fn header<'h>(head: &'h [u8], name: &[u8]) -> Option<&'h [u8]> {
    head.split(|byte| *byte == b'\n').skip(1).find_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        line[..colon].eq_ignore_ascii_case(name).then(|| line[colon + 1..].trim_ascii())
    })
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    let first = *part.first()?;
    let mut at = 0;
    while let Some(next) = text[at..].iter().position(|byte| *byte == first) {
        at += next;
        if text[at..].starts_with(part) {
            return Some(at);
        }
        at += 1;
    }
    None
}

fn broken(words: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, words)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    /// A server that answers each request on a connection with the next of some texts, in two pieces.
    fn answering(texts: Vec<&'static str>) -> BenchTarget {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for text in texts {
                let mut byte = [0];
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    stream.read_exact(&mut byte).unwrap();
                    request.push(byte[0]);
                }
                let (first, second) = text.split_at(text.len() / 2);
                stream.write_all(first.as_bytes()).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(5));
                stream.write_all(second.as_bytes()).unwrap();
            }
        });
        BenchTarget::parse(&format!("http://{address}/fhir/")).unwrap()
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    #[test]
    fn a_base_address_is_taken_apart_and_a_wrong_one_explained() {
        let target = BenchTarget::parse("http://127.0.0.1:8080/fhir/").unwrap();
        assert_eq!((target.address.port(), target.base.as_str()), (8080, "/fhir"));
        assert_eq!(BenchTarget::parse("http://127.0.0.1").unwrap().address.port(), 80);
        let mut request = Vec::new();
        target.get(&mut request, format_args!("/Composition/{}", 1));
        assert!(request.starts_with(b"GET /fhir/Composition/1 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n"));
        for (url, words) in [
            ("https://127.0.0.1/fhir", "only http"),
            ("127.0.0.1:8080", "must begin with http://"),
            ("http:///fhir", "looks like"),
            ("http://127.0.0.1:1/fhir?a=b", "looks like"),
            ("http://127.0.0.1:99999/fhir", "no address"),
        ] {
            let Err(BenchError::Plan(told)) = BenchTarget::parse(url) else { panic!("{url} was taken") };
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn answers_are_read_with_a_length_in_chunks_and_without_a_body() {
        let target = answering(vec![
            "HTTP/1.1 201 Created\r\nContent-Length: 5\r\nLOCATION: http://a/fhir/Composition/17/_history/1\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n10\r\n{\"type\":\"x\",\"tot\r\nb;a=b\r\nal\" : 1234,\r\n0\r\n\r\n",
            "HTTP/1.1 204 No Content\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        ]);
        runtime().block_on(async {
            let mut connection = BenchConnection::new(&target);
            let created = connection.send(b"a\r\n\r\n").await.unwrap();
            assert_eq!((created.status, created.body, created.created_id()), (201, &b"hello"[..], Some("17")));
            assert!(created.words().contains("201 hello"));
            let found = connection.send(b"b\r\n\r\n").await.unwrap();
            assert_eq!((found.status, found.total()), (200, Some(1234)));
            assert!(found.holds("1234,") && !found.holds("12345"));
            assert_eq!(connection.send(b"c\r\n\r\n").await.unwrap().status, 204);
            assert_eq!(connection.send(b"d\r\n\r\n").await.unwrap().total(), None);
        });
    }

    #[test]
    fn an_answer_that_breaks_off_is_an_error() {
        let target = answering(vec!["HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhello"]);
        let error = runtime().block_on(async { BenchConnection::new(&target).send(b"a\r\n\r\n").await.unwrap_err() });
        assert!(error.to_string().contains("closed"), "{error}");
    }
}
