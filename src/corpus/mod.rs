//! Synthetic certificates: as many as wanted, the same bytes for the same seed on every machine.
//!
//! A [`Corpus`] is the whole life of a store, change by change in the order of time, as an export would tell it. What a certificate
//! is and how it lives follows from the seed and its number alone, so nothing has to be kept but the moments of changes to come. A
//! [`CorpusChange`] is small; its body is written when it is asked for, and its [`Facts`] tell what a search should find, so that tests
//! and benches can compare without parsing.
//!
//! It is written in the default namespaces; [`certificate::Renaming`] puts others in their place.
//!
//! The people do not exist, but a valid personal code may be somebody's: do not send a corpus to a real registry.

mod body;
mod calendar;
mod change;
mod composition;
mod digits;
mod entry;
mod facts;
mod history;
pub mod limits;
mod observation;
mod organisations;
mod patient;
mod people;
mod phrases;
mod random;
mod section;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use calendar::Tick;
pub use change::CorpusChange;
pub use composition::{Category, Declaration};
use composition::{CorpusScale, PlannedCertificate};
pub use facts::Facts;
pub use history::LifeStep;

use crate::corpus::limits::CORPUS_CERTIFICATES_MAX;
use crate::registry::PersonalCode;
use certificate::Id;

/// All changes of `count` certificates, in the order of time.
#[derive(Clone, Debug)]
pub struct Corpus {
    scale: CorpusScale,
    /// Number of the next certificate to be created.
    next: u64,
    /// Changes to come of certificates that exist: when, which certificate, which of its steps. One for each certificate at most.
    pending: BinaryHeap<Reverse<(Tick, u64, usize)>>,
    last: Option<Tick>,
}

/// A certificate of a corpus as a client would send it, not yet stored.
#[derive(Clone, Debug)]
pub struct Fresh {
    certificate: PlannedCertificate,
}

/// A body to create a certificate with: a draft or a completed one, without `id` and version.
///
/// `number` counts from 1. Its patients are those of a corpus of a million certificates.
pub fn certificate(seed: u64, number: u64) -> String {
    Corpus::new(seed, 1_000_000).certificate(number).body()
}

impl Corpus {
    /// `count` is kept between 1 and [`CORPUS_CERTIFICATES_MAX`].
    pub fn new(seed: u64, count: u64) -> Corpus {
        let count = count.clamp(1, CORPUS_CERTIFICATES_MAX);
        Corpus { scale: CorpusScale { seed, count }, next: 1, pending: BinaryHeap::new(), last: None }
    }

    /// Certificate `number` (from 1) of this corpus at the moment of its creation.
    pub fn certificate(&self, number: u64) -> Fresh {
        Fresh { certificate: self.scale.certificate(number.max(1)) }
    }

    /// A certificate under an id of the caller's choice, at the moment of its creation: the very beginning of the corpus.
    pub fn oldest(&self, id: Id) -> CorpusChange {
        let mut certificate = self.scale.certificate(1);
        certificate.number = id.get();
        CorpusChange { certificate, at: 0, stamp: Tick(0) }
    }

    /// Name and personal code of a patient, for a registry that has to know them: `Patient/<subject>`.
    ///
    /// Subjects of a corpus begin at 1000; there is one for five certificates.
    pub fn patient(&self, subject: u64) -> Option<(PersonalCode, &'static str, &'static str)> {
        let index = subject.checked_sub(composition::PATIENT_FIRST).filter(|index| *index < self.scale.patients())?;
        let person = people::patient(self.scale.seed, index);
        Some((person.code, person.given, person.family))
    }
}

impl Iterator for Corpus {
    type Item = CorpusChange;

    fn next(&mut self) -> Option<CorpusChange> {
        let created = (self.next <= self.scale.count).then(|| self.scale.certificate(self.next));
        let due = self.pending.peek().map(|Reverse(change)| *change);
        let (certificate, at) = match (created, due) {
            (Some(certificate), due) if due.is_none_or(|(tick, _, _)| certificate.tick(0) <= tick) => {
                self.next += 1;
                (certificate, 0)
            }
            (_, Some((_, number, at))) => {
                self.pending.pop();
                (self.scale.certificate(number), at)
            }
            (_, None) => return None,
        };
        if at + 1 < certificate.steps.len() {
            self.pending.push(Reverse((certificate.tick(at + 1), certificate.number, at + 1)));
        }
        // As the service stamps: never twice the same millisecond, never backwards.
        let planned = certificate.tick(at);
        let stamp = self.last.map_or(planned, |last| planned.max(Tick(last.0 + 1)));
        self.last = Some(stamp);
        Some(CorpusChange { certificate, at, stamp })
    }
}

impl Fresh {
    /// The body a client sends to create the certificate.
    pub fn body(&self) -> String {
        let mut out = String::with_capacity(6_000);
        body::write(&self.certificate, 0, None, &mut out);
        out
    }

    /// What is true of the body.
    pub fn facts(&self) -> Facts {
        Facts::of(&self.certificate, 0)
    }
}

#[cfg(test)]
mod tests;
