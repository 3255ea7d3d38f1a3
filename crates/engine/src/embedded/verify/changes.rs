//! Every change: numbered without gaps, its version or consent there, its time and its running count as they must be.

use super::super::store::record::VersionRecord;
use super::super::store::{ChangeKind, StoreError, StoreReader};
use super::Check;
use crate::limits::VERIFY_CHUNK_ROWS;

impl Check<'_> {
    /// Walks over the changes up to the one at which the check began.
    pub(super) fn changes(&mut self) -> Result<(), StoreError> {
        let end = self.start.seq.0;
        let unordered = self.start.position.unordered;
        let (mut after, mut running, mut latest) = (0, 0, i64::MIN);
        while after < end {
            self.at("change", after, end);
            let reader = self.reader()?;
            let changes = reader.bare_changes(after, VERIFY_CHUNK_ROWS)?;
            if changes.is_empty() {
                break;
            }
            for (seq, change) in changes {
                if seq > end {
                    after = seq;
                    break;
                }
                if seq != after + 1 {
                    self.found.tell("change", &format!("change {seq} stands where change {} belongs", after + 1));
                }
                after = seq;
                let change = match change {
                    Ok(change) => change,
                    Err(error) => {
                        self.found.tell("change", &error.to_string());
                        running += 1;
                        continue;
                    }
                };
                running += u64::from(change.version().is_some());
                if change.running != running {
                    let problem =
                        format!("change {seq} says that there are {} versions; there are {running}", change.running);
                    self.found.tell("change", &problem);
                    running = change.running;
                }
                if change.milliseconds < latest && !unordered {
                    self.found.tell("change", &format!("change {seq} is older than one before it"));
                }
                latest = latest.max(change.milliseconds);
                if change.version().is_some() && unordered && !reader.has_time(change.milliseconds, seq)? {
                    self.found.tell("time", &format!("change {seq} is missing"));
                }
                if let Some(problem) = missing(&reader, &change)? {
                    self.found.tell("change", &format!("change {seq} is {problem}"));
                }
            }
        }
        if after < end {
            self.found.tell("change", &format!("changes from {} to {end} are missing", after + 1));
        }
        self.times(running);
        Ok(())
    }

    fn times(&mut self, versions: u64) {
        let expected = if self.start.position.unordered { versions } else { 0 };
        if self.start.times != expected {
            self.found.tell("time", &format!("it has {} rows instead of {expected}", self.start.times));
        }
    }
}

/// What a change made and is not there, in words.
fn missing(reader: &StoreReader, change: &super::super::store::ChangeRow) -> Result<Option<String>, StoreError> {
    let id = change.id;
    match change.what {
        ChangeKind::Version(version) => {
            let seq = reader.version(id, version, |bytes| VersionRecord::read(bytes).map(|record| record.seq).ok())?;
            Ok(match seq {
                None => Some(format!("version {version} of Composition/{id}, which is missing")),
                Some(Some(seq)) if seq != change.seq => {
                    Some(format!("version {version} of Composition/{id}, which has change {seq}"))
                }
                // One that is not readable is told where versions are looked at.
                Some(_) => None,
            })
        }
        ChangeKind::Consent(number) => {
            // What is missing or not readable is an error of its own here.
            let what = format!("change {number} of the consent of Composition/{id}");
            match reader.consent_change(id, number, |record| Ok(record.seq)) {
                Ok(seq) if seq == change.seq => Ok(None),
                Ok(seq) => Ok(Some(format!("{what}, which has change {seq}"))),
                Err(StoreError::Damaged(problem)) => Ok(Some(format!("{what}: {problem}"))),
                Err(error) => Err(error),
            }
        }
    }
}
