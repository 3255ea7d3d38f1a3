//! Format 3: the identifiers that patients had before, as their earlier versions tell them.

use std::collections::BTreeSet;

use super::super::StoreError;
use super::super::newest::version_of;
use super::super::patient::record::PatientRecord;
use super::super::patient::{FORMER, PATIENT, id_of};
use super::MigrationWalk;

/// Patients whose versions one commit reads.
const PATIENTS_AT_ONCE: usize = 1_000;

/// Fills the table of former identifiers. What a kill leaves is written once more.
pub(super) fn fill(walk: &MigrationWalk) -> Result<(), StoreError> {
    let mut next = Some(1);
    while let Some(first) = next {
        let (rows, behind) = former(walk, first)?;
        walk.commit(|transaction| {
            let mut table = transaction.open_table(FORMER)?;
            rows.iter()
                .try_for_each(|(value, system, id)| table.insert((value.as_str(), system.as_str(), *id), ()).map(drop))
        })?;
        next = behind;
    }
    Ok(())
}

/// A row of the table: value, system, id.
type FormerIdentifier = (String, String, u64);

/// The rows of some patients, from an id on, and the id to go on with.
fn former(walk: &MigrationWalk, first: u64) -> Result<(BTreeSet<FormerIdentifier>, Option<u64>), StoreError> {
    let (mut rows, mut newest, mut last, mut patients) = (BTreeSet::new(), BTreeSet::new(), 0, 0);
    let Some(table) = walk.log.begin_read()?.find_table(PATIENT)? else { return Ok((rows, None)) };
    for row in table.range((first, 0)..)? {
        let (key, bytes) = row?;
        let (number, version) = key.value();
        if number != last {
            patients += 1;
            if patients > PATIENTS_AT_ONCE.min(walk.chunk_rows) {
                return Ok((rows, Some(number)));
            }
            (last, newest) = (number, BTreeSet::new());
        }
        // One that is damaged keeps nobody from the others; a check tells it.
        let facts = PatientRecord::read(id_of(number)?, version_of(version)?, bytes.value());
        let Ok(facts) = facts.and_then(|record| record.facts()) else { continue };
        let said: BTreeSet<FormerIdentifier> =
            facts.identifiers.into_iter().map(|(system, value)| (value, system, number)).collect();
        rows.extend(&newest - &said);
        rows.retain(|identifier| !said.contains(identifier));
        newest = said;
    }
    Ok((rows, None))
}
