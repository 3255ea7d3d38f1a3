//! Turns: work that only few requests may do at once. The others wait in the order they came: not for ever, and not too many of them.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::interaction::limits::TURNS_WAITING_MAX;
use base::trace::Trace;
use fhir::outcome::{Hcert, Outcome};

/// A number of turns. A request whose client goes away stops waiting.
#[derive(Debug)]
pub struct Turns {
    /// What a request is refused with when its turn does not come.
    full: Hcert,
    free: Arc<Semaphore>,
    patience: Duration,
    waiting: AtomicUsize,
}

/// A turn, given back when it is dropped. Whoever hands the work to another thread hands the turn over with it.
#[derive(Debug)]
pub struct HeavySearchPermit {
    _lent: Box<dyn Any + Send + Sync>,
}

impl HeavySearchPermit {
    /// A turn that gives this back.
    pub fn of(lent: impl Any + Send + Sync) -> HeavySearchPermit {
        HeavySearchPermit { _lent: Box::new(lent) }
    }
}

impl Turns {
    pub fn new(at_once: usize, patience: Duration, full: Hcert) -> Turns {
        Turns { full, free: Arc::new(Semaphore::new(at_once)), patience, waiting: AtomicUsize::new(0) }
    }

    /// Requests that wait for a turn at this moment.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// 503 when it does not come in time, and at once when too many wait already: they hold what they brought along, and light requests
    /// have to be let in beside them.
    pub async fn take(&self) -> Result<HeavySearchPermit, Outcome> {
        if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
            return Ok(HeavySearchPermit::of(permit));
        }
        let _waits = Waits::new(&self.waiting);
        if self.waiting() > TURNS_WAITING_MAX {
            return Err(self.full.into());
        }
        let taken = timeout(self.patience, Arc::clone(&self.free).acquire_owned()).await;
        let permit = taken.ok().and_then(Result::ok);
        permit.map(HeavySearchPermit::of).ok_or_else(|| self.full.into())
    }
}

/// Runs what takes long on a thread of its own when its turn comes, so that reads keep a worker.
///
/// # Errors
/// 503 when its turn does not come in time.
pub(super) async fn in_turn<T: Send + 'static>(
    turns: &Turns,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Outcome> {
    let turn = turns.take().await?;
    let worked = tokio::task::spawn_blocking(Trace::carried(move || {
        // The turn ends with the work, which goes on when its client has gone.
        let _turn = turn;
        work()
    }));
    worked.await.map_err(Outcome::internal)
}

/// One request that waits, whatever becomes of it.
struct Waits<'a>(&'a AtomicUsize);

impl<'a> Waits<'a> {
    fn new(waiting: &'a AtomicUsize) -> Waits<'a> {
        waiting.fetch_add(1, Ordering::Relaxed);
        Waits(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Poll;

    use super::*;

    /// Whether a waiting request has its turn by now.
    async fn has_come<T>(
        waiting: &mut (impl Future<Output = Result<T, Outcome>> + Unpin),
    ) -> Option<Result<T, Outcome>> {
        std::future::poll_fn(|context| {
            Poll::Ready(match std::pin::Pin::new(&mut *waiting).poll(context) {
                Poll::Ready(taken) => Some(taken),
                Poll::Pending => None,
            })
        })
        .await
    }

    #[tokio::test]
    async fn turns_come_in_order_and_pass_over_those_who_left() {
        let turns = Turns::new(1, Duration::from_secs(60), Hcert::HeavySearchesFull);
        let first = turns.take().await.unwrap();
        let mut second = Box::pin(turns.take());
        assert!(has_come(&mut second).await.is_none());
        let mut third = pin!(turns.take());
        assert!(has_come(&mut third).await.is_none());
        // Its client has gone.
        drop(second);
        drop(first);
        let third = has_come(&mut third).await.expect("it is its turn").unwrap();
        let mut fourth = pin!(turns.take());
        assert!(has_come(&mut fourth).await.is_none());
        drop(third);
        assert!(has_come(&mut fourth).await.expect("it is its turn").is_ok());
    }

    #[tokio::test]
    async fn no_more_wait_than_can_have_their_turn() {
        let turns = Turns::new(1, Duration::from_secs(600), Hcert::HeavySearchesFull);
        let held = turns.take().await.unwrap();
        let mut waiting: Vec<_> = (0..TURNS_WAITING_MAX).map(|_| Box::pin(turns.take())).collect();
        for one in &mut waiting {
            assert!(has_come(one).await.is_none());
        }
        assert_eq!(turns.take().await.unwrap_err().leading(), Hcert::HeavySearchesFull);
        // Whoever leaves makes room for another.
        waiting.pop();
        let mut next = Box::pin(turns.take());
        assert!(has_come(&mut next).await.is_none());
        drop(held);
        assert!(has_come(&mut waiting[0]).await.expect("it is its turn").is_ok());
    }

    #[tokio::test]
    async fn a_turn_that_does_not_come_in_time_is_503_and_leaves_the_others_in_peace() {
        let turns = Turns::new(1, Duration::from_millis(1), Hcert::HeavySearchesFull);
        let held = turns.take().await.unwrap();
        assert_eq!(turns.take().await.unwrap_err().leading(), Hcert::HeavySearchesFull);
        drop(held);
        assert!(turns.take().await.is_ok());
    }
}
