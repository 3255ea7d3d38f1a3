//! `hcert export --salvage`: what can still be read of a damaged store, without a server and without changing the data folder.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::{Failure, open, say};
use crate::bulk;
use crate::config::Config;
use crate::engine::{Salvage, Salvaged};

pub const HELP: &str = "Write what can still be read of a damaged store; the server must be stopped

FILE gets the certificates of which every version can be read; `hcert import` takes it. FILE.incomplete gets what is left of the others, \
and FILE.report.json names what is lost. Consents, patients and code lists are not part of an export; the report names closed consents. The \
data folder is not changed, so the audit trail does not record it. Exit codes: 0 every version was read, 3 something is lost, 1 it could \
not be done.";

/// Writes the three files.
///
/// # Errors
/// It could not be done, or something is lost.
pub fn salvage(out: &Path, config: &Config) -> Result<(), Failure> {
    open::expect_store(config).map_err(Failure::Failed)?;
    let (incomplete, report) = (beside(out, ".incomplete"), beside(out, ".report.json"));
    // All three before the first is made, and before a long reading.
    for path in [out, &incomplete, &report] {
        if path.symlink_metadata().is_ok() {
            return Err(Failure::Failed(format!("{}: File exists; name another file", path.display())));
        }
    }
    let told = |error: &dyn std::fmt::Display| Failure::Failed(format!("{}: {error}", config.storage.data.display()));
    let salvage = Salvage::open(&config.storage.data).map_err(|error| told(&error))?;
    let mut report_file = new(&report).map_err(Failure::Failed)?;
    let mut whole = new(out).map_err(Failure::Failed)?;
    bulk::salvage(&salvage, &mut whole, &mut || new(&incomplete)).map_err(Failure::Failed)?;
    let found = salvage.report();
    let json = serde_json::to_string_pretty(found).expect("texts and numbers have a JSON form");
    let written = report_file.write_all(json.as_bytes()).and_then(|()| report_file.flush());
    written.map_err(|error| Failure::Failed(format!("{}: {error}", report.display())))?;
    say(&in_words(found, out, &incomplete, &report))?;
    match found.is_whole() {
        true => Ok(()),
        false => Err(Failure::Wrong(format!("versions are lost; {} names them", report.display()))),
    }
}

fn beside(out: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(out);
    name.push(suffix);
    name.into()
}

/// A new file; one that is there is never written over.
fn new(path: &Path) -> Result<BufWriter<File>, String> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.map(BufWriter::new).map_err(|error| format!("{}: {error}", path.display()))
}

fn in_words(found: &Salvaged, out: &Path, incomplete: &Path, report: &Path) -> String {
    let mut words = format!(
        "{} versions were read; {} certificates are complete: {}\n",
        found.versions,
        found.certificates,
        out.display()
    );
    if !found.incomplete.is_empty() {
        let lost: u64 = found.incomplete.values().flatten().map(|(first, last)| u64::from(last - first) + 1).sum();
        let (count, file) = (found.incomplete.len(), incomplete.display());
        words += &format!("{count} certificates have lost {lost} versions; what is left of them: {file}\n");
    }
    for (versions, problem) in [
        (
            &found.unconfirmed,
            "versions are confirmed by no change: their numbers may be wrong; they are among what is left",
        ),
        (&found.ambiguous, "versions are there with several contents, none of them confirmed: they are left out"),
    ] {
        if !versions.is_empty() {
            words += &format!("{} {problem}\n", versions.len());
        }
    }
    let unknown: u64 = found.changes_unknown.iter().map(|(first, last)| last - first + 1).sum();
    if unknown > 0 {
        words += &format!("nothing is known of {unknown} changes\n");
    }
    if !found.knows_all {
        words += "the log of changes cannot be read to its end: the newest versions may be lost without being named\n";
    }
    if !found.closed.is_empty() {
        words += &format!("{} certificates have a closed consent, which an import does not set\n", found.closed.len());
    }
    words + &format!("what is lost: {}\n", report.display())
}
