//! Versions of closed certificates in memory, by consent and author, so that a history leaves them out without looking at each. They follow
//! the changes of the store whenever a history asks for them; the table of closed certificates is walked once.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLockWriteGuard};

use super::EngineShared;
use super::store::record::VersionRecord;
use super::store::version_keys::{HiddenVersions, VersionKey, VersionKeys};
use super::store::{StoreError, StoreReader};
use certificate::search::hidden::HiddenCertificates;
use certificate::search::parameter::Field;
use certificate::search::row::Row;
use certificate::search::term::{Term, TermForm};
use certificate::{Consent, Id, Seq};

/// Certificates, or changes, that are taken in with one reader, so that no read transaction grows old.
const CHUNK_ROWS: usize = 1_024;

/// Every version of each certificate that is closed to someone, as of one change.
pub(super) struct ClosedVersions {
    at: Seq,
    /// By consent: all of them, and those whose newest row carries the term of an author. A version takes 16 to 32 bytes in each list, so
    /// some 50 where the certificate has one author.
    lists: HashMap<(Consent, Option<Term>), VersionKeys>,
}

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
            _ => ClosedVersions::build(self)?,
        };
        let reader = closed.follow(self)?;
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
}

impl ClosedVersions {
    fn build(shared: &EngineShared) -> Result<ClosedVersions, StoreError> {
        let (at, certificates) = {
            let reader = shared.store.reader()?;
            (last(&reader)?, reader.closed()?)
        };
        let mut closed = ClosedVersions { at, lists: HashMap::new() };
        // Later readers may see later changes, which are followed afterwards, and taken in once.
        for certificates in certificates.chunks(CHUNK_ROWS) {
            let reader = shared.store.reader()?;
            certificates.iter().try_for_each(|(id, _)| closed.add(shared, &reader, *id))?;
        }
        Ok(closed)
    }

    /// Takes in the changes since, and gives the reader at whose moment it is then.
    fn follow(&mut self, shared: &EngineShared) -> Result<Arc<StoreReader>, StoreError> {
        loop {
            let reader = shared.store.reader()?;
            let changes = reader.changes_after(self.at, CHUNK_ROWS)?;
            let ids: BTreeSet<Id> = changes.iter().map(|change| change.id).collect();
            for id in ids {
                if has_consent(&reader, id)? {
                    self.remove(shared, &reader, id)?;
                    self.add(shared, &reader, id)?;
                }
            }
            self.at = changes.last().map_or(self.at, |change| change.seq);
            if changes.len() < CHUNK_ROWS {
                return Ok(reader);
            }
        }
    }

    /// Adds the versions of a certificate where it is closed.
    fn add(&mut self, shared: &EngineShared, reader: &StoreReader, id: Id) -> Result<(), StoreError> {
        let newest = shared.read(reader, id, None, |entry| entry.standing())?;
        // A tombstone that was imported alone has no row, and nothing to hide.
        let Some(row) = newest.and_then(|newest| newest.row) else { return Ok(()) };
        let consent = row.class.consent;
        if consent == Consent::default() {
            return Ok(());
        }
        let keys = versions(reader, id, |record| Ok(key(record)))?;
        for list in std::iter::once(None).chain(hands(&row).map(Some)) {
            let list = self.lists.entry((consent, list)).or_default();
            keys.iter().for_each(|key| list.insert(*key));
        }
        Ok(())
    }

    /// Takes the versions of a certificate out of every list that it can be in: under any consent, and any author it ever had.
    fn remove(&mut self, shared: &EngineShared, reader: &StoreReader, id: Id) -> Result<(), StoreError> {
        let rows = versions(reader, id, |record| Ok((key(record), shared.row(record)?)))?;
        let authors: BTreeSet<Term> = rows.iter().flat_map(|(_, row)| row.iter().flat_map(hands)).collect();
        for list in std::iter::once(None).chain(authors.into_iter().map(Some)) {
            for consent in Consent::ALL {
                let at = (consent, list.clone());
                let Some(keys) = self.lists.get_mut(&at) else { continue };
                rows.iter().for_each(|(key, _)| keys.remove(*key));
                if keys.is_empty() {
                    self.lists.remove(&at);
                }
            }
        }
        Ok(())
    }

    /// The versions that are hidden from a caller.
    pub(super) fn hidden(&self, hidden: &HiddenCertificates) -> HiddenVersions<'_> {
        let mut versions = HiddenVersions::default();
        for consent in Consent::ALL {
            let (all, own) = (self.lists.get(&(consent, None)), self.lists.get(&(consent, Some(hidden.hand.clone()))));
            match (hidden.of_others.contains(&consent), hidden.own.contains(&consent)) {
                (true, true) => versions.of.extend(all),
                (true, false) => {
                    versions.of.extend(all);
                    versions.but.extend(own);
                }
                (false, true) => versions.of.extend(own),
                (false, false) => {}
            }
        }
        versions
    }
}

fn last(reader: &StoreReader) -> Result<Seq, StoreError> {
    Ok(reader.last_change()?.map_or(Seq(0), |change| change.seq))
}

fn key(record: &VersionRecord) -> VersionKey {
    (record.stamp.milliseconds, record.seq.0)
}

/// Terms of the authors of a row.
fn hands(row: &Row) -> impl Iterator<Item = Term> {
    let is_author = |term: &&Term| term.is_about(Field::AuthorPractitioner) && term.is_form(TermForm::Code);
    row.terms.iter().filter(is_author).cloned()
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
