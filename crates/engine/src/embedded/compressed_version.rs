//! Versions of a page where they lie in the store: found, and not expanded before there is a place to expand them to.

use super::store::body::{self, Dictionary};
use super::store::record::VersionRecord;
use super::store::{StoreError, StoreReader, StoredVersionPage, row};
use super::{EngineShared, StoredVersion};
use certificate::search::class::Class;
use certificate::{Id, Stamp, State, Version, head};

/// A version whose resource is still compressed. It holds memory of the store's cache, so it is kept no longer than an answer takes.
pub struct CompressedVersion {
    /// Id of the certificate.
    pub id: Id,
    /// Version of the certificate, from 1.
    pub version: Version,
    /// State after this version; `Deleted` is the tombstone, which has no resource.
    pub state: State,
    /// When the version was made.
    pub stamp: Stamp,
    dictionary: Option<Dictionary>,
    lying: StoredVersionPage,
    bytes_max: usize,
}

impl CompressedVersion {
    /// Bytes that [`write`](Self::write) needs room for, if not to the byte; 0 for a tombstone.
    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Appends the resource, byte for byte as it is always served; nothing for a tombstone.
    ///
    /// # Errors
    /// `Damaged`.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let Some(dictionary) = self.dictionary else { return Ok(()) };
        write(&VersionRecord::read(self.lying.bytes())?, self.id, self.version, dictionary, out)
    }

    /// As [`write`](Self::write); what comes back is the class of its row, its consent left open.
    ///
    /// # Errors
    /// `Damaged`.
    pub fn write_with_class(&self, out: &mut Vec<u8>) -> Result<Option<Class>, StoreError> {
        let Some(dictionary) = self.dictionary else { return Ok(None) };
        let record = VersionRecord::read(self.lying.bytes())?;
        write(&record, self.id, self.version, dictionary, out)?;
        row::read_class(&record, dictionary).map(Some)
    }

    /// The version with its resource.
    pub fn expand(&self) -> Result<StoredVersion, StoreError> {
        let mut resource = Vec::new();
        self.write(&mut resource)?;
        Ok(StoredVersion { id: self.id, version: self.version, state: self.state, stamp: self.stamp, resource })
    }
}

impl EngineShared {
    /// A version of a page, which must be there.
    pub(super) fn compressed(
        &self,
        reader: &StoreReader,
        id: Id,
        version: Version,
    ) -> Result<CompressedVersion, StoreError> {
        let missing = || StoreError::Damaged(format!("version {version} of Composition/{id} is missing"));
        let lying = reader.lying(id, version)?.ok_or_else(missing)?;
        let record = VersionRecord::read(lying.bytes())?;
        let (state, stamp) = (record.state, record.stamp);
        let (dictionary, bytes_max) = match state {
            State::Deleted => (None, 0),
            _ => (Some(self.store.dictionary(record.dictionary)?), bytes_max(&record)),
        };
        Ok(CompressedVersion { id, version, state, stamp, dictionary, lying, bytes_max })
    }

    /// A version with its resource.
    pub(super) fn stored(&self, id: Id, version: Version, bytes: &[u8]) -> Result<StoredVersion, StoreError> {
        let record = VersionRecord::read(bytes)?;
        stored(&record, id, version, |number| self.store.dictionary(number))
    }
}

/// A version with its resource, out of its record.
pub(super) fn stored(
    record: &VersionRecord,
    id: Id,
    version: Version,
    dictionary: impl FnOnce(u8) -> Result<Dictionary, StoreError>,
) -> Result<StoredVersion, StoreError> {
    let mut resource = Vec::new();
    if record.state != State::Deleted {
        write(record, id, version, dictionary(record.dictionary)?, &mut resource)?;
    }
    Ok(StoredVersion { id, version, state: record.state, stamp: record.stamp, resource })
}

/// Bytes of the resource of a record, if not to the byte.
pub(super) fn bytes_max(record: &VersionRecord) -> usize {
    head::HEAD_BYTES_MAX + record.raw_bytes
}

fn write(
    record: &VersionRecord,
    id: Id,
    version: Version,
    dictionary: Dictionary,
    out: &mut Vec<u8>,
) -> Result<(), StoreError> {
    out.reserve(bytes_max(record));
    head::write(out, "Composition", id, version, record.stamp);
    body::expand(dictionary, record.body, record.raw_bytes, out)
}
