//! The way to a running server for commands: `hcert.sock` in the data folder, for the folder's owner only. Contract 9.1.
//!
//! redb gives the folder to one process. A command that finds a server there hands its work over: one line of JSON says what is
//! wanted, then lines flow in both directions until either side is done.

mod backup;
mod client;
pub mod limits;
mod line;
mod server;
mod verify;

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::backup::{Base, Digest};
use crate::bulk::AuditAsked;
use base::log::LogOrder;
pub use client::{CommandConnection, connect};
use engine::ClockDecision;
pub use server::SocketServer;

/// What a command asks of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum CommandRequest {
    /// Lines follow until the client closes its side; events come back.
    Import { stop_at_bad: bool },
    /// Patients follow until the client closes its side; events come back.
    PatientsImport { stop_at_bad: bool },
    /// `Listed` come back, one a line, the last of them an end.
    PatientsList { identifier: Option<String> },
    /// Lines come back: all versions after a change, then `Result<(), String>`.
    Export { after: u64 },
    /// A token was made by command; `Result<(), String>` comes back: whether that was written down.
    TokenIssued { person: String, role: String, organization: Option<String> },
    /// Code lists follow until the client closes its side; `Result<Vec<ListLine>, Vec<String>>` comes back.
    TerminologyLoad,
    /// `Vec<ListLine>` comes back.
    TerminologyList,
    /// `Result<(), Vec<String>>` comes back.
    TerminologyRemove { url: String },
    /// `AuditResult` comes back. The head is one of earlier.
    AuditVerify { head: Option<String> },
    /// `AuditResult` comes back.
    AuditAccept,
    /// AuditEvents come back, one a line, then `AuditResult`.
    AuditExport(AuditAsked),
    /// `Step`s come back, one a line.
    Reindex,
    /// Members of an archive come back, each a line and its bytes. The recipients are those that the command encrypts it to.
    Backup { base: Option<Box<Base>>, recipients: Option<Digest> },
    /// How far it is and what was found come back, one a line. The heads are of earlier.
    Verify { heads: Vec<String> },
    /// `Result<NewestHeads, String>` comes back.
    Heads,
    /// `Result<Stats, String>` comes back.
    Stats,
    /// `Result<ClockState, String>` comes back: after the decision, where there is one.
    Clock { decision: Option<ClockDecision> },
    /// `Result<LogState, String>` comes back: what is written to the log from now on.
    Log(LogOrder),
    /// `Result<Option<u64>, String>` comes back: the number of a version's change, where there is such a version.
    SeqOf { id: u64, version: u32 },
}

/// How far a command has come that takes its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum CommandProgress {
    At { at: u64, of: u64 },
    Done { count: u64 },
    Failed { problem: String },
}

/// How a command on the audit trail ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum AuditResult {
    Done { report: String, is_whole: bool },
    Failed { problem: String },
}

/// How an answer begins in place of any other: the server does not take the command. Words follow, up to the end of the line.
const REFUSED: &str = "refused: ";

/// Where the socket of a data folder is.
pub fn path(folder: &Path) -> PathBuf {
    folder.join(NAME)
}

const NAME: &str = "hcert.sock";

/// Bytes that an address of a socket has for a path, the zero behind it among them. Source: unix(7).
const ADDRESS_BYTES: usize = 108;

/// Does something with the path of the socket. One that is too long for an address is replaced by a short one to the same file, through
/// the folder that is held open meanwhile.
///
/// # Errors
/// What `call` returned, or the folder cannot be opened. Each names the file.
fn reach<T>(folder: &Path, call: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let path = path(folder);
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{NAME}: {error}"));
    if path.as_os_str().len() < ADDRESS_BYTES {
        return call(&path).map_err(named);
    }
    let folder = OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_DIRECTORY).open(folder)?;
    call(&PathBuf::from(format!("/proc/self/fd/{}/{NAME}", folder.as_raw_fd()))).map_err(named)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_data_folder_may_have_a_path_that_is_longer_than_an_address() {
        let place = tempfile::tempdir().unwrap();
        for length in [1, 60, 200] {
            let folder = place.path().join("d".repeat(length));
            let request = CommandRequest::Stats;
            assert!(connect(&folder, &request).unwrap().is_none(), "no folder is no server");
            std::fs::create_dir(&folder).unwrap();
            assert!(connect(&folder, &request).unwrap().is_none());
            let listener = reach(&folder, |path| UnixListener::bind(path)).unwrap();
            assert!(path(&folder).exists());
            assert!(connect(&folder, &request).unwrap().is_some());
            drop(listener);
            assert!(connect(&folder, &request).unwrap().is_none(), "a left-over is no server");
        }
    }

    #[test]
    fn the_file_is_named_that_is_in_the_way() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(NAME, path(folder.path())).unwrap();
        let problem = connect(folder.path(), &CommandRequest::Stats).err().unwrap().to_string();
        assert!(problem.starts_with("hcert.sock: ") && problem.contains("symbolic links"), "{problem}");
    }
}
