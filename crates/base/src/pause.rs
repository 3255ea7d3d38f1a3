//! Yield points of long work: the work calls [`at`] or [`here`] between its pieces, and the caller of [`with`] decides what happens there,
//! for example that requests of other clients go first.
//!
//! The action is kept by the thread, as the trace is, so that no function in between has to pass it on.

use std::cell::RefCell;

type Pause = Box<dyn FnMut()>;

thread_local! {
    static PAUSE: RefCell<Option<Pause>> = const { RefCell::new(None) };
}

/// Rows of work between two pauses: some ten to a hundred microseconds.
const PAUSE_ROWS: u64 = 1_024;

/// Removes the action, also where the work panics.
struct PauseGuard;

impl Drop for PauseGuard {
    fn drop(&mut self) {
        PAUSE.set(None);
    }
}

/// Does work on this thread; `between` is called between its pieces.
pub fn with<T>(between: impl FnMut() + 'static, work: impl FnOnce() -> T) -> T {
    PAUSE.set(Some(Box::new(between)));
    let _set = PauseGuard;
    work()
}

/// Stands where work goes from row to row and holds no lock: a pause each 1 024 rows.
pub fn at(row: u64) {
    if row.is_multiple_of(PAUSE_ROWS) {
        here();
    }
}

/// Stands between two pieces of work and where no lock is held. It may take long to come back.
pub fn here() {
    // Taken out while it runs, so that it may do anything.
    if let Some(mut pause) = PAUSE.take() {
        pause();
        PAUSE.set(Some(pause));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn work_pauses_only_where_somebody_said_how() {
        let pauses = Rc::new(Cell::new(0));
        let counted = pauses.clone();
        let worked = with(
            move || counted.set(counted.get() + 1),
            || {
                here();
                (1..=3_000).for_each(at);
                "done"
            },
        );
        here();
        assert_eq!((worked, pauses.get()), ("done", 3));
    }
}
