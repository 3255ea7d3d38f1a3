//! The index beside the store: every certificate that is current at its checkpoint, as it should be held, and no other.

use std::sync::Arc;

use super::super::index::{self, IndexContents, IndexedCertificate, Snapshot};
use super::super::overlay::NumberedRow;
use super::super::panics::caught;
use super::findings::VerifyFindings;
use certificate::{Id, Seq, Version};

/// What the index holds, compared certificate by certificate in the order of their ids.
pub(super) struct IndexComparison<'s> {
    holdings: IndexContents<'s>,
    at: Seq,
}

impl<'s> IndexComparison<'s> {
    /// Reads the index; none when it cannot be read, which is told.
    pub(super) fn read(snapshot: &'s Snapshot, found: &mut VerifyFindings) -> Option<IndexComparison<'s>> {
        // A damaged file may show as a panic as well as an error.
        let read = caught(|| IndexContents::read(snapshot));
        let problem = match read {
            Some(Ok(holdings)) => {
                found.counts().indexed = holdings.len() as u64;
                return Some(IndexComparison { holdings, at: snapshot.at });
            }
            Some(Err(error)) => error.0,
            None => "reading it panicked".to_owned(),
        };
        found.tell("index", &format!("it cannot be read: {problem}"));
        None
    }

    /// The change whose state it holds.
    pub(super) fn at(&self) -> Seq {
        self.at
    }

    /// Compares a certificate. What it should hold is not known of one that cannot be read; of one that is deleted it is nothing.
    pub(super) fn compare(
        &mut self,
        id: Id,
        expected: Option<Option<(Version, Arc<NumberedRow>)>>,
        found: &mut VerifyFindings,
    ) -> Result<(), index::IndexError> {
        let held = self.holdings.of(id, |passed| stranger(passed, found))?;
        let Some(expected) = expected else { return Ok(()) };
        match (held.as_slice(), expected) {
            ([], None) => {}
            ([], Some((version, _))) => {
                found.tell("index", &format!("Composition/{id} is not in it; its version {version} should be"));
            }
            ([_], None) => found.tell("index", &format!("Composition/{id} is in it, and is not current")),
            ([held], Some((version, numbered))) => {
                if let Some(part) = held.difference(&IndexedCertificate::expected(version, &numbered)) {
                    found.tell("index", &format!("Composition/{id} stands in it with another {part}"));
                }
            }
            (held, _) => found.tell("index", &format!("Composition/{id} is in it {} times", held.len())),
        }
        Ok(())
    }

    /// What it holds behind the last certificate of the store.
    pub(super) fn finish(&self, found: &mut VerifyFindings) {
        self.holdings.rest().for_each(|id| stranger(id, found));
    }
}

fn stranger(id: u64, found: &mut VerifyFindings) {
    found.tell("index", &format!("Composition/{id} is in it, and not in the store"));
}
