//! `X-Request-Id`: one name for a request in the answer, in the log and in the version it made.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use uuid::{Builder, Uuid};

use super::header;
use crate::limits::REQUEST_ID_CHARACTERS_MAX;

pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id of one request. It is kept so that neither way costs an allocation.
#[derive(Clone, Debug)]
pub enum RequestId {
    /// As the caller sent it: visible ASCII.
    Given(HeaderValue),
    /// A uuid in text.
    Made([u8; 36]),
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
        let mut text = [0; 36];
        made().hyphenated().encode_lower(&mut text);
        RequestId::Made(text)
    }

    pub fn as_str(&self) -> &str {
        match self {
            RequestId::Given(value) => value.to_str().expect("it was looked at when it was taken over"),
            RequestId::Made(text) => std::str::from_utf8(text).expect("a uuid is written in ASCII"),
        }
    }

    /// As the log may show it: a caller may have put a personal code there, which is eleven digits in a row.
    pub fn logged(&self) -> &str {
        let text = self.as_str();
        // Signs between its digits hide it from nobody who reads; the groups of a uuid are no code.
        let is_apart = |character: char| character.is_ascii_alphabetic();
        let digits = |piece: &str| piece.bytes().filter(u8::is_ascii_digit).count();
        let names_somebody = matches!(self, RequestId::Given(_))
            && (text.split(|character: char| !character.is_ascii_digit()).any(|digits| digits.len() >= 11)
                || (Uuid::parse_str(text).is_err() && text.split(is_apart).any(|piece| digits(piece) >= 11)));
        if names_somebody { "(not shown)" } else { text }
    }

    pub fn header(&self) -> HeaderValue {
        match self {
            RequestId::Given(value) => value.clone(),
            RequestId::Made(text) => header::value(text),
        }
    }
}

/// A uuid of its own: ten bytes drawn when the process began, behind six that count. A number of the system's source of chance for
/// each request would be a system call for each request, and nobody has to be kept from guessing these.
pub(super) fn made() -> Uuid {
    static PROCESS: LazyLock<Uuid> = LazyLock::new(Uuid::new_v4);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    /// Odd, so that no two counts of 48 bits give the same; large, so that neighbours do not look alike.
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut bytes = *PROCESS.as_bytes();
    let start = u64::from_be_bytes(bytes[..8].try_into().expect("eight bytes were cut")) >> 16;
    let counted = start.wrapping_add(COUNT.fetch_add(1, Ordering::Relaxed).wrapping_mul(STEP));
    bytes[..6].copy_from_slice(&counted.to_be_bytes()[2..]);
    Builder::from_random_bytes(bytes).into_uuid()
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
            assert!(Uuid::parse_str(made.as_str()).is_ok());
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

    #[test]
    fn made_ids_are_random_uuids_of_which_no_two_are_the_same() {
        let made: HashSet<Uuid> = (0..100_000).map(|_| made()).collect();
        assert_eq!(made.len(), 100_000);
        assert!(made.iter().all(|id| id.get_version_num() == 4 && id.get_variant() == uuid::Variant::RFC4122));
    }
}
