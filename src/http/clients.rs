//! Bounds on each client: requests under way at once, requests a second, large bodies processed at once, memory for its bodies and for
//! answers that it has not read. A client is an address, or what a trusted security server of X-Road names;
//! requests under way are counted of each person too.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::body::{BodyMemory, BytePool};
use super::connection::now_ms;
use crate::http::limits::{ANSWERS_BYTES_PER_ADDRESS_MAX, CLIENTS_MAX, LARGE_BODIES_PER_ADDRESS};
use crate::turns::ClientKey;

/// Seconds' worth of requests that a client may send at once under `server.requests_per_second`. A page of a client is a handful of them.
const REQUESTS_BURST_S: u32 = 2;

/// The client of a request, and the trusted sender that named it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedFor {
    pub client: ClientKey,
    pub sender: Option<ClientKey>,
}

/// All clients that were here lately.
#[derive(Debug)]
pub(super) struct ClientTable {
    under_way_max: usize,
    /// Of a trusted sender, with all its clients.
    of_sender_max: usize,
    body_bytes_max: usize,
    /// 0: no bound.
    per_second: u32,
    known: Mutex<HashMap<ClientKey, ClientEntry>>,
}

#[derive(Debug)]
struct ClientEntry {
    under_way: usize,
    /// Thousandths of requests that it may send at once, as it was at `moment`.
    credit: u64,
    moment: u64,
    /// What its answers reserve from, once one was large enough.
    answers: Option<BytePool>,
    /// What its bodies reserve from, once it sent one.
    bodies: Option<BodyMemory>,
    /// Its share of the large bodies processed at once, once it sent one.
    large_bodies: Option<Arc<Semaphore>>,
}

/// A client's request under way, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct ClientRequest<'a> {
    clients: &'a ClientTable,
    key: ClientKey,
}

/// Why a request of a client is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Throttled {
    /// More at once than allowed; the number that is.
    AtOnce(usize),
    /// More in a second than allowed; the number that is.
    PerSecond(u32),
}

impl ClientTable {
    pub(super) fn new(
        under_way_max: usize,
        of_sender_max: usize,
        per_second: u32,
        body_bytes_max: usize,
    ) -> ClientTable {
        ClientTable { under_way_max, of_sender_max, body_bytes_max, per_second, known: Mutex::default() }
    }

    /// Takes a request of a client.
    ///
    /// # Errors
    /// It is one too many.
    pub(super) fn begin(&self, key: ClientKey) -> Result<ClientRequest<'_>, Throttled> {
        self.begin_at(key, now_ms())
    }

    fn begin_at(&self, key: ClientKey, now: u64) -> Result<ClientRequest<'_>, Throttled> {
        // The rate is that of each client: a sender has as many as it has clients, and a person's client has counted already.
        let (max, has_rate) = match key {
            ClientKey::Sender(_) => (self.of_sender_max, false),
            ClientKey::Person(_) => (self.under_way_max, false),
            _ => (self.under_way_max, self.per_second > 0),
        };
        let full = self.full();
        let mut known = self.known();
        let client = self.client(&mut known, key, now);
        if client.under_way >= max {
            return Err(Throttled::AtOnce(max));
        }
        if has_rate {
            client.credit = client.credit_at(now, self.per_second, full);
            client.moment = client.moment.max(now);
            client.credit = client.credit.checked_sub(1_000).ok_or(Throttled::PerSecond(self.per_second))?;
        }
        client.under_way += 1;
        Ok(ClientRequest { clients: self, key })
    }

    /// Reserves memory for an answer until its client has read it, of the client's share.
    pub(super) fn reserve(&self, key: ClientKey, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let mut known = self.known();
        let client = self.client(&mut known, key, now_ms());
        client.answers.get_or_insert_with(|| BytePool::new(ANSWERS_BYTES_PER_ADDRESS_MAX)).reserve(bytes)
    }

    /// The share of a client in the memory for bodies.
    pub(super) fn bodies(&self, client: ClientKey) -> BodyMemory {
        let mut known = self.known();
        let client = self.client(&mut known, client, now_ms());
        client.bodies.get_or_insert_with(|| BodyMemory::of_client(self.body_bytes_max)).clone()
    }

    /// The share of a client in the large bodies that are processed at once.
    pub(super) fn large_bodies(&self, client: ClientKey) -> Arc<Semaphore> {
        let mut known = self.known();
        let client = self.client(&mut known, client, now_ms());
        let share = client.large_bodies.get_or_insert_with(|| Arc::new(Semaphore::new(LARGE_BODIES_PER_ADDRESS)));
        Arc::clone(share)
    }

    fn client<'a>(
        &self,
        known: &'a mut HashMap<ClientKey, ClientEntry>,
        key: ClientKey,
        now: u64,
    ) -> &'a mut ClientEntry {
        if known.len() >= CLIENTS_MAX && !known.contains_key(&key) {
            self.forget(known, now);
        }
        known.entry(key).or_insert_with(|| ClientEntry {
            under_way: 0,
            credit: self.full(),
            moment: now,
            answers: None,
            bodies: None,
            large_bodies: None,
        })
    }

    /// Forgets those at rest who have all their credit, and where that is nobody, all at rest: a new client must not be refused because
    /// others were here.
    fn forget(&self, known: &mut HashMap<ClientKey, ClientEntry>, now: u64) {
        let full = self.full();
        known.retain(|_, client| !client.rests() || client.credit_at(now, self.per_second, full) < full);
        if known.len() >= CLIENTS_MAX {
            known.retain(|_, client| !client.rests());
        }
    }

    /// Credit of a client that was not here for long.
    fn full(&self) -> u64 {
        u64::from(self.per_second) * u64::from(REQUESTS_BURST_S) * 1_000
    }

    fn known(&self) -> MutexGuard<'_, HashMap<ClientKey, ClientEntry>> {
        self.known.lock().expect("no holder of this lock can panic")
    }
}

impl ClientEntry {
    /// Nothing of it is under way: no request, no body, and no answer that is not read.
    fn rests(&self) -> bool {
        let has_large_body = self.large_bodies.as_ref().is_some_and(|share| Arc::strong_count(share) > 1);
        let has_body = has_large_body || self.bodies.as_ref().is_some_and(BodyMemory::is_shared);
        self.under_way == 0 && !has_body && !self.answers.as_ref().is_some_and(BytePool::is_shared)
    }

    /// A request a second is a thousandth of one a millisecond.
    fn credit_at(&self, now: u64, per_second: u32, full: u64) -> u64 {
        let earned = now.saturating_sub(self.moment).saturating_mul(u64::from(per_second));
        self.credit.saturating_add(earned).min(full)
    }
}

impl Drop for ClientRequest<'_> {
    fn drop(&mut self) {
        let mut known = self.clients.known();
        if let Some(client) = known.get_mut(&self.key) {
            client.under_way -= 1;
            if client.rests() && self.clients.per_second == 0 {
                known.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn address(number: u32) -> ClientKey {
        ClientKey::address(IpAddr::V4(number.into()))
    }

    #[test]
    fn a_client_has_no_more_requests_under_way_than_allowed() {
        let clients = ClientTable::new(2, 9, 0, 0);
        let first = clients.begin(address(1)).unwrap();
        let _second = clients.begin(address(1)).unwrap();
        assert_eq!(clients.begin(address(1)).unwrap_err(), Throttled::AtOnce(2));
        assert!(clients.begin(address(2)).is_ok());
        drop(first);
        assert!(clients.begin(address(1)).is_ok());
    }

    #[test]
    fn a_trusted_sender_has_a_bound_of_its_own_and_no_rate() {
        let clients = ClientTable::new(1, 3, 1, 0);
        let sender = ClientKey::sender("192.0.2.1".parse().unwrap());
        let under_way: Vec<_> = (0..3).map(|_| clients.begin_at(sender, 0).unwrap()).collect();
        assert_eq!(clients.begin_at(sender, 0).unwrap_err(), Throttled::AtOnce(3));
        assert!(clients.begin(ClientKey::address("192.0.2.1".parse().unwrap())).is_ok(), "as a client it counts apart");
        drop(under_way);
        for _ in 0..100 {
            assert!(clients.begin_at(sender, 0).is_ok());
        }
    }

    #[test]
    fn a_client_that_is_too_fast_is_throttled_until_time_has_passed() {
        let clients = ClientTable::new(100, 900, 10, 0);
        let mut taken = 0;
        while clients.begin_at(address(1), 0).is_ok() {
            taken += 1;
        }
        assert_eq!(taken, 20, "two seconds' worth at once");
        assert_eq!(clients.begin_at(address(1), 99).unwrap_err(), Throttled::PerSecond(10));
        assert!(clients.begin_at(address(1), 100).is_ok());
        assert!(clients.begin_at(address(1), 100).is_err());
        assert!(clients.begin_at(address(2), 100).is_ok());
        // A clock that is read late by another thread gives nothing twice.
        assert!(clients.begin_at(address(1), 50).is_err());
        assert!(clients.begin_at(address(1), 1_000_000).is_ok());
    }

    #[test]
    fn memory_for_clients_is_bounded() {
        let clients = ClientTable::new(1, 9, 1, 0);
        let _kept = clients.begin_at(address(7), 0).unwrap();
        for number in 100..100 + CLIENTS_MAX as u32 + 10 {
            drop(clients.begin_at(address(number), 0).unwrap());
            // Whatever a header says.
            drop(clients.begin_at(ClientKey::x_road(&u128::from(number).to_le_bytes()), 0).unwrap());
        }
        assert!(clients.known().len() <= CLIENTS_MAX);
        assert_eq!(clients.begin_at(address(7), 0).unwrap_err(), Throttled::AtOnce(1), "whoever is at work is kept");
    }

    #[test]
    fn a_client_has_its_share_of_memory_for_answers_and_is_known_until_they_are_read() {
        let clients = ClientTable::new(1, 9, 0, 0);
        let under_way = clients.begin(address(1)).unwrap();
        let half = ANSWERS_BYTES_PER_ADDRESS_MAX / 2;
        let reserved = [clients.reserve(address(1), half).unwrap(), clients.reserve(address(1), half).unwrap()];
        assert!(clients.reserve(address(1), 1).is_none());
        assert!(clients.reserve(address(2), half).is_some());
        drop(under_way);
        assert!(clients.reserve(address(1), 1).is_none(), "its answers are not read because its request has ended");
        drop(reserved);
        assert!(clients.reserve(address(1), half).is_some());
        drop(clients.begin(address(1)).unwrap());
        assert!(!clients.known().contains_key(&address(1)));
    }

    #[test]
    fn without_a_rate_nobody_is_remembered_after_his_requests() {
        let clients = ClientTable::new(1, 9, 0, 0);
        drop(clients.begin(address(1)).unwrap());
        assert!(clients.known().is_empty());
    }
}
