//! Rows as they are copied: out of the logs in pieces, and back with everything that is kept beside them derived again.
//!
//! ```text
//! certificates  seq u64 | change, 29 bytes, without its hash | bytes of the record u32 | record of the version or of the consent
//! patients      number u64 | id u64 | version u32 | bytes of the record u32 | record
//! ```
//!
//! Numbers are little-endian. Records are copied as they lie in the store; nothing is expanded.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::chain::CHAIN_ORIGIN;
use super::change::{CHANGE_BYTES, ChangeKind, ChangeRow};
use super::opening::{PURPOSE, purpose_of};
use super::patient::CopiedPatient;
use super::patient::change::PatientLogEntry;
use super::{Batch, DICTIONARY, META, Store, StoreError, StoreReader, body, patient};
use crate::limits::COPY_PIECE_BYTES;
use crate::{EntryHash, FolderPurpose, LogPiece};
use certificate::{Id, Version};

/// Milliseconds that a backup reads at one moment; while it does, pages that writers gave up are not used again.
const COPY_READ_MS: u64 = 50;

/// Rows between two looks at the clock.
const ROWS_AT_ONCE: usize = 64;

/// Bytes of a certificate's row before its record.
const HEAD_BYTES: usize = 8 + CHANGE_BYTES + 4;

/// One change of a certificate as it was copied.
#[derive(Clone, Copy, Debug)]
pub struct CopiedChange<'a> {
    /// The row of the table `change`.
    pub change: ChangeRow,
    /// The stored record of the version or of the consent.
    pub record: &'a [u8],
}

/// A piece that is being filled, within bounds of bytes and of time.
struct Filling {
    piece: LogPiece,
    until: Instant,
}

impl Filling {
    fn new(last: u64) -> Filling {
        let piece = LogPiece { bytes: Vec::new(), rows: 0, last };
        Filling { piece, until: Instant::now() + Duration::from_millis(COPY_READ_MS) }
    }

    fn is_full(&self) -> bool {
        let is_late = || self.piece.rows > 0 && Instant::now() >= self.until;
        self.piece.bytes.len() >= COPY_PIECE_BYTES || is_late()
    }

    fn push(&mut self, number: u64, head: &[&[u8]], record: &[u8]) {
        let bytes = &mut self.piece.bytes;
        bytes.extend_from_slice(&number.to_le_bytes());
        head.iter().for_each(|part| bytes.extend_from_slice(part));
        let length = u32::try_from(record.len()).expect("the bound on bodies keeps every record far below 4 GiB");
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(record);
        self.piece.rows += 1;
        self.piece.last = number;
    }
}

/// Copies changes after one and up to another from the newest moment, as many as a piece holds.
///
/// # Errors
/// `Damaged` when a change has no record.
pub fn changes(store: &Store, after: u64, until: u64) -> Result<LogPiece, StoreError> {
    let reader = store.reader()?;
    let mut filling = Filling::new(after);
    while filling.piece.last < until && !filling.is_full() {
        let from = certificate::Seq(filling.piece.last);
        let changes = reader.changes_after(from, ROWS_AT_ONCE)?;
        let wanted = changes.iter().take_while(|change| change.seq.0 <= until);
        let before = filling.piece.rows;
        for change in wanted {
            if filling.piece.bytes.len() >= COPY_PIECE_BYTES {
                break;
            }
            let ChangeRow { seq, id, .. } = *change;
            let row = change.write();
            match change.what {
                ChangeKind::Version(version) => {
                    let copied = reader.version(id, version, |record| filling.push(seq.0, &[&row], record))?;
                    copied.ok_or_else(|| missing(format!("version {version} of Composition/{id}")))?;
                }
                ChangeKind::Consent(number) => reader.consent_change(id, number, |record| {
                    filling.push(seq.0, &[&row], &record.write());
                    Ok(())
                })?,
            }
        }
        if filling.piece.rows == before {
            return Err(missing(format!("change {}", filling.piece.last + 1)));
        }
    }
    Ok(filling.piece)
}

/// Copies versions of patients, as [`changes`] does certificates.
///
/// # Errors
/// `Damaged` when a change has no record.
pub fn patients(store: &Store, after: u64, until: u64) -> Result<LogPiece, StoreError> {
    let reader = store.reader()?;
    let mut filling = Filling::new(after);
    while filling.piece.last < until && !filling.is_full() {
        let before = filling.piece.rows;
        for (entry, _) in reader.patient_changes(filling.piece.last, ROWS_AT_ONCE)? {
            let PatientLogEntry { number, id, version } = entry;
            if number > until || filling.piece.bytes.len() >= COPY_PIECE_BYTES {
                break;
            }
            let (id_bytes, version_bytes) = (id.get().to_le_bytes(), version.get().to_le_bytes());
            let push = |record: &[u8]| filling.push(number, &[&id_bytes, &version_bytes], record);
            let copied = reader.patient_record(id, version, push)?;
            copied.ok_or_else(|| missing(format!("version {version} of Patient/{id}")))?;
        }
        if filling.piece.rows == before {
            return Err(missing(format!("change {} of patients", filling.piece.last + 1)));
        }
    }
    Ok(filling.piece)
}

fn missing(what: String) -> StoreError {
    StoreError::Damaged(format!("{what} is missing"))
}

/// The rows of a piece of certificates; an error ends them.
pub fn read_changes(mut bytes: &[u8]) -> impl Iterator<Item = Result<CopiedChange<'_>, StoreError>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let read = read_change(&mut bytes);
        if read.is_err() {
            bytes = &[];
        }
        Some(read)
    })
}

fn read_change<'a>(bytes: &mut &'a [u8]) -> Result<CopiedChange<'a>, StoreError> {
    let cut = || StoreError::Damaged("a copied change is cut".into());
    let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>().ok_or_else(cut)?;
    let (seq, rest_of_head) = head.split_first_chunk().ok_or_else(cut)?;
    let (row, length) = rest_of_head.split_first_chunk().ok_or_else(cut)?;
    let length = u32::from_le_bytes(length.try_into().map_err(|_| cut())?) as usize;
    let (record, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
    *bytes = rest;
    Ok(CopiedChange { change: ChangeRow::read(u64::from_le_bytes(*seq), row)?, record })
}

/// The rows of a piece of patients; an error ends them.
pub fn read_patients(mut bytes: &[u8]) -> impl Iterator<Item = Result<CopiedPatient<'_>, StoreError>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let read = read_patient(&mut bytes).ok_or_else(|| StoreError::Damaged("a copied patient is cut".into()));
        if read.is_err() {
            bytes = &[];
        }
        Some(read)
    })
}

fn read_patient<'a>(bytes: &mut &'a [u8]) -> Option<CopiedPatient<'a>> {
    let (number, rest) = bytes.split_first_chunk()?;
    let (id, rest) = rest.split_first_chunk()?;
    let (version, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (record, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    let (id, version) = (Id::new(u64::from_le_bytes(*id))?, Version::new(u32::from_le_bytes(*version))?);
    Some(CopiedPatient { number: u64::from_le_bytes(*number), id, version, record })
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
    /// Stores a piece of patients, with everything that is kept beside their records.
    pub fn insert_copied_patients(&mut self, piece: &[u8]) -> Result<patient::Copied, StoreError> {
        patient::insert_copied(self.transaction(), read_patients(piece))
    }

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

    /// The head of the audit trail, for whoever compares them later.
    pub fn set_audit_head(&mut self, head: &str) -> Result<(), StoreError> {
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
