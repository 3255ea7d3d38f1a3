//! Reading request bodies: bounded in bytes, in time, and in what all of them together, and those of one client, may hold. Answers
//! reserve memory the same way.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Buf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use super::load::{LoadCounters, count};
use super::message::too_long;
use super::settings::BodyTimeout;
use crate::config::limits::{LARGE_BODIES_HELD, SMALL_BODIES_BYTES_MAX};
use crate::http::limits::LARGE_BODY_BYTES;
use fhir::outcome::{Hcert, Issue, Outcome};

/// Bytes of small request bodies of one client: a quarter of all, so that 64 certificates of 24 KB may wait for the registry or the disk.
const SMALL_BODIES_BYTES_PER_ADDRESS_MAX: usize = SMALL_BODIES_BYTES_MAX / 4;

/// Large request bodies of one client that are held at once: a quarter of all.
const LARGE_BODIES_HELD_PER_ADDRESS: usize = LARGE_BODIES_HELD / 4;

/// Bytes of a refused body that are still read and thrown away, so that a client that writes before it reads sees the refusal
/// instead of a reset connection.
const LINGER_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Seconds for the same.
const LINGER_S: u64 = 5;

/// Memory that is reserved in pieces.
#[derive(Clone, Debug)]
pub(super) struct BytePool(Arc<Semaphore>);

/// Bytes of a piece.
const PIECE: usize = 4 * 1024;

/// Memory for the bodies of requests, of all clients or of one. Large ones have theirs apart, since they wait for seconds.
#[derive(Clone, Debug)]
pub(super) struct BodyMemory {
    small: BytePool,
    large: BytePool,
}

/// Whether a body is one above [`LARGE_BODY_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodySize {
    Small,
    Large,
}

/// Reserves the memory for the body of one request.
pub(super) struct BodyAllocator<'a> {
    pub all: &'a BodyMemory,
    /// What its client may have of it, where that is bounded.
    pub share: Option<BodyMemory>,
    pub load: &'a LoadCounters,
}

/// A body and the memory it holds, given back when this is dropped.
#[derive(Default)]
pub(super) struct ReceivedBody {
    pub bytes: Vec<u8>,
    pub reserved: Option<BodyReservation>,
}

#[derive(Debug)]
pub(super) struct BodyReservation {
    size: BodySize,
    of_all: OwnedSemaphorePermit,
    of_share: Option<OwnedSemaphorePermit>,
}

impl BytePool {
    pub(super) fn new(bytes: usize) -> BytePool {
        BytePool(Arc::new(Semaphore::new(bytes / PIECE)))
    }

    /// Reserves `bytes`, where they are free.
    pub(super) fn reserve(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let pieces = u32::try_from(bytes.div_ceil(PIECE)).ok()?;
        Arc::clone(&self.0).try_acquire_many_owned(pieces).ok()
    }

    /// Whether anything is reserved, where this is the only handle: each reserved piece keeps a reference to its pool.
    pub(super) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

impl BodyMemory {
    /// For all clients. `body_bytes_max`: of one body.
    pub(super) fn of_all(body_bytes_max: usize) -> BodyMemory {
        let large = BytePool::new(LARGE_BODIES_HELD * body_bytes_max);
        BodyMemory { small: BytePool::new(SMALL_BODIES_BYTES_MAX), large }
    }

    /// For one client.
    pub(super) fn of_client(body_bytes_max: usize) -> BodyMemory {
        let large = BytePool::new(LARGE_BODIES_HELD_PER_ADDRESS * body_bytes_max);
        BodyMemory { small: BytePool::new(SMALL_BODIES_BYTES_PER_ADDRESS_MAX), large }
    }

    /// As [`BytePool::is_shared`].
    pub(super) fn is_shared(&self) -> bool {
        self.small.is_shared() || self.large.is_shared()
    }

    pub(super) fn of(&self, size: BodySize) -> &BytePool {
        match size {
            BodySize::Small => &self.small,
            BodySize::Large => &self.large,
        }
    }
}

impl BodySize {
    pub(super) fn of(bytes: usize) -> BodySize {
        if bytes > LARGE_BODY_BYTES { BodySize::Large } else { BodySize::Small }
    }
}

impl BodyAllocator<'_> {
    /// Reserves memory up to `bytes` in all, where the body is of that size. A body that becomes a large one gives back what it had before.
    ///
    /// # Errors
    /// 429: its client has used up its share. 503: so have all clients together.
    pub(super) fn reserve(&self, received: &mut ReceivedBody, size: BodySize, bytes: usize) -> Result<(), Issue> {
        self.try_reserve(received, size, bytes).map_err(|full| {
            count(if full == Hcert::BodiesFull { &self.load.requests_refused } else { &self.load.requests_throttled });
            let issue = Issue::new(full);
            let problem = "the memory for request bodies of one client is full";
            if full == Hcert::TooManyRequests { issue.with("problem", problem) } else { issue }
        })
    }

    fn try_reserve(&self, received: &mut ReceivedBody, size: BodySize, bytes: usize) -> Result<(), Hcert> {
        received.reserved.take_if(|reserved| reserved.size != size);
        let held = received.reserved.as_ref().map_or(0, |reserved| reserved.of_all.num_permits() * PIECE);
        let missing = bytes.saturating_sub(held);
        let share = self.share.as_ref().map(|share| share.of(size).reserve(missing).ok_or(Hcert::TooManyRequests));
        let of_share = share.transpose()?;
        let of_all = self.all.of(size).reserve(missing).ok_or(Hcert::BodiesFull)?;
        match &mut received.reserved {
            Some(reserved) => {
                reserved.of_all.merge(of_all);
                if let (Some(held), Some(more)) = (&mut reserved.of_share, of_share) {
                    held.merge(more);
                }
            }
            none => *none = Some(BodyReservation { size, of_all, of_share }),
        }
        Ok(())
    }
}

/// Reads a whole body of at most `bytes_max` bytes; `length` is its Content-Length, if it has one.
///
/// # Errors
/// 413 as soon as it grows too long, 408 when it takes too long or comes too slowly, 400 when it breaks off, 429 or 503 when too many
/// are held already.
pub(super) async fn receive<B>(
    body: &mut B,
    length: Option<u64>,
    bytes_max: usize,
    body_timeout: BodyTimeout,
    allocator: &BodyAllocator<'_>,
) -> Result<ReceivedBody, Outcome>
where
    B: Body + Unpin,
    B::Error: ToString,
{
    let mut received = ReceivedBody::default();
    let start = Instant::now();
    let whole = length.and_then(|length| usize::try_from(length).ok()).unwrap_or(bytes_max).min(bytes_max);
    loop {
        let frame = timeout_at(body_timeout.end(start, received.bytes.len()), body.frame()).await;
        let Some(frame) = frame.map_err(|_| Outcome::from(Hcert::BodyTimeout))? else { return Ok(received) };
        let Ok(mut data) = frame.map_err(broken)?.into_data() else { continue };
        let bytes = received.bytes.len() + data.remaining();
        if bytes > bytes_max {
            return Err(too_long(bytes_max).into());
        }
        if bytes > received.bytes.capacity() {
            // Memory follows what has arrived, never what was announced: an announcement costs a client nothing.
            let size = BodySize::of(bytes);
            let small_max = if size == BodySize::Small { LARGE_BODY_BYTES } else { usize::MAX };
            let mut room = (2 * bytes).min(whole).min(small_max).max(bytes);
            if allocator.try_reserve(&mut received, size, room).is_err() {
                room = bytes;
                allocator.reserve(&mut received, size, room)?;
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
    Outcome::from(Issue::new(Hcert::HttpMalformed).with("problem", "the body ended too early")).because(error)
}

/// Reads the rest of a refused body and throws it away, for a while. Without this, closing the connection under a client that
/// still writes would reset it, and the client might never see the refusal.
pub(super) async fn linger<B: Body>(body: B) {
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
    use crate::http::settings::BODY_GRACE_S;

    const PATIENCE: BodyTimeout = BodyTimeout { whole: Duration::from_secs(60), bytes_per_second_min: 500 };

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

    /// Memory for so many pieces of small bodies, and for as many of large ones.
    fn memory(pieces: usize) -> BodyMemory {
        BodyMemory { small: BytePool::new(pieces * PIECE), large: BytePool::new(pieces * PIECE) }
    }

    async fn read_of(
        bytes: usize,
        length: Option<u64>,
        bytes_max: usize,
        all: &BodyMemory,
        share: Option<&BodyMemory>,
    ) -> Result<ReceivedBody, Hcert> {
        let mut body = Full::new(Bytes::from(vec![7; bytes]));
        let allocator = BodyAllocator { all, share: share.cloned(), load: &LoadCounters::default() };
        receive(&mut body, length, bytes_max, PATIENCE, &allocator).await.map_err(|outcome| outcome.leading())
    }

    async fn read(bytes: usize, length: Option<u64>, memory: &BodyMemory) -> Result<ReceivedBody, Hcert> {
        read_of(bytes, length, 10_000, memory, None).await
    }

    #[tokio::test]
    async fn a_body_of_the_largest_size_passes_and_one_more_byte_does_not() {
        let memory = memory(256);
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
        let body_timeout = BodyTimeout { whole: Duration::from_millis(1), ..PATIENCE };
        let allocator = BodyAllocator { all: &memory(256), share: None, load: &LoadCounters::default() };
        let refusal = receive(&mut Stalled, None, 10, body_timeout, &allocator).await.map(|_| ()).unwrap_err();
        assert_eq!(refusal.leading(), Hcert::BodyTimeout);
    }

    #[tokio::test]
    async fn bodies_held_together_are_bounded_and_memory_comes_back() {
        let memory = memory(4);
        let first = read(9_000, Some(9_000), &memory).await.unwrap();
        assert_eq!(read(5_000, Some(5_000), &memory).await.err(), Some(Hcert::BodiesFull));
        assert_eq!(read(5_000, None, &memory).await.err(), Some(Hcert::BodiesFull));
        assert!(read(4_000, None, &memory).await.is_ok());
        drop(first);
        assert!(read(5_000, None, &memory).await.is_ok());
        // Announced and never sent.
        let mut silent = Full::new(Bytes::new());
        let allocator = BodyAllocator { all: &memory, share: None, load: &LoadCounters::default() };
        let received = receive(&mut silent, Some(10_000), 10_000, PATIENCE, &allocator).await.unwrap();
        assert_eq!((received.bytes.capacity(), memory.small.0.available_permits()), (0, 4));
    }

    #[tokio::test]
    async fn a_body_that_becomes_a_large_one_has_its_memory_apart() {
        let all = memory(LARGE_BODY_BYTES / PIECE + 1);
        let small = read_of(LARGE_BODY_BYTES, None, 2 * LARGE_BODY_BYTES, &all, None).await.unwrap();
        assert_eq!((all.small.0.available_permits(), small.bytes.capacity()), (1, LARGE_BODY_BYTES));
        let large = read_of(LARGE_BODY_BYTES + 1, None, 2 * LARGE_BODY_BYTES, &all, None).await.unwrap();
        assert_eq!((all.small.0.available_permits(), all.large.0.available_permits()), (1, 0));
        let next = read_of(LARGE_BODY_BYTES + 1, None, 2 * LARGE_BODY_BYTES, &all, None).await;
        assert_eq!(next.err(), Some(Hcert::BodiesFull));
        // What first was a small one gives that back.
        let mut grown = small;
        drop(large);
        let allocator = BodyAllocator { all: &all, share: None, load: &LoadCounters::default() };
        allocator.reserve(&mut grown, BodySize::Large, LARGE_BODY_BYTES + 1).unwrap();
        assert_eq!(
            (all.small.0.available_permits(), all.large.0.available_permits()),
            (LARGE_BODY_BYTES / PIECE + 1, 0)
        );
    }

    #[tokio::test]
    async fn one_client_has_its_share_of_memory_for_bodies_and_no_more() {
        let (all, [one, other]) = (memory(5), [memory(2), memory(2)]);
        let held = read_of(8_000, None, 10_000, &all, Some(&one)).await.unwrap();
        assert_eq!(read_of(1, None, 10_000, &all, Some(&one)).await.err(), Some(Hcert::TooManyRequests));
        let of_other = read_of(8_000, None, 10_000, &all, Some(&other)).await.unwrap();
        assert!(one.is_shared() && other.is_shared());
        drop((held, of_other));
        assert!(!one.is_shared() && !other.is_shared());
        assert!(read_of(8_000, None, 10_000, &all, Some(&one)).await.is_ok());
        assert_eq!([&all, &one, &other].map(|memory| memory.small.0.available_permits()), [5, 2, 2]);
    }
}
