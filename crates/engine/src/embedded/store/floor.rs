//! What a write costs at least: durable commits of rows as the writer makes them, without judging, index or service. For benches.

use std::path::Path;

use super::record::{FieldTag, RecordDraft, VersionRecord};
use super::{ChangeKind, ChangeRow, CommitNeed, Store, StoreError, StoreMedium, StoreOptions, StorePosition};
use crate::{FolderNames, QuickRepair};
use certificate::{Stamp, State, Version};

/// A store that is filled with copies of its own rows.
pub struct CommitFloor {
    store: Store,
    position: StorePosition,
    drafts: Vec<RecordDraft>,
    /// Classes that have a counter.
    classes: Vec<u32>,
}

/// Rows that are repeated.
const DRAFTS: usize = 2_000;

impl CommitFloor {
    /// Opens the store of a folder, which is best a copy: commits add certificates to it that no index knows.
    ///
    /// # Errors
    /// The folder is in use, newer than this release, damaged, or not to be written.
    pub fn open(folder: &Path, cache_bytes: usize, quick_repair: QuickRepair) -> Result<CommitFloor, StoreError> {
        let options = StoreOptions {
            cache_bytes,
            quick_repair,
            names: FolderNames::default(),
            purpose: None,
            medium: StoreMedium::default(),
        };
        let (store, opened) = Store::open(folder, options)?;
        let mut drafts = Vec::new();
        store.reader()?.all(|version, bytes| {
            let record = VersionRecord::read(bytes)?;
            // First versions are what creates write.
            if version == Version::FIRST && record.state != State::Deleted {
                drafts.push(draft(&record));
            }
            Ok(drafts.len() < DRAFTS)
        })?;
        let classes = opened.counters.iter().map(|(class, _)| *class).collect();
        Ok(CommitFloor { store, position: opened.position, drafts, classes })
    }

    /// Commits so many new certificates at once, durably.
    ///
    /// # Errors
    /// The store is empty, or the disk refuses.
    pub fn commit(&mut self, rows: usize) -> Result<(), StoreError> {
        let mut position = self.position;
        if self.drafts.is_empty() {
            return Err(StoreError::Damaged("it has no certificate whose rows could be repeated".into()));
        }
        self.store.write(|batch| {
            for _ in 0..rows {
                let draft = &self.drafts[position.running as usize % self.drafts.len()];
                let (id, seq, milliseconds) = (position.next_id, position.seq.next(), position.milliseconds + 1);
                let running = position.running + 1;
                let change = ChangeRow { seq, id, what: ChangeKind::Version(Version::FIRST), milliseconds, running };
                batch.insert(change, draft, Stamp::at(milliseconds));
                position = StorePosition { next_id: id.next(), seq, milliseconds, running, ..position };
            }
            // As many counters as rows of several classes move. What they count is no matter here.
            batch.count(self.classes.iter().take(rows).map(|class| (*class, 1)));
            Ok(((), CommitNeed::Yes))
        })?;
        self.position = position;
        Ok(())
    }

    /// Versions, and bytes of their compressed bodies and index rows, as far as `go_on` lets it count.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn payload(&self, mut go_on: impl FnMut() -> bool) -> Result<(u64, u64), StoreError> {
        let (mut versions, mut bytes) = (0, 0);
        self.store.reader()?.all(|_, record| {
            versions += 1;
            bytes += VersionRecord::read(record)?.frame.len() as u64;
            Ok(go_on())
        })?;
        Ok((versions, bytes))
    }
}

/// A record as a create over HTTP writes it: with the id of its request.
fn draft(record: &VersionRecord) -> RecordDraft {
    let bytes = |length: usize| u32::try_from(length).expect("the bound on bodies bounds what is stored of them");
    let mut draft = RecordDraft {
        state: record.state,
        dictionary: record.dictionary,
        raw_bytes: bytes(record.raw_bytes),
        row_bytes: bytes(record.row_bytes),
        fields: Vec::new(),
        frame: record.frame.to_vec(),
    };
    draft.push(FieldTag::Trace, b"00000000-0000-4000-8000-000000000000");
    draft
}
