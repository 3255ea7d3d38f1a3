//! `hcert backup`: an archive of the data folder, through the running server where there is one.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::output::{missing_folder, no_folder};
use super::progress::Steps;
use super::{Common, Failure, disk_space, note, open, say};
use crate::backup::{
    self, Archive, ArchiveKeys, ArchiveProgress, ArchiveTarget, Base, Digest, Sealing, TakeOptions, Unfinished,
    WrittenArchive,
};
use crate::config::{Config, is_within};
use crate::interaction::changes;
use crate::socket::CommandRequest;
use base::number::counted;
use engine::{DAMAGED, system_clock};

/// Write everything the service keeps into an archive
///
/// The archive holds certificates with their history and consent, patients, code lists and the audit trail, all as of one change; a
/// running server goes on meanwhile. It is a tar file, its SHA-256 lies beside it. What it holds is health data: the file is for its
/// owner only, and where it is taken to is for you to guard. With the setting backup.recipients it is encrypted with age and signed.
#[derive(Args, Debug)]
pub(super) struct BackupArguments {
    /// A file that is not there yet, or a folder, in which the archive gets a name that tells time and changes
    #[arg(value_name = "FILE|DIR")]
    to: PathBuf,
    /// Only what is new since the newest archive in the folder
    #[arg(long, conflicts_with = "after")]
    incremental: bool,
    /// Only what is new since this archive
    #[arg(long, value_name = "ARCHIVE")]
    after: Option<PathBuf>,
    /// Tell the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

impl BackupArguments {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        let BackupArguments { to, incremental, after, json, common } = self;
        let config = common.load(|_| ())?;
        open::for_owner_only();
        let data = &config.storage.data;
        if to.as_os_str() == "-" {
            let told = "an archive gets its name when it is complete, so it cannot go to standard output; name a file or a folder";
            return Err(Failure::Usage(told.to_owned()));
        }
        if is_within(&to, data) {
            return Err(Failure::Usage(format!(
                "{}: an archive must not lie in the data folder ({}): one disk failure would lose both; name a place elsewhere, best on \
                 another disk",
                to.display(),
                data.display()
            )));
        }
        if incremental && !to.is_dir() {
            let told = format!("{}: --incremental needs a folder; --after names an archive", to.display());
            return Err(Failure::Usage(told));
        }
        if let Some(folder) = missing_folder(&to) {
            return Err(Failure::Failed(no_folder(&folder)));
        }
        backup::expect_target(&to).map_err(Failure::Failed)?;
        let sealing = Sealing::open(&config.backup.recipients, data).map_err(Failure::Failed)?;
        // Without an identity an encrypted archive is known by its label, which anybody can have written who has not signed it.
        let keys = ArchiveKeys::of_signer(sealing.as_ref().map(Sealing::signer));
        let base = match (incremental, after) {
            (true, _) => Some(newest(&to, &keys)),
            (false, Some(archive)) => Some(Archive::look(&archive, &keys)),
            (false, None) => None,
        };
        let base = base.transpose().map_err(Failure::Failed)?.map(|archive| archive.base());
        let target = if to.is_dir() { ArchiveTarget::Folder(to) } else { ArchiveTarget::File(to) };
        let written = take(target, base, sealing, &config).map_err(Failure::Failed)?;
        say(&(if json { as_json(&written) } else { in_words(&written) } + "\n"))?;
        match written.trail.as_slice() {
            [] => Ok(()),
            problems => Err(Failure::Wrong(format!(
                "the archive is whole, but the audit trail in it is not as it was written:\n{}",
                problems.join("\n")
            ))),
        }
    }
}

fn newest(folder: &Path, keys: &ArchiveKeys) -> Result<Archive, String> {
    let chain = backup::newest_in(folder, None, keys, &mut |problem| note(problem));
    let chain = chain.map_err(|problem| format!("{problem}; take a full backup first"))?;
    Ok(chain.into_iter().next_back().expect("a chain has a full archive"))
}

fn take(
    target: ArchiveTarget,
    base: Option<Base>,
    sealing: Option<Sealing>,
    config: &Config,
) -> Result<WrittenArchive, String> {
    let recipients = sealing.as_ref().map(Sealing::recipients);
    let (ArchiveTarget::Folder(place) | ArchiveTarget::File(place)) = &target;
    let place = place.clone();
    let of_archive = |problem| disk_space::named(problem, &place, || disk_space::of_backup(config));
    let mut archive = Unfinished::begin(target, sealing).map_err(of_archive)?;
    let mut steps = Steps::new("changes");
    let mut report = |progress: ArchiveProgress| {
        let ArchiveProgress { changes, changes_total, patients, patients_total, .. } = progress;
        steps.show(changes + patients, changes_total + patients_total);
    };
    let done = fill(&mut archive, base.as_ref(), recipients, config, &mut report);
    steps.finish();
    match done {
        Ok(()) => archive.finish().map_err(of_archive),
        Err(problem) if archive.has_failed() => Err(of_archive(problem)),
        Err(problem) => Err(disk_space::named(problem, &config.storage.data, disk_space::of_trail)),
    }
}

/// Writes the members, through the running server where there is one.
fn fill(
    archive: &mut Unfinished,
    base: Option<&Base>,
    recipients: Option<Digest>,
    config: &Config,
    report: &mut dyn FnMut(ArchiveProgress),
) -> Result<(), String> {
    let request = CommandRequest::Backup { base: base.cloned().map(Box::new), recipients };
    if let Some(server) = open::ask(config, &request)? {
        return server.receive_backup(archive, report);
    }
    let engine = open::look(config)?;
    if recipients.is_none() {
        expect_plain(&config.storage.data)?;
    }
    let at = system_clock()();
    let taking = TakeOptions { base, recipients, command: "hcert backup", at, is_gentle: false };
    let trail = match open::untold(config, taking.command) {
        true => None,
        false => match open::trail(config, &engine) {
            Ok(trail) => Some(trail),
            // An archive of a store that lacks changes would be restored as one that has all.
            Err(problem) if problem.contains(DAMAGED) => return Err(problem),
            // A trail that nothing can be written behind keeps nobody from the rest.
            Err(problem) => {
                note(format_args!("the audit trail cannot tell that {} was run: {problem}", taking.command));
                None
            }
        },
    };
    if trail.is_none()
        && let Ok(Some(named)) = open::last_change_named(&config.storage.data)
    {
        changes::expect_changes(&engine, named)?;
    }
    match trail {
        Some(trail) => backup::take(&engine, &trail, &taking, archive, report).map(drop),
        None => backup::take_at_rest(&engine, &config.storage.data, &taking, archive, report).map(drop),
    }
}

/// Whether nobody encrypted archives of a stopped folder so far. A server that runs says itself what its settings want.
///
/// # Errors
/// Somebody did, in words for the person at the terminal.
fn expect_plain(data: &Path) -> Result<(), String> {
    let key = data.join(backup::SIGNING_KEY_FILE);
    match key.try_exists() {
        Ok(false) => Ok(()),
        _ => Err(format!(
            "no archive is taken: those of {} were encrypted so far, and the settings of this command have no backup.recipients; name the \
             settings of the server with --config, or move {} away to take plain ones",
            data.display(),
            key.display()
        )),
    }
}

fn in_words(written: &WrittenArchive) -> String {
    let WrittenArchive { path, about, bytes, digest, signer, .. } = written;
    let signed = signer.map_or_else(String::new, |signer| format!("\nencrypted, and signed by {signer}"));
    let (changes, patients) = (about.until - about.after, about.patients_until - about.patients_after);
    let kind = if about.is_full() { "full" } else { "incremental" };
    format!(
        "{}\n{kind}: {} up to change {}, {}, {bytes} bytes\nsha256 {digest}{signed}",
        path.display(),
        counted(changes, "change", "changes"),
        about.until,
        counted(patients, "entry of the register", "entries of the register")
    )
}

fn as_json(written: &WrittenArchive) -> String {
    let WrittenArchive { path, about, bytes, digest, signer, trail } = written;
    let told = json!({
        "archive": path,
        "full": about.is_full(),
        "store": about.store,
        "epoch": about.epoch,
        "after": about.after,
        "until": about.until,
        "patientsAfter": about.patients_after,
        "patientsUntil": about.patients_until,
        "bytes": bytes,
        "sha256": digest,
        "signedBy": signer.map(|signer| signer.to_string()),
        "trail": trail,
    });
    told.to_string()
}
