//! An older format becomes this release's, by ordered steps. Each leads from one format to the next, in commits of bounded size, and goes
//! on where it was when a kill came between.
//!
//! Before the first step a copy of the file is put beside it, so that whoever must go back to the earlier release can. From the first
//! commit on `meta` says the new format, so that an earlier release refuses what is half done, and `migration` says which step is not
//! finished yet.

mod chained;
mod copy;
mod former;
#[cfg(test)]
pub mod tests;
mod walk;

use std::path::Path;

use super::log::{Log, WriteTransaction};
use super::{COUNTER, FORMAT, META, StoreError, VERSION, format_2, hour_count};
use base::log::event;
pub use walk::MigrationWalk;

/// Rows that one commit of a migration writes: some milliseconds of work, and little to do again after a kill.
const MIGRATION_CHUNK_ROWS: usize = 10_000;

/// One step. The last of its commits is made by whoever runs it.
type MigrationStep = fn(&MigrationWalk) -> Result<(), StoreError>;

/// The first format that a release had.
const FIRST_FORMAT: u32 = 2;

/// The steps in their order: the first leads from the first format to the next.
const STEPS: &[MigrationStep] = &[from_2];

const _: () =
    assert!(STEPS.len() + FIRST_FORMAT as usize == FORMAT as usize, "every later format is reached by a step");

/// Name in `meta` of the format whose step is not finished.
const UNFINISHED: &str = "migration";

/// Brings a store that is open to the format of this release; `path` is its file, of which a copy is made first. One that is only looked at
/// has none, and stays what it is on the disk. Returns the format it had, where that was another one.
///
/// # Errors
/// `Newer` for a later format, `Migration` when no copy can be made, or what the file system says.
pub fn run(log: &Log, path: Option<&Path>, cache_bytes: usize) -> Result<Option<u32>, StoreError> {
    let walk = MigrationWalk { log, chunk_rows: MIGRATION_CHUNK_ROWS, committed: &|| Ok(()) };
    walked(&walk, path, cache_bytes)
}

fn walked(walk: &MigrationWalk, path: Option<&Path>, cache_bytes: usize) -> Result<Option<u32>, StoreError> {
    let (format, unfinished) = formats(walk.log)?;
    let from = match unfinished {
        Some(from) => from,
        None if format == FORMAT => return expect_entries(walk.log).map(|()| None),
        None => {
            if let Some(path) = path {
                copy::make(path, format, cache_bytes)?;
            }
            walk.commit(|transaction| say(transaction, FORMAT, Some(format)))?;
            format
        }
    };
    for step in from..FORMAT {
        event!(STORE_MIGRATES, from = step, to = step + 1);
        STEPS[(step - FIRST_FORMAT) as usize](walk)?;
        let next = step + 1;
        walk.commit(|transaction| say(transaction, FORMAT, (next < FORMAT).then_some(next)))?;
    }
    event!(STORE_MIGRATED, format = FORMAT);
    Ok(Some(from))
}

/// Format 2 kept a row for a class that has no certificate any more.
fn without_zeros(transaction: &WriteTransaction) -> Result<(), StoreError> {
    let mut counters = transaction.open_table(COUNTER)?;
    let rows = counters.iter()?.map(|row| row.map(|(class, number)| (class.value(), number.value())));
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    rows.into_iter().filter(|(_, number)| *number == 0).try_for_each(|(class, _)| counters.remove(class))
}

/// Builds between two releases made stores that say this format and hold records of the one before. A first entry that cannot be read keeps
/// nobody from the others.
fn expect_entries(log: &Log) -> Result<(), StoreError> {
    let versions = log.begin_read()?.open_table(VERSION)?;
    let first = versions.first().ok().flatten().and_then(|(_, entry)| entry.value().first().copied());
    match first {
        Some(format_2::LAYOUT) => Err(StoreError::Migration(format!(
            "it has format {FORMAT} as a build between two releases made it, which no release reads; export it with that build"
        ))),
        _ => Ok(()),
    }
}

/// The format a store says, and the one whose step is not finished.
fn formats(log: &Log) -> Result<(u32, Option<u32>), StoreError> {
    let meta = log.begin_read()?.open_table(META)?;
    let number = |name: &str| -> Result<Option<u32>, StoreError> {
        let Some(bytes) = meta.get(name)? else { return Ok(None) };
        let number = bytes.value().try_into().map(u32::from_le_bytes);
        let number = number.ok().filter(|number| *number > 0);
        number.map(Some).ok_or_else(|| StoreError::Damaged(format!("'{name}' is no number of a format")))
    };
    let format = number("format")?.ok_or_else(|| StoreError::Damaged("its format number is missing".into()))?;
    if format < FIRST_FORMAT {
        return Err(StoreError::Migration(format!(
            "it has format {format}, which no release had; this release reads formats from {FIRST_FORMAT} to {FORMAT}"
        )));
    }
    if format > FORMAT {
        return Err(StoreError::Newer(format!("it has format {format}, this release reads formats up to {FORMAT}")));
    }
    match number(UNFINISHED)? {
        Some(from) if from >= format => {
            Err(StoreError::Damaged(format!("a migration from {from} to {format} is none")))
        }
        unfinished => Ok((format, unfinished)),
    }
}

fn say(transaction: &WriteTransaction, format: u32, unfinished: Option<u32>) -> Result<(), StoreError> {
    let mut meta = transaction.open_table(META)?;
    meta.insert("format", format.to_le_bytes().as_slice())?;
    match unfinished {
        Some(from) => drop(meta.insert(UNFINISHED, from.to_le_bytes().as_slice())?),
        None => meta.remove(UNFINISHED)?,
    }
    Ok(())
}

/// Format 3 has one form of all entries, chains its logs, knows the identifiers that patients had before, and counts versions by the hour.
fn from_2(walk: &MigrationWalk) -> Result<(), StoreError> {
    chained::fill(walk)?;
    former::fill(walk)?;
    walk.commit(without_zeros)?;
    // One commit: the counts of a century are a million.
    walk.commit(hour_count::fill_counts)
}
