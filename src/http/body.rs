//! Reading request bodies: bounded in bytes, in time, and in what all of them together may hold. Answers borrow memory the same way.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Buf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use super::request::too_long;
use crate::limits::{BODY_GRACE_S, LINGER_BYTES_MAX, LINGER_S, SMALL_ANSWER_BYTES};
use crate::outcome::{Hcert, Issue, Outcome};

/// Memory for the bodies of all requests, or of all answers, lent in pieces.
#[derive(Clone, Debug)]
pub struct Memory(Arc<Semaphore>);

/// Bytes of a piece.
const PIECE: usize = 4 * 1024;

/// A body and the memory it holds, given back when this is dropped.
#[derive(Default)]
pub struct Received {
    pub bytes: Vec<u8>,
    pub lent: Option<OwnedSemaphorePermit>,
}

impl Memory {
    pub fn new(bytes: usize) -> Memory {
        Memory(Arc::new(Semaphore::new(bytes / PIECE)))
    }

    /// Lends `bytes`, where they are free.
    pub fn borrow(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let pieces = u32::try_from(bytes.div_ceil(PIECE)).ok()?;
        Arc::clone(&self.0).try_acquire_many_owned(pieces).ok()
    }

    /// Whether anything is lent, where this is the only one who lends it: each piece holds on to where it is from.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Whether next to nothing is free.
    pub fn is_lent(&self) -> bool {
        self.0.available_permits() * PIECE < SMALL_ANSWER_BYTES
    }

    /// Makes room for `bytes` in all.
    pub(super) fn lend(&self, received: &mut Received, bytes: usize) -> Result<(), Issue> {
        let held = received.lent.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let missing = bytes.div_ceil(PIECE).saturating_sub(held);
        let missing = u32::try_from(missing).map_err(|_| Issue::new(Hcert::BodiesFull))?;
        let more = Arc::clone(&self.0).try_acquire_many_owned(missing).map_err(|_| Issue::new(Hcert::BodiesFull))?;
        match &mut received.lent {
            Some(lent) => lent.merge(more),
            none => *none = Some(more),
        }
        Ok(())
    }
}

/// How long a body may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    pub whole: Duration,
    pub bytes_per_second_min: u64,
}

impl Patience {
    /// When more than `bytes` must have arrived of a body that began to be read at `start`.
    fn end(self, start: Instant, bytes: usize) -> Instant {
        let at_slowest = Duration::from_millis(bytes as u64 * 1_000 / self.bytes_per_second_min.max(1));
        start + self.whole.min(Duration::from_secs(BODY_GRACE_S) + at_slowest)
    }
}

/// Reads a whole body of at most `bytes_max` bytes; `length` is its Content-Length, if it has one.
///
/// # Errors
/// 413 as soon as it grows too long, 408 when it takes too long or comes too slowly, 400 when it breaks off, 503 when too many are held already.
pub async fn receive<B>(
    body: &mut B,
    length: Option<u64>,
    bytes_max: usize,
    patience: Patience,
    memory: &Memory,
) -> Result<Received, Outcome>
where
    B: Body + Unpin,
    B::Error: ToString,
{
    let mut received = Received::default();
    let start = Instant::now();
    let whole = length.and_then(|length| usize::try_from(length).ok()).unwrap_or(bytes_max).min(bytes_max);
    loop {
        let frame = timeout_at(patience.end(start, received.bytes.len()), body.frame()).await;
        let Some(frame) = frame.map_err(|_| Outcome::from(Hcert::BodyTimeout))? else { return Ok(received) };
        let Ok(mut data) = frame.map_err(broken)?.into_data() else { continue };
        let bytes = received.bytes.len() + data.remaining();
        if bytes > bytes_max {
            return Err(too_long(bytes_max).into());
        }
        if bytes > received.bytes.capacity() {
            // Memory follows what has arrived, never what was announced: an announcement costs a client nothing.
            let mut room = (2 * bytes).min(whole).max(bytes);
            if memory.lend(&mut received, room).is_err() {
                room = bytes;
                memory.lend(&mut received, room)?;
            }
            received.bytes.reserve_exact(room - received.bytes.len());
        }
        while data.has_remaining() {
            let chunk = data.chunk();
            received.bytes.extend_from_slice(chunk);
            let count = chunk.len();
            data.advance(count);
        }
    }
}

fn broken(error: impl ToString) -> Outcome {
    Outcome::from(Issue::new(Hcert::HttpMalformed).with("problem", "the body broke off")).because(error)
}

/// Reads the rest of a refused body and throws it away, for a while. Without this, closing the connection under a client that
/// still writes would reset it, and the client might never see the refusal.
pub async fn linger<B: Body>(body: B) {
    let discard = async {
        let mut body = pin!(body);
        let mut bytes = 0;
        while let Some(Ok(frame)) = body.frame().await {
            bytes += frame.data_ref().map_or(0, Buf::remaining);
            if bytes > LINGER_BYTES_MAX {
                break;
            }
        }
    };
    let _ = timeout(Duration::from_secs(LINGER_S), discard).await;
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;
    use hyper::body::Bytes;

    use super::*;

    const PATIENCE: Patience = Patience { whole: Duration::from_secs(60), bytes_per_second_min: 500 };

    /// A body of which nothing ever comes.
    struct Stalled;

    impl Body for Stalled {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Self::Error>>> {
            std::task::Poll::Pending
        }
    }

    async fn read(bytes: usize, length: Option<u64>, memory: &Memory) -> Result<Received, Hcert> {
        let mut body = Full::new(Bytes::from(vec![7; bytes]));
        receive(&mut body, length, 10_000, PATIENCE, memory).await.map_err(|outcome| outcome.leading())
    }

    #[tokio::test]
    async fn a_body_of_the_largest_size_passes_and_one_more_byte_does_not() {
        let memory = Memory::new(1024 * 1024);
        assert_eq!(read(10_000, None, &memory).await.unwrap().bytes.len(), 10_000);
        assert_eq!(read(10_001, None, &memory).await.err(), Some(Hcert::BodyTooLong));
        assert!(read(0, Some(0), &memory).await.unwrap().bytes.is_empty());
    }

    #[test]
    fn a_body_has_time_in_all_and_by_what_it_has_sent() {
        let start = Instant::now();
        let seconds = |bytes| (PATIENCE.end(start, bytes) - start).as_secs();
        assert_eq!(seconds(0), BODY_GRACE_S);
        assert_eq!(seconds(5_000), BODY_GRACE_S + 10);
        assert_eq!(seconds(1_000_000), 60);
        assert_eq!(seconds(usize::MAX / 2_000), 60);
    }

    #[tokio::test]
    async fn a_body_that_stalls_is_too_late() {
        let patience = Patience { whole: Duration::from_millis(1), ..PATIENCE };
        let refusal =
            receive(&mut Stalled, None, 10, patience, &Memory::new(1024 * 1024)).await.map(|_| ()).unwrap_err();
        assert_eq!(refusal.leading(), Hcert::BodyTimeout);
    }

    #[tokio::test]
    async fn bodies_held_together_are_bounded_and_memory_comes_back() {
        let memory = Memory(Arc::new(Semaphore::new(4)));
        let first = read(9_000, Some(9_000), &memory).await.unwrap();
        assert_eq!(read(5_000, Some(5_000), &memory).await.err(), Some(Hcert::BodiesFull));
        assert_eq!(read(5_000, None, &memory).await.err(), Some(Hcert::BodiesFull));
        assert!(read(4_000, None, &memory).await.is_ok());
        drop(first);
        assert!(read(5_000, None, &memory).await.is_ok());
        // Announced and never sent.
        let mut silent = Full::new(Bytes::new());
        let received = receive(&mut silent, Some(10_000), 10_000, PATIENCE, &memory).await.unwrap();
        assert_eq!((received.bytes.capacity(), memory.0.available_permits()), (0, 4));
        assert_eq!(memory.0.available_permits(), 4);
    }
}
