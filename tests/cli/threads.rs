//! Few threads and small stacks: a start that cannot have what it needs says so, and one that has it goes on with it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use super::{Place, Process, Ran, eventually};

/// Users without any other process, for whoever may become one: one for each test.
const NOBODY: [u32; 3] = [61_823, 61_824, 61_825];

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
                chown(&folder, Some(NOBODY[0]), Some(NOBODY[0])).unwrap();
            }
        }
        let mut serve = place.command(&["dev", "--listen", "127.0.0.1:0", "--data", "data"]);
        serve.env("HCERT__MANAGEMENT__LISTEN", "").env("HCERT__SERVER__WORKERS", "2");
        if is_root {
            serve.uid(NOBODY[0]);
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

/// A folder whose owner the limits bind, since they bind no root. None, with the reason printed, where there can be none.
fn place_of(user: u32) -> Option<Place> {
    let place = Place::new();
    let owned = chown(place.path(""), Some(user), Some(user));
    let ran = place.command(&["--version"]).uid(user).gid(user).output();
    if owned.is_err() || !ran.is_ok_and(|ran| ran.status.success()) {
        println!("skipped: root cannot become another user here, or that one cannot run the program");
        return None;
    }
    Some(place)
}

fn run_as(user: u32, place: &Place, arguments: &[&str], most_threads: u64) -> Ran {
    let mut command = place.command(arguments);
    command.uid(user).gid(user);
    // SAFETY: it makes one system call.
    unsafe { command.pre_exec(move || limit(libc::RLIMIT_NPROC, most_threads)) };
    Ran::from(command.output().unwrap())
}

/// Sets how many threads a process of a user may have from now on, of as many as it ever may.
fn allow(most: u64, user: u32, process: u32) {
    let mut command = Command::new("true");
    command.uid(user).gid(user);
    let setting = move || {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        let (process, what) = (process.cast_signed(), libc::RLIMIT_NPROC);
        // SAFETY: the calls read and write a value of our own that lives through them.
        let failed = unsafe {
            libc::prlimit(process, what, std::ptr::null(), &raw mut limit) != 0 || {
                limit.rlim_cur = most.min(limit.rlim_max);
                libc::prlimit(process, what, &raw const limit, std::ptr::null_mut()) != 0
            }
        };
        if failed { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: it makes system calls that are allowed between fork and exec.
    unsafe { command.pre_exec(setting) };
    assert!(command.status().unwrap().success());
}

/// Bytes of the lists and columns in the index, which a new index does not have.
fn index_bytes(place: &Place) -> u64 {
    fs::read_dir(place.path("data/index")).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

/// What was seen: the index thrown away by whichever command met the limit while it opened it.
#[test]
fn commands_with_too_few_threads_keep_the_index_and_say_what_to_raise() {
    let user = NOBODY[1];
    let Some(place) = place_of(user) else { return };
    fs::write(place.path("lines"), place.corpus(200, 1)).unwrap();
    fs::write(place.path("none"), "").unwrap();
    run_as(user, &place, &["import", "--data", "data", "lines"], 100).expect(0);
    let before = index_bytes(&place);
    for command in [&["import", "none"][..], &["clock", "accept"], &["reindex"], &["patients", "list"], &["compact"]] {
        for most in [1, 2, 3, 4, 5, 6, 8, 10, 12] {
            let ran = run_as(user, &place, &[command, &["--data", "data"]].concat(), most);
            assert!(!ran.said.contains("internal error"), "{command:?} with {most}: {}", ran.said);
            if ran.code != Some(0) {
                ran.expect(1).says("too few threads").says("ulimit -u").says("pids.max");
            }
            let after = index_bytes(&place);
            assert!(
                after * 2 > before,
                "{command:?} with {most} threads: {before} bytes of index are {after}: {}",
                ran.said
            );
        }
    }
    run_as(user, &place, &["verify", "--data", "data"], 100).expect(0);
}

/// What was seen: the index thrown away by a command that could not open its files, and a start that panicked.
#[test]
fn with_too_few_open_files_the_index_is_kept_and_a_start_says_so() {
    let place = Place::new();
    fs::write(place.path("lines"), place.corpus(200, 1)).unwrap();
    fs::write(place.path("none"), "").unwrap();
    place.run(&["import", "--data", "data", "lines"]).expect(0);
    let before = index_bytes(&place);
    let run = |command: &[&str], files: u64| {
        let mut command = place.command(&[command, &["--data", "data"]].concat());
        // SAFETY: it makes one system call.
        unsafe { command.pre_exec(move || limit(libc::RLIMIT_NOFILE, files)) };
        Ran::from(command.output().unwrap())
    };
    for files in [4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 32] {
        for command in [&["import", "none"][..], &["clock", "accept"], &["reindex"], &["compact"]] {
            let ran = run(command, files);
            assert!(ran.code == Some(0) || ran.code == Some(1), "{command:?} with {files}: {}", ran.said);
            assert!(!ran.said.contains("internal error"), "{command:?} with {files}: {}", ran.said);
            let after = index_bytes(&place);
            assert!(after * 2 > before, "{command:?} with {files} files: {before} bytes are {after}: {}", ran.said);
        }
        let ran = run(&["dev", "--listen", "127.0.0.1:0"], files);
        ran.expect(1);
        assert!(!ran.said.contains("panic") && ran.said.contains("open files"), "{files}: {}", ran.said);
    }
    place.run(&["verify", "--data", "data"]).expect(0);
}

/// What was seen: an index that was given up because tantivy starts a thread for each commit, so that no search was answered any more.
#[test]
fn a_running_server_that_gets_no_more_threads_finds_goes_on_and_stops_in_order() {
    let user = NOBODY[2];
    let Some(place) = place_of(user) else { return };
    let mut server = Process::start_with(&place.path("data"), |command| {
        command.uid(user).gid(user);
    });
    let mut client = server.client();
    let certificate = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/driver-draft.json")).unwrap();
    let mut create = move || assert_eq!(client.send("POST", "/Composition", &[], &certificate).unwrap().status, 201);
    let mut client = server.client();
    let mut found = move || client.get("/Composition?status=preliminary").json()["total"].as_u64();
    create();
    assert_eq!(found(), Some(1));
    allow(1, user, server.id());
    create();
    eventually("the index waits", || server.log().contains("index.write-failed"));
    create();
    create();
    assert_eq!(found(), Some(4), "{}", server.log());
    run_as(user, &place, &["reindex", "--data", "data"], 100).expect(1).says("too few threads");
    allow(u64::MAX, user, server.id());
    run_as(user, &place, &["reindex", "--data", "data"], 100).expect(0);
    create();
    assert_eq!(found(), Some(5));
    // A stop needs no more of them either.
    allow(1, user, server.id());
    create();
    server.terminate();
    assert_eq!(server.ends_by_itself().code(), Some(0), "{}", server.log());
    let log = server.log();
    assert!(log.contains("index.recovered"), "{log}");
    for wrong in ["panic", "internal error", "index.discarded"] {
        assert!(!log.contains(wrong), "{wrong}: {log}");
    }
    run_as(user, &place, &["verify", "--data", "data"], 100).expect(0);
}
