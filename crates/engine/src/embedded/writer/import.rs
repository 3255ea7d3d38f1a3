//! Versions of an import: they keep id, number and time, and are told one by one what became of them. Contract 9.2.

use super::super::known_time::ChangeTime;
use super::super::store::record::{EntryDraft, VersionRecord};
use super::super::store::{Batch, StoreError};
use super::deciding::classes_full;
use super::outcome::NewVersion;
use super::{Pending, SteppedWriter};
use crate::limits::{ID_MAX, IMPORT_ID_MAX};
use crate::{Imported, ImportedVersion};
use certificate::{Id, Stamp, State, Version, head};
use fhir::date_time;
use fhir::outcome::Language;

/// How far the time of an imported version may be ahead of the clock, in milliseconds. Clocks of two machines differ by less. Contract 9.3.
const IMPORT_AHEAD_MS_MAX: i64 = 5 * 60 * 1_000;

impl SteppedWriter {
    /// Stores one version, or says why not.
    pub(super) fn import_one(
        &self,
        batch: &mut Batch,
        pending: &mut Pending,
        now: ChangeTime,
        draft: &EntryDraft,
        import: ImportedVersion,
    ) -> Result<Imported, StoreError> {
        let ImportedVersion { id, version, state, stamp, .. } = import;
        // The ids that are left belong to creates. What creates made of them comes in its order, each the next id. Decision 196.
        if id.get() > ID_MAX || id.get() > IMPORT_ID_MAX && id > pending.position.next_id {
            return Ok(Imported::Bad(format!("Composition/{id} has a larger id than {IMPORT_ID_MAX}")));
        }
        if stamp.milliseconds > now.at.saturating_add(IMPORT_AHEAD_MS_MAX) {
            let (time, clock) = (date_time::instant(stamp.milliseconds), date_time::instant(now.at));
            return Ok(Imported::Bad(format!(
                "version {version} of Composition/{id} is of {time}, more than five minutes ahead of the clock ({clock})"
            )));
        }
        // Ids that nobody has had yet come in their order, so most versions need no look into the store.
        let is_new = id >= pending.position.next_id;
        let current = if is_new { None } else { self.current(batch, pending, id)? };
        let newest = current.as_ref().map(|met| met.effective_row.version);
        if newest.is_some_and(|newest| version <= newest)
            && let Some(same) = self.is_same(batch, &import)?
        {
            return Ok(match same {
                true => Imported::Identical,
                false => Imported::Bad(format!("Composition/{id} has another version {version} already")),
            });
        }
        if version.before() != newest {
            let expected = newest.map_or(Version::FIRST, Version::next);
            return Ok(Imported::Bad(format!(
                "version {version} of Composition/{id} must wait for version {expected}"
            )));
        }
        if current.as_ref().is_some_and(|met| met.effective_row.state == State::Deleted) {
            return Ok(Imported::Bad(format!("Composition/{id} was deleted; nothing comes after that")));
        }
        let old = current.and_then(|met| met.old);
        let row = import.content.map(|(_, row)| row);
        if row.as_ref().is_some_and(|row| !self.has_room_for(pending, row)) {
            return Ok(Imported::Bad(classes_full().text(Language::English)));
        }
        self.store(
            batch,
            pending,
            NewVersion { id, version, at: now.at, stamp, state, row, old, is_imported: true },
            draft,
        )?;
        Ok(Imported::Stored)
    }

    /// Whether the stored version is the one that comes; nothing when none is stored under its number.
    fn is_same(&self, batch: &Batch, import: &ImportedVersion) -> Result<Option<bool>, StoreError> {
        let ImportedVersion { id, version, stamp, state, ref content } = *import;
        let same = batch.version(id, version, |bytes| -> Result<bool, StoreError> {
            let record = VersionRecord::read(bytes)?;
            if record.state != state || record.stamp != stamp {
                return Ok(false);
            }
            let whole = content.as_ref().map_or(Vec::new(), |(tail, _)| whole(id, version, stamp, tail));
            Ok(self.shared.stored(id, version, bytes)?.resource == whole)
        })?;
        same.transpose()
    }
}

fn whole(id: Id, version: Version, stamp: Stamp, tail: &[u8]) -> Vec<u8> {
    let mut whole = Vec::with_capacity(head::HEAD_BYTES_MAX + tail.len());
    head::write(&mut whole, "Composition", id, version, stamp);
    whole.extend_from_slice(tail);
    whole
}
