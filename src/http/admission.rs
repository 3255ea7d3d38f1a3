//! Which requests are worked on now: a bounded number, and of each client no more than its share. Others wait for a moment or are
//! refused.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::clients::{Clients, Throttled, UnderWay};
use super::load::{Counted, Load, count};
use super::settings::Settings;
use crate::limits::{ANSWERS_BYTES_PER_ADDRESS_MAX, REQUEST_WAIT_MS};
use crate::outcome::{Hcert, Issue};

/// The bounds on requests of one server.
#[derive(Debug)]
pub struct Admission {
    reading: Gate,
    /// Apart, so that writes waiting for the disk keep no read from its turn.
    changing: Gate,
    at_once: usize,
    patience: Duration,
    clients: Clients,
    load: Arc<Load>,
}

#[derive(Debug)]
struct Gate {
    turns: Semaphore,
    waiting: AtomicUsize,
}

/// A request that is worked on, until this is dropped.
#[derive(Debug)]
pub struct Admitted<'a> {
    _turn: SemaphorePermit<'a>,
    _counted: Counted<'a>,
}

impl Admission {
    pub fn new(settings: &Settings, load: Arc<Load>) -> Admission {
        let at_once = settings.requests_max;
        let clients = Clients::new(settings.requests_per_address_max, settings.requests_per_second);
        let patience = Duration::from_millis(REQUEST_WAIT_MS);
        let gate = || Gate { turns: Semaphore::new(at_once), waiting: AtomicUsize::new(0) };
        Admission { reading: gate(), changing: gate(), at_once, patience, clients, load }
    }

    /// Lets the request of a client begin: before its body is read, so that slow ones count as well.
    ///
    /// # Errors
    /// 429
    pub fn begin(&self, client: IpAddr) -> Result<UnderWay<'_>, Issue> {
        self.clients.begin(client).map_err(|throttled| {
            count(&self.load.requests_throttled);
            let problem = match throttled {
                Throttled::AtOnce(max) => format!("{max} at once are allowed"),
                Throttled::PerSecond(max) => format!("{max} a second are allowed"),
            };
            Issue::new(Hcert::TooManyRequests).with("problem", problem)
        })
    }

    /// Lends memory for an answer of a client, of its share.
    ///
    /// # Errors
    /// 429
    pub fn lend(&self, client: IpAddr, bytes: usize) -> Result<OwnedSemaphorePermit, Issue> {
        self.clients.lend(client, bytes).ok_or_else(|| {
            count(&self.load.requests_throttled);
            let problem = format!("{ANSWERS_BYTES_PER_ADDRESS_MAX} bytes of answers not read yet are allowed");
            Issue::new(Hcert::TooManyRequests).with("problem", problem)
        })
    }

    /// Waits until the request is worked on: after its body has been read, so that slow clients keep nobody waiting.
    ///
    /// # Errors
    /// 503: too many are worked on, for too long, or wait already.
    pub async fn enter(&self, changes: bool) -> Result<Admitted<'_>, Issue> {
        let gate = if changes { &self.changing } else { &self.reading };
        let turn = match gate.turns.try_acquire() {
            Ok(turn) => Some(turn),
            Err(_) if gate.waiting.load(Ordering::Relaxed) >= self.at_once => None,
            Err(_) => {
                let _waiting = (Counted::new(&gate.waiting), Counted::new(&self.load.requests_waiting));
                let waited = timeout(self.patience, gate.turns.acquire()).await;
                waited.ok().and_then(Result::ok)
            }
        };
        match turn {
            Some(turn) => Ok(Admitted { _turn: turn, _counted: Counted::new(&self.load.requests) }),
            None => {
                count(&self.load.requests_refused);
                Err(Issue::new(Hcert::Overloaded))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::tests::settings;

    const LONG: Duration = Duration::from_secs(600);

    fn admission(patience: Duration, change: impl FnOnce(&mut Settings)) -> Admission {
        let mut settings = settings();
        change(&mut settings);
        Admission { patience, ..Admission::new(&settings, Arc::default()) }
    }

    #[tokio::test]
    async fn a_request_too_many_is_refused_after_a_moment() {
        let admission = admission(Duration::from_millis(1), |settings| settings.requests_max = 1);
        let first = admission.enter(false).await.unwrap();
        assert_eq!(admission.enter(false).await.unwrap_err().code(), Hcert::Overloaded);
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
        // Not after its patience, which would be longer than this test.
        assert!(admission.enter(false).await.is_err());
        drop(first);
        assert!(second.await.is_ok());
    }

    #[test]
    fn a_client_is_told_what_it_may() {
        let admission = admission(LONG, |settings| settings.requests_per_address_max = 1);
        let client = "192.0.2.1".parse().unwrap();
        let _first = admission.begin(client).unwrap();
        let refusal = admission.begin(client).unwrap_err();
        assert_eq!(refusal.code(), Hcert::TooManyRequests);
        assert!(refusal.text(crate::outcome::Language::English).contains("1 at once"));
        assert_eq!(admission.load.requests_throttled.load(Ordering::Relaxed), 1);
    }
}
