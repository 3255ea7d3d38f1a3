//! The way to a running server for commands: `hcert.sock` in the data folder, for the folder's owner only. Contract 9.1.
//!
//! redb gives the folder to one process. A command that finds a server there hands its work over: one line of JSON says what is
//! wanted, then lines flow in both directions until either side is done.

mod backup;
mod client;
mod server;
mod verify;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::backup::Base;
use crate::bulk::AuditAsked;
pub use client::{Connection, connect};
pub use server::Server;

/// What a command asks of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Lines follow until the client closes its side; events come back.
    Import { stop_at_bad: bool },
    /// Patients follow until the client closes its side; events come back.
    PatientsImport { stop_at_bad: bool },
    /// `Listed` come back, one a line, the last of them an end.
    PatientsList { identifier: Option<String> },
    /// Lines come back: all versions after a change, then the server closes.
    Export { after: u64 },
    /// A token was made by command; `Result<(), String>` comes back: whether that was written down.
    TokenIssued { person: String, role: String, organization: Option<String> },
    /// Code lists follow until the client closes its side; `Result<Vec<ListLine>, Vec<String>>` comes back.
    TerminologyLoad,
    /// `Vec<ListLine>` comes back.
    TerminologyList,
    /// `Result<(), Vec<String>>` comes back.
    TerminologyRemove { url: String },
    /// `AuditTold` comes back. The head is one of earlier.
    AuditVerify { head: Option<String> },
    /// AuditEvents come back, one a line, then `AuditTold`.
    AuditExport(AuditAsked),
    /// `Step`s come back, one a line.
    Reindex,
    /// Members of an archive come back, each a line and its bytes.
    Backup { base: Option<Box<Base>> },
    /// How far it is and what was found come back, one a line.
    Verify,
    /// `Result<Stats, String>` comes back.
    Stats,
    /// The number of a version's change comes back, or `null`.
    SeqOf { id: u64, version: u32 },
}

/// How far a command has come that takes its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    At { at: u64, of: u64 },
    Done { count: u64 },
    Failed { problem: String },
}

/// How a command on the audit trail ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum AuditTold {
    Done { report: String, is_whole: bool },
    Failed { problem: String },
}

/// Where the socket of a data folder is.
pub fn path(folder: &Path) -> PathBuf {
    folder.join("hcert.sock")
}
