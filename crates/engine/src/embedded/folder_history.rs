//! The history in a data folder, for a restore that goes on with it.

use std::path::Path;
use std::sync::Arc;

use super::FolderNames;
use super::store::{ChangeKind, Store, StoreError, StoreMark, StoreOptions, StoreReader, is_restoring};
use crate::{EntryLog, FolderPosition, StoreChain};
use certificate::Seq;

/// The store of a data folder that is only read. Nobody writes to it meanwhile.
pub struct FolderHistory {
    store: Store,
    /// The name of the store.
    pub uuid: String,
    /// Where a restore goes on.
    pub position: FolderPosition,
    /// What the store knows of its audit trail, as [`Engine::audit_head`](super::Engine::audit_head).
    pub audit_head: Option<String>,
    /// A restore has not come to its end in it.
    pub is_restoring: bool,
}

impl FolderHistory {
    /// Looks at the store of a folder. The mark of a restore that made an epoch of its own, and behind which nothing was written, is no part
    /// of the history; `epoch` is the one of the history that it is compared with.
    ///
    /// # Errors
    /// `InUse`, `OtherNames`, or the store cannot be read.
    pub fn open_read_only(
        folder: &Path,
        cache_bytes: usize,
        names: Vec<(String, String)>,
        epoch: &str,
    ) -> Result<FolderHistory, StoreError> {
        let options = StoreOptions::of_restore(cache_bytes, FolderNames(names));
        let (store, opened) = Store::look_restoring(folder, options)?;
        let reader = store.reader()?;
        let last = |log| Ok::<_, StoreError>(reader.last_entry(log)?.map_or(0, |entry| entry.row.seq.0));
        let (changes, mut register) = (Seq(last(EntryLog::Changes)?), last(EntryLog::Register)?);
        let mark = StoreMark::Epoch { change: changes.0, epoch: opened.epoch.clone() };
        let has_mark = opened.epoch != epoch && last_mark(&reader)? == Some(mark);
        register -= u64::from(has_mark);
        let chain = reader.chain_at(changes, register)?;
        let chain = chain.ok_or_else(|| StoreError::Damaged("the end of a log is missing".into()))?;
        let position = FolderPosition { changes, register, chain, own_epoch: has_mark.then_some(opened.epoch) };
        let audit_head = reader.audit_head()?;
        Ok(FolderHistory { store, uuid: opened.uuid, position, audit_head, is_restoring: is_restoring(folder)? })
    }

    /// Whether it has these entries of both logs, each with everything before it.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn holds(&self, changes: Seq, register: u64, chain: StoreChain) -> Result<bool, StoreError> {
        let is_in = changes <= self.position.changes && register <= self.position.register;
        Ok(is_in && self.reader()?.chain_at(changes, register)? == Some(chain))
    }

    pub(super) fn reader(&self) -> Result<Arc<StoreReader>, StoreError> {
        self.store.reader()
    }
}

impl Drop for FolderHistory {
    fn drop(&mut self) {
        self.store.close();
    }
}

/// What the last entry of the register says, where it is a mark.
fn last_mark(reader: &StoreReader) -> Result<Option<StoreMark>, StoreError> {
    let Some(entry) = reader.last_entry(EntryLog::Register)? else { return Ok(None) };
    match entry.row.what {
        ChangeKind::Mark => {
            reader.record_of(&entry.row, |bytes| StoreMark::read(entry.row.id.get(), bytes))?.transpose()
        }
        _ => Ok(None),
    }
}
