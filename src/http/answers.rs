//! Memory for answers that were made and are not read yet. Each connection may hold a share of what is free, so that those that leave
//! their answers unread leave room to others; when little is free, those that cost the most of it end. Decision 223.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use super::connection::{Connection, now_ms};
use crate::config::limits::ANSWERS_BYTES_MAX;

/// One connection may hold this part of the memory for answers that is free: an eighth, so that a dozen connections that read nothing leave a fifth of it.
pub(super) const ANSWERS_FREE_SHARE: usize = 8;

/// Bytes of memory for answers: where fewer are free, connections end that hold answers for longer than [`ANSWERS_SCARCE_MS`].
const ANSWERS_BYTES_SCARCE: usize = ANSWERS_BYTES_MAX / 4;

/// Milliseconds that a connection may hold its answers then, on average: a client at work has read a certificate after a few.
const ANSWERS_SCARCE_MS: u64 = 1_000;

/// The memory of a server.
#[derive(Debug)]
pub(super) struct AnswerMemory {
    max: usize,
    held: Mutex<AnswerPermit>,
}

#[derive(Debug, Default)]
struct AnswerPermit {
    bytes: usize,
    /// Those who hold some, by where their connection lies in memory.
    holders: HashMap<usize, PermitHolder>,
}

#[derive(Debug)]
struct PermitHolder {
    connection: Arc<Connection>,
    bytes: usize,
    /// Bytes of each answer times the moment that it came at, summed.
    moments: u128,
    /// It was told to end.
    is_cut: bool,
}

/// The memory reserved for one answer, given back when this is dropped.
#[derive(Debug)]
pub(super) struct AnswerReservation {
    memory: Arc<AnswerMemory>,
    holder: usize,
    bytes: usize,
    moment: u64,
}

/// Why an answer has no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoMemory {
    /// Its connection holds too many others.
    OfConnection,
    /// All connections together do.
    OfAll,
}

impl AnswerMemory {
    pub(super) fn new(max: usize) -> Arc<AnswerMemory> {
        Arc::new(AnswerMemory { max, held: Mutex::default() })
    }

    /// Reserves memory for an answer of a connection, where it has one.
    ///
    /// # Errors
    /// There is none. Nobody waits for it: what waits would lie in memory too.
    pub(super) fn reserve(
        self: &Arc<Self>,
        connection: Option<&Arc<Connection>>,
        bytes: usize,
    ) -> Result<AnswerReservation, NoMemory> {
        self.reserve_at(connection, bytes, now_ms())
    }

    fn reserve_at(
        self: &Arc<Self>,
        connection: Option<&Arc<Connection>>,
        bytes: usize,
        now: u64,
    ) -> Result<AnswerReservation, NoMemory> {
        let (key, mut held) = (key(connection), self.held());
        let scarce = (held.bytes + bytes).saturating_sub(self.max - ANSWERS_BYTES_SCARCE);
        held.make_room(scarce, now);
        let before = held.of(key);
        let share = self.share(&held);
        if before + bytes > share {
            return Err(if bytes > share { NoMemory::OfAll } else { NoMemory::OfConnection });
        }
        held.bytes += bytes;
        if let Some(connection) = connection {
            let new = || PermitHolder { connection: Arc::clone(connection), bytes: 0, moments: 0, is_cut: false };
            let holder = held.holders.entry(key).or_insert_with(new);
            holder.bytes += bytes;
            holder.moments += product(bytes, now);
        }
        Ok(AnswerReservation { memory: Arc::clone(self), holder: key, bytes, moment: now })
    }

    /// Whether a connection leaves so much unread that nothing more is made for it.
    pub(super) fn is_used_up(&self, connection: Option<&Arc<Connection>>) -> bool {
        let held = self.held();
        let of_connection = held.of(key(connection));
        of_connection > 0 && of_connection >= self.share(&held)
    }

    /// Bytes that are reserved.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.held().bytes
    }

    /// What one connection may hold now.
    fn share(&self, held: &AnswerPermit) -> usize {
        (self.max - held.bytes) / ANSWERS_FREE_SHARE
    }

    fn held(&self) -> MutexGuard<'_, AnswerPermit> {
        self.held.lock().expect("no holder of this lock can panic")
    }
}

impl AnswerPermit {
    fn of(&self, key: usize) -> usize {
        self.holders.get(&key).map_or(0, |holder| holder.bytes)
    }

    /// Ends connections until so many bytes will be free again: first those that hold the most for the longest. Who reads has its answers
    /// for a moment only.
    fn make_room(&mut self, bytes: usize, now: u64) {
        let mut coming: usize = self.holders.values().filter(|holder| holder.is_cut).map(|holder| holder.bytes).sum();
        while coming < bytes {
            let late = self.holders.values_mut().filter(|holder| !holder.is_cut && holder.is_late(now));
            let Some(costly) = late.max_by_key(|holder| holder.cost(now)) else { return };
            costly.is_cut = true;
            costly.connection.cut();
            coming += costly.bytes;
        }
    }
}

impl PermitHolder {
    /// Bytes times the milliseconds that each was held for.
    fn cost(&self, now: u64) -> u128 {
        product(self.bytes, now).saturating_sub(self.moments)
    }

    /// Whether its bytes were held for too long, on average.
    fn is_late(&self, now: u64) -> bool {
        self.cost(now) >= product(self.bytes, ANSWERS_SCARCE_MS)
    }
}

impl Drop for AnswerReservation {
    fn drop(&mut self) {
        let mut held = self.memory.held();
        held.bytes -= self.bytes;
        if let Some(holder) = held.holders.get_mut(&self.holder) {
            holder.bytes -= self.bytes;
            holder.moments -= product(self.bytes, self.moment);
            if holder.bytes == 0 {
                held.holders.remove(&self.holder);
            }
        }
    }
}

/// A holder keeps its connection's record alive, so that no other one lies there. Nothing lies at 0.
fn key(connection: Option<&Arc<Connection>>) -> usize {
    connection.map_or(0, |connection| Arc::as_ptr(connection).addr())
}

fn product(bytes: usize, milliseconds: u64) -> u128 {
    bytes as u128 * u128::from(milliseconds)
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;
    use crate::config::limits::ANSWERS_BYTES_MAX;

    const MAX: usize = ANSWERS_BYTES_MAX;

    fn connection() -> Arc<Connection> {
        Connection::new(Arc::default())
    }

    /// What a connection gets, when it asks for answers of so many bytes until it is refused.
    fn fill(
        memory: &Arc<AnswerMemory>,
        connection: &Arc<Connection>,
        bytes: usize,
        now: u64,
    ) -> Vec<AnswerReservation> {
        std::iter::from_fn(|| memory.reserve_at(Some(connection), bytes, now).ok()).collect()
    }

    async fn is_cut(connection: &Connection) -> bool {
        timeout(std::time::Duration::ZERO, connection.told_to_end()).await.is_ok()
    }

    #[tokio::test]
    async fn a_connection_holds_a_share_of_what_is_free_and_leaves_the_same_to_others() {
        let (memory, [one, other]) = (AnswerMemory::new(MAX), [connection(), connection()]);
        assert!(
            memory.reserve_at(Some(&one), MAX / ANSWERS_FREE_SHARE, 0).is_ok(),
            "a single one may have all of the share"
        );
        assert_eq!(memory.reserve_at(Some(&one), MAX / ANSWERS_FREE_SHARE + 1, 0).unwrap_err(), NoMemory::OfAll);
        let held = fill(&memory, &one, MAX / 1_000, 0);
        assert!(memory.bytes() <= MAX / ANSWERS_FREE_SHARE && memory.bytes() > MAX / (ANSWERS_FREE_SHARE + 2));
        assert_eq!(memory.reserve_at(Some(&one), MAX / 1_000, 0).unwrap_err(), NoMemory::OfConnection);
        assert!(memory.reserve_at(Some(&other), MAX / (ANSWERS_FREE_SHARE + 2), 0).is_ok());
        assert!(memory.is_used_up(Some(&one)) || memory.reserve_at(Some(&one), MAX / 10_000, 0).is_ok());
        assert!(!memory.is_used_up(Some(&other)), "it holds nothing");
        drop(held);
        assert_eq!((memory.bytes(), memory.held().holders.len()), (0, 0));
        assert!(!is_cut(&one).await && !is_cut(&other).await);
    }

    #[tokio::test]
    async fn where_little_is_free_those_end_that_hold_the_most_for_the_longest() {
        let memory = AnswerMemory::new(MAX);
        let hoarders: Vec<_> = (0..12).map(|_| connection()).collect();
        let _hoarded: Vec<_> = hoarders.iter().map(|connection| fill(&memory, connection, 300_000, 10)).collect();
        assert!(MAX - memory.bytes() < ANSWERS_BYTES_SCARCE);
        let (slow, other) = (connection(), connection());
        let _slow = memory.reserve_at(Some(&slow), 300_000, 10).unwrap();
        // Before it is time nobody ends, and others have their share of what is left.
        drop(memory.reserve_at(Some(&other), 300_000, ANSWERS_SCARCE_MS).unwrap());
        for connection in &hoarders {
            assert!(!is_cut(connection).await);
        }
        // No more of them than it takes: the first one holds the most.
        drop(memory.reserve_at(Some(&other), 300_000, 10 + ANSWERS_SCARCE_MS).unwrap());
        let mut cut = Vec::new();
        for connection in &hoarders {
            cut.push(is_cut(connection).await);
        }
        assert!(cut[0] && !cut[11] && !is_cut(&slow).await && !is_cut(&other).await, "{cut:?}");
    }
}
