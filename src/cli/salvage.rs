//! `hcert export --salvage`: what can still be read of a damaged store, without a server and without changing the data folder.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::output::{OpenOutput, OutputArguments, OutputTarget, suffixed};
use super::{Failure, open, say};
use crate::bulk;
use crate::config::Config;
use base::number::counted;
use base::regular_file;
use engine::{STORE_FILE, Salvage, Salvaged};

pub(super) const HELP: &str = "Write what can still be read of a damaged store; the server must be stopped

FILE gets the certificates of which every version can be read; `hcert import` takes it. FILE.incomplete gets what is left of the others, \
and FILE.report.json names what is lost; it is written last, so an empty one means that the salvage was cut off. --force replaces all \
three. Consents, patients and code lists are not part of an export; the report names closed consents. The \
data folder is not changed, so the audit trail does not record it. Exit codes: 0 every version was read, 3 something is lost or may be, 1 it could \
not be done.";

/// Writes the three files.
///
/// # Errors
/// It could not be done, or something is lost.
pub(super) fn salvage(out: &Path, force: bool, config: &Config) -> Result<(), Failure> {
    // Opening a FIFO waits for ever.
    let store = config.storage.data.join(STORE_FILE);
    regular_file::refuse(&store).map_err(|error| Failure::Wrong(format!("{}: {error}", store.display())))?;
    open::expect_store_alone(config).map_err(Failure::Failed)?;
    let (incomplete, report) = (suffixed(out, ".incomplete"), suffixed(out, ".report.json"));
    // All three before the first is made, and before a long reading.
    let target = |path: &Path| match (OutputArguments { out: Some(path.to_owned()), force }).target()? {
        OutputTarget::AsItIs(_) => {
            Err(Failure::Failed(format!("{}: --salvage writes three regular files; name a new one", path.display())))
        }
        target => Ok(target),
    };
    let (whole, left, told) = (target(out)?, target(&incomplete)?, target(&report)?);
    let problem =
        |error: &dyn std::fmt::Display| Failure::Failed(format!("{}: {error}", config.storage.data.display()));
    let mut salvage = Salvage::open(&config.storage.data).map_err(|error| problem(&error))?;
    match open::last_change_named(&config.storage.data) {
        Ok(Some(named)) => salvage.expect_until(named.0),
        Ok(None) => salvage.doubt_end("the audit trail is missing".to_owned()),
        Err(problem) => salvage.doubt_end(problem),
    }
    let (mut told, mut whole, mut left) = (told.open()?, whole.open()?, OnFirstWrite::Unopened(left));
    let done = bulk::salvage(&salvage, &mut whole, &mut left);
    let done = done.map_err(|error| whole.problem().or_else(|| left.problem()).unwrap_or(error));
    whole.finish(done)?;
    let has_left = left.finish()?;
    let found = salvage.report();
    let json = serde_json::to_vec_pretty(found).expect("texts and numbers have a JSON form");
    let written = told.write_all(&json).map_err(|error| error.to_string());
    told.finish(written)?;
    say(&in_words(found, out, has_left.then_some(&incomplete), &report))?;
    match found.is_whole() {
        true => Ok(()),
        false => Err(Failure::Wrong(format!("versions are lost, or may be; {} says which", report.display()))),
    }
}

/// A file that is made by the first write to it.
enum OnFirstWrite {
    Unopened(OutputTarget),
    Opened(OpenOutput),
}

impl OnFirstWrite {
    fn opened(&mut self) -> io::Result<&mut OpenOutput> {
        if let OnFirstWrite::Unopened(target) = self {
            *self = OnFirstWrite::Opened(target.open().map_err(|failure| io::Error::other(failure.to_string()))?);
        }
        match self {
            OnFirstWrite::Opened(output) => Ok(output),
            OnFirstWrite::Unopened(_) => unreachable!("it was opened above"),
        }
    }

    fn problem(&self) -> Option<String> {
        match self {
            OnFirstWrite::Opened(output) => output.problem(),
            OnFirstWrite::Unopened(_) => None,
        }
    }

    /// Ends the file; false where there is none. One that was to be replaced and has no content any more is removed.
    fn finish(self) -> Result<bool, Failure> {
        match self {
            OnFirstWrite::Opened(output) => output.finish(Ok(())).map(|_| true),
            OnFirstWrite::Unopened(OutputTarget::Replaced(path)) => fs::remove_file(&path)
                .map(|()| false)
                .map_err(|error| Failure::Failed(format!("{} cannot be removed: {error}", path.display()))),
            OnFirstWrite::Unopened(_) => Ok(false),
        }
    }
}

impl Write for OnFirstWrite {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.opened()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            OnFirstWrite::Opened(output) => output.flush(),
            OnFirstWrite::Unopened(_) => Ok(()),
        }
    }
}

/// `incomplete`: where what is left lies; none where nothing is.
fn in_words(found: &Salvaged, out: &Path, incomplete: Option<&PathBuf>, report: &Path) -> String {
    let mut words = format!(
        "{}; {}: {}\n",
        counted(found.versions, "version was read", "versions were read"),
        counted(found.certificates, "certificate is complete", "certificates are complete"),
        out.display()
    );
    if !found.incomplete.is_empty() {
        let lost: u64 = found.incomplete.values().flatten().map(|(first, last)| u64::from(last - first) + 1).sum();
        let left = incomplete.map_or("nothing".to_owned(), |file| file.display().to_string());
        words += &format!(
            "{} {}; what is left: {left}\n",
            counted(found.incomplete.len() as u64, "certificate has lost", "certificates have lost"),
            counted(lost, "version", "versions")
        );
    }
    for (versions, one, many) in [
        (
            &found.unconfirmed,
            "version is confirmed by no change: its number may be wrong; it is among what is left",
            "versions are confirmed by no change: their numbers may be wrong; they are among what is left",
        ),
        (
            &found.ambiguous,
            "version is there with several contents, none of them confirmed: it is left out",
            "versions are there with several contents, none of them confirmed: they are left out",
        ),
    ] {
        if !versions.is_empty() {
            words += &format!("{}\n", counted(versions.len() as u64, one, many));
        }
    }
    let unknown: u64 = found.changes_unknown.iter().map(|(first, last)| last - first + 1).sum();
    if unknown > 0 {
        words += &format!("nothing is known of {}\n", counted(unknown, "change", "changes"));
    }
    if !found.knows_all {
        words += "the newest versions may be lost without being named: the log of changes cannot be read to its end, or the audit trail, which names the last change, is missing or damaged\n";
    }
    if !found.closed.is_empty() {
        let closed = counted(found.closed.len() as u64, "certificate has", "certificates have");
        words += &format!("{closed} a closed consent, which an import does not set\n");
    }
    words + &format!("what is lost: {}\n", report.display())
}
