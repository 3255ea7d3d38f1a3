//! A store made from copied pieces. Only the records are taken over; everything that is kept beside them is derived again, so that
//! what a damaged store or a faulty release held beside them does not come back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::classes::Classes;
use super::copy::CopyOrder;
use super::derive::Derivation;
use super::erase::Erasure;
use super::store::copy::{self, CopiedEntry};
use super::store::{CommitNeed, Store, StoreError, StoreMark, StoreOptions, StorePosition};
use super::{Engine, EngineMedia, EngineOptions, FolderNames, store_options};
use crate::{ClockReset, EntryLog, PieceForm, RestoreEnd, RestoreStart, system_clock};
use certificate::Seq;

/// A store that is being restored. Nobody else can open its folder as long as the mark of the restore lies in it.
pub struct StoreRestore {
    store: Store,
    folder: PathBuf,
    to: Seq,
    form: PieceForm,
    epoch: String,
    progress: RestoreProgress,
    order: CopyOrder,
    /// Time stamp of the last version of a patient.
    patients_stamp: i64,
    /// Larger than every id a patient has.
    next_patient_id: u64,
}

/// How far it has come. A piece is taken as a whole or not at all.
#[derive(Clone)]
struct RestoreProgress {
    position: StorePosition,
    classes: Arc<Classes>,
    /// Time stamp of the last change that was not imported. Such time stamps never decrease but where time began again.
    own: i64,
    /// Where time began again, as far as that follows from the changes.
    resets: Vec<ClockReset>,
}

impl StoreRestore {
    /// Makes the store in a folder that holds the mark of a restore and nothing else of a store; or goes on with the one that is there.
    ///
    /// # Errors
    /// The folder cannot be written, or a dictionary cannot be used.
    pub fn begin(folder: &Path, cache_bytes: usize, beginning: RestoreStart) -> Result<StoreRestore, StoreError> {
        let RestoreStart { store: uuid, names, origin, dictionaries, form, to, onto } = beginning;
        let options = StoreOptions::of_restore(cache_bytes, FolderNames(names));
        let (store, opened) = Store::open_restoring(folder, options)?;
        if opened.position.seq != onto.as_ref().map_or(Seq(0), |onto| onto.changes) {
            return Err(StoreError::Damaged("the store there ends elsewhere than it was to be gone on with".into()));
        }
        // Nothing was given out in an epoch behind whose mark nothing was written: it stays, and with it the index. Decision 311.
        let own = onto.as_ref().and_then(|onto| onto.own_epoch.clone());
        let epoch = own.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        store.become_copy(&uuid, &epoch, origin, &dictionaries)?;
        if own.is_some() {
            store.write(|batch| Ok((batch.take_mark_back()?, CommitNeed::Yes)))?;
        }
        let next_patient_id = store.reader()?.meta_number("next-patient-id")?.unwrap_or(1);
        let (position, classes) = (opened.position, Arc::new(Classes::read(&opened.classes)?));
        let progress = RestoreProgress { position, classes, own: i64::MIN, resets: Vec::new() };
        Ok(StoreRestore {
            store,
            folder: folder.to_owned(),
            to,
            form,
            epoch,
            progress,
            order: onto.as_ref().map_or_else(|| CopyOrder::behind(Seq(0), 0, None), CopyOrder::onto),
            patients_stamp: i64::MIN,
            next_patient_id,
        })
    }

    /// Number of the last entry of a log that it has.
    pub fn last(&self, log: EntryLog) -> Seq {
        self.order.last(log)
    }

    /// Stores a piece of a log, durably. What lies behind the last change that is wanted is passed over.
    ///
    /// # Errors
    /// What is wrong with it: an entry that is damaged or out of its place.
    pub fn piece(&mut self, log: EntryLog, piece: &[u8]) -> Result<(), StoreError> {
        let store = &self.store;
        let copied = copy::read(log, self.form, piece, |number| store.dictionary(number));
        match log {
            EntryLog::Changes => {
                let mut progress = self.progress.clone();
                let (order, to) = (&mut self.order, self.to);
                store.write(|batch| {
                    let RestoreProgress { position, classes, own, resets } = &mut progress;
                    let mut derived = Derivation::new(store, classes, true);
                    for copied in copied {
                        let copied = copied?;
                        let CopiedEntry { row, record } = &copied;
                        if row.seq > to {
                            break;
                        }
                        if !order.take(&copied)? {
                            continue;
                        }
                        let is_imported = derived.change(batch, row, record)?;
                        batch.insert_copied(*row, record)?;
                        batch.keep_time(position, *row)?;
                        if is_imported {
                            position.milliseconds = position.milliseconds.max(row.milliseconds);
                        } else {
                            if row.milliseconds < *own {
                                resets.push(ClockReset { change: position.seq.0, at: row.milliseconds });
                            }
                            (*own, position.milliseconds) = (row.milliseconds, row.milliseconds);
                        }
                        (position.seq, position.running) = (row.seq, row.running);
                        position.next_id = position.next_id.max(row.id.next());
                    }
                    derived.finish(batch);
                    Ok(((), CommitNeed::Yes))
                })?;
                self.progress = progress;
            }
            EntryLog::Register => {
                let mut entries = Vec::new();
                for entry in copied {
                    let entry = entry?;
                    if self.order.take(&entry)? {
                        entries.push(entry);
                    }
                }
                let copied = store.write(|batch| Ok((batch.insert_copied_register(&entries)?, CommitNeed::Yes)))?;
                let RestoreProgress { position, resets, .. } = &mut self.progress;
                if copied.goes_back && resets.is_empty() {
                    resets.push(ClockReset { change: position.seq.0, at: position.milliseconds });
                }
                self.patients_stamp = self.patients_stamp.max(copied.last_stamp);
                self.next_patient_id = self.next_patient_id.max(copied.last_id.saturating_add(1));
            }
        }
        Ok(())
    }

    /// Makes the store one that can be opened, but for the mark in its folder.
    pub fn finish(self, ending: RestoreEnd) -> Result<RestoredStore, StoreError> {
        let RestoreEnd { next_id, next_patient_id, lists, time, purpose, audit_head } = ending;
        let changes: Vec<_> = lists.into_iter().map(crate::ListChange::Put).collect();
        let RestoreProgress { position, classes, resets, .. } = &self.progress;
        let now = system_clock()();
        self.store.write(|batch| {
            // Archives of today have both among the entries of the register.
            if self.form == PieceForm::Former {
                batch.change_lists(&changes, now, self.store.current_dictionary())?;
                let resets = time.as_ref().map_or(resets, |time| &time.resets);
                let kept = resets.iter().filter(|reset| reset.change <= position.seq.0);
                kept.copied().try_for_each(|reset| batch.add_reset(reset))?;
            }
            batch.mark(&StoreMark::Epoch { change: position.seq.0, epoch: self.epoch.clone() }, now)?;
            batch.set_meta_number("next-id", next_id.max(position.next_id.get()))?;
            batch.set_meta_number("next-patient-id", next_patient_id.max(self.next_patient_id))?;
            if let Some(purpose) = purpose {
                batch.set_purpose(purpose)?;
            }
            batch.set_audit_head(audit_head.as_deref())?;
            batch.accept_clock(time.as_ref().and_then(|time| time.accepted).unwrap_or(i64::MIN))?;
            let newest = match &time {
                Some(time) => time.newest.unwrap_or(i64::MIN),
                // A patient may be from before a reset.
                None if resets.is_empty() => position.milliseconds.max(self.patients_stamp),
                None => position.milliseconds,
            };
            batch.remember_latest_stamp(position.seq, newest)?;
            Ok(((), CommitNeed::Yes))
        })?;
        // An archive from before an erasure holds what was erased, and one from after it the mark.
        let marked = self.store.reader()?.marked_with_content()?;
        if !marked.is_empty() {
            let (store, folder, position) = (&self.store, self.folder.as_path(), *position);
            Erasure { store, folder, classes: classes.clone(), position }.of(&marked, None)?;
        }
        self.store.close();
        Ok(RestoredStore { epoch: self.epoch })
    }
}

/// A store that a restore has filled, while the mark of the restore still lies in its folder. Only a restore makes one: it opens the folder
/// for what is left to do before the mark is removed.
pub struct RestoredStore {
    epoch: String,
}

impl RestoredStore {
    /// The name of the store's new life.
    pub fn epoch(&self) -> &str {
        &self.epoch
    }

    /// Opens the folder of the restore, whose mark stays.
    ///
    /// # Errors
    /// As [`Engine::open`].
    pub fn open(&self, options: &EngineOptions) -> Result<Engine, StoreError> {
        let EngineMedia { store, index } = EngineMedia::default();
        let opened = Store::open_restoring(&options.folder, store_options(options, store))?;
        Engine::run(Engine::over(options, index, opened)?)
    }
}
