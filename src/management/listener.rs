//! The listener: HTTP/1.1, one request a connection, few connections, a short time for each. Nothing else is needed here, and nothing
//! that anybody does to it costs the service more.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::Management;
use crate::limits::{MANAGEMENT_CONNECTION_S, MANAGEMENT_CONNECTIONS_MAX, MANAGEMENT_HEAD_BYTES_MAX};

/// Answers for ever.
pub async fn serve(listener: TcpListener, management: Arc<Management>) {
    let places = Arc::new(Semaphore::new(MANAGEMENT_CONNECTIONS_MAX));
    loop {
        let place = Arc::clone(&places).acquire_owned().await.expect("nobody closes the semaphore");
        match listener.accept().await {
            Ok((stream, _)) => {
                let management = Arc::clone(&management);
                tokio::spawn(async move {
                    connection(stream, &management).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection to the management listener could not be accepted");
                sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, management: &Management) {
    let answer = service_fn(|request: hyper::Request<hyper::body::Incoming>| async move {
        Ok::<_, Infallible>(management.answer(request.method(), request.uri().path()).await)
    });
    let time = Duration::from_secs(MANAGEMENT_CONNECTION_S);
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(time)
        .keep_alive(false)
        .max_buf_size(MANAGEMENT_HEAD_BYTES_MAX);
    // A client that sends nothing, reads nothing or goes away is not worth a word.
    drop(timeout(time, builder.serve_connection(TokioIo::new(stream), answer)).await);
}
