//! A data folder made of archives. It is marked from the first step to the last, so that one whose restore was cut off is never taken
//! for a whole one.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::chain::{Archive, up_to};
use super::check::{RowsRead, check_behind, check_chain, in_archive};
use super::member::ArchiveMember;
use super::onto::ContinuedFolder;
use super::{ArchiveProgress, read, take};
use crate::audit::{self, CopiedTrail};
use base::owner;
use certificate::Seq;
use engine::{
    CopyOrder, EntryHash, EntryLog, FolderPosition, RESTORING, RestoreEnd, RestoreStart, RestoredStore, StoreRestore,
    StoredList, made_by,
};
use fhir::date_time;

/// What is to be restored, and where.
#[derive(Clone, Debug)]
pub struct RestoreOptions {
    /// The data folder: empty or not there, or one that holds a beginning of what the archives hold.
    pub data: PathBuf,
    pub cache_bytes: usize,
    /// What stored data hold, as the settings say it.
    pub names: Vec<(String, String)>,
    /// The last change that is restored; none: all there are.
    pub to: Option<u64>,
    /// Ids that are left out, since the store that was copied may have given them after its last archive. Contract 9.2.
    pub id_gap: u64,
}

/// What was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    pub epoch: String,
    /// The last change.
    pub until: Seq,
    /// The last change of a patient.
    pub patients_until: u64,
    /// The smallest id that a new certificate gets.
    pub next_id: u64,
    /// Archives that certificates and patients came from.
    pub archives: usize,
    /// What is wrong with the audit trail that came back.
    pub trail: Vec<String>,
}

/// A data folder that a restore has filled and still marks: nobody can open it but for the last step.
pub struct FilledFolder {
    restored: Restored,
    store: RestoredStore,
    mark: RestoringMark,
}

impl FilledFolder {
    /// Takes the last step, then the mark away: whoever opens the folder finds that the step was done.
    ///
    /// # Errors
    /// What `step` returned, or the folder cannot be written: the mark stays, and the message says how to go on.
    pub fn finish(
        self,
        step: impl FnOnce(&Restored, &RestoredStore) -> Result<(), String>,
    ) -> Result<Restored, String> {
        let FilledFolder { restored, store, mark } = self;
        step(&restored, &store).map_err(|problem| mark.left(&problem))?;
        let data = mark.data.clone();
        mark.clear().map_err(|error| format!("{}: {error}", data.display()))?;
        Ok(restored)
    }
}

/// The last change of a chain that was made by a time, milliseconds since 1970 UTC.
///
/// # Errors
/// There is none, or the archives cannot be read.
pub fn change_by(chain: &[Archive], time: i64) -> Result<u64, String> {
    let (mut found, mut is_over) = (None, false);
    for archive in chain {
        let mut dictionaries = Vec::new();
        read::walk(&archive.path, &archive.keys, |_, member, content| {
            if let ArchiveMember::Dictionary(number) = member {
                dictionaries.push((*number, content.whole()?));
            }
            if let (ArchiveMember::Changes(_), false) = (member, is_over) {
                let made = made_by(&content.whole()?, &dictionaries, time);
                let (last, ends) = made.map_err(|error| format!("{member}: {}", in_archive(error)))?;
                (found, is_over) = (last.or(found), ends);
            }
            Ok(())
        })?;
        if is_over {
            break;
        }
    }
    let none = || format!("no change in the archives was made by {}", date_time::instant(time));
    found.map(|seq: Seq| seq.0).ok_or_else(none)
}

/// Restores a chain of archives. They are read as a whole before anything is written. The folder stays marked until
/// [`finish`](FilledFolder::finish) was called.
///
/// # Errors
/// The archives are not whole, not of these names or end before the change that is wanted: nothing was written. Or the folder is in use
/// or cannot be written: it is then to be emptied.
pub fn restore(
    chain: &[Archive],
    wanted: &RestoreOptions,
    report: &mut dyn FnMut(ArchiveProgress),
) -> Result<FilledFolder, String> {
    let rows = rows_of(chain, wanted)?;
    check_chain(chain, rows, report).map_err(|(_, problem)| problem)?;
    expect_empty(&wanted.data).map_err(|problem| format!("{}: {problem}", wanted.data.display()))?;
    filled(None, chain, wanted, report)
}

/// As [`restore`], into a folder that is behind these archives; none: it has come as far, and nothing was changed.
///
/// # Errors
/// As there; or the folder has another history, has come further, or was used: nothing was written. When it cannot be written it is to be
/// gone on with.
pub fn restore_onto(
    folder: ContinuedFolder,
    chain: &[Archive],
    wanted: &RestoreOptions,
    report: &mut dyn FnMut(ArchiveProgress),
) -> Result<Option<FilledFolder>, String> {
    let rows = rows_of(chain, wanted)?;
    let last = &up_to(chain, wanted.to)?.last().ok_or("there is no archive to restore")?.about;
    let has_all = folder.has_come_to(last, wanted.to)?;
    if has_all && folder.holds(last)? {
        return Ok(None);
    }
    let order = CopyOrder::compared_with(&folder.history);
    let order = order.map_err(|error| format!("{}: {error}", wanted.data.display()))?;
    check_behind(order, chain, rows, report).map_err(|(_, problem)| problem)?;
    if has_all {
        return Ok(None);
    }
    folder.expect_unused(chain)?;
    filled(Some(folder), chain, wanted, report).map(Some)
}

/// The rows that are restored.
fn rows_of(chain: &[Archive], wanted: &RestoreOptions) -> Result<RowsRead, String> {
    same_names(chain.last().ok_or("there is no archive to restore")?, wanted)?;
    let archives = up_to(chain, wanted.to)?.len();
    Ok(RowsRead::Restored { archives, to: Seq(wanted.to.unwrap_or(u64::MAX)) })
}

/// Marks a folder and fills it with archives that were checked.
fn filled(
    folder: Option<ContinuedFolder>,
    chain: &[Archive],
    wanted: &RestoreOptions,
    report: &mut dyn FnMut(ArchiveProgress),
) -> Result<FilledFolder, String> {
    // Ids that any archive knows were given, also beyond what is restored.
    let given = |id: fn(&Archive) -> u64| chain.iter().map(id).max().unwrap_or(1).saturating_add(wanted.id_gap);
    let next_id = given(|archive| archive.about.next_id);
    let next_patient_id = given(|archive| archive.about.next_patient_id);
    let mark = RestoringMark::set(&wanted.data, chain, folder.is_some());
    let mark = mark.map_err(|problem| format!("{}: {problem}", wanted.data.display()))?;
    // From the mark on nobody else opens the folder, which is let go here.
    let onto = folder.map(|folder| folder.history.position.clone());
    let done = fill(chain, up_to(chain, wanted.to)?, wanted, onto, (next_id, next_patient_id), report);
    let (restored, store) = done.map_err(|problem| mark.left(&problem))?;
    Ok(FilledFolder { restored, store, mark })
}

/// Contract 1.1: a store keeps the names it was made with.
fn same_names(archive: &Archive, wanted: &RestoreOptions) -> Result<(), String> {
    for (name, value) in &wanted.names {
        let stored = archive.about.names.get(name);
        if stored != Some(value) {
            let stored = stored.map_or("nothing", String::as_str);
            return Err(format!(
                "{}: it was made with {name} = \"{stored}\", but the settings say \"{value}\"; certificates hold these names, so \
                 restore with the settings of that time",
                archive.path.display()
            ));
        }
    }
    Ok(())
}

/// Certificates and patients come from the archives that are needed, the audit trail from all of them: what is set back is the store, not
/// what is known of who did what.
fn fill(
    chain: &[Archive],
    needed: &[Archive],
    wanted: &RestoreOptions,
    onto: Option<FolderPosition>,
    (next_id, next_patient_id): (u64, u64),
    report: &mut dyn FnMut(ArchiveProgress),
) -> Result<(Restored, RestoredStore), String> {
    let last = needed.last().ok_or("there is no archive to restore")?;
    let until = wanted.to.unwrap_or(last.about.until);
    let (lists, dictionaries) = beside(last)?;
    // Archives of before there were chains are of an epoch in which they were begun.
    let begun = || EntryHash::origin(&last.about.store, &last.about.epoch);
    let origin = chain.iter().find_map(|archive| archive.about.chain).map_or_else(begun, |chain| chain.origin);
    let beginning = RestoreStart {
        store: last.about.store.clone(),
        names: wanted.names.clone(),
        origin,
        dictionaries,
        form: last.about.pieces(),
        to: Seq(until),
        onto,
    };
    let words = |error: engine::StoreError| error.to_string();
    let mut trail = CopiedTrail::with_known(chain.iter().filter_map(|archive| archive.about.known_head()));
    let mut restore = StoreRestore::begin(&wanted.data, wanted.cache_bytes, beginning).map_err(words)?;
    let mut is_trail_begun = false;
    let mut progress = ArchiveProgress {
        changes_total: until,
        patients_total: last.about.patients_until,
        ..ArchiveProgress::default()
    };
    for (at, archive) in chain.iter().enumerate() {
        let is_needed = at < needed.len();
        trail.begin(archive.about.audit_after);
        let whole = read::walk(&archive.path, &archive.keys, |_, member, content| {
            match member {
                ArchiveMember::Changes(_) if is_needed => restore.piece(EntryLog::Changes, &content.whole()?),
                ArchiveMember::Patients(_) if is_needed => restore.piece(EntryLog::Register, &content.whole()?),
                ArchiveMember::Audit(name) => {
                    let mut bytes = Vec::new();
                    let read = content.trail_file(&mut bytes);
                    trail.file(name, &bytes);
                    // What the folder has from there on is part of the archives, or reports its restores.
                    let behind = (!std::mem::replace(&mut is_trail_begun, true)).then_some(name);
                    return read
                        .and_then(|()| behind.map_or(Ok(()), |name| audit::clear_from(&wanted.data, name)))
                        .and_then(|()| audit::put_back(&wanted.data, name, &bytes))
                        .map_err(|error| format!("{member}: {error}"));
                }
                _ => Ok(()),
            }
            .map_err(|error| format!("{member}: {}", in_archive(error)))?;
            progress.changes = restore.last(EntryLog::Changes).0;
            progress.patients = restore.last(EntryLog::Register).0;
            report(progress);
            Ok(())
        })?;
        archive.expect_same(&whole)?;
    }
    let patients_until = restore.last(EntryLog::Register).0;
    if (restore.last(EntryLog::Changes).0, patients_until) != (until, last.about.patients_until) {
        return Err("the archives end before their last change".to_owned());
    }
    let time = last.about.time.clone().filter(|_| until == last.about.until);
    // The store that comes back reports a trail that lacks what its store knew, as the copied one does.
    let audit_head = chain.last().and_then(|newest| newest.about.audit_head.clone());
    let ending = RestoreEnd { next_id, next_patient_id, lists, time, purpose: last.about.purpose, audit_head };
    let store = restore.finish(ending).map_err(words)?;
    let (epoch, trail) = (store.epoch().to_owned(), trail.finish());
    Ok((Restored { epoch, until: Seq(until), patients_until, next_id, archives: needed.len(), trail }, store))
}

/// What stands beside the logs, as of the last archive: code lists, and dictionaries, of which none is ever taken away.
type ListsAndDictionaries = (Vec<StoredList>, Vec<(u8, Vec<u8>)>);

fn beside(archive: &Archive) -> Result<ListsAndDictionaries, String> {
    let (mut lists, mut dictionaries) = (Vec::new(), Vec::new());
    let whole = read::walk(&archive.path, &archive.keys, |_, member, content| {
        match member {
            ArchiveMember::Dictionary(number) => dictionaries.push((*number, content.whole()?)),
            ArchiveMember::List(_) => {
                let list = take::read_list(&content.whole()?);
                lists.push(list.ok_or_else(|| format!("{member} is no code list"))?);
            }
            _ => {}
        }
        Ok(())
    })?;
    archive.expect_same(&whole)?;
    Ok((lists, dictionaries))
}

/// The mark of a folder that is being filled.
struct RestoringMark {
    data: PathBuf,
    /// The folder can be gone on with.
    is_onto: bool,
}

/// Whether a folder holds nothing, or is not there.
fn expect_empty(data: &Path) -> Result<(), String> {
    let mut entries = match fs::read_dir(data) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|error| error.to_string())?,
    };
    // The folder of a file system of its own holds what a check of it found.
    let foreign = entries.find(|entry| !entry.as_ref().is_ok_and(|entry| entry.file_name() == "lost+found"));
    if foreign.is_none() {
        return Ok(());
    }
    let why = match data.join(RESTORING).exists() {
        true => "a restore into it was not finished; go on with it by --onto, or empty it and run the restore again",
        false => {
            "it is not empty; a restore replaces nothing: name an empty folder with --data, or go on with it by --onto"
        }
    };
    Err(why.to_owned())
}

impl RestoringMark {
    /// Nothing is left of a mark, and of the folder made for it, that cannot be written. The one of a restore that is gone on with stays.
    fn set(data: &Path, chain: &[Archive], is_onto: bool) -> Result<RestoringMark, String> {
        let text = |error: io::Error| error.to_string();
        let is_there = data.exists();
        owner::expect_private(data)?;
        if !is_there {
            DirBuilder::new().recursive(true).mode(0o700).create(data).map_err(text)?;
        }
        let path = data.join(RESTORING);
        if is_onto && path.exists() {
            return Ok(RestoringMark { data: data.to_owned(), is_onto });
        }
        let mut mark = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(text)?;
        let names: String = chain.iter().map(|archive| format!("{}\n", archive.path.display())).collect();
        let written = mark.write_all(names.as_bytes()).and_then(|()| mark.sync_all()).and_then(|()| sync(data));
        written.map_err(|error| {
            drop(fs::remove_file(&path));
            if !is_there {
                drop(fs::remove_dir(data));
            }
            text(error)
        })?;
        Ok(RestoringMark { data: data.to_owned(), is_onto })
    }

    /// The message about a folder that the restore did not fill.
    fn left(&self, problem: &str) -> String {
        let next = match self.is_onto {
            true => "run the same command again to go on",
            false => "empty it before the next try",
        };
        format!("{problem}\n{} holds what was restored so far; {next}", self.data.display())
    }

    fn clear(self) -> io::Result<()> {
        // Everything is durable before the folder may be opened.
        sync(&self.data)?;
        fs::remove_file(self.data.join(RESTORING))?;
        sync(&self.data)
    }
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
