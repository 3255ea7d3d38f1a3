//! Certificates for the folder of a run.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use crate::process::hcert;
use crate::{path, run};

/// Ids of what is imported later begin behind this.
const MORE_FROM: u64 = 100_000_000;

/// Makes the data folder.
pub(crate) fn fill(folder: &Path, data: &Path, count: u64) {
    let file = folder.join("fill.ndjson");
    run(hcert(&["generate", "--count", &count.to_string(), "--out", path(&file)]));
    run(hcert(&["import", path(&file), "--data", path(data)]));
    std::fs::remove_file(&file).expect("it was made just now");
}

/// Writes certificates that are not there yet: of another seed, with ids of their own.
pub(crate) fn more(out: &Path, count: u64) {
    let made = out.with_extension("made");
    let seed = std::time::UNIX_EPOCH.elapsed().map_or(2, |now| now.as_secs());
    run(hcert(&["generate", "--count", &count.to_string(), "--seed", &seed.to_string(), "--out", path(&made)]));
    let lines = BufReader::new(File::open(&made).expect("it was made just now")).lines();
    let mut out = BufWriter::new(File::create(out).expect("the folder can be written"));
    for line in lines {
        let line = line.expect("it was written as text");
        // A deletion has no resource.
        let place = line.split_once("\"fullUrl\":\"Composition/").and_then(|(_, rest)| rest.split('"').next());
        let id = place.expect("an entry says which certificate it is about");
        let moved = MORE_FROM + (seed % 1_000_000) * 1_000_000 + id.parse::<u64>().expect("ids are numbers");
        let line = line.replacen(&format!("\"id\":\"{id}\""), &format!("\"id\":\"{moved}\""), 1);
        let line = line.replace(&format!("\"Composition/{id}\""), &format!("\"Composition/{moved}\""));
        writeln!(out, "{line}").expect("the folder can be written");
    }
    out.flush().expect("the folder can be written");
    std::fs::remove_file(&made).expect("it was made just now");
}
