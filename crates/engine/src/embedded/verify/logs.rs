//! Every entry of both logs: numbered without gaps, what it made there and its own, its time and its running count as they must be, its
//! hash behind the one before.

use super::super::store::record::StoredEntry;
use super::super::store::{ChangeRow, StoreError, StoreReader};
use super::StoreCheck;
use crate::limits::VERIFY_CHUNK_ROWS;
use crate::{EntryHash, EntryLog};
use base::number::counted;

impl StoreCheck<'_> {
    /// Walks over both logs up to the entries at which the check began.
    pub(super) fn logs(&mut self) -> Result<(), StoreError> {
        self.log(EntryLog::Register, self.start.register.0)?;
        self.log(EntryLog::Changes, self.start.seq.0)
    }

    fn log(&mut self, log: EntryLog, end: u64) -> Result<(), StoreError> {
        let part = part_of(log);
        let is_timed = log == EntryLog::Changes;
        // Versions from this change on are in the table of times.
        let first_timed = self.start.position.first_timed.map_or(u64::MAX, |seq| seq.0);
        let mut timed = 0;
        let (mut after, mut running, mut latest) = (0, 0, i64::MIN);
        let mut before = self.found.readable("meta", self.reader()?.entry_hash(log, 0))?.flatten();
        while after < end {
            self.at(part, after, end);
            let reader = self.reader()?;
            let entries = reader.bare_entries(log, after, VERIFY_CHUNK_ROWS)?;
            if entries.is_empty() {
                break;
            }
            for (number, row, hash) in entries {
                if number > end {
                    after = number;
                    break;
                }
                if number != after + 1 {
                    self.found.tell(part, &format!("change {number} stands where change {} belongs", after + 1));
                }
                after = number;
                let row = match row {
                    Ok(row) => row,
                    Err(error) => {
                        self.found.tell(part, &error.to_string());
                        running += 1;
                        before = Some(hash);
                        continue;
                    }
                };
                running += u64::from(row.is_counted());
                if row.running != running {
                    let says = counted(row.running, "version", "versions");
                    let problem = format!("change {number} counts {says} up to it; there are {running}");
                    self.found.tell(part, &problem);
                    running = row.running;
                }
                if is_timed && number < first_timed && row.milliseconds < latest {
                    self.found.tell(part, &format!("change {number} is older than one before it"));
                }
                latest = latest.max(row.milliseconds);
                if row.version().is_some() && number >= first_timed {
                    timed += 1;
                    if !reader.has_time(row.milliseconds, number)? {
                        self.found.tell("time", &format!("change {number} is missing"));
                    }
                }
                match made(&reader, &row, before)? {
                    Err(problem) => self.found.tell(part, &format!("change {number} is {problem}")),
                    Ok(Some(made)) if made != hash => {
                        let problem =
                            "does not follow from those before it: it, or one of them, is not as it was written";
                        self.found.tell(part, &format!("change {number} {problem}"));
                    }
                    Ok(_) => {}
                }
                before = Some(hash);
            }
        }
        if after < end {
            self.found.tell(part, &format!("changes from {} to {end} are missing", after + 1));
        }
        if is_timed {
            self.times(timed)?;
        }
        Ok(())
    }

    fn times(&mut self, expected: u64) -> Result<(), StoreError> {
        if self.start.times != expected {
            self.found
                .tell("time", &format!("it has {} instead of {expected}", counted(self.start.times, "row", "rows")));
        }
        // A server goes on counting.
        if self.shared.store.is_read_only() && !self.reader()?.are_times_counted()? {
            self.found.tell("time_count", "the numbers of versions by the hour are not those of the changes");
        }
        Ok(())
    }

    /// Whether the log names a record as this row does.
    pub(super) fn is_logged(&self, reader: &StoreReader, row: ChangeRow) -> Result<bool, StoreError> {
        let found = reader.bare_entries(row.log(), row.seq.0.saturating_sub(1), 1)?.pop();
        Ok(match found {
            Some((number, Ok(found), _)) => {
                number == row.seq.0
                    && (found.id, found.what, found.milliseconds) == (row.id, row.what, row.milliseconds)
            }
            _ => false,
        })
    }
}

/// The table of a log.
fn part_of(log: EntryLog) -> &'static str {
    match log {
        EntryLog::Changes => "log",
        EntryLog::Register => "register",
    }
}

/// The hash that an entry has behind the one before it, or why what it made is not there, in words. None where the hash before is not known,
/// or a record that is not readable is told where records are looked at.
fn made(
    reader: &StoreReader,
    row: &ChangeRow,
    before: Option<EntryHash>,
) -> Result<Result<Option<EntryHash>, String>, StoreError> {
    let read = |bytes: &[u8]| {
        let number = StoredEntry::read(row.what.kind(), bytes, || row.made()).map(|entry| entry.number).ok();
        (number, before.map(|before| row.hash_behind(before, bytes)))
    };
    Ok(match reader.record_of(row, read)? {
        None => Err(format!("{}, which is missing", row.made())),
        Some((Some(number), _)) if number != row.seq.0 => Err(format!("{}, which has change {number}", row.made())),
        Some((Some(_), hash)) => Ok(hash),
        Some((None, _)) => Ok(None),
    })
}
