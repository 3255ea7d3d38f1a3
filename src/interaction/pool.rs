//! Threads for work that takes long, beside those that serve requests. Contract 10.3.

use std::future::poll_fn;
use std::pin::pin;
use std::thread;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::{JoinError, JoinSet};

use crate::config::limits::LARGE_BODIES;
use base::threads::give_way;
use base::trace::Trace;

/// A bounded number of threads, each of which gives way to the threads that serve requests.
#[derive(Debug)]
pub struct Pool {
    /// Without timers and sockets: those are the serving runtime's. None while it is dropped.
    threads: Option<Runtime>,
}

impl Pool {
    /// Half as many threads as there are processors, at least one, and no more than [`LARGE_BODIES`] have work.
    pub fn start() -> Pool {
        let half = thread::available_parallelism().map_or(1, |processors| processors.get() / 2);
        let mut threads = Builder::new_multi_thread();
        threads.worker_threads(half.clamp(1, LARGE_BODIES)).thread_name("hcert-pool").on_thread_start(give_way);
        // Each step is counted when it ends, so that whoever watches the threads can tell many of them from one that hangs.
        threads.event_interval(1);
        Pool { threads: Some(threads.build().expect("only timers and sockets can fail, and it has none")) }
    }

    /// The runtime of its threads, for whoever watches them.
    pub fn handle(&self) -> &Handle {
        self.threads.as_ref().expect("it is there until the pool is dropped").handle()
    }

    /// Runs a future on the threads of the pool, for the trace of the caller. It waits without holding a thread. Timers, sockets and tasks
    /// that it starts belong to the caller's runtime, so that the pool delays nothing but its own work. When the returned future is
    /// dropped, the work ends at its next wait.
    ///
    /// # Errors
    /// The work panicked.
    pub async fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Result<T, JoinError> {
        let (serving, trace) = (Handle::current(), Trace::current());
        let work = async move {
            let mut work = pin!(work);
            poll_fn(|context| {
                let _runtime = serving.enter();
                let _trace = trace.map(Trace::enter);
                work.as_mut().poll(context)
            })
            .await
        };
        let mut tasks = JoinSet::new();
        tasks.spawn_on(work, self.handle());
        tasks.join_next().await.expect("it has one task")
    }
}

impl Drop for Pool {
    /// Waits for no thread, as a runtime must not be waited for within another.
    fn drop(&mut self) {
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::*;

    fn thread_name() -> Option<String> {
        thread::current().name().map(str::to_owned)
    }

    #[tokio::test]
    async fn work_runs_on_the_pool_and_what_it_starts_on_the_serving_runtime() {
        let pool = Pool::start();
        let serving = thread::current().id();
        let work = async move {
            let before = thread_name();
            tokio::time::sleep(Duration::from_millis(1)).await;
            let started = tokio::spawn(async { thread::current().id() });
            (before, started.await.unwrap(), thread_name())
        };
        let (before, started, after) = pool.run(work).await.unwrap();
        assert_eq!((before.as_deref(), after.as_deref()), (Some("hcert-pool"), Some("hcert-pool")));
        assert_eq!(started, serving);
    }

    #[tokio::test]
    async fn work_carries_the_trace_of_its_caller() {
        let trace = Trace { id: [7; 16], span: [7; 8], is_sampled: false };
        let pool = Pool::start();
        let traces = async {
            let first = Trace::current();
            tokio::task::yield_now().await;
            (first, Trace::current())
        };
        assert_eq!(trace.within(pin!(pool.run(traces))).await.unwrap(), (Some(trace), Some(trace)));
        assert_eq!(pool.run(async { Trace::current() }).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_panic_is_an_error_and_the_pool_works_on() {
        let pool = Pool::start();
        assert!(pool.run(async { panic!("expected by this test") }).await.unwrap_err().is_panic());
        assert_eq!(pool.run(async { 7 }).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn work_that_nobody_waits_for_ends() {
        struct Ended(Arc<AtomicBool>);
        impl Drop for Ended {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let (pool, ended) = (Pool::start(), Arc::new(AtomicBool::new(false)));
        let mark = Ended(ended.clone());
        let endless = pool.run(async move {
            let _mark = mark;
            std::future::pending::<()>().await;
        });
        assert!(tokio::time::timeout(Duration::from_millis(1), endless).await.is_err());
        while !ended.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
