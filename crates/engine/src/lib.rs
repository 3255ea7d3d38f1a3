//! What keeps and finds certificates, behind one interface. Above it nobody names redb or tantivy, so that an engine spread over
//! several machines can stand here one day.
//!
//! Three groups of calls: *keep* ([`Engine::append`], [`Engine::read`], [`Engine::ledger`], [`Engine::patients`]), *find*
//! ([`Engine::plan`], [`Engine::history`]), and *look after* (health, clock, check, reindex, compact). A change is handed over and its answer
//! awaited; reads and searches run on the caller's thread.

#![deny(missing_docs)]
// Both panic when nobody reads any more.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod chain;
mod clock;
mod committed;
mod consent;
mod copied;
mod decide;
pub mod embedded;
mod explanation;
mod health;
mod history;
pub mod limits;
mod list;
mod patient;
mod refused;
mod write;

pub use chain::{EntryHash, EntryHead, EntryLog, StoreChain};
pub use clock::{
    Clock, ClockDecision, ClockGuard, ClockProblem, ClockReading, ClockReset, ClockState, elapsed_clock, system_clock,
};
pub use committed::{ChangeAction, ClockEvent, CommittedChange};
pub use consent::ConsentRecord;
pub use copied::{FolderPosition, LogPiece, PieceForm, RestoreEnd, RestoreStart, StoreSnapshot, StoredTime};
pub use embedded::{
    AuditHead, Change, CompressedVersion, CopyCheck, CopyOrder, Engine, EngineOptions, EngineOrigin, Entry, FORMAT,
    FolderHistory, IdsLeftOut, ImportBatch, Ledger, MemoryLog, PatientWrites, Patients, PlannedSearch, RESTORING,
    RestoredStore, Salvage, Salvaged, SearchError, StoreError, StoreRestore, expect_unused, made_by, payload,
};
pub use embedded::{
    Compacted, ErasedCertificate, FileSize, Stats, TableSize, VerifyProblem, VerifyProgress, VerifyReport, size,
};
pub use explanation::{SearchDriver, SearchExplanation, SearchWay, TotalSource};
pub use health::{DiskSpace, EngineHealth, IndexHealth, StoreHealth};
pub use history::{HistoryPage, HistoryQuery};
pub use list::{ListChange, ListKey, StoredList};
pub use patient::{PatientFacts, PatientLine, PatientWrite, PatientWritten, StoredPatient};
pub use write::{
    AcknowledgedChange, Actor, Imported, ImportedVersion, Particulars, RefusedChange, VersionContent, VersionSubject,
    Write,
};

use serde::{Deserialize, Serialize};

use certificate::search::row::Row;
use certificate::{Id, Stamp, State, Version};

/// The file of the store in a data folder.
pub const STORE_FILE: &str = "store.redb";

/// The file in a data folder whose lock says that a process has the folder. It is empty, and stays.
pub const FOLDER_LOCK: &str = "hcert.lock";

/// Names of the files of the journal of the store in the data folder.
pub const JOURNAL_FILES: [&str; 2] = ["store.journal-0", "store.journal-1"];

/// How every sentence about damage begins. Errors reach commands as sentences, also through a running server; damage has an exit code of its
/// own. Decision 199.
pub const DAMAGED: &str = "the store is damaged";

/// Names that stored data hold (Contract 1.1): setting and value. A folder keeps those it was made with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderNames(pub Vec<(String, String)>);

impl FolderNames {
    /// Names that are settings since a later release. A folder or archive that does not record one was made with this value.
    /// Decision 138.
    pub const UNRECORDED: [(&str, &str); 1] = [("person_identifier_base", "https://fhir.ee/sid")];
}

/// What a data folder is for, written into it by the first command that serves it: the one refuses the folder of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FolderPurpose {
    /// `hcert dev`: people and certificates are made up.
    Developer,
    /// `hcert serve`: real data.
    Service,
}

/// How the sentence begins that refuses a folder for its purpose. Its exit code is that of wrong settings. Decision 240.
pub const MADE_BY: &str = "the data folder was made by";

impl FolderPurpose {
    /// The one with a [`name`](Self::name).
    pub fn named(name: &[u8]) -> Option<FolderPurpose> {
        [FolderPurpose::Developer, FolderPurpose::Service].into_iter().find(|purpose| purpose.name().as_bytes() == name)
    }

    /// As the store has it.
    pub fn name(self) -> &'static str {
        match self {
            FolderPurpose::Developer => "developer",
            FolderPurpose::Service => "service",
        }
    }
}

/// When commits prepare a fast start after a crash (setting `storage.quick_repair`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuickRepair {
    /// Every commit prepares it.
    On,
    /// No commit prepares it.
    Off,
    /// On from the file size at which a full repair would be felt.
    Auto,
}

/// A version as it is stored.
#[derive(Clone, Debug)]
pub struct StoredVersion {
    /// Id of the certificate.
    pub id: Id,
    /// Version of the certificate, from 1.
    pub version: Version,
    /// State after this version; `Deleted` is the tombstone, which has no resource.
    pub state: State,
    /// When the version was made.
    pub stamp: Stamp,
    /// The resource, byte for byte as it is served; empty for the tombstone.
    pub resource: Vec<u8>,
}

/// What rights ask of a certificate, all of one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveRow {
    /// The newest version, which may be a tombstone.
    pub version: Version,
    /// State after the newest version.
    pub state: State,
    /// The row of the newest version that has one, with the consent that holds. None for a tombstone that was imported alone.
    pub row: Option<Row>,
}
