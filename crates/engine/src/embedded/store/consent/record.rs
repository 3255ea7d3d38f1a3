//! The stored form of one change of consent: what holds from then on, when, and who said so.
//!
//! ```text
//!  0  u8   format of this layout (1)
//!  1  u8   consent: 1 closed to doctors, 2 closed to representatives
//!  2  i16  offset of the stamp, minutes
//!  4  u32  the certificate's newest version then
//!  8  u64  seq
//! 16  i64  stamp, milliseconds since 1970 UTC
//! 24  fields, as those of a version's record
//!  …  u32  CRC-32 of all before
//! ```
//!
//! Numbers are little-endian.

use super::super::StoreError;
use super::super::crc::crc;
use super::super::record::{RecordFields, unknown_format};
use certificate::{Consent, Id, Seq, Stamp, Version};

/// Format number in the first byte of each record; a record with another one is refused as damaged.
pub const FORMAT: u8 = 1;
const FIXED_BYTES: usize = 24;

/// A record as it lies in the store.
#[derive(Clone, Copy, Debug)]
pub struct StoredConsent<'a> {
    /// What holds from this change on.
    pub consent: Consent,
    /// The certificate's newest version at the time of the change.
    pub version: Version,
    /// Number of this change in the store, over all certificates.
    pub seq: Seq,
    /// When the consent was changed.
    pub stamp: Stamp,
    /// Who changed the consent, as fields that are not decoded.
    pub fields: RecordFields<'a>,
}

impl<'a> StoredConsent<'a> {
    /// Reads the record of a change.
    ///
    /// # Errors
    /// `Damaged` when the bytes are not as they were written.
    pub fn read(id: Id, number: u32, bytes: &'a [u8]) -> Result<StoredConsent<'a>, StoreError> {
        let what = || format!("change {number} of the consent of Composition/{id}");
        if let Some(format) = bytes.first().filter(|format| **format != FORMAT) {
            return Err(unknown_format(&what(), *format));
        }
        Self::parse(bytes).ok_or_else(|| StoreError::Damaged(format!("{} is not readable", what())))
    }

    fn parse(bytes: &'a [u8]) -> Option<StoredConsent<'a>> {
        let (bytes, checksum) = bytes.split_last_chunk::<4>()?;
        if crc(bytes) != u32::from_le_bytes(*checksum) {
            return None;
        }
        let (fixed, fields) = bytes.split_first_chunk::<FIXED_BYTES>()?;
        Some(StoredConsent {
            consent: Consent::from_bits(fixed[1])?,
            version: Version::new(u32::from_le_bytes(*fixed.get(4..)?.first_chunk()?))?,
            seq: Seq(u64::from_le_bytes(*fixed.get(8..)?.first_chunk()?)),
            stamp: Stamp {
                milliseconds: i64::from_le_bytes(*fixed.get(16..)?.first_chunk()?),
                offset_minutes: i16::from_le_bytes([fixed[2], fixed[3]]),
            },
            fields: RecordFields(fields),
        })
    }

    /// The stored form.
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(FIXED_BYTES + self.fields.0.len() + 4);
        out.extend_from_slice(&[FORMAT, self.consent.bits()]);
        out.extend_from_slice(&self.stamp.offset_minutes.to_le_bytes());
        out.extend_from_slice(&self.version.get().to_le_bytes());
        out.extend_from_slice(&self.seq.0.to_le_bytes());
        out.extend_from_slice(&self.stamp.milliseconds.to_le_bytes());
        out.extend_from_slice(self.fields.0);
        let checksum = crc(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::record::{FieldTag, push_field};
    use super::*;

    #[test]
    fn a_record_reads_as_it_was_written_and_every_cut_and_flipped_bit_is_told() {
        let mut fields = Vec::new();
        push_field(&mut fields, FieldTag::Person, b"37605030299");
        let stamp = Stamp { milliseconds: -5, offset_minutes: 120 };
        let consent = Consent::ALL[2];
        let record =
            StoredConsent { consent, version: Version::FIRST, seq: Seq(8), stamp, fields: RecordFields(&fields) };
        let bytes = record.write();
        let read = |bytes: &[u8]| StoredConsent::read(Id::FIRST, 1, bytes).map(drop);
        let back = StoredConsent::read(Id::FIRST, 1, &bytes).unwrap();
        assert_eq!((back.consent, back.version, back.seq, back.stamp), (consent, Version::FIRST, Seq(8), stamp));
        assert_eq!(back.fields.get(FieldTag::Person).unwrap(), Some(b"37605030299".as_slice()));
        for end in 0..bytes.len() {
            assert!(matches!(read(&bytes[..end]), Err(StoreError::Damaged(_))), "{end}");
        }
        for at in 0..bytes.len() * 8 {
            let mut torn = bytes.clone();
            torn[at / 8] ^= 1 << (at % 8);
            assert!(matches!(read(&torn), Err(StoreError::Damaged(_))), "{at}");
        }
    }
}
