//! Slots for connections: as many as the settings allow, in all and for one address. When all are in use, the connection
//! that has been idle longest is closed for a new one.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::connection::{Connection, now_ms};
use super::load::{LoadCounters, count};
use crate::http::limits::IDLE_MS;
use crate::turns::counted;

/// Milliseconds that a newcomer waits for a connection that has to make room. It only has to notice.
const ROOM_WAIT_MS: u64 = 100;

/// Connections that are looked for at once when room is needed, so that the next newcomers find theirs without looking at all.
const ROOM_CANDIDATES: usize = 32;

/// All slots of a listener.
#[derive(Debug)]
pub(super) struct ConnectionSlots {
    max: usize,
    per_address_max: usize,
    free: Arc<Semaphore>,
    taken: Mutex<SlotsInUse>,
    load: Arc<LoadCounters>,
}

/// A connection's slot, given back when this is dropped.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    pub connection: Arc<Connection>,
    number: u64,
    address: Option<IpAddr>,
    slots: Arc<ConnectionSlots>,
    _permit: OwnedSemaphorePermit,
}

/// Why there is no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoSlot {
    /// Every connection is at work.
    Full,
    /// The address has as many as one may have.
    TooManyOfAddress,
}

#[derive(Debug, Default)]
struct SlotsInUse {
    connections: HashMap<u64, Arc<Connection>>,
    next: u64,
    by_address: HashMap<IpAddr, usize>,
    /// Those that were idle longest when somebody last looked, the longest first, with when they were touched then.
    longest_idle: VecDeque<(Arc<Connection>, u64)>,
    /// Before this moment nobody looks again, because nobody was idle.
    look_again: u64,
}

impl ConnectionSlots {
    pub(super) fn new(max: usize, per_address_max: usize, load: Arc<LoadCounters>) -> Arc<ConnectionSlots> {
        let free = Arc::new(Semaphore::new(max));
        Arc::new(ConnectionSlots { max, per_address_max, free, taken: Mutex::default(), load })
    }

    /// A slot for a connection. `address` is where it comes from, if that is to be counted.
    ///
    /// # Errors
    /// There is none, and nobody makes room.
    pub(super) async fn take(self: &Arc<Self>, address: Option<IpAddr>) -> Result<ConnectionSlot, NoSlot> {
        let address = address.map(counted);
        if let Some(address) = address
            && self.taken().by_address.get(&address).is_some_and(|count| *count >= self.per_address_max)
        {
            return Err(NoSlot::TooManyOfAddress);
        }
        let permit = match Arc::clone(&self.free).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => self.have_made_room().await.ok_or(NoSlot::Full)?,
        };
        let connection = Connection::new(Arc::clone(&self.load));
        let mut taken = self.taken();
        let number = taken.next;
        taken.next += 1;
        taken.connections.insert(number, Arc::clone(&connection));
        if let Some(address) = address {
            *taken.by_address.entry(address).or_default() += 1;
        }
        drop(taken);
        self.load.connections.fetch_add(1, Ordering::Relaxed);
        Ok(ConnectionSlot { connection, number, address, slots: Arc::clone(self), _permit: permit })
    }

    /// Ready when every slot is free again.
    pub(super) async fn all_free(&self) {
        let _ = self.free.acquire_many(u32::try_from(self.max).unwrap_or(u32::MAX)).await;
    }

    /// How many slots are in use.
    pub(super) fn open(&self) -> usize {
        self.max - self.free.available_permits()
    }

    async fn have_made_room(&self) -> Option<OwnedSemaphorePermit> {
        let leaving = self.longest_idle()?;
        if leaving.ask_to_leave() {
            count(&self.load.connections_made_room);
        }
        let left = timeout(Duration::from_millis(ROOM_WAIT_MS), Arc::clone(&self.free).acquire_owned()).await;
        left.ok().and_then(Result::ok)
    }

    fn longest_idle(&self) -> Option<Arc<Connection>> {
        let (now, mut taken) = (now_ms(), self.taken());
        for _ in 0..2 {
            while let Some((connection, touched)) = taken.longest_idle.pop_front() {
                if connection.touched() == touched && connection.may_leave(now) {
                    return Some(connection);
                }
            }
            if now < taken.look_again {
                return None;
            }
            let idle = taken.connections.iter().filter(|(_, connection)| connection.may_leave(now));
            // Of those that came in one millisecond the first.
            let mut idle: Vec<_> =
                idle.map(|(number, connection)| (connection.touched(), *number, Arc::clone(connection))).collect();
            if idle.is_empty() {
                // Whoever is at work now is not idle within a hundredth of the time it takes to become so.
                taken.look_again = now + IDLE_MS / 100;
                return None;
            }
            let wanted = idle.len().min(ROOM_CANDIDATES);
            idle.select_nth_unstable_by_key(wanted - 1, |(touched, number, _)| (*touched, *number));
            idle.truncate(wanted);
            idle.sort_unstable_by_key(|(touched, number, _)| (*touched, *number));
            taken.longest_idle = idle.into_iter().map(|(touched, _, connection)| (connection, touched)).collect();
        }
        None
    }

    fn taken(&self) -> MutexGuard<'_, SlotsInUse> {
        self.taken.lock().expect("no holder of this lock can panic")
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken();
        taken.connections.remove(&self.number);
        if let Some(address) = self.address
            && let Some(count) = taken.by_address.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                taken.by_address.remove(&address);
            }
        }
        drop(taken);
        self.slots.load.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(max: usize, per_address_max: usize) -> Arc<ConnectionSlots> {
        ConnectionSlots::new(max, per_address_max, Arc::default())
    }

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[tokio::test]
    async fn who_has_been_idle_longest_makes_room() {
        let slots = slots(3, 9);
        let first = slots.take(None).await.unwrap();
        let busy = first.connection.begin();
        let second = slots.take(None).await.unwrap();
        let third = slots.take(None).await.unwrap();
        let connection = Arc::clone(&second.connection);
        let leaving = tokio::spawn(async move {
            connection.asked_to_leave().await;
            drop(second);
        });
        let _fourth = slots.take(None).await.expect("the second has left");
        leaving.await.unwrap();
        drop((third, first, busy));
        assert_eq!((slots.open(), slots.load.connections_made_room.load(Ordering::Relaxed)), (1, 1));
    }

    #[tokio::test]
    async fn where_all_are_at_work_nobody_is_asked_to_leave() {
        let slots = slots(2, 9);
        let taken = [slots.take(None).await.unwrap(), slots.take(None).await.unwrap()];
        let busy: Vec<_> = taken.iter().map(|slot| slot.connection.begin()).collect();
        assert_eq!(slots.take(None).await.unwrap_err(), NoSlot::Full);
        assert_eq!(slots.load.connections_made_room.load(Ordering::Relaxed), 0);
        drop((busy, taken));
        assert!(slots.take(None).await.is_ok());
    }

    #[tokio::test]
    async fn one_address_has_its_share_and_no_more() {
        let slots = slots(9, 2);
        let _first = slots.take(address("192.0.2.1")).await.unwrap();
        let second = slots.take(address("::ffff:192.0.2.1")).await.unwrap();
        assert_eq!(slots.take(address("192.0.2.1")).await.unwrap_err(), NoSlot::TooManyOfAddress);
        assert!(slots.take(address("192.0.2.2")).await.is_ok());
        assert!(slots.take(None).await.is_ok());
        drop(second);
        assert!(slots.take(address("192.0.2.1")).await.is_ok());
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let one = |text: &str| counted(text.parse().unwrap());
        assert_eq!(one("2001:db8:1:2::7"), one("2001:db8:1:2:ffff::8"));
        assert_ne!(one("2001:db8:1:2::7"), one("2001:db8:1:3::7"));
        assert_ne!(one("192.0.2.1"), one("192.0.2.2"));
        assert_eq!(one("::ffff:192.0.2.1"), one("192.0.2.1"));
    }
}
