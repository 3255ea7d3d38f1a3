//! Panics that damaged bytes cause inside a library: caught, and kept out of the log and off the terminal.

use base::log::event;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Calls of [`caught`] that this thread is in.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Runs `call`; none when it panicked. The panic is logged at level debug, by its place alone: its message may quote stored bytes.
///
/// Only calls into a library that reads stored bytes belong into it, so that a fault of our own stays one.
pub(super) fn caught<T>(call: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| match DEPTH.get() {
            0 => before(panic),
            _ => {
                let at = panic.location().map(ToString::to_string).unwrap_or_default();
                event!(LIBRARY_PANICKED, at);
            }
        }));
    });
    DEPTH.set(DEPTH.get() + 1);
    let done = catch_unwind(AssertUnwindSafe(call));
    DEPTH.set(DEPTH.get() - 1);
    done.ok()
}
