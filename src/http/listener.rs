//! Sockets: accepting, HTTP/1.1 and HTTP/2 by prior knowledge on one port, time limits, and an orderly stop.
//!
//! hyper-util's own choice of protocol never times out a client that sends nothing, so the choice is made here.

use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::select;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::stream::{Protocol, open};
use super::{Run, Server, call};
use crate::limits::{HEADER_BYTES_MAX, STREAMS_MAX};

/// Where connections come from: a TCP port, or a Unix socket.
pub trait Listen: Sync {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next connection and, where there is one, the address of its other end.
    fn accept(&self) -> impl Future<Output = io::Result<(Self::Stream, Option<IpAddr>)>> + Send;
}

impl Listen for TcpListener {
    type Stream = tokio::net::TcpStream;

    async fn accept(&self) -> io::Result<(Self::Stream, Option<IpAddr>)> {
        let (stream, peer) = TcpListener::accept(self).await?;
        stream.set_nodelay(true)?;
        Ok((stream, Some(peer.ip())))
    }
}

impl Listen for UnixListener {
    type Stream = tokio::net::UnixStream;

    async fn accept(&self) -> io::Result<(Self::Stream, Option<IpAddr>)> {
        let (stream, _) = UnixListener::accept(self).await?;
        Ok((stream, None))
    }
}

/// How far the service is on its way to a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Open,
    /// Requests under way are finished, no new ones taken.
    Draining,
    /// Connections end as they are.
    Cut,
}

/// Serves until `shutdown` is ready; then finishes what is under way, at most for the drain time.
pub async fn serve<L: Listen, R: Run>(listener: L, server: Arc<Server<R>>, shutdown: impl Future<Output = ()>) {
    let places = Arc::new(Semaphore::new(server.settings.connections_max));
    let (phase, seen) = watch::channel(Phase::Open);
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = select! {
            biased;
            () = &mut shutdown => break,
            accepted = accept(&listener, &places) => accepted,
        };
        match accepted {
            Ok((stream, peer, place)) => {
                let (server, seen) = (Arc::clone(&server), seen.clone());
                tokio::spawn(async move {
                    connection(stream, peer, server, seen).await;
                    drop(place);
                });
            }
            Err(error) => {
                // Mostly too many open files: trying again at once would only burn time.
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    phase.send_replace(Phase::Draining);
    let all = u32::try_from(server.settings.connections_max).unwrap_or(u32::MAX);
    if timeout(server.settings.drain_timeout, places.acquire_many(all)).await.is_err() {
        let open = server.settings.connections_max - places.available_permits();
        tracing::warn!(open, "connections were still busy and are cut");
    }
    phase.send_replace(Phase::Cut);
}

/// Waits for a free place first, so that connections beyond the bound stay in the kernel's queue.
async fn accept<L: Listen>(
    listener: &L,
    places: &Arc<Semaphore>,
) -> io::Result<(L::Stream, Option<IpAddr>, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, peer, place))
}

async fn connection<S, R>(stream: S, peer: Option<IpAddr>, server: Arc<Server<R>>, mut phase: watch::Receiver<Phase>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    R: Run,
{
    let silence = server.settings.header_timeout;
    let opened = select! {
        opened = timeout(silence, open(stream, server.settings.write_timeout)) => opened,
        _ = phase.wait_for(|phase| *phase != Phase::Open) => return,
    };
    let Ok(Ok((protocol, stream))) = opened else { return };
    let io = TokioIo::new(stream);
    match protocol {
        Protocol::Http1 => {
            let service = service_fn(move |request| call(Arc::clone(&server), request, peer));
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(silence).max_header_size(HEADER_BYTES_MAX);
            // hyper's time limit for the next head ends a silent connection too.
            drive(builder.serve_connection(io, service), phase, std::future::pending(), silence).await;
        }
        Protocol::Http2 => {
            let activity = Arc::new(Activity::default());
            let of_service = Arc::clone(&activity);
            let service = service_fn(move |request| {
                let busy = Busy::new(&of_service);
                let answer = call(Arc::clone(&server), request, peer);
                async move {
                    let _busy = busy;
                    answer.await
                }
            });
            let mut builder = http2::Builder::new(TokioExecutor::new());
            builder.timer(TokioTimer::new()).keep_alive_interval(silence).keep_alive_timeout(silence);
            builder.max_concurrent_streams(STREAMS_MAX).max_header_list_size(HEADER_BYTES_MAX as u32);
            drive(builder.serve_connection(io, service), phase, activity.idle(silence), silence).await;
        }
    }
}

/// Runs a connection to its end. When it was `idle` for too long or the service stops, it may finish what is under way.
async fn drive<C: GracefulConnection>(
    connection: C,
    mut phase: watch::Receiver<Phase>,
    idle: impl Future<Output = ()>,
    grace: Duration,
) {
    let mut connection = pin!(connection);
    let stopped = select! {
        _ = connection.as_mut() => return,
        () = idle => false,
        _ = phase.wait_for(|phase| *phase != Phase::Open) => true,
    };
    connection.as_mut().graceful_shutdown();
    let grace = async { if stopped { std::future::pending().await } else { sleep(grace).await } };
    select! {
        _ = connection => {}
        () = grace => {}
        _ = phase.wait_for(|phase| *phase == Phase::Cut) => {}
    }
}

/// How many requests of an HTTP/2 connection are under way, since hyper ends no idle ones itself.
#[derive(Default)]
struct Activity {
    requests: AtomicUsize,
    changed: Notify,
}

impl Activity {
    /// Ready once no request was under way for `silence`.
    async fn idle(&self, silence: Duration) {
        loop {
            let changed = self.changed.notified();
            let quiet = self.requests.load(Ordering::Acquire) == 0;
            match timeout(silence, changed).await {
                Err(_) if quiet => return,
                _ => {}
            }
        }
    }
}

/// One request under way.
struct Busy(Arc<Activity>);

impl Busy {
    fn new(activity: &Arc<Activity>) -> Self {
        activity.requests.fetch_add(1, Ordering::AcqRel);
        activity.changed.notify_one();
        Busy(Arc::clone(activity))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::AcqRel);
        self.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests;
