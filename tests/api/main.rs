//! The whole service over HTTP: engine, interactions and front end in one process, with a clock that the test holds.
//!
//! Files are named as those of `src/interaction`; beside them stand the life-cycle table, the patient
//! registry, and what concerns every interaction.

mod bodies;
mod body;
mod foreign;
#[path = "../log/mod.rs"]
mod log;
mod response;
mod server;

mod audit;
mod bad_input;
mod bytes;
mod capabilities;
mod condition;
mod conformance;
mod connection;
mod consent;
mod console;
mod create;
mod delete;
mod form;
mod history;
mod interactions;
mod life_cycle;
mod meaning;
mod names;
mod narrative;
mod openapi;
mod operation;
mod overload;
mod page;
mod patient;
mod pdf;
mod read;
mod registry;
mod rights;
mod search_type;
mod sign_in;
mod slow;
mod terminology;
mod time;
mod tls;
mod token;
mod update;
mod usable;
mod validate;
mod x_road;
