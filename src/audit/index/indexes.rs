//! The indexes of a trail as far as they are known.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::{Index, IndexDraft, Subjects};
use crate::audit::disk::index_path;
use crate::audit::head::Hash;
use crate::audit::header::Header;
use crate::audit::seal::Seal;
use crate::audit::trail::TrailFile;
use base::regular_file;
use journal::record::whole_records;

/// What is known of the indexes of a trail.
#[derive(Default)]
pub(crate) struct Indexes {
    /// Without them no index is made, and those that are there are used.
    pub(super) subjects: OnceLock<Subjects>,
    /// By the number of the file.
    pub(super) sealed: Mutex<HashMap<u64, Arc<Index>>>,
    pub(super) drafts: Mutex<HashMap<u64, Arc<Mutex<IndexDraft>>>>,
    /// Sealed files that can have none, by the hash that their header has of them.
    pub(super) without: Mutex<HashSet<Hash>>,
}

impl Indexes {
    /// From now on indexes are made. Only the first call counts.
    pub(crate) fn begin(&self, subjects: Subjects) -> bool {
        self.subjects.set(subjects).is_ok()
    }

    /// What indexes are made with, once they are.
    pub(crate) fn subjects(&self) -> Option<&Subjects> {
        self.subjects.get()
    }

    /// The index of a sealed file; none where it has to be read.
    pub(crate) fn of_sealed(&self, folder: &Path, file: u64, seal: &Seal) -> Option<Arc<Index>> {
        let known = self.sealed().get(&file).filter(|index| index.is_of(seal)).cloned();
        known.or_else(|| {
            let found = Arc::new(Index::open(&index_path(folder, file), seal).ok().flatten()?);
            self.sealed().insert(file, found.clone());
            Some(found)
        })
    }

    /// The index is not what it was: it is read again when it is wanted again.
    pub(crate) fn forget(&self, file: u64) {
        self.sealed().remove(&file);
    }

    /// Runs `run` with the index of a file that is still written or waits to be sealed. That index may hold events behind the end of `part`.
    /// Returns nothing where the file has to be read instead, or once `goes_on` returns false.
    ///
    /// An index that lacks events is completed by its caller, with one piece of the file under each lock: no other caller waits longer.
    pub(crate) fn of_plain<T>(
        &self,
        folder: &Path,
        part: &TrailFile,
        goes_on: impl Fn() -> bool,
        run: impl FnOnce(&IndexDraft) -> T,
    ) -> Option<T> {
        let subjects = self.subjects.get()?;
        let (header, bytes) = (part.header?, usize::try_from(part.length?).ok()?);
        let draft = self.draft(part.name.file(), header)?;
        while goes_on() {
            // A draft that a panic left half-way lacks events.
            let mut draft = draft.lock().unwrap_or_else(|poisoned| {
                draft.clear_poison();
                let mut draft = poisoned.into_inner();
                *draft = IndexDraft::new(header);
                draft
            });
            if !draft.is_of(&header) {
                *draft = IndexDraft::new(header);
            }
            if !draft.is_good() {
                return None;
            }
            if draft.walked() >= bytes {
                return Some(run(&draft));
            }
            extend(&mut draft, &part.name.within(folder), bytes, subjects)?;
        }
        None
    }

    /// The draft of a file, a new one if there is room for it.
    pub(super) fn draft(&self, file: u64, header: Header) -> Option<Arc<Mutex<IndexDraft>>> {
        let mut drafts = self.drafts();
        if drafts.len() >= AUDIT_DRAFTS_MAX && !drafts.contains_key(&file) {
            return None;
        }
        Some(drafts.entry(file).or_insert_with(|| Arc::new(Mutex::new(IndexDraft::new(header)))).clone())
    }

    pub(super) fn sealed(&self) -> MutexGuard<'_, HashMap<u64, Arc<Index>>> {
        self.sealed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn drafts(&self) -> MutexGuard<'_, HashMap<u64, Arc<Mutex<IndexDraft>>>> {
        self.drafts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds the events of the next piece of a file, which counts up to `bytes`, to its draft. Returns nothing where no event could be added.
fn extend(draft: &mut IndexDraft, path: &Path, bytes: usize, subjects: &Subjects) -> Option<()> {
    let before = draft.walked();
    let mut piece = vec![0; (bytes - before).min(AUDIT_DRAFT_PIECE_BYTES)];
    regular_file::open_itself(path).and_then(|file| file.read_exact_at(&mut piece, before as u64)).ok()?;
    let whole = match whole_records(&piece) {
        // A record is shorter than a piece, so this one is damaged: the draft finds that.
        0 => piece.len(),
        whole => whole,
    };
    draft.extend(&piece[..whole], subjects);
    (draft.walked() > before).then_some(())
}

/// Files of the audit trail that have an index in memory: the one that is written, and the one before it until it is sealed.
const AUDIT_DRAFTS_MAX: usize = 2;

/// Bytes of a file of the audit trail that are added to its index under one lock: some milliseconds of work. An event is shorter.
pub(crate) const AUDIT_DRAFT_PIECE_BYTES: usize = 1024 * 1024;
