//! The real binary as its users run it: started, spoken to over HTTP, stopped and killed.

// Every test binary uses its own part of this.
#![allow(dead_code)]

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for anything on a machine under load; nothing that works comes near it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The binary with arguments, cut off from the settings of whoever runs the tests.
pub(crate) fn hcert(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hcert"));
    command.args(arguments).stdin(Stdio::null());
    let settings = std::env::vars_os().map(|(name, _)| name);
    for name in settings.filter(|name| name.to_string_lossy().starts_with("HCERT__")) {
        command.env_remove(name);
    }
    command
}

/// A running `hcert serve`. Dropping it kills it.
pub(crate) struct Process {
    child: Child,
    pub address: SocketAddr,
    /// Where it can be watched, if it says so.
    pub watched_at: Option<SocketAddr>,
    log: PathBuf,
}

impl Process {
    /// Starts a server on a free port and waits until it says where it listens.
    pub(crate) fn start(data: &Path) -> Process {
        Self::start_with(data, |_| ())
    }

    /// As [`start`](Self::start), with more arguments or environment.
    pub(crate) fn start_with(data: &Path, more: impl FnOnce(&mut Command)) -> Process {
        let mut command = serve(data);
        more(&mut command);
        // The log lies beside the data folder, so that a temporary folder holds both.
        Self::launch(command, data.with_extension("log"))
    }

    /// As [`start_with`](Self::start_with), of `hcert serve`.
    pub(crate) fn serve_with(data: &Path, more: impl FnOnce(&mut Command)) -> Process {
        let mut command = run("serve", data);
        more(&mut command);
        Self::launch(command, data.with_extension("log"))
    }

    /// Runs anything that says in its first line where it listens.
    pub(crate) fn launch(command: Command, log: PathBuf) -> Process {
        let stderr = File::create(&log).expect("a temporary folder can be written");
        Self::launch_onto(command, log, stderr.into())
    }

    /// Starts a server whose standard error is something else than a file that the tests read.
    pub(crate) fn start_onto(data: &Path, stderr: Stdio, more: impl FnOnce(&mut Command)) -> Process {
        let mut command = serve(data);
        more(&mut command);
        Self::launch_onto(command, data.with_extension("log"), stderr)
    }

    fn launch_onto(mut command: Command, log: PathBuf, stderr: Stdio) -> Process {
        let mut child = command.stdout(Stdio::piped()).stderr(stderr).spawn().expect("the program was built before");
        let stdout = child.stdout.take().expect("standard output is a pipe");
        let mut first = String::new();
        let mut stdout = BufReader::new(stdout);
        stdout.read_line(&mut first).expect("standard output is text");
        let address = |text: &str| text.split_once("://")?.1.trim().split('/').next()?.parse().ok();
        let Some(at) = address(&first) else {
            let status = child.wait().expect("a child can be waited for");
            panic!("the server did not start ({status}): {first:?} {}", text(&log));
        };
        // The introduction is one write, so what follows the first line came with it.
        let rest = String::from_utf8_lossy(stdout.buffer()).into_owned();
        let watched_at = rest.lines().find_map(|line| address(line.strip_prefix("health ")?));
        Process { child, address: at, watched_at, log }
    }

    /// Starts a server and kills it a moment later, whatever it has come to.
    pub(crate) fn start_and_kill(data: &Path, after: Duration) {
        let mut child = serve(data).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary is there");
        thread::sleep(after);
        child.kill().expect("a child can be killed");
        child.wait().expect("a child can be waited for");
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.address)
    }

    /// SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("a child can be killed");
        self.child.wait().expect("a child can be waited for");
        self.check_log();
    }

    /// SIGKILL, while others still hold the server.
    pub(crate) fn kill_now(&self) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-KILL", &id]).status().expect("every system has kill");
        assert!(sent.success(), "the server was gone already: {}", text(&self.log));
        self.ended();
    }

    /// Waits until the server no longer listens, while others still hold it.
    pub(crate) fn ended(&self) {
        eventually("the server ends", || {
            let state = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
            // A zombie waits for the one who started it, and its first thread may be one before the others have let the files go.
            let threads = fs::read_dir(format!("/proc/{}/task", self.child.id())).into_iter().flatten().count();
            threads <= 1
                && state
                    .rsplit(')')
                    .next()
                    .is_none_or(|rest| matches!(rest.trim_start().chars().next(), None | Some('Z')))
        });
    }

    /// Waits until it ends by itself, as it must not; the exit status.
    pub(crate) fn ends_by_itself(&mut self) -> ExitStatus {
        wait(&mut self.child)
    }

    /// SIGTERM, then the exit status.
    pub(crate) fn stop(mut self) -> ExitStatus {
        self.terminate();
        let status = wait(&mut self.child);
        self.check_log();
        status
    }

    /// Sends SIGTERM and does not wait.
    pub(crate) fn terminate(&self) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().expect("every system has kill");
        assert!(sent.success(), "the server was gone already: {}", text(&self.log));
    }

    /// A server that reports a fault of its own has one, even when every answer was right.
    fn check_log(&self) {
        let log = text(&self.log);
        let complains = ["\"log.level\":\"error\"", "ERROR", "panicked"].iter().any(|sign| log.contains(sign));
        assert!(!complains, "{log}");
    }

    /// What it logged so far. The thread that writes the log has written everything when it sleeps for longer than it lets lines gather.
    pub(crate) fn log(&self) -> String {
        std::thread::sleep(Duration::from_millis(5 * hcert::output::limits::LOG_GATHER_MS));
        let threads = || fs::read_dir(format!("/proc/{}/task", self.child.id())).into_iter().flatten().flatten();
        eventually("the log is written", || {
            let states = threads().filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok());
            // Number, name in parentheses, state.
            states
                .filter(|stat| stat.contains("(log-output)"))
                .all(|stat| ![") R ", ") D "].iter().any(|busy| stat.contains(busy)))
        });
        text(&self.log)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(data: &Path) -> Command {
    run("dev", data)
}

fn run(service: &str, data: &Path) -> Command {
    let folder = data.to_str().expect("temporary folders have names in ASCII");
    let mut command = hcert(&[service, "--listen", "127.0.0.1:0", "--data", folder]);
    // In the folder of the data there is no hcert.toml.
    command.current_dir(data.parent().expect("the data folder lies in a temporary one"));
    command.env("HCERT__LOG__LEVEL", "warn");
    // Nobody watches unless a test does, so that servers beside each other need no second port.
    command.env("HCERT__MANAGEMENT__LISTEN", "");
    command
}

fn text(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

/// Waits for a child to end, within patience.
pub(crate) fn wait(child: &mut Child) -> ExitStatus {
    let mut ended = None;
    eventually("the process ends", || {
        ended = child.try_wait().expect("a child can be waited for");
        ended.is_some()
    });
    ended.expect("it ended just now")
}

/// Asks again and again until something holds.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "not within {} s: {what}", PATIENCE.as_secs());
        thread::sleep(Duration::from_millis(5));
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Response {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("answers are UTF-8")
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("answers are JSON")
    }
}

/// One client with a connection that is kept.
pub(crate) struct Client {
    address: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Client {
        Client { address, stream: None }
    }

    /// Sends a request and reads the answer. `path` comes behind the base path; headers are whole lines without their end.
    ///
    /// # Errors
    /// The connection broke: whether the request was done is not known.
    pub(crate) fn send(&mut self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> io::Result<Response> {
        let fhir = (!body.is_empty()).then_some("content-type: application/fhir+json");
        let headers: Vec<&str> = headers.iter().copied().chain(fhir).collect();
        self.send_to(method, &format!("/fhir{path}"), &headers, body)
    }

    /// As [`send`](Self::send), with the whole path, and no more headers than are given but `Host` and `Content-Length`.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub(crate) fn send_to(
        &mut self,
        method: &str,
        target: &str,
        headers: &[&str],
        body: &[u8],
    ) -> io::Result<Response> {
        let mut request = format!("{method} {target} HTTP/1.1\r\nhost: {}\r\n", self.address).into_bytes();
        for header in headers {
            request.extend_from_slice(header.as_bytes());
            request.extend_from_slice(b"\r\n");
        }
        if !body.is_empty() {
            request.extend_from_slice(format!("content-length: {}\r\n", body.len()).as_bytes());
        }
        request.extend_from_slice(b"\r\n");
        request.extend_from_slice(body);
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.connect()?,
        };
        stream.get_mut().write_all(&request)?;
        let (response, keep) = read(&mut stream, method)?;
        self.stream = keep.then_some(stream);
        Ok(response)
    }

    /// GET of something that must be there. While the server still loads its index, it is asked again.
    pub(crate) fn get(&mut self, path: &str) -> Response {
        let mut found = None;
        eventually(&format!("an answer to GET {path}"), || {
            let response = self.send("GET", path, &[], b"").expect("the server runs");
            let ready = response.status != 503;
            found = Some(response);
            ready
        });
        found.expect("it was asked at least once")
    }

    fn connect(&self) -> io::Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(BufReader::with_capacity(64 * 1024, stream))
    }
}

/// Reads one answer; tells whether the connection stays open.
fn read(stream: &mut impl BufRead, method: &str) -> io::Result<(Response, bool)> {
    let broken = |what: &str| io::Error::new(io::ErrorKind::UnexpectedEof, what.to_owned());
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(|| broken("no status"))?;
    let mut headers = Vec::new();
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(broken("the head broke off"));
        }
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut response = Response { status, headers, body: Vec::new() };
    let keep = response.header("connection") != Some("close");
    let length = response.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    if method != "HEAD" && status != 204 && status != 304 {
        response.body.resize(length, 0);
        stream.read_exact(&mut response.body)?;
    }
    Ok((response, keep))
}
