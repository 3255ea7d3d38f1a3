//! Records by number, and the newest of them with the hash that stands for all.

use std::fmt;

use base::hex;

/// Number of a record, from 1 without gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(pub u64);

/// The newest record: its number, and the hash that stands for everything up to it. Shown as `number:hash`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainHead {
    /// Of the newest record; 0 where there is none.
    pub number: Number,
    /// Over that record and the hash before it; zeros where there is no record.
    pub hash: Hash,
}

impl fmt::Display for ChainHead {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}:", self.number.0)?;
        hex::Hex(&self.hash).fmt(formatter)
    }
}

impl ChainHead {
    /// As it is shown.
    pub fn parse(text: &str) -> Option<ChainHead> {
        let (number, hash) = text.split_once(':')?;
        Some(ChainHead { number: Number(number.parse().ok()?), hash: hex::parse(hash)? })
    }
}

/// SHA-256.
pub type Hash = [u8; 32];
