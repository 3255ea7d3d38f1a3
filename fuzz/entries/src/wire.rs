//! A connection whose bytes are all there already: hyper reads them as it would from a socket, and never has to wait.

use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::http::request::Parts;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};

use hcert::http::limits::HEADER_BYTES_MAX;

/// Turns of hyper's machine for one connection at most; an input has 16 KiB, and each turn takes some of it.
const TURNS_MAX: usize = 10_000;

/// Reads the bytes of one connection as HTTP/1.1. `take` is given each request, and its body where one came whole.
pub fn requests(bytes: &[u8], take: impl Fn(&Parts, Option<&[u8]>)) {
    let take = &take;
    let service = service_fn(async |request: Request<Incoming>| {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.ok().map(|body| body.to_bytes());
        take(&parts, body.as_deref());
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"{}"))))
    });
    let mut builder = http1::Builder::new();
    builder.max_header_size(HEADER_BYTES_MAX).auto_date_header(false);
    let mut connection = pin!(builder.serve_connection(Wire(bytes), service));
    let mut context = Context::from_waker(Waker::noop());
    let ended = (0..TURNS_MAX).any(|_| connection.as_mut().poll(&mut context).is_ready());
    assert!(ended, "a connection ends where its bytes end");
}

/// What is still to be read. What is written to it is not looked at.
struct Wire<'b>(&'b [u8]);

impl Read for Wire<'_> {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context, mut into: ReadBufCursor) -> Poll<io::Result<()>> {
        let (taken, rest) = self.0.split_at(self.0.len().min(into.remaining()));
        into.put_slice(taken);
        self.0 = rest;
        Poll::Ready(Ok(()))
    }
}

impl Write for Wire<'_> {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
