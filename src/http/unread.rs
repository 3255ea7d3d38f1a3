//! Answers of an HTTP/2 connection that were made and are not taken yet. One connection may have many, and as long as it takes others it
//! looks alive: so each has its own time.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Body, Bytes};
use tokio::time::{Instant, sleep};

use crate::limits::ANSWER_BYTES_PER_SECOND_MIN;

/// The answers of one connection.
#[derive(Debug)]
pub struct Unread {
    patience: Duration,
    answers: Mutex<Answers>,
}

#[derive(Debug, Default)]
struct Answers {
    next: u64,
    /// Number of each, and when it has to be taken.
    ends: Vec<(u64, Instant)>,
}

/// An answer's bytes; HTTP/2 drops them when the last one has been sent.
struct Held {
    bytes: Bytes,
    number: u64,
    unread: Arc<Unread>,
}

impl Unread {
    /// `patience` is how long a client may take nothing.
    pub fn new(patience: Duration) -> Arc<Unread> {
        Arc::new(Unread { patience, answers: Mutex::default() })
    }

    /// Watches over an answer until it is sent.
    pub fn watch(self: &Arc<Self>, mut body: Full<Bytes>) -> Full<Bytes> {
        // A body in memory is there at once.
        let frame = Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(Some(Ok(frame))) = frame else { return Full::default() };
        let Ok(bytes) = frame.into_data() else { return Full::default() };
        let at_slowest = Duration::from_secs(bytes.len() as u64 / ANSWER_BYTES_PER_SECOND_MIN);
        let mut answers = self.answers();
        let number = answers.next;
        answers.next += 1;
        answers.ends.push((number, Instant::now() + self.patience + at_slowest));
        drop(answers);
        Full::new(Bytes::from_owner(Held { bytes, number, unread: Arc::clone(self) }))
    }

    /// Ready when an answer was not taken in its time; looked at now and then.
    pub async fn late(&self) {
        loop {
            sleep(self.patience).await;
            let now = Instant::now();
            if self.answers().ends.iter().any(|(_, end)| *end <= now) {
                return;
            }
        }
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().expect("no holder of this lock can panic")
    }
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut answers = self.unread.answers();
        if let Some(at) = answers.ends.iter().position(|(number, _)| *number == self.number) {
            answers.ends.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn an_answer_is_late_until_it_is_dropped() {
        let unread = Unread::new(Duration::from_millis(1));
        let first = unread.watch(Full::from("first"));
        let second = unread.watch(Full::from("second"));
        assert_eq!(first.collect().await.unwrap().to_bytes(), "first");
        timeout(Duration::from_secs(60), unread.late()).await.expect("the second is not taken");
        drop(second);
        assert!(unread.answers().ends.is_empty());
    }

    #[tokio::test]
    async fn a_large_answer_has_longer_and_an_empty_one_is_none() {
        let unread = Unread::new(Duration::from_millis(1));
        let _large = unread.watch(Full::from(vec![0; 3600 * ANSWER_BYTES_PER_SECOND_MIN as usize]));
        assert!(timeout(Duration::from_millis(20), unread.late()).await.is_err());
        let empty = unread.watch(Full::default());
        assert!(empty.is_end_stream());
        assert_eq!(unread.answers().ends.len(), 1);
    }
}
