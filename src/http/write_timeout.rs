//! A socket with a time limit on writes: it notices whether its client takes what it is sent. TLS lies above it, so that
//! what TLS holds back counts as well.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, RawFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, Sleep, sleep};

use super::connection::Connection;
use crate::http::limits::ANSWER_BYTES_PER_SECOND_MIN;

/// A stream whose writes fail once its client has been too slow for `write_timeout` in all. Time in which the service waits for the client is
/// added up; each byte that the client takes subtracts the time that it takes at [`ANSWER_BYTES_PER_SECOND_MIN`]. So a client that takes nothing
/// is cut after `write_timeout`, and one that takes a byte now and then hardly later.
///
/// A connection that ends while its client takes nothing is reset: else the system would keep what was written, some megabytes, for as
/// long as the client likes.
pub(super) struct WriteTimeoutStream<S: Reset> {
    stream: S,
    write_timeout: Duration,
    owed: Duration,
    /// Since when a write waits, and until when it may.
    stalled: Option<(Instant, Pin<Box<Sleep>>)>,
    connection: Arc<Connection>,
}

/// What can end without handing over what was written to it.
pub trait Reset {
    /// Has the end be one of that kind.
    fn reset(&self) {}

    /// The socket below, where the system keeps what was written until the client has it.
    fn socket(&self) -> Option<RawFd> {
        None
    }
}

impl Reset for TcpStream {
    fn reset(&self) {
        // It fails only where the connection is gone.
        let _ = self.set_zero_linger();
    }

    fn socket(&self) -> Option<RawFd> {
        Some(self.as_raw_fd())
    }
}

/// Its buffer is small, and ends with the client.
impl Reset for UnixStream {}

/// A pipe within the process.
impl Reset for DuplexStream {}

impl<S: Reset> WriteTimeoutStream<S> {
    /// `connection` learns what the client takes.
    pub(super) fn new(stream: S, write_timeout: Duration, connection: Arc<Connection>) -> WriteTimeoutStream<S> {
        connection.note_socket(stream.socket());
        WriteTimeoutStream { stream, write_timeout, owed: Duration::ZERO, stalled: None, connection }
    }

    /// Turns a write that waits for longer than allowed into an error.
    fn watch(&mut self, context: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = written {
            let bytes = *written.as_ref().unwrap_or(&0);
            if let Some((since, _)) = self.stalled.take() {
                self.owed += since.elapsed();
            }
            let paid = Duration::from_millis(bytes as u64 * 1_000 / ANSWER_BYTES_PER_SECOND_MIN);
            self.owed = self.owed.saturating_sub(paid);
            self.connection.note_written(bytes);
            return Poll::Ready(written);
        }
        self.connection.note_unread();
        let left = self.write_timeout.saturating_sub(self.owed);
        let (_, end) = self.stalled.get_or_insert_with(|| (Instant::now(), Box::pin(sleep(left))));
        ready!(end.as_mut().poll(context));
        self.connection.note_cut();
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: Reset> Drop for WriteTimeoutStream<S> {
    fn drop(&mut self) {
        self.connection.note_socket(None);
        if self.stalled.is_some() {
            self.stream.reset();
        }
    }
}

impl<S: Reset + AsyncRead + Unpin> AsyncRead for WriteTimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: Reset + AsyncWrite + Unpin> AsyncWrite for WriteTimeoutStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watch(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;
    use crate::http::LoadCounters;

    const PATIENCE: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn a_client_that_does_not_read_is_cut_off() {
        let (_client, server) = duplex(8);
        let load: Arc<LoadCounters> = Arc::default();
        let mut stream = WriteTimeoutStream::new(server, PATIENCE, Connection::new(Arc::clone(&load)));
        let refusal = stream.write_all(&[0; 9]).await.unwrap_err();
        assert_eq!(refusal.kind(), io::ErrorKind::TimedOut);
        assert_eq!(load.answers_unread.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn a_client_that_takes_a_byte_now_and_then_is_cut_off_too() {
        let (mut client, server) = duplex(8);
        let mut stream = WriteTimeoutStream::new(server, PATIENCE, Connection::new(Arc::default()));
        let reader = tokio::spawn(async move {
            // Each byte pays for two milliseconds.
            while client.read_u8().await.is_ok() {
                sleep(PATIENCE / 5).await;
            }
        });
        // At that pace it would take some hours.
        let refusal = stream.write_all(&[0; 1_000_000]).await.unwrap_err();
        assert_eq!(refusal.kind(), io::ErrorKind::TimedOut);
        reader.abort();
    }

    #[tokio::test]
    async fn a_client_that_reads_slowly_is_served() {
        let (mut client, server) = duplex(8);
        let mut stream = WriteTimeoutStream::new(server, Duration::from_secs(60), Connection::new(Arc::default()));
        let reader = tokio::spawn(async move {
            let mut bytes = [0; 8];
            for _ in 0..5 {
                sleep(PATIENCE / 5).await;
                client.read_exact(&mut bytes).await.unwrap();
            }
        });
        stream.write_all(&[0; 40]).await.unwrap();
        reader.await.unwrap();
    }
}
