//! Every version of every patient, and the tables that say again what the newest ones hold. No text names what
//! identifies a person.

use std::collections::HashSet;

use super::super::patients;
use super::super::store::patient::BornRow;
use super::super::store::patient::record::{PatientRecord, write_links};
use super::super::store::{ChangeKind, ChangeRow, PatientIdentifiers, Records, StoreError, StoreReader};
use super::StoreCheck;
use crate::PatientFacts;
use crate::limits::{ID_MAX, VERIFY_CHUNK_ROWS};
use certificate::{Id, Seq, Version};

/// A key before all others of the table of birth dates.
const BEFORE_ALL: (i32, u64) = (i32::MIN, 0);

impl StoreCheck<'_> {
    /// Walks over the versions, and the tables of the newest.
    pub(super) fn patients(&mut self) -> Result<(), StoreError> {
        let patients = self.patient_versions()?;
        self.identifiers(PatientIdentifiers::Current)?;
        self.identifiers(PatientIdentifiers::Former)?;
        self.born()?;
        self.patient_links()?;
        self.found.counts().patients = patients;
        Ok(())
    }

    /// All versions. Returns the number of patients.
    fn patient_versions(&mut self) -> Result<u64, StoreError> {
        let of = self.reader()?.record_count(Records::Patient)?;
        let mut patients = 0;
        let (mut last, mut latest) = ((0, 0), i64::MIN);
        self.records(Records::Patient, "patient", of, |check, reader, key, bytes| {
            let what = format!("version {} of Patient/{}", key.1, key.0);
            if key.0 != last.0 {
                patients += 1;
                latest = i64::MIN;
                if last.0 != 0 {
                    check.newest(reader, last.0)?;
                }
            }
            let expected = if key.0 == last.0 { last.1 + 1 } else { 1 };
            last = key;
            let possible = Id::new(key.0).filter(|id| id.get() <= ID_MAX);
            let Some((id, version)) = possible.zip(Version::new(key.1)) else {
                check.found.tell("patient", &format!("{what} has a number that none has"));
                return Ok(());
            };
            if key.1 != expected {
                check.found.tell("patient", &format!("{what} stands where version {expected} belongs"));
            }
            let row = match patient(id, version, bytes) {
                Ok(row) => row,
                Err(problem) => {
                    check.found.tell("patient", &format!("{what}: {problem}"));
                    return Ok(());
                }
            };
            if row.milliseconds < latest && check.start.resets.is_empty() {
                check.found.tell("patient", &format!("{what} is older than the version before it"));
            }
            latest = row.milliseconds;
            if !check.is_logged(reader, row)? {
                check.found.tell("patient", &format!("{what} has change {}, which is not its own", row.seq));
            }
            Ok(())
        })?;
        let reader = self.reader()?;
        if last.0 != 0 {
            self.newest(&reader, last.0)?;
            let next_id = reader.bare_meta()?.into_iter().find(|(name, _)| name == "next-patient-id");
            let next_id = next_id.and_then(|(_, bytes)| bytes.try_into().ok()).map(u64::from_le_bytes);
            if next_id.is_none_or(|next_id| next_id <= last.0) {
                self.found.tell("meta", &format!("'next-patient-id' does not lie behind Patient/{}", last.0));
            }
        }
        Ok(patients)
    }

    /// The newest version of a patient stands in the tables.
    fn newest(&mut self, reader: &StoreReader, id: u64) -> Result<(), StoreError> {
        // One that is not readable was told before.
        let Ok(Some((facts, milliseconds))) = facts(reader, id) else { return Ok(()) };
        let Some(number) = Id::new(id) else { return Ok(()) };
        for (system, value) in &facts.identifiers {
            if !reader.has_identifier(PatientIdentifiers::Current, (system, value), id)? {
                self.found.tell("patient_identifier", &format!("an identifier of Patient/{id} is missing"));
            }
        }
        for (system, value) in former(reader, number, &facts).unwrap_or_default() {
            if !reader.has_identifier(PatientIdentifiers::Former, (&system, &value), id)? {
                self.found.tell("patient_former", &format!("an identifier that Patient/{id} had is missing"));
            }
        }
        let line = BornRow::of(number, &facts, milliseconds);
        if reader.born_at(line.key)? != Some(line) {
            self.found.tell("patient_born", &format!("the line of Patient/{id} is missing or says something else"));
        }
        let links = reader.links_of(id)?;
        if links.as_deref().unwrap_or_default() != write_links(&facts.links) {
            self.found.tell("patient_link", &format!("the links of Patient/{id} are not those of its newest version"));
        }
        Ok(())
    }

    /// No identifier stands in a table that no version has which the table is of.
    fn identifiers(&mut self, which: PatientIdentifiers) -> Result<(), StoreError> {
        let mut after = (String::new(), String::new(), 0);
        loop {
            let reader = self.reader()?;
            let rows = reader.bare_identifiers(which, &after, VERIFY_CHUNK_ROWS)?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.clone();
            for (value, system, id) in rows {
                // A version that is not readable was told before.
                let Ok(newest) = facts(&reader, id) else { continue };
                let identifier = (system, value);
                let has = match (which, newest, Id::new(id)) {
                    (_, None, _) | (_, _, None) => false,
                    (PatientIdentifiers::Current, Some((facts, _)), _) => facts.identifiers.contains(&identifier),
                    (PatientIdentifiers::Former, Some((facts, _)), Some(id)) => match former(&reader, id, &facts) {
                        Ok(former) => former.contains(&identifier),
                        Err(_) => continue,
                    },
                };
                if !has {
                    let whose = match which {
                        PatientIdentifiers::Current => "its newest version has not",
                        PatientIdentifiers::Former => "no earlier version has, or the newest has still",
                    };
                    self.found.tell(which.name(), &format!("it says an identifier of Patient/{id} that {whose}"));
                }
            }
        }
    }

    /// No line stands in the table of birth dates that no newest version has.
    fn born(&mut self) -> Result<(), StoreError> {
        let mut after = BEFORE_ALL;
        loop {
            let reader = self.reader()?;
            let rows = reader.bare_born(after, VERIFY_CHUNK_ROWS)?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.key;
            for row in rows {
                let id = row.key.1;
                let Ok(facts) = facts(&reader, id) else { continue };
                let is_own = Id::new(id).zip(facts).is_some_and(|(id, (facts, at))| BornRow::of(id, &facts, at) == row);
                if !is_own {
                    let problem = format!("it has a line of Patient/{id} that is not of its newest version");
                    self.found.tell("patient_born", &problem);
                }
            }
        }
    }

    fn patient_links(&mut self) -> Result<(), StoreError> {
        let reader = self.reader()?;
        for (id, links) in reader.bare_links()? {
            let Ok(facts) = facts(&reader, id) else { continue };
            let is_own = facts.is_some_and(|(facts, _)| write_links(&facts.links) == links && !links.is_empty());
            if !is_own {
                self.found
                    .tell("patient_link", &format!("it has links of Patient/{id} that its newest version has not"));
            }
        }
        Ok(())
    }
}

/// The row that the register has of a version that can be read.
fn patient(id: Id, version: Version, bytes: &[u8]) -> Result<ChangeRow, String> {
    let record = PatientRecord::read(id, version, bytes).map_err(|error| error.to_string())?;
    record.facts().map_err(|error| error.to_string())?;
    patients::resource(id, version, &record).map_err(|error| error.to_string())?;
    let (seq, milliseconds) = (Seq(record.number), record.stamp.milliseconds);
    Ok(ChangeRow { seq, id, what: ChangeKind::Patient(version), milliseconds, running: 0 })
}

/// What the newest version of a patient says, and when it was made.
fn facts(reader: &StoreReader, id: u64) -> Result<Option<(PatientFacts, i64)>, StoreError> {
    let Some(id) = Id::new(id) else { return Ok(None) };
    reader.newest_patient(id, |_, record| Ok((record.facts()?, record.stamp.milliseconds)))
}

/// Identifiers, system and value, that earlier versions of a patient have and the newest has not.
fn former(reader: &StoreReader, id: Id, newest: &PatientFacts) -> Result<HashSet<(String, String)>, StoreError> {
    let versions = reader.patient_versions(id, |_, record| Ok(record.facts()?.identifiers))?;
    let earlier = versions.into_iter().flatten().filter(|identifier| !newest.identifiers.contains(identifier));
    Ok(earlier.collect())
}
