//! Calls into redb. What damaged pages make of a call is [`StoreError::Damaged`], never a panic.
//!
//! redb compares pages with their checksums only when it repairs or checks a file. A read takes what lies there, and bytes that cannot be a
//! page end it with a panic. So every call into redb that may read a page stands in [`guarded`], with the decoding of what it found.

use std::ops::{Deref, DerefMut};

use super::super::StoreError;
use crate::embedded::panics::caught;

#[cfg(test)]
thread_local! {
    /// Calls that this thread made. To read a row is one.
    pub static CALLS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// The result of a call that reads pages, `what` names whose; a panic is damage.
pub(in super::super) fn guarded<T>(what: &str, call: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    #[cfg(test)]
    CALLS.set(CALLS.get() + 1);
    caught(call).unwrap_or_else(|| Err(StoreError::Damaged(format!("a page of {what} cannot be read"))))
}

/// What redb ends by itself when it is dropped, which reads and writes pages as any other call does: a database is closed, a transaction is
/// given up. Damage met there is caught; the next opening of the file mends what was left half-way, or refuses it.
pub struct GuardedDrop<T>(Option<T>);

impl<T> GuardedDrop<T> {
    pub(in super::super) fn new(value: T) -> GuardedDrop<T> {
        GuardedDrop(Some(value))
    }

    pub(super) fn into_inner(mut self) -> T {
        self.0.take().expect("only this and the end take it")
    }
}

impl<T> Deref for GuardedDrop<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("only the end takes it")
    }
}

impl<T> DerefMut for GuardedDrop<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("only the end takes it")
    }
}

impl<T> Drop for GuardedDrop<T> {
    fn drop(&mut self) {
        if let Some(value) = self.0.take() {
            caught(|| drop(value));
        }
    }
}
