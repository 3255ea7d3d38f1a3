//! The entry of a change of consent: what holds from then on, and who said so. Its row is the certificate's newest version then (u32).

use super::super::StoreError;
use super::super::record::{EntryDraft, EntryKind, RecordFields, StoredEntry};
use certificate::{Consent, Id, Seq, Stamp, Version};

/// A change of consent as it lies in the store.
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
    /// Reads the entry of a change.
    ///
    /// # Errors
    /// `Damaged` when the bytes are not as they were written.
    pub fn read(id: Id, number: u32, bytes: &'a [u8]) -> Result<StoredConsent<'a>, StoreError> {
        let what = || format!("change {number} of the consent of Composition/{id}");
        let entry = StoredEntry::read(EntryKind::Consent, bytes, what)?;
        let version = entry.row.try_into().ok().and_then(|version| Version::new(u32::from_le_bytes(version)));
        let said = Consent::from_bits(entry.says).zip(version);
        let (consent, version) = said.ok_or_else(|| StoreError::Damaged(format!("{} is not readable", what())))?;
        Ok(StoredConsent { consent, version, seq: Seq(entry.number), stamp: entry.stamp, fields: entry.fields })
    }

    /// The stored form.
    pub fn write(&self) -> Vec<u8> {
        let draft = EntryDraft {
            row: self.version.get().to_le_bytes().to_vec(),
            fields: self.fields.0.to_vec(),
            ..EntryDraft::bare(EntryKind::Consent, self.consent.bits())
        };
        draft.write(self.seq.0, self.stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::record::{FieldTag, push_field};
    use super::*;

    #[test]
    fn a_change_reads_as_it_was_written() {
        let mut fields = Vec::new();
        push_field(&mut fields, FieldTag::Person, b"37605030299");
        let stamp = Stamp { milliseconds: -5, offset_minutes: 120 };
        let consent = Consent::ALL[2];
        let record =
            StoredConsent { consent, version: Version::FIRST, seq: Seq(8), stamp, fields: RecordFields(&fields) };
        let bytes = record.write();
        let back = StoredConsent::read(Id::FIRST, 1, &bytes).unwrap();
        assert_eq!((back.consent, back.version, back.seq, back.stamp), (consent, Version::FIRST, Seq(8), stamp));
        assert_eq!(back.fields.get(FieldTag::Person).unwrap(), Some(b"37605030299".as_slice()));
        // Neither what holds nor the version can be anything.
        for (says, row) in [(7, vec![1, 0, 0, 0]), (1, vec![0; 4]), (1, vec![1])] {
            let bytes = EntryDraft { row, ..EntryDraft::bare(EntryKind::Consent, says) }.write(8, stamp);
            assert!(matches!(StoredConsent::read(Id::FIRST, 1, &bytes), Err(StoreError::Damaged(_))));
        }
    }
}
