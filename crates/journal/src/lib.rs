//! Chained, append-only files. It knows bytes and numbers only, and nothing of what they mean.
//!
//! - [`record`]: records one behind the other, each with the hash of the one before.
//! - [`disk`]: files that are preallocated and written to at a place, on a disk that a test can play.

#![deny(missing_docs)]

pub mod disk;
mod head;
pub mod record;

pub use head::{ChainHead, Hash, Number};
