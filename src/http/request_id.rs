//! `X-Request-Id`: one name for a request in the answer, in the log and in the version it made.

use std::cell::RefCell;

use fastrand::Rng;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use uuid::{Builder, Uuid};

use super::header;
use crate::http::limits::REQUEST_ID_CHARACTERS_MAX;
use base::log::shown;

pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id of one request. It is kept so that neither way costs an allocation.
#[derive(Clone, Debug)]
pub enum RequestId {
    /// As the caller sent it: visible ASCII.
    Given(HeaderValue),
    /// 32 hexadecimal digits.
    Made([u8; 32]),
}

impl RequestId {
    /// The caller's, if it is short and visible, else a new one. Contract 2.4.
    pub fn of(headers: &HeaderMap) -> RequestId {
        let usable = |value: &&HeaderValue| {
            let text = value.as_bytes();
            (1..=REQUEST_ID_CHARACTERS_MAX).contains(&text.len()) && text.iter().all(u8::is_ascii_graphic)
        };
        match headers.get(REQUEST_ID).filter(usable) {
            Some(given) => RequestId::Given(given.clone()),
            None => RequestId::made(),
        }
    }

    fn made() -> RequestId {
        let mut text = [0; 32];
        Uuid::from_bytes(random()).simple().encode_lower(&mut text);
        RequestId::Made(text)
    }

    pub fn as_str(&self) -> &str {
        match self {
            RequestId::Given(value) => value.to_str().expect("it was looked at when it was taken over"),
            RequestId::Made(text) => std::str::from_utf8(text).expect("hexadecimal digits are ASCII"),
        }
    }

    /// As the log may show it.
    pub fn logged(&self) -> &str {
        match self {
            RequestId::Given(_) => shown(self.as_str()),
            RequestId::Made(_) => self.as_str(),
        }
    }

    pub fn header(&self) -> HeaderValue {
        match self {
            RequestId::Given(value) => value.clone(),
            RequestId::Made(text) => header::value(text),
        }
    }
}

/// A uuid of its own, for the caller to quote.
pub(super) fn uuid() -> Uuid {
    Builder::from_random_bytes(random()).into_uuid()
}

/// Sixteen bytes, random in every bit, since samplers of traces look at some of them only. Decision 172.
///
/// Each thread asks the system for its seeds once: a number of the system's for each request would be a system call for each request,
/// and nobody has to be kept from guessing these. The two halves come from streams of their own, so that two threads give the same
/// only where both seeds meet.
pub(super) fn random() -> [u8; 16] {
    fn stream() -> Rng {
        // Both halves of a uuid have bits that are fixed, at different ends.
        let (high, low) = Uuid::new_v4().as_u64_pair();
        Rng::with_seed(high ^ low.rotate_left(32))
    }
    thread_local! {
        static STREAMS: RefCell<[Rng; 2]> = RefCell::new([stream(), stream()]);
    }
    STREAMS.with_borrow_mut(|[high, low]| (u128::from(high.u64(..)) << 64 | u128::from(low.u64(..))).to_be_bytes())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn of(value: &str) -> RequestId {
        RequestId::of(&HeaderMap::from_iter([(REQUEST_ID, HeaderValue::from_bytes(value.as_bytes()).unwrap())]))
    }

    #[test]
    fn a_usable_request_id_is_taken_over() {
        let long = "x".repeat(128);
        for id in ["1", "a/b:c=", "4c9e6f0e-1", &long] {
            assert_eq!(of(id).as_str(), id);
            assert_eq!(of(id).header(), id);
        }
        let longer = "x".repeat(129);
        for id in ["", "a b", "õ", &longer] {
            let made = of(id);
            assert_ne!(made.as_str(), id);
            assert!(made.as_str().len() == 32 && Uuid::parse_str(made.as_str()).is_ok());
            assert_eq!(made.header(), made.as_str());
        }
    }

    #[test]
    fn one_that_could_be_a_personal_code_is_not_logged() {
        for id in ["39406240015", "EE39406240015", "a-39406240015-b", "394062-40015", "394.062.40015"] {
            assert_eq!((of(id).as_str(), of(id).logged()), (id, "(not shown)"));
        }
        assert_eq!(of("r-1234567890").logged(), "r-1234567890");
        let made = RequestId::made();
        assert_eq!(made.logged(), made.as_str());
    }

    /// What was seen: the low 64 bits were the same for all ids of a process. Samplers decide by them, so they took all traces or none.
    #[test]
    fn made_ids_are_all_different_and_every_bit_of_them_varies() {
        let draw = || (0..50_000).map(|_| u128::from_be_bytes(random())).collect::<Vec<_>>();
        let (mut made, others) = (draw(), std::thread::spawn(draw).join().unwrap());
        for bit in 0..128 {
            let set = made.iter().filter(|id| **id >> bit & 1 == 1).count();
            // Fifty standard deviations around the half.
            assert!((20_000..30_000).contains(&set), "bit {bit} is set in {set} of 50000 ids");
        }
        made.extend(others);
        assert_eq!(made.iter().collect::<HashSet<_>>().len(), 100_000);
        let uuids: HashSet<Uuid> = (0..1000).map(|_| uuid()).collect();
        assert!(uuids.len() == 1000 && uuids.iter().all(|id| id.get_version_num() == 4));
    }
}
