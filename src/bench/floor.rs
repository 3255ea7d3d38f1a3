//! What it could cost at least: an answer from memory through the same HTTP code, and durable commits without a service.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;

use super::figures::Sampled;
use super::stop::{Stop, Trouble};
use crate::config::Config;
use crate::http::{self, HttpServer, HttpSettings, Interactions};
use crate::interaction::{Answer, Interaction, RequestContext};
use certificate::Version;
use engine::{CommitFloor, QuickRepair};
use fhir::outcome::Outcome;

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

/// Durable commits into a copy of a server's store, so that trees are as deep and pages as full as its own.
pub struct Commits {
    floor: CommitFloor,
    stop: Stop,
}

impl Commits {
    /// Copies the store of a data folder that nobody holds.
    ///
    /// # Errors
    /// There is no room for a copy, or it cannot be opened.
    pub fn over_copy(data: &Path, copy: &Path, config: &Config, stop: &Stop) -> Result<Commits, Trouble> {
        std::fs::create_dir(copy).map_err(|error| Trouble::failed(copy.display(), error))?;
        let (from, to) = (data.join("store.redb"), copy.join("store.redb"));
        copy_file(&from, &to, stop)?;
        let floor = open(copy, config)?;
        Ok(Commits { floor, stop: stop.clone() })
    }

    /// Commits so many rows at a time, for some time. The time of a row is that of its commit.
    ///
    /// # Errors
    /// The disk refuses, or the order to stop comes.
    pub fn run(&mut self, time: Duration, rows: usize) -> Result<Sampled, Trouble> {
        let start = Instant::now();
        let mut times = Vec::new();
        while times.is_empty() || start.elapsed() < time {
            self.stop.check()?;
            let begun = Instant::now();
            self.floor.commit(rows).map_err(|error| Trouble::failed("a commit of the floor", error))?;
            let took = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
            times.extend((0..rows).map(|_| took));
        }
        Ok(Sampled::new(times, start.elapsed(), None))
    }
}

/// Versions of a store and the bytes of their compressed bodies and index rows.
///
/// # Errors
/// The store cannot be read, or the order to stop comes.
pub fn payload(data: &Path, config: &Config, stop: &Stop) -> Result<(u64, u64), Trouble> {
    let counted = open(data, config)?.payload(|| stop.check().is_ok());
    stop.check()?;
    counted.map_err(|error| Trouble::failed(data.display(), error))
}

fn open(folder: &Path, config: &Config) -> Result<CommitFloor, Trouble> {
    use crate::config::QuickRepairSetting as Set;
    let quick_repair = match config.storage.quick_repair {
        Set::Auto => QuickRepair::Auto,
        Set::On => QuickRepair::On,
        Set::Off => QuickRepair::Off,
    };
    let cache_bytes = config.storage.cache_mb << 20;
    CommitFloor::open(folder, cache_bytes, quick_repair).map_err(|error| Trouble::failed(folder.display(), error))
}

/// Copies in pieces, so that an order to stop is heard.
fn copy_file(from: &Path, to: &Path, stop: &Stop) -> Result<(), Trouble> {
    use std::io::{Read, Write};
    let problem = |error: std::io::Error| Trouble::failed(to.display(), error);
    let mut source = std::fs::File::open(from).map_err(|error| Trouble::failed(from.display(), error))?;
    let mut copy = std::fs::File::create(to).map_err(problem)?;
    let mut piece = vec![0; 4 << 20];
    loop {
        stop.check()?;
        let read = source.read(&mut piece).map_err(problem)?;
        if read == 0 {
            // What is measured later must not wait for these bytes.
            return copy.sync_all().map_err(problem);
        }
        copy.write_all(&piece[..read]).map_err(problem)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_has_the_size_it_says_and_is_json() {
        let body = body();
        assert_eq!(body.len(), BODY_BYTES);
        assert!(serde_json::from_slice::<serde_json::Value>(&body).is_ok());
    }
}
