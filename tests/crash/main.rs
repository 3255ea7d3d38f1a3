//! Pulls the plug: the real binary under several writers is killed at random moments, and whatever it acknowledged must be there. Then what
//! clients and disks can do to it while it runs: crowds, attackers, answers that nobody takes, clients that vanish, a disk without room.
//!
//! `HCERT_CRASH_SEED` repeats a run as far as moments can be repeated, `HCERT_CRASH_ROUNDS` makes it longer.

mod attack;
mod book;
mod command;
mod crowd;
mod disk;
mod http2;
#[path = "../process/mod.rs"]
mod process;
mod small_disk;
mod unread;
mod vanishing;
mod writer;

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use book::Book;
use hcert::corpus::Corpus;
use process::{Process, eventually, hcert, wait};

const WRITERS: usize = 6;
/// Kills of a run, shared out to folders that are filled at once.
const ROUNDS: u64 = 100;
const FOLDERS: u64 = 2;

/// Numbers from a seed (splitmix64).
pub struct Random(u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn milliseconds(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.below(to - from))
    }
}

/// Raises a flag at its end, also when a test fails: threads that wait for the flag would keep the test from ending.
pub struct Raise<'a>(pub &'a AtomicBool);

impl Drop for Raise<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A folder that stays when its test fails, to be looked at.
struct KeptOnFailure(tempfile::TempDir);

impl Drop for KeptOnFailure {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.disable_cleanup(true);
            eprintln!("kept: {}", self.0.path().display());
        }
    }
}

fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a whole number")))
}

/// A seed for this run, told so that a failure can be looked at again.
fn random(test: &str) -> Random {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("1970 is over").as_nanos() as u64;
    let seed = setting("HCERT_CRASH_SEED").unwrap_or_else(now);
    println!("{test}: HCERT_CRASH_SEED={seed}");
    Random(seed)
}

#[test]
fn nothing_acknowledged_is_lost_however_the_server_ends() {
    let mut random = random("killed under load");
    let rounds = setting("HCERT_CRASH_ROUNDS").unwrap_or(ROUNDS).div_ceil(FOLDERS);
    thread::scope(|scope| {
        for _ in 0..FOLDERS {
            let random = Random(random.below(u64::MAX));
            scope.spawn(move || fill_and_kill(rounds, random));
        }
    });
}

/// Writes into a server, ends it and looks what is there, again and again.
fn fill_and_kill(rounds: u64, mut random: Random) {
    let folder = KeptOnFailure(tempfile::tempdir().unwrap());
    let data = folder.0.path().join("data");
    let mut book = Book::default();
    writer::make_patients_known(&data, rounds, WRITERS);
    for round in 0..rounds {
        let server = Process::start(&data);
        book.check(&mut server.client(), &mut random);
        // Some rounds are long enough for the indexer to take a round of its own.
        let time = if round % 7 == 0 { random.milliseconds(900, 1_400) } else { random.milliseconds(10, 200) };
        let polite = round % 6 == 4;
        thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|number| {
                    let part = book.take_part(number, WRITERS);
                    let client = server.client();
                    let seed = random.below(u64::MAX);
                    scope.spawn(move || writer::run(client, part, round, number, Random(seed), polite))
                })
                .collect();
            thread::sleep(time);
            if polite {
                let status = server.stop();
                assert_eq!(status.code(), Some(0), "after SIGTERM in round {round}");
            } else {
                server.kill();
            }
            for writer in writers {
                book.put_back(writer.join().expect("a writer met an answer it must not meet"));
            }
        });
        if round % 6 == 5 {
            fs::remove_dir_all(data.join("index")).unwrap();
        }
        for _ in 0..if round % 2 == 1 { random.below(4) } else { 0 } {
            Process::start_and_kill(&data, random.milliseconds(0, 60));
        }
    }
    let server = Process::start(&data);
    book.check(&mut server.client(), &mut random);
    book.check_all(&mut server.client());
    assert_eq!(server.stop().code(), Some(0));
    println!("{} versions of {} certificates", book.versions(), book.certificates());

    // Opening and closing changes nothing.
    let server = Process::start(&data);
    book.check(&mut server.client(), &mut random);
}

/// A file of generated lines.
fn corpus(folder: &Path, count: u64, seed: u64) -> PathBuf {
    let path = folder.join("corpus.ndjson");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    let mut line = String::new();
    for change in Corpus::new(seed, count) {
        line.clear();
        change.write_entry(&mut line);
        writeln!(file, "{line}").unwrap();
    }
    file.flush().unwrap();
    path
}

fn import(data: &Path, file: &Path) -> Child {
    let mut command = hcert(&["import", file.to_str().unwrap(), "--data", data.to_str().unwrap()]);
    let log = OpenOptions::new().create(true).append(true).open(data.with_extension("import.log")).unwrap();
    command.current_dir(data.parent().unwrap()).stderr(log).stdout(Stdio::null());
    command.spawn().unwrap()
}

/// What an import has said so far.
fn said(data: &Path) -> String {
    fs::read_to_string(data.with_extension("import.log")).unwrap()
}

fn export(data: &Path) -> Vec<u8> {
    let output = hcert(&["export", "--data", data.to_str().unwrap()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn is_same(file: &Path, exported: &[u8]) -> bool {
    fs::read(file).unwrap() == exported
}

#[test]
fn an_import_that_is_killed_is_resumed_by_running_it_again() {
    let mut random = random("import killed");
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = corpus(folder.path(), 3_000, 11);
    for _ in 0..5 {
        let mut child = import(&data, &file);
        thread::sleep(random.milliseconds(10, 250));
        child.kill().unwrap();
        wait(&mut child);
    }
    assert_eq!(wait(&mut import(&data, &file)).code(), Some(0), "{}", said(&data));
    assert!(is_same(&file, &export(&data)), "every line once and in its order");
}

#[test]
fn an_import_through_a_server_that_is_killed_fails_in_clear_words_and_is_resumed() {
    let mut random = random("server killed under an import");
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = corpus(folder.path(), 6_000, 12);
    for round in 0..4 {
        let server = Process::start(&data);
        let mut child = import(&data, &file);
        thread::sleep(random.milliseconds(50, 250));
        if round % 2 == 0 {
            server.kill();
        } else {
            assert_eq!(server.stop().code(), Some(0));
        }
        let status = wait(&mut child);
        let said = said(&data);
        // A fast machine may have been done.
        if !said.contains("lines:") {
            assert_eq!(status.code(), Some(1), "{said}");
            assert!(said.contains("the server") || said.contains("the engine was closed"), "{said}");
        }
    }
    let server = Process::start(&data);
    assert_eq!(wait(&mut import(&data, &file)).code(), Some(0), "{}", said(&data));
    assert!(is_same(&file, &export(&data)), "through the server");
    server.kill();
    assert!(is_same(&file, &export(&data)), "from the folder itself");
}

#[test]
fn a_rebuild_of_the_index_that_is_killed_starts_again() {
    let mut random = random("rebuild killed");
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    // More versions than a start reads into memory, so that the index is really built in the background.
    let file = corpus(folder.path(), 14_000, 13);
    assert_eq!(wait(&mut import(&data, &file)).code(), Some(0), "{}", said(&data));
    let totals = |server: &Process| {
        ["", "status=final", "category=driver-group-I", "period=2024-06-01", "title:contains=mootor"].map(|query| {
            let path = format!("/Composition?{query}&_count=3&_sort=title,-date");
            let answer = server.client().get(&path);
            assert_eq!(answer.status, 200, "{}", answer.text());
            let bundle = answer.json();
            (bundle["total"].clone(), bundle["entry"].clone())
        })
    };
    let server = Process::start(&data);
    let before = totals(&server);
    assert!(before[0].0.as_u64().unwrap() > 13_000, "{}", before[0].0);
    assert_eq!(server.stop().code(), Some(0));

    fs::remove_dir_all(data.join("index")).unwrap();
    for _ in 0..6 {
        Process::start_and_kill(&data, random.milliseconds(5, 300));
    }
    let server = Process::start(&data);
    // Reads go on while searches wait.
    assert_eq!(server.client().get("/Composition/1/_history/1").status, 200);
    assert_eq!(totals(&server), before);
    server.kill();

    // A torn index is not trusted either.
    let torn = fs::read_dir(data.join("index")).unwrap().map(|entry| entry.unwrap().path());
    for file in torn.filter(|path| path.extension().is_some_and(|ending| ending == "term" || ending == "fast")) {
        let bytes = fs::metadata(&file).unwrap().len();
        OpenOptions::new().write(true).open(&file).unwrap().set_len(bytes / 2).unwrap();
    }
    let server = Process::start(&data);
    assert_eq!(totals(&server), before);
}

#[test]
fn a_second_server_on_the_folder_is_refused_in_clear_words() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let first = Process::start(&data);
    let second = hcert(&["dev", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()]).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8(second.stderr).unwrap();
    let holder = format!("the data folder is in use by process {} (hcert dev)", first.id());
    assert!(said.contains(&holder), "{said}");
    assert!(said.contains(data.to_str().unwrap()), "{said}");
    // The first one is not disturbed: its socket still answers.
    assert_eq!(first.client().get("/Composition?_count=0").status, 200);
    assert!(export(&data).is_empty());
    assert_eq!(first.stop().code(), Some(0));
}

#[test]
fn a_socket_left_behind_stops_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = corpus(folder.path(), 20, 14);
    Process::start(&data).kill();
    let socket = data.join("hcert.sock");
    assert!(socket.exists(), "a killed server leaves its socket");
    assert_eq!(wait(&mut import(&data, &file)).code(), Some(0), "{}", said(&data));
    assert!(socket.exists() && is_same(&file, &export(&data)));
    let server = Process::start(&data);
    assert!(is_same(&file, &export(&data)), "through the new socket");
    assert_eq!(server.stop().code(), Some(0));
    eventually("the socket is gone after a clean stop", || !socket.exists());
}
