//! Fills a data folder through the fast import paths, and notes what it was filled with.

use std::io::{BufWriter, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::child::{ChildProcess, Launcher, ProcessMemory};
use super::floor;
use super::plan::{BenchPlan, Watch};
use super::report::{DiskUse, ImportFigures};
use super::sample::{Collector, LoadSample, everybody};
use super::scratch::{disk_bytes, free_bytes};
use super::stop::{BenchError, Stop};
use crate::config::Config;
use crate::corpus::Corpus;
use crate::corpus::limits::CORPUS_CERTIFICATES_MAX;
use certificate::Id;
use engine::{JOURNAL_FILES, STORE_FILE};

/// Bytes on disk that a certificate takes while a bench runs: its versions, their index, its patients, what is created in between. More
/// than was ever seen.
const CERTIFICATE_BYTES: u64 = 2_000;

/// Bytes that every size takes besides.
const SIZE_BYTES: u64 = 300 << 20;

/// Id of the certificate that is imported late: past everything that a bench creates.
const ID_LATE: u64 = 10 * CORPUS_CERTIFICATES_MAX;

/// What an import made.
pub(super) struct Filled {
    pub versions: u64,
    pub import: ImportFigures,
    pub sample: LoadSample,
}

/// Refuses a size for which the disk has clearly no room.
///
/// # Errors
/// Says how much there is and how much is wanted.
pub(super) fn check_room(folder: &Path, count: u64) -> Result<(), BenchError> {
    let wanted = count * CERTIFICATE_BYTES + SIZE_BYTES;
    match free_bytes(folder) {
        Some(free) if free < wanted => Err(BenchError::Failed(format!(
            "{count} certificates need about {} MB, and {} has {} MB free",
            wanted >> 20,
            folder.display(),
            free >> 20
        ))),
        _ => Ok(()),
    }
}

/// Generates certificates and has them imported by a process of its own.
///
/// # Errors
/// The import fails, with its own words; or the order to stop comes.
pub(super) fn fill(
    launcher: &Launcher,
    data: &Path,
    plan: &BenchPlan,
    count: u64,
    watch: &dyn Watch,
) -> Result<Filled, BenchError> {
    let children = cpu_of_children();
    let generating = cpu_of_this_thread();
    let start = Instant::now();
    let (mut process, stdin) = launcher.import(data)?;
    let corpus = Corpus::new(plan.seed, count);
    let mut collector = Collector::new(corpus.clone(), count);
    let mut lines = BufWriter::with_capacity(1 << 18, stdin);
    let mut line = String::new();
    let (mut versions, mut certificates, mut memory_peak) = (0_u64, 0_u64, ProcessMemory::default());
    for change in corpus {
        line.clear();
        change.write_entry(&mut line);
        plan.renaming.apply(&mut line);
        line.push('\n');
        if let Err(error) = lines.write_all(line.as_bytes()) {
            return Err(gave_up(&mut process, data, &error));
        }
        collector.note(change.id().get(), change.version().get(), &change.facts());
        collector.made(change.last_updated());
        versions += 1;
        certificates += u64::from(change.version().get() == 1);
        if versions.is_multiple_of(1_024) {
            launcher.stop.check()?;
            watch.at(certificates);
            memory_peak = larger(memory_peak, process.memory());
        }
    }
    let generating = cpu_of_this_thread().saturating_sub(generating);
    if let Err(error) = lines.flush() {
        return Err(gave_up(&mut process, data, &error));
    }
    drop(lines);
    let status = process.wait(|process| memory_peak = larger(memory_peak, process.memory()))?;
    let seconds = start.elapsed().as_secs_f64();
    if !status.success() {
        return Err(failed(&process, data));
    }
    let cpu = cpu_of_children().saturating_sub(children).as_secs_f64();
    let import = ImportFigures {
        seconds,
        certificates_per_second: count as f64 / seconds,
        versions_per_second: versions as f64 / seconds,
        cpu_seconds_per_1000_versions: cpu * 1e3 / versions as f64,
        generating_cpu_seconds: generating.as_secs_f64(),
        memory_peak,
    };
    watch.at(count);
    Ok(Filled {
        versions,
        import,
        sample: collector.sample(plan.seed, &plan.renaming, |number| number.to_string().into()),
    })
}

/// Has a certificate imported that is older than all others, through the server that runs over the folder; how long it took.
///
/// # Errors
/// As [`fill`].
pub(super) fn late(launcher: &Launcher, data: &Path, plan: &BenchPlan, count: u64) -> Result<Duration, BenchError> {
    let id = Id::new(ID_LATE).expect("it is not zero");
    let mut line = String::new();
    Corpus::new(plan.seed, count).oldest(id).write_entry(&mut line);
    plan.renaming.apply(&mut line);
    line.push('\n');
    let start = Instant::now();
    let (mut process, mut stdin) = launcher.import(data)?;
    if let Err(error) = stdin.write_all(line.as_bytes()) {
        return Err(gave_up(&mut process, data, &error));
    }
    drop(stdin);
    if process.wait(|_| ())?.success() { Ok(start.elapsed()) } else { Err(failed(&process, data)) }
}

/// Has everybody imported of whom certificates are or will be created, by a process of its own. That is not timed, and done once the
/// disk was looked at: neither figure includes patients.
///
/// # Errors
/// As [`fill`].
pub(super) fn patients(
    launcher: &Launcher,
    data: &Path,
    plan: &BenchPlan,
    count: u64,
    watch: &dyn Watch,
) -> Result<(), BenchError> {
    let (mut process, stdin) = launcher.import_patients(data)?;
    let everybody = everybody(plan.seed, count);
    let mut lines = BufWriter::with_capacity(1 << 18, stdin);
    let mut line = String::new();
    for (told, subject) in (0..).zip(everybody.subjects()) {
        line.clear();
        everybody.write_patient(subject, &mut line);
        plan.renaming.apply(&mut line);
        line.push('\n');
        if let Err(error) = lines.write_all(line.as_bytes()) {
            return Err(gave_up(&mut process, data, &error));
        }
        if u64::is_multiple_of(told, 1_024) {
            launcher.stop.check()?;
            watch.at(told);
        }
    }
    if let Err(error) = lines.flush() {
        return Err(gave_up(&mut process, data, &error));
    }
    drop(lines);
    if process.wait(|_| ())?.success() { Ok(()) } else { Err(failed(&process, data)) }
}

/// Bytes on disk beside the bytes that have to be there.
///
/// # Errors
/// The folder cannot be read, or the store has other versions than were imported.
pub(super) fn disk(data: &Path, versions: u64, config: &Config, stop: &Stop) -> Result<DiskUse, BenchError> {
    let problem = |error| BenchError::failed(data.display(), error);
    let index_bytes = disk_bytes(&data.join("index")).map_err(problem)?;
    // The audit trail makes its files ahead, so what they take says nothing of versions.
    let mut store_bytes = 0;
    for name in std::iter::once(&STORE_FILE).chain(&JOURNAL_FILES) {
        store_bytes += match std::fs::metadata(data.join(name)) {
            Ok(about) => about.blocks() * 512,
            // A journal is made when it is used first.
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(error) => return Err(problem(error)),
        };
    }
    let all = store_bytes + index_bytes;
    let (stored, payload_bytes) = floor::payload(data, config, stop)?;
    if stored != versions {
        return Err(BenchError::Failed(format!("{versions} versions were imported, but the store has {stored}")));
    }
    Ok(DiskUse {
        store_bytes,
        index_bytes,
        payload_bytes,
        bytes_per_version: all as f64 / versions as f64,
        payload_per_version: payload_bytes as f64 / versions as f64,
        ratio: all as f64 / payload_bytes as f64,
    })
}

/// The import closed its input. Its own words say more than the broken pipe.
fn gave_up(process: &mut ChildProcess, data: &Path, error: &std::io::Error) -> BenchError {
    match process.wait(|_| ()) {
        Err(BenchError::Stopped) => BenchError::Stopped,
        _ if error.kind() == ErrorKind::BrokenPipe => failed(process, data),
        _ => BenchError::failed("the import's standard input", error),
    }
}

fn failed(process: &ChildProcess, data: &Path) -> BenchError {
    let free = free_bytes(data.parent().unwrap_or(data)).map_or(0, |bytes| bytes >> 20);
    BenchError::Failed(format!("the import failed ({free} MB are free there): {}", process.last_words()))
}

pub(super) fn larger(one: ProcessMemory, other: Option<ProcessMemory>) -> ProcessMemory {
    let other = other.unwrap_or_default();
    ProcessMemory { anonymous: one.anonymous.max(other.anonymous), resident: one.resident.max(other.resident) }
}

fn cpu_of_children() -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the structure is our own and lives through the call; zeros are a value of it.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

fn time(value: libc::timeval) -> Duration {
    let micros = u64::try_from(value.tv_usec).unwrap_or(0);
    Duration::from_secs(u64::try_from(value.tv_sec).unwrap_or(0)) + Duration::from_micros(micros)
}

fn cpu_of_this_thread() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is our own and lives through the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}
