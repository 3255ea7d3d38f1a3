//! What the service promises when things go on beside it, or go wrong: reads during a reindex, a backup and an import, memory under idle and
//! dripping connections, reads beside those and beside attackers, the time to drain, the first read after a kill, the speed of backup and restore.
//!
//! ```text
//! cargo bench --bench reliability
//! cargo bench --bench reliability -- --count 1000000 --folder DIR
//! cargo bench --bench reliability -- --crowd
//! ```
//!
//! It drives the program itself, as an operator would; readers and writers run on the same machine as the server. With `--folder` the
//! data stay there for the next run; without it they lie in a temporary folder. `--crowd` only measures reads beside connections and
//! attackers.

#[path = "../../tests/crash/attack.rs"]
mod attack;
mod crowd;
mod fill;
// The attacks need a part of it.
#[allow(dead_code)]
#[path = "../../tests/crash/http2.rs"]
mod http2;
#[path = "../../tests/process/mod.rs"]
mod process;
mod readers;
mod storm;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use process::{Process, hcert};
use readers::Latency;

/// Certificates of a run without `--count`.
const COUNT: u64 = 20_000;

/// Of so many certificates that are there, one more is imported while reads go on.
const IMPORT_SHARE: u64 = 10;

/// How long reads are measured without anything beside them.
const QUIET: Duration = Duration::from_secs(10);

fn main() {
    let Some(Asked { count, folder, only_crowd }) = Asked::read() else {
        eprintln!("usage: cargo bench --bench reliability -- [--count N] [--folder DIR] [--crowd]");
        std::process::exit(2);
    };
    crowd::open_many_files();
    let temporary = tempfile::tempdir().expect("there is room for a folder");
    let folder = folder.unwrap_or_else(|| temporary.path().to_owned());
    fs::create_dir_all(&folder).expect("the folder can be made");
    let data = folder.join("data");
    if !data.exists() {
        fill::fill(&folder, &data, count);
    }
    println!("{count} certificates");
    let mut server = serve(&data);
    let elsewhere = temporary.path().join("elsewhere");
    if only_crowd {
        let quiet = alone(&server, count);
        beside_others(server, &data, &elsewhere, count, &quiet);
        return;
    }
    let quiet = while_serving(&server, &folder, &data, count);
    crowd::report(&server);
    beside_others(server, &data, &elsewhere, count, &quiet);
    server = serve(&data);

    let (drained, storm) = storm::storm(&server, |server| {
        let begun = Instant::now();
        server.terminate();
        server.ended();
        begun.elapsed()
    });
    println!("{:<34}{:.0} ms under {} writers", "time to drain", ms(drained), storm::WRITERS);
    server = serve(&data);
    storm.expect_all(&server);

    let ((), storm) = storm::storm(&server, |server| server.kill_now());
    let begun = Instant::now();
    server = Process::start(&data);
    assert_eq!(server.client().get("/Composition/1").status, 200);
    println!("{:<34}{:.0} ms to the first read", "start after SIGKILL", ms(begun.elapsed()));
    storm.expect_all(&server);
    assert_eq!(server.stop().code(), Some(0), "it stops well");

    let archive = folder.join("whole.tar");
    let restored = folder.join("restored");
    let begun = Instant::now();
    run(hcert(&["backup", path(&archive), "--data", path(&data)]));
    println!("{:<34}{:.0} certificates a second", "backup of a stopped server", rate(count, begun));
    let begun = Instant::now();
    run(hcert(&["restore", path(&archive), "--data", path(&restored)]));
    println!("{:<34}{:.0} certificates a second", "restore", rate(count, begun));
    let server = serve(&restored);
    storm.expect_all(&server);
    drop(server);
    fs::remove_dir_all(&restored).expect("it was made just now");
    fs::remove_file(&archive).expect("it was made just now");
}

struct Asked {
    count: u64,
    folder: Option<PathBuf>,
    only_crowd: bool,
}

impl Asked {
    fn read() -> Option<Asked> {
        let mut asked = Asked { count: COUNT, folder: None, only_crowd: false };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            match name.as_str() {
                // What cargo says to every bench.
                "--bench" => {}
                "--count" => asked.count = arguments.next()?.parse().ok().filter(|count| *count >= 1_000)?,
                "--crowd" => asked.only_crowd = true,
                "--folder" => asked.folder = Some(arguments.next()?.into()),
                _ => return None,
            }
        }
        Some(asked)
    }
}

/// Reads alone.
fn alone(server: &Process, count: u64) -> Latency {
    // A server that was started just now looks through its index, and its pages come from the disk.
    drop(readers::read_while(server.address, count, || thread::sleep(QUIET)));
    let quiet = readers::read_while(server.address, count, || thread::sleep(QUIET)).0;
    println!("{:<34}{}", "reads alone", quiet.line(None));
    quiet
}

/// Reads alone, then beside each of the works that take long; the former.
fn while_serving(server: &Process, folder: &Path, data: &Path, count: u64) -> Latency {
    let quiet = alone(server, count);
    let beside = |what: &str, command: Command| {
        let (measured, taken) = readers::read_while(server.address, count, || {
            let begun = Instant::now();
            run(command);
            begun.elapsed()
        });
        println!("{what:<34}{}; it took {:.1} s", measured.line(Some(&quiet)), taken.as_secs_f64());
    };
    beside("reads during a reindex", hcert(&["reindex", "--data", path(data)]));
    let archive = folder.join("serving.tar");
    beside("reads during a backup", hcert(&["backup", path(&archive), "--data", path(data)]));
    fs::remove_file(&archive).expect("it was made just now");
    let more = folder.join("more.ndjson");
    fill::more(&more, count / IMPORT_SHARE);
    beside("reads during an import", hcert(&["import", path(&more), "--data", path(data)]));
    fs::remove_file(&more).expect("it was made just now");
    let again = readers::read_while(server.address, count, || thread::sleep(QUIET)).0;
    println!("{:<34}{}", "reads alone again", again.line(Some(&quiet)));
    quiet
}

/// Reads beside crowds and attackers, as nobody counts those of this machine. Then beside attackers that are counted as one client.
fn beside_others(server: Process, data: &Path, elsewhere: &Path, count: u64, quiet: &Latency) {
    let elsewhere = serve(elsewhere);
    crowd::reads_beside_attackers(&server, &elsewhere, count, quiet);
    crowd::reads_beside_crowds(&server, count, quiet);
    assert_eq!(server.stop().code(), Some(0), "it stops well");
    println!("attackers are counted as one client");
    let server = serve_with(data, &[("HCERT__X_ROAD__FROM", "127.0.0.1")]);
    crowd::reads_beside_attackers(&server, &elsewhere, count, &alone(&server, count));
    assert_eq!(server.stop().code(), Some(0), "it stops well");
}

fn serve(data: &Path) -> Process {
    serve_with(data, &[])
}

fn serve_with(data: &Path, settings: &[(&str, &str)]) -> Process {
    let server = Process::start_with(data, |command| {
        command.env("HCERT__SERVER__CONNECTIONS_MAX", crowd::CONNECTIONS_MAX).envs(settings.iter().copied());
    });
    // Searches answer once the index is there.
    server.client().get("/Composition?_count=0");
    server
}

fn run(mut command: Command) {
    let status = command.status().expect("the program was built");
    assert!(status.success(), "{command:?}: {status}");
}

fn path(path: &Path) -> &str {
    path.to_str().expect("the folders of a bench have names in UTF-8")
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn rate(count: u64, begun: Instant) -> f64 {
    count as f64 / begun.elapsed().as_secs_f64()
}
