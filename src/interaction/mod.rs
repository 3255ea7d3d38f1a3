//! One file per FHIR interaction or operation: what is done with a request once it is understood, and what it answers.
//!
//! `http` turns a request into an [`Interaction`] and a [`Context`]; [`Service::run`] turns these into an [`Answer`].

pub mod capabilities;
pub mod context;
pub mod limits;

pub mod account;
pub mod asked;
mod audit_event;
mod author;
mod conformance;
pub mod consent;
mod create;
mod delete;
mod expand;
mod history;
mod lists;
mod lookup;
mod named;
pub mod operation;
mod page;
mod patient;
mod pool;
mod prepare;
mod read;
mod request;
mod rights;
mod rulebook;
mod search_parameter;
mod search_type;
mod service;
mod show;
mod subject;
pub mod table;
mod turns;
mod update;
pub mod validate;
mod validate_code;

pub use account::Shown;
pub use capabilities::TokenPolicy;
use certificate::Version;
pub use context::{Condition, Context, HandedOn, HeaderText, Identity, Language, Prefer, Return, Subset, Tag, XRoad};
pub use lists::{ListLine, Lists};
pub use named::{PatientsOf, names_of_person, subjects};
pub use pool::Pool;
pub use prepare::{Before, Certificate, certificate_of_import, new_certificate, sound};
pub use request::{DefinitionKind, Instance, Interaction, ListKind, PathId};
pub use rulebook::{Rulebook, Standard};
pub use service::{Policy, Service, Settings};
pub use table::{Content, INTERACTIONS, Kind, Verb};
pub use turns::{Turn, Turns};

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
