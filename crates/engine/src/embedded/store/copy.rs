//! Entries as they are copied: out of the logs in pieces, and back with everything that is kept beside them derived again.
//!
//! ```text
//! number u64 | row of the log, 29 bytes, without its hash | bytes of the entry u32 | entry
//! ```
//!
//! Numbers are little-endian. Entries are copied as they lie in the store; nothing is expanded. Pieces of earlier releases have records of
//! format 2, and those of patients are `number u64 | id u64 | version u32 | bytes of the record u32 | record`.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::chain::CHAIN_ORIGIN;
use super::change::{CHANGE_BYTES, ChangeKind, ChangeRow};
pub use super::copied_entry::CopiedEntry;
use super::opening::{PURPOSE, purpose_of};
use super::patient::record::PatientRecord;
use super::record::EntryKind;
use super::{Batch, DICTIONARY, META, Store, StoreError, StoreReader, body, format_2};
use crate::limits::COPY_PIECE_BYTES;
use crate::{EntryHash, EntryLog, FolderPurpose, LogPiece, PieceForm};
use body::Dictionary;
use certificate::{Id, Seq, Version};

/// Milliseconds that a backup reads at one moment; while it does, pages that writers gave up are not used again.
const COPY_READ_MS: u64 = 50;

/// Rows between two looks at the clock.
const ROWS_AT_ONCE: usize = 64;

/// Copies entries of a log behind one and up to another from the newest moment, as many as a piece holds.
///
/// # Errors
/// `Damaged` when one is missing.
pub fn piece(store: &Store, log: EntryLog, after: u64, until: u64) -> Result<LogPiece, StoreError> {
    let reader = store.reader()?;
    let mut piece = LogPiece { bytes: Vec::new(), rows: 0, last: after };
    let end = Instant::now() + Duration::from_millis(COPY_READ_MS);
    while piece.last < until && piece.bytes.len() < COPY_PIECE_BYTES && (piece.rows == 0 || Instant::now() < end) {
        let before = piece.rows;
        for entry in reader.entries_after(log, piece.last, ROWS_AT_ONCE)? {
            let (row, number) = (entry.row, entry.row.seq.0);
            if number > until || piece.bytes.len() >= COPY_PIECE_BYTES {
                break;
            }
            let copied = reader.record_of(&row, |record| push(&mut piece.bytes, &row, record))?;
            copied.ok_or_else(|| missing(row.made()))?;
            (piece.rows, piece.last) = (piece.rows + 1, number);
        }
        if piece.rows == before {
            return Err(missing(format!("number {} of {}", piece.last + 1, log.name())));
        }
    }
    Ok(piece)
}

fn push(bytes: &mut Vec<u8>, row: &ChangeRow, record: &[u8]) {
    let length = u32::try_from(record.len()).expect("the bound on bodies keeps every entry far below 4 GiB");
    bytes.extend_from_slice(&row.seq.0.to_le_bytes());
    bytes.extend_from_slice(&row.write());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(record);
}

fn missing(what: String) -> StoreError {
    StoreError::Damaged(format!("{what} is missing"))
}

/// The entries of a piece of a log; an error ends them.
pub fn read<'a>(
    log: EntryLog,
    form: PieceForm,
    mut bytes: &'a [u8],
    dictionary: impl Fn(u8) -> Result<Dictionary, StoreError>,
) -> impl Iterator<Item = Result<CopiedEntry<'a>, StoreError>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let read = match (log, form) {
            (EntryLog::Register, PieceForm::Former) => read_former_patient(&mut bytes, &dictionary),
            _ => read_entry(log, &mut bytes, &dictionary),
        };
        if read.is_err() {
            bytes = &[];
        }
        Some(read)
    })
}

fn cut() -> StoreError {
    StoreError::Damaged("a copied entry is cut".into())
}

fn read_entry<'a>(
    log: EntryLog,
    bytes: &mut &'a [u8],
    dictionary: impl Fn(u8) -> Result<Dictionary, StoreError>,
) -> Result<CopiedEntry<'a>, StoreError> {
    let (seq, rest) = bytes.split_first_chunk().ok_or_else(cut)?;
    let (row, rest) = rest.split_first_chunk::<CHANGE_BYTES>().ok_or_else(cut)?;
    let record = take_record(rest, bytes)?;
    let row = ChangeRow::read(u64::from_le_bytes(*seq), row)?;
    if row.log() != log {
        return Err(row.misplaced());
    }
    Ok(CopiedEntry { row, record: format_2::entry(row.what.kind(), row.seq.0, record, dictionary)? })
}

fn read_former_patient<'a>(
    bytes: &mut &'a [u8],
    dictionary: impl Fn(u8) -> Result<Dictionary, StoreError>,
) -> Result<CopiedEntry<'a>, StoreError> {
    let (number, rest) = bytes.split_first_chunk().ok_or_else(cut)?;
    let (id, rest) = rest.split_first_chunk().ok_or_else(cut)?;
    let (version, rest) = rest.split_first_chunk().ok_or_else(cut)?;
    let record = take_record(rest, bytes)?;
    let number = u64::from_le_bytes(*number);
    let made = Id::new(u64::from_le_bytes(*id)).zip(Version::new(u32::from_le_bytes(*version)));
    let (id, version) = made.ok_or_else(cut)?;
    let record = format_2::entry(EntryKind::Patient, number, record, dictionary)?;
    let milliseconds = PatientRecord::read(id, version, &record)?.stamp.milliseconds;
    let what = ChangeKind::Patient(version);
    Ok(CopiedEntry { row: ChangeRow { seq: Seq(number), id, what, milliseconds, running: number }, record })
}

/// The record that comes next, and what stands behind it.
fn take_record<'a>(rest: &'a [u8], behind: &mut &'a [u8]) -> Result<&'a [u8], StoreError> {
    let (length, rest) = rest.split_first_chunk().ok_or_else(cut)?;
    let (record, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(cut)?;
    *behind = rest;
    Ok(record)
}

/// The head of the audit trail, in the table `meta`.
const AUDIT_HEAD: &str = "audit-head";

/// The time by which data were old enough to be removed, handed over with the head of the trail.
const SETTLED: &str = "settled";

impl StoreReader {
    /// A text of `meta`.
    pub fn meta_text(&self, name: &str) -> Result<String, StoreError> {
        let text = self.meta(name)?.ok_or_else(|| missing(format!("'{name}'")))?;
        String::from_utf8(text).map_err(|_| StoreError::Damaged(format!("'{name}' is not text")))
    }

    /// As [`set_settled`](super::Batch::set_settled) left it.
    pub fn settled(&self) -> Result<Option<i64>, StoreError> {
        Ok(self.meta_number(SETTLED)?.and_then(|settled| i64::try_from(settled).ok()))
    }

    /// The head of the audit trail, as it was handed over last.
    pub fn audit_head(&self) -> Result<Option<String>, StoreError> {
        let text =
            |head| String::from_utf8(head).map_err(|_| StoreError::Damaged(format!("'{AUDIT_HEAD}' is not text")));
        self.meta(AUDIT_HEAD)?.map(text).transpose()
    }

    /// What the folder is for, once a command has served it.
    pub fn purpose(&self) -> Result<Option<FolderPurpose>, StoreError> {
        self.meta(PURPOSE)?.map(|stored| purpose_of(&stored)).transpose()
    }

    /// A number of `meta`.
    pub fn meta_number(&self, name: &str) -> Result<Option<u64>, StoreError> {
        let number = self.meta(name)?.map(|bytes| bytes.try_into().map(u64::from_le_bytes));
        number.transpose().map_err(|_| StoreError::Damaged(format!("'{name}' is no number")))
    }
}

impl Store {
    /// Makes a store that was just made the copy of another: its name, an epoch of its own, the dictionaries of its records.
    pub fn become_copy(
        &self,
        store: &str,
        epoch: &str,
        origin: EntryHash,
        dictionaries: &[(u8, Vec<u8>)],
    ) -> Result<(), StoreError> {
        {
            let guard = self.database.read().unwrap_or_else(PoisonError::into_inner);
            let transaction = guard.as_ref().ok_or(StoreError::Reopening)?.begin_write()?;
            {
                let mut meta = transaction.open_table(META)?;
                meta.insert("store", store.as_bytes())?;
                meta.insert("epoch", epoch.as_bytes())?;
                meta.insert(CHAIN_ORIGIN, origin.bytes().as_slice())?;
                // Its trail is that of the copy from here on, whose head it gets at the end.
                meta.remove(AUDIT_HEAD)?;
                let mut table = transaction.open_table(DICTIONARY)?;
                table.clear()?;
                for (number, content) in dictionaries {
                    table.insert(number, content.as_slice())?;
                }
            }
            transaction.commit()?;
        }
        self.forget_reader();
        let loaded = dictionaries.iter().map(|(number, content)| Ok((*number, body::dictionary(content)?)));
        let loaded = loaded.collect::<Result<Vec<_>, StoreError>>()?;
        *self.dictionaries.write().unwrap_or_else(PoisonError::into_inner) = loaded;
        Ok(())
    }
}

impl Batch<'_> {
    /// Writes a text of `meta`.
    pub fn set_meta_text(&mut self, name: &str, text: &str) -> Result<(), StoreError> {
        let mut meta = self.transaction().open_table(META)?;
        meta.insert(name, text.as_bytes())?;
        Ok(())
    }

    /// The time by which data were old enough to be removed, for the next start. One before 1970 is none.
    pub fn set_settled(&mut self, milliseconds: i64) -> Result<(), StoreError> {
        u64::try_from(milliseconds).map_or(Ok(()), |settled| self.set_meta_number(SETTLED, settled))
    }

    /// Keeps the head of the audit trail, with which later checks compare the trail; none removes it.
    pub fn set_audit_head(&mut self, head: Option<&str>) -> Result<(), StoreError> {
        let Some(head) = head else {
            self.transaction().open_table(META)?.remove(AUDIT_HEAD)?;
            return Ok(());
        };
        self.set_meta_text(AUDIT_HEAD, head)
    }

    /// What the folder is for, before anything serves it.
    pub fn set_purpose(&mut self, purpose: FolderPurpose) -> Result<(), StoreError> {
        self.transaction().open_table(META)?.insert(PURPOSE, purpose.name().as_bytes())?;
        Ok(())
    }

    /// Writes a number of `meta`.
    pub fn set_meta_number(&mut self, name: &str, number: u64) -> Result<(), StoreError> {
        let mut meta = self.transaction().open_table(META)?;
        meta.insert(name, number.to_le_bytes().as_slice())?;
        Ok(())
    }
}
