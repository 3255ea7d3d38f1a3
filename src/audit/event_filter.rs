//! The conditions of a search for audit events.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::{AuditAction, AuditEvent, Entity, EventKey};
use certificate::{Id, Version};

/// Conditions that an event has to meet, all of them; each is met by one of its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    pub entities: Vec<Vec<AuditedEntity>>,
    /// Ids of patients, and their identifiers as [`EventKey::Identifier`] has them.
    pub patients: Vec<Vec<String>>,
    pub agents: Vec<Vec<Agent>>,
    pub actions: Vec<Vec<AuditAction>>,
    pub outcomes: Vec<Vec<EventResult>>,
    /// Milliseconds since 1970 UTC.
    pub times: Vec<RangeInclusive<i64>>,
}

/// What an event shows or changes: `AuditEvent.entity.what`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuditedEntity {
    /// Every version, or one version.
    Certificate(Entity),
    /// By id.
    Patient(String),
    /// By registry code.
    Organization(String),
}

/// Who took part: `AuditEvent.agent`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agent {
    /// By personal code.
    Person(String),
    /// The institution or the represented party, by registry code.
    Organization(String),
    Role(String),
    /// Of the operating system, by name.
    User(String),
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventResult {
    /// Whether it was refused or failed.
    Refused(bool),
    /// From and to.
    Status(RangeInclusive<u16>),
    Code(String),
}

/// Whose a certificate is, in the version that was shown or, of one that was only asked for, in its first: the patient's id and identifiers.
pub type PatientOf<'a> = &'a mut dyn FnMut(Id, Option<Version>) -> Option<Arc<Vec<String>>>;

impl EventFilter {
    /// The span of time outside of which nothing is wanted.
    pub fn span(&self) -> RangeInclusive<i64> {
        let start = self.times.iter().map(|times| *times.start()).max().unwrap_or(i64::MIN);
        let end = self.times.iter().map(|times| *times.end()).min().unwrap_or(i64::MAX);
        start..=end
    }

    pub fn matches(&self, event: &AuditEvent, patient_of: PatientOf) -> bool {
        let EventFilter { entities, patients, agents, actions, outcomes, times } = self;
        times.iter().all(|times| times.contains(&event.at))
            && actions.iter().all(|any| any.contains(&event.action))
            && outcomes.iter().all(|any| any.iter().any(|result| result.is_of(event)))
            && agents.iter().all(|any| any.iter().any(|agent| agent.is_of(event)))
            && entities.iter().all(|any| any.iter().any(|entity| entity.is_of(event)))
            && patients.iter().all(|any| concerns(any, event, patient_of))
    }
}

impl EventResult {
    fn is_of(&self, event: &AuditEvent) -> bool {
        match self {
            EventResult::Refused(refused) => event.is_refused() == *refused,
            EventResult::Status(range) => range.contains(&event.status),
            EventResult::Code(code) => event.code.as_ref() == Some(code),
        }
    }
}

impl AuditedEntity {
    /// What an event is found by that has it.
    pub fn key(&self) -> EventKey<'_> {
        match self {
            AuditedEntity::Certificate((id, _)) => EventKey::Certificate(*id),
            AuditedEntity::Patient(id) => EventKey::Patient(id),
            AuditedEntity::Organization(code) => EventKey::Organization(code),
        }
    }

    fn is_of(&self, event: &AuditEvent) -> bool {
        match self {
            AuditedEntity::Certificate(entity @ (_, Some(_))) => {
                event.entities.contains(entity) || event.absent.contains(entity)
            }
            _ => event.keys().any(|key| key == self.key()),
        }
    }
}

impl Agent {
    /// What an event is found by in which this one acted.
    pub fn key(&self) -> EventKey<'_> {
        match self {
            Agent::Person(code) => EventKey::AgentPerson(code),
            Agent::Organization(code) => EventKey::AgentOrganization(code),
            Agent::Role(role) => EventKey::AgentRole(role),
            Agent::User(name) => EventKey::AgentUser(name),
        }
    }

    fn is_of(&self, event: &AuditEvent) -> bool {
        event.keys().any(|key| key == self.key())
    }
}

/// Patients stand in the event, by id or by identifier, or behind the certificates in it.
fn concerns(patients: &[String], event: &AuditEvent, patient_of: PatientOf) -> bool {
    let is_wanted = |patient: &str| patients.iter().any(|wanted| wanted == patient);
    let is_named = event.keys().any(|key| match key {
        EventKey::Patient(patient) | EventKey::Identifier(patient) => is_wanted(patient),
        _ => false,
    });
    is_named
        || event.entities.iter().any(|(id, version)| {
            let patient = patient_of(*id, *version);
            patient.is_some_and(|names| names.iter().any(|name| is_wanted(name)))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> AuditEvent {
        let mut event = AuditEvent::new(AuditAction::CompositionRead, 1_000);
        event.who.person = Some("47101010033".into());
        event.who.roles = vec!["doctor".into()];
        event.status = 403;
        event.code = Some("HCERT-179".into());
        event.entities = vec![(Id::FIRST, Version::new(2))];
        event
    }

    #[test]
    fn each_condition_is_asked_and_all_of_them_have_to_hold() {
        let mut patient_of = |id: Id, _| (id == Id::FIRST).then(|| Arc::new(vec!["200".to_owned()]));
        let mut holds = |wanted: EventFilter| wanted.matches(&event(), &mut patient_of);
        let (all, doctor) = (EventFilter::default, || Agent::Role("doctor".into()));
        assert!(holds(all()));
        for (expected, wanted) in [
            (true, EventFilter { entities: vec![vec![AuditedEntity::Certificate((Id::FIRST, None))]], ..all() }),
            (
                true,
                EventFilter { entities: vec![vec![AuditedEntity::Certificate((Id::FIRST, Version::new(2)))]], ..all() },
            ),
            (
                false,
                EventFilter { entities: vec![vec![AuditedEntity::Certificate((Id::FIRST, Version::new(1)))]], ..all() },
            ),
            (true, EventFilter { patients: vec![vec!["7".into(), "200".into()]], ..all() }),
            (false, EventFilter { patients: vec![vec!["7".into()]], ..all() }),
            (false, EventFilter { entities: vec![vec![AuditedEntity::Patient("200".into())]], ..all() }),
            (true, EventFilter { agents: vec![vec![doctor()], vec![Agent::Person("47101010033".into())]], ..all() }),
            (false, EventFilter { agents: vec![vec![doctor()], vec![Agent::Role("nurse".into())]], ..all() }),
            (false, EventFilter { agents: vec![vec![Agent::Organization("47101010033".into())]], ..all() }),
            (true, EventFilter { outcomes: vec![vec![EventResult::Refused(true)]], ..all() }),
            (false, EventFilter { outcomes: vec![vec![EventResult::Refused(false)]], ..all() }),
            (false, EventFilter { actions: vec![vec![AuditAction::ConsentSet]], ..all() }),
            (true, EventFilter { outcomes: vec![vec![EventResult::Status(400..=499)]], ..all() }),
            (true, EventFilter { outcomes: vec![vec![EventResult::Code("HCERT-179".into())]], ..all() }),
            (false, EventFilter { outcomes: vec![vec![EventResult::Status(200..=299)]], ..all() }),
            (false, EventFilter { times: vec![0..=2_000, 1_001..=i64::MAX], ..all() }),
        ] {
            assert_eq!(holds(wanted.clone()), expected, "{wanted:?}");
        }
        assert_eq!(EventFilter { times: vec![0..=2_000, 1_001..=i64::MAX], ..all() }.span(), 1_001..=2_000);
    }
}
