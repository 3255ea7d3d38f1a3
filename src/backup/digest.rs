//! SHA-256, of bytes that come piece by piece.

use std::fmt;

use aws_lc_rs::digest::{Context, SHA256};
use base::hex;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// SHA-256 of something; shown as 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

/// A digest that is being made.
#[derive(Clone)]
pub(super) struct Digesting(Context);

impl Digesting {
    pub(super) fn new() -> Digesting {
        Digesting(Context::new(&SHA256))
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(super) fn done(self) -> Digest {
        Digest(self.0.finish().as_ref().try_into().expect("SHA-256 has 32 bytes"))
    }
}

impl Digest {
    pub fn of(bytes: &[u8]) -> Digest {
        let mut digesting = Digesting::new();
        digesting.take(bytes);
        digesting.done()
    }

    /// Reads it as it is shown.
    pub fn parse(text: &str) -> Option<Digest> {
        hex::parse_shown(text).map(Digest)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        hex::Hex(&self.0).fmt(formatter)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(deserializer)?;
        Digest::parse(&text).ok_or_else(|| de::Error::custom("no SHA-256"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_read_as_it_is_shown_and_nothing_else_is_one() {
        let digest = Digest::of(b"abc");
        let shown = digest.to_string();
        assert_eq!(shown, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(Digest::parse(&shown), Some(digest));
        for wrong in ["", &shown[1..], &shown.to_uppercase(), &shown.replace('b', "g"), &format!("{shown}0")] {
            assert_eq!(Digest::parse(wrong), None, "{wrong}");
        }
    }
}
