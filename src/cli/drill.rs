//! `hcert drill`: a restore that is practised, with its time taken.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use super::restore::{changed, expect_trail, indexed, restored};
use super::{Common, Failure, open, say, verify};
use crate::backup::{self, ArchiveKeys, Signer};
use crate::config::{Config, is_within};
use engine::system_clock;

/// Practise a restore: how long it takes, and how much would be lost
///
/// The newest archives are restored into a folder of their own, opened until searches are answered, checked as hcert verify does, and
/// removed. Nothing else is touched, and a running service goes on.
///
/// By a timer, an hour and a day at most:  hcert drill --rto 3600 --rpo 86400
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(super) struct DrillArguments {
    /// A full archive and those that go on from it, or a folder, whose newest chain is taken [default: backup.folder]
    #[arg(value_name = "ARCHIVE|DIR")]
    archives: Vec<PathBuf>,
    /// Folder to restore into; must be empty or not there, and is removed afterwards
    #[arg(long, value_name = "DIR", default_value = "hcert-drill-data")]
    scratch: PathBuf,
    /// The file with the identity that opens encrypted archives, as age-keygen writes it; - reads standard input; may be given more than once
    #[arg(long, value_name = "FILE")]
    identity: Vec<PathBuf>,
    /// Take only archives that were signed by this key, as "hcert backup" prints it
    #[arg(long, value_name = "KEY", requires = "identity")]
    signed_by: Option<Signer>,
    /// Exit code 1 if a restore takes longer, in seconds
    #[arg(long, value_name = "SECONDS")]
    rto: Option<u64>,
    /// Exit code 1 if the newest archive is older, in seconds
    #[arg(long, value_name = "SECONDS")]
    rpo: Option<u64>,
    /// Tell the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

/// What a drill came to.
struct DrillResult {
    changes: u64,
    archives: usize,
    restored: Duration,
    searchable: Duration,
    verified: Duration,
    /// How old the newest archive is.
    age: Duration,
}

impl DrillArguments {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        let DrillArguments { archives, scratch, identity, signed_by, rto, rpo, json, common } = self;
        let mut config = common.load(|_| ())?;
        open::for_owner_only();
        let archives = match (archives.is_empty(), &config.backup.folder) {
            (false, _) => archives,
            (true, Some(folder)) => vec![folder.clone()],
            (true, None) => {
                let told = "backup.folder is not set, so name the archives or their folder";
                return Err(Failure::Usage(told.to_owned()));
            }
        };
        if is_within(&scratch, &config.storage.data) {
            let told = "a drill does not touch the data folder; name another --scratch";
            return Err(Failure::Usage(format!("{}: {told}", scratch.display())));
        }
        let keys = ArchiveKeys::read(&identity, signed_by).map_err(Failure::Usage)?;
        if let Some(problem) = backup::closed(&archives, &keys) {
            return Err(Failure::Usage(problem));
        }
        let scratch = ScratchFolder::take(scratch).map_err(Failure::Failed)?;
        config.storage.data.clone_from(&scratch.0);
        let result = drilled(&archives, &keys, &config)?;
        say(&result.told(json))?;
        let limit = |name: &str, took: Duration, limit: Option<u64>| match limit {
            Some(limit) if took > Duration::from_secs(limit) => {
                Err(Failure::Failed(format!("{name} is {}, more than the {limit} s that are allowed", words(took))))
            }
            _ => Ok(()),
        };
        limit("RTO", result.rto(), rto)?;
        limit("RPO", result.age, rpo)
    }
}

/// Restores, opens and checks.
fn drilled(archives: &[PathBuf], keys: &ArchiveKeys, config: &Config) -> Result<DrillResult, Failure> {
    let start = Instant::now();
    let done = restored(archives, None, false, keys, config)?;
    let restored = start.elapsed();
    indexed(config).map_err(Failure::Failed)?;
    let searchable = start.elapsed() - restored;
    let start = Instant::now();
    let (found, _) = verify::verify(config, &[]).map_err(Failure::Failed)?;
    let verified = start.elapsed();
    if !found.is_whole() {
        return Err(Failure::Wrong(
            "what was restored is not as it was written; `hcert restore --check` names it".to_owned(),
        ));
    }
    let (archives, trail) = done.restored.map(|done| (done.archives, done.trail)).unwrap_or_default();
    expect_trail("the audit trail that was restored", &trail)?;
    let age = system_clock()().saturating_sub(done.taken_at);
    let age = Duration::from_millis(u64::try_from(age).unwrap_or(0));
    Ok(DrillResult { changes: done.until, archives, restored, searchable, verified, age })
}

impl DrillResult {
    /// From nothing to a service that answers.
    fn rto(&self) -> Duration {
        self.restored + self.searchable
    }

    fn told(&self, json: bool) -> String {
        let DrillResult { changes, archives, restored, searchable, verified, age } = self;
        if json {
            let told = json!({
                "archives": archives,
                "changes": changes,
                "restored_s": restored.as_secs_f64(),
                "searchable_s": searchable.as_secs_f64(),
                "verified_s": verified.as_secs_f64(),
                "rto_s": self.rto().as_secs_f64(),
                "rpo_s": age.as_secs_f64(),
            });
            return told.to_string() + "\n";
        }
        format!(
            "restored  {} in {}\nsearches  answered after {} more\nverified  whole, in {}\n\
             RTO       {}: from an empty folder to a service that answers\n\
             RPO       {}: what was written since the newest archive would be lost\n",
            changed(*changes),
            words(*restored),
            words(*searchable),
            words(*verified),
            words(self.rto()),
            words(*age)
        )
    }
}

/// A time as people say it.
fn words(time: Duration) -> String {
    match time.as_secs() {
        0..120 => format!("{:.1} s", time.as_secs_f64()),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds @ 7_200..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// A folder that was empty when it was taken, and is removed in the end.
struct ScratchFolder(PathBuf);

impl ScratchFolder {
    fn take(path: PathBuf) -> Result<ScratchFolder, String> {
        match fs::read_dir(&path).map(|entries| entries.count()) {
            Ok(0) => Ok(ScratchFolder(path)),
            Ok(_) => Err(format!("{}: it is not empty; name another --scratch", path.display())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(ScratchFolder(path)),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

/// What cannot be removed is named, since it holds health data.
fn remove(path: &Path) {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            super::note(format_args!("{}: {error}; remove it, it holds health data", path.display()));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_in_the_unit_that_fits() {
        let said = |seconds: u64| words(Duration::from_millis(seconds * 1_000));
        assert_eq!(
            [0, 119, 120, 7_199, 7_200, 172_799, 172_800].map(said),
            ["0.0 s", "119.0 s", "2 min", "119 min", "2 h", "47 h", "2 days"]
        );
    }
}
