//! What the journal says about its files, whatever happened to them.

use std::fs;

use super::*;
use journal::disk::SystemDisk;

const FILE_BYTES: u64 = 4096;

fn place() -> JournalPlace {
    JournalPlace { disk: Arc::new(SystemDisk), file_bytes: FILE_BYTES }
}

/// A journal in a folder, and what `meta` says.
struct Journaled {
    folder: tempfile::TempDir,
    journal: StoreJournal,
    start: JournalStart,
}

impl Journaled {
    fn new() -> Journaled {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = StoreJournal::begun(place(), &folder.path().join("store.redb"));
        let start = journal.prepare().unwrap();
        journal.checkpointed();
        Journaled { folder, journal, start }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("store.redb")
    }

    fn file(&self) -> PathBuf {
        path_of(&self.store(), self.start.file)
    }

    fn append(&mut self, payloads: &[&[u8]]) {
        payloads.iter().for_each(|payload| self.journal.append(payload).unwrap());
    }

    fn checkpoint(&mut self) {
        self.start = self.journal.prepare().unwrap();
        self.journal.checkpointed();
    }

    fn read(&self) -> Result<Vec<Vec<u8>>, String> {
        let read = StoreJournal::read(&place(), &self.store(), self.start);
        read.map(|found| found.records).map_err(|error| error.to_string())
    }

    /// The file with some of its bytes changed.
    fn with(&self, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(self.file()).unwrap();
        change(&mut bytes);
        fs::write(self.file(), bytes).unwrap();
    }
}

/// Where the record with a number among those of the file begins, each with a payload of three bytes.
fn at(number: usize) -> usize {
    HEADER_BYTES as usize + number * (record::FRAME_BYTES + USE_BYTES + 3)
}

#[test]
fn what_is_written_is_read_again_until_a_checkpoint_holds_it() {
    let mut journaled = Journaled::new();
    assert_eq!(journaled.read().unwrap(), [b""; 0]);
    assert!(journaled.journal.waits_since().is_none());
    journaled.append(&[b"one", b"two"]);
    assert_eq!(journaled.read().unwrap(), [b"one", b"two"]);
    assert!(journaled.journal.waits_since().is_some());
    // Again and again, each file with records of an earlier use behind its own.
    for _ in 0..5 {
        journaled.checkpoint();
        assert_eq!(journaled.read().unwrap(), [b""; 0]);
        journaled.append(&[b"thr"]);
        assert_eq!(journaled.read().unwrap(), [b"thr"]);
    }
    let payload = [7; 1_000];
    while journaled.journal.has_room(payload.len()) {
        journaled.journal.append(&payload).unwrap();
    }
    assert_eq!(journaled.read().unwrap().len(), 4, "one and three");
    assert!(!Journaled::new().journal.has_room(FILE_BYTES as usize / 4 + 1), "a larger one is a checkpoint");
    let salvaged = StoreJournal::salvage(&SystemDisk, &journaled.store());
    assert_eq!(salvaged.first().unwrap(), b"thr");
    assert_eq!(salvaged.len(), 5, "both files");
}

#[test]
fn a_torn_end_was_never_committed_and_damage_before_it_is_told() {
    for length in at(2)..at(3) {
        let mut journaled = Journaled::new();
        journaled.append(&[b"one", b"two", b"six"]);
        journaled.with(|bytes| bytes[length..].fill(0));
        assert_eq!(journaled.read().unwrap(), [b"one", b"two"], "{length}");
    }
    let mut journaled = Journaled::new();
    journaled.append(&[b"one", b"two", b"six"]);
    for byte in at(0)..at(2) {
        journaled.with(|bytes| bytes[byte] ^= 1);
        let told = journaled.read().unwrap_err();
        assert!(told.contains("store.journal-0 is damaged at byte"), "{byte}: {told}");
        journaled.with(|bytes| bytes[byte] ^= 1);
    }
    for byte in 0..HEADER_FIELDS_BYTES + 32 {
        journaled.with(|bytes| bytes[byte] ^= 1);
        assert!(journaled.read().unwrap_err().contains("the beginning of store.journal-0 is damaged"), "{byte}");
        journaled.with(|bytes| bytes[byte] ^= 1);
    }
}

#[test]
fn a_journal_that_is_missing_cut_or_another_is_told_and_no_empty_one() {
    let mut journaled = Journaled::new();
    journaled.append(&[b"one"]);
    let other = Journaled::new();
    fs::copy(other.file(), journaled.file()).unwrap();
    assert!(journaled.read().unwrap_err().contains("is not the one that store.redb goes on with"));
    // A file that is cut could end as one whose last record was torn.
    let mut journaled = Journaled::new();
    journaled.append(&[b"one", b"two"]);
    let whole = fs::read(journaled.file()).unwrap();
    for length in 0..whole.len() {
        journaled.with(|bytes| bytes.truncate(length));
        assert!(journaled.read().unwrap_err().contains("store.journal-0 is cut"), "{length}");
        fs::write(journaled.file(), &whole).unwrap();
    }
    assert_eq!(journaled.read().unwrap(), [b"one", b"two"]);
    fs::remove_file(journaled.file()).unwrap();
    assert!(journaled.read().unwrap_err().contains("store.journal-0 is missing"));
    // A writer finds out before it acknowledges anything.
    assert!(matches!(journaled.journal.append(b"two"), Err(StoreError::Gone)));
    assert!(!journaled.journal.is_open());
}

#[test]
fn a_store_that_is_older_than_its_journal_is_told() {
    let mut journaled = Journaled::new();
    let closed = journaled.journal.end();
    let before = journaled.start;
    journaled.append(&[b"one"]);
    assert_eq!(journaled.read().unwrap(), [b"one"]);
    let older = StoreJournal::read(&place(), &journaled.store(), closed).err().unwrap().to_string();
    assert!(older.contains("store.redb is older than store.journal-0"), "{older}");
    journaled.checkpoint();
    journaled.append(&[b"two"]);
    let older = StoreJournal::read(&place(), &journaled.store(), before).err().unwrap().to_string();
    assert!(older.contains("store.redb is older than store.journal-1"), "{older}");
    // Closed behind its end there is nothing to say, and no file is needed.
    let end = journaled.journal.end();
    assert!(StoreJournal::read(&place(), &journaled.store(), end).unwrap().records.is_empty());
    [0, 1].iter().for_each(|file| fs::remove_file(path_of(&journaled.store(), *file)).unwrap());
    assert!(StoreJournal::read(&place(), &journaled.store(), end).unwrap().records.is_empty());
}

/// An operator went back to a store of an earlier format, which knows of no journal, and forward again. What the files hold has higher
/// numbers than what the store begins with.
#[test]
fn a_store_that_begins_a_journal_takes_no_record_of_the_files_that_lie_there() {
    let mut abandoned = Journaled::new();
    for _ in 0..3 {
        abandoned.append(&[b"one", b"two", b"six"]);
        abandoned.checkpoint();
    }
    let mut journal = StoreJournal::begun(place(), &abandoned.store());
    let start = journal.prepare().unwrap();
    journal.checkpointed();
    let mut journaled = Journaled { journal, start, folder: abandoned.folder };
    assert_eq!(journaled.read().unwrap(), [b""; 0]);
    journaled.append(&[b"new"]);
    assert_eq!(journaled.read().unwrap(), [b"new"]);
}

#[test]
fn a_start_is_read_as_it_was_written_and_no_other_bytes_are_one() {
    let start = JournalStart { file: 1, is_closed: false, before: ChainHead { number: Number(7), hash: [9; 32] } };
    assert_eq!(JournalStart::read(Some(&start.write())).unwrap(), start);
    assert_eq!(JournalStart::read(None).unwrap(), JournalStart::NONE);
    for wrong in [&[][..], &[0; 41], &[0; 43], &[2; 42]] {
        assert!(JournalStart::read(Some(wrong)).is_err(), "{wrong:?}");
    }
}
