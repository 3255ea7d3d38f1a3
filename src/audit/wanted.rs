//! Which events somebody asks for.

use std::ops::RangeInclusive;

use super::{Action, Entity, Event};
use crate::certificate::{Id, Version};

/// Conditions that an event has to meet, all of them; each is met by one of its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Certificates; with a version only that one.
    pub entities: Vec<Vec<Entity>>,
    /// Ids of patients.
    pub patients: Vec<Vec<String>>,
    /// Personal codes or roles.
    pub agents: Vec<Vec<String>>,
    pub actions: Vec<Vec<Action>>,
    /// Statuses from and to, or codes.
    pub outcomes: Vec<Vec<Result>>,
    /// Milliseconds since 1970 UTC.
    pub times: Vec<RangeInclusive<i64>>,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Result {
    Status(RangeInclusive<u16>),
    Code(String),
}

/// Whose a version of a certificate is: the id of the patient.
pub type PatientOf<'a> = &'a mut dyn FnMut(Id, Version) -> Option<String>;

impl Wanted {
    /// The span of time outside of which nothing is wanted.
    pub fn span(&self) -> RangeInclusive<i64> {
        let start = self.times.iter().map(|times| *times.start()).max().unwrap_or(i64::MIN);
        let end = self.times.iter().map(|times| *times.end()).min().unwrap_or(i64::MAX);
        start..=end
    }

    pub fn matches(&self, event: &Event, patient_of: PatientOf) -> bool {
        let Wanted { entities, patients, agents, actions, outcomes, times } = self;
        times.iter().all(|times| times.contains(&event.at))
            && actions.iter().all(|any| any.contains(&event.action))
            && outcomes.iter().all(|any| any.iter().any(|result| result.is_of(event)))
            && agents.iter().all(|any| any.iter().any(|agent| is_agent(agent, event)))
            && entities.iter().all(|any| any.iter().any(|wanted| event.entities.iter().any(|own| covers(wanted, own))))
            && patients.iter().all(|any| concerns(any, event, patient_of))
    }
}

impl Result {
    fn is_of(&self, event: &Event) -> bool {
        match self {
            Result::Status(range) => range.contains(&event.status),
            Result::Code(code) => event.code.as_ref() == Some(code),
        }
    }
}

fn is_agent(agent: &String, event: &Event) -> bool {
    event.who.person.as_ref() == Some(agent) || event.who.roles.contains(agent)
}

fn covers(wanted: &Entity, own: &Entity) -> bool {
    wanted.0 == own.0 && (wanted.1.is_none() || wanted.1 == own.1)
}

/// Patients stand in the event, or behind the certificates in it.
fn concerns(patients: &[String], event: &Event, patient_of: PatientOf) -> bool {
    let mut is_wanted = |patient: &String| patients.contains(patient);
    event.patients.iter().any(&mut is_wanted)
        || event.entities.iter().any(|(id, version)| {
            // Of a certificate that was only asked for, its first version tells whose it is.
            let patient = patient_of(*id, version.unwrap_or(Version::FIRST));
            patient.is_some_and(|patient| is_wanted(&patient))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> Event {
        let mut event = Event::new(Action::CompositionRead, 1_000);
        event.who.person = Some("47101010033".into());
        event.who.roles = vec!["doctor".into()];
        event.status = 403;
        event.code = Some("HCERT-179".into());
        event.entities = vec![(Id::FIRST, Version::new(2))];
        event
    }

    #[test]
    fn each_condition_is_asked_and_all_of_them_have_to_hold() {
        let mut patient_of = |id: Id, _| (id == Id::FIRST).then(|| "200".to_owned());
        let mut holds = |wanted: Wanted| wanted.matches(&event(), &mut patient_of);
        let all = Wanted::default;
        assert!(holds(all()));
        for (expected, wanted) in [
            (true, Wanted { entities: vec![vec![(Id::FIRST, None)]], ..all() }),
            (true, Wanted { entities: vec![vec![(Id::FIRST, Version::new(2))]], ..all() }),
            (false, Wanted { entities: vec![vec![(Id::FIRST, Version::new(1))]], ..all() }),
            (true, Wanted { patients: vec![vec!["7".into(), "200".into()]], ..all() }),
            (false, Wanted { patients: vec![vec!["7".into()]], ..all() }),
            (true, Wanted { agents: vec![vec!["doctor".into()], vec!["47101010033".into()]], ..all() }),
            (false, Wanted { agents: vec![vec!["doctor".into()], vec!["nurse".into()]], ..all() }),
            (false, Wanted { actions: vec![vec![Action::ConsentSet]], ..all() }),
            (true, Wanted { outcomes: vec![vec![Result::Status(400..=499)]], ..all() }),
            (true, Wanted { outcomes: vec![vec![Result::Code("HCERT-179".into())]], ..all() }),
            (false, Wanted { outcomes: vec![vec![Result::Status(200..=299)]], ..all() }),
            (false, Wanted { times: vec![0..=2_000, 1_001..=i64::MAX], ..all() }),
        ] {
            assert_eq!(holds(wanted.clone()), expected, "{wanted:?}");
        }
        assert_eq!(Wanted { times: vec![0..=2_000, 1_001..=i64::MAX], ..all() }.span(), 1_001..=2_000);
    }
}
