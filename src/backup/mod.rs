//! Backups: an archive of the store and its audit trail, taken while the server goes on, and a data folder made of archives again.
//!
//! An archive is a tar file. First stands what it is, then the records in pieces, last a manifest with the digest of everything before.
//! An incremental one holds what came behind the end of another. `docs/BACKUP.md` describes both byte by byte.

mod archive_manifest;
mod block;
mod chain;
mod check;
mod digest;
mod file;
mod folder;
pub mod limits;
mod member;
mod onto;
mod read;
mod restore;
mod schedule;
mod sealing;
mod signing_key;
mod survey;
mod take;
#[cfg(test)]
mod tests;
mod write;

use serde::{Deserialize, Serialize};

pub use archive_manifest::{ARCHIVE_FORMAT, ArchiveManifest, Base};
pub use chain::{Archive, in_order, in_order_behind};
pub use check::{CheckedArchives, check};
pub use digest::Digest;
pub use folder::{expect_target, newest_in, newest_without_gap};
pub use member::ArchiveMember;
pub use onto::ContinuedFolder;
pub use restore::{FilledFolder, RestoreOptions, Restored, change_by, restore, restore_onto};
pub use schedule::{BackupPlan, Schedule, ScheduleStatus};
pub use sealing::{ArchiveKeys, Sealing, Signer, closed, expect_sealed_as, recipients};
pub use signing_key::SIGNING_KEY_FILE;
pub use survey::{JudgedChain, StrayArchive, Survey, newest_whole, survey};
pub use take::{Sink, TakeOptions, take, take_at_rest};
pub use write::{ArchiveTarget, Unfinished, WrittenArchive};

/// How far a backup, a check or a restore has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveProgress {
    pub changes: u64,
    pub changes_total: u64,
    pub patients: u64,
    pub patients_total: u64,
    pub bytes: u64,
    /// Of the archives that are read; 0 where that is not known.
    pub bytes_total: u64,
}
