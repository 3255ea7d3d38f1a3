//! What an event can be found again by, and whom a request named.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::event::{AuditEvent, Entity, text_within};
use certificate::{Id, IdentifierSystems};

/// One thing that an event can be found by. Every search for a patient, a certificate or an agent asks these keys, so an index of them
/// finds whatever the search would find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKey<'e> {
    /// Id of a patient that the request named or was shown.
    Patient(&'e str),
    /// Identifier of a person or a certificate that the request named: `system|value`, or the value alone where no system was named.
    Identifier(&'e str),
    /// Registry code of an institution that the request named.
    Organization(&'e str),
    /// A certificate that the request named or was shown, in whatever version. Whose it is stands in the store.
    Certificate(Id),
    /// Personal code of who acted.
    AgentPerson(&'e str),
    /// Registry code of the institution of who acted, or of whom they represent.
    AgentOrganization(&'e str),
    /// Role of who acted.
    AgentRole(&'e str),
    /// Name of the operating system's user who ran a command.
    AgentUser(&'e str),
}

impl AuditEvent {
    /// Everything that the event can be found by. A key may come more than once.
    pub fn keys(&self) -> impl Iterator<Item = EventKey<'_>> {
        let AuditEvent { who, entities, absent, patients, identifiers, organizations, .. } = self;
        let user = who.operator.as_ref().and_then(|operator| operator.name.as_deref());
        let acting = [&who.organization, &who.represented_party].into_iter().flatten();
        let agents = who.person.as_deref().map(EventKey::AgentPerson).into_iter();
        let agents = agents.chain(acting.map(|code| EventKey::AgentOrganization(code)));
        let agents = agents.chain(who.roles.iter().map(|role| EventKey::AgentRole(role)));
        let agents = agents.chain(user.map(EventKey::AgentUser));
        let named = patients.iter().map(|id| EventKey::Patient(id));
        let named = named.chain(identifiers.iter().map(|identifier| EventKey::Identifier(identifier)));
        let named = named.chain(organizations.iter().map(|code| EventKey::Organization(code)));
        named.chain(entities.iter().chain(absent).map(|(id, _)| EventKey::Certificate(*id))).chain(agents)
    }

    /// Adds whom a request named.
    pub fn name(&mut self, named: NamedKeys) {
        let NamedKeys { patients, identifiers, organizations, certificates } = named;
        patients.into_iter().for_each(|patient| add(&mut self.patients, patient));
        identifiers.into_iter().for_each(|identifier| add(&mut self.identifiers, identifier));
        organizations.into_iter().for_each(|organization| add(&mut self.organizations, organization));
        [&mut self.patients, &mut self.identifiers, &mut self.organizations].into_iter().for_each(settle);
        if certificates.is_empty() {
            return;
        }
        let mut known: HashSet<Entity> = self.entities.iter().flat_map(|own| [*own, (own.0, None)]).collect();
        for entity in certificates {
            if known.insert(entity) {
                known.insert((entity.0, None));
                self.entities.push(entity);
            }
        }
    }

    /// Keeps no more than `max` names of a kind.
    pub fn cut(&mut self, max: usize) {
        [&mut self.patients, &mut self.identifiers, &mut self.organizations]
            .into_iter()
            .for_each(|names| names.truncate(max));
        self.entities.truncate(max);
    }
}

/// Whom and what a request named, whether or not any of it exists.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct NamedKeys {
    pub patients: Vec<String>,
    pub identifiers: Vec<String>,
    pub organizations: Vec<String>,
    pub certificates: Vec<Entity>,
}

impl NamedKeys {
    pub fn is_empty(&self) -> bool {
        let NamedKeys { patients, identifiers, organizations, certificates } = self;
        patients.is_empty() && identifiers.is_empty() && organizations.is_empty() && certificates.is_empty()
    }

    /// A patient, by id.
    pub fn patient(&mut self, id: &str) {
        add(&mut self.patients, text_within(id).to_owned());
    }

    /// An institution, by registry code.
    pub fn organization(&mut self, code: &str) {
        add(&mut self.organizations, text_within(code).to_owned());
    }

    /// A certificate in whatever version.
    pub fn certificate(&mut self, id: Id) {
        self.certificates.push((id, None));
    }

    /// Persons as another event has them; no more than `max` of a kind are kept.
    pub fn persons(&mut self, patients: &[String], identifiers: &[String], max: usize) {
        add_within(&mut self.patients, patients, max);
        add_within(&mut self.identifiers, identifiers, max);
    }

    /// A person or a certificate, by identifier. An overlong system leaves the value whole.
    pub fn identifier(&mut self, system: Option<&str>, value: &str) {
        add(&mut self.identifiers, identifier(system, value));
    }
}

/// Where a request that is under way adds whom it names, beside the event that is written at its end.
#[derive(Clone, Debug, Default)]
pub struct NamedCollector(Arc<Mutex<NamedKeys>>);

impl NamedCollector {
    pub fn add(&self, add: impl FnOnce(&mut NamedKeys)) {
        add(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Takes out whatever was added so far.
    pub fn take(&self) -> NamedKeys {
        let mut named = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let NamedKeys { patients, identifiers, organizations, certificates: _ } = &mut named;
        [patients, identifiers, organizations].into_iter().for_each(settle);
        named
    }
}

/// An identifier as an [`EventKey`] has it: `system|value`, or the value alone.
pub fn identifier(system: Option<&str>, value: &str) -> String {
    match system {
        Some(system) => [text_within(system), "|", text_within(value)].concat(),
        None => text_within(value).to_owned(),
    }
}

/// The keys of a person with an Estonian personal code: named with its system, with none, or without saying which.
pub fn of_personal_code(code: &str, systems: &IdentifierSystems) -> [String; 6] {
    let systems = [Some(systems.estonian_code()), Some(""), None];
    let [[one, two, three], [four, five, six]] =
        [code, &format!("EE{code}")].map(|code| systems.map(|system| identifier(system, code)));
    [one, two, three, four, five, six]
}

fn add_within(texts: &mut Vec<String>, more: &[String], max: usize) {
    for text in more {
        if texts.len() < max && !texts.contains(text) {
            texts.push(text.clone());
        }
    }
}

/// A text once, as far as there are few; [`settle`] takes out what came twice among many.
fn add(texts: &mut Vec<String>, text: String) {
    if texts.len() >= COMPARED_MAX || !texts.contains(&text) {
        texts.push(text);
    }
}

/// Names of an event that are compared one by one: more of them, which a request may send as many as it likes, are hashed.
const COMPARED_MAX: usize = 32;

/// Each text once, where it came first.
fn settle(texts: &mut Vec<String>) {
    if texts.len() > COMPARED_MAX {
        let mut seen = HashSet::with_capacity(texts.len());
        let is_first: Vec<bool> = texts.iter().map(|text| seen.insert(text.as_str())).collect();
        let mut is_first = is_first.into_iter();
        texts.retain(|_| is_first.next() == Some(true));
    }
}

/// It holds personal data.
impl fmt::Debug for NamedKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("NamedKeys")
    }
}
