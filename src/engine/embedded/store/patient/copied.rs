//! Versions of patients that come from a copy: the record as it was, everything beside it as a write makes it.

use redb::WriteTransaction;

use super::super::copy::CopiedPatient;
use super::*;

/// Stores versions, each of which must be the next of its patient and of the log. Number of the last one and the largest id come back;
/// 0 where there was none.
///
/// # Errors
/// `Damaged` when one is not the next, or is not readable.
pub fn insert_copied<'c>(
    transaction: &WriteTransaction,
    copied: impl Iterator<Item = Result<CopiedPatient<'c>, Error>>,
) -> Result<(u64, u64), Error> {
    let mut tables = Tables::open(transaction, 1)?;
    let mut last_id = 0;
    for copied in copied {
        let copied = copied?;
        tables.insert_copied(&copied)?;
        last_id = last_id.max(copied.id.get());
    }
    Ok((tables.log.last(), last_id))
}

impl Tables<'_> {
    fn insert_copied(&mut self, copied: &CopiedPatient) -> Result<(), Error> {
        let CopiedPatient { number, id, version, record: bytes } = *copied;
        let record = Record::read(id, version, bytes)?;
        let facts = record.facts()?;
        let before = self.before(id, record.tail)?;
        if before.as_ref().map(|before| before.version) != version.before() || self.log.last() + 1 != number {
            return Err(Error::Damaged(format!("version {version} of Patient/{id} is out of its place")));
        }
        if let Some(before) = &before {
            self.forget(id, &before.facts)?;
        }
        self.versions.insert((id.get(), version.get()), bytes).map_err(io)?;
        self.log.push(id, version)?;
        self.remember(id, &facts, record.stamp)
    }
}
