//! What it could cost at least: the HTTP code with an answer from memory, and the store's commits without a service.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hcert::certificate::Version;
use hcert::config::Config;
use hcert::http::{self, Run, Server, Settings};
use hcert::interaction::{Answer, Context, Interaction};
use hcert::outcome::Outcome;
use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};
use tokio::net::TcpListener;

use crate::load::Measured;
use crate::process::Process;

/// Makes this program the HTTP floor.
pub const ARGUMENT: &str = "--http-floor";

/// A certificate as most of them are.
pub const BODY_BYTES: usize = 4096;

struct Memory(Vec<u8>);

impl Run for Memory {
    async fn run(&self, _: Interaction, _: Context, _: Vec<u8>) -> Result<Answer, Outcome> {
        Ok(Answer { status: 200, body: self.0.clone(), version: Some((Version::FIRST, 0)), ..Answer::default() })
    }
}

/// The same listener, routes and headers, and as many threads as the server has; behind them one body.
pub fn serve() {
    let config = Config::default();
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(config.server.workers).enable_all().build().expect("threads can be started");
    runtime.block_on(async {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.expect("a port is free");
        let address = listener.local_addr().expect("it listens");
        let settings = Settings::new(&config, address).expect("an address of one interface is enough");
        let body = format!("{{\"resourceType\":\"Composition\",\"title\":\"{}\"}}", "x".repeat(BODY_BYTES - 41));
        assert_eq!(body.len(), BODY_BYTES);
        println!("http://{address}");
        http::serve(listener, Server::new(Memory(body.into_bytes()), settings), std::future::pending()).await;
    });
}

pub fn start(folder: &Path) -> Process {
    let mut command = Command::new(std::env::current_exe().expect("this program has a file"));
    command.arg(ARGUMENT);
    Process::launch(command, folder.join("floor.log"))
}

const VERSION: TableDefinition<(u64, u32), &[u8]> = TableDefinition::new("version");
const CHANGE: TableDefinition<u64, &[u8; 29]> = TableDefinition::new("change");

/// Durable commits of rows as the server writes them, into a copy of its store.
pub struct Commits {
    database: Database,
    rows: Vec<(Vec<u8>, [u8; 29])>,
    next: AtomicU64,
}

impl Commits {
    /// The copy has the size of the store, so its trees are as deep.
    pub fn over_copy(store: &Path, copy: &Path) -> Commits {
        std::fs::copy(store, copy).expect("there is room for a copy");
        // The size of the server's cache.
        let database = Database::builder().set_cache_size(256 << 20).create(copy).expect("the copy is a store");
        let read = database.begin_read().expect("the copy can be read");
        let versions = read.open_table(VERSION).expect("the store has versions");
        let changes = read.open_table(CHANGE).expect("the store has changes");
        // First versions are what creates write.
        let first = versions.iter().expect("rows").map(|row| row.expect("a row")).filter(|(key, _)| key.value().1 == 1);
        let change = changes.first().expect("rows").map(|(_, change)| *change.value()).expect("the store is not empty");
        let rows = first.take(2_000).map(|(_, row)| (row.value().to_vec(), change)).collect();
        let last = versions.last().expect("rows").map_or(0, |(key, _)| key.value().0);
        let last_change = changes.last().expect("rows").map_or(0, |(seq, _)| seq.value());
        drop((versions, changes, read));
        Commits { database, rows, next: AtomicU64::new(last.max(last_change) + 1) }
    }

    /// Commits `batch` rows at a time. The time of a row is that of its commit.
    pub fn run(&self, time: Duration, batch: u64) -> Measured {
        let start = Instant::now();
        let mut times = Vec::new();
        while start.elapsed() < time {
            let begun = Instant::now();
            self.commit(batch);
            let took = begun.elapsed();
            times.extend((0..batch).map(|_| took));
        }
        Measured::new(times, start.elapsed(), Duration::ZERO)
    }

    fn commit(&self, batch: u64) {
        let mut write = self.database.begin_write().expect("nobody else writes");
        write.set_durability(Durability::Immediate).expect("nothing was written before");
        // As the server decides by itself for a store of this size.
        write.set_quick_repair(true);
        {
            let mut versions = write.open_table(VERSION).expect("the store has versions");
            let mut changes = write.open_table(CHANGE).expect("the store has changes");
            for _ in 0..batch {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                let (row, change) = &self.rows[number as usize % self.rows.len()];
                versions.insert((number, 1), row.as_slice()).expect("there is room");
                changes.insert(number, change).expect("there is room");
            }
        }
        write.commit().expect("there is room");
    }
}
