//! Brings the versions of closed certificates to the moment of a page: they follow the log of changes whenever a history asks for them, and
//! the table of closed certificates is walked once.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLockWriteGuard};

use super::EngineShared;
use super::closed_versions::ClosedVersions;
use super::store::record::VersionRecord;
use super::store::version_keys::VersionKey;
use super::store::{StoreError, StoreReader};
use certificate::{Id, Seq};

/// Certificates, or changes, that are taken in with one reader, so that no read transaction grows old.
const CHUNK_ROWS: usize = 1_024;

impl EngineShared {
    /// Reads at one moment, to which the versions of closed certificates were brought.
    pub(super) fn closed_versions<T>(
        &self,
        read: impl FnOnce(&StoreReader, &ClosedVersions) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        {
            // A reader that begins under the lock is not older than what lies behind it.
            let kept = self.closed.read().unwrap_or_else(PoisonError::into_inner);
            let reader = self.store.reader()?;
            let last = last(&reader)?;
            if let Some(closed) = kept.as_ref().filter(|closed| closed.at == last) {
                return read(&reader, closed);
            }
        }
        let mut kept = self.closed.write().unwrap_or_else(PoisonError::into_inner);
        // A failure or a panic leaves none.
        let mut closed = match kept.take() {
            Some(closed) if closed.at <= last(&*self.store.reader()?)? => closed,
            _ => self.build_closed()?,
        };
        let reader = self.follow_closed(&mut closed)?;
        let kept = RwLockWriteGuard::downgrade({
            *kept = Some(closed);
            kept
        });
        read(&reader, kept.as_ref().expect("it was put there just now"))
    }

    /// Whether the versions of closed certificates are there and can be brought up to date with one reader.
    pub(super) fn has_closed_versions(&self) -> bool {
        let near = |closed: &ClosedVersions| self.seq().0 <= closed.at.0 + CHUNK_ROWS as u64;
        self.closed.try_read().is_ok_and(|kept| kept.as_ref().is_some_and(near))
    }

    /// Forgets them, since the store may have other changes now.
    pub(super) fn forget_closed(&self) {
        *self.closed.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn build_closed(&self) -> Result<ClosedVersions, StoreError> {
        let (at, certificates) = {
            let reader = self.store.reader()?;
            (last(&reader)?, reader.closed()?)
        };
        let mut closed = ClosedVersions::new(at);
        // Later readers may see later changes, which are followed afterwards, and taken in once.
        for certificates in certificates.chunks(CHUNK_ROWS) {
            let reader = self.store.reader()?;
            certificates.iter().try_for_each(|(id, _)| self.add_closed(&mut closed, &reader, *id))?;
        }
        Ok(closed)
    }

    /// Takes in the changes since, and gives the reader at whose moment it is then.
    fn follow_closed(&self, closed: &mut ClosedVersions) -> Result<Arc<StoreReader>, StoreError> {
        loop {
            let reader = self.store.reader()?;
            let changes = reader.changes_after(closed.at, CHUNK_ROWS)?;
            let ids: BTreeSet<Id> = changes.iter().map(|change| change.id).collect();
            for id in ids {
                if has_consent(&reader, id)? {
                    closed.remove(&versions(&reader, id, |record| Ok((key(record), self.row(record)?)))?);
                    self.add_closed(closed, &reader, id)?;
                }
            }
            closed.at = changes.last().map_or(closed.at, |change| change.seq);
            if changes.len() < CHUNK_ROWS {
                return Ok(reader);
            }
        }
    }

    fn add_closed(&self, closed: &mut ClosedVersions, reader: &StoreReader, id: Id) -> Result<(), StoreError> {
        let newest = self.read(reader, id, None, |entry| entry.effective_row())?;
        // A tombstone that was imported alone has no row, and nothing to hide.
        if let Some(row) = newest.and_then(|newest| newest.row) {
            closed.add(&row, &versions(reader, id, |record| Ok(key(record)))?);
        }
        Ok(())
    }
}

fn last(reader: &StoreReader) -> Result<Seq, StoreError> {
    Ok(reader.last_change()?.map_or(Seq(0), |change| change.seq))
}

fn key(record: &VersionRecord) -> VersionKey {
    (record.stamp.milliseconds, record.seq.0)
}

/// Whether the consent of a certificate was ever changed.
fn has_consent(reader: &StoreReader, id: Id) -> Result<bool, StoreError> {
    let mut found = false;
    reader.consent_changes(id, |_, _| {
        found = true;
        Ok(false)
    })?;
    Ok(found)
}

/// What is read of each version of a certificate.
fn versions<T>(
    reader: &StoreReader,
    id: Id,
    read: impl Fn(&VersionRecord) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut found = Vec::new();
    reader.versions(id, |_, bytes| {
        found.push(VersionRecord::read(bytes).and_then(|record| read(&record)));
        found.last().is_some_and(Result::is_ok)
    })?;
    found.into_iter().collect()
}
