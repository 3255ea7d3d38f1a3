//! One screen per file.

pub(super) mod access;
pub(super) mod api;
pub(super) mod audit;
mod builder;
pub(super) mod certificate;
pub(super) mod certificates;
pub(super) mod change;
mod diagram;
pub(super) mod documents;
pub(super) mod patients;
mod plan;
pub(super) mod start;
pub(super) mod terminology;
pub(super) mod validate;
