//! Every change: numbered without gaps, its version or consent there, its time and its running count as they must be.

use super::super::store::hour_count::HourCounts;
use super::super::store::record::VersionRecord;
use super::super::store::{ChangeKind, ChangeRow, StoreError, StoreReader};
use super::Check;
use crate::EntryHash;
use crate::limits::VERIFY_CHUNK_ROWS;
use certificate::Seq;

impl Check<'_> {
    /// Walks over the changes up to the one at which the check began.
    pub(super) fn changes(&mut self) -> Result<(), StoreError> {
        let end = self.start.seq.0;
        let unordered = self.start.position.unordered;
        let (mut after, mut running, mut latest) = (0, 0, i64::MIN);
        let mut hours = HourCounts::default();
        let mut before = self.found.readable("meta", self.reader()?.change_hash(Seq(0)))?.flatten();
        while after < end {
            self.at("log", after, end);
            let reader = self.reader()?;
            let changes = reader.bare_changes(after, VERIFY_CHUNK_ROWS)?;
            if changes.is_empty() {
                break;
            }
            for (seq, change, hash) in changes {
                if seq > end {
                    after = seq;
                    break;
                }
                if seq != after + 1 {
                    self.found.tell("log", &format!("change {seq} stands where change {} belongs", after + 1));
                }
                after = seq;
                let change = match change {
                    Ok(change) => change,
                    Err(error) => {
                        self.found.tell("log", &error.to_string());
                        running += 1;
                        before = Some(hash);
                        continue;
                    }
                };
                running += u64::from(change.version().is_some());
                if change.version().is_some() && unordered {
                    hours.add(change.milliseconds);
                }
                if change.running != running {
                    let problem =
                        format!("change {seq} says that there are {} versions; there are {running}", change.running);
                    self.found.tell("log", &problem);
                    running = change.running;
                }
                if change.milliseconds < latest && !unordered {
                    self.found.tell("log", &format!("change {seq} is older than one before it"));
                }
                latest = latest.max(change.milliseconds);
                if change.version().is_some() && unordered && !reader.has_time(change.milliseconds, seq)? {
                    self.found.tell("time", &format!("change {seq} is missing"));
                }
                match made(&reader, &change, before)? {
                    Err(problem) => self.found.tell("log", &format!("change {seq} is {problem}")),
                    Ok(Some(made)) if made != hash => {
                        let problem =
                            "does not follow from those before it: it, or one of them, is not as it was written";
                        self.found.tell("log", &format!("change {seq} {problem}"));
                    }
                    Ok(_) => {}
                }
                before = Some(hash);
            }
        }
        if after < end {
            self.found.tell("log", &format!("changes from {} to {end} are missing", after + 1));
        }
        self.times(running);
        // A server goes on counting.
        if self.shared.store.is_looked_at() && self.reader()?.hour_counts()? != hours {
            self.found.tell("time_count", "the numbers of versions by the hour are not those of the changes");
        }
        Ok(())
    }

    fn times(&mut self, versions: u64) {
        let expected = if self.start.position.unordered { versions } else { 0 };
        if self.start.times != expected {
            self.found.tell("time", &format!("it has {} rows instead of {expected}", self.start.times));
        }
    }
}

/// The hash that a change has behind the one before it, or why what it made is not there, in words. None where the hash before is not known,
/// or a record that is not readable is told where records are looked at.
fn made(
    reader: &StoreReader,
    change: &ChangeRow,
    before: Option<EntryHash>,
) -> Result<Result<Option<EntryHash>, String>, StoreError> {
    let id = change.id;
    let chained = |record: &[u8]| before.map(|before| before.followed_by(&change.chained(record)));
    match change.what {
        ChangeKind::Version(version) => {
            let what = format!("version {version} of Composition/{id}");
            let read = |bytes: &[u8]| (VersionRecord::read(bytes).map(|record| record.seq).ok(), chained(bytes));
            Ok(match reader.version(id, version, read)? {
                None => Err(format!("{what}, which is missing")),
                Some((Some(seq), _)) if seq != change.seq => Err(format!("{what}, which has change {seq}")),
                Some((Some(_), hash)) => Ok(hash),
                Some((None, _)) => Ok(None),
            })
        }
        ChangeKind::Consent(number) => {
            // What is missing or not readable is an error of its own here.
            let what = format!("change {number} of the consent of Composition/{id}");
            match reader.consent_change(id, number, |record| Ok((record.seq, chained(&record.write())))) {
                Ok((seq, hash)) if seq == change.seq => Ok(Ok(hash)),
                Ok((seq, _)) => Ok(Err(format!("{what}, which has change {seq}"))),
                Err(StoreError::Damaged(problem)) => Ok(Err(format!("{what}: {problem}"))),
                Err(error) => Err(error),
            }
        }
    }
}
