//! What keeps and finds certificates, behind one interface. Above it nobody names redb or tantivy, so that an engine spread over
//! several machines can stand here one day.
//!
//! Everything is synchronous. A write is handed over and answered through a channel; reads and searches run on the caller's thread.

mod decide;
mod embedded;
mod history;
mod list;
mod patient;
mod write;

pub use embedded::{CommitFloor, Embedded as Engine, Error, ImportBatch, Options, Packed, PlannedSearch, SearchError};
pub use history::{HistoryPage, HistoryQuery};
pub use list::{ListChange, ListKey, StoredList};
pub use patient::{PatientFacts, PatientLine, PatientWrite, PatientWritten, StoredPatient};
pub use write::{Content, Import, Imported, Refused, Subject, Who, Write, Written};

use crate::certificate::{Id, Stamp, State, Version};

/// Tells the time in milliseconds since 1970 UTC. An argument, so that tests can hold it.
pub type Clock = std::sync::Arc<dyn Fn() -> i64 + Send + Sync>;

/// The system's clock.
pub fn system_clock() -> Clock {
    std::sync::Arc::new(|| {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |elapsed| elapsed.as_millis() as i64)
    })
}

/// Names that stored data hold (Contract 1.1): setting and value. A folder keeps those it was made with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(pub Vec<(String, String)>);

/// When commits prepare a fast start after a crash (setting `storage.quick_repair`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuickRepair {
    On,
    Off,
    /// On from the file size at which a full repair would be felt.
    Auto,
}

/// A version as it is stored.
#[derive(Clone, Debug)]
pub struct Stored {
    pub id: Id,
    pub version: Version,
    /// State after this version; `Deleted` is the tombstone, which has no resource.
    pub state: State,
    pub stamp: Stamp,
    /// The resource, byte for byte as it is served; empty for the tombstone.
    pub resource: Vec<u8>,
}
