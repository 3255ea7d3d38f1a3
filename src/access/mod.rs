//! Who may do what: who calls, what their roles permit, and which certificates they may see.

pub mod identity;
pub mod rights;
