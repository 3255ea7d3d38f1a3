//! Data folders that earlier releases left: each opens, is brought to this release's format, says what it said, and is found whole.
//! Then folders that something was done to: whatever was changed is told.
//!
//! `make` in this folder says how the archives come about.

mod compacted;
mod damaged;
mod held;
mod kept;
#[path = "../process/mod.rs"]
mod process;
mod running;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use base::metrics::Metrics;
use engine::{Engine, EngineOptions, FolderNames, QuickRepair, VerifyReport, elapsed_clock, system_clock};
use hcert::config::Config;
use tempfile::TempDir;

/// Archives of earlier formats, the oldest first.
const ARCHIVES: [&str; 1] = ["format-2"];

/// The format of this release. The first one was never released.
const FORMAT: usize = ARCHIVES.len() + 2;

/// What was unpacked of one: `data`, and what its release said of it.
struct Folder(TempDir, &'static str);

impl Folder {
    fn unpack(name: &'static str) -> Folder {
        let folder = tempfile::tempdir().unwrap();
        let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/folders/{name}.tar.zst"));
        let packed = zstd::Decoder::new(File::open(archive).unwrap()).unwrap();
        tar::Archive::new(packed).unpack(folder.path()).unwrap();
        Folder(folder, name)
    }

    /// The newest one, as this release keeps it.
    fn newest() -> Folder {
        let folder = Folder::unpack(ARCHIVES[ARCHIVES.len() - 1]);
        Engine::open(folder.options()).unwrap().close();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(self.1).join(name)
    }

    fn data(&self) -> PathBuf {
        self.path("data")
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn store(&self) -> PathBuf {
        self.path("data/store.redb")
    }

    fn options(&self) -> EngineOptions {
        EngineOptions {
            folder: self.data(),
            cache_bytes: 8 << 20,
            quick_repair: QuickRepair::Auto,
            purpose: None,
            names: FolderNames(Config::default().namespaces.pairs()),
            unique_number: false,
            metrics: Metrics::new(),
            clock: system_clock(),
            elapsed: elapsed_clock(),
        }
    }

    /// What a check finds.
    fn verified(&self) -> VerifyReport {
        let engine = Engine::open_read_only(self.options()).unwrap();
        let verified = engine.verify(&certificate::Names::default(), &mut |_| ()).unwrap();
        engine.close();
        verified
    }
}
