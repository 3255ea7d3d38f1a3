//! What rights ask: the row of a certificate with the consent that holds, of one moment with the version that is shown.

use super::store::record::VersionRecord;
use super::store::row::{lay, read_row};
use super::store::{StoreError, StoreReader, body};
use super::{Engine, EngineShared};
use crate::{RowStanding, StoredVersion, Versioned};
use certificate::search::row::Row;
use certificate::{Consent, Id, State, Version, head};

impl Engine {
    /// The row of a version as it was stored, so that its consent is open; none for a tombstone or when there is no such version.
    pub fn row(&self, id: Id, version: Version) -> Result<Option<Row>, StoreError> {
        self.shared.row_of(&*self.shared.store.reader()?, id, version)
    }

    /// What rights ask of a certificate; none when the id was never assigned.
    pub fn current_row(&self, id: Id) -> Result<Option<RowStanding>, StoreError> {
        self.shared.standing(&*self.shared.store.reader()?, id)
    }

    /// The newest version of a certificate and the consent that holds at the same moment.
    pub fn current_with_consent(&self, id: Id) -> Result<Option<(StoredVersion, Consent)>, StoreError> {
        let reader = self.shared.store.reader()?;
        let stored = reader.newest(id, |version, bytes| self.shared.stored(id, version, bytes))?.transpose()?;
        stored.map(|stored| Ok((stored, reader.consent(id)?))).transpose()
    }

    /// The newest version of a certificate and what rights ask of it. For a tombstone the row is that of the version before.
    pub fn current_with_row(&self, id: Id) -> Result<Option<(StoredVersion, Option<Row>)>, StoreError> {
        let reader = self.shared.store.reader()?;
        let found = reader.newest(id, |version, bytes| self.shared.stored_with_row(id, version, bytes))?;
        let Some((stored, row)) = found.transpose()? else { return Ok(None) };
        let row = match (row, stored.version.before()) {
            (None, Some(before)) => self.shared.row_of(&reader, id, before)?,
            (row, _) => row,
        };
        Ok(Some((stored, row.map(|row| with_consent(row, &reader, id)).transpose()?)))
    }

    /// One version of a certificate, and what rights ask of both it and the newest one.
    pub fn version_with_rows(&self, id: Id, version: Version) -> Result<Option<Versioned>, StoreError> {
        let reader = self.shared.store.reader()?;
        let found = reader.version(id, version, |bytes| self.shared.stored_with_row(id, version, bytes))?;
        let Some((stored, row)) = found.transpose()? else { return Ok(None) };
        let row = row.map(|row| with_consent(row, &reader, id)).transpose()?;
        let standing = self.shared.standing(&reader, id)?;
        let standing =
            standing.ok_or_else(|| StoreError::Damaged(format!("the versions of Composition/{id} are gone")))?;
        Ok(Some(Versioned { stored, row, standing }))
    }
}

impl EngineShared {
    pub(super) fn standing(&self, reader: &StoreReader, id: Id) -> Result<Option<RowStanding>, StoreError> {
        let found = reader.newest(id, |version, bytes| -> Result<_, StoreError> {
            let record = VersionRecord::read(bytes)?;
            Ok((version, record.state, self.row(&record)?))
        })?;
        let Some((version, state, row)) = found.transpose()? else { return Ok(None) };
        let row = match (row, version.before()) {
            (None, Some(before)) => self.row_of(reader, id, before)?,
            (row, _) => row,
        };
        let row = row.map(|row| with_consent(row, reader, id)).transpose()?;
        Ok(Some(RowStanding { version, state, row }))
    }

    pub(super) fn row_of(&self, reader: &StoreReader, id: Id, version: Version) -> Result<Option<Row>, StoreError> {
        let row = reader.version(id, version, |bytes| self.row(&VersionRecord::read(bytes)?))?;
        Ok(row.transpose()?.flatten())
    }

    /// Body and row lie in one frame, so both cost no more than one of them.
    fn stored_with_row(
        &self,
        id: Id,
        version: Version,
        bytes: &[u8],
    ) -> Result<(StoredVersion, Option<Row>), StoreError> {
        let record = VersionRecord::read(bytes)?;
        let (state, stamp) = (record.state, record.stamp);
        let mut resource = Vec::new();
        let mut row = None;
        if state != State::Deleted {
            let dictionary = self.store.dictionary(record.dictionary)?;
            resource.reserve(head::HEAD_BYTES_MAX + record.raw_bytes + record.row_bytes);
            head::write(&mut resource, "Composition", id, version, stamp);
            body::expand(dictionary, record.frame, record.raw_bytes + record.row_bytes, &mut resource)?;
            let end = resource.len() - record.row_bytes;
            row = Some(read_row(&record, &resource[end..])?);
            resource.truncate(end);
        }
        Ok((StoredVersion { id, version, state, stamp, resource }, row))
    }
}

fn with_consent(mut row: Row, reader: &StoreReader, id: Id) -> Result<Row, StoreError> {
    lay(&mut row, reader.consent(id)?);
    Ok(row)
}
