//! The listener: HTTP/1.1, one request a connection, few connections, a short time for each. Nothing else is needed here, and nothing
//! that anybody does to it costs the service more. A newcomer always gets a place: where all are taken, the connection that has been
//! silent longest is closed. Decision 210.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::answer::refused;
use super::{CallerGuard, ManagementService};
use base::log::event;

/// Connections at once to the management listener. A probe, a scraper and a person or two need few of them. For one more, the
/// connection that has been silent longest is closed.
const MANAGEMENT_CONNECTIONS_MAX: usize = 64;

/// Milliseconds for the head of the request of a connection to the management listener.
const MANAGEMENT_HEAD_MS: u64 = 1_000;

/// Seconds that a connection to the management listener may take for its one request and answer.
const MANAGEMENT_CONNECTION_S: u64 = 10;

/// Bytes of the head of a request to the management listener; hyper allows no fewer.
const MANAGEMENT_HEAD_BYTES_MAX: usize = 8 * 1024;

/// A connection, and whether its request has come.
struct ManagementConnection {
    task: AbortHandle,
    has_asked: Arc<AtomicBool>,
}

/// Answers for ever. The listener does not block.
pub(super) async fn serve(
    listener: std::net::TcpListener,
    management: Arc<ManagementService>,
    guard: Arc<CallerGuard>,
) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return event!(MANAGEMENT_UNUSABLE, %error),
    };
    // Oldest first.
    let mut places: VecDeque<ManagementConnection> = VecDeque::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                make_room(&mut places);
                let (management, guard, has_asked) = (Arc::clone(&management), Arc::clone(&guard), Arc::default());
                let asked = Arc::clone(&has_asked);
                let task = tokio::spawn(async move { connection(stream, &management, &guard, &asked).await });
                places.push_back(ManagementConnection { task: task.abort_handle(), has_asked });
            }
            Err(error) => {
                event!(MANAGEMENT_CONNECTION_REFUSED, %error);
                sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Leaves a place for one more connection. The oldest without a request goes first, then the oldest of all.
fn make_room(places: &mut VecDeque<ManagementConnection>) {
    if places.len() < MANAGEMENT_CONNECTIONS_MAX {
        return;
    }
    places.retain(|place| !place.task.is_finished());
    if places.len() >= MANAGEMENT_CONNECTIONS_MAX {
        let silent = places.iter().position(|place| !place.has_asked.load(Ordering::Relaxed));
        if let Some(place) = places.remove(silent.unwrap_or(0)) {
            place.task.abort();
        }
    }
}

/// A client that sends nothing, reads nothing or goes away is not worth a word.
async fn connection(stream: TcpStream, management: &ManagementService, guard: &CallerGuard, has_asked: &AtomicBool) {
    let own = stream.local_addr().ok().map(|own| own.ip().to_canonical());
    let answered = async {
        match &guard.tls {
            None => answer(stream, own, management, guard, has_asked).await,
            Some(server_certificate) => {
                if let Ok(stream) = TlsAcceptor::from(server_certificate.settings()).accept(stream).await {
                    answer(stream, own, management, guard, has_asked).await;
                }
            }
        }
    };
    drop(timeout(Duration::from_secs(MANAGEMENT_CONNECTION_S), answered).await);
}

async fn answer<S>(
    stream: S,
    own: Option<IpAddr>,
    management: &ManagementService,
    guard: &CallerGuard,
    has_asked: &AtomicBool,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let answer = service_fn(move |request: hyper::Request<hyper::body::Incoming>| async move {
        has_asked.store(true, Ordering::Relaxed);
        let (request, _) = request.into_parts();
        Ok::<_, Infallible>(match guard.check(&request, own) {
            Ok(()) => management.answer(&request.method, request.uri.path()).await,
            Err(refusal) => refused(&refusal),
        })
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(MANAGEMENT_HEAD_MS))
        .keep_alive(false)
        .half_close(true)
        .max_buf_size(MANAGEMENT_HEAD_BYTES_MAX);
    drop(builder.serve_connection(TokioIo::new(stream), answer).await);
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    fn place(has_asked: bool) -> ManagementConnection {
        let task = tokio::spawn(pending::<()>()).abort_handle();
        ManagementConnection { task, has_asked: Arc::new(AtomicBool::new(has_asked)) }
    }

    async fn ended(task: &AbortHandle) {
        let ending = async {
            while !task.is_finished() {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(60), ending).await.expect("it was closed");
    }

    #[tokio::test]
    async fn one_connection_too_many_takes_the_place_of_the_oldest_that_is_silent_and_then_of_the_oldest() {
        let mut places: VecDeque<ManagementConnection> =
            (1..MANAGEMENT_CONNECTIONS_MAX).map(|number| place(number != 7)).collect();
        let (oldest, silent) = (places[0].task.clone(), places[6].task.clone());
        make_room(&mut places);
        assert_eq!(places.len(), MANAGEMENT_CONNECTIONS_MAX - 1, "there was room for one more");
        places.push_back(place(true));
        make_room(&mut places);
        ended(&silent).await;
        assert!(places.len() == MANAGEMENT_CONNECTIONS_MAX - 1 && !oldest.is_finished());
        places.push_back(place(true));
        make_room(&mut places);
        ended(&oldest).await;
        assert_eq!(places.len(), MANAGEMENT_CONNECTIONS_MAX - 1);
        // One that has ended by itself leaves its place to the newcomer, and nobody else has to go.
        places[5].task.abort();
        ended(&places[5].task).await;
        places.push_back(place(false));
        make_room(&mut places);
        assert_eq!(places.iter().filter(|place| !place.task.is_finished()).count(), MANAGEMENT_CONNECTIONS_MAX - 1);
    }
}
