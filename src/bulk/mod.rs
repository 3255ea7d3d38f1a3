//! All certificates at once: every version as one line of NDJSON, out of the store and into it.
//!
//! A line is an entry of a FHIR history Bundle: `{"fullUrl":"Composition/17","resource":{…},"request":{…},"response":{…}}`. A deletion
//! has no resource. Import also takes bare Compositions: with `id` and `meta.versionId` they keep them, without they are created.

mod audit;
mod audit_record;
mod chunk;
mod clock;
pub mod entry;
mod export;
mod heads;
mod import;
pub mod limits;
mod patients;
mod salvage;
mod trail_head;
mod verify;

use serde::{Deserialize, Serialize};

pub use audit::{AuditAsked, AuditReader, export_audit};
pub use audit_record::{note, write_down, write_event_down, write_token_down};
pub use clock::clock;
pub use export::export;
pub use heads::{KnownHead, NewestHeads, hash_of_change, heads, heads_of_server};
pub use import::{ImportOptions, import};
pub use patients::{ListedPatient, event_of_list, import as import_patients, list as list_patients};
pub use salvage::salvage;
pub use trail_head::{accept_lost, accept_trail, hand_head_over, keep_trail_head};
pub use verify::{beside_store, missing_trail, verify, verify_trail};

/// What a long run tells while it goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BulkEvent {
    /// How far it has come.
    Progress(BulkProgress),
    /// A line that was not taken, from 1, and why.
    BadLine { line: u64, problem: String },
    /// Something to look at that was stored all the same.
    Doubtful { problem: String },
    /// The run is over; nothing follows.
    Done(BulkProgress),
    /// The run ended early; nothing follows.
    Failed { problem: String },
}

/// Counts since the start of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkProgress {
    pub lines: u64,
    pub bytes: u64,
    /// Versions written.
    pub stored: u64,
    /// Versions that were there already.
    pub identical: u64,
    /// Lines not taken.
    pub bad: u64,
    /// Lines there will be, when that is known.
    pub lines_total: Option<u64>,
}
