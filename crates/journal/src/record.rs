//! Records and the chain: how they lie in a file, one behind the other.
//!
//! ```text
//! length of the payload u32 | number u64 | payload | SHA-256(hash before | number | payload)      numbers are little-endian
//! ```

use std::ops::Range;

use aws_lc_rs::digest;
use base::regular_file;

use crate::{Hash, Number};

const NUMBER_AT: usize = 4;
/// Bytes of a record before its payload.
pub const PAYLOAD_AT: usize = 12;
const HASH_BYTES: usize = 32;

/// Bytes of a record beside its payload.
pub const FRAME_BYTES: usize = PAYLOAD_AT + HASH_BYTES;

/// One record as it lies in a file.
#[derive(Clone, Copy, Debug)]
pub struct ChainRecord<'a> {
    /// Where it begins.
    pub at: usize,
    /// Counts the records of the chain from 1.
    pub number: Number,
    /// What was written.
    pub payload: &'a [u8],
    /// Over the hash before, the number and the payload.
    pub hash: &'a Hash,
}

impl ChainRecord<'_> {
    /// Where the next one begins.
    pub fn end(&self) -> usize {
        self.at + FRAME_BYTES + self.payload.len()
    }
}

/// What a walk over a file meets.
#[derive(Debug)]
pub enum FilePiece<'a> {
    /// One that holds together and follows the one before.
    Record(ChainRecord<'a>),
    /// Bytes that are no part of the chain.
    Damaged(Range<usize>),
}

/// Appends a record whose number and hash are not known yet; [`chain`] fills them in.
pub fn open(out: &mut Vec<u8>, payload: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.resize(start + PAYLOAD_AT, 0);
    payload(out);
    let length = out.len() - start - PAYLOAD_AT;
    let length = u32::try_from(length).expect("callers bound a record far below 4 GiB");
    out[start..start + NUMBER_AT].copy_from_slice(&length.to_le_bytes());
    out.resize(out.len() + HASH_BYTES, 0);
}

/// Fills in number and hash of all records, the first of which follows `(number, hash)`. Those of the last come back.
pub fn chain(records: &mut [u8], (mut number, mut hash): (Number, Hash)) -> (Number, Hash) {
    let mut rest = records;
    while let Some(length) = payload_bytes(rest) {
        let (record, after) = rest.split_at_mut(length + FRAME_BYTES);
        number = Number(number.0 + 1);
        record[NUMBER_AT..PAYLOAD_AT].copy_from_slice(&number.0.to_le_bytes());
        let (body, place) = record.split_at_mut(PAYLOAD_AT + length);
        hash = link(&hash, &body[NUMBER_AT..]);
        place.copy_from_slice(&hash);
        rest = after;
    }
    (number, hash)
}

/// The SHA-256 of some bytes.
pub fn sha256(bytes: &[u8]) -> Hash {
    of_digest(&digest::digest(&digest::SHA256, bytes))
}

/// `body` is number and payload.
fn link(before: &Hash, body: &[u8]) -> Hash {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(before);
    context.update(body);
    of_digest(&context.finish())
}

fn of_digest(digest: &digest::Digest) -> Hash {
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// The payload of the record with a number, where records begin at a place and one behind the other. The first one has the hash before it in
/// the 32 bytes there, if there are so many; of each it is compared where it is known.
pub fn payload_of(bytes: &[u8], start: usize, number: Number) -> Option<&[u8]> {
    let mut at = start;
    loop {
        let record = bytes.get(at..)?;
        let length = payload_bytes(record)?.checked_add(FRAME_BYTES)?;
        let found = u64::from_le_bytes(*record.get(NUMBER_AT..)?.first_chunk()?);
        if found == number.0 {
            let before = bytes[..at].last_chunk::<HASH_BYTES>().filter(|_| at > start || start == HASH_BYTES);
            return match before {
                Some(before) => Some(record_at(bytes, at, before)?.payload),
                None => record.get(PAYLOAD_AT..length - HASH_BYTES),
            };
        }
        at = at.checked_add(length)?;
    }
}

/// Bytes of the records at the beginning of `bytes` that are not cut off, judged by their lengths alone.
pub fn whole_records(bytes: &[u8]) -> usize {
    let mut end = 0;
    while let Some(length) = payload_bytes(&bytes[end..]) {
        match end.checked_add(length).and_then(|end| end.checked_add(FRAME_BYTES)).filter(|end| *end <= bytes.len()) {
            Some(next) => end = next,
            None => break,
        }
    }
    end
}

/// Bytes up to the last one that is not zero. Files are made ahead and full of zeros, so this is asked of many megabytes.
pub fn written(bytes: &[u8]) -> usize {
    let mut end = bytes.len();
    for block in bytes.rchunks(ZEROS_AT_ONCE) {
        if !regular_file::is_zero(block) {
            break;
        }
        end -= block.len();
    }
    bytes[..end].iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

/// Bytes that are looked at together.
const ZEROS_AT_ONCE: usize = 4096;

fn payload_bytes(bytes: &[u8]) -> Option<usize> {
    Some(u32::from_le_bytes(*bytes.first_chunk()?) as usize)
}

/// The record that begins at a place and follows `before` in the chain.
pub fn record_at<'a>(bytes: &'a [u8], at: usize, before: &Hash) -> Option<ChainRecord<'a>> {
    let record = bytes.get(at..)?;
    let length = payload_bytes(record)?;
    let record = record.get(..length.checked_add(FRAME_BYTES)?)?;
    let (body, hash) = record.split_last_chunk::<HASH_BYTES>()?;
    let number = Number(u64::from_le_bytes(*body.get(NUMBER_AT..)?.first_chunk()?));
    let is_linked = link(before, &body[NUMBER_AT..]) == *hash;
    is_linked.then_some(ChainRecord { at, number, payload: &body[PAYLOAD_AT..], hash })
}

/// Goes from record to record, and over damaged bytes to the next record that holds together.
pub struct RecordWalk<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Number and hash of the record before; nothing when they are not known.
    before: Option<(Number, Hash)>,
    /// Where only zeros follow, the records have ended.
    zeros_end: bool,
}

impl<'a> RecordWalk<'a> {
    /// Over a file whose records end with it.
    pub fn whole(bytes: &'a [u8], at: usize, before: Option<(Number, Hash)>) -> RecordWalk<'a> {
        RecordWalk { bytes, at, before, zeros_end: false }
    }

    /// Over a file whose end is still empty.
    pub fn open_ended(bytes: &'a [u8], at: usize, before: Option<(Number, Hash)>) -> RecordWalk<'a> {
        RecordWalk { zeros_end: true, ..RecordWalk::whole(bytes, at, before) }
    }

    /// The next record that follows from the 32 bytes before it, which are the hash of another when they are undamaged.
    fn resume(&self, after: usize) -> Option<(ChainRecord<'a>, Hash)> {
        let least = self.before.map_or(0, |(number, _)| number.0);
        let most = least.saturating_add((self.bytes.len() / FRAME_BYTES) as u64 + 1);
        (after..self.bytes.len().saturating_sub(FRAME_BYTES - 1)).find_map(|at| {
            let length = payload_bytes(&self.bytes[at..])?;
            let is_long = length > self.bytes.len() - at - FRAME_BYTES;
            let number = u64::from_le_bytes(*self.bytes[at + NUMBER_AT..].first_chunk()?);
            let is_far = self.before.is_some() && !(least..=most).contains(&number);
            // Zeros are the most frequent bytes that are no record.
            if is_long || is_far || length == 0 || number == 0 {
                return None;
            }
            let before = *self.bytes[..at].last_chunk::<HASH_BYTES>()?;
            Some((record_at(self.bytes, at, &before)?, before))
        })
    }
}

impl<'a> Iterator for RecordWalk<'a> {
    type Item = FilePiece<'a>;

    fn next(&mut self) -> Option<FilePiece<'a>> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let follows = self.before.and_then(|(number, hash)| {
            record_at(self.bytes, self.at, &hash).filter(|record| record.number.0 == number.0 + 1)
        });
        if let Some(record) = follows {
            self.at = record.end();
            self.before = Some((record.number, *record.hash));
            return Some(FilePiece::Record(record));
        }
        let used = written(self.bytes);
        if self.zeros_end && used <= self.at {
            return None;
        }
        let start = self.at;
        match self.resume(start) {
            // A record here that does not follow: those between are missing, or their place is another.
            Some((record, before)) => {
                self.at = record.at;
                self.before = Some((Number(record.number.0 - 1), before));
            }
            None => self.at = self.bytes.len(),
        }
        let end = if self.zeros_end { self.at.min(used) } else { self.at };
        Some(FilePiece::Damaged(start..end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: (Number, Hash) = (Number(0), [0; 32]);

    fn records(payloads: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        payloads.iter().for_each(|payload| open(&mut out, |out| out.extend_from_slice(payload)));
        chain(&mut out, START);
        out
    }

    fn told(walk: RecordWalk) -> Vec<String> {
        walk.map(|piece| match piece {
            FilePiece::Record(record) => format!("{} {}", record.number.0, String::from_utf8_lossy(record.payload)),
            FilePiece::Damaged(range) => format!("{range:?}"),
        })
        .collect()
    }

    #[test]
    fn records_are_met_as_they_were_written() {
        let mut bytes = records(&[b"one", b"two", b"three"]);
        assert_eq!(told(RecordWalk::whole(&bytes, 0, Some(START))), ["1 one", "2 two", "3 three"]);
        bytes.resize(1_000, 0);
        assert_eq!(told(RecordWalk::open_ended(&bytes, 0, Some(START))), ["1 one", "2 two", "3 three"]);
    }

    #[test]
    fn every_changed_byte_is_met_and_the_records_behind_are_found_again() {
        let whole = records(&[b"one", b"two", b"three", b"four", b"five"]);
        let second = FRAME_BYTES + 3..2 * (FRAME_BYTES + 3);
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            let told = told(RecordWalk::whole(&bytes, 0, Some(START)));
            assert!(told.iter().any(|piece| piece.contains("..")), "{at}: {told:?}");
            if second.contains(&at) {
                assert_eq!((told.first(), told.last()), (Some(&"1 one".into()), Some(&"5 five".into())), "{at}");
            }
        }
    }

    #[test]
    fn what_is_written_ends_with_the_last_byte_that_is_not_zero() {
        for length in [0, 1, ZEROS_AT_ONCE - 1, ZEROS_AT_ONCE, 2 * ZEROS_AT_ONCE + 7] {
            let mut bytes = vec![0; length];
            assert_eq!(written(&bytes), 0);
            for at in [0, length / 3, length / 2, length.saturating_sub(1)].into_iter().filter(|at| *at < length) {
                bytes[at] = 1;
                assert_eq!(written(&bytes), at + 1);
            }
        }
    }

    #[test]
    fn whole_records_end_before_one_that_is_cut() {
        let whole = records(&[b"one", b"two", b"three"]);
        let ends = [0, FRAME_BYTES + 3, 2 * (FRAME_BYTES + 3), whole.len()];
        for length in 0..=whole.len() {
            let last = ends.iter().rfind(|end| **end <= length).copied();
            assert_eq!(Some(whole_records(&whole[..length])), last, "{length}");
        }
    }

    #[test]
    fn a_tail_cut_anywhere_ends_the_walk_there() {
        let whole = records(&[b"one", b"two", b"three"]);
        let second_ends = 2 * (FRAME_BYTES + 3);
        for length in second_ends..whole.len() {
            let mut bytes = whole[..length].to_vec();
            bytes.resize(whole.len() + 100, 0);
            let told = told(RecordWalk::open_ended(&bytes, 0, Some(START)));
            assert_eq!(told[..2], ["1 one", "2 two"], "{length}");
            assert!(told[2..].iter().all(|piece| piece.contains("..")), "{length}: {told:?}");
        }
    }
}
