//! Format 2: the log of patients, filled with the versions that are there, in the order of their times.

use super::super::StoreError;
use super::super::newest::version_of;
use super::super::patient::change::PatientChangeTable;
use super::super::patient::record::PatientRecord;
use super::super::patient::{PATIENT, id_of};
use super::MigrationWalk;
use certificate::{Id, Version};

/// Fills the log. How far it came says the log itself: versions of patients do not change meanwhile, so their order is the same each time.
pub(super) fn fill(walk: &MigrationWalk) -> Result<(), StoreError> {
    let versions = versions(walk)?;
    let mut done = 0;
    while done < versions.len() {
        walk.commit(|transaction| {
            let mut log = PatientChangeTable::open(transaction)?;
            done = usize::try_from(log.last()).unwrap_or(usize::MAX).min(versions.len());
            let chunk = &versions[done..versions.len().min(done + walk.chunk_rows)];
            chunk.iter().try_for_each(|(_, id, version)| log.push(*id, *version))?;
            done += chunk.len();
            Ok(())
        })?;
    }
    Ok(())
}

/// All versions of patients by time, id and number. Some 24 bytes each: a country's patients fit into memory.
fn versions(walk: &MigrationWalk) -> Result<Vec<(i64, Id, Version)>, StoreError> {
    let transaction = walk.log.begin_read()?;
    let Some(table) = transaction.find_table(PATIENT)? else { return Ok(Vec::new()) };
    let mut versions = Vec::new();
    for row in table.iter()? {
        let (key, bytes) = row?;
        let (id, version) = (id_of(key.value().0)?, version_of(key.value().1)?);
        versions.push((PatientRecord::read(id, version, bytes.value())?.stamp.milliseconds, id, version));
    }
    versions.sort_unstable();
    Ok(versions)
}
