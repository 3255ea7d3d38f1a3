//! Why a command did not do its work, and the exit code of it. Contract 9.4.

use std::fmt;
use std::io::{self, Write};

use super::log;
use crate::audit::TRAIL_DAMAGED;
use crate::config::ConfigError;
use engine::DAMAGED;

/// Why a command did not do its work.
#[derive(Debug)]
pub enum Failure {
    /// Flags, settings or files they name are wrong. Exit code 2, as clap's own.
    Usage(String),
    /// It could not be done. Exit code 1.
    Failed(String),
    /// The data are corrupt: not as they were written. Exit code 3.
    Wrong(String),
}

impl Failure {
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Failed(text) if text.contains(DAMAGED) || text.contains(TRAIL_DAMAGED) => 3,
            Failure::Failed(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Wrong(_) => 3,
        }
    }
}

/// Ends the process at once, with what was written to standard output and the log let out. Threads that are still at work, such as the one
/// that makes a key, are not met by libraries that tidy up at the end: aws-lc ends a process with SIGABRT when one asks it for
/// random numbers then.
pub fn leave(code: u8) -> ! {
    // Nobody is left to tell that there is no place for it.
    drop(io::stdout().flush());
    log::flush();
    // SAFETY: it does not come back, and everything that has to last was written before.
    unsafe { libc::_exit(code.into()) }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let (Failure::Usage(text) | Failure::Failed(text) | Failure::Wrong(text)) = self;
        formatter.write_str(text)?;
        match self {
            Failure::Failed(text) if text.contains(DAMAGED) => formatter.write_str(NEXT),
            _ => Ok(()),
        }
    }
}

/// What to do about a damaged store.
const NEXT: &str = "\nnext: `hcert verify` names everything that is damaged; `hcert restore` makes a new data folder of the newest backup; \
                    `hcert export --salvage --out FILE` writes what can still be read";

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Failure::Usage(error.0)
    }
}
