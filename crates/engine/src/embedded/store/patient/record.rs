//! The stored form of one version of a patient: what is asked of it often, then the resource behind its head.
//!
//! ```text
//!  0  u8   format of this layout (1)
//!  1  u8   flags: 1 active, 2 deceased, 4 the birth date is known
//!  2  u16  number of links
//!  4  u32  bytes of the identifiers
//!  8  i64  stamp, milliseconds since 1970 UTC
//! 16  i16  offset of the stamp, minutes
//! 18  u16  zero
//! 20  i32  first day the birth date can mean, days since 1970-01-01
//! 24  i32  last one
//! 28  links: u64 id
//!  …  identifiers: u32 bytes of the system, u32 bytes of the value, both
//!  …  tail: the resource behind its head
//!  …  u32  CRC-32 of all before
//! ```
//!
//! Numbers are little-endian. The body is stored as it is: it is small, and facts are asked far more often than bodies.

use super::super::StoreError;
use super::super::crc::crc;
use super::super::record::unknown_format;
use crate::PatientFacts;
use certificate::{Id, Stamp, Version};

/// Format number in the first byte of each record; a record with another one is refused as damaged.
pub const FORMAT: u8 = 1;
const FIXED_BYTES: usize = 28;
const CHECKSUM_BYTES: usize = 4;

const ACTIVE: u8 = 1;
const DECEASED: u8 = 2;
const BORN: u8 = 4;

/// A record as it lies in the store.
#[derive(Clone, Copy, Debug)]
pub struct PatientRecord<'a> {
    flags: u8,
    /// When the version was made.
    pub stamp: Stamp,
    born: (i32, i32),
    links: &'a [u8],
    identifiers: &'a [u8],
    /// The resource, as JSON bytes behind its head ([`certificate::head::tail`]).
    pub tail: &'a [u8],
}

impl<'a> PatientRecord<'a> {
    /// Reads the record of a version.
    ///
    /// # Errors
    /// `Damaged` when the bytes are not as they were written.
    pub fn read(id: Id, version: Version, bytes: &'a [u8]) -> Result<PatientRecord<'a>, StoreError> {
        if let Some(format) = bytes.first().filter(|format| **format != FORMAT) {
            return Err(unknown_format(&format!("version {version} of Patient/{id}"), *format));
        }
        Self::parse(bytes)
            .ok_or_else(|| StoreError::Damaged(format!("version {version} of Patient/{id} is not readable")))
    }

    fn parse(bytes: &'a [u8]) -> Option<PatientRecord<'a>> {
        let (bytes, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>()?;
        if crc(bytes) != u32::from_le_bytes(*checksum) {
            return None;
        }
        let (fixed, rest) = bytes.split_first_chunk::<FIXED_BYTES>()?;
        let links = 8 * usize::from(u16::from_le_bytes([fixed[2], fixed[3]]));
        let (links, rest) = rest.split_at_checked(links)?;
        let (identifiers, tail) = rest.split_at_checked(u32_at(fixed, 4)? as usize)?;
        let milliseconds = i64::from_le_bytes(*fixed.get(8..)?.first_chunk()?);
        let offset_minutes = i16::from_le_bytes([fixed[16], fixed[17]]);
        Some(PatientRecord {
            flags: fixed[1],
            stamp: Stamp { milliseconds, offset_minutes },
            born: (u32_at(fixed, 20)? as i32, u32_at(fixed, 24)? as i32),
            links,
            identifiers,
            tail,
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

/// The stored form.
pub fn write(facts: &PatientFacts, stamp: Stamp, tail: &[u8]) -> Vec<u8> {
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let flags = flag(facts.is_active, ACTIVE) | flag(facts.is_deceased, DECEASED) | flag(facts.born.is_some(), BORN);
    let (first, last) = facts.born.unwrap_or_default();
    let links = u16::try_from(facts.links.len()).expect("the bound on links keeps them below 65 536");
    let bytes = facts.identifiers.iter().map(|(system, value)| 8 + system.len() + value.len()).sum();
    let mut out = Vec::with_capacity(FIXED_BYTES + 8 * facts.links.len() + bytes + tail.len() + CHECKSUM_BYTES);
    out.extend_from_slice(&[FORMAT, flags]);
    out.extend_from_slice(&links.to_le_bytes());
    out.extend_from_slice(&length(bytes));
    out.extend_from_slice(&stamp.milliseconds.to_le_bytes());
    out.extend_from_slice(&stamp.offset_minutes.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&first.to_le_bytes());
    out.extend_from_slice(&last.to_le_bytes());
    out.extend_from_slice(&write_links(&facts.links));
    for (system, value) in &facts.identifiers {
        out.extend_from_slice(&length(system.len()));
        out.extend_from_slice(&length(value.len()));
        out.extend_from_slice(system.as_bytes());
        out.extend_from_slice(value.as_bytes());
    }
    out.extend_from_slice(tail);
    let checksum = crc(&out);
    out.extend_from_slice(&checksum.to_le_bytes());
    out
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

fn identifiers(mut bytes: &[u8]) -> Option<Vec<(String, String)>> {
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

    fn facts() -> PatientFacts {
        PatientFacts {
            is_active: true,
            is_deceased: false,
            born: Some((-3_653, -3_289)),
            identifiers: vec![("https://fhir.ee/a".into(), "1".into()), (String::new(), "õ".into())],
            links: vec![Id::new(7).unwrap(), Id::new(u64::MAX).unwrap()],
        }
    }

    fn read(bytes: &[u8]) -> Result<PatientRecord<'_>, StoreError> {
        PatientRecord::read(Id::FIRST, Version::FIRST, bytes)
    }

    #[test]
    fn a_record_reads_as_it_was_written() {
        let stamp = Stamp { milliseconds: -1, offset_minutes: 180 };
        let bytes = write(&facts(), stamp, b"},\"a\":1}");
        let record = read(&bytes).unwrap();
        assert_eq!((record.facts().unwrap(), record.stamp, record.tail), (facts(), stamp, b"},\"a\":1}".as_slice()));
        let bare = PatientFacts { is_active: false, is_deceased: true, born: None, identifiers: vec![], links: vec![] };
        let bytes = write(&bare, stamp, b"");
        assert_eq!(read(&bytes).unwrap().facts().unwrap(), bare);
    }

    #[test]
    fn every_cut_and_every_flipped_bit_is_told() {
        let bytes = write(&facts(), Stamp { milliseconds: 5, offset_minutes: 120 }, b"},\"a\":1}");
        for end in 0..bytes.len() {
            assert!(matches!(read(&bytes[..end]), Err(StoreError::Damaged(_))), "{end}");
        }
        for at in 0..bytes.len() * 8 {
            let mut torn = bytes.clone();
            torn[at / 8] ^= 1 << (at % 8);
            let told = read(&torn).map(drop);
            assert!(matches!(told, Err(StoreError::Damaged(_))), "{at}");
        }
    }
}
