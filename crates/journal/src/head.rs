//! Records by number, and the newest of them with the hash that stands for all.

use std::fmt;

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
        self.hash.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl ChainHead {
    /// As it is shown.
    pub fn parse(text: &str) -> Option<ChainHead> {
        let (number, hex) = text.split_once(':')?;
        let is_hex = hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = number.parse().ok().filter(|_| is_hex)?;
        let mut hash = [0; 32];
        for (byte, digits) in hash.iter_mut().zip(hex.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        }
        Some(ChainHead { number: Number(number), hash })
    }
}

/// SHA-256.
pub type Hash = [u8; 32];
