//! A folder with archives: what they are called there, and which of them are kept.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::chain::{Archive, chains, is_part, newest};
use super::file::{PART, PREFIX, digest_path, is_given, paths};
use super::sealing::{ArchiveKeys, Label};
use base::characters::is_control_or_bidi;
use base::owner;

/// After this long nobody writes to an archive any more that was begun.
const LEFT_AFTER: Duration = Duration::from_secs(60 * 60);

/// What was found in a folder.
#[derive(Debug, Default)]
pub(super) struct FolderListing {
    pub archives: Vec<Archive>,
    /// Files with the name of an archive that are none.
    pub problems: Vec<FolderProblem>,
}

/// A file with the name of an archive that is none.
#[derive(Clone, Debug)]
pub(super) struct FolderProblem {
    pub path: PathBuf,
    /// Why, with its name.
    pub text: String,
}

/// Whether archives may go to a folder, or to a file in one, for commands and for the schedule alike. Decision 268.
///
/// # Errors
/// Another user of the machine owns it, can write to it, or could exchange it: in words.
pub fn expect_target(to: &Path) -> Result<(), String> {
    owner::expect_private(to).map_err(|problem| format!("{}: {problem}", to.display()))
}

/// The archives of a folder, by what their heads say: those with other names too, of which only what is an archive counts.
///
/// # Errors
/// The folder cannot be read.
pub(super) fn list(folder: &Path, keys: &ArchiveKeys) -> Result<FolderListing, String> {
    let mut found = FolderListing::default();
    for path in paths(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        if path.to_string_lossy().contains(is_control_or_bidi) {
            let text = format!("{path:?}: its name has control characters; rename it");
            found.problems.push(FolderProblem { path, text });
            continue;
        }
        match Archive::look(&path, keys) {
            Ok(archive) => found.archives.push(archive),
            // One that was removed meanwhile, as too old, is no problem.
            Err(_) if !path.exists() || !is_given(&path) => {}
            Err(text) => found.problems.push(FolderProblem { path, text }),
        }
    }
    Ok(found)
}

/// As [`list`], of the archives whose names hcert made. The schedule neither continues nor removes an archive that a person named.
///
/// # Errors
/// As there.
pub(super) fn list_given(folder: &Path, keys: &ArchiveKeys) -> Result<FolderListing, String> {
    let mut found = list(folder, keys)?;
    found.archives.retain(|archive| is_given(&archive.path));
    Ok(found)
}

/// Archives of a store that are older than they have to be kept. A chain goes as a whole, when even its newest archive is too old; the
/// newest chain stays however old it is, and what a kept archive goes on from stays with it.
pub(super) fn too_old<'a>(archives: &'a [Archive], store: &str, oldest: i64) -> Vec<&'a Archive> {
    let chains = chains(archives);
    let of_store: Vec<_> = chains.into_iter().filter(|chain| chain[0].about.store == store).collect();
    let at = |chain: &[&Archive]| chain.last().map_or(i64::MIN, |last| last.about.at);
    let Some(newest) = of_store.iter().map(|chain| at(chain)).max() else { return Vec::new() };
    let is_kept = |chain: &[&Archive]| at(chain) >= oldest || at(chain) == newest;
    let kept: BTreeSet<&Path> =
        of_store.iter().filter(|chain| is_kept(chain)).flatten().map(|archive| archive.path.as_path()).collect();
    let mut old = Vec::new();
    for archive in of_store.iter().filter(|chain| !is_kept(chain)).flat_map(|chain| chain.iter().rev()) {
        if !kept.contains(archive.path.as_path()) && !old.iter().any(|known: &&Archive| known.path == archive.path) {
            old.push(*archive);
        }
    }
    // What others go on from goes last, so that whatever is left at any moment is whole.
    old.sort_by_key(|archive| std::cmp::Reverse((archive.about.at, archive.about.until)));
    old
}

/// Removes an archive and what lies beside it.
pub(super) fn remove(archive: &Archive) -> std::io::Result<()> {
    fs::remove_file(&archive.path)?;
    [digest_path(&archive.path), Label::path(&archive.path)].iter().try_for_each(|path| match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    })
}

/// Removes what a crash left of archives that were being written here.
pub(super) fn remove_left(folder: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_left = || -> std::io::Result<bool> {
            let age = SystemTime::now().duration_since(fs::metadata(&path)?.modified()?);
            Ok(age.is_ok_and(|age| age >= LEFT_AFTER))
        };
        if name.starts_with(PREFIX) && name.ends_with(PART) && is_left().unwrap_or(false) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// As [`newest_in`], for a standby: an archive that is newer than the chain and no part of one is an error, since the standby would never get
/// past it.
///
/// # Errors
/// As there; or an archive that is newer than the chain lacks what it goes on from.
pub fn newest_without_gap(
    path: &Path,
    to: Option<u64>,
    keys: &ArchiveKeys,
    told: &mut dyn FnMut(String),
) -> Result<Vec<Archive>, String> {
    let chain = newest_in(path, to, keys, told)?;
    let FolderListing { archives, .. } = list(path, keys)?;
    let end = chain.last().expect("a chain has a full archive");
    let chains = chains(&archives);
    let is_behind = |archive: &&Archive| to.is_none() && archive.about.until > end.about.until;
    match archives.iter().filter(|archive| !is_part(archive, &chains)).find(is_behind) {
        None => Ok(chain),
        Some(archive) => Err(format!(
            "{}: it goes on behind change {}, and the newest whole chain ends with change {}; archives between them are missing: put them back, or \
             name the change to restore up to with --to",
            archive.path.display(),
            archive.about.after,
            end.about.until
        )),
    }
}

/// The newest chain of a folder whose end has a change; of archives that are no part of one, `told` is said.
///
/// # Errors
/// There is none, or there are archives of several stores.
pub fn newest_in(
    path: &Path,
    to: Option<u64>,
    keys: &ArchiveKeys,
    told: &mut dyn FnMut(String),
) -> Result<Vec<Archive>, String> {
    let FolderListing { archives, problems } = list(path, keys)?;
    problems.into_iter().for_each(|problem| told(problem.text));
    let shown = path.display();
    let Some(first) = archives.first() else { return Err(format!("{shown}: there is no archive")) };
    if archives.iter().any(|archive| archive.about.store != first.about.store) {
        return Err(format!("{shown}: there are archives of several stores; name those that are meant"));
    }
    let chains = chains(&archives);
    for archive in archives.iter().filter(|archive| !is_part(archive, &chains)) {
        told(format!("{}: the archive that it goes on from is not there", archive.path.display()));
    }
    let reaches = |chain: &&Vec<&Archive>| chain.last().is_some_and(|end| end.about.until >= to.unwrap_or(0));
    let newest = newest(chains.iter().filter(reaches)).ok_or_else(|| match to {
        Some(to) => format!("{shown}: no whole chain of archives reaches change {to}"),
        None => format!("{shown}: there is no whole chain of archives"),
    })?;
    // A store that was set back by copying files has fewer changes than what was taken before.
    let end = newest.last().map_or(0, |end| end.about.at);
    if let Some(later) = archives
        .iter()
        .filter(|archive| is_part(archive, &chains) && archive.about.at > end && !newest.contains(archive))
        .max_by_key(|one| one.about.at)
    {
        told(format!(
            "{}: it was taken later than the chain that knows most, which is taken, and knows fewer changes: the store was set back, or the \
             clock; name it to restore it",
            later.path.display()
        ));
    }
    Ok(newest.iter().map(|archive| (*archive).clone()).collect())
}
