//! A store made from copied pieces. Only the records are taken over; everything that is kept beside them is derived again, so that
//! what a damaged store or a faulty release held beside them does not come back.

use std::path::Path;
use std::sync::Arc;

use super::classes::{self, Classes};
use super::copy::{CopiedRecord, CopyOrder, row, whole_row};
use super::counters::Deltas;
use super::store::consent::record::StoredConsent;
use super::store::copy::{CopiedChange, read_changes};
use super::store::record::VersionRecord;
use super::store::row::lay;
use super::store::{self, Batch, CommitNeed, Store, StoreError, StorePosition};
use super::{Engine, EngineMedia, EngineOptions, FolderNames, QuickRepair, store_options};
use crate::{Beginning, ClockReset, RestoreEnd};
use certificate::search::row::Row;
use certificate::{Consent, Id, Seq, Version};

/// A store that is being restored. Nobody else can open its folder as long as the mark of the restore lies in it.
pub struct StoreRestore {
    store: Store,
    to: Seq,
    epoch: String,
    progress: RestoreProgress,
    order: CopyOrder,
    /// Time stamp of the last version of a patient.
    patients_stamp: i64,
    /// Larger than every id a patient has.
    next_patient_id: u64,
    raw: Vec<u8>,
}

/// How far it has come. A piece is taken as a whole or not at all.
#[derive(Clone)]
struct RestoreProgress {
    position: StorePosition,
    classes: Arc<Classes>,
    /// Time stamp of the last change that was not imported. Such time stamps never decrease but where time began again.
    own: i64,
}

impl StoreRestore {
    /// Makes the store in a folder that holds the mark of a restore and nothing else of a store.
    ///
    /// # Errors
    /// The folder cannot be written, or a dictionary cannot be used.
    pub fn begin(folder: &Path, cache_bytes: usize, beginning: Beginning) -> Result<StoreRestore, StoreError> {
        let Beginning { store: uuid, names, origin, dictionaries, to } = beginning;
        // Nothing is to be repaired quickly here: a restore that was cut begins anew.
        let options = store::StoreOptions {
            cache_bytes,
            quick_repair: QuickRepair::Off,
            purpose: None,
            names: FolderNames(names),
            medium: store::StoreMedium::default(),
        };
        let (store, opened) = Store::open_restoring(folder, options)?;
        if opened.position.seq != Seq(0) {
            return Err(StoreError::Damaged("there is a store already".into()));
        }
        let epoch = uuid::Uuid::new_v4().to_string();
        store.become_copy(&uuid, &epoch, origin, &dictionaries)?;
        let progress = RestoreProgress { position: opened.position, classes: Arc::default(), own: i64::MIN };
        Ok(StoreRestore {
            store,
            to,
            epoch,
            progress,
            order: CopyOrder::behind(Seq(0), 0, None),
            patients_stamp: i64::MIN,
            next_patient_id: 1,
            raw: Vec::new(),
        })
    }

    /// The last change it has.
    pub fn seq(&self) -> Seq {
        self.progress.position.seq
    }

    /// Stores a piece of changes, durably. What lies behind the last change that is wanted is passed over.
    ///
    /// # Errors
    /// What is wrong with it: a row that is damaged or out of its place.
    pub fn changes(&mut self, piece: &[u8]) -> Result<(), StoreError> {
        let mut progress = self.progress.clone();
        let (raw, order, to, store) = (&mut self.raw, &mut self.order, self.to, &self.store);
        store.write(|batch| {
            let mut taking = PieceRestore { store, batch, progress: &mut progress, order, deltas: Deltas::new(), raw };
            for copied in read_changes(piece) {
                let copied = copied?;
                if copied.change.seq > to {
                    break;
                }
                taking.change(&copied)?;
            }
            let deltas = std::mem::take(&mut taking.deltas);
            batch.count(deltas);
            Ok(((), CommitNeed::Yes))
        })?;
        self.progress = progress;
        Ok(())
    }

    /// Stores a piece of versions of patients, durably.
    ///
    /// # Errors
    /// As [`changes`](StoreRestore::changes).
    pub fn patients(&mut self, piece: &[u8]) -> Result<(), StoreError> {
        self.order.patients(piece)?;
        let position = &mut self.progress.position;
        let copied = self.store.write(|batch| {
            let copied = batch.insert_copied_patients(piece)?;
            if copied.goes_back && position.reset.is_none() {
                let reset = ClockReset { change: position.seq.0, at: position.milliseconds };
                batch.add_reset(reset)?;
                position.reset = Some(reset);
            }
            Ok((copied, CommitNeed::Yes))
        })?;
        self.patients_stamp = copied.last_stamp;
        self.next_patient_id = self.next_patient_id.max(copied.last_id.saturating_add(1));
        Ok(())
    }

    /// The last change of a patient that it has.
    pub fn patients_until(&self) -> u64 {
        self.order.patient_change()
    }

    /// The newest time stamp of what was restored. A patient may be from before a reset.
    fn newest(&self) -> i64 {
        let StorePosition { milliseconds, reset, .. } = self.progress.position;
        if reset.is_none() { milliseconds.max(self.patients_stamp) } else { milliseconds }
    }

    /// Makes the store one that can be opened, but for the mark in its folder.
    pub fn finish(self, ending: RestoreEnd) -> Result<RestoredStore, StoreError> {
        let RestoreEnd { next_id, next_patient_id, lists, time, purpose, audit_head } = ending;
        let changes: Vec<_> = lists.into_iter().map(crate::ListChange::Put).collect();
        let position = self.progress.position;
        self.store.write(|batch| {
            if !changes.is_empty() {
                batch.change_lists(&changes)?;
            }
            batch.set_meta_number("next-id", next_id.max(position.next_id.get()))?;
            batch.set_meta_number("next-patient-id", next_patient_id.max(self.next_patient_id))?;
            if let Some(purpose) = purpose {
                batch.set_purpose(purpose)?;
            }
            if let Some(head) = &audit_head {
                batch.set_audit_head(head)?;
            }
            let newest = match &time {
                Some(time) => {
                    batch.set_resets(&time.resets)?;
                    batch.accept_clock(time.accepted.unwrap_or(i64::MIN))?;
                    time.newest.unwrap_or(i64::MIN)
                }
                None => self.newest(),
            };
            if newest != position.last {
                batch.remember_latest_stamp(position.seq, newest)?;
            }
            Ok(((), CommitNeed::Yes))
        })?;
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

/// One piece on its way into the store.
struct PieceRestore<'r, 'b, 't> {
    store: &'r Store,
    batch: &'b mut Batch<'t>,
    progress: &'r mut RestoreProgress,
    order: &'r mut CopyOrder,
    deltas: Deltas,
    raw: &'r mut Vec<u8>,
}

impl PieceRestore<'_, '_, '_> {
    fn change(&mut self, copied: &CopiedChange) -> Result<(), StoreError> {
        let change = copied.change;
        let is_imported = match self.order.change(copied)? {
            CopiedRecord::Version(number, record) => self.version(copied, number, &record)?,
            CopiedRecord::Consent(record) => self.consent(copied, &record).map(|()| false)?,
        };
        let RestoreProgress { position, own, .. } = &mut *self.progress;
        self.batch.keep_time(position, change)?;
        if is_imported {
            position.milliseconds = position.milliseconds.max(change.milliseconds);
        } else {
            if change.milliseconds < *own {
                let reset = ClockReset { change: position.seq.0, at: change.milliseconds };
                self.batch.add_reset(reset)?;
                position.reset = Some(reset);
            }
            (*own, position.milliseconds) = (change.milliseconds, change.milliseconds);
        }
        position.seq = change.seq;
        position.running = change.running;
        position.next_id = position.next_id.max(change.id.next());
        Ok(())
    }

    /// Whether it was imported.
    fn version(&mut self, copied: &CopiedChange, number: Version, record: &VersionRecord) -> Result<bool, StoreError> {
        let change = copied.change;
        let new = whole_row(change.id, number, record, |number| self.store.dictionary(number), self.raw)?;
        // Most changes make certificates that nobody had before.
        let is_new = change.id >= self.progress.position.next_id;
        let before = if is_new { None } else { self.newest(change.id)? };
        let consent = if is_new { Consent::default() } else { self.batch.consent(change.id)? };
        self.leaves(before)?;
        if let Some(mut new) = new {
            lay(&mut new, consent);
            self.enters(new)?;
        }
        self.batch.insert_copied(change, copied.record);
        record.is_imported()
    }

    fn consent(&mut self, copied: &CopiedChange, record: &StoredConsent) -> Result<(), StoreError> {
        let change = copied.change;
        let row = self.newest(change.id)?;
        let mut row = row.ok_or_else(|| StoreError::Damaged(format!("Composition/{} has no version", change.id)))?;
        self.leaves(Some(row.clone()))?;
        lay(&mut row, record.consent);
        self.enters(row)?;
        self.batch.insert_consent(change, record).map(drop)
    }

    /// The row of the newest version of a certificate, with the consent that holds.
    fn newest(&mut self, id: Id) -> Result<Option<Row>, StoreError> {
        let (store, raw) = (self.store, &mut *self.raw);
        let found = self.batch.newest(id, |_, bytes| -> Result<Option<Row>, StoreError> {
            row(&VersionRecord::read(bytes)?, |number| store.dictionary(number), raw)
        })?;
        let Some(mut row) = found.transpose()?.flatten() else { return Ok(None) };
        lay(&mut row, self.batch.consent(id)?);
        Ok(Some(row))
    }

    /// A current row is replaced.
    fn leaves(&mut self, row: Option<Row>) -> Result<(), StoreError> {
        let Some(row) = row else { return Ok(()) };
        let class = self.progress.classes.find(&row.class).map(|(class, _)| class);
        let class = class.ok_or_else(|| StoreError::Damaged("a stored row has a class that was never met".into()))?;
        *self.deltas.entry(class).or_default() -= 1;
        Ok(())
    }

    /// A row becomes current.
    fn enters(&mut self, row: Row) -> Result<(), StoreError> {
        let class = match self.progress.classes.find(&row.class) {
            Some((class, _)) => class,
            None => {
                let class = Arc::make_mut(&mut self.progress.classes).add(row.class.clone());
                self.batch.insert_class(class, &classes::write(&row.class))?;
                class
            }
        };
        *self.deltas.entry(class).or_default() += 1;
        Ok(())
    }
}
