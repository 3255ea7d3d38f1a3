//! The newest event by number and hash, as retentions name it.

pub use journal::{ChainHead, Hash, Number};

/// How a retention names the last event it removed; a chain that begins behind it is whole.
pub(super) fn removed((number, hash): (Number, Hash)) -> String {
    format!("to {}", ChainHead { number, hash })
}
