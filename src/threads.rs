//! Threads: the operating system may give few of them, or small stacks.

use std::io;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use tokio::runtime;

use crate::limits::{BLOCKING_THREADS_MAX, GIVE_WAY_NICE, MAIN_STACK_BYTES, SERVICE_THREADS};

/// Runs the command line on a thread with a stack of a size that is known: that of the first thread is the limit of whoever starts the
/// process (`ulimit -s`). Without another thread it runs on the first one.
pub fn on_known_stack(run: fn() -> u8) -> u8 {
    match Builder::new().name("main".to_owned()).stack_size(MAIN_STACK_BYTES).spawn(run) {
        Ok(running) => running.join().unwrap_or(1),
        Err(_) => run(),
    }
}

/// Makes sure that the operating system gives the threads that a service needs, by having all of them at one moment. Libraries do not
/// start without theirs, or wait for them for ever.
///
/// # Errors
/// There are fewer, in words for the person at the terminal.
pub fn expect(workers: usize) -> Result<(), String> {
    let wanted = SERVICE_THREADS + workers;
    let (still, mut started) = (Arc::new(RwLock::new(())), Vec::with_capacity(wanted));
    let all = still.write().unwrap_or_else(PoisonError::into_inner);
    while started.len() < wanted {
        let waits = still.clone();
        let spawned = Builder::new().stack_size(PROBE_STACK_BYTES).spawn(move || drop(waits.read()));
        started.push(spawned.map_err(|error| too_few(wanted, started.len(), &error))?);
    }
    drop(all);
    started.into_iter().map(JoinHandle::join).for_each(drop);
    Ok(())
}

/// Lets other threads go first from here on. Linux knows the priority of single threads; elsewhere nothing happens.
pub fn give_way() {
    #[cfg(target_os = "linux")]
    // SAFETY: it takes three numbers and changes the priority of the calling thread, to a lower one, which everybody may do.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, GIVE_WAY_NICE);
    }
}

/// Bytes of stack of a thread that only waits.
const PROBE_STACK_BYTES: usize = 64 * 1024;

fn too_few(wanted: usize, found: usize, error: &io::Error) -> String {
    let missing = wanted - found;
    format!(
        "{TOO_FEW}: {found} of the {wanted} that the service needs at its start beside the first ({error}); raise by {missing} or more {LIMITS}"
    )
}

/// How every message begins that says so.
const TOO_FEW: &str = "the operating system gives too few threads";

const LIMITS: &str =
    "the limit of processes (ulimit -u, TasksMax of the unit, pids.max of the container), or that of memory";

/// What to say of a thread that could not be started.
pub fn refused(error: &io::Error) -> String {
    format!("{TOO_FEW} ({error}); raise {LIMITS}")
}

/// How a message begins that says so of open files.
const TOO_FEW_FILES: &str = "the operating system gives too few open files";

/// Whether a message says that threads or open files are wanting: what failed is none the worse.
pub fn is_beyond_limits(problem: &str) -> bool {
    problem.contains(TOO_FEW) || problem.contains(TOO_FEW_FILES)
}

/// What a library says of a failure, with what to raise where it got no thread or no file.
pub fn explained(words: String) -> String {
    // Of the system, which gives it for a thread and for nothing else that a library here asks for, and of tantivy.
    const SIGNS: [&str; 2] = ["Resource temporarily unavailable", "Failed to spawn"];
    match SIGNS.iter().any(|sign| words.contains(sign)) {
        true => format!("{TOO_FEW} ({words}); raise {LIMITS}"),
        false if words.contains("Too many open files") => {
            format!("{TOO_FEW_FILES} ({words}); raise their limit (ulimit -n, LimitNOFILE of the unit)")
        }
        false => words,
    }
}

/// Keeps every thread for blocking work that was once started: tokio panics when such work comes while there is none and the
/// operating system gives none. The first is started here.
///
/// # Errors
/// There is none.
pub fn keep_blocking(runtime: &mut runtime::Builder) -> io::Result<runtime::Runtime> {
    let kept = runtime
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .thread_keep_alive(Duration::from_secs(u32::MAX.into()))
        .build()?;
    let first = kept.spawn_blocking(|| ());
    kept.block_on(first).map_err(io::Error::other)?;
    Ok(kept)
}
