//! One file per FHIR interaction or operation: what is done with a request once it is understood, and what it answers.
//!
//! `http` turns a request into an [`Interaction`] and a [`Context`]; [`Service::run`] turns these into an [`Answer`].

pub mod capabilities;
pub mod context;

pub mod account;
mod asked;
mod audit_event;
mod conformance;
mod consent;
mod create;
mod delete;
mod expand;
mod history;
mod lists;
mod lookup;
mod operation;
mod page;
mod patient;
mod prepare;
mod read;
mod rights;
mod rulebook;
mod search_parameter;
mod search_type;
mod service;
mod show;
mod subject;
mod turns;
mod update;
mod validate;
mod validate_code;

use std::fmt;

use crate::certificate::{Id, Version};
pub use crate::registry::Ask;
pub use account::Shown;
pub use conformance::DefinitionKind;
pub use context::{Condition, Context, HandedOn, Identity, Language, Prefer, Return, Subset, Tag, XRoad};
pub use lists::{ListLine, Lists};
pub use prepare::{Before, Certificate, certificate_of_import, new_certificate, sound};
pub use rulebook::{Rulebook, Standard};
pub use service::{Policy, Service, Settings};
pub use turns::Turn;

/// What a request asks for, with everything of its path read. After this nobody looks at paths again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interaction {
    Capabilities,
    Create,
    Read(Instance),
    Vread(Instance, Option<Version>),
    Update(Instance),
    Delete(Instance),
    HistoryInstance(Instance),
    HistoryType,
    /// By GET or by POST to `_search`; the parameters are in the context.
    Search,
    Suspend(Instance),
    Cancel(Instance),
    GetConsent(Instance),
    SetConsent(Instance),
    /// Of a resource that defines the service, by its id.
    ReadDefinition(DefinitionKind, String),
    SearchDefinitions(DefinitionKind),
    /// Of one event of the audit trail; none where the id of the path is none of an event.
    AuditRead(Option<u64>),
    AuditSearch,
    /// Of the code system with this id; without one the parameters name it, as in the next two.
    /// On the type, or on one certificate.
    Validate(Option<Instance>),
    Lookup(Option<String>),
    ValidateCode(ListKind, Option<String>),
    Expand(Option<String>),
    /// Of patients. The parameters are in the context.
    Patient(Ask),
}

/// The two kinds of code lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    CodeSystem,
    ValueSet,
}

impl Interaction {
    /// Whether it may change something. What only reads is given up when its client goes away.
    pub fn may_change(&self) -> bool {
        use Interaction::*;
        match self {
            Create | Update(_) | Delete(_) | Suspend(_) | Cancel(_) | SetConsent(_) => true,
            Capabilities | Read(_) | Vread(..) | HistoryInstance(_) | HistoryType | Search | GetConsent(_) => false,
            AuditRead(_) | AuditSearch => false,
            ReadDefinition(..) | SearchDefinitions(_) | Validate(_) | Lookup(_) | ValidateCode(..) | Expand(_) => false,
            // One who is taken over stays, whether or not the caller waits.
            Patient(_) => false,
        }
    }
}

/// The id of a path: any well-formed FHIR id. Only the canonical decimal form can name a certificate (Contract 1.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instance {
    Known(Id),
    /// Of another form, so that no certificate has it.
    Unknown(String),
}

impl Instance {
    pub fn id(&self) -> Option<Id> {
        match self {
            Instance::Known(id) => Some(*id),
            Instance::Unknown(_) => None,
        }
    }
}

/// As it was sent.
impl fmt::Display for Instance {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Instance::Known(id) => id.fmt(formatter),
            Instance::Unknown(text) => formatter.write_str(text),
        }
    }
}

/// What an interaction answers; `http` writes status, headers and body from it.
#[derive(Debug, Default)]
pub struct Answer {
    /// 200, 201, 204 or 304.
    pub status: u16,
    /// FHIR JSON, minified. Empty: no body.
    pub body: Vec<u8>,
    /// `ETag` and `Last-Modified` (milliseconds since 1970 UTC).
    pub version: Option<(Version, i64)>,
    /// Absolute address.
    pub location: Option<String>,
    /// Absolute address.
    pub content_location: Option<String>,
    /// Held until the body is sent.
    pub turn: Option<Turn>,
    /// What happens in place of an answer: a registry that is told to fail.
    pub instead: Option<Instead>,
    /// What of it the audit trail must know.
    pub shown: Shown,
    /// The audit trail knows of it already, from the writer.
    pub witnessed: bool,
}

/// How a server misbehaves that is told to. Contract 6.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instead {
    /// The connection ends.
    HangUp,
    /// The body is no FHIR.
    Garbage,
}
