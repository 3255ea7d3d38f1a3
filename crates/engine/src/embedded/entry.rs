//! One version of a certificate as it lies in the store, and what else is asked of its certificate at the same moment.

use super::compressed_version::{self, bytes_max};
use super::store::record::VersionRecord;
use super::store::row::lay;
use super::store::{StoreError, StoreReader};
use super::{Engine, EngineShared, committed};
use crate::{EffectiveRow, StoredVersion, VersionSubject};
use certificate::search::row::Row;
use certificate::{Consent, Id, Seq, Stamp, State, Version};

/// A version of a certificate at one moment. Nothing of it is expanded before it is asked for, and all that is asked of it, or of other
/// versions through it, is of the same moment.
pub struct Entry<'e> {
    shared: &'e EngineShared,
    reader: &'e StoreReader,
    record: VersionRecord<'e>,
    id: Id,
    version: Version,
    is_newest: bool,
}

impl Engine {
    /// Reads a version of a certificate, or its newest one where none is named. None: there is no such version, or the id was never
    /// assigned.
    ///
    /// # Errors
    /// The store cannot be read, or what `look` returned.
    pub fn read<T>(
        &self,
        id: Id,
        version: Option<Version>,
        look: impl FnOnce(&Entry<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        self.reading(|reader| self.shared.read(reader, id, version, look))
    }
}

impl EngineShared {
    /// As [`Engine::read`], at the moment of a reader.
    pub(super) fn read<T>(
        &self,
        reader: &StoreReader,
        id: Id,
        version: Option<Version>,
        look: impl FnOnce(&Entry<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let (shared, is_newest) = (self, version.is_none());
        let entry = |version: Version, bytes: &[u8]| {
            look(&Entry { shared, reader, record: VersionRecord::read(bytes)?, id, version, is_newest })
        };
        let found = match version {
            Some(version) => reader.version(id, version, |bytes| entry(version, bytes))?,
            None => reader.newest(id, entry)?,
        };
        found.transpose()
    }
}

impl Entry<'_> {
    /// Which version it is.
    pub fn version(&self) -> Version {
        self.version
    }

    /// State after this version; `Deleted` is the tombstone.
    pub fn state(&self) -> State {
        self.record.state
    }

    /// When it was made.
    pub fn stamp(&self) -> Stamp {
        self.record.stamp
    }

    /// The change that made it.
    pub fn seq(&self) -> Seq {
        self.record.seq
    }

    /// Bytes of its resource, if not to the byte; 0 for a tombstone.
    pub fn bytes_max(&self) -> usize {
        if self.record.state == State::Deleted { 0 } else { bytes_max(&self.record) }
    }

    /// The version, its resource left empty.
    pub fn without_resource(&self) -> StoredVersion {
        let VersionRecord { state, stamp, .. } = self.record;
        StoredVersion { id: self.id, version: self.version, state, stamp, resource: Vec::new() }
    }

    /// The version with its resource.
    ///
    /// # Errors
    /// `Damaged`.
    pub fn stored(&self) -> Result<StoredVersion, StoreError> {
        compressed_version::stored(&self.record, self.id, self.version, |number| self.shared.store.dictionary(number))
    }

    /// Its row with the consent that holds now; none for a tombstone.
    ///
    /// # Errors
    /// `Damaged`.
    pub fn row(&self) -> Result<Option<Row>, StoreError> {
        self.shared.row(&self.record)?.map(|row| self.with_consent(row)).transpose()
    }

    /// As [`stored`](Self::stored) and [`row`](Self::row).
    ///
    /// # Errors
    /// `Damaged`.
    pub fn stored_with_row(&self) -> Result<(StoredVersion, Option<Row>), StoreError> {
        Ok((self.stored()?, self.row()?))
    }

    /// The consent that holds now for the certificate.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn consent(&self) -> Result<Consent, StoreError> {
        self.reader.consent(self.id)
    }

    /// What rights ask of the certificate now, whichever version this is.
    ///
    /// # Errors
    /// `Damaged`.
    pub fn effective_row(&self) -> Result<EffectiveRow, StoreError> {
        if !self.is_newest {
            let gone = || StoreError::Damaged(format!("the versions of Composition/{} are gone", self.id));
            return self.read(None, |entry| entry.effective_row())?.ok_or_else(gone);
        }
        // For a tombstone the row is that of the version before.
        let row = match (self.row()?, self.version.before()) {
            (None, Some(before)) => self.read(Some(before), |entry| entry.row())?.flatten(),
            (row, _) => row,
        };
        Ok(EffectiveRow { version: self.version, state: self.record.state, row })
    }

    /// The patient that it is about, where the registry was asked for them. A tombstone is about the one it was deleted from.
    ///
    /// # Errors
    /// `Damaged`.
    pub fn subject(&self) -> Result<Option<VersionSubject>, StoreError> {
        match (committed::subject_in(&self.record)?, self.version.before()) {
            (None, Some(before)) => committed::subject(self.reader, self.id, before),
            (found, _) => Ok(found),
        }
    }

    /// Whom it is about: as the registry knew them, else as the version itself says, which is so for one that was imported. Without the id
    /// where it says none.
    ///
    /// # Errors
    /// `Damaged`.
    pub fn patient(&self) -> Result<Option<VersionSubject>, StoreError> {
        match (self.shared.patient_in(&self.record)?, self.version.before()) {
            (None, Some(before)) => Ok(self.read(Some(before), |entry| entry.patient())?.flatten()),
            (found, _) => Ok(found),
        }
    }

    /// Reads another version of the same certificate, or its newest one.
    ///
    /// # Errors
    /// As [`Engine::read`].
    pub fn read<T>(
        &self,
        version: Option<Version>,
        look: impl FnOnce(&Entry<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        self.shared.read(self.reader, self.id, version, look)
    }

    fn with_consent(&self, mut row: Row) -> Result<Row, StoreError> {
        lay(&mut row, self.consent()?);
        Ok(row)
    }
}
