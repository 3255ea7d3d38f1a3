//! What a data folder holds, in numbers: for whoever plans its disk, and whoever wonders where the bytes are.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::panics::caught;
use super::store::derived::is_derived;
use super::store::{self, Measured, StoreError, record};
use super::{Engine, index};
use certificate::search::row_bytes;

/// Everything that is counted and measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Numbers of the formats in which this release writes, by what is written.
    pub formats: BTreeMap<String, u32>,
    /// The last change.
    pub change: u64,
    /// Last entries of the logs, each as `changes/120:` and its hash.
    pub heads: Vec<String>,
    /// Stored versions of all certificates, tombstones included.
    pub versions: u64,
    /// Changes of consent.
    pub consents: u64,
    /// Current certificates; deleted ones are not counted.
    pub certificates: u64,
    /// Current certificates by the FHIR code of their status, such as `preliminary`.
    pub by_status: BTreeMap<String, u64>,
    /// Current certificates by the name of their profile.
    pub by_profile: BTreeMap<String, u64>,
    /// By the code of the first category; those without one stand under `-`.
    pub by_category: BTreeMap<String, u64>,
    /// Patients of the embedded registry.
    pub patients: u64,
    /// Stored versions of all patients.
    pub patient_versions: u64,
    /// What the search index holds.
    pub index: IndexSize,
    /// What each table of the store takes.
    pub tables: Vec<TableSize>,
    /// What each file and folder directly in the data folder takes, by name.
    pub files: Vec<FileSize>,
    /// Bytes of the record of one version, header and key included, on average; 0 without versions.
    pub version_bytes: u64,
    /// Bytes of the store, its journal and the index for each version, on average. The audit trail makes its files ahead.
    pub store_bytes_a_version: u64,
}

/// What the index holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexSize {
    /// The change up to which it has come; none while it is being built.
    pub change: Option<u64>,
    pub segments: u64,
    /// Documents, deleted ones included.
    pub rows: u64,
    pub rows_deleted: u64,
}

/// What a table of the store takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSize {
    /// Name of the table, such as `version`.
    pub name: String,
    /// Whether it is made of the entries that are kept, so that it can be made again.
    pub is_derived: bool,
    /// Number of rows in the table.
    pub rows: u64,
    /// Keys and values.
    pub stored_bytes: u64,
    /// Pages above them.
    pub metadata_bytes: u64,
    /// Free inside its pages.
    pub fragmented_bytes: u64,
}

/// What a file or folder in the data folder takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSize {
    /// Name of the file or folder, without its path.
    pub name: String,
    /// Number of files: 1 for a file, for a folder all files below it.
    pub files: u64,
    /// Lengths, added.
    pub bytes: u64,
}

impl Engine {
    /// Counts and measures. Measuring the tables walks their pages, a table at a time: on a server with millions of certificates some
    /// seconds of reading.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn stats(&self) -> Result<Stats, StoreError> {
        self.shared.heed(self.counted())
    }

    fn counted(&self) -> Result<Stats, StoreError> {
        let reader = self.shared.store.reader()?;
        let position = reader.position()?;
        let consents = reader.record_count(store::Records::Consent)?;
        let patients = reader.patient_count()?;
        let patient_versions = reader.record_count(store::Records::Patient)?;
        drop(reader);
        let mut stats = Stats {
            formats: formats(),
            change: position.seq.0,
            heads: self.ledger().heads()?.iter().map(ToString::to_string).collect(),
            versions: position.running,
            consents,
            patients,
            patient_versions,
            index: self.index_size(),
            tables: self.shared.store.measure()?.into_iter().map(TableSize::from).collect(),
            files: files(self.shared.index_folder.parent().unwrap_or(Path::new("."))),
            ..Stats::default()
        };
        let (classes, counters) = {
            let published = self.shared.publishing();
            (published.classes.clone(), published.counters.clone())
        };
        for (class, number) in classes.iter().zip(counters.iter().chain(std::iter::repeat(0))) {
            if number > 0 {
                let category = class.category.first().and_then(|coding| coding.code.as_deref()).unwrap_or("-");
                stats.certificates += number;
                *stats.by_status.entry(class.state.status().code().to_owned()).or_default() += number;
                *stats.by_profile.entry(class.profile.name().to_owned()).or_default() += number;
                *stats.by_category.entry(category.to_owned()).or_default() += number;
            }
        }
        if let Some(versions) = NonZeroU64::new(stats.versions) {
            let table = stats.tables.iter().find(|table| table.name == "version");
            stats.version_bytes = table.map_or(0, |table| table.stored_bytes) / versions;
            let is_ours = |file: &&FileSize| file.name.starts_with("store.") || file.name == "index";
            stats.store_bytes_a_version =
                stats.files.iter().filter(is_ours).map(|file| file.bytes).sum::<u64>() / versions;
        }
        Ok(stats)
    }

    fn index_size(&self) -> IndexSize {
        let Some(index) = self.index_at_hand() else { return IndexSize::default() };
        let segments = &index.segments;
        let deleted =
            segments.iter().map(|segment| (0..segment.max_doc()).filter(|doc| !segment.is_alive(*doc)).count() as u64);
        IndexSize {
            change: Some(index.at.0),
            segments: segments.len() as u64,
            rows: index.rows(),
            rows_deleted: deleted.sum(),
        }
    }
}

impl Engine {
    /// The index that searches use; of a folder that is only looked at, the one that lies there.
    fn index_at_hand(&self) -> Option<Arc<index::Snapshot>> {
        let shared = &self.shared;
        if !shared.store.is_read_only() {
            return shared.view().map(|view| view.index.clone());
        }
        // A damaged file may show as a panic as well as an error; a check tells more.
        let read = || match index::read(&shared.index_medium, &shared.index_folder, &shared.origin) {
            index::IndexFolderState::Whole(committed) => committed.snapshot().ok(),
            _ => None,
        };
        caught(read).flatten().map(Arc::new)
    }
}

impl From<Measured> for TableSize {
    fn from(measured: Measured) -> TableSize {
        let Measured { name, rows, stored_bytes, metadata_bytes, fragmented_bytes } = measured;
        let is_derived = is_derived(&name);
        TableSize { name, is_derived, rows, stored_bytes, metadata_bytes, fragmented_bytes }
    }
}

/// What this release writes. Each number stands in what is written as well, and another one is refused by its name.
fn formats() -> BTreeMap<String, u32> {
    let formats = [
        ("store", store::FORMAT),
        ("entry", u32::from(record::LAYOUT)),
        ("index row", u32::from(row_bytes::FORMAT)),
        ("index", index::LAYOUT),
    ];
    formats.into_iter().map(|(what, number)| (what.to_owned(), number)).collect()
}

/// What lies in a folder, each folder in it as one. What goes away meanwhile is left out.
fn files(folder: &Path) -> Vec<FileSize> {
    let mut files: Vec<FileSize> = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (count, bytes) = size(&entry.path());
        files.push(FileSize { name: entry.file_name().to_string_lossy().into_owned(), files: count, bytes });
    }
    files.sort_by(|left, right| left.name.cmp(&right.name));
    files
}

/// Files in a folder or of a file, and their bytes.
pub fn size(path: &Path) -> (u64, u64) {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => {
            let inside = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size(&entry.path()));
            inside.fold((0, 0), |(files, bytes), (more, larger)| (files + more, bytes + larger))
        }
        Ok(found) if found.is_file() => (1, found.len()),
        _ => (0, 0),
    }
}
