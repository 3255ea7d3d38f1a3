//! Building the index again while searches go on with the one there is.
//!
//! The new one is made in a folder beside, on a thread that gives way to all others, from the same changes that a rebuild reads. When it
//! is as far as the old one, the indexer finishes its last changes, lets both folders go, changes their names, and opens the new one in
//! place of the old, whose files live on as long as a search still reads them. What is written meanwhile waits in the overlay, so no
//! search misses it. A crash on the way leaves one of the two in its place, or beside it for the next start.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, TryLockError};
use std::thread;
use std::time::Duration;

use super::index::{self, IndexWriterHandle, Snapshot};
use super::indexer::{CHUNK_ROWS, chunk};
use super::replacement::{ReindexProblem, ReplacementIndex, replacement_folder};
use super::{Engine, EngineShared};
use base::log::event;
use base::threads::give_way;
use certificate::Seq;

/// Changes that a reindex puts into the index beside before it commits them: a quarter of a million, so that its segments are few.
const REINDEX_COMMIT_ROWS: usize = 262_144;

impl Engine {
    /// Waits until searches work, which they do at once where the index is at hand. `progress` as of [`reindex`](Self::reindex).
    ///
    /// # Errors
    /// The engine is being closed, or the index cannot be built at this moment: it is tried again until the engine is closed.
    pub fn wait_until_searchable(&self, progress: &mut (dyn FnMut(Seq, Seq) + Send)) -> Result<(), ReindexProblem> {
        self.shared.wait_until_searchable(progress)
    }

    /// Builds the index again, from the store alone. Searches and writes go on meanwhile; the folder needs room for two indexes.
    /// `progress` is told the number of the change that it has come to, and that of the last one.
    ///
    /// Where the index is being built already, since it was missing or damaged, that is waited for.
    ///
    /// Returns how many certificates the new index holds.
    ///
    /// # Errors
    /// Another one is under way, the engine is being closed, or the folder cannot be written. The index that was there stays in use.
    pub fn reindex(&self, progress: &mut (dyn FnMut(Seq, Seq) + Send)) -> Result<u64, ReindexProblem> {
        let _only = match self.shared.reindexing.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err("the index is being built again already".into()),
        };
        if self.shared.view().is_none() {
            self.shared.wait_until_searchable(progress)?;
        } else {
            let shared = &self.shared;
            // A thread of its own, since what it gives up of its turn it cannot take back. tantivy's threads are as polite as who began them.
            let built = thread::scope(|scope| {
                let thread = thread::Builder::new().name("hcert-reindex".into());
                let thread = thread.spawn_scoped(scope, || {
                    give_way();
                    shared.build_replacement(progress)
                });
                let thread = thread.map_err(|error| format!("no thread can be started: {error}"))?;
                thread.join().unwrap_or_else(|_| Err("it panicked".into()))
            });
            built.inspect_err(|_| drop(index::remove(&replacement_folder(&self.shared.index_folder))))?;
        }
        let view = self.shared.view().ok_or("the index was given up meanwhile and is being built")?;
        Ok(view.index.alive)
    }
}

impl EngineShared {
    /// Builds the index again, since an earlier release made it. Where that fails the next start tries again.
    pub(super) fn renew(self: &Arc<Self>) -> Result<(), ReindexProblem> {
        // An index that is being built already follows the rules of this release.
        let Ok(_only) = self.reindexing.try_lock() else { return Ok(()) };
        give_way();
        let built = catch_unwind(AssertUnwindSafe(|| self.build_replacement(&mut |_, _| ())));
        built.unwrap_or_else(|_| Err("it panicked".into())).inspect_err(|problem| {
            event!(INDEX_NOT_RENEWED, problem);
            drop(index::remove(&replacement_folder(&self.index_folder)));
        })
    }

    /// While the index is missing the indexer builds it anyway.
    fn wait_until_searchable(&self, progress: &mut (dyn FnMut(Seq, Seq) + Send)) -> Result<(), ReindexProblem> {
        let given_up = self.notifier.given_up();
        while self.view().is_none() {
            if self.notifier.is_closed() {
                return Err(closing());
            }
            if self.notifier.given_up() != given_up {
                return Err(self.why_built().unwrap_or_else(|| "the index was given up".into()));
            }
            let last = self.seq();
            let percent = self.built_percent.load(Ordering::Acquire);
            progress(Seq(last.0 * percent / 100), last);
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Makes an index beside, and has the indexer take it over.
    fn build_replacement(self: &Arc<Self>, progress: &mut (dyn FnMut(Seq, Seq) + Send)) -> Result<(), ReindexProblem> {
        let told = |error: index::IndexError| error.0;
        let (mut writer, _) =
            IndexWriterHandle::create(&replacement_folder(&self.index_folder), &self.origin).map_err(told)?;
        let (mut at, mut uncommitted, mut more) = (Seq(0), 0, 0);
        loop {
            let target = self.seq();
            progress(at, target);
            if self.notifier.is_closed() {
                writer.close();
                return Err(closing());
            }
            // The rest is so little that the indexer does it between two rounds.
            if target.0 - at.0 <= CHUNK_ROWS as u64 {
                break;
            }
            let Some(done) = chunk(self, &writer, at, target)? else { break };
            (at, more, uncommitted) = (done.at, more + done.more, uncommitted + done.changes);
            if uncommitted >= REINDEX_COMMIT_ROWS {
                writer.commit(at, std::mem::take(&mut more), self.classes().ranks()).map_err(told)?;
                uncommitted = 0;
            }
        }
        writer.commit(at, more, self.classes().ranks()).map_err(told)?;
        let (answer, ended): (_, Receiver<_>) = sync_channel(1);
        self.notifier.offer(ReplacementIndex { writer, at, answer });
        let ended = ended.recv().unwrap_or_else(|_| Err(closing()));
        progress(self.seq(), self.seq());
        ended
    }

    /// Brings an index that was made beside to the checkpoint of the one in use, which has just been committed.
    pub(super) fn catch_up_replacement(&self, replacement: &mut ReplacementIndex) -> Result<(), ReindexProblem> {
        let until = self.view().ok_or("the index was given up meanwhile")?.index.at;
        let mut more = 0;
        while replacement.at < until {
            let Some(done) = chunk(self, &replacement.writer, replacement.at, until)? else { break };
            (replacement.at, more) = (done.at, more + done.more);
        }
        let committed = replacement.writer.commit(until, more, self.classes().ranks());
        committed.map(drop).map_err(|error| error.0)
    }

    /// Searches read the new index from now on. It is at the checkpoint of the one before, so nothing else of the view changes.
    pub(super) fn adopt(&self, snapshot: Snapshot) -> Result<(), ReindexProblem> {
        // What most searches want is made before the first of them asks.
        snapshot.want_usual();
        snapshot.make_arrays(self.classes().ranks(), &|| true).map_err(|error| error.0)?;
        let _turn = self.publishing();
        let view = self.view().ok_or("the index was given up meanwhile")?;
        if view.index.at != snapshot.at {
            return Err("the new index is at another change than the one before".into());
        }
        let mut next = super::IndexView::clone(&view);
        next.index = Arc::new(snapshot);
        self.set_view(Some(next));
        Ok(())
    }
}

fn closing() -> ReindexProblem {
    "the engine was closed before the index was built".into()
}
