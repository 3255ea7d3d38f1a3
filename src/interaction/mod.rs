//! One file per FHIR interaction or operation: what is done with a request once it is understood, and what it answers.
//!
//! `http` turns a request into an [`Interaction`] and a [`RequestContext`]; [`Service::run`] turns these into an [`Answer`].

pub mod capabilities;
pub mod context;
pub mod limits;

mod answer;
mod audit_event;
pub mod audit_record;
mod author;
pub mod changes;
mod conformance;
pub mod consent;
mod create;
mod definition_search;
mod delete;
mod expand;
mod fixed;
mod grants;
mod history;
mod lists;
mod lookup;
mod named_keys;
pub mod openapi;
pub mod operation;
pub mod operation_parameters;
mod page;
mod patient;
mod pdf;
mod policy;
mod pool;
mod prepare;
mod read;
mod render;
mod request;
mod rights;
mod rulebook;
mod search_parameter;
mod search_plan;
mod search_type;
mod service;
mod subject;
pub mod table;
mod update;
pub mod validate;
mod validate_code;

pub use answer::{Answer, AnswerFile, BrokenAnswer, ShownVersions};
pub use context::{
    EntityTag, ForwardedHeaders, HeaderText, Identity, Language, Precondition, Prefer, RequestContext, Return, Subset,
    XRoadHeaders,
};
pub use lists::{ListLine, Lists};
pub use named_keys::{CertificatePatients, names_of_person, subjects};
pub use policy::{Policy, TokenPolicy};
pub use pool::Pool;
pub use prepare::{
    PreparedCertificate, UpdateBase, active_narratives, certificate_of_import, check_certificate, new_certificate,
};
pub use request::{DefinitionKind, Instance, Interaction, ListKind, PathId};
pub use rulebook::{CertificateRules, Rulebook};
pub use service::{Service, ServiceSettings};
pub use table::{BodyContent, HttpMethod, INTERACTIONS, InteractionKind};
