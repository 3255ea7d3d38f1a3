//! `hcert health`: asks a running server how it is.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use rustls::{ClientConnection, StreamOwned};
use serde_json::Value;

use super::{Common, Failure, say};
use crate::config::ManagementSettings;
use crate::management;
use crate::tls;

/// Seconds that `hcert health` waits for a whole answer.
const HEALTH_WAIT_S: u64 = 5;

/// Bytes of an answer of the management address. One has some 2 KB.
const HEALTH_BYTES_MAX: u64 = 256 * 1024;

/// Ask a running server how it is.
///
/// Exit code 0: it works, wholly or degraded. 1: it is down, or gives no answer. 2: flags or settings are wrong.
#[derive(Debug, Args)]
pub(super) struct HealthArguments {
    /// Address and port of the management listener [setting: management.listen]
    #[arg(long, value_name = "ADDR")]
    at: Option<SocketAddr>,
    /// Exit with 0 only when it is ready for requests too
    #[arg(long)]
    ready: bool,
    /// Show the whole answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

impl HealthArguments {
    /// Asks, and shows the answer.
    pub(super) fn run(self) -> Result<(), Failure> {
        let HealthArguments { at, ready, json, common } = self;
        let settings = common.load(|_| ())?.management;
        let off = || Failure::Usage("management.listen is empty, so nobody can ask; name the address with --at".into());
        let at = reached(at.or(settings.address()).ok_or_else(off)?);
        let answer = ask(at, &settings, Duration::from_secs(HEALTH_WAIT_S)).map_err(|problem| {
            Failure::Failed(format!(
                "no answer from {}://{at}/health: {problem}; is the server running, and is this its management.listen?",
                settings.scheme()
            ))
        })?;
        let health: Value = serde_json::from_str(&answer)
            .map_err(|error| Failure::Failed(format!("what answers at {at} is none of ours: {error}")))?;
        let shown = if json { answer } else { words(&health) };
        say(&shown)?;
        match (health["status"].as_str(), health["ready"] == true) {
            (Some("ok" | "degraded"), true) => Ok(()),
            (Some("ok" | "degraded"), false) if !ready => Ok(()),
            (Some("ok" | "degraded"), false) => Err(Failure::Failed("it is not ready".to_owned())),
            _ => Err(Failure::Failed("it is down".to_owned())),
        }
    }
}

/// An address of all interfaces is reached by that of this machine.
fn reached(at: SocketAddr) -> SocketAddr {
    let ip = match at.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, at.port())
}

/// As the settings of the server say: over TLS, and with its token.
fn ask(at: SocketAddr, settings: &ManagementSettings, wait: Duration) -> Result<String, String> {
    let token = settings.token_file.as_deref().map(management::token).transpose()?;
    let token = token.map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"));
    let tls = settings.certificate.as_deref().map(tls::pinned).transpose()?;
    let asked = move || -> io::Result<Vec<u8>> {
        let stream = TimedConnection::open(at, wait)?;
        let mut stream: Box<dyn Stream> = match tls {
            None => Box::new(stream),
            Some(tls) => {
                let connection = ClientConnection::new(Arc::new(tls), at.ip().into()).map_err(io::Error::other)?;
                Box::new(StreamOwned::new(connection, stream))
            }
        };
        write!(stream, "GET /health HTTP/1.1\r\nHost: {at}\r\n{token}Connection: close\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.take(HEALTH_BYTES_MAX).read_to_end(&mut answer)?;
        Ok(answer)
    };
    let answer = String::from_utf8(asked().map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("it is no HTTP")?;
    match head.split(' ').nth(1) {
        Some("200" | "503") => Ok(body.to_owned()),
        _ => Err(head.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).collect()),
    }
}

/// A connection of which all that comes and goes has to do so within one time: anybody may listen at the address, and send a byte now and
/// then.
struct TimedConnection {
    stream: TcpStream,
    until: Instant,
    wait: Duration,
}

impl TimedConnection {
    fn open(at: SocketAddr, wait: Duration) -> io::Result<TimedConnection> {
        let until = Instant::now() + wait;
        Ok(TimedConnection { stream: TcpStream::connect_timeout(&at, wait)?, until, wait })
    }

    /// What is left of the time; a timeout of nothing would be none.
    fn left(&self) -> io::Result<Option<Duration>> {
        match self.until.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(self.is_over()),
            left => Ok(Some(left)),
        }
    }

    fn is_over(&self) -> io::Error {
        io::Error::new(ErrorKind::TimedOut, format!("there is no whole answer within {} s", self.wait.as_secs_f32()))
    }

    fn told(&self, error: io::Error) -> io::Error {
        if error.kind() == ErrorKind::WouldBlock { self.is_over() } else { error }
    }
}

impl Read for TimedConnection {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(bytes).map_err(|error| self.told(error))
    }
}

impl Write for TimedConnection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes).map_err(|error| self.told(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

trait Stream: Read + Write {}

impl<S: Read + Write> Stream for S {}

/// The whole in a line, and each part in one.
fn words(health: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let ready = if health["ready"] == true { "ready" } else { "not ready" };
    let uptime = health["uptime_s"].as_u64().unwrap_or(0);
    let mut words =
        format!("{} ({ready}), hcert {}, up for {uptime} s\n", text(&health["status"]), text(&health["version"]));
    let parts = || health["parts"].as_object().into_iter().flatten();
    let width = parts().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, part) in parts() {
        words.push_str(&format!("{name:<width$} {:<9} {}\n", text(&part["status"]), text(&part["words"])));
    }
    // What answered may be anything; a terminal is shown characters only.
    words.chars().filter(|character| *character == '\n' || !character.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Answers one request with this text.
    fn answering(text: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
            stream.write_all(text.as_bytes()).unwrap();
        });
        at
    }

    fn run(text: &'static str, ready: bool) -> Result<(), String> {
        let health = HealthArguments { at: Some(answering(text)), ready, json: false, common: Common::default() };
        health.run().map_err(|failure| failure.to_string())
    }

    #[test]
    fn it_fails_when_the_service_is_down_or_not_ready_where_that_was_asked() {
        let ok = "HTTP/1.1 200 OK\r\n\r\n{\"status\":\"ok\",\"ready\":true}";
        let building = "HTTP/1.1 200 OK\r\n\r\n{\"status\":\"degraded\",\"ready\":false}";
        let down = "HTTP/1.1 503 Service Unavailable\r\n\r\n{\"status\":\"down\",\"ready\":false}";
        assert_eq!((run(ok, false), run(ok, true), run(building, false)), (Ok(()), Ok(()), Ok(())));
        assert!(run(building, true).unwrap_err().contains("not ready"));
        assert!(run(down, false).unwrap_err().contains("down"));
        for stranger in ["HTTP/1.1 404 Not Found\r\n\r\n{}", "HTTP/1.1 200 OK\r\n\r\nhello", "SSH-2.0\r\n", ""] {
            assert!(run(stranger, false).is_err(), "{stranger}");
        }
    }

    /// What was seen: what sends a byte now and then in the place of the server kept the command without end, and whoever waited for it.
    #[test]
    fn an_answer_that_takes_longer_than_its_time_is_none_however_it_comes() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut slowly = (0..500).map_while(|_| {
                thread::sleep(Duration::from_millis(10));
                stream.write_all(b" ").ok()
            });
            while slowly.next().is_some() {}
        });
        let told = ask(at, &ManagementSettings::default(), Duration::from_millis(100)).unwrap_err();
        assert!(told.contains("no whole answer within 0.1 s"), "{told}");
    }

    #[test]
    fn an_address_of_all_interfaces_is_asked_on_this_machine() {
        for (listens, asked) in
            [("0.0.0.0:8081", "127.0.0.1:8081"), ("[::]:1", "[::1]:1"), ("10.0.0.1:1", "10.0.0.1:1")]
        {
            assert_eq!(reached(listens.parse().unwrap()), asked.parse().unwrap());
        }
    }

    #[test]
    fn every_part_has_its_line() {
        let health = serde_json::json!({
            "status": "degraded", "ready": true, "version": "1.2.3", "uptime_s": 7,
            "parts": {
                "connections": {"status": "ok", "words": "All fit."},
                "disk": {"status": "degraded", "words": "The disk is\u{1b}[2J nearly full."},
            },
        });
        let told = "degraded (ready), hcert 1.2.3, up for 7 s\n\
                    connections ok        All fit.\n\
                    disk        degraded  The disk is[2J nearly full.\n";
        assert_eq!(words(&health), told);
    }
}
