//! One change of a corpus.

use super::body;
use super::calendar::Tick;
use super::composition::PlannedCertificate;
use super::facts::Facts;
use super::history::LifeStep;
use certificate::{Id, State, Version};

/// One change: a new version of a certificate, or its deletion.
#[derive(Clone, Debug)]
pub struct CorpusChange {
    pub(super) certificate: PlannedCertificate,
    pub(super) at: usize,
    pub(super) stamp: Tick,
}

impl CorpusChange {
    pub fn id(&self) -> Id {
        Id::new(self.certificate.number).expect("numbers count from 1")
    }

    pub fn version(&self) -> Version {
        Version::new(self.at as u32 + 1).expect("versions count from 1")
    }

    /// What was done to the certificate.
    pub fn step(&self) -> LifeStep {
        self.certificate.steps[self.at]
    }

    /// The state it was brought to.
    pub fn state(&self) -> State {
        self.step().state()
    }

    /// `meta.lastUpdated`, milliseconds since 1970 UTC. Rises strictly over the corpus.
    pub fn last_updated(&self) -> i64 {
        self.stamp.moment().utc()
    }

    /// What is true of the version.
    pub fn facts(&self) -> Facts {
        Facts::of(&self.certificate, self.at)
    }

    /// Appends the resource as the service serves it, minified. Nothing is appended for a deletion, which has none.
    pub fn write_resource(&self, out: &mut String) {
        if self.state() != State::Deleted {
            let head = body::ServedHead { version: self.version().get(), last_updated: self.stamp.moment() };
            body::write(&self.certificate, self.at, Some(head), out);
        }
    }
}
