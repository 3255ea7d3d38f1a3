//! Which request the present work is for: W3C's trace context, known to every line of the log and to requests sent on.
//!
//! It lies with the thread while a request is worked on and goes along from thread to thread with the request, so nobody has to hand
//! it down and no line can forget it.

use std::cell::Cell;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;

use crate::hex::Hex;

/// A request within all that happens on behalf of one caller. Source: W3C Trace Context, level 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The same in every system that works on the caller's behalf. Not all zero.
    pub id: [u8; 16],
    /// Of this service's part alone. Not all zero.
    pub span: [u8; 8],
    /// Whether somebody before wants to keep what is measured of it.
    pub is_sampled: bool,
}

thread_local! {
    static CURRENT: Cell<Option<Trace>> = const { Cell::new(None) };
}

/// Until it is dropped, this thread works for a trace. It belongs to its thread.
#[derive(Debug)]
pub struct TraceGuard {
    before: Option<Trace>,
    _of_this_thread: PhantomData<*const ()>,
}

impl Trace {
    /// What this thread works for.
    pub fn current() -> Option<Trace> {
        CURRENT.get()
    }

    /// Whether a text is this trace's id as [`Hex`] writes it.
    pub fn is_named(&self, text: &str) -> bool {
        let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
        let digits = self.id.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
        text.bytes().eq(digits)
    }

    /// This thread works for this trace from now on.
    pub fn enter(self) -> TraceGuard {
        TraceGuard::set(Some(self))
    }

    /// Does work of a future for this trace, on whichever threads it runs. The future is pinned where it is made: taken by value, it
    /// would have a place here a second time, and be copied from one to the other.
    pub async fn within<T>(self, mut work: Pin<&mut impl Future<Output = T>>) -> T {
        poll_fn(|context| {
            let _entered = self.enter();
            work.as_mut().poll(context)
        })
        .await
    }

    /// Takes what this thread works for along to another thread.
    pub fn carried<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
        let current = Trace::current();
        move || {
            let _entered = TraceGuard::set(current);
            work()
        }
    }

    /// `traceparent` that names this service's part as the parent: 55 characters.
    pub fn parent(&self) -> String {
        format!("00-{}-{}-{:02x}", Hex(&self.id), Hex(&self.span), u8::from(self.is_sampled))
    }
}

impl TraceGuard {
    fn set(trace: Option<Trace>) -> TraceGuard {
        TraceGuard { before: CURRENT.replace(trace), _of_this_thread: PhantomData }
    }
}

impl Drop for TraceGuard {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    fn trace(number: u8) -> Trace {
        Trace { id: [number; 16], span: [number; 8], is_sampled: number % 2 == 1 }
    }

    #[test]
    fn the_parent_of_what_is_sent_on_is_this_part() {
        let expected = "00-01010101010101010101010101010101-0101010101010101-01";
        assert_eq!(trace(1).parent(), expected);
        assert!(trace(0xab).parent().contains("abab") && trace(2).parent().ends_with("-00"));
        assert!(trace(0xab).is_named(&"ab".repeat(16)) && !trace(0xab).is_named(&"ab".repeat(15)));
    }

    #[test]
    fn work_within_work_gives_the_thread_back() {
        let outer = trace(1).enter();
        {
            let _inner = trace(2).enter();
            assert_eq!(Trace::current(), Some(trace(2)));
        }
        assert_eq!(Trace::current(), Some(trace(1)));
        drop(outer);
        assert_eq!(Trace::current(), None);
    }

    #[tokio::test]
    async fn requests_that_take_turns_on_a_thread_keep_their_traces_apart() {
        let work = async |number| {
            let work = pin!(async move {
                for _ in 0..10 {
                    assert_eq!(Trace::current(), Some(trace(number)));
                    tokio::task::yield_now().await;
                }
                let carried = Trace::carried(Trace::current);
                tokio::task::spawn_blocking(carried).await.unwrap()
            });
            trace(number).within(work).await
        };
        let found = tokio::join!(work(1), work(2));
        assert_eq!(found, (Some(trace(1)), Some(trace(2))));
        assert_eq!(Trace::current(), None);
    }
}
