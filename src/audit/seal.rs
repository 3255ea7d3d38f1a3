//! A full file, sealed: compressed in blocks, with hashes over what is stored and over what it holds.
//!
//! ```text
//! header of 296 bytes | { raw bytes u32 | stored bytes u32 | zstd frame }*
//! ```
//!
//! A block ends where a record ends, so that a damaged one costs no event of another.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use super::Number;
use super::encoding;
use super::head::Hash;
use super::header::{HEADER_BYTES, Header, HeaderFields};
use crate::audit::limits::{AUDIT_FILE_BYTES_MAX, AUDIT_WRITE_BYTES_MAX};
use journal::record::{FilePiece, RecordWalk, sha256};

/// Bytes of a block of a sealed file of the trail before compression. Larger ones hardly become smaller; a damaged one costs its events.
const AUDIT_BLOCK_BYTES: usize = 256 * 1024;

const MAGIC: &[u8; 8] = b"hcertAZ1";

/// zstd's level: trails are written once and read seldom; beyond it files hardly become smaller.
const LEVEL: i32 = 6;

/// A block ends with the record that fills it.
const BLOCK_BYTES_MAX: u64 = (AUDIT_BLOCK_BYTES + AUDIT_WRITE_BYTES_MAX) as u64;

/// Bytes of the header of a sealed file.
pub(super) const SEAL_BYTES: usize = 296;

/// What the header of a sealed file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seal {
    /// Of the plain file.
    pub header: Header,
    /// Number and hash of its last event.
    pub last: (Number, Hash),
    /// Times of its events, milliseconds since 1970 UTC.
    pub earliest: i64,
    pub latest: i64,
    /// Bytes of the plain file that count, and their hash.
    pub content: (u64, Hash),
    /// Hash of all bytes behind this header.
    pub stored: Hash,
}

impl Seal {
    pub(super) fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SEAL_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.header.write());
        bytes.extend_from_slice(&self.last.0.0.to_le_bytes());
        bytes.extend_from_slice(&self.last.1);
        bytes.extend_from_slice(&self.earliest.to_le_bytes());
        bytes.extend_from_slice(&self.latest.to_le_bytes());
        bytes.extend_from_slice(&self.content.0.to_le_bytes());
        bytes.extend_from_slice(&self.content.1);
        bytes.extend_from_slice(&self.stored);
        bytes.extend_from_slice(&sha256(&bytes));
        bytes
    }

    /// Nothing when the bytes do not begin with such a header, or with a damaged one.
    pub fn read(bytes: &[u8]) -> Option<Seal> {
        let bytes = bytes.get(..SEAL_BYTES)?;
        let header = Header::read(&bytes[MAGIC.len()..])?;
        let mut fields = HeaderFields::checked(bytes, MAGIC)?;
        fields.skip(HEADER_BYTES)?;
        Some(Seal {
            header,
            last: (Number(fields.number()?), fields.hash()?),
            earliest: fields.number()? as i64,
            latest: fields.number()? as i64,
            content: (fields.number()?, fields.hash()?),
            stored: fields.hash()?,
        })
    }
}

/// What a plain file holds, from its header to its last record, as a sealed file.
///
/// # Errors
/// Its header is damaged, it holds no event, or compression failed.
pub(super) fn seal(content: &[u8]) -> Result<Vec<u8>, String> {
    let header = Header::read(content).ok_or("its header is damaged")?;
    let mut last = None;
    let (mut earliest, mut latest) = (i64::MAX, i64::MIN);
    let mut blocks = Vec::new();
    let mut begun = 0;
    for piece in RecordWalk::whole(content, HEADER_BYTES, Some(header.before)) {
        let FilePiece::Record(record) = piece else { continue };
        last = Some((record.number, *record.hash));
        if let Ok(encoding::EventSummary { at, .. }) = encoding::summary(record.payload) {
            (earliest, latest) = (earliest.min(at), latest.max(at));
        }
        if record.end() - begun >= AUDIT_BLOCK_BYTES {
            write_block(&mut blocks, &content[begun..record.end()])?;
            begun = record.end();
        }
    }
    if begun < content.len() {
        write_block(&mut blocks, &content[begun..])?;
    }
    let last = last.ok_or("it holds no event that can be read")?;
    let content = (content.len() as u64, sha256(content));
    let seal = Seal { header, last, earliest, latest, content, stored: sha256(&blocks) };
    let mut sealed = seal.write();
    sealed.append(&mut blocks);
    Ok(sealed)
}

fn write_block(out: &mut Vec<u8>, raw: &[u8]) -> Result<(), String> {
    let problem = |error: std::io::Error| error.to_string();
    let mut encoder = zstd::bulk::Compressor::new(LEVEL).map_err(problem)?;
    encoder.include_checksum(true).map_err(problem)?;
    let stored = encoder.compress(raw).map_err(problem)?;
    out.extend_from_slice(&(raw.len() as u32).to_le_bytes());
    out.extend_from_slice(&(stored.len() as u32).to_le_bytes());
    out.extend_from_slice(&stored);
    Ok(())
}

/// A block of a sealed file.
#[derive(Clone, Copy, Debug)]
pub(super) struct SealedBlock {
    /// Where it begins in the plain file, and in the sealed one.
    pub raw_at: usize,
    pub stored_at: usize,
}

/// The blocks of a sealed file, in their order.
pub(super) fn blocks(sealed: &[u8]) -> Vec<SealedBlock> {
    walk(sealed).0
}

/// Whether a sealed file has blocks for this many bytes, and nothing behind them.
pub(super) fn is_filled(sealed: &[u8], content_bytes: u64) -> bool {
    let end = walk(sealed).1;
    (end.raw_at as u64, end.stored_at) == (content_bytes, sealed.len())
}

/// The blocks of a sealed file, and where one behind them would begin.
fn walk(sealed: &[u8]) -> (Vec<SealedBlock>, SealedBlock) {
    let (mut block, mut found) = (SealedBlock { raw_at: 0, stored_at: SEAL_BYTES }, Vec::new());
    while let Some(head) = sealed.get(block.stored_at..).and_then(|rest| rest.first_chunk()) {
        let (raw, stored) = lengths(head);
        if raw == 0 {
            break;
        }
        found.push(block);
        block.raw_at += raw;
        block.stored_at += head.len() + stored;
    }
    (found, block)
}

/// Bytes of a block before and after compression.
fn lengths(head: &[u8; 8]) -> (usize, usize) {
    let [a, b, c, d, e, f, g, h] = *head;
    (u32::from_le_bytes([a, b, c, d]) as usize, u32::from_le_bytes([e, f, g, h]) as usize)
}

/// One block, expanded. None: it is damaged.
///
/// # Errors
/// It cannot be read.
pub(super) fn block_at(file: &File, stored_at: u32) -> io::Result<Option<Vec<u8>>> {
    let mut head = [0; 8];
    let at = u64::from(stored_at);
    if !is_there(file.read_exact_at(&mut head, at))? {
        return Ok(None);
    }
    let (raw, stored) = lengths(&head);
    // No block has more bytes than a damaged head may claim.
    if raw as u64 > BLOCK_BYTES_MAX || stored as u64 > 2 * BLOCK_BYTES_MAX {
        return Ok(None);
    }
    let mut frame = vec![0; stored];
    if !is_there(file.read_exact_at(&mut frame, at + head.len() as u64))? {
        return Ok(None);
    }
    let mut content = Vec::with_capacity(raw);
    let whole =
        zstd::Decoder::new(frame.as_slice()).and_then(|decoder| decoder.take(raw as u64).read_to_end(&mut content));
    Ok(whole.is_ok().then_some(content))
}

/// Whether a file goes so far: one that was cut is damaged, and no disk that fails.
pub(super) fn is_there(read: io::Result<()>) -> io::Result<bool> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}

/// The plain file again, as far as files go. A block that cannot be expanded is left as zeros, so that the others keep their places.
pub(super) fn expand(sealed: &[u8], content_bytes: u64) -> Vec<u8> {
    // A header could claim any number of bytes.
    let content_bytes = content_bytes.min(AUDIT_FILE_BYTES_MAX);
    let mut content = Vec::new();
    let mut rest = sealed.get(SEAL_BYTES..).unwrap_or_default();
    while let Some((raw, after)) = rest.split_first_chunk() {
        let Some((stored, after)) = after.split_first_chunk() else { break };
        let (raw, stored) = (u32::from_le_bytes(*raw) as u64, u32::from_le_bytes(*stored) as usize);
        let Some((frame, after)) = after.split_at_checked(stored) else { break };
        if raw > BLOCK_BYTES_MAX || content.len() as u64 + raw > content_bytes {
            break;
        }
        let end = content.len() + raw as usize;
        let whole = zstd::Decoder::new(frame).and_then(|decoder| decoder.take(raw).read_to_end(&mut content));
        if whole.is_err() {
            content.truncate(end - raw as usize);
        }
        content.resize(end, 0);
        rest = after;
    }
    content
}
