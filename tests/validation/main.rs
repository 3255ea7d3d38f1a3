//! Certificates that are wrong in one way each, and what is told of them.
//!
//! `rows` is a table: a right certificate, one mutation, and the issues that must come out, all of them and no others. `table` holds it
//! against the validator and against the list of all rules of all profiles; `random` tries mutations that nobody thought of, `limit`
//! those that want to cost much, and `outside` writes the table down for the comparison with other implementations
//! (`docs/VALIDATION.md`).

mod base;
mod judge;
mod limit;
mod mutation;
mod outside;
mod random;
mod right;
mod row;
mod rows;
mod systematic;
mod table;
