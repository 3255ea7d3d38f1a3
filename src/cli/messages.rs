//! The messages of a command: on standard output what was asked for, on standard error all else.

use std::fmt;
use std::io::{self, Write};

use serde_json::Value;

use super::failure::Failure;
use super::log;

/// Writes the result of a command to standard output. A reader that has closed its pipe has read enough. Decision 204.
///
/// # Errors
/// It cannot be written.
pub(super) fn say(text: &str) -> Result<(), Failure> {
    written(io::stdout().write_all(log::harmless(text).as_bytes()).and_then(|()| io::stdout().flush()))
}

pub(super) fn written(done: io::Result<()>) -> Result<(), Failure> {
    match done {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Failed(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// The result of a command whose words are for the person at the terminal: with `--json` it is JSON on standard output instead.
///
/// # Errors
/// It cannot be written.
pub(super) fn report(json: bool, words: impl fmt::Display, value: &Value) -> Result<(), Failure> {
    match json {
        true => say(&format!("{value}\n")),
        false => {
            note(words);
            Ok(())
        }
    }
}

/// Writes a line for the person at the terminal to standard error. A write that fails is ignored: a message is no result.
pub(super) fn note(line: impl fmt::Display) {
    log::say_on_stderr(line);
}
