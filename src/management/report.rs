//! How the service and each of its parts are, at one moment.

use std::collections::BTreeMap;

use serde::Serialize;

use super::ServicePhase;
use base::metrics::Readings;
use base::metrics::names::{PART_STATE, READY};

/// How well something is, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HealthStatus {
    Ok,
    /// It works, but somebody should look.
    Degraded,
    /// It does not work, and requests that need it are refused.
    Down,
}

impl HealthStatus {
    pub const NAMES: [&str; 3] = ["ok", "degraded", "down"];

    pub fn name(self) -> &'static str {
        match self {
            HealthStatus::Ok => "ok",
            HealthStatus::Degraded => "degraded",
            HealthStatus::Down => "down",
        }
    }
}

/// One part of the service.
#[derive(Clone, Debug, Serialize)]
pub struct HealthPart {
    #[serde(skip)]
    pub name: &'static str,
    pub status: HealthStatus,
    /// What is so, in a sentence for whoever is called at night.
    pub words: String,
    /// What the sentence rests on, by name; units stand in the names.
    pub facts: BTreeMap<&'static str, Fact>,
    /// Whether requests had better be sent elsewhere.
    #[serde(skip)]
    pub holds_up: bool,
}

/// A value of a part.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Fact {
    Number(u64),
    Text(String),
}

/// What was told by everything that is watched.
#[derive(Debug, Default)]
pub struct PartReports {
    pub parts: Vec<HealthPart>,
    pub readings: Readings,
}

/// Everything at one moment.
#[derive(Debug)]
pub struct HealthReport {
    pub phase: ServicePhase,
    pub told: PartReports,
}

impl HealthPart {
    pub fn new(name: &'static str, status: HealthStatus, words: impl Into<String>) -> HealthPart {
        HealthPart { name, status, words: words.into(), facts: BTreeMap::new(), holds_up: false }
    }

    pub fn with(mut self, name: &'static str, value: u64) -> HealthPart {
        self.facts.insert(name, Fact::Number(value));
        self
    }

    pub fn with_text(mut self, name: &'static str, value: impl Into<String>) -> HealthPart {
        self.facts.insert(name, Fact::Text(value.into()));
        self
    }

    /// The service is not ready while this is so.
    pub fn holding_up(mut self, holds_up: bool) -> HealthPart {
        self.holds_up = holds_up;
        self
    }
}

impl PartReports {
    pub fn add(&mut self, part: HealthPart) {
        self.parts.push(part);
    }
}

impl HealthReport {
    /// The worst of all parts.
    pub fn status(&self) -> HealthStatus {
        self.told.parts.iter().map(|part| part.status).max().unwrap_or(HealthStatus::Ok)
    }

    /// Why requests had better be sent elsewhere; nothing when they are welcome.
    pub fn reasons(&self) -> Vec<String> {
        let phase = match self.phase {
            ServicePhase::Serving => None,
            ServicePhase::Opening => Some("the data folder is being opened"),
            ServicePhase::Draining => Some("the service is stopping"),
            ServicePhase::Closing => Some("the data folder is being closed"),
        };
        let parts = self.told.parts.iter().filter(|part| part.holds_up);
        phase.map(str::to_owned).into_iter().chain(parts.map(|part| format!("{}: {}", part.name, part.words))).collect()
    }

    /// The same as the health page says, for graphs.
    pub fn tell(&mut self) {
        let service = [("service", self.status().name())];
        let states: Vec<_> =
            service.into_iter().chain(self.told.parts.iter().map(|part| (part.name, part.status.name()))).collect();
        let is_ready = self.reasons().is_empty();
        let readings = &mut self.told.readings;
        readings.states(&PART_STATE, &HealthStatus::NAMES, &states);
        readings.gauge(&READY, f64::from(u8::from(is_ready)));
    }
}
