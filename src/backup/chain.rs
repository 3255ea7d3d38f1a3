//! Archives that go on from each other: a full one, then incremental ones, each bound to the one before by the digest of its manifest.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::archive_manifest::{ArchiveManifest, Base};
use super::digest::Digest;
use super::sealing::ArchiveKeys;
use super::{file, read};

/// An archive as its head says. Whether it is whole is known only when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    pub path: PathBuf,
    pub about: ArchiveManifest,
    /// Of its manifest.
    pub digest: Digest,
    /// What it was opened with.
    pub keys: ArchiveKeys,
}

impl Archive {
    /// # Errors
    /// The file cannot be read, or is none. Whether it is an archive is not looked at.
    pub fn expect_readable(path: &Path) -> Result<(), String> {
        file::open(path, 0).map(drop)
    }

    /// # Errors
    /// It is no archive, cut off, or of a later release.
    pub fn look(path: &Path, keys: &ArchiveKeys) -> Result<Archive, String> {
        let (about, digest) = read::look(path, keys)?;
        Ok(Archive { path: path.to_owned(), about, digest, keys: keys.clone() })
    }

    /// What was read is what was looked at, and perhaps signed.
    ///
    /// # Errors
    /// Another file lies there by now.
    pub fn expect_same(&self, whole: &read::ArchiveContent) -> Result<(), String> {
        match (&whole.about, whole.manifest) == (&self.about, self.digest) {
            true => Ok(()),
            false => Err(format!("{}: it changed while it was read", self.path.display())),
        }
    }

    /// For an archive that goes on from this one.
    pub fn base(&self) -> Base {
        Base { about: self.about.clone(), digest: self.digest }
    }

    fn follows(&self, before: &Archive) -> bool {
        self.about.base == Some(before.digest)
    }

    /// What the digest promises holds as well: whoever made both kept the numbers together.
    fn check_behind(&self, before: &Archive) -> Result<(), String> {
        let (own, other) = (&self.about, &before.about);
        let told = |what: &str| Err(format!("{}: {what} than {}", self.path.display(), before.path.display()));
        if own.store != other.store {
            return told("it is of another store");
        }
        if own.epoch != other.epoch {
            return told("it is of another epoch");
        }
        if own.names != other.names {
            return told("it is of other namespaces");
        }
        if (own.after, own.patients_after) != (other.until, other.patients_until) {
            return told("it goes on from another change");
        }
        Ok(())
    }
}

/// Every archive with those it goes on from, the full one first; those that lack one are left out. One that others go on from is the
/// end of a chain too.
pub(super) fn chains(archives: &[Archive]) -> Vec<Vec<&Archive>> {
    let mut by_digest: HashMap<Digest, Vec<&Archive>> = HashMap::new();
    for archive in archives {
        by_digest.entry(archive.digest).or_default().push(archive);
    }
    let before = |archive: &Archive| {
        let named = by_digest.get(&archive.about.base?)?;
        named.iter().copied().find(|other| archive.check_behind(other).is_ok())
    };
    let chain_to = |end| {
        let mut chain: Vec<&Archive> = vec![end];
        while let Some(first) = chain.last().filter(|first| !first.about.is_full()) {
            // Two digests that are each other's cannot be made, but a loop costs nothing to rule out.
            if chain.len() > archives.len() {
                return None;
            }
            chain.push(before(first)?);
        }
        chain.reverse();
        Some(chain)
    };
    archives.iter().filter_map(chain_to).collect()
}

/// Whether an archive is part of one of these [`chains`]: one ends with each of their archives.
pub(super) fn is_part(archive: &Archive, chains: &[Vec<&Archive>]) -> bool {
    chains.iter().any(|chain| chain.last() == Some(&archive))
}

/// The newest of some chains: of the epoch with the latest archive the one that knows most, since a clock may have been set back.
pub(super) fn newest<'c, 'a>(chains: impl Iterator<Item = &'c Vec<&'a Archive>> + Clone) -> Option<&'c Vec<&'a Archive>>
where
    'a: 'c,
{
    let ends = |chain: &&'c Vec<&'a Archive>| chain.last().map(|end| &end.about);
    let latest = chains.clone().max_by_key(|chain| ends(chain).map(|about| about.at))?;
    let epoch = ends(&latest).map(|about| &about.epoch);
    let of_epoch = chains.filter(|chain| ends(chain).map(|about| &about.epoch) == epoch);
    of_epoch.max_by_key(|chain| ends(chain).map(|about| (about.until, about.patients_until, about.at)))
}

/// Puts archives in order, whichever way they were named.
///
/// # Errors
/// They are not one full archive and what goes on from it.
pub fn in_order(mut archives: Vec<Archive>) -> Result<Vec<Archive>, String> {
    let full = archives.iter().position(|archive| archive.about.is_full());
    let full = full.ok_or("there is no full archive among them; name the one that the others go on from")?;
    let full = archives.remove(full);
    ordered(full, archives)
}

/// As [`in_order`], of archives that may all go on from one that is not named.
///
/// # Errors
/// They do not go on from each other.
pub fn in_order_behind(mut archives: Vec<Archive>) -> Result<Vec<Archive>, String> {
    let first = archives.iter().position(|archive| !archives.iter().any(|other| archive.follows(other)));
    let first = archives.remove(first.ok_or("there is no archive to restore")?);
    ordered(first, archives)
}

fn ordered(first: Archive, mut archives: Vec<Archive>) -> Result<Vec<Archive>, String> {
    let mut chain = vec![first];
    while !archives.is_empty() {
        let last = chain.last().expect("the first archive is there");
        let Some(next) = archives.iter().position(|archive| archive.follows(last)) else {
            return Err(stray(last, &archives[0]));
        };
        let next = archives.remove(next);
        next.check_behind(last)?;
        chain.push(next);
    }
    Ok(chain)
}

/// Why an archive is no part of a chain.
fn stray(last: &Archive, archive: &Archive) -> String {
    if let Err(problem) = archive.check_behind(last)
        && !problem.contains("another change")
    {
        return problem;
    }
    let (path, end) = (archive.path.display(), last.path.display());
    match archive.about.is_full() {
        true => format!("{path}: it is a second full archive; name one and what goes on from it"),
        false => format!("{path}: it does not go on from {end}; the archive between them is missing"),
    }
}

/// As much of a chain as holds a change; all of it when none is asked for.
///
/// # Errors
/// The chain ends before it.
pub(super) fn up_to(chain: &[Archive], to: Option<u64>) -> Result<&[Archive], String> {
    let Some(to) = to else { return Ok(chain) };
    let until = chain.last().map_or(0, |end| end.about.until);
    let last = chain.iter().position(|archive| archive.about.until >= to);
    let last = last.ok_or_else(|| format!("change {to} is in none of the archives; they end with change {until}"))?;
    Ok(&chain[..=last])
}
