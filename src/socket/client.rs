//! The command's side of the socket.

use std::fs;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde::de::DeserializeOwned;

use super::{CommandRequest, REFUSED};
use base::owner;

/// Bytes of a line that a server sends: twice the largest body that a setting allows. Who owns the folder may answer in the server's
/// place, and root may ask there.
const ANSWER_LINE_BYTES_MAX: usize = 128 * 1024 * 1024;

/// A conversation with a running server.
pub struct CommandConnection {
    stream: UnixStream,
}

/// Asks the server of a data folder; `None` when none is running.
pub fn connect(folder: &Path, request: &CommandRequest) -> io::Result<Option<CommandConnection>> {
    let mut stream = match super::reach(folder, |path| UnixStream::connect(path)) {
        Ok(stream) => stream,
        // A socket without a listener is what a killed server leaves behind.
        // What is no folder has none either; whoever opens it says so.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::ConnectionRefused | ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    expect_trusted_peer(folder, &stream)?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    match stream.write_all(&line) {
        // A server that refuses commands says why before it reads any.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
        _ => Ok(Some(CommandConnection { stream })),
    }
}

/// Whoever can write to the folder could listen in the server's place.
///
/// # Errors
/// The process at the other end runs as another user than this one, root and the folder's owner.
fn expect_trusted_peer(folder: &Path, stream: &UnixStream) -> io::Result<()> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut bytes = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the descriptor is open, and the call writes at most `bytes` bytes to `peer`, which lives through it.
    let told = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut bytes,
        )
    };
    if told != 0 {
        return Err(io::Error::last_os_error());
    }
    match [0, owner::own_user(), fs::metadata(folder)?.uid()].contains(&peer.uid) {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "user {} of this machine listens in the place of the server; remove the socket, and keep others from writing to the folder",
            peer.uid
        ))),
    }
}

impl CommandConnection {
    #[cfg(test)]
    pub(super) fn new(stream: UnixStream) -> CommandConnection {
        CommandConnection { stream }
    }

    /// What the server sends. Reading it fails with the server's words if it refuses the command.
    pub fn lines(&self) -> io::Result<impl BufRead + use<>> {
        Ok(ServerLines {
            stream: BufReader::with_capacity(64 * 1024, self.stream.try_clone()?),
            is_begun: false,
            line_bytes: 0,
        })
    }

    /// Hands over the lines of an answer that begin as `each` wants them, and reads the end that follows them. An answer without its end is
    /// not taken for whole.
    ///
    /// # Errors
    /// The answer broke off or its end is not understood, in words; or what `each` said.
    pub fn until_end<T: DeserializeOwned>(
        &self,
        begin: &str,
        each: &mut dyn FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<T, String> {
        let broken = |error: io::Error| match error.kind() {
            // The server's own words.
            ErrorKind::Other => error.to_string(),
            _ => format!("the server's answer broke off: {error}"),
        };
        let (mut lines, mut line) = (self.lines().map_err(broken)?, Vec::new());
        loop {
            line.clear();
            if lines.read_until(b'\n', &mut line).map_err(broken)? == 0 {
                return Err("the server closed the connection before it was done".to_owned());
            }
            if !line.starts_with(begin.as_bytes()) {
                let end = serde_json::from_slice(&line);
                return end.map_err(|error| format!("the server's answer is not understood: {error}"));
            }
            each(&line)?;
        }
    }

    /// An answer of one line.
    ///
    /// # Errors
    /// As [`until_end`](Self::until_end).
    pub fn answer<T: DeserializeOwned>(&self) -> Result<T, String> {
        self.until_end("no line of JSON begins so", &mut |_| Ok(()))
    }

    /// Sends everything of a reader, then says that nothing more follows.
    pub fn send_all(&self, source: &mut dyn BufRead) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(64 * 1024, self.stream.try_clone()?);
        io::copy(source, &mut out)?;
        out.flush()?;
        self.stream.shutdown(Shutdown::Write)
    }
}

/// What a server sends.
struct ServerLines {
    stream: BufReader<UnixStream>,
    is_begun: bool,
    /// Bytes of the line that has not ended yet.
    line_bytes: usize,
}

impl BufRead for ServerLines {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let bytes = self.stream.fill_buf()?;
        if !self.is_begun
            && let Some(words) = bytes.strip_prefix(REFUSED.as_bytes())
        {
            return Err(io::Error::other(String::from_utf8_lossy(words).trim_end().to_owned()));
        }
        self.is_begun = true;
        if self.line_bytes > ANSWER_LINE_BYTES_MAX {
            return Err(io::Error::other(format!(
                "the server's answer has a line above {ANSWER_LINE_BYTES_MAX} bytes"
            )));
        }
        Ok(bytes)
    }

    fn consume(&mut self, count: usize) {
        let read = &self.stream.buffer()[..count];
        self.line_bytes = match read.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => count - end - 1,
            None => self.line_bytes + count,
        };
        self.stream.consume(count);
    }
}

impl Read for ServerLines {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(into)?;
        self.consume(count);
        Ok(count)
    }
}
