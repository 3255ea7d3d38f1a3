//! The patient registry, as the service asks it. Patients are kept by another system; this room is the way to it, and knows what
//! identifies them.
//!
//! [`Registry`] is the one interface: behind it stands the [`Embedded`] registry, whose patients lie in the same store, or a
//! [`Remote`] one. Either can be told to fail.

mod ask;
pub mod embedded;
pub mod fault;
mod health;
pub mod limits;
pub mod names;
mod patient;
pub mod person;
pub mod remote;
mod samples;
mod side;

pub use ask::{Ask, Caller, Failed, HeaderText, Purpose, Silent, Told, XRoad};
pub use certificate::{PersonalCode, PersonalCodeError, Sex};
pub use embedded::Embedded;
pub use health::{BreakerState, CredentialState, Health, Remembered};
pub use patient::{Identifier, Patient};
pub use remote::Remote;
pub use samples::samples;
pub use side::{Answered, LookedUp, Misbehaviour, Registry};
