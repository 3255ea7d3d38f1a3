//! What it could cost at least: an answer from memory through the same HTTP code, and the journal's bytes appended to a file and synced.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;

use super::figures::Sampled;
use super::stop::{BenchError, Stop};
use crate::config::Config;
use crate::http::{self, HttpServer, HttpSettings, Interactions};
use crate::interaction::{Answer, Interaction, RequestContext};
use certificate::Version;
use engine::{JOURNAL_FILES, QuickRepair};
use fhir::outcome::Outcome;
use journal::Hash;
use journal::record::record_at;

/// A certificate as most of them are.
pub const BODY_BYTES: usize = 4096;

struct MemoryFloor(Vec<u8>);

impl Interactions for MemoryFloor {
    async fn run(&self, _: Interaction, _: RequestContext, _: Vec<u8>) -> Result<Answer, Outcome> {
        Ok(Answer { status: 200, body: self.0.clone(), version: Some((Version::FIRST, 0)), ..Answer::default() })
    }
}

/// The HTTP floor: the same listener, routes and headers, and as many threads as the server has; behind them one body. Serves until
/// the process is killed; says first where it listens.
///
/// # Errors
/// It cannot listen, in words.
pub fn serve(config: &Config) -> Result<(), String> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(config.server.workers).enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let settings = HttpSettings::new(config, address).map_err(|error| error.0)?;
        let told = format!("listens on http://{address}{}\n", config.server.base_path);
        // The parent process reads the address here.
        io::stdout().write_all(told.as_bytes()).map_err(|error| error.to_string())?;
        let server: Arc<HttpServer<MemoryFloor>> = HttpServer::new(MemoryFloor(body()), settings);
        http::serve(listener, server, std::future::pending()).await;
        Ok(())
    })
}

fn body() -> Vec<u8> {
    let (before, after) = ("{\"resourceType\":\"Composition\",\"title\":\"", "\"}");
    let filling = BODY_BYTES - before.len() - after.len();
    format!("{before}{}{after}", "x".repeat(filling)).into_bytes()
}

/// The journal's record of a create, appended to a file that was made ahead and full of zeros, as the journal's are.
pub(super) struct AppendFloor {
    file: File,
    record: Vec<u8>,
    at: u64,
}

impl AppendFloor {
    /// A file of its own, with the newest record in the journal of a data folder whose server is idle.
    ///
    /// # Errors
    /// The journal has no record, or the disk refuses.
    pub(super) fn new(path: &Path, data: &Path) -> Result<AppendFloor, BenchError> {
        let problem = |error: io::Error| BenchError::failed(path.display(), error);
        let newest = JOURNAL_FILES.iter().filter_map(|name| newest_record(&fs::read(data.join(name)).ok()?));
        let newest = newest.max_by_key(|(number, _)| *number);
        let (_, record) = newest.ok_or_else(|| BenchError::failed(data.display(), "its journal holds no record"))?;
        let file = File::create(path).map_err(problem)?;
        file.write_all_at(&vec![0; FLOOR_FILE_BYTES], 0).and_then(|()| file.sync_all()).map_err(problem)?;
        Ok(AppendFloor { file, record, at: 0 })
    }

    /// Bytes of the record.
    pub(super) fn bytes(&self) -> usize {
        self.record.len()
    }

    /// Appends so many records at a time with one write and one sync, for some time. The time of a record is that of its sync.
    ///
    /// # Errors
    /// The disk refuses, or the order to stop comes.
    pub(super) fn run(&mut self, time: Duration, records: usize, stop: &Stop) -> Result<Sampled, BenchError> {
        let problem = |error| BenchError::failed("an append of the floor", error);
        let bytes = self.record.repeat(records);
        let start = Instant::now();
        let mut times = Vec::new();
        while times.is_empty() || start.elapsed() < time {
            stop.check()?;
            if self.at + bytes.len() as u64 > FLOOR_FILE_BYTES as u64 {
                self.at = 0;
            }
            let begun = Instant::now();
            self.file.write_all_at(&bytes, self.at).and_then(|()| self.file.sync_data()).map_err(problem)?;
            let took = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
            times.extend((0..records).map(|_| took));
            self.at += bytes.len() as u64;
        }
        Ok(Sampled::new(times, start.elapsed(), None))
    }
}

/// As large as a file of the journal.
const FLOOR_FILE_BYTES: usize = 1 << 20;

/// Number and bytes of the last record of a journal file. Its header has the number and the hash that the first record follows
/// (`docs/explanation/storage.md`).
fn newest_record(file: &[u8]) -> Option<(u64, Vec<u8>)> {
    const HASH: std::ops::Range<usize> = 24..56;
    const HEADER_BYTES: usize = 512;
    let mut hash: Hash = file.get(HASH)?.try_into().ok()?;
    let (mut at, mut newest) = (HEADER_BYTES, None);
    while let Some(record) = record_at(file, at, &hash) {
        newest = Some((record.number.0, file[at..record.end()].to_vec()));
        (hash, at) = (*record.hash, record.end());
    }
    newest
}

/// Versions of a store and the bytes of their compressed bodies and index rows.
///
/// # Errors
/// The store cannot be read, or the order to stop comes.
pub(super) fn payload(data: &Path, config: &Config, stop: &Stop) -> Result<(u64, u64), BenchError> {
    use crate::config::QuickRepairSetting as Set;
    let quick_repair = match config.storage.quick_repair {
        Set::Auto => QuickRepair::Auto,
        Set::On => QuickRepair::On,
        Set::Off => QuickRepair::Off,
    };
    let counted = engine::payload(data, config.storage.cache_mb << 20, quick_repair, || stop.check().is_ok());
    stop.check()?;
    counted.map_err(|error| BenchError::failed(data.display(), error))
}

#[cfg(test)]
mod tests {
    use journal::{Number, record};

    use super::*;

    #[test]
    fn the_body_has_the_size_it_says_and_is_json() {
        let body = body();
        assert_eq!(body.len(), BODY_BYTES);
        assert!(serde_json::from_slice::<serde_json::Value>(&body).is_ok());
    }

    #[test]
    fn the_newest_record_of_a_journal_is_appended_again_and_again() {
        let folder = tempfile::tempdir().unwrap();
        let floor = folder.path().join("floor");
        let mut file = vec![7; 512];
        let header: Hash = file[24..56].try_into().unwrap();
        for payload in [&b"first"[..], b"second one"] {
            record::open(&mut file, |out| out.extend_from_slice(payload));
        }
        record::chain(&mut file[512..], (Number(4), header));
        let newest = file[512 + 5 + record::FRAME_BYTES..].to_vec();
        file.extend([0; 1_000]);
        assert!(AppendFloor::new(&floor, folder.path()).is_err());
        fs::write(folder.path().join(JOURNAL_FILES[0]), &file).unwrap();
        let mut appends = AppendFloor::new(&floor, folder.path()).unwrap();
        assert_eq!((appends.record.clone(), appends.bytes()), (newest.clone(), newest.len()));
        let sampled = appends.run(Duration::ZERO, 3, &Stop::default()).unwrap();
        assert_eq!(sampled.count(), 3);
        let written = fs::read(&floor).unwrap();
        assert_eq!((written.len(), &written[..3 * newest.len()]), (FLOOR_FILE_BYTES, &newest.repeat(3)[..]));
    }
}
