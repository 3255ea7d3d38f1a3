//! What every crate of hcert uses, and what knows none of them: the system log and its table of events, what is counted while the
//! service runs, its threads, which request the present work is for and where it lets others go first, files that settings name,
//! bytes as text, numbers in messages, and characters that change how a text is shown.

#![deny(missing_docs)]
// Both panic when nobody reads any more.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod characters;
mod group;
pub mod held_folder;
pub mod hex;
pub mod log;
pub mod metrics;
pub mod number;
pub mod owner;
pub mod pause;
pub mod regular_file;
pub mod secret_file;
pub mod threads;
pub mod trace;
