//! Erasing a certificate: the content of all its versions is taken out of every file of the store.
//!
//! What stays of a version is told in `store::erased`. The mark in the register, the counters and the records change in one commit. The index
//! goes before it, so that no kill leaves one that finds what is gone; the next start makes it anew. Then what is derived is made anew, and
//! everything that no table has is overwritten: pages of earlier commits, and the journal.

use std::path::Path;
use std::sync::Arc;

use super::classes::Classes;
use super::derive::{Derivation, derive_anew};
use super::index;
use super::store::{CommitNeed, OpenedStore, Store, StoreError, StoreMark, StoreMedium, StorePosition};
use super::{Engine, EngineOptions, store_options};
use certificate::Id;

/// What an erasure did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErasedCertificate {
    /// Versions that lost their content; 0 where that was done before.
    pub versions: u64,
    /// Bytes of the store's files that were overwritten.
    pub overwritten: u64,
}

impl Engine {
    /// Erases a certificate in a folder that nobody else has. One that was erased before loses only what may still lie in unused pages.
    ///
    /// # Errors
    /// As [`open`](Engine::open); or a file cannot be overwritten, after which the certificate is erased and this is to be done again.
    pub fn erase(options: &EngineOptions, id: Id, reason: &str) -> Result<ErasedCertificate, StoreError> {
        let (store, OpenedStore { classes, position, .. }) =
            Store::open(&options.folder, store_options(options, StoreMedium::default()))?;
        let mark = StoreMark::Erased { change: position.seq.0, certificate: id, reason: reason.to_owned() };
        let erased = Classes::read(&classes).and_then(|classes| {
            let erasure = Erasure { store: &store, folder: &options.folder, classes: Arc::new(classes), position };
            erasure.of(&[id], Some((&mark, (options.clock)())))
        });
        store.close();
        erased
    }
}

/// A store in which certificates are to be erased, and nobody else has it.
pub(super) struct Erasure<'e> {
    pub(super) store: &'e Store,
    /// The data folder.
    pub(super) folder: &'e Path,
    pub(super) classes: Arc<Classes>,
    pub(super) position: StorePosition,
}

impl Erasure<'_> {
    /// Erases certificates, and adds a mark at a time where one is to be added. The store only has to be closed then.
    ///
    /// # Errors
    /// As [`Engine::erase`].
    pub(super) fn of(mut self, ids: &[Id], mark: Option<(&StoreMark, i64)>) -> Result<ErasedCertificate, StoreError> {
        let removed = index::remove(&self.folder.join("index"));
        removed.map_err(|error| StoreError::Io(format!("the search index was not removed: {error}")))?;
        let versions = self.store.write(|batch| {
            let mut derived = Derivation::new(self.store, &mut self.classes, false);
            let versions = ids.iter().map(|id| derived.erase(batch, *id)).sum::<Result<u64, StoreError>>()?;
            derived.finish(batch);
            if versions == 0 {
                return Ok((0, CommitNeed::No));
            }
            mark.map_or(Ok(()), |(mark, at)| batch.mark(mark, at))?;
            Ok((versions, CommitNeed::Yes))
        })?;
        // Of a class that only they had nothing stays either.
        derive_anew(self.store, self.position)?;
        Ok(ErasedCertificate { versions, overwritten: self.store.scrub()? })
    }
}
