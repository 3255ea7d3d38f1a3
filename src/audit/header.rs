//! The first bytes of a file: which one it is, and where it goes on from.

use super::Number;
use super::head::Hash;
use certificate::Seq;
use journal::record::sha256;

const MAGIC: &[u8; 8] = b"hcertAT1";

/// Bytes of a header.
pub const HEADER_BYTES: usize = 128;

/// Of a plain file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of the file, as its name says.
    pub file: u64,
    /// Number and hash of the event before its first.
    pub before: (Number, Hash),
    /// The file before, 0 for none, and how many of its bytes count. Files between the two do not count.
    pub continues: (u64, u64),
    /// The highest change that an event before its first stands for; 0: none.
    pub last_change: Seq,
    /// The file before could not be made durable beyond those bytes, so that this one begins with what followed them.
    pub after_failure: bool,
}

impl Header {
    pub fn write(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.file.to_le_bytes());
        bytes.extend_from_slice(&self.before.0.0.to_le_bytes());
        bytes.extend_from_slice(&self.before.1);
        let numbers = [self.continues.0, self.continues.1, self.last_change.0, u64::from(self.after_failure), 0];
        numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        bytes.extend_from_slice(&sha256(&bytes));
        bytes.try_into().expect("the fields above have 128 bytes")
    }

    /// Nothing when the bytes are no header, or a damaged one.
    pub fn read(bytes: &[u8]) -> Option<Header> {
        let mut fields = HeaderFields::checked(bytes.get(..HEADER_BYTES)?, MAGIC)?;
        Some(Header {
            file: fields.number()?,
            before: (Number(fields.number()?), fields.hash()?),
            continues: (fields.number()?, fields.number()?),
            last_change: Seq(fields.number()?),
            after_failure: fields.number()? != 0,
        })
    }
}

/// Numbers and hashes of a header, one after the other.
pub(super) struct HeaderFields<'a> {
    rest: &'a [u8],
}

impl<'a> HeaderFields<'a> {
    /// Bytes that begin with `magic` and end with their own hash.
    pub(super) fn checked(bytes: &'a [u8], magic: &[u8; 8]) -> Option<HeaderFields<'a>> {
        let (body, digest) = bytes.split_last_chunk::<32>()?;
        let rest = body.strip_prefix(magic)?;
        (sha256(body) == *digest).then_some(HeaderFields { rest })
    }

    pub(super) fn skip(&mut self, bytes: usize) -> Option<()> {
        self.rest = self.rest.get(bytes..)?;
        Some(())
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u64::from_le_bytes(*number))
    }

    pub(super) fn hash(&mut self) -> Option<Hash> {
        let (hash, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written_and_no_byte_of_it_may_change() {
        let header = Header {
            file: 7,
            before: (Number(41), [9; 32]),
            continues: (5, 4_000),
            last_change: Seq(12),
            after_failure: true,
        };
        let bytes = header.write();
        assert_eq!(Header::read(&bytes), Some(header));
        for at in 0..bytes.len() {
            let mut changed = bytes;
            changed[at] ^= 1;
            assert_eq!(Header::read(&changed), None, "{at}");
        }
        assert_eq!(Header::read(&[0; HEADER_BYTES]), None);
    }
}
