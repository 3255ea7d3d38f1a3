//! The entry of a version of a patient.
//!
//! ```text
//! says  1 active, 2 deceased, 4 the birth date is known
//! row   u16 number of links | i32 first day the birth date can mean, days since 1970-01-01 | i32 last one | links: u64 id
//!       | identifiers: u32 bytes of the system, u32 bytes of the value, both
//! body  the resource behind its head
//! ```
//!
//! Numbers are little-endian. Row and body lie as they are: both are small, and rows are asked far more often than bodies.

use super::super::StoreError;
use super::super::record::{EntryDraft, EntryKind, StoredEntry};
use crate::PatientFacts;
use certificate::{Id, Stamp, Version};

const ACTIVE: u8 = 1;
const DECEASED: u8 = 2;
const BORN: u8 = 4;

/// Bytes of a row before the links.
const FIXED_BYTES: usize = 10;

/// A version of a patient as it lies in the store.
#[derive(Clone, Copy, Debug)]
pub struct PatientRecord<'a> {
    flags: u8,
    /// Number of the entry in its log.
    pub number: u64,
    /// When the version was made.
    pub stamp: Stamp,
    born: (i32, i32),
    links: &'a [u8],
    identifiers: &'a [u8],
    /// The resource, as JSON bytes behind its head ([`certificate::head::tail`]).
    pub tail: &'a [u8],
}

impl<'a> PatientRecord<'a> {
    /// Reads the entry of a version.
    ///
    /// # Errors
    /// `Damaged` when the bytes are not as they were written.
    pub fn read(id: Id, version: Version, bytes: &'a [u8]) -> Result<PatientRecord<'a>, StoreError> {
        let what = || format!("version {version} of Patient/{id}");
        let entry = StoredEntry::read(EntryKind::Patient, bytes, what)?;
        Self::of(&entry).ok_or_else(|| StoreError::Damaged(format!("{} is not readable", what())))
    }

    fn of(entry: &StoredEntry<'a>) -> Option<PatientRecord<'a>> {
        let (fixed, rest) = entry.row.split_first_chunk::<FIXED_BYTES>()?;
        let links = 8 * usize::from(u16::from_le_bytes([fixed[0], fixed[1]]));
        let (links, identifiers) = rest.split_at_checked(links)?;
        let day = |at: usize| fixed[at..].first_chunk().map(|day| i32::from_le_bytes(*day));
        Some(PatientRecord {
            flags: entry.says,
            number: entry.number,
            stamp: entry.stamp,
            born: (day(2)?, day(6)?),
            links,
            identifiers,
            tail: entry.body,
        })
    }

    /// Whether the patient is active, as in [`PatientFacts::is_active`].
    pub fn is_active(&self) -> bool {
        self.flags & ACTIVE != 0
    }

    /// Whether the patient is deceased, as in [`PatientFacts::is_deceased`].
    pub fn is_deceased(&self) -> bool {
        self.flags & DECEASED != 0
    }

    /// First and last day that the birth date can mean, in days since 1970-01-01; none where it is unknown.
    pub fn born(&self) -> Option<(i32, i32)> {
        (self.flags & BORN != 0).then_some(self.born)
    }

    /// What the record says without its tail.
    pub fn facts(&self) -> Result<PatientFacts, StoreError> {
        let odd = || StoreError::Damaged("the identifiers or links of a patient are not readable".into());
        Ok(PatientFacts {
            is_active: self.is_active(),
            is_deceased: self.is_deceased(),
            born: self.born(),
            identifiers: identifiers(self.identifiers).ok_or_else(odd)?,
            links: links(self.links).ok_or_else(odd)?,
        })
    }
}

/// The entry of a version.
pub fn draft(facts: &PatientFacts, tail: &[u8]) -> EntryDraft {
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let flags = flag(facts.is_active, ACTIVE) | flag(facts.is_deceased, DECEASED) | flag(facts.born.is_some(), BORN);
    let (first, last) = facts.born.unwrap_or_default();
    let links = u16::try_from(facts.links.len()).expect("the bound on links keeps them below 65 536");
    let bytes: usize = facts.identifiers.iter().map(|(system, value)| 8 + system.len() + value.len()).sum();
    let mut row = Vec::with_capacity(FIXED_BYTES + 8 * facts.links.len() + bytes);
    row.extend_from_slice(&links.to_le_bytes());
    row.extend_from_slice(&first.to_le_bytes());
    row.extend_from_slice(&last.to_le_bytes());
    row.extend_from_slice(&write_links(&facts.links));
    for (system, value) in &facts.identifiers {
        row.extend_from_slice(&length(system.len()));
        row.extend_from_slice(&length(value.len()));
        row.extend_from_slice(system.as_bytes());
        row.extend_from_slice(value.as_bytes());
    }
    EntryDraft { row, raw_bytes: tail.len(), body: tail.to_vec(), ..EntryDraft::bare(EntryKind::Patient, flags) }
}

/// Ids one behind the other, as the record and the table of links hold them.
pub fn write_links(links: &[Id]) -> Vec<u8> {
    links.iter().flat_map(|link| link.get().to_le_bytes()).collect()
}

/// Reads them back; nothing when they were not written so.
pub fn links(bytes: &[u8]) -> Option<Vec<Id>> {
    let (ids, rest) = bytes.as_chunks();
    rest.is_empty().then(|| ids.iter().map(|id| Id::new(u64::from_le_bytes(*id))).collect())?
}

/// System and value of each, one behind the other.
pub fn identifiers(mut bytes: &[u8]) -> Option<Vec<(String, String)>> {
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
    let mut found = Vec::with_capacity(2);
    while !bytes.is_empty() {
        let (system_bytes, value_bytes) = (u32_at(bytes, 0)? as usize, u32_at(bytes, 4)? as usize);
        let (system, rest) = bytes[8..].split_at_checked(system_bytes)?;
        let (value, rest) = rest.split_at_checked(value_bytes)?;
        found.push((text(system)?, text(value)?));
        bytes = rest;
    }
    Some(found)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|number| u32::from_le_bytes(*number))
}

fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).expect("the bound on bodies keeps every part far below 4 GiB").to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_reads_as_it_was_written() {
        let facts = PatientFacts {
            is_active: true,
            is_deceased: false,
            born: Some((-3_653, -3_289)),
            identifiers: vec![("https://fhir.ee/a".into(), "1".into()), (String::new(), "õ".into())],
            links: vec![Id::new(7).unwrap(), Id::new(u64::MAX).unwrap()],
        };
        let bare = PatientFacts { is_active: false, is_deceased: true, born: None, identifiers: vec![], links: vec![] };
        let stamp = Stamp { milliseconds: -1, offset_minutes: 180 };
        for (facts, tail) in [(facts, b"},\"a\":1}".as_slice()), (bare, b"")] {
            let bytes = draft(&facts, tail).write(9, stamp);
            let record = PatientRecord::read(Id::FIRST, Version::FIRST, &bytes).unwrap();
            assert_eq!((record.facts().unwrap(), record.number, record.stamp, record.tail), (facts, 9, stamp, tail));
        }
        let odd = EntryDraft { row: vec![1; 11], ..EntryDraft::bare(EntryKind::Patient, 0) }.write(9, stamp);
        assert!(matches!(PatientRecord::read(Id::FIRST, Version::FIRST, &odd), Err(StoreError::Damaged(_))));
    }
}
