//! The small tables: what the store says of itself, its dictionaries, and the code lists.

use super::super::store::{LATEST_STAMP, LatestStamp, StoreError};
use super::StoreCheck;
use certificate::Seq;

impl StoreCheck<'_> {
    /// Names, numbers and keys are there and can be used; no dictionary is missing; every code list can be read.
    pub(super) fn small(&mut self) -> Result<(), StoreError> {
        let reader = self.reader()?;
        let meta = reader.bare_meta()?;
        let bytes = |name: &str| meta.iter().find(|(known, _)| known == name).map(|(_, bytes)| bytes.as_slice());
        for (name, length) in [("format", 4), ("seal-key", 32), ("store", 36), ("epoch", 36), ("next-id", 8)] {
            match bytes(name) {
                None => self.found.tell("meta", &format!("'{name}' is missing")),
                Some(found) if found.len() != length => {
                    self.found.tell("meta", &format!("'{name}' has {} bytes instead of {length}", found.len()));
                }
                Some(_) => {}
            }
        }
        if let Err(error) = reader.clock_resets() {
            self.found.tell("mark", &error.to_string());
        }
        if let Err(error) = reader.clock_accepted() {
            self.found.tell("meta", &error.to_string());
        }
        // A server may have written changes since the check began. A last change that cannot be read is reported already.
        let last = reader.last_change().ok().flatten().map_or(self.start.seq, |change| change.seq);
        if let Some(problem) = bytes(LATEST_STAMP).and_then(|bytes| latest_stamp(bytes, last)) {
            self.found.tell("meta", &problem);
        }
        if bytes("migration").is_some() {
            self.found.tell("meta", "a migration is not finished");
        }
        let dictionaries = reader.bare_dictionaries()?;
        for (at, (number, content)) in (1..).zip(&dictionaries) {
            if *number != at {
                self.found.tell("dictionary", &format!("number {number} stands where number {at} belongs"));
                break;
            }
            if content.is_empty() {
                self.found.tell("dictionary", &format!("number {number} is empty"));
            }
        }
        if dictionaries.is_empty() {
            self.found.tell("dictionary", "there is none");
        }
        if let Err(error) = reader.lists(|number| self.shared.store.dictionary(number)) {
            self.found.tell("list", &error.to_string());
        }
        for problem in self.found.readable("list", reader.differing_lists())?.unwrap_or_default() {
            self.found.tell("list_id", &problem);
        }
        Ok(())
    }
}

/// What is wrong with the newest time stamp that is stored by itself, in a store whose last change is `last`.
fn latest_stamp(bytes: &[u8], last: Seq) -> Option<String> {
    match LatestStamp::read(bytes) {
        Err(error) => Some(error.to_string()),
        Ok(LatestStamp::AsOf(of, _)) if of > last => {
            Some(format!("'{LATEST_STAMP}' is of change {of}, and the last one is {last}"))
        }
        Ok(_) => None,
    }
}
