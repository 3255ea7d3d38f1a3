//! Which patients are tied to which.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::store::{StoreError, StoreReader};
use crate::limits::LINKED_PATIENTS_MAX;
use certificate::Id;

/// Which patients are tied to which: what current versions say, and the same from the other end.
#[derive(Default)]
pub(super) struct PatientLinks {
    pub says: HashMap<Id, Vec<Id>>,
    pub said_by: HashMap<Id, BTreeSet<Id>>,
}

impl PatientLinks {
    pub(super) fn read(reader: &StoreReader) -> Result<PatientLinks, StoreError> {
        let mut links = PatientLinks::default();
        reader.patient_links()?.into_iter().for_each(|(id, others)| links.set(id, others));
        Ok(links)
    }

    pub(super) fn set(&mut self, id: Id, others: Vec<Id>) {
        for other in self.says.remove(&id).unwrap_or_default() {
            if let Some(sources) = self.said_by.get_mut(&other) {
                sources.remove(&id);
                if sources.is_empty() {
                    self.said_by.remove(&other);
                }
            }
        }
        if others.is_empty() {
            return;
        }
        for other in &others {
            self.said_by.entry(*other).or_default().insert(id);
        }
        self.says.insert(id, others);
    }

    pub(super) fn tied(&self, id: Id) -> Arc<[Id]> {
        let mut found = vec![];
        let mut next = Some(id);
        let mut at = 0;
        while let Some(met) = next {
            let said = self.says.get(&met).into_iter().flatten();
            for other in said.chain(self.said_by.get(&met).into_iter().flatten()) {
                if found.len() == LINKED_PATIENTS_MAX {
                    return found.into();
                }
                if *other != id && !found.contains(other) {
                    found.push(*other);
                }
            }
            next = found.get(at).copied();
            at += 1;
        }
        // The empty slice is shared, so that a patient without links costs no memory.
        if found.is_empty() { Arc::default() } else { found.into() }
    }
}
