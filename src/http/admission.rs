//! Which requests are worked on now: a bounded number, and of each client no more than its share. Others wait for a moment or are
//! refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::body::BodyMemory;
use super::clients::{ClientRequest, ClientTable, CountedFor, Throttled};
use super::load::{GaugeGuard, LoadCounters, count};
use super::settings::HttpSettings;
use crate::config::limits::LARGE_BODIES;
use crate::http::limits::{ANSWERS_BYTES_PER_ADDRESS_MAX, LONG_QUERY_BYTES};
use crate::turns::{ClientKey, RequestPermit, Turn, Turns};
use fhir::outcome::{Hcert, Issue};

/// Seconds a large body waits for its turn before it is 503. Clients of large bodies are patient ones; some hundred worst cases pass in it.
const LARGE_BODY_WAIT_S: u64 = 10;

/// Seconds that a long query waits for its turn before it is 503. Some thousands pass in it.
const LONG_QUERY_WAIT_S: u64 = 5;

/// Milliseconds that a request waits while `server.requests_max` are worked on, before it is 503. Longer than a peak, shorter than a caller's patience.
const REQUEST_WAIT_MS: u64 = 1_000;

/// The bounds on requests of one server.
#[derive(Debug)]
pub(super) struct Admission {
    reading: Gate,
    /// Apart, so that writes waiting for the disk keep no read from its turn.
    changing: Gate,
    at_once: usize,
    wait_max: Duration,
    /// Half of the processors, so that short requests meet a free one.
    long_queries: Turns,
    large_bodies: Turns,
    large_body_wait_max: Duration,
    clients: ClientTable,
    load: Arc<LoadCounters>,
}

#[derive(Debug)]
struct Gate {
    turns: Semaphore,
    waiting: AtomicUsize,
}

/// A request that is worked on, until this is dropped.
#[derive(Debug)]
pub(super) struct Admitted<'a> {
    _turn: SemaphorePermit<'a>,
    _counted: GaugeGuard<'a>,
}

impl Admission {
    pub(super) fn new(settings: &HttpSettings, load: Arc<LoadCounters>) -> Admission {
        let at_once = settings.requests_max;
        let clients = ClientTable::new(
            settings.requests_per_address_max,
            at_once,
            settings.requests_per_second,
            settings.body_bytes_max,
        );
        let wait_max = Duration::from_millis(REQUEST_WAIT_MS);
        let gate = || Gate { turns: Semaphore::new(at_once), waiting: AtomicUsize::new(0) };
        let large_body_wait_max = Duration::from_secs(LARGE_BODY_WAIT_S);
        let large_bodies = Turns::new(LARGE_BODIES, large_body_wait_max, Hcert::LargeResourcesBusy);
        let processors = std::thread::available_parallelism().map_or(1, |processors| processors.get().div_ceil(2));
        let long_queries = Turns::new(processors, Duration::from_secs(LONG_QUERY_WAIT_S), Hcert::RequestsFull);
        let (reading, changing) = (gate(), gate());
        Admission {
            reading,
            changing,
            at_once,
            wait_max,
            long_queries,
            large_bodies,
            large_body_wait_max,
            clients,
            load,
        }
    }

    /// Lets the request of a client begin: before its body is read, so that slow ones count as well.
    ///
    /// # Errors
    /// 429
    pub(super) fn begin(&self, counted: &CountedFor) -> Result<(ClientRequest<'_>, Option<ClientRequest<'_>>), Issue> {
        let of_sender = counted.sender.map(|sender| self.begin_of(sender)).transpose()?;
        Ok((self.begin_of(counted.client)?, of_sender))
    }

    /// Lets the request of a person begin, once the token has said whose it is. A caller with many addresses could
    /// otherwise hold every connection.
    ///
    /// # Errors
    /// 429
    pub(super) fn begin_of_person(&self, code: &str) -> Result<ClientRequest<'_>, Issue> {
        self.begin_of(ClientKey::person(code))
    }

    fn begin_of(&self, key: ClientKey) -> Result<ClientRequest<'_>, Issue> {
        self.clients.begin(key).map_err(|throttled| {
            count(&self.load.requests_throttled);
            let problem = match throttled {
                Throttled::AtOnce(max) if matches!(key, ClientKey::Person(_)) => {
                    format!("the limit of concurrent requests of one person is {max}")
                }
                Throttled::AtOnce(max) => format!("the limit of concurrent requests is {max}"),
                Throttled::PerSecond(max) => format!("the limit of requests per second is {max}"),
            };
            Issue::new(Hcert::TooManyRequests).with("problem", problem)
        })
    }

    /// The share of a client in the memory for bodies.
    pub(super) fn bodies(&self, client: ClientKey) -> BodyMemory {
        self.clients.bodies(client)
    }

    /// Reserves memory for an answer of a client, of its share.
    ///
    /// # Errors
    /// 429
    pub(super) fn reserve(&self, counted: &CountedFor, bytes: usize) -> Result<OwnedSemaphorePermit, Issue> {
        self.clients.reserve(counted.client, bytes).ok_or_else(|| {
            count(&self.load.requests_throttled);
            let problem = format!("the limit of unread answers is {ANSWERS_BYTES_PER_ADDRESS_MAX} bytes");
            Issue::new(Hcert::TooManyRequests).with("problem", problem)
        })
    }

    /// Waits for the turn of a query or a form of so many bytes, where it is a long one.
    ///
    /// # Errors
    /// 503: its turn does not come in time, or too many wait.
    pub(super) async fn enter_query(&self, client: Option<ClientKey>, bytes: usize) -> Result<Option<Turn>, Issue> {
        if bytes <= LONG_QUERY_BYTES {
            return Ok(None);
        }
        self.long_queries.take(client).await.map(Some).map_err(|_| {
            count(&self.load.requests_refused);
            Issue::new(Hcert::RequestsFull)
        })
    }

    /// Waits until a large body is processed: for the share of its client, where that is bounded, and then in the line of all clients.
    ///
    /// # Errors
    /// 503: its turn does not come in time, or too many wait in the line of all.
    pub(super) async fn enter_large(&self, client: Option<ClientKey>) -> Result<RequestPermit, Issue> {
        let _waiting = GaugeGuard::new(&self.load.requests_waiting);
        let share = client.map(|client| self.clients.large_bodies(client));
        let turn = async {
            let share = match share {
                Some(share) => share.acquire_owned().await.ok(),
                None => None,
            };
            Some(RequestPermit::of((self.large_bodies.take(client).await.ok()?, share)))
        };
        timeout(self.large_body_wait_max, turn).await.ok().flatten().ok_or_else(|| {
            count(&self.load.requests_refused);
            Issue::new(Hcert::LargeResourcesBusy)
        })
    }

    /// Waits until the request is worked on: after its body has been read, so that slow clients keep nobody waiting.
    ///
    /// # Errors
    /// 503: too many are worked on, for too long, or wait already.
    pub(super) async fn enter(&self, changes: bool) -> Result<Admitted<'_>, Issue> {
        let gate = if changes { &self.changing } else { &self.reading };
        let turn = match gate.turns.try_acquire() {
            Ok(turn) => Some(turn),
            Err(_) if gate.waiting.load(Ordering::Relaxed) >= self.at_once => None,
            Err(_) => {
                let _waiting = (GaugeGuard::new(&gate.waiting), GaugeGuard::new(&self.load.requests_waiting));
                let waited = timeout(self.wait_max, gate.turns.acquire()).await;
                waited.ok().and_then(Result::ok)
            }
        };
        match turn {
            Some(turn) => Ok(Admitted { _turn: turn, _counted: GaugeGuard::new(&self.load.requests) }),
            None => {
                count(&self.load.requests_refused);
                Err(Issue::new(Hcert::RequestsFull))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::limits::LARGE_BODIES_PER_ADDRESS;
    use crate::http::tests::settings;
    use crate::turns::TURNS_WAITING_MAX;

    const LONG: Duration = Duration::from_secs(600);

    fn admission(wait_max: Duration, change: impl FnOnce(&mut HttpSettings)) -> Admission {
        let mut settings = settings();
        change(&mut settings);
        Admission { wait_max, ..Admission::new(&settings, Arc::default()) }
    }

    #[tokio::test]
    async fn a_request_too_many_is_refused_after_a_moment() {
        let admission = admission(Duration::from_millis(1), |settings| settings.requests_max = 1);
        let first = admission.enter(false).await.unwrap();
        assert_eq!(admission.enter(false).await.unwrap_err().code(), Hcert::RequestsFull);
        assert!(admission.enter(true).await.is_ok(), "writes have turns of their own");
        drop(first);
        assert!(admission.enter(false).await.is_ok());
        assert_eq!(admission.load.requests_refused.load(Ordering::Relaxed), 1);
        assert_eq!(admission.load.requests.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn as_many_may_wait_as_are_worked_on() {
        let admission = admission(LONG, |settings| settings.requests_max = 1);
        let first = admission.enter(false).await.unwrap();
        let mut second = Box::pin(admission.enter(false));
        assert!(timeout(Duration::from_millis(1), &mut second).await.is_err());
        // Not after its longest wait, which is longer than this test.
        assert!(admission.enter(false).await.is_err());
        drop(first);
        assert!(second.await.is_ok());
    }

    #[test]
    fn a_client_is_told_what_it_may() {
        let admission = admission(LONG, |settings| settings.requests_per_address_max = 1);
        let client = CountedFor { client: ClientKey::address("192.0.2.1".parse().unwrap()), sender: None };
        let _first = admission.begin(&client).unwrap();
        let refusal = admission.begin(&client).unwrap_err();
        assert_eq!(refusal.code(), Hcert::TooManyRequests);
        assert!(refusal.text(fhir::outcome::Language::English).contains("limit of concurrent requests is 1"));
        assert_eq!(admission.load.requests_throttled.load(Ordering::Relaxed), 1);
    }

    async fn waits<T>(request: impl Future<Output = T>) -> bool {
        timeout(Duration::from_millis(1), request).await.is_err()
    }

    #[tokio::test]
    async fn large_bodies_of_one_client_leave_turns_to_others() {
        let admission = Admission::new(&settings(), Arc::default());
        let [crowd, other] = ["192.0.2.1", "192.0.2.2"].map(|text| Some(ClientKey::address(text.parse().unwrap())));
        let mut held = Vec::new();
        for _ in 0..LARGE_BODIES_PER_ADDRESS {
            held.push(admission.enter_large(crowd).await.unwrap());
        }
        // More than the line of all clients has room for: they wait in a line of their own.
        let mut waiting: Vec<_> = (0..=TURNS_WAITING_MAX).map(|_| Box::pin(admission.enter_large(crowd))).collect();
        for one in &mut waiting {
            assert!(waits(one).await);
        }
        assert_eq!(admission.load.requests_waiting.load(Ordering::Relaxed), TURNS_WAITING_MAX + 1);
        held.push(admission.enter_large(other).await.unwrap());
        // Of this machine itself no share is counted.
        held.push(admission.enter_large(None).await.unwrap());
        held.remove(0);
        held.push(waiting.remove(0).await.expect("the next of the same client"));
        assert!(waits(&mut waiting[0]).await);
    }

    /// What was seen: two connections with queries of 16 KB kept all others waiting for 25 ms.
    #[tokio::test]
    async fn long_queries_come_in_turn_and_short_ones_do_not_wait() {
        let admission = Admission { long_queries: Turns::new(1, LONG, Hcert::RequestsFull), ..admission(LONG, |_| ()) };
        let [crowd, other] = ["192.0.2.1", "192.0.2.2"].map(|text| Some(ClientKey::address(text.parse().unwrap())));
        let held = admission.enter_query(crowd, LONG_QUERY_BYTES + 1).await.unwrap();
        assert!(held.is_some());
        let mut second = Box::pin(admission.enter_query(crowd, LONG_QUERY_BYTES + 1));
        let mut third = Box::pin(admission.enter_query(crowd, LONG_QUERY_BYTES + 1));
        assert!(waits(&mut second).await && waits(&mut third).await);
        assert!(admission.enter_query(crowd, LONG_QUERY_BYTES).await.unwrap().is_none());
        let mut of_other = Box::pin(admission.enter_query(other, LONG_QUERY_BYTES + 1));
        assert!(waits(&mut of_other).await);
        drop(held);
        drop(second.await.unwrap());
        assert!(of_other.await.unwrap().is_some(), "it comes before the third of the crowd");
    }

    #[tokio::test]
    async fn a_large_body_that_waits_for_too_long_is_503() {
        let admission =
            Admission { large_body_wait_max: Duration::from_millis(1), ..Admission::new(&settings(), Arc::default()) };
        let mut held = Vec::new();
        for _ in 0..LARGE_BODIES {
            held.push(admission.enter_large(None).await.unwrap());
        }
        assert_eq!(admission.enter_large(None).await.unwrap_err().code(), Hcert::LargeResourcesBusy);
        assert_eq!(admission.load.requests_refused.load(Ordering::Relaxed), 1);
        assert_eq!(admission.load.requests_waiting.load(Ordering::Relaxed), 0);
        held.pop();
        assert!(admission.enter_large(None).await.is_ok());
    }
}
