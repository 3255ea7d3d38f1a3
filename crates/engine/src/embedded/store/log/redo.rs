//! What one commit changes, as the journal keeps it: rows that were put in and taken out, in their order. Doing it again, and more than
//! once, leads to the same tables.
//!
//! ```text
//! step   u8 (1 put in, 2 taken out, 3 all rows taken out) | u8 bytes of the table's name | name
//!        | u32 bytes of the key | key | u32 bytes of the value | value          as far as the step has them
//! ```

use super::super::error::StoreError;

const PUT: u8 = 1;
const TAKEN: u8 = 2;
const CLEARED: u8 = 3;

/// Steps of a transaction, noted while they are made.
#[derive(Debug)]
pub struct RedoNotes {
    bytes: Vec<u8>,
    max: usize,
    /// More than `max` bytes were noted, and are not kept.
    is_too_long: bool,
}

impl RedoNotes {
    /// Notes that are given up behind so many bytes.
    pub(super) fn new(max: usize) -> RedoNotes {
        RedoNotes { bytes: Vec::new(), max, is_too_long: false }
    }

    /// All steps; none where they were too many.
    pub(super) fn whole(&self) -> Option<&[u8]> {
        (!self.is_too_long).then_some(&self.bytes)
    }

    pub(super) fn put(&mut self, table: &str, key: &[u8], value: &[u8]) {
        self.step(PUT, table, &[key, value]);
    }

    pub(super) fn take(&mut self, table: &str, key: &[u8]) {
        self.step(TAKEN, table, &[key]);
    }

    pub(super) fn clear(&mut self, table: &str) {
        self.step(CLEARED, table, &[]);
    }

    fn step(&mut self, step: u8, table: &str, parts: &[&[u8]]) {
        let bytes: usize = parts.iter().map(|part| part.len() + 4).sum();
        if self.is_too_long || self.bytes.len() + bytes > self.max {
            (self.is_too_long, self.bytes) = (true, Vec::new());
            return;
        }
        let name = u8::try_from(table.len()).expect("names of tables are short");
        self.bytes.extend_from_slice(&[step, name]);
        self.bytes.extend_from_slice(table.as_bytes());
        for part in parts {
            self.bytes.extend_from_slice(&(part.len() as u32).to_le_bytes());
            self.bytes.extend_from_slice(part);
        }
    }
}

/// One step: keys and values as they lie in the table.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum RedoStep<'a> {
    /// Key and value of a row that was put in.
    Put(&'a [u8], &'a [u8]),
    /// The key of a row that was taken out.
    Take(&'a [u8]),
    /// All rows were taken out.
    Clear,
}

/// Hands out the steps of a record, each with the name of its table.
///
/// # Errors
/// `Damaged` when they are none, or what `each` says.
pub(in super::super) fn steps<'r>(
    mut record: &'r [u8],
    mut each: impl FnMut(&'r [u8], RedoStep<'r>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let cut = || StoreError::Damaged("a record of the journal is not readable".into());
    while let Some(([step, name], rest)) = record.split_first_chunk::<2>() {
        let (name, mut rest) = rest.split_at_checked(usize::from(*name)).ok_or_else(cut)?;
        let mut part = || {
            let (bytes, behind) = rest.split_first_chunk::<4>()?;
            let (part, behind) = behind.split_at_checked(u32::from_le_bytes(*bytes) as usize)?;
            rest = behind;
            Some(part)
        };
        let step = match *step {
            PUT => RedoStep::Put(part().ok_or_else(cut)?, part().ok_or_else(cut)?),
            TAKEN => RedoStep::Take(part().ok_or_else(cut)?),
            CLEARED => RedoStep::Clear,
            _ => return Err(cut()),
        };
        each(name, step)?;
        record = rest;
    }
    if record.is_empty() { Ok(()) } else { Err(cut()) }
}
