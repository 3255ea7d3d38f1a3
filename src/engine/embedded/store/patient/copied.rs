//! Versions of patients that come from a copy: the record as it was, everything beside it as a write makes it.

use redb::WriteTransaction;

use super::super::copy::CopiedPatient;
use super::*;

/// Stores a version, which must be the next of its patient and of the log.
///
/// # Errors
/// `Damaged` when it is not, or is not readable.
pub fn insert_copied(transaction: &WriteTransaction, copied: &CopiedPatient) -> Result<(), Error> {
    let CopiedPatient { number, id, version, record: bytes } = *copied;
    let record = Record::read(id, version, bytes)?;
    let facts = record.facts()?;
    let mut tables = Tables::open(transaction, 1)?;
    let odd = || Error::Damaged(format!("version {version} of Patient/{id} is out of its place"));
    let before = tables.before(id, record.tail)?;
    if before.as_ref().map(|before| before.version) != version.before() || tables.log.last() + 1 != number {
        return Err(odd());
    }
    if let Some(before) = &before {
        tables.forget(id, &before.facts)?;
    }
    tables.versions.insert((id.get(), version.get()), bytes).map_err(io)?;
    tables.log.push(id, version)?;
    tables.remember(id, &facts, record.stamp)
}
