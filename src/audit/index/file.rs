//! The index of a sealed file, as it lies beside it. Numbers are little-endian.
//!
//! ```text
//! "hcertAI2" | SHA-256 that the sealed file has of its blocks | number of the first event u64 | events u32 | blocks u32 | keys u32
//! | { first event u32, place in the sealed file u32, earliest i64, latest i64 }*     one for each block
//! | { hash of the key u64, place u32 }*                                              by the hash
//! | { distance to the event before, varint }*                                        of each key, one behind the other
//! | XXH3 of all that, 128 bits
//! ```

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::ops::RangeInclusive;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use super::{IndexDraft, KeyHash};
use crate::audit::Number;
use crate::audit::head::Hash;
use crate::audit::limits::AUDIT_FILE_BYTES_MAX;
use crate::audit::seal::{self, Seal, SealedBlock};
use base::regular_file;

const MAGIC: &[u8; 8] = b"hcertAI2";
const HEADER_BYTES: usize = 60;
const BLOCK_BYTES: usize = 24;
const KEY_BYTES: usize = 12;
const CHECKSUM_BYTES: usize = 16;

/// Of so many keys one is kept in memory; those between are read when one of them is looked for.
const SAMPLE: usize = 64;

/// An index that was found whole, without its keys.
#[derive(Debug)]
pub(crate) struct Index {
    path: PathBuf,
    /// Which file it was when it was read.
    identity: IndexIdentity,
    /// Of the sealed file that it belongs to.
    stored: Hash,
    first: Number,
    events: u32,
    blocks: Vec<IndexedBlock>,
    /// Every 64th key.
    samples: Vec<KeyHash>,
    keys: usize,
    keys_at: u64,
    /// Where the lists of events begin and end.
    lists: (u64, u64),
}

/// A block of a sealed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IndexedBlock {
    first: u32,
    stored_at: u32,
    times: (i64, i64),
}

/// Where an event lies in a sealed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventPlace {
    /// Of the block, in bytes of the sealed file.
    pub stored_at: u32,
    /// Number of the block's first event.
    pub first: Number,
    pub number: Number,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IndexIdentity {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl IndexIdentity {
    fn of(file: &File) -> io::Result<IndexIdentity> {
        let found = file.metadata()?;
        Ok(IndexIdentity {
            device: found.dev(),
            inode: found.ino(),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
        })
    }
}

/// The index of a sealed file, all of which the draft knows. None where the two do not belong together.
pub(crate) fn write(draft: &IndexDraft, seal: &Seal, sealed: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&seal.stored);
    out.extend_from_slice(&draft.first().0.to_le_bytes());
    let blocks = seal::blocks(sealed);
    let (mut keys, mut lists): (Vec<u8>, Vec<u8>) = (Vec::new(), Vec::new());
    let mut is_small = true;
    draft.each(|key, events| {
        is_small &= u32::try_from(lists.len()).is_ok();
        keys.extend_from_slice(&key.to_le_bytes());
        keys.extend_from_slice(&(lists.len() as u32).to_le_bytes());
        let mut before = 0;
        for event in events {
            number(&mut lists, event - before);
            before = *event;
        }
    });
    let counts = [draft.events() as usize, blocks.len(), keys.len() / KEY_BYTES];
    for count in counts {
        out.extend_from_slice(&u32::try_from(count).ok()?.to_le_bytes());
    }
    for block in indexed(draft, &blocks)? {
        out.extend_from_slice(&block.first.to_le_bytes());
        out.extend_from_slice(&block.stored_at.to_le_bytes());
        out.extend_from_slice(&block.times.0.to_le_bytes());
        out.extend_from_slice(&block.times.1.to_le_bytes());
    }
    out.append(&mut keys);
    out.append(&mut lists);
    let checksum = xxh3_128(&out);
    out.extend_from_slice(&checksum.to_le_bytes());
    (is_small && draft.walked() as u64 == seal.content.0).then_some(out)
}

/// What an index says of the blocks of a file. None where one lies too far behind.
fn indexed(draft: &IndexDraft, blocks: &[SealedBlock]) -> Option<Vec<IndexedBlock>> {
    let of = |(at, block): (usize, &SealedBlock)| {
        let first = draft.first_behind(block.raw_at);
        let end = blocks.get(at + 1).map_or(draft.events(), |next| draft.first_behind(next.raw_at));
        let times = || (first..end).map(|event| draft.time(event));
        let (earliest, latest) = (times().min().unwrap_or(i64::MAX), times().max().unwrap_or(i64::MIN));
        Some(IndexedBlock { first, stored_at: u32::try_from(block.stored_at).ok()?, times: (earliest, latest) })
    };
    blocks.iter().enumerate().map(of).collect()
}

impl Index {
    /// Whether what it says of the blocks is what a draft of their file says: a search by time reads no others.
    pub(crate) fn has_blocks_of(&self, draft: &IndexDraft, sealed: &[u8]) -> bool {
        indexed(draft, &seal::blocks(sealed)).is_none_or(|blocks| blocks == self.blocks)
    }

    /// The index of a sealed file; none where it has none, or one that is damaged or of another file.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn open(path: &Path, seal: &Seal) -> io::Result<Option<Index>> {
        let file = match regular_file::open(path) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) => return Ok(None),
            Err(error) => return Err(error),
        };
        let identity = IndexIdentity::of(&file)?;
        let mut bytes = Vec::new();
        file.take(AUDIT_FILE_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(Index::read(&bytes, path, identity).filter(|index| index.stored == seal.stored && index.fits(seal)))
    }

    fn read(bytes: &[u8], path: &Path, identity: IndexIdentity) -> Option<Index> {
        let (body, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>()?;
        let header = body.get(..HEADER_BYTES)?;
        if !header.starts_with(MAGIC) || xxh3_128(body) != u128::from_le_bytes(*checksum) {
            return None;
        }
        let count = |at: usize| u32_at(header, at).map(|count| count as usize);
        let (events, blocks, keys) = (u32_at(header, 48)?, count(52)?, count(56)?);
        let keys_at = HEADER_BYTES + blocks * BLOCK_BYTES;
        let lists_at = keys_at + keys * KEY_BYTES;
        let blocks = body.get(HEADER_BYTES..keys_at)?.as_chunks::<BLOCK_BYTES>().0.iter().map(|block| {
            let time = |at: usize| Some(i64::from_le_bytes(*block.get(at..)?.first_chunk()?));
            Some(IndexedBlock { first: u32_at(block, 0)?, stored_at: u32_at(block, 4)?, times: (time(8)?, time(16)?) })
        });
        let rows = body.get(keys_at..lists_at)?.as_chunks::<KEY_BYTES>().0;
        Some(Index {
            path: path.to_owned(),
            identity,
            stored: *header[8..].first_chunk()?,
            first: Number(u64::from_le_bytes(*header[40..].first_chunk()?)),
            events,
            blocks: blocks.collect::<Option<_>>()?,
            samples: rows.iter().step_by(SAMPLE).map(key_of).collect(),
            keys,
            keys_at: keys_at as u64,
            lists: (lists_at as u64, body.len() as u64),
        })
    }

    /// Whether its numbers are those of a file, so that none of them leads astray.
    fn fits(&self, seal: &Seal) -> bool {
        let (before, last) = (seal.header.before.0.0, seal.last.0.0);
        let is_counted =
            Some(self.first.0) == before.checked_add(1) && Some(self.events.into()) == last.checked_sub(before);
        is_counted && self.blocks.is_sorted_by_key(|block| block.first) && self.samples.is_sorted()
    }

    pub(crate) fn events(&self) -> u32 {
        self.events
    }

    /// Whether it is the index of a file.
    pub(crate) fn is_of(&self, seal: &Seal) -> bool {
        self.stored == seal.stored
    }

    /// The events with one of each of the lists of keys, in their order. None: its file is another one by now.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn with(&self, wanted: &[&[KeyHash]]) -> io::Result<Option<Vec<Vec<u32>>>> {
        // One that was replaced, or is gone, is read anew.
        let Ok(file) = regular_file::open(&self.path) else { return Ok(None) };
        if IndexIdentity::of(&file)? != self.identity {
            return Ok(None);
        }
        let mut found = Vec::with_capacity(wanted.len());
        for keys in wanted {
            let mut events = Vec::new();
            for key in *keys {
                self.list(&file, *key, &mut events)?;
            }
            if keys.len() > 1 {
                events.sort_unstable();
                events.dedup();
            }
            found.push(events);
        }
        Ok(Some(found))
    }

    fn list(&self, file: &File, key: KeyHash, events: &mut Vec<u32>) -> io::Result<()> {
        let Some(sample) = self.samples.partition_point(|sample| *sample <= key).checked_sub(1) else { return Ok(()) };
        let from = sample * SAMPLE;
        // One more tells where the list of the last one ends.
        let count = (SAMPLE + 1).min(self.keys - from);
        let mut bytes = [0; (SAMPLE + 1) * KEY_BYTES];
        let bytes = &mut bytes[..count * KEY_BYTES];
        file.read_exact_at(bytes, self.keys_at + (from * KEY_BYTES) as u64)?;
        let rows = bytes.as_chunks::<KEY_BYTES>().0;
        let Ok(at) = rows.binary_search_by_key(&key, key_of) else { return Ok(()) };
        let place = |row: &[u8; KEY_BYTES]| self.lists.0 + u64::from(u32_at(row, 8).unwrap_or_default());
        let end = rows.get(at + 1).map_or(self.lists.1, place);
        let start = place(&rows[at]);
        let damaged = || io::Error::from(ErrorKind::InvalidData);
        let bytes = end.checked_sub(start).filter(|_| end <= self.lists.1).ok_or_else(damaged)?;
        let mut list = vec![0; usize::try_from(bytes).map_err(|_| damaged())?];
        file.read_exact_at(&mut list, start)?;
        let (mut rest, mut last) = (list.as_slice(), None);
        while let Some(distance) = next_number(&mut rest) {
            let is_new = last.is_none() || distance > 0;
            let event = last.unwrap_or(0u32).checked_add(distance).filter(|event| is_new && *event < self.events);
            let event = event.ok_or_else(damaged)?;
            events.push(event);
            last = Some(event);
        }
        Ok(())
    }

    /// Which events lie in a span of time: all, none, or those that the events themselves tell.
    pub(crate) fn within(&self, event: u32, times: &RangeInclusive<i64>) -> Option<bool> {
        let (earliest, latest) = self.block_of(event)?.times;
        let is_outside = latest < *times.start() || earliest > *times.end();
        let is_inside = times.contains(&earliest) && times.contains(&latest);
        (is_inside || is_outside).then_some(is_inside)
    }

    /// Where an event lies.
    pub(crate) fn place(&self, event: u32) -> Option<EventPlace> {
        let block = self.block_of(event)?;
        let number = |event: u32| Number(self.first.0 + u64::from(event));
        Some(EventPlace { stored_at: block.stored_at, first: number(block.first), number: number(event) })
    }

    fn block_of(&self, event: u32) -> Option<&IndexedBlock> {
        let behind = self.blocks.partition_point(|block| block.first <= event);
        self.blocks.get(behind.checked_sub(1)?)
    }
}

fn key_of(row: &[u8; KEY_BYTES]) -> KeyHash {
    u64::from_le_bytes(*row.first_chunk().expect("a row is longer"))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn number(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn next_number(rest: &mut &[u8]) -> Option<u32> {
    let mut number = 0;
    for shift in (0..35).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u32::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
