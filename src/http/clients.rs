//! Bounds on each client: requests under way at once, requests a second, and memory for answers that it has not read. A client is an address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::OwnedSemaphorePermit;

use super::body::Memory;
use super::places::counted;
use super::seat::now_ms;
use crate::limits::{ANSWERS_BYTES_PER_ADDRESS_MAX, CLIENTS_MAX, REQUESTS_BURST_S};

/// All clients that were here lately.
#[derive(Debug)]
pub struct Clients {
    under_way_max: usize,
    /// 0: no bound.
    per_second: u32,
    known: Mutex<HashMap<IpAddr, Client>>,
}

#[derive(Debug)]
struct Client {
    under_way: usize,
    /// Thousandths of requests that it may send at once, as it was at `moment`.
    credit: u64,
    moment: u64,
    /// What its answers are lent from, once one was large enough.
    answers: Option<Memory>,
}

/// A client's request under way, which ends when this is dropped.
#[derive(Debug)]
pub struct UnderWay<'a> {
    clients: &'a Clients,
    address: IpAddr,
}

/// Why a request of a client is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throttled {
    /// More at once than allowed; the number that is.
    AtOnce(usize),
    /// More in a second than allowed; the number that is.
    PerSecond(u32),
}

impl Clients {
    pub fn new(under_way_max: usize, per_second: u32) -> Clients {
        Clients { under_way_max, per_second, known: Mutex::default() }
    }

    /// Takes a request of a client.
    ///
    /// # Errors
    /// It is one too many.
    pub fn begin(&self, address: IpAddr) -> Result<UnderWay<'_>, Throttled> {
        self.begin_at(address, now_ms())
    }

    fn begin_at(&self, address: IpAddr, now: u64) -> Result<UnderWay<'_>, Throttled> {
        let address = counted(address);
        let full = self.full();
        let mut known = self.known();
        let client = self.client(&mut known, address, now);
        if client.under_way >= self.under_way_max {
            return Err(Throttled::AtOnce(self.under_way_max));
        }
        if self.per_second > 0 {
            client.credit = client.credit_at(now, self.per_second, full);
            client.moment = client.moment.max(now);
            client.credit = client.credit.checked_sub(1_000).ok_or(Throttled::PerSecond(self.per_second))?;
        }
        client.under_way += 1;
        Ok(UnderWay { clients: self, address })
    }

    /// Lends memory for an answer until its client has read it, of the client's share.
    pub fn lend(&self, address: IpAddr, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let mut known = self.known();
        let client = self.client(&mut known, counted(address), now_ms());
        client.answers.get_or_insert_with(|| Memory::new(ANSWERS_BYTES_PER_ADDRESS_MAX)).borrow(bytes)
    }

    fn client<'a>(&self, known: &'a mut HashMap<IpAddr, Client>, address: IpAddr, now: u64) -> &'a mut Client {
        if known.len() >= CLIENTS_MAX && !known.contains_key(&address) {
            self.forget(known, now);
        }
        known.entry(address).or_insert_with(|| Client { under_way: 0, credit: self.full(), moment: now, answers: None })
    }

    /// Forgets those at rest who have all their credit, and where that is nobody, all at rest: a new client must not be refused because
    /// others were here.
    fn forget(&self, known: &mut HashMap<IpAddr, Client>, now: u64) {
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

    fn known(&self) -> MutexGuard<'_, HashMap<IpAddr, Client>> {
        self.known.lock().expect("no holder of this lock can panic")
    }
}

impl Client {
    /// Nothing of it is under way: no request, and no answer that is not read.
    fn rests(&self) -> bool {
        self.under_way == 0 && !self.answers.as_ref().is_some_and(Memory::is_shared)
    }

    /// A request a second is a thousandth of one a millisecond.
    fn credit_at(&self, now: u64, per_second: u32, full: u64) -> u64 {
        let earned = now.saturating_sub(self.moment).saturating_mul(u64::from(per_second));
        self.credit.saturating_add(earned).min(full)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut known = self.clients.known();
        if let Some(client) = known.get_mut(&self.address) {
            client.under_way -= 1;
            if client.rests() && self.clients.per_second == 0 {
                known.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> IpAddr {
        IpAddr::V4(number.into())
    }

    #[test]
    fn a_client_has_no_more_requests_under_way_than_allowed() {
        let clients = Clients::new(2, 0);
        let first = clients.begin(address(1)).unwrap();
        let _second = clients.begin(address(1)).unwrap();
        assert_eq!(clients.begin(address(1)).unwrap_err(), Throttled::AtOnce(2));
        assert!(clients.begin(address(2)).is_ok());
        drop(first);
        assert!(clients.begin(address(1)).is_ok());
    }

    #[test]
    fn a_client_that_is_too_fast_is_throttled_until_time_has_passed() {
        let clients = Clients::new(100, 10);
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
        let clients = Clients::new(1, 1);
        let _kept = clients.begin_at(address(7), 0).unwrap();
        for number in 100..100 + CLIENTS_MAX as u32 + 10 {
            drop(clients.begin_at(address(number), 0).unwrap());
        }
        assert!(clients.known().len() <= CLIENTS_MAX);
        assert_eq!(clients.begin_at(address(7), 0).unwrap_err(), Throttled::AtOnce(1), "whoever is at work is kept");
    }

    #[test]
    fn a_client_has_its_share_of_memory_for_answers_and_is_known_until_they_are_read() {
        let clients = Clients::new(1, 0);
        let under_way = clients.begin(address(1)).unwrap();
        let half = ANSWERS_BYTES_PER_ADDRESS_MAX / 2;
        let lent = [clients.lend(address(1), half).unwrap(), clients.lend(address(1), half).unwrap()];
        assert!(clients.lend(address(1), 1).is_none());
        assert!(clients.lend(address(2), half).is_some());
        drop(under_way);
        assert!(clients.lend(address(1), 1).is_none(), "its answers are not read because its request has ended");
        drop(lent);
        assert!(clients.lend(address(1), half).is_some());
        drop(clients.begin(address(1)).unwrap());
        assert!(!clients.known().contains_key(&address(1)));
    }

    #[test]
    fn without_a_rate_nobody_is_remembered_after_his_requests() {
        let clients = Clients::new(1, 0);
        drop(clients.begin(address(1)).unwrap());
        assert!(clients.known().is_empty());
    }
}
