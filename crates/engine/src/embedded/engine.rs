//! The open engine.

use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::shared::EngineShared;
use super::writer::Job;
use crate::{Clock, FolderNames, FolderPurpose, QuickRepair, elapsed_clock, system_clock};
use base::metrics::Metrics;

/// How to open the engine.
#[derive(Clone)]
pub struct EngineOptions {
    /// The data folder; [`Engine::open`] makes it where it is missing.
    pub folder: PathBuf,
    /// redb's cache; it may be exceeded by about half.
    pub cache_bytes: usize,
    /// When commits prepare a fast start after a crash.
    pub quick_repair: QuickRepair,
    /// What stored data hold.
    pub names: FolderNames,
    /// What the folder is opened for; none for commands that serve it to nobody.
    pub purpose: Option<FolderPurpose>,
    /// Contract 3.9.
    pub unique_number: bool,
    /// Where writer and indexer count.
    pub metrics: Arc<Metrics>,
    /// The system clock, milliseconds since 1970 UTC; time stamps come from it.
    pub clock: Clock,
    /// Milliseconds that have passed since any moment; nobody can set it. [`elapsed_clock`](crate::elapsed_clock), unless a test says
    /// otherwise.
    pub elapsed: Clock,
}

impl EngineOptions {
    /// A small store in a folder, with the usual clocks and namespaces.
    pub fn in_folder(folder: PathBuf) -> EngineOptions {
        EngineOptions {
            folder,
            cache_bytes: 8 << 20,
            quick_repair: QuickRepair::Auto,
            names: FolderNames::default(),
            purpose: None,
            unique_number: false,
            metrics: Metrics::new(),
            clock: system_clock(),
            elapsed: elapsed_clock(),
        }
    }
}

/// What a store is.
#[derive(Clone, Copy, Debug)]
pub struct EngineOrigin<'e> {
    /// The name of the store's present life: another one after each restore.
    pub epoch: &'e str,
    /// The format of the store.
    pub format: u32,
    /// The format that opening brought the store from, where it had an earlier one.
    pub migrated_from: Option<u32>,
    /// Key for links with sealed parameters; it belongs to the store, so links survive a restart.
    pub seal_key: [u8; 32],
}

/// The open engine. Closing waits for everything acknowledged; dropping it closes it.
pub struct Engine {
    pub(super) shared: Arc<EngineShared>,
    pub(super) queue: Mutex<Option<SyncSender<Job>>>,
    pub(super) threads: Mutex<Vec<JoinHandle<()>>>,
    pub(super) seal_key: [u8; 32],
    pub(super) migrated: Option<u32>,
    pub(super) names: FolderNames,
}
