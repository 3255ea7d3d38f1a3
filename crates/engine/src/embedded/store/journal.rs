//! The journal of the store: what commits change, one record for each, durable before redb has it on the disk.
//!
//! ```text
//! store.journal-0, store.journal-1   512 bytes of header, then records one behind the other (crate `journal`), then zeros
//! header   "hcertSJ1" | file u64 | number u64 | hash 32 | SHA-256 of these      numbers are little-endian
//! record   number and hash go on from the header's; payload: the first 16 bytes of the header's hash, then what one commit changes
//!          (`log::redo`)
//! ```
//!
//! The header's hash is new at each checkpoint, and each record names it. So no record of an earlier use of the file is taken for one of
//! this use, and an end that was torn is told from a record that was committed and damaged since: behind that one, others name the header.
//!
//! A commit is one write and one sync of the journal; redb's own commit then makes it visible, and is not synced. When a file is full, or
//! the writer is idle, a commit of redb is synced (a checkpoint): it holds everything before it, and says in `meta` with which file the
//! store goes on and with which number and hash that file begins. So a start reads one file, and what it finds there follows what redb has.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::error::StoreError;
use crate::JOURNAL_FILES;
use journal::disk::{Disk, DiskFile};
use journal::record::{self, FilePiece, RecordWalk, record_at, sha256};
use journal::{ChainHead, Hash, Number};

/// Bytes of a file. A checkpoint behind each megabyte costs a commit in a thousand some milliseconds, and a start reads no more.
pub(super) const JOURNAL_FILE_BYTES: u64 = 1024 * 1024;

/// A record takes at most this part of a file. What changes more is committed by a checkpoint, which writes it once and not twice.
const JOURNAL_RECORDS_A_FILE: u64 = 4;

const HEADER_BYTES: u64 = 512;

const MAGIC: &[u8; 8] = b"hcertSJ1";

/// Bytes of the header's hash that each record begins with.
const USE_BYTES: usize = 16;

/// Bytes of a header before its hash.
const HEADER_FIELDS_BYTES: usize = 56;

/// Where the store goes on, as `meta` says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JournalStart {
    /// The file: 0 or 1.
    pub(super) file: u8,
    /// No record follows: the store was closed.
    pub(super) is_closed: bool,
    /// Number and hash that the first record of the file follows.
    pub(super) before: ChainHead,
}

/// Bytes of a [`JournalStart`] in `meta`: file, closed, number u64, hash.
const START_BYTES: usize = 42;

impl JournalStart {
    /// Of a store that never had a journal.
    const NONE: JournalStart =
        JournalStart { file: 1, is_closed: true, before: ChainHead { number: Number(0), hash: [0; 32] } };

    /// As it is stored.
    pub(super) fn write(self) -> [u8; START_BYTES] {
        let mut out = [0; START_BYTES];
        (out[0], out[1]) = (self.file, u8::from(self.is_closed));
        out[2..10].copy_from_slice(&self.before.number.0.to_le_bytes());
        out[10..].copy_from_slice(&self.before.hash);
        out
    }

    /// Reads it; nothing of a store that has none yet.
    ///
    /// # Errors
    /// `Damaged`.
    pub(super) fn read(stored: Option<&[u8]>) -> Result<JournalStart, StoreError> {
        let Some(stored) = stored else { return Ok(JournalStart::NONE) };
        let read = || {
            let ([file @ 0..=1, closed @ 0..=1], rest) = stored.split_first_chunk::<2>()? else { return None };
            let (number, hash) = rest.split_first_chunk::<8>()?;
            let before = ChainHead { number: Number(u64::from_le_bytes(*number)), hash: hash.try_into().ok()? };
            Some(JournalStart { file: *file, is_closed: *closed == 1, before })
        };
        read().ok_or_else(|| StoreError::Damaged("'journal' says no place in the journal".into()))
    }
}

/// Where a journal lies, and how large its files are.
#[derive(Clone)]
pub(in crate::embedded::store) struct JournalPlace {
    /// The disk.
    pub disk: Arc<dyn Disk>,
    /// Bytes of a file.
    pub file_bytes: u64,
}

/// What a start finds in the journal.
pub(super) struct JournalReplay {
    /// Payloads of the records that redb may not have, in their order.
    pub(super) records: Vec<Vec<u8>>,
    /// The last of them; where there is none, what the first would follow.
    pub(super) head: ChainHead,
}

/// The journal of an open store.
pub(super) struct StoreJournal {
    disk: Arc<dyn Disk>,
    store: PathBuf,
    file_bytes: u64,
    /// The file that was written last, and the newest record or what it would follow.
    file: u8,
    head: ChainHead,
    /// Where records go; none before the first commit.
    open: Option<OpenJournal>,
    /// A file that a checkpoint under way will go on with.
    prepared: Option<(JournalStart, OpenJournal)>,
}

struct OpenJournal {
    target: Arc<dyn DiskFile>,
    path: PathBuf,
    /// The hash in its header.
    begins: Hash,
    at: u64,
    records: u64,
    newest: Instant,
}

/// The path of a file of the journal.
fn path_of(store: &Path, file: u8) -> PathBuf {
    store.with_file_name(name_of(file))
}

impl StoreJournal {
    /// Reads what redb may not have. `start` is what `meta` says.
    ///
    /// # Errors
    /// `Damaged`: the file is missing, is cut, is another one, or has a hole; or it knows more than a store that was closed. `Io`.
    pub(super) fn read(place: &JournalPlace, store: &Path, start: JournalStart) -> Result<JournalReplay, StoreError> {
        let read = |file: u8| place.disk.read(&path_of(store, file), place.file_bytes).map_err(|error| io(file, error));
        for file in [0, 1].into_iter().filter(|file| start.is_closed || *file != start.file) {
            let Some(bytes) = read(file)? else { continue };
            let Some(header) = header(&bytes, file) else { continue };
            let last = records(&bytes, header).ok().and_then(|(_, head)| (head != header).then_some(head.number));
            if let Some(last) = last.filter(|last| *last > start.before.number) {
                return Err(StoreError::Damaged(format!(
                    "store.redb is older than {}: it ends with record {} of the journal, which has {}; put both files back as they were",
                    name_of(file),
                    start.before.number.0,
                    last.0
                )));
            }
        }
        if start.is_closed {
            return Ok(JournalReplay { records: Vec::new(), head: start.before });
        }
        let file = start.file;
        let missing =
            || StoreError::Damaged(format!("{} is missing, without which newer changes are lost", name_of(file)));
        let bytes = read(file)?.ok_or_else(missing)?;
        // The file had its whole length before `meta` named it. So a shorter one is no end that was torn.
        if (bytes.len() as u64) < place.file_bytes {
            return Err(StoreError::Damaged(format!(
                "{} is cut: it has {} bytes and not {}; put it back as it was, without the rest newer changes are lost",
                name_of(file),
                bytes.len(),
                place.file_bytes
            )));
        }
        match header(&bytes, file) {
            Some(found) if found == start.before => {}
            Some(_) => {
                return Err(StoreError::Damaged(format!(
                    "{} is not the one that store.redb goes on with: it is of another store, or of another time",
                    name_of(file)
                )));
            }
            None => return Err(StoreError::Damaged(format!("the beginning of {} is damaged", name_of(file)))),
        }
        let (records, head) = records(&bytes, start.before)
            .map_err(|at| StoreError::Damaged(format!("{} is damaged at byte {at}", name_of(file))))?;
        Ok(JournalReplay { records, head })
    }

    /// What all records that can be read change, the oldest first, also those that redb has. A salvage reads them.
    pub(super) fn salvage(disk: &dyn Disk, store: &Path) -> Vec<Vec<u8>> {
        let mut files: Vec<_> = (0..=1)
            .filter_map(|file| {
                let bytes = disk.read(&path_of(store, file), JOURNAL_FILE_BYTES).ok().flatten()?;
                let before = header(&bytes, file)?;
                let walk = RecordWalk::open_ended(&bytes, HEADER_BYTES as usize, Some((before.number, before.hash)));
                let payload = |piece| match piece {
                    FilePiece::Record(record) => Some(record.payload.get(USE_BYTES..)?.to_vec()),
                    FilePiece::Damaged(_) => None,
                };
                Some((before.number, walk.filter_map(payload).collect::<Vec<_>>()))
            })
            .collect();
        files.sort_unstable_by_key(|(number, _)| *number);
        files.into_iter().flat_map(|(_, records)| records).collect()
    }

    /// The journal of a store that has everything up to a record.
    pub(super) fn new(place: JournalPlace, store: &Path, file: u8, head: ChainHead) -> StoreJournal {
        let JournalPlace { disk, file_bytes } = place;
        StoreJournal { disk, store: store.to_owned(), file_bytes, file, head, open: None, prepared: None }
    }

    /// The journal of a store that never had one.
    pub(super) fn begun(place: JournalPlace, store: &Path) -> StoreJournal {
        StoreJournal::new(place, store, JournalStart::NONE.file, JournalStart::NONE.before)
    }

    /// The most bytes that a record may change.
    pub(super) fn record_bytes_max(&self) -> usize {
        (self.file_bytes / JOURNAL_RECORDS_A_FILE) as usize
    }

    /// Whether a record of this payload has room in the open file.
    pub(super) fn has_room(&self, payload: usize) -> bool {
        let bytes = (payload + USE_BYTES + record::FRAME_BYTES) as u64;
        payload <= self.record_bytes_max() && self.open.as_ref().is_some_and(|open| open.at + bytes <= self.file_bytes)
    }

    /// Writes a record and syncs it: from then on it is committed. There must be room.
    ///
    /// # Errors
    /// `Gone`; else nobody knows whether it is on the disk. Nothing is written to the file from then on.
    pub(super) fn append(&mut self, payload: &[u8]) -> Result<(), StoreError> {
        let open = self.open.as_mut().expect("a record has room in an open file");
        if !open.target.is_at(&open.path, self.file_bytes) {
            self.open = None;
            return Err(StoreError::Gone);
        }
        let mut bytes = Vec::with_capacity(USE_BYTES + payload.len() + record::FRAME_BYTES);
        record::open(&mut bytes, |out| {
            out.extend_from_slice(use_of(&open.begins));
            out.extend_from_slice(payload);
        });
        let (number, hash) = record::chain(&mut bytes, (self.head.number, self.head.hash));
        match open.target.write_all_at(&bytes, open.at).and_then(|()| open.target.sync()) {
            Ok(()) => {
                open.at += bytes.len() as u64;
                open.records += 1;
                open.newest = Instant::now();
                self.head = ChainHead { number, hash };
                Ok(())
            }
            Err(error) => {
                self.open = None;
                Err(io(self.file, error))
            }
        }
    }

    /// Makes the other file ready for what comes behind a checkpoint; `meta` is to say what comes back, in the commit that is the
    /// checkpoint.
    ///
    /// # Errors
    /// The file cannot be made, written or synced.
    pub(super) fn prepare(&mut self) -> Result<JournalStart, StoreError> {
        let file = 1 - self.file;
        let (start, open) = self.write_header(file).map_err(|error| io(file, error))?;
        self.prepared = Some((start, open));
        Ok(start)
    }

    fn write_header(&self, file: u8) -> io::Result<(JournalStart, OpenJournal)> {
        let path = path_of(&self.store, file);
        if self.head == JournalStart::NONE.before {
            // What lies there is of a store that an operator went back from, and would be taken for newer than this one.
            self.disk.remove(&path_of(&self.store, self.file))?;
        }
        let there = match self.disk.open(&path) {
            Ok(target) => Some(target).filter(|target| target.is_at(&path, self.file_bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let target = match there {
            Some(target) => target,
            None => {
                self.disk.remove(&path)?;
                self.disk.make(&path, self.file_bytes)?
            }
        };
        let before = self.next_before()?;
        let start = JournalStart { file, is_closed: false, before };
        let mut header = vec![0; HEADER_BYTES as usize];
        header[..8].copy_from_slice(MAGIC);
        header[8..16].copy_from_slice(&u64::from(file).to_le_bytes());
        header[16..24].copy_from_slice(&before.number.0.to_le_bytes());
        header[24..HEADER_FIELDS_BYTES].copy_from_slice(&before.hash);
        let hash = sha256(&header[..HEADER_FIELDS_BYTES]);
        header[HEADER_FIELDS_BYTES..HEADER_FIELDS_BYTES + hash.len()].copy_from_slice(&hash);
        target.write_all_at(&header, 0)?;
        target.sync()?;
        let (begins, newest) = (before.hash, Instant::now());
        Ok((start, OpenJournal { target, path, begins, at: HEADER_BYTES, records: 0, newest }))
    }

    /// What the next file begins with: a number that no record has, and a hash that nobody had before.
    fn next_before(&self) -> io::Result<ChainHead> {
        let mut nonce = [0; 32];
        aws_lc_rs::rand::fill(&mut nonce).map_err(|_| io::Error::other("no random numbers"))?;
        let hash: Hash = sha256(&[self.head.hash, nonce].concat());
        Ok(ChainHead { number: Number(self.head.number.0.saturating_add(1)), hash })
    }

    /// What `meta` is to say in the commit behind which nothing follows.
    pub(super) fn end(&self) -> JournalStart {
        JournalStart { file: self.file, is_closed: true, before: self.head }
    }

    /// The checkpoint is durable: records go to the file that was prepared, or nowhere where none was.
    pub(super) fn checkpointed(&mut self) {
        self.open = None;
        if let Some((start, open)) = self.prepared.take() {
            (self.file, self.head) = (start.file, start.before);
            self.open = Some(open);
        }
    }

    /// Whether a file is open, so that `meta` says that records may follow.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// When the newest record was written that no checkpoint holds; none where there is none.
    pub(super) fn waits_since(&self) -> Option<Instant> {
        self.open.as_ref().filter(|open| open.records > 0).map(|open| open.newest)
    }
}

fn name_of(file: u8) -> &'static str {
    JOURNAL_FILES[usize::from(file)]
}

fn io(file: u8, error: io::Error) -> StoreError {
    StoreError::Io(format!("{}: {error}", name_of(file)))
}

/// What the records of a file begin with, by the hash in its header.
fn use_of(begins: &Hash) -> &[u8] {
    &begins[..USE_BYTES]
}

/// What the first record of a file follows; none where its header is not whole.
fn header(bytes: &[u8], file: u8) -> Option<ChainHead> {
    let header = bytes.get(..HEADER_BYTES as usize)?;
    let hash = header.get(HEADER_FIELDS_BYTES..)?.first_chunk::<32>()?;
    let is_whole = header.starts_with(MAGIC) && sha256(&header[..HEADER_FIELDS_BYTES]) == *hash;
    let number = |at: usize| header[at..].first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes));
    let is_its = number(8)? == u64::from(file);
    let before = ChainHead { number: Number(number(16)?), hash: *header[24..].first_chunk()? };
    (is_whole && is_its).then_some(before)
}

/// What the records change, and the last record. What lies behind the last one was never committed, or is of an earlier use of the file.
///
/// # Errors
/// The first byte that is no record although one of this use of the file follows.
fn records(bytes: &[u8], before: ChainHead) -> Result<(Vec<Vec<u8>>, ChainHead), usize> {
    let (mut records, mut head, mut at) = (Vec::new(), before, HEADER_BYTES as usize);
    while let Some(record) = record_at(bytes, at, &head.hash) {
        records.push(record.payload.get(USE_BYTES..).ok_or(at)?.to_vec());
        head = ChainHead { number: record.number, hash: *record.hash };
        at = record.end();
    }
    // A record that was torn names the header itself.
    let behind = bytes.get(at + record::PAYLOAD_AT + 1..).unwrap_or_default();
    match behind.windows(USE_BYTES).any(|bytes| bytes == use_of(&before.hash)) {
        true => Err(at),
        false => Ok((records, head)),
    }
}

#[cfg(test)]
mod tests;
