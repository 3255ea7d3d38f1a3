//! Whether the threads that answer requests run, and those for large resources (Contract 10.2).
//!
//! Two observations are made once a second, from a thread that answers no requests. A task is sent through the request runtime: if it does
//! not come back, no thread of it is free. And each thread of the runtime is asked whether it has returned to its scheduler: one blocked
//! thread lets the task through on another one, but the requests that it holds hang. The threads for large
//! resources are asked the same, with more patience. All of this counts seconds as the observer saw them, so a process that was
//! suspended is not taken for one that hangs. Decision 168.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;

use super::report::{HealthPart, HealthStatus};
use crate::management::limits::LIVE_BEATS_MISSED_MAX;

/// Seconds that one thread of the request runtime may work without returning to its scheduler before `/live` is 503 although other
/// threads still pass the heartbeat. No single step of a request is meant to take more than milliseconds.
const LIVE_THREAD_BUSY_S: u32 = 30;

/// Seconds that all threads of the pool for large resources may work without returning to their scheduler before `/live` is 503. The
/// largest step takes seconds of a processor, and gives way to everything else: a busy machine may take a hundred times as long.
const LIVE_POOL_BUSY_S: u32 = 300;

/// Watches the threads of the request runtime, and those for large resources.
pub(super) struct Heartbeat {
    requests: Threads,
    /// Set by the task that was sent.
    is_back: Arc<AtomicBool>,
    missed: u32,
    pool: Option<Threads>,
}

/// The threads of one runtime.
struct Threads {
    runtime: Handle,
    seen: Vec<Thread>,
}

/// One thread of the runtime, as it was seen last.
#[derive(Clone, Default)]
struct Thread {
    /// The time that it had worked and the number of times that it had waited, as its scheduler counts them. Both stand still while a
    /// task does not return.
    counted: (Duration, u64),
    /// For how many observations in a row they have stood still while it worked.
    busy: u32,
}

/// What the heartbeat found out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Liveness {
    /// Seconds for which the task has not come back.
    pub missed_beats: u32,
    pub threads: u32,
    /// Those that have not returned to their scheduler for too long.
    pub blocked_threads: u32,
    /// The same of those for large resources; none before there are any.
    pub pool_threads: u32,
    pub blocked_pool_threads: u32,
}

impl Heartbeat {
    pub(super) fn new(runtime: Handle) -> Heartbeat {
        Heartbeat { requests: Threads::new(runtime), is_back: Arc::new(AtomicBool::new(true)), missed: 0, pool: None }
    }

    /// Makes all observations; to be called once a second, with the runtime for large resources once there is one.
    pub(super) fn beat(&mut self, pool: Option<&Handle>) -> Liveness {
        // One task at a time is under way, so that they do not pile up in a runtime that hangs.
        if self.is_back.swap(false, Ordering::AcqRel) {
            self.missed = 0;
            let is_back = Arc::clone(&self.is_back);
            self.requests.runtime.spawn(async move { is_back.store(true, Ordering::Release) });
        } else {
            self.missed = self.missed.saturating_add(1);
        }
        match pool {
            Some(pool) if self.pool.is_none() => self.pool = Some(Threads::new(pool.clone())),
            Some(_) => {}
            None => self.pool = None,
        }
        let (threads, blocked_threads) = self.requests.blocked(LIVE_THREAD_BUSY_S);
        let pool = self.pool.as_mut().map(|pool| pool.blocked(LIVE_POOL_BUSY_S));
        let (pool_threads, blocked_pool_threads) = pool.unwrap_or_default();
        Liveness { missed_beats: self.missed, threads, blocked_threads, pool_threads, blocked_pool_threads }
    }
}

impl Threads {
    fn new(runtime: Handle) -> Threads {
        let seen = vec![Thread::default(); runtime.metrics().num_workers()];
        Threads { runtime, seen }
    }

    /// Looks at all: how many there are, and how many have not returned to their scheduler in so many observations.
    fn blocked(&mut self, busy_max: u32) -> (u32, u32) {
        let metrics = self.runtime.metrics();
        for (number, thread) in self.seen.iter_mut().enumerate() {
            let waits = metrics.worker_park_unpark_count(number);
            let counted = (metrics.worker_total_busy_duration(number), waits);
            // An odd number means that it waits for work.
            let is_still = waits.is_multiple_of(2) && thread.counted == counted;
            thread.busy = if is_still { thread.busy.saturating_add(1) } else { 0 };
            thread.counted = counted;
        }
        let blocked = self.seen.iter().filter(|thread| thread.busy >= busy_max).count();
        (self.seen.len() as u32, blocked as u32)
    }
}

impl Liveness {
    /// Why the process should be started again; none while it is live.
    pub fn problem(&self) -> Option<String> {
        if self.missed_beats > LIVE_BEATS_MISSED_MAX {
            return Some(format!("no thread that answers requests has been free for {} s", self.missed_beats));
        }
        let Liveness { threads, blocked_threads, pool_threads, blocked_pool_threads, .. } = self;
        if *pool_threads > 0 && blocked_pool_threads == pool_threads {
            let words = "no thread for large resources has come back from one step for more than";
            return Some(format!("{words} {LIVE_POOL_BUSY_S} s"));
        }
        (*blocked_threads > 0).then(|| {
            let words = "threads that answer requests have not come back from one step for more than";
            format!("{blocked_threads} of {threads} {words} {LIVE_THREAD_BUSY_S} s")
        })
    }

    /// The part `threads`.
    pub fn part(&self) -> HealthPart {
        let problem = self.problem();
        let words = match &problem {
            None => "The threads that answer requests run.".to_owned(),
            Some(problem) => format!("The service hangs: {problem}. Start it again."),
        };
        let status = if problem.is_some() { HealthStatus::Down } else { HealthStatus::Ok };
        let part = HealthPart::new("threads", status, words).holding_up(problem.is_some());
        part.with("threads", self.threads.into())
            .with("blocked_threads", self.blocked_threads.into())
            .with("missed_beats", self.missed_beats.into())
            .with("pool_threads", self.pool_threads.into())
            .with("blocked_pool_threads", self.blocked_pool_threads.into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Instant;

    use tokio::runtime;

    use super::*;
    use crate::interaction::Pool;

    /// A runtime of two threads, some of which hang until the sender is dropped.
    fn blocked(count: usize) -> (runtime::Runtime, mpsc::Sender<()>) {
        let runtime = runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let (release, released) = mpsc::channel();
        let released = Arc::new(std::sync::Mutex::new(released));
        let (begin, begun) = mpsc::channel();
        for _ in 0..count {
            let (released, begin) = (released.clone(), begin.clone());
            runtime.spawn(async move {
                begin.send(()).unwrap();
                // The first waits for the sender and the others for the lock: all hang, and all go on together.
                drop(released.lock().map(|released| released.recv()));
            });
        }
        (0..count).for_each(|_| begun.recv().unwrap());
        (runtime, release)
    }

    fn until(mut beat: impl FnMut() -> Liveness, holds: impl Fn(&Liveness) -> bool) -> Liveness {
        let start = Instant::now();
        loop {
            let liveness = beat();
            if holds(&liveness) {
                return liveness;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{liveness:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    #[test]
    fn a_runtime_whose_threads_all_hang_is_not_live_and_one_that_goes_on_is_live_again() {
        let (runtime, release) = blocked(2);
        let mut heartbeat = Heartbeat::new(runtime.handle().clone());
        for missed in 0..=LIVE_BEATS_MISSED_MAX {
            let liveness = heartbeat.beat(None);
            assert_eq!((liveness.missed_beats, liveness.problem()), (missed, None));
        }
        let liveness = heartbeat.beat(None);
        assert!(liveness.problem().is_some_and(|told| told.contains("has been free for 5 s")), "{liveness:?}");
        assert!(liveness.part().status == HealthStatus::Down && liveness.part().holds_up);
        drop(release);
        let liveness = until(|| heartbeat.beat(None), |liveness| liveness.missed_beats == 0);
        assert_eq!((liveness.problem(), liveness.part().status), (None, HealthStatus::Ok));
    }

    #[test]
    fn one_thread_that_hangs_is_found_though_the_other_passes_the_heartbeat() {
        let (runtime, release) = blocked(1);
        let mut heartbeat = Heartbeat::new(runtime.handle().clone());
        let liveness = until(|| heartbeat.beat(None), |liveness| liveness.blocked_threads > 0);
        assert_eq!((liveness.blocked_threads, liveness.threads), (1, 2));
        assert!(liveness.problem().is_some_and(|told| told.starts_with("1 of 2 threads")), "{liveness:?}");
        drop(release);
        until(|| heartbeat.beat(None), |liveness| liveness.problem().is_none());
    }

    #[test]
    fn a_pool_is_hung_when_all_its_threads_are_and_not_before() {
        for (count, is_hung) in [(1, false), (2, true)] {
            let ((requests, _), (pool, release)) = (blocked(0), blocked(count));
            let mut heartbeat = Heartbeat::new(requests.handle().clone());
            assert_eq!(heartbeat.beat(None).pool_threads, 0);
            let all_found = |liveness: &Liveness| liveness.blocked_pool_threads == count as u32;
            let liveness = until(|| heartbeat.beat(Some(pool.handle())), all_found);
            assert_eq!((liveness.pool_threads, liveness.problem().is_some()), (2, is_hung), "{liveness:?}");
            assert_eq!(liveness.part().status == HealthStatus::Down, is_hung);
            drop(release);
            until(|| heartbeat.beat(Some(pool.handle())), |liveness| liveness.blocked_pool_threads == 0);
        }
    }

    #[test]
    fn a_pool_that_always_has_work_is_not_hung() {
        let pool = Pool::start();
        let mut threads = Threads::new(pool.handle().clone());
        for _ in 0..200 {
            pool.handle().spawn(async { std::thread::sleep(Duration::from_millis(50)) });
        }
        for _ in 0..200 {
            std::thread::sleep(Duration::from_millis(10));
            assert_eq!(threads.blocked(150).1, 0);
        }
    }

    #[test]
    fn threads_that_wait_or_work_are_not_blocked() {
        let (runtime, release) = blocked(0);
        drop(release);
        // One task that always has more to do: the thread returns to its scheduler, but never waits.
        runtime.spawn(async {
            loop {
                tokio::task::yield_now().await;
            }
        });
        let mut heartbeat = Heartbeat::new(runtime.handle().clone());
        for _ in 0..2 * LIVE_THREAD_BUSY_S {
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(heartbeat.beat(None).blocked_threads, 0);
        }
        runtime.shutdown_background();
    }
}
