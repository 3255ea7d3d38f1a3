//! A body for what hyper refuses before there is a request. Over HTTP/1.1 hyper answers it with a head alone, and
//! [`Unparsed`] writes a whole response in its place. Decision 134.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::head_lines::HeadLines;

/// Why hyper cannot read a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnparsedReason {
    /// 400: it is not HTTP.
    NoHttp,
    /// 413: the length of the body is beyond every number that hyper holds.
    Body,
    /// 414: the request target is too long.
    Target,
    /// 431: the headers are too many or too long.
    Headers,
}

/// A stream of HTTP/1.1. `answer` makes the whole response to what hyper refuses.
pub(super) struct Unparsed<S, F> {
    stream: S,
    answer: F,
    /// Of the request that is read. What follows its head is not looked at until a response is written.
    head: HeadLines,
    /// The part of our answer that is not written yet.
    left: Option<Bytes>,
}

impl<S, F: Fn(UnparsedReason) -> Response<Full<Bytes>>> Unparsed<S, F> {
    pub(super) fn new(stream: S, answer: F) -> Unparsed<S, F> {
        Unparsed { stream, answer, head: HeadLines::default(), left: None }
    }

    /// Takes hyper's refusal and keeps ours in its place.
    fn replace(&mut self, bytes: &[u8]) -> bool {
        // After every response the next request begins.
        let head = std::mem::take(&mut self.head);
        let reason = match bare_status(bytes) {
            Some(b"400" | b"431") if head.has_endless_body() => UnparsedReason::Body,
            Some(b"400") => UnparsedReason::NoHttp,
            Some(b"414") => UnparsedReason::Target,
            // hyper says so too where its buffer is full before the first line has ended.
            Some(b"431") if head.has_long_target() => UnparsedReason::Target,
            Some(b"431") => UnparsedReason::Headers,
            _ => return false,
        };
        self.left = Some(written((self.answer)(reason)));
        true
    }
}

/// Status of an answer without a body, as hyper writes it by itself; every answer of the service with such a status has one.
fn bare_status(bytes: &[u8]) -> Option<&[u8]> {
    let status = bytes.strip_prefix(b"HTTP/1.1 ")?.get(..3).filter(|status| status.starts_with(b"4"))?;
    let head = std::str::from_utf8(bytes).ok()?.strip_suffix("\r\n\r\n")?;
    // Behind a blank line there would be another response.
    let head = Some(head).filter(|head| !head.contains("\r\n\r\n"))?;
    head.split("\r\n").any(|line| line.eq_ignore_ascii_case("content-length: 0")).then_some(status)
}

/// An answer as HTTP/1.1 behind which the connection is closed.
fn written(response: Response<Full<Bytes>>) -> Bytes {
    let (parts, body) = response.into_parts();
    let body = body.into_inner().unwrap_or_default();
    let mut text =
        format!("HTTP/1.1 {}\r\nconnection: close\r\ncontent-length: {}\r\n", parts.status, body.len()).into_bytes();
    for (name, value) in &parts.headers {
        text.extend_from_slice(&[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    text.extend_from_slice(b"\r\n");
    text.extend_from_slice(&body);
    text.into()
}

impl<S: AsyncWrite + Unpin, F> Unparsed<S, F> {
    /// Ready when nothing of our answer is left.
    fn poll_left(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(left) = self.left.as_mut().filter(|left| !left.is_empty()) {
            match ready!(Pin::new(&mut self.stream).poll_write(context, left))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => drop(left.split_to(count)),
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin, F: Fn(UnparsedReason) -> Response<Full<Bytes>> + Unpin> AsyncRead for Unparsed<S, F> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.head.see(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin, F: Fn(UnparsedReason) -> Response<Full<Bytes>> + Unpin> AsyncWrite for Unparsed<S, F> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.replace(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [head] = slices
            && self.replace(head)
        {
            return Poll::Ready(Ok(head.len()));
        }
        self.head = HeadLines::default();
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_left(context))?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_left(context))?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_hyper_writes_by_itself_is_replaced() {
        let bare =
            "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\ndate: x\r\n\r\n";
        assert_eq!(bare_status(bare.as_bytes()), Some(&b"431"[..]));
        for other in [
            "",
            "HTTP/1.1 4",
            "HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 10\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\nHTTP/1.1 200 OK\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n",
        ] {
            assert_eq!(bare_status(other.as_bytes()), None, "{other}");
        }
    }
}
