//! The trail's story: what is written is there, whatever happens to disk and process.

mod damage;
mod failing;
mod follow;
mod index;
mod life;

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::*;
use certificate::{Id, Seq, Version};
use journal::disk::{Disk, DiskFile, SystemDisk};

const FILE_BYTES: u64 = 4 * 1024;
const NOON: i64 = 1_793_000_000_000;

/// A disk that can be told to fail.
#[derive(Clone, Default)]
struct Faulty(Arc<Faults>);

#[derive(Default)]
struct Faults {
    is_full: AtomicBool,
    sync_fails: AtomicBool,
    /// Syncs that fail before the others.
    syncs_fail: AtomicU64,
    write_fails: AtomicBool,
    /// What a failed write leaves.
    write_leaves: AtomicU64,
    syncs: AtomicU64,
    /// Places that were written to.
    written: Mutex<Vec<std::ops::Range<u64>>>,
}

struct FaultyTarget(Arc<dyn DiskFile>, Arc<Faults>);

impl Disk for Faulty {
    fn make(&self, path: &Path, bytes: u64) -> io::Result<Arc<dyn DiskFile>> {
        if self.0.is_full.load(SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(Arc::new(FaultyTarget(SystemDisk.make(path, bytes)?, self.0.clone())))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(FaultyTarget(SystemDisk.open(path)?, self.0.clone())))
    }

    fn read(&self, path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        SystemDisk.read(path, bytes_max)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        SystemDisk.remove(path)
    }
}

impl DiskFile for FaultyTarget {
    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        if self.1.write_fails.load(SeqCst) {
            let left = bytes.len().min(self.1.write_leaves.load(SeqCst) as usize);
            self.0.write_all_at(&bytes[..left], at)?;
            return Err(io::Error::other("the disk is gone"));
        }
        self.1.written.lock().unwrap().push(at..at + bytes.len() as u64);
        self.0.write_all_at(bytes, at)
    }

    fn sync(&self) -> io::Result<()> {
        self.1.syncs.fetch_add(1, SeqCst);
        let fails_first = self.1.syncs_fail.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok();
        match fails_first || self.1.sync_fails.load(SeqCst) {
            true => Err(io::Error::other("the disk is gone")),
            false => self.0.sync(),
        }
    }

    fn is_at(&self, path: &Path, bytes: u64) -> bool {
        self.0.is_at(path, bytes)
    }
}

fn options(data: &Path) -> TrailOptions {
    TrailOptions {
        folder: data.to_owned(),
        file_bytes: FILE_BYTES,
        keep_from: Arc::new(|| None),
        clock: Arc::new(|| NOON),
    }
}

fn open(data: &Path) -> AuditTrail {
    AuditTrail::open(options(data)).expect("the trail opens")
}

fn event(at: i64) -> AuditEvent {
    let mut event = AuditEvent::new(AuditAction::CompositionRead, NOON + at);
    event.who.person = Some("47101010033".into());
    event.trace = "-".repeat(60);
    event.entities = vec![(Id::FIRST, Version::new(2))];
    event
}

/// Appends, and waits where the next file is still being made.
fn append(log: &AuditTrail, event: &AuditEvent) -> Number {
    eventually("there is room", || log.append(event).ok())
}

fn fill(log: &AuditTrail, events: std::ops::Range<i64>) {
    events.for_each(|at| assert!(append(log, &event(at)).0 > 0));
}

fn eventually<T>(claim: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{claim}, but not within 20 s");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn listed(data: &Path) -> TrailFiles {
    TrailFiles::list(&folder(data)).expect("the folder is there")
}

fn times(trail: TrailFiles, order: EventOrder) -> Vec<i64> {
    let events = trail.events(order, i64::MIN..=i64::MAX);
    events
        .map(|event| event.expect("the files can be read").1)
        .filter(|event| event.note.is_none())
        .map(|event| event.at - NOON)
        .collect()
}

fn verified(data: &Path) -> TrailVerifyReport {
    verify(&listed(data), &[]).expect("the folder can be read")
}

/// Sealed files, by now.
fn sealed(data: &Path) -> usize {
    listed(data).parts.iter().filter(|part| part.seal.is_some()).count()
}

/// A folder with three sealed files and a plain one, closed.
fn long_trail(data: &Path) -> ChainHead {
    let log = open(data);
    fill(&log, 0..150);
    eventually("full files are sealed", || {
        (sealed(data) >= 3 && sealed(data) + 1 == listed(data).parts.len()).then_some(())
    });
    log.head()
}
