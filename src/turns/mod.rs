//! Turns: work that only few requests may do at once, and whom requests are counted for. The others wait in a queue that is bounded in
//! time and length. The queue is fair: clients come in turn, each with the requests it has waiting, so that a client never waits for more than one piece of work of each other
//! client, however many requests the others send.

mod client;

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::oneshot::{Receiver, Sender, channel};
use tokio::time::timeout;

use base::pause;
use base::trace::Trace;
pub use client::{ClientKey, counted};
use fhir::outcome::{Hcert, Outcome};

/// Milliseconds of a turn after which long work lets other clients go first, where it can pause.
pub const TURN_MS: u64 = 20;

/// Requests that wait for a turn of one kind. A later request would wait longer than allowed and is 503 at once. Questions to a remote
/// registry have no such bound.
pub const TURNS_WAITING_MAX: usize = 64;

/// The client that holds a turn or waits for one. `None`: this machine itself.
type TurnClient = Option<ClientKey>;

/// A number of turns. A request whose client goes away stops waiting.
#[derive(Clone, Debug)]
pub struct Turns {
    /// What a request is refused with when its turn does not come.
    full: Hcert,
    wait_max: Duration,
    waiting_max: usize,
    queue: Arc<TurnQueue>,
}

/// A turn, given back when it is dropped. Whoever hands the work to another thread hands the turn over with it.
#[derive(Debug)]
pub struct Turn {
    client: TurnClient,
    /// When it began, or paused last.
    since: Instant,
    /// None once it is given back.
    queue: Option<Arc<TurnQueue>>,
}

/// Anything that a request holds until its answer is sent, such as a turn.
#[derive(Debug)]
pub struct RequestPermit {
    _held: Box<dyn Any + Send + Sync>,
}

impl RequestPermit {
    /// A permit that gives this back.
    pub fn of(held: impl Any + Send + Sync) -> RequestPermit {
        RequestPermit { _held: Box::new(held) }
    }
}

impl Turns {
    /// One client may hold all of them.
    pub fn new(at_once: usize, wait_max: Duration, full: Hcert) -> Turns {
        Turns::with_share(at_once, at_once, wait_max, full)
    }

    /// Any number may wait. For work whose requests are bounded before.
    pub fn without_queue_limit(mut self) -> Turns {
        self.waiting_max = usize::MAX;
        self
    }

    /// One client may hold `share` of them; this machine itself may hold all.
    pub fn with_share(at_once: usize, share: usize, wait_max: Duration, full: Hcert) -> Turns {
        let state = QueueState { free: at_once, held: HashMap::new(), clients: VecDeque::new() };
        let queue = TurnQueue { share, waiting: AtomicUsize::new(0), state: Mutex::new(state) };
        Turns { full, wait_max, waiting_max: TURNS_WAITING_MAX, queue: Arc::new(queue) }
    }

    /// Requests that wait for a turn at this moment.
    pub fn waiting(&self) -> usize {
        self.queue.waiting.load(Ordering::Relaxed)
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// 503 when it does not come in time, and at once when too many wait already and none of a client with more of them: they hold what
    /// they brought along, and light requests have to be let in beside them.
    pub async fn take(&self, client: TurnClient) -> Result<Turn, Outcome> {
        let entered = self.queue.enter(client, self.waiting_max).ok_or(self.full)?;
        match entered {
            QueueEntry::Now(turn) => Ok(turn),
            QueueEntry::Waits(turn) => {
                let _waits = WaitGuard::new(&self.queue.waiting);
                let turn = timeout(self.wait_max, turn).await.ok().and_then(Result::ok);
                turn.ok_or_else(|| self.full.into())
            }
        }
    }
}

impl Turn {
    /// Lets those of other clients who wait go first, once the turn has taken its time. Comes back with a turn. It blocks its thread.
    fn let_others_go_first(&mut self) {
        if self.since.elapsed() < Duration::from_millis(TURN_MS) {
            return;
        }
        if let Some(queue) = &self.queue
            && let Some(turn) = queue.pause(&self.client)
        {
            TurnQueue::release(queue, &self.client);
            // Nobody takes those that paused out of the queue.
            self.queue = turn.blocking_recv().ok().and_then(|mut turn| turn.queue.take());
        }
        self.since = Instant::now();
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.take() {
            TurnQueue::release(&queue, &self.client);
        }
    }
}

/// Who waits for a kind of turn.
#[derive(Debug)]
struct TurnQueue {
    share: usize,
    waiting: AtomicUsize,
    state: Mutex<QueueState>,
}

#[derive(Debug)]
struct QueueState {
    free: usize,
    /// Turns by who holds them; of those only who hold one.
    held: HashMap<TurnClient, usize>,
    /// Each client that waits, in the order in which they come next.
    clients: VecDeque<WaitingClient>,
}

/// A client with what it has in the queue; never nothing.
#[derive(Debug)]
struct WaitingClient {
    client: TurnClient,
    /// What was begun.
    paused: VecDeque<Sender<Turn>>,
    new: VecDeque<Sender<Turn>>,
}

enum QueueEntry {
    Now(Turn),
    Waits(Receiver<Turn>),
}

impl TurnQueue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().expect("no holder of this lock can panic")
    }

    /// A turn, or a place in the queue; nothing where there is none.
    fn enter(self: &Arc<TurnQueue>, client: TurnClient, waiting_max: usize) -> Option<QueueEntry> {
        let mut state = self.state();
        if state.free > 0 && state.may_have_one(&client, self.share) {
            state.lend(&client);
            return Some(QueueEntry::Now(self.turn(client)));
        }
        state.forget_those_who_left();
        let of_client = state.clients.iter().find(|waiting| waiting.client == client);
        let of_client = of_client.map_or(0, |waiting| waiting.new.len());
        if state.clients.iter().map(|waiting| waiting.new.len()).sum::<usize>() >= waiting_max {
            // The newest request of the client that has most waiting makes room for a client that has fewer.
            let crowd = state.clients.iter_mut().max_by_key(|waiting| waiting.new.len())?;
            if crowd.new.len() <= of_client + 1 {
                return None;
            }
            crowd.new.pop_back();
        }
        let (sender, receiver) = channel();
        state.waiting(client).new.push_back(sender);
        Some(QueueEntry::Waits(receiver))
    }

    /// A place in the queue, before whatever else its client has there, where another client waits too. Its turn is to be given back then.
    fn pause(&self, client: &TurnClient) -> Option<Receiver<Turn>> {
        let mut state = self.state();
        state.forget_those_who_left();
        state.clients.iter().find(|waiting| waiting.client != *client)?;
        if let Some(at) = state.clients.iter().position(|waiting| waiting.client == *client) {
            let last = state.clients.remove(at)?;
            state.clients.push_back(last);
        }
        let (sender, receiver) = channel();
        state.waiting(*client).paused.push_back(sender);
        Some(receiver)
    }

    /// Takes a turn back, and gives it to the next request.
    fn release(queue: &Arc<TurnQueue>, client: &TurnClient) {
        let mut state = queue.state();
        state.free += 1;
        if let Some(held) = state.held.get_mut(client) {
            *held -= 1;
            if *held == 0 {
                state.held.remove(client);
            }
        }
        if let Some((next, sender)) = state.next(queue.share) {
            drop(state);
            // One that left meanwhile drops it, and so gives it to the next one.
            let _ = sender.send(queue.turn(next));
        }
    }

    fn turn(self: &Arc<TurnQueue>, client: TurnClient) -> Turn {
        Turn { client, since: Instant::now(), queue: Some(Arc::clone(self)) }
    }
}

impl QueueState {
    fn may_have_one(&self, client: &TurnClient, share: usize) -> bool {
        client.is_none() || self.held.get(client).is_none_or(|held| *held < share)
    }

    fn lend(&mut self, client: &TurnClient) {
        self.free -= 1;
        *self.held.entry(*client).or_default() += 1;
    }

    /// Whose turn it is; it is lent. Clients that have as many as they may are passed over.
    fn next(&mut self, share: usize) -> Option<(TurnClient, Sender<Turn>)> {
        let at = self.clients.iter().position(|waiting| self.may_have_one(&waiting.client, share))?;
        let mut waiting = self.clients.remove(at)?;
        let sender = waiting.paused.pop_front().or_else(|| waiting.new.pop_front())?;
        let client = waiting.client;
        if !waiting.is_empty() {
            self.clients.push_back(waiting);
        }
        self.lend(&client);
        Some((client, sender))
    }

    fn forget_those_who_left(&mut self) {
        for waiting in &mut self.clients {
            waiting.new.retain(|sender| !sender.is_closed());
        }
        self.clients.retain(|waiting| !waiting.is_empty());
    }

    /// The place of a client in the queue, the last one if it has none yet.
    fn waiting(&mut self, client: TurnClient) -> &mut WaitingClient {
        let at = self.clients.iter().position(|waiting| waiting.client == client).unwrap_or(self.clients.len());
        if at == self.clients.len() {
            self.clients.push_back(WaitingClient { client, paused: VecDeque::new(), new: VecDeque::new() });
        }
        &mut self.clients[at]
    }
}

impl WaitingClient {
    fn is_empty(&self) -> bool {
        self.paused.is_empty() && self.new.is_empty()
    }
}

/// Runs what takes long on a thread of its own when its turn comes, so that reads keep a worker. Where it [pauses](pause), others go first.
///
/// # Errors
/// 503 when its turn does not come in time.
pub(crate) async fn in_turn<T: Send + 'static>(
    turns: &Turns,
    client: TurnClient,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Outcome> {
    let mut turn = turns.take(client).await?;
    let worked = tokio::task::spawn_blocking(Trace::carried(move || {
        // The turn ends with the work, which goes on when its client has gone.
        pause::with(move || turn.let_others_go_first(), work)
    }));
    worked.await.map_err(Outcome::internal)
}

/// One request that waits, whatever becomes of it.
struct WaitGuard<'a>(&'a AtomicUsize);

impl<'a> WaitGuard<'a> {
    fn new(waiting: &'a AtomicUsize) -> WaitGuard<'a> {
        waiting.fetch_add(1, Ordering::Relaxed);
        WaitGuard(waiting)
    }
}

impl Drop for WaitGuard<'_> {
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

    fn turns(at_once: usize, share: usize) -> Turns {
        Turns::with_share(at_once, share, Duration::from_secs(600), Hcert::HeavySearchesFull)
    }

    fn person(name: &str) -> TurnClient {
        Some(ClientKey::person(name))
    }

    #[tokio::test]
    async fn turns_come_in_order_and_pass_over_those_who_left() {
        let turns = turns(1, 1);
        let first = turns.take(None).await.unwrap();
        let mut second = Box::pin(turns.take(None));
        assert!(has_come(&mut second).await.is_none());
        let mut third = pin!(turns.take(None));
        assert!(has_come(&mut third).await.is_none());
        // Its client has gone.
        drop(second);
        drop(first);
        let third = has_come(&mut third).await.expect("it is its turn").unwrap();
        let mut fourth = pin!(turns.take(None));
        assert!(has_come(&mut fourth).await.is_none());
        drop(third);
        assert!(has_come(&mut fourth).await.expect("it is its turn").is_ok());
    }

    #[tokio::test]
    async fn a_turn_that_nobody_picks_up_is_the_next_one_s() {
        let turns = turns(1, 1);
        let first = turns.take(None).await.unwrap();
        let mut second = Box::pin(turns.take(None));
        assert!(has_come(&mut second).await.is_none());
        drop(first);
        // It has its turn, and its client has gone before it knew.
        drop(second);
        assert!(has_come(&mut pin!(turns.take(None))).await.expect("it is its turn").is_ok());
    }

    #[tokio::test]
    async fn clients_come_in_turn_however_many_requests_they_have() {
        let turns = turns(1, 1);
        let mut held = turns.take(person("crowd")).await.unwrap();
        let mut crowd: Vec<_> = (0..3).map(|_| Box::pin(turns.take(person("crowd")))).collect();
        for one in &mut crowd {
            assert!(has_come(one).await.is_none());
        }
        let mut other = pin!(turns.take(person("other")));
        assert!(has_come(&mut other).await.is_none());
        // The first of the crowd was there before; then comes the other one.
        drop(held);
        held = has_come(&mut crowd[0]).await.expect("it was first").unwrap();
        drop(held);
        assert!(has_come(&mut crowd[1]).await.is_none());
        assert!(has_come(&mut other).await.expect("it is its turn").is_ok());
    }

    #[tokio::test]
    async fn one_client_holds_no_more_turns_than_it_may() {
        let turns = turns(2, 1);
        let first = turns.take(person("slow")).await.unwrap();
        let mut second = pin!(turns.take(person("slow")));
        assert!(has_come(&mut second).await.is_none());
        let other = turns.take(person("other")).await.unwrap();
        drop(other);
        assert!(has_come(&mut second).await.is_none());
        drop(first);
        assert!(has_come(&mut second).await.expect("it is its turn").is_ok());
        // Of this machine itself no share is counted.
        let _both = (turns.take(None).await.unwrap(), turns.take(None).await.unwrap());
    }

    #[tokio::test]
    async fn no_more_wait_than_can_have_their_turn_and_a_crowd_makes_room() {
        let turns = turns(1, 1);
        let held = turns.take(person("crowd")).await.unwrap();
        let mut crowd: Vec<_> = (0..TURNS_WAITING_MAX).map(|_| Box::pin(turns.take(person("crowd")))).collect();
        for one in &mut crowd {
            assert!(has_come(one).await.is_none());
        }
        let full = |taken: Option<Result<Turn, Outcome>>| taken.expect("at once").unwrap_err().leading();
        assert_eq!(full(has_come(&mut pin!(turns.take(person("crowd")))).await), Hcert::HeavySearchesFull);
        // The client that has fewer finds a place; the newest request of the crowd loses its own.
        let mut other = pin!(turns.take(person("other")));
        assert!(has_come(&mut other).await.is_none());
        assert_eq!(full(has_come(crowd.last_mut().unwrap()).await), Hcert::HeavySearchesFull);
        // Whoever leaves makes room for another.
        drop(crowd.remove(1));
        let mut next = Box::pin(turns.take(person("crowd")));
        assert!(has_come(&mut next).await.is_none());
        drop(held);
        assert!(has_come(&mut crowd[0]).await.expect("it is its turn").is_ok());
    }

    #[tokio::test]
    async fn a_turn_that_does_not_come_in_time_is_503_and_leaves_the_others_in_peace() {
        let turns = Turns::new(1, Duration::from_millis(1), Hcert::HeavySearchesFull);
        let held = turns.take(None).await.unwrap();
        assert_eq!(turns.take(None).await.unwrap_err().leading(), Hcert::HeavySearchesFull);
        drop(held);
        assert!(turns.take(None).await.is_ok());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn long_work_lets_other_clients_go_first_and_goes_on_then() {
        let turns = turns(1, 1);
        let is_done = Arc::new(AtomicUsize::new(0));
        let (begun, begins) = channel();
        let long = tokio::spawn({
            let (turns, is_done) = (turns.clone(), is_done.clone());
            async move {
                let work = move || {
                    let _ = begun.send(());
                    // As long as nobody else was there.
                    while is_done.load(Ordering::Relaxed) == 0 {
                        pause::here();
                    }
                };
                in_turn(&turns, person("long"), work).await
            }
        });
        begins.await.unwrap();
        for name in ["other", "another"] {
            in_turn(&turns, person(name), || ()).await.unwrap();
        }
        // Another piece of work of the same client waits until the first one is done.
        let mut same = pin!(turns.take(person("long")));
        assert!(timeout(Duration::from_millis(TURN_MS * 3), &mut same).await.is_err());
        is_done.store(1, Ordering::Relaxed);
        assert!(same.await.is_ok());
        assert!(long.await.unwrap().is_ok());
    }
}
