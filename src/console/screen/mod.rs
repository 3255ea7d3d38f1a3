//! One screen per file.

pub(super) mod certificate;
pub(super) mod certificates;
pub(super) mod change;
mod diagram;
pub(super) mod documents;
pub(super) mod sign_in;
pub(super) mod start;
