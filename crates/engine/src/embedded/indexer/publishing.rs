//! The next view: what a commit brings, what a round leaves, and what is read from the store when there is none.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::RoundInput;
use crate::embedded::classes::Classes;
use crate::embedded::counters::{self, Counters};
use crate::embedded::index::Snapshot;
use crate::embedded::overlay::{Generation, NewEntry, NumberedRow};
use crate::embedded::store::record::VersionRecord;
use crate::embedded::store::row::lay;
use crate::embedded::store::{ChangeKind, ChangeRow, ReopenedPosition, StoreError, StoreReader};
use crate::embedded::view::{IndexView, numbered};
use crate::embedded::{EngineShared, Published};
use certificate::State;
use certificate::{Consent, Id, Seq, Version};

/// Rows the indexer takes in one round. Rounds of this size keep the overlay small and the cost of a commit (3 to 5 ms) unseen.
const INDEX_ROUND_ROWS_MAX: usize = 16_384;

impl EngineShared {
    pub(crate) fn classes(&self) -> Arc<Classes> {
        self.publishing().classes.clone()
    }

    /// Makes what a commit brought visible.
    pub(crate) fn publish(&self, entries: Vec<NewEntry>, classes: Option<Arc<Classes>>, seq: Seq) {
        let mut published = self.publishing();
        let mut counters = published.counters.clone();
        Arc::make_mut(&mut counters).apply(&counters::deltas(&entries));
        let classes = classes.unwrap_or_else(|| published.classes.clone());
        self.publish_locked(entries, Published { classes, counters }, seq, &mut published);
    }

    /// Whatever can panic comes first: then what is published is of one moment at any time, and the overlay alone may hold more.
    fn publish_locked(&self, entries: Vec<NewEntry>, next: Published, seq: Seq, published: &mut Published) {
        let view = self.view().map(|view| {
            let (open, earlier) = view.generations.split_last().expect("a view has an open generation");
            entries.into_iter().for_each(|entry| open.push(earlier, entry));
            let many = open.rows() >= INDEX_ROUND_ROWS_MAX;
            let Published { classes, counters } = next.clone();
            (IndexView { classes, counters, seq, ..IndexView::clone(&view) }, many)
        });
        *published = next;
        let Some((view, many)) = view else {
            self.seq.store(seq.0, Ordering::Release);
            return;
        };
        self.set_view(Some(view));
        self.seq.store(seq.0, Ordering::Release);
        self.notifier.note(many);
    }

    /// Takes in what the store holds now that it was opened again: a commit that failed may have been stored after all.
    pub(crate) fn catch_up(&self, reopened: ReopenedPosition) -> Result<(), StoreError> {
        let ReopenedPosition { position, classes, counters } = reopened;
        let next =
            Published { classes: Arc::new(Classes::read(&classes)?), counters: Arc::new(Counters::new(counters)) };
        let mut published = self.publishing();
        let from = self.seq();
        if position.seq < from {
            // Nothing but another file in its place does that, or a disk that forgets what it has synced. Whoever went on would lose more.
            return Err(StoreError::Damaged(format!("it is at change {}, but {from} was acknowledged", position.seq)));
        }
        let rows = match self.view() {
            Some(_) => self.read_rows_with(&next.classes, from, position.seq, usize::MAX)?,
            None => Vec::new(),
        };
        self.publish_locked(rows, next, position.seq, &mut published);
        Ok(())
    }

    /// Searches work from now on: the index at its checkpoint, and the tail up to `seq` from the store.
    pub(crate) fn go_live(&self, snapshot: Snapshot, seq: Seq) -> Result<(), StoreError> {
        let published = self.publishing();
        self.go_live_locked(snapshot, seq, &published)
    }

    pub(crate) fn go_live_locked(&self, snapshot: Snapshot, seq: Seq, published: &Published) -> Result<(), StoreError> {
        let open = Generation::default();
        let rows = self.read_rows_with(&published.classes, snapshot.at, seq, usize::MAX)?;
        let tail = !rows.is_empty();
        rows.into_iter().for_each(|row| open.push(&[], row));
        let view = IndexView {
            index: Arc::new(snapshot),
            generations: vec![Arc::new(open)],
            classes: published.classes.clone(),
            counters: published.counters.clone(),
            seq,
        };
        self.set_view(Some(view));
        if tail {
            self.notifier.note(false);
        }
        Ok(())
    }

    /// Starts a new generation and hands out those before. None when nothing has come.
    pub(crate) fn seal(&self) -> Option<RoundInput> {
        let _turn = self.publishing();
        let view = self.view()?;
        if view.generations.iter().all(|generation| generation.len() == 0) {
            return None;
        }
        let generations = view.generations.clone();
        let mut next = IndexView::clone(&view);
        next.generations.push(Arc::new(Generation::default()));
        let seq = next.seq;
        self.set_view(Some(next));
        Some(RoundInput { generations, seq })
    }

    /// The index holds the oldest generations now.
    pub(crate) fn drop_generations(&self, snapshot: Snapshot, sealed: &RoundInput) {
        let _turn = self.publishing();
        if let Some(view) = self.view() {
            let mut next = IndexView::clone(&view);
            next.generations.drain(..sealed.generations.len());
            next.index = Arc::new(snapshot);
            self.set_view(Some(next));
        }
    }

    /// [`read_rows_with`](Self::read_rows_with) the classes of this moment.
    pub(crate) fn read_rows(&self, after: Seq, until: Seq, max: usize) -> Result<Vec<NewEntry>, StoreError> {
        let classes = self.classes();
        self.read_rows_with(&classes, after, until, max)
    }

    /// Changes after one and up to another as the overlay holds them, read from the store; at most `max`.
    ///
    /// The store is ahead of what is published while the writer is between its commit and the publishing of it. What lies behind
    /// `until` is left to the writer, or it would be counted twice.
    fn read_rows_with(
        &self,
        classes: &Classes,
        after: Seq,
        until: Seq,
        max: usize,
    ) -> Result<Vec<NewEntry>, StoreError> {
        let max = max.min(usize::try_from(until.0.saturating_sub(after.0)).unwrap_or(usize::MAX));
        let reader = self.store.reader()?;
        let entry = |change: ChangeRow| -> Result<NewEntry, StoreError> {
            let ChangeRow { seq, id, .. } = change;
            let row = |version, consent| self.numbered_row(&reader, classes, id, version, consent);
            match change.what {
                ChangeKind::Version(version) => {
                    let consent = reader.consent_at(id, seq)?;
                    let old = version.before().map(|before| row(before, consent)).transpose()?.flatten();
                    Ok(NewEntry { seq, id, version, new: row(version, consent)?, old })
                }
                ChangeKind::Consent(number) => {
                    let read =
                        |number| reader.consent_change(id, number, |record| Ok((record.version, record.consent)));
                    let (version, consent) = read(number)?;
                    let before = if number > 1 { read(number - 1)?.1 } else { Consent::default() };
                    Ok(NewEntry { seq, id, version, new: row(version, consent)?, old: row(version, before)? })
                }
                _ => Err(change.misplaced()),
            }
        };
        reader.changes_after(after, max)?.into_iter().map(entry).collect()
    }

    fn numbered_row(
        &self,
        reader: &StoreReader,
        classes: &Classes,
        id: Id,
        version: Version,
        consent: Consent,
    ) -> Result<Option<Arc<NumberedRow>>, StoreError> {
        let row = reader.version(id, version, |bytes| -> Result<_, StoreError> {
            let record = VersionRecord::read(bytes)?;
            if record.state == State::Deleted { Ok(None) } else { self.row(&record) }
        })?;
        let row =
            row.ok_or_else(|| StoreError::Damaged(format!("version {version} of Composition/{id} is missing")))??;
        let Some(mut row) = row else { return Ok(None) };
        lay(&mut row, consent);
        let found = numbered(classes, row);
        found.map(Some).ok_or_else(|| {
            StoreError::Damaged("a stored row has a class that the table of classes does not know".into())
        })
    }
}
