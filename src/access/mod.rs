//! Who may do what: who calls, what their roles permit, and which certificates they may see.
//!
//! A verified token becomes an [`Identity`]; nobody behind the door looks at tokens.

pub mod identity;
pub mod rights;
pub mod token;

pub use identity::Identity;
pub use token::{Refused, Tokens};
