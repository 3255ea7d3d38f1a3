//! `hcert restore`: a data folder made of archives.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::progress::Steps;
use super::{Common, Failure, open};
use crate::audit::{Action, Log};
use crate::backup::{self, Archive, Checked, Progress, Restored, Wanted};
use crate::bulk;
use crate::config::Config;
use crate::engine::system_clock;
use crate::interaction::account;

/// Make a data folder of archives, or check archives
///
/// The folder (storage.data) must be empty or absent, and no server may use it. Archives are read as a whole before anything is
/// written. The restored store answers as the other one did at the change it is restored to; it counts as a new epoch, so that the
/// search index is built again, the next backup is a full one, and no id is given twice.
#[derive(Args, Debug)]
pub struct Restore {
    /// A full archive and those that go on from it, in any order; or a folder, whose newest chain is taken
    #[arg(value_name = "ARCHIVE|DIR", required = true)]
    archives: Vec<PathBuf>,
    /// Restore certificates only up to this change
    #[arg(long, value_name = "CHANGE")]
    to: Option<u64>,
    /// Check the restored folder as "hcert verify" does
    #[arg(long, conflicts_with = "check")]
    verify: bool,
    /// Only read the archives and check every row of them; nothing is written
    #[arg(long, conflicts_with = "to")]
    check: bool,
    /// Tell the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

impl Restore {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let Restore { archives, to, verify, check, json, common } = self;
        let config = common.load(|_| ())?;
        open::for_owner_only();
        let chain = chain(&archives, to).map_err(Failure::Failed)?;
        let told = match check {
            true => checked(&chain, json),
            false => restored(&chain, to, &config, json),
        };
        println!("{}", told.map_err(Failure::Failed)?);
        match verify {
            true => super::verify::checked(&config, json),
            false => Ok(()),
        }
    }
}

fn chain(archives: &[PathBuf], to: Option<u64>) -> Result<Vec<Archive>, String> {
    if let [folder] = archives
        && folder.is_dir()
    {
        return backup::newest_in(folder, to, &mut |problem| eprintln!("{problem}"));
    }
    backup::in_order(archives.iter().map(|path| Archive::look(path)).collect::<Result<_, _>>()?)
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

    fn show(&mut self, progress: Progress) {
        let Progress { changes, changes_total, patients, patients_total, bytes, bytes_total } = progress;
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

fn checked(chain: &[Archive], json: bool) -> Result<String, String> {
    let mut bars = Bars::new();
    let checked = backup::check(chain, true, &mut |progress| bars.show(progress));
    bars.finish();
    let Checked { archives, changes, patients, bytes } = checked?;
    let until = chain.last().map_or(0, |end| end.about.until);
    Ok(match json {
        true => json!({"archives": archives, "changes": changes, "until": until, "patients": patients, "bytes": bytes})
            .to_string(),
        false => format!(
            "{archives} archives are whole: {changes} changes up to change {until}, {patients} versions of patients, {bytes} bytes"
        ),
    })
}

fn restored(chain: &[Archive], to: Option<u64>, config: &Config, json: bool) -> Result<String, String> {
    let wanted = Wanted {
        data: config.storage.data.clone(),
        cache_bytes: config.storage.cache_mb * 1024 * 1024,
        names: config.namespaces.pairs(),
        to,
        id_gap: config.backup.id_gap,
    };
    let mut bars = Bars::new();
    let restored = backup::restore(chain, &wanted, &mut |progress| bars.show(progress));
    bars.finish();
    let restored = restored?;
    write_down(chain, &restored, config)?;
    let Restored { epoch, until, patients_until, next_id, archives } = restored;
    let data = &config.storage.data;
    Ok(match json {
        true => json!({
            "data": data, "archives": archives, "until": until.0, "patientsUntil": patients_until, "epoch": epoch, "nextId": next_id,
        })
        .to_string(),
        false => format!(
            "{}\nrestored from {archives} archives up to change {until}, with {patients_until} versions of patients\nepoch {epoch}, \
             new certificates begin with id {next_id}",
            data.display()
        ),
    })
}

/// The trail that came back may know later changes than the store: it is told where the store stands now.
fn write_down(chain: &[Archive], restored: &Restored, config: &Config) -> Result<(), String> {
    let clock = system_clock();
    let engine = open::engine(config, clock.clone())?;
    let trail = Log::open(open::audit_options(config, clock.clone()))?;
    let Restored { epoch, until, .. } = restored;
    if trail.last_change().is_none_or(|known| known < *until) {
        // A trail that failed while the archive was taken lacks events, which are made again first.
        account::complete(&engine, &trail, clock())?;
    }
    let names: Vec<_> = chain.iter().filter_map(|archive| Path::new(&archive.path).file_name()?.to_str()).collect();
    let note = format!("to change {until}, epoch {epoch}, from {}", names.join(", "));
    let told = bulk::write_down(&trail, Action::Restore, "hcert restore", Some(note), Some(*until));
    drop(trail);
    engine.close();
    told
}
