//! The small tables: what the store says of itself, its dictionaries, and the code lists.

use super::super::store::{Error, LATEST_STAMP, LatestStamp, Reader};
use super::Check;

impl Check<'_> {
    /// Names, numbers and keys are there and can be used; no dictionary is missing; every code list can be read.
    pub(super) fn small(&mut self) -> Result<(), Error> {
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
        if let Err(error) = reader.clock_resets().and(reader.clock_accepted()) {
            self.found.tell("meta", &error.to_string());
        }
        if let Some(problem) = bytes(LATEST_STAMP).and_then(|bytes| self.latest_stamp(&reader, bytes)) {
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
        if let Err(error) = reader.lists() {
            self.found.tell("terminology", &error.to_string());
        }
        Ok(())
    }

    /// What is wrong with the newest time stamp that is stored by itself. A server may have made its change since the check began.
    fn latest_stamp(&self, reader: &Reader, bytes: &[u8]) -> Option<String> {
        let seq = self.start.seq;
        let is_there = |of| reader.change(of).is_ok_and(|change| change.is_some());
        match LatestStamp::read(bytes) {
            Err(error) => Some(error.to_string()),
            Ok(LatestStamp::AsOf(of, _)) if of > seq && !is_there(of) => {
                Some(format!("'{LATEST_STAMP}' is of change {of}, and the last one is {seq}"))
            }
            Ok(_) => None,
        }
    }
}
