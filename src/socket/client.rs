//! The command's side of the socket.

use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::Request;

/// A conversation with a running server.
pub struct Connection {
    stream: UnixStream,
}

/// Asks the server of a data folder; `None` when none is running.
pub fn connect(folder: &Path, request: &Request) -> io::Result<Option<Connection>> {
    let mut stream = match UnixStream::connect(super::path(folder)) {
        Ok(stream) => stream,
        // A socket without a listener is what a killed server leaves behind.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    Ok(Some(Connection { stream }))
}

impl Connection {
    #[cfg(test)]
    pub(super) fn new(stream: UnixStream) -> Connection {
        Connection { stream }
    }

    /// What the server sends.
    pub fn lines(&self) -> io::Result<impl BufRead + use<>> {
        Ok(BufReader::with_capacity(64 * 1024, self.stream.try_clone()?))
    }

    /// Sends everything of a reader, then says that nothing more follows.
    pub fn send_all(&self, source: &mut dyn BufRead) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(64 * 1024, self.stream.try_clone()?);
        io::copy(source, &mut out)?;
        out.flush()?;
        self.stream.shutdown(Shutdown::Write)
    }
}
