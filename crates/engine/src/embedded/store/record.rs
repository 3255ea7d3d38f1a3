//! The stored form of an entry: one envelope for all kinds.
//!
//! ```text
//!  0  u8   layout (2)
//!  1  u8   kind: 1 version of a certificate, 2 change of consent, 3 version of a patient, 4 code list, 5 mark
//!  2  u8   of a certificate its state (1 Draft … 5 Deleted, the tombstone), of a consent what holds (1 closed to doctors, 2 closed to
//!          representatives), of a patient flags, of a code list 1 where it is loaded, of a mark what it marks; else 0
//!  3  u8   dictionary of row and body; 0: both lie as they are
//!  4  u64  number in its log
//! 12  i64  stamp, milliseconds since 1970 UTC
//! 20  i16  offset of the stamp, minutes
//! 22  u16  zero
//! 24  u32  bytes of the fields
//! 28  u32  bytes of the row, as it lies
//! 32  u32  bytes of the raw body
//! 36  fields: u8 tag, u32 bytes, content
//!  …  row: what is asked of the entry without looking at its body
//!  …  body
//!  …  u32  CRC-32 of all before
//! ```
//!
//! Numbers are little-endian. A field with an unknown tag is kept and passed over, so that later releases can add fields without a new
//! layout. Row and body of a certificate lie in a zstd frame each: a decision, a replay or a rebuild expands 450 bytes, and not 4 000.

use super::StoreError;
use super::crc::crc;
use certificate::{Seq, Stamp, State};

/// Layout in the first byte of each entry; one with another is refused as damaged.
pub const LAYOUT: u8 = 2;

const FIXED_BYTES: usize = 36;
const CHECKSUM_BYTES: usize = 4;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EntryKind {
    /// A version of a certificate.
    Version = 1,
    /// A change of the consent of a certificate.
    Consent = 2,
    /// A version of a patient.
    Patient = 3,
    /// A code list that was loaded or taken away.
    List = 4,
    /// Something that happened to the store itself.
    Mark = 5,
}

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
    /// The version was erased: what is left of it. `super::erased`.
    Erased = 21,
}

/// An entry as it lies in the store.
#[derive(Clone, Copy, Debug)]
pub struct StoredEntry<'a> {
    /// What the kind says in one byte.
    pub says: u8,
    /// Number of the dictionary that row and body are compressed with; 0 where they lie as they are.
    pub dictionary: u8,
    /// Number in its log.
    pub number: u64,
    /// When it was made.
    pub stamp: Stamp,
    /// Who acted, and other fields, not decoded.
    pub fields: RecordFields<'a>,
    /// The row, as it lies.
    pub row: &'a [u8],
    /// Bytes of the raw body.
    pub raw_bytes: usize,
    /// The body, as it lies.
    pub body: &'a [u8],
}

impl<'a> StoredEntry<'a> {
    /// Reads an entry of a kind; `what` says which one where it is not readable.
    ///
    /// # Errors
    /// `Damaged` when the bytes are not as they were written. The format of the whole store shows a later release.
    pub fn read(kind: EntryKind, bytes: &'a [u8], what: impl Fn() -> String) -> Result<StoredEntry<'a>, StoreError> {
        match bytes.first() {
            Some(&LAYOUT) | None => {}
            Some(other) => return Err(StoreError::Damaged(format!("{} has format {other}, which is unknown", what()))),
        }
        Self::parse(kind, bytes).ok_or_else(|| StoreError::Damaged(format!("{} is not readable", what())))
    }

    fn parse(kind: EntryKind, bytes: &'a [u8]) -> Option<StoredEntry<'a>> {
        let (bytes, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>()?;
        if crc(bytes) != u32::from_le_bytes(*checksum) {
            return None;
        }
        let (fixed, rest) = bytes.split_first_chunk::<FIXED_BYTES>()?;
        let u32_at =
            |at: usize| u32::from_le_bytes(fixed[at..at + 4].try_into().expect("four bytes were cut")) as usize;
        let u64_at = |at: usize| u64::from_le_bytes(fixed[at..at + 8].try_into().expect("eight bytes were cut"));
        let (fields, rest) = rest.split_at_checked(u32_at(24))?;
        let (row, body) = rest.split_at_checked(u32_at(28))?;
        (fixed[1] == kind as u8).then_some(StoredEntry {
            says: fixed[2],
            dictionary: fixed[3],
            number: u64_at(4),
            stamp: Stamp {
                milliseconds: u64_at(12) as i64,
                offset_minutes: i16::from_le_bytes([fixed[20], fixed[21]]),
            },
            fields: RecordFields(fields),
            row,
            raw_bytes: u32_at(32),
            body,
        })
    }
}

/// A version of a certificate as it lies in the store.
#[derive(Clone, Copy, Debug)]
pub struct VersionRecord<'a> {
    /// State after this version; `Deleted` is the tombstone, which has no body.
    pub state: State,
    /// Number of the dictionary that row and body are compressed with.
    pub dictionary: u8,
    /// Bytes of the raw body.
    pub raw_bytes: usize,
    /// zstd frame of the index row; empty for a tombstone.
    pub row: &'a [u8],
    /// Number of the change that made this version, over all certificates.
    pub seq: Seq,
    /// When the version was made.
    pub stamp: Stamp,
    /// Who acted, the patient and other fields, not decoded.
    pub fields: RecordFields<'a>,
    /// zstd frame of the body behind its head; empty for a tombstone.
    pub body: &'a [u8],
}

impl<'a> VersionRecord<'a> {
    /// Reads a record.
    ///
    /// # Errors
    /// As [`StoredEntry::read`].
    pub fn read(bytes: &'a [u8]) -> Result<VersionRecord<'a>, StoreError> {
        let entry = StoredEntry::read(EntryKind::Version, bytes, || "a record".to_owned())?;
        let unknown = || StoreError::Damaged(format!("state {} is unknown", entry.says));
        Ok(VersionRecord {
            state: State::from_byte(entry.says).ok_or_else(unknown)?,
            dictionary: entry.dictionary,
            raw_bytes: entry.raw_bytes,
            row: entry.row,
            seq: Seq(entry.number),
            stamp: entry.stamp,
            fields: entry.fields,
            body: entry.body,
        })
    }

    /// Whether the version was imported: its time is not one of this store.
    ///
    /// # Errors
    /// `Damaged` when the fields are none.
    pub fn is_imported(&self) -> Result<bool, StoreError> {
        Ok(self.fields.get(FieldTag::Imported)?.is_some())
    }

    /// Whether it has neither row nor body, as a tombstone.
    pub fn is_bare(&self) -> bool {
        self.row.is_empty() && self.body.is_empty() && self.raw_bytes == 0
    }
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

    /// All of them in their order, by tag; an error ends them.
    pub fn iter(&self) -> impl Iterator<Item = Result<(u8, &'a [u8]), StoreError>> + use<'a> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let (&tag, behind) = rest.split_first()?;
            let length = behind.split_first_chunk().map(|(length, behind)| (u32::from_le_bytes(*length), behind));
            let content = length.and_then(|(length, behind)| behind.split_at_checked(length as usize));
            let (content, behind) = content.unzip();
            rest = behind.unwrap_or_default();
            Some(
                content
                    .map(|content| (tag, content))
                    .ok_or_else(|| StoreError::Damaged("a field of a record is cut".into())),
            )
        })
    }

    fn find(&self, tag: u8) -> Result<Option<&'a [u8]>, StoreError> {
        for field in self.iter() {
            let (found, content) = field?;
            if found == tag {
                return Ok(Some(content));
            }
        }
        Ok(None)
    }
}

/// An entry to be written; its number and stamp are known only to the writer.
#[derive(Clone, Debug)]
pub struct EntryDraft {
    /// What it is.
    pub kind: EntryKind,
    /// What the kind says in one byte.
    pub says: u8,
    /// As [`StoredEntry::dictionary`].
    pub dictionary: u8,
    /// Fields in their stored form.
    pub fields: Vec<u8>,
    /// The row, as it will lie.
    pub row: Vec<u8>,
    /// Bytes of the raw body.
    pub raw_bytes: usize,
    /// The body, as it will lie.
    pub body: Vec<u8>,
}

impl EntryDraft {
    /// An entry of fields alone.
    pub fn bare(kind: EntryKind, says: u8) -> EntryDraft {
        let (fields, row, body) = (Vec::new(), Vec::new(), Vec::new());
        EntryDraft { kind, says, dictionary: 0, fields, row, raw_bytes: 0, body }
    }

    /// Adds a field.
    pub fn push(&mut self, tag: FieldTag, content: &[u8]) {
        push_field(&mut self.fields, tag, content);
    }

    /// Bytes of the whole entry.
    pub fn bytes(&self) -> usize {
        FIXED_BYTES + self.fields.len() + self.row.len() + self.body.len() + CHECKSUM_BYTES
    }

    /// The stored form.
    pub fn write(&self, number: u64, stamp: Stamp) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes());
        out.extend_from_slice(&[LAYOUT, self.kind as u8, self.says, self.dictionary]);
        out.extend_from_slice(&number.to_le_bytes());
        out.extend_from_slice(&stamp.milliseconds.to_le_bytes());
        out.extend_from_slice(&stamp.offset_minutes.to_le_bytes());
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&length(self.fields.len()));
        out.extend_from_slice(&length(self.row.len()));
        out.extend_from_slice(&length(self.raw_bytes));
        out.extend_from_slice(&self.fields);
        out.extend_from_slice(&self.row);
        out.extend_from_slice(&self.body);
        let checksum = crc(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        out
    }
}

/// Appends a field in its stored form.
pub fn push_field(fields: &mut Vec<u8>, tag: FieldTag, content: &[u8]) {
    push_tagged(fields, tag as u8, content);
}

/// As [`push_field`], also of a tag that only a later release knows.
pub(super) fn push_tagged(fields: &mut Vec<u8>, tag: u8, content: &[u8]) {
    fields.push(tag);
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
        let mut draft = EntryDraft {
            dictionary: 1,
            row: b"row".to_vec(),
            raw_bytes: 77,
            body: b"body".to_vec(),
            ..EntryDraft::bare(EntryKind::Version, State::Completed as u8)
        };
        draft.push(FieldTag::Person, b"37605030299");
        draft.push(FieldTag::Role, b"");
        let bytes = draft.write(5, Stamp { milliseconds: -1, offset_minutes: 180 });
        assert_eq!(bytes.len(), draft.bytes());
        bytes
    }

    #[test]
    fn an_entry_reads_as_it_was_written() {
        let bytes = sample();
        let record = VersionRecord::read(&bytes).unwrap();
        assert_eq!((record.state, record.dictionary, record.raw_bytes, record.seq), (State::Completed, 1, 77, Seq(5)));
        assert_eq!(record.stamp, Stamp { milliseconds: -1, offset_minutes: 180 });
        assert_eq!((record.row, record.body), (b"row".as_slice(), b"body".as_slice()));
        assert_eq!(record.fields.get(FieldTag::Person).unwrap(), Some(&b"37605030299"[..]));
        assert_eq!(record.fields.get(FieldTag::Role).unwrap(), Some(&b""[..]));
        assert_eq!(record.fields.get(FieldTag::Subject).unwrap(), None);
    }

    #[test]
    fn every_cut_and_every_flipped_bit_is_told_and_so_is_another_kind() {
        let bytes = sample();
        let is_told = |bytes: &[u8]| matches!(VersionRecord::read(bytes), Err(StoreError::Damaged(_)));
        assert!((0..bytes.len()).all(|end| is_told(&bytes[..end])));
        for at in 0..bytes.len() * 8 {
            let mut torn = bytes.clone();
            torn[at / 8] ^= 1 << (at % 8);
            assert!(is_told(&torn), "{at}");
        }
        let other = EntryDraft::bare(EntryKind::Consent, 1).write(1, Stamp::at(0));
        assert!(is_told(&other));
        let odd = EntryDraft::bare(EntryKind::Version, 77).write(1, Stamp::at(0));
        assert!(is_told(&odd));
    }
}
