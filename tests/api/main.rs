//! The whole service over HTTP: engine, interactions and door in one process, with a clock that the test holds.
//!
//! Files are named as those of `src/interaction`; beside them stand the life-cycle table, the patient
//! registry, and what concerns every interaction.

mod body;
mod server;
mod told;

mod bad_input;
mod capabilities;
mod condition;
mod conformance;
mod connection;
mod consent;
mod create;
mod delete;
mod form;
mod history;
mod life_cycle;
mod operation;
mod page;
mod patient;
mod read;
mod registry;
mod search_type;
mod terminology;
mod time;
mod update;
mod validate;
