//! Sockets: accepting, TLS, HTTP/1.1 and HTTP/2 on one port, time limits, and an orderly stop.
//!
//! hyper-util's own choice of protocol never times out a client that sends nothing, so the choice is made here.

use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, UnixListener, lookup_host};
use tokio::select;
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::connection::Connection;
use super::connection_slots::{ConnectionSlots, NoSlot};
use super::frames::Frames;
use super::load::count;
use super::stream::{Protocol, open};
use super::tls::{TlsHandshake, shake_hands};
use super::unparsed::Unparsed;
use super::unread::UnreadAnswers;
use super::write_timeout::{Reset, WriteTimeoutStream};
use super::{AddressOffer, HttpServer, Interactions, RequestOrigin, call, sender};
use crate::config::limits::{HTTP2_WINDOW_BYTES, STREAMS_MAX};
use crate::http::limits::{HEADER_BYTES_MAX, HTTP2_FIELDS_MAX, HTTP2_SEND_BYTES_MAX, NEWCOMERS_MAX, REFUSALS_MAX};
use base::log::event;

/// Seconds that telling so may take, a handshake included.
const REFUSAL_S: u64 = 2;

/// Bytes of bodies that an HTTP/2 client may send on a stream before they are read. A certificate fits whole.
const HTTP2_STREAM_WINDOW_BYTES: u32 = 64 * 1024;

/// HTTP/2 streams that a client may open and take back before they are looked at, and streams that may end by a fault of the client.
/// Beyond, the connection is closed.
const HTTP2_RESETS_MAX: usize = 32;

/// Bytes that an HTTP/1.1 connection reads ahead: the longest head, and as much of what follows it.
const HTTP1_BUFFER_BYTES_MAX: usize = 2 * HEADER_BYTES_MAX;

/// SETTINGS_MAX_HEADER_LIST_SIZE: the largest head, where HTTP/2 counts 32 bytes more for each field (RFC 9113, 6.5.2).
const HTTP2_HEADER_LIST_BYTES_MAX: u32 = HEADER_BYTES_MAX as u32 + 32 * HTTP2_FIELDS_MAX;

/// Between two looks at a connection that ends, whether others than late answers are under way.
const UNREAD_LOOK: Duration = Duration::from_millis(50);

/// Looks at which nothing is under way before a connection of HTTP/2 is ended at a stop: a second, longer than any way there and back.
const NOTHING_LEFT_LOOKS: u32 = 20;

/// Where connections come from: a TCP port, or a Unix socket.
pub trait Listen: Sync {
    type Stream: AsyncRead + AsyncWrite + Reset + Unpin + Send + 'static;

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

/// Listens on an address with a port, or on the first one of a name that can be had.
///
/// # Errors
/// None can; `InvalidInput` where there is no port.
pub async fn bind(listen: &str) -> io::Result<TcpListener> {
    let mut problem = ErrorKind::AddrNotAvailable.into();
    for address in lookup_host(listen).await? {
        let listened = || {
            let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
            // A service that was stopped can be started again at once.
            #[cfg(unix)]
            socket.set_reuseaddr(true)?;
            socket.bind(address)?;
            socket.listen(NEWCOMERS_MAX)
        };
        match listened() {
            Ok(listener) => return Ok(listener),
            Err(error) => problem = error,
        }
    }
    Err(problem)
}

/// How far the service is on its way to a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum StopPhase {
    Open,
    /// Requests under way are finished, no new ones taken.
    Draining,
    /// Connections end as they are.
    Cut,
}

/// Serves until `shutdown` is ready; then finishes what is under way, at most for the drain time. With `settings.tls` it speaks nothing else.
pub async fn serve<L: Listen, R: Interactions>(
    listener: L,
    server: Arc<HttpServer<R>>,
    shutdown: impl Future<Output = ()>,
) {
    serve_with_pages(listener, None, server, shutdown).await;
}

/// As [`serve`], with an address for pages alone. The connections of both are bounded together.
pub async fn serve_with_pages<L: Listen, R: Interactions>(
    listener: L,
    pages: Option<L>,
    server: Arc<HttpServer<R>>,
    shutdown: impl Future<Output = ()>,
) {
    let of_listener = if server.settings.is_developer { AddressOffer::Both } else { AddressOffer::Api };
    let settings = &server.settings;
    let per_address_max = settings.connections_per_address_max;
    let slots = ConnectionSlots::new(settings.connections_max, per_address_max, Arc::clone(&server.load));
    let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
    let (phase, seen) = watch::channel(StopPhase::Open);
    let mut shutdown = pin!(shutdown);
    loop {
        let next = async {
            select! {
                accepted = listener.accept() => (accepted, of_listener),
                accepted = accept_from(pages.as_ref()) => (accepted, AddressOffer::Pages),
            }
        };
        let (accepted, offer) = select! {
            biased;
            () = &mut shutdown => break,
            next = next => next,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            // The client is gone already, and the next one has nothing to do with it.
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) => continue,
            Err(error) => {
                // Mostly too many open files: trying again at once would only burn time.
                event!(CONNECTION_REFUSED, %error);
                sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let (server, seen) = (Arc::clone(&server), seen.clone());
        let accepted = Accepted { stream, peer, offer };
        match slots.take(peer.filter(|peer| server.settings.counts_connections(*peer))).await {
            Ok(slot) => {
                count(&server.load.connections_accepted);
                tokio::spawn(async move {
                    serve_connection(accepted, server, Arc::clone(&slot.connection), seen, None).await;
                    drop(slot);
                });
            }
            Err(reason) => {
                count(&server.load.connections_refused);
                // Without room even for saying so, it is closed.
                let Ok(room) = Arc::clone(&refusals).try_acquire_owned() else { continue };
                tokio::spawn(async move {
                    let connection = Connection::new(Arc::clone(&server.load));
                    let refusing = serve_connection(accepted, server, connection, seen, Some(reason));
                    let _ = timeout(Duration::from_secs(REFUSAL_S), refusing).await;
                    drop(room);
                });
            }
        }
    }
    drop((listener, pages));
    phase.send_replace(StopPhase::Draining);
    if timeout(server.settings.drain_timeout, slots.all_free()).await.is_err() {
        event!(CONNECTIONS_CUT, open = slots.open());
    }
    phase.send_replace(StopPhase::Cut);
}

/// The next connection of a listener; never ready where there is none.
async fn accept_from<L: Listen>(listener: Option<&L>) -> io::Result<(L::Stream, Option<IpAddr>)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

/// A connection that came, and what it is told at its address.
struct Accepted<S> {
    stream: S,
    peer: Option<IpAddr>,
    offer: AddressOffer,
}

/// Serves a connection, or tells every request of it why it has no slot.
async fn serve_connection<S, R>(
    accepted: Accepted<S>,
    server: Arc<HttpServer<R>>,
    connection: Arc<Connection>,
    mut phase: watch::Receiver<StopPhase>,
    no_slot: Option<NoSlot>,
) where
    S: AsyncRead + AsyncWrite + Reset + Unpin + Send + 'static,
    R: Interactions,
{
    let settings = &server.settings;
    let Accepted { stream, peer, offer } = accepted;
    let stream = WriteTimeoutStream::new(stream, settings.write_timeout, Arc::clone(&connection));
    let Some(server_certificate) = &settings.tls else {
        let accepted = Accepted { stream, peer, offer };
        return speak(accepted, None, server, connection, phase, no_slot).await;
    };
    let handshake = select! {
        handshake = timeout(settings.header_timeout, shake_hands(server_certificate, stream)) => handshake,
        () = connection.asked_to_leave() => return,
        _ = phase.wait_for(|phase| *phase != StopPhase::Open) => return,
    };
    match handshake {
        // On the heap, so that connections without TLS stay as small as they are.
        Ok(Ok((handshake, stream))) => {
            let accepted = Accepted { stream, peer, offer };
            Box::pin(speak(accepted, Some(handshake), server, connection, phase, no_slot)).await;
        }
        Ok(Err(_)) | Err(_) => count(&server.load.handshakes_failed),
    }
}

/// Speaks a protocol: the one that was chosen in the handshake of TLS, or the one that the first bytes tell. Where they are of
/// another than was chosen, this ends the connection with an error. Decision 133.
async fn speak<S, R>(
    accepted: Accepted<S>,
    handshake: Option<TlsHandshake>,
    server: Arc<HttpServer<R>>,
    connection: Arc<Connection>,
    mut phase: watch::Receiver<StopPhase>,
    no_slot: Option<NoSlot>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    R: Interactions,
{
    let Accepted { stream, peer, offer } = accepted;
    let (silence, write_timeout) = (server.settings.header_timeout, server.settings.write_timeout);
    let opened = select! {
        opened = timeout(silence, open(stream)) => opened,
        () = connection.asked_to_leave() => return,
        _ = phase.wait_for(|phase| *phase != StopPhase::Open) => return,
    };
    let Ok(Ok((told, stream))) = opened else { return };
    let of_requests = Arc::clone(&connection);
    let of_refusals = Arc::clone(&server);
    let certificate = handshake.as_ref().and_then(|handshake| handshake.certificate.as_ref());
    let is_certified = sender::is_certified(&server.settings.x_road, certificate);
    let answer = move |mut request: Request<Incoming>| {
        if is_certified {
            request.extensions_mut().insert(sender::HasClientCertificate);
        }
        let busy = of_requests.begin();
        let connection = Some(Arc::clone(&of_requests));
        let server = Arc::clone(&server);
        async move {
            // The request is under way until its answer is on its own.
            let _busy = busy;
            match no_slot {
                None => call(server, request, RequestOrigin { peer, connection, offer }).await,
                Some(reason) => Ok(server.turn_away(request, reason, peer)),
            }
        }
    };
    match handshake.map_or(told, |handshake| handshake.protocol) {
        Protocol::Http1 => {
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(silence).max_header_size(HEADER_BYTES_MAX);
            // Whoever has sent all that he wants to send may end his half of the connection (`nc -N`), and still reads.
            builder.max_buf_size(HTTP1_BUFFER_BYTES_MAX).keep_alive(no_slot.is_none()).half_close(true);
            let io = TokioIo::new(Unparsed::new(stream, move |reason| of_refusals.refuse_unparsed(reason, peer)));
            // hyper's time limit for the next head ends a silent connection too.
            let served = builder.serve_connection(io, service_fn(answer));
            drive(served, phase, &connection, None, std::future::pending(), silence).await;
        }
        Protocol::Http2 => {
            let mut builder = http2::Builder::new(TokioExecutor::new());
            builder.timer(TokioTimer::new()).keep_alive_interval(silence).keep_alive_timeout(silence);
            builder.max_concurrent_streams(STREAMS_MAX).max_header_list_size(HTTP2_HEADER_LIST_BYTES_MAX);
            builder.initial_stream_window_size(HTTP2_STREAM_WINDOW_BYTES);
            builder.initial_connection_window_size(HTTP2_WINDOW_BYTES).max_send_buf_size(HTTP2_SEND_BYTES_MAX);
            builder.max_pending_accept_reset_streams(HTTP2_RESETS_MAX).max_local_error_reset_streams(HTTP2_RESETS_MAX);
            let unread = UnreadAnswers::new(write_timeout);
            let of_answers = Arc::clone(&unread);
            let counted = peer.filter(|peer| of_refusals.settings.counts_connections(*peer));
            let heads = of_refusals.heads.of_connection(counted);
            let stream = Frames::new(stream, Arc::clone(&of_refusals.load));
            let service = service_fn(move |request: Request<Incoming>| {
                let (mut parts, body) = request.into_parts();
                // On the heap, so that the task of a refused request is small.
                let answered = match heads.reserve(&mut parts) {
                    Ok(()) => Ok(Box::pin(answer(Request::from_parts(parts, body)))),
                    Err(refusal) => Err(of_refusals.refuse_head(refusal, &parts, peer)),
                };
                let unread = Arc::clone(&of_answers);
                async move {
                    let response = match answered {
                        Ok(answered) => answered.await?,
                        Err(refusal) => refusal,
                    };
                    Ok::<_, io::Error>(response.map(|body| unread.watch(body)))
                }
            });
            let served = builder.serve_connection(TokioIo::new(stream), service);
            drive(served, phase, &connection, Some(&unread), connection.idle(silence), silence).await;
        }
    }
}

/// Why a connection is to end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CloseReason {
    /// It has to make room.
    Room,
    /// Nothing happened on it for too long.
    Idle,
    /// An answer was not taken in its time.
    Unread,
    /// The service stops.
    Stop,
}

/// Runs a connection to its end. When it has to end, it may finish what is under way: at most for `grace` where that is its own doing.
async fn drive<C: GracefulConnection>(
    served: C,
    mut phase: watch::Receiver<StopPhase>,
    connection: &Connection,
    unread: Option<&UnreadAnswers>,
    idle: impl Future<Output = ()>,
    grace: Duration,
) {
    let mut served = pin!(served);
    let mut late = pin!(async {
        match unread {
            Some(unread) => unread.late().await,
            None => std::future::pending().await,
        }
    });
    let ending = select! {
        _ = served.as_mut() => return,
        () = connection.told_to_end() => return connection.note_cut(),
        () = connection.asked_to_leave() => CloseReason::Room,
        () = late.as_mut() => CloseReason::Unread,
        () = idle => CloseReason::Idle,
        _ = phase.wait_for(|phase| *phase != StopPhase::Open) => CloseReason::Stop,
    };
    served.as_mut().graceful_shutdown();
    // A request that has come meanwhile is still answered; without one there is nothing to wait for.
    if ending == CloseReason::Room && (is_over(served.as_mut()).await || !connection.is_busy()) {
        return;
    }
    let enough = async {
        match ending {
            CloseReason::Idle => return sleep(grace).await,
            CloseReason::Unread => {}
            // However it ends, nobody may leave answers unread for longer.
            CloseReason::Room | CloseReason::Stop => select! {
                () = late => {}
                () = nothing_left(connection, unread) => return,
            },
        }
        connection.note_cut();
        let _ = timeout(grace, nothing_else(connection, unread)).await;
    };
    select! {
        _ = served => {}
        () = connection.told_to_end() => connection.note_cut(),
        () = enough => {}
        _ = phase.wait_for(|phase| *phase == StopPhase::Cut) => {}
    }
}

/// Ready when nothing is under way on a connection but answers that nobody takes. Other requests of it may be those of other people, where
/// a proxy has them all on one connection.
async fn nothing_else(connection: &Connection, unread: Option<&UnreadAnswers>) {
    // Twice, since an answer without a body may be on its way in between.
    stays(2, || {
        !connection.is_busy()
            && unread.is_none_or(UnreadAnswers::only_late)
            && !connection.is_unread()
            && !connection.has_unsent()
    })
    .await;
}

/// Ready when nothing is under way on a connection of HTTP/2, for long enough that a request sent before its client knew of the end has
/// come. Who answers pings is told sooner, and so hyper ends it by itself; it would wait for the others to the end.
async fn nothing_left(connection: &Connection, unread: Option<&UnreadAnswers>) {
    match unread {
        Some(unread) => {
            let is_done =
                || !connection.is_busy() && unread.is_empty() && !connection.is_unread() && !connection.has_unsent();
            stays(NOTHING_LEFT_LOOKS, is_done).await;
        }
        None => std::future::pending().await,
    }
}

/// Ready when something is so for a number of looks.
async fn stays(looks: u32, is_so: impl Fn() -> bool) {
    let mut seen = 0;
    while seen < looks {
        sleep(UNREAD_LOOK).await;
        seen = if is_so() { seen + 1 } else { 0 };
    }
}

/// Lets a connection do what it can do without waiting; whether it came to its end.
async fn is_over(mut served: Pin<&mut impl Future>) -> bool {
    std::future::poll_fn(|context| Poll::Ready(served.as_mut().poll(context).is_ready())).await
}

#[cfg(test)]
mod tests;
