//! Few threads and small stacks: a start that cannot have what it needs says so, and one that has it goes on with it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use super::{Place, Ran};

/// A user without any other process, for whoever may become one.
const NOBODY: u32 = 61_823;

fn limit(resource: libc::__rlimit_resource_t, most: u64) -> std::io::Result<()> {
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: the call reads a value of our own that lives through it.
    match unsafe { libc::setrlimit(resource, &limit) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// What was seen: a start with few threads hung without a word, or ended with "internal error".
#[test]
fn a_start_with_too_few_threads_says_so_and_one_with_enough_serves() {
    // SAFETY: the call only returns a number.
    let is_root = unsafe { libc::geteuid() } == 0;
    // The threads of another user's processes are counted too, so that only root knows how many are left.
    let counts: &[u64] = if is_root { &[1, 2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 60] } else { &[1] };
    let mut served = 0;
    for most in counts {
        let place = Place::new();
        if is_root {
            for folder in [place.path(""), place.path("data")] {
                fs::create_dir_all(&folder).unwrap();
                chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        let mut serve = place.command(&["dev", "--listen", "127.0.0.1:0", "--data", "data"]);
        serve.env("HCERT__MANAGEMENT__LISTEN", "").env("HCERT__SERVER__WORKERS", "2");
        if is_root {
            serve.uid(NOBODY);
        }
        let most_threads = *most;
        // SAFETY: it makes one system call.
        unsafe { serve.pre_exec(move || limit(libc::RLIMIT_NPROC, most_threads)) };
        let mut child = match serve.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() {
            Err(error) if is_root => {
                println!("skipped: root cannot become another user here, or that one cannot run the program: {error}");
                return;
            }
            spawned => spawned.unwrap(),
        };
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        // SAFETY: the child was started above and is waited for below.
        unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
        let ran = Ran::from(child.wait_with_output().unwrap());
        match first.is_empty() {
            true => ran.expect(1).says("too few threads"),
            false => ran.expect(0),
        };
        assert!(!ran.said.contains("panicked"), "{most}: {}", ran.said);
        served += usize::from(!first.is_empty());
    }
    assert_eq!(served, usize::from(is_root), "60 threads are enough");
}

/// The first thread's stack is as large as whoever starts the process says.
#[test]
fn a_small_stack_ends_no_command() {
    let place = Place::new();
    for arguments in [&["--help"][..], &["generate", "--count", "2"], &["stats", "--data", "data"]] {
        let mut command = place.command(arguments);
        // SAFETY: it makes one system call.
        unsafe { command.pre_exec(|| limit(libc::RLIMIT_STACK, 64 * 1024)) };
        let ran = Ran::from(command.output().unwrap());
        ran.expect(i32::from(arguments[0] == "stats"));
    }
}
