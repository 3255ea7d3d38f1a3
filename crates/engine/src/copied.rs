//! What a backup asks of the engine and a restore gives it: pieces of the logs of changes, in bytes that only the engine reads.

use serde::{Deserialize, Serialize};

use super::{ClockReset, EntryHash, FolderPurpose, StoreChain, StoredList};
use certificate::Seq;

/// A moment of the store: everything that is not in its logs, and how far these go.
#[derive(Clone, Debug)]
pub struct StoreSnapshot {
    /// Made with the store; copies of it share it.
    pub store: String,
    /// Another one after each restore.
    pub epoch: String,
    /// What stored data hold: setting and value.
    pub names: Vec<(String, String)>,
    /// The last change.
    pub until: Seq,
    /// The last entry of the register.
    pub register_until: u64,
    /// How far the chains go: to the last change, and to the last entry of the register.
    pub chain: StoreChain,
    /// The least id that a new certificate may get.
    pub next_id: u64,
    /// The least id that a new patient may get.
    pub next_patient_id: u64,
    /// What bodies are compressed with, by number.
    pub dictionaries: Vec<(u8, Vec<u8>)>,
    /// The newest time stamp and the clock decisions of an operator.
    pub time: StoredTime,
    /// None where no command has served it.
    pub purpose: Option<FolderPurpose>,
    /// What the store knows of the end of the audit trail, if it knows any.
    pub audit_head: Option<String>,
}

/// What a store keeps of its time beside its changes, milliseconds since 1970 UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StoredTime {
    /// The newest time stamp; none while nothing was changed.
    pub newest: Option<i64>,
    /// The newest time stamp when an operator accepted that the clock is behind it.
    pub accepted: Option<i64>,
    /// Where time began again, in their order.
    pub resets: Vec<ClockReset>,
}

/// How pieces of logs are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceForm {
    /// As this release writes them.
    Present,
    /// As releases wrote them whose stores had format 2.
    Former,
}

/// Rows of a log, one behind the other, as they are copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPiece {
    /// Copied rows, in a layout that only the engine reads and writes.
    pub bytes: Vec<u8>,
    /// Number of rows in `bytes`.
    pub rows: u64,
    /// Number of the last one.
    pub last: u64,
}

/// How the store of a restore begins.
#[derive(Clone, Debug)]
pub struct RestoreStart {
    /// Of the store that was copied.
    pub store: String,
    /// Names that stored data hold, setting and value; as [`StoreSnapshot::names`].
    pub names: Vec<(String, String)>,
    /// Where the chains of the store that was copied begin.
    pub origin: EntryHash,
    /// Dictionaries that the copied bodies are compressed with, each with its number.
    pub dictionaries: Vec<(u8, Vec<u8>)>,
    /// How pieces are laid out.
    pub form: PieceForm,
    /// The last change that is taken; pieces may go further.
    pub to: Seq,
    /// Where a folder stands that the restore goes on with; none: it makes the store.
    pub onto: Option<FolderPosition>,
}

/// How far the history in a data folder goes, for a restore that goes on with it.
#[derive(Clone, Debug)]
pub struct FolderPosition {
    /// The last change.
    pub changes: Seq,
    /// The last entry of the register, but for the mark of an epoch of the folder's own.
    pub register: u64,
    /// How far the chains go there.
    pub chain: StoreChain,
    /// The epoch that a restore gave the folder, where its mark is the last entry and nothing was written since.
    pub own_epoch: Option<String>,
}

/// How the store of a restore ends.
#[derive(Clone, Debug)]
pub struct RestoreEnd {
    /// New certificates get no smaller id.
    pub next_id: u64,
    /// New patients get no smaller id.
    pub next_patient_id: u64,
    /// Code lists to store: those of an archive that has them beside the register.
    pub lists: Vec<StoredList>,
    /// None where it ends before the moment that was copied, or that is not known: then it follows from what was restored.
    pub time: Option<StoredTime>,
    /// None: the first command that serves it says it.
    pub purpose: Option<FolderPurpose>,
    /// What the store that was copied knew of the end of the audit trail.
    pub audit_head: Option<String>,
}
