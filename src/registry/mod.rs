//! The patient registry, as the service asks it. Patients are kept by another system; this module is the way to it, and knows what
//! identifies them.
//!
//! [`Registry`] is the one interface: behind it stands the [`EmbeddedRegistry`] registry, whose patients lie in the same store, or a
//! [`RemoteRegistry`] one. Either can be told to fail.

mod backend;
pub mod embedded;
pub mod fault;
mod health;
pub mod limits;
pub mod names;
mod patient;
pub mod person;
pub mod remote;
mod request;
mod samples;

pub use backend::{IdentifierLookup, Misbehaviour, Registry, RegistryAnswer};
pub use certificate::{PersonalCode, PersonalCodeError, Sex};
pub use embedded::EmbeddedRegistry;
pub use health::{BreakerState, CredentialState, RegistryHealth, RememberedAnswers};
pub use patient::{Identifier, Patient};
pub use remote::RemoteRegistry;
pub use request::{
    Caller, HeaderText, LookupFailure, LookupPurpose, NoAnswer, RegistryFinding, RegistryRequest, XRoadHeaders,
};
pub use samples::samples;
