//! `hcert bench` as people use it: it comes to its end, tells what it found, and leaves nothing behind however it ends.

mod process;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use process::{Process, eventually, hcert, wait};
use serde_json::Value;

/// A temporary folder that a bench runs in.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = hcert(&[&["bench"], arguments].concat());
        command.current_dir(self.0.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.command(arguments).output().unwrap())
    }

    /// Names of what lies here.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Ids of the processes that work here.
    fn processes(&self) -> Vec<String> {
        let here = fs::canonicalize(self.0.path()).unwrap();
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let inside =
            entries.filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&here)));
        inside.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    fn json(&self, file: &str) -> Value {
        serde_json::from_slice(&fs::read(self.path(file)).unwrap()).unwrap()
    }
}

struct Ran {
    code: Option<i32>,
    out: String,
    said: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code(), out: text(output.stdout), said: text(output.stderr) }
    }
}

impl Ran {
    #[track_caller]
    fn expect(&self, code: i32) -> &Ran {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.said);
        self
    }

    #[track_caller]
    fn says(&self, words: &str) -> &Ran {
        assert!(self.said.contains(words), "{words:?} is not said: {}", self.said);
        self
    }
}

const RESULTS: [&str; 3] = ["bench.json", "bench.md", "latency.svg"];

#[test]
fn a_bench_of_all_scenarios_comes_to_its_end_and_leaves_its_results_and_nothing_else() {
    let place = Place::new();
    let ran = place.run(&["--count", "200", "--seconds", "0.1"]);
    ran.expect(0);
    assert_eq!(place.names(), RESULTS);
    assert_eq!(place.processes(), [""; 0]);
    assert_eq!(ran.said, "", "a bar is for terminals");

    let report = place.json("bench.json");
    assert!(report["machine"]["cores"].as_u64() >= Some(1));
    let size = &report["sizes"][0];
    assert_eq!((size["certificates"].as_u64(), size["problems"].as_array().map(Vec::len)), (Some(200), Some(0)));
    assert!(
        size["disk"]["payload_bytes"].as_u64() > Some(0) && size["import"]["versions_per_second"].as_f64() > Some(0.0)
    );
    let rows = size["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 30);
    let text = fs::read_to_string(place.path("bench.md")).unwrap();
    let svg = fs::read_to_string(place.path("latency.svg")).unwrap();
    let svg = roxmltree::Document::parse(&svg).unwrap();
    for row in rows {
        let title = row["title"].as_str().unwrap();
        assert!(row["requests"].as_u64() > Some(0), "{row}");
        assert_eq!((row["errors"].as_u64(), row["misses"].as_u64()), (Some(0), Some(0)), "{row}");
        assert!(row["p50_us"].as_f64() <= row["p99_us"].as_f64() && row["p50_us"].as_f64() > Some(0.0), "{row}");
        assert!(row["name"] == "mixed" || row["name"] == "pdf" || row["ratio"]["median"].as_f64() > Some(0.0), "{row}");
        let is_one = row["name"].as_str().unwrap().ends_with("-all");
        assert!(row["distinct"].as_u64() > Some(1) || is_one, "one thing is not asked for again and again: {row}");
        assert!(ran.out.contains(title) && text.contains(&format!("| {title} |")), "{title}");
        assert!(svg.descendants().any(|node| node.has_tag_name("text") && node.text() == Some(title)), "{title}");
    }
    // A file system in memory has no counter, and says so.
    for row in rows.iter().filter(|row| row["name"].as_str().unwrap().starts_with("create-")) {
        assert!(row["device"]["creates"].as_u64() > Some(0) || row["note"].is_string(), "{row}");
    }
    assert!(size["late_import_seconds"].as_f64() > Some(0.0));
    assert!(
        text.contains("| What | Goal | Reached |") && ran.out.contains("goals, at 200 certificates"),
        "{}",
        ran.out
    );
    let restart = &size["restart"];
    assert!(restart["acknowledged"].as_u64() > Some(0) && restart["lost"] == 0, "{restart}");
    assert!(restart["memory_idle"]["anonymous"].as_u64() > Some(0), "{restart}");
}

#[test]
fn sizes_are_compared_and_an_empty_folder_is_used_and_stays_empty() {
    let place = Place::new();
    fs::create_dir(place.path("scratch")).unwrap();
    let only = ["--only", "read,dense-page-1000,create-1", "--seconds", "0.1", "--set", "storage.quick_repair=on"];
    let ran = place.run(&[&["--count", "300,100", "--data", "scratch", "--out", "results"], &only[..]].concat());
    ran.expect(0);
    assert_eq!(place.names(), ["results", "scratch"]);
    assert!(fs::read_dir(place.path("scratch")).unwrap().next().is_none());
    let report = place.json("results/bench.json");
    assert_eq!(report["settings"][0][1], "on");
    let sizes = report["sizes"].as_array().unwrap();
    let counts: Vec<u64> = sizes.iter().map(|size| size["certificates"].as_u64().unwrap()).collect();
    assert_eq!(counts, [100, 300]);
    let names: Vec<&str> =
        sizes[1]["rows"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["read", "dense-page-1000", "create-1"]);
    assert!(sizes[1]["rows"][0]["growth"].as_f64() > Some(0.0));
    let dense = &sizes[1]["rows"][1];
    assert!(dense["note"].as_str().unwrap().contains("the last there is") && dense["growth"].is_null(), "{dense}");
    assert!(fs::read_to_string(place.path("results/bench.md")).unwrap().contains("Times the cost at 100 certificates"));

    let again = ["--count", "100", "--seconds", "0.05", "--only", "read", "--compare", "results/bench.json", "--keep"];
    let ran = place.run(&again);
    assert!(ran.expect(0).out.contains("| 100 | read | ") && ran.out.contains("kept: hcert-bench-data"));
    assert!(place.path("hcert-bench-data/100/data/store.redb").exists(), "it was to be kept");
    assert!(fs::read_to_string(place.path("bench.md")).unwrap().contains("## Beside an earlier run"));
}

#[test]
fn what_cannot_be_done_is_refused_in_clear_words_before_anything_is_begun() {
    let place = Place::new();
    fs::create_dir(place.path("full")).unwrap();
    fs::write(place.path("full/mine"), "text").unwrap();
    for (arguments, code, words) in [
        (&["--count", "0"][..], 2, "at least one certificate"),
        (&["--count", "ten"], 2, "'ten' is not a number of certificates"),
        (&["--count", "1k,-3"], 2, "'-3'"),
        (&["--count", "1.5k"], 2, "'1.5k' is not a number of certificates"),
        (&["--count", "100M"], 1, "MB free"),
        (&["--clients", "0"], 2, "--clients"),
        (&["--seconds", "0"], 2, "from 0.05 to 3600"),
        (&["--seconds", "nan"], 2, "from 0.05 to 3600"),
        (&["--only", "read,reed"], 2, "'reed' is no scenario; there are: read, vread"),
        (&["--data", "full"], 2, "holds something already and is left as it is"),
        (&["--data", "full/mine"], 2, "full/mine"),
        (&["--data", "missing/scratch"], 2, "missing/scratch"),
        (&["--out", "full/mine"], 2, "is no folder"),
        (&["--out", "missing/results"], 2, "missing is not there"),
        (&["--compare", "full/mine"], 2, "is no bench.json"),
        (&["--compare", "missing.json"], 2, "--compare missing.json: No such file"),
        (&["--set", "quick_repair=on"], 2, "KEY=VALUE"),
        (&["--set", "storage.quick_repair=maybe"], 2, "QUICK_REPAIR"),
        (&["--set", "storage.quickrepair=on"], 2, "there is no setting"),
        (&["--against", "https://127.0.0.1/fhir", "--count", "1k"], 2, "only http"),
        (&["--against", "127.0.0.1", "--count", "1k"], 2, "must begin with http://"),
        (&["--against", "http://127.0.0.1:9/fhir"], 2, "one number of certificates"),
        (&["--against", "http://127.0.0.1:9/fhir", "--count", "1k"], 1, "127.0.0.1:9 cannot be reached"),
    ] {
        place.run(arguments).expect(code).says(words);
        assert_eq!(place.names(), ["full"], "{arguments:?}");
        assert_eq!(fs::read_to_string(place.path("full/mine")).unwrap(), "text");
    }
}

#[test]
fn ctrl_c_at_any_moment_leaves_nothing_behind() {
    for after in [5, 150, 400, 1_000, 2_500] {
        let place = Place::new();
        let mut command = place.command(&["--count", "2k", "--seconds", "60"]);
        hear_interrupts(&mut command);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        thread::sleep(Duration::from_millis(after));
        interrupt(child.id());
        let status = wait(&mut child);
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        // Before it listens to signals, the first one simply ends it.
        assert!(status.code() == Some(1) || (status.code().is_none() && said.is_empty()), "{status} {said}");
        assert!(status.code().is_none() || said.contains("stopped; nothing is left behind"), "{said}");
        assert_eq!(place.names(), [""; 0], "after {after} ms");
        eventually("no process is left", || place.processes().is_empty());
    }
}

#[test]
fn processes_of_a_bench_that_is_killed_end_with_it() {
    let place = Place::new();
    let mut command = place.command(&["--count", "200", "--seconds", "60"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("p99.9")), "the table begins once the servers run");
    assert!(place.processes().len() > 2);
    child.kill().unwrap();
    wait(&mut child);
    eventually("no process is left", || place.processes().is_empty());
    place.run(&["--count", "200"]).expect(2).says("a bench that was killed left it");
}

#[test]
fn a_full_disk_is_told_and_nothing_stays() {
    let place = Place::new();
    // A bound on the size of files is met like the end of a disk. In blocks of 512 bytes.
    let program = env!("CARGO_BIN_EXE_hcert");
    let line = format!("trap '' XFSZ; ulimit -f 1500; exec '{program}' bench --count 5k --seconds 0.1");
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).current_dir(place.0.path()).stdin(Stdio::null());
    Ran::from(shell.output().unwrap()).expect(1).says("the import failed").says("File too large");
    assert_eq!(place.names(), [""; 0]);
    assert_eq!(place.processes(), [""; 0]);
}

#[test]
fn another_server_is_driven_with_the_same_scenarios() {
    let place = Place::new();
    let server = Process::start(&place.path("data"));
    let url = format!("http://{}/fhir", server.address);
    let known = "hcert generate --patients --count 50100 --seed 1 | hcert patients import -";
    let refused = place.run(&["--against", &url, "--count", "100"]);
    refused.expect(1).says("HCERT-008").says(&format!("must know Patient/1000 to Patient/11019: {known}"));
    assert_eq!(refused.said.lines().count(), 1, "{}", refused.said);
    know_patients(&place);
    for _ in 0..2 {
        // The second run meets what the first one left there.
        let ran = place.run(&["--against", &url, "--count", "100", "--seconds", "0.1", "--out", "results"]);
        ran.expect(0);
        let report = place.json("results/bench.json");
        assert_eq!(report["against"], url);
        let rows = report["sizes"][0]["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 24);
        for row in rows {
            assert!(row["requests"].as_u64() > Some(0) && row["not_offered"].is_null(), "{row}");
            assert!(row["cpu_us"].is_null(), "{row}");
        }
    }
    assert_eq!(place.names(), ["data", "data.log", "patients.ndjson", "results"], "no scratch folder is made");
    assert_eq!(server.stop().code(), Some(0));
}

/// Imports the patients of a bench of 100 certificates into the server that runs over the folder `data`.
fn know_patients(place: &Place) {
    for arguments in [
        &["generate", "--patients", "--count", "50100", "--seed", "1", "--out", "patients.ndjson"][..],
        &["patients", "import", "patients.ndjson", "--data", "data"],
    ] {
        Ran::from(hcert(arguments).current_dir(place.0.path()).output().unwrap()).expect(0);
    }
}

#[test]
fn what_another_server_does_not_offer_is_shown_so_and_fails_nothing() {
    let place = Place::new();
    let url = plain_server();
    let ran = place.run(&["--against", &url, "--count", "30", "--seconds", "0.05", "--clients", "2"]);
    ran.expect(0);
    let report = place.json("bench.json");
    for row in report["sizes"][0]["rows"].as_array().unwrap() {
        let offered = row["requests"].as_u64() > Some(0);
        let name = row["name"].as_str().unwrap();
        assert_eq!(offered, matches!(name, "read" | "create-1" | "create-64"), "{row}");
        assert_eq!(offered, row["not_offered"].is_null(), "{row}");
    }
    let elsewhere = place.run(&["--against", &format!("{url}/nowhere"), "--count", "30"]);
    elsewhere.expect(1).says("is no FHIR base address");
}

/// A server that knows how to create and to read and nothing else.
fn plain_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/base", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            thread::spawn(move || while answer(&mut BufReader::new(&stream)).is_some() {});
        }
    });
    url
}

/// One request of a client that waits for its answer.
fn answer(stream: &mut BufReader<&std::net::TcpStream>) -> Option<()> {
    let mut line = String::new();
    stream.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
    let (mut header, mut length) = (String::new(), 0);
    while header != "\r\n" {
        header.clear();
        stream.read_line(&mut header).ok()?;
        length = header.strip_prefix("Content-Length: ").map_or(length, |length| length.trim().parse().unwrap());
    }
    stream.read_exact(&mut vec![0; length]).ok()?;
    let path = line.split(' ').nth(1)?;
    let (status, location) = match (line.split(' ').next()?, path) {
        ("GET", "/base/metadata") => ("200 OK", ""),
        ("POST", "/base/Composition") => ("201 Created", "Location: http://other/Composition/abc-1/_history/1\r\n"),
        ("GET", "/base/Composition/abc-1") => ("200 OK", ""),
        _ => ("400 Bad Request", ""),
    };
    let text = format!("HTTP/1.1 {status}\r\n{location}Content-Length: 2\r\n\r\n{{}}");
    stream.get_mut().write_all(text.as_bytes()).ok()
}

/// A shell that runs the tests in its background has them ignore SIGINT, and their children with them: one that came before the bench
/// listens would be lost.
fn hear_interrupts(command: &mut Command) {
    // SAFETY: between fork and exec only async-signal-safe functions may be called, which `signal` is.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
}

/// SIGINT to the bench alone: on a terminal its processes get none either, since they have groups of their own.
fn interrupt(id: u32) {
    let sent = Command::new("kill").args(["-INT", &id.to_string()]).status().unwrap();
    assert!(sent.success(), "the bench had ended already");
}

#[test]
fn help_tells_a_stranger_what_is_measured() {
    let ran = Place::new().run(&["--help"]);
    ran.expect(0);
    for words in [
        "--count <N,...>",
        "--against <URL>",
        "--only <NAME,...>",
        "--seconds <S>",
        "scratch folder",
        "[default: 1k,10k,100k]",
    ] {
        assert!(ran.out.contains(words), "{words}\n{}", ran.out);
    }
    assert!(!Path::new("hcert-bench-data").exists());
}
