//! A data folder that holds the beginning of what archives hold: which of them a restore goes on with.

use std::path::{Path, PathBuf};

use super::archive_manifest::ArchiveManifest;
use super::chain::Archive;
use super::member::ArchiveMember;
use super::read;
use crate::audit::{self, AuditAction, ChainHead, ComparedEvent, CopiedTrail};
use certificate::Seq;
use engine::{FolderHistory, RESTORING, StoreError};

/// A data folder that a restore may go on with. Nobody writes to it while it is looked at.
pub struct ContinuedFolder {
    data: PathBuf,
    pub(super) history: FolderHistory,
}

impl ContinuedFolder {
    /// Looks at a folder, to compare it with archives of the epoch of this one.
    ///
    /// # Errors
    /// Another process has it, or its store cannot be read, or is another one.
    pub fn look(
        data: &Path,
        cache_bytes: usize,
        names: &[(String, String)],
        archive: &Archive,
    ) -> Result<ContinuedFolder, String> {
        let told = |problem: String| format!("{}: {problem}", data.display());
        let looked = FolderHistory::open_read_only(data, cache_bytes, names.to_vec(), &archive.about.epoch);
        let is_cut = |error: &StoreError| {
            matches!(error, StoreError::Io(_) | StoreError::Damaged(_)) && data.join(RESTORING).exists()
        };
        let cut = "a restore into it was cut before there was a store to go on with; empty it and run the restore without --onto";
        let history = looked.map_err(|error| match is_cut(&error) {
            true => told(format!("{cut} ({error})")),
            false => told(error.to_string()),
        })?;
        let is_empty = history.is_restoring && (history.position.changes, history.position.register) == (Seq(0), 0);
        match history.uuid == archive.about.store {
            true => Ok(ContinuedFolder { data: data.to_owned(), history }),
            false if is_empty => Err(told(cut.to_owned())),
            false => Err(told(format!("it holds another store than {}", archive.path.display()))),
        }
    }

    /// The archives of a chain that a restore of the folder to a change takes: those that it has before that change are passed over.
    ///
    /// # Errors
    /// Archives between are missing, or they are of an earlier form.
    pub fn beyond<'c>(&self, chain: &'c [Archive], to: Option<u64>) -> Result<&'c [Archive], String> {
        let (here, data) = (self.end(), self.data.display());
        if let Some(former) = chain.iter().find(|archive| archive.about.chain.is_none()) {
            return Err(format!(
                "{}: its form does not say which history it is of; restore it into an empty folder",
                former.path.display()
            ));
        }
        // An archive that ends where the folder does may have more of the audit trail, or a restore of it was cut.
        let is_passed = |about: &ArchiveManifest| -> Result<bool, String> {
            let (begin, end) = ((about.after, about.patients_after), (about.until, about.patients_until));
            let is_short = to.is_none_or(|to| about.until < to);
            Ok(is_short && self.holds(about)? && (end != here || !self.history.is_restoring && begin != here))
        };
        let mut first = 0;
        while first + 1 < chain.len() && is_passed(&chain[first].about)? {
            first += 1;
        }
        let Some(Archive { path, about, .. }) = chain.get(first) else { return Ok(chain) };
        match about.after > here.0 || about.patients_after > here.1 {
            false => Ok(&chain[first..]),
            true => Err(format!(
                "{}: it goes on behind change {} and entry {} of the register, and {data} ends with {} and {}; archives between them are \
                 missing: name them too, or the folder that they are in",
                path.display(),
                about.after,
                about.patients_after,
                here.0,
                here.1
            )),
        }
    }

    /// Whether the folder has come as far as an archive, or as a change in it, by its numbers; its entries are to be compared still.
    ///
    /// # Errors
    /// It has come further.
    pub(super) fn has_come_to(&self, about: &ArchiveManifest, to: Option<u64>) -> Result<bool, String> {
        let (here, end) = (self.end(), (to.unwrap_or(about.until), about.patients_until));
        let is_over = here.0 > end.0 || here.1 > end.1;
        // Where the whole archive is of another history, the comparison tells where they part.
        let is_compared = to.is_none() && here.0 >= end.0 && here.1 >= end.1 && !self.holds(about)?;
        match is_over && !is_compared {
            true => Err(format!(
                "{}: it has come further, to change {} and entry {} of the register; a restore takes nothing back",
                self.data.display(),
                here.0,
                here.1
            )),
            false => Ok(here == end && !self.history.is_restoring),
        }
    }

    /// Whether the folder has everything up to the end of an archive, as the chains say.
    pub(super) fn holds(&self, about: &ArchiveManifest) -> Result<bool, String> {
        let held = about.chain.map(|chain| self.history.holds(Seq(about.until), about.patients_until, chain));
        held.unwrap_or(Ok(false)).map_err(|error| format!("{}: {error}", self.data.display()))
    }

    /// The last entry of both logs, as the archives count them.
    fn end(&self) -> (u64, u64) {
        (self.history.position.changes.0, self.history.position.register)
    }

    /// The trail of the archives goes on from the folder's, and takes the place of what the folder has behind that: events of its own, which
    /// may report nothing but restores and checks. Decision 311.
    ///
    /// # Errors
    /// Somebody used the folder since, or a part of the trail is missing or damaged.
    pub(super) fn expect_unused(&self, chain: &[Archive]) -> Result<(), String> {
        let Some(first) = chain.first() else { return Ok(()) };
        let (after, data) = (first.about.audit_after, self.data.display());
        let known = self.history.audit_head.as_deref().and_then(ChainHead::parse);
        let events = audit::events_from(&self.data, after, known).map_err(|problem| {
            format!("{data}: {problem}; what it lacks would be lost: keep this folder, and restore into an empty one")
        })?;
        let mut trail = CopiedTrail::with_known(events.iter().map(|event| event.head));
        for archive in chain {
            trail.begin(archive.about.audit_after);
            read::walk(&archive.path, &archive.keys, |_, member, content| {
                if let ArchiveMember::Audit(name) = member {
                    let mut bytes = Vec::new();
                    content.trail_file(&mut bytes).map_err(|error| format!("{member}: {error}"))?;
                    trail.file(name, &bytes);
                }
                Ok(())
            })?;
        }
        let last_before = events.iter().rfind(|event| event.file == after);
        if after > 0 && !last_before.is_some_and(|event| trail.has_met(&event.head)) {
            return Err(format!(
                "{}: its audit trail goes on behind file {after}, which {data} does not have as a whole; name the archive before it too",
                first.path.display()
            ));
        }
        let is_of_restore = |event: &&ComparedEvent| {
            let looked = [AuditAction::StoreVerify, AuditAction::StoreStats, AuditAction::AuditVerify];
            event.action == AuditAction::Restore || looked.contains(&event.action)
        };
        let own = events.iter().rev().take_while(|event| !trail.has_met(&event.head));
        match own.filter(|event| !is_of_restore(event)).last() {
            None => Ok(()),
            Some(event) => Err(format!(
                "{data}: it was used since it was restored, as event {} ({}) of its audit trail tells, which no archive has; restore into \
                 an empty folder",
                event.head.number.0,
                event.action.name()
            )),
        }
    }
}
