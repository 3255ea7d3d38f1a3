//! Stories of backup and restore: a store with a history, archives of it, and stores made of them.

mod chain;
mod damage;
mod history;
mod onto;
mod schedule;
mod script;
mod sealed;
mod time;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tempfile::TempDir;

use super::*;
use crate::audit::{self, AuditTrail};
use engine::{Clock, Engine, EngineOptions, FolderNames, QuickRepair};
use script::{Script, play};

const NOON: i64 = 1_793_000_000_000;

/// The names of certificates in these stores.
fn names() -> Vec<(String, String)> {
    vec![("hcert_ns".to_owned(), "https://fhir.ee/hcert".to_owned())]
}

/// A data folder with its engine and its trail.
struct Place {
    folder: TempDir,
    now: Arc<AtomicI64>,
    /// The clock of backups, which scripts do not set.
    backed_up: AtomicI64,
    engine: Arc<Engine>,
    log: Arc<AuditTrail>,
}

fn clock(now: &Arc<AtomicI64>) -> Clock {
    let now = now.clone();
    Arc::new(move || now.load(Ordering::SeqCst))
}

fn engine(data: &Path, now: &Arc<AtomicI64>) -> Result<Engine, engine::StoreError> {
    Engine::open(options(data, now))
}

fn options(data: &Path, now: &Arc<AtomicI64>) -> EngineOptions {
    EngineOptions {
        folder: data.to_owned(),
        cache_bytes: 8 << 20,
        quick_repair: QuickRepair::Auto,
        purpose: None,
        names: FolderNames(names()),
        unique_number: false,
        metrics: base::metrics::Metrics::new(),
        clock: clock(now),
        elapsed: clock(now),
    }
}

fn log(data: &Path, now: &Arc<AtomicI64>) -> AuditTrail {
    let options = audit::TrailOptions {
        folder: data.to_owned(),
        file_bytes: 8 * 1024,
        keep_from: std::sync::Arc::new(|| None),
        clock: clock(now),
    };
    AuditTrail::open(options).expect("the trail opens")
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let data = folder.path().join("data");
        let now = Arc::new(AtomicI64::new(NOON));
        let engine = Arc::new(engine(&data, &now).expect("an empty folder can be opened"));
        let log = Arc::new(log(&data, &now));
        Place { folder, now, backed_up: AtomicI64::new(NOON), engine, log }
    }

    /// One with a short history of everything.
    fn with_history(steps: usize) -> Place {
        let place = Place::new();
        play(&place.engine, &place.now, &Script::new(7, steps), u64::MAX, u64::MAX);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn try_backup(&self, target: ArchiveTarget, base: Option<&Base>) -> Result<WrittenArchive, String> {
        self.try_sealed(target, base, None)
    }

    fn try_sealed(
        &self,
        target: ArchiveTarget,
        base: Option<&Base>,
        sealing: Option<Sealing>,
    ) -> Result<WrittenArchive, String> {
        let mut archive = Unfinished::begin(target, sealing)?;
        let at = self.backed_up.fetch_add(1_000, Ordering::SeqCst);
        let taking = TakeOptions { base, recipients: None, command: "test", at, is_gentle: false };
        take(&self.engine, &self.log, &taking, &mut archive, &mut |_| {})?;
        archive.finish()
    }

    /// An archive whose first member is another than it should be, and whose digests are right all the same.
    fn edited(&self, name: &str, edit: &dyn Fn(&mut serde_json::Value)) -> PathBuf {
        let mut edited = Edited::new(edit);
        let taking = TakeOptions { base: None, recipients: None, command: "test", at: NOON, is_gentle: false };
        take(&self.engine, &self.log, &taking, &mut edited, &mut |_| {}).expect("the backup is taken");
        let path = self.path(name);
        std::fs::write(&path, edited.end()).expect("the archive can be written");
        path
    }

    /// An archive of the whole store.
    fn full(&self, name: &str) -> Archive {
        let written = self.try_backup(ArchiveTarget::File(self.path(name)), None).expect("the backup is taken");
        Archive::look(&written.path, &ArchiveKeys::default()).expect("it can be looked at")
    }

    /// What is new since another archive.
    fn behind(&self, name: &str, base: &Archive) -> Archive {
        let written = self.try_backup(ArchiveTarget::File(self.path(name)), Some(&base.base()));
        Archive::look(&written.expect("the backup is taken").path, &ArchiveKeys::default())
            .expect("it can be looked at")
    }

    fn try_restore(&self, chain: &[Archive], name: &str, to: Option<u64>) -> Result<Restored, String> {
        restore(chain, &self.wanted(name, to), &mut |_| {})?.finish(|_, _| Ok(()))
    }

    fn wanted(&self, name: &str, to: Option<u64>) -> RestoreOptions {
        RestoreOptions { data: self.path(name), cache_bytes: 8 << 20, names: names(), to, id_gap: 1_000 }
    }

    /// Restores into a folder of that name and opens it.
    fn restored(&self, chain: &[Archive], name: &str, to: Option<u64>) -> (Restored, Engine) {
        let restored = self.try_restore(chain, name, to).expect("the archives are whole");
        (restored, engine(&self.path(name), &self.now).expect("a restored folder can be opened"))
    }
}

/// Writes an archive whose first member is edited, as whoever wants to lead a reader astray would: every digest is right.
struct Edited<'e> {
    archive: Vec<u8>,
    listed: Vec<archive_manifest::ManifestLine>,
    about: serde_json::Value,
    edit: &'e dyn Fn(&mut serde_json::Value),
}

impl Edited<'_> {
    fn new(edit: &dyn Fn(&mut serde_json::Value)) -> Edited<'_> {
        Edited { archive: Vec::new(), listed: Vec::new(), about: serde_json::Value::Null, edit }
    }

    fn put(&mut self, member: &ArchiveMember, content: &[u8]) {
        let seconds = self.about["at"].as_u64().unwrap_or(0) / 1_000;
        self.archive.extend(block::block(member, content.len() as u64, seconds));
        self.archive.extend(content);
        self.archive.resize(self.archive.len().next_multiple_of(block::BLOCK_BYTES), 0);
        let (name, bytes, sha256) = (member.to_string(), content.len() as u64, Digest::of(content));
        self.listed.push(archive_manifest::ManifestLine { name, bytes, sha256 });
    }

    fn end(mut self) -> Vec<u8> {
        let number = |name: &str| self.about[name].as_u64().unwrap_or(0);
        let between = |until: &str, after: &str| number(until).wrapping_sub(number(after));
        let manifest = archive_manifest::Manifest {
            bytes: self.listed.iter().map(|listed| listed.bytes).sum(),
            changes: between("until", "after"),
            patients: between("patients-until", "patients-after"),
            members: self.listed.clone(),
        };
        self.put(&ArchiveMember::Manifest, &manifest.write());
        self.archive.extend([0; block::END_BYTES]);
        self.archive
    }
}

impl Sink for Edited<'_> {
    fn member(&mut self, member: &ArchiveMember, bytes: u64, content: &mut dyn Read) -> Result<(), String> {
        let mut read = Vec::new();
        content.take(bytes).read_to_end(&mut read).map_err(|error| error.to_string())?;
        if *member == ArchiveMember::About {
            self.about = serde_json::from_slice(&read).expect("a first member is JSON");
            (self.edit)(&mut self.about);
            read = serde_json::to_vec_pretty(&self.about).expect("JSON can be written");
        }
        self.put(member, &read);
        Ok(())
    }
}
