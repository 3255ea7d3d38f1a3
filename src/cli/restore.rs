//! `hcert restore`: a data folder made of archives.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::progress::Steps;
use super::{Common, Failure, disk_space, note, open, say};
use crate::audit::AuditAction;
use crate::backup::{
    self, Archive, ArchiveKeys, ArchiveProgress, CheckedArchives, ContinuedFolder, JudgedChain, RestoreOptions,
    Restored, Signer, StrayArchive, Survey,
};
use crate::bulk;
use crate::config::{Config, exposure};
use crate::interaction::changes;
use base::number::counted;
use engine::{RestoredStore, system_clock};
use fhir::date_time;

/// Make a data folder of archives, or check archives
///
/// The folder (storage.data) must be empty or absent, or with --onto behind the archives, and no server may use it. Archives are
/// read as a whole before anything is written. The restored store answers as the other one did at the change it is restored to; it
/// counts as a new epoch, so that the next backup is a full one, and no id is used again. The search index is built last.
#[derive(Args, Debug)]
pub(super) struct RestoreArguments {
    /// A full archive and those that go on from it, in any order; or a folder, whose newest chain is taken
    #[arg(value_name = "ARCHIVE|DIR", required = true)]
    archives: Vec<PathBuf>,
    /// Restore certificates only up to this change, or up to the last one that was made by this time: a date as a whole, Estonian time
    /// where no offset is given
    #[arg(long, value_name = "CHANGE|TIME", value_parser = RestoreTo::parse)]
    to: Option<RestoreTo>,
    /// Check the restored folder as "hcert verify" does
    #[arg(long, conflicts_with = "check")]
    verify: bool,
    /// Go on in a folder that was restored from these archives and is behind them; those that it has need not be named
    #[arg(long, conflicts_with = "check")]
    onto: bool,
    /// Only read the archives and check every row of them, of a folder all that are in it; nothing is written. Exit code 3: something is
    /// damaged, or belongs to no chain
    #[arg(long, conflicts_with = "to")]
    check: bool,
    /// The file with the identity that opens encrypted archives, as age-keygen writes it; - reads standard input; may be given more than once
    #[arg(long, value_name = "FILE")]
    identity: Vec<PathBuf>,
    /// Take only archives that were signed by this key, as "hcert backup" prints it
    #[arg(long, value_name = "KEY", requires = "identity")]
    signed_by: Option<Signer>,
    /// Tell the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

/// Where a restore ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum RestoreTo {
    Change(u64),
    /// Milliseconds since 1970 UTC.
    Time(i64),
}

impl RestoreTo {
    fn parse(text: &str) -> Result<RestoreTo, String> {
        // A year alone has four digits as well, and is no time that anybody wants to go back to.
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            let change = text.parse().map_err(|_| "this is no number of a change".to_owned());
            return change.map(RestoreTo::Change);
        }
        let span = date_time::search_span(text);
        let words = "this is no change and no time, such as 120000, 2026-11-22 or 2026-11-22T10:00";
        span.map(|span| RestoreTo::Time(span.high)).map_err(|_| words.to_owned())
    }
}

impl RestoreArguments {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        let RestoreArguments { archives, to, verify, onto, check, identity, signed_by, json, common } = self;
        let config = common.load(|_| ())?;
        open::for_owner_only();
        let keys = ArchiveKeys::read(&identity, signed_by).map_err(Failure::Usage)?;
        identity.iter().filter_map(|path| exposure::secret("the identity", path)).for_each(note);
        if let Some(problem) = backup::closed(&archives, &keys) {
            return Err(Failure::Usage(problem));
        }
        if check {
            return match archives.as_slice() {
                [folder] if folder.is_dir() => surveyed(folder, &keys, json),
                archives => checked(archives, &keys, json),
            };
        }
        match onto {
            true => open::expect_to_go_on(&config),
            false => open::expect_writable(&config.storage.data),
        }
        .map_err(Failure::Failed)?;
        let done = restored(&archives, to, onto, &keys, &config)?;
        say(&(done.told(&config.storage.data, json) + "\n"))?;
        // Searches work from the first start on. A cut here costs nothing: the start does what is left.
        if done.restored.is_some()
            && let Err(problem) = indexed(&config)
        {
            note(format_args!("the search index is built at the start: {problem}"));
        }
        if verify {
            super::verify::checked(&config, json, &[])?;
        }
        let trail = done.restored.map(|restored| restored.trail).unwrap_or_default();
        expect_trail("the audit trail that was restored", &trail)
    }
}

/// The two bars of a restore: what is read of the archives, then what is written.
struct Bars {
    read: Steps,
    written: Steps,
}

impl Bars {
    fn new() -> Bars {
        Bars { read: Steps::new("bytes read"), written: Steps::new("changes") }
    }

    fn show(&mut self, progress: ArchiveProgress) {
        let ArchiveProgress { changes, changes_total, patients, patients_total, bytes, bytes_total } = progress;
        match bytes_total {
            0 => self.written.show(changes + patients, changes_total + patients_total),
            total => self.read.show(bytes, total),
        }
    }

    fn finish(&self) {
        self.read.finish();
        self.written.finish();
    }
}

/// Archives that were named, as one chain.
fn checked(archives: &[PathBuf], keys: &ArchiveKeys, json: bool) -> Result<(), Failure> {
    if let Some(missing) = archives.iter().find(|path| !path.exists()) {
        return Err(Failure::Failed(format!("{}: there is no such file or folder", missing.display())));
    }
    archives.iter().try_for_each(|path| Archive::expect_readable(path)).map_err(Failure::Failed)?;
    let mut bars = Bars::new();
    let looked = archives.iter().map(|path| Archive::look(path, keys)).collect::<Result<_, _>>();
    let looked = looked.and_then(backup::in_order);
    let checked = looked.and_then(|chain| {
        let until = chain.last().map_or(0, |end| end.about.until);
        backup::check(&chain, true, &mut |progress| bars.show(progress)).map(|checked| (checked, until))
    });
    bars.finish();
    let (CheckedArchives { archives, changes, patients, bytes, trail }, until) = checked.map_err(Failure::Wrong)?;
    let told = match json {
        true => json!({
            "archives": archives, "changes": changes, "until": until, "patients": patients, "bytes": bytes, "trail": trail,
        })
        .to_string(),
        false => whole(archives, &format!("{} up to change {until}", changed(changes)), patients, bytes),
    };
    say(&(told + "\n"))?;
    expect_trail("the audit trail in the archives", &trail)
}

/// A trail that is not as it was written is told, and by the exit code too; everything else is there.
pub(super) fn expect_trail(which: &str, problems: &[String]) -> Result<(), Failure> {
    match problems {
        [] => Ok(()),
        _ => Err(Failure::Wrong(format!("{which} is not as it was written:\n{}", problems.join("\n")))),
    }
}

/// All archives of a folder.
fn surveyed(folder: &Path, keys: &ArchiveKeys, json: bool) -> Result<(), Failure> {
    let mut bars = Bars::new();
    let survey = backup::survey(folder, keys, &mut |progress| bars.show(progress));
    bars.finish();
    let survey = survey.map_err(Failure::Failed)?;
    say(&match json {
        true => survey_as_json(&survey).to_string() + "\n",
        false => survey_in_words(&survey),
    })?;
    match survey.is_whole() {
        true => Ok(()),
        false => {
            let can_be = survey.apart.is_empty() && survey.chains.iter().all(|chain| chain.problem.is_none());
            let what = if can_be {
                "the audit trail in some archives is not as it was written"
            } else {
                "not every archive can be restored"
            };
            Err(Failure::Wrong(format!("{}: {what}", folder.display())))
        }
    }
}

fn survey_in_words(survey: &Survey) -> String {
    let name = |archive: &Archive| archive.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut out = String::new();
    for chain in &survey.chains {
        let (first, last) = (name(&chain.archives[0]), chain.archives.last().map(name).unwrap_or_default());
        let which = match chain.archives.len() {
            1 => format!("{first} alone"),
            many => format!("{many} archives, from {first} to {last}"),
        };
        let end = chain.end().map(|end| {
            let at = jiff::Timestamp::from_millisecond(end.about.at).unwrap_or_default();
            format!("up to change {}, taken {}", end.about.until, at.strftime("%Y-%m-%dT%H:%M:%SZ"))
        });
        out += &match (end, chain.problem.is_some()) {
            (Some(end), false) => format!("{which}: whole, restores {end}\n"),
            (Some(end), true) => format!("{which}: damaged; the first {} restore {end}\n", chain.whole),
            (None, _) => format!("{which}: damaged, restores nothing\n"),
        };
        for problem in chain.problem.iter().chain(&chain.trail) {
            out += &format!("  {problem}\n");
        }
    }
    for apart in &survey.apart {
        out += &format!("{}\n", apart.problem);
    }
    let CheckedArchives { archives, changes, patients, bytes, .. } = survey.whole;
    out + &whole(archives, &changed(changes), patients, bytes) + "\n"
}

pub(super) fn changed(changes: u64) -> String {
    counted(changes, "change", "changes")
}

fn whole(archives: usize, changes: &str, patients: u64, bytes: u64) -> String {
    let archives = counted(archives as u64, "archive is whole", "archives are whole");
    format!("{archives}: {changes}, {}, {bytes} bytes", of_register(patients))
}

fn of_register(versions: u64) -> String {
    counted(versions, "entry of the register", "entries of the register")
}

fn survey_as_json(survey: &Survey) -> serde_json::Value {
    let chain = |chain: &JudgedChain| {
        json!({
            "archives": chain.archives.iter().map(|archive| &archive.path).collect::<Vec<_>>(),
            "whole": chain.whole,
            "until": chain.end().map(|end| end.about.until),
            "store": chain.archives[0].about.store,
            "epoch": chain.archives[0].about.epoch,
            "problem": chain.problem,
            "trail": chain.trail,
        })
    };
    let apart = |apart: &StrayArchive| json!({"archive": apart.path, "problem": apart.problem});
    let CheckedArchives { archives, changes, patients, bytes, .. } = survey.whole;
    json!({
        "archives": archives, "changes": changes, "patients": patients, "bytes": bytes,
        "chains": survey.chains.iter().map(chain).collect::<Vec<_>>(),
        "apart": survey.apart.iter().map(apart).collect::<Vec<_>>(),
    })
}

/// The archives to restore, in their order.
fn chain(
    archives: &[PathBuf],
    to: Option<u64>,
    onto: bool,
    keys: &ArchiveKeys,
    bars: &mut Bars,
) -> Result<Vec<Archive>, String> {
    match archives {
        // Those that the folder has already are not read.
        [folder] if folder.is_dir() && onto => {
            backup::newest_without_gap(folder, to, keys, &mut |problem| note(problem))
        }
        [folder] if folder.is_dir() => {
            let mut told = Vec::new();
            let chain = backup::newest_whole(folder, to, keys, &mut |problem| told.push(problem), &mut |at| {
                bars.show(at);
            });
            bars.finish();
            told.iter().for_each(note);
            chain
        }
        named => {
            let looked = named.iter().map(|path| Archive::look(path, keys)).collect::<Result<_, _>>()?;
            if onto { backup::in_order_behind(looked) } else { backup::in_order(looked) }
        }
    }
}

/// What a restore came to.
pub(super) struct RestoreOutcome {
    /// Nothing where the folder had come as far already and was left as it was.
    pub restored: Option<Restored>,
    /// The last change that the folder has.
    pub until: u64,
    /// When the newest archive was taken, milliseconds since 1970 UTC.
    pub taken_at: i64,
}

impl RestoreOutcome {
    /// The report for a person, or as JSON.
    fn told(&self, data: &Path, json: bool) -> String {
        let until = self.until;
        let Some(Restored { epoch, patients_until, next_id, archives, trail, .. }) = &self.restored else {
            return match json {
                true => json!({"data": data, "archives": 0, "until": until}).to_string(),
                false => format!("{}\nhas come as far already, to change {until}; nothing was changed", data.display()),
            };
        };
        match json {
            true => json!({
                "data": data, "archives": archives, "until": until, "patientsUntil": patients_until, "epoch": epoch, "nextId": next_id, "trail": trail,
            })
            .to_string(),
            false => format!(
                "{}\nrestored from {} up to change {until}, with {}\nepoch {epoch}, new certificates begin with id {next_id}",
                data.display(),
                counted(*archives as u64, "archive", "archives"),
                of_register(*patients_until)
            ),
        }
    }
}

/// Makes the folder of the settings of archives.
pub(super) fn restored(
    archives: &[PathBuf],
    to: Option<RestoreTo>,
    onto: bool,
    keys: &ArchiveKeys,
    config: &Config,
) -> Result<RestoreOutcome, Failure> {
    filled(archives, to, onto, keys, config).map_err(|problem| {
        let wants = || disk_space::of_restore(archives.iter().map(PathBuf::as_path));
        Failure::Failed(disk_space::named(problem, &config.storage.data, wants))
    })
}

fn filled(
    archives: &[PathBuf],
    to: Option<RestoreTo>,
    onto: bool,
    keys: &ArchiveKeys,
    config: &Config,
) -> Result<RestoreOutcome, String> {
    let mut bars = Bars::new();
    let change = match to {
        Some(RestoreTo::Change(change)) => Some(change),
        Some(RestoreTo::Time(_)) | None => None,
    };
    let chain = chain(archives, change, onto, keys, &mut bars)?;
    let mut chain = chain.as_slice();
    let taken_at = chain.last().map_or(0, |last| last.about.at);
    let mut wanted = RestoreOptions {
        data: config.storage.data.clone(),
        cache_bytes: config.storage.cache_mb * 1024 * 1024,
        names: config.namespaces.pairs(),
        to: change,
        id_gap: config.backup.id_gap,
    };
    let look = |last| ContinuedFolder::look(&wanted.data, wanted.cache_bytes, &wanted.names, last);
    let folder = chain.last().filter(|_| onto).map(look).transpose()?;
    if let Some(RestoreTo::Time(time)) = to {
        let read = folder.as_ref().map_or(Ok(chain), |folder| folder.beyond(chain, None))?;
        wanted.to = Some(backup::change_by(read, time)?);
    }
    if let Some(folder) = &folder {
        chain = folder.beyond(chain, wanted.to)?;
    }
    let mut show = |progress| bars.show(progress);
    let restored = match folder {
        Some(folder) => backup::restore_onto(folder, chain, &wanted, &mut show),
        None => backup::restore(chain, &wanted, &mut show).map(Some),
    };
    bars.finish();
    let Some(restored) = restored? else {
        let until = wanted.to.or(chain.last().map(|last| last.about.until)).unwrap_or_default();
        return Ok(RestoreOutcome { restored: None, until, taken_at });
    };
    let restored = restored.finish(|restored, store| write_down(chain, restored, store, config))?;
    Ok(RestoreOutcome { until: restored.until.0, restored: Some(restored), taken_at })
}

/// Builds the search index of what was restored.
pub(super) fn indexed(config: &Config) -> Result<(), String> {
    let engine = open::existing(config)?;
    let mut steps = Steps::new("changes found by searches");
    let built = engine.wait_until_searchable(&mut |at, of| steps.show(at.0, of.0));
    steps.finish();
    engine.close();
    built
}

/// The trail that came back may know later changes than the store: it is told where the store stands now.
fn write_down(chain: &[Archive], restored: &Restored, store: &RestoredStore, config: &Config) -> Result<(), String> {
    let clock = system_clock();
    let engine = open::restored(config, store, clock.clone())?;
    let trail = open::trail_of_before(config, &engine)?;
    let Restored { epoch, until, .. } = restored;
    if trail.last_change().is_none_or(|known| known < *until) {
        // A trail that failed while the archive was taken lacks events, which are written first.
        changes::catch_up(&engine, &trail, clock())?;
    }
    let names: Vec<_> = chain.iter().filter_map(|archive| Path::new(&archive.path).file_name()?.to_str()).collect();
    let note = format!("to change {until}, epoch {epoch}, from {}", names.join(", "));
    let told = bulk::write_down(&trail, AuditAction::Restore, "hcert restore", Some(note), Some(*until));
    let told = told.and_then(|()| bulk::hand_head_over(&engine, &trail));
    drop(trail);
    engine.close();
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_that_cannot_be_read_is_no_corrupt_one() {
        let folder = tempfile::tempdir().unwrap();
        let broken = folder.path().join("broken.tar");
        std::fs::write(&broken, "no archive").unwrap();
        let code = |archives: &[PathBuf]| checked(archives, &ArchiveKeys::default(), false).unwrap_err().exit_code();
        assert_eq!(code(&[folder.path().to_owned(), broken.clone()]), 1);
        assert_eq!(code(&[folder.path().join("none.tar")]), 1);
        assert_eq!(code(&[broken]), 3);
    }
}
