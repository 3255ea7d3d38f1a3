//! The audit trail: who saw and did what, in files of its own that are only ever appended to. Contract 7.8.
//!
//! Every event is chained to the one before by a hash, so that nothing can be changed or taken out without [`verify`] telling.
//! `docs/AUDIT.md` describes the files byte by byte.

mod event;
mod log;

pub use event::{Action, Change, Entity, Event, From, Method, Who};
pub use log::{Failing, Head, Log, Number, Options, State};
