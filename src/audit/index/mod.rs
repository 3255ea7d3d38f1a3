//! Which events of a file have which [keys](super::EventKey), so that a search reads no others: an [`IndexDraft`] in memory while the file is
//! written, and a file beside it once it is sealed. Either can be made again from the events at any time. `docs/AUDIT.md`.

mod draft;
mod file;
mod indexes;
pub(super) mod keeper;

use std::sync::Arc;

pub(super) use draft::IndexDraft;
pub(super) use file::{Index, write};
#[cfg(test)]
pub(super) use indexes::AUDIT_DRAFT_PIECE_BYTES;
pub(super) use indexes::Indexes;
pub(super) use keeper::{keep, omits};

use super::event_filter::{Agent, AuditedEntity, EventFilter, EventResult};
use super::{AuditAction, AuditEvent, EventKey};
use certificate::{Id, Version};
use journal::record::sha256;

/// Whom a certificate is about, in a version or as its first one says: the patient's id, and `system|value` of identifiers. None: it is
/// not there now, or could not be read, so that a later search may be told otherwise.
pub type Subjects = Arc<dyn Fn(Id, Option<Version>) -> Option<Vec<String>> + Send + Sync>;

/// What a key is found by: the first 64 bits of a SHA-256 over its kind and text.
pub(super) type KeyHash = u64;

/// What a search asks of an index.
#[derive(Clone, Copy)]
enum KeyKind {
    /// Whoever an event is about: named by it, or behind a certificate in it.
    Person = 1,
    Patient,
    Organization,
    Certificate,
    AgentPerson,
    AgentOrganization,
    AgentRole,
    AgentUser,
    Action,
    Status,
    Refused,
    Code,
    /// Events with a certificate of which nobody knew for certain whose it is.
    Unknown,
}

fn hash(kind: KeyKind, text: &[u8]) -> KeyHash {
    let digest = sha256(&[&[kind as u8], text].concat());
    u64::from_le_bytes(*digest.first_chunk().expect("SHA-256 has 32 bytes"))
}

fn certificate(id: Id) -> KeyHash {
    hash(KeyKind::Certificate, &id.get().to_le_bytes())
}

fn person(name: &str) -> KeyHash {
    hash(KeyKind::Person, name.as_bytes())
}

fn action(action: AuditAction) -> KeyHash {
    hash(KeyKind::Action, &action.number().to_le_bytes())
}

fn status(status: u16) -> KeyHash {
    hash(KeyKind::Status, &status.to_le_bytes())
}

fn refused(refused: bool) -> KeyHash {
    hash(KeyKind::Refused, &[u8::from(refused)])
}

fn unknown() -> KeyHash {
    hash(KeyKind::Unknown, b"")
}

/// The keys of an event, but those of its certificates.
fn keys_of(event: &AuditEvent, mut each: impl FnMut(KeyHash)) {
    for key in event.keys() {
        let (kind, text) = match key {
            EventKey::Certificate(_) => continue,
            EventKey::Patient(id) => {
                each(person(id));
                (KeyKind::Patient, id)
            }
            EventKey::Identifier(name) => (KeyKind::Person, name),
            EventKey::Organization(code) => (KeyKind::Organization, code),
            EventKey::AgentPerson(code) => (KeyKind::AgentPerson, code),
            EventKey::AgentOrganization(code) => (KeyKind::AgentOrganization, code),
            EventKey::AgentRole(role) => (KeyKind::AgentRole, role),
            EventKey::AgentUser(name) => (KeyKind::AgentUser, name),
        };
        each(hash(kind, text.as_bytes()));
    }
    each(action(event.action));
    each(status(event.status));
    each(refused(event.is_refused()));
    if let Some(code) = &event.code {
        each(hash(KeyKind::Code, code.as_bytes()));
    }
}

/// One condition of a search: an event meets it that has one of the keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AnyOfKeys {
    pub keys: Vec<KeyHash>,
    /// An event that has one of these may meet it: the event itself tells.
    pub perhaps: Vec<KeyHash>,
}

/// The conditions of a search but that of time.
pub(super) fn conditions(wanted: &EventFilter) -> Vec<AnyOfKeys> {
    let EventFilter { entities, patients, agents, actions, outcomes, times: _ } = wanted;
    let of = |keys: Vec<KeyHash>| AnyOfKeys { keys, perhaps: Vec::new() };
    let named = entities.iter().map(|any| {
        let mut condition = AnyOfKeys::default();
        for entity in any {
            match entity {
                AuditedEntity::Certificate((id, None)) => condition.keys.push(certificate(*id)),
                AuditedEntity::Certificate((id, Some(_))) => condition.perhaps.push(certificate(*id)),
                AuditedEntity::Patient(id) => condition.keys.push(hash(KeyKind::Patient, id.as_bytes())),
                AuditedEntity::Organization(code) => condition.keys.push(hash(KeyKind::Organization, code.as_bytes())),
            }
        }
        condition
    });
    let persons = patients
        .iter()
        .map(|any| AnyOfKeys { keys: any.iter().map(|name| person(name)).collect(), perhaps: vec![unknown()] });
    let acting = agents.iter().map(|any| {
        of(any
            .iter()
            .map(|agent| match agent {
                Agent::Person(code) => hash(KeyKind::AgentPerson, code.as_bytes()),
                Agent::Organization(code) => hash(KeyKind::AgentOrganization, code.as_bytes()),
                Agent::Role(role) => hash(KeyKind::AgentRole, role.as_bytes()),
                Agent::User(name) => hash(KeyKind::AgentUser, name.as_bytes()),
            })
            .collect())
    });
    let done = actions.iter().map(|any| of(any.iter().map(|one| action(*one)).collect()));
    let ended = outcomes.iter().map(|any| {
        of(any
            .iter()
            .flat_map(|result| match result {
                EventResult::Refused(is_refused) => vec![refused(*is_refused)],
                EventResult::Status(range) => range.clone().map(status).collect(),
                EventResult::Code(code) => vec![hash(KeyKind::Code, code.as_bytes())],
            })
            .collect())
    });
    named.chain(persons).chain(acting).chain(done).chain(ended).collect()
}
