//! What a backup is made from: one moment, then pieces of the logs up to it while the writer goes on. And what a copied piece must be.

use std::collections::HashMap;

use super::patients;
use super::store::body::{self, Dictionary};
use super::store::consent::record::StoredConsent as ConsentRecord;
use super::store::copy::{self, CopiedChange};
use super::store::patient::CopiedPatient;
use super::store::patient::change::PatientLogEntry;
use super::store::patient::record::PatientRecord;
use super::store::record::VersionRecord;
use super::store::row;
use super::store::{ChangeKind, StoreError};
use crate::StoreChain;
use crate::limits::{COPY_RECORD_BYTES_MAX, ID_MAX};
use certificate::search::row::Row;
use certificate::{Id, Seq, State, Version, head};
use fhir::json::{self, Json};

/// Reads copied pieces without storing them: every row whole, in its place and behind the one before.
pub struct CopyCheck {
    dictionaries: HashMap<u8, Dictionary>,
    order: CopyOrder,
    /// What lies behind this change is passed over, as a restore up to it does.
    to: Seq,
    raw: Vec<u8>,
}

impl CopyCheck {
    /// A check that goes on behind what was read in `order`, up to a change.
    ///
    /// # Errors
    /// A dictionary cannot be used.
    pub fn new(dictionaries: &[(u8, Vec<u8>)], order: CopyOrder, to: Seq) -> Result<CopyCheck, StoreError> {
        let ready = dictionaries.iter().map(|(number, content)| Ok((*number, body::dictionary(content)?)));
        Ok(CopyCheck { dictionaries: ready.collect::<Result<_, StoreError>>()?, order, to, raw: Vec::new() })
    }

    /// Reads a piece of changes.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn changes(&mut self, piece: &[u8]) -> Result<(), StoreError> {
        for copied in copy::read_changes(piece) {
            let copied = copied?;
            if copied.change.seq > self.to {
                break;
            }
            if let CopiedRecord::Version(number, record) = self.order.change(&copied)? {
                let dictionaries = &self.dictionaries;
                let known = |number| dictionaries.get(&number).copied().ok_or_else(|| unknown(number));
                whole_row(copied.change.id, number, &record, known, &mut self.raw)?;
            }
        }
        Ok(())
    }

    /// As [`changes`](Self::changes), of the versions of patients.
    pub fn patients(&mut self, piece: &[u8]) -> Result<(), StoreError> {
        self.order.patients(piece)
    }

    /// How far the chains go, where their beginning is known.
    pub fn chain(&self) -> Option<StoreChain> {
        self.order.chain()
    }

    /// What was read so far, for the check of what goes on from it.
    pub fn into_order(self) -> CopyOrder {
        self.order
    }
}

/// Where copied rows stand: each must be the next of its log and of its certificate or patient. A check and a restore both ask it, so that
/// what the one lets through the other takes. It holds some 40 bytes for each certificate and patient.
#[derive(Default)]
pub struct CopyOrder {
    /// The last change of certificates and of patients.
    seq: Seq,
    patient_change: u64,
    /// Versions up to the last change; none before the first row of a copy that goes on from another.
    running: Option<u64>,
    certificates: HashMap<Id, CertificatePlace>,
    patients: HashMap<Id, Version>,
    /// How far the chains go, where their beginning is known.
    chain: Option<StoreChain>,
    /// It goes on from a copy that was not read: the first row of a certificate or patient may be any.
    goes_on: bool,
}

/// What is known of a certificate.
#[derive(Clone, Copy, Default)]
struct CertificatePlace {
    version: Option<Version>,
    consents: Option<u32>,
    is_deleted: bool,
}

/// The record of a copied change.
pub(super) enum CopiedRecord<'a> {
    Version(Version, VersionRecord<'a>),
    Consent(ConsentRecord<'a>),
}

impl CopyOrder {
    /// A copy that begins behind these changes, which the chains go to; 0: with the first.
    pub fn behind(seq: Seq, patient_change: u64, chain: Option<StoreChain>) -> CopyOrder {
        let goes_on = seq > Seq(0) || patient_change > 0;
        let running = (!goes_on).then_some(0);
        CopyOrder { seq, patient_change, running, chain, goes_on, ..CopyOrder::default() }
    }

    /// The last change.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// The last change of a patient.
    pub fn patient_change(&self) -> u64 {
        self.patient_change
    }

    /// How far the chains go, where their beginning is known.
    pub fn chain(&self) -> Option<StoreChain> {
        self.chain
    }

    /// Goes on with what the head of the next archive says of the chains.
    ///
    /// # Errors
    /// It is another history than what was read before.
    pub fn go_on_with(&mut self, chain: StoreChain) -> Result<(), StoreError> {
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

    /// Takes the next change of certificates; its record comes back.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(super) fn change<'a>(&mut self, copied: &CopiedChange<'a>) -> Result<CopiedRecord<'a>, StoreError> {
        let change = copied.change;
        let (seq, id) = (change.seq, change.id);
        if seq.0.checked_sub(1) != Some(self.seq.0) {
            return Err(StoreError::Damaged(format!("change {seq} stands behind change {}", self.seq)));
        }
        if id.get() > ID_MAX {
            return Err(StoreError::Damaged(format!("change {seq} is of Composition/{id}, an id that none can have")));
        }
        let running = self.running.map(|running| running + u64::from(change.version().is_some()));
        if running.is_some_and(|running| running != change.running) {
            return Err(StoreError::Damaged(format!("change {seq} counts {} versions", change.running)));
        }
        let place = self.certificates.get(&id).copied().unwrap_or_default();
        let out_of_place =
            |what: String| Err(StoreError::Damaged(format!("{what} of Composition/{id} is out of its place")));
        let (place, record) = match change.what {
            ChangeKind::Version(number) => {
                let record = version(copied)?;
                if number.before() != place.version && (place.version.is_some() || !self.goes_on) {
                    return out_of_place(format!("version {number}"));
                }
                if place.is_deleted {
                    return Err(StoreError::Damaged(format!("Composition/{id} goes on behind its deletion")));
                }
                let is_deleted = record.state == State::Deleted;
                let place = CertificatePlace { version: Some(number), is_deleted, ..place };
                (place, CopiedRecord::Version(number, record))
            }
            ChangeKind::Consent(number) => {
                let record = consent(copied)?;
                let is_of_newest = match place.version {
                    Some(version) => version == record.version,
                    None => self.goes_on,
                };
                let is_next = match place.consents {
                    Some(before) => before.checked_add(1) == Some(number),
                    None => number == 1 || self.goes_on,
                };
                if !is_next || !is_of_newest || place.is_deleted {
                    return out_of_place(format!("change {number} of the consent"));
                }
                let place = CertificatePlace { consents: Some(number), version: Some(record.version), ..place };
                (place, CopiedRecord::Consent(record))
            }
        };
        self.certificates.insert(id, place);
        if let Some(chain) = &mut self.chain {
            chain.changes = chain.changes.followed_by(&change.chained(copied.record));
        }
        (self.seq, self.running) = (seq, Some(change.running));
        Ok(record)
    }

    /// Takes the next versions of patients.
    ///
    /// # Errors
    /// What is wrong with them, in words.
    pub(super) fn patients(&mut self, piece: &[u8]) -> Result<(), StoreError> {
        copy::read_patients(piece).try_for_each(|copied| self.patient(&copied?))
    }

    fn patient(&mut self, copied: &CopiedPatient) -> Result<(), StoreError> {
        let CopiedPatient { number, id, version, record: bytes } = *copied;
        if number.checked_sub(1) != Some(self.patient_change) {
            let before = self.patient_change;
            return Err(StoreError::Damaged(format!("change {number} of patients stands behind change {before}")));
        }
        if id.get() > ID_MAX {
            let problem = format!("change {number} of patients is of Patient/{id}, an id that none can have");
            return Err(StoreError::Damaged(problem));
        }
        let before = self.patients.get(&id).copied();
        if version.before() != before && (before.is_some() || !self.goes_on) {
            return Err(StoreError::Damaged(format!("version {version} of Patient/{id} is out of its place")));
        }
        let record = PatientRecord::read(id, version, bytes)?;
        record.facts()?;
        patients::resource(id, version, &record)?;
        self.patients.insert(id, version);
        if let Some(chain) = &mut self.chain {
            chain.patients = chain.patients.followed_by(&PatientLogEntry { number, id, version }.chained(bytes));
        }
        self.patient_change = number;
        Ok(())
    }
}

/// The last change of a piece that was made by a time (milliseconds since 1970 UTC), and whether a later one stands behind it. Imported
/// versions bring times of another store, so they are taken with the change they stand before.
///
/// # Errors
/// A row is damaged.
pub fn made_by(piece: &[u8], time: i64) -> Result<(Option<Seq>, bool), StoreError> {
    let mut last = None;
    for copied in copy::read_changes(piece) {
        let copied = copied?;
        let is_imported = match copied.change.what {
            ChangeKind::Version(_) => version(&copied)?.is_imported()?,
            ChangeKind::Consent(_) => false,
        };
        if !is_imported && copied.change.milliseconds > time {
            return Ok((last, true));
        }
        last = Some(copied.change.seq);
    }
    Ok((last, false))
}

fn unknown(number: u8) -> StoreError {
    StoreError::Damaged(format!("dictionary {number} is missing"))
}

/// The record of a copied version; it must be that of its change.
fn version<'a>(copied: &CopiedChange<'a>) -> Result<VersionRecord<'a>, StoreError> {
    let record = VersionRecord::read(copied.record)?;
    record.fields.check()?;
    let is_its = record.seq == copied.change.seq && record.stamp.milliseconds == copied.change.milliseconds;
    is_its.then_some(record).ok_or_else(|| foreign(copied))
}

/// The record of a copied change of consent; it must be that of its change.
fn consent<'a>(copied: &CopiedChange<'a>) -> Result<ConsentRecord<'a>, StoreError> {
    let ChangeKind::Consent(number) = copied.change.what else { return Err(foreign(copied)) };
    let record = ConsentRecord::read(copied.change.id, number, copied.record)?;
    let is_its = record.seq == copied.change.seq && record.stamp.milliseconds == copied.change.milliseconds;
    is_its.then_some(record).ok_or_else(|| foreign(copied))
}

fn foreign(copied: &CopiedChange) -> StoreError {
    StoreError::Damaged(format!("change {} has the record of another", copied.change.seq))
}

/// The index row of a copied version whose body is the JSON of a resource; none for a tombstone.
pub(super) fn whole_row(
    id: Id,
    version: Version,
    record: &VersionRecord,
    dictionary: impl FnOnce(u8) -> Result<Dictionary, StoreError>,
    raw: &mut Vec<u8>,
) -> Result<Option<Row>, StoreError> {
    let what = format!("version {version} of Composition/{id}");
    let row = row(record, dictionary, raw).map_err(|error| match error {
        StoreError::Damaged(problem) => StoreError::Damaged(format!("{what}: {problem}")),
        error => error,
    })?;
    if row.is_some() {
        let mut resource = Vec::with_capacity(head::HEAD_BYTES_MAX + record.raw_bytes);
        head::write(&mut resource, "Composition", id, version, record.stamp);
        resource.extend_from_slice(&raw[..record.raw_bytes]);
        // Type and id stand in the head; a second one behind it is refused.
        if !matches!(json::parse(&resource), Ok(Json::Object(_))) {
            return Err(StoreError::Damaged(format!("{what}: its body is not the JSON of a resource")));
        }
    }
    Ok(row)
}

/// The index row of a copied version, expanded with its body, whose checksum is looked at so; none for a tombstone.
pub(super) fn row(
    record: &VersionRecord,
    dictionary: impl FnOnce(u8) -> Result<Dictionary, StoreError>,
    raw: &mut Vec<u8>,
) -> Result<Option<Row>, StoreError> {
    if record.state == State::Deleted {
        let is_bare = record.frame.is_empty() && record.raw_bytes == 0 && record.row_bytes == 0;
        return is_bare.then_some(None).ok_or_else(|| StoreError::Damaged("a tombstone has a body".into()));
    }
    if record.raw_bytes + record.row_bytes > COPY_RECORD_BYTES_MAX {
        return Err(StoreError::Damaged("a version is larger than any can be".into()));
    }
    raw.clear();
    body::expand(dictionary(record.dictionary)?, record.frame, record.raw_bytes + record.row_bytes, raw)?;
    let row = row::read_row(record, &raw[record.raw_bytes..])?;
    match row.class.state == record.state {
        true => Ok(Some(row)),
        false => Err(StoreError::Damaged("the index row of a version is in another state than the version".into())),
    }
}
