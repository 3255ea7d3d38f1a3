//! Records as format 2 had them, made entries of today. For the migration, for archives of earlier releases, and for a salvage.
//!
//! ```text
//! version  u8 1 | u8 state | u8 dictionary | u8 0 | u32 bytes of the raw body | u64 seq | i64 stamp | i16 offset | u16 0
//!          | u32 bytes of the raw row | u32 bytes of the fields | fields | zstd frame of body and row
//! consent  u8 1 | u8 consent | i16 offset | u32 version | u64 seq | i64 stamp | fields | u32 CRC-32
//! patient  u8 1 | u8 flags | u16 links | u32 bytes of the identifiers | i64 stamp | i16 offset | u16 0 | i32 first day | i32 last day
//!          | links | identifiers | resource | u32 CRC-32
//! ```

use std::borrow::Cow;

use super::StoreError;
use super::body::{self, Dictionary};
use super::crc::crc;
use super::record::{EntryDraft, EntryKind, VersionRecord};
use certificate::Stamp;

/// Layout in the first byte of each record.
pub(super) const LAYOUT: u8 = 1;

/// An entry of today, from a record of format 2 or as it is. `number` is that of a version of a patient in its log; the other records say
/// theirs.
///
/// # Errors
/// `Damaged` when it is not as it was written, or its dictionary is missing.
pub fn entry<'a>(
    kind: EntryKind,
    number: u64,
    bytes: &'a [u8],
    dictionary: impl FnOnce(u8) -> Result<Dictionary, StoreError>,
) -> Result<Cow<'a, [u8]>, StoreError> {
    if bytes.first() != Some(&LAYOUT) {
        return Ok(Cow::Borrowed(bytes));
    }
    let read = match kind {
        EntryKind::Version => Format2Record::version(bytes),
        EntryKind::Consent => Format2Record::consent(bytes),
        EntryKind::Patient => Format2Record::patient(bytes, number),
        EntryKind::List | EntryKind::Mark => None,
    };
    let Format2Record { mut draft, number, stamp, frame } =
        read.ok_or_else(|| StoreError::Damaged("a record of format 2 is not readable".into()))?;
    if let Some((frame, raw_bytes, row_bytes)) = frame {
        let dictionary = dictionary(draft.dictionary)?;
        let mut raw = Vec::new();
        body::expand(dictionary, frame, raw_bytes + row_bytes, &mut raw)?;
        let (tail, row) = raw.split_at(raw_bytes);
        (draft.row, draft.raw_bytes) = (body::compress(dictionary, row), raw_bytes);
        draft.body = body::compress(dictionary, tail);
    }
    Ok(Cow::Owned(draft.write(number, stamp)))
}

/// Time stamp of an entry, milliseconds since 1970 UTC, where it is long enough to have one.
pub fn time_of(entry: &[u8]) -> Option<i64> {
    u64_at(entry, 12).map(|time| time as i64)
}

/// Number and time stamp of a version, of format 2 or of today; none where it is not readable.
pub fn place_of(bytes: &[u8]) -> Option<(u64, i64)> {
    match bytes.first() {
        Some(&LAYOUT) => Format2Record::version(bytes).map(|former| (former.number, former.stamp.milliseconds)),
        _ => VersionRecord::read(bytes).ok().map(|record| (record.seq.0, record.stamp.milliseconds)),
    }
}

/// What a record of format 2 says.
struct Format2Record<'a> {
    draft: EntryDraft,
    number: u64,
    stamp: Stamp,
    /// Frame of body and row, and the bytes of both.
    frame: Option<(&'a [u8], usize, usize)>,
}

impl<'a> Format2Record<'a> {
    fn version(bytes: &'a [u8]) -> Option<Format2Record<'a>> {
        let (raw_bytes, row_bytes) = (u32_at(bytes, 4)? as usize, u32_at(bytes, 28)? as usize);
        let (fields, frame) = bytes.get(36..)?.split_at_checked(u32_at(bytes, 32)? as usize)?;
        let draft = EntryDraft {
            dictionary: *bytes.get(2)?,
            fields: fields.to_vec(),
            ..EntryDraft::bare(EntryKind::Version, *bytes.get(1)?)
        };
        let stamp = stamp(bytes, 16, 24)?;
        let frame = (!frame.is_empty()).then_some((frame, raw_bytes, row_bytes));
        Some(Format2Record { draft, number: u64_at(bytes, 8)?, stamp, frame })
    }

    fn consent(bytes: &'a [u8]) -> Option<Format2Record<'a>> {
        let bytes = checked(bytes)?;
        let draft = EntryDraft {
            fields: bytes.get(24..)?.to_vec(),
            row: bytes.get(4..8)?.to_vec(),
            ..EntryDraft::bare(EntryKind::Consent, bytes[1])
        };
        Some(Format2Record { draft, number: u64_at(bytes, 8)?, stamp: stamp(bytes, 16, 2)?, frame: None })
    }

    fn patient(bytes: &'a [u8], number: u64) -> Option<Format2Record<'a>> {
        let bytes = checked(bytes)?;
        let links = bytes.get(2..4)?;
        let links_bytes = 8 * usize::from(u16::from_le_bytes([links[0], links[1]]));
        let (said, tail) = bytes.get(28..)?.split_at_checked(links_bytes + u32_at(bytes, 4)? as usize)?;
        let draft = EntryDraft {
            row: [links, bytes.get(20..28)?, said].concat(),
            raw_bytes: tail.len(),
            body: tail.to_vec(),
            ..EntryDraft::bare(EntryKind::Patient, bytes[1])
        };
        Some(Format2Record { draft, number, stamp: stamp(bytes, 8, 16)?, frame: None })
    }
}

/// What stands before the checksum, which is that of it.
fn checked(bytes: &[u8]) -> Option<&[u8]> {
    let (bytes, checksum) = bytes.split_last_chunk::<4>()?;
    (crc(bytes) == u32::from_le_bytes(*checksum)).then_some(bytes)
}

fn stamp(bytes: &[u8], milliseconds: usize, offset: usize) -> Option<Stamp> {
    let offset_minutes = i16::from_le_bytes(*bytes.get(offset..)?.first_chunk()?);
    Some(Stamp { milliseconds: u64_at(bytes, milliseconds)? as i64, offset_minutes })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|number| u32::from_le_bytes(*number))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|number| u64::from_le_bytes(*number))
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::record::StoredEntry;
    use super::*;

    /// The record that format 2 would have had of an entry.
    pub(in super::super) fn former(kind: EntryKind, bytes: &[u8], dictionary: Dictionary) -> Vec<u8> {
        let entry = StoredEntry::read(kind, bytes, || "an entry".to_owned()).unwrap();
        let length = |bytes: usize| (bytes as u32).to_le_bytes();
        let (number, stamp) = (entry.number.to_le_bytes(), entry.stamp);
        let (milliseconds, offset) = (stamp.milliseconds.to_le_bytes(), stamp.offset_minutes.to_le_bytes());
        let mut out = vec![LAYOUT, entry.says];
        match kind {
            EntryKind::Version => {
                let (mut raw, mut row) = (Vec::new(), Vec::new());
                if !entry.row.is_empty() {
                    body::expand(dictionary, entry.body, entry.raw_bytes, &mut raw).unwrap();
                    row = body::expand_row(dictionary, entry.row).unwrap();
                }
                let (raw_bytes, row_bytes) = (length(raw.len()), length(row.len()));
                raw.extend(row);
                let frame = if raw.is_empty() { Vec::new() } else { body::compress(dictionary, &raw) };
                out.extend([&[entry.dictionary, 0], &raw_bytes[..], &number, &milliseconds, &offset, &[0, 0]].concat());
                out.extend([&row_bytes[..], &length(entry.fields.0.len()), entry.fields.0, &frame].concat());
                return out;
            }
            EntryKind::Consent => {
                out.extend([&offset[..], entry.row, &number, &milliseconds, entry.fields.0].concat());
            }
            _ => {
                let (links, said) = entry.row.split_at(2);
                let (days, said) = said.split_at(8);
                let identifiers = length(said.len() - 8 * usize::from(links[0]));
                out.extend([links, &identifiers, &milliseconds, &offset, &[0, 0], days, said, entry.body].concat());
            }
        }
        let checksum = crc(&out);
        out.extend(checksum.to_le_bytes());
        out
    }
}
