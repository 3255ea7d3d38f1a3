//! Clients that leave their answers unread, from an address that is not counted.

use hyper::client::conn::http2;

use super::*;
use crate::config::limits::{ANSWERS_BYTES_MAX, STREAMS_MAX};
use crate::interaction::limits::LARGE_ANSWER_BYTES;
use crate::interaction::{Answer, Interaction};

/// A service whose answers all have so many bytes.
async fn answering(bytes: usize) -> Running {
    let answer = move |_: &Interaction| Ok(Answer { status: 200, body: vec![b'x'; bytes], ..Answer::default() });
    start_with(server_with(settings(), Box::new(answer))).await
}

/// A connection that asks for as many answers as it may and takes none: the client, and the answers it was given.
async fn hoard(running: &Running) -> (http2::SendRequest<Empty<Bytes>>, Vec<hyper::Response<hyper::body::Incoming>>) {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(0);
    let stream = running.connect().await;
    stream.set_nodelay(true).unwrap();
    let (mut client, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let mut answers = Vec::new();
    for _ in 0..STREAMS_MAX {
        let request = Request::get(format!("http://{}/fhir/metadata", running.address));
        let answer = client.send_request(request.body(Empty::new()).unwrap()).await;
        answers.extend(answer.ok().filter(|answer| answer.status() == 200));
    }
    (client, answers)
}

#[tokio::test]
async fn connections_of_http_1_that_read_nothing_end_where_others_need_their_memory() {
    let bytes = LARGE_ANSWER_BYTES;
    let running = answering(bytes).await;
    let mut unread = Vec::new();
    for _ in 0..ANSWERS_BYTES_MAX / bytes {
        let mut stream = running.connect().await;
        // More answers than the sockets between hold.
        stream.write_all(&GET.repeat(8)).await.unwrap();
        unread.push(stream);
    }
    until_some(|| async {
        let is_answered = running.exchange(LAST).await.starts_with("HTTP/1.1 200 ");
        is_answered && running.load.answers_unread.load(Ordering::Relaxed) > 0
    })
    .await;
}

/// What was seen: fourteen connections from this machine, which is not counted, held all memory for answers, and every read of others
/// was 503.
#[tokio::test]
async fn connections_that_take_none_of_their_answers_keep_nobody_from_theirs() {
    let bytes = 300_000;
    let running = answering(bytes).await;
    let mut hoarding = Vec::new();
    for _ in 0..2 * ANSWERS_BYTES_MAX / (bytes * STREAMS_MAX as usize) {
        hoarding.push(hoard(&running).await);
        assert!(running.exchange(LAST).await.starts_with("HTTP/1.1 200 "), "beside {} of them", hoarding.len());
    }
    assert!(hoarding[0].1.len() > 32 && hoarding.iter().all(|(_, answers)| !answers.is_empty()));
    // As long as others ask, the hoarders end.
    until_some(|| async {
        assert!(running.exchange(LAST).await.starts_with("HTTP/1.1 200 "));
        hoarding[0].0.is_closed()
    })
    .await;
    assert!(running.load.answers_unread.load(Ordering::Relaxed) > 0);
    assert!(!hoarding[hoarding.len() - 1].0.is_closed(), "no more than it takes");
}
