//! Answers of an HTTP/2 connection that were made and are not taken yet. One connection may have many, and a client may keep each of them
//! back by the windows of the protocol while it takes others, or nothing but answers to its pings: so each has its own time.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Body, Buf, Bytes};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::http::limits::ANSWER_BYTES_PER_SECOND_MIN;

/// Answers of one HTTP/2 connection that may wait for each other: with so many on their way each has so many times its time, and with more no longer.
const ANSWERS_IN_TURN_MAX: u32 = 8;

/// The answers of one connection.
#[derive(Debug)]
pub(super) struct UnreadAnswers {
    write_timeout: Duration,
    answers: Mutex<Answers>,
    came: Notify,
}

#[derive(Debug, Default)]
struct Answers {
    next: u64,
    /// The most answers at once so far, as far as they are counted.
    widest: u32,
    /// Number of each, and when its client will have owed `write_timeout`, as [`WriteTimeoutStream`](super::write_timeout::WriteTimeoutStream) counts it for a connection.
    ends: Vec<(u64, Instant)>,
}

/// The rest of an answer. HTTP/2 advances it by what the client's windows and the socket let through, and drops it when the client took
/// the answer back.
#[derive(Debug)]
pub(super) struct AnswerRemainder {
    bytes: Bytes,
    number: u64,
    unread: Arc<UnreadAnswers>,
}

impl UnreadAnswers {
    /// `write_timeout` is how long a client may take nothing.
    pub(super) fn new(write_timeout: Duration) -> Arc<UnreadAnswers> {
        Arc::new(UnreadAnswers { write_timeout, answers: Mutex::default(), came: Notify::new() })
    }

    /// Watches over an answer until it is sent.
    pub(super) fn watch(self: &Arc<Self>, mut body: Full<Bytes>) -> Full<AnswerRemainder> {
        // A body in memory is there at once.
        let frame = Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop()));
        let bytes = match frame {
            Poll::Ready(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
            _ => Bytes::new(),
        };
        let mut answers = self.answers();
        let number = answers.next;
        answers.next += 1;
        if !bytes.is_empty() {
            let wide = turns(answers.ends.len() + 1);
            // Those before have to wait for this one too.
            let more = self.write_timeout * wide.saturating_sub(answers.widest.max(1));
            answers.ends.iter_mut().for_each(|(_, end)| *end += more);
            answers.widest = answers.widest.max(wide);
            answers.ends.push((number, Instant::now() + self.write_timeout * wide));
        }
        drop(answers);
        self.came.notify_one();
        Full::new(AnswerRemainder { bytes, number, unread: Arc::clone(self) })
    }

    /// Ready when an answer was not taken in its time.
    pub(super) async fn late(&self) {
        loop {
            let first = self.answers().ends.iter().map(|(_, end)| *end).min();
            match first {
                Some(end) if end <= Instant::now() => return,
                // Meanwhile it may be taken, or have got more time; one that comes has its end later.
                Some(end) => sleep_until(end).await,
                None => self.came.notified().await,
            }
        }
    }

    /// Whether no answer is left but those that were not taken in their time.
    pub(super) fn only_late(&self) -> bool {
        let now = Instant::now();
        self.answers().ends.iter().all(|(_, end)| *end <= now)
    }

    /// Whether every answer is taken.
    pub(super) fn is_empty(&self) -> bool {
        self.answers().ends.is_empty()
    }

    /// Every byte taken pays for some time.
    fn took(&self, number: u64, bytes: usize) {
        let paid = Duration::from_millis(bytes as u64 * 1_000 / ANSWER_BYTES_PER_SECOND_MIN);
        let mut answers = self.answers();
        let latest = Instant::now() + self.write_timeout * turns(answers.ends.len());
        if let Some((_, end)) = answers.ends.iter_mut().find(|(known, _)| *known == number) {
            *end = (*end + paid).min(latest);
        }
    }

    fn is_taken(&self, number: u64) {
        let mut answers = self.answers();
        if let Some(at) = answers.ends.iter().position(|(known, _)| *known == number) {
            answers.ends.swap_remove(at);
        }
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().expect("no holder of this lock can panic")
    }
}

/// How many times its own time an answer has, when so many are on their way: they go in turn, and on a slow line each waits for the others.
fn turns(answers: usize) -> u32 {
    u32::try_from(answers).unwrap_or(u32::MAX).clamp(1, ANSWERS_IN_TURN_MAX)
}

impl Buf for AnswerRemainder {
    fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        match self.bytes.is_empty() {
            true => self.unread.is_taken(self.number),
            false => self.unread.took(self.number, count),
        }
    }
}

impl Drop for AnswerRemainder {
    fn drop(&mut self) {
        if !self.bytes.is_empty() {
            self.unread.is_taken(self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use tokio::time::timeout;

    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    async fn rest(unread: &Arc<UnreadAnswers>, bytes: usize) -> AnswerRemainder {
        unread.watch(Full::from(vec![7; bytes])).frame().await.unwrap().unwrap().into_data().unwrap()
    }

    #[tokio::test]
    async fn an_answer_is_late_until_it_is_dropped() {
        let unread = UnreadAnswers::new(Duration::from_millis(1));
        let first = unread.watch(Full::from("first"));
        let second = unread.watch(Full::from("second"));
        assert_eq!(first.collect().await.unwrap().to_bytes(), "first");
        timeout(LONG, unread.late()).await.expect("the second is not taken");
        assert!(unread.only_late());
        drop(second);
        assert!(unread.answers().ends.is_empty());
    }

    #[tokio::test]
    async fn the_size_of_an_answer_gives_no_time_as_long_as_nothing_is_taken() {
        let unread = UnreadAnswers::new(Duration::from_millis(1));
        let _large = unread.watch(Full::from(vec![0; 3_600 * ANSWER_BYTES_PER_SECOND_MIN as usize]));
        timeout(LONG, unread.late()).await.expect("nothing was taken");
    }

    #[tokio::test]
    async fn an_answer_that_is_taken_byte_by_byte_is_late_too() {
        let unread = UnreadAnswers::new(Duration::from_millis(50));
        let mut rest = rest(&unread, 1_000_000).await;
        let drip = async {
            loop {
                // It pays for two milliseconds.
                rest.advance(1);
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            () = unread.late() => {}
            () = drip => {}
        }
    }

    #[tokio::test]
    async fn what_is_taken_pays_and_never_for_more_than_the_timeout() {
        let unread = UnreadAnswers::new(LONG);
        let mut rest = rest(&unread, 10_000_000).await;
        let end = |unread: &UnreadAnswers| unread.answers().ends[0].1;
        let first = end(&unread);
        unread.answers().ends[0].1 = first - LONG / 2;
        rest.advance(ANSWER_BYTES_PER_SECOND_MIN as usize * 10);
        assert_eq!(end(&unread), first - LONG / 2 + Duration::from_secs(10));
        rest.advance(9_000_000);
        assert!(end(&unread) >= first && end(&unread) <= Instant::now() + LONG);
        rest.advance(rest.remaining());
        assert!(unread.answers().ends.is_empty(), "the whole is taken");
    }

    #[tokio::test]
    async fn who_takes_one_answer_and_leaves_another_is_late() {
        let unread = UnreadAnswers::new(Duration::from_millis(20));
        let left = rest(&unread, 10).await;
        let read = async {
            loop {
                let mut rest = rest(&unread, 1_000).await;
                rest.advance(1_000);
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            () = unread.late() => {}
            () = read => {}
        }
        drop(left);
    }

    #[tokio::test]
    async fn an_empty_answer_is_none_and_one_that_comes_is_noticed() {
        let unread = UnreadAnswers::new(Duration::from_millis(1));
        let empty = unread.watch(Full::default());
        assert!(empty.is_end_stream() || empty.size_hint().exact() == Some(0));
        assert!(timeout(Duration::from_millis(20), unread.late()).await.is_err());
        let coming = async {
            tokio::task::yield_now().await;
            rest(&unread, 1).await
        };
        let _kept = timeout(LONG, async { tokio::join!(unread.late(), coming) }).await.expect("it is late");
    }
}
