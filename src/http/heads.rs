//! Memory for the heads of requests. Each connection has its own for one head; what HTTP/2 has beside it comes out of one budget for
//! all connections, and of one for each address. Decision 178.

use std::collections::HashMap;
use std::mem::size_of;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use hyper::http::request::Parts;
use tokio::sync::OwnedSemaphorePermit;

use super::body::BytePool;
use crate::config::limits::HEADS_BYTES_MAX;
use crate::http::limits::CLIENTS_MAX;
use crate::turns::counted;
use fhir::outcome::{Hcert, Issue};

/// Bytes that each further head of an HTTP/2 connection is counted with beside its headers: its task and the buffer of its target.
const HEAD_TASK_BYTES: usize = 24 * 1024;

/// Bytes of the heads of requests under way of one address: a quarter of all, some 250 usual requests.
pub(super) const HEADS_BYTES_PER_ADDRESS_MAX: usize = HEADS_BYTES_MAX / 4;

/// Bytes of an entry of a map of headers beside its name and value: links and a hash.
const ENTRY_BYTES: usize = 32;

/// The budgets of a server.
#[derive(Debug)]
pub(super) struct Heads {
    all: BytePool,
    /// Of each address that was here lately.
    addresses: Mutex<HashMap<IpAddr, BytePool>>,
}

/// What the heads of one HTTP/2 connection may take.
#[derive(Debug)]
pub(super) struct ConnectionHeads {
    all: BytePool,
    /// Where the address is counted.
    address: Option<BytePool>,
    /// Whether a head has the memory that is the connection's own.
    own_taken: Arc<AtomicBool>,
}

/// The memory of a head, given back when the last of its clones is dropped. It lies in the head, so that it ends with it.
#[derive(Clone, Debug)]
pub(super) struct HeadMemory {
    _reserved: Arc<HeadReservation>,
}

#[derive(Debug)]
enum HeadReservation {
    Own(Arc<AtomicBool>),
    Shared { _all: OwnedSemaphorePermit, _address: Option<OwnedSemaphorePermit> },
}

impl Heads {
    pub(super) fn new(bytes: usize) -> Heads {
        Heads { all: BytePool::new(bytes), addresses: Mutex::default() }
    }

    /// For a connection from an address, if that is to be counted.
    pub(super) fn of_connection(&self, address: Option<IpAddr>) -> ConnectionHeads {
        let address = address.map(|address| {
            let mut addresses = self.addresses.lock().expect("no holder of this lock can panic");
            if addresses.len() >= CLIENTS_MAX {
                addresses.retain(|_, memory| memory.is_shared());
            }
            addresses.entry(counted(address)).or_insert_with(|| BytePool::new(HEADS_BYTES_PER_ADDRESS_MAX)).clone()
        });
        ConnectionHeads { all: self.all.clone(), address, own_taken: Arc::default() }
    }
}

impl ConnectionHeads {
    /// Has a head hold its memory.
    ///
    /// # Errors
    /// 429: the address has used up its share. 503: so have all addresses together.
    pub(super) fn reserve(&self, parts: &mut Parts) -> Result<(), Issue> {
        let reserved = if self.own_taken.swap(true, Ordering::AcqRel) {
            let bytes = HEAD_TASK_BYTES + bytes_of(&parts.headers);
            let address = self.address.as_ref().map(|address| address.reserve(bytes).ok_or_else(too_many_of_address));
            let _address = address.transpose()?;
            let _all = self.all.reserve(bytes).ok_or_else(|| Issue::new(Hcert::HeadsTooMany))?;
            HeadReservation::Shared { _all, _address }
        } else {
            HeadReservation::Own(Arc::clone(&self.own_taken))
        };
        parts.extensions.insert(HeadMemory { _reserved: Arc::new(reserved) });
        Ok(())
    }
}

impl Drop for HeadReservation {
    fn drop(&mut self) {
        if let HeadReservation::Own(taken) = self {
            taken.store(false, Ordering::Release);
        }
    }
}

fn too_many_of_address() -> Issue {
    let problem = format!("the limit of request headers is {HEADS_BYTES_PER_ADDRESS_MAX} bytes");
    Issue::new(Hcert::TooManyRequests).with("problem", problem)
}

/// Bytes that headers take in memory.
fn bytes_of(headers: &HeaderMap) -> usize {
    let entries = headers.capacity().max(headers.len());
    let text: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    entries * (size_of::<HeaderName>() + size_of::<HeaderValue>() + ENTRY_BYTES) + text
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;
    use crate::config::limits::HEADS_BYTES_MAX;

    fn head() -> Parts {
        Request::get("/fhir/metadata").body(()).unwrap().into_parts().0
    }

    fn large() -> Parts {
        let bytes = HEADS_BYTES_PER_ADDRESS_MAX / 4;
        Request::get("/").header("x", vec![b'x'; bytes]).body(()).unwrap().into_parts().0
    }

    #[test]
    fn each_connection_has_memory_for_one_head_however_much_is_reserved() {
        let heads = Heads::new(HEAD_TASK_BYTES);
        let connections = [(); 3].map(|()| heads.of_connection(None));
        let mut heads = [head(), head(), head()];
        for (connection, head) in connections.iter().zip(&mut heads) {
            connection.reserve(head).unwrap();
        }
        let mut second = head();
        connections[0].reserve(&mut second).unwrap();
        assert_eq!(connections[0].reserve(&mut head()).unwrap_err().code(), Hcert::HeadsTooMany);
        assert_eq!(connections[1].reserve(&mut head()).unwrap_err().code(), Hcert::HeadsTooMany);
        drop(heads);
        assert!(connections[1].reserve(&mut head()).is_ok(), "its own is free again");
        drop(second);
        let mut held = head();
        connections[2].reserve(&mut held).unwrap();
        assert!(connections[2].reserve(&mut head()).is_ok(), "the second head is gone");
    }

    #[test]
    fn one_address_has_its_share_and_no_more() {
        let all = Heads::new(HEADS_BYTES_MAX);
        let address = |text: &str| Some(text.parse().unwrap());
        let [first, second] = ["192.0.2.1", "::ffff:192.0.2.1"].map(|text| all.of_connection(address(text)));
        let mut held: Vec<Parts> = (0..5).map(|_| large()).collect();
        // The first of each connection is its own.
        first.reserve(&mut held[0]).unwrap();
        second.reserve(&mut held[1]).unwrap();
        for head in &mut held[2..] {
            first.reserve(head).unwrap();
        }
        assert_eq!(second.reserve(&mut large()).unwrap_err().code(), Hcert::TooManyRequests);
        let other = all.of_connection(address("192.0.2.2"));
        let mut others: Vec<Parts> = (0..3).map(|_| large()).collect();
        for head in &mut others {
            other.reserve(head).unwrap();
        }
        drop(held);
        assert!(second.reserve(&mut large()).is_ok());
    }
}
