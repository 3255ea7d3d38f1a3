//! What a year adds to the disk: the table of `docs/OPERATIONS.md`, held against a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::Place;
use super::process::Process;

/// Versions of the corpus are far more than what makes up for the pages that a small store takes for itself.
const CERTIFICATES: u32 = 10_000;
const REQUESTS: usize = 1_000;
/// Bytes that a store has for itself, whatever is in it.
const OWN_BYTES: u64 = 1 << 20;

/// Bytes for each, by the row of the table.
fn planned() -> BTreeMap<String, u64> {
    let page = include_str!("../../docs/OPERATIONS.md");
    let (_, table) = page.split_once("### Volumes of a year").expect("the section");
    let rows =
        table.lines().skip_while(|line| !line.starts_with("|---")).skip(1).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        (cells[1].to_owned(), cells[2].replace(' ', "").parse().expect("a number of bytes"))
    };
    rows.map(row).collect()
}

fn bytes_below(path: &Path) -> u64 {
    let entries = fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.map(|path| if path.is_dir() { bytes_below(&path) } else { on_disk(&path) }).sum()
}

/// Holes do not count.
fn on_disk(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(&fs::metadata(path).expect("a file")) * 512
}

/// What was measured is what is planned, or less, and half of it at least.
#[track_caller]
fn holds(what: &str, planned: &BTreeMap<String, u64>, count: u64, measured: u64) {
    let planned = planned[what] * count;
    let each = measured as f64 / count as f64;
    assert!(measured <= planned, "{what}: {each:.0} bytes each, more than the table says");
    assert!(measured * 2 >= planned, "{what}: {each:.0} bytes each, less than half of what the table says");
}

#[test]
fn a_year_adds_what_the_page_for_operators_says() {
    let (place, planned) = (Place::new(), planned());
    let corpus = place.corpus(CERTIFICATES, 5);
    let versions = corpus.iter().filter(|byte| **byte == b'\n').count() as u64;
    fs::write(place.path("corpus.ndjson"), corpus).unwrap();
    place.run(&["import", "corpus.ndjson", "--data", "data"]).expect(0);
    let data = place.path("data");
    let stored = on_disk(&data.join("store.redb")) + bytes_below(&data.join("index"));
    holds("store and index", &planned, versions, stored - OWN_BYTES);
    place.run(&["backup", "full.tar", "--data", "data"]).expect(0);
    holds("a full archive", &planned, versions, on_disk(&place.path("full.tar")));

    let written = || {
        let newest = fs::read(data.join("audit/00000001.log")).expect("a file of the trail");
        newest.iter().rposition(|byte| *byte != 0).unwrap_or(0) as u64
    };
    let server = Process::start_with(&data, |command| {
        command.env("HCERT__LOG__LEVEL", "info");
    });
    let token = place
        .run(&["token", "--role", "doctor", "--person", "37605030299", "--data", "data"])
        .expect(0)
        .text()
        .trim()
        .to_owned();
    let before = written();
    let mut client = server.client();
    for number in 0..REQUESTS {
        let path = match number % 4 {
            0 => "/Composition?category=driver-group-I&status=final&_count=5".to_owned(),
            _ => format!("/Composition/{}", number + 1),
        };
        let told = client.send("GET", &path, &[&format!("Authorization: Bearer {token}")], b"").expect("an answer");
        assert!(matches!(told.status, 200 | 410), "{path}: {}", told.text());
    }
    assert!(server.stop().success());
    let log = fs::read(data.with_extension("log")).expect("the log").len() as u64;
    holds("log, level info", &planned, REQUESTS as u64, log);
    holds("audit trail, file being written", &planned, REQUESTS as u64, written() - before);
}
