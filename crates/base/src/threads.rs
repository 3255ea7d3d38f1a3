//! Threads: the operating system may give few of them, or small stacks.

use std::io;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use tokio::runtime;

/// Threads of a service beside those that serve requests: 16 when it is idle on two processors, and those of its first commands and its
/// first blocking work.
const SERVICE_THREADS: usize = 24;

/// Threads for work that blocks, such as large searches, each of which stays once it was started.
const BLOCKING_THREADS_MAX: usize = 64;

/// Bytes of stack of the thread that runs a command.
const MAIN_STACK_BYTES: usize = 8 * 1024 * 1024;

/// By how much a thread that builds an index, or carries out a command, gives way to others, in the steps of nice(2), 0 to 19: it has time.
const GIVE_WAY_NICE: i32 = 15;

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

/// How a message begins that says so of memory.
const TOO_LITTLE_MEMORY: &str = "the operating system gives too little memory";

/// Whether a message says that threads, open files or memory are wanting: what failed is none the worse.
pub fn is_beyond_limits(problem: &str) -> bool {
    [TOO_FEW, TOO_FEW_FILES, TOO_LITTLE_MEMORY].iter().any(|words| problem.contains(words))
}

/// What a library says of a failure, with what to raise where it got no thread, no file or no memory.
pub fn explained(words: String) -> String {
    // Of the system, which gives it for a thread and for nothing else that a library here asks for, and of tantivy.
    const SIGNS: [&str; 2] = ["Resource temporarily unavailable", "Failed to spawn"];
    match SIGNS.iter().any(|sign| words.contains(sign)) {
        true => format!("{TOO_FEW} ({words}); raise {LIMITS}"),
        false if words.contains("Too many open files") => {
            format!("{TOO_FEW_FILES} ({words}); raise their limit (ulimit -n, LimitNOFILE of the unit)")
        }
        false if ["Cannot allocate memory", "OutOfMemory"].iter().any(|sign| words.contains(sign)) => {
            format!(
                "{TOO_LITTLE_MEMORY} ({words}); raise its limit (ulimit -v, MemoryMax of the unit, the container's), or give more"
            )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_library_says_of_a_limit_is_told_with_what_to_raise_and_anything_else_as_it_is() {
        for (words, raised) in [
            ("System error.'Failed to spawn segment updater thread'", "ulimit -u"),
            ("IoError { io_error: Os { code: 24, message: \"Too many open files\" } }", "ulimit -n"),
            ("Os { code: 12, kind: OutOfMemory, message: \"Cannot allocate memory\" }", "ulimit -v"),
        ] {
            let told = explained(words.to_owned());
            assert!(told.contains(words) && told.contains(raised) && is_beyond_limits(&told), "{told}");
        }
        assert_eq!(explained("it is torn".to_owned()), "it is torn");
        assert!(!is_beyond_limits("it is torn"));
    }
}
