//! What goes wrong in the store.

use std::fmt;
use std::io::ErrorKind;

use redb::{CommitError, CompactionError, DatabaseError, StorageError, TableError, TransactionError};

use super::holder::FolderHolder;
use crate::{DAMAGED, FolderPurpose, MADE_BY};

/// What really happens in the store.
#[derive(Debug)]
pub enum StoreError {
    /// The folder belongs to a running process, and to which where that is known.
    InUse(Option<FolderHolder>),
    /// Made by a later release.
    Newer(String),
    /// Made by an earlier release, and not to be brought to this one's format.
    Migration(String),
    /// Made with other namespaces: the setting, what the folder has, what was asked for.
    OtherNames {
        /// The setting that holds the name.
        name: String,
        /// The value that the folder was made with.
        stored: String,
        /// The value that the settings have now.
        wanted: String,
    },
    /// Made by the command that serves for another purpose.
    OtherPurpose(FolderPurpose),
    /// Bytes that cannot have been written so.
    Damaged(String),
    /// The file system or redb refused.
    Io(String),
    /// The operating system gives too few threads or open files, with what to raise.
    Limits(String),
    /// A commit failed: the change may be there or not.
    CommitUnknown(String),
    /// Not at this moment: the database is being opened again after a failed commit.
    Reopening,
    /// A restore into the folder was cut off.
    Restoring,
    /// The file is no longer the one that was opened: removed, moved, replaced or cut. Nothing is written any more.
    Gone,
    /// The data folder is not the one that was opened.
    Moved,
}

impl fmt::Display for StoreError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            StoreError::InUse(None) => formatter.write_str("the data folder is in use by another process"),
            StoreError::InUse(Some(holder)) => write!(formatter, "the data folder is in use by {holder}"),
            StoreError::Newer(what) => write!(formatter, "the data folder was written by a later release: {what}"),
            StoreError::Migration(what) => {
                write!(formatter, "the data folder cannot be brought to the format of this release: {what}")
            }
            StoreError::OtherNames { name, stored, wanted } => write!(
                formatter,
                "the data folder was made with {name} = \"{stored}\", but the settings say \"{wanted}\"; stored certificates hold these \
                 names, so set it back or start with another folder"
            ),
            StoreError::OtherPurpose(FolderPurpose::Developer) => write!(
                formatter,
                "{MADE_BY} `hcert dev`, whose people are made up; `hcert serve` is for real data: name another folder with --data"
            ),
            StoreError::OtherPurpose(FolderPurpose::Service) => write!(
                formatter,
                "{MADE_BY} `hcert serve` for real data; `hcert dev` gives every right to every caller: name another folder with --data"
            ),
            StoreError::Damaged(what) => write!(formatter, "{DAMAGED}: {what}"),
            StoreError::Io(what) => write!(formatter, "the store cannot be read or written: {what}"),
            StoreError::Limits(what) => formatter.write_str(what),
            StoreError::Reopening => formatter.write_str("the store is being opened again after a failed commit"),
            StoreError::Restoring => formatter.write_str(
                "a restore into the data folder was not finished; go on with it by `hcert restore --onto`, or empty the folder and run the \
                 restore again",
            ),
            StoreError::Gone => formatter.write_str(
                "store.redb is not the file that was opened: it was removed, moved, replaced or cut, or its disk was unmounted",
            ),
            StoreError::Moved => formatter.write_str(
                "another folder, or none, lies where the data folder was opened: it was moved away, or its disk was unmounted; put it \
                 back and run this again",
            ),
            StoreError::CommitUnknown(what) => write!(formatter, "a commit failed, its outcome is unknown: {what}"),
        }
    }
}

impl std::error::Error for StoreError {}

/// What pages belong to that no table has.
pub(super) const FILE: &str = "the file";

pub(super) fn io(error: impl Into<StoreError>) -> StoreError {
    error.into()
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> StoreError {
        StoreError::Io(error.to_string())
    }
}

impl From<StorageError> for StoreError {
    fn from(error: StorageError) -> StoreError {
        match error {
            StorageError::Corrupted(what) => StoreError::Damaged(what),
            // A call after the one that failed: the writer is about to open the database again.
            StorageError::PreviousIo | StorageError::DatabaseClosed | StorageError::LockPoisoned(_) => {
                StoreError::Reopening
            }
            // The file is no database, or a page lies behind its end.
            StorageError::Io(error) if matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof) => {
                StoreError::Damaged(error.to_string())
            }
            error => StoreError::Io(error.to_string()),
        }
    }
}

impl From<TableError> for StoreError {
    fn from(error: TableError) -> StoreError {
        match error {
            TableError::Storage(error) => error.into(),
            // Tables are made with the store, or looked for as what may be absent; and nothing but this program writes them.
            error => StoreError::Damaged(error.to_string()),
        }
    }
}

impl From<TransactionError> for StoreError {
    fn from(error: TransactionError) -> StoreError {
        match error {
            TransactionError::Storage(error) => error.into(),
            error => StoreError::Io(error.to_string()),
        }
    }
}

impl From<CommitError> for StoreError {
    fn from(error: CommitError) -> StoreError {
        match error {
            CommitError::Storage(error) => error.into(),
            error => StoreError::Io(error.to_string()),
        }
    }
}

impl From<CompactionError> for StoreError {
    fn from(error: CompactionError) -> StoreError {
        match error {
            CompactionError::Storage(error) => error.into(),
            error => StoreError::Io(error.to_string()),
        }
    }
}

impl From<DatabaseError> for StoreError {
    fn from(error: DatabaseError) -> StoreError {
        match error {
            DatabaseError::Storage(error) => error.into(),
            error => StoreError::Io(error.to_string()),
        }
    }
}
