//! Erasing a certificate: the content of all its versions is taken out of every file of the store.
//!
//! What stays of a version is told in `store::erased`. The mark in the register, the counters and the records change in one commit. The index
//! goes before it, so that no kill leaves one that finds what is gone; the next start makes it anew. Then what is derived is made anew, and
//! everything that no table has is overwritten: pages of earlier commits, and the journal.

use std::sync::Arc;

use super::classes::Classes;
use super::derive::{Derivation, derive_anew};
use super::index;
use super::store::{CommitNeed, OpenedStore, Store, StoreError, StoreMark, StoreMedium};
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
        let (store, opened) = Store::open(&options.folder, store_options(options, StoreMedium::default()))?;
        let erased = erase(&store, opened, options, id, reason);
        store.close();
        erased
    }
}

fn erase(
    store: &Store,
    OpenedStore { classes, position, .. }: OpenedStore,
    options: &EngineOptions,
    id: Id,
    reason: &str,
) -> Result<ErasedCertificate, StoreError> {
    let mut classes = Arc::new(Classes::read(&classes)?);
    let removed = index::remove(&options.folder.join("index"));
    removed.map_err(|error| StoreError::Io(format!("the search index was not removed: {error}")))?;
    let versions = store.write(|batch| {
        let mut derived = Derivation::new(store, &mut classes, false);
        let versions = derived.erase(batch, id)?;
        derived.finish(batch);
        if versions == 0 {
            return Ok((0, CommitNeed::No));
        }
        let mark = StoreMark::Erased { change: position.seq.0, certificate: id, reason: reason.to_owned() };
        batch.mark(&mark, (options.clock)())?;
        Ok((versions, CommitNeed::Yes))
    })?;
    if versions > 0 {
        // Of a class that only this certificate had nothing stays either.
        derive_anew(store, position)?;
    }
    Ok(ErasedCertificate { versions, overwritten: store.scrub()? })
}
