//! The stored form of one version: header, then body and index row, compressed together.
//!
//! ```text
//!  0  u8   format of this layout (1)
//!  1  u8   state after the change (1 Draft … 5 Deleted; 5 is the tombstone, without a body)
//!  2  u8   dictionary of the frame
//!  3  u8   zero
//!  4  u32  bytes of the raw body
//!  8  u64  seq
//! 16  i64  stamp, milliseconds since 1970 UTC
//! 24  i16  offset of the stamp, minutes
//! 26  u16  zero
//! 28  u32  bytes of the raw index row
//! 32  u32  bytes of the fields
//! 36  fields: u8 tag, u32 bytes, content
//!  …  zstd frame of the body (behind the head) and the index row, to the end
//! ```
//!
//! Numbers are little-endian. A field with an unknown tag is kept and passed over, so that later releases can add fields
//! (key ids, the hash of the record before) without a new layout. The row says again what stands in the body, so that in one frame
//! with it it takes some 80 bytes; alone it would take 250.

use super::StoreError;
use certificate::{Seq, Stamp, State};

/// Format number in the first byte of each record; a record with another one is refused as damaged.
pub const FORMAT: u8 = 1;

const FIXED_BYTES: usize = 36;

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FieldTag {
    /// Who acted: personal code.
    Person = 1,
    /// Roles of who acted, as the token spells them, separated by spaces.
    Role = 2,
    /// Registry code of the institution.
    Organization = 3,
    /// As claimed by the header `x-road-id`.
    XRoadId = 4,
    /// The request's id.
    Trace = 5,
    /// The patient as the registry knew them.
    Subject = 6,
    /// Of the person.
    GivenName = 7,
    /// Registry code of whom the person stood for.
    RepresentedParty = 8,
    /// First digits of the token's hash.
    Session = 9,
    /// IP address.
    Address = 10,
    /// As claimed by the header `x-road-client`.
    XRoadClient = 11,
    /// As claimed by the header `x-road-issue`.
    XRoadIssue = 12,
    /// As claimed by the header `x-road-userid`.
    XRoadUserid = 13,
    /// The caller's software, as the token names it.
    Application = 14,
    /// The version was imported; empty.
    Imported = 15,
    /// Of the person.
    FamilyName = 16,
    /// Names of the headers of X-Road that were dropped.
    XRoadDropped = 17,
    /// `If-None-Exist`, as it was sent.
    Condition = 18,
    /// What that asks for, decoded: `system|value`.
    ConditionIdentifier = 19,
    /// Certificates that had it, id and version each (`3/1`), separated by spaces.
    ConditionCertificates = 20,
}

/// A record as it lies in the store.
#[derive(Clone, Copy, Debug)]
pub struct VersionRecord<'a> {
    /// State after this version; `Deleted` is the tombstone, which has no body.
    pub state: State,
    /// Number of the dictionary that `frame` is compressed with.
    pub dictionary: u8,
    /// Bytes of the raw body.
    pub raw_bytes: usize,
    /// Bytes of the raw index row, behind the body.
    pub row_bytes: usize,
    /// Number of the change that made this version, over all certificates.
    pub seq: Seq,
    /// When the version was made.
    pub stamp: Stamp,
    /// Who acted, the patient and other fields, not decoded.
    pub fields: RecordFields<'a>,
    /// zstd frame of the body and the index row; empty for a tombstone.
    pub frame: &'a [u8],
}

impl<'a> VersionRecord<'a> {
    /// Reads a record.
    ///
    /// # Errors
    /// `Damaged` when the bytes cannot be a record. The format of the whole store tells of a later release.
    pub fn read(bytes: &'a [u8]) -> Result<VersionRecord<'a>, StoreError> {
        let damaged = || StoreError::Damaged("a record is too short".into());
        let fixed: &[u8; FIXED_BYTES] = bytes.first_chunk().ok_or_else(damaged)?;
        if fixed[0] != FORMAT {
            return Err(unknown_format("a record", fixed[0]));
        }
        if fixed[3] != 0 || fixed[26..28] != [0, 0] {
            return Err(StoreError::Damaged("bytes of a record that are always zero are not".into()));
        }
        let u32_at = |at: usize| u32::from_le_bytes(fixed[at..at + 4].try_into().expect("four bytes were cut"));
        let i64_at = |at: usize| i64::from_le_bytes(fixed[at..at + 8].try_into().expect("eight bytes were cut"));
        let fields_end = FIXED_BYTES + u32_at(32) as usize;
        Ok(VersionRecord {
            state: State::from_byte(fixed[1])
                .ok_or_else(|| StoreError::Damaged(format!("state {} is unknown", fixed[1])))?,
            dictionary: fixed[2],
            raw_bytes: u32_at(4) as usize,
            row_bytes: u32_at(28) as usize,
            seq: Seq(i64_at(8) as u64),
            stamp: Stamp { milliseconds: i64_at(16), offset_minutes: i16::from_le_bytes([fixed[24], fixed[25]]) },
            fields: RecordFields(bytes.get(FIXED_BYTES..fields_end).ok_or_else(damaged)?),
            frame: bytes.get(fields_end..).ok_or_else(damaged)?,
        })
    }

    /// Whether the version was imported: its time is not one of this store.
    ///
    /// # Errors
    /// `Damaged` when the fields are none.
    pub fn is_imported(&self) -> Result<bool, StoreError> {
        Ok(self.fields.get(FieldTag::Imported)?.is_some())
    }
}

/// A record says a format that there is not in a store of [`FORMAT`](super::FORMAT).
pub fn unknown_format(what: &str, format: u8) -> StoreError {
    StoreError::Damaged(format!("{what} has format {format}, which is unknown"))
}

/// Fields as they lie in a record.
#[derive(Clone, Copy, Debug)]
pub struct RecordFields<'a>(pub &'a [u8]);

impl<'a> RecordFields<'a> {
    /// Content of the first field of a kind.
    ///
    /// # Errors
    /// `Damaged` when the fields are none.
    pub fn get(&self, tag: FieldTag) -> Result<Option<&'a [u8]>, StoreError> {
        self.find(tag as u8)
    }

    /// Whether they can be read to their end.
    ///
    /// # Errors
    /// `Damaged` when the fields are none.
    pub fn check(&self) -> Result<(), StoreError> {
        // No field has this tag.
        self.find(0).map(drop)
    }

    fn find(&self, tag: u8) -> Result<Option<&'a [u8]>, StoreError> {
        let mut rest = self.0;
        while let Some((&found, behind)) = rest.split_first() {
            let length = behind.split_first_chunk().map(|(length, behind)| (u32::from_le_bytes(*length), behind));
            let content = length.and_then(|(length, behind)| behind.split_at_checked(length as usize));
            let (content, behind) = content.ok_or_else(|| StoreError::Damaged("a field of a record is cut".into()))?;
            if found == tag {
                return Ok(Some(content));
            }
            rest = behind;
        }
        Ok(None)
    }
}

/// A record to be written; seq and stamp are known only to the writer.
#[derive(Clone, Debug)]
pub struct RecordDraft {
    /// State after this version; `Deleted` is the tombstone, which has no body.
    pub state: State,
    /// Number of the dictionary that `frame` is compressed with.
    pub dictionary: u8,
    /// Bytes of the raw body.
    pub raw_bytes: u32,
    /// Bytes of the raw index row, behind the body.
    pub row_bytes: u32,
    /// Fields in their stored form.
    pub fields: Vec<u8>,
    /// zstd frame of the body and the index row; empty for a tombstone.
    pub frame: Vec<u8>,
}

impl RecordDraft {
    /// Adds a field.
    pub fn push(&mut self, tag: FieldTag, content: &[u8]) {
        push_field(&mut self.fields, tag, content);
    }

    /// Bytes of the whole record.
    pub fn bytes(&self) -> usize {
        FIXED_BYTES + self.fields.len() + self.frame.len()
    }

    /// The stored form.
    pub fn write(&self, seq: Seq, stamp: Stamp, out: &mut Vec<u8>) {
        out.clear();
        out.reserve(self.bytes());
        out.extend_from_slice(&[FORMAT, self.state as u8, self.dictionary, 0]);
        out.extend_from_slice(&self.raw_bytes.to_le_bytes());
        out.extend_from_slice(&seq.0.to_le_bytes());
        out.extend_from_slice(&stamp.milliseconds.to_le_bytes());
        out.extend_from_slice(&stamp.offset_minutes.to_le_bytes());
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&self.row_bytes.to_le_bytes());
        out.extend_from_slice(&length(self.fields.len()));
        out.extend_from_slice(&self.fields);
        out.extend_from_slice(&self.frame);
    }
}

/// Appends a field in its stored form.
pub fn push_field(fields: &mut Vec<u8>, tag: FieldTag, content: &[u8]) {
    fields.push(tag as u8);
    fields.extend_from_slice(&length(content.len()));
    fields.extend_from_slice(content);
}

fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).expect("the bound on bodies keeps every part far below 4 GiB").to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let mut draft = RecordDraft {
            state: State::Completed,
            dictionary: 1,
            raw_bytes: 77,
            row_bytes: 7,
            fields: vec![],
            frame: b"frame".to_vec(),
        };
        draft.push(FieldTag::Person, b"37605030299");
        draft.push(FieldTag::Role, b"");
        let mut out = vec![9];
        draft.write(Seq(5), Stamp { milliseconds: -1, offset_minutes: 180 }, &mut out);
        out
    }

    #[test]
    fn a_record_reads_as_it_was_written() {
        let bytes = sample();
        let record = VersionRecord::read(&bytes).unwrap();
        assert_eq!((record.state, record.dictionary, record.raw_bytes, record.seq), (State::Completed, 1, 77, Seq(5)));
        assert_eq!(record.stamp, Stamp { milliseconds: -1, offset_minutes: 180 });
        assert_eq!(record.row_bytes, 7);
        assert_eq!(record.frame, b"frame");
        assert_eq!(record.fields.get(FieldTag::Person).unwrap(), Some(&b"37605030299"[..]));
        assert_eq!(record.fields.get(FieldTag::Role).unwrap(), Some(&b""[..]));
        assert_eq!(record.fields.get(FieldTag::Subject).unwrap(), None);
    }

    #[test]
    fn a_cut_or_foreign_record_is_told_and_never_panics() {
        let bytes = sample();
        for end in 0..bytes.len() {
            // Whether it is short is known by the frame, which the checksum of the frame then tells.
            assert!(VersionRecord::read(&bytes[..end]).is_ok() == (end >= bytes.len() - 5), "{end}");
        }
        let mut newer = bytes.clone();
        newer[0] = 2;
        assert!(matches!(VersionRecord::read(&newer), Err(StoreError::Damaged(_))));
        let mut odd = bytes;
        odd[1] = 77;
        assert!(matches!(VersionRecord::read(&odd), Err(StoreError::Damaged(_))));
    }
}
