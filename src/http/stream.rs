//! A connection's bytes: which protocol they begin with.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

/// What an HTTP/2 client with prior knowledge begins with (RFC 9113, 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

/// A stream whose first bytes were read already and are given out again.
pub(super) struct PrefixedStream<S> {
    stream: S,
    first: [u8; PREFACE.len()],
    /// The part of `first` not yet given out.
    left: std::ops::Range<usize>,
}

/// Reads as much of a stream as tells the protocol. The caller sets the time limit.
///
/// # Errors
/// The stream ends or fails before.
pub(super) async fn open<S: AsyncRead + Unpin>(mut stream: S) -> io::Result<(Protocol, PrefixedStream<S>)> {
    let mut first = [0; PREFACE.len()];
    let mut filled = 0;
    let protocol = loop {
        match stream.read(&mut first[filled..]).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => filled += count,
        }
        if !PREFACE.starts_with(&first[..filled]) {
            break Protocol::Http1;
        }
        if filled == PREFACE.len() {
            break Protocol::Http2;
        }
    };
    Ok((protocol, PrefixedStream { stream, first, left: 0..filled }))
}

impl<S: AsyncRead + Unpin> AsyncRead for PrefixedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let count = self.left.len().min(buffer.remaining());
        let start = self.left.start;
        buffer.put_slice(&self.first[start..start + count]);
        self.left.start += count;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PrefixedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
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
    use tokio::io::{AsyncWriteExt, duplex};

    use super::*;

    async fn opened(pieces: &[&[u8]]) -> io::Result<(Protocol, Vec<u8>)> {
        let (mut client, server) = duplex(1);
        let pieces: Vec<Vec<u8>> = pieces.iter().map(|piece| piece.to_vec()).collect();
        tokio::spawn(async move {
            for piece in pieces {
                client.write_all(&piece).await.unwrap();
            }
        });
        let (protocol, mut stream) = open(server).await?;
        let mut read = Vec::new();
        stream.read_to_end(&mut read).await?;
        Ok((protocol, read))
    }

    #[tokio::test]
    async fn the_first_bytes_tell_the_protocol_and_are_read_again() {
        for text in
            ["GET / HTTP/1.1\r\n\r\n", "P", "PUT /fhir/Composition/1 HTTP/1.1\r\n", "PRI * HTTP/1.1\r\n\r\n", "\r\n"]
        {
            let expected = (Protocol::Http1, text.as_bytes().to_vec());
            if text != "P" {
                assert_eq!(opened(&[text.as_bytes()]).await.unwrap(), expected, "{text}");
            }
        }
        let (protocol, read) = opened(&[PREFACE, b"frames"]).await.unwrap();
        assert_eq!((protocol, read), (Protocol::Http2, [PREFACE.as_slice(), b"frames"].concat()));
    }

    #[tokio::test]
    async fn a_stream_that_ends_before_it_tells_is_an_error() {
        assert!(opened(&[]).await.is_err());
        assert!(opened(&[b"PRI * HTTP/2.0\r\n"]).await.is_err());
    }
}
