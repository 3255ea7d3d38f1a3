//! An allocator that counts: for the thread that asks, and for all of them.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ops::Sub;
use std::sync::atomic::{AtomicU64, Ordering};

use mimalloc::MiMalloc;

/// As in the server, with a count beside it.
pub(crate) struct Counting;

/// What was asked of the allocator. Growing a block counts as one allocation of its new size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spent {
    pub allocations: u64,
    pub bytes: u64,
}

thread_local! {
    static OWN: Cell<Spent> = const { Cell::new(Spent { allocations: 0, bytes: 0 }) };
}
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

impl Spent {
    /// By this thread since it began.
    pub(crate) fn by_this_thread() -> Spent {
        OWN.get()
    }

    /// By all threads since the process began.
    pub(crate) fn by_all_threads() -> Spent {
        Spent { allocations: ALLOCATIONS.load(Ordering::Relaxed), bytes: BYTES.load(Ordering::Relaxed) }
    }
}

impl Sub for Spent {
    type Output = Spent;

    fn sub(self, before: Spent) -> Spent {
        Spent { allocations: self.allocations - before.allocations, bytes: self.bytes - before.bytes }
    }
}

fn count(bytes: usize) {
    let own = OWN.get();
    OWN.set(Spent { allocations: own.allocations + 1, bytes: own.bytes + bytes as u64 });
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
}

// SAFETY: every call is handed on as it came; counting neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(bytes);
        unsafe { MiMalloc.realloc(block, layout, bytes) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe { MiMalloc.dealloc(block, layout) }
    }
}
