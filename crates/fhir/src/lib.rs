//! FHIR R5 words; depends on nothing of ours but the outcome it reports with.

#![deny(missing_docs)]
// Both panic when nobody reads any more.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod bundle;
pub mod codes;
pub mod contained;
pub mod date_time;
pub mod element;
pub mod fhirpath;
pub mod invariant;
pub mod json;
pub mod language_tag;
pub mod limits;
pub mod narrative;
pub mod outcome;
pub mod path;
pub mod primitive;
mod scan;
pub mod shape;
pub mod subset;

#[cfg(test)]
mod samples;
