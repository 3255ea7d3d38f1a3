//! What a backup is made from: one moment, then pieces of the logs up to it while the writer goes on. And what a copied piece must be.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::folder_history::FolderHistory;
use super::patients;
use super::store::body::{self, Dictionary};
use super::store::consent::record::StoredConsent as ConsentRecord;
use super::store::copy::{self, CopiedEntry};
use super::store::patient::record::PatientRecord;
use super::store::record::VersionRecord;
use super::store::{ChangeKind, ChangeRow, StoreError, StoreMark, StoreReader};
use super::store::{list, row};
use crate::limits::{COPY_RECORD_BYTES_MAX, ID_MAX};
use crate::{EntryLog, FolderPosition, PieceForm, StoreChain, StoredList};
use base::number::counted;
use certificate::search::row::Row;
use certificate::{Id, Seq, State, Version, head};
use fhir::json::{self, Json};

/// Reads copied pieces without storing them: every entry whole, in its place and behind the one before.
pub struct CopyCheck {
    dictionaries: HashMap<u8, Dictionary>,
    order: CopyOrder,
    /// What lies behind this change is passed over, as a restore up to it does.
    to: Seq,
}

impl CopyCheck {
    /// A check that goes on behind what was read in `order`, up to a change.
    ///
    /// # Errors
    /// A dictionary cannot be used.
    pub fn new(dictionaries: &[(u8, Vec<u8>)], order: CopyOrder, to: Seq) -> Result<CopyCheck, StoreError> {
        let ready = dictionaries.iter().map(|(number, content)| Ok((*number, body::dictionary(content)?)));
        Ok(CopyCheck { dictionaries: ready.collect::<Result<_, StoreError>>()?, order, to })
    }

    /// Reads a piece of a log.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn piece(&mut self, log: EntryLog, form: PieceForm, piece: &[u8]) -> Result<(), StoreError> {
        let dictionaries = &self.dictionaries;
        let known = |number| dictionaries.get(&number).copied().ok_or_else(|| unknown(number));
        for copied in copy::read(log, form, piece, known) {
            let copied = copied?;
            if log == EntryLog::Changes && copied.row.seq > self.to {
                break;
            }
            if !self.order.take(&copied)? {
                continue;
            }
            let id = copied.row.id;
            match copied.row.what {
                ChangeKind::Version(number) => {
                    whole_row(id, number, &VersionRecord::read(&copied.record)?, known)?;
                }
                ChangeKind::List(_) => match list::read(&copied.record, known)? {
                    Some(list) => drop(self.order.lists.insert(id, list)),
                    None => drop(self.order.lists.remove(&id)),
                },
                _ => {}
            }
        }
        Ok(())
    }

    /// How far the chains go, where their beginning is known.
    pub fn chain(&self) -> Option<StoreChain> {
        self.order.chain
    }

    /// What was read so far, for the check of what goes on from it.
    pub fn into_order(self) -> CopyOrder {
        self.order
    }
}

/// Where copied entries stand: each must be the next of its log and of its certificate or patient. A check and a restore both ask it, so
/// that what the one lets through the other takes. It holds some 40 bytes for each certificate and patient.
#[derive(Default)]
pub struct CopyOrder {
    /// The last entry of both logs.
    last: [Seq; 2],
    /// Versions of certificates and of patients up to there; none before the first entry of a copy that goes on from another.
    running: [Option<u64>; 2],
    certificates: HashMap<Id, CertificatePlace>,
    /// The last versions of patients, changes of code lists and marks: by what is said of them, and id.
    others: HashMap<(u8, Id), u32>,
    /// Code lists that are loaded, by id.
    lists: BTreeMap<Id, StoredList>,
    /// How far the chains go, where their beginning is known.
    chain: Option<StoreChain>,
    /// It goes on from a copy that was not read: the first entry of a certificate or patient may be any.
    goes_on: bool,
    /// The last entry of both logs that a data folder has, which is passed over up to there.
    held: [Seq; 2],
    /// What passed over entries are compared with.
    folder: Option<Arc<StoreReader>>,
}

/// What is known of a certificate.
#[derive(Clone, Copy, Default)]
struct CertificatePlace {
    version: Option<Version>,
    consents: Option<u32>,
    is_deleted: bool,
}

fn place_of(log: EntryLog) -> usize {
    match log {
        EntryLog::Changes => 0,
        EntryLog::Register => 1,
    }
}

impl CopyOrder {
    /// A copy that begins behind these entries, which the chains go to; 0: with the first.
    pub fn behind(seq: Seq, register: u64, chain: Option<StoreChain>) -> CopyOrder {
        let goes_on = seq > Seq(0) || register > 0;
        let running = [(!goes_on).then_some(0); 2];
        CopyOrder { last: [seq, Seq(register)], running, chain, goes_on, ..CopyOrder::default() }
    }

    /// A copy that may begin before the end of what a data folder has: entries up to there are passed over.
    pub(super) fn onto(position: &FolderPosition) -> CopyOrder {
        let order = CopyOrder::behind(position.changes, position.register, Some(position.chain));
        CopyOrder { held: order.last, ..order }
    }

    /// A copy that may begin before the end of what a data folder has, and each entry that is passed over must be that of the folder.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn compared_with(history: &FolderHistory) -> Result<CopyOrder, StoreError> {
        Ok(CopyOrder { folder: Some(history.reader()?), ..CopyOrder::onto(&history.position) })
    }

    /// Number of the last entry of a log.
    pub fn last(&self, log: EntryLog) -> Seq {
        self.last[place_of(log)]
    }

    /// How far the chains go, where their beginning is known.
    pub fn chain(&self) -> Option<StoreChain> {
        self.chain
    }

    /// The code lists that are loaded, where a check read them.
    pub fn lists(&self) -> impl Iterator<Item = &StoredList> {
        self.lists.values()
    }

    /// Goes on with what the head of the next archive says: it begins behind these entries, which the chains go to.
    ///
    /// # Errors
    /// It is another history than what was read before, or than that of the folder.
    pub fn go_on_with(&mut self, seq: Seq, register: u64, chain: StoreChain) -> Result<(), StoreError> {
        if let Some(folder) = &self.folder
            && seq <= self.held[0]
            && Seq(register) <= self.held[1]
        {
            return match folder.chain_at(seq, register)? == Some(chain) {
                true => Ok(()),
                false => Err(StoreError::Damaged(format!("the data folder has another history up to change {seq}"))),
            };
        }
        match self.chain {
            Some(before) if before != chain => {
                Err(StoreError::Damaged("it goes on from another history than that of the archives before it".into()))
            }
            _ => {
                self.chain = Some(chain);
                Ok(())
            }
        }
    }

    /// Takes the next entry of its log; false for one that the folder has.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(super) fn take(&mut self, copied: &CopiedEntry) -> Result<bool, StoreError> {
        let CopiedEntry { row, record } = copied;
        let (log, seq) = (row.log(), row.seq);
        let (at, name) = (place_of(log), log.name());
        if seq <= self.held[at] {
            return self.expect_held(copied).map(|()| false);
        }
        if seq.0.checked_sub(1) != Some(self.last[at].0) {
            let before = self.last[at];
            return Err(StoreError::Damaged(format!("number {seq} of {name} stands behind number {before}")));
        }
        if row.id.get() > ID_MAX {
            return Err(StoreError::Damaged(format!(
                "number {seq} of {name} is {}, an id that none can have",
                row.made()
            )));
        }
        let running = self.running[at].map(|running| running + u64::from(row.is_counted()));
        if running.is_some_and(|running| running != row.running) {
            let versions = counted(row.running, "version", "versions");
            return Err(StoreError::Damaged(format!("number {seq} of {name} counts {versions}")));
        }
        match row.what {
            ChangeKind::Version(number) => {
                let record = VersionRecord::read(record)?;
                record.fields.check()?;
                self.expect_own(row, (record.seq, record.stamp.milliseconds))?;
                self.version(row, number, record.made_state()? == State::Deleted)?;
            }
            ChangeKind::Consent(number) => {
                let record = ConsentRecord::read(row.id, number, record)?;
                self.expect_own(row, (record.seq, record.stamp.milliseconds))?;
                self.consent(row, number, record.version)?;
            }
            ChangeKind::Patient(version) => {
                let record = PatientRecord::read(row.id, version, record)?;
                self.expect_own(row, (Seq(record.number), record.stamp.milliseconds))?;
                record.facts()?;
                patients::resource(row.id, version, &record)?;
                self.other(row, 3, version.get())?;
            }
            ChangeKind::List(number) => self.other(row, 4, number)?,
            ChangeKind::Mark => {
                StoreMark::read(row.id.get(), record)?;
                self.other(row, 5, 1)?;
            }
        }
        if let Some(chain) = &mut self.chain {
            let head = match log {
                EntryLog::Changes => &mut chain.changes,
                EntryLog::Register => &mut chain.register,
            };
            *head = row.hash_behind(*head, record);
        }
        (self.last[at], self.running[at]) = (seq, Some(row.running));
        Ok(true)
    }

    /// An entry that the folder has must be the one that comes.
    fn expect_held(&self, CopiedEntry { row, record }: &CopiedEntry) -> Result<(), StoreError> {
        let (Some(folder), log, Seq(number)) = (&self.folder, row.log(), row.seq) else { return Ok(()) };
        let before = folder.entry_hash(log, number.saturating_sub(1))?;
        let own = folder.entry_hash(log, number)?;
        match before.map(|before| row.hash_behind(before, record)) == own {
            true => Ok(()),
            false => Err(StoreError::Damaged(format!(
                "number {number} of {} is another entry in the data folder, which parts from the archives there",
                log.name()
            ))),
        }
    }

    fn version(&mut self, row: &ChangeRow, number: Version, is_deleted: bool) -> Result<(), StoreError> {
        let place = self.certificates.entry(row.id).or_default();
        if number.before() != place.version && (place.version.is_some() || !self.goes_on) {
            return Err(out_of_place(row));
        }
        if place.is_deleted {
            return Err(StoreError::Damaged(format!("Composition/{} goes on behind its deletion", row.id)));
        }
        (place.version, place.is_deleted) = (Some(number), is_deleted);
        Ok(())
    }

    fn consent(&mut self, row: &ChangeRow, number: u32, of: Version) -> Result<(), StoreError> {
        let place = self.certificates.entry(row.id).or_default();
        let is_of_newest = place.version.map_or(self.goes_on, |version| version == of);
        let is_next = match place.consents {
            Some(before) => before.checked_add(1) == Some(number),
            None => number == 1 || self.goes_on,
        };
        if !is_next || !is_of_newest || place.is_deleted {
            return Err(out_of_place(row));
        }
        (place.consents, place.version) = (Some(number), Some(of));
        Ok(())
    }

    fn other(&mut self, row: &ChangeRow, kind: u8, number: u32) -> Result<(), StoreError> {
        let before = self.others.insert((kind, row.id), number);
        match before.map_or(number == 1 || self.goes_on, |before| before.checked_add(1) == Some(number)) {
            true => Ok(()),
            false => Err(out_of_place(row)),
        }
    }

    /// The record must be that of its row.
    fn expect_own(&self, row: &ChangeRow, own: (Seq, i64)) -> Result<(), StoreError> {
        match own == (row.seq, row.milliseconds) {
            true => Ok(()),
            false => {
                let name = row.log().name();
                Err(StoreError::Damaged(format!("number {} of {name} has the record of another", row.seq)))
            }
        }
    }
}

fn out_of_place(row: &ChangeRow) -> StoreError {
    StoreError::Damaged(format!("{} is out of its place", row.made()))
}

/// The last change of a piece that was made by a time (milliseconds since 1970 UTC), and whether a later one stands behind it. Imported
/// versions bring times of another store, so they are taken with the change they stand before.
///
/// # Errors
/// An entry is damaged, or a dictionary cannot be used.
pub fn made_by(piece: &[u8], dictionaries: &[(u8, Vec<u8>)], time: i64) -> Result<(Option<Seq>, bool), StoreError> {
    let known = |number: u8| {
        let content = dictionaries.iter().find(|(known, _)| *known == number).ok_or_else(|| unknown(number))?;
        body::dictionary(&content.1)
    };
    let mut last = None;
    for copied in copy::read(EntryLog::Changes, PieceForm::Present, piece, known) {
        let CopiedEntry { row, record } = copied?;
        let is_imported = match row.what {
            ChangeKind::Version(_) => VersionRecord::read(&record)?.is_imported()?,
            _ => false,
        };
        if !is_imported && row.milliseconds > time {
            return Ok((last, true));
        }
        last = Some(row.seq);
    }
    Ok((last, false))
}

fn unknown(number: u8) -> StoreError {
    StoreError::Damaged(format!("dictionary {number} is missing"))
}

/// The index row of a copied version whose body is the JSON of a resource; none for a tombstone.
pub(super) fn whole_row(
    id: Id,
    version: Version,
    record: &VersionRecord,
    dictionary: impl FnOnce(u8) -> Result<Dictionary, StoreError>,
) -> Result<Option<Row>, StoreError> {
    read_whole(id, version, record, dictionary).map_err(|error| match error {
        StoreError::Damaged(problem) => {
            StoreError::Damaged(format!("version {version} of Composition/{id}: {problem}"))
        }
        error => error,
    })
}

fn read_whole(
    id: Id,
    version: Version,
    record: &VersionRecord,
    dictionary: impl FnOnce(u8) -> Result<Dictionary, StoreError>,
) -> Result<Option<Row>, StoreError> {
    let damaged = |problem: &str| Err(StoreError::Damaged(problem.to_owned()));
    if record.state == State::Deleted {
        return if record.is_bare() { Ok(None) } else { damaged("a tombstone has a body") };
    }
    if record.raw_bytes > COPY_RECORD_BYTES_MAX {
        return damaged("it is larger than any version can be");
    }
    let dictionary = dictionary(record.dictionary)?;
    let row = row::read_row(record, dictionary)?;
    if row.class.state != record.state {
        return damaged("its index row is in another state than it");
    }
    let mut resource = Vec::with_capacity(head::HEAD_BYTES_MAX + record.raw_bytes);
    head::write(&mut resource, "Composition", id, version, record.stamp);
    body::expand(dictionary, record.body, record.raw_bytes, &mut resource)?;
    // Type and id stand in the head; a second one behind it is refused.
    match json::parse(&resource) {
        Ok(Json::Object(_)) => Ok(Some(row)),
        _ => damaged("its body is not the JSON of a resource"),
    }
}
